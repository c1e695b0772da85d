use super::*;
use guestright_identity::{IdentityError, Role, SecretKey, Suite};
use guestright_radius::Msk;
use guestright_radius::relay::{Answer, Conversation, Question, RelayError, Sentence, What};
use guestright_units::{Micros, TeamId};
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

fn access_point() -> (SecretKey, Certificate) {
    let mut rng = StdRng::seed_from_u64(1);
    let (team, key) =
        (SecretKey::generate(Suite::Ed25519, &mut rng), SecretKey::generate(Suite::Ed25519, &mut rng));
    let certificate =
        Certificate::issue(&team, key.public(), Role::AccessPoint, UnixSeconds(0), UnixSeconds(100));
    (key, certificate)
}

fn bundle(bytes: &[u8]) -> Bundle {
    Bundle { certificates: vec![], receipts: vec![bytes.to_vec()], revocations: vec![] }
}

fn any_hold() -> impl Strategy<Value = HoldUse> {
    (any::<[u8; 24]>(), any::<u64>()).prop_map(|(id, bytes)| HoldUse { id: HoldId(id), weight: Bytes(bytes) })
}

fn any_volume() -> impl Strategy<Value = Option<Volume>> {
    let volume = (any::<u64>(), prop::collection::vec(any_hold(), 0..=Volume::HOLDS_MAX));
    let between = prop::collection::vec(any::<[u8; 24]>().prop_map(TeamId), 0..=Volume::BETWEEN_MAX);
    prop::option::of((volume, between).prop_map(|((bytes, holds), between)| Volume {
        allowance: Bytes(bytes),
        holds,
        between,
    }))
}

fn any_home() -> impl Strategy<Value = Option<Address>> {
    prop::option::of(prop_oneof![Just("192.0.2.7:7275"), Just("home.example:4000"), Just("[2001:db8::1]:9")])
        .prop_map(|text| text.map(|text| text.parse().unwrap()))
}

fn any_eap() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 4..200)
}

fn any_what() -> impl Strategy<Value = What> {
    let valid = (any::<[u8; 32]>(), any::<u32>());
    prop_oneof![
        any_eap().prop_map(|eap| What::Challenge { eap }),
        (any_eap(), valid).prop_map(|(eap, (half, valid_for_seconds))| What::Accept {
            eap,
            msk: Msk::new([half, half].concat().try_into().unwrap()),
            valid_for_seconds,
            home: Some("192.0.2.7:4500".parse().unwrap()),
        }),
        any_eap().prop_map(|eap| What::Reject { eap, reason: Sentence::new("a stranger") }),
        Just(What::Away { reason: Sentence::new("nobody knows where it is") }),
    ]
}

fn any_eapr() -> impl Strategy<Value = Message> {
    let rest = (any::<u64>(), any::<[u8; 16]>(), any::<bool>(), any_reason());
    (any_what(), rest).prop_map(|(what, (reference, conversation, granted, reason))| {
        let accepts = matches!(what, What::Accept { .. });
        let answer = Box::new(Answer { conversation: Conversation(conversation), what });
        let decision = accepts.then_some(TeamDecision { granted, reason });
        Message::Eapr { reference, decision, answer }
    })
}

fn any_eapq() -> impl Strategy<Value = Message> {
    let question = (any::<[u8; 16]>(), any::<Option<NonZeroU16>>(), any_eap());
    (any::<u64>(), any::<[u8; 24]>(), question).prop_map(|(reference, team, (conversation, mtu, eap))| {
        let (conversation, framed_mtu) = (Conversation(conversation), mtu.map(NonZeroU16::get));
        let question = Box::new(Question { conversation, framed_mtu, eap });
        Message::Eapq { reference, team: TeamId(team), question }
    })
}

