//! Vectors of messages: every method, with and without what is optional.

use crate::actors::{CONSUMER, PROVIDER, STARTED};
use crate::hex;
use crate::objects::{consumed, full_bundle, renewed, terms};
use guestright_radius::Msk;
use guestright_radius::relay::{Answer, Conversation, Question, Sentence, What};
use guestright_receipt::{Bundle, HoldId, HoldUse};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::message::{
    BlockedDevices, Code, GuestId, InSession, Inquiry, Outcome, Reference, TeamDecision, Update, Volume,
};
use guestright_units::{Bytes, UnixSeconds};
use serde_json::{Value, json};
use std::num::NonZeroU16;

/// Every message by a name of its own.
pub fn all() -> Vec<(&'static str, Message)> {
    let certificate = Box::new(CONSUMER.member.1.clone());
    let nonce = *b"sixteen new ones";
    let receipts = vec![consumed(STARTED, 50_000_000).as_bytes().to_vec()];
    let one = Bundle { receipts, ..Bundle::default() };
    let nothing = Bundle::default;
    let (key, access_point) = &PROVIDER.access_point;
    let acknowledgement = terms(&PROVIDER, ServiceClass::Lowest).seal(key, access_point);
    let conn = |bundle| Message::Conn { certificate: certificate.clone(), nonce, bundle, holds: false };
    let quer = |bundle| Message::Quer {
        reference: 7,
        certificate: certificate.clone(),
        request: Bytes(1_000_000),
        bundle,
        holds: false,
        session: None,
    };
    let rreq = |weight, last| Message::Rreq { started: STARTED, weight: Bytes(weight), last, hold: None };
    let qrsp = |grant, ind, valid_for, reason: &str| Message::Qrsp {
        reference: 7,
        grant,
        ind,
        valid_for,
        reason: reason.to_owned(),
        volume: None,
        home: None,
    };
    let fetch = Update::Fetch { since: UnixSeconds(0), max: 32 };
    let taken = Update::Taken { stored: 2, refused: 1 };
    vec![
        ("CONN without receipts", conn(nothing())),
        ("CONN with receipts", conn(full_bundle())),
        ("CACK", Message::Cack { certificate: Box::new(access_point.clone()), acknowledgement, home: None }),
        ("RREQ", rreq(50_000_000, false)),
        ("RREQ at the end", rreq(u64::MAX, true)),
        ("RCPT of a visitor", Message::Rcpt { reference: None, bundle: one, home: None }),
        (
            "RCPT between programs of a team",
            Message::Rcpt { reference: Some(9), bundle: full_bundle(), home: None },
        ),
        ("RCPT of nothing", Message::Rcpt { reference: Some(u64::MAX), bundle: nothing(), home: None }),
        ("QUER without receipts", quer(nothing())),
        ("QUER with receipts", quer(full_bundle())),
        ("QRSP that grants", qrsp(Some(ServiceClass::High), Some(875), 300, "gave 7, took 8")),
        ("QRSP without a ratio", qrsp(Some(ServiceClass::Lowest), None, 3_600, "a stranger")),
        ("QRSP that refuses", qrsp(None, Some(0), 60, "gave nothing")),
        ("UPDT that asks", Message::Updt { reference: 8, what: fetch }),
        ("UPDT that answers", Message::Updt { reference: 9, what: taken }),
        ("ERRO", Message::error(Code::Unpaid, "no receipt in time")),
        (
            "ERRO between programs of a team",
            Message::Erro { reference: Some(9), code: Code::Busy, reason: "try later".to_owned() },
        ),
        ("ERRO that says goodbye", Message::error(Code::Closed, "the visitor leaves")),
        ("RREQ to a tunnel's home", Message::RreqTunnel { port: NonZeroU16::MAX, started: None }),
        (
            "RREQ to a tunnel's home, again",
            Message::RreqTunnel { port: NonZeroU16::MIN, started: Some(STARTED) },
        ),
        ("RNEW that asks", Message::Rnew { reference: 1 << 63 | 1, certificate: None }),
        (
            "RNEW that answers",
            Message::Rnew { reference: 1 << 63 | 1, certificate: renewed().pop().map(Box::new) },
        ),
    ]
    .into_iter()
    .chain(on_holds())
    .chain(on_eap())
    .collect()
}

