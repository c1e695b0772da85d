//! Who sends when, to the nanosecond, against sums made by hand.
//!
//! 802.11b at 11 Mb/s, ACKs at 11 Mb/s, long preambles: a packet of 60 bytes is on the air for 192 + ⌈96 · 8 / 11⌉ = 262
//! µs, an ACK for 192 + ⌈14 · 8 / 11⌉ = 203 µs; slots have 20 µs, SIFS 10 µs, DIFS 50 µs.

use crate::air::scene::Scene;
use guestright_engine::{Instant, Nanos, Stream, Streams};
use guestright_units::Seed;
use guestright_wlan::{
    Config, DropReason, Eifs, IdleAccess, Mac, OnAirKind, Output, Phy, Protection, Rate, Station, StationId,
};
use rand::Rng;

const DATA: u64 = 262;
const ACK: u64 = 203;
const SIFS: u64 = 10;
const DIFS: u64 = 50;
const SLOT: u64 = 20;
/// Data, SIFS and ACK.
const EXCHANGE: u64 = DATA + SIFS + ACK;
/// From the end of a frame until its sender knows that no ACK comes: SIFS, a slot, preamble and header.
const TIMEOUT: u64 = SIFS + SLOT + 192;

/// One channel, an access point (0), stations 1 to `stations`.
fn cell(stations: usize) -> Config {
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    Config { phy, ..Config::new(&[1], stations) }
}

/// The backoffs that a station draws, one after the other, in slots.
struct Backoffs(Stream);

impl Backoffs {
    fn of(station: u64, seed: u64) -> Self {
        Self(Streams::new(Seed::from_number(seed)).stream("802.11 backoff", station))
    }

    /// From a contention window of 31, 63, … that is doubled so often.
    fn draw(&mut self, doublings: u32) -> u64 {
        u64::from(self.0.next_u32() & ((32 << doublings) - 1))
    }
}

/// Who delivered when, in µs.
fn delivered(scene: &Scene) -> Vec<(u16, u64)> {
    assert!(scene.refused.is_empty(), "there is room in all queues");
    let times = scene.outputs.iter().filter_map(|(at, output)| match output {
        Output::Delivered { from, .. } => Some((from.0, micros_of(*at))),
        Output::Dropped { .. } => None,
    });
    times.collect()
}

/// Whole microseconds: all times are.
fn micros_of(at: Instant) -> u64 {
    assert_eq!(at.0 % 1_000, 0, "{at:?}");
    at.0 / 1_000
}

fn span(nanos: Nanos) -> u64 {
    micros_of(Instant(nanos.0))
}

#[test]
fn a_packet_that_comes_to_an_idle_medium_waits_for_difs_or_not_at_all() {
    for (idle_access, wait) in [(IdleAccess::AfterDifs, DIFS), (IdleAccess::AtOnce, 0)] {
        let mac = Mac { idle_access, ..Mac::default() };
        let mut scene = Scene::new(&Config { mac, ..cell(1) }, 1);
        scene.arrive(1_000, 1, 0, 60);
        scene.run(10_000);
        assert_eq!(delivered(&scene), [(1, 1_000 + wait + DATA)], "{idle_access:?}");
    }
}

#[test]
fn a_packet_waits_for_difs_after_a_busy_medium_with_either_rule() {
    let mac = Mac { idle_access: IdleAccess::AtOnce, ..Mac::default() };
    let mut scene = Scene::new(&Config { mac, ..cell(2) }, 1);
    scene.arrive(1_000, 1, 0, 60);
    let idle = 1_000 + EXCHANGE;
    scene.arrive(idle + 20, 2, 0, 60); // The medium has been idle for 20 µs.
    scene.run(10_000);
    assert_eq!(delivered(&scene), [(1, 1_000 + DATA), (2, idle + DIFS + DATA)]);
}

