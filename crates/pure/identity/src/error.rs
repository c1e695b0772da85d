use crate::{Role, Suite};
use guestright_units::UnixSeconds;
use thiserror::Error;

/// What is wrong with a key, a certificate or a signed object that somebody handed us.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum IdentityError {
    /// The object ends in the middle.
    #[error("the object is cut off after {got} bytes")]
    Truncated {
        /// Bytes that were there.
        got: usize,
    },
    /// The object is larger than any valid one.
    #[error("the object has {got} bytes, at most {max} are allowed")]
    TooLong {
        /// Bytes that were there.
        got: usize,
        /// Bytes that the largest valid one has.
        max: usize,
    },
    /// The bytes say the right thing in a form that is not the one deterministic form.
    #[error("the object is not deterministic CBOR: written canonically it would be other bytes")]
    NotCanonical,
    /// The bytes are CBOR, but not this object.
    #[error("the object is malformed: {0}")]
    Malformed(&'static str),
    /// A suite that this program does not know, or was built without.
    #[error("signature suite {algorithm} is unknown to this program")]
    UnknownSuite {
        /// The COSE algorithm number.
        algorithm: i64,
    },
    /// A known suite where another one was needed.
    #[error("signed with {got}, but the key is for {want}")]
    WrongSuite {
        /// The suite that the object names.
        got: Suite,
        /// The suite of the key.
        want: Suite,
    },
    /// The signature does not fit the key and the bytes.
    #[error("the signature is not valid")]
    BadSignature,
    /// The key itself is not a point, a modulus, a number of the suite.
    #[error("the {0} key is not valid")]
    BadKey(Suite),
    /// The certificate is not valid yet.
    #[error("the certificate is valid from {not_before}, and it is {now}")]
    NotYetValid {
        /// First second of its life.
        not_before: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// The certificate is no longer valid.
    #[error("the certificate expired at {not_after}, and it is {now}")]
    Expired {
        /// Last second of its life.
        not_after: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// A certificate for something else.
    #[error("the certificate is for the role {got}, not for {want}")]
    WrongRole {
        /// What it is for.
        got: Role,
        /// What it had to be for.
        want: Role,
    },
    /// Its own team has revoked it.
    #[error("the team revoked this key at {since}")]
    Revoked {
        /// What was signed from this second on does not count.
        since: UnixSeconds,
    },
    /// A renewed certificate is beyond what its renewing key may do.
    #[error("the renewing key may not do that: {0}")]
    WarrantExceeded(&'static str),
    /// The team does not let the key renew yet.
    #[error("the warrant of the renewing key is valid from {not_before}, and it is {now}")]
    WarrantNotYetValid {
        /// First second of its life.
        not_before: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// The team lets the key renew no longer.
    #[error("the warrant of the renewing key expired at {not_after}, and it is {now}")]
    WarrantExpired {
        /// Last second of its life.
        not_after: UnixSeconds,
        /// The second at which it was checked.
        now: UnixSeconds,
    },
    /// The team has revoked the key by which a certificate was renewed.
    #[error("the team revoked the renewing key behind this certificate at {since}")]
    RenewingKeyRevoked {
        /// What was signed from this second on does not count.
        since: UnixSeconds,
    },
}
