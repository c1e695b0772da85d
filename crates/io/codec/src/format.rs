use crate::{CodecError, Settings, open};
use std::fmt;
use std::str::FromStr;

/// A codec, at one sampling rate. GSM, GSM lite and IMA ADPCM do not care: whoever agreed with the peer on another one, as
/// PGPfone does on 4,410 to 11,025 Hz, hands over samples at that rate, and only durations and [`Format::sample_rate_hz`]
/// are then others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// G.711 with the mu-law, 64 kbit/s.
    Pcmu,
    /// G.711 with the A-law, 64 kbit/s.
    Pcma,
    /// G.722 at 64 kbit/s: 7 kHz of bandwidth.
    G722,
    /// GSM 06.10 full rate, 13.2 kbit/s.
    Gsm,
    /// IMA ADPCM as RTP has it, 33.6 kbit/s at 20 ms.
    Dvi4,
    /// IMA ADPCM as files have it: one block to a packet.
    Ima,
    /// LPC-10 (FS-1015), 2.4 kbit/s.
    Lpc10,
    /// Opus from and to 8 kHz.
    Opus8,
    /// Opus from and to 16 kHz.
    Opus16,
    /// Opus from and to 48 kHz.
    Opus48,
    /// AMR narrow band, 4.75 to 12.2 kbit/s.
    Amr,
    /// G.729 Annex A, 8 kbit/s.
    G729,
    /// BoAT's codec in our format: a wavelet transform, any length from 28 to 320 bytes for 40 ms.
    W1,
    /// The same on an MDCT with contexts: better at low rates, and 20 ms later.
    W2,
    /// GSM without long-term prediction, as PGPfone has it: 11.6 kbit/s at 8 kHz.
    GsmLite,
    /// IMA ADPCM as Speak Freely has it: the state after the samples.
    AdpcmSpeakFreely,
    /// IMA ADPCM as PGPfone has it: the state before the samples.
    AdpcmPgpfone,
}

/// What others have to know of a codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The name that people use, and that [`Kind`] is parsed from.
    pub name: &'static str,
    /// The rate of its samples, in Hz.
    pub sample_rate_hz: u32,
    /// The rate of RTP's timestamps, in Hz. Not that of its samples for G.722 (8,000: RFC 3551, section 4.5.2) and Opus
    /// (48,000: RFC 7587, section 4.1).
    pub clock_rate_hz: u32,
    /// The least that can be encoded at once, in samples. More has to be a multiple of it, but for Opus, which takes
    /// only 1, 2, 4, 8, 16, 24, 32, 40 and 48 times as much, and for IMA blocks, of which each needs a packet.
    pub frame_samples: usize,
    /// What a packet usually holds, in samples: 20 ms or the next whole number of frames.
    pub packet_samples: usize,
    /// The payload of such a packet in bytes: the length itself where it is always the same, else a length that it
    /// never exceeds.
    pub packet_bytes_max: usize,
    /// Its name in SDP's `a=rtpmap`.
    pub encoding_name: &'static str,
    /// What `a=rtpmap` has after the clock rate, if anything. Opus always says 2 (RFC 7587, section 7).
    pub rtpmap_channels: Option<u8>,
    /// The payload type that RFC 3551 gave it for ever; `None` if each call gives it one.
    pub payload_type: Option<u8>,
}

impl Format {
    /// What a number of samples is in ticks of RTP's timestamps.
    #[must_use]
    pub fn ticks(&self, samples: usize) -> u32 {
        let samples = u64::try_from(samples).unwrap_or(u64::MAX);
        let ticks = samples.saturating_mul(u64::from(self.clock_rate_hz)) / u64::from(self.sample_rate_hz);
        u32::try_from(ticks).unwrap_or(u32::MAX)
    }

    /// How long a usual packet is, in microseconds.
    #[must_use]
    pub fn packet_us(&self) -> u64 {
        u64::try_from(self.packet_samples).unwrap_or(u64::MAX).saturating_mul(1_000_000)
            / u64::from(self.sample_rate_hz)
    }
}

const fn narrow(name: &'static str, encoding_name: &'static str, payload_type: Option<u8>) -> Format {
    Format {
        name,
        sample_rate_hz: 8_000,
        clock_rate_hz: 8_000,
        frame_samples: 160,
        packet_samples: 160,
        packet_bytes_max: 160,
        encoding_name,
        rtpmap_channels: None,
        payload_type,
    }
}

