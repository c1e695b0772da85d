use super::*;
use data_encoding::HEXLOWER_PERMISSIVE;
use proptest::prelude::*;

fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).unwrap()
}

/// The secret of all examples in RFC 2865 and RFC 5997.
fn secret() -> Secret {
    Secret::new(b"xyzzy5461").unwrap()
}

const REQUESTS: [&str; 4] = [
    // RFC 2865, section 7.1.
    "01000038 0f403f9473978057bd83d5cb98f4227a 01066e656d6f 02120dbe708d93d413ce3196e43f782a0aee 0406c0a80110 050600000003",
    // Section 7.2.
    "01010047 2aee86f08d0d55969ca5978e0d3367a2 0108666c6f707379 031316e97557c316185895f293ff634407727
     5 0406c0a80110 050600000014 060600000002 070600000001",
    // Section 7.3, twice.
    "01020039 f3a47a1f6a6d76710b947ab93041a039 01076d6f707379 021233657573778289b570885e15084825c5 0406c0a80110 050600000007",
    "01030043 b122556d428a13d0d6253807c457ecf0 01076d6f707379 0212692c1f205fc081b919b95195f561a581 0406c0a80110 050600000007
     180a3332373639343330",
];

const RESPONSES: [&str; 4] = [
    "02000026 86fe220e7624ba2a1005f6bf9b55e0b2 060600000001 0f0600000000 0e06c0a80103",
    "02010038 15efbc7dab26cfa3dc34d9c03c8601a4 060600000002 070600000001 0806fffffffe 0a0600000002 0d0600000001 0c06000005dc",
    "0b02004e 36f3c8764ae8c71157403c0c71ff9c45 12304368616c6c656e67652033323736393433302e2020456e746572
     20726573706f6e73652061742070726f6d70742e 180a3332373639343330",
    "03030014 a42f4fca45916c4e09c8340f9e746aa0",
];

#[test]
fn the_examples_of_rfc_2865_are_read_and_their_authenticators_are_right() {
    for (request, response) in REQUESTS.iter().zip(RESPONSES) {
        let (request, response) = (hex(request), hex(response));
        let (asked, answer) = (Packet::parse(&request).unwrap(), Packet::parse(&response).unwrap());
        assert_eq!(asked.identifier(), answer.identifier());
        answer.verify_digest(&secret(), &asked.authenticator()).unwrap();
        // They are from before Message-Authenticator, so we refuse them.
        let missing = Err(RadiusError::Missing { kind: Kind::MESSAGE_AUTHENTICATOR });
        assert_eq!(asked.verify_request(&secret()), missing);
        assert_eq!(answer.verify_response(&secret(), &asked.authenticator()), missing);
    }
    let bytes = hex(RESPONSES[2]);
    let challenge = Packet::parse(&bytes).unwrap();
    assert_eq!(
        challenge.text(Kind::REPLY_MESSAGE),
        Ok(Some("Challenge 32769430.  Enter response at prompt."))
    );
    assert_eq!(challenge.one(Kind::STATE), Ok(Some(&b"32769430"[..])));
    let bytes = hex(REQUESTS[0]);
    let request = Packet::parse(&bytes).unwrap();
    assert_eq!(request.nas_address(), Ok(Some([192, 168, 1, 16].into())));
    assert_eq!(request.integer(Kind::NAS_PORT), Ok(Some(3)));
    assert_eq!(request.text(Kind::USER_NAME), Ok(Some("nemo")));
}

#[test]
fn the_examples_of_rfc_5997_are_right_and_are_what_we_write() {
    let query = hex("0cda0026 8a54f4686fb394c52866e302185d0623 5012 5a665e2e1e8411f3e243822097c84fa3");
    let packet = Packet::parse(&query).unwrap();
    packet.verify_request(&secret()).unwrap();
    assert_eq!(Draft::new(Code::StatusServer, 0xda).emit_request(&secret(), packet.authenticator()), query);
    let response = hex("02da0014 ef0d552a4bf2d693ec2b6fe8b5411d66");
    let response = Packet::parse(&response).unwrap();
    response.verify_digest(&secret(), &packet.authenticator()).unwrap();

    let query = hex("0cb30026 925f6b66dd5fed571fcb1db7ad388260 5012 e8d6eabda910875cd91fdade26367858");
    Packet::parse(&query).unwrap().verify_request(&secret()).unwrap();
}

