use super::*;
use crate::drive::Machine as _;
use guestright_directory::sms::Timestamp;

const START: Time = Time(1_000_000_000);

fn at(millis: u64) -> Time {
    START + Micros::from_millis(millis)
}

fn config(pin: Option<&str>) -> MachineConfig {
    MachineConfig {
        pin: pin.map(|pin| Zeroizing::new(pin.to_owned())),
        answer_max: Micros::from_seconds(5),
        network_max: Micros::from_seconds(60),
        idle_max: Micros::from_seconds(60),
    }
}

fn sent(machine: &mut Machine) -> Vec<String> {
    std::iter::from_fn(|| machine.poll_transmit()).map(|bytes| String::from_utf8(bytes).unwrap()).collect()
}

fn events(machine: &mut Machine) -> Vec<Event> {
    std::iter::from_fn(|| machine.poll_event()).collect()
}

fn message() -> ToSend {
    ToSend { to: "+12025550177".parse().unwrap(), user_data: vec![7; 20], validity: 1 }
}

/// Says a line and gives what the machine says to that.
fn send_line(machine: &mut Machine, text: &str) -> Vec<String> {
    machine.handle_input(text.as_bytes(), START);
    sent(machine)
}

/// A modem that answers as it should.
fn ready() -> Machine {
    let mut machine = Machine::new(config(None), START);
    assert_eq!(sent(&mut machine), ["\x1b\r", "AT\r"]);
    #[rustfmt::skip]
    let talk = [
        ("AT\r\r\nOK\r\n", "ATE0\r"), ("ATE0\r\r\nOK\r\n", "AT+CMEE=1\r"), ("\r\nOK\r\n", "AT+CPIN?\r"),
        ("\r\n+CPIN: READY\r\n\r\nOK\r\n", "AT+CMGF=0\r"), ("\r\nOK\r\n", "AT+CNMI=2,1,0,0,0\r"),
        ("\r\nOK\r\n", "AT+CSQ\r"), ("\r\n+CSQ: 17,99\r\n\r\nOK\r\n", "AT+CMGL=4\r"),
    ];
    for (line, answer) in talk {
        assert_eq!(send_line(&mut machine, line), [answer], "{line:?}");
    }
    assert_eq!(send_line(&mut machine, "\r\nOK\r\n"), [""; 0]);
    assert_eq!(events(&mut machine), [Event::Ready("signal 17 of 31".to_owned())]);
    machine
}

fn stored(user_data: &[u8]) -> String {
    let deliver = Deliver {
        from: Party::Number("+12025550177".parse().unwrap()),
        coding: 4,
        stamp: Timestamp::parse([0x62, 0x11, 0x12, 0x60, 0x51, 0, 0]).unwrap(),
        has_header: true,
        length: u8::try_from(user_data.len()).unwrap(),
        user_data: user_data.to_vec(),
    };
    // With a message centre in front, as stored messages have it.
    format!("07912120550599F9{}", to_hex(&deliver.emit().unwrap()))
}

fn received(user_data: &[u8]) -> Event {
    Event::Received(Received { from: Some("+12025550177".parse().unwrap()), user_data: user_data.to_vec() })
}

#[test]
fn a_message_waits_for_the_prompt_and_then_for_the_network() {
    let mut machine = ready();
    machine.submit(1, message(), START);
    machine.submit(2, message(), START);
    // Fourteen bytes in front of the user data: first, reference, address, PID, coding, validity, length.
    assert_eq!(sent(&mut machine), ["AT+CMGS=34\r"]);
    assert_eq!(send_line(&mut machine, "\r\n>"), [""; 0]);
    let pdu = "0051000B912120550571F700040114".to_owned() + &"07".repeat(20);
    assert_eq!(send_line(&mut machine, " "), [pdu.clone() + "\x1a"]);
    // The modem says back what it was told, and other things.
    assert_eq!(send_line(&mut machine, &format!("{pdu}\x1a\r\nRING\r\n\r\n+CMGS: 4\r\n")), [""; 0]);
    assert_eq!(send_line(&mut machine, "\r\nOK\r\n"), ["AT+CMGS=34\r"]);
    assert_eq!(events(&mut machine), [Event::Sent(1)]);
    send_line(&mut machine, "> ");
    send_line(&mut machine, "\r\n+CMS ERROR: 38\r\n");
    assert_eq!(machine.poll_timeout(), Some(at(5_000)), "the network is to have a moment");
    machine.handle_timeout(at(5_000));
    assert_eq!(sent(&mut machine), ["AT+CMGS=34\r"]);
    send_line(&mut machine, "> ");
    send_line(&mut machine, "+CMS ERROR: 28\r\n");
    let refused = SmsLinkError::Refused("the subscriber is unknown (+CMS ERROR 28)".to_owned());
    assert_eq!(events(&mut machine), [Event::Failed(2, refused)]);
}

