//! How many calls an access point carries before they break.
//!
//! Every call has a packet each way in each interval. All downlink packets go through the access point's one queue, and it
//! contends like one station, so that queue is what fills first. While it is busy it sends a frame in every cycle, and, with
//! calls, stations send one in the same time:
//!
//! `cycle = 2 · X + CWmin / 2 · slot + p · (X_c + (2 · CWmin + 1) / 2 · slot)`, where
//!
//! - `X` is protection, frame, SIFS, ACK and DIFS (10.3.4.2), `X_c` the same with the ACK's timeout (10.3.2.11);
//! - stations count their backoffs down while the access point does, so that only its own takes time;
//! - `p` is the share of frames that collide. A frame that comes while the medium is busy draws a slot of `CWmin + 1`, as
//!   does the access point; `p = f · busy / (CWmin + 1)`, with `busy` the share of a cycle in which something is on the air.
//!   The factor is ours ([`CONTENDERS`]).
//!
//! The queue's load is the sum of the cycles that calls want in a second. Up to 1 it empties once in each interval, since
//! streams are periodic. Beyond 1 it is full: stations are still served, each with its own queue, and all that does not fit is
//! lost on the way down, `(1 − 1 / load) · cycle / (cycle − X)` of it, while the rest waits for the whole queue. Loss and delay
//! become a mean opinion score by the E-model of ITU-T G.107.

use crate::{
    ACK_BYTES, Access, AccessCategory, CTS_BYTES, Ht, Mode, PPDU_TIME_MAX, Phy, Protection, Rate,
    subframe_bytes,
};
use guestright_quality::{Codec, Inputs, rate};
use guestright_units::{Micros, Nanos};

/// The least mean opinion score of a call that counts as carried.
pub const MOS_MIN: f64 = 3.6;
/// No more calls are looked for.
pub const CALLS_MAX: u32 = 200;

/// Who contends with a frame for its slot, on average, with CWmin of at least 31 and with less: fitted on the capacities of
/// `sim/wlan` (docs/measurements.md), where at the edge 4 to 9 % of the frames collide with CWmin 31 and 12 % with 15. In a shorter window
/// more frames, and second attempts, meet.
const CONTENDERS: [f64; 2] = [2.0, 3.0];

/// RTP, UDP and IPv4 around the sound in a packet.
const RTP_UDP_IP_BYTES: u32 = 12 + 8 + 20;
/// WireGuard around an IP packet, which it fills up to 16 bytes: IPv4 20, UDP 8, header 16, tag 16.
const WIREGUARD_BYTES: u32 = 20 + 8 + 16 + 16;

/// One kind of call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallShape {
    pub codec: Codec,
    /// Between two packets of a direction.
    pub interval: Micros,
    /// An IP packet of it as it is on the air, tunnel included.
    pub packet_bytes: u32,
}

impl CallShape {
    /// G.711 with concealment, 20 ms in a packet, without a tunnel.
    pub const G711: Self = Self {
        codec: Codec::G711uPlc,
        interval: Micros::from_millis(20),
        packet_bytes: 160 + RTP_UDP_IP_BYTES,
    };

    /// The same call through WireGuard.
    #[must_use]
    pub const fn in_wireguard(self) -> Self {
        Self { packet_bytes: self.packet_bytes.next_multiple_of(16) + WIREGUARD_BYTES, ..self }
    }

    fn packets_per_second(self) -> f64 {
        1.0 / micros(self.interval)
    }
}

/// A radio, and what is around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// Of 802.11a, b and g, and of what answers the frames of a newer radio.
    pub phy: Phy,
    /// Of 802.11n, ac and ax: all frames with data have its mode, whatever rate is named.
    pub ht: Option<Ht>,
    /// What an IP packet has more as an MPDU: header 24, LLC and SNAP 8, FCS 4; a newer radio's header has 26.
    pub overhead_bytes: u32,
    /// Packets that the access point keeps for the radio.
    pub queue_max: u32,
    /// One-way delay of the way beyond the access point, in ms.
    pub way_ms: f64,
    /// What a telephone's dejitter buffer makes up for, in ms.
    pub buffer_ms: f64,
}

