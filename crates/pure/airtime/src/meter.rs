//! Which guests call, by their counters, and how many more calls fit.
//!
//! A call that nobody sees into is known by its rhythm: in both directions a steady number of short packets. A guest whose
//! packets have had it for two windows in a row counts as one call; when a window lacks it twice, the call is over.

use crate::Rate;
use crate::capacity::{CallShape, Radio, Stream, Traffic};
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// Counters are compared over so long at least.
const WINDOW: Micros = Micros::from_seconds(1);
/// Counters that are older say nothing of now.
const STALE: Micros = Micros::from_seconds(10);
/// Whoever has this rhythm for so many windows is in a call, and out of it when it is missing for as many.
const WINDOWS: u8 = 2;
/// Packets a second in each direction: from 60 ms in a packet (16.7) to 10 ms (100), and a tenth for what else passes.
const PER_SECOND: std::ops::RangeInclusive<f64> = 15.0..=110.0;
/// Mean lengths: from a codec of 5 kbit/s without a tunnel (60) to G.711 with 30 ms in one (348).
const BYTES: std::ops::RangeInclusive<u32> = 48..=360;
/// Guests that are followed; the firewall has room for as many.
const GUESTS_MAX: usize = 1_024;

/// Packets and bytes of IPv4 since some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

/// Both directions of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// From the guest.
    pub up: Count,
    /// To it.
    pub down: Count,
}

/// How many calls there are, and how many more fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    pub calls: u32,
    /// Calls that may begin before those that are there, and they themselves, fall below a mean opinion score of 3.6.
    pub more: u32,
    /// The share of the access point's time that is used; beyond 1 packets are lost.
    pub load: f64,
}

/// One guest.
#[derive(Clone, Copy, Debug)]
struct Guest {
    counted: Counted,
    traffic: Traffic,
    rate: Rate,
    is_calling: bool,
    /// Windows in a row that were otherwise.
    otherwise: u8,
}

/// Follows the guests of one access point.
///
/// Call [`handle_counters`](Self::handle_counters) with all guests that are there, as often as counters are read; then ask for
/// [`room`](Self::room).
///
/// ```
/// use guestright_airtime::{CallMeter, CallShape, Count, Counted, Phy, Radio, Rate};
/// use guestright_units::{Micros, Time};
///
/// let mut meter = CallMeter::new(Radio::new(Phy::b()), CallShape::G711);
/// for second in 0..4 {
///     let count = Count { packets: 50 * second, bytes: 10_000 * second };
///     let guest = (7, Counted { up: count, down: count }, Rate::Cck11);
///     meter.handle_counters([guest], Time(0) + Micros::from_seconds(second));
/// }
/// let room = meter.room().unwrap();
/// assert_eq!((room.calls, room.more), (1, 10));
/// ```
#[derive(Clone, Debug)]
pub struct CallMeter<K> {
    radio: Radio,
    shape: CallShape,
    guests: BTreeMap<K, Guest>,
    /// When the counters were last compared.
    last: Option<Time>,
    windows: u64,
}

impl<K: Ord + Copy> CallMeter<K> {
    /// `shape` is what the next call is taken to be.
    #[must_use]
    pub fn new(radio: Radio, shape: CallShape) -> Self {
        Self { radio, shape, guests: BTreeMap::new(), last: None, windows: 0 }
    }

    /// Whether counters would be looked at now.
    #[must_use]
    pub fn is_due(&self, now: Time) -> bool {
        self.last.is_none_or(|last| now >= last + WINDOW)
    }

    /// Takes in what was counted of each guest, and the rate of its station. Sooner than a window after the last time they
    /// are passed over. Whoever is not among them has gone. A counter that has gone back has begun anew.
    pub fn handle_counters(&mut self, guests: impl IntoIterator<Item = (K, Counted, Rate)>, now: Time) {
        if !self.is_due(now) {
            return;
        }
        let passed = self.last.map(|last| now - last);
        self.last = Some(now);
        self.windows += u64::from(passed.is_some());
        let before = std::mem::take(&mut self.guests);
        for (key, counted, rate) in guests.into_iter().take(GUESTS_MAX) {
            let fresh = Guest { counted, traffic: Traffic::default(), rate, is_calling: false, otherwise: 0 };
            let guest = match (before.get(&key), passed) {
                (Some(before), Some(passed)) => before.moved(counted, rate, passed),
                _ => fresh,
            };
            self.guests.insert(key, guest);
        }
    }

