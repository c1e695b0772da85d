//! Calls over QUIC between two pipes.
#![expect(clippy::unwrap_used, reason = "a test that fails says where")]

#[path = "wire/pipe.rs"]
mod pipe;

use guestright_engine::{Instant, Nanos, Streams};
use guestright_quic::{Algorithm, Carriage, Congestion, Opening, QuicEnds, QuicSettings};
use guestright_transport::Side;
use guestright_units::Seed;
use pipe::{Call, Pipe};

const CARRIAGES: [Carriage; 3] = [Carriage::Datagrams, Carriage::Stream, Carriage::StreamPerPacket];
const VOICE_BYTES: u32 = 160;

fn pipes(bits_per_second: u64, buffer: usize) -> (Pipe, Pipe) {
    let delay = Nanos::from_millis(20);
    (Pipe::new(bits_per_second, delay, buffer, "there"), Pipe::new(bits_per_second, delay, buffer, "back"))
}

fn call(settings: &QuicSettings, seed: u64, (there, back): (Pipe, Pipe)) -> Call {
    let streams = Streams::new(Seed::from_number(seed));
    Call::new(QuicEnds::new(settings, &streams, 0).unwrap(), there, back)
}

fn plain(carriage: Carriage) -> QuicSettings {
    QuicSettings::call(carriage, Congestion::Named(Algorithm::QuinnNewReno))
}

/// `count` packets, one every 20 ms from 1 s on.
fn speak(call: &mut Call, count: u32) {
    for number in 0..count {
        let at = Instant(1_000_000_000 + u64::from(number) * 20_000_000);
        call.speak(at, number, VOICE_BYTES);
    }
}

fn seconds(seconds: u64) -> Instant {
    Instant::START + Nanos::from_seconds(seconds)
}

#[test]
fn everything_is_heard_in_order_where_nothing_is_lost() {
    for carriage in CARRIAGES {
        let mut call = call(&plain(carriage), 1, pipes(2_000_000, 50));
        speak(&mut call, 500);
        call.run(seconds(15));
        assert_eq!(call.numbers(), (0..500).collect::<Vec<_>>(), "{carriage:?}");
        // 20 ms of delay and the time that some 230 bytes take at 2 Mbit/s.
        for (at, number) in &call.received {
            let took = at.since(Instant(1_000_000_000 + u64::from(*number) * 20_000_000));
            assert!((20.8..21.1).contains(&took.as_millis()), "{carriage:?}: {took:?}");
        }
        // Before it: the handshake, a round trip and the time for its datagrams.
        let opened = call.ends.stats().opened_at.unwrap();
        assert!((44.0..60.0).contains(&opened.since(Instant::START).as_millis()), "{opened:?}");
        assert_eq!(call.ends.stats().packets_lost, 0);
    }
}

#[test]
fn a_voice_packet_has_the_headers_of_quic_around_it() {
    // IPv4 20, UDP 8, short header 1 + 8 of connection id + 1 of packet number (2 once more than 64 or so may be on their way),
    // tag 16; DATAGRAM with a length 1 + 2; STREAM 1 + 1 of id + 0 to 4 of offset + 2 of length, and the packet's
    // own 2; in a stream of its own an id of up to 2 and no offset.
    let wants =
        [(Carriage::Datagrams, 57..=58), (Carriage::Stream, 58..=63), (Carriage::StreamPerPacket, 58..=63)];
    for (carriage, want) in wants {
        let mut call = call(&plain(carriage), 1, pipes(2_000_000, 50));
        speak(&mut call, 100);
        call.run(seconds(4));
        let voice = call.sent.iter().filter(|(at, side, _)| *side == Side::Source && *at >= seconds(1));
        let mut overheads: Vec<u32> = voice.map(|(_, _, bytes)| bytes.saturating_sub(VOICE_BYTES)).collect();
        overheads.sort_unstable();
        let median = overheads[overheads.len() / 2];
        assert!(want.contains(&median), "{carriage:?}: {median}");
    }
}

#[test]
fn the_same_seed_gives_the_same_datagrams() {
    for carriage in CARRIAGES {
        let run = |seed| {
            let (mut there, mut back) = pipes(500_000, 20);
            (there.lost_per_million, back.lost_per_million) = (20_000, 20_000);
            let mut call = call(&plain(carriage), seed, (there, back));
            speak(&mut call, 1_000);
            call.run(seconds(30));
            (call.sent, call.received)
        };
        assert_eq!(run(1), run(1), "{carriage:?}");
        assert_ne!(run(1).0, run(2).0, "{carriage:?}: other packet numbers are skipped");
    }
}

