use portable_atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// Why a packet or a datagram was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DropReason {
    /// The datagram is not of this protocol, or too short for what it says that it is.
    Malformed,
    /// Nobody here is meant: no such receiver, security association or key.
    UnknownPeer,
    /// Its authentication is wrong: another key, or changed on the way.
    NotAuthentic,
    /// It has been received before.
    Replayed,
    /// It is older than the window in which order is repaired.
    TooOld,
    /// It is authentic, but its padding is not as it must be.
    BadPadding,
    /// It is authentic, but no whole IP packet is inside.
    BadInner,
    /// The inner packet comes from an address that this peer may not use.
    WrongSource,
    /// The inner packet goes to an address that no peer has.
    NoRoute,
    /// Nobody knows where the peer is.
    NoAddress,
    /// There are no keys to seal or open with: no handshake yet, or they are worn out.
    NoKeys,
    /// The packet is larger than a datagram can carry.
    TooLarge,
    /// A handshake that is not looked at because there are too many.
    Overload,
}

/// What an endpoint has carried and dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Inner packets opened and delivered.
    pub received: u64,
    /// Inner packets sealed.
    pub sent: u64,
    dropped: [u64; DropReason::ALL.len()],
}

/// The counters of a running endpoint, added to by several threads.
#[derive(Debug, Default)]
pub struct Tally {
    received: AtomicU64,
    sent: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
}

impl DropReason {
    /// Every reason, in the order of their declaration.
    pub const ALL: [Self; 13] = [
        Self::Malformed,
        Self::UnknownPeer,
        Self::NotAuthentic,
        Self::Replayed,
        Self::TooOld,
        Self::BadPadding,
        Self::BadInner,
        Self::WrongSource,
        Self::NoRoute,
        Self::NoAddress,
        Self::NoKeys,
        Self::TooLarge,
        Self::Overload,
    ];

    /// The name under which it is counted and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnknownPeer => "unknown-peer",
            Self::NotAuthentic => "not-authentic",
            Self::Replayed => "replayed",
            Self::TooOld => "too-old",
            Self::BadPadding => "bad-padding",
            Self::BadInner => "bad-inner",
            Self::WrongSource => "wrong-source",
            Self::NoRoute => "no-route",
            Self::NoAddress => "no-address",
            Self::NoKeys => "no-keys",
            Self::TooLarge => "too-large",
            Self::Overload => "overload",
        }
    }
}

impl Counters {
    /// How many were dropped for this reason.
    #[must_use]
    pub const fn dropped(&self, reason: DropReason) -> u64 {
        self.dropped[reason as usize]
    }

    /// How many were dropped for each reason, without those that never happened.
    pub fn drops(&self) -> impl Iterator<Item = (DropReason, u64)> {
        DropReason::ALL
            .into_iter()
            .map(|reason| (reason, self.dropped(reason)))
            .filter(|(_, count)| *count > 0)
    }
}

impl Tally {
    /// Counts inner packets that were opened.
    pub fn received(&self, packets: u64) {
        self.received.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts inner packets that were sealed.
    pub fn sent(&self, packets: u64) {
        self.sent.fetch_add(packets, Ordering::Relaxed);
    }

    /// Counts one that was dropped.
    pub fn dropped(&self, reason: DropReason) {
        self.dropped[reason as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counters as they are now.
    pub fn counters(&self) -> Counters {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            received: read(&self.received),
            sent: read(&self.sent),
            dropped: std::array::from_fn(|reason| read(&self.dropped[reason])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let tally = Tally::default();
        for (times, reason) in DropReason::ALL.into_iter().enumerate() {
            assert_eq!(times, reason as usize, "{}", reason.name());
            (0..times).for_each(|_| tally.dropped(reason));
        }
        let counters = tally.counters();
        for (times, reason) in (0..).zip(DropReason::ALL) {
            assert_eq!(counters.dropped(reason), times, "{}", reason.name());
        }
        assert_eq!(counters.drops().count(), DropReason::ALL.len() - 1);
    }
}
