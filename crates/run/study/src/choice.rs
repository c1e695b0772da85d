//! What a person can choose of each tool, and the tool that comes of it.

use crate::{StudyError, StudySettings};
use guestright_audio::WavSource;
use guestright_channel::Credentials;
use guestright_codec::{Kind, Settings};
use guestright_directory::Contacts;
use guestright_identity::KeyId;
use guestright_quality::Codec as Rated;
use guestright_telephone::Playout;
use guestright_units::TeamId;
use std::net::SocketAddr;
use std::path::Path;
use zeroize::Zeroizing;

/// A file with a pass phrase has at most so many bytes.
const PHRASE_MAX: usize = 4_096;

/// A tool with a wire format of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
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
pub struct CodecChoice {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Samples per second; not always those that the codec was made for.
    pub(crate) rate_hz: u32,
    pub(crate) packet_samples: usize,
    /// Ticks per second of the tool's timestamps.
    pub(crate) ticks_hz: u32,
    /// What has been published on it.
    pub(crate) rated: Option<Rated>,
}

impl CodecChoice {
    /// What a person calls it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::default()
    }
}

impl Profile {
    pub const ALL: [Self; 5] =
        [Self::Boat, Self::BoatLegacy, Self::Nautilus, Self::SpeakFreely, Self::Pgpfone];

    /// Its name on the command line and in what is said.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Boat => "boat",
            Self::BoatLegacy => "boat-legacy",
            Self::Nautilus => "nautilus",
            Self::SpeakFreely => "speak-freely",
            Self::Pgpfone => "pgpfone",
        }
    }

    /// Where it listens: the tool's own port where it is known (PGPfone 2.1, Speak Freely 7.6), else ours.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Boat => 7_278,
            Self::BoatLegacy => 7_279,
            Self::Nautilus => 7_280,
            Self::SpeakFreely => 2_074,
            Self::Pgpfone => guestright_legacy::pgpfone::PORT,
        }
    }

    /// Why nobody should rely on it; nothing of the one that can be relied on.
    #[must_use]
    pub fn insecure(self) -> Option<&'static str> {
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
#[derive(Debug)]
pub struct Choice {
    pub(crate) profile: Profile,
    destination: Option<String>,
    /// Where whoever is called is; found by the program, which looks names up: see [`Choice::destination`].
    pub peer: Option<SocketAddr>,
    pub(crate) codec: CodecChoice,
    pub(crate) cipher: &'static str,
    pub(crate) playout: Playout,
    pub(crate) phrase: Option<Zeroizing<String>>,
    /// The member's own, which the program reads: see [`Choice::needs_credentials`].
    pub credentials: Option<Credentials>,
    pub(crate) expected: Option<KeyId>,
}

impl Choice {
    /// Looks at everything before anything is opened or sent. `whom` is called, or anybody is waited for.
    ///
    /// # Errors
    /// The tool does not have what was asked for, is insecure and was not asked for as such, or a file is not as it
    /// should be.
    pub fn make(settings: &StudySettings, whom: Option<&str>) -> Result<Self, StudyError> {
        let (profile, tool, contacts) = (settings.profile, &settings.tool, &settings.contacts);
        if let Some(why) = profile.insecure()
            && !tool.insecure_for_study
        {
            return Err(StudyError::Insecure { tool: profile.text(), why });
        }
        only_with_boat(settings)?;
        let codec = codec(profile, &tool.codecs)?;
        let cipher = cipher(profile, tool.cipher.as_deref())?;
        if let Some(path) = &settings.line.sound.play {
            WavSource::open(path, codec.rate_hz).map_err(StudyError::SoundFile)?;
        }
        let expected = match (&tool.expect, &tool.at, whom) {
            (Some(expected), ..) => Some(key_of(expected, contacts)?),
            (None, Some(_), Some(whom)) if profile == Profile::Boat => Some(key_of(whom, contacts)?),
            (None, ..) => None,
        };
        let destination = whom.map(|whom| tool.at.as_deref().unwrap_or(whom).to_owned());
        let phrase = phrase(profile, cipher, tool.pass_phrase_file.as_deref())?;
        let playout = tool.playout.unwrap_or(Playout::Neteq);
        Ok(Self {
            profile,
            destination,
            peer: None,
            codec,
            cipher,
            playout,
            phrase,
            credentials: None,
            expected,
        })
    }

    /// Where whoever is called is, as a person says it: `HOST`, at the tool's own port, or `HOST:PORT`.
    #[must_use]
    pub fn destination(&self) -> Option<&str> {
        self.destination.as_deref()
    }

