use crate::{Buffer, BufferConfig, Packet, TickRate, Verdict};
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Output, Sound};

const CONFIG: BufferConfig = BufferConfig {
    tick_rate: TickRate::MILLISECONDS,
    packet: Micros::from_millis(40),
    conceal_max: Micros::from_millis(120),
};

fn packet(number: u64, timestamp: u64, silence: Option<u16>) -> Packet<'static> {
    Packet {
        number,
        timestamp,
        starts_talkspurt: silence.is_some(),
        silence: silence.unwrap_or(0),
        payload: &[1],
        arrived: Time(0),
    }
}

#[test]
fn table_3() {
    // The clock shows 1000; Delta is 100 at most, and a packet is 40 long.
    #[rustfmt::skip]
    let cases = [
        ("far too late",   0,     Verdict::Late),
        ("a tick late",    999,   Verdict::Late),
        ("just in time",   1_000, Verdict::Stored),
        ("in time",        1_070, Verdict::Stored),
        ("at the end",     1_140, Verdict::Stored),
        ("a tick early",   1_141, Verdict::Early),
        ("far too early",  u64::MAX, Verdict::Early),
    ];
    for (name, timestamp, want) in cases {
        let mut buffer = Buffer::new(CONFIG);
        assert_eq!(buffer.insert(&packet(5, timestamp, None), 1_000, 100), want, "{name}");
        let counts = buffer.counts();
        let got = [counts.late, buffer.held() as u64, counts.overflow];
        let fates = [Verdict::Late, Verdict::Stored, Verdict::Early].map(|it| u64::from(it == want));
        assert_eq!(got, fates, "{name}");
    }
}

#[test]
fn it_holds_no_more_than_the_window_has_room_for() {
    let mut buffer = Buffer::new(CONFIG);
    let verdicts: Vec<Verdict> =
        (0..20).map(|number| buffer.insert(&packet(number, 1_000 + 5 * number, None), 1_000, 100)).collect();
    // 140 ticks are three and a half packets: four, and one.
    assert_eq!(buffer.held(), 5);
    assert!(verdicts[5..].iter().all(|verdict| *verdict == Verdict::Early));
}

#[test]
fn a_copy_is_refused_before_and_after_it_was_played() {
    let mut buffer = Buffer::new(CONFIG);
    assert_eq!(buffer.insert(&packet(1, 1_000, Some(9)), 990, 100), Verdict::Stored);
    assert_eq!(buffer.insert(&packet(1, 1_000, Some(9)), 990, 100), Verdict::Duplicate);
    assert!(matches!(buffer.poll(1_000, Time(0)).sound, Sound::Play { sequence: 1, .. }));
    assert_eq!(buffer.insert(&packet(1, 1_000, Some(9)), 990, 100), Verdict::Duplicate);
    // With another number, as after the clock went back: its turn was before.
    assert_eq!(buffer.insert(&packet(2, 1_039, None), 900, 200), Verdict::Late);
    assert_eq!(buffer.insert(&packet(3, 1_040, None), 900, 200), Verdict::Stored);
}

fn sound(output: &Output) -> (&'static str, u64) {
    let what = match &output.sound {
        Sound::Play { .. } => "play",
        Sound::Conceal { next: Some(_) } => "conceal, knowing the next",
        Sound::Conceal { next: None } => "conceal",
        Sound::ComfortNoise { .. } => "noise",
        Sound::Silence => "silence",
    };
    (what, output.duration.0 / 1_000)
}

#[test]
fn silence_lasts_until_the_next_packet_is_due() {
    let mut buffer = Buffer::new(CONFIG);
    assert_eq!(sound(&buffer.poll(960, Time(0))), ("silence", 40));
    buffer.insert(&packet(1, 1_013, Some(20)), 960, 100);
    assert_eq!(sound(&buffer.poll(1_000, Time(0))), ("silence", 13));
    assert_eq!(sound(&buffer.poll(1_013, Time(0))), ("play", 40));
}

#[test]
fn what_is_missing_is_concealed_for_a_while_and_a_pause_is_not() {
    let mut buffer = Buffer::new(CONFIG);
    for (number, timestamp, silence) in [(1, 1_000, Some(20)), (3, 1_080, None), (4, 1_160, Some(1))] {
        buffer.insert(&packet(number, timestamp, silence), 1_000, 200);
    }
    let got: Vec<_> = (0..10).map(|n| sound(&buffer.poll(1_000 + 40 * n, Time(0))).0).collect();
    let want = [
        "play",
        "conceal, knowing the next",
        "play",
        "silence", // There is one packet of it before the next talkspurt.
        "play",
        "conceal",
        "conceal",
        "conceal",
        "silence",
        "silence",
    ];
    assert_eq!(got, want);
    let counts = buffer.counts();
    assert_eq!((counts.lost, counts.played, counts.concealed, counts.talkspurts), (1, 3, 4, 2));
}

#[test]
fn a_packet_that_was_given_up_for_lost_and_comes_late_is_late() {
    let mut buffer = Buffer::new(CONFIG);
    buffer.insert(&packet(1, 1_000, Some(20)), 1_000, 200);
    buffer.insert(&packet(3, 1_080, None), 1_000, 200);
    for at in [1_000, 1_040, 1_080] {
        buffer.poll(at, Time(0));
    }
    assert_eq!(buffer.counts().lost, 1);
    assert_eq!(buffer.insert(&packet(2, 1_040, None), 1_090, 200), Verdict::Late);
    let counts = buffer.counts();
    assert_eq!((counts.lost, counts.late, counts.reordered), (0, 1, 1));
}

#[test]
fn a_card_that_is_too_fast_waits_and_one_that_is_too_slow_leaves_out() {
    // Asked every 36 ticks although a packet has 40, and every 44.
    for (step, want) in [(36, "conceal"), (44, "skip")] {
        let mut buffer = Buffer::new(CONFIG);
        let (mut clock, mut next, mut last) = (1_000, 0, None);
        for _ in 0..200 {
            while 1_000 + 40 * next < clock + 100 {
                let silence = (next == 0).then_some(100);
                buffer.insert(&packet(next, 1_000 + 40 * next, silence), clock.min(1_000 + 40 * next), 200);
                next += 1;
            }
            if let Sound::Play { timestamp, .. } = buffer.poll(clock, Time(0)).sound {
                assert!(last.is_none_or(|last| timestamp > last));
                assert!(timestamp.abs_diff(clock) <= 100, "{timestamp} at {clock}");
                last = Some(timestamp);
            }
            clock += step;
        }
        let counts = buffer.counts();
        // A tenth of 200 packets.
        match want {
            "conceal" => assert!((15..=25).contains(&counts.concealed) && counts.skipped == 0, "{counts:?}"),
            _ => assert!((15..=25).contains(&counts.skipped) && counts.concealed == 0, "{counts:?}"),
        }
    }
}