#[test]
fn a_station_backs_off_behind_each_frame() {
    for seed in 0..20 {
        let mut scene = Scene::new(&cell(1), seed);
        for _ in 0..4 {
            scene.arrive(0, 1, 0, 60);
        }
        scene.run(100_000);
        let mut backoffs = Backoffs::of(1, seed);
        let mut begin = DIFS;
        let mut want = Vec::new();
        for _ in 0..4 {
            want.push((1, begin + DATA));
            begin += EXCHANGE + DIFS + backoffs.draw(0) * SLOT;
        }
        assert_eq!(delivered(&scene), want, "seed {seed}");
    }
}

#[test]
fn the_backoff_behind_a_frame_runs_down_without_a_further_frame() {
    for seed in 0..20 {
        let backoff = Backoffs::of(1, seed).draw(0);
        let counts_from = DIFS + EXCHANGE + DIFS;
        for later in [0, 30, 110, 350, 670, 1_000] {
            let mut scene = Scene::new(&cell(1), seed);
            scene.arrive(0, 1, 0, 60);
            scene.arrive(counts_from + later, 1, 0, 60);
            scene.run(100_000);
            let begin = if later >= backoff * SLOT { later + DIFS } else { backoff * SLOT };
            let want = [(1, DIFS + DATA), (1, counts_from + begin + DATA)];
            assert_eq!(delivered(&scene), want, "seed {seed}, {later} µs later");
        }
    }
}

#[test]
fn a_busy_medium_stops_the_backoff_and_the_rest_counts_behind_it() {
    let mut collisions = 0;
    for seed in 0..60 {
        let mut scene = Scene::new(&cell(2), seed);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(100, 2, 0, 60); // While station 1 sends.
        scene.run(100_000);
        let (mut one, mut two) = (Backoffs::of(1, seed), Backoffs::of(2, seed));
        let (a, b) = (one.draw(0), two.draw(0));
        let idle = DIFS + EXCHANGE;
        let mut want = vec![(1, DIFS + DATA)];
        let first = idle + DIFS + a.min(b) * SLOT;
        let second = first + EXCHANGE + DIFS + a.abs_diff(b) * SLOT;
        match a.cmp(&b) {
            std::cmp::Ordering::Less => want.extend([(1, first + DATA), (2, second + DATA)]),
            std::cmp::Ordering::Greater => want.extend([(2, first + DATA), (1, second + DATA)]),
            std::cmp::Ordering::Equal => {
                collisions += 1;
                // Both know after the timeout, and wait for DIFS and a backoff from 0 to 63.
                let again = first + DATA + TIMEOUT + DIFS;
                let (a, b) = (one.draw(1), two.draw(1));
                assert_ne!(a, b, "seed {seed}: they collide again; take another");
                let (winner, loser) = if a < b { (1, 2) } else { (2, 1) };
                let second = again + a.min(b) * SLOT;
                let third = second + EXCHANGE + DIFS + a.abs_diff(b) * SLOT;
                want.extend([(winner, second + DATA), (loser, third + DATA)]);
                assert_eq!(scene.radio.stats(StationId(1)).collisions, 1);
                assert_eq!(scene.radio.channel_stats(1).map(|channel| channel.collisions), Some(1));
            }
        }
        assert_eq!(delivered(&scene), want, "seed {seed}: {a} and {b} slots");
    }
    assert!(collisions > 0, "no seed let them collide");
}

#[test]
fn bystanders_of_a_collision_wait_for_difs_only() {
    // Stations 1 and 2 both find the medium idle and collide; station 3 gets a packet while they do.
    for seed in 0..20 {
        let mut scene = Scene::new(&cell(3), seed);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(0, 2, 0, 60);
        scene.arrive(100, 3, 0, 60);
        scene.run(2_000);
        let third = DIFS + DATA + DIFS + Backoffs::of(3, seed).draw(0) * SLOT;
        let others =
            [1, 2].map(|station| DIFS + DATA + TIMEOUT + DIFS + Backoffs::of(station, seed).draw(1) * SLOT);
        if third < others[0].min(others[1]) {
            assert_eq!(delivered(&scene)[0], (3, third + DATA), "seed {seed}");
        } else {
            assert_ne!(delivered(&scene).first().map(|first| first.0), Some(3), "seed {seed}");
        }
    }
}

