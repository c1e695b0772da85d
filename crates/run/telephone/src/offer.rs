//! What we offer, what we answer, and what we do not put up with.
//!
//! Invariants: an answer is never less protected than the offer; a call never changes its protection; of a call that
//! is protected from end to end the other side's promise (its digest) stays the same from the first description to
//! the last.

use crate::Protection;
use guestright_codec::Kind;
use guestright_sip::agent::{Agreement, Crypto, Description, DescriptionError, Direction, Format, Profile};
use guestright_voice::srtp::{CryptoLine, MasterKey, Profile as Suite};
use std::net::SocketAddr;
use thiserror::Error;
use zeroize::Zeroizing;

/// The version of the agreement that we speak.
const AGREEMENT: u32 = 1;
/// The first payload type that has no fixed meaning (RFC 3551 section 3).
const DYNAMIC: u8 = 96;
/// The clock for which comfort noise has a payload type of its own.
const NOISE_HZ: u32 = 8_000;
/// The suites that we offer and take, the best first. Checks of 4 bytes are none of them.
pub(crate) const SUITES: [Suite; 3] =
    [Suite::AeadAes128Gcm, Suite::AesCm128HmacSha1_80, Suite::AeadAes256Gcm];

/// Why a description is not for us.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("the other side's description of the call cannot be used: {0}")]
    Malformed(#[from] DescriptionError),
    #[error("the other side said nothing about the voice stream")]
    Nothing,
    #[error("this call is to be {want}, and the other side's words are for one {got}; it was not lowered")]
    Protection { want: &'static str, got: &'static str },
    #[error(
        "the other side wanted to change the protection in the middle of the call, from {was} to one {got}"
    )]
    Changed { was: &'static str, got: &'static str },
    #[error("the other side gave another promise of its key than at the beginning of the call")]
    Digest,
    #[error("the two sides have no codec in common: the other one has {theirs}")]
    Codec { theirs: String },
    #[error("the two sides have no cipher in common")]
    Cipher,
}

impl Refusal {
    /// The status code that says it (RFC 3261 section 21.4.26).
    pub const CODE: u16 = 488;

    /// What can be done about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Protection { .. } => {
                "a stock softphone cannot protect a call from end to end; if both homes may hear it, say \
                 --protection home"
            }
            Self::Changed { .. } | Self::Digest => "call again, and compare the four words",
            Self::Codec { .. } => "name other codecs: --codec",
            Self::Cipher | Self::Malformed(_) | Self::Nothing => "the other side's telephone may be at fault",
        }
    }
}

/// What a call is protected with.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Guard {
    /// Nothing of ours.
    Home,
    /// Keys that were in the descriptions.
    Sdes { ours: MasterKey, theirs: MasterKey },
    /// Keys that are to be agreed on; the other side's promise.
    EndToEnd { digest: String },
}

/// What both sides have agreed on about the voice stream.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Where it goes.
    pub(crate) remote: SocketAddr,
    /// Where RTCP goes.
    pub(crate) control: SocketAddr,
    /// The codec, both ways.
    pub(crate) kind: Kind,
    /// Its payload type, as the other side wants to receive it.
    pub(crate) payload: u8,
    /// Its payload type, as we want to receive it.
    pub(crate) payload_here: u8,
    /// Who speaks, seen from here.
    pub(crate) direction: Direction,
    /// Whether the other side understands comfort noise (RFC 3389).
    pub(crate) has_noise: bool,
    pub(crate) guard: Guard,
    /// What may come already, because it was offered.
    pub(crate) offered: Offered,
}

/// What an offer without an answer lets the other side send: its voice may be here before its answer is (RFC 3264
/// section 8.3.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offered {
    /// Codecs and their payload types.
    pub(crate) formats: Vec<(Kind, u8)>,
    /// Whether it may send at all.
    pub(crate) receives: bool,
}

impl Agreed {
    /// Codecs and payload types that may come besides those agreed on.
    pub(crate) fn also_expected(&self) -> impl Iterator<Item = (Kind, u8)> {
        self.offered.formats.iter().copied().filter(|(_, payload)| *payload != self.payload_here)
    }
}