    /// Whether it takes a key of our own and its certificate.
    #[must_use]
    pub fn needs_credentials(&self) -> bool {
        self.profile == Profile::Boat
    }

    /// What may be the matter when the answer is not of this call.
    pub(crate) fn when_refused(&self) -> String {
        let name = self.profile.text();
        match self.phrase {
            Some(_) => format!("both sides have to say --profile {name} and to have the same pass phrase"),
            None => format!("both sides have to say --profile {name}"),
        }
    }

    /// What may be the matter when nothing comes.
    pub(crate) fn when_unanswered(&self) -> String {
        let name = self.profile.text();
        let phrase = if self.phrase.is_some() { " with the same pass phrase" } else { "" };
        format!(
            "`guestright call listen --profile {name}` has to run there{phrase}, and its port, {}, has to be open; \
             a tool says nothing to whom it does not understand",
            self.peer.map_or(self.profile.port(), |peer| peer.port())
        )
    }
}

fn only_with_boat(settings: &StudySettings) -> Result<(), StudyError> {
    if settings.profile == Profile::Boat {
        return Ok(());
    }
    let tool = settings.profile.text();
    let given = [
        ("--expect", settings.tool.expect.is_some(), "it cannot prove who speaks"),
        ("--playout", settings.tool.playout.is_some(), "it plays as it always did"),
    ];
    match given.into_iter().find(|(_, is_given, _)| *is_given) {
        Some((argument, _, why)) => Err(StudyError::OnlyForBoat { argument, tool, why }),
        None => Ok(()),
    }
}

fn codec(profile: Profile, wanted: &[String]) -> Result<CodecChoice, StudyError> {
    let tool = profile.text();
    let codecs = profile.codecs();
    let known = || codecs.iter().map(|codec| codec.name).collect::<Vec<_>>().join(", ");
    let chosen = match wanted {
        [] => codecs.first(),
        [one] => codecs.iter().find(|codec| codec.name == one),
        _ => return Err(StudyError::ManyCodecs { tool, known: known() }),
    };
    let chosen =
        *chosen.ok_or_else(|| StudyError::NoCodec { tool, wanted: wanted.join(","), known: known() })?;
    chosen.kind.is_available().map_err(StudyError::CodecAbsent)?;
    Ok(chosen)
}

fn cipher(profile: Profile, wanted: Option<&str>) -> Result<&'static str, StudyError> {
    let known = profile.ciphers();
    let Some(wanted) = wanted else { return Ok(known[0]) };
    known.iter().copied().find(|cipher| *cipher == wanted).ok_or_else(|| StudyError::NoCipher {
        tool: profile.text(),
        wanted: wanted.to_owned(),
        known: known.join(", "),
    })
}

/// The phrase, where the tool has one.
fn phrase(
    profile: Profile,
    cipher: &str,
    file: Option<&Path>,
) -> Result<Option<Zeroizing<String>>, StudyError> {
    let tool = profile.text();
    let is_needed = match profile {
        Profile::BoatLegacy => true,
        Profile::SpeakFreely => cipher != "none",
        Profile::Nautilus | Profile::Boat | Profile::Pgpfone => false,
    };
    let is_taken = is_needed || profile == Profile::Nautilus;
    match file {
        None if is_needed => Err(StudyError::NoPhrase { tool }),
        None => Ok(None),
        Some(_) if !is_taken => Err(StudyError::UselessPhrase { tool }),
        Some(path) => read_phrase(path).map(Some),
    }
}

fn read_phrase(path: &Path) -> Result<Zeroizing<String>, StudyError> {
    let bytes = guestright_keys::read_to_limit(path, PHRASE_MAX).map_err(StudyError::Unreadable)?;
    let bytes = Zeroizing::new(bytes);
    let text = std::str::from_utf8(&bytes)
        .map_err(|source| StudyError::NotText { path: path.to_owned(), source })?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return Err(StudyError::EmptyPhrase(path.to_owned()));
    }
    Ok(Zeroizing::new(line.to_owned()))
}

/// The key of a contact, or one that is named itself.
fn key_of(text: &str, contacts: &Contacts) -> Result<KeyId, StudyError> {
    if let Some(contact) = contacts.get(text) {
        return Ok(contact.member);
    }
    let key: Result<TeamId, _> = text.parse();
    key.map(|key| KeyId(key.0)).map_err(|_| StudyError::UnknownKey(text.to_owned()))
}
