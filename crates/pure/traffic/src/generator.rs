//! When which packet leaves.

use guestright_units::{Micros, Seed, Time};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::packet::VoicePacket;
use crate::plan::{PACKET, Phases, Plan};

/// A packet that leaves this long after its time is counted as late.
const LATE: Micros = Micros::from_millis(2);

/// Sends the packets of all calls of one direction, each call every 20 ms.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    plan: Plan,
    session: u32,
    start: Time,
    /// Phase and call, by phase.
    phases: Vec<(u64, u16)>,
    /// The round, which is the packet's number, and the place in `phases`.
    round: u32,
    index: usize,
    pacing: Pacing,
}

/// How well the sender kept its times. What it did not keep looks like jitter at the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pacing {
    /// Packets that left.
    pub sent: u64,
    /// Those that left more than 2 ms after their time.
    pub late: u64,
    /// The worst, µs.
    pub worst_us: u64,
    /// The sum over all packets, µs.
    pub sum_us: u64,
}

impl Generator {
    pub(crate) fn new(plan: Plan, session: u32, seed: &Seed, start: Time) -> Self {
        let mut random = ChaCha8Rng::from_seed(seed.0);
        let calls = u64::from(plan.calls);
        let mut phases: Vec<(u64, u16)> = (0..plan.calls)
            .map(|call| match plan.phases {
                Phases::Even => (u64::from(call) * PACKET.0 / calls, call),
                Phases::Random => (random.random_range(0..PACKET.0), call),
            })
            .collect();
        phases.sort_unstable();
        Self { plan, session, start, phases, round: 0, index: 0, pacing: Pacing::default() }
    }

    /// When the next packet is due; `None` after the last.
    pub(crate) fn due(&self) -> Option<Time> {
        if self.round >= self.plan.packets {
            return None;
        }
        let (phase, _) = self.phases.get(self.index)?;
        Some(self.start + Micros(u64::from(self.round) * PACKET.0 + phase))
    }

    /// The next packet, if it is due.
    pub(crate) fn next(&mut self, now: Time) -> Option<Vec<u8>> {
        let due = self.due()?;
        if now < due {
            return None;
        }
        let late = now.since(due);
        self.pacing.sent += 1;
        self.pacing.late += u64::from(late > LATE);
        self.pacing.worst_us = self.pacing.worst_us.max(late.0);
        self.pacing.sum_us = self.pacing.sum_us.saturating_add(late.0);
        let (_, call) = *self.phases.get(self.index)?;
        let packet = VoicePacket { session: self.session, call, number: self.round, sent: now };
        self.index += 1;
        if self.index == self.phases.len() {
            self.index = 0;
            self.round += 1;
        }
        Some(packet.emit(self.plan.traffic))
    }

    /// Sends no more. What is left of the round is dropped with it.
    pub(crate) fn stop(&mut self) {
        self.plan.packets = self.round;
    }

    /// How many packets each call has sent.
    ///
    /// In the middle of a round some calls have sent one more; they are not counted, because a receiver that knows of
    /// one packet too few counts none as lost by mistake.
    pub(crate) fn rounds(&self) -> u32 {
        self.round
    }

    pub(crate) fn pacing(&self) -> Pacing {
        self.pacing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Traffic;

    const PLAN: Plan = Plan { calls: 5, traffic: Traffic::G729, phases: Phases::Even, packets: 50 };

    fn all(plan: Plan, seed: u64) -> Vec<(Time, VoicePacket)> {
        let mut generator = Generator::new(plan, 9, &Seed::from_number(seed), Time(1_000_000));
        let mut sent = Vec::new();
        while let Some(due) = generator.due() {
            assert_eq!(generator.next(Time(due.0 - 1)), None);
            let bytes = generator.next(due).unwrap();
            sent.push((due, VoicePacket::parse(&bytes, plan.traffic).unwrap()));
        }
        assert_eq!(generator.pacing(), Pacing { sent: sent.len() as u64, ..Pacing::default() });
        sent
    }

    #[test]
    fn each_call_sends_50_packets_a_second() {
        for phases in [Phases::Even, Phases::Random] {
            let sent = all(Plan { phases, ..PLAN }, 3);
            assert_eq!(sent.len(), 250);
            assert!(sent.windows(2).all(|pair| pair[0].0 <= pair[1].0));
            for call in 0..5 {
                let own: Vec<_> = sent.iter().filter(|(_, packet)| packet.call == call).collect();
                assert!(own.windows(2).all(|pair| pair[1].0.since(pair[0].0) == PACKET));
                assert!(
                    own.iter()
                        .enumerate()
                        .all(|(n, (due, packet))| packet.number as usize == n && packet.sent == *due)
                );
            }
        }
    }

    #[test]
    fn phases_are_even_or_by_the_seed() {
        let first =
            |plan, seed| all(plan, seed)[..5].iter().map(|(due, _)| due.0 - 1_000_000).collect::<Vec<_>>();
        assert_eq!(first(PLAN, 1), [0, 4_000, 8_000, 12_000, 16_000]);
        let random = Plan { phases: Phases::Random, ..PLAN };
        assert_eq!(first(random, 1), first(random, 1));
        assert_ne!(first(random, 1), first(random, 2));
    }

    #[test]
    fn what_was_late_is_told() {
        let mut generator = Generator::new(PLAN, 9, &Seed::from_number(1), Time(0));
        generator.next(Time(5_000)).unwrap();
        assert_eq!(generator.pacing(), Pacing { sent: 1, late: 1, worst_us: 5_000, sum_us: 5_000 });
    }

    #[test]
    fn stops_when_asked() {
        let mut generator = Generator::new(PLAN, 9, &Seed::from_number(1), Time(0));
        while generator.due().unwrap() < Time(110_000) {
            let due = generator.due().unwrap();
            generator.next(due);
        }
        generator.stop();
        assert_eq!((generator.due(), generator.rounds()), (None, 5));
    }
}
