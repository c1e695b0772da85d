//! What went wrong, and whose fault it was.

use crate::offer::Refusal;
use guestright_audio::AudioError;
use guestright_codec::CodecError;
use guestright_directory::CardError;
use guestright_error::{Fault, Kind};
use guestright_keys::KeysError;
use guestright_sip::agent::AgentError;
use guestright_tunnel::wireguard::ConfigError;
use guestright_voice::agreement::AgreementError;
use std::error::Error as _;
use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use thiserror::Error;

/// Why a call, or waiting for calls, came to nothing.
#[derive(Debug, Error)]
pub enum TelephoneError {
    #[error("there is no contact {0:?}")]
    UnknownContact(String),
    #[error("without a home only an address can be called")]
    OnlyAddresses,
    #[error("without a home it takes an address to listen on")]
    NoOwnAddress,
    #[error(transparent)]
    CodecName(CodecError),
    #[error("no handshakes set a clock in a call like this")]
    NoHandshakes,
    #[error(transparent)]
    NotAnAddress(AgentError),

    #[error(transparent)]
    CodecAbsent(CodecError),
    #[error("it is not known where home is: there is no {}", .0.display())]
    HomeUnknown(PathBuf),
    #[error("{} has no `DNS`, so it does not say where home is", .0.display())]
    HomeUnnamed(PathBuf),
    #[error(transparent)]
    Unreadable(KeysError),
    #[error("{} is no text", .0.display())]
    NotText(PathBuf),
    #[error("read {}", path.display())]
    Tunnel { path: PathBuf, source: ConfigError },
    #[error("{}: {error}", path.display())]
    Contacts { path: PathBuf, error: CardError },
    #[error("there is no place for settings: HOME is not set")]
    NoSettingsFolder,
    #[error(transparent)]
    Card(CardError),
    #[error("write {}", path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    SoundSource(AudioError),
    #[error(transparent)]
    SoundSink(AudioError),
    /// The member's own certificate does not fit.
    #[error(transparent)]
    OwnCertificate(AgreementError),

    #[error("there is no way to {to}; is the tunnel up?")]
    NoWay { to: IpAddr, source: io::Error },
    #[error(transparent)]
    NotStarted(AgentError),
    #[error("call {who}")]
    NotDialled { who: String, source: AgentError },
    #[error("open a port on {own}")]
    Port { own: IpAddr, source: io::Error },
    #[error("there are no two free ports in a row on {own}{reason}")]
    NoPorts { own: IpAddr, reason: String },
    #[error("{}", refusal(*code, reason, who).0)]
    Refused { code: u16, reason: String, who: String },
    #[error("no answer from {who}")]
    Silence { who: String },
    #[error("{who} did not answer")]
    Unanswered { who: String },
    #[error("{who} is gone: nothing answers any more")]
    Gone { who: String },
    #[error("the call was ended: {0}")]
    NotAgreeable(Refusal),
    #[error("the call with {who} was ended: {error}")]
    NoKeys { who: String, error: AgreementError },
    /// What the other side promised is no fingerprint.
    #[error(transparent)]
    Promise(AgreementError),

