//! Session descriptions, as the one parser of their text reads them.

use crate::seeds::Seed;
use guestright_wire::sdp::{
    Attribute, Connection, Crypto, Description, Limits, Lines, MediaLine, Origin, RtpMap, SessionVersion,
};

const LIMITS: Limits = Limits { bytes_max: 8_192, lines_max: 256, media_max: 8 };

/// Any text: what is read whole is written so that it reads the same, every line is within the limits, and a value that
/// one reader takes is the same to the others.
pub fn sdp(bytes: &[u8]) {
    if let Ok(description) = Description::parse(bytes, &LIMITS) {
        let written = description.emit();
        // Writing it out may take a few bytes more: line ends of two bytes, for one.
        let roomy = Limits { bytes_max: written.len(), ..LIMITS };
        assert_eq!(Description::parse(written.as_bytes(), &roomy), Ok(description), "what was written");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(lines) = Lines::new(text, &LIMITS) else { return };
    let mut count = 0;
    for line in lines {
        count += 1;
        let Ok(field) = line.field() else { continue };
        assert_eq!(format!("{}={}", field.kind, field.value), line.text);
        check_value(field.value);
    }
    assert!(count <= LIMITS.lines_max);
}

/// Every kind of value in turn, whatever the line says that it is.
fn check_value(value: &str) {
    if let Some(origin) = Origin::parse(value) {
        assert_eq!(SessionVersion::parse(value), Some(origin.session));
        assert_eq!(Origin::parse(&origin.to_string()), Some(origin));
    }
    if let Some(media) = MediaLine::parse(value) {
        assert!(media.strict_port().is_none_or(|port| media.port() == Some(port)));
        assert!(media.formats().all(|format| !format.is_empty()));
    }
    if let Some(connection) = Connection::parse(value) {
        assert!(!connection.address.contains('/'));
        let _ = connection.ip();
    }
    let attribute = Attribute::parse(value);
    let Some(value) = attribute.value else { return };
    let _ = (RtpMap::parse(value), Crypto::parse(value));
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let offer = "v=0\r\no=alice 3 4 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\nm=audio 4000 RTP/SAVP 96 0\r\n\
                 a=rtpmap:96 opus/48000/2\r\na=fmtp:96 useinbandfec=1\r\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA|2^31\r\n\
                 a=sendonly\r\nm=video 0 RTP/AVP 97\r\n";
    let cases = [
        ("offer", offer.to_owned()),
        ("group", offer.replace("c=IN IP4 192.0.2.1", "c=IN IP4 224.2.1.1/127/3")),
        ("v6", offer.replace("IP4 192.0.2.1", "IP6 2001:db8::1")),
        ("loose", offer.replace("\r\n", " \n\n").replace("audio 4000", "audio  +4000/2")),
        ("cut", offer[..offer.len() / 2].to_owned()),
    ];
    for (name, text) in cases {
        seeds.push(("sdp", name.to_owned(), text.into_bytes()));
    }
}