#[test]
fn a_deferred_packet_draws_a_backoff_or_not() {
    // Station 2 gets its packet 30 µs after station 1: it waits for DIFS when station 1 begins.
    for seed in 0..20 {
        for (backoff_when_deferred, backoff) in [(true, Backoffs::of(2, seed).draw(0)), (false, 0)] {
            let mac = Mac { backoff_when_deferred, ..Mac::default() };
            let mut scene = Scene::new(&Config { mac, ..cell(2) }, seed);
            scene.arrive(0, 1, 0, 60);
            scene.arrive(30, 2, 0, 60);
            scene.run(10_000);
            let second = DIFS + EXCHANGE + DIFS + backoff * SLOT + DATA;
            assert_eq!(delivered(&scene), [(1, DIFS + DATA), (2, second)], "seed {seed}");
        }
    }
}

#[test]
fn who_begins_before_it_can_notice_another_collides_with_it() {
    for (micros, collides) in [(0, false), (3, false), (4, true)] {
        let mac = Mac { sense_time: Nanos::from_micros(micros), ..Mac::default() };
        let mut scene = Scene::new(&Config { mac, ..cell(2) }, 1);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(3, 2, 0, 60);
        scene.run(DIFS + DATA + 10);
        let first = [(1, DIFS + DATA)];
        assert_eq!(delivered(&scene), if collides { &[][..] } else { &first[..] }, "{micros} µs");
        let begins: Vec<_> =
            scene.air.iter().filter(|frame| frame.is_damaged).map(|frame| micros_of(frame.at)).collect();
        assert_eq!(begins, if collides { &[DIFS, DIFS + 3][..] } else { &[][..] }, "{micros} µs");
    }
}

#[test]
fn stations_on_other_channels_do_not_hear_each_other() {
    let phy = Phy { ack_rate: Some(Rate::Cck11), ..Phy::b() };
    for (channels, collides) in [([1, 6], false), ([1, 1], true)] {
        let mut scene = Scene::new(&Config { phy, ..Config::new(&channels, 1) }, 1);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(0, 3, 2, 60);
        scene.run(400);
        let both = [(1, DIFS + DATA), (3, DIFS + DATA)];
        assert_eq!(delivered(&scene), if collides { &[][..] } else { &both[..] }, "{channels:?}");
    }
}

#[test]
fn rts_and_cts_go_before_long_frames() {
    let mac = Mac { rts_threshold: Some(500), ..Mac::default() };
    let mut scene = Scene::new(&Config { mac, ..cell(1) }, 1);
    scene.arrive(0, 1, 0, 464); // With 36 bytes around it exactly 500.
    scene.arrive(10_000, 1, 0, 465);
    scene.run(100_000);
    let (rts, cts) = (192 + 15, ACK); // 160 bits: 14.5 µs
    let (short, long) = (192 + 364, 192 + 365); // 4,000 and 4,008 bits
    let second = 10_000 + DIFS + rts + SIFS + cts + SIFS + long;
    assert_eq!(delivered(&scene), [(1, DIFS + short), (1, second)]);
    let kinds: Vec<_> = scene.air.iter().map(|frame| (frame.kind, frame.bytes, span(frame.rest))).collect();
    assert_eq!(kinds[2], (OnAirKind::Rts, 20, SIFS + cts + SIFS + long + SIFS + ACK));
    assert_eq!(kinds[3], (OnAirKind::Cts, 14, SIFS + long + SIFS + ACK));
    assert!(matches!(kinds[4], (OnAirKind::Data { retry: false, .. }, 501, 213)), "{:?}", kinds[4]);
    assert_eq!(kinds[5], (OnAirKind::Ack, 14, 0));
}

