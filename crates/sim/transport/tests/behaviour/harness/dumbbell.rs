//! A dumbbell: each flow has access links of its own, all share one bottleneck in each direction.
//!
//! `source -> access -> bottleneck -> access -> sink`, and the same way back: three hops for each packet.

use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Part, Pool, Queue, Streams};
use guestright_transport::{
    Flow, Link, LinkEvent, LinkNumber, LinkSettings, LinkStatus, Receiver, ReceiverSettings, Segment, Sender,
    SenderSettings, SettingsError, TcpEvent, Timer,
};
use guestright_units::Seed;

/// What a dumbbell is made of.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) flows: u32,
    pub(crate) access: LinkSettings,
    pub(crate) bottleneck: LinkSettings,
    pub(crate) sender: SenderSettings,
    pub(crate) receiver: ReceiverSettings,
    /// Bytes of each flow; `None`: endless.
    pub(crate) bytes: Option<u64>,
    /// Each flow starts so much after the one before it.
    pub(crate) stagger: Nanos,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Link(LinkEvent),
    Tcp(TcpEvent),
    Start(Flow),
}

pub(crate) struct Dumbbell<C> {
    plan: Plan,
    queue: Queue<Event>,
    packets: Pool<Segment>,
    /// First the two bottlenecks, there and back; then for each flow: to the bottleneck there, from it there, to the
    /// bottleneck back, from it back.
    links: Vec<Link>,
    pub(crate) senders: Vec<Sender<C>>,
    pub(crate) receivers: Vec<Receiver>,
    /// What has happened, mixed: equal runs have equal ones.
    pub(crate) digest: u64,
}

/// Where a link leads.
enum Next {
    Link(usize),
    Receiver(usize),
    Sender(usize),
}

impl<C: Controller> Dumbbell<C> {
    pub(crate) fn new(plan: Plan, seed: u64, controller: impl Fn() -> C) -> Result<Self, SettingsError> {
        let streams = Streams::new(Seed::from_number(seed));
        let mut links = Vec::new();
        for number in 0..2 + 4 * plan.flows {
            let settings = if number == 0 {
                plan.bottleneck
            } else if number == 1 {
                // Acknowledgements are not lost: the equations know none that are.
                LinkSettings { loss_per_million: 0, ..plan.bottleneck }
            } else {
                plan.access
            };
            links.push(Link::lossy(LinkNumber(number), settings, streams.stream("link", number.into()))?);
        }
        let mut queue = Queue::new();
        let mut senders = Vec::new();
        let mut receivers = Vec::new();
        for flow in (0..plan.flows).map(Flow) {
            senders.push(Sender::new(flow, plan.sender, controller())?);
            receivers.push(Receiver::new(flow, plan.receiver)?);
            queue.push(Instant::START + plan.stagger * flow.0.into(), Event::Start(flow));
        }
        Ok(Self { plan, queue, packets: Pool::new(), links, senders, receivers, digest: 0 })
    }

    /// Runs until `end`, or until nothing happens any more.
    pub(crate) fn run(&mut self, end: Instant) {
        while self.queue.next_at().is_some_and(|at| at <= end) {
            let (at, event) = self.queue.pop().expect("there is a next event");
            self.digest = (self.digest.rotate_left(5) ^ at.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.step(event);
        }
    }

    /// Packets that have arrived at the end of a link, all links together.
    pub(crate) fn hops(&self) -> u64 {
        self.links.iter().map(|link| link.stats().delivered).sum()
    }

    /// The bottleneck on the way there.
    pub(crate) fn bottleneck(&self) -> &Link {
        &self.links[0]
    }

    /// Packets that are somewhere.
    pub(crate) fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Bytes delivered by each flow.
    pub(crate) fn delivered(&self) -> Vec<u64> {
        self.receivers.iter().map(Receiver::delivered).collect()
    }

    /// Events so far.
    pub(crate) fn events(&self) -> u64 {
        self.queue.scheduled()
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Start(flow) => {
                let sender = &mut self.senders[flow.0 as usize];
                match self.plan.bytes {
                    None => sender.write_endless(),
                    Some(bytes) => {
                        sender.write(bytes);
                        sender.close();
                    }
                }
                self.drain_sender(flow.0 as usize);
            }
            Event::Link(event) => {
                let link = &mut self.links[event.link.0 as usize];
                link.handle(event, &mut Part::new(&mut self.queue, Event::Link));
                while let Some(packet) = self.links[event.link.0 as usize].poll_output() {
                    if packet.lost {
                        self.packets.remove(packet.key);
                        continue;
                    }
                    let flow = self.packets.get(packet.key).flow.0 as usize;
                    match next(event.link.0 as usize, flow) {
                        Next::Link(link) => {
                            let mut agenda = Part::new(&mut self.queue, Event::Link);
                            if !self.links[link].enqueue(packet.key, packet.bytes, &mut agenda) {
                                self.packets.remove(packet.key);
                            }
                        }
                        Next::Receiver(flow) => {
                            let segment = self.packets.remove(packet.key);
                            let mut agenda = Part::new(&mut self.queue, Event::Tcp);
                            self.receivers[flow].handle_segment(&segment, &mut agenda);
                            self.drain_receiver(flow);
                        }
                        Next::Sender(flow) => {
                            let segment = self.packets.remove(packet.key);
                            let mut agenda = Part::new(&mut self.queue, Event::Tcp);
                            self.senders[flow].handle_segment(&segment, &mut agenda);
                            self.drain_sender(flow);
                        }
                    }
                }
            }
            Event::Tcp(event) => {
                let flow = event.flow.0 as usize;
                let mut agenda = Part::new(&mut self.queue, Event::Tcp);
                if event.timer == Timer::Acknowledgement {
                    self.receivers[flow].handle(event, &mut agenda);
                    self.drain_receiver(flow);
                } else {
                    self.senders[flow].handle(event, &mut agenda);
                    self.drain_sender(flow);
                }
            }
        }
    }

    fn drain_sender(&mut self, flow: usize) {
        let sender = &mut self.senders[flow];
        while let Some(segment) = sender.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            let bytes = sender.packet_bytes(&segment);
            let key = self.packets.insert(segment);
            let mut agenda = Part::new(&mut self.queue, Event::Link);
            if !self.links[2 + 4 * flow].enqueue(key, bytes, &mut agenda) {
                self.packets.remove(key);
            }
        }
    }

    fn drain_receiver(&mut self, flow: usize) {
        let receiver = &mut self.receivers[flow];
        while let Some(segment) = receiver.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            let bytes = receiver.packet_bytes(&segment);
            let key = self.packets.insert(segment);
            let mut agenda = Part::new(&mut self.queue, Event::Link);
            if !self.links[2 + 4 * flow + 2].enqueue(key, bytes, &mut agenda) {
                self.packets.remove(key);
            }
        }
    }
}

fn next(link: usize, flow: usize) -> Next {
    match link {
        0 => Next::Link(2 + 4 * flow + 1),
        1 => Next::Link(2 + 4 * flow + 3),
        access => match (access - 2) % 4 {
            0 => Next::Link(0),
            1 => Next::Receiver(flow),
            2 => Next::Link(1),
            _ => Next::Sender(flow),
        },
    }
}
