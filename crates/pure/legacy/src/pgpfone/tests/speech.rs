//! Sound, and what goes along with it.

use super::world::{Path, World, address, config};
use crate::pgpfone::tool::Stage;
use crate::pgpfone::*;
use guestright_units::{Micros, Time};
use guestright_voice::session::Frame;
use guestright_voice::tool::{Ending, Event, Tool as _, ToolError};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn talk(world: &mut World, millis: u64) {
    world.is_talking = [true; 2];
    world.run(millis);
    world.is_talking = [false; 2];
    world.run(3_000);
}

#[test]
fn what_is_said_is_played_once_and_in_order() {
    for codec in Codec::ALL {
        let configs = [0, 1].map(|side| Config { codec, ..config(side) });
        let mut world = World::with(configs, Path::GOOD, 4);
        world.run(1_000);
        talk(&mut world, 5_000);
        for side in 0..2 {
            assert!(
                world.spoken[side].len() > 50 && world.played[1 - side] == world.spoken[side],
                "{codec:?}"
            );
        }
        let summary = world.sides[0].summary();
        let spoken = world.spoken[0].len();
        assert_eq!(
            (summary.sent, summary.sent_codec_bytes),
            (spoken as u64, (spoken * codec.payload_bytes()) as u64)
        );
        let sounds = world.sent[0].iter().filter(|bytes| bytes[0] == 2);
        assert!(
            sounds.clone().count() == spoken && sounds.clone().all(|bytes| bytes.len() == codec.wire_bytes())
        );
        assert_eq!(summary.playout.received, world.spoken[1].len() as u64);
        assert_eq!((summary.playout.lost, summary.refused), (0, 0), "{codec:?}");
    }
}

#[test]
fn pauses_are_left_out_and_may_be_sent() {
    for sends_pauses in [false, true] {
        let configs = [0, 1].map(|side| Config { sends_pauses, ..config(side) });
        let mut world = World::with(configs, Path::GOOD, 4);
        world.run(1_000);
        let payload = [1; 66];
        let frame = Frame { payload: &payload, duration: Micros(72_562), is_speech: false, noise_level: 60 };
        world.sides[0].handle_frame(&frame, world.now);
        assert_eq!(world.sides[0].summary().sent, u64::from(sends_pauses));
        // A frame of another length is none.
        let odd = Frame { payload: &payload[1..], is_speech: true, ..frame };
        world.sides[0].handle_frame(&odd, world.now);
        assert_eq!(world.sides[0].summary().sent, u64::from(sends_pauses));
        assert!(world.sides[0].summary().others.contains(&("frames of another length", 1.0)));
    }
}

/// There is no authentication: whoever flips a bit on the way flips it in what is played.
#[test]
fn a_flipped_bit_passes() {
    let mut world = World::connected(Path::GOOD, 4);
    world.tamper = Box::new(|side, bytes| {
        if side == 0 && bytes[0] == Kind::Voice as u8 {
            bytes[HEADER_LEN + TIMESTAMP_LEN + 10] ^= 0x40;
        }
        true
    });
    talk(&mut world, 3_000);
    let changed = world.spoken[0].iter().map(|spoken| {
        let mut flipped = spoken.clone();
        flipped[10] ^= 0x40;
        flipped
    });
    assert!(world.spoken[0].len() > 30 && changed.eq(world.played[1].iter().cloned()));
    assert_eq!(world.sides[1].summary().refused, 0);
}

/// Nor is there of numbers: one datagram in the peer's name pushes them ahead, and what the peer says is dropped as old.
#[test]
fn one_forged_datagram_silences_the_peer() {
    let mut world = World::connected(Path::GOOD, 4);
    let next = world.sides[1].received_next;
    let ahead = u16::try_from(next + 30_000).unwrap();
    let forged = Packet { kind: Kind::Voice, sequence: ahead, data: &[0; 70] }.emit();
    world.sides[1].handle_datagram(&forged, address(0), world.now).unwrap();
    talk(&mut world, 3_000);
    assert!(
        !world.spoken[0].is_empty() && !world.played[1].iter().any(|played| world.spoken[0].contains(played))
    );
    assert!(world.errors.contains(&ToolError::Replayed));
}

