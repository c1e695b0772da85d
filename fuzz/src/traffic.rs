//! What `lab traffic` sends.

use guestright_traffic::{ClockSource, Listener, ListenerConfig, Plan, Traffic, VoicePacket, parse_anything};
use guestright_units::{Micros, Seed, Time};

/// A datagram at either end: messages are written as they are read, voice too but for its filling, and a listener
/// neither panics nor sends more than it was sent.
pub fn traffic(bytes: &[u8]) {
    parse_anything(bytes);
    for kind in [Traffic::G729, Traffic::G711] {
        if let Some(packet) = VoicePacket::parse(bytes, kind) {
            let again = packet.emit(kind);
            assert_eq!(again.len(), bytes.len());
            assert_eq!(VoicePacket::parse(&again, kind), Some(packet));
        }
    }
    let config = ListenerConfig {
        calls_max: 10,
        duration_max: Plan::paper_a(1).duration(),
        from: None,
        runs_max: None,
    };
    let mut listener = Listener::new(config, ClockSource::Exchange, &Seed::from_number(1));
    let from = ([192, 0, 2, 1], 5_000).into();
    listener.handle_datagram(bytes, from, Time(1_000_000));
    listener.handle_timeout(Time(1_000_000) + Micros::from_seconds(1));
    let mut sent = 0;
    while let Some((to, answer)) = listener.poll_transmit() {
        assert_eq!(to, from);
        sent += answer.len();
    }
    assert!(sent <= bytes.len(), "{sent} octets for {}", bytes.len());
}
