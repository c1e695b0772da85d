//! Segments of 1000 bytes, 50 ms each way, and no time to send: what can be reckoned by hand.

use super::wire::Way;
use guestright_congestion::{Fixed, RecoveryKind, RecoverySettings, TimeoutSettings};
use guestright_engine::{Instant, Nanos};
use guestright_transport::{ReceiverSettings, Segment, SenderSettings};

pub(crate) const SEGMENT: u32 = 1_000;
pub(crate) const DELAY: Nanos = Nanos::from_millis(50);

pub(crate) fn sender(kind: RecoveryKind) -> SenderSettings {
    SenderSettings {
        recovery: RecoverySettings::new(kind, SEGMENT),
        timeout: TimeoutSettings::linux(),
        ..SenderSettings::rfc(SEGMENT)
    }
}

/// Each segment acknowledged at once, and told what has arrived behind a gap.
pub(crate) fn receiver() -> ReceiverSettings {
    ReceiverSettings { acknowledge_every: 1, sack: true, ..ReceiverSettings::rfc5681() }
}

pub(crate) fn fixed(segments: u64) -> Fixed {
    Fixed::new(segments * u64::from(SEGMENT), SEGMENT).expect("the settings can be")
}

/// Loses the segments of these numbers on their way there.
pub(crate) fn losing(lost: &[usize]) -> impl FnMut(Way, usize, &Segment) -> Vec<Nanos> {
    move |way, number, _| {
        if way == Way::There && lost.contains(&number) { Vec::new() } else { vec![DELAY] }
    }
}

pub(crate) fn at(ms: u64) -> Instant {
    Instant::START + Nanos::from_millis(ms)
}

/// When each segment was sent in ms, and which thousand of bytes it carried.
pub(crate) fn trace(sent: &[(Instant, Segment)]) -> Vec<(u64, u64)> {
    sent.iter().map(|(at, segment)| (at.0 / 1_000_000, segment.seq / u64::from(SEGMENT))).collect()
}
