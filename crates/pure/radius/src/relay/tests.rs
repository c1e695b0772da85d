use super::*;
use proptest::prelude::*;

const CONVERSATION: Conversation = Conversation([7; 16]);

fn question() -> Question {
    Question { conversation: CONVERSATION, framed_mtu: Some(1_400), eap: vec![2, 1, 0, 5, 1] }
}

fn answers() -> Vec<Answer> {
    let accept = |home: Option<&str>| What::Accept {
        eap: vec![3, 9, 0, 4],
        msk: Msk::new([5; 64]),
        valid_for_seconds: 31_536_000,
        home: home.map(|address| address.parse().unwrap()),
    };
    let refusal = Sentence::new("The home has withdrawn this phone's certificate.");
    [
        What::Challenge { eap: vec![1, 2, 0, 6, 13, 0x20] },
        accept(None),
        accept(Some("192.0.2.1:51820")),
        accept(Some("[2001:db8::1]:500")),
        What::Reject { eap: vec![4, 9, 0, 4], reason: refusal.clone() },
        What::Reject { eap: vec![4, 9, 0, 4], reason: Sentence::new("") },
        What::Away { reason: refusal },
    ]
    .map(|what| Answer { conversation: CONVERSATION, what })
    .into()
}

#[test]
fn a_message_says_the_same_when_it_is_read() {
    let mut bytes = vec![question().emit()];
    assert_eq!(Question::parse(&bytes[0]), Ok(question()));
    let no_mtu = Question { framed_mtu: None, ..question() };
    assert_eq!(Question::parse(&no_mtu.emit()), Ok(no_mtu));
    for answer in answers() {
        assert_eq!(Answer::parse(&answer.emit()), Ok(answer.clone()));
        bytes.push(answer.emit());
    }
    assert!(bytes.iter().all(|message| is_message(message) && message.len() <= MESSAGE_BYTES_MAX));
}

/// The form on the wire: whoever changes it changes `FORM`.
#[test]
fn the_form_is_the_documented_one() {
    let head = "fe01KK07070707070707070707070707070707";
    let hex = |bytes: Vec<u8>| data_encoding::HEXLOWER.encode(&bytes);
    assert_eq!(hex(question().emit()), format!("{}05780201000501", head.replace("KK", "01")));
    let bodies = [
        "010200060d20".to_owned(),
        format!("{}01e133800003090004", "05".repeat(64)),
        format!("{}01e1338004c0000201ca6c03090004", "05".repeat(64)),
        format!("{}01e133800620010db800000000000000000000000101f403090004", "05".repeat(64)),
    ];
    for ((answer, body), kind) in answers().iter().zip(bodies).zip(["02", "03", "03", "03"]) {
        assert_eq!(hex(answer.emit()), format!("{}{body}", head.replace("KK", kind)));
    }
}

#[test]
fn what_is_cut_or_has_a_tail_is_refused() {
    for answer in answers() {
        let bytes = answer.emit();
        // A shorter sentence, or a shorter EAP packet, is another message. What comes before is not.
        for length in 0..bytes.len() {
            if let Ok(other) = Answer::parse(&bytes[..length]) {
                assert_eq!(other.emit(), bytes[..length]);
            }
        }
        assert_eq!(Answer::parse(&bytes[..2]), Err(RelayError::Length));
    }
    assert_eq!(Question::parse(&question().emit()[..20]), Err(RelayError::Length));
    assert_eq!(Question::parse(&question().emit()[..24]), Err(RelayError::Eap));
}

#[test]
fn another_form_kind_length_or_address_is_refused() {
    let with = |index: usize, value: u8, mut bytes: Vec<u8>| {
        bytes[index] = value;
        bytes
    };
    let bytes = question().emit();
    assert_eq!(Question::parse(&with(1, 2, bytes.clone())), Err(RelayError::Form));
    assert!(is_message(&with(1, 2, bytes.clone())));
    assert_eq!(Question::parse(&with(0, 0xff, bytes.clone())), Err(RelayError::Form));
    assert_eq!(Question::parse(&with(2, 2, bytes.clone())), Err(RelayError::Kind(2)));
    assert_eq!(Answer::parse(&bytes), Err(RelayError::Kind(1)));
    assert_eq!(Answer::parse(&with(2, 6, bytes.clone())), Err(RelayError::Kind(6)));
    let long = |length: usize| Question { eap: vec![2; length], ..question() }.emit();
    assert!(Question::parse(&long(EAP_BYTES_MAX)).is_ok());
    assert_eq!(Question::parse(&long(EAP_BYTES_MAX + 1)), Err(RelayError::Eap));
    for address in ["0.0.0.0:1", "224.0.0.1:1", "192.0.2.1:0", "[::]:1", "[ff02::1]:1"] {
        let home = Some(address.parse().unwrap());
        let what = What::Accept { eap: vec![3, 9, 0, 4], msk: Msk::new([5; 64]), valid_for_seconds: 1, home };
        let bytes = Answer { conversation: CONVERSATION, what }.emit();
        assert_eq!(Answer::parse(&bytes), Err(RelayError::Address), "{address}");
    }
    let family = with(HEAD_BYTES + 64 + 4, 5, answers()[2].emit());
    assert_eq!(Answer::parse(&family), Err(RelayError::Address));
}

#[test]
fn a_sentence_is_one_short_line() {
    assert_eq!(Sentence::new("two\r\nlines").as_str(), "two  lines");
    let long = Sentence::new(&"é".repeat(200));
    assert_eq!(long.as_str().len(), Sentence::BYTES_MAX);
    let away = |text: &[u8]| Answer::parse(&[&head(5, CONVERSATION), text].concat());
    assert!(away(&[b'a'; Sentence::BYTES_MAX]).is_ok());
    for refused in [&[b'a'; Sentence::BYTES_MAX + 1][..], b"two\nlines", b"\xff", b"bell\x07"] {
        assert_eq!(away(refused), Err(RelayError::Sentence));
    }
}

/// Nothing else on a link begins so.
#[test]
fn no_text_array_or_frame_of_credit_is_a_message() {
    for first in (0..0x80_u8).chain(0x80..=0x9f).chain([0xff]) {
        assert!(!is_message(&[first, 1]), "{first:#04x}");
    }
    assert!(!is_message(&[]));
}

proptest! {
    #[test]
    fn what_is_read_is_written_the_same(kind in 1_u8..=5, rest: Vec<u8>) {
        let bytes = [&head(kind, CONVERSATION), rest.as_slice()].concat();
        if let Ok(question) = Question::parse(&bytes) {
            prop_assert_eq!(question.emit(), bytes.clone());
        }
        if let Ok(answer) = Answer::parse(&bytes) {
            prop_assert_eq!(answer.emit(), bytes);
        }
    }
}
