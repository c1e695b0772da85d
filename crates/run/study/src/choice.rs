//! What a person can choose of each tool, and the tool that comes of it.

use super::super::{LineArgs, Playout};
use anyhow::{Context, anyhow};
use guestright_audio::WavSource;
use guestright_channel::Credentials;
use guestright_cli::address;
use guestright_cli::failure::Failure;
use guestright_codec::{Kind, Settings};
use guestright_directory::Contacts;
use guestright_identity::KeyId;
use guestright_quality::Codec as Rated;
use guestright_units::TeamId;
use std::net::SocketAddr;
use std::path::Path;
use zeroize::Zeroizing;

/// A file with a pass phrase has at most so many bytes.
const PHRASE_MAX: usize = 4_096;

/// A tool with a wire format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in super::super) enum Name {
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

/// A codec that a tool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodecChoice {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Samples per second; not always those that the codec was made for.
    pub(super) rate_hz: u32,
    /// Samples in a packet.
    pub(super) packet_samples: usize,
    /// Ticks per second of the tool's timestamps.
    pub(super) ticks_hz: u32,
    /// What has been published on it.
    pub(super) rated: Option<Rated>,
}

impl CodecChoice {
    pub(super) fn settings(&self) -> Settings {
        Settings::default()
    }
}

impl Name {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Boat => "boat",
            Self::BoatLegacy => "boat-legacy",
            Self::Nautilus => "nautilus",
            Self::SpeakFreely => "speak-freely",
            Self::Pgpfone => "pgpfone",
        }
    }

    /// Where it listens: the tool's own port where it is known (PGPfone 2.1, Speak Freely 7.6), else ours.
    pub(super) fn port(self) -> u16 {
        match self {
            Self::Boat => 7_278,
            Self::BoatLegacy => 7_279,
            Self::Nautilus => 7_280,
            Self::SpeakFreely => 2_074,
            Self::Pgpfone => guestright_legacy::pgpfone::PORT,
        }
    }

    /// Why nobody should rely on it; nothing of the one that can be relied on.
    pub(super) fn insecure(self) -> Option<&'static str> {
        match self {
            Self::Boat => None,
            Self::BoatLegacy => Some(guestright_legacy::boat::INSECURE),
            Self::Nautilus => Some(guestright_legacy::nautilus::INSECURE),
            Self::SpeakFreely => Some(guestright_legacy::speak_freely::INSECURE),
            Self::Pgpfone => Some(guestright_legacy::pgpfone::INSECURE),
        }
    }
}

/// What was chosen, and found to be possible.
pub(super) struct Choice {
    pub(super) name: Name,
    /// Who is called.
    pub(super) peer: Option<SocketAddr>,
    pub(super) codec: CodecChoice,
    pub(super) cipher: &'static str,
    pub(super) playout: Playout,
    pub(super) phrase: Option<Zeroizing<String>>,
    pub(super) credentials: Option<Credentials>,
    pub(super) expected: Option<KeyId>,
}

impl Choice {
    /// Looks at everything before anything is opened or sent. `whom` is called, or anybody is waited for.
    pub(super) fn make(
        name: Name,
        line: &LineArgs,
        whom: Option<&str>,
        contacts: &Contacts,
    ) -> Result<Self, Failure> {
        let arguments = &line.profile;
        if name.insecure().is_some() && !arguments.insecure_for_study {
            return Err(refused_as_insecure(name));
        }
        only_with_boat(name, line)?;
        let codec = codec(name, &line.codec)?;
        let cipher = cipher(name, arguments.cipher.as_deref())?;
        if let Some(path) = &line.play {
            WavSource::open(path, codec.rate_hz).map_err(Failure::config)?;
        }
        let expected = match (&arguments.expect, &arguments.at, whom) {
            (Some(expected), ..) => Some(key_of(expected, contacts)?),
            (None, Some(_), Some(whom)) if name == Name::Boat => Some(key_of(whom, contacts)?),
            (None, ..) => None,
        };
        let place = whom.map(|whom| arguments.at.as_deref().unwrap_or(whom));
        let peer = place.map(|place| address::resolve(place, name.port())).transpose()?;
        let phrase = phrase(name, cipher, arguments.pass_phrase_file.as_deref())?;
        let credentials = match name {
            Name::Boat => Some(line.passphrase.credentials(&line.key, &line.certificate).map_err(|failure| {
                failure.hint("name your files with --key and --certificate; `guestright team member add` makes them")
            })?),
            Name::BoatLegacy | Name::Nautilus | Name::SpeakFreely | Name::Pgpfone => None,
        };
        Ok(Self { name, peer, codec, cipher, playout: line.playout(), phrase, credentials, expected })
    }