/// What is said about holds and volumes.
#[expect(clippy::too_many_lines, reason = "one table")]
fn on_holds() -> Vec<(&'static str, Message)> {
    let certificate = Box::new(CONSUMER.member.1.clone());
    let (key, access_point) = &PROVIDER.access_point;
    let acknowledgement = terms(&PROVIDER, ServiceClass::Lowest).seal(key, access_point);
    let address = |text: &str| Some(text.parse().expect("an address"));
    let receipts = vec![consumed(STARTED, 50_000_000).as_bytes().to_vec()];
    let latest = Bundle { receipts, ..Bundle::default() };
    let hold = |number| HoldUse { id: HoldId([number; 24]), weight: Bytes(8_000_000) };
    let in_session = |left| InSession { started: STARTED, left: Bytes(left), unpaid: Bytes(30_000) };
    let quer = |request, session, bundle| Message::Quer {
        reference: 7,
        certificate: certificate.clone(),
        request: Bytes(request),
        bundle,
        holds: true,
        session,
    };
    let qrsp = |allowance, holds: &[HoldUse], home: Option<&str>| Message::Qrsp {
        reference: 7,
        grant: Some(ServiceClass::Lowest),
        volume: Some(Volume { allowance: Bytes(allowance), holds: holds.to_vec(), ..Volume::default() }),
        home: home.and_then(address),
        ind: None,
        valid_for: 300,
        reason: "credit is being reserved".to_owned(),
    };
    let cack = |home: &str| Message::Cack {
        certificate: Box::new(access_point.clone()),
        acknowledgement: acknowledgement.clone(),
        home: address(home),
    };
    let conn = |bundle| Message::Conn {
        certificate: certificate.clone(),
        nonce: *b"sixteen new ones",
        holds: true,
        bundle,
    };
    let along_a_chain = |mut message: Message| {
        if let Message::Qrsp { volume: Some(volume), .. } = &mut message {
            volume.between = vec![PROVIDER.id(), CONSUMER.id()];
        }
        message
    };
    let granted = |bytes| Message::Tryr {
        reference: 12,
        granted: Bytes(bytes),
        reason: "20.0 MB of what this household gives away".to_owned(),
    };
    let asks = |what| Message::Asks { reference: 14, version: 1, what };
    let block = |devices: &[[u8; 6]]| {
        Inquiry::BlockDevices(BlockedDevices::new(devices.iter().copied()).expect("a few devices"))
    };
    let outcome = |outcome| Message::SaysOutcome { reference: 14, version: 1, outcome };
    vec![
        ("TRYQ that asks", Message::Tryq { reference: 12, request: Bytes(20_000_000), unused: Bytes(0) }),
        ("TRYQ at the end", Message::Tryq { reference: 12, request: Bytes(0), unused: Bytes(1_234) }),
        ("TRYR that grants", granted(20_000_000)),
        ("TRYR that refuses", granted(0)),
        ("ASKS", Message::Asks { reference: 13, version: 1, what: Inquiry::Overview }),
        ("SAYS", Message::Says { reference: 13, version: 1, answer: vec![0xa0] }),
        ("ASKS that ends a guest's session", asks(Inquiry::EndGuest(GuestId(0x0123_4567_89ab_cdef)))),
        (
            "ASKS that blocks two devices",
            asks(block(&[[2, 0, 0x5e, 0x10, 0, 0x15], [2, 0, 0x5e, 0x10, 0, 0x16]])),
        ),
        ("ASKS that blocks no device", asks(block(&[]))),
        ("SAYS that it is done", outcome(Outcome::Done { ended: 1 })),
        ("SAYS that it is not", outcome(Outcome::Failed { reason: "the list could not be kept".to_owned() })),
        ("QRSP with a hold along a chain", along_a_chain(qrsp(0, &[hold(1)], None))),
        ("CONN of a visitor that signs for holds", conn(Bundle::default())),
        ("CACK with the home's address", cack("home.example:7275")),
        ("CACK with the home's IPv6 address", cack("[2001:db8::1]:7275")),
        (
            "RREQ for bytes on a hold",
            Message::Rreq { started: STARTED, weight: Bytes(9_000_000), hold: Some(hold(7)), last: false },
        ),
        (
            "RCPT with the address of a home",
            Message::Rcpt { reference: Some(9), home: address("192.0.2.1:7275"), bundle: full_bundle() },
        ),
        ("QUER of a visitor that signs for holds", quer(1_000_000, None, Bundle::default())),
        ("QUER in a session, with its latest receipt", quer(1_000_000, Some(in_session(500_000)), latest)),
        ("QUER that says that a session is over", quer(0, Some(in_session(0)), Bundle::default())),
        ("QRSP that grants a session, and no byte", qrsp(0, &[], Some("home.example:7275"))),
        ("QRSP with a slice of the allowance", qrsp(8_000_000, &[], None)),
        ("QRSP with a hold", qrsp(0, &[hold(1)], None)),
        ("QRSP with eight holds", qrsp(1_000_000, &[1, 2, 3, 4, 5, 6, 7, 8].map(hold), None)),
    ]
}