fn any_inquiry() -> impl Strategy<Value = Inquiry> {
    let devices = proptest::collection::btree_set(any::<[u8; 6]>(), 0..=BlockedDevices::MAX);
    prop_oneof![
        Just(Inquiry::Overview),
        any::<u64>().prop_map(|id| Inquiry::EndGuest(GuestId(id))),
        devices.prop_map(|devices| Inquiry::BlockDevices(BlockedDevices::new(devices).unwrap())),
    ]
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        any::<u32>().prop_map(|ended| Outcome::Done { ended }),
        any_reason().prop_map(|reason| Outcome::Failed { reason }),
    ]
}

fn any_reason() -> impl Strategy<Value = String> {
    "[!-~]{1,20}( [!-~]{1,20}){0,5}"
}

#[expect(clippy::too_many_lines, reason = "an arm for each message")]
fn any_message() -> impl Strategy<Value = Message> {
    let certificate = || Box::new(access_point().1);
    let reason = any_reason;
    prop_oneof![
        any_eapq(),
        any_eapr(),
        (any::<Nonce>(), any::<bool>(), any::<Vec<u8>>()).prop_map(move |(nonce, holds, receipt)| {
            Message::Conn { certificate: certificate(), nonce, holds, bundle: bundle(&receipt) }
        }),
        (any::<Vec<u8>>(), any_home()).prop_map(move |(acknowledgement, home)| Message::Cack {
            certificate: certificate(),
            acknowledgement,
            home,
        }),
        (any::<u64>(), any::<u64>(), prop::option::of(any_hold()), any::<bool>()).prop_map(
            |(started, weight, hold, last)| Message::Rreq {
                started: UnixSeconds(started),
                weight: Bytes(weight),
                hold,
                last,
            }
        ),
        (any::<NonZeroU16>(), any::<Option<u64>>())
            .prop_map(|(port, started)| Message::RreqTunnel { port, started: started.map(UnixSeconds) }),
        (any::<Option<u64>>(), any_home(), any::<Vec<u8>>()).prop_map(|(reference, home, receipt)| {
            Message::Rcpt { reference, home, bundle: bundle(&receipt) }
        }),
        (any::<u64>(), any::<u64>(), any::<Option<[u64; 3]>>(), any::<bool>()).prop_map(
            move |(reference, request, session, holds)| Message::Quer {
                reference,
                certificate: certificate(),
                request: Bytes(request),
                session: session.map(|[started, left, unpaid]| InSession {
                    started: UnixSeconds(started),
                    left: Bytes(left),
                    unpaid: Bytes(unpaid),
                }),
                holds,
                bundle: Bundle::default(),
            }
        ),
        (any::<u64>(), any::<bool>(), any_volume(), any_home(), any::<Option<u16>>(), any::<u32>(), reason())
            .prop_map(|(reference, granted, volume, home, ind, valid_for, reason)| Message::Qrsp {
                reference,
                grant: granted.then_some(ServiceClass::High),
                ind,
                valid_for,
                reason,
                volume,
                home,
            }),
        (any::<u64>(), any::<u64>(), any::<u16>()).prop_map(|(reference, since, max)| Message::Updt {
            reference,
            what: Update::Fetch { since: UnixSeconds(since), max },
        }),
        (any::<u64>(), any::<u16>(), any::<u16>()).prop_map(|(reference, stored, refused)| Message::Updt {
            reference,
            what: Update::Taken { stored, refused }
        }),
        (any::<u64>(), any::<bool>()).prop_map(move |(reference, is_answer)| Message::Rnew {
            reference,
            certificate: is_answer.then(certificate),
        }),
        any::<[u64; 3]>().prop_map(|[reference, request, unused]| Message::Tryq {
            reference,
            request: Bytes(request),
            unused: Bytes(unused)
        }),
        (any::<u64>(), any::<u64>(), reason()).prop_map(|(reference, granted, reason)| Message::Tryr {
            reference,
            granted: Bytes(granted),
            reason
        }),
        (any::<u64>(), any::<u8>(), any_inquiry()).prop_map(|(reference, version, what)| Message::Asks {
            reference,
            version,
            what
        }),
        (any::<u64>(), any::<u8>(), any_outcome())
            .prop_map(|(reference, version, outcome)| Message::SaysOutcome { reference, version, outcome }),
        (any::<u64>(), any::<u8>(), proptest::collection::vec(any::<u8>(), 0..64))
            .prop_map(|(reference, version, answer)| Message::Says { reference, version, answer }),
        (any::<Option<u64>>(), reason()).prop_map(|(reference, reason)| Message::Erro {
            reference,
            code: Code::Unpaid,
            reason
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn parse_inverts_emit(message in any_message()) {
        let bytes = message.emit();
        prop_assert_eq!(message_len(&bytes), Ok(Some(bytes.len())));
        prop_assert_eq!(Message::parse(&bytes), Ok(message));
    }

    #[test]
    fn every_cut_is_a_cut(message in any_message(), at in any::<prop::sample::Index>()) {
        let bytes = message.emit();
        let cut = at.index(bytes.len());
        prop_assert_eq!(Message::parse(&bytes[..cut]), Err(MessageError::Truncated { got: cut }));
    }

    #[test]
    fn rubbish_is_refused(bytes: Vec<u8>) {
        prop_assert!(Message::parse(&bytes).is_err());
        let _ = message_len(&bytes);
    }
}

#[test]
fn each_fault_has_its_own_error() {
    let parse = |text: &str| Message::parse(text.as_bytes()).unwrap_err();
    let many: String = (0..33).map(|number| format!("A{number}: x\r\n")).collect();
    let long = "x".repeat(5_000);
    #[rustfmt::skip]
    let cases = [
        ("HELO P2PWNC/3.0\r\n\r\n".to_owned(),                    MessageError::StartLine),
        ("RREQ HTTP/1.1\r\n\r\n".to_owned(),                      MessageError::StartLine),
        (format!("RREQ {long}"),                                  MessageError::TooLong { part: "start line", got: 5_005, max: 64 }),
        (format!("RREQ P2PWNC/3.0\r\nA: {long}\r\n\r\n"),         MessageError::TooLong { part: "header block", got: 5_007, max: 4_096 }),
        (format!("RREQ P2PWNC/3.0\r\n{many}\r\n"),                MessageError::TooLong { part: "list of headers", got: 33, max: 32 }),
        ("RREQ P2PWNC/3.0\r\nWeight 3\r\n\r\n".to_owned(),        MessageError::HeaderLine { line: 1 }),
        ("RREQ P2PWNC/3.0\r\nA: 1\r\nA: 2\r\n\r\n".to_owned(),    MessageError::DuplicateHeader("A".into())),
        ("RREQ P2PWNC/3.0\r\nWeight: 3\r\n\r\n".to_owned(),       MessageError::MissingHeader("Session-Started")),
        ("RREQ P2PWNC/3.0\r\nSession-Started: -1\r\n\r\n".to_owned(), MessageError::Header { name: "Session-Started", why: "invalid digit found in string".into() }),
        ("RREQ P2PWNC/3.0\r\nSession-Started: 1\r\nWeight: 2\r\n\r\nxyz".to_owned(), MessageError::Trailing { got: 3 }),
        ("RREQ P2PWNC/3.0\r\nTunnel: 0\r\n\r\n".to_owned(),        MessageError::Header { name: "Tunnel", why: "number would be zero for non-zero type".into() }),
        ("RREQ P2PWNC/3.0\r\nTunnel: 65536\r\n\r\n".to_owned(),    MessageError::Header { name: "Tunnel", why: "number too large to fit in target type".into() }),
        ("RREQ P2PWNC/3.0\r\nTunnel: \r\n\r\n".to_owned(),         MessageError::Header { name: "Tunnel", why: "cannot parse integer from empty string".into() }),
        ("RREQ P2PWNC/3.0\r\nSession-Started: 1\r\nWeight: 2\r\nHold: AAAA/5\r\n\r\n".to_owned(), MessageError::Header { name: "Hold", why: "no hold and its bytes".into() }),
        ("EAPQ P2PWNC/3.0\r\nReference: 1\r\n\r\n".to_owned(),  MessageError::MissingHeader("Team")),
        (format!("EAPQ P2PWNC/3.0\r\nReference: 1\r\nTeam: {}\r\n\r\n", "ab".repeat(24)), MessageError::Eap(RelayError::Form)),
        ("EAPR P2PWNC/3.0\r\nReference: 1\r\nDecision: maybe\r\n\r\n".to_owned(), MessageError::Header { name: "Decision", why: "neither grant nor deny".into() }),
        ("RCPT P2PWNC/3.0\r\nContent-Length: 70000\r\n\r\n".to_owned(), MessageError::TooLong { part: "body", got: 70_000, max: 65_536 }),
    ];
    for (text, want) in cases {
        assert_eq!(parse(&text), want);
    }
}

#[test]
fn a_decision_comes_with_an_accept_and_with_nothing_else() {
    let (conversation, eap) = (Conversation([7; 16]), vec![3, 1, 0, 4]);
    let accept = What::Accept { eap: eap.clone(), msk: Msk::new([1; 64]), valid_for_seconds: 60, home: None };
    let yes = TeamDecision { granted: true, reason: "it has credit".to_owned() };
    let parse = |what: &What, decision: Option<&TeamDecision>| {
        let answer = Box::new(Answer { conversation, what: what.clone() });
        let message = Message::Eapr { reference: 1, decision: decision.cloned(), answer };
        Message::parse(&message.emit()).map(|read| assert_eq!(read, message))
    };
    assert_eq!(parse(&accept, Some(&yes)), Ok(()));
    assert_eq!(parse(&accept, None), Err(MessageError::MissingHeader("Decision")));
    for what in [
        What::Challenge { eap: eap.clone() },
        What::Reject { eap, reason: Sentence::new("no") },
        What::Away { reason: Sentence::new("no") },
    ] {
        assert_eq!(parse(&what, None), Ok(()), "{what:?}");
        let refused = parse(&what, Some(&yes));
        assert!(matches!(refused, Err(MessageError::Header { name: "Decision", .. })), "{refused:?}");
    }
}

#[test]
fn an_acknowledgement_is_bound_to_its_access_point() {
    let (key, certificate) = access_point();
    let terms = Acknowledgement {
        nonce: [1; 16],
        member: guestright_identity::KeyId([2; 24]),
        provider: certificate.team_id(),
        started: UnixSeconds(50),
        interval: Micros::from_seconds(5),
        volume: Bytes(1_000_000),
        class: ServiceClass::Lowest,
    };
    let sealed = terms.seal(&key, &certificate);
    assert_eq!(Acknowledgement::open(&sealed, &certificate), Ok(terms.clone()));
    for index in 0..sealed.len() {
        let mut forged = sealed.clone();
        forged[index] ^= 1;
        assert!(Acknowledgement::open(&forged, &certificate).is_err(), "byte {index}");
    }
    let other = Acknowledgement { provider: TeamId([9; 24]), ..terms }.seal(&key, &certificate);
    assert!(matches!(Acknowledgement::open(&other, &certificate), Err(IdentityError::Malformed(_))));
}

#[test]
fn a_message_may_be_as_long_as_its_limits_and_no_longer() {
    let start = |len: usize| format!("{} P2PWNC/3.0\r\n", "X".repeat(len - " P2PWNC/3.0\r\n".len()));
    let headers =
        |len: usize| format!("RREQ P2PWNC/3.0\r\nA: {}\r\n\r\n", "x".repeat(len - "A: \r\n\r\n".len()));
    let many = |count: usize| {
        let rest: String = (2..count).map(|number| format!("A{number}: x\r\n")).collect();
        format!("ERRO P2PWNC/3.0\r\nCode: busy\r\nReason: x\r\n{rest}\r\n")
    };
    let body = |len: usize| format!("RCPT P2PWNC/3.0\r\nContent-Length: {len}\r\n\r\n{}", "x".repeat(len));
    let parse = |text: String| Message::parse(text.as_bytes()).map(drop);
    let too_long = |part, got, max| Err(MessageError::TooLong { part, got, max });
    assert_eq!(parse(start(64) + "\r\n"), Err(MessageError::StartLine), "read, and not known");
    assert_eq!(parse(start(65) + "\r\n"), too_long("start line", 67, 64));
    assert_eq!(parse(headers(4_096)), Err(MessageError::MissingHeader("Session-Started")));
    assert_eq!(parse(headers(4_097)), too_long("header block", 4_097, 4_096));
    assert_eq!(parse(many(32)), Ok(()));
    assert_eq!(parse(many(33)), too_long("list of headers", 33, 32));
    let read = parse(body(65_536));
    assert!(matches!(read, Err(MessageError::Body(_))), "the bundle has a limit of its own: {read:?}");
    assert_eq!(parse(body(65_537)), too_long("body", 65_537, 65_536));
}

#[test]
fn a_stream_says_how_long_its_next_message_is_as_soon_as_it_can() {
    let whole = Message::Rcpt { reference: Some(7), bundle: bundle(b"receipt"), home: None }.emit();
    let head = whole.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    for got in 0..whole.len() {
        let want = (got >= head).then_some(whole.len());
        assert_eq!(message_len(&whole[..got]), Ok(want), "after {got} of {} bytes", whole.len());
    }
    let two = [whole.clone(), whole.clone()].concat();
    assert_eq!(message_len(&two), Ok(Some(whole.len())));
    assert_eq!(message_len(b"HELO\r\n\r\n"), Err(MessageError::StartLine));
}

#[test]
fn a_header_is_a_word_of_letters_digits_and_dashes_and_a_printable_value() {
    let parse = |line: &str| {
        Message::parse(format!("ERRO P2PWNC/3.0\r\nCode: busy\r\nReason: x\r\n{line}\r\n\r\n").as_bytes())
            .map(drop)
    };
    for good in ["X-1: y", "x: ", "1:  ~"] {
        assert_eq!(parse(good), Ok(()), "{good:?}");
    }
    for bad in [": x", "A_b: x", "A b: x", "A:x", "A"] {
        assert_eq!(parse(bad), Err(MessageError::HeaderLine { line: 3 }), "{bad:?}");
    }
    for bad in ["A: \t", "A: \u{7f}", "A: ü"] {
        assert_eq!(parse(bad), Err(MessageError::HeaderLine { line: 0 }), "{bad:?}");
    }
    assert_eq!(Message::parse(b"ERR\x01 P2PWNC/3.0\r\n\r\n"), Err(MessageError::StartLine));
}

#[test]
fn a_reason_is_one_printable_line_of_at_most_600_characters() {
    let reason = |text: &str| match Message::parse(&Message::error(Code::Busy, text).emit()) {
        Ok(Message::Erro { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(" two\r\nlines, für alle ~ "), "two??lines, f?r alle ~");
    assert_eq!((reason(""), reason("  ")), ("-".to_owned(), "-".to_owned()));
    assert_eq!(reason(&"x".repeat(601)), "x".repeat(600));
}

#[test]
fn what_is_asked_has_to_be_known() {
    let asks = Message::Asks { reference: 3, version: 1, what: Inquiry::Overview };
    let text = String::from_utf8(asks.emit()).unwrap();
    assert_eq!(text, "ASKS P2PWNC/3.0\r\nReference: 3\r\nVersion: 1\r\nWhat: overview\r\n\r\n");
    let other = text.replace("overview", "everything");
    assert!(matches!(Message::parse(other.as_bytes()), Err(MessageError::Header { name: "What", .. })));
}

#[test]
fn a_guest_has_one_name() {
    let asks = |what| Message::Asks { reference: 3, version: 1, what };
    let text = String::from_utf8(asks(Inquiry::EndGuest(GuestId(0x0abc))).emit()).unwrap();
    assert!(text.ends_with("What: end-guest\r\nGuest: 0000000000000abc\r\n\r\n"), "{text}");
    for wrong in ["0000000000000ABC", "abc", "+000000000000abc", "00000000000000abc", "10.11.0.2", ""] {
        let other = text.replace("0000000000000abc", wrong);
        let error = Message::parse(other.as_bytes());
        assert!(matches!(error, Err(MessageError::Header { name: "Guest", .. })), "{wrong}: {error:?}");
    }
    let none = text.replace("Guest: 0000000000000abc\r\n", "");
    assert_eq!(Message::parse(none.as_bytes()), Err(MessageError::MissingHeader("Guest")));
}

#[test]
fn a_list_of_devices_has_one_form_and_a_limit() {
    let list = |body: &[u8]| {
        let head = "ASKS P2PWNC/3.0\r\nReference: 3\r\nVersion: 1\r\nWhat: block-devices\r\n";
        let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
        Message::parse(&[head.as_bytes(), body].concat())
    };
    let ascending = |count: u16| -> Vec<u8> {
        (0..count).flat_map(|number| [&[2, 0, 0, 0][..], &number.to_be_bytes()].concat()).collect()
    };
    let what = |message| {
        let Message::Asks { what: Inquiry::BlockDevices(devices), .. } = message else {
            panic!("{message:?}")
        };
        devices
    };
    assert!(what(list(&[]).unwrap()).is_empty(), "all are served again");
    let full = what(list(&ascending(256)).unwrap());
    assert_eq!((full.len(), full.iter().last()), (256, Some([2, 0, 0, 0, 0, 255])));
    let too_long = MessageError::TooLong { part: "list of devices", got: 257 * 6, max: 256 * 6 };
    assert_eq!(list(&ascending(257)), Err(too_long));
    for wrong in [vec![2, 0, 0, 0, 0], [[2; 6], [2; 6]].concat(), [[3; 6], [2; 6]].concat()] {
        assert_eq!(list(&wrong), Err(MessageError::Devices { got: wrong.len() }));
    }
    let many =
        |count: u16| (0..count).map(|number| [2, 0, 0, 0, number.to_be_bytes()[0], number.to_be_bytes()[1]]);
    assert!(BlockedDevices::new(many(256)).is_some() && BlockedDevices::new(many(257)).is_none());
    assert!(BlockedDevices::new(many(256).chain(many(256))).is_some(), "each is in it once");
}

#[test]
fn an_outcome_is_no_answer_that_an_overview_could_be_taken_for() {
    let done = Message::SaysOutcome { reference: 3, version: 1, outcome: Outcome::Done { ended: 2 } };
    let text = String::from_utf8(done.emit()).unwrap();
    assert_eq!(text, "SAYS P2PWNC/3.0\r\nReference: 3\r\nVersion: 1\r\nOutcome: done\r\nEnded: 2\r\n\r\n");
    let other = text.replace("done", "perhaps");
    assert!(matches!(Message::parse(other.as_bytes()), Err(MessageError::Header { name: "Outcome", .. })));
    let none = text.replace("Ended: 2\r\n", "");
    assert_eq!(Message::parse(none.as_bytes()), Err(MessageError::MissingHeader("Ended")));
    let failed = text.replace("done", "failed");
    assert_eq!(Message::parse(failed.as_bytes()), Err(MessageError::MissingHeader("Reason")));
}

#[test]
fn an_answer_is_at_most_as_long_as_a_body() {
    let says = |len| Message::Says { reference: 3, version: 1, answer: vec![7; len] };
    assert_eq!(Message::parse(&says(BODY_MAX).emit()), Ok(says(BODY_MAX)));
    assert!(matches!(Message::parse(&says(BODY_MAX + 1).emit()), Err(MessageError::TooLong { .. })));
}
