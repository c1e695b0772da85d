use super::*;
use proptest::prelude::*;

/// Numbers that are kept free for stories: 202-555-0142 in North America, 07700 900142 in the United Kingdom.
fn number() -> TelephoneNumber {
    "+12025550142".parse().unwrap()
}

#[test]
fn reads_the_published_deliver() {
    // The PDU that most introductions to PDU mode print, with another number in it: "hellohello" of 29 March 1999.
    let pdu = from_hex("040BC82120550541F20000993092516195800AE8329BFD4697D9EC37").unwrap();
    let read = Deliver::parse(&pdu).unwrap();
    assert_eq!(read.from, Party::Digits("12025550142".to_owned(), 0xc8));
    assert_eq!(read.text().as_deref(), Some("hellohello"));
    assert_eq!((read.alphabet(), read.has_header, read.length), (Alphabet::Septets, false, 10));
    assert_eq!((read.stamp.year, read.stamp.month, read.stamp.day, read.stamp.quarters), (99, 3, 29, 8));
}

#[test]
fn writes_the_published_layout() {
    // First byte, reference, eleven digits of an international number, PID, DCS, four days, length, data.
    let submit = Submit { to: Party::Number(number()), validity: Some(0xaa), user_data: vec![1, 0x24, 7] };
    let pdu = submit.emit().unwrap();
    assert_eq!(to_hex(&pdu), "51000B912120550541F20004AA03012407");
    assert_eq!(Submit::parse(&pdu), Ok(submit.clone()));
    let brief = Submit { validity: None, ..submit };
    assert_eq!(brief.emit().unwrap()[0], 0x41);
    assert_eq!(Submit::parse(&brief.emit().unwrap()), Ok(brief));
}

#[test]
fn addresses_are_half_bytes() {
    #[rustfmt::skip]
    let cases: [(Party, &[u8]); 5] = [
        (Party::Number("+447700900142".parse().unwrap()), &[12, 0x91, 0x44, 0x77, 0x00, 0x09, 0x10, 0x24]),
        (Party::Number(number()),                         &[11, 0x91, 0x21, 0x20, 0x55, 0x05, 0x41, 0xf2]),
        (Party::Digits("07700900142".into(), 0xa1),       &[11, 0xa1, 0x70, 0x07, 0x90, 0x00, 0x41, 0xf2]),
        (Party::Digits("*12#".into(), 0x80),              &[4, 0x80, 0x1a, 0xb2]),
        (Party::Name("hello".into()),                     &[9, 0xd0, 0xe8, 0x32, 0x9b, 0xfd, 0x06]),
    ];
    for (party, bytes) in cases {
        assert_eq!(party.emit().as_deref(), Ok(bytes), "{party:?}");
        let mut reader = Reader { rest: bytes };
        assert_eq!(Party::parse(&mut reader), Ok(party));
        assert_eq!(reader.end(), Ok(()));
    }
    for wrong in [&[21, 0x91][..], &[2, 0x11, 0x21], &[1, 0x91, 0x21], &[2, 0x91, 0xf1]] {
        assert_eq!(Party::parse(&mut Reader { rest: wrong }), Err(SmsError::Field("address")), "{wrong:?}");
    }
    assert_eq!(Party::Name("twelve chars".into()).emit(), Err(SmsError::Field("address")));
}

#[test]
fn broken_pdus_are_refused() {
    let submit = Submit { to: Party::Number(number()), validity: Some(1), user_data: vec![0; 140] };
    let pdu = submit.emit().unwrap();
    for length in 0..pdu.len() {
        assert!(matches!(Submit::parse(&pdu[..length]), Err(SmsError::Truncated(_))), "{length} bytes");
    }
    assert_eq!(Submit::parse(&[&pdu[..], &[0]].concat()), Err(SmsError::Trailing(1)));
    assert_eq!(Deliver::parse(&pdu), Err(SmsError::Kind(1)));
    let long = Submit { user_data: vec![0; 141], ..submit };
    assert_eq!(long.emit(), Err(SmsError::TooLong { got: 141, max: 140 }));
    let stamp = Timestamp::parse([0x62, 0x11, 0x12, 0x60, 0x51, 0x00, 0x00]).unwrap();
    let deliver = Deliver {
        from: Party::Number(number()),
        coding: 0xf5,
        stamp,
        has_header: true,
        length: 140,
        user_data: vec![0; 140],
    };
    let pdu = deliver.emit().unwrap();
    assert_eq!(Deliver::parse(&pdu), Ok(deliver.clone()));
    assert_eq!(deliver.alphabet(), Alphabet::Data);
    for length in 0..pdu.len() {
        assert!(matches!(Deliver::parse(&pdu[..length]), Err(SmsError::Truncated(_))), "{length} bytes");
    }
    assert_eq!(from_hex("0"), Err(SmsError::Hex));
    assert_eq!(from_hex("0g"), Err(SmsError::Hex));
    assert_eq!(from_hex("+1"), Err(SmsError::Hex));
}

#[test]
fn codings_are_those_of_the_specification() {
    use Alphabet::{Data, Other, Septets, Ucs2};
    let cases = [
        (0x00, Septets),
        (0x04, Data),
        (0x08, Ucs2),
        (0x0c, Other),
        (0x10, Septets),
        (0x15, Data),
        (0x20, Other),
        (0x40, Other),
        (0xc8, Septets),
        (0xd0, Septets),
        (0xe0, Ucs2),
        (0xf1, Septets),
        (0xf5, Data),
        (0x80, Other),
    ];
    for (coding, want) in cases {
        assert_eq!(alphabet_of(coding), want, "{coding:#04x}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
        if let Ok(submit) = Submit::parse(&bytes) {
            prop_assert_eq!(Submit::parse(&submit.emit().unwrap()), Ok(submit));
        }
        if let Ok(deliver) = Deliver::parse(&bytes) && let Ok(pdu) = deliver.emit() {
            prop_assert_eq!(Deliver::parse(&pdu), Ok(deliver));
        }
    }

    #[test]
    fn hexadecimal_is_undone(bytes: Vec<u8>) {
        prop_assert_eq!(from_hex(&to_hex(&bytes)), Ok(bytes));
    }
}
