use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits { bytes_max: 2_048, lines_max: 64, media_max: 4 };
const OFFER: &str = "v=0\r\no=alice 3 4 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1/127\r\nt=0 0\r\na=sendonly\r\n\
                     m=audio 4000 RTP/AVP 96 0\r\na=rtpmap:96 opus/48000/2\r\na=rtcp-mux\r\nm=video 0 RTP/AVP 97\r\n";

fn parse(text: &str) -> Result<Description, SdpError> {
    Description::parse(text.as_bytes(), &LIMITS)
}

#[test]
fn a_description_is_read_whole_and_written_the_same() {
    let read = parse(OFFER).unwrap();
    assert_eq!((read.origin.username.as_str(), read.origin.session.id), ("alice", 3));
    assert_eq!((read.lines.len(), read.media.len()), (4, 2));
    assert_eq!(read.media[0].formats, ["96", "0"]);
    assert_eq!(read.media[0].attributes().collect::<Vec<_>>(), ["rtpmap:96 opus/48000/2", "rtcp-mux"]);
    assert_eq!(read.attributes().collect::<Vec<_>>(), ["sendonly"]);
    assert_eq!(read.emit(), OFFER);
}

#[test]
fn what_is_no_description_says_why() {
    #[rustfmt::skip]
    let cases = [
        ("v=0", "v=1", SdpError::Version),
        ("o=alice 3", "o=alice x", SdpError::Origin),
        ("o=alice 3", "o=alice +3", SdpError::Origin),
        ("o=alice", "x=alice", SdpError::Origin),
        ("IN IP4 192.0.2.1\r\ns", "IN IP5 192.0.2.1\r\ns", SdpError::Origin),
        ("s=-", "s=\u{7}", SdpError::ControlCharacter),
        ("s=-", "s", SdpError::Line),
        ("s=-", "S=-", SdpError::Line),
        ("s=-", " ", SdpError::Line),
        ("s=-", "o=- 1 1 IN IP4 a", SdpError::TwoBeginnings),
        ("audio 4000", "audio 4000/2", SdpError::Media),
        ("audio 4000", "audio +4000", SdpError::Media),
        ("audio 4000", "audio 70000", SdpError::Media),
        ("RTP/AVP 96 0", "RTP/AVP", SdpError::Media),
        ("m=audio", "m=\"", SdpError::Media),
    ];
    for (old, new, want) in cases {
        assert!(OFFER.contains(old), "{old:?}");
        let error = parse(&OFFER.replacen(old, new, 1)).unwrap_err();
        assert_eq!((error, error.to_string()), (want, want.reason().to_owned()), "{new:?}");
    }
    assert_eq!(Description::parse(&[b'v', 0xff], &LIMITS), Err(SdpError::Encoding));
}

#[test]
fn limits_hold() {
    let more = |count: usize, line: &str| parse(&format!("{OFFER}{}", line.repeat(count)));
    assert_eq!(more(500, "a=x\r\n"), Err(SdpError::TooLong));
    assert!(more(LIMITS.lines_max - 10, "a=x\r\n").is_ok());
    assert_eq!(more(LIMITS.lines_max - 9, "a=x\r\n"), Err(SdpError::TooManyLines));
    assert!(more(2, "m=audio 0 RTP/AVP 0\r\n").is_ok());
    assert_eq!(more(3, "m=audio 0 RTP/AVP 0\r\n"), Err(SdpError::TooManyMedia));
    let text = "x".repeat(3_000);
    assert_eq!(Lines::new(&text, &LIMITS).unwrap_err(), TooLong { got: 3_000, max: 2_048 });
}

#[test]
fn lines_are_numbered_as_an_editor_shows_them() {
    let lines: Vec<Line<'_>> = Lines::new("v=0\n\n \nab=c\nx\n", &LIMITS).unwrap().collect();
    let numbers: Vec<usize> = lines.iter().map(|line| line.number).collect();
    assert_eq!(numbers, [1, 3, 4, 5]);
    assert!(lines[1].is_blank() && !lines[2].is_blank());
    assert_eq!(lines[0].field(), Ok(Field { kind: 'v', value: "0" }));
    assert_eq!((lines[2].field(), lines[3].field()), (Err(LineError::NoLetter), Err(LineError::NoEquals)));
}

