//! The processor of an access point: one server beside the network.
//!
//! It forwards packets, one after the other, and verifies receipts, one after the other. Which of the two has its turn
//! is the [`Policy`]. What a job costs, the caller says; [`Profile`] knows what the paper's router takes.

mod profile;
mod settings;

pub(crate) use settings::{Costs, CpuSettings, config_from_settings};

use guestright_engine::{Agenda, Instant, Key, Nanos};
use std::collections::VecDeque;

/// Who has the processor when packets and receipts both wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// In the order of arrival, each to its end.
    RunToCompletion,
    /// Packets at once; a verification goes on when no packet waits.
    Preemptible,
    /// A verification runs for this long, then the packets that wait by then are served, and so on.
    Quantum(Nanos),
    /// Verifications have a processor of their own.
    OtherCore,
}

/// What a processor is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuConfig {
    /// Who has its turn.
    pub(crate) policy: Policy,
    /// How many packets wait or are being served; more are dropped.
    pub(crate) backlog_max: usize,
    /// How many receipts wait or are being verified; more are dropped.
    pub(crate) verifications_max: usize,
}

/// Something that a processor has scheduled for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// What runs is done, or its quantum is over; out of date if the epoch is.
    Due(u32),
    /// The same on the processor of its own that verifications have with [`Policy::OtherCore`].
    OtherDue,
}

/// What a processor has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// A packet may go on.
    Forwarded(Key),
    /// A receipt was verified.
    Verified(u32),
}

/// What a processor has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CpuStats {
    /// Packets that went on.
    pub(crate) forwarded: u64,
    /// Packets that found the backlog full.
    pub(crate) backlog_drops: u64,
    /// Receipts that were verified.
    pub(crate) verified: u64,
    /// Receipts that found too many waiting.
    pub(crate) verification_drops: u64,
    /// Time spent on packets.
    pub(crate) forwarding: Nanos,
    /// Time spent on receipts, on whichever processor.
    pub(crate) verifying: Nanos,
}

/// How long a processor has worked up to some instant, with what it has done of the job that runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    /// On packets.
    pub(crate) forwarding: Nanos,
    /// On receipts, beside packets.
    pub(crate) verifying: Nanos,
    /// On receipts, on the processor of their own that they have with [`Policy::OtherCore`].
    pub(crate) elsewhere: Nanos,
}

/// A job, and its place in the order of arrival.
#[derive(Clone, Copy, Debug)]
struct Job<T> {
    what: T,
    left: Nanos,
    order: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nothing,
    Packet { since: Instant },
    Verification { since: Instant, slice: Nanos },
}

/// The processor of an access point.
#[derive(Debug)]
pub(crate) struct Cpu {
    config: CpuConfig,
    packets: VecDeque<Job<Key>>,       // The first may be running.
    verifications: VecDeque<Job<u32>>, // The first may be running, or have been interrupted.
    running: Running,
    other_since: Instant, // When the first verification began, if they have a processor of their own.
    packets_first: usize, // So many packets have their turn before the next quantum.
    epoch: u32,
    arrivals: u64,
    outputs: VecDeque<Output>,
    stats: CpuStats,
}

impl Cpu {
    /// An idle processor.
    pub(crate) fn new(config: CpuConfig) -> Self {
        Self {
            config,
            packets: VecDeque::new(),
            verifications: VecDeque::new(),
            running: Running::Nothing,
            other_since: Instant::START,
            packets_first: 0,
            epoch: 0,
            arrivals: 0,
            outputs: VecDeque::new(),
            stats: CpuStats::default(),
        }
    }

    /// A packet is to be forwarded, which takes `cost`. False: the backlog is full, and the packet is dropped.
    pub(crate) fn forward(&mut self, packet: Key, cost: Nanos, agenda: &mut impl Agenda<Event>) -> bool {
        if self.packets.len() >= self.config.backlog_max {
            self.stats.backlog_drops += 1;
            return false;
        }
        self.arrivals += 1;
        self.packets.push_back(Job { what: packet, left: cost, order: self.arrivals });
        if matches!(self.running, Running::Verification { .. }) && self.config.policy == Policy::Preemptible {
            self.interrupt(agenda.now());
        }
        self.start(agenda);
        true
    }

