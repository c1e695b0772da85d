//! What calls agreed on, from SIP messages in the capture: RFC 3261, RFC 8866, RFC 3264.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The most places that are remembered.
const PLACES_MAX: usize = 10_000;
/// The most payload types of one description.
const TYPES_MAX: usize = 128;
/// The longest name of a codec.
const NAME_MAX: usize = 32;

/// What a payload type means.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mapping {
    /// The name of the codec, as SDP has it: `opus`, `telephone-event`.
    pub name: String,
    /// Ticks of its clock in a second.
    pub clock_rate: u32,
}

/// One `m=` of a description: where somebody wants to receive, and what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// `audio`, `video`.
    pub kind: String,
    /// Whether it is to be SRTP.
    pub protected: bool,
    /// How much speech a packet holds, in ms, if it says.
    pub ptime_ms: Option<u32>,
    /// What payload types mean.
    pub types: BTreeMap<u8, Mapping>,
}

/// What the SIP messages so far have said.
#[derive(Clone, Debug, Default)]
pub struct Agreements {
    places: BTreeMap<SocketAddr, Media>,
    /// What a payload type means wherever it was mentioned; `None` if it means different things.
    anywhere: BTreeMap<u8, Option<Mapping>>,
    messages: u64,
}

impl Agreements {
    /// Takes a datagram or segment that may be SIP; anything else changes nothing.
    pub fn take(&mut self, payload: &[u8]) {
        if !is_sip(payload) {
            return;
        }
        self.messages += 1;
        let text = String::from_utf8_lossy(payload);
        let body = text.split_once("\r\n\r\n").or_else(|| text.split_once("\n\n"));
        let Some((_, body)) = body else { return };
        for (place, media) in describe(body) {
            for (number, mapping) in &media.types {
                let known = self.anywhere.entry(*number).or_insert_with(|| Some(mapping.clone()));
                if known.as_ref() != Some(mapping) {
                    *known = None;
                }
            }
            if self.places.len() < PLACES_MAX || self.places.contains_key(&place) {
                self.places.insert(place, media);
            }
        }
    }

    /// How many SIP messages there were.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// What was agreed on for a stream: as its receiver wants it, or else as its sender would receive.
    pub fn media(&self, from: SocketAddr, to: SocketAddr) -> Option<&Media> {
        self.places.get(&to).or_else(|| self.places.get(&from))
    }

    /// What a payload type of a stream means. Where addresses were translated on the way, what every description of
    /// the capture says of that type.
    pub fn mapping(&self, from: SocketAddr, to: SocketAddr, payload_type: u8) -> Option<&Mapping> {
        let here = [to, from].into_iter().filter_map(|place| self.places.get(&place));
        here.filter_map(|media| media.types.get(&payload_type))
            .next()
            .or_else(|| self.anywhere.get(&payload_type)?.as_ref())
    }
}

fn is_sip(payload: &[u8]) -> bool {
    const STARTS: [&[u8]; 7] =
        [b"INVITE ", b"SIP/2.0 ", b"ACK ", b"UPDATE ", b"PRACK ", b"OPTIONS ", b"BYE "];
    STARTS.iter().any(|start| payload.starts_with(start))
}

fn describe(body: &str) -> Vec<(SocketAddr, Media)> {
    let mut found: Vec<(Option<IpAddr>, u16, Media)> = Vec::new();
    let mut session: Option<IpAddr> = None;
    for line in body.lines().take(1_000) {
        let Some((key, value)) = line.trim_end().split_once('=') else { continue };
        match (key, found.last_mut()) {
            ("c", None) => session = connection(value).or(session),
            ("c", Some((place, ..))) => *place = connection(value).or(*place),
            ("m", _) => {
                if let Some((port, media)) = media_line(value) {
                    found.push((session, port, media));
                }
            }
            ("a", Some((.., media))) => attribute(value, media),
            _ => {}
        }
    }
    let placed =
        |(place, port, media): (Option<IpAddr>, u16, Media)| Some((SocketAddr::new(place?, port), media));
    found.into_iter().filter(|(_, port, _)| *port != 0).take(16).filter_map(placed).collect()
}