#[test]
fn numbers_go_on_behind_65_535() {
    let mut world = World::connected(Path::GOOD, 4);
    for (from, to) in [(0, 1), (1, 0)] {
        world.sides[from].sent_next = 65_500;
        world.sides[to].received_next = 65_500;
    }
    talk(&mut world, 10_000);
    for side in 0..2 {
        assert!(world.sides[side].sent_next > 65_600 && world.sides[side].received_next > 65_600);
        assert_eq!(world.played[1 - side], world.spoken[side]);
    }
}

#[test]
fn a_call_ends_before_a_counter_is_used_twice() {
    let mut world = World::connected(Path::GOOD, 4);
    world.sides[0].sent_next = u32::MAX - 1;
    let payload = [1; 66];
    let frame = Frame { payload: &payload, duration: Micros(72_562), is_speech: true, noise_level: 60 };
    world.sides[0].handle_frame(&frame, world.now);
    assert!(world.sides[0].is_ready());
    world.sides[0].handle_frame(&frame, world.now);
    world.send(0);
    assert!(!world.sides[0].is_ready() && world.has_ended(0));
}

/// In one direction no counter encrypts two different things, whatever is lost and resent; and directions have two keys.
#[test]
fn no_counter_is_used_twice() {
    let path = Path { loss: 200, doubled: 100, jitter: Micros::from_millis(200), ..Path::GOOD };
    let mut world = World::new(path, 11);
    world.is_talking = [true; 2];
    world.run(120_000);
    world.sides[0].leave(world.now);
    world.run(5_000);
    for side in 0..2 {
        let mut streams: BTreeMap<(u8, u16), Vec<u8>> = BTreeMap::new();
        let mut kinds = BTreeSet::new();
        for bytes in &world.sent[side] {
            let Ok(packet) = Packet::parse(bytes) else { continue };
            // Fewer than 2^16 of each are sent, so the low bits of the number tell them apart.
            assert!(world.sides[side].sent_next < 65_536);
            if packet.kind.is_encrypted() {
                kinds.insert(packet.kind as u8);
                let data = packet.data.to_vec();
                let before =
                    streams.entry((packet.kind as u8, packet.sequence)).or_insert_with(|| data.clone());
                assert_eq!(*before, data, "a counter was used for two things");
            }
        }
        assert!(kinds.contains(&2) && kinds.contains(&3) && kinds.contains(&129), "{kinds:?}");
        assert!(streams.len() > 1_000);
    }
    let world = World::connected(Path::GOOD, 4);
    let mut streams = BTreeSet::new();
    for side in &world.sides {
        let keys = side.keys.as_ref().unwrap();
        let mut stream = vec![0; 32];
        keys.sending.apply(2, 7, &mut stream);
        streams.insert(stream);
    }
    assert_eq!(streams.len(), 2);
}

#[test]
fn the_round_trip_is_measured_every_12_seconds() {
    let mut world = World::connected(Path::GOOD, 4);
    assert_eq!(world.sides[0].summary().round_trip, None);
    world.run(12_500);
    for side in &world.sides {
        assert_eq!(side.summary().round_trip, Some(Micros::from_millis(60)));
    }
    world.run(24_000);
    // Ours, and the echo of theirs.
    let probes = world.sent[0].iter().filter(|bytes| bytes[0] == Kind::RoundTrip as u8);
    assert_eq!(probes.count(), 6);
}