#[test]
fn stored_messages_are_read_and_deleted_whatever_comes_between() {
    let mut machine = ready();
    assert_eq!(send_line(&mut machine, "\r\n+CMTI: \"SM\",3\r\n"), ["AT+CMGR=3\r"]);
    send_line(&mut machine, "+CMTI: \"SM\",4\r\n+CMGR: 0,,28\r\nRING\r\n");
    send_line(&mut machine, &format!("{}\r\n", stored(b"\0hello")));
    assert_eq!(events(&mut machine), [received(b"\0hello")]);
    assert_eq!(send_line(&mut machine, "OK\r\n"), ["AT+CMGD=3\r"]);
    // One that comes directly while a command is under way.
    send_line(&mut machine, &format!("+CMT: ,28\r\n{}\r\n", stored(b"\0there")));
    assert_eq!(events(&mut machine), [received(b"\0there")]);
    assert_eq!(send_line(&mut machine, "OK\r\n"), ["AT+CMGR=4\r"]);
    // It is gone: not deleted, since another one may have come to its place.
    assert_eq!(send_line(&mut machine, "+CMS ERROR: 321\r\n"), [""; 0]);
    send_line(&mut machine, "+CDS: 25\r\n0006\r\n");
    assert_eq!(events(&mut machine), []);
}

#[test]
fn what_came_while_we_were_away_is_fetched() {
    let mut machine = ready();
    machine.todo.push_back(Command::List);
    machine.handle_timeout(START);
    assert_eq!(sent(&mut machine), ["AT+CMGL=4\r"]);
    // One that is listed is announced before and after: it is read and deleted once.
    send_line(&mut machine, "+CMTI: \"SM\",9\r\n");
    let list = format!("+CMGL: 1,1,,28\r\n{}\r\n+CMGL: 9,0,,28\r\n{}\r\n", stored(b"\0a"), stored(b"\0b"));
    send_line(&mut machine, &list);
    assert_eq!(send_line(&mut machine, "OK\r\n"), ["AT+CMGD=1\r"]);
    assert_eq!(send_line(&mut machine, "OK\r\n"), ["AT+CMGD=9\r"]);
    assert_eq!(events(&mut machine), [received(b"\0a"), received(b"\0b")]);
}

#[test]
fn nobody_takes_messages_so_they_stay_in_the_memory() {
    let mut machine = ready();
    machine.set_receiving(false);
    assert_eq!(send_line(&mut machine, "+CMTI: \"SM\",3\r\n"), [""; 0]);
    machine.set_receiving(true);
    machine.handle_timeout(START);
    assert_eq!(sent(&mut machine), ["AT+CMGR=3\r"]);
}

fn at_pin(pin: Option<&str>) -> Machine {
    let mut machine = Machine::new(config(pin), START);
    for _ in 0..3 {
        machine.handle_input(b"OK\r\n", START);
    }
    assert_eq!(sent(&mut machine).last().map(String::as_str), Some("AT+CPIN?\r"));
    machine
}

