use super::*;

const OFFER: &str = "v=0\r\no=alice 7 8 IN IP4 10.9.0.2\r\ns=-\r\nc=IN IP4 10.9.0.2\r\nt=0 0\r\n\
    m=video 9 UDP/TLS/RTP/SAVPF 96\r\na=recvonly\r\n\
    m=audio 4000 RTP/SAVP 0 9 96 99\r\na=rtpmap:96 opus/48000/2\r\na=fmtp:96 useinbandfec=1\r\na=ptime:20\r\n\
    a=rtcp-mux\r\na=sendonly\r\na=x-unknown:1\r\n\
    a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:AAAA|2^31\r\n\
    a=crypto:2 AES_CM_128_HMAC_SHA1_80 inline:AAAA|1:4\r\n\
    a=crypto:3 AES_CM_128_HMAC_SHA1_80 inline:AAAA UNENCRYPTED_SRTP\r\n";

#[test]
fn control_goes_to_the_port_of_rtp_where_that_is_offered() {
    let text = |lines: &str| {
        format!(
            "v=0\r\no=- 1 1 IN IP4 10.1.0.1\r\ns=-\r\nc=IN IP4 10.1.0.1\r\nt=0 0\r\n\
             m=audio 20006 RTP/AVP 0\r\n{lines}"
        )
    };
    for (lines, port) in [
        ("", 20_007),
        ("a=rtcp:20031\r\n", 20_031),
        ("a=rtcp-mux\r\n", 20_006),
        ("a=rtcp-mux\r\na=rtcp:20007\r\n", 20_006),
    ] {
        let read = Description::parse(&text(lines)).unwrap();
        assert_eq!(read.control_address().port(), port, "{lines:?}");
    }
}

#[test]
fn an_offer_is_read() {
    let read = Description::parse(OFFER).unwrap();
    assert_eq!((read.session, read.version), (7, 8));
    assert_eq!(read.address, "10.9.0.2:4000".parse().unwrap());
    assert_eq!(read.control_address(), read.address);
    assert_eq!(read.profile, Profile::Secure { feedback: false });
    assert_eq!(read.direction, Direction::SendOnly);
    let names: Vec<_> = read.formats.iter().map(|format| format.name.as_str()).collect();
    assert_eq!(names, ["PCMU", "G722", "opus"], "99 has no name, so it is nothing");
    assert_eq!(read.formats[2].channels, 2);
    assert_eq!(read.formats[2].parameters.as_deref(), Some("useinbandfec=1"));
    let video = "m=video 0 UDP/TLS/RTP/SAVPF 96".to_owned();
    assert_eq!(read.others, [OtherMedia { index: 0, line: video }]);
}

#[test]
fn a_key_line_that_would_weaken_protection_is_not_there() {
    let tags: Vec<_> = Description::parse(OFFER).unwrap().crypto.iter().map(|crypto| crypto.tag).collect();
    assert_eq!(tags, [1], "an identifier, and UNENCRYPTED_SRTP");
}

#[test]
fn what_is_written_reads_the_same() {
    let mut read = Description::parse(OFFER).unwrap();
    read.agreement = Some(Agreement { version: 1, digest: "00ff".to_owned() });
    read.control_port = Some(4_005);
    let text = read.emit();
    assert_eq!(Description::parse(&text).unwrap(), read);
    assert!(text.find("m=video").unwrap() < text.find("m=audio").unwrap(), "media keep their places");
}

#[test]
fn the_old_way_to_hold_is_understood() {
    let text = OFFER.replace("c=IN IP4 10.9.0.2", "c=IN IP4 0.0.0.0").replace("a=sendonly", "a=sendrecv");
    assert_eq!(Description::parse(&text).unwrap().direction, Direction::SendOnly);
}

#[test]
fn an_answer_sends_only_what_is_wanted() {
    use Direction::{Inactive, ReceiveOnly, SendOnly, SendReceive};
    #[rustfmt::skip]
    let cases = [
        (SendReceive, SendReceive, SendReceive),
        (SendOnly,    SendReceive, ReceiveOnly),
        (Inactive,    SendReceive, Inactive),
        (SendReceive, SendOnly,    SendOnly),
        (SendOnly,    SendOnly,    Inactive),
    ];
    for (offer, wanted, answer) in cases {
        assert_eq!(offer.answered(wanted), answer, "{offer:?} {wanted:?}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let audio = "v=0\no=- 1 1 IN IP4 10.0.0.1\nc=IN IP4 10.0.0.1\nm=audio 9 RTP/AVP 0\n";
    assert!(Description::parse(audio).is_ok());
    let line = |text: &str| Description::parse(text).unwrap_err();
    let is_line = |error, at| matches!(error, DescriptionError::Line { line, .. } if line == at);
    assert!(is_line(line("v=0\nnothing\n"), 2));
    assert!(is_line(line("o=- x 1 IN IP4 10.0.0.1\n"), 1));
    assert!(is_line(line("c=IN IP4 example.org\n"), 1), "names are not looked up");
    assert!(is_line(line("c=IN IP4 224.0.0.1\n"), 1), "we do not send to groups");
    assert!(is_line(line(&format!("{audio}a=rtpmap:96 x/0\n")), 5));
    assert!(is_line(line(&format!("{audio}a=guestright-agreement:1 XYZ\n")), 5));
    let twice = "a=guestright-agreement:1 00\n".repeat(2);
    assert_eq!(line(&format!("{audio}{twice}")), DescriptionError::TooMany { what: "agreements", max: 1 });
    assert_eq!(line("v=0\n"), DescriptionError::NoAudio);
    assert_eq!(line(&audio.replace("audio 9", "audio 0")), DescriptionError::NoAudio);
    assert_eq!(line(&audio.replace("RTP/AVP", "UDP/TLS/RTP/SAVPF")), DescriptionError::NoAudio);
    let media = "m=video 9 RTP/AVP 96\n".repeat(MEDIA_MAX + 1);
    assert_eq!(line(&media), DescriptionError::TooMany { what: "media", max: MEDIA_MAX });
    assert!(matches!(line(&"a".repeat(9_000)), DescriptionError::TooLong { got: 9_000, .. }));
}

#[test]
fn keys_are_not_printed() {
    let read = Description::parse(&OFFER.replace("AAAA|2^31", "SECRET")).unwrap();
    assert_eq!(read.crypto[0].key.as_str(), "SECRET");
    assert!(!format!("{read:?}").contains("SECRET"));
}

/// Everything that parses is written so that it parses to the same, and nothing makes the parser fall over.
#[test]
fn no_text_can_break_it() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut chance = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 11).unwrap() % below
    };
    let pieces: Vec<&str> = OFFER.split_inclusive(&[' ', ':', '/', '\n', '='][..]).collect();
    let mut parsed = 0;
    for _ in 0..20_000 {
        let mut mixed = pieces.clone();
        for _ in 0..=chance(3) {
            let at = chance(mixed.len());
            match chance(3) {
                0 => drop(mixed.remove(at)),
                1 => mixed[at] = pieces[chance(pieces.len())],
                _ => mixed.insert(at, "\u{0}é\t9999999999999999999999"),
            }
        }
        if let Ok(read) = Description::parse(&mixed.concat()) {
            parsed += 1;
            let again = Description::parse(&read.emit()).unwrap();
            assert_eq!(again, read);
        }
    }
    assert!(parsed > 1_000, "the mutations are too wild to test anything: {parsed}");
}