/// One side of the offers and answers of one call: ours.
pub(crate) struct Own {
    /// The session's number.
    pub(crate) session: u64,
    pub(crate) version: u64,
    /// Where we receive RTP; RTCP comes to the port after it, or to the same.
    pub(crate) address: SocketAddr,
    pub(crate) control_port: u16,
    /// Codecs, the best first.
    pub(crate) kinds: Vec<Kind>,
    /// The payload types that codecs have had in our offers: a number means the same to the end of the call (RFC 3264
    /// section 8.3.2).
    pub(crate) payloads: Vec<(Kind, u8)>,
    /// Of the call: what is offered, or what the caller has offered.
    pub(crate) protection: Protection,
    /// Our promise of a key, with end-to-end protection.
    pub(crate) digest: Option<String>,
    /// Our keys for SDES, one for each of [`SUITES`]. They stay the same for the whole call.
    pub(crate) keys: Vec<MasterKey>,
    /// What has been agreed on so far.
    pub(crate) agreed: Option<Agreed>,
}

impl Own {
    /// What we offer, at first or again.
    pub(crate) fn offer(&mut self, direction: Direction) -> Zeroizing<String> {
        let crypto = match (self.protection, &self.agreed) {
            (Protection::Home | Protection::EndToEnd, _) => Vec::new(),
            // The key in use stays in use, and its counters with it.
            (Protection::Sdes, Some(Agreed { guard: Guard::Sdes { ours, .. }, .. })) => vec![line(1, ours)],
            (Protection::Sdes, _) => (1..).zip(&self.keys).map(|(tag, key)| line(tag, key)).collect(),
        };
        let formats = self.formats();
        if let Some(agreed) = &mut self.agreed {
            agreed.offered = Offered { formats: formats.clone(), receives: direction.receives() };
        }
        let mut kinds: Vec<_> = formats.into_iter().map(|(kind, payload)| format(kind, payload)).collect();
        if self.kinds.iter().any(|kind| kind.format().clock_rate_hz == NOISE_HZ) {
            kinds.push(noise());
        }
        self.description(direction, kinds, crypto, Profile::new(self.protection), Vec::new()).emit()
    }

    /// Our offer was refused: nothing has changed.
    pub(crate) fn withdraw(&mut self) {
        if let Some(agreed) = &mut self.agreed {
            agreed.offered = Offered::default();
        }
    }

    /// Our codecs with their payload types: those of RFC 3551, then the next free one for each that has none.
    fn formats(&mut self) -> Vec<(Kind, u8)> {
        for kind in &self.kinds {
            if self.payloads.iter().all(|(known, _)| known != kind) {
                let is_free = |number: &u8| self.payloads.iter().all(|(_, taken)| taken != number);
                let payload = kind.format().payload_type.or_else(|| (DYNAMIC..128).find(is_free));
                self.payloads.push((*kind, payload.unwrap_or(127)));
            }
        }
        let payload = |kind: &Kind| self.payloads.iter().find(|(known, _)| known == kind).copied();
        self.kinds.iter().filter_map(payload).collect()
    }

    /// What we answer to an offer, and what is agreed by that.
    pub(crate) fn answer(
        &mut self,
        offer: &Description,
        wanted: Direction,
    ) -> Result<Zeroizing<String>, Refusal> {
        self.check(offer)?;
        let (format, kind) = self.codec(offer)?;
        let mut crypto = Vec::new();
        let guard = match self.protection {
            Protection::Home => Guard::Home,
            Protection::EndToEnd => Guard::EndToEnd { digest: promise(offer)? },
            Protection::Sdes => {
                let (tag, theirs, ours) = self.suite(offer)?;
                crypto.push(line(tag, &ours));
                Guard::Sdes { ours, theirs }
            }
        };
        let direction = offer.direction.answered(wanted);
        let payload = format.payload;
        let agreed = Agreed {
            remote: offer.address,
            control: offer.control_address(),
            kind,
            payload,
            payload_here: payload,
            direction,
            has_noise: has_noise(offer, kind),
            guard,
            offered: Offered::default(),
        };
        let mut formats = vec![format];
        formats.extend(agreed.has_noise.then(noise));
        let text =
            self.description(direction, formats, crypto, offer.profile, offer.others.clone()).with_mux(offer);
        self.agreed = Some(agreed);
        Ok(text)
    }