#[test]
fn a_lost_datagram_is_not_sent_again() {
    let (mut there, mut back) = pipes(2_000_000, 50);
    (there.lost_per_million, back.lost_per_million) = (50_000, 50_000);
    let mut call = call(&plain(Carriage::Datagrams), 3, (there, back));
    speak(&mut call, 2_000);
    call.run(seconds(60));
    let stats = call.ends.stats();
    assert_eq!(stats.thrown_away, 0, "the window has room");
    assert_eq!(stats.datagram_frames, 2_000, "each once");
    let received = call.numbers();
    assert!(received.is_sorted() && received.len() < 1_950 && received.len() > 1_850, "{}", received.len());
    // What was not heard was dropped by the pipe, which has dropped other packets too.
    assert!(2_000 - u64::try_from(received.len()).unwrap() <= call.there.dropped);
}

#[test]
fn streams_deliver_everything_however_much_is_lost() {
    for (carriage, lost) in [
        (Carriage::Stream, 10_000),
        (Carriage::Stream, 100_000),
        (Carriage::StreamPerPacket, 10_000),
        (Carriage::StreamPerPacket, 100_000),
    ] {
        let (mut there, mut back) = pipes(2_000_000, 50);
        (there.lost_per_million, back.lost_per_million) = (lost, lost);
        let mut call = call(&plain(carriage), 4, (there, back));
        speak(&mut call, 2_000);
        call.run(seconds(60));
        assert_eq!(call.ends.stats().thrown_away, 0);
        assert!(call.there.dropped > 10, "{}", call.there.dropped);
        let mut received = call.numbers();
        if carriage == Carriage::Stream {
            assert!(received.is_sorted(), "in order");
        } else {
            assert!(!received.is_sorted(), "what is lost holds nothing up");
            received.sort_unstable();
        }
        assert_eq!(received, (0..2_000).collect::<Vec<_>>(), "{carriage:?}");
    }
}

#[test]
fn a_lost_packet_holds_up_one_stream_and_nothing_else() {
    let worst = |carriage| {
        let (mut there, back) = pipes(2_000_000, 50);
        // Well after the handshake; no acknowledgement comes this way.
        there.lost = vec![150];
        let mut call = call(&plain(carriage), 1, (there, back));
        speak(&mut call, 300);
        call.run(seconds(10));
        assert_eq!(call.there.dropped, 1);
        let late = call.received.iter().filter(|(at, number)| {
            let spoken = Instant(1_000_000_000 + u64::from(*number) * 20_000_000);
            at.since(spoken) > Nanos::from_millis(22)
        });
        (late.count(), call.received.len())
    };
    assert_eq!(worst(Carriage::Datagrams), (0, 299));
    assert_eq!(worst(Carriage::StreamPerPacket), (1, 300));
    let (late, received) = worst(Carriage::Stream);
    // Sent again when three later ones are acknowledged, in pairs: some 80 ms and a round trip, of 20 ms each packet.
    assert!((4..=8).contains(&late) && received == 300, "{late} late of {received}");
}

#[test]
fn the_oldest_is_thrown_away_where_too_much_waits() {
    for carriage in CARRIAGES {
        // 64 kbit/s of voice and 23 of headers into 40.
        let mut call = call(&plain(carriage), 1, pipes(40_000, 50));
        speak(&mut call, 1_000);
        call.run(seconds(60));
        let stats = call.ends.stats();
        assert!(stats.thrown_away > 300, "{carriage:?}: {stats:?}");
        let lost = if carriage == Carriage::Datagrams { call.there.dropped } else { 0 };
        let received = u64::try_from(call.received.len()).unwrap();
        assert!(received + stats.thrown_away <= 1_000, "{carriage:?}: {received} heard, {stats:?}");
        assert!(
            received + stats.thrown_away + lost >= 1_000,
            "{carriage:?}: {received} heard, {lost} lost, {stats:?}"
        );
        // The last packets are never the ones.
        assert_eq!(call.numbers().iter().max(), Some(&999), "{carriage:?}");
    }
}

#[test]
fn no_more_waits_than_may_however_much_is_lost() {
    for carriage in CARRIAGES {
        let (mut there, back) = pipes(40_000, 5);
        there.lost_per_million = 300_000;
        let mut call = call(&plain(carriage), 1, (there, back));
        speak(&mut call, 3_000);
        let mut most = 0;
        for second in 2..61 {
            call.run(seconds(second));
            most = most.max(call.ends.stats().unsent_bytes);
        }
        // 15 packets, or as many as there is room for in a datagram if those are more; the first of them may be on its way.
        assert!(most <= 15 * u64::from(VOICE_BYTES + 2) + 1_200, "{carriage:?}: {most}");
        assert!(most >= 14 * u64::from(VOICE_BYTES), "{carriage:?}: {most}");
        call.run(seconds(300));
        assert_eq!(call.ends.stats().unsent_bytes, 0, "{carriage:?}");
    }
}

