//! BoAT's handshakes over a trace's ways (paper D, section 3.1 and Table 2).
//!
//! PROBE goes there, RESPONSE back, INSTALL there, ACK back. A phase begins 0.5 to 1 s after the one before, as that paper
//! has it for its keys, but not before that one is over: answered, or given up after `max(300 ms, 2 RTT)`.

use crate::trace::Trace;
use guestright_units::{Micros, Time};
use guestright_voice::playout::Handshake;
use rand::{Rng, RngExt as _};

/// A phase begins so long after the one before, at least and at most.
pub const PHASE: (Micros, Micros) = (Micros::from_millis(500), Micros::from_millis(1_000));
/// A phase without an answer is given up after this, or two round trips if that is longer.
const GIVE_UP: Micros = Micros::from_millis(300);
/// A round trip of more than this is not used.
const ROUND_TRIP_MAX: Micros = Micros::from_seconds(2);

/// What the listener learns of a phase, when INSTALL has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// When INSTALL came.
    pub installed: Time,
    /// What it says.
    pub handshake: Handshake,
}

/// All phases of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshakes {
    /// Those of which INSTALL came, in that order.
    pub exchanges: Vec<Exchange>,
    /// Messages that were sent, both ways.
    pub messages: u64,
    pub phases: u64,
}

impl Handshakes {
    /// The first phase before the first packet, by as much as it may take; then through the call.
    #[must_use]
    pub fn over(trace: &Trace, chance: &mut impl Rng) -> Self {
        let mut all = Self::default();
        let (Some(first), Some(last)) = (trace.packets.first(), trace.packets.last()) else { return all };
        let mut round_trip = Micros(0);
        let mut begins = first.sent;
        // The handshake that precedes the conversation is repeated until it succeeds; the call starts then. Its clock
        // is the way's first moments.
        for _ in 0..64 {
            let (_, exchange, _) = all.phase(trace, begins, Micros(0));
            if let Some(exchange) = exchange {
                all.exchanges.push(Exchange { installed: Time(0), ..exchange });
                round_trip = exchange.handshake.round_trip;
                break;
            }
            begins = Time(begins.0 + GIVE_UP.0);
        }
        let mut begins = first.sent;
        while begins <= last.sent {
            let (over, exchange, measured) = all.phase(trace, begins, round_trip);
            all.exchanges.extend(exchange);
            round_trip = measured.unwrap_or(round_trip);
            let drawn = chance.random_range(PHASE.0.0..=PHASE.1.0);
            begins = Time((begins.0 + drawn).max(over.0));
        }
        all.exchanges.sort_by_key(|exchange| exchange.installed);
        all
    }

    /// One phase: when it is over, what INSTALL brought, and the round trip that the talker has measured.
    fn phase(
        &mut self,
        trace: &Trace,
        begins: Time,
        before: Micros,
    ) -> (Time, Option<Exchange>, Option<Micros>) {
        self.phases += 1;
        let given_up = Time(begins.0 + GIVE_UP.0.max(2 * before.0));
        self.messages += 1;
        let Some(there) = trace.forward.takes(begins) else { return (given_up, None, None) };
        let probed = Time(begins.0 + there.0);
        self.messages += 1;
        let Some(back) = trace.backward.takes(probed) else { return (given_up, None, None) };
        let answered = Time(probed.0 + back.0);
        let round_trip = answered.since(begins);
        // What comes after the phase was given up finds nobody waiting.
        if answered > given_up && before != Micros(0) || round_trip > ROUND_TRIP_MAX {
            return (given_up, None, None);
        }
        self.messages += 1;
        let Some(there) = trace.forward.takes(answered) else { return (given_up, None, Some(round_trip)) };
        let installed = Time(answered.0 + there.0);
        let media = trace.media_at(begins);
        let handshake = Handshake { media, arrived: probed, round_trip };
        self.messages += 1;
        let acknowledged = trace.backward.takes(installed).map(|back| Time(installed.0 + back.0));
        let over = acknowledged.unwrap_or(given_up).max(answered);
        (over, Some(Exchange { installed, handshake }), Some(round_trip))
    }
}

impl Trace {
    /// What the sender's clock shows at a time: that of the packets around it.
    fn media_at(&self, at: Time) -> u64 {
        let next = self.packets.partition_point(|packet| packet.sent < at);
        let Some(near) = self.packets.get(next).or(self.packets.last()) else { return at.0 };
        (near.media + at.0).saturating_sub(near.sent.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::{Call, Family};
    use guestright_engine::Streams;
    use guestright_units::Seed;

    fn over(family: Family, round_trip_ms: u64) -> (Trace, Handshakes) {
        let call = Call::new(family, Micros::from_millis(round_trip_ms), Micros::from_millis(10));
        let trace = call.trace(Seed::from_number(1));
        let chance = &mut Streams::new(Seed::from_number(1)).stream("handshake", 0);
        let all = Handshakes::over(&trace, chance);
        (trace, all)
    }

    /// Section 3.1: the clocks differ by t0 + RTT afterwards, between one and two round trips.
    #[test]
    fn delta_is_between_one_and_two_round_trips() {
        for family in Family::ALL {
            let (_, all) = over(family, 80);
            assert!(all.exchanges.len() > 20, "{family:?}");
            for Exchange { handshake, .. } in all.exchanges {
                let t0 = handshake.arrived.0 - handshake.media;
                assert!(t0 <= handshake.round_trip.0, "{family:?}");
            }
        }
    }

    #[test]
    fn without_loss_every_phase_has_four_messages_and_one_comes_each_three_quarters_of_a_second() {
        let (trace, all) = over(Family::Clean, 80);
        assert_eq!((all.messages, all.exchanges.len() as u64), (4 * all.phases, all.phases));
        let per_second = (all.phases - 1) as f64 / trace.length().as_seconds();
        assert!((1.25..1.42).contains(&per_second), "{per_second}");
    }

    #[test]
    fn a_lost_message_ends_its_phase() {
        let (_, all) = over(Family::SimpleLoss, 80);
        assert!(all.messages < 4 * all.phases && (all.exchanges.len() as u64) < all.phases, "{all:?}");
        let (_, all) = over(Family::International, 80);
        assert!(all.exchanges.is_sorted_by_key(|exchange| exchange.installed));
    }
}