const fn opus(name: &'static str, sample_rate_hz: u32, frame_samples: usize) -> Format {
    Format {
        sample_rate_hz,
        clock_rate_hz: 48_000,
        frame_samples,
        packet_samples: frame_samples * 8,
        // RFC 6716, section 3.4: a frame has at most 1,275 bytes, and one byte says what it is.
        packet_bytes_max: 1_276,
        rtpmap_channels: Some(2),
        ..narrow(name, "opus", None)
    }
}

// Payload types: RFC 3551, section 6. 7 there is another LPC, so that LPC-10 has none; nor has it a registered name.
static PCMU: Format = Format { frame_samples: 1, ..narrow("pcmu", "PCMU", Some(0)) };
static PCMA: Format = Format { frame_samples: 1, ..narrow("pcma", "PCMA", Some(8)) };
static G722: Format = Format {
    sample_rate_hz: 16_000,
    frame_samples: 2,
    packet_samples: 320,
    ..narrow("g722", "G722", Some(9))
};
static GSM: Format = Format { packet_bytes_max: 33, ..narrow("gsm", "GSM", Some(3)) };
static DVI4: Format = Format { frame_samples: 2, packet_bytes_max: 84, ..narrow("dvi4", "DVI4", Some(5)) };
static IMA: Format =
    Format { frame_samples: 161, packet_samples: 161, packet_bytes_max: 84, ..narrow("ima", "X-IMA", None) };
static LPC10: Format = Format {
    frame_samples: 180,
    packet_samples: 180,
    packet_bytes_max: 7,
    ..narrow("lpc10", "X-LPC10", None)
};
static OPUS8: Format = opus("opus8", 8_000, 20);
static OPUS16: Format = opus("opus16", 16_000, 40);
static OPUS48: Format = opus("opus48", 48_000, 120);
// One frame at 12.2 kbit/s: 31 bytes of speech, one of mode request, one of contents.
static AMR: Format = Format { packet_bytes_max: 33, ..narrow("amr", "AMR", None) };
static G729: Format = Format { frame_samples: 80, packet_bytes_max: 20, ..narrow("g729", "G729", Some(18)) };
static W1: Format = wavelet("w1", "X-W1");
static W2: Format = wavelet("w2", "X-W2");
static GSM_LITE: Format = Format { packet_bytes_max: 29, ..narrow("gsm-lite", "X-GSM-LITE", None) };
static ADPCM_SPEAK_FREELY: Format = Format {
    frame_samples: 2,
    packet_samples: 972,
    packet_bytes_max: 489,
    ..narrow("adpcm-speak-freely", "X-ADPCM-SPEAK-FREELY", None)
};
static ADPCM_PGPFONE: Format = Format {
    frame_samples: 2,
    packet_samples: 640,
    packet_bytes_max: 323,
    ..narrow("adpcm-pgpfone", "X-ADPCM-PGPFONE", None)
};

/// Samples in a frame of `w1` and `w2`, and the most bytes that one takes.
pub(crate) const WAVELET_SAMPLES: usize = 320;
pub(crate) const WAVELET_BYTES_MAX: usize = 320;

const fn wavelet(name: &'static str, encoding_name: &'static str) -> Format {
    Format {
        frame_samples: WAVELET_SAMPLES,
        packet_samples: WAVELET_SAMPLES,
        packet_bytes_max: WAVELET_BYTES_MAX,
        ..narrow(name, encoding_name, None)
    }
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Pcmu,
        Self::Pcma,
        Self::G722,
        Self::Gsm,
        Self::Dvi4,
        Self::Ima,
        Self::Lpc10,
        Self::Opus8,
        Self::Opus16,
        Self::Opus48,
        Self::Amr,
        Self::G729,
        Self::W1,
        Self::W2,
        Self::GsmLite,
        Self::AdpcmSpeakFreely,
        Self::AdpcmPgpfone,
    ];

    /// Its names, rates and lengths. Known also where the codec itself is not there.
    #[must_use]
    pub const fn format(self) -> &'static Format {
        match self {
            Self::Pcmu => &PCMU,
            Self::Pcma => &PCMA,
            Self::G722 => &G722,
            Self::Gsm => &GSM,
            Self::Dvi4 => &DVI4,
            Self::Ima => &IMA,
            Self::Lpc10 => &LPC10,
            Self::Opus8 => &OPUS8,
            Self::Opus16 => &OPUS16,
            Self::Opus48 => &OPUS48,
            Self::Amr => &AMR,
            Self::G729 => &G729,
            Self::W1 => &W1,
            Self::W2 => &W2,
            Self::GsmLite => &GSM_LITE,
            Self::AdpcmSpeakFreely => &ADPCM_SPEAK_FREELY,
            Self::AdpcmPgpfone => &ADPCM_PGPFONE,
        }
    }

    /// The codec that a payload type of RFC 3551 stands for, if it has one for ever and we know it.
    #[must_use]
    pub fn from_payload_type(payload_type: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.format().payload_type == Some(payload_type))
    }

    /// Whether [`open`] would work.
    ///
    /// # Errors
    ///
    /// Those of [`open`], which say what to install.
    pub fn is_available(self) -> Result<(), CodecError> {
        open(self, &Settings::default()).map(drop)
    }

    /// The cargo feature of this crate that has it; empty if it is always there.
    #[must_use]
    pub const fn feature(self) -> &'static str {
        match self {
            Self::Pcmu | Self::Pcma | Self::G722 | Self::Dvi4 | Self::Ima => "",
            Self::GsmLite | Self::AdpcmSpeakFreely | Self::AdpcmPgpfone => "",
            Self::W1 | Self::W2 => "wavelet",
            Self::Gsm => "gsm",
            Self::Lpc10 => "lpc10",
            Self::Opus8 | Self::Opus16 | Self::Opus48 => "opus",
            Self::Amr => "amr",
            Self::G729 => "g729",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.format().name)
    }
}