#[test]
fn goodbye() {
    for side in 0..2 {
        let mut world = World::connected(Path::GOOD, 4);
        world.sides[side].leave(world.now);
        world.run(5_000);
        assert_eq!(world.events[1 - side].last(), Some(&Event::Ended(Ending::PeerLeft)));
        assert!(!world.has_ended(side) && world.sides.iter().all(|side| side.stage == Stage::Over));
        assert!(world.sides.iter().all(|side| side.poll_timeout().is_none() && side.keys.is_none()));
    }
    // Nobody hears it: it is said again, and then no more.
    let mut world = World::connected(Path::GOOD, 4);
    world.tamper = Box::new(|_, _| false);
    let before = world.sent[0].len();
    world.sides[0].leave(world.now);
    world.run(10_000);
    assert!(world.sent[0].len() > before + 2 && world.sides[0].stage == Stage::Over);
    world.run(60_000);
    assert_eq!(world.events[1].last(), Some(&Event::Ended(Ending::Silence)));
}

#[test]
fn a_file_is_acknowledged_and_thrown_away() {
    let mut world = World::connected(Path::GOOD, 4);
    for sequence in 0..3 {
        let file = Packet { kind: Kind::File, sequence, data: &[9; 500] }.emit();
        world.sides[0].handle_datagram(&file, address(1), world.now).unwrap();
    }
    world.send(0);
    let acknowledged: Vec<_> = world.sent[0].iter().rev().take(3).map(|bytes| bytes[3..].to_vec()).collect();
    assert_eq!(acknowledged, [[130, 0, 2], [130, 0, 1], [130, 0, 0]]);
    let troubles = world.events[0].iter().filter(|event| matches!(event, Event::Trouble(_)));
    assert_eq!(troubles.count(), 1);
    assert!(world.sides[0].summary().others.contains(&("files refused", 3.0)));
}

#[test]
fn a_message_in_clear_is_refused_once_there_are_keys() {
    let mut world = World::connected(Path::GOOD, 4);
    let next = u16::try_from(world.sides[1].outgoing.sequence()).unwrap();
    let goodbye = Packet { kind: Kind::Control, sequence: next, data: &Control::Hangup.emit() }.emit();
    let refused = world.sides[0].handle_datagram(&goodbye, address(1), world.now);
    assert!(matches!(refused, Err(ToolError::OutOfTurn(_))));
    // It has not taken the place of the real one.
    world.sides[1].leave(world.now);
    world.run(1_000);
    assert_eq!(world.events[0].last(), Some(&Event::Ended(Ending::PeerLeft)));
}

#[test]
fn nothing_secret_is_printed() {
    let world = World::connected(Path::GOOD, 4);
    let text = format!("{:?}", world.sides[0]);
    assert!(text.contains("CounterMode(Cast5, ..)"));
    let mut starting = PgpFone::new(config(0), &guestright_units::Seed::from_number(1), Time(0)).unwrap();
    starting.handle_datagram(&[0, 7], address(1), Time(1)).unwrap();
    assert!(!format!("{starting:?}").contains("exponent"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 16 } else { 200 }))]

    #[test]
    fn nothing_is_played_twice_or_out_of_order(
        seed: u32,
        loss in 0_u32..300,
        doubled in 0_u32..500,
        jitter in 0_u64..400,
    ) {
        let path = Path { loss, doubled, jitter: Micros::from_millis(jitter), ..Path::GOOD };
        let mut world = World::new(path, seed.into());
        world.run(60_000);
        prop_assume!(world.sides.iter().all(PgpFone::is_ready));
        talk(&mut world, 10_000);
        for side in 0..2 {
            let index_of = |played: &Vec<u8>| world.spoken[side].iter().position(|spoken| spoken == played);
            let indexes: Vec<_> = world.played[1 - side].iter().map(index_of).collect();
            prop_assert!(indexes.iter().all(Option::is_some), "it played what nobody said");
            prop_assert!(indexes.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", indexes);
            if jitter < 40 && loss < 100 {
                prop_assert!(indexes.len() * 10 > world.spoken[side].len() * 8);
            }
        }
    }
}
