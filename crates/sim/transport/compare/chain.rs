//! One flow over the four links of `scripted.tcl` and back, with losses that are told.

use super::agents::{self, Agent, BYTES};
use super::script::{Script, Trace, VOICE};
use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Part, Pool, Queue};
use guestright_transport::{
    Flow, Link, LinkEvent, LinkNumber, LinkSettings, QueueLimit, Receiver, Segment, Sender, TcpEvent, Timer,
    Workload,
};
use std::collections::BTreeMap;

/// Links on the way there; as many lead back.
const HOPS: usize = 4;
/// When a greedy application begins.
const START: Instant = Instant(1_300_000);

/// Everything that happens.
enum Event {
    Link(LinkEvent),
    Tcp(TcpEvent),
    /// The application writes so many packets; `None`: it never stops.
    Write(Option<u32>),
}

struct Chain<'a> {
    script: &'a Script,
    queue: Queue<Event>,
    packets: Pool<Segment>,
    links: Vec<Link>,
    sender: Sender<Box<dyn Controller>>,
    receiver: Receiver,
    /// How often each packet has crossed the last link.
    crossed: BTreeMap<i64, u32>,
    acks: u64,
    trace: Trace,
}

/// What our sender does.
///
/// # Errors
///
/// If the arrivals of the call, or a setting, cannot be.
pub(crate) fn run(agent: Agent, script: &Script) -> Result<Trace, String> {
    let mut queue = Queue::new();
    if script.greedy {
        queue.push(START, Event::Write(None));
    } else {
        let voice = Workload::parse(VOICE).map_err(|error| error.to_string())?;
        for arrival in voice.arrivals() {
            queue.push(arrival.at, Event::Write(Some(1)));
        }
    }
    let carrier = agents::carrier(agent, BYTES, agents::CALL_WINDOW)?;
    let to_message = |error: guestright_transport::SettingsError| error.to_string();
    let mut chain = Chain {
        script,
        queue,
        packets: Pool::new(),
        links: links().map_err(to_message)?,
        sender: Sender::new(Flow(0), carrier.sender, carrier.controller).map_err(to_message)?,
        receiver: Receiver::new(Flow(0), carrier.receiver).map_err(to_message)?,
        crossed: BTreeMap::new(),
        acks: 0,
        trace: Trace::default(),
    };
    let end = Instant::START + Nanos::from_seconds(script.seconds);
    while chain.queue.next_at().is_some_and(|at| at < end) {
        if let Some((_, event)) = chain.queue.pop() {
            chain.step(event);
        }
    }
    Ok(chain.trace)
}

fn links() -> Result<Vec<Link>, guestright_transport::SettingsError> {
    let access = LinkSettings {
        delay: Nanos::from_millis(5),
        queue_max: QueueLimit::Packets(50),
        ..LinkSettings::bare(10_000_000)
    };
    let middle = LinkSettings { rate: 2_000_000, delay: Nanos::from_millis(10), ..access };
    let there = [access, middle, middle, access];
    (0..)
        .zip(there.into_iter().chain(there))
        .map(|(number, link)| Link::new(LinkNumber(number), link))
        .collect()
}

impl Chain<'_> {
    fn step(&mut self, event: Event) {
        match event {
            Event::Write(packets) => {
                match packets {
                    Some(packets) => self.sender.write(u64::from(packets * BYTES)),
                    None => self.sender.write_endless(),
                }
                self.drain_sender();
            }
            Event::Tcp(event) if event.timer == Timer::Acknowledgement => {
                self.receiver.handle(event, &mut Part::new(&mut self.queue, Event::Tcp));
                self.drain_receiver();
            }
            Event::Tcp(event) => {
                self.sender.handle(event, &mut Part::new(&mut self.queue, Event::Tcp));
                self.drain_sender();
            }
            Event::Link(event) => self.arrive(event),
        }
    }

    fn arrive(&mut self, event: LinkEvent) {
        let number = event.link.0 as usize;
        self.links[number].handle(event, &mut Part::new(&mut self.queue, Event::Link));
        let Some(packet) = self.links[number].poll_output() else { return };
        let segment = self.packets.remove(packet.key);
        let now = self.queue.now();
        if number == HOPS - 1 {
            let crossed = self.crossed.entry(sent(&segment)).or_default();
            let lost = self.script.lost.contains(&(sent(&segment), *crossed));
            *crossed += 1;
            if !lost {
                self.trace.arrived += 1;
                self.receiver.handle_segment(&segment, &mut Part::new(&mut self.queue, Event::Tcp));
                self.drain_receiver();
            }
            return;
        }
        if number == HOPS {
            self.acks += 1;
            if self.script.acks_lost.contains(&(self.acks - 1)) {
                return;
            }
        }
        if number + 1 == 2 * HOPS {
            self.trace.acknowledge(now.0, acknowledged(&segment));
            self.sender.handle_segment(&segment, &mut Part::new(&mut self.queue, Event::Tcp));
            self.drain_sender();
        } else {
            self.enqueue(number + 1, packet.bytes, segment);
        }
    }

    fn drain_receiver(&mut self) {
        while let Some(segment) = self.receiver.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            self.enqueue(HOPS, self.receiver.packet_bytes(&segment), segment);
        }
    }

    fn drain_sender(&mut self) {
        while let Some(segment) = self.sender.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            self.trace.send(self.queue.now().0, sent(&segment));
            self.enqueue(0, self.sender.packet_bytes(&segment), segment);
        }
    }

    fn enqueue(&mut self, link: usize, bytes: u32, segment: Segment) {
        let key = self.packets.insert(segment);
        if !self.links[link].enqueue(key, bytes, &mut Part::new(&mut self.queue, Event::Link)) {
            self.packets.remove(key);
        }
    }
}

/// The number of the packet in a segment; -1 is the SYN.
fn sent(segment: &Segment) -> i64 {
    if segment.flags.syn { -1 } else { whole(segment.seq) }
}

/// The last packet that is acknowledged; -1 is the SYN.
fn acknowledged(segment: &Segment) -> i64 {
    whole(segment.ack) - 1
}

fn whole(offset: u64) -> i64 {
    i64::try_from(offset / u64::from(BYTES)).unwrap_or(i64::MAX)
}