impl FromStr for Kind {
    type Err = CodecError;

    fn from_str(text: &str) -> Result<Self, CodecError> {
        Self::ALL.into_iter().find(|kind| kind.format().name == text).ok_or_else(|| CodecError::Name {
            got: text.chars().take(32).collect(),
            known: Self::ALL.map(|kind| kind.format().name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3551, table 4; RFC 7587; RFC 3551 section 4.5.2 for G.722's clock, which is not its sampling rate.
    #[test]
    fn formats_are_those_of_the_standards() {
        #[rustfmt::skip]
        let cases = [
            (Kind::Pcmu,   "PCMU", 8_000,  None,    Some(0),  160,   20_000),
            (Kind::Gsm,    "GSM",  8_000,  None,    Some(3),  160,   20_000),
            (Kind::Dvi4,   "DVI4", 8_000,  None,    Some(5),  160,   20_000),
            (Kind::Pcma,   "PCMA", 8_000,  None,    Some(8),  160,   20_000),
            (Kind::G722,   "G722", 8_000,  None,    Some(9),  160,   20_000),
            (Kind::G729,   "G729", 8_000,  None,    Some(18), 160,   20_000),
            (Kind::Opus16, "opus", 48_000, Some(2), None,     960,   20_000),
            (Kind::Opus48, "opus", 48_000, Some(2), None,     960,   20_000),
            (Kind::Amr,    "AMR",  8_000,  None,    None,     160,   20_000),
            (Kind::Lpc10,  "X-LPC10", 8_000, None,  None,     180,   22_500),
            (Kind::W1,     "X-W1", 8_000,  None,    None,     320,   40_000),
            (Kind::W2,     "X-W2", 8_000,  None,    None,     320,   40_000),
            (Kind::GsmLite, "X-GSM-LITE", 8_000, None, None,  160,   20_000),
            (Kind::AdpcmPgpfone, "X-ADPCM-PGPFONE", 8_000, None, None, 640, 80_000),
            (Kind::AdpcmSpeakFreely, "X-ADPCM-SPEAK-FREELY", 8_000, None, None, 972, 121_500),
        ];
        for (kind, encoding, clock, channels, payload_type, ticks, us) in cases {
            let format = kind.format();
            assert_eq!((format.encoding_name, format.clock_rate_hz), (encoding, clock));
            assert_eq!((format.rtpmap_channels, format.payload_type), (channels, payload_type), "{kind}");
            assert_eq!((format.ticks(format.packet_samples), format.packet_us()), (ticks, us), "{kind}");
            if let Some(number) = payload_type {
                assert_eq!(Kind::from_payload_type(number), Some(kind));
            }
        }
        // 7 is another LPC than ours, and 13 is comfort noise.
        assert_eq!((Kind::from_payload_type(7), Kind::from_payload_type(13)), (None, None));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert!(kind.format().packet_samples.is_multiple_of(kind.format().frame_samples), "{kind}");
        }
        let error = "speex".parse::<Kind>().unwrap_err().to_string();
        assert!(error.contains("speex") && error.contains("opus16"), "{error}");
    }
}
