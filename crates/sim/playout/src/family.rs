//! Where traces come from: who talks when, and what the network does.

mod way;

use crate::trace::{Packet, Trace};
use guestright_engine::{Stream, Streams};
use guestright_units::{Micros, Seed, Time};
use rand::RngExt as _;
use way::Slots;

/// What the network does to packets.
///
/// The last six are the network profiles with which Signal tests its calls (RingRTC, `call_sim`, `src/common.rs`,
/// <https://github.com/signalapp/ringrtc>; names and numbers are theirs, for each direction). Where those give no delay,
/// it is half of [`Call::round_trip`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// Half the round trip and up to 2 ms, evenly distributed.
    Clean,
    /// Jitter with a gamma distribution of shape 2 and mean [`Call::jitter`]; packets keep their order.
    Gamma,
    /// A quarter of that jitter; every 5 s on average a spike of 100 to 400 ms, and everything behind it comes at once
    /// (Bolot 1993; Ramjee and others 1994).
    Spikes,
    /// A quarter of that jitter; the delay creeps up by 40 ms over the call, and in the middle third another way takes
    /// 80 ms longer.
    Steps,
    /// 100 ms, Pareto distributed with a spread of 25 ms, 5 % loss.
    Moderate,
    /// 250 ms, Pareto distributed with a spread of 100 ms, bursts of loss (p 3 %, r 25 %), 5 % overtake, 300 kb/s.
    International,
    /// 50 ± 10 ms without loss; between 10 and 20 s of each 30 s, 100 ± 20 ms and bursts of loss (p 11 %, r 25 %).
    SpikyLoss,
    /// Bursts of loss (p 4 %, r 35 %): 10 % in bursts of 3.
    BurstyLoss,
    /// 10 % loss.
    SimpleLoss,
    /// 50 kb/s behind a queue of 16 packets. Packets have 140 bytes (ours: Opus at 40 kb/s), 56 kb/s while somebody talks.
    LimitedBandwidth,
}

/// How somebody talks: exponential talkspurts and pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Talk {
    /// The mean talkspurt.
    pub talkspurt: Micros,
    /// The mean pause.
    pub pause: Micros,
}

/// What a trace is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// What the network does.
    pub family: Family,
    /// The shortest time there and back.
    pub round_trip: Micros,
    /// The mean of the jitter, where the family has some.
    pub jitter: Micros,
    /// How long it lasts.
    pub length: Micros,
    /// Sound in a packet.
    pub interval: Micros,
    pub talk: Talk,
    /// How much faster the sender's clock runs, in parts per million.
    pub skew_ppm: i32,
}

impl Talk {
    /// Artificial conversational speech of ITU-T P.59 (03/1993), Table 1: talkspurts of 1.004 s and pauses of 1.587 s on
    /// average.
    pub const P59: Self = Self { talkspurt: Micros(1_004_000), pause: Micros(1_587_000) };
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Clean,
        Self::Gamma,
        Self::Spikes,
        Self::Steps,
        Self::Moderate,
        Self::International,
        Self::SpikyLoss,
        Self::BurstyLoss,
        Self::SimpleLoss,
        Self::LimitedBandwidth,
    ];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Gamma => "gamma",
            Self::Spikes => "spikes",
            Self::Steps => "steps",
            Self::Moderate => "moderate",
            Self::International => "international",
            Self::SpikyLoss => "spiky-loss",
            Self::BurstyLoss => "bursty-loss",
            Self::SimpleLoss => "simple-loss",
            Self::LimitedBandwidth => "limited-bandwidth",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.name() == name)
    }
}

impl Call {
    /// A call of 2 minutes in packets of 20 ms.
    #[must_use]
    pub const fn new(family: Family, round_trip: Micros, jitter: Micros) -> Self {
        Self {
            family,
            round_trip,
            jitter,
            length: Micros::from_seconds(120),
            interval: Micros::from_millis(20),
            talk: Talk::P59,
            skew_ppm: 0,
        }
    }

    /// Its trace with this seed. The same talkspurts for every family.
    #[must_use]
    pub fn trace(&self, seed: Seed) -> Trace {
        let chance = Streams::new(seed);
        let speech = self.speech(&mut chance.stream("talk", 0));
        let slots = Slots { call: self, speech: &speech };
        let (forward, backward) = (slots.way(&chance, 0), slots.quiet_way(&chance, 1));
        let interval = self.interval.0.max(1);
        let mut packets: Vec<Packet> = Vec::new();
        let (mut talkspurt, mut was_speech) = (0, true);
        for (slot, is_speech) in speech.iter().enumerate() {
            if *is_speech {
                talkspurt += usize::from(!was_speech && !packets.is_empty());
                let sent = Time(slot as u64 * interval);
                packets.push(Packet {
                    sequence: packets.len() as u64,
                    talkspurt,
                    media: self.media(sent),
                    sent,
                    arrived: forward.takes(sent).map(|taken| Time(sent.0 + taken.0)),
                });
            }
            was_speech = *is_speech;
        }
        Trace { interval: self.interval, packets, forward, backward }
    }

    /// What the sender's clock shows. It is ahead by so much that even a slow one never gets below 0.
    fn media(&self, at: Time) -> u64 {
        let skewed = i128::from(at.0) * (1_000_000 + i128::from(self.skew_ppm)) / 1_000_000;
        u64::try_from(skewed).unwrap_or(0)
    }

