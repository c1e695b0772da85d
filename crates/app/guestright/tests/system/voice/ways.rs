//! The callee's home is found in the DNS, by short message, or by the card that the caller's telephone sends.

// A message centre, written without the library that the program uses.
#[path = "../../../../../io/sms/tests/short_messages/smsc.rs"]
#[expect(dead_code, reason = "the other tests that it is for ask more of it")]
mod smsc;

use super::call;
use super::exchange::{BOB_HOME, Exchange, HOME};
use super::softphone::Baresip;
use super::telephone::{Telephone, Who};
use crate::town::bind::{self, PORT, SECRET};
use crate::town::{inside, succeeded, until};
use serde_json::json;
use smsc::{Behaviour, Smsc};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread;

/// On the Internet, where both homes reach it.
const SERVER: &str = "198.18.40.1";
const SMSC: &str = "198.18.40.1:2775";
/// Each home's directory, its number, and who its member is.
const HOMES: [(&str, &str, &str); 2] = [("house", "12025550142", "alice"), ("other", "12025550177", "bob")];

/// Takes from both homes what they know of each other's addresses. What they know instead, and what goes into
/// `[voice]`, is said by `hint` for the other home's entry and by `ways` for the home's own.
fn forget(exchange: &Exchange, ways: impl Fn(usize) -> String, hint: impl Fn(usize) -> String) {
    for (home, other) in [(0, 1), (1, 0)] {
        let file = exchange.town.path(HOMES[home].0).join("home.toml");
        let text = std::fs::read_to_string(&file).unwrap();
        let (before, after) = text.split_once(", homes = [").unwrap();
        let (_, after) = after.split_once(']').unwrap();
        let text = format!("{before}{}{after}", hint(other));
        let text = text.replace("[voice.contacts]", &format!("{}[voice.contacts]", ways(home)));
        std::fs::write(file, text).unwrap();
    }
}

/// A file that is its owner's alone, in both homes' directories.
fn secret(exchange: &Exchange, name: &str, text: &str) {
    for (team, _, _) in HOMES {
        let file = exchange.town.path(team).join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

/// Alice calls bob, so often; they talk.
fn talk(exchange: &Exchange, calls: usize) {
    exchange.connect();
    let (w1, w2) = (Baresip::start(exchange, "w1", "alice", ""), Baresip::start(exchange, "w2", "bob", ""));
    exchange.until_registered();
    for _ in 0..calls {
        w1.command("dial", "sip:bobby@10.73.5.1");
        w1.event("CALL_ESTABLISHED");
        exchange.until_received(50);
        let (at_one, at_two) = (call(&exchange.status(HOME)), call(&exchange.status(BOB_HOME)));
        assert_eq!((&at_one["caller"], &at_one["callee"]), (&json!("alice"), &json!("bobby")));
        assert_eq!((&at_two["caller"], &at_two["callee"]), (&json!("ally"), &json!("bob")));
        w1.command("hangup", "");
        w2.event("CALL_CLOSED");
        until("the call to be over", || exchange.calls(HOME) + exchange.calls(BOB_HOME) == 0);
    }
}

/// The TXT records of a member.
fn texts(exchange: &Exchange, member: &str) -> String {
    bind::dig(&exchange.town, "net", SERVER, "TXT", &format!("_guestright.{member}.members.example"))
}

/// Both homes look for people in the DNS and put their own there; they know of each other by name alone.
fn in_the_dns(exchange: &Exchange) {
    let settings = format!(
        "[voice.dns]\nresolver = \"{SERVER}:{PORT}\"\nserver = \"{SERVER}:{PORT}\"\nzone = \"members.example\"\n\
         key_file = \"update.key\"\nname = \"{{member}}.members.example\"\n"
    );
    forget(exchange, |_| settings.clone(), |other| format!(", dns = \"{}.members.example\"", HOMES[other].2));
    for (team, _, _) in HOMES {
        bind::write_key(&exchange.town.path(team).join("update.key"));
    }
}

#[test]
fn a_home_is_found_in_the_dns_alone() {
    if !inside("voice::ways::a_home_is_found_in_the_dns_alone") {
        return;
    }
    let exchange = Exchange::build("");
    let _bind = bind::start(&exchange.town, "net");
    in_the_dns(&exchange);
    let homes = exchange.open();
    until("both homes to have put their members into the DNS", || {
        ["alice", "bob"].iter().all(|member| texts(&exchange, member).starts_with("\"guestright1\" "))
    });
    talk(&exchange, 1);
    for home in homes {
        let log = home.log();
        assert!(!log.contains(SECRET) && log.contains("is in the DNS"), "{log}");
    }
}

#[test]
fn a_home_is_found_by_short_message_alone() {
    if !inside("voice::ways::a_home_is_found_by_short_message_alone") {
        return;
    }
    let exchange = Exchange::build("");
    let centre = exchange.town.world.within("net", || {
        let (sender, receiver) = std::sync::mpsc::channel();
        // What a thread starts stays in its network.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                sender.send(Arc::new(Smsc::start_at(SMSC, Behaviour::default()).await)).unwrap();
                std::future::pending::<()>().await;
            });
        });
        receiver.recv().unwrap()
    });
    let centre = centre.unwrap();
    let smpp = |home: usize| {
        let number = HOMES[home].1;
        format!(
            "[voice.sms]\nsmpp = {{ server = \"{SMSC}\", system_id = \"{number}\", password_file = \"smpp.password\", \
             number = \"+{number}\" }}\n"
        )
    };
    forget(&exchange, smpp, |other| format!(", telephone = \"+{}\"", HOMES[other].1));
    secret(&exchange, "smpp.password", "secret08\n");
    let homes = exchange.open();
    until("both homes to have logged in", || centre.seen().binds == 2);
    assert_eq!(centre.seen().submits, 0, "nothing is sent before somebody calls");
    // What was learned is kept: the second call costs nothing.
    talk(&exchange, 2);
    let seen = centre.seen();
    assert_eq!((seen.submits, seen.delivered), (6, 6), "three there and three back");
    for home in homes {
        let log = home.log();
        assert!(!log.contains("secret08") && !log.contains("2025550"), "{log}");
    }
}