#[test]
fn colliding_rts_cost_little() {
    let mac = Mac { rts_threshold: Some(0), ..Mac::default() };
    let mut scene = Scene::new(&Config { mac, ..cell(2) }, 5);
    scene.arrive(0, 1, 0, 1_000);
    scene.arrive(0, 2, 0, 1_000);
    scene.run(100_000);
    let again = [1, 2].map(|station| Backoffs::of(station, 5).draw(1));
    assert_ne!(again[0], again[1], "take another seed");
    let (rts, data) = (207, 192 + 754); // 8,288 bits: 753.5 µs
    let first = DIFS + rts + TIMEOUT + DIFS + again[0].min(again[1]) * SLOT;
    let winner = if again[0] < again[1] { 1 } else { 2 };
    assert_eq!(delivered(&scene)[0], (winner, first + rts + SIFS + ACK + SIFS + data));
}

#[test]
fn fragments_follow_each_other_after_sifs() {
    let mac = Mac { fragmentation_threshold: Some(400), ..Mac::default() };
    let mut scene = Scene::new(&Config { mac, ..cell(1) }, 1);
    scene.arrive(0, 1, 0, 1_000); // 1,008 bytes with LLC and SNAP: pieces of 372, 372 and 264.
    scene.run(100_000);
    let (long, last) = (192 + 291, 192 + 213); // 3,200 bits: 290.9 µs; 2,336 bits: 212.4 µs
    let end = DIFS + 2 * (long + SIFS + ACK + SIFS) + last;
    assert_eq!(delivered(&scene), [(1, end)]);
    let frames: Vec<_> = scene.air.iter().filter(|frame| frame.kind != OnAirKind::Ack).collect();
    let bytes: Vec<_> = frames.iter().map(|frame| frame.bytes).collect();
    assert_eq!(bytes, [400, 400, 292]);
    for (number, frame) in (0..).zip(frames) {
        assert!(
            matches!(frame.kind, OnAirKind::Data { fragment, more_fragments, sequence: 0, retry: false, .. }
                if fragment == number && more_fragments == (number < 2)),
            "{frame:?}"
        );
    }
    assert_eq!(scene.radio.stats(StationId(1)).accesses, 1, "one access for all");
}

/// IEEE 802.11-2020, section 10.3.3: the contention window is reset for each acknowledged fragment.
#[test]
fn failures_of_one_fragment_do_not_widen_the_window_of_the_next() {
    let mut config = cell(1);
    config.mac.fragmentation_threshold = Some(400);
    config.stations[1].bit_error_rate = 2e-4;
    let mut resets = 0;
    for seed in 0..40 {
        let mut scene = Scene::new(&config, seed);
        scene.arrive(0, 1, 0, 1_000);
        scene.run(1_000_000);
        let data = scene.air.iter().filter_map(|frame| match frame.kind {
            OnAirKind::Data { fragment, .. } => Some((fragment, micros_of(frame.at), span(frame.duration))),
            OnAirKind::Ack | OnAirKind::Rts | OnAirKind::Cts | OnAirKind::Beacon { .. } => None,
        });
        let data: Vec<_> = data.collect();
        let (mut backoffs, mut failures, mut before) = (Backoffs::of(1, seed), 0, 0);
        for pair in data.windows(2) {
            let [(fragment, at, duration), (next, next_at, _)] = [pair[0], pair[1]];
            let wait = if fragment == next {
                failures += 1;
                TIMEOUT + DIFS + backoffs.draw(failures.min(5)) * SLOT
            } else {
                (before, failures) = (before + failures, 0);
                SIFS + ACK + SIFS
            };
            resets += u32::from(failures > 0 && before > 0);
            assert_eq!(next_at, at + duration + wait, "seed {seed}, fragment {fragment}: {data:?}");
        }
    }
    assert!(resets > 0, "no fragment failed behind another that had");
}