    /// What is agreed by the other side's answer to our offer.
    pub(crate) fn judge(&mut self, answer: &Description) -> Result<(), Refusal> {
        self.check(answer)?;
        let (format, kind) = self.codec(answer)?;
        let guard = match self.protection {
            Protection::Home => Guard::Home,
            Protection::EndToEnd => Guard::EndToEnd { digest: promise(answer)? },
            Protection::Sdes => self.chosen(answer)?,
        };
        let here = self.formats().into_iter().find(|(own, _)| *own == kind);
        self.agreed = Some(Agreed {
            remote: answer.address,
            control: answer.control_address(),
            kind,
            payload: format.payload,
            payload_here: here.map_or(format.payload, |(_, payload)| payload),
            direction: Direction::new(answer.direction.receives(), answer.direction.sends()),
            has_noise: has_noise(answer, kind),
            guard,
            offered: Offered::default(),
        });
        Ok(())
    }

    /// Whether a description is of the protection that this call has, or is to have.
    fn check(&self, theirs: &Description) -> Result<(), Refusal> {
        let (want, got) = (self.protection, protection_of(theirs));
        if got != Some(want) {
            let got = got.map_or("protected in a way that we do not know", Protection::who_hears);
            return Err(match &self.agreed {
                Some(_) => Refusal::Changed { was: want.name(), got },
                None => Refusal::Protection { want: want.name(), got },
            });
        }
        match (&self.agreed, &theirs.agreement) {
            (Some(Agreed { guard: Guard::EndToEnd { digest }, .. }), Some(now)) if *digest != now.digest => {
                Err(Refusal::Digest)
            }
            _ => Ok(()),
        }
    }

    /// The first of the other side's formats that we have too, as RFC 3264 section 6.1 wants it.
    fn codec(&self, theirs: &Description) -> Result<(Format, Kind), Refusal> {
        let ours = |format: &Format| {
            let is_it = |kind: &&Kind| {
                let own = kind.format();
                let channels = own.rtpmap_channels.unwrap_or(1);
                own.encoding_name.eq_ignore_ascii_case(&format.name)
                    && own.clock_rate_hz == format.clock_hz
                    && channels == format.channels
            };
            self.kinds.iter().find(is_it).map(|kind| (format.clone(), *kind))
        };
        theirs.formats.iter().find_map(ours).ok_or_else(|| {
            let names: Vec<_> = theirs.formats.iter().map(|format| format.name.as_str()).collect();
            Refusal::Codec { theirs: guestright_sip::agent::printable(&names.join(", ")) }
        })
    }

    /// The first of the offered suites that we have: its tag, their key, and ours.
    fn suite(&self, offer: &Description) -> Result<(u32, MasterKey, MasterKey), Refusal> {
        let found = offer.crypto.iter().find_map(|crypto| {
            let theirs = read(crypto)?;
            let in_use = match &self.agreed {
                Some(Agreed { guard: Guard::Sdes { ours, .. }, .. }) => Some(ours),
                _ => None,
            };
            let ours = in_use.into_iter().chain(&self.keys).find(|key| key.profile() == theirs.profile())?;
            Some((crypto.tag, theirs, ours.clone()))
        });
        found.ok_or(Refusal::Cipher)
    }

    /// The suite that the answer has chosen by its tag.
    fn chosen(&self, answer: &Description) -> Result<Guard, Refusal> {
        let [crypto] = answer.crypto.as_slice() else { return Err(Refusal::Cipher) };
        let theirs = read(crypto).ok_or(Refusal::Cipher)?;
        let ours = match &self.agreed {
            Some(Agreed { guard: Guard::Sdes { ours, .. }, .. }) => Some(ours).filter(|_| crypto.tag == 1),
            _ => (1..).zip(&self.keys).find(|(tag, _)| *tag == crypto.tag).map(|(_, key)| key),
        };
        let ours = ours.filter(|ours| ours.profile() == theirs.profile()).ok_or(Refusal::Cipher)?;
        Ok(Guard::Sdes { ours: ours.clone(), theirs })
    }

