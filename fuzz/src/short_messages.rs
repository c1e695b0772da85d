//! Short messages, and those who carry them: a gateway's stream, a modem's line.

use crate::seeds::Seed;
use guestright_directory::TelephoneNumber;
use guestright_directory::sms::{
    Config, Courier, Deliver, Header, Party, Payload, Reassembly, ReassemblyLimits, Submit, Timestamp,
    USER_DATA_MAX, split, to_hex,
};
use guestright_identity::KeyId;
use guestright_sms::modem::{Machine as Modem, MachineConfig};
use guestright_sms::smpp::{Session, SessionConfig};
use guestright_sms::{Event, Machine, ToSend};
use guestright_units::Micros;
use guestright_vectors::actors::NOW;
use zeroize::Zeroizing;

fn number() -> TelephoneNumber {
    "+12025550142".parse().expect("a number")
}

/// A short message as a modem has it, its user data, or what it says.
pub fn short_message(bytes: &[u8]) {
    if let Ok(submit) = Submit::parse(bytes) {
        let again = submit.emit().and_then(|pdu| Submit::parse(&pdu));
        assert_eq!(again.as_ref(), Ok(&submit));
    }
    if let Ok(deliver) = Deliver::parse(bytes) {
        let _ = (deliver.text(), deliver.stamp.unix_seconds());
        if let Ok(pdu) = deliver.emit() {
            assert_eq!(Deliver::parse(&pdu).as_ref(), Ok(&deliver));
        }
    }
    if let Ok((header, rest)) = Header::parse(bytes) {
        let again = [header.emit(), rest.to_vec()].concat();
        assert_eq!(Header::parse(&again), Ok((header, rest)));
    }
    if let Ok(payload) = Payload::parse(bytes) {
        assert_eq!(payload.emit(), bytes);
    }
    if let Ok(parts) = split(bytes, 7) {
        let mut reassembly = Reassembly::new(ReassemblyLimits::default());
        let mut whole = None;
        for part in &parts {
            assert!(part.len() <= USER_DATA_MAX);
            whole = reassembly.push("somebody", part, NOW.time()).expect("a part of ours");
        }
        assert_eq!(whole.as_deref(), Some(bytes));
    }
    // A courier that gives nothing out sends nothing, whatever it is told.
    let mut courier = Courier::new(Config::default());
    bytes.chunks(USER_DATA_MAX).for_each(|data| courier.handle_message(&number(), data, NOW.time()));
    assert_eq!(courier.poll_transmit(), None);
}

/// The first byte chooses a gateway (even) or a modem (odd), which then says the rest.
pub fn sms_link(bytes: &[u8]) {
    let Some((&which, input)) = bytes.split_first() else { return };
    let whole = hear(which, &[input]);
    let pieces: Vec<_> = input.chunks(1).collect();
    assert_eq!(whole, hear(which, &pieces), "the pieces decide what is heard");
}

/// What a link says and sends while it is told this.
fn hear(which: u8, pieces: &[&[u8]]) -> (Vec<Event>, Vec<Vec<u8>>) {
    let mut machine = link(which);
    let message = ToSend { to: number(), user_data: vec![0], validity: 0 };
    machine.submit(1, message, NOW.time());
    pieces.iter().for_each(|piece| machine.handle_input(piece, NOW.time()));
    let events: Vec<_> = std::iter::from_fn(|| machine.poll_event()).collect();
    let ends = |event: &&Event| matches!(event, Event::Sent(1) | Event::Failed(1, _));
    assert!(events.iter().filter(ends).count() <= 1, "one message has two ends");
    for event in &events {
        assert!(!matches!(event, Event::Sent(number) | Event::Failed(number, _) if *number != 1));
        if let Event::Received(received) = event {
            assert!(received.user_data.len() <= USER_DATA_MAX);
        }
    }
    let sent: Vec<_> = std::iter::from_fn(|| machine.poll_transmit()).collect();
    let over = events.iter().any(|event| matches!(event, Event::Ended(_)));
    assert!(over || machine.poll_timeout().is_some(), "it waits for nothing");
    (events, sent)
}

fn link(which: u8) -> Box<dyn Machine> {
    let (answer_max, day) = (Micros::from_seconds(5), Micros::from_seconds(86_400));
    if which % 2 == 1 {
        let pin = Some(Zeroizing::new("0000".to_owned()));
        let config = MachineConfig { pin, answer_max, network_max: answer_max, idle_max: day };
        return Box::new(Modem::new(config, NOW.time()));
    }
    let config = SessionConfig {
        system_id: "home".to_owned(),
        password: Zeroizing::new("secret08".to_owned()),
        system_type: String::new(),
        number: number(),
        window: 2,
        answer_max,
        enquire_every: day,
    };
    Box::new(Session::new(config, NOW.time()))
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let ask = Payload::Ask { reference: 7, member: KeyId([9; 24]), caller: None };
    let user_data = split(&ask.emit(), 1).expect("a question fits").concat();
    let deliver = Deliver {
        from: Party::Number(number()),
        coding: 4,
        stamp: Timestamp::parse([0x72, 0x10, 0x51, 0x80, 0, 0, 0]).expect("a time"),
        has_header: true,
        length: u8::try_from(user_data.len()).expect("it is short"),
        user_data,
    };
    let pdu = deliver.emit().expect("a message");
    let talk = format!(
        "\x01AT\r\r\nOK\r\nOK\r\nOK\r\n+CPIN: SIM PIN\r\nOK\r\nOK\r\n+CPIN: READY\r\nOK\r\nOK\r\nOK\r\n+CSQ: 9,0\r\nOK\r\n\
         +CMGL: 2,1,,30\r\n00{hex}\r\nOK\r\nOK\r\n> \r\n+CMGS: 1\r\nOK\r\n+CMT: ,30\r\n00{hex}\r\n+CMTI: \"SM\",3\r\n",
        hex = to_hex(&pdu)
    );
    let mut stream = vec![0];
    for (command, status, sequence, body) in [
        (0x8000_0009_u32, 0_u32, 1_u32, &b"centre\0"[..]),
        (0x8000_0004, 0x58, 2, b""),
        (0x15, 0, 3, b""),
        (5, 0, 4, b"\0\x01\x0112025550177\0\x01\x0112025550142\0\x40\0\0\0\0\0\0\x04\0\x08\x06\x05\x04\x3f\x93\x3f\x93\0"),
    ] {
        let length = u32::try_from(16 + body.len()).expect("it is short");
        stream.extend([length, command, status, sequence].map(u32::to_be_bytes).concat());
        stream.extend(body);
    }
    seeds.push(("short_message", "deliver".to_owned(), pdu));
    seeds.push(("sms_link", "modem".to_owned(), talk.into_bytes()));
    seeds.push(("sms_link", "gateway".to_owned(), stream));
}
