use crate::household::{CALLEE, CALLER, Member, number, soon};
use crate::pty::{Manners, Network, SimulatedModem};
use guestright_directory::Finder;
use guestright_directory::sms::split;
use guestright_sms::{FinderEvent, Modem, ModemSettings, Received, Sms, SmsLinkError};
use std::sync::Arc;
use std::time::Duration;

fn settings(modem: &SimulatedModem) -> ModemSettings {
    ModemSettings { send_max: Duration::from_secs(25), ..ModemSettings::new(&modem.device) }
}

/// A caller and a callee who find each other through two such modems.
async fn round(manners: [Manners; 2]) -> [Vec<String>; 2] {
    let network = Network::default();
    let (caller, callee) = (Member::new(1, CALLER), Member::new(2, CALLEE));
    let [ours, theirs] = manners;
    let pin = |manners: &Manners| manners.pin.map(|pin| pin.to_owned().into());
    let pins = [pin(&ours), pin(&theirs)];
    let modems = [(&caller, ours), (&callee, theirs)]
        .map(|(member, manners)| SimulatedModem::start(member.number.digits(), manners, &network));
    let [first, second] = [0, 1].map(|index| {
        let settings = ModemSettings { pin: pins[index].clone(), ..settings(&modems[index]) };
        Arc::new(Modem::start(&settings))
    });
    let (asking, _, _) = caller.finder(first, &callee).await;
    let (_answering, mut events, record) = callee.finder(second, &caller).await;
    assert_eq!(soon(asking.find(&callee.contact())).await, Ok(record));
    let Some(FinderEvent::Learned(callers)) = soon(events.recv()).await else { panic!("no question came") };
    assert_eq!(callers.member(), caller.key.public().id());
    modems.map(|modem| modem.received())
}

fn sends(lines: &[String]) -> usize {
    lines.iter().filter(|line| line.starts_with("AT+CMGS=")).count()
}

#[tokio::test]
async fn a_contact_answers_with_its_record() {
    let received = round([Manners::default(), Manners::default()]).await;
    assert_eq!(received.map(|lines| sends(&lines)), [3, 3]);
}

#[tokio::test]
async fn modems_may_echo_be_slow_noisy_and_old() {
    let noisy = Manners { noisy: true, slow: true, ..Manners::default() };
    let old = Manners { always_echoes: true, old: true, slow: true, pin: Some("0000"), ..Manners::default() };
    let received = round([noisy, old]).await;
    let has_received = |line: &str| received[1].iter().any(|command| command == line);
    assert!(has_received("AT+CPIN=\"0000\"") && has_received("AT+CNMI=1,1,0,0,0"), "{received:?}");
    assert_eq!(received.map(|lines| sends(&lines)), [3, 3]);
}

#[tokio::test]
async fn messages_may_come_directly_and_in_the_middle_of_others() {
    let direct = Manners { direct: true, noisy: true, always_echoes: true, ..Manners::default() };
    let received = round([direct.clone(), direct]).await;
    assert!(received.iter().flatten().all(|line| !line.starts_with("AT+CMGR")), "{received:?}");
}

#[tokio::test]
async fn a_busy_network_is_tried_again() {
    let network = Network::default();
    let busy = Manners { busy: 1, ..Manners::default() };
    let modem = SimulatedModem::start("12025550142", busy, &network);
    let other = SimulatedModem::start("12025550177", Manners::default(), &network);
    let (line, receiving) = (Modem::start(&settings(&modem)), Modem::start(&settings(&other)));
    let parts = split(&[7; 300], 9).unwrap();
    soon(line.send(&number(CALLEE), &parts, 1)).await.unwrap();
    for part in &parts {
        let want = Received { from: Some(number(CALLER)), user_data: part.clone() };
        assert_eq!(soon(receiving.receive()).await, want);
    }
    assert_eq!(sends(&modem.received()), 4);
    let unknown = soon(line.send(&number("+12025550100"), &parts, 1)).await;
    let want = "the subscriber is unknown (+CMS ERROR 28)".to_owned();
    assert_eq!(unknown, Err(SmsLinkError::Refused(want)));
}

#[tokio::test]
async fn messages_that_came_before_us_are_fetched_and_a_new_modem_is_found() {
    let network = Network::default();
    let ours = SimulatedModem::start("12025550142", Manners::default(), &network);
    let theirs = SimulatedModem::start("12025550177", Manners::default(), &network);
    let line = Modem::start(&settings(&ours));
    let parts = split(b"are you there", 1).unwrap();
    soon(line.send(&number(CALLEE), &parts, 1)).await.unwrap();
    // Stored in the modem; nobody had opened it yet.
    let late = Modem::start(&settings(&theirs));
    assert_eq!(soon(late.receive()).await.user_data, parts[0]);
    soon(async {
        while !theirs.received().contains(&"AT+CMGD=1".to_owned()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_modem_that_is_missing_or_locked_says_so() {
    let network = Network::default();
    let locked = Manners { pin: Some("4711"), ..Manners::default() };
    let modem = SimulatedModem::start("12025550142", locked, &network);
    let brief = |settings| ModemSettings { send_max: Duration::from_secs(3), ..settings };
    let parts = split(b"x", 1).unwrap();
    let why = async |settings: ModemSettings| {
        let line = Modem::start(&settings);
        soon(line.send(&number(CALLEE), &parts, 1)).await.unwrap_err().to_string()
    };
    let missing = why(brief(ModemSettings::new("/dev/no-such-modem"))).await;
    assert!(missing.contains("the modem /dev/no-such-modem cannot be reached"), "{missing}");
    let none = why(brief(settings(&modem))).await;
    assert!(none.contains("it wants a PIN"), "{none}");
    let wrong = ModemSettings { pin: Some("1111".to_owned().into()), ..settings(&modem) };
    assert!(!format!("{wrong:?}").contains("1111"));
    let refused = why(brief(wrong)).await;
    assert!(refused.contains("the PIN is wrong"), "{refused}");
}