#[test]
fn an_unbounded_buffer_throws_nothing_away() {
    for carriage in [Carriage::Stream, Carriage::StreamPerPacket] {
        let settings = QuicSettings { send_buffer: 100_000, ..plain(carriage) };
        let mut call = call(&settings, 1, pipes(40_000, 50));
        speak(&mut call, 1_000);
        call.run(seconds(120));
        assert_eq!(call.ends.stats().thrown_away, 0);
        assert_eq!(call.received.len(), 1_000, "{carriage:?}");
        // Minutes of backlog, as with TCP.
        let (at, number) = *call.received.last().unwrap();
        assert!(at.since(Instant(1_000_000_000 + u64::from(number) * 20_000_000)) > Nanos::from_seconds(10));
    }
}

#[test]
fn a_call_survives_silence() {
    let settings = plain(Carriage::Datagrams);
    let mut kept = call(&settings, 1, pipes(2_000_000, 50));
    let mut lost = call(&QuicSettings { keep_alive: None, ..settings }, 1, pipes(2_000_000, 50));
    for call in [&mut kept, &mut lost] {
        call.speak(seconds(1), 0, VOICE_BYTES);
        call.speak(seconds(100), 1, VOICE_BYTES);
        call.run(seconds(110));
    }
    assert_eq!((kept.numbers(), kept.ends.stats().is_lost), (vec![0, 1], false));
    assert_eq!((lost.numbers(), lost.ends.stats().is_lost), (vec![0], true));
    assert_eq!(lost.ends.stats().thrown_away, 1);
}

#[test]
fn the_first_packet_may_have_to_wait_for_the_connection() {
    let settings = QuicSettings { opening: Opening::WithFirstPacket, ..plain(Carriage::Datagrams) };
    let mut call = call(&settings, 1, pipes(2_000_000, 50));
    call.run(seconds(1));
    assert!(call.sent.is_empty());
    speak(&mut call, 5);
    call.run(seconds(3));
    assert_eq!(call.numbers(), (0..5).collect::<Vec<_>>());
    let took = call.received[0].0.since(seconds(1)).as_millis();
    assert!((65.0..85.0).contains(&took), "one and a half round trips of 40 ms: {took}");
}

#[test]
fn a_handshake_survives_loss() {
    let (mut there, mut back) = pipes(2_000_000, 50);
    (there.lost, back.lost) = (vec![0, 2], vec![0, 1]);
    let mut call = call(&plain(Carriage::Datagrams), 1, (there, back));
    call.speak(seconds(8), 7, VOICE_BYTES);
    call.run(seconds(10));
    assert_eq!(call.numbers(), [7]);
}

#[test]
fn a_packet_that_no_datagram_has_room_for_is_counted() {
    let mut call = call(&plain(Carriage::Datagrams), 1, pipes(2_000_000, 50));
    call.speak(seconds(1), 0, 1_400);
    call.speak(seconds(1), 1, VOICE_BYTES);
    call.run(seconds(2));
    assert_eq!(call.numbers(), [1]);
    assert_eq!(call.ends.stats().too_large, 1);
    let settings = QuicSettings { mtu_discovery: true, ..plain(Carriage::Datagrams) };
    let mut discovered = Call::new(
        QuicEnds::new(&settings, &Streams::new(Seed::from_number(1)), 0).unwrap(),
        pipes(2_000_000, 50).0,
        pipes(2_000_000, 50).1,
    );
    discovered.speak(seconds(2), 0, 1_400);
    discovered.run(seconds(3));
    assert_eq!(discovered.numbers(), [0]);
}

#[test]
fn packets_of_every_length_get_through_a_backlog() {
    for carriage in CARRIAGES {
        // A datagram of 1200 bytes holds up to 1160 or so, or several, or a part of one.
        for bytes in [4, 160, 500, 559, 560, 570, 1_100, 1_120, 1_140, 1_150, 1_155, 1_160, 1_170, 1_400] {
            let settings = QuicSettings { send_buffer: 1_000, ..plain(carriage) };
            let mut call = call(&settings, 1, pipes(2_000_000, 50));
            for number in 0..200 {
                call.speak(seconds(1), number, bytes);
            }
            call.run(seconds(15));
            let stats = call.ends.stats();
            let received = u64::try_from(call.received.len()).unwrap();
            let lost = if carriage == Carriage::Datagrams { stats.packets_lost } else { 0 };
            assert!(
                received + stats.too_large + 8 * lost >= 200,
                "{carriage:?} {bytes}: {received}, {stats:?}"
            );
            assert_eq!(stats.too_large > 0, carriage == Carriage::Datagrams && bytes > 1_165, "{bytes}");
        }
    }
}

#[test]
fn opens_when_it_is_told_to() {
    let settings = QuicSettings { opening: Opening::At(seconds(5)), ..plain(Carriage::Stream) };
    let mut call = call(&settings, 1, pipes(2_000_000, 50));
    call.speak(seconds(1), 0, VOICE_BYTES);
    call.run(seconds(7));
    assert!(call.sent.iter().all(|(at, _, _)| *at >= seconds(5)));
    assert_eq!(call.numbers(), [0]);
}