    /// The reader of what we say has gone, or the operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Sound(#[from] AudioError),
    #[error(transparent)]
    Coding(#[from] CodecError),
    #[error("finish the capture")]
    Recording(#[source] io::Error),

    #[error("the sockets of this call are gone")]
    NoSockets,
    #[error("there is no key of ours for this call")]
    NoOwnKey,
    #[error("the thread of the voice ended in a panic")]
    Panic,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl Fault for TelephoneError {
    fn kind(&self) -> Kind {
        match self {
            Self::UnknownContact(_)
            | Self::OnlyAddresses
            | Self::NoOwnAddress
            | Self::CodecName(_)
            | Self::NoHandshakes
            | Self::NotAnAddress(_)
            | Self::Card(_)
            | Self::Io(_)
            | Self::Sound(_)
            | Self::Coding(_)
            | Self::Recording(_) => Kind::User,
            Self::CodecAbsent(_)
            | Self::HomeUnknown(_)
            | Self::HomeUnnamed(_)
            | Self::Unreadable(_)
            | Self::NotText(_)
            | Self::Tunnel { .. }
            | Self::Contacts { .. }
            | Self::NoSettingsFolder
            | Self::Unwritable { .. }
            | Self::OwnCertificate(_) => Kind::Config,
            // A card that is not there is the system's, a file that is not a person's.
            Self::SoundSource(error) | Self::SoundSink(error) => {
                if matches!(error, AudioError::Device { .. } | AudioError::NoDevice { .. }) {
                    Kind::Network
                } else {
                    Kind::Config
                }
            }
            Self::NoWay { .. }
            | Self::NotStarted(_)
            | Self::NotDialled { .. }
            | Self::Port { .. }
            | Self::NoPorts { .. }
            | Self::Refused { .. }
            | Self::Silence { .. }
            | Self::Unanswered { .. }
            | Self::Gone { .. }
            | Self::NotAgreeable(_)
            | Self::NoKeys { .. }
            | Self::Promise(_) => Kind::Network,
            Self::NoSockets | Self::NoOwnKey | Self::Panic | Self::Json(_) => Kind::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::UnknownContact(_) => {
                "`guestright call contact list` lists them; `guestright call contact add` takes one in"
            }
            Self::OnlyAddresses => "dial sip:name@address:port",
            Self::NoOwnAddress => "give --address",
            Self::NoHandshakes => {
                "--playout boat is for --profile boat; --playout neteq follows the delays that were seen"
            }
            Self::NotAnAddress(_) => "dial a contact, a name that your home knows, or sip:name@address",
            Self::HomeUnknown(_) => {
                "name its address inside the tunnel, --home, or the tunnel's configuration, --tunnel"
            }
            Self::HomeUnnamed(_) => "name the home's address inside the tunnel: --home",
            Self::NoSettingsFolder => "name a file: --contacts",
            Self::SoundSource(_) => "name a sound file with --play, or do without a sound card: --no-sound",
            Self::SoundSink(_) => "name a sound file with --record, or do without a sound card: --no-sound",
            Self::NotStarted(_) => {
                "is the tunnel up? `guestright visit status` says; --address names your own address"
            }
            Self::Refused { code, reason, who } => refusal(*code, reason, who).1,
            Self::Silence { .. } | Self::Unanswered { .. } => "try again later",
            Self::Gone { .. } => "call again",
            Self::NotAgreeable(refusal) => refusal.hint(),
            Self::NoKeys { error, .. } => without_keys(error),
            Self::CodecName(_)
            | Self::CodecAbsent(_)
            | Self::Unreadable(_)
            | Self::NotText(_)
            | Self::Tunnel { .. }
            | Self::Contacts { .. }
            | Self::Card(_)
            | Self::Unwritable { .. }
            | Self::OwnCertificate(_)
            | Self::NoWay { .. }
            | Self::NotDialled { .. }
            | Self::Port { .. }
            | Self::NoPorts { .. }
            | Self::Promise(_)
            | Self::Io(_)
            | Self::Sound(_)
            | Self::Coding(_)
            | Self::Recording(_)
            | Self::NoSockets
            | Self::NoOwnKey
            | Self::Panic
            | Self::Json(_) => return None,
        };
        Some(hint.to_owned())
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl TelephoneError {
    /// What happened, why, and what to do about it: as the programs say it on standard error.
    #[must_use]
    pub fn explained(&self) -> String {
        let mut text = format!("guestright: {self}");
        let mut cause = self.source();
        while let Some(error) = cause {
            // Writing to a string does not fail.
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
        if let Some(hint) = self.hint() {
            let _ = write!(text, "\n  what to do: {hint}");
        }
        text
    }
}

/// What says no more than the code.
const BUSY: [&str; 2] = ["Busy Here", "Busy Everywhere"];

/// A call that came to nothing, in words (RFC 3261 section 21), and what to do about it.
fn refusal(code: u16, reason: &str, who: &str) -> (String, &'static str) {
    match code {
        401 | 403 | 407 => (
            format!("your home does not let you call {who} ({reason})"),
            "calls have to come out of the tunnel: is `guestright visit` running?",
        ),
        404 | 604 => (
            format!("nobody knows {who} ({reason})"),
            "`guestright call contact list` lists your contacts; a card from the other person brings a new one",
        ),
        410 => (format!("{who} is not there any more ({reason})"), "ask the other person for a new card"),
        480 => (
            format!("{who} cannot be reached at the moment ({reason})"),
            "the other person's telephone has to be on: `guestright call listen`, or a softphone at the home",
        ),
        486 | 600 if BUSY.contains(&reason) => (format!("{who} is busy"), "try again later"),
        486 | 600 => (format!("{who} is busy: {reason}"), "try again later"),
        488 | 606 | 406 | 415 => (
            format!("{who} did not take the call as it was offered: {reason}"),
            "other codecs (--codec) may do; a stock softphone needs --protection home, and then both homes can hear",
        ),
        603 | 607 => (format!("{who} declined"), "try again when it suits"),
        408 | 504 => (format!("no answer from {who} ({reason})"), "try again later"),
        503 if reason.contains("access point") => {
            (format!("your home does not begin this call: {reason}"), "try again later")
        }
        500..=599 => (format!("a home on the way failed ({code} {reason})"), "try again later"),
        _ => (format!("the call to {who} failed ({code} {reason})"), "try again later"),
    }
}

fn without_keys(error: &AgreementError) -> &'static str {
    use AgreementError as E;
    match error {
        E::OtherPeer { .. } => {
            "somebody else answers for this contact, or the contact has a new key: ask by another way for a new card"
        }
        E::Timeout { .. } => "the other side's telephone did not take part: is it `guestright call` too?",
        E::TooLong { .. } => {
            "your own certificate does not fit into a datagram: ask your team for another one"
        }
        E::Malformed(_)
        | E::OtherCall
        | E::OutOfTurn
        | E::Forged
        | E::TooMany
        | E::Commitment
        | E::Fingerprint
        | E::Identity(_) => "somebody on the way may have interfered; call again, and compare the four words",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_says_what_happened_why_and_what_to_do() {
        let gone = TelephoneError::Gone { who: "Bea".to_owned() };
        assert_eq!(
            gone.explained(),
            "guestright: Bea is gone: nothing answers any more\n  what to do: call again"
        );
        let source = io::Error::from(io::ErrorKind::NotFound);
        let error = TelephoneError::Unwritable { path: "x/y.csv".into(), source };
        assert_eq!(error.explained(), "guestright: write x/y.csv: entity not found");
        assert_eq!((gone.kind(), error.kind()), (Kind::Network, Kind::Config));
    }

    #[test]
    fn what_a_status_code_means_is_said_in_words() {
        let refused = |code| TelephoneError::Refused { code, reason: "so".to_owned(), who: "bea".to_owned() };
        assert_eq!(refused(404).to_string(), "nobody knows bea (so)");
        assert_eq!(refused(503).to_string(), "a home on the way failed (503 so)");
        let full = "one more call would break those at your access point";
        let refused_with = |code, reason: &str| TelephoneError::Refused {
            code,
            reason: reason.to_owned(),
            who: "bea".to_owned(),
        };
        assert_eq!(refused_with(486, "Busy Here").to_string(), "bea is busy");
        assert_eq!(refused_with(486, full).to_string(), format!("bea is busy: {full}"));
        assert_eq!(
            refused_with(503, full).to_string(),
            format!("your home does not begin this call: {full}")
        );
        assert!(refused(403).hint().unwrap().contains("guestright visit"));
    }
}
