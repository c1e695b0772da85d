//! The machines themselves, and the codecs of each.

use crate::{Choice, CodecChoice, Profile, StudyError};
use guestright_boat::modern::{self, Introduction, Member};
use guestright_boat::{self as boat, Boat, TickRate, Timing, rate};
use guestright_codec::Kind;
use guestright_legacy::boat::{Keystream, Mac};
use guestright_legacy::diffie_hellman::Prime;
use guestright_legacy::nautilus::{self, KeyAgreement, Nautilus};
use guestright_legacy::pgpfone::{self, PgpFone};
use guestright_legacy::speak_freely::{self, Form, Protocol, SpeakFreely};
use guestright_quality::Codec as Rated;
use guestright_telephone::{Playout, ear};
use guestright_units::Time;
use guestright_voice::tool::{Side, Tool};

/// What PGPfone calls itself to whoever is there.
const OWN_NAME: &str = "guestright";
/// The prime of Nautilus where there is no pass phrase. Its own are not known.
const PRIME: Prime = Prime::Oakley2048;
/// LPC-10 and Speak Freely have samples at this rate, and ticks too.
const RATE_HZ: u32 = 8_000;

impl Profile {
    /// The first is taken where nothing is said.
    #[must_use]
    pub fn codecs(self) -> Vec<CodecChoice> {
        match self {
            Self::Boat => vec![
                usual(Kind::Opus16, Some(Rated::Opus)),
                usual(Kind::Opus8, Some(Rated::Opus)),
                usual(Kind::Pcmu, Some(Rated::G711uPlc)),
                usual(Kind::Pcma, Some(Rated::G711aPlc)),
                usual(Kind::W1, None),
                usual(Kind::W2, None),
            ],
            Self::BoatLegacy => {
                vec![CodecChoice { ticks_hz: TickRate::MILLISECONDS.per_second(), ..usual(Kind::W1, None) }]
            }
            Self::Nautilus => vec![CodecChoice {
                packet_samples: nautilus::PACKET_SAMPLES,
                ticks_hz: RATE_HZ,
                ..usual(Kind::Lpc10, Some(Rated::Lpc10))
            }],
            Self::SpeakFreely => speak_freely_codecs().into_iter().map(|(codec, _)| codec).collect(),
            Self::Pgpfone => pgpfone_codecs().into_iter().map(|(codec, _)| codec).collect(),
        }
    }

    #[must_use]
    pub fn ciphers(self) -> &'static [&'static str] {
        match self {
            Self::Boat => &["aes-128-gcm", "chacha20-poly1305"],
            // How packets come to their part of the keystream: design note 0007.
            Self::BoatLegacy => &["rc4-seekable", "rc4-per-packet", "rc4-running"],
            Self::Nautilus => &["blowfish", "idea", "3des"],
            Self::SpeakFreely => &["blowfish", "idea", "des", "none"],
            Self::Pgpfone => &["cast5", "3des", "blowfish"],
        }
    }
}

/// A codec in its usual packets, for a tool with 8,000 ticks a second.
fn usual(kind: Kind, rated: Option<Rated>) -> CodecChoice {
    let format = kind.format();
    CodecChoice {
        name: format.name,
        kind,
        rate_hz: format.sample_rate_hz,
        packet_samples: format.packet_samples,
        ticks_hz: TickRate::SAMPLES.per_second(),
        rated,
    }
}

fn speak_freely_codecs() -> [(CodecChoice, Form); 3] {
    [
        (Form::Gsm, "gsm", Kind::Gsm, Some(Rated::GsmFr)),
        (Form::Adpcm, "adpcm", Kind::AdpcmSpeakFreely, Some(Rated::ImaAdpcm)),
        (Form::Lpc10, "lpc10", Kind::Lpc10, Some(Rated::Lpc10)),
    ]
    .map(|(form, name, kind, rated)| {
        let packet_samples = form.packet_samples(Protocol::Own);
        (CodecChoice { name, packet_samples, ticks_hz: RATE_HZ, ..usual(kind, rated) }, form)
    })
}