impl Radio {
    /// A queue of 100 packets, a way of 20 ms and a buffer of 60 ms, as in the lab's plan of capacities.
    #[must_use]
    pub const fn new(phy: Phy) -> Self {
        Self { phy, ht: None, overhead_bytes: 36, queue_max: 100, way_ms: 20.0, buffer_ms: 60.0 }
    }

    /// The same of a radio of 802.11n, ac or ax, whose calls nobody marks: they contend as best effort.
    #[must_use]
    pub const fn of_ht(ht: Ht) -> Self {
        Self { ht: Some(ht), overhead_bytes: 38, ..Self::new(ht.legacy()) }
    }

    /// The fastest mode with width, guard interval and streams of `mode` that is not above `kbps`; its slowest if none is.
    #[must_use]
    pub fn nearest_mode(mode: Mode, kbps: u32) -> Mode {
        let slower = mode.siblings().filter(|other| other.kbps() <= kbps).last();
        slower.or_else(|| mode.siblings().next()).unwrap_or(mode)
    }

    /// The fastest rate of the standard that is not above `kbps`, where a driver says another; its slowest if none is.
    #[must_use]
    pub fn nearest_rate(&self, kbps: u32) -> Rate {
        let has = |rate: &Rate| self.phy.has(*rate);
        let rates = || crate::RATES.iter().map(|facts| facts.rate).filter(has);
        let slower = rates().filter(|rate| rate.kbps() <= kbps).max_by_key(|rate| rate.kbps());
        slower.or_else(|| rates().min_by_key(|rate| rate.kbps())).unwrap_or(self.phy.data_rate)
    }

    /// Seconds for which a packet of `bytes` keeps the medium from others: protection, frame, SIFS, ACK and DIFS; AIFS of best effort
    /// with a newer radio, where the packet is a frame by itself.
    #[must_use]
    pub fn exchange_s(&self, bytes: u32, rate: Rate) -> f64 {
        let ack = match &self.ht {
            Some(ht) => ht.ack_time(ht.response_rate(ht.mode)),
            None => self.phy.frame_time(ACK_BYTES, self.phy.response_rate(rate)),
        };
        seconds(self.data(bytes, rate) + self.phy.sifs + ack + self.pause())
    }

    /// Seconds that the access point needs for one packet down and one up.
    #[must_use]
    pub fn cycle_s(&self, bytes: u32, rate: Rate) -> f64 {
        let Phy { slot, sifs, cw_min, .. } = self.phy;
        let (exchange, window) = (self.exchange_s(bytes, rate), f64::from(cw_min));
        let (difs, slot_s) = (seconds(self.pause()), seconds(slot));
        let free = 2.0 * exchange + window / 2.0 * slot_s;
        let busy = 2.0 * (exchange - difs) / free;
        let contenders = if cw_min >= 31 { CONTENDERS[0] } else { CONTENDERS[1] };
        let collided = (contenders * busy / (window + 1.0)).min(1.0);
        let preamble = self.phy.preamble_time(self.phy.response_rate(rate));
        let collision = seconds(self.data(bytes, rate) + sifs + slot + preamble) + difs;
        free + collided * (collision + (2.0 * window + 1.0) / 2.0 * slot_s)
    }

    /// The share of the access point's time that these packets took: `down` with its backoff, `up` without.
    #[must_use]
    pub fn load(&self, traffic: Traffic, rate: Rate) -> f64 {
        let Traffic { up, down } = traffic;
        let backoff = f64::from(self.phy.cw_min) / 2.0 * seconds(self.phy.slot);
        down.per_second * self.shared_s(down, rate, backoff) + up.per_second * self.shared_s(up, rate, 0.0)
    }

    /// Seconds for each packet of a stream, with those that a newer radio puts into the same frame: as many as come within the longest
    /// frame's time, and fit into it and into a window of 64.
    fn shared_s(&self, stream: Stream, rate: Rate, backoff: f64) -> f64 {
        let alone = self.exchange_s(stream.bytes, rate) + backoff;
        let Some(ht) = &self.ht else { return alone };
        let subframe = subframe_bytes(stream.bytes + self.overhead_bytes);
        let fit = ht.psdu_bytes_within(PPDU_TIME_MAX, ht.mode) / subframe;
        let come = stream.per_second * seconds(PPDU_TIME_MAX);
        let together = come.clamp(1.0, f64::from(fit.clamp(1, 64)));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 64")]
        let frame = ht.psdu_time(together as u32 * subframe, ht.mode);
        let answer = ht.block_ack_time(64, ht.response_rate(ht.mode));
        let whole = seconds(frame + self.phy.sifs + answer + self.pause()) + backoff;
        alone.min(whole / together.floor())
    }