    fn description(
        &mut self,
        direction: Direction,
        formats: Vec<Format>,
        crypto: Vec<Crypto>,
        profile: Profile,
        others: Vec<guestright_sip::agent::OtherMedia>,
    ) -> Description {
        self.version += 1;
        let digest = self.digest.clone().filter(|_| self.protection == Protection::EndToEnd);
        Description {
            session: self.session,
            version: self.version,
            address: self.address,
            control_port: Some(self.control_port),
            multiplex: true,
            profile,
            formats,
            direction,
            ptime_ms: Some(20),
            crypto,
            agreement: digest.map(|digest| Agreement { version: AGREEMENT, digest }),
            others,
        }
    }
}

/// What protection a description asks for; none if it is none of ours.
pub(crate) fn protection_of(description: &Description) -> Option<Protection> {
    match (description.profile, &description.agreement, description.crypto.is_empty()) {
        (Profile::Secure { .. }, Some(agreement), _) if agreement.version == AGREEMENT => {
            Some(Protection::EndToEnd)
        }
        (Profile::Secure { .. }, None, false) => Some(Protection::Sdes),
        (Profile::Plain { .. }, None, _) => Some(Protection::Home),
        (Profile::Secure { .. } | Profile::Plain { .. }, ..) => None,
    }
}

fn promise(description: &Description) -> Result<String, Refusal> {
    description.agreement.as_ref().map(|agreement| agreement.digest.clone()).ok_or(Refusal::Nothing)
}

fn read(crypto: &Crypto) -> Option<MasterKey> {
    let text = Zeroizing::new(format!("{} {} inline:{}", crypto.tag, crypto.suite, crypto.key.as_str()));
    let line: CryptoLine = text.parse().ok()?;
    SUITES.contains(&line.key.profile()).then_some(line.key)
}

fn line(tag: u32, key: &MasterKey) -> Crypto {
    let text = CryptoLine { tag, key: key.clone() }.to_text();
    let (_, digits) = text.split_once("inline:").unwrap_or_default();
    Crypto { tag, suite: key.profile().to_string(), key: Zeroizing::new(digits.to_owned()) }
}

/// Comfort noise of a codec whose clock has 8 kHz (RFC 3389 section 5.1).
fn noise() -> Format {
    let payload = guestright_voice::rtp::COMFORT_NOISE;
    Format { payload, name: "CN".to_owned(), clock_hz: NOISE_HZ, channels: 1, parameters: None }
}

fn has_noise(theirs: &Description, kind: Kind) -> bool {
    let is_it = |format: &Format| format.payload == noise().payload && format.name.eq_ignore_ascii_case("CN");
    kind.format().clock_rate_hz == NOISE_HZ && theirs.formats.iter().any(is_it)
}

fn format(kind: Kind, payload: u8) -> Format {
    let own = kind.format();
    Format {
        payload,
        name: own.encoding_name.to_owned(),
        clock_hz: own.clock_rate_hz,
        channels: own.rtpmap_channels.unwrap_or(1),
        parameters: None,
    }
}

trait ForProtection {
    fn new(protection: Protection) -> Self;
}

impl ForProtection for Profile {
    fn new(protection: Protection) -> Self {
        match protection {
            Protection::Home => Self::Plain { feedback: false },
            Protection::Sdes | Protection::EndToEnd => Self::Secure { feedback: false },
        }
    }
}

trait Answering {
    fn with_mux(self, offer: &Description) -> Zeroizing<String>;
}

impl Answering for Description {
    /// RTCP comes to RTP's port only where that was offered (RFC 5761 section 5.1.1).
    fn with_mux(mut self, offer: &Description) -> Zeroizing<String> {
        self.multiplex = offer.multiplex;
        if self.multiplex {
            self.control_port = None;
        }
        self.emit()
    }
}

#[cfg(test)]
mod tests;
