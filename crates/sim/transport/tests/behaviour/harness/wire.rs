//! A sender and a receiver with nothing between them but a channel that does as it is told.

use guestright_congestion::Controller;
use guestright_engine::{Instant, Nanos, Part, Queue};
use guestright_transport::{
    Flow, Receiver, ReceiverSettings, Segment, Sender, SenderSettings, SettingsError, TcpEvent,
};

/// Which way a segment goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    There,
    Back,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Arrives(Way, Segment),
    Tcp(TcpEvent),
    Write { bytes: u64, last: bool },
}

/// Both ends, and what has gone over the channel.
pub(crate) struct Wire<C, F> {
    queue: Queue<Event>,
    pub(crate) sender: Sender<C>,
    pub(crate) receiver: Receiver,
    /// When each copy of a segment arrives; none: it is lost. The number counts the segments of that way from 0.
    fate: F,
    /// What each end has sent and when, lost or not.
    pub(crate) sent: Vec<(Instant, Segment)>,
    pub(crate) acknowledged: Vec<(Instant, Segment)>,
}

impl<C: Controller, F: FnMut(Way, usize, &Segment) -> Vec<Nanos>> Wire<C, F> {
    pub(crate) fn new(
        sender: SenderSettings,
        receiver: ReceiverSettings,
        controller: C,
        fate: F,
    ) -> Result<Self, SettingsError> {
        Ok(Self {
            queue: Queue::new(),
            sender: Sender::new(Flow(0), sender, controller)?,
            receiver: Receiver::new(Flow(0), receiver)?,
            fate,
            sent: Vec::new(),
            acknowledged: Vec::new(),
        })
    }

    /// Has the application write `bytes` at `at`, the last ones or not.
    pub(crate) fn write(&mut self, at: Instant, bytes: u64, last: bool) {
        self.queue.push(at, Event::Write { bytes, last });
    }

    /// Runs until `end`, or until nothing happens any more; `check` sees both ends after each event.
    pub(crate) fn run(&mut self, end: Instant, mut check: impl FnMut(&Sender<C>, &Receiver)) {
        while self.queue.next_at().is_some_and(|at| at <= end) {
            let (_, event) = self.queue.pop().expect("there is a next event");
            self.step(event);
            check(&self.sender, &self.receiver);
        }
    }

    fn step(&mut self, event: Event) {
        let mut agenda = Part::new(&mut self.queue, Event::Tcp);
        match event {
            Event::Write { bytes, last } => {
                self.sender.write(bytes);
                if last {
                    self.sender.close();
                }
            }
            Event::Tcp(event) => {
                self.sender.handle(event, &mut agenda);
                self.receiver.handle(event, &mut agenda);
            }
            Event::Arrives(Way::There, segment) => self.receiver.handle_segment(&segment, &mut agenda),
            Event::Arrives(Way::Back, segment) => self.sender.handle_segment(&segment, &mut agenda),
        }
        while let Some(segment) = self.sender.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            let arrivals = (self.fate)(Way::There, self.sent.len(), &segment);
            self.sent.push((self.queue.now(), segment));
            self.travel(Way::There, segment, &arrivals);
        }
        while let Some(segment) = self.receiver.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
            let arrivals = (self.fate)(Way::Back, self.acknowledged.len(), &segment);
            self.acknowledged.push((self.queue.now(), segment));
            self.travel(Way::Back, segment, &arrivals);
        }
    }

    fn travel(&mut self, way: Way, segment: Segment, arrivals: &[Nanos]) {
        for delay in arrivals {
            self.queue.push(self.queue.now() + *delay, Event::Arrives(way, segment));
        }
    }
}