/// `IN IP4 192.0.2.1`, perhaps with a time to live behind a slash.
fn connection(value: &str) -> Option<IpAddr> {
    value.split_whitespace().nth(2)?.split('/').next()?.parse().ok()
}

/// `audio 4000 RTP/AVP 0 8 96`.
fn media_line(value: &str) -> Option<(u16, Media)> {
    let mut words = value.split_whitespace();
    let kind: String = words.next()?.chars().filter(char::is_ascii_alphanumeric).take(NAME_MAX).collect();
    let port = words.next()?.split('/').next()?.parse().ok()?;
    let protected = words.next()?.contains("SAVP");
    Some((port, Media { kind, protected, ..Media::default() }))
}

fn attribute(value: &str, media: &mut Media) {
    if let Some(ptime) = value.strip_prefix("ptime:") {
        media.ptime_ms = ptime.trim().parse().ok().filter(|ms| (1..=1_000).contains(ms));
    }
    // Keys beside a profile without protection: "best effort", which softphones take up.
    if ["crypto:", "fingerprint:", "key-mgmt:"].iter().any(|key| value.starts_with(key)) {
        media.protected = true;
    }
    let Some((number, codec)) = value.strip_prefix("rtpmap:").and_then(|map| map.split_once(' ')) else {
        return;
    };
    let mut parts = codec.trim().split('/');
    let (Ok(number), Some(name), Some(Ok(clock_rate))) =
        (number.trim().parse::<u8>(), parts.next(), parts.next().map(str::parse::<u32>))
    else {
        return;
    };
    let name: String = name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_MAX).collect();
    let sensible = number < 128 && !name.is_empty() && (1_000..=384_000).contains(&clock_rate);
    if sensible && media.types.len() < TYPES_MAX {
        media.types.insert(number, Mapping { name, clock_rate });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVITE: &str = "INVITE sip:bob@192.0.2.9 SIP/2.0\r\nContent-Type: application/sdp\r\n\r\n\
        v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
        m=audio 4000 RTP/SAVP 96 0 101\r\na=rtpmap:96 opus/48000/2\r\na=rtpmap:101 telephone-event/8000\r\n\
        a=ptime:40\r\nm=video 0 RTP/AVP 97\r\na=rtpmap:97 H264/90000\r\n";

    #[test]
    fn names_the_dynamic_types_of_a_call() {
        let mut agreements = Agreements::default();
        agreements.take(INVITE.as_bytes());
        let (caller, other) = ("192.0.2.1:4000".parse().unwrap(), "192.0.2.9:5000".parse().unwrap());
        let opus = Mapping { name: "opus".to_owned(), clock_rate: 48_000 };
        assert_eq!(agreements.mapping(other, caller, 96), Some(&opus));
        assert_eq!(agreements.mapping(caller, other, 96), Some(&opus), "the other way too");
        let media = agreements.media(other, caller).unwrap();
        assert_eq!((media.kind.as_str(), media.protected, media.ptime_ms), ("audio", true, Some(40)));
    }

    #[test]
    fn behind_a_translated_address_a_type_is_named_only_if_all_agree() {
        let mut agreements = Agreements::default();
        agreements.take(INVITE.as_bytes());
        let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
        assert_eq!(agreements.mapping(a, b, 96).unwrap().name, "opus");
        agreements.take(INVITE.replace("opus/48000/2", "speex/16000").as_bytes());
        assert_eq!(agreements.mapping(a, b, 96), None);
    }

    #[test]
    fn keys_beside_an_unprotected_profile_are_protection_too() {
        let sdp = "SIP/2.0 200 OK\r\n\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000 RTP/AVP 0\r\n\
            a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n";
        let mut agreements = Agreements::default();
        agreements.take(sdp.as_bytes());
        let place = "192.0.2.1:4000".parse().unwrap();
        assert!(agreements.media(place, place).unwrap().protected);
    }

    #[test]
    fn makes_nothing_of_other_text() {
        let mut agreements = Agreements::default();
        for text in
            ["HTTP/1.1 200 OK\r\n\r\nm=audio 1 RTP/AVP 0", "SIP/2.0 200 OK\r\n\r\nm=audio x y z\r\na=rtpmap:"]
        {
            agreements.take(text.as_bytes());
        }
        assert!(agreements.places.is_empty());
    }
}
