//! How a member's home recognises that member's phone on somebody else's Wi-Fi: EAP-TLS, its server and its
//! certificates.
//!
//! The phone joins a network with WPA2- or WPA3-Enterprise. The access point there understands nothing of what follows:
//! it carries EAP packets between the phone and the phone's home, and is given a key if the home accepts.
//!
//! In: EAP packets, the time, the chance that keys and certificates are made of. Out: EAP packets, and an [`Outcome`]:
//! the label of the phone's certificate with the keys for the air, or a [`Reason`] with a sentence for the person.
//!
//! - [`Packet`]: EAP as bytes (RFC 3748), with the fragments of EAP-TLS (RFC 5216).
//! - [`Authority`]: makes the certificates of one household: its own, its home's, and one for each phone.
//! - [`Config`]: what all conversations of a home share; who is revoked can be replaced while it runs.
//! - [`Server`]: the machine behind one conversation, for TLS 1.2 and 1.3 (RFC 9190).
//! - [`Servers`]: many conversations, asked for by anybody's access point, within limits.
//!
//! Two things come from outside in spite of the room's rule. TLS is rustls, and rustls asks the operating system for
//! its own entropy, because ring does not take it as an argument: two runs of a conversation differ in their bytes.
//! Its clock is ours: it sees the time of the last call and no other.
//!
//! Invariants:
//! - nobody is accepted without a certificate of this authority that is valid now, is a phone's, and is not revoked,
//!   and without a proof of its key;
//! - nothing is resumed and nothing is early: each conversation is a full handshake (RFC 9190, section 2.1.2);
//! - a packet that is out of turn is dropped, and changes nothing;
//! - one packet in is at most one packet out, and a repeated one is answered by the same bytes;
//! - packets, bytes, rounds, time, and conversations have a limit;
//! - a refusal by TLS is carried to the phone as an alert before EAP-Failure;
//! - keys are wiped when they are dropped, and are in no `Debug`.

mod authority;
mod certificate;
mod config;
mod fragment;
mod identity;
mod key;
mod outcome;
mod packet;
mod server;
mod servers;
mod session;
mod verifier;

pub use authority::{Authority, AuthorityError, Credential};
pub use certificate::{Certificate, CertificateError};
pub use config::{Config, ConfigError, Limits};
pub use fragment::{FragmentError, Inbound, Outbound};
pub use identity::{Label, ParseError, Realm, Serial};
pub use key::{KeyError, PrivateKey};
pub use outcome::{Outcome, Reason, Secret, TlsVersion};
pub use packet::{Fragment, Method, Packet, PacketError};
pub use server::{Dropped, Server};
pub use servers::{ConversationId, Ended, Servers, TableLimits};
pub use session::Alert;