    /// A receipt is to be verified, which takes `cost`. False: too many wait, and it is dropped.
    pub(crate) fn verify(&mut self, ticket: u32, cost: Nanos, agenda: &mut impl Agenda<Event>) -> bool {
        if self.verifications.len() >= self.config.verifications_max {
            self.stats.verification_drops += 1;
            return false;
        }
        self.arrivals += 1;
        self.verifications.push_back(Job { what: ticket, left: cost, order: self.arrivals });
        if self.config.policy == Policy::OtherCore {
            if self.verifications.len() == 1 {
                self.other_since = agenda.now();
                agenda.schedule(agenda.now() + cost, Event::OtherDue);
            }
            return true;
        }
        if self.verifications.len() == 1 {
            self.packets_first = self.packets.len();
        }
        self.start(agenda);
        true
    }

    /// Takes an event that it had scheduled.
    pub(crate) fn handle(&mut self, event: Event, agenda: &mut impl Agenda<Event>) {
        match event {
            Event::Due(epoch) if epoch == self.epoch => {
                match self.running {
                    Running::Packet { .. } => self.finish_packet(),
                    Running::Verification { .. } => self.interrupt(agenda.now()),
                    Running::Nothing => {}
                }
                self.start(agenda);
            }
            Event::Due(_) => {}
            Event::OtherDue => {
                if let Some(job) = self.verifications.pop_front() {
                    self.stats.verifying += job.left;
                    self.verified(job.what);
                }
                if let Some(next) = self.verifications.front() {
                    self.other_since = agenda.now();
                    agenda.schedule(agenda.now() + next.left, Event::OtherDue);
                }
            }
        }
    }

    /// What has been done, oldest first; to be drained after every call.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// What has been done so far. A job that runs counts when it ends or is interrupted.
    pub(crate) const fn stats(&self) -> &CpuStats {
        &self.stats
    }

    /// How long it has worked up to `now`, which is not before the last event and not after the next.
    pub(crate) fn work(&self, now: Instant) -> Work {
        let CpuStats { mut forwarding, mut verifying, .. } = self.stats;
        match self.running {
            Running::Nothing => {}
            Running::Packet { since } => forwarding += now.since(since),
            Running::Verification { since, .. } => verifying += now.since(since),
        }
        if self.config.policy != Policy::OtherCore {
            return Work { forwarding, verifying, elsewhere: Nanos(0) };
        }
        let running = if self.verifications.is_empty() { Nanos(0) } else { now.since(self.other_since) };
        Work { forwarding, verifying: Nanos(0), elsewhere: verifying + running }
    }

    /// Gives the processor to whose turn it is, if it is idle.
    fn start(&mut self, agenda: &mut impl Agenda<Event>) {
        if self.running != Running::Nothing {
            return;
        }
        let slice = match (self.packets.front(), self.verifications.front()) {
            _ if self.config.policy == Policy::OtherCore => None,
            (_, None) => None,
            (None, Some(verification)) => Some(verification.left),
            (Some(packet), Some(verification)) => {
                self.turn(packet, verification).then_some(verification.left)
            }
        };
        let (running, span) = match (slice, self.packets.front()) {
            (Some(left), _) => {
                let slice =
                    if let Policy::Quantum(quantum) = self.config.policy { left.min(quantum) } else { left };
                (Running::Verification { since: agenda.now(), slice }, slice)
            }
            (None, Some(packet)) => (Running::Packet { since: agenda.now() }, packet.left),
            (None, None) => return,
        };
        self.running = running;
        self.epoch = self.epoch.wrapping_add(1);
        agenda.schedule(agenda.now() + span, Event::Due(self.epoch));
    }

    /// Whether it is the verification's turn, when both wait.
    fn turn(&self, packet: &Job<Key>, verification: &Job<u32>) -> bool {
        match self.config.policy {
            Policy::RunToCompletion => verification.order < packet.order,
            Policy::Quantum(_) => self.packets_first == 0,
            Policy::Preemptible | Policy::OtherCore => false,
        }
    }

    fn finish_packet(&mut self) {
        self.running = Running::Nothing;
        self.packets_first = self.packets_first.saturating_sub(1);
        if let Some(job) = self.packets.pop_front() {
            self.stats.forwarding += job.left;
            self.stats.forwarded += 1;
            self.outputs.push_back(Output::Forwarded(job.what));
        }
    }

    /// Stops the verification that runs: it is done, its quantum is over, or a packet takes its place.
    fn interrupt(&mut self, now: Instant) {
        let Running::Verification { since, slice } = self.running else { return };
        self.running = Running::Nothing;
        self.packets_first = self.packets.len();
        let ran = now.since(since).min(slice);
        self.stats.verifying += ran;
        let Some(job) = self.verifications.front_mut() else { return };
        job.left = job.left - ran;
        if job.left == Nanos(0) {
            let ticket = job.what;
            self.verifications.pop_front();
            self.verified(ticket);
        }
    }