#[test]
fn message_authenticator_is_the_first_attribute_of_what_we_write() {
    for code in Code::ALL {
        let mut draft = Draft::new(code, 1);
        draft.push(Kind::CLASS, b"a").unwrap();
        let bytes = if code.is_response() {
            draft.emit_response(&secret(), &[1; 16])
        } else {
            draft.emit_request(&secret(), [1; 16])
        };
        let packet = Packet::parse(&bytes).unwrap();
        let first = packet.attributes().next().unwrap().kind;
        let is_accounting = matches!(code, Code::AccountingRequest | Code::AccountingResponse);
        assert_eq!(first == Kind::MESSAGE_AUTHENTICATOR, !is_accounting, "{code:?}");
        let verified = if code.is_response() {
            packet.verify_response(&secret(), &[1; 16])
        } else {
            packet.verify_request(&secret())
        };
        assert_eq!(verified, Ok(()), "{code:?}");
    }
}

#[test]
fn an_answer_without_message_authenticator_is_refused_even_with_a_right_authenticator() {
    let mut bytes = vec![Code::AccessAccept as u8, 1, 0, 20];
    bytes.extend(secret().digest(&[&[2, 1, 0, 20], &[1; 16]]));
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.verify_digest(&secret(), &[1; 16]), Ok(()));
    let missing = RadiusError::Missing { kind: Kind::MESSAGE_AUTHENTICATOR };
    assert_eq!(packet.verify_response(&secret(), &[1; 16]), Err(missing));
}

#[test]
fn two_message_authenticators_are_one_too_many() {
    let mut draft = Draft::new(Code::AccessRequest, 1);
    draft.push(Kind::MESSAGE_AUTHENTICATOR, &[0; 16]).unwrap();
    let bytes = draft.emit_request(&secret(), [1; 16]);
    let repeated = RadiusError::Repeated { kind: Kind::MESSAGE_AUTHENTICATOR };
    assert_eq!(Packet::parse(&bytes).unwrap().verify_request(&secret()), Err(repeated));
}

type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let good = Draft::new(Code::AccessRequest, 1).emit_request(&secret(), [1; 16]);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        Packet::parse(&bytes).map(|packet| packet.as_bytes().len())
    };
    #[rustfmt::skip]
    let cases: [(&str, Change<'_>, Result<usize, RadiusError>); 9] = [
        ("as it is",         &|_| {},                                  Ok(38)),
        ("padding",          &|bytes| bytes.extend([0; 9]),            Ok(38)),
        ("empty",            &|bytes| bytes.clear(),                   Err(RadiusError::Length { got: 0 })),
        ("half a header",    &|bytes| bytes.truncate(12),              Err(RadiusError::Truncated { got: 12, want: 38 })),
        ("cut",              &|bytes| bytes.truncate(37),              Err(RadiusError::Truncated { got: 37, want: 38 })),
        ("names too little", &|bytes| bytes[3] = 19,                   Err(RadiusError::Length { got: 19 })),
        ("names too much",   &|bytes| bytes[2..4].fill(0x20),          Err(RadiusError::Length { got: 0x2020 })),
        ("attribute of 1",   &|bytes| bytes[21] = 1,                   Err(RadiusError::Attribute { at: 20 })),
        ("attribute beyond", &|bytes| bytes[21] = 19,                  Err(RadiusError::Attribute { at: 20 })),
    ];
    for (name, change, want) in cases {
        assert_eq!(with(change), want, "{name}");
    }
    assert_eq!(with(&|bytes| bytes[0] = 99), Err(RadiusError::Code { got: 99 }));
}

#[test]
fn values_of_the_wrong_length_are_refused() {
    let mut draft = Draft::new(Code::AccessRequest, 1);
    for kind in [Kind::NAS_PORT, Kind::NAS_IP_ADDRESS, Kind::NAS_IPV6_ADDRESS, Kind::USER_NAME] {
        draft.push(kind, &[0xff; 3]).unwrap();
    }
    draft.push(Kind::STATE, b"1").unwrap().push(Kind::STATE, b"2").unwrap();
    let bytes = draft.emit_request(&secret(), [1; 16]);
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.integer(Kind::NAS_PORT), Err(RadiusError::Value { kind: Kind::NAS_PORT, got: 3 }));
    assert!(packet.nas_address().is_err());
    assert!(packet.text(Kind::USER_NAME).is_err());
    assert_eq!(packet.one(Kind::STATE), Err(RadiusError::Repeated { kind: Kind::STATE }));
}

