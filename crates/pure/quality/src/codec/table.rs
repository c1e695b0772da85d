//! The table itself, one row for each codec.

use super::{Band, Cited, Codec, CodecFacts};

/// G.113 (11/2007), Appendix I, Table I.1: codecs without loss.
const IE: &str = "ITU-T G.113 (11/2007) Appendix I, Table I.1";
/// G.113 (11/2007), Appendix I, Table I.4: factors for loss. Provisional there.
const LOSS: &str = "ITU-T G.113 (11/2007) Appendix I, Table I.4 (provisional)";
/// Wideband factors, for one ear.
const WIDE: &str = "ITU-T G.113 Appendix IV (wideband, provisional)";

const fn ie(value: f64) -> Option<Cited> {
    Some(Cited { value, source: IE })
}

const fn loss(value: f64) -> Option<Cited> {
    Some(Cited { value, source: LOSS })
}

const fn wide(value: f64) -> Option<Cited> {
    Some(Cited { value, source: WIDE })
}

/// A row with what most rows have in common: narrowband, 20 ms, no look-ahead, nothing published, 8 kHz.
const fn row(
    codec: Codec,
    name: &'static str,
    title: &'static str,
    bit_rate_bps: u32,
    encoding: &'static str,
) -> CodecFacts {
    CodecFacts {
        codec,
        name,
        title,
        band: Band::Narrow,
        ie: None,
        bpl: None,
        bit_rate_bps,
        frame_ms: 20.0,
        look_ahead_ms: 0.0,
        payload_bytes: None,
        payload_type: None,
        clock_rate_hz: 8000,
        encoding,
    }
}

#[rustfmt::skip]
#[expect(clippy::too_many_lines, reason = "one arm for each codec")]
pub(super) fn facts(codec: Codec) -> CodecFacts {
    match codec {
        Codec::G711u => g711(codec, "g711u", "G.711 μ-law", 4.3),
        Codec::G711uPlc => g711(codec, "g711u-plc", "G.711 μ-law with Appendix I concealment", 25.1),
        Codec::G711a => CodecFacts { payload_type: Some(8), encoding: "PCMA", ..g711(codec, "g711a", "G.711 A-law", 4.3) },
        Codec::G711aPlc => CodecFacts {
            payload_type: Some(8),
            encoding: "PCMA",
            ..g711(codec, "g711a-plc", "G.711 A-law with Appendix I concealment", 25.1)
        },
        Codec::G729 => CodecFacts { ie: ie(10.0), ..g729(codec, "g729", "G.729") },
        Codec::G729a => CodecFacts { ie: ie(11.0), bpl: loss(19.0), ..g729(codec, "g729a", "G.729 Annex A with VAD") },
        Codec::G7231High => CodecFacts {
            bpl: loss(16.1),
            ..g7231(codec, "g723.1-6.3", "G.723.1 with VAD, 6.3 kbit/s", 6300, 15.0)
        },
        Codec::G7231Low => g7231(codec, "g723.1-5.3", "G.723.1, 5.3 kbit/s", 5300, 19.0),
        Codec::G728 => CodecFacts {
            ie: ie(7.0),
            frame_ms: 0.625,
            payload_bytes: Some(40),
            payload_type: Some(15),
            ..row(codec, "g728", "G.728, 16 kbit/s", 16_000, "G728")
        },
        Codec::GsmFr => CodecFacts {
            ie: ie(20.0),
            payload_bytes: Some(33),
            payload_type: Some(3),
            ..row(codec, "gsm-fr", "GSM full rate", 13_000, "GSM")
        },
        Codec::GsmHr => CodecFacts {
            ie: ie(23.0),
            look_ahead_ms: 4.4,
            payload_bytes: Some(14),
            ..row(codec, "gsm-hr", "GSM half rate", 5600, "GSM-HR-08")
        },
        Codec::GsmEfr => CodecFacts {
            ie: ie(5.0),
            bpl: loss(10.0),
            payload_bytes: Some(31),
            ..row(codec, "gsm-efr", "GSM enhanced full rate", 12_200, "GSM-EFR")
        },
        // The same algorithm as GSM-EFR, but G.113 has no row under this name.
        Codec::Amr122 => CodecFacts {
            look_ahead_ms: 5.0,
            payload_bytes: Some(32),
            ..row(codec, "amr-12.2", "AMR, 12.2 kbit/s", 12_200, "AMR")
        },
        Codec::G72640 => g726(codec, "g726-40", "G.726, 40 kbit/s", 2.0, 100, "G726-40"),
        Codec::G72632 => g726(codec, "g726-32", "G.726, 32 kbit/s", 7.0, 80, "G726-32"),
        Codec::G72624 => g726(codec, "g726-24", "G.726, 24 kbit/s", 25.0, 60, "G726-24"),
        Codec::G72616 => g726(codec, "g726-16", "G.726, 16 kbit/s", 50.0, 40, "G726-16"),
        Codec::ImaAdpcm => CodecFacts {
            payload_bytes: Some(84),
            payload_type: Some(5),
            ..row(codec, "ima-adpcm", "IMA ADPCM, 32 kbit/s", 32_000, "DVI4")
        },
        // Payload type 7 of RFC 3551 is another coder by that name.
        Codec::Lpc10 => CodecFacts { frame_ms: 22.5, ..row(codec, "lpc10", "LPC-10e, 2.4 kbit/s", 2400, "LPC10") },
        Codec::Opus => CodecFacts { look_ahead_ms: 6.5, clock_rate_hz: 48_000, ..row(codec, "opus", "Opus", 24_000, "opus") },
        Codec::L16 => CodecFacts { payload_bytes: Some(320), ..row(codec, "l16", "linear, 16 bits", 128_000, "L16") },
        Codec::G722 => CodecFacts {
            band: Band::Wide,
            ie: wide(13.0),
            look_ahead_ms: 1.5,
            payload_bytes: Some(160),
            payload_type: Some(9),
            ..row(codec, "g722", "G.722, 64 kbit/s", 64_000, "G722")
        },
        Codec::AmrWb660 => amr_wb(codec, "amr-wb-6.60", "AMR-WB, 6.60 kbit/s", 6_600, 41.0, 19),
        Codec::AmrWb885 => amr_wb(codec, "amr-wb-8.85", "AMR-WB, 8.85 kbit/s", 8_850, 26.0, 25),
        Codec::AmrWb1265 => CodecFacts { bpl: wide(4.3), ..amr_wb(codec, "amr-wb-12.65", "AMR-WB, 12.65 kbit/s", 12_650, 13.0, 34) },
        Codec::AmrWb1425 => amr_wb(codec, "amr-wb-14.25", "AMR-WB, 14.25 kbit/s", 14_250, 10.0, 38),
        Codec::AmrWb1585 => amr_wb(codec, "amr-wb-15.85", "AMR-WB, 15.85 kbit/s", 15_850, 7.0, 42),
        Codec::AmrWb1825 => amr_wb(codec, "amr-wb-18.25", "AMR-WB, 18.25 kbit/s", 18_250, 5.0, 48),
        Codec::AmrWb1985 => amr_wb(codec, "amr-wb-19.85", "AMR-WB, 19.85 kbit/s", 19_850, 3.0, 52),
        Codec::AmrWb2305 => CodecFacts { bpl: wide(4.6), ..amr_wb(codec, "amr-wb-23.05", "AMR-WB, 23.05 kbit/s", 23_050, 1.0, 60) },
        Codec::AmrWb2385 => CodecFacts { bpl: wide(4.9), ..amr_wb(codec, "amr-wb-23.85", "AMR-WB, 23.85 kbit/s", 23_850, 8.0, 62) },
    }
}