    /// What may be the matter when the answer is not of this call.
    pub(super) fn when_refused(&self) -> String {
        let name = self.name.text();
        match self.phrase {
            Some(_) => format!("both sides have to say --profile {name} and to have the same pass phrase"),
            None => format!("both sides have to say --profile {name}"),
        }
    }

    /// What may be the matter when nothing comes.
    pub(super) fn when_unanswered(&self) -> String {
        let name = self.name.text();
        let phrase = if self.phrase.is_some() { " with the same pass phrase" } else { "" };
        format!(
            "`guestright call listen --profile {name}` has to run there{phrase}, and its port, {}, has to be open; \
             a tool says nothing to whom it does not understand",
            self.peer.map_or(self.name.port(), |peer| peer.port())
        )
    }
}

fn refused_as_insecure(name: Name) -> Failure {
    let why = name.insecure().unwrap_or_default();
    Failure::user(anyhow!("{} is insecure: {why}", name.text())).hint(
        "use --profile boat, which is not; or, to study it, say --insecure-for-study on both sides, and say nothing \
         that others may not hear",
    )
}

fn only_with_boat(name: Name, line: &LineArgs) -> Result<(), Failure> {
    if name == Name::Boat {
        return Ok(());
    }
    let given = [
        ("--expect", line.profile.expect.is_some(), "it cannot prove who speaks"),
        ("--playout", line.playout.is_some(), "it plays as it always did"),
    ];
    for (argument, is_given, why) in given {
        if is_given {
            let error = anyhow!("{argument} is not for {}: {why}", name.text());
            return Err(Failure::user(error).hint(format!("leave {argument} out, or use --profile boat")));
        }
    }
    Ok(())
}

fn codec(name: Name, wanted: &[String]) -> Result<CodecChoice, Failure> {
    let known = name.codecs();
    let names = || known.iter().map(|codec| codec.name).collect::<Vec<_>>().join(", ");
    let chosen = match wanted {
        [] => known.first(),
        [one] => known.iter().find(|codec| codec.name == one),
        _ => {
            return Err(Failure::user(anyhow!("{} has one codec in a call", name.text()))
                .hint(format!("name one of {}", names())));
        }
    };
    let chosen = *chosen.ok_or_else(|| {
        Failure::user(anyhow!("{} has no codec {}", name.text(), wanted.join(",")))
            .hint(format!("its codecs are {}", names()))
    })?;
    chosen.kind.is_available().map_err(Failure::config)?;
    Ok(chosen)
}

fn cipher(name: Name, wanted: Option<&str>) -> Result<&'static str, Failure> {
    let known = name.ciphers();
    let Some(wanted) = wanted else { return Ok(known[0]) };
    known.iter().copied().find(|cipher| *cipher == wanted).ok_or_else(|| {
        Failure::user(anyhow!("{} has no cipher {wanted}", name.text()))
            .hint(format!("its ciphers are {}", known.join(", ")))
    })
}

/// The phrase, where the tool has one.
fn phrase(name: Name, cipher: &str, file: Option<&Path>) -> Result<Option<Zeroizing<String>>, Failure> {
    let is_needed = match name {
        Name::BoatLegacy => true,
        Name::SpeakFreely => cipher != "none",
        Name::Nautilus | Name::Boat | Name::Pgpfone => false,
    };
    let is_taken = is_needed || name == Name::Nautilus;
    match file {
        None if is_needed => Err(Failure::user(anyhow!("{} makes its keys of a pass phrase", name.text()))
            .hint("write a phrase that both sides know into a file: --pass-phrase-file FILE")),
        None => Ok(None),
        Some(_) if !is_taken => Err(Failure::user(anyhow!("{} has no use for a pass phrase", name.text()))
            .hint("leave --pass-phrase-file out")),
        Some(path) => read_phrase(path).map(Some),
    }
}

fn read_phrase(path: &Path) -> Result<Zeroizing<String>, Failure> {
    let bytes = guestright_keys::read_to_limit(path, PHRASE_MAX).map_err(Failure::config)?;
    let bytes = Zeroizing::new(bytes);
    let text = std::str::from_utf8(&bytes)
        .with_context(|| format!("{} is no text", path.display()))
        .map_err(Failure::config)?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(Failure::config(anyhow!("{} has no pass phrase on its first line", path.display())));
    }
    Ok(Zeroizing::new(line.to_owned()))
}

/// The key of a contact, or one that is named itself.
fn key_of(text: &str, contacts: &Contacts) -> Result<KeyId, Failure> {
    if let Some(contact) = contacts.get(text) {
        return Ok(contact.member);
    }
    let key: Result<TeamId, _> = text.parse();
    key.map(|key| KeyId(key.0)).map_err(|_| {
        Failure::user(anyhow!("{text:?} is no contact, and no name of a key")).hint(
            "`guestright call contact list` lists contacts; the name of a key has 48 hexadecimal digits",
        )
    })
}
