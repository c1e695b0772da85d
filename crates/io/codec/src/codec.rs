use crate::{CodecError, Format, Kind, g711, g722, gsm_lite, ima};
use std::fmt::Debug;

/// Both directions of one codec, with the state that each has.
///
/// One side of a call has one. Speech goes in with [`encode`](Codec::encode); what arrives goes in with
/// [`decode`](Codec::decode) in the order of its sequence numbers, and for each packet that did not arrive in time
/// either [`recover`](Codec::recover) (the next one is here already) or [`conceal`](Codec::conceal).
pub trait Codec: Debug + Send {
    /// Its names, rates and lengths.
    fn format(&self) -> &'static Format;

    /// Encodes one packet: `samples` is one frame or a few ([`Format::frame_samples`]).
    ///
    /// # Errors
    ///
    /// [`CodecError::Samples`] and [`CodecError::Room`] for buffers of a wrong length; nothing was changed then.
    /// [`CodecError::Library`] if the codec's library refuses.
    fn encode(&mut self, samples: &[i16], payload: &mut [u8]) -> Result<Encoded, CodecError>;

    /// Decodes one packet and says how many samples it had. `samples` has to have room for what the payload holds;
    /// [`PACKET_SAMPLES_MAX`](crate::PACKET_SAMPLES_MAX) is always enough.
    ///
    /// # Errors
    ///
    /// [`CodecError::Length`] and [`CodecError::Payload`] if it is no payload of this codec, and [`CodecError::Room`].
    /// The decoder is then as it was before; the packet counts as lost.
    fn decode(&mut self, payload: &[u8], samples: &mut [i16]) -> Result<usize, CodecError>;

    /// Fills `samples` with something to play in the place of a lost packet of that length.
    ///
    /// # Errors
    ///
    /// [`CodecError::Samples`] if the codec cannot conceal such a length: see [`Format::frame_samples`].
    fn conceal(&mut self, samples: &mut [i16]) -> Result<(), CodecError>;

    /// Fills `samples` with a lost packet, if `next`, the payload after it, says what was in it; else conceals it.
    /// `next` has to be decoded afterwards all the same.
    ///
    /// # Errors
    ///
    /// As of [`conceal`](Codec::conceal).
    fn recover(&mut self, next: &[u8], samples: &mut [i16]) -> Result<Recovered, CodecError> {
        let _ = next;
        self.conceal(samples)?;
        Ok(Recovered::Concealed)
    }

    /// How many bytes the next packets may have, at most; for codecs that can end a packet anywhere (`w1`, `w2`), which take
    /// the nearest length that they have. Others do not listen.
    fn set_packet_bytes(&mut self, bytes: usize) {
        let _ = bytes;
    }

    /// By how many samples decoded speech comes later than it was put in, beyond the length of the packet: what the
    /// encoder looks ahead and the decoder holds back.
    fn delay_samples(&self) -> usize;

    /// Forgets all that was encoded and decoded.
    fn reset(&mut self);
}

/// What became of a packet of speech.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The payload's length in bytes. 0 only if there is nothing to send.
    pub bytes: usize,
    /// Whether the codec heard somebody speak.
    pub activity: Activity,
}

/// Whether a codec with discontinuous transmission heard somebody speak. Others always say [`Activity::Speech`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// To be sent. The first after a pause begins a talkspurt (RFC 3551, section 4.1: the marker bit).
    Speech,
    /// To be sent: it describes the noise of a pause.
    Silence,
    /// Not to be sent: nothing changed since the last description of the noise.
    Nothing,
}

/// How a lost packet was filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovered {
    /// With speech that the next packet repeats, at a lower quality.
    Redundant,
    /// With an invention.
    Concealed,
}

/// What can be chosen about codecs. Each looks only at what concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Opus: bits per second, 6,000 to 510,000; `None` leaves it to the library. `w1`, `w2`: 5,600 to 64,000; `None` are
    /// 16,000, and [`Codec::set_packet_bytes`] changes it.
    pub bits_per_second: Option<u32>,
    /// Opus: how much the encoder works for quality, 0 to 10.
    pub complexity: u32,
    /// Opus: each packet repeats the one before it at a lower quality, if the loss expected makes it worth while.
    pub redundancy: bool,
    /// Opus: packets expected to be lost, in per cent. With 0, `redundancy` has no effect.
    pub loss_percent: u32,
    /// Opus, AMR: send next to nothing in pauses.
    pub discontinuous: bool,
    /// AMR: from 0 (4.75 kbit/s) to 7 (12.2 kbit/s).
    pub amr_mode: u32,
    /// AMR: how frames lie in a payload.
    pub amr_packing: AmrPacking,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bits_per_second: None,
            complexity: 5,
            redundancy: true,
            loss_percent: 5,
            discontinuous: false,
            amr_mode: 7,
            amr_packing: AmrPacking::BandwidthEfficient,
        }
    }
}