#[test]
fn a_home_is_found_by_the_card_that_the_telephone_sends() {
    if !inside("voice::ways::a_home_is_found_by_the_card_that_the_telephone_sends") {
        return;
    }
    let exchange = Exchange::build("");
    let keys = HOMES.map(|(team, _, _)| {
        let text = std::fs::read_to_string(exchange.town.path(team).join("home.toml")).unwrap();
        let (_, after) = text.split_once("member = \"").unwrap();
        after[..48].to_owned()
    });
    // Each home knows the other's member: what is in the first one's file is bob's key.
    let bob = &keys[0];
    forget(&exchange, |_| String::new(), |_| String::new());
    let _homes = exchange.open();
    exchange.connect();
    let line = |key: &str, at: &str| {
        format!("Guestright-Contact: guestright:contact?name=contact&id={key}&home={at}\r\n")
    };
    let other = "198.18.40.2:7275";
    assert_eq!(exchange.ask("w1", "INVITE", bob), 404, "nobody knows where bob's home is");
    // Another one's card does not help, and neither does one that leads nowhere.
    assert_eq!(exchange.ask_with("w1", "INVITE", bob, &line(&keys[1], other)), 404);
    assert_eq!(exchange.ask_with("w1", "INVITE", bob, &line(bob, "198.18.40.2:9")), 404);
    // Alice's own telephone has bob's card among its contacts.
    let card = format!("guestright:contact?name=Robert&id={bob}&home={other}\n");
    std::fs::write(exchange.town.path("alice-contacts"), card).unwrap();
    let mut listening = Telephone::listen(&exchange.town, Who::Bob, &[]);
    let mut calling = Telephone::call(&exchange.town, Who::Alice, "robert", &[]);
    exchange.until_received(50);
    let at_one = call(&exchange.status(HOME));
    assert_eq!((&at_one["callee"], &at_one["protection"]), (&json!(bob), &json!("end-to-end")));
    calling.command("quit");
    calling.end();
    listening.summary();
    listening.command("quit");
    listening.end();
    let refused = &exchange.status(HOME)["voice"]["refused"];
    assert_eq!(refused["contact card of somebody else"], 1, "{refused}");
}

#[test]
fn a_home_that_has_moved_is_found_again() {
    if !inside("voice::ways::a_home_that_has_moved_is_found_again") {
        return;
    }
    let exchange = Exchange::build("");
    let _bind = bind::start(&exchange.town, "net");
    in_the_dns(&exchange);
    let sign = |more: &[&str]| {
        let record = ["team", "member", "record", "bob", "--dir", "other"];
        succeeded(&exchange.town.run(&[&record[..], more].concat()));
    };
    // Nobody is there, and the first home learns it so.
    sign(&["--address", "198.18.40.99"]);
    let homes = exchange.open();
    exchange.connect();
    until("bob to be in the DNS", || texts(&exchange, "bob").starts_with("\"guestright1\" "));
    let before = texts(&exchange, "bob");
    assert_eq!(exchange.ask("w1", "INVITE", "bobby"), 480);
    let status = |what: &str| exchange.status(HOME)["voice"][what].clone();
    assert_eq!(
        (status("links"), status("records")),
        (json!(0), json!(2)),
        "alice's record, and bob's that is wrong"
    );
    sign(&[]);
    succeeded(&exchange.town.run(&["home", "reload", "--config", BOB_HOME]));
    until("bob's new place to be in the DNS", || texts(&exchange, "bob") != before);
    // He has no telephone, as his own home says: there is a link to it now.
    assert_eq!(exchange.ask("w1", "INVITE", "bobby"), 480);
    assert_eq!(status("links"), 1, "{}", homes[0].log());
}