    /// For each interval, whether there is speech.
    fn speech(&self, chance: &mut Stream) -> Vec<bool> {
        let interval = self.interval.0.max(1);
        let slots = usize::try_from(self.length.0 / interval).unwrap_or(usize::MAX).min(crate::PACKETS_MAX);
        let mut speech = Vec::with_capacity(slots);
        while speech.len() < slots {
            // A pause of less than two packets is none.
            for (is_speech, mean, least) in [(true, self.talk.talkspurt, 1), (false, self.talk.pause, 2)] {
                let length = exponential(chance, millis(mean)) * 1e3;
                let count = whole(length / millis(self.interval) / 1e3).max(least);
                let count = usize::try_from(count).unwrap_or(usize::MAX).min(slots - speech.len());
                speech.extend(std::iter::repeat_n(is_speech, count));
            }
        }
        speech
    }
}

/// An exponentially distributed number.
fn exponential(chance: &mut Stream, mean: f64) -> f64 {
    -mean * libm::log(1.0 - chance.random::<f64>())
}

#[expect(clippy::cast_precision_loss, reason = "times of a call in µs are far below 2^52")]
fn millis(span: Micros) -> f64 {
    span.0 as f64 / 1e3
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count or µs of one call; what is below 0 becomes 0"
)]
fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(family: Family) -> Call {
        Call { length: Micros::from_seconds(600), ..Call::new(family, Micros(80_000), Micros(20_000)) }
    }

    fn mean_ms(trace: &Trace) -> f64 {
        let delays: Vec<i64> = trace.packets.iter().filter_map(Packet::delay).collect();
        delays.iter().sum::<i64>() as f64 / delays.len() as f64 / 1e3
    }

    fn lost(trace: &Trace) -> f64 {
        let lost = trace.packets.iter().filter(|packet| packet.arrived.is_none()).count();
        lost as f64 / trace.packets.len() as f64
    }

    #[test]
    fn a_trace_is_its_seed_s_alone() {
        for family in Family::ALL {
            assert_eq!(Family::from_name(family.name()), Some(family));
            let one = call(family).trace(Seed::from_number(1));
            assert_eq!(one, call(family).trace(Seed::from_number(1)));
            assert_ne!(one, call(family).trace(Seed::from_number(2)));
        }
    }

    /// Talking takes 1004 of 2591 ms, in both numbers within 15 %.
    #[test]
    fn talkspurts_are_as_p59_has_them() {
        let mut call = call(Family::Clean);
        call.length = Micros::from_seconds(6_000);
        let trace = call.trace(Seed::from_number(3));
        let count = trace.talkspurts().count() as f64;
        let mean_s = trace.packets.len() as f64 * 0.02 / count;
        assert!((0.9..1.1).contains(&mean_s), "{mean_s}");
        assert!((count * 2.591 / 6_000.0 - 1.0).abs() < 0.1, "{count}");
    }

    /// The numbers of the families, from long traces; the bands are a few standard errors.
    #[test]
    fn families_are_what_they_say() {
        #[rustfmt::skip]
        let cases = [
            (Family::Clean,            41.0, 0.2, 0.0,   0.0),
            (Family::Gamma,            60.0, 9.0, 0.0,   0.0),   // order kept: later than the mean
            (Family::Moderate,        100.0, 3.0, 0.05,  0.01),
            (Family::International,   244.0, 8.0, 0.107, 0.02),  // 5 % overtake at once
            (Family::SpikyLoss,        65.0, 6.0, 0.102, 0.03),  // a third of the time 11 / 36
            (Family::BurstyLoss,       40.0, 0.1, 0.103, 0.02),
            (Family::SimpleLoss,       40.0, 0.1, 0.10,  0.015),
        ];
        for (family, delay, delay_off, loss, loss_off) in cases {
            let trace = call(family).trace(Seed::from_number(9));
            assert!((mean_ms(&trace) - delay).abs() <= delay_off, "{family:?}: {} ms", mean_ms(&trace));
            assert!((lost(&trace) - loss).abs() <= loss_off, "{family:?}: {}", lost(&trace));
        }
    }

    #[test]
    fn a_queue_grows_while_somebody_talks_and_never_beyond_its_limit() {
        let trace = call(Family::LimitedBandwidth).trace(Seed::from_number(4));
        let delays: Vec<i64> = trace.packets.iter().filter_map(Packet::delay).collect();
        let (least, most) = (delays.iter().min().unwrap(), delays.iter().max().unwrap());
        assert_eq!(*least, 40_000 + 22_400, "140 bytes at 50 kb/s take 22.4 ms");
        assert!(*most > 120_000 && *most <= 40_000 + 17 * 22_400, "{most}");
    }

    #[test]
    fn a_fast_clock_makes_delays_fall() {
        let mut call = call(Family::Clean);
        call.skew_ppm = 100;
        let trace = call.trace(Seed::from_number(1));
        let (first, last) = (trace.packets.first().unwrap(), trace.packets.last().unwrap());
        let fell = first.delay().unwrap() - last.delay().unwrap();
        assert!((fell - 60_000).abs() < 4_000, "{fell} µs in 600 s");
    }

    #[test]
    fn where_order_is_kept_it_is_kept() {
        for family in [Family::Gamma, Family::Spikes, Family::Steps, Family::LimitedBandwidth] {
            let trace = call(family).trace(Seed::from_number(5));
            let arrived: Vec<Time> = trace.packets.iter().filter_map(|packet| packet.arrived).collect();
            assert!(arrived.is_sorted(), "{family:?}");
        }
        let trace = call(Family::International).trace(Seed::from_number(5));
        let arrived: Vec<Time> = trace.packets.iter().filter_map(|packet| packet.arrived).collect();
        assert!(!arrived.is_sorted());
    }
}
