//! A3: an access point that carries nothing and asks for receipts, in many sessions and under many teams' names.

use super::region::{Region, Terms, guest_of};
use crate::town::client::{Client, now, secret};
use crate::town::{ACCESS_POINT, PATIENCE, inside};
use guestright_identity::{Certificate, Role};
use guestright_receipt::UncheckedReceipt;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::message::{Acknowledgement, Code};
use guestright_units::{Bytes, Micros};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

const SESSIONS: u64 = 12;
/// What every visitor may be ahead of its meter, for all providers together and a day.
pub(crate) const AHEAD: u64 = 64 * 1_024;
/// How much more each request is over than the last receipt.
const STEP: u64 = 8_000;

/// How often it asks again when nothing is signed, and after how long.
const TRIES: usize = 3;
const AGAIN: Duration = Duration::from_secs(1);

/// One session of a team that was founded for it, with a visitor whose clock is ahead by so many seconds: asks for a little
/// more each time, until nothing is signed any more once `all_came`. Returns over how much the last receipt is.
pub(crate) fn ask_for_receipts(
    listener: &TcpListener,
    number: u64,
    ahead: u64,
    all_came: &AtomicBool,
) -> u64 {
    let (team, key) = (secret(7_000 + number), secret(8_000 + number));
    let started = now().plus(ahead + number);
    let (from, until) = (started.minus(3_600), started.plus(3_600));
    let certificate = Certificate::issue(&team, key.public(), Role::AccessPoint, from, until);
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut visitor = Client::Tcp(stream);
    let request =
        |signed: u64| Message::Rreq { started, weight: Bytes(signed + STEP), hold: None, last: false }.emit();
    let (mut signed, mut refused, mut opened) = (0, 0, false);
    loop {
        if !visitor.is_answered_within(AGAIN) {
            let may_end = opened && all_came.load(Ordering::Acquire);
            if may_end && refused == TRIES {
                break; // Nothing is signed any more.
            }
            if opened {
                visitor.send(&request(signed));
            }
            refused = if may_end { refused + 1 } else { 0 };
            continue;
        }
        match visitor.receive() {
            Ok(Message::Conn { certificate: member, nonce, .. }) => {
                let terms = Acknowledgement {
                    nonce,
                    member: member.subject_id(),
                    provider: certificate.team_id(),
                    started,
                    interval: Micros::from_seconds(1),
                    volume: Bytes(100_000),
                    class: ServiceClass::High,
                };
                let acknowledgement = terms.seal(&key, &certificate);
                let certificate = Box::new(certificate.clone());
                visitor.send(&Message::Cack { certificate, acknowledgement, home: None }.emit());
                opened = true;
            }
            Ok(Message::Rcpt { bundle, .. }) => {
                let weight = |bytes: &Vec<u8>| UncheckedReceipt::parse(bytes).unwrap().weight().0;
                signed = bundle.receipts.iter().map(weight).fold(signed, u64::max);
                visitor.send(&request(signed));
                refused = 0;
            }
            Ok(_) => {}
            // The visitor has had enough of the lies.
            Err(error) => {
                assert!(opened && all_came.load(Ordering::Acquire), "{error}");
                break;
            }
        }
    }
    visitor.send(&Message::error(Code::Closed, "the access point stops").emit());
    signed
}

#[test]
fn an_access_point_that_carries_nothing_gets_no_more_under_many_names() {
    if !inside("credit::meter::an_access_point_that_carries_nothing_gets_no_more_under_many_names") {
        return;
    }
    let region = Region::build(&[Terms::new("p", 0)]);
    region.found("v", &[("one", "member")]);
    let listener = region.world.within("p", || TcpListener::bind(ACCESS_POINT)).unwrap().unwrap();
    // Nothing is downloaded: it may end as soon as nothing is signed.
    let asking = thread::spawn(move || {
        let ask = |number| ask_for_receipts(&listener, number, 0, &AtomicBool::new(true));
        (0..SESSIONS).map(ask).collect()
    });
    let carried = |region: &Region| {
        let counters = region.world.counters(&guest_of("p"), "wlan0").unwrap();
        counters.received_bytes + counters.sent_bytes
    };
    let before = carried(&region);
    for _ in 0..SESSIONS {
        let visit = region.visit("p", "v", "one");
        visit.hear("to be over", |event| event["event"] == "ended");
    }
    let carried = carried(&region) - before;
    let signed: Vec<u64> = asking.join().unwrap();
    let all: u64 = signed.iter().sum();
    println!("signed {signed:?}, {all} in all; {carried} were carried");
    assert!(all <= carried * 105 / 100 + AHEAD, "{all} signed, {carried} carried");
    assert!(all >= AHEAD / 2, "it signs at all");
}
