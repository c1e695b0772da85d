use super::*;
use proptest::prelude::*;

const GOOD: &str = "INVITE sip:bob@10.0.0.1 SIP/2.0\r\nv: SIP/2.0/UDP 10.0.0.2;branch=z9hG4bK1 ,\r\n SIP/2.0/TCP x\r\n\
                    f: <sip:a@b>;tag=1\r\nt: \"Bob, the \\\"1st\\\"\" <sip:b@b;x=1,2>\r\nCALL-id: 1\r\ncseq: 1 INVITE\r\n\
                    record-route: <sip:x;lr>\r\nl: 2\r\n\r\nhi";

#[test]
fn compact_folded_and_oddly_written_headers_become_one_form() {
    let message = Message::parse(GOOD.as_bytes()).unwrap();
    assert_eq!(message.start, Start::Request { method: Method::Invite, uri: "sip:bob@10.0.0.1".to_owned() });
    let names: Vec<&str> = message.headers().map(|(name, _)| name).collect();
    assert_eq!(names, ["Via", "From", "To", "Call-ID", "CSeq", "Record-Route", "Content-Length"]);
    let vias: Vec<&str> = message.list("Via").collect();
    assert_eq!(vias, ["SIP/2.0/UDP 10.0.0.2;branch=z9hG4bK1", "SIP/2.0/TCP x"]);
    assert_eq!(message.list("To").count(), 1, "commas in quotes and brackets part nothing");
    assert_eq!(message.body, b"hi");
    let again = Message::parse(&message.emit()).unwrap();
    assert_eq!((again.emit(), again.body), (message.emit(), message.body));
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_refused() {
    let malformed = |old: &str, new: &str| {
        assert!(GOOD.contains(old), "{old}");
        Message::parse(GOOD.replacen(old, new, 1).as_bytes())
    };
    #[rustfmt::skip]
    let cases = [
        ("bare line end", "f: ", "x: 1\nf: "), ("bare carriage return", "f: ", "x: 1\rf: "),
        ("zero byte", "f: ", "x: \0\r\nf: "), ("no colon", "f: ", "x\r\nf: "), ("space in a name", "f: ", "x y: 1\r\nf: "),
        ("no name", "f: ", ": 1\r\nf: "), ("other version", "SIP/2.0\r\nv", "SIP/3.0\r\nv"),
        ("two spaces", "INVITE sip", "INVITE  sip"), ("length cut", "l: 2", "l: 3"), ("no number", "l: 2", "l: +2"),
        ("two lengths", "l: 2", "l: 2\r\nContent-Length: 2"), ("two callers", "f: ", "From: <sip:c@d>;tag=9\r\nf: "),
        ("two numbers", "cseq: ", "CSeq: 2 BYE\r\ncseq: "), ("method of symbols", "INVITE sip", "IN(VITE sip"),
    ];
    for (name, old, new) in cases {
        assert!(malformed(old, new).is_err(), "{name}");
    }
    let long = format!("x: {}\r\nf: ", "y".repeat(2_100));
    assert_eq!(malformed("f: ", &long), Err(MessageError::TooLong { max: 2_048 }));
    assert!(malformed("f: ", &format!("{}f: ", "x: 1\r\n".repeat(100))).is_err());
    for bytes in [&b""[..], b"\r\n\r\n", b"SIP/2.0 99 x\r\n\r\n", b"SIP/2.0 700 x\r\n\r\n", &[0xff; 40]] {
        assert!(Message::parse(bytes).is_err(), "{bytes:?}");
    }
}

#[test]
fn a_stream_says_how_long_its_messages_are() {
    for cut in 0..GOOD.len() {
        let want = if cut < GOOD.len() - 2 { None } else { Some(GOOD.len()) };
        assert_eq!(Message::measure(&GOOD.as_bytes()[..cut]), Ok(want), "{cut}");
    }
    assert_eq!(Message::measure(b"\r\n\r\n"), Ok(Some(2)));
    for bad in [
        "A sip:b SIP/2.0\r\nX: 1\r\n\r\n",
        "A sip:b SIP/2.0\r\nl: 1\r\nContent-Length: 2\r\n\r\n",
        "A\r\nl: 99999\r\n\r\n",
    ] {
        assert!(Message::measure(bad.as_bytes()).is_err(), "{bad}");
    }
    assert!(Message::measure(&[b'a'; MESSAGE_MAX + 1]).is_err());
}

#[test]
fn nothing_that_is_pushed_becomes_a_second_header() {
    let message = Message::response(200, "OK").with("Subject", "a\r\nEvil: 1\0");
    let text = String::from_utf8(message.emit()).unwrap();
    assert_eq!(text, "SIP/2.0 200 OK\r\nSubject: a  Evil: 1 \r\nContent-Length: 0\r\n\r\n");
}

proptest! {
    #[test]
    fn what_is_read_is_written_and_read_again(bytes: Vec<u8>, edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8)) {
        let mut near = GOOD.as_bytes().to_vec();
        edits.into_iter().for_each(|(index, byte)| { let position = index.index(near.len()); near[position] = byte; });
        for bytes in [&bytes, &near] {
            let measured = Message::measure(bytes);
            if let Ok(message) = Message::parse(bytes) {
                let written = message.emit();
                let again = Message::parse(&written).expect("what is written is read");
                prop_assert_eq!(again.emit(), written.clone());
                prop_assert_eq!(Message::measure(&written), Ok(Some(written.len())));
                if let Ok(Some(length)) = measured {
                    prop_assert!(length <= bytes.len());
                }
            }
        }
    }
}
