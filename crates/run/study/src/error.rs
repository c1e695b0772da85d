//! What went wrong, and whose fault it was.

use guestright_audio::AudioError;
use guestright_codec::CodecError;
use guestright_error::{Fault, Kind};
use guestright_keys::KeysError;
use guestright_telephone::TelephoneError;
use guestright_voice::tool::ToolError;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::Utf8Error;
use thiserror::Error;

/// Why a call with a profile, or waiting for calls, came to nothing. `tool` is the profile's name.
#[derive(Debug, Error)]
pub enum StudyError {
    #[error("{tool} is insecure: {why}")]
    Insecure { tool: &'static str, why: &'static str },
    #[error("{argument} is not for {tool}: {why}")]
    OnlyForBoat { argument: &'static str, tool: &'static str, why: &'static str },
    #[error("{tool} has one codec in a call")]
    ManyCodecs { tool: &'static str, known: String },
    #[error("{tool} has no codec {wanted}")]
    NoCodec { tool: &'static str, wanted: String, known: String },
    #[error("{tool} has no cipher {wanted}")]
    NoCipher { tool: &'static str, wanted: String, known: String },
    #[error("{tool} makes its keys of a pass phrase")]
    NoPhrase { tool: &'static str },
    #[error("{tool} has no use for a pass phrase")]
    UselessPhrase { tool: &'static str },
    #[error("{0:?} is no contact, and no name of a key")]
    UnknownKey(String),
    #[error("nobody was named to call")]
    NobodyNamed,

    #[error(transparent)]
    CodecAbsent(CodecError),
    #[error(transparent)]
    SoundFile(AudioError),
    #[error(transparent)]
    Unreadable(KeysError),
    #[error("{} is no text", path.display())]
    NotText { path: PathBuf, source: Utf8Error },
    #[error("{} has no pass phrase on its first line", .0.display())]
    EmptyPhrase(PathBuf),
    /// The tool cannot be made of what it was given.
    #[error(transparent)]
    Tool(Box<dyn std::error::Error + Send + Sync>),

    #[error("open {own} for {tool}")]
    Port { own: SocketAddr, tool: &'static str, source: io::Error },
    #[error("what {whom} answered is not of this call: {why}")]
    OtherAnswer { whom: String, why: ToolError, hint: String },
    #[error("{whom} did not answer")]
    Unanswered { whom: String, hint: String },
    #[error("nothing came from {whom} any more")]
    Silence { whom: String, tool: &'static str },
    #[error("the call to {whom} was ended: {message}")]
    Failed { whom: String, message: String, tool: &'static str },
    #[error("the call to {whom} ended by itself")]
    Broken { whom: String, tool: &'static str },

    #[error("there is no key of ours")]
    NoOwnKey,
    #[error("there is no pass phrase")]
    NoOwnPhrase,
    #[error(transparent)]
    Telephone(#[from] TelephoneError),
}

impl From<io::Error> for StudyError {
    fn from(error: io::Error) -> Self {
        Self::Telephone(error.into())
    }
}

impl From<serde_json::Error> for StudyError {
    fn from(error: serde_json::Error) -> Self {
        Self::Telephone(error.into())
    }
}

impl Fault for StudyError {
    fn kind(&self) -> Kind {
        match self {
            Self::Insecure { .. }
            | Self::OnlyForBoat { .. }
            | Self::ManyCodecs { .. }
            | Self::NoCodec { .. }
            | Self::NoCipher { .. }
            | Self::NoPhrase { .. }
            | Self::UselessPhrase { .. }
            | Self::UnknownKey(_)
            | Self::NobodyNamed => Kind::User,
            Self::CodecAbsent(_)
            | Self::SoundFile(_)
            | Self::Unreadable(_)
            | Self::NotText { .. }
            | Self::EmptyPhrase(_)
            | Self::Tool(_) => Kind::Config,
            Self::Port { .. }
            | Self::OtherAnswer { .. }
            | Self::Unanswered { .. }
            | Self::Silence { .. }
            | Self::Failed { .. }
            | Self::Broken { .. } => Kind::Network,
            Self::NoOwnKey | Self::NoOwnPhrase => Kind::Bug,
            Self::Telephone(error) => error.kind(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Insecure { .. } => {
                "use --profile boat, which is not; or, to study it, say --insecure-for-study on \
                both sides, and say nothing that others may not hear"
                    .to_owned()
            }
            Self::OnlyForBoat { argument, .. } => format!("leave {argument} out, or use --profile boat"),
            Self::ManyCodecs { known, .. } => format!("name one of {known}"),
            Self::NoCodec { known, .. } => format!("its codecs are {known}"),
            Self::NoCipher { known, .. } => format!("its ciphers are {known}"),
            Self::NoPhrase { .. } => {
                "write a phrase that both sides know into a file: --pass-phrase-file FILE".to_owned()
            }
            Self::UselessPhrase { .. } => "leave --pass-phrase-file out".to_owned(),
            Self::UnknownKey(_) => {
                "`guestright call contact list` lists contacts; the name of a key has 48 hexadecimal digits"
                    .to_owned()
            }
            Self::Port { .. } => {
                "another program may have the port, or the address is none of this computer's: --port \
                and --address name others"
                    .to_owned()
            }
            Self::OtherAnswer { hint, .. } | Self::Unanswered { hint, .. } => hint.clone(),
            Self::Silence { tool, .. } | Self::Failed { tool, .. } | Self::Broken { tool, .. } => {
                format!("call again; both sides have to say --profile {tool}")
            }
            Self::Telephone(error) => return error.hint(),
            Self::NobodyNamed
            | Self::CodecAbsent(_)
            | Self::SoundFile(_)
            | Self::Unreadable(_)
            | Self::NotText { .. }
            | Self::EmptyPhrase(_)
            | Self::Tool(_)
            | Self::NoOwnKey
            | Self::NoOwnPhrase => return None,
        })
    }

    fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Telephone(error) if error.is_broken_pipe())
    }
}
