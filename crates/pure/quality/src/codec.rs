//! What is published on codecs: impairment factors, rates, delays, and how RTP names them.
//!
//! Every impairment factor carries its source. Where no body has published one there is `None`, and a rating under
//! loss cannot be computed. Guessing one would make every figure that follows look measured.

mod table;

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use thiserror::Error;

use table::facts;

/// A codec, with its concealment where that changes the published figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Codec {
    /// G.711 μ-law without concealment of losses.
    G711u,
    /// G.711 μ-law with the concealment of G.711, Appendix I.
    G711uPlc,
    /// G.711 A-law without concealment of losses.
    G711a,
    /// G.711 A-law with the concealment of G.711, Appendix I.
    G711aPlc,
    /// G.729, the main body.
    G729,
    /// G.729 Annex A with voice activity detection (Annex B), the one that G.113 lists and most telephones mean.
    G729a,
    /// G.723.1 at 6.3 kbit/s with voice activity detection.
    G7231High,
    /// G.723.1 at 5.3 kbit/s.
    G7231Low,
    /// GSM full rate, 06.10.
    GsmFr,
    /// GSM half rate, 06.20.
    GsmHr,
    /// GSM enhanced full rate, 06.60.
    GsmEfr,
    /// G.726 at 40 kbit/s.
    G72640,
    /// G.726 at 32 kbit/s.
    G72632,
    /// G.726 at 24 kbit/s.
    G72624,
    /// G.726 at 16 kbit/s.
    G72616,
    /// G.728 at 16 kbit/s.
    G728,
    /// IMA ADPCM at 32 kbit/s (RTP: DVI4).
    ImaAdpcm,
    /// LPC-10e, FS-1015, at 2.4 kbit/s.
    Lpc10,
    /// AMR at 12.2 kbit/s.
    Amr122,
    /// Opus; the rate is whatever the call uses, the figures here are for 24 kbit/s.
    Opus,
    /// Linear samples of 16 bits at 8 kHz, as in a recording; RTP: L16.
    L16,
    /// G.722 at 64 kbit/s, wideband.
    G722,
    /// AMR-WB at 6.60 kbit/s, wideband.
    AmrWb660,
    /// AMR-WB at 8.85 kbit/s, wideband.
    AmrWb885,
    /// AMR-WB at 12.65 kbit/s, wideband.
    AmrWb1265,
    /// AMR-WB at 14.25 kbit/s, wideband.
    AmrWb1425,
    /// AMR-WB at 15.85 kbit/s, wideband.
    AmrWb1585,
    /// AMR-WB at 18.25 kbit/s, wideband.
    AmrWb1825,
    /// AMR-WB at 19.85 kbit/s, wideband.
    AmrWb1985,
    /// AMR-WB at 23.05 kbit/s, wideband.
    AmrWb2305,
    /// AMR-WB at 23.85 kbit/s, wideband.
    AmrWb2385,
}

/// The scale that a codec's figures belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Band {
    /// 300 to 3400 Hz: G.107, R up to 100.
    Narrow,
    /// 100 to 7000 Hz: G.107.1, R up to 129.
    Wide,
}

/// A published number and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cited {
    /// The number itself.
    pub value: f64,
    /// Document, edition and place.
    pub source: &'static str,
}

/// What is known of one codec.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CodecFacts {
    /// Whose facts these are.
    pub codec: Codec,
    /// The name that people type: `g729a`.
    pub name: &'static str,
    /// The name in full.
    pub title: &'static str,
    /// The scale of `ie` and `bpl`.
    pub band: Band,
    /// Equipment impairment factor without loss, `None` where nothing is published.
    pub ie: Option<Cited>,
    /// Packet-loss robustness factor, `None` where nothing is published.
    pub bpl: Option<Cited>,
    /// Bits per second of the codec alone, while somebody speaks.
    pub bit_rate_bps: u32,
    /// Length of one frame in ms. Codecs that work sample by sample are given the 20 ms of a usual packet.
    pub frame_ms: f64,
    /// Samples that the coder wants of the next frame, in ms.
    pub look_ahead_ms: f64,
    /// Octets of RTP payload for 20 ms, `None` where 20 ms is no whole number of frames or the size varies.
    pub payload_bytes: Option<u16>,
    /// The static payload type of RFC 3551, `None` where it is negotiated.
    pub payload_type: Option<u8>,
    /// Ticks per second of RTP timestamps. For G.722 it is 8000 although there are 16000 samples (RFC 3551, 4.5.2).
    pub clock_rate_hz: u32,
    /// The encoding's name in SDP.
    pub encoding: &'static str,
}

