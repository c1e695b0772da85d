use guestright_identity::{CertificateRef, IdentityError, Suite};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use thiserror::Error;

/// Why a receipt does not count.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReceiptError {
    /// The receipt ends in the middle.
    #[error("the receipt is cut off after {got} bytes")]
    Truncated {
        /// Bytes that were there.
        got: usize,
    },
    /// Its form or its signature is wrong.
    #[error("the receipt is refused: {0}")]
    Refused(IdentityError),
    /// It is signed with another suite than its member's key.
    #[error("the receipt is signed with {got}, the member's key is for {want}")]
    WrongSuite {
        /// The receipt's suite.
        got: Suite,
        /// The key's suite.
        want: Suite,
    },
    /// A suite of the laboratory in a live graph.
    #[error("suite {0} is for measurements and not accepted here")]
    LegacySuite(Suite),
    /// The certificate that it points at is not known.
    #[error("the receipt points at certificate {0}, which is not known here")]
    UnknownCertificate(CertificateRef),
    /// The certificate did not hold when the session began.
    #[error("the member's certificate ran from {not_before} to {not_after}, the session began at {started}")]
    CertificateExpired {
        /// First second of the certificate.
        not_before: UnixSeconds,
        /// Last second of the certificate.
        not_after: UnixSeconds,
        /// When the session began.
        started: UnixSeconds,
    },
    /// The certificate is not a member's, or its key was revoked.
    #[error("the certificate does not entitle to sign receipts: {0}")]
    NotEntitled(IdentityError),
    /// The session begins in the future.
    #[error("the session begins at {started}, and it is {now}: more than {skew} s ahead")]
    FutureDated {
        /// When the session is said to begin.
        started: UnixSeconds,
        /// The current second.
        now: UnixSeconds,
        /// How far clocks may differ, in seconds.
        skew: u64,
    },
    /// The session is too long ago to count.
    #[error("the session began at {started}, more than {age_max} s ago")]
    TooOld {
        /// When the session began.
        started: UnixSeconds,
        /// How old a receipt may be, in seconds.
        age_max: u64,
    },
    /// Another team is named than had to be.
    #[error("the receipt is for team {got}, not for team {want}", got = got.short(), want = want.short())]
    WrongTeam {
        /// The provider that the receipt names.
        got: TeamId,
        /// The provider that it had to name.
        want: TeamId,
    },
    /// It belongs to another session or another member.
    #[error("the receipt is for another session")]
    OtherSession,
    /// It is over more than was asked for.
    #[error("the receipt says {got}, and {most} were asked for")]
    AboveClaim {
        /// What it says.
        got: Bytes,
        /// What was asked for.
        most: Bytes,
    },
    /// Its bytes were served on another hold than it says, or on none.
    #[error("the receipt does not name the hold that its bytes were served on")]
    WrongHold,
    /// Consumer and provider are one team.
    #[error("team {} trades with itself", .0.short())]
    SelfTrade(TeamId),
    /// A receipt of this session with a larger weight is known: an old one is shown again.
    #[error("the receipt says {got}, a receipt over {known} of this session is known")]
    LowerWeight {
        /// What it says.
        got: Bytes,
        /// What the larger one says.
        known: Bytes,
    },
}

impl ReceiptError {
    /// A short name of the kind, for counters and messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Truncated { .. } => "truncated",
            Self::Refused(IdentityError::TooLong { .. }) => "oversized",
            Self::Refused(IdentityError::NotCanonical) => "not-canonical",
            Self::Refused(IdentityError::BadSignature) => "forged",
            Self::Refused(_) => "malformed",
            Self::WrongSuite { .. } => "wrong-suite",
            Self::LegacySuite(_) => "legacy-suite",
            Self::UnknownCertificate(_) => "unknown-certificate",
            Self::CertificateExpired { .. } => "expired-certificate",
            Self::NotEntitled(_) => "not-entitled",
            Self::FutureDated { .. } => "future-dated",
            Self::TooOld { .. } => "too-old",
            Self::WrongTeam { .. } => "wrong-team",
            Self::OtherSession => "other-session",
            Self::AboveClaim { .. } => "above-claim",
            Self::WrongHold => "wrong-hold",
            Self::SelfTrade(_) => "self-trade",
            Self::LowerWeight { .. } => "replayed",
        }
    }
}

impl From<IdentityError> for ReceiptError {
    fn from(error: IdentityError) -> Self {
        if let IdentityError::Truncated { got } = error {
            return Self::Truncated { got };
        }
        if let IdentityError::WrongSuite { got, want } = error {
            return Self::WrongSuite { got, want };
        }
        Self::Refused(error)
    }
}
