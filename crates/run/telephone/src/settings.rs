//! What was asked for, as plain values: made once, of a command line.

use crate::TelephoneError;
use crate::home::Account;
use guestright_channel::Credentials;
use guestright_codec::Kind;
use guestright_directory::Contacts;
use guestright_sip::agent::Transport;
use guestright_units::Micros;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// A typed command has at most so many bytes.
const COMMAND_MAX: u64 = 256;
/// So many commands wait until somebody reads them.
const COMMANDS_MAX: usize = 4;

/// Who could hear a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// Both homes; between them and on the air it is protected.
    Home,
    /// Whoever sees the signalling, which is both homes: SRTP with keys in it (SDES).
    Sdes,
    /// Nobody but the two members.
    EndToEnd,
}

/// A policy of playing out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Playout {
    /// The same delay from beginning to end: so much more than the fastest packet had.
    Fixed(Micros),
    /// A quantile of a histogram of delays, as NetEQ has it.
    Neteq,
    /// Exponential averages (Ramjee and others, 1994).
    Ramjee,
    /// Quantiles of the last delays (Moon and others, 1998).
    Moon,
    /// The papers' buffer: 120 ms, played from when it is half full.
    Paper,
    /// Paper D's clock, which handshakes set: only for BoAT, see [`crate::ear::policy`].
    Boat,
}

impl Playout {
    /// As paper A's buffer holds back (section 4.2).
    pub const FIXED: Self = Self::Fixed(Micros::from_millis(60));

    /// How long the buffer of a fixed delay is. As in paper A's buffer, half of it is for packets that come sooner than
    /// most.
    pub(crate) fn fixed_buffer(self) -> Option<Micros> {
        match self {
            Self::Fixed(hold) => Some(Micros(hold.0 * 2)),
            Self::Neteq | Self::Ramjee | Self::Moon | Self::Paper | Self::Boat => None,
        }
    }
}

/// Whether a person is asked before a call is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Auto,
    Ask,
}

/// What the telephone is for this time.
#[derive(Clone, Debug)]
pub enum Task {
    /// Call whoever this name stands for.
    Dial(String),
    Listen(Waiting),
}

/// How calls are waited for.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub answer: Answer,
    /// End after so many calls.
    pub calls: Option<u32>,
}

/// How others can call by SIP.
#[derive(Clone, Copy, Debug)]
pub struct Reachability {
    /// The least protection that a call is taken with.
    pub accept: Protection,
    /// A registration at home is asked for, for so many seconds; whoever only calls asks for none, 0.
    pub expires_s: u32,
}

/// Where sound comes from, and where it goes.
#[derive(Clone, Debug, Default)]
pub struct SoundSettings {
    /// A sound file that is said instead of what the microphone hears.
    pub play: Option<PathBuf>,
    /// Begin that file again when it is over.
    pub again: bool,
    /// A sound file that keeps what is heard.
    pub record: Option<PathBuf>,
    /// Use no sound card.
    pub no_card: bool,
}

/// Who reads what the telephone says.
#[derive(Clone, Debug, Default)]
pub struct ReportSettings {
    /// Lines of JSON instead of sentences.
    pub json: bool,
    /// One line of figures may change in place: somebody watches a terminal.
    pub live: bool,
    /// A table with a row for each second.
    pub csv: Option<PathBuf>,
}

/// What any call has, with or without SIP.
#[derive(Clone, Debug, Default)]
pub struct LineSettings {
    pub sound: SoundSettings,
    /// A pcapng file of what was sent and received.
    pub recording: Option<PathBuf>,
    pub report: ReportSettings,
    /// Hang up after so long a talk.
    pub talk_max: Option<Duration>,
    /// Give up when nobody has answered for so long.
    pub ring_max: Duration,
}

/// How voice is sent and played.
#[derive(Clone, Copy, Debug)]
pub struct VoiceSettings {
    pub playout: Playout,
    /// Send next to nothing in pauses.
    pub dtx: bool,
    /// How far the two computers' clocks may differ, in milliseconds, where that is known.
    pub clock_error_ms: Option<f64>,
}

/// A telephone for calls by SIP.
#[derive(Clone, Debug)]
pub struct TelephoneSettings {
    pub line: LineSettings,
    pub account: Account,
    /// The port for SIP; 0 takes any.
    pub port: u16,
    pub transport: Transport,
    /// Of the calls that are made.
    pub protection: Protection,
    pub reachable: Reachability,
    /// Codecs, the best first.
    pub kinds: Vec<Kind>,
    pub voice: VoiceSettings,
    /// The member's own; calls from end to end need them.
    pub credentials: Option<Credentials>,
    pub contacts: Contacts,
}

/// The person at the telephone, or a program in that person's place.
#[derive(Debug)]
pub struct Controls {
    /// Typed lines: see [`read_commands`].
    pub commands: mpsc::Receiver<String>,
    /// Something comes, or the channel closes, when the telephone is to hang up and end.
    pub stop: mpsc::Receiver<()>,
}

/// Lines of `input`, without space around them and in lower case. The thread that reads them ends with the input or with
/// the program.
#[must_use]
pub fn read_commands(input: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(COMMANDS_MAX);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let mut text = String::new();
            match input.by_ref().take(COMMAND_MAX).read_line(&mut text) {
                Ok(0) | Err(_) => return,
                Ok(_) if sender.blocking_send(text.trim().to_lowercase()).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}

impl Protection {
    /// Who can hear a call so protected, for the person at the telephone.
    #[must_use]
    pub fn who_hears(self) -> &'static str {
        match self {
            Self::EndToEnd => "protected from end to end: nobody but you two can hear it",
            Self::Sdes => "protected by keys that went through both homes: they could hear it",
            Self::Home => "protected from home to home only: both homes can hear it",
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EndToEnd => "end-to-end",
            Self::Sdes => "sdes",
            Self::Home => "home",
        }
    }
}

/// The codecs of these names, the best first; without any, G.711.
///
/// # Errors
/// See [`codec`].
pub fn codecs(names: &[String]) -> Result<Vec<Kind>, TelephoneError> {
    if names.is_empty() {
        return Ok(vec![Kind::Pcmu, Kind::Pcma]);
    }
    names.iter().map(|name| codec(name)).collect()
}

/// The codec of this name, which SDP and people do not always write alike.
///
/// # Errors
/// There is none of this name, or not in this program or on this computer.
pub fn codec(text: &str) -> Result<Kind, TelephoneError> {
    let name = match text {
        "g711" | "g711u" => "pcmu",
        "g711a" => "pcma",
        "opus" => "opus48",
        other => other,
    };
    let kind: Kind = name.parse().map_err(TelephoneError::CodecName)?;
    kind.is_available().map_err(TelephoneError::CodecAbsent)?;
    Ok(kind)
}