const fn g711(codec: Codec, name: &'static str, title: &'static str, bpl: f64) -> CodecFacts {
    CodecFacts {
        ie: ie(0.0),
        bpl: loss(bpl),
        payload_bytes: Some(160),
        payload_type: Some(0),
        ..row(codec, name, title, 64_000, "PCMU")
    }
}

const fn g729(codec: Codec, name: &'static str, title: &'static str) -> CodecFacts {
    CodecFacts {
        frame_ms: 10.0,
        look_ahead_ms: 5.0,
        payload_bytes: Some(20),
        payload_type: Some(18),
        ..row(codec, name, title, 8000, "G729")
    }
}

/// RTP cannot tell the rates apart: 24 or 20 octets for each 30 ms.
const fn g7231(
    codec: Codec,
    name: &'static str,
    title: &'static str,
    rate: u32,
    impairment: f64,
) -> CodecFacts {
    CodecFacts {
        ie: ie(impairment),
        frame_ms: 30.0,
        look_ahead_ms: 7.5,
        payload_type: Some(4),
        ..row(codec, name, title, rate, "G723")
    }
}

/// 20 ms are `payload` octets, so the rate follows.
const fn g726(
    codec: Codec,
    name: &'static str,
    title: &'static str,
    impairment: f64,
    payload: u16,
    encoding: &'static str,
) -> CodecFacts {
    CodecFacts {
        ie: ie(impairment),
        payload_bytes: Some(payload),
        ..row(codec, name, title, payload as u32 * 400, encoding)
    }
}

/// The payload is octet-aligned (RFC 4867, section 4.4).
const fn amr_wb(
    codec: Codec,
    name: &'static str,
    title: &'static str,
    rate: u32,
    impairment: f64,
    payload: u16,
) -> CodecFacts {
    CodecFacts {
        band: Band::Wide,
        ie: wide(impairment),
        look_ahead_ms: 5.0,
        payload_bytes: Some(payload),
        clock_rate_hz: 16_000,
        ..row(codec, name, title, rate, "AMR-WB")
    }
}
