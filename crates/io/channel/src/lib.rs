//! Channels between the programs of one team, links between homes, and the framing of messages on a stream.
//!
//! [`Channel`] is a Noise XX channel (noiseprotocol.org, revision 34) over TCP in which each side shows a certificate
//! of its team and signs the Noise key that it uses with the certified key; so both sides know with whom they speak,
//! and nobody on the way reads or changes a byte. Inside, messages of the protocol follow each other.
//!
//! A link ([`connect_home`], [`connect_home_of`], [`accept_home`]) is the same between homes of any two teams: each shows
//! that it is a home, and the one that calls may say which, or of which team.
//!
//! [`connect_invited`] and [`accept_invited`] are for two who have no certificates of each other yet: both know a secret
//! that one of them told the other.
//!
//! [`MessageReader`] cuts messages out of a plain stream, for visitors that speak TCP on the access point's link.
//!
//! Invariants: nothing is read without a limit; a handshake that takes too long is ended; a peer that sends rubbish
//! gets an error and costs a connection, never the program.

mod credentials;
mod handshake;
mod invited;
mod plain;
mod primitives;
mod sealed;

pub use credentials::{Credentials, CurrentCredentials};
pub use handshake::{
    HANDSHAKE_TIMEOUT, Secured, accept, accept_home, connect, connect_home, connect_home_of,
};
pub use invited::{InvitationSecret, accept_invited, connect_invited};
pub use plain::MessageReader;
pub use sealed::{Channel, Receiver, Sender};

use guestright_identity::{IdentityError, Role};
use thiserror::Error;

/// Why a channel ended or never began.
#[derive(Debug, Error)]
pub enum ChannelError {
    /// The connection itself failed.
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    /// The handshake did not end in time.
    #[error("the peer did not finish the handshake in time")]
    Timeout,
    /// The peer does not speak Noise XX, or somebody changed bytes on the way.
    #[error("the channel's cryptography failed: {0}")]
    Noise(#[from] snow::Error),
    /// The peer's certificate or its signature is refused.
    #[error("the peer's certificate is refused: {0}")]
    Identity(#[from] IdentityError),
    /// The peer has proved its key, and its certificate does not hold at this time.
    #[error(
        "the {role} with the key {key} cannot be let in: {reason}; its certificate has to be renewed, unless a clock is wrong"
    )]
    NotNow {
        role: Role,
        /// The beginning of its name.
        key: String,
        reason: IdentityError,
    },
    /// The peer belongs to another team.
    #[error("the peer belongs to team {got}, not to {want}")]
    OtherTeam {
        got: String,
        /// The team that was wanted.
        want: String,
    },
    /// The peer is another home than the one that was called.
    #[error("the home has the key {got}, not {want}")]
    OtherHome {
        /// The name of its key.
        got: String,
        /// The one that was wanted.
        want: String,
    },
    /// A message is longer than any may be.
    #[error("a message has more than {max} bytes")]
    TooLong {
        /// How long it may be.
        max: usize,
    },
    /// What came is not a message.
    #[error("what came is not a message: {0}")]
    NotAMessage(String),
}
