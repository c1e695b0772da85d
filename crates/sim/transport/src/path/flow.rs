//! The two ends of a flow, and what lies between the application and a stream.

use super::wheel::Wheel;
use super::{Parcel, Step};
use crate::foreign::Ends;
use crate::tcp::{Receiver, Sender, TcpEvent, Timer};
use guestright_engine::{Agenda, Instant};
use std::collections::VecDeque;

/// The ends of a flow.
#[derive(Debug)]
pub(super) enum End {
    Udp,
    /// Their place in the table of TCP streams.
    Tcp(u32),
    Foreign(Box<ForeignEnd>),
}

/// Both ends of a TCP stream.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct TcpEnd<C> {
    pub(super) slots: Slots,
    pub(super) sender: Sender<C>,
    pub(super) receiver: Receiver,
}

/// Both ends of something else.
#[derive(Debug)]
pub(super) struct ForeignEnd {
    pub(super) ends: Box<dyn Ends>,
    /// When the earliest event is due that was scheduled for each side.
    pub(super) due: [Instant; 2],
}

/// Which packet of speech is where in a stream. Every packet has the same length, so a place is a number of packets.
#[derive(Debug)]
pub(super) struct Slots {
    packet_bytes: u64,
    /// Places that the application at the sink has got.
    delivered: u64,
    /// Places that were sent at least once.
    sent: u64,
    /// Places that were written.
    written: u64,
    limited: Option<Box<Limited>>,
}

/// With a limit on what may wait, packets are thrown away, and place and number differ.
#[derive(Debug)]
struct Limited {
    waiting_max: u64,
    /// The numbers in the places from `heard` on.
    numbers: VecDeque<u32>,
}

/// What a stream does with a packet of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It is longer by this packet.
    Longer,
    /// It is as long as before: the oldest packet that was never sent made room.
    Replaced,
}

impl Slots {
    pub(super) fn new(packet_bytes: u32, waiting_max: Option<u32>, window: u32) -> Self {
        let limited = waiting_max.map(|max| {
            let room = max as usize + (window / packet_bytes.max(1)) as usize + 2;
            Box::new(Limited { waiting_max: max.into(), numbers: VecDeque::with_capacity(room) })
        });
        Self { packet_bytes: packet_bytes.into(), delivered: 0, sent: 0, written: 0, limited }
    }

    /// The application speaks packet `number`.
    pub(super) fn speak(&mut self, number: u32) -> Written {
        if let Some(limited) = &mut self.limited {
            // ns-2's Vegas sends packets before they are made: this one's place has arrived already.
            if self.written < self.delivered {
                self.written += 1;
                return Written::Longer;
            }
            limited.numbers.push_back(number);
            if self.written.saturating_sub(self.sent) >= limited.waiting_max {
                let oldest = usize::try_from(self.sent - self.delivered).expect("a window is small");
                limited.numbers.remove(oldest);
                return Written::Replaced;
            }
        }
        self.written += 1;
        Written::Longer
    }

    /// The stream was sent up to `end`, which may be beyond what was written.
    pub(super) fn sent(&mut self, end: u64) {
        self.sent = self.sent.max(end.div_ceil(self.packet_bytes));
    }

    /// The next packet that the application at the sink gets, when the stream has arrived up to `end`.
    pub(super) fn hear(&mut self, end: u64) -> Option<u32> {
        if (self.delivered + 1) * self.packet_bytes > end {
            return None;
        }
        let number = match &mut self.limited {
            None => u32::try_from(self.delivered).ok(),
            Some(limited) => limited.numbers.pop_front(),
        };
        self.delivered += 1;
        number
    }
}

/// A datagram of other ends on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram {
    pub(super) id: u64,
    pub(super) sent: Instant,
}

/// Events of a flow's TCP.
pub(super) struct TcpAgenda<'a> {
    pub(super) wheel: &'a mut Wheel<Parcel>,
}

impl Agenda<TcpEvent> for TcpAgenda<'_> {
    fn now(&self) -> Instant {
        self.wheel.now()
    }

    fn schedule(&mut self, at: Instant, event: TcpEvent) {
        let step = match event.timer {
            Timer::Retransmission => Step::Retransmission,
            Timer::Pacing => Step::Pacing,
            Timer::Acknowledgement => Step::Acknowledgement,
        };
        self.wheel.push(at, Parcel::event(step, event.flow.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_that_was_not_sent_is_thrown_away() {
        let mut slots = Slots::new(100, Some(2), 1_000);
        assert_eq!([0, 1].map(|number| slots.speak(number)), [Written::Longer; 2]);
        slots.sent(100); // Number 0.
        assert_eq!(slots.speak(2), Written::Longer);
        assert_eq!(slots.speak(3), Written::Replaced); // 1 goes; 2 and 3 wait.
        slots.sent(200); // Number 2.
        assert_eq!(slots.speak(4), Written::Longer);
        let delivered: Vec<u32> = std::iter::from_fn(|| slots.hear(299)).collect();
        assert_eq!(delivered, [0, 2]);
        let delivered: Vec<u32> = std::iter::from_fn(|| slots.hear(400)).collect();
        assert_eq!((delivered, slots.written), (vec![3, 4], 4));
    }

    #[test]
    fn what_was_sent_before_it_was_made_is_nobody_elses_place() {
        let mut slots = Slots::new(100, Some(1), 1_000);
        slots.sent(100); // Before number 0 is made.
        assert_eq!(slots.hear(100), None, "nobody has said it yet");
        assert_eq!([0, 1].map(|number| slots.speak(number)), [Written::Longer; 2]);
        slots.sent(200);
        assert_eq!(slots.hear(200), Some(1));
        slots.sent(300); // Before number 2 is made, which is on its way when it is.
        assert_eq!([2, 3].map(|number| slots.speak(number)), [Written::Longer; 2]);
        assert_eq!(slots.speak(4), Written::Replaced, "3 goes, and not 2");
        slots.sent(400);
        assert_eq!(std::iter::from_fn(|| slots.hear(400)).collect::<Vec<_>>(), [2, 4]);
    }

    #[test]
    fn without_a_limit_a_place_is_a_number() {
        let mut slots = Slots::new(100, None, 1_000);
        assert!((0..50).all(|number| slots.speak(number) == Written::Longer));
        let delivered: Vec<u32> = std::iter::from_fn(|| slots.hear(5_000)).collect();
        assert_eq!(delivered, Vec::from_iter(0..50));
    }
}