fn pgpfone_codecs() -> [(CodecChoice, pgpfone::Codec); 11] {
    use pgpfone::Codec as C;
    [
        (C::Gsm4410, "gsm-4.4", Kind::Gsm),
        (C::Gsm6000, "gsm-6", Kind::Gsm),
        (C::Gsm7350, "gsm-7", Kind::Gsm),
        (C::Gsm8000, "gsm-8", Kind::Gsm),
        (C::Gsm11025, "gsm-11", Kind::Gsm),
        (C::GsmLite4410, "gsm-lite-4.4", Kind::GsmLite),
        (C::GsmLite6000, "gsm-lite-6", Kind::GsmLite),
        (C::GsmLite7350, "gsm-lite-7", Kind::GsmLite),
        (C::GsmLite8000, "gsm-lite-8", Kind::GsmLite),
        (C::GsmLite11025, "gsm-lite-11", Kind::GsmLite),
        (C::Adpcm, "adpcm", Kind::AdpcmPgpfone),
    ]
    .map(|(codec, name, kind)| {
        // At another rate than 8 kHz nobody has published what a codec does to speech.
        let published = [(C::Gsm8000, Rated::GsmFr), (C::Adpcm, Rated::ImaAdpcm)];
        let rated = published.into_iter().find(|(one, _)| *one == codec).map(|(_, rated)| rated);
        let choice = CodecChoice {
            name,
            rate_hz: codec.sample_rate(),
            packet_samples: usize::try_from(codec.packet_samples()).unwrap_or(usize::MAX),
            ticks_hz: 1_000,
            ..usual(kind, rated)
        };
        (choice, codec)
    })
}

impl Choice {
    /// The machine for one call.
    pub(crate) fn tool(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        match self.profile {
            Profile::Boat => self.boat(side, now),
            Profile::BoatLegacy => self.boat_legacy(side, now),
            Profile::Nautilus => self.nautilus(side, now),
            Profile::SpeakFreely => self.speak_freely(side, now),
            Profile::Pgpfone => self.pgpfone(side, now),
        }
    }

    fn boat(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        let credentials = self.credentials.as_ref().ok_or(StudyError::NoOwnKey)?;
        let member = Member {
            key: credentials.key.clone(),
            certificate: credentials.certificate.clone(),
            expected: self.expected,
        };
        let cipher = match self.cipher {
            "chacha20-poly1305" => modern::Cipher::ChaCha20Poly1305,
            _ => modern::Cipher::Aes128Gcm,
        };
        let config = modern::Config { cipher, ..modern::Config::default() };
        let opening = Introduction::new(side, member, config, &guestright_clock::seed());
        let opening = Box::new(opening.map_err(unfit)?);
        let timing = match self.playout {
            Playout::Boat => Timing::Boat,
            Playout::Fixed(_) | Playout::Neteq | Playout::Ramjee | Playout::Moon | Playout::Paper => {
                Timing::Policy(ear::policy(self.playout)?)
            }
        };
        let mut config = boat::Config::modern(self.codec.packet());
        if matches!(self.codec.kind, Kind::W1 | Kind::W2) {
            config.rate = Some(rate::Config::default());
        }
        Ok(Box::new(Boat::new(config, timing, opening, &guestright_clock::seed(), now)))
    }

    fn boat_legacy(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        let keystream = match self.cipher {
            "rc4-running" => Keystream::Running,
            "rc4-per-packet" => Keystream::PerPacket,
            _ => Keystream::Seekable,
        };
        let config = guestright_legacy::boat::Config::new(keystream, Mac::EncryptedDigest);
        let phrase = self.phrase()?;
        let seed = guestright_clock::seed();
        let printed = boat::Config::printed();
        Ok(Box::new(guestright_legacy::boat::tool(config, printed, side, phrase, &seed, now)))
    }