    /// The mean opinion score of the worse direction of every call, when the access point has this load with calls of this
    /// shape; 1 if they cannot be understood.
    #[must_use]
    pub fn mos(&self, shape: CallShape, load: f64) -> f64 {
        let slowest = self.cycle_s(shape.packet_bytes, self.phy.data_rate);
        let full_ms = f64::from(self.queue_max) * slowest * 1e3;
        let exchange = self.exchange_s(shape.packet_bytes, self.phy.data_rate);
        let over = if load <= 1.0 { 0.0 } else { 1.0 - 1.0 / load };
        let lost = (over * slowest / (slowest - exchange)).min(1.0);
        if load > 1.0 && full_ms > self.buffer_ms {
            return 1.0;
        }
        let facts = shape.codec.facts();
        let (Some(ie), Some(bpl)) = (facts.ie, facts.bpl) else { return 1.0 };
        let interval_ms = micros(shape.interval) * 1e3;
        let delay_ms = facts.coding_delay_ms(interval_ms) + self.way_ms + self.buffer_ms;
        let inputs = Inputs { ie: ie.value, bpl: bpl.value, ppl_percent: lost * 100.0, ..Inputs::default() };
        rate(inputs.with_delay(delay_ms)).map_or(1.0, |rating| rating.mos)
    }

    /// How many more calls of this shape, by stations at `rate`, all calls stand: so many keep [`MOS_MIN`].
    ///
    /// `load` is what the access point has already, from 0: its calls and everything else.
    #[must_use]
    pub fn calls_that_fit(&self, shape: CallShape, rate: Rate, load: f64) -> u32 {
        let radio = Self { phy: Phy { data_rate: rate, ..self.phy }, ..*self };
        let one = shape.packets_per_second() * radio.cycle_s(shape.packet_bytes, rate);
        let fits = |calls: u32| radio.mos(shape, load + f64::from(calls) * one) >= MOS_MIN;
        (1..=CALLS_MAX).take_while(|calls| fits(*calls)).last().unwrap_or(0)
    }

    /// The load of one call of this shape by a station at `rate`.
    #[must_use]
    pub fn call_load(&self, shape: CallShape, rate: Rate) -> f64 {
        shape.packets_per_second() * self.cycle_s(shape.packet_bytes, rate)
    }

    /// DIFS, or AIFS.
    const fn pause(&self) -> Nanos {
        match &self.ht {
            Some(ht) => ht.aifs(Access::standard(AccessCategory::BestEffort).aifsn),
            None => self.phy.difs(),
        }
    }

    fn data(&self, bytes: u32, rate: Rate) -> Nanos {
        if let Some(ht) = &self.ht {
            return ht.psdu_time(bytes + self.overhead_bytes, ht.mode);
        }
        let protection = match self.phy.protection {
            Protection::CtsToSelf(cts) if rate.is_ofdm() => {
                self.phy.frame_time(CTS_BYTES, cts) + self.phy.sifs
            }
            Protection::CtsToSelf(_) | Protection::Off => Nanos(0),
        };
        protection + self.phy.frame_time(bytes + self.overhead_bytes, rate)
    }
}

/// Packets of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stream {
    pub per_second: f64,
    /// Mean length of an IP packet.
    pub bytes: u32,
}

/// Packets of both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// From stations.
    pub up: Stream,
    /// To them.
    pub down: Stream,
}

fn seconds(time: Nanos) -> f64 {
    time.as_seconds()
}

