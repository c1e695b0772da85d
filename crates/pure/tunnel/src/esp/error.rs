//! What can be wrong with a packet, under names that stay, and how often it was.

use thiserror::Error;

use super::replay::ReplayError;

/// Why a packet was dropped, without the particulars: for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropKind {
    /// Shorter than the shortest packet of the suite.
    Truncated,
    /// Longer than the association takes.
    Oversized,
    /// The encrypted part is not a whole number of blocks.
    Misaligned,
    /// For another association.
    WrongSpi,
    /// Received before.
    Replayed,
    /// Below the anti-replay window.
    TooOld,
    /// Not written by who has the key, or changed on the way.
    WrongIcv,
    /// Authentic, but the padding is not 1, 2, 3, … (RFC 4303, section 2.4), or longer than the packet.
    WrongPad,
    /// A dummy packet: to be dropped without a word (RFC 4303, section 2.6).
    Dummy,
    /// The association's lifetime is over.
    Expired,
    /// Authentic, but nothing that this tunnel carries: another next header, or no whole inner packet.
    WrongInner,
    /// Authentic, but the UDP datagram inside is damaged or for another port.
    WrongUdp,
    /// Authentic, but no data message of the right L2TP tunnel and session.
    WrongL2tp,
    /// Authentic, but no IP packet in a PPP frame.
    WrongPpp,
    /// Authentic, but the inner packet comes from an address that the peer may not use.
    WrongSource,
    /// A datagram that says that it is key exchange (RFC 3948, section 2.2): there is none here.
    KeyExchange,
}

impl DropKind {
    /// Every kind, in the order of counters.
    pub const ALL: [Self; 16] = [
        Self::Truncated,
        Self::Oversized,
        Self::Misaligned,
        Self::WrongSpi,
        Self::Replayed,
        Self::TooOld,
        Self::WrongIcv,
        Self::WrongPad,
        Self::Dummy,
        Self::Expired,
        Self::WrongInner,
        Self::WrongUdp,
        Self::WrongL2tp,
        Self::WrongPpp,
        Self::WrongSource,
        Self::KeyExchange,
    ];

    /// The name that counters and reports use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::Oversized => "oversized",
            Self::Misaligned => "misaligned",
            Self::WrongSpi => "wrong-spi",
            Self::Replayed => "replayed",
            Self::TooOld => "too-old",
            Self::WrongIcv => "wrong-icv",
            Self::WrongPad => "wrong-pad",
            Self::Dummy => "dummy",
            Self::Expired => "expired",
            Self::WrongInner => "wrong-inner",
            Self::WrongUdp => "wrong-udp",
            Self::WrongL2tp => "wrong-l2tp",
            Self::WrongPpp => "wrong-ppp",
            Self::WrongSource => "wrong-source",
            Self::KeyExchange => "key-exchange",
        }
    }
}

/// How many packets were dropped, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; DropKind::ALL.len()]);

impl Drops {
    /// Counts one more.
    pub fn count(&mut self, kind: DropKind) {
        let counter = &mut self.0[kind as usize];
        *counter = counter.saturating_add(1);
    }

    /// How many of that kind.
    #[must_use]
    pub fn of(&self, kind: DropKind) -> u64 {
        self.0[kind as usize]
    }

    /// How many in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every kind with its count, zeros included, in the order of [`DropKind::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (DropKind, u64)> + '_ {
        DropKind::ALL.into_iter().zip(self.0)
    }
}

/// Why a packet was not opened. Nothing here is the receiver's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum OpenError {
    /// Shorter than the shortest packet of the suite.
    #[error("an ESP packet of {got} bytes; the shortest has {want}")]
    Truncated {
        /// Bytes received.
        got: usize,
        /// Bytes of the shortest.
        want: usize,
    },
    /// Longer than the association takes.
    #[error("an ESP packet of {got} bytes; this association takes {limit}")]
    Oversized {
        /// Bytes received.
        got: usize,
        /// The association's limit.
        limit: usize,
    },
    /// The encrypted part is not a whole number of blocks.
    #[error("the encrypted part has {got} bytes, which is no multiple of {want}")]
    Misaligned {
        /// Bytes of the encrypted part.
        got: usize,
        /// What it has to be a multiple of.
        want: usize,
    },
    /// For another association.
    #[error("a packet for association {got:#010x}, this is {want:#010x}")]
    WrongSpi {
        /// The index in the packet.
        got: u32,
        /// The index of the association.
        want: u32,
    },
    /// Received before, or too old to tell.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The check value is wrong: written with another key, or changed on the way.
    #[error("the integrity check value of packet {sequence} is wrong")]
    WrongIcv {
        /// The sequence number that the packet claims.
        sequence: u64,
    },
    /// Authentic, but the padding is wrong.
    #[error("the padding of packet {sequence} is wrong")]
    WrongPad {
        /// The sequence number.
        sequence: u64,
    },
    /// A dummy packet.
    #[error("packet {sequence} is a dummy")]
    Dummy {
        /// The sequence number.
        sequence: u64,
    },
    /// The association's lifetime is over; it wants new keys.
    #[error("the association has carried all it may: make new keys")]
    Expired,
}

impl OpenError {
    /// The kind to count it under.
    #[must_use]
    pub fn kind(self) -> DropKind {
        match self {
            Self::Truncated { .. } => DropKind::Truncated,
            Self::Oversized { .. } => DropKind::Oversized,
            Self::Misaligned { .. } => DropKind::Misaligned,
            Self::WrongSpi { .. } => DropKind::WrongSpi,
            Self::Replay(ReplayError::Replayed(_)) => DropKind::Replayed,
            Self::Replay(ReplayError::TooOld(_)) => DropKind::TooOld,
            Self::WrongIcv { .. } => DropKind::WrongIcv,
            Self::WrongPad { .. } => DropKind::WrongPad,
            Self::Dummy { .. } => DropKind::Dummy,
            Self::Expired => DropKind::Expired,
        }
    }
}

/// Why a packet was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SealError {
    /// The sealed packet would be longer than the association takes.
    #[error("{got} bytes would be an ESP packet of {packet}; this association takes {limit}")]
    Oversized {
        /// Bytes to seal.
        got: usize,
        /// Bytes that the packet would have.
        packet: usize,
        /// The association's limit.
        limit: usize,
    },
    /// The buffer is too short for the sealed packet.
    #[error("the buffer has {got} bytes, the packet needs {want}")]
    Room {
        /// Bytes of the buffer.
        got: usize,
        /// Bytes of the packet.
        want: usize,
    },
    /// Every sequence number was used: going on would repeat one.
    #[error("every sequence number was used: make new keys")]
    SequencesUsedUp,
    /// The next sequence number is not reserved yet, see
    /// [`OutboundSa::set_sequence_limit`](super::OutboundSa::set_sequence_limit).
    #[error("no sequence number is reserved: wait until more are")]
    NotReserved,
    /// The association's lifetime is over; it wants new keys.
    #[error("the association has carried all it may: make new keys")]
    Expired,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_has_a_name_and_a_counter_of_its_own() {
        let names: BTreeSet<_> = DropKind::ALL.map(DropKind::name).into();
        assert_eq!(names.len(), DropKind::ALL.len());
        let mut drops = Drops::default();
        for (times, kind) in DropKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, times);
            (0..=times).for_each(|_| drops.count(kind));
        }
        for (want, (kind, count)) in (1..).zip(drops.iter()) {
            assert_eq!((count, drops.of(kind)), (want, want));
        }
        assert_eq!(drops.total(), (1..=16).sum::<u64>());
    }
}
