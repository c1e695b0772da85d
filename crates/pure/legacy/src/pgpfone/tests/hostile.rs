//! Any bytes at any time: no panic, nothing changed by what is refused, no queue that grows.

use super::world::{Path, World, address};
use crate::pgpfone::*;
use guestright_units::Time;
use guestright_voice::tool::{Event, Tool as _};
use proptest::prelude::*;
use std::sync::LazyLock;

/// A conversation's datagrams, of both sides.
static HONEST: LazyLock<[Vec<Vec<u8>>; 2]> = LazyLock::new(|| {
    let mut world = World::connected(Path::GOOD, 4);
    world.is_talking = [true; 2];
    world.run(13_000);
    world.sent
});

fn datagram() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(any::<u8>(), 0..90);
    let typed =
        (prop::sample::select(Kind::ALL.to_vec()), any::<u16>(), prop::collection::vec(any::<u8>(), 0..90))
            .prop_map(|(kind, sequence, data)| Packet { kind, sequence: sequence % 70, data: &data }.emit());
    let message = (0_u16..6, prop::collection::vec(any::<u8>(), 0..60), 0_u8..10).prop_map(
        |(sequence, body, number)| {
            let data = [&[number], &body[..]].concat();
            Packet { kind: Kind::Control, sequence, data: &data }.emit()
        },
    );
    let changed = (any::<prop::sample::Index>(), 0..2_usize, any::<prop::sample::Index>(), any::<u8>())
        .prop_map(|(which, side, index, bits)| {
            let mut bytes = which.get(&HONEST[side]).clone();
            let offset = index.index(bytes.len());
            bytes[offset] ^= bits;
            bytes
        });
    prop_oneof![bytes, typed, message, changed]
}

/// How far the call is when the bytes come.
fn at(stage: u8) -> World {
    let mut world = World::new(Path::GOOD, 4);
    world.run([0, 25, 70, 100, 130, 160, 200, 260, 1_000, 14_000][usize::from(stage % 10)]);
    world
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 2_000 }))]

    #[test]
    fn whatever_comes(stage: u8, input in prop::collection::vec((datagram(), 0..2_usize, 0..4_u8), 1..30)) {
        let mut world = at(stage);
        for (bytes, side, from) in input {
            let from = if from == 0 { ([198, 51, 100, 7], 1).into() } else { address(1 - side) };
            let tool = &mut world.sides[side];
            let before = (tool.summary(), tool.stage, tool.received_next, tool.words());
            let taken = tool.handle_datagram(&bytes, from, world.now);
            if taken.is_err() {
                let mut after = tool.summary();
                prop_assert_eq!(after.refused, before.0.refused + 1);
                // An answer may go out: "busy", or an acknowledgement once more.
                (after.refused, after.datagrams_sent, after.sent_wire_bytes) =
                    (before.0.refused, before.0.datagrams_sent, before.0.sent_wire_bytes);
                prop_assert_eq!(&after, &before.0);
                prop_assert_eq!((tool.stage, tool.received_next, tool.words()), (before.1, before.2, before.3));
            }
            prop_assert!(tool.transmits.len() <= 256 && tool.received.len() <= 256 && tool.events.len() <= 256);
        }
        // It still comes to an end.
        world.run(200_000);
        for side in 0..2 {
            let is_on = world.sides[side].is_ready() || world.sides[side].poll_timeout().is_none();
            prop_assert!(is_on, "{:?}", world.sides[side].stage);
        }
    }

    #[test]
    fn what_is_read_is_written_alike(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert_eq!(packet.emit(), bytes.clone());
        }
        if let Ok(message) = Control::parse(&bytes) {
            let again = Control::parse(&message.emit());
            prop_assert_eq!(again, Ok(message));
        }
    }
}

/// A peer who sends without end, and nobody who takes what comes of it.
#[test]
fn queues_are_bounded() {
    let mut world = World::connected(Path::GOOD, 4);
    world.is_talking = [true, false];
    world.run(60_000);
    for sequence in 0..2_000_u16 {
        let file = Packet { kind: Kind::File, sequence, data: &[1] }.emit();
        let _ = world.sides[1].handle_datagram(&file, address(0), Time(world.now.0 + 1));
        let early =
            Packet { kind: Kind::ControlEncrypted, sequence: sequence % 64, data: &[1; 1_000] }.emit();
        let _ = world.sides[1].handle_datagram(&early, address(0), Time(world.now.0 + 1));
        let _ = world.sides[1].handle_datagram(&[0, 3], address(0), world.now);
    }
    let side = &world.sides[1];
    assert!(side.transmits.len() == 256 && side.received.len() <= 256 && side.events.len() <= 256);
    assert!(format!("{:?}", side.incoming).contains("early"));
    assert!(!world.events[1].iter().any(|event| matches!(event, Event::Ended(_))));
}
