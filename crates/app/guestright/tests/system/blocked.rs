//! Devices that a household does not serve, and sessions that it ends from its home: by the home's word alone.

use crate::town::client::{Client, Transport};
use crate::town::services::AccessLog;
use crate::town::{PATIENCE, Program, Rules, Town, WEB, closed, inside, look, session, succeeded, until};
use guestright_channel::{Channel, Credentials, accept, connect};
use guestright_identity::{KeyId, Role};
use guestright_overview::Overview;
use guestright_roaming::Message;
use guestright_roaming::message::{BlockedDevices, Code, GuestId, Inquiry, Outcome};
use rustix::process::Signal;
use serde_json::Value;
use std::net::TcpListener;
use std::time::Duration;
use tokio::runtime::Runtime;

const BLOCKED: &str = "this household does not serve this device";
const BYTES: usize = 100_000;

fn town() -> Town {
    let town = Town::build(Rules::default());
    town.serve_tcp("net", WEB, &AccessLog::default());
    town
}

/// `guestright home …`, and what it prints.
fn home(town: &Town, arguments: &[&str]) -> String {
    succeeded(&town.run(&[&["home"], arguments, &["--config", "house/home.toml"]].concat()))
}

/// What the home answers at its control socket.
fn ask_home(town: &Town, question: &str) -> Value {
    look::ask("home", &town.path("house/home.toml"), question)
}

fn overview(town: &Town) -> Overview {
    let printed = succeeded(&town.run_on("router", &["status", "--json", "--home", "house/home.toml"]));
    Overview::from_json(printed.as_bytes()).unwrap()
}

/// The hardware address of whoever has a session there.
fn device(town: &Town, host: &str) -> String {
    session(&town.status(), &town.address_of(host))["mac"].as_str().unwrap().to_owned()
}

fn ended(visit: &Program) -> (String, String) {
    let ended = visit.hear("to end", |event| event["event"] == "ended");
    let word = |name: &str| ended[name].as_str().unwrap_or_default().to_owned();
    (word("code"), word("reason"))
}

/// Whoever comes from there gets nothing, and reads why.
fn is_kept_out(town: &Town, host: &str) {
    let (code, reason) = ended(&town.visit(host, "guests", "member", &[]));
    assert_eq!((code.as_str(), reason.contains(BLOCKED)), ("refused", true), "{reason}");
}

fn stop(mut program: Program) {
    program.signal(Signal::TERM);
    assert!(program.wait().success());
}

