//! What a payload type sounds like.

use crate::finder::StreamInfo;
use guestright_quality::Codec;

/// What a payload type of a stream is.
#[derive(Clone, Debug, PartialEq)]
pub enum Sound {
    Speech {
        /// The encoding's name in SDP, or "type 96" where nothing tells it.
        name: String,
        /// The codec, as far as it is known.
        codec: Option<Codec>,
        /// Ticks of the timestamp in a second, if they are known.
        clock_rate: Option<u32>,
    },
    /// Comfort noise, RFC 3389: part of the speech around it.
    ComfortNoise,
    /// Keypad tones, RFC 4733: their timestamps stand still while they last.
    Tones,
    /// A picture or a file: not rated.
    NoVoice {
        /// The encoding's name.
        name: String,
    },
}

/// What a payload type of a stream is, by SIP messages in the capture, by RFC 3551, or by somebody's word.
pub fn sound(info: &StreamInfo, payload_type: u8, stated: Option<Codec>) -> Sound {
    const NO_VOICE: [&str; 20] = [
        "h261",
        "h263",
        "h263-1998",
        "h263-2000",
        "h264",
        "h265",
        "vp8",
        "vp9",
        "av1",
        "jpeg",
        "mpv",
        "mp2t",
        "celb",
        "nv",
        "rtx",
        "ulpfec",
        "flexfec",
        "t140",
        "t38",
        "red",
    ];
    let mapping = info.mapping(payload_type);
    let name =
        mapping.as_ref().map_or_else(|| format!("type {payload_type}"), |mapping| mapping.name.clone());
    let lower = name.to_ascii_lowercase();
    if lower == "cn" {
        return Sound::ComfortNoise;
    }
    if lower == "telephone-event" || lower == "tone" {
        return Sound::Tones;
    }
    let video = info.kind.as_deref().is_some_and(|kind| !kind.eq_ignore_ascii_case("audio"));
    // "red" protects speech too, but its packets hold several pieces; its rating would be another.
    if video || NO_VOICE.contains(&lower.as_str()) {
        return Sound::NoVoice { name };
    }
    let clock_rate = mapping.as_ref().map(|mapping| mapping.clock_rate);
    let known = || {
        let mapping = mapping.as_ref()?;
        let by_type =
            (!info.names.contains_key(&payload_type)).then(|| Codec::from_payload_type(payload_type));
        by_type.flatten().or_else(|| Codec::from_encoding(&mapping.name, mapping.clock_rate))
    };
    Sound::Speech { name, codec: stated.or_else(known), clock_rate }
}

/// The usual clock rate nearest to what timestamps and arrivals look like; `None` if none is near.
pub(super) fn nearest_clock_rate(ticks: u32, nanos: u64) -> Option<u32> {
    const USUAL: [u32; 9] = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 90_000];
    #[expect(clippy::cast_precision_loss, reason = "an estimate to a tenth")]
    let rate = f64::from(ticks) * 1e9 / nanos.max(1) as f64;
    let apart = |usual: &u32| (rate / f64::from(*usual)).ln().abs();
    let nearest = USUAL.into_iter().min_by(|a, b| apart(a).total_cmp(&apart(b)))?;
    (apart(&nearest) < 0.08).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::nearest_clock_rate;

    #[test]
    fn a_clock_rate_is_told_by_time_or_not_at_all() {
        #[rustfmt::skip]
        let cases = [
            (8_000,  1_020_000_000, Some(8_000)),
            (48_000, 980_000_000,   Some(48_000)),
            (90_100, 1_000_000_000, Some(90_000)),
            (5_000,  1_000_000_000, None),
            (0,      1_000_000_000, None),
            (8_000,  0,             None),
        ];
        for (ticks, nanos, want) in cases {
            assert_eq!(nearest_clock_rate(ticks, nanos), want, "{ticks} in {nanos} ns");
        }
    }
}