fn micros(time: Micros) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "intervals are far below 2^52 µs")]
    let seconds = time.0 as f64 / 1e6;
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preamble;
    use proptest::prelude::*;

    fn calls(phy: Phy, shape: CallShape) -> u32 {
        Radio::new(phy).calls_that_fit(shape, phy.data_rate, 0.0)
    }

    /// Reckoned by hand from the times of the standard.
    #[test]
    fn a_cycle_is_the_sum_of_its_times() {
        let radio = Radio::new(Phy::b());
        // 236 bytes at 11 Mb/s: 192 + 172; SIFS 10; ACK at 2 Mb/s: 192 + 56; DIFS 50.
        assert!((radio.exchange_s(200, Rate::Cck11) - 672e-6).abs() < 1e-12);
        // Free 2 · 672 + 310, of which 2 · 622 busy: 4.70 % collide, for 364 + 10 + 20 + 192 + 50 and 31.5 slots.
        let want = 1_654.0 + 2.0 * (1_244.0 / 1_654.0) / 32.0 * (636.0 + 630.0);
        assert!((radio.cycle_s(200, Rate::Cck11) * 1e6 - want).abs() < 1e-6);
    }

    #[test]
    fn a_tunnel_makes_packets_longer_as_wireguard_does() {
        assert_eq!((CallShape::G711.packet_bytes, CallShape::G711.in_wireguard().packet_bytes), (200, 268));
    }

    #[test]
    fn slower_stations_longer_packets_and_other_traffic_leave_room_for_fewer_calls() {
        let slow = Phy { data_rate: Rate::Dsss2, ..Phy::b() };
        let short = Phy { preamble: Preamble::Short, ..Phy::b() };
        assert!(calls(slow, CallShape::G711) < calls(Phy::b(), CallShape::G711));
        assert!(calls(short, CallShape::G711) > calls(Phy::b(), CallShape::G711));
        assert!(calls(Phy::g(), CallShape::G711.in_wireguard()) < calls(Phy::g(), CallShape::G711));
        let radio = Radio::new(Phy::b());
        let download = Traffic { down: Stream { per_second: 200.0, bytes: 1_500 }, ..Traffic::default() };
        let load = radio.load(download, Rate::Cck11);
        assert!(radio.calls_that_fit(CallShape::G711, Rate::Cck11, load) < calls(Phy::b(), CallShape::G711));
        assert_eq!(radio.calls_that_fit(CallShape::G711, Rate::Cck11, 2.0), 0);
    }

    #[test]
    fn a_rate_that_the_model_does_not_have_is_the_next_slower_one() {
        let radio = Radio::new(Phy::g());
        let nearest = [144_400, 54_000, 13_000, 6_500, 500].map(|kbps| radio.nearest_rate(kbps).kbps());
        assert_eq!(nearest, [54_000, 54_000, 12_000, 6_000, 1_000]);
    }

    /// Reckoned by hand: 238 bytes at 65 Mb/s take 36 + 4 · 8, SIFS 16, ACK 28, AIFS 43; a download's 28 packets of 1,538 share 5,360, a
    /// block ACK of 32, and 7.5 slots.
    #[test]
    fn a_newer_radio_has_its_own_times_and_shares_frames_among_packets_of_a_download() {
        let mode = Mode::new(crate::Format::Ht, crate::Width::Mhz20, crate::Guard::Ns800, 1, 7).unwrap();
        let radio = Radio::of_ht(Ht::new(mode, crate::Band::Ghz5));
        let rate = radio.phy.data_rate;
        assert!((radio.exchange_s(200, rate) - 155e-6).abs() < 1e-12);
        let download =
            |per_second| Traffic { down: Stream { per_second, bytes: 1_500 }, ..Traffic::default() };
        // As many as fit leave nothing: 28 in 5,360 + 16 + 32 + 43 + 67.5 µs.
        assert!((radio.load(download(28.0 * 1e6 / 5_518.5), rate) - 1.0).abs() < 2e-3);
        // One packet each second is a frame by itself: 228 + 16 + 28 + 43 + 67.5.
        assert!((radio.load(download(1.0), rate) - 382.5e-6).abs() < 1e-9);
        let nearest = [100_000, 65_000, 64_999, 100].map(|kbps| Radio::nearest_mode(mode, kbps).mcs());
        assert_eq!(nearest, [7, 7, 6, 0]);
    }

    proptest! {
        /// What fits does not depend on how many calls were counted one by one and how many as load.
        #[test]
        fn calls_that_are_there_leave_room_for_so_many_fewer(there in 0_u32..12) {
            let radio = Radio::new(Phy::b());
            let load = f64::from(there) * radio.call_load(CallShape::G711, Rate::Cck11);
            let more = radio.calls_that_fit(CallShape::G711, Rate::Cck11, load);
            prop_assert_eq!(there.min(11) + more, calls(Phy::b(), CallShape::G711));
        }
    }
}