#[test]
fn a_blocked_device_is_kept_out_over_restarts_until_it_is_served_again_and_others_go_on() {
    if !inside(
        "blocked::a_blocked_device_is_kept_out_over_restarts_until_it_is_served_again_and_others_go_on",
    ) {
        return;
    }
    let town = town();
    let (home_program, ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let (other, _) = town.arrive("hostile", "guests", "second");
    assert_eq!(town.download("member", BYTES).unwrap(), BYTES);
    let (mac, ip) = (device(&town, "member"), town.address_of("member"));
    let printed = home(&town, &["block", "--device", &mac.to_uppercase()]);
    let key = KeyId(overview(&town).access_points[0].key.0).to_string();
    let short = &key[..8];
    let has_it =
        |sessions| format!("access point {short} has the list; sessions that ended by it: {sessions}\n");
    assert_eq!(printed, format!("device {mac} is served no more\n{}", has_it(1)));

    let (code, reason) = ended(&visit);
    assert_eq!((code.as_str(), reason.contains(BLOCKED)), ("refused", true), "{reason}");
    let status = town.until_status("the session to be over", |status| !closed(status, &ip).is_null());
    let over = closed(&status, &ip);
    assert!(over["counted"].as_u64() >= Some(BYTES as u64) && over["counted"] == over["signed"], "{over}");
    assert_eq!(status["blocked_devices"], 1);
    is_kept_out(&town, "member");
    assert!(!town.is_online("member"));
    assert_eq!(town.download("hostile", BYTES).unwrap(), BYTES, "somebody else's session goes on");
    let refusals = overview(&town).refusals;
    let refusal = refusals.first().expect("whoever is kept out stands there");
    assert_eq!(refusal.reason.as_str(), "This household does not serve this device.");
    let shown = succeeded(&town.run(&["ap", "status", "--config", "house/ap.toml"]));
    assert!(shown.contains("blocked   1 device"), "{shown}");
    let listed = home(&town, &["block"]);
    assert!(listed.starts_with(&format!("{mac}  since ")) && listed.lines().count() == 1, "{listed}");

    // The access point was started again, and has no home: it serves strangers, and this device not.
    stop(home_program);
    stop(ap);
    drop(other);
    let ap = town.start("ap");
    assert_eq!(town.status()["home_up"], false);
    is_kept_out(&town, "member");
    let (other, _) = town.arrive("hostile", "guests", "second");
    // Nor does it once its home is there again, which was started again too.
    let home_program = town.start("home");
    town.until_status("the home to be there", |status| status["home_up"] == true);
    is_kept_out(&town, "member");
    stop(home_program);
    let _home = town.start("home");
    town.until_status("the home to be there again", |status| status["home_up"] == true);
    is_kept_out(&town, "member");
    let printed = home(&town, &["block", "--device", &mac]);
    assert_eq!(printed, format!("device {mac} was blocked already\n{}", has_it(0)));

    let printed = home(&town, &["unblock", "--device", &mac]);
    assert_eq!(printed, format!("device {mac} is served again\n{}", has_it(0)));
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(town.download("member", BYTES).unwrap(), BYTES);
    assert_eq!(town.download("hostile", BYTES).unwrap(), BYTES);
    town.leave(visit);
    town.leave(other);
    // Unblocked while it was away, it is served: an empty list has to come as any other.
    home(&town, &["block", "--device", &mac]);
    stop(ap);
    let printed = home(&town, &["unblock", "--device", &mac]);
    assert!(printed.contains("no access point is connected"), "{printed}");
    let _ap = town.start("ap");
    town.until_status("the list of the home", |status| status["blocked_devices"] == 0);
    let (visit, _) = town.arrive("member", "guests", "member");
    town.leave(visit);
}

#[test]
fn a_session_is_ended_from_the_home_by_the_name_that_the_overview_gives_it() {
    if !inside("blocked::a_session_is_ended_from_the_home_by_the_name_that_the_overview_gives_it") {
        return;
    }
    let town = town();
    let (_home, _ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let (_other, _) = town.arrive("hostile", "guests", "second");
    let guests = overview(&town).guests;
    let ip = town.address_of("member");
    let guest = guests.iter().find(|guest| guest.ip.as_ref().is_some_and(|it| it.as_str() == ip)).unwrap();
    let access_point = KeyId(guest.access_point.0).to_string();
    let question = format!("end-guest {access_point} {}", guest.id.as_str());
    let done = ask_home(&town, &question);
    let outcome =
        |ended: u64| serde_json::json!({ "access_points": [{ "key": access_point, "ended": ended }] });
    assert_eq!(done, outcome(1));
    let (code, reason) = ended(&visit);
    assert!(code == "closed" && reason.contains("this household has ended your session"), "{code}: {reason}");
    town.until_status("it to be over", |status| session(status, &ip).is_null());
    assert_eq!(town.download("hostile", BYTES).unwrap(), BYTES, "somebody else's session goes on");
    assert_eq!(ask_home(&town, &question), outcome(0), "it is over already");
    let (visit, _) = town.arrive("member", "guests", "member");
    assert_eq!(ask_home(&town, &question), outcome(0), "the next one has another name");
    town.leave(visit);
    let nobody = ask_home(&town, &format!("end-guest {} {}", "ab".repeat(24), guest.id.as_str()));
    assert_eq!(nobody["error"], "this access point is not connected");
    assert!(
        ask_home(&town, "end-guest nonsense")["error"].as_str().unwrap().contains("guestright status --json")
    );
}

#[test]
fn a_list_that_cannot_be_kept_keeps_people_out_and_says_so() {
    if !inside("blocked::a_list_that_cannot_be_kept_keeps_people_out_and_says_so") {
        return;
    }
    let town = town();
    let (_home, ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let mac = device(&town, "member");
    // No file can take the name of this directory.
    let file = town.path("house/ap-state/blocked-devices.json");
    std::fs::create_dir_all(file.join("in-the-way")).unwrap();
    let printed = home(&town, &["block", "--device", &mac]);
    assert!(
        printed.contains("the list could not be kept: ") && printed.contains("blocked-devices.json"),
        "{printed}"
    );
    assert_eq!(ended(&visit).0, "refused");
    is_kept_out(&town, "member");
    // The access point does not begin with a list that it cannot read, and has changed nothing.
    stop(ap);
    let before = town.condition();
    let refused = town.run_on("router", &["ap", "--config", "house/ap.toml"]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && words.contains("blocked-devices.json"), "{words}");
    assert_eq!(town.condition(), before);
    let doctor = town.run_on("router", &["doctor", "--for", "ap", "--config", "house/ap.toml", "--json"]);
    let findings: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let finding = findings.as_array().unwrap().iter().find(|it| it["what"] == "blocked devices").unwrap();
    assert_eq!(finding["good"], false, "{finding}");
    // Once that is out of the way the home's list comes, and is said to be kept.
    std::fs::remove_dir_all(&file).unwrap();
    let _ap = town.start("ap");
    town.until_status("the list of the home", |status| status["blocked_devices"] == 1);
    is_kept_out(&town, "member");
    assert!(std::fs::read_to_string(&file).unwrap().contains(&mac));
}

/// What only a home says: serve nobody's device any more but this one, and end a session.
fn orders(device: &str) -> [Message; 2] {
    let bytes: Vec<u8> = device.split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    let devices = BlockedDevices::new([bytes.try_into().unwrap()]).unwrap();
    let block = Message::Asks { reference: 1, version: 1, what: Inquiry::BlockDevices(devices) };
    [block, Message::Asks { reference: 2, version: 1, what: Inquiry::EndGuest(GuestId(7)) }]
}

/// The key and certificate of one of the house.
fn credentials(town: &Town, name: &str) -> Credentials {
    let certificate = guestright_keys::read_certificate(&town.path(&format!("house/{name}.cert"))).unwrap();
    let key = guestright_keys::read_secret(&town.path(&format!("house/{name}.key")), || None).unwrap();
    Credentials { key, certificate }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sends to the home as one of the house, and gives its answers: one to each.
fn say_at_home(town: &Town, name: &str, messages: &[Message]) -> Vec<Message> {
    let credentials = credentials(town, name);
    let team = credentials.certificate.team_id();
    let say = || {
        runtime().block_on(async {
            let stream = tokio::net::TcpStream::connect("127.0.0.1:7274").await.unwrap();
            let (channel, _) = connect(stream, &credentials, team, crate::town::client::now()).await.unwrap();
            let (mut sender, mut receiver) = channel.split();
            let mut answers = Vec::new();
            for message in messages {
                sender.send(&message.emit()).await.unwrap();
                loop {
                    let answer = tokio::time::timeout(PATIENCE, receiver.receive()).await.unwrap();
                    let answer = Message::parse(&answer.unwrap().expect("an answer")).unwrap();
                    // An access point has the list first of all.
                    if !matches!(answer, Message::Asks { .. }) {
                        answers.push(answer);
                        break;
                    }
                }
            }
            answers
        })
    };
    town.world.within("router", say).unwrap()
}

#[test]
fn nobody_but_the_home_ends_a_session_or_blocks_a_device() {
    if !inside("blocked::nobody_but_the_home_ends_a_session_or_blocks_a_device") {
        return;
    }
    let town = town();
    let (home_program, ap) = town.open();
    let (visit, _) = town.arrive("member", "guests", "member");
    let mac = device(&town, "member");
    let orders = orders(&mac);
    // A guest, at the access point.
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut client = Client::new(&town, "hostile", transport);
        for message in &orders {
            client.send(&message.emit());
            let (code, reason) = client.receive_error().unwrap();
            assert_eq!((code, reason.as_str()), (Code::Malformed, "a ASKS is not for an access point"));
        }
    }
    // A member and an access point of the house, at its home; and a member who says that it was done.
    let outcome = Outcome::Done { ended: 1 };
    let done = Message::SaysOutcome { reference: 1, version: 1, outcome };
    for (name, messages) in
        [("router", orders.to_vec()), ("resident", [orders.to_vec(), vec![done]].concat())]
    {
        let answers = say_at_home(&town, name, &messages);
        for answer in &answers {
            assert!(matches!(answer, Message::Erro { code: Code::Malformed, .. }), "{name}: {answer:?}");
        }
        assert_eq!(answers.len(), messages.len());
    }
    assert_eq!(town.ask("home")["blocked_devices"], 0);
    assert_eq!(town.status()["blocked_devices"], 0);
    assert_eq!(town.download("member", BYTES).unwrap(), BYTES);

    // A member in the home's place, to whom the access point comes by itself.
    stop(home_program);
    let listener = town.world.within("router", || TcpListener::bind("127.0.0.1:7274")).unwrap().unwrap();
    pretend(&town, listener, &orders);
    let is_found_out = |status: &Value| {
        status["home_reason"].as_str().is_some_and(|it| it.contains("is a member of our team, not its home"))
    };
    let status = town.until_status("the access point to say who it was", is_found_out);
    assert_eq!(status["blocked_devices"], 0, "{status}");
    assert_eq!(town.download("member", BYTES).unwrap(), BYTES);
    town.leave(visit);
    stop(ap);
}

/// Answers the access point as a member of the house, and gives it orders until it hangs up.
fn pretend(town: &Town, listener: TcpListener, orders: &[Message]) {
    let member = credentials(town, "resident");
    let team = member.certificate.team_id();
    listener.set_nonblocking(true).unwrap();
    runtime().block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let (stream, _) = tokio::time::timeout(PATIENCE, listener.accept()).await.unwrap().unwrap();
        let (channel, peer): (Channel, _) =
            accept(stream, &member, team, crate::town::client::now()).await.unwrap();
        assert_eq!(peer.role(), Role::AccessPoint);
        let (mut sender, mut receiver) = channel.split();
        for message in orders {
            // It may have hung up by then.
            let _ = sender.send(&message.emit()).await;
        }
        let ended = tokio::time::timeout(Duration::from_secs(20), receiver.receive()).await;
        let ended = ended.expect("the access point hangs up");
        assert!(!matches!(ended, Ok(Some(_))), "it has answered: {ended:?}");
    });
    until("the access point to know why", || town.status()["home_reason"].is_string());
}
