//! Vectors of holds: terms, their names, and what homes say about them (design note 0010).

use crate::actors::{CONSUMER, NOW, PROVIDER, STARTED};
use crate::hex;
use crate::objects::consumed_on;
use guestright_credit::{HoldId, Message, Proof, Terms};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use serde_json::{Value, json};

/// Terms from the provider to the consumer, over so many homes between.
pub fn terms(between: u8, amount: Bytes) -> Terms {
    Terms {
        provider: PROVIDER.id(),
        between: (0..between).map(|number| TeamId([0x20 + number; 24])).collect(),
        consumer: CONSUMER.id(),
        amount,
        end: NOW.plus(3_600),
        nonce: *b"never used twice",
    }
}

fn all_terms() -> Vec<(&'static str, Terms)> {
    let far = Terms { end: UnixSeconds(u64::MAX), ..terms(1, Bytes(8_000_000)) };
    vec![
        ("a direct debt, the smallest amount", terms(0, Terms::AMOUNT_MIN)),
        ("one home between", terms(1, Bytes(8_000_000))),
        ("three homes between, the largest amount", terms(3, Terms::AMOUNT_MAX)),
        ("another nonce", Terms { nonce: [0; 16], ..terms(1, Bytes(8_000_000)) }),
        ("the end of all times", far),
    ]
}

/// The receipt that comes along: over nothing at first, then one that names the hold.
fn proof(on: Option<(HoldId, u64)>) -> Proof {
    let receipt = consumed_on(STARTED, on.map_or(0, |(_, weight)| weight + 1_000), on);
    let certificate = CONSUMER.member.1.as_bytes().to_vec();
    Proof { receipt: receipt.as_bytes().to_vec(), certificate }
}

/// Every message by a name of its own.
pub fn messages() -> Vec<(&'static str, Message)> {
    let terms = terms(2, Bytes(8_000_000));
    let id = terms.id();
    vec![
        ("HOLD", Message::Hold { terms: terms.clone(), proof: proof(None) }),
        (
            "HOLD on a direct debt",
            Message::Hold { terms: self::terms(0, Terms::AMOUNT_MAX), proof: proof(None) },
        ),
        ("GOOD", Message::Good { id }),
        ("REFUSED", Message::Refused { id, available: Bytes(3_000_000) }),
        ("REFUSED, nothing at all", Message::Refused { id, available: Bytes(0) }),
        ("COMMIT", Message::Commit { terms: terms.clone(), proof: Some(proof(Some((id, 5_000_000)))) }),
        ("COMMIT of nothing", Message::Commit { terms, proof: None }),
        ("DONE", Message::Done { id }),
    ]
}

pub(super) fn holds() -> Value {
    let terms = |(name, terms): (&str, Terms)| {
        let encoded = terms.emit();
        json!({
            "name": name,
            "provider": terms.provider.to_string(),
            "between": terms.between.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "consumer": terms.consumer.to_string(),
            "amount": terms.amount.0,
            "end": terms.end.0,
            "nonce": hex(&terms.nonce),
            "encoded": hex(&encoded),
            "hashed": hex(&[&b"guestright/hold/1"[..], &encoded].concat()),
            "id": hex(&terms.id().0),
        })
    };
    let message = |(name, message): (&str, Message)| {
        let encoded = message.emit();
        assert_eq!(Message::parse(&encoded).as_ref(), Ok(&message), "{name}");
        json!({ "name": name, "encoded": hex(&encoded), "id": hex(&message.id().0), "fields": fields(&message) })
    };
    json!({
        "now": NOW.0,
        "terms": all_terms().into_iter().map(terms).collect::<Vec<_>>(),
        "messages": messages().into_iter().map(message).collect::<Vec<_>>(),
    })
}

/// What a reader gets.
fn fields(message: &Message) -> Value {
    let papers =
        |proof: &Proof| json!({ "receipt": hex(&proof.receipt), "certificate": hex(&proof.certificate) });
    match message {
        Message::Hold { terms, proof } => {
            super::with(json!({ "message": "HOLD", "terms": hex(&terms.emit()) }), &papers(proof))
        }
        Message::Good { .. } => json!({ "message": "GOOD" }),
        Message::Refused { available, .. } => json!({ "message": "REFUSED", "available": available.0 }),
        Message::Commit { terms, proof } => super::with(
            json!({ "message": "COMMIT", "terms": hex(&terms.emit()) }),
            &proof.as_ref().map_or_else(|| json!({}), papers),
        ),
        Message::Done { .. } => json!({ "message": "DONE" }),
    }
}