impl CodecFacts {
    /// The delay that packing and coding add, in ms, for packets of `packet_ms`: the packet itself and the
    /// look-ahead. The time that a processor needs is not in it.
    pub fn coding_delay_ms(&self, packet_ms: f64) -> f64 {
        packet_ms.max(self.frame_ms) + self.look_ahead_ms
    }
}

impl Codec {
    /// Every codec in the table.
    pub const ALL: [Self; 31] = [
        Self::G711u,
        Self::G711uPlc,
        Self::G711a,
        Self::G711aPlc,
        Self::G729,
        Self::G729a,
        Self::G7231High,
        Self::G7231Low,
        Self::GsmFr,
        Self::GsmHr,
        Self::GsmEfr,
        Self::G72640,
        Self::G72632,
        Self::G72624,
        Self::G72616,
        Self::G728,
        Self::ImaAdpcm,
        Self::Lpc10,
        Self::Amr122,
        Self::Opus,
        Self::L16,
        Self::G722,
        Self::AmrWb660,
        Self::AmrWb885,
        Self::AmrWb1265,
        Self::AmrWb1425,
        Self::AmrWb1585,
        Self::AmrWb1825,
        Self::AmrWb1985,
        Self::AmrWb2305,
        Self::AmrWb2385,
    ];

    /// What is known of it.
    pub fn facts(self) -> CodecFacts {
        facts(self)
    }

    /// The codec behind a static RTP payload type (RFC 3551, Table 4); `None` for dynamic and unknown ones.
    ///
    /// The packets do not say how the receiver conceals losses or which annex coded them. G.711 is taken to be
    /// without concealment, 18 to be G.729A, 4 to be G.723.1 at 6.3 kbit/s.
    pub fn from_payload_type(payload_type: u8) -> Option<Self> {
        match payload_type {
            0 => Some(Self::G711u),
            3 => Some(Self::GsmFr),
            4 => Some(Self::G7231High),
            5 => Some(Self::ImaAdpcm),
            8 => Some(Self::G711a),
            9 => Some(Self::G722),
            15 => Some(Self::G728),
            18 => Some(Self::G729a),
            _ => None,
        }
    }

    /// The codec that SDP names, for example `PCMU` at 8000 Hz; `None` where the name alone does not tell the rate
    /// that the figures depend on (AMR-WB).
    pub fn from_encoding(encoding: &str, clock_rate_hz: u32) -> Option<Self> {
        let same = |facts: &CodecFacts| {
            facts.clock_rate_hz == clock_rate_hz && facts.encoding.eq_ignore_ascii_case(encoding)
        };
        let mut found = Self::ALL.into_iter().filter(|codec| same(&codec.facts()));
        let first = found.next()?;
        let ambiguous = matches!(first.facts().encoding, "AMR-WB");
        (!ambiguous).then_some(first)
    }

    /// The same codec with the concealment of G.711, Appendix I, where there is such a pair; otherwise itself.
    #[must_use]
    pub const fn concealed(self) -> Self {
        if matches!(self, Self::G711u) {
            Self::G711uPlc
        } else if matches!(self, Self::G711a) {
            Self::G711aPlc
        } else {
            self
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.facts().name)
    }
}

impl Serialize for Codec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.facts().name)
    }
}

/// A name that no codec in the table has.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("no codec is called {got:?}; known are {known}")]
pub struct UnknownCodec {
    /// What was given.
    pub got: String,
    /// The names that there are.
    pub known: String,
}

impl FromStr for Codec {
    type Err = UnknownCodec;