/// What an access point asks its home for a device that wants to join the Wi-Fi, and each answer.
fn on_eap() -> Vec<(&'static str, Message)> {
    let conversation = Conversation(*b"sixteen by chanc");
    // Identity, EAP-TLS's beginning, Success, Failure (RFC 3748, section 4; RFC 5216, section 3).
    let [identity, start, success, failure] = [
        &b"\x02\x01\x00\x0a\x01a@b.c"[..],
        b"\x01\x02\x00\x06\x0d\x20",
        b"\x03\x05\x00\x04",
        b"\x04\x05\x00\x04",
    ]
    .map(<[u8]>::to_vec);
    let eapq = |framed_mtu| Message::Eapq {
        reference: 11,
        team: CONSUMER.id(),
        question: Box::new(Question { conversation, framed_mtu, eap: identity.clone() }),
    };
    let eapr = |what, decision: Option<(bool, &str)>| Message::Eapr {
        reference: 11,
        decision: decision.map(|(granted, reason)| TeamDecision { granted, reason: reason.to_owned() }),
        answer: Box::new(Answer { conversation, what }),
    };
    let accept = |home: Option<&str>| What::Accept {
        eap: success.clone(),
        msk: Msk::new(std::array::from_fn(|index| u8::try_from(index).expect("there are 64"))),
        valid_for_seconds: 86_400,
        home: home.map(|text| text.parse().expect("an address")),
    };
    let reason = Sentence::new("this phone was taken off the list of members");
    vec![
        ("EAPQ", eapq(Some(1_400))),
        ("EAPQ without a Framed-MTU", eapq(None)),
        ("EAPR with a challenge", eapr(What::Challenge { eap: start }, None)),
        ("EAPR with two yeses", eapr(accept(Some("192.0.2.1:4500")), Some((true, "it has credit")))),
        ("EAPR with a yes and a no", eapr(accept(Some("[2001:db8::1]:4500")), Some((false, "used up")))),
        ("EAPR that refuses", eapr(What::Reject { eap: failure, reason: reason.clone() }, None)),
        ("EAPR of no home", eapr(What::Away { reason }, None)),
    ]
}

pub(super) fn messages() -> Value {
    let vector = |(name, message): (&str, Message)| {
        let bytes = message.emit();
        assert_eq!(Message::parse(&bytes).as_ref(), Ok(&message), "{name}");
        json!({ "name": name, "method": message.method(), "bytes": hex(&bytes), "fields": fields(&message) })
    };
    json!({ "messages": all().into_iter().map(vector).collect::<Vec<_>>() })
}

fn inquiry(reference: Reference, version: u8, what: &Inquiry) -> Value {
    let (what, guest, body) = match what {
        Inquiry::Overview => ("overview", None, None),
        Inquiry::EndGuest(guest) => ("end-guest", Some(guest.to_string()), None),
        Inquiry::BlockDevices(devices) => {
            ("block-devices", None, Some(hex(&devices.iter().flatten().collect::<Vec<_>>())))
        }
    };
    let mut fields = json!({ "Reference": reference, "Version": version, "What": what });
    fields.as_object_mut().expect("it was made as one").extend(
        [("Guest", guest), ("body", body)]
            .into_iter()
            .filter_map(|(name, it)| Some((name.to_owned(), json!(it?)))),
    );
    fields
}