#[test]
fn a_pin_is_tried_once() {
    let mut machine = at_pin(Some("1234"));
    assert_eq!(send_line(&mut machine, "+CPIN: SIM PIN\r\nOK\r\n"), ["AT+CPIN=\"1234\"\r"]);
    assert_eq!(send_line(&mut machine, "AT+CPIN=\"1234\"\r\r\nOK\r\n"), ["AT+CPIN?\r"]);
    // Just opened, it is busy for a second.
    send_line(&mut machine, "+CME ERROR: 14\r\n");
    machine.handle_timeout(machine.poll_timeout().unwrap());
    assert_eq!(sent(&mut machine), ["AT+CPIN?\r"]);
    assert_eq!(send_line(&mut machine, "+CPIN: READY\r\nOK\r\n"), ["AT+CMGF=0\r"]);
    assert!(!format!("{machine:?}").contains("1234"));

    let ends = |pin, lines: &[&str]| {
        let mut machine = at_pin(pin);
        lines.iter().for_each(|line| machine.handle_input(line.as_bytes(), START));
        let gave = sent(&mut machine).iter().filter(|line| line.starts_with("AT+CPIN=")).count();
        match &events(&mut machine)[..] {
            [Event::Ended(SmsLinkError::Sim(why))] => (gave, why.clone()),
            other => panic!("{other:?}"),
        }
    };
    let wants = "+CPIN: SIM PIN\r\nOK\r\n";
    let wrong = "it does not take the PIN";
    assert_eq!(ends(None, &[wants]), (0, "it wants a PIN, and none of 4 to 8 digits is set".into()));
    assert_eq!(
        ends(Some("1\";+CFUN=0"), &[wants]),
        (0, "it wants a PIN, and none of 4 to 8 digits is set".into())
    );
    let refused = ends(Some("1234"), &[wants, "+CME ERROR: 16\r\n"]);
    assert_eq!(refused, (1, format!("{wrong}: the PIN is wrong (+CME ERROR 16)")));
    assert_eq!(ends(Some("1234"), &[wants, "OK\r\n", wants]), (1, "it still wants a PIN".into()));
    assert_eq!(ends(Some("1234"), &["+CPIN: SIM PUK\r\n"]), (0, "it is locked and wants its PUK".into()));
    let silent = "OK\r\n";
    let mut mute = at_pin(None);
    for _ in 0..10 {
        mute.handle_input(silent.as_bytes(), START);
        let Some(at) = mute.poll_timeout() else { break };
        mute.handle_timeout(at);
    }
    assert!(
        matches!(&events(&mut mute)[..], [Event::Ended(SmsLinkError::Sim(why))] if why.contains("nothing"))
    );
    assert_eq!(ends(None, &["+CME ERROR: 10\r\n"]), (0, "there is no SIM (+CME ERROR 10)".into()));
}

#[test]
fn a_line_without_a_modem_is_given_up() {
    let mut machine = Machine::new(config(None), START);
    let mut greetings = 0;
    while let Some(next) = machine.poll_timeout() {
        greetings += sent(&mut machine).iter().filter(|line| *line == "AT\r").count();
        machine.handle_input(b"\xff\x00garbage", next);
        machine.handle_timeout(next);
    }
    assert_eq!(greetings, 5);
    assert!(matches!(events(&mut machine)[..], [Event::Ended(SmsLinkError::Silent(_))]));
}

#[test]
fn a_message_without_a_prompt_is_tried_again_and_one_without_an_end_is_not() {
    let mut machine = ready();
    machine.submit(1, message(), START);
    sent(&mut machine);
    machine.handle_timeout(at(5_000));
    assert_eq!(sent(&mut machine), ["\x1b\r", "AT+CMGS=34\r"]);
    machine.handle_input(b"> ", at(5_001));
    sent(&mut machine);
    assert_eq!(machine.poll_timeout(), Some(at(65_001)));
    machine.handle_timeout(at(65_001));
    let want = [Event::Failed(1, SmsLinkError::Unknown), Event::Ended(SmsLinkError::Silent("a command"))];
    assert_eq!(events(&mut machine), want);
    assert_eq!((sent(&mut machine), machine.poll_timeout()), (vec![], None));
}

#[test]
fn an_idle_modem_is_asked_for_its_signal() {
    let mut machine = ready();
    let idle = machine.poll_timeout().unwrap();
    assert_eq!(idle, at(60_000));
    machine.handle_timeout(idle);
    assert_eq!(sent(&mut machine), ["AT+CSQ\r"]);
    machine.handle_input(b"+CSQ: 99,99\r\nOK\r\n", idle);
    assert_eq!(machine.signal(), None);
    assert_eq!(machine.poll_timeout(), Some(at(120_000)));
}