    fn verified(&mut self, ticket: u32) {
        self.stats.verified += 1;
        self.outputs.push_back(Output::Verified(ticket));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_engine::{Pool, Queue};
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    /// When each packet went on and each receipt was verified, in ms: packets arrive at `packets` and take
    /// `packet_ms` each, receipts at `receipts` and take `receipt_ms`.
    fn timeline(
        policy: Policy,
        packets: &[u64],
        packet_ms: u64,
        receipts: &[u64],
        receipt_ms: u64,
    ) -> (Vec<u64>, Vec<u64>) {
        #[derive(Clone, Copy)]
        enum World {
            Packet,
            Receipt,
            Cpu(Event),
        }
        let mut queue = Queue::new();
        for at in packets {
            queue.push(Instant(at * MS), World::Packet);
        }
        for at in receipts {
            queue.push(Instant(at * MS), World::Receipt);
        }
        let mut pool = Pool::new();
        let mut cpu = Cpu::new(CpuConfig { policy, backlog_max: 100, verifications_max: 100 });
        let (mut forwarded, mut verified) = (Vec::new(), Vec::new());
        while let Some((at, event)) = queue.pop() {
            let mut agenda = guestright_engine::Part::new(&mut queue, World::Cpu);
            match event {
                World::Packet => assert!(cpu.forward(pool.insert(()), Nanos(packet_ms * MS), &mut agenda)),
                World::Receipt => assert!(cpu.verify(0, Nanos(receipt_ms * MS), &mut agenda)),
                World::Cpu(event) => cpu.handle(event, &mut agenda),
            }
            while let Some(output) = cpu.poll_output() {
                match output {
                    Output::Forwarded(_) => forwarded.push(at.0 / MS),
                    Output::Verified(_) => verified.push(at.0 / MS),
                }
            }
        }
        assert_eq!(cpu.stats().forwarding, Nanos(packets.len() as u64 * packet_ms * MS));
        assert_eq!(cpu.stats().verifying, Nanos(receipts.len() as u64 * receipt_ms * MS));
        (forwarded, verified)
    }

    /// Packets of 2 ms at 0, 1, 5, 30 and 31; a receipt of 25 ms at 1.
    #[test]
    fn each_policy_has_its_timeline() {
        #[rustfmt::skip]
        let cases = [
            // 0–2 packet, 2–4 packet (it came first), 4–29 receipt, 29–31, 31–33, 33–35 packets.
            (Policy::RunToCompletion, vec![2, 4, 31, 33, 35], vec![29]),
            // 0–2, 2–4 packets, 4–5 receipt, 5–7 packet, 7–30 receipt, 30–32, 32–34 packets, 34–35 receipt.
            (Policy::Preemptible, vec![2, 4, 7, 32, 34], vec![35]),
            // 0–2, 2–4 packets, 4–14 receipt, 14–16 packet, 16–26, 26–31 receipt, 31–33, 33–35 packets.
            (Policy::Quantum(Nanos(10 * MS)), vec![2, 4, 16, 33, 35], vec![31]),
            (Policy::OtherCore, vec![2, 4, 7, 32, 34], vec![26]),
        ];
        for (policy, packets, receipts) in cases {
            assert_eq!(timeline(policy, &[0, 1, 5, 30, 31], 2, &[1], 25), (packets, receipts), "{policy:?}");
        }
    }

    /// Both quanta and packets always want the processor: neither starves.
    #[test]
    fn quanta_and_packets_take_turns() {
        // A receipt of 30 ms at 0, packets of 4 ms every 2 ms from 1 on: 0–10 receipt, five packets wait (1, 3, 5, 7,
        // 9): 10–30, then 30–40 receipt, by then ten more and two wait…
        let packets: Vec<u64> = (0..30).map(|number| 1 + 2 * number).collect();
        let (forwarded, verified) = timeline(Policy::Quantum(Nanos(10 * MS)), &packets, 4, &[0], 30);
        assert_eq!(forwarded[..5], [14, 18, 22, 26, 30]);
        // At 40 the packets of 11 to 39 wait, fifteen of them: 40–100. Then the last quantum.
        assert_eq!(forwarded[5..20], (1..=15).map(|n| 40 + 4 * n).collect::<Vec<_>>()[..]);
        assert_eq!(verified, [110]);
    }

    /// Up to any instant, what has been worked is the time that something was there to do.
    #[test]
    fn work_counts_what_the_running_job_has_had() {
        let at = |ms: u64| Instant(ms * MS);
        let work = |policy: Policy, times: &[u64]| {
            let (mut queue, mut pool) = (Queue::new(), Pool::new());
            let mut cpu = Cpu::new(CpuConfig { policy, backlog_max: 9, verifications_max: 9 });
            assert!(cpu.verify(0, Nanos(30 * MS), &mut queue));
            assert!(cpu.verify(1, Nanos(30 * MS), &mut queue));
            assert!(cpu.forward(pool.insert(()), Nanos(4 * MS), &mut queue));
            let mut seen = Vec::new();
            for time in times {
                while queue.next_at().is_some_and(|due| due <= at(*time)) {
                    let (_, event) = queue.pop().unwrap();
                    cpu.handle(event, &mut queue);
                }
                let Work { forwarding, verifying, elsewhere } = cpu.work(at(*time));
                seen.push([forwarding, verifying, elsewhere].map(|span| span.0 / MS));
            }
            seen
        };
        // A quantum of 10 ms, the packet, then nothing but receipts until 64 ms.
        assert_eq!(
            work(Policy::Quantum(Nanos(10 * MS)), &[5, 12, 20, 64, 90]),
            [[0, 5, 0], [2, 10, 0], [4, 16, 0], [4, 60, 0], [4, 60, 0]]
        );
        assert_eq!(
            work(Policy::OtherCore, &[2, 20, 45, 90]),
            [[2, 0, 2], [4, 0, 20], [4, 0, 45], [4, 0, 60]]
        );
    }

    #[test]
    fn receipts_are_verified_one_after_the_other() {
        let (_, verified) = timeline(Policy::OtherCore, &[], 1, &[0, 5, 100], 30);
        assert_eq!(verified, [30, 60, 130]);
        let (_, verified) = timeline(Policy::Quantum(Nanos(7 * MS)), &[], 1, &[0, 5, 100], 30);
        assert_eq!(verified, [30, 60, 130]);
    }

    #[test]
    fn what_is_too_much_is_dropped_and_counted() {
        let mut queue: Queue<Event> = Queue::new();
        let mut pool = Pool::new();
        let mut cpu =
            Cpu::new(CpuConfig { policy: Policy::Preemptible, backlog_max: 2, verifications_max: 1 });
        let mut accepted = Vec::new();
        for _ in 0..3 {
            accepted.push(cpu.forward(pool.insert(()), Nanos(10), &mut queue));
        }
        assert_eq!(accepted, [true, true, false]);
        assert!(cpu.verify(1, Nanos(10), &mut queue));
        assert!(!cpu.verify(2, Nanos(10), &mut queue));
        assert_eq!((cpu.stats().backlog_drops, cpu.stats().verification_drops), (1, 1));
    }

    proptest! {
        /// Whatever the policy, every job is done, packets in their order and no faster than they can be.
        #[test]
        fn everything_is_done(
            mut packets in proptest::collection::vec(0..300_u64, 0..60),
            mut receipts in proptest::collection::vec(0..300_u64, 0..6),
            packet_ms in 1..6_u64,
            receipt_ms in 1..80_u64,
            quantum in 1..40_u64,
        ) {
            packets.sort_unstable();
            receipts.sort_unstable();
            let policies =
                [Policy::RunToCompletion, Policy::Preemptible, Policy::Quantum(Nanos(quantum * MS)), Policy::OtherCore];
            for policy in policies {
                let (forwarded, verified) = timeline(policy, &packets, packet_ms, &receipts, receipt_ms);
                prop_assert_eq!((forwarded.len(), verified.len()), (packets.len(), receipts.len()));
                for (at, done) in packets.iter().zip(&forwarded) {
                    prop_assert!(*done >= at + packet_ms);
                }
                prop_assert!(forwarded.is_sorted() && verified.is_sorted());
                if policy != Policy::OtherCore {
                    // Nothing is idle while something waits: the last job ends where one server without idling ends.
                    let mut jobs: Vec<_> = packets.iter().map(|at| (*at, packet_ms)).collect();
                    jobs.extend(receipts.iter().map(|at| (*at, receipt_ms)));
                    jobs.sort_unstable();
                    let end = jobs.iter().fold(0, |end, (at, cost)| end.max(*at) + cost);
                    prop_assert_eq!(forwarded.iter().chain(&verified).copied().max().unwrap_or(0), end);
                }
            }
        }
    }
}
