//! PGPfone's jitter control.

use crate::pgpfone::media::Media;
use crate::pgpfone::{Codec, Playpoint};
use guestright_units::{Micros, Time};
use guestright_voice::playout::{Arrival, Policy as _};

/// Feeds packets that come so many ms after the first way's length.
fn feed(policy: &mut Playpoint, codec: Codec, extra: impl Fn(u64) -> u64, packets: u64) {
    let packet = codec.packet();
    for sequence in 0..packets {
        let media = sequence * packet.0;
        let arrived = Time(media + 40_000 + extra(sequence) * 1_000);
        let starts_talkspurt = sequence == 0;
        policy.arrived(&Arrival { sequence, media, arrived, starts_talkspurt, duration: packet });
    }
}

fn first() -> Arrival {
    Arrival {
        sequence: 9,
        media: 1_000_000,
        arrived: Time(1_040_000),
        starts_talkspurt: true,
        duration: Micros::from_millis(20),
    }
}

/// A packet of ADPCM that was sent when it was due.
fn insert(media: &mut Media, sequence: u32, now: Time) {
    let codec = Codec::Adpcm;
    let sent = u32::try_from(u64::from(sequence) * codec.packet().0 / 1_000).unwrap();
    let data = [&sent.to_be_bytes()[..], &vec![0; codec.payload_bytes()]].concat();
    media.insert(sequence, &data, now).unwrap();
}

#[test]
fn without_jitter_the_first_packet_is_played_at_once() {
    // Two quanta are what one packet of GSM at 4410 Hz has.
    let mut policy = Playpoint::new(4_410, Codec::Gsm4410.packet());
    feed(&mut policy, Codec::Gsm4410, |_| 0, 100);
    assert_eq!((policy.jitter(), policy.quanta(), policy.hold()), (0, 2, Micros(0)));
    assert_eq!(policy.play_after(&first()), 40_000);
    // Packets of 20 ms are one quantum: the second is waited for.
    assert_eq!(Playpoint::new(8_000, Micros::from_millis(20)).hold(), Micros::from_millis(20));
}

#[test]
fn small_deviations_never_get_into_the_variance() {
    let mut policy = Playpoint::new(8_000, Codec::Adpcm.packet());
    feed(&mut policy, Codec::Adpcm, |sequence| sequence % 2 * 14, 1_000);
    assert_eq!(policy.jitter(), 0);
}

#[test]
fn jitter_moves_the_play_point_and_quiet_does_not_bring_it_all_the_way_back() {
    let codec = Codec::Adpcm;
    let mut policy = Playpoint::new(8_000, codec.packet());
    feed(&mut policy, codec, |sequence| sequence * 37 % 160, 300);
    let (jitter, quanta, hold) = (policy.jitter(), policy.quanta(), policy.hold());
    assert!((30..120).contains(&jitter), "{jitter}");
    // 9 samples a ms: the division by 1000 is rounded up.
    let wanted = (u64::try_from(jitter).unwrap() * 9).div_ceil(160);
    assert_eq!(quanta, if wanted <= 2 { 2 } else { wanted + 1 });
    assert_eq!(hold.0, (quanta * 20_000).div_ceil(80_000).saturating_sub(1) * 80_000);
    assert_eq!(policy.play_after(&first()), 40_000 + hold.0.cast_signed());
    feed(&mut policy, codec, |_| 0, 1_000);
    assert!(policy.jitter() < jitter);
    // Division towards zero leaves the skew 7 ms off, and the variance 15 ms above that.
    assert!(policy.jitter() <= 2 * (7 + 15) && policy.quanta() <= 4, "{}", policy.jitter());
}

#[test]
fn the_play_point_stays_between_2_and_20_quanta() {
    let codec = Codec::Gsm4410;
    let mut policy = Playpoint::new(4_410, codec.packet());
    feed(&mut policy, codec, |sequence| sequence % 2 * 20_000, 400);
    assert_eq!(policy.quanta(), 20);
    // 20 quanta of 36.3 ms are 10 packets: nine more are waited for.
    assert_eq!(policy.hold().0, 9 * codec.packet().0);
    policy.restart();
    assert_eq!((policy.quanta(), policy.jitter()), (2, 0));
}

#[test]
fn the_first_packets_do_not_move_it() {
    let codec = Codec::Adpcm;
    let mut policy = Playpoint::new(8_000, codec.packet());
    feed(&mut policy, codec, |sequence| sequence % 2 * 5_000, 10);
    assert_eq!(policy.quanta(), 2);
    assert!(policy.jitter() > 0);
}

#[test]
fn more_sound_may_wait_the_higher_the_play_point() {
    let codec = Codec::Adpcm;
    let mut policy = Playpoint::new(8_000, codec.packet());
    let mut most = vec![];
    for spread in [0, 30, 60, 90, 200, 20_000] {
        policy.restart();
        feed(&mut policy, codec, |sequence| sequence % 2 * spread, 400);
        most.push((policy.quanta(), policy.waiting_max().unwrap().0));
    }
    let want = |(quanta, most): &(u64, u64)| match quanta {
        0..=2 => *most == 200_000,
        3..=4 => *most == 250_000,
        5..=6 => *most == 333_333,
        7..=10 => *most == 500_000,
        _ => *most == 1_000_000,
    };
    assert!(most.iter().all(want) && most.is_sorted(), "{most:?}");
    assert_eq!((most[0].0, most[5].0), (2, 20));
}

/// The first packet of a talkspurt was the fastest, and jitter this small moves no play point: nothing is dropped for it.
#[test]
fn what_comes_a_little_late_is_played_a_little_later() {
    let packet = Codec::Adpcm.packet().0;
    let mut media = Media::new(Codec::Adpcm);
    let late_ms = |sequence: u32| u64::from(sequence) * 7 % 15;
    for sequence in 0..100_u32 {
        let sent = u64::from(sequence) * packet;
        if sequence > 0 {
            media.playout().poll(Time(sent)); // Just before it comes.
        }
        insert(&mut media, sequence, Time(sent + late_ms(sequence) * 1_000));
        if sequence == 0 {
            media.playout().poll(Time(sent));
        }
    }
    let counts = media.counts();
    assert!(counts.late == 0 && counts.overflow == 0 && counts.played >= 98, "{counts:?}");
}

/// A receiver that stood still for a second finds all that was said meanwhile at once. It does not play everything that
/// follows a second late.
#[test]
fn what_has_piled_up_is_thrown_away_and_the_rest_is_not_late() {
    let packet = Codec::Adpcm.packet().0;
    let mut media = Media::new(Codec::Adpcm);
    let begin = Time(13 * packet);
    (1..13).for_each(|sequence| insert(&mut media, sequence, begin));
    for sequence in 13..100_u32 {
        let now = Time(u64::from(sequence) * packet);
        insert(&mut media, sequence, now);
        media.playout().poll(now);
    }
    let counts = media.counts();
    assert!((9..=18).contains(&counts.overflow) && counts.late == 0 && counts.played >= 80, "{counts:?}");
    assert!(media.added().unwrap() <= Micros(3 * packet), "{:?}", media.added());
}