/// How AMR frames lie in a payload (RFC 4867, section 4). SDP's `octet-align=1` is `OctetAligned`; both sides have to
/// agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmrPacking {
    /// Bit after bit, as where SDP says nothing (section 4.3).
    BandwidthEfficient,
    /// Each part begins with a byte of its own (section 4.4).
    OctetAligned,
}

/// Makes a codec.
///
/// # Errors
///
/// [`CodecError::NotBuilt`], [`CodecError::LibraryAbsent`] and [`CodecError::LibraryOther`] if this program or this
/// computer lacks it, [`CodecError::Setting`] for a setting out of range.
pub fn open(kind: Kind, settings: &Settings) -> Result<Box<dyn Codec>, CodecError> {
    settings.check(kind)?;
    match kind {
        Kind::Pcmu => Ok(Box::new(g711::mu_law())),
        Kind::Pcma => Ok(Box::new(g711::a_law())),
        Kind::G722 => Ok(Box::new(g722::g722())),
        Kind::Dvi4 => Ok(Box::new(ima::dvi4())),
        Kind::Ima => Ok(Box::new(ima::ima())),
        Kind::AdpcmSpeakFreely => Ok(Box::new(ima::speak_freely())),
        Kind::AdpcmPgpfone => Ok(Box::new(ima::pgpfone())),
        Kind::GsmLite => Ok(Box::new(gsm_lite::gsm_lite())),
        #[cfg(feature = "wavelet")]
        Kind::W1 | Kind::W2 => Ok(Box::new(crate::wavelet::Wavelet::new(kind, settings))),
        #[cfg(feature = "gsm")]
        Kind::Gsm => Ok(Box::new(crate::gsm::gsm()?)),
        #[cfg(feature = "lpc10")]
        Kind::Lpc10 => Ok(Box::new(crate::lpc10::lpc10()?)),
        #[cfg(feature = "opus")]
        Kind::Opus8 | Kind::Opus16 | Kind::Opus48 => Ok(Box::new(crate::opus::Opus::new(kind, settings)?)),
        #[cfg(feature = "amr")]
        Kind::Amr => Ok(Box::new(crate::amr::Amr::new(settings)?)),
        #[cfg(feature = "g729")]
        Kind::G729 => Ok(Box::new(crate::g729::G729::new()?)),
        #[cfg(not(feature = "gsm"))]
        Kind::Gsm => Err(not_built(kind)),
        #[cfg(not(feature = "lpc10"))]
        Kind::Lpc10 => Err(not_built(kind)),
        #[cfg(not(feature = "opus"))]
        Kind::Opus8 | Kind::Opus16 | Kind::Opus48 => Err(not_built(kind)),
        #[cfg(not(feature = "amr"))]
        Kind::Amr => Err(not_built(kind)),
        #[cfg(not(feature = "g729"))]
        Kind::G729 => Err(not_built(kind)),
        #[cfg(not(feature = "wavelet"))]
        Kind::W1 | Kind::W2 => Err(not_built(kind)),
    }
}

#[cfg(not(all(
    feature = "amr",
    feature = "g729",
    feature = "gsm",
    feature = "lpc10",
    feature = "opus",
    feature = "wavelet"
)))]
fn not_built(kind: Kind) -> CodecError {
    CodecError::NotBuilt { codec: kind.format().name, feature: kind.feature() }
}

impl Settings {
    fn check(&self, kind: Kind) -> Result<(), CodecError> {
        let within = |setting, got, least, most| {
            let fits = (least..=most).contains(&got);
            if fits { Ok(()) } else { Err(CodecError::Setting { setting, got, least, most }) }
        };
        if let Some(rate) = self.bits_per_second {
            let (least, most) =
                if matches!(kind, Kind::W1 | Kind::W2) { (5_600, 64_000) } else { (6_000, 510_000) };
            within("bits_per_second", rate, least, most)?;
        }
        within("complexity", self.complexity, 0, 10)?;
        within("loss_percent", self.loss_percent, 0, 100)?;
        within("amr_mode", self.amr_mode, 0, 7)
    }
}