#[test]
fn values_are_split_where_the_standards_say() {
    let connection = Connection::parse("IN IP4 224.2.1.1/127/3 x").unwrap();
    assert_eq!((connection.ip(), connection.range), ("224.2.1.1".parse().ok(), Some("127/3")));
    assert_eq!((Connection::parse("IN IP5 a"), Connection::parse("XX IP4 a")), (None, None));
    let media = MediaLine::parse("audio  4000/2 RTP/SAVP 0  8").unwrap();
    assert_eq!((media.port(), media.strict_port(), media.formats().count()), (Some(4_000), None, 2));
    assert_eq!(MediaLine::parse("audio 4000"), None);
    assert_eq!(Attribute::parse("rtcp:1:2"), Attribute { name: "rtcp", value: Some("1:2") });
    assert_eq!(Attribute::parse("rtcp-mux"), Attribute { name: "rtcp-mux", value: None });
    let map = RtpMap::parse("96 opus/48000/2").unwrap();
    assert_eq!((map.payload, map.name, map.clock, map.channels), ("96", "opus", "48000", Some("2")));
    assert_eq!((RtpMap::parse("96 opus"), RtpMap::parse("96")), (None, None));
    assert_eq!(SessionVersion::parse("- 1 2"), Some(SessionVersion { id: 1, version: 2 }));
}

#[test]
fn a_key_with_parameters_is_none_and_no_key_is_shown() {
    let crypto = Crypto::parse("1  AES_CM_128_HMAC_SHA1_80 inline:SECRET|2^31").unwrap();
    assert_eq!((crypto.tag, crypto.suite, crypto.key), ("1", "AES_CM_128_HMAC_SHA1_80", "SECRET|2^31"));
    assert!(!format!("{crypto:?}").contains("SECRET"));
    for text in ["1 X inline:A UNENCRYPTED_SRTP", "1 X A", "1 X"] {
        assert_eq!(Crypto::parse(text), None, "{text}");
    }
}

#[test]
fn a_direction_has_one_name() {
    for direction in Direction::ALL {
        assert_eq!(Direction::parse(direction.name()), Some(direction));
        assert_eq!(Direction::new(direction.sends(), direction.receives()), direction);
    }
    assert_eq!(Direction::parse("SENDONLY"), None);
}

fn value() -> impl Strategy<Value = String> {
    "[ -~\tä]{0,20}"
}

fn fields() -> impl Strategy<Value = Vec<OwnedField>> {
    let kind = prop::sample::select(vec!['a', 'b', 'c', 'i', 's', 't', 'z']);
    prop::collection::vec((kind, value()).prop_map(|(kind, value)| OwnedField { kind, value }), 0..6)
}

fn media() -> impl Strategy<Value = Media> {
    let formats = prop::collection::vec("[!-~]{1,6}", 1..5);
    ("[a-z]{1,8}", any::<u16>(), "[A-Z/]{1,12}", formats, fields())
        .prop_map(|(kind, port, protocol, formats, lines)| Media { kind, port, protocol, formats, lines })
}

fn origin() -> impl Strategy<Value = Origin> {
    ("[!-~]{0,9}", any::<u64>(), any::<u64>(), any::<bool>(), "[!-~]{0,20}").prop_map(
        |(username, id, version, is_v6, address)| Origin {
            username,
            session: SessionVersion { id, version },
            family: if is_v6 { Family::V6 } else { Family::V4 },
            address,
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_the_same(
        origin in origin(), lines in fields(), media in prop::collection::vec(media(), 0..4),
    ) {
        let description = Description { origin, lines, media };
        prop_assert_eq!(parse(&description.emit()), Ok(description));
    }

    #[test]
    fn no_text_makes_any_part_panic(text in "\\PC{0,60}", edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)) {
        let _ = (Connection::parse(&text), RtpMap::parse(&text), Crypto::parse(&text), Origin::parse(&text));
        if let Some(media) = MediaLine::parse(&text) {
            let _ = (media.port(), media.strict_port(), media.formats().count());
        }
        let mut bytes = OFFER.as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(read) = Description::parse(&bytes, &LIMITS) {
            prop_assert_eq!(parse(&read.emit()), Ok(read));
        }
    }
}
