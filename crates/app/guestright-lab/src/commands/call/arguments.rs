//! The arguments of `call` and `call listen`, and the plain settings that they become.

use guestright_channel::Credentials;
use guestright_cli::failure::Failure;
use guestright_cli::files::PassphraseArgs;
use guestright_directory::Contacts;
use guestright_study::{Profile, StudySettings, ToolSettings};
use guestright_telephone::{self as telephone, LineSettings, ReportSettings, SoundSettings};
use std::io::IsTerminal;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Answer {
    /// Take every call
    Auto,
    /// Ask on the terminal
    Ask,
}

/// A tool with a wire format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ProfileName {
    /// Protected from end to end by the members' keys; handshakes measure the way and heal the keys
    Boat,
    /// As paper D prints it: RC4 and MD5 under a pass phrase. Insecure
    BoatLegacy,
    /// LPC-10 under Blowfish, IDEA or triple DES. Insecure
    Nautilus,
    /// GSM or ADPCM under DES, IDEA or Blowfish. Insecure
    SpeakFreely,
    /// GSM or ADPCM at 4.41 kHz under CAST5, Blowfish or triple DES. Insecure
    Pgpfone,
}

/// A policy of playing out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Playout {
    /// The same delay from beginning to end
    Fixed,
    /// A quantile of a histogram of delays, as NetEQ has it
    Neteq,
    /// Exponential averages (Ramjee and others, 1994)
    Ramjee,
    /// Quantiles of the last delays (Moon and others, 1998)
    Moon,
    /// The papers' buffer: 120 ms, played from when it is half full
    Paper,
    /// Paper D's clock, which handshakes set; only with --profile boat
    Boat,
}

/// What `call` and `call listen` have in common.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct LineArgs {
    /// Call straight, by this tool's own wire format, without homes and SIP. All but boat are insecure
    // Not needed where a subcommand has one of its own.
    #[arg(long, value_enum, value_name = "NAME", required = true)]
    profile: Option<ProfileName>,
    /// Run a tool whose protection is broken; say nothing that others may not hear
    #[arg(long)]
    insecure_for_study: bool,
    /// File with the phrase that both sides know, on its first line
    #[arg(long, value_name = "FILE")]
    pass_phrase_file: Option<PathBuf>,
    /// One of the tool's ciphers; otherwise its first
    #[arg(long, value_name = "NAME")]
    cipher: Option<String>,
    /// Where the contact that is called is at present
    #[arg(long, value_name = "HOST[:PORT]")]
    at: Option<String>,
    /// Speak to nobody but this one: a contact, or the name of a key (48 hexadecimal digits). Only with boat
    #[arg(long, value_name = "CONTACT")]
    expect: Option<String>,
    /// Your secret key
    #[arg(long, default_value = "member.key")]
    key: PathBuf,
    /// Your certificate
    #[arg(long, default_value = "member.cert")]
    certificate: PathBuf,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// These calls are always direct
    #[arg(long, hide = true)]
    direct: bool,
    /// This computer's own address; otherwise the one that the way to the other side begins with
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// The tool's port; 0 takes any, or, to listen, the one that the tool has always had
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The file of your contacts; otherwise guestright/contacts among your settings
    #[arg(long, value_name = "FILE")]
    contacts: Option<PathBuf>,
    /// One of the tool's codecs; otherwise its first
    #[arg(long, value_delimiter = ',')]
    codec: Vec<String>,
    /// When what arrives is played [default: neteq]
    #[arg(long, value_enum)]
    playout: Option<Playout>,
    /// Say this sound file instead of what the microphone hears
    #[arg(long, value_name = "FILE.wav")]
    play: Option<PathBuf>,
    /// Begin the sound file again when it is over
    #[arg(long = "loop", requires = "play")]
    again: bool,
    /// Keep what is heard in a sound file instead of playing it
    #[arg(long, value_name = "FILE.wav")]
    record: Option<PathBuf>,
    /// Use no sound card: say silence where --play is absent, play nothing
    #[arg(long)]
    no_sound: bool,
    /// Hang up after so many seconds of talking
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Give up when nobody has answered after so many seconds
    #[arg(long, value_name = "N", default_value_t = 60)]
    ring_seconds: u64,
    /// Print events as lines of JSON, and the summary as the last one
    #[arg(long)]
    json: bool,
    /// Write a row of figures for each second
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write what was sent and received, as it was on the wire
    #[arg(long, value_name = "FILE")]
    pcapng: Option<PathBuf>,
    /// Take commands from standard input even if it is no terminal: quit
    #[arg(long)]
    control: bool,
}

impl LineArgs {
    pub(super) fn profile(&self) -> Option<Profile> {
        self.profile.map(Profile::from)
    }

    pub(super) fn contacts(&self) -> Option<&Path> {
        self.contacts.as_deref()
    }

    pub(super) fn is_controlled(&self) -> bool {
        self.control
    }

    pub(super) fn credentials(&self) -> Result<Credentials, Failure> {
        self.passphrase.credentials(&self.key, &self.certificate).map_err(|failure| {
            failure
                .hint("name your files with --key and --certificate; `guestright team member add` makes them")
        })
    }

    pub(super) fn settings(&self, profile: Profile, contacts: Contacts) -> StudySettings {
        StudySettings {
            profile,
            tool: ToolSettings {
                insecure_for_study: self.insecure_for_study,
                pass_phrase_file: self.pass_phrase_file.clone(),
                cipher: self.cipher.clone(),
                codecs: self.codec.clone(),
                playout: self.playout.map(telephone::Playout::from),
                at: self.at.clone(),
                expect: self.expect.clone(),
            },
            line: self.line(),
            address: self.address,
            port: self.port,
            contacts,
        }
    }

    fn line(&self) -> LineSettings {
        LineSettings {
            sound: SoundSettings {
                play: self.play.clone(),
                again: self.again,
                record: self.record.clone(),
                no_card: self.no_sound,
            },
            recording: self.pcapng.clone(),
            report: ReportSettings {
                json: self.json,
                live: std::io::stdout().is_terminal(),
                csv: self.csv.clone(),
            },
            talk_max: self.seconds.map(Duration::from_secs),
            ring_max: Duration::from_secs(self.ring_seconds),
        }
    }
}

impl From<ProfileName> for Profile {
    fn from(name: ProfileName) -> Self {
        match name {
            ProfileName::Boat => Self::Boat,
            ProfileName::BoatLegacy => Self::BoatLegacy,
            ProfileName::Nautilus => Self::Nautilus,
            ProfileName::SpeakFreely => Self::SpeakFreely,
            ProfileName::Pgpfone => Self::Pgpfone,
        }
    }
}

impl From<Answer> for telephone::Answer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Auto => Self::Auto,
            Answer::Ask => Self::Ask,
        }
    }
}

impl From<Playout> for telephone::Playout {
    fn from(playout: Playout) -> Self {
        match playout {
            Playout::Fixed => Self::FIXED,
            Playout::Neteq => Self::Neteq,
            Playout::Ramjee => Self::Ramjee,
            Playout::Moon => Self::Moon,
            Playout::Paper => Self::Paper,
            Playout::Boat => Self::Boat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn a_profile_has_one_name() {
        assert_eq!(ProfileName::value_variants().len(), Profile::ALL.len());
        for name in ProfileName::value_variants() {
            assert_eq!(name.to_possible_value().unwrap().get_name(), Profile::from(*name).text());
        }
    }
}
