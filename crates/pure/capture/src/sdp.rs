//! What calls agreed on, from SIP messages in the capture: RFC 3261, RFC 8866, RFC 3264. A capture may have cut a
//! message short, so a line that cannot be read is passed over.

use guestright_wire::sdp::{Attribute, Connection, Limits, Lines, MediaLine, RtpMap};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The most addresses that are remembered.
const ADDRESSES_MAX: usize = 10_000;
/// How much of one description is read: no message of a capture is longer.
const LIMITS: Limits = Limits { bytes_max: 65_535, lines_max: 1_000, media_max: 16 };
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
    addresses: BTreeMap<SocketAddr, Media>,
    /// What a payload type means wherever it was mentioned; `None` if it means different things.
    anywhere: BTreeMap<u8, Option<Mapping>>,
    messages: u64,
}

impl Agreements {
    /// Reads a datagram or segment that may be SIP; anything else changes nothing.
    pub fn read_payload(&mut self, payload: &[u8]) {
        if !is_sip(payload) {
            return;
        }
        self.messages += 1;
        let text = String::from_utf8_lossy(payload);
        let body = text.split_once("\r\n\r\n").or_else(|| text.split_once("\n\n"));
        let Some((_, body)) = body else { return };
        for (address, media) in read_body(body) {
            for (number, mapping) in &media.types {
                let known = self.anywhere.entry(*number).or_insert_with(|| Some(mapping.clone()));
                if known.as_ref() != Some(mapping) {
                    *known = None;
                }
            }
            if self.addresses.len() < ADDRESSES_MAX || self.addresses.contains_key(&address) {
                self.addresses.insert(address, media);
            }
        }
    }

    /// How many SIP messages there were.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// What was agreed on for a stream: as its receiver wants it, or else as its sender would receive.
    pub fn media(&self, from: SocketAddr, to: SocketAddr) -> Option<&Media> {
        self.addresses.get(&to).or_else(|| self.addresses.get(&from))
    }

    /// What a payload type of a stream means. Where addresses were translated on the way, what every description of
    /// the capture says of that type.
    pub fn mapping(&self, from: SocketAddr, to: SocketAddr, payload_type: u8) -> Option<&Mapping> {
        let here = [to, from].into_iter().filter_map(|address| self.addresses.get(&address));
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

/// A stream of a description that is being read.
struct Stream {
    address: Option<IpAddr>,
    port: u16,
    media: Media,
}

fn read_body(body: &str) -> Vec<(SocketAddr, Media)> {
    let Ok(lines) = Lines::new(body, &LIMITS) else { return Vec::new() };
    let mut found: Vec<Stream> = Vec::new();
    let mut session: Option<IpAddr> = None;
    for field in lines.filter_map(|line| line.field().ok()) {
        let value = field.value.trim_end();
        match (field.kind, found.last_mut()) {
            ('c', None) => session = connection(value).or(session),
            ('c', Some(stream)) => stream.address = connection(value).or(stream.address),
            ('m', _) => {
                let stream = read_media(value);
                found.extend(stream.map(|(port, media)| Stream { address: session, port, media }));
            }
            ('a', Some(stream)) => read_attribute(Attribute::parse(value), &mut stream.media),
            _ => {}
        }
    }
    let placed = |stream: Stream| Some((SocketAddr::new(stream.address?, stream.port), stream.media));
    found.into_iter().filter(|stream| stream.port != 0).take(LIMITS.media_max).filter_map(placed).collect()
}

fn connection(value: &str) -> Option<IpAddr> {
    Connection::parse(value)?.ip()
}

fn read_media(value: &str) -> Option<(u16, Media)> {
    let line = MediaLine::parse(value)?;
    let kind: String = line.kind.chars().filter(char::is_ascii_alphanumeric).take(NAME_MAX).collect();
    let protected = line.protocol.contains("SAVP");
    Some((line.port()?, Media { kind, protected, ..Media::default() }))
}

fn read_attribute(attribute: Attribute<'_>, media: &mut Media) {
    let Some(value) = attribute.value else { return };
    match attribute.name {
        "ptime" => media.ptime_ms = value.trim().parse().ok().filter(|ms| (1..=1_000).contains(ms)),
        // Keys beside a profile without protection: "best effort", which softphones take up.
        "crypto" | "fingerprint" | "key-mgmt" => media.protected = true,
        "rtpmap" => {
            let mapping = RtpMap::parse(value).and_then(read_mapping);
            media.types.extend(mapping.filter(|_| media.types.len() < TYPES_MAX));
        }
        _ => {}
    }
}

fn read_mapping(map: RtpMap<'_>) -> Option<(u8, Mapping)> {
    let number = map.payload.trim().parse().ok().filter(|number| *number < 128)?;
    let clock_rate = map.clock.parse().ok().filter(|rate| (1_000..=384_000).contains(rate))?;
    let name: String = map.name.chars().filter(|c| c.is_ascii_graphic()).take(NAME_MAX).collect();
    (!name.is_empty()).then_some((number, Mapping { name, clock_rate }))
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
        agreements.read_payload(INVITE.as_bytes());
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
        agreements.read_payload(INVITE.as_bytes());
        let (a, b) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
        assert_eq!(agreements.mapping(a, b, 96).unwrap().name, "opus");
        agreements.read_payload(INVITE.replace("opus/48000/2", "speex/16000").as_bytes());
        assert_eq!(agreements.mapping(a, b, 96), None);
    }

    #[test]
    fn keys_beside_an_unprotected_profile_are_protection_too() {
        let sdp = "SIP/2.0 200 OK\r\n\r\nc=IN IP4 192.0.2.1\r\nm=audio 4000 RTP/AVP 0\r\n\
            a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\r\n";
        let mut agreements = Agreements::default();
        agreements.read_payload(sdp.as_bytes());
        let address = "192.0.2.1:4000".parse().unwrap();
        assert!(agreements.media(address, address).unwrap().protected);
    }

    #[test]
    fn makes_nothing_of_other_text() {
        let mut agreements = Agreements::default();
        for text in
            ["HTTP/1.1 200 OK\r\n\r\nm=audio 1 RTP/AVP 0", "SIP/2.0 200 OK\r\n\r\nm=audio x y z\r\na=rtpmap:"]
        {
            agreements.read_payload(text.as_bytes());
        }
        assert!(agreements.addresses.is_empty());
    }
}