    /// Calls, load, and how many more calls fit; nothing before the first window is over.
    #[must_use]
    pub fn room(&self) -> Option<Room> {
        if self.windows == 0 {
            return None;
        }
        let calls = self.guests.values().filter(|guest| guest.is_calling).count();
        let load: f64 = self.guests.values().map(|guest| self.load_of(guest)).sum();
        // The next call is taken to be as slow as the slowest station that is there, or as the radio is said to be.
        let rates = self.guests.values().map(|guest| guest.rate).chain([self.radio.phy.data_rate]);
        let rate = rates.min_by_key(|rate| rate.kbps()).unwrap_or(self.radio.phy.data_rate);
        let more = self.radio.calls_that_fit(self.shape, rate, load);
        Some(Room { calls: u32::try_from(calls).unwrap_or(u32::MAX), more, load })
    }

    /// The same, unless nothing was counted for a while: what was true then may not be any more.
    #[must_use]
    pub fn fresh_room(&self, now: Time) -> Option<Room> {
        self.last.filter(|last| now <= *last + STALE).and_then(|_| self.room())
    }

    /// A call counts with its collisions, since it is sure to contend in every interval.
    fn load_of(&self, guest: &Guest) -> f64 {
        if guest.is_calling {
            let Traffic { up, down } = guest.traffic;
            let bytes = up.bytes.max(down.bytes);
            up.per_second.max(down.per_second) * self.radio.cycle_s(bytes, guest.rate)
        } else {
            self.radio.load(guest.traffic, guest.rate)
        }
    }
}

impl Guest {
    fn moved(&self, counted: Counted, rate: Rate, passed: Micros) -> Self {
        let traffic = Traffic {
            up: stream(self.counted.up, counted.up, passed),
            down: stream(self.counted.down, counted.down, passed),
        };
        let has_rhythm = has_rhythm(traffic.up) && has_rhythm(traffic.down);
        let otherwise = if has_rhythm == self.is_calling { 0 } else { self.otherwise + 1 };
        let changes = otherwise >= WINDOWS;
        Self {
            counted,
            traffic,
            rate,
            is_calling: self.is_calling != changes,
            otherwise: if changes { 0 } else { otherwise },
        }
    }
}

fn has_rhythm(stream: Stream) -> bool {
    PER_SECOND.contains(&stream.per_second) && BYTES.contains(&stream.bytes)
}

