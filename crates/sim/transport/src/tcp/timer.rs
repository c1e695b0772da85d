use super::segment::Flow;
use guestright_engine::{Agenda, Instant};

/// What an end of TCP waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The sender: an acknowledgement that is overdue.
    Retransmission,
    /// The sender: the next segment may leave.
    Pacing,
    /// The receiver: an acknowledgement that was put off.
    Acknowledgement,
}

/// A timer of a connection has gone off, or is to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpEvent {
    pub flow: Flow,
    pub timer: Timer,
}

/// A timer that may be put off as often as one likes with few events: while one is due before the deadline, none is
/// scheduled, and when it comes too early, one at the deadline takes its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct LazyTimer {
    event: TcpEvent,
    deadline: Instant,
    /// When the earliest event is due that was scheduled and has not come; `NEVER`: none.
    scheduled: Instant,
}

impl LazyTimer {
    pub(super) const fn new(flow: Flow, timer: Timer) -> Self {
        Self { event: TcpEvent { flow, timer }, deadline: Instant::NEVER, scheduled: Instant::NEVER }
    }

    pub(super) const fn is_set(&self) -> bool {
        self.deadline.0 != Instant::NEVER.0
    }

    pub(super) fn set(&mut self, deadline: Instant, agenda: &mut impl Agenda<TcpEvent>) {
        self.deadline = deadline;
        if deadline < self.scheduled {
            self.scheduled = deadline;
            agenda.schedule(deadline, self.event);
        }
    }

    pub(super) const fn stop(&mut self) {
        self.deadline = Instant::NEVER;
    }

    /// An event of this timer has come; whether the timer has gone off.
    pub(super) fn is_over(&mut self, agenda: &mut impl Agenda<TcpEvent>) -> bool {
        let now = agenda.now();
        if now < self.scheduled {
            return false; // Of a later deadline that was given up before this one was set: nothing waits for it.
        }
        self.scheduled = Instant::NEVER;
        if self.deadline <= now {
            self.deadline = Instant::NEVER;
            return true;
        }
        if self.is_set() {
            self.set(self.deadline, agenda);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_engine::Queue;
    use proptest::prelude::*;

    #[test]
    fn putting_off_costs_no_events() {
        let mut queue = Queue::new();
        let mut timer = LazyTimer::new(Flow(0), Timer::Retransmission);
        for deadline in 100..1_000 {
            timer.set(Instant(deadline), &mut queue);
        }
        assert_eq!(queue.scheduled(), 1);
        let mut over_at = Vec::new();
        while let Some((at, _)) = queue.pop() {
            if timer.is_over(&mut queue) {
                over_at.push(at.0);
            }
        }
        assert_eq!((over_at, queue.scheduled()), (vec![999], 2));
    }

    proptest! {
        /// Against the plain meaning: it goes off at the deadline that was set last, unless stopped before.
        #[test]
        fn goes_off_when_set_and_only_then(
            steps in proptest::collection::vec((0_u64..30, prop_oneof![1 => Just(None), 4 => (0_u64..40).prop_map(Some)]), 0..60),
        ) {
            let mut queue = Queue::new();
            let mut timer = LazyTimer::new(Flow(0), Timer::Retransmission);
            let (mut at, mut deadline) = (0, None::<u64>);
            let (mut got, mut want) = (Vec::new(), Vec::new());
            for (pause, span) in steps.into_iter().chain([(1_000, None)]) {
                at += pause;
                // A timer that is due at the time of a step goes off before it.
                while queue.next_at().is_some_and(|next| next.0 <= at) {
                    let (now, _) = queue.pop().unwrap();
                    if timer.is_over(&mut queue) {
                        got.push(now.0);
                    }
                }
                if let Some(due) = deadline.take_if(|due| *due <= at) {
                    want.push(due);
                }
                deadline = span.map(|span| at + span);
                let mut clock = At(Instant(at), &mut queue);
                match span {
                    None => timer.stop(),
                    Some(span) => timer.set(Instant(at + span), &mut clock),
                }
            }
            prop_assert_eq!(got, want);
        }
    }

    /// The queue at a time between two events.
    struct At<'a>(Instant, &'a mut Queue<TcpEvent>);

    impl Agenda<TcpEvent> for At<'_> {
        fn now(&self) -> Instant {
            self.0
        }

        fn schedule(&mut self, at: Instant, event: TcpEvent) {
            self.1.push(at, event);
        }
    }
}
