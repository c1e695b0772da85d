//! A policy at work: which packets it plays, and when.
//!
//! It decides about a talkspurt when the first packet of it has come, with all that came before, and holds to it. A
//! talkspurt does not begin before the one before has ended, lost packets included: the sequence numbers say how many
//! there were.

use crate::handshake::Exchange;
use crate::trace::{Packet, Trace};
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Arrival, Policy, WindowMinimum};

/// What holds for every policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The longest that may be added to the delay of the fastest packet of the last 10 s.
    pub delay_max: Micros,
    /// Whether a talkspurt whose first packet came too late for the policy's wish begins when it came, as our buffer has
    /// it. Otherwise that packet is late, as in the papers.
    pub waits_for_first: bool,
}

impl Rules {
    /// Our buffer's, with 1 s so that nothing is cut off.
    pub const OURS: Self = Self { delay_max: Micros::from_millis(1_000), waits_for_first: true };
    pub const PAPERS: Self = Self { waits_for_first: false, ..Self::OURS };
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    /// For each packet of the trace, when it was played; `None` if it was late or lost.
    pub at: Vec<Option<Time>>,
    /// For each talkspurt, what was added to the sender's clock, in µs; `None` if nothing of it came in time to decide.
    pub offsets: Vec<Option<i64>>,
}

/// How long the fastest packet is remembered: as our buffer does.
const BASE_SPAN: Micros = Micros::from_seconds(10);

/// Runs a policy over a trace. `exchanges` are handshakes that it is told of, in the order in which they came.
pub fn play(trace: &Trace, policy: &mut dyn Policy, exchanges: &[Exchange], rules: &Rules) -> Played {
    let spurts: Vec<&[Packet]> = trace.talkspurts().collect();
    let first_spurt = trace.packets.first().map_or(0, |packet| packet.talkspurt);
    let mut arrivals: Vec<(Time, usize)> = trace
        .packets
        .iter()
        .enumerate()
        .filter_map(|(index, packet)| packet.arrived.map(|arrived| (arrived, index)))
        .collect();
    arrivals.sort_unstable();
    let mut player = Player {
        rules,
        base: WindowMinimum::new(BASE_SPAN),
        free_from: i64::MIN,
        planned: 0,
        offsets: vec![None; spurts.len()],
    };
    let mut at = vec![None; trace.packets.len()];
    let mut exchanges = exchanges.iter().peekable();
    for (arrived, index) in arrivals {
        while let Some(exchange) = exchanges.next_if(|exchange| exchange.installed <= arrived) {
            policy.handshake(&exchange.handshake);
        }
        let packet = &trace.packets[index];
        let spurt = packet.talkspurt - first_spurt;
        let arrival = Arrival {
            sequence: packet.sequence,
            media: packet.media,
            arrived,
            starts_talkspurt: spurts[spurt].first().is_some_and(|first| first.sequence == packet.sequence),
            duration: trace.interval,
        };
        policy.arrived(&arrival);
        player.base.add(arrival.delay(), arrived);
        let Some(offset) = player.offset(spurt, &spurts, &arrival, policy) else { continue };
        at[index] = (arrival.delay() <= offset).then(|| Time(packet.media.saturating_add_signed(offset)));
    }
    Played { at, offsets: player.offsets }
}

struct Player<'a> {
    rules: &'a Rules,
    base: WindowMinimum,
    /// By our clock, in µs: when the sound of the talkspurts before is over.
    free_from: i64,
    /// The first talkspurt about which nothing is decided.
    planned: usize,
    offsets: Vec<Option<i64>>,
}

impl Player<'_> {
    /// What is added to the sender's clock for this talkspurt; `None` if its turn is over before anything of it came.
    fn offset(
        &mut self,
        spurt: usize,
        spurts: &[&[Packet]],
        arrival: &Arrival,
        policy: &mut dyn Policy,
    ) -> Option<i64> {
        if spurt < self.planned {
            return self.offsets[spurt];
        }
        let (first, last) = (spurts[spurt].first()?, spurts[spurt].last()?);
        let base = self.base.get().unwrap_or_else(|| arrival.delay());
        let wish = policy.play_after(arrival);
        let mut offset = wish.clamp(base, base.saturating_add(self.rules.delay_max.0.cast_signed()));
        if self.rules.waits_for_first {
            offset = offset.max(arrival.delay());
        }
        offset = offset.max(self.free_from.saturating_sub(first.media.cast_signed()));
        self.free_from = (last.media + arrival.duration.0).cast_signed().saturating_add(offset);
        self.planned = spurt + 1;
        self.offsets[spurt] = Some(offset);
        Some(offset)
    }
}