    /// The names of the table, in any case, and the short forms `g711`, `pcmu`, `pcma`, `gsm`, `g723`, `g726`,
    /// `amr` and `amr-wb` (12.65 kbit/s).
    fn from_str(text: &str) -> Result<Self, UnknownCodec> {
        let name = text.to_ascii_lowercase();
        let short = match name.as_str() {
            "g711" | "pcmu" => Some(Self::G711u),
            "pcma" => Some(Self::G711a),
            "g711-plc" => Some(Self::G711uPlc),
            "gsm" => Some(Self::GsmFr),
            "g723" | "g723.1" => Some(Self::G7231High),
            "g726" => Some(Self::G72632),
            "amr" => Some(Self::Amr122),
            "amr-wb" => Some(Self::AmrWb1265),
            "dvi4" => Some(Self::ImaAdpcm),
            _ => None,
        };
        let listed = || Self::ALL.into_iter().find(|codec| codec.facts().name == name);
        short.or_else(listed).ok_or_else(|| UnknownCodec {
            got: text.chars().take(40).collect(),
            known: Self::ALL.map(|codec| codec.facts().name).join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_again_and_belongs_to_one() {
        for codec in Codec::ALL {
            assert_eq!(codec.facts().codec, codec);
            assert_eq!(codec.to_string().parse(), Ok(codec));
            assert_eq!(codec.to_string().to_uppercase().parse(), Ok(codec));
        }
        assert!("g7".parse::<Codec>().unwrap_err().to_string().contains("g729a"));
    }

    #[test]
    fn payloads_follow_from_rates() {
        for codec in Codec::ALL {
            let facts = codec.facts();
            if let Some(bytes) = facts.payload_bytes {
                let bits = f64::from(facts.bit_rate_bps) * 0.020;
                let least = (bits / 8.0).ceil();
                // Frames are padded to octets, and the payload formats of AMR and DVI4 have a header.
                assert!((f64::from(bytes) - least).abs() <= 4.0, "{codec}: {bytes} for {bits} bits");
            }
        }
        assert_eq!(Codec::G729a.facts().payload_bytes, Some(20));
        assert_eq!(Codec::G711u.facts().payload_bytes, Some(160));
    }

    #[test]
    fn nothing_is_made_up_where_nothing_is_published() {
        for codec in [Codec::Opus, Codec::Lpc10, Codec::ImaAdpcm, Codec::Amr122, Codec::L16] {
            assert_eq!((codec.facts().ie, codec.facts().bpl), (None, None), "{codec}");
        }
        assert_eq!(Codec::GsmFr.facts().bpl, None);
        for codec in Codec::ALL {
            for cited in [codec.facts().ie, codec.facts().bpl].into_iter().flatten() {
                assert!(cited.source.contains("G.113"), "{codec}");
            }
        }
    }

    #[test]
    fn rtp_names_lead_to_codecs() {
        for codec in Codec::ALL {
            if let Some(payload_type) = codec.facts().payload_type {
                let found = Codec::from_payload_type(payload_type).unwrap();
                assert_eq!(found.facts().encoding, codec.facts().encoding, "{codec}");
            }
        }
        assert_eq!(Codec::from_encoding("pcmu", 8000), Some(Codec::G711u));
        assert_eq!(Codec::from_encoding("opus", 48_000), Some(Codec::Opus));
        assert_eq!(Codec::from_encoding("opus", 8000), None);
        assert_eq!(Codec::from_encoding("AMR-WB", 16_000), None, "the mode is not in the name");
        assert_eq!(Codec::from_encoding("G722", 8000), Some(Codec::G722));
        assert_eq!(Codec::from_payload_type(96), None);
    }

    #[test]
    fn paper_a_has_25_ms_of_coding_delay() {
        assert_eq!(Codec::G729a.facts().coding_delay_ms(20.0), 25.0);
        assert_eq!(Codec::G711u.facts().coding_delay_ms(20.0), 20.0);
        assert_eq!(Codec::G7231High.facts().coding_delay_ms(20.0), 37.5);
    }
}