fn stream(before: Count, now: Count, passed: Micros) -> Stream {
    let since = |before: u64, now: u64| now.checked_sub(before).unwrap_or(now);
    let packets = since(before.packets, now.packets);
    let bytes = since(before.bytes, now.bytes).checked_div(packets).unwrap_or(0);
    #[expect(clippy::cast_precision_loss, reason = "packets of seconds are far below 2^52")]
    let per_second = packets as f64 * 1e6 / passed.0.max(1) as f64;
    // No IPv4 packet is longer.
    Stream { per_second, bytes: u32::try_from(bytes.min(65_535)).unwrap_or(65_535) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Phy;

    /// Packets a second and bytes of each, each way, for so many seconds of each guest.
    fn meter(guests: &[[(u64, u64); 2]], seconds: u64) -> CallMeter<usize> {
        let mut meter = CallMeter::new(Radio::new(Phy::b()), CallShape::G711);
        for second in 0..=seconds {
            let count =
                |(packets, bytes)| Count { packets: packets * second, bytes: packets * bytes * second };
            let counted = |[up, down]: [(u64, u64); 2]| Counted { up: count(up), down: count(down) };
            let all = guests.iter().enumerate().map(|(key, guest)| (key, counted(*guest), Rate::Cck11));
            meter.handle_counters(all, at(second));
        }
        meter
    }

    fn at(seconds: u64) -> Time {
        Time(5) + Micros::from_seconds(seconds)
    }

    #[test]
    fn a_call_is_known_by_its_rhythm() {
        #[rustfmt::skip]
        let cases = [
            ("G.711",                  [(50, 200), (50, 200)],      1),
            ("G.711 in WireGuard",     [(50, 268), (50, 268)],      1),
            ("G.729 with 30 ms",       [(33, 70), (33, 70)],        1),
            ("a download",             [(200, 52), (400, 1_500)],   0),
            ("a slow download",        [(20, 52), (40, 1_500)],     0),
            ("music from the network", [(1, 60), (40, 200)],        0),
            ("a name now and then",    [(2, 70), (2, 150)],         0),
            ("nothing",                [(0, 0), (0, 0)],            0),
            ("a call and a download",  [(250, 80), (450, 1_350)],   0),
        ];
        for (name, guest, calls) in cases {
            assert_eq!(meter(&[guest], 3).room().unwrap().calls, calls, "{name}");
        }
    }

    #[test]
    fn nothing_is_known_before_the_first_window_and_no_call_before_the_second() {
        let call = [(50, 200), (50, 200)];
        assert_eq!(meter(&[call], 0).room(), None);
        let calls = [1, 2].map(|seconds| meter(&[call], seconds).room().unwrap().calls);
        assert_eq!(calls, [0, 1]);
    }

    #[test]
    fn a_pause_of_a_window_is_no_end_and_a_guest_that_leaves_is_one() {
        let mut meter = meter(&[[(50, 200), (50, 200)]], 3);
        let still = Counted {
            up: Count { packets: 150, bytes: 30_000 },
            down: Count { packets: 150, bytes: 30_000 },
        };
        meter.handle_counters([(0, still, Rate::Cck11)], at(4));
        assert_eq!(meter.room().unwrap().calls, 1);
        meter.handle_counters([(0, still, Rate::Cck11)], at(5));
        assert_eq!(meter.room().unwrap().calls, 0);
        meter.handle_counters([], at(6));
        let empty = meter.room().unwrap();
        assert_eq!((empty.calls, empty.more, empty.load), (0, 11, 0.0));
    }

    #[test]
    fn each_call_takes_the_room_of_one() {
        let call = [(50, 200), (50, 200)];
        let room = |calls: usize| meter(&vec![call; calls], 3).room().unwrap();
        for calls in 0..=11 {
            let Room { calls: counted, more, .. } = room(calls);
            assert_eq!((counted as usize, counted + more), (calls, 11));
        }
        let broken = room(13);
        assert!((broken.more, broken.calls) == (0, 13) && broken.load > 1.0, "{broken:?}");
    }

    #[test]
    fn a_download_takes_room_and_is_no_call() {
        let with = meter(&[[(100, 52), (200, 1_500)], [(50, 200), (50, 200)]], 3).room().unwrap();
        assert_eq!(with.calls, 1);
        assert!(with.more < 8, "{with:?}");
    }

    #[test]
    fn counters_that_begin_anew_are_no_flood() {
        let mut meter = meter(&[[(50, 200), (50, 200)]], 3);
        let anew =
            Counted { up: Count { packets: 50, bytes: 10_000 }, down: Count { packets: 50, bytes: 10_000 } };
        meter.handle_counters([(0, anew, Rate::Cck11)], at(4));
        let room = meter.room().unwrap();
        assert_eq!((room.calls, room.more), (1, 10));
        meter.handle_counters([(0, Counted::default(), Rate::Cck11)], at(4));
        assert_eq!(meter.room().unwrap(), room, "sooner than a window");
    }

    #[test]
    fn counters_that_are_not_read_any_more_say_nothing() {
        let call = [(50, 200), (50, 200)];
        let meter = meter(&[call], 3);
        let room = |seconds| meter.fresh_room(at(seconds));
        assert_eq!((room(13), room(14)), (meter.room(), None));
    }
}
