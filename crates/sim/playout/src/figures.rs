//! How good a call was as it was played.

use crate::bound::{Bound, Talkspurt};
use crate::player::Played;
use crate::trace::{Packet, Trace};
use guestright_quality::{
    BestPlayout, Codec, InputError, Inputs, LossPattern, MosCurve, Playout, PlayoutCounts, rate,
};
use guestright_units::Micros;

/// What is measured of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// Packets of the call.
    pub packets: u64,
    /// Of them lost on the way.
    pub lost: u64,
    /// Of them too late.
    pub late: u64,
    /// From making to playing, the mean of what was played, in ms.
    pub delay_mean_ms: Option<f64>,
    /// The same: 95 % have no more.
    pub delay_p95_ms: Option<f64>,
    /// What is concealed: lost and late sound.
    pub concealed: Micros,
    /// How often the delay was another one than that of the talkspurt before, by 1 ms or more.
    pub changes: u64,
    /// By how much pauses were made longer and shorter in all.
    pub shifted: Micros,
    /// The burst ratio of what is concealed, at least 1 (G.107, 7.5).
    pub burst_ratio: f64,
    /// The rating, 0 to 100. G.711 with concealment; from mouth to ear, with the time to speak a packet.
    pub r: f64,
    /// Its mean opinion score.
    pub mos: f64,
}

#[derive(Clone, Debug)]
pub struct Judge {
    packet_ms: f64,
    best: Playout,
    ie: f64,
    bpl: f64,
}

impl Judge {
    /// For calls in packets of that length, G.711 with concealment.
    ///
    /// # Errors
    ///
    /// If it is no length of time.
    pub fn new(interval: Micros) -> Result<Self, InputError> {
        let facts = Codec::G711aPlc.facts();
        let [ie, bpl] = [facts.ie, facts.bpl].map(|cited| cited.map_or(0.0, |cited| cited.value));
        let packet_ms = millis(interval.0);
        Ok(Self { packet_ms, best: Playout::g711(packet_ms)?, ie, bpl })
    }

    /// The figures of a call.
    ///
    /// # Errors
    ///
    /// If a delay has no meaning.
    pub fn figures(&self, trace: &Trace, played: &Played) -> Result<Figures, InputError> {
        let mut delays: Vec<u64> = Vec::with_capacity(trace.packets.len());
        let (mut pattern, mut lost, mut late) = (LossPattern::default(), 0_u64, 0_u64);
        for (packet, at) in trace.packets.iter().zip(&played.at) {
            delays.extend(at.map(|at| at.since(packet.sent).0));
            pattern.push(at.is_none());
            lost += u64::from(packet.arrived.is_none());
            late += u64::from(packet.arrived.is_some() && at.is_none());
        }
        delays.sort_unstable();
        let delay_mean_ms = mean(delays.iter().copied());
        let rank = (delays.len() * 95).div_ceil(100).saturating_sub(1);
        let missing = lost + late;
        let loss = ratio(missing, trace.packets.len() as u64);
        let burst_ratio = pattern.loss().burst_ratio.unwrap_or(1.0).max(1.0);
        let (changes, shifted) = changes(&played.offsets);
        let delay = delay_mean_ms.unwrap_or(0.0) + self.packet_ms;
        let r = rate(Inputs::voip(delay, loss, self.ie, self.bpl, burst_ratio))?.r;
        Ok(Figures {
            packets: trace.packets.len() as u64,
            lost,
            late,
            delay_mean_ms,
            delay_p95_ms: delays.get(rank).map(|delay| millis(*delay)),
            concealed: Micros(missing * trace.interval.0),
            changes,
            shifted: Micros(shifted),
            burst_ratio,
            r,
            mos: MosCurve::Itu.mos(r),
        })
    }

    /// The one delay for the whole call that would have been best, in hindsight.
    #[must_use]
    pub fn best_fixed(&self, trace: &Trace) -> Option<BestPlayout> {
        let mut counts = PlayoutCounts::default();
        for packet in &trace.packets {
            if let Some(arrived) = packet.arrived {
                counts.add(arrived.since(packet.sent));
            }
        }
        self.best.best(&counts, trace.packets.len() as u64, self.packet_ms)
    }
}

impl Figures {
    /// Late packets in per cent of all.
    #[must_use]
    pub fn late_percent(&self) -> f64 {
        100.0 * ratio(self.late, self.packets)
    }

    /// Packets lost on the way in per cent of all.
    #[must_use]
    pub fn lost_percent(&self) -> f64 {
        100.0 * ratio(self.lost, self.packets)
    }
}

impl Trace {
    /// The least mean delay with up to `late_max` late packets.
    #[must_use]
    pub fn bound(&self, late_max: usize) -> Bound {
        let one = |packets: &[Packet]| {
            let (first, last) = (packets.first()?, packets.last()?);
            let mut delays: Vec<i64> = packets.iter().filter_map(Packet::delay).collect();
            delays.sort_unstable();
            let end = (last.media + self.interval.0).cast_signed();
            Some(Talkspurt { first: first.media.cast_signed(), end, delays })
        };
        let spurts: Vec<Talkspurt> = self.talkspurts().filter_map(one).collect();
        Bound::new(&spurts, late_max)
    }
}

impl Played {
    /// The mean of what was added to the sender's clock, in ms: the mean delay, if both clocks are one. It is never less
    /// than [`Bound::mean_us`] for as many late packets.
    #[must_use]
    pub fn added_mean_ms(&self, trace: &Trace) -> Option<f64> {
        let added = |(packet, at): (&Packet, &Option<_>)| {
            at.map(|at: guestright_units::Time| at.0.saturating_sub(packet.media))
        };
        mean(trace.packets.iter().zip(&self.at).filter_map(added))
    }
}

/// How often, and by how much in all, the delay changed between talkspurts.
fn changes(offsets: &[Option<i64>]) -> (u64, u64) {
    let offsets: Vec<i64> = offsets.iter().copied().flatten().collect();
    let steps = offsets.windows(2).map(|pair| pair[0].abs_diff(pair[1]));
    steps.fold((0, 0), |(count, sum), step| (count + u64::from(step >= 1_000), sum + step))
}

#[expect(clippy::cast_precision_loss, reason = "sums of delays of one call in µs are far below 2^52")]
fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let (count, sum) = values.fold((0_u64, 0_u64), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum as f64 / count as f64 / 1e3)
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[expect(clippy::cast_precision_loss, reason = "times of a call in µs are far below 2^52")]
fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}