/// What a reader gets, by the names of the headers.
fn fields(message: &Message) -> Value {
    let body =
        |bundle: &Bundle| if *bundle == Bundle::default() { String::new() } else { hex(&bundle.emit()) };
    match message {
        Message::Conn { certificate, nonce, holds, bundle } => json!({
            "Member-Certificate": hex(certificate.as_bytes()), "Nonce": hex(nonce),
            "Holds": holds.then_some(1), "body": body(bundle) }),
        Message::Cack { certificate, acknowledgement, home } => json!({
            "Provider-Certificate": hex(certificate.as_bytes()), "Acknowledgement": hex(acknowledgement),
            "Home": home.as_ref().map(ToString::to_string) }),
        Message::Rreq { started, weight, hold: on, last } => json!({
            "Session-Started": started.0, "Weight": weight.0, "Hold": on.as_ref().map(hold),
            "Last": last.then_some(1) }),
        Message::RreqTunnel { port, started } => json!({
            "Tunnel": port.get(), "Session-Started": started.map(|started| started.0) }),
        Message::Rcpt { reference, home, bundle } => json!({
            "Reference": reference, "Home": home.as_ref().map(ToString::to_string), "body": body(bundle) }),
        Message::Quer { reference, certificate, request, session, holds, bundle } => json!({
            "Reference": reference, "Member-Certificate": hex(certificate.as_bytes()),
            "Request-Weight": request.0, "Session-Started": session.map(|session| session.started.0),
            "Left": session.map(|session| session.left.0), "Unpaid": session.map(|session| session.unpaid.0),
            "Holds": holds.then_some(1), "body": body(bundle) }),
        Message::Qrsp { reference, grant, volume, home, ind, valid_for, reason } => json!({
            "Reference": reference, "Decision": if grant.is_some() { "grant" } else { "deny" },
            "Qos-Class": grant.map(ServiceClass::name),
            "Volume": volume.as_ref().map(|volume| volume.allowance.0),
            "Holds": volume.as_ref().filter(|volume| !volume.holds.is_empty())
                .map(|volume| volume.holds.iter().map(hold).collect::<Vec<_>>()),
            "Between": volume.as_ref().filter(|volume| !volume.between.is_empty())
                .map(|volume| volume.between.iter().map(ToString::to_string).collect::<Vec<_>>()),
            "Home": home.as_ref().map(ToString::to_string), "Ind-Permille": ind, "Valid-For": valid_for,
            "Reason": reason }),
        Message::Updt { reference, what: Update::Fetch { since, max } } => json!({
            "Reference": reference, "Since": since.0, "Max": max }),
        Message::Updt { reference, what: Update::Taken { stored, refused } } => json!({
            "Reference": reference, "Stored": stored, "Refused": refused }),
        Message::Rnew { reference, certificate } => json!({
            "Reference": reference,
            "Certificate": certificate.as_ref().map(|certificate| hex(certificate.as_bytes())) }),
        Message::Eapq { reference, team, question } => json!({
            "Reference": reference, "Team": team.to_string(), "body": hex(&question.emit()) }),
        Message::Eapr { reference, decision, answer } => json!({
            "Reference": reference,
            "Decision": decision.as_ref().map(|decision| if decision.granted { "grant" } else { "deny" }),
            "Reason": decision.as_ref().map(|decision| &decision.reason), "body": hex(&answer.emit()) }),
        Message::Tryq { reference, request, unused } => json!({
            "Reference": reference, "Request-Weight": request.0, "Unused": unused.0 }),
        Message::Tryr { reference, granted, reason } => json!({
            "Reference": reference, "Volume": granted.0, "Reason": reason }),
        Message::Asks { reference, version, what } => inquiry(*reference, *version, what),
        Message::SaysOutcome { reference, version, outcome: Outcome::Done { ended } } => json!({
            "Reference": reference, "Version": version, "Outcome": "done", "Ended": ended }),
        Message::SaysOutcome { reference, version, outcome: Outcome::Failed { reason } } => json!({
            "Reference": reference, "Version": version, "Outcome": "failed", "Reason": reason }),
        Message::Says { reference, version, answer } => json!({
            "Reference": reference, "Version": version, "body": hex(answer) }),
        Message::Erro { reference, code, reason } => json!({
            "Reference": reference, "Code": code.to_string(), "Reason": reason }),
    }
}

/// A hold's name, and how many bytes.
fn hold(hold: &HoldUse) -> Value {
    json!([hex(&hold.id.0), hold.weight.0])
}
