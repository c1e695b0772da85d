//! Vectors of messages: every method, with and without what is optional.

use super::hex;
use super::objects::{consumed, full_bundle, terms};
use crate::actors::{CONSUMER, PROVIDER, STARTED};
use guestright_receipt::Bundle;
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::message::{Code, Update};
use guestright_units::{Bytes, UnixSeconds};
use serde_json::{Value, json};
use std::num::NonZeroU16;

/// Every message by a name of its own.
pub(crate) fn all() -> Vec<(&'static str, Message)> {
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

/// What a reader gets, by the names of the headers.
fn fields(message: &Message) -> Value {
    let body =
        |bundle: &Bundle| if *bundle == Bundle::default() { String::new() } else { hex(&bundle.emit()) };
    match message {
        Message::Conn { certificate, nonce, bundle, .. } => json!({
            "Member-Certificate": hex(certificate.as_bytes()), "Nonce": hex(nonce), "body": body(bundle) }),
        Message::Cack { certificate, acknowledgement, .. } => json!({
            "Provider-Certificate": hex(certificate.as_bytes()), "Acknowledgement": hex(acknowledgement) }),
        Message::Rreq { started, weight, last, .. } => json!({
            "Session-Started": started.0, "Weight": weight.0, "Last": last.then_some(1) }),
        Message::RreqTunnel { port, started } => json!({
            "Tunnel": port.get(), "Session-Started": started.map(|started| started.0) }),
        Message::Rcpt { reference, bundle, .. } => json!({ "Reference": reference, "body": body(bundle) }),
        Message::Quer { reference, certificate, request, bundle, .. } => json!({
            "Reference": reference, "Member-Certificate": hex(certificate.as_bytes()),
            "Request-Weight": request.0, "body": body(bundle) }),
        Message::Qrsp { reference, grant, ind, valid_for, reason, .. } => json!({
            "Reference": reference, "Decision": if grant.is_some() { "grant" } else { "deny" },
            "Qos-Class": grant.map(ServiceClass::name), "Ind-Permille": ind, "Valid-For": valid_for,
            "Reason": reason }),
        Message::Updt { reference, what: Update::Fetch { since, max } } => json!({
            "Reference": reference, "Since": since.0, "Max": max }),
        Message::Updt { reference, what: Update::Taken { stored, refused } } => json!({
            "Reference": reference, "Stored": stored, "Refused": refused }),
        Message::Erro { reference, code, reason } => json!({
            "Reference": reference, "Code": code.to_string(), "Reason": reason }),
    }
}