#[test]
fn what_is_too_long_is_not_written() {
    let mut draft = Draft::new(Code::AccessChallenge, 1);
    assert_eq!(draft.push(Kind::STATE, &[0; 254]).map(drop), Err(RadiusError::TooLong));
    while draft.push(Kind::STATE, &[0; VALUE_BYTES_MAX]).is_ok() {}
    while draft.push(Kind::STATE, &[]).is_ok() {}
    let bytes = draft.emit_response(&secret(), &[1; 16]);
    assert!((PACKET_BYTES_MAX - 1..=PACKET_BYTES_MAX).contains(&bytes.len()), "{}", bytes.len());
    assert!(Packet::parse(&bytes).is_ok());
}

fn attributes() -> impl Strategy<Value = Vec<(u8, Vec<u8>)>> {
    let kind = any::<u8>().prop_filter("not the one that we add", |kind| *kind != 80);
    prop::collection::vec((kind, prop::collection::vec(any::<u8>(), 0..40)), 0..20)
}

fn draft(code: Code, attributes: &[(u8, Vec<u8>)]) -> Draft {
    let mut draft = Draft::new(code, 7);
    for (kind, value) in attributes {
        draft.push(Kind(*kind), value).unwrap();
    }
    draft
}

fn codes() -> impl Strategy<Value = Code> {
    prop::sample::select(&Code::ALL[..])
}

fn emit(code: Code, attributes: &[(u8, Vec<u8>)], secret: &Secret, authenticator: [u8; 16]) -> Vec<u8> {
    let draft = draft(code, attributes);
    if code.is_response() {
        draft.emit_response(secret, &authenticator)
    } else {
        draft.emit_request(secret, authenticator)
    }
}

fn verify(bytes: &[u8], secret: &Secret, authenticator: &[u8; 16]) -> Result<(), RadiusError> {
    let packet = Packet::parse(bytes)?;
    if packet.code().is_response() {
        packet.verify_response(secret, authenticator)
    } else {
        packet.verify_request(secret)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(code in codes(), attributes in attributes(), chance: [u8; 16]) {
        let bytes = emit(code, &attributes, &secret(), chance);
        let packet = Packet::parse(&bytes).unwrap();
        prop_assert_eq!(packet.as_bytes(), &bytes[..]);
        prop_assert_eq!((packet.code(), packet.identifier()), (code, 7));
        let read: Vec<_> = packet
            .attributes()
            .filter(|attribute| attribute.kind != Kind::MESSAGE_AUTHENTICATOR)
            .map(|attribute| (attribute.kind.0, attribute.value.to_vec()))
            .collect();
        prop_assert_eq!(read, attributes);
        prop_assert_eq!(verify(&bytes, &secret(), &chance), Ok(()));
    }

    #[test]
    fn one_changed_bit_is_noticed(code in codes(), attributes in attributes(), chance: [u8; 16], at: prop::sample::Index, bit in 0..8) {
        let mut bytes = emit(code, &attributes, &secret(), chance);
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        prop_assert!(verify(&bytes, &secret(), &chance).is_err(), "byte {} bit {}", at, bit);
    }

    #[test]
    fn nothing_verifies_under_another_secret(code in codes(), attributes in attributes(), chance: [u8; 16], other in "[a-z]{1,40}") {
        let bytes = emit(code, &attributes, &secret(), chance);
        let other = Secret::new(other.as_bytes()).unwrap();
        prop_assert!(verify(&bytes, &other, &chance).is_err());
    }

    #[test]
    fn a_response_is_for_one_request(attributes in attributes(), one: [u8; 16], other: [u8; 16]) {
        prop_assume!(one != other);
        let bytes = emit(Code::AccessAccept, &attributes, &secret(), one);
        prop_assert!(verify(&bytes, &secret(), &other).is_err());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(packet) = Packet::parse(&bytes) {
            prop_assert!(packet.attributes().map(|attribute| attribute.value.len() + 2).sum::<usize>() + 20 == packet.as_bytes().len());
            let _ = (packet.verify_request(&secret()), packet.verify_response(&secret(), &[0; 16]));
        }
    }

    #[test]
    fn eap_and_sentences_are_joined_as_they_were_split(eap in prop::collection::vec(any::<u8>(), 1..3_000), text in "\\PC{0,200}") {
        let mut draft = Draft::new(Code::AccessReject, 1);
        draft.push_eap(&eap).unwrap().push_reply_message(&text).unwrap();
        let bytes = draft.emit_response(&secret(), &[1; 16]);
        let packet = Packet::parse(&bytes).unwrap();
        prop_assert_eq!(packet.joined(Kind::EAP_MESSAGE), Some(eap));
        prop_assert_eq!(packet.joined(Kind::REPLY_MESSAGE).unwrap_or_default(), text.as_bytes());
        prop_assert!(packet.all(Kind::REPLY_MESSAGE).all(|piece| std::str::from_utf8(piece).is_ok()));
    }
}