#[test]
fn a_frame_that_is_never_answered_is_dropped_after_the_last_timeout() {
    let mut config = cell(1);
    config.stations[1].bit_error_rate = 0.5;
    let mut scene = Scene::new(&config, 3);
    let key = scene.arrive(0, 1, 0, 60);
    scene.run(1_000_000);
    let mut backoffs = Backoffs::of(1, 3);
    let mut end = DIFS + DATA;
    for doublings in 1..=6 {
        end += TIMEOUT + DIFS + backoffs.draw(doublings.min(5)) * SLOT + DATA;
    }
    let [(at, Output::Dropped { station, msdu, queued_at, reason })] = scene.outputs[..] else {
        panic!("{:?}", scene.outputs)
    };
    assert_eq!((micros_of(at), station, msdu.key, queued_at), (end + TIMEOUT, StationId(1), key, Instant(0)));
    assert_eq!(reason, DropReason::RetryLimit);
    let stats = scene.radio.stats(StationId(1));
    assert_eq!((stats.accesses, stats.errors, stats.retry_limit, stats.queued), (7, 7, 1, 0));
}

#[test]
fn long_frames_have_a_limit_of_their_own() {
    // All RTS and CTS come through, as they are short enough to be spared by chance; data never does.
    let mut config = cell(1);
    config.mac.rts_threshold = Some(0);
    config.stations[1].bit_error_rate = 2e-3;
    let mut scene = Scene::new(&config, 1);
    scene.arrive(0, 1, 0, 2_200);
    scene.run(1_000_000);
    let data = scene.air.iter().filter(|frame| matches!(frame.kind, OnAirKind::Data { .. })).count();
    assert!(matches!(scene.outputs[..], [(_, Output::Dropped { reason: DropReason::RetryLimit, .. })]));
    assert_eq!(data, 4, "{:?}", scene.air);
}

#[test]
fn who_could_not_read_a_frame_waits_for_eifs_its_sender_does_not() {
    // Bit errors of the receiver, the sender, and who hears it by the way.
    let cases = [
        (Eifs::Off, [0.0, 0.5, 0.0], DIFS),
        (Eifs::AfterErrors, [0.0, 0.5, 0.0], 364),
        (Eifs::AfterErrors, [0.5, 0.0, 0.5], 364),
        // Its receiver could not read it, but who hears it by the way: the medium is reserved for an ACK.
        (Eifs::AfterErrors, [0.5, 0.0, 0.0], SIFS + ACK + DIFS),
    ];
    for (eifs, errors, space) in cases {
        let mut config = cell(2);
        config.mac.eifs = eifs;
        for (station, bit_error_rate) in config.stations.iter_mut().zip(errors) {
            station.bit_error_rate = bit_error_rate;
        }
        for seed in 0..20 {
            let mut scene = Scene::new(&config, seed);
            scene.arrive(0, 1, 0, 60);
            scene.arrive(100, 2, 0, 60);
            scene.run(1_500);
            let other = DIFS + DATA + space + Backoffs::of(2, seed).draw(0) * SLOT;
            let again = DIFS + DATA + TIMEOUT + DIFS + Backoffs::of(1, seed).draw(1) * SLOT;
            let second = scene.air.iter().filter(|frame| matches!(frame.kind, OnAirKind::Data { .. })).nth(1);
            let second = second.map(|frame| (frame.from.0, micros_of(frame.at)));
            let want = if other < again { (2, other) } else { (1, again) };
            assert_eq!(second, Some(want), "seed {seed}, {eifs:?}, {errors:?}");
        }
    }
}

#[test]
fn a_driver_gap_delays_only_its_station() {
    let mac = Mac { driver_gap: Nanos::from_micros(75), ..Mac::default() };
    let mut scene = Scene::new(&Config { mac, ..cell(1) }, 4);
    scene.arrive(0, 1, 0, 60);
    scene.arrive(0, 1, 0, 60);
    scene.run(10_000);
    let second = DIFS + EXCHANGE + 75 + DIFS + Backoffs::of(1, 4).draw(0) * SLOT + DATA;
    assert_eq!(delivered(&scene), [(1, DIFS + DATA), (1, second)]);
}

