//! Who is who, without a central authority.
//!
//! In: chance, the current second, bytes from peers. Out: key pairs, [`Certificate`]s by which a team vouches for
//! a member, an access point or a home, [`RevocationList`]s by which it takes that back, [`Warrant`]s by which it
//! lets a home renew them, and [`Delegation`]s by which a member lets its home sign.
//!
//! Invariants: every signed object is a COSE_Sign1 (RFC 9052) over deterministic CBOR (RFC 8949 §4.2) and is
//! refused if a byte of it could have been written differently; a [`Certificate`] in memory has a valid signature;
//! single and batch verification give the same verdict for every input; no secret is printed.
//!
//! The formats are specified in `docs/design/0001-protocol-and-receipts.md` of the repository.

#![warn(missing_docs)]

mod batch;
mod certificate;
pub mod cose;
mod delegation;
mod deterministic;
mod error;
mod key;
mod keyfile;
#[cfg(feature = "legacy-suites")]
mod legacy;
mod revocation;
mod suite;
mod vault;
mod warrant;

pub use batch::{Batch, Claim};
pub use certificate::{Certificate, CertificateRef, Role};
pub use delegation::{AccessPoints, Delegation, DelegationTerms};
pub use error::IdentityError;
pub use key::{KeyId, MemberId, PublicKey, SecretKey, Signature};
pub use keyfile::{KeyFile, KeyFileError};
pub use revocation::RevocationList;
pub use suite::Suite;
pub use vault::{Opener, Sealer, VaultError};
pub use warrant::Warrant;

/// The example of the README is tried as those of the documentation are.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
