use crate::household::{CALLEE, CALLER, Member, number, soon};
use crate::smsc::{Behaviour, Smsc};
use guestright_directory::sms::{relative_validity, split};
use guestright_directory::{FindError, Finder};
use guestright_sms::{FinderEvent, Received, Smpp, SmppSettings, Sms, SmsLinkError};
use std::sync::Arc;
use std::time::Duration;

fn settings(smsc: &Smsc, member: &Member) -> SmppSettings {
    let system_id = member.number.digits().to_owned();
    SmppSettings {
        answer_max: Duration::from_secs(5),
        send_max: Duration::from_secs(20),
        ..SmppSettings::new(&smsc.address.to_string(), &system_id, "secret08", member.number.clone())
    }
}

fn members() -> (Member, Member) {
    (Member::new(1, CALLER), Member::new(2, CALLEE))
}

/// A caller and a callee who find each other through this gateway.
async fn round(behaviour: Behaviour) -> crate::smsc::Seen {
    let smsc = Smsc::start(behaviour).await;
    let (caller, callee) = members();
    let line = |member: &Member| Arc::new(Smpp::start(&settings(&smsc, member)));
    let (asking, mut asked, _) = caller.finder(line(&caller), &callee).await;
    let (_answering, mut events, record) = callee.finder(line(&callee), &caller).await;
    assert_eq!(soon(asking.find(&callee.contact())).await, Ok(record));
    let Some(FinderEvent::Learned(callers)) = soon(events.recv()).await else { panic!("no question came") };
    assert_eq!(callers.member(), caller.key.public().id());
    assert_eq!(soon(events.recv()).await, Some(FinderEvent::Answered));
    assert!(asked.try_recv().is_err(), "the caller was asked nothing");
    smsc.seen()
}

#[tokio::test]
async fn a_contact_answers_with_its_record() {
    let seen = round(Behaviour::default()).await;
    assert_eq!((seen.binds, seen.submits, seen.delivered), (2, 6, 6), "three messages there, three back");
}

#[tokio::test]
async fn a_slow_gateway_that_says_rubbish_and_is_busy_passes_them_on_all_the_same() {
    let seen = round(Behaviour { throttle: 3, rubbish: true, slow: true, ..Behaviour::default() }).await;
    assert_eq!((seen.binds, seen.submits, seen.delivered), (2, 6, 6));
}

#[tokio::test]
async fn a_lost_link_is_made_again_and_nothing_is_sent_twice() {
    let smsc = Smsc::start(Behaviour { cut: 1, ..Behaviour::default() }).await;
    let (caller, callee) = members();
    let line = Smpp::start(&settings(&smsc, &caller));
    let other = Smpp::start(&settings(&smsc, &callee));
    let parts = split(b"hello", 1).unwrap();
    let validity = relative_validity(600);
    assert_eq!(soon(line.send(&callee.number, &parts, validity)).await, Err(SmsLinkError::Unknown));
    assert_eq!(soon(line.send(&callee.number, &parts, validity)).await, Ok(()));
    let want = Received { from: Some(number(CALLER)), user_data: parts[0].clone() };
    assert_eq!(soon(other.receive()).await, want);
    assert_eq!((smsc.seen().binds, smsc.seen().submits), (3, 1));
}

#[tokio::test]
async fn a_gateway_that_cannot_be_used_says_why() {
    let smsc = Smsc::start(Behaviour::default()).await;
    let (caller, callee) = members();
    let parts = split(b"hello", 1).unwrap();
    let brief = |settings: SmppSettings| SmppSettings { send_max: Duration::from_secs(2), ..settings };
    let wrong = SmppSettings { password: "wrong".to_owned().into(), ..settings(&smsc, &caller) };
    assert!(!format!("{wrong:?}").contains("wrong"));
    let line = Smpp::start(&brief(wrong));
    let late = soon(line.send(&callee.number, &parts, 1)).await.unwrap_err().to_string();
    assert!(late.contains("are system id and password right?"), "{late}");
    assert!(smsc.seen().refused >= 1);
    let nobody = SmppSettings { server: "127.0.0.1:1".to_owned(), ..settings(&smsc, &caller) };
    let line = Smpp::start(&brief(nobody));
    let late = soon(line.send(&callee.number, &parts, 1)).await.unwrap_err().to_string();
    assert!(late.contains("the SMPP gateway 127.0.0.1:1 cannot be reached"), "{late}");
}

#[tokio::test]
async fn a_stranger_gets_no_answer_and_costs_nothing() {
    let smsc = Smsc::start(Behaviour::default()).await;
    let (caller, callee) = members();
    let stranger = Member::new(3, "+12025550199");
    let line = |member: &Member| Arc::new(Smpp::start(&settings(&smsc, member)));
    let (asking, _, _) = stranger.finder(line(&stranger), &callee).await;
    let (_answering, mut events, _) = callee.finder(line(&callee), &caller).await;
    let contact = callee.contact();
    let silence = tokio::select! {
        found = asking.find(&contact) => panic!("{found:?}"),
        event = soon(events.recv()) => event,
    };
    let Some(FinderEvent::Refused("stranger", _)) = silence else { panic!("{silence:?}") };
    assert_eq!(smsc.seen().submits, 3, "the question alone");
    let without = guestright_directory::Contact { telephone: None, ..contact };
    assert_eq!(asking.find(&without).await, Err(FindError::NoHint("telephone number")));
}

#[tokio::test]
async fn a_quiet_link_is_kept_alive() {
    let smsc = Smsc::start(Behaviour::default()).await;
    let (caller, callee) = members();
    let quick = SmppSettings { enquire_every: Duration::from_millis(30), ..settings(&smsc, &caller) };
    let line = Smpp::start(&quick);
    soon(line.send(&callee.number, &split(b"x", 1).unwrap(), 1)).await.unwrap();
    soon(async {
        while smsc.seen().enquiries < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert_eq!(smsc.seen().binds, 1);
}