#[test]
fn the_loudest_is_heard_if_it_is_loud_enough() {
    for (signal_dbm, is_received) in [(-40, true), (-41, false)] {
        let mut config = cell(2);
        config.mac.capture_db = Some(10);
        config.stations[1].signal_dbm = signal_dbm;
        let mut scene = Scene::new(&config, 2);
        scene.arrive(0, 1, 0, 60);
        scene.arrive(0, 2, 0, 60);
        scene.run(DIFS + DATA + 1);
        assert_eq!(delivered(&scene), if is_received { &[(1, DIFS + DATA)][..] } else { &[][..] });
        scene.run(10_000);
        assert_eq!(scene.radio.stats(StationId(1)).captures, u64::from(is_received));
        assert_eq!(delivered(&scene).len(), 2, "the other comes through later");
    }
}

#[test]
fn nobody_hears_while_it_sends() {
    let mut config = cell(1);
    config.mac.capture_db = Some(0);
    config.stations[1].signal_dbm = 0;
    let mut scene = Scene::new(&config, 2);
    scene.arrive(0, 1, 0, 60);
    scene.arrive(0, 0, 1, 60);
    scene.run(DIFS + DATA + 1);
    assert_eq!(delivered(&scene), []);
}

#[test]
fn a_broadcast_is_slow_and_not_answered() {
    let mut scene = Scene::new(&cell(3), 1);
    let everybody = StationId::EVERYBODY.0;
    scene.arrive(0, 0, everybody, 60);
    scene.arrive(0, 0, everybody, 60);
    scene.run(10_000);
    let data = 192 + 96 * 8; // The slowest basic rate: 1 Mb/s.
    let second = DIFS + data + DIFS + Backoffs::of(0, 1).draw(0) * SLOT + data;
    assert_eq!(delivered(&scene), [(0, DIFS + data), (0, second)]);
    assert_eq!(scene.air.len(), 2, "no ACK: {:?}", scene.air);
}

#[test]
fn a_broadcast_that_collides_is_lost() {
    let mut scene = Scene::new(&cell(2), 1);
    scene.arrive(0, 0, StationId::EVERYBODY.0, 60);
    scene.arrive(0, 1, 0, 60);
    scene.run(100_000);
    let reasons: Vec<_> =
        scene.outputs.iter().map(|(_, output)| matches!(output, Output::Dropped { .. })).collect();
    assert_eq!(reasons, [true, false], "{:?}", scene.outputs);
    assert!(matches!(scene.outputs[0].1, Output::Dropped { reason: DropReason::Broadcast, .. }));
}

#[test]
fn ofdm_is_protected_from_older_stations() {
    let mut scene = Scene::new(&Config { phy: Phy::g_beside_b(), ..Config::new(&[1], 1) }, 1);
    scene.arrive(0, 1, 0, 60);
    scene.run(10_000);
    let (cts, data) = (192 + 56, 20 + 16 + 6); // CTS at 2 Mb/s; 790 bits are 4 symbols at 54 Mb/s.
    assert_eq!(delivered(&scene), [(1, DIFS + cts + SIFS + data)]);
    let ack = 20 + 8 + 6; // At 24 Mb/s.
    assert_eq!(span(scene.air[0].rest), SIFS + data + SIFS + ack);
    let alone = Phy { protection: Protection::Off, ..Phy::g_beside_b() };
    let mut scene = Scene::new(&Config { phy: alone, ..Config::new(&[1], 1) }, 1);
    scene.arrive(0, 1, 0, 60);
    scene.run(10_000);
    assert_eq!(delivered(&scene), [(1, DIFS + data)]);
}

#[test]
fn a_station_may_be_slower_than_others() {
    let mut config = cell(2);
    config.stations[2] = Station { rate: Some(Rate::Dsss1), ..Station::new(0) };
    config.phy.ack_rate = None;
    let mut scene = Scene::new(&config, 1);
    scene.arrive(0, 2, 0, 60);
    scene.run(10_000);
    assert_eq!(delivered(&scene), [(2, DIFS + 192 + 768)]);
    assert_eq!((scene.air[1].kind, span(scene.air[1].duration)), (OnAirKind::Ack, 304));
}