    fn nautilus(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        let agreement = match &self.phrase {
            Some(phrase) => KeyAgreement::PassPhrase(phrase.clone()),
            None => KeyAgreement::DiffieHellman(PRIME),
        };
        let mut config = nautilus::Config::new(side, agreement);
        config.cipher = match self.cipher {
            "idea" => nautilus::Cipher::Idea,
            "3des" => nautilus::Cipher::TripleDes,
            _ => nautilus::Cipher::Blowfish,
        };
        let tool = Nautilus::new(config, &guestright_clock::seed(), now).map_err(unfit)?;
        Ok(Box::new(tool))
    }

    fn speak_freely(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        let forms = speak_freely_codecs();
        let form = forms.into_iter().find(|(codec, _)| *codec == self.codec).map(|(_, form)| form);
        let mut config = speak_freely::Config::new(side, form.unwrap_or(Form::Gsm), Protocol::Own);
        config.cipher = match self.cipher {
            "none" => speak_freely::Cipher::None,
            "des" => speak_freely::Cipher::Des,
            "idea" => speak_freely::Cipher::Idea,
            _ => speak_freely::Cipher::Blowfish,
        };
        if config.cipher != speak_freely::Cipher::None {
            self.phrase()?.clone_into(&mut config.phrase);
        }
        let tool = SpeakFreely::new(config, &guestright_clock::seed(), now).map_err(unfit)?;
        Ok(Box::new(tool))
    }

    fn pgpfone(&self, side: Side, now: Time) -> Result<Box<dyn Tool>, StudyError> {
        let mut config = pgpfone::Config::new(side);
        config.name = Some(OWN_NAME.to_owned());
        let codecs = pgpfone_codecs();
        if let Some((_, codec)) = codecs.into_iter().find(|(codec, _)| *codec == self.codec) {
            config.codec = codec;
        }
        // No other than what was asked for.
        config.ciphers.retain(|cipher| cipher.name() == self.cipher);
        let tool = PgpFone::new(config, &guestright_clock::seed(), now).map_err(unfit)?;
        Ok(Box::new(tool))
    }

    fn phrase(&self) -> Result<&str, StudyError> {
        let phrase = self.phrase.as_ref();
        phrase.map(|phrase| phrase.as_str()).ok_or(StudyError::NoOwnPhrase)
    }
}

fn unfit(error: impl std::error::Error + Send + Sync + 'static) -> StudyError {
    StudyError::Tool(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 5 of paper D: packets a second. Speak Freely's ADPCM is printed as 8.4; its own source says 972 samples.
    #[test]
    fn packets_are_as_many_as_in_table_5() {
        #[rustfmt::skip]
        let cases = [
            (Profile::Nautilus,    "lpc10",   5.55),
            (Profile::SpeakFreely, "gsm",     5.0),
            (Profile::SpeakFreely, "adpcm",   8.23),
            (Profile::Pgpfone,     "gsm-4.4", 13.8),
            (Profile::Pgpfone,     "adpcm",   12.5),
            (Profile::BoatLegacy,  "w1",      25.0),
            (Profile::Boat,        "pcmu",    50.0),
        ];
        for (profile, name, want) in cases {
            let codecs = profile.codecs();
            let codec = codecs.iter().find(|codec| codec.name == name).unwrap();
            let rate = 1.0 / codec.packet().as_seconds();
            assert!((rate - want).abs() < 0.03, "{} {name}: {rate}", profile.text());
        }
    }

    #[test]
    fn what_can_be_chosen_has_names_of_its_own() {
        let tools: std::collections::BTreeSet<_> =
            Profile::ALL.iter().map(|profile| profile.text()).collect();
        assert_eq!(tools.len(), Profile::ALL.len());
        for profile in Profile::ALL {
            let codecs = profile.codecs();
            let names: std::collections::BTreeSet<_> = codecs.iter().map(|codec| codec.name).collect();
            assert!(names.len() == codecs.len() && !names.is_empty(), "{names:?}");
            assert!(!profile.ciphers().is_empty());
        }
        let ports: std::collections::BTreeSet<_> =
            Profile::ALL.iter().map(|profile| profile.port()).collect();
        assert_eq!(ports.len(), Profile::ALL.len());
    }
}
