use guestright_units::Micros;

/// Why a datagram was not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The side takes nothing at the moment ([`Protection::Closed`](crate::Protection::Closed)), or the other one does
    /// not.
    Closed,
    /// Longer than [`Limits::datagram_bytes_max`](crate::Limits::datagram_bytes_max).
    Oversized,
    /// From an address that this side does not take anything from.
    WrongSource,
    /// Above the side's rate.
    RateExceeded,
    /// It keeps a NAT's hole open, and has done so.
    KeepAlive,
    /// STUN; a relay's ports are in SDP and need no finding.
    Stun,
    /// Neither RTP nor RTCP, on a side that must carry nothing else.
    Malformed,
    /// Its tag is not right: forged, damaged, or under keys that have ended.
    Unauthenticated,
    /// It came before.
    Replayed,
    /// A stream above [`Limits::streams_max`](crate::Limits::streams_max).
    TooManyStreams,
    /// The other side's address is not known yet.
    NoDestination,
    /// The other side's address has had its share ([`Limits::unanswered_max`](crate::Limits::unanswered_max)), and nothing has
    /// come from there.
    Unanswered,
    /// It could not be protected for the other side: its keys have protected all they may (RFC 3711, section 9.2).
    KeysExhausted,
}

impl Refusal {
    /// How many reasons there are.
    pub const COUNT: usize = 13;
    /// All of them, in the order of [`SideStatistics::refused`].
    pub const ALL: [Self; Self::COUNT] = [
        Self::Closed,
        Self::Oversized,
        Self::WrongSource,
        Self::RateExceeded,
        Self::KeepAlive,
        Self::Stun,
        Self::Malformed,
        Self::Unauthenticated,
        Self::Replayed,
        Self::TooManyStreams,
        Self::NoDestination,
        Self::Unanswered,
        Self::KeysExhausted,
    ];

    /// A short name, for counters and logs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Oversized => "oversized",
            Self::WrongSource => "wrong-source",
            Self::RateExceeded => "rate-exceeded",
            Self::KeepAlive => "keep-alive",
            Self::Stun => "stun",
            Self::Malformed => "malformed",
            Self::Unauthenticated => "unauthenticated",
            Self::Replayed => "replayed",
            Self::TooManyStreams => "too-many-streams",
            Self::NoDestination => "no-destination",
            Self::Unanswered => "unheard",
            Self::KeysExhausted => "keys-exhausted",
        }
    }
}

/// What came in on one side of a call, and what became of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SideStatistics {
    /// Datagrams that were passed on.
    pub passed: u64,
    /// Their bytes as they came in, without UDP's and IP's headers.
    pub passed_bytes: u64,
    /// RTP packets among them.
    pub rtp: u64,
    /// RTCP packets among them.
    pub rtcp: u64,
    /// RTP packets that there should have been, by their sequence numbers.
    pub rtp_expected: u64,
    /// Interarrival jitter of the latest stream (RFC 3550, section 6.4.1).
    pub jitter: Micros,
    /// Datagrams that were not passed on, in the order of [`Refusal::ALL`].
    pub refused: [u64; Refusal::COUNT],
}

impl SideStatistics {
    /// How many datagrams were not passed on for this reason.
    #[must_use]
    pub const fn refused(&self, refusal: Refusal) -> u64 {
        self.refused[refusal as usize]
    }

    /// How many datagrams were not passed on.
    #[must_use]
    pub fn refused_in_all(&self) -> u64 {
        self.refused.iter().sum()
    }

    /// RTP packets that were lost before they came here. (Repeated ones hide as many.)
    #[must_use]
    pub const fn rtp_lost(&self) -> u64 {
        self.rtp_expected.saturating_sub(self.rtp)
    }
}

/// What a call has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// What came in on side A.
    pub a: SideStatistics,
    /// What came in on side B.
    pub b: SideStatistics,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_counts_in_its_own_place() {
        for (index, refusal) in Refusal::ALL.into_iter().enumerate() {
            assert_eq!(refusal as usize, index, "{}", refusal.name());
        }
    }
}
