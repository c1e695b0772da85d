//! tshark reads what we write, field by field.

#![expect(clippy::unwrap_used, reason = "a test")]

use guestright_directory::sms::{Deliver, Party, Submit, Timestamp, relative_validity, split};
use guestright_sms::smpp::{Session, SessionConfig};
use guestright_sms::{Machine as _, ToSend};
use guestright_units::{Micros, Time};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// What tshark says about these bytes; `how` is how text2pcap packs them, `head` the line before each packet.
fn judge(packets: &[Vec<u8>], head: &str, how: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let capture = folder.path().join("capture.pcapng");
    let mut text = String::new();
    for packet in packets {
        text += head;
        text += "0000";
        packet.iter().for_each(|byte| text += &format!(" {byte:02x}"));
        text += "\n";
    }
    let mut packer = Command::new("text2pcap")
        .args(["-q", "-n"])
        .args(how)
        .args(["-"])
        .arg(&capture)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("text2pcap (Debian's tshark; sh scripts/setup.sh test installs it)");
    packer.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    assert!(packer.wait().unwrap().success());
    let user = "uat:user_dlts:\"User 0 (DLT=147)\",\"gsm_sms\",\"0\",\"\",\"0\",\"\"";
    let output = Command::new("tshark").arg("-r").arg(&capture).args(["-o", user, "-V"]).output().unwrap();
    let dissected = String::from_utf8(output.stdout).unwrap();
    for trouble in ["Malformed", "Expert Info (Error", "Expert Info (Warning"] {
        assert!(!dissected.contains(trouble), "{dissected}");
    }
    dissected
}

fn has(dissected: &str, lines: &[&str]) {
    for line in lines {
        assert!(dissected.contains(line), "{line:?} is missing:\n{dissected}");
    }
}

fn parts() -> Vec<Vec<u8>> {
    split(&[0x5a; 300], 77).unwrap()
}

#[test]
fn what_a_modem_is_told_and_tells() {
    let number: guestright_directory::TelephoneNumber = "+12025550177".parse().unwrap();
    let submit = |user_data: Vec<u8>| {
        let validity = Some(relative_validity(600));
        Submit { to: Party::Number(number.clone()), validity, user_data }.emit().unwrap()
    };
    let dissected = judge(&parts().into_iter().map(submit).collect::<Vec<_>>(), "I\n", &["-D", "-l", "147"]);
    has(
        &dissected,
        &[
            "SMS-SUBMIT",
            "TP-Destination-Address - (12025550177)",
            "Type of number: International",
            "Character Set: 8 bit data",
            "TP-Validity-Period: 10 minutes",
            "Message identifier: 77",
            "Message parts: 3",
            "Message part number: 3",
            "Destination port: Available for allocation by SMS applications without the need to refer to 3GPP or IANA (16275)",
        ],
    );
    let deliver = |user_data: Vec<u8>| {
        let length = u8::try_from(user_data.len()).unwrap();
        let stamp = Timestamp { year: 26, month: 11, day: 21, hour: 6, minute: 15, second: 0, quarters: -20 };
        let from = Party::Number(number.clone());
        Deliver { from, coding: 4, stamp, has_header: true, length, user_data }.emit().unwrap()
    };
    let dissected = judge(&parts().into_iter().map(deliver).collect::<Vec<_>>(), "O\n", &["-D", "-l", "147"]);
    has(&dissected, &["SMS-DELIVER", "Year: 26", "Month: 11", "Day: 21", "Hour: 6", "Minutes: 15"]);
    has(&dissected, &["Timezone: GMT - 5 hours 0 minutes", "Message part number: 2"]);
}

#[test]
fn what_a_gateway_is_told() {
    let config = SessionConfig {
        system_id: "home".to_owned(),
        password: "secret08".to_owned().into(),
        system_type: String::new(),
        number: "+12025550142".parse().unwrap(),
        window: 4,
        answer_max: Micros::from_seconds(5),
        enquire_every: Micros::from_seconds(5),
    };
    let mut session = Session::new(config, Time(0));
    session.handle_input(b"\0\0\0\x11\x80\0\0\x09\0\0\0\0\0\0\0\x01\0", Time(0));
    for (number, user_data) in (1..).zip(parts()) {
        let to = "+12025550177".parse().unwrap();
        session.submit(number, ToSend { to, user_data, validity: relative_validity(600) }, Time(0));
    }
    let sent: Vec<_> = std::iter::from_fn(|| session.poll_transmit()).collect();
    assert_eq!(sent.len(), 4);
    let dissected = judge(&sent, "", &["-T", "40000,2775"]);
    has(
        &dissected,
        &[
            "Command: Bind_transceiver",
            "System ID: home",
            "3.4",
            "Operation: Submit_sm",
            "Originator address: 12025550142",
            "Recipient address: 12025550177",
            "Message type: Default message type",
            "GSM features: UDHI indicator",
            "Validity period: 600.0",
            "Data coding: Octet unspecified",
            "[3 Short Message fragments (300 bytes): #2(128), #3(128), #4(44)]",
        ],
    );
}
