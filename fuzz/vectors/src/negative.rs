//! Vectors that are refused, each with the kind of the refusal. What can be signed is: only one thing is wrong.

use crate::actors::{CONSUMER, NOW, PROVIDER, STARTED};
use crate::canonical::{head, integer, string};
use crate::objects::{
    consumed, consumed_on, delegations, full_bundle, mixed, provided, revocation_list, terms,
};
use crate::{field, hex, identity_kind};
use crate::{holds, messages};
use ciborium::Value as Cbor;
use guestright_credit::{self as credit, Terms, TermsError};
use guestright_identity::{Certificate, Delegation, PublicKey, RevocationList, Role, SecretKey, Suite, cose};
use guestright_receipt::{Bundle, BundleError, Receipt, Rules, UncheckedReceipt};
use guestright_reciprocity::ServiceClass;
use guestright_roaming::Message;
use guestright_roaming::message::Acknowledgement;
use guestright_units::Bytes;
use serde_json::{Value, json};

/// What has to be refused: its name, what it is said to be, its bytes, what is needed to check it, and the kind.
#[derive(Clone, Debug)]
pub struct Refused {
    pub name: &'static str,
    pub object: &'static str,
    pub bytes: Vec<u8>,
    certificate: Option<Vec<u8>>,
    kind: &'static str,
}

pub(super) fn negative() -> Value {
    let vector = |case: Refused| {
        let mut vector = json!({
            "name": case.name,
            "object": case.object,
            "bytes": hex(&case.bytes),
            "kind": case.kind,
        });
        if let Some(certificate) = case.certificate {
            vector["certificate"] = json!(hex(&certificate));
        }
        assert_eq!(refusal(&vector), case.kind, "{}", case.name);
        vector
    };
    json!({ "now": NOW.0, "refused": all().into_iter().map(vector).collect::<Vec<_>>() })
}

/// The kind of the refusal that a vector of `negative.json` meets.
pub fn refusal(vector: &Value) -> &'static str {
    let bytes = field(vector, "bytes");
    let certificate = || Certificate::parse(&field(vector, "certificate")).expect("a valid certificate");
    let identity = |error| identity_kind(&error);
    let found = match vector["object"].as_str().unwrap_or_default() {
        "key" => {
            // The keys that have to be refused are P-256's, and do not say so.
            let algorithm = vector["algorithm"].as_i64().unwrap_or(Suite::EcdsaP256.algorithm());
            let parse = |suite| PublicKey::parse(suite, &bytes);
            Suite::from_algorithm(algorithm).and_then(parse).map(drop).map_err(identity)
        }
        "certificate" => Certificate::parse(&bytes).map(drop).map_err(identity),
        "revocation list" => RevocationList::parse(&bytes).map(drop).map_err(identity),
        "delegation" => Delegation::parse(&bytes).map(drop).map_err(identity),
        "acknowledgement" => Acknowledgement::open(&bytes, &certificate()).map(drop).map_err(identity),
        "receipt" => {
            let rules = Rules::default();
            let verify = |receipt| rules.verify(receipt, &certificate(), NOW);
            UncheckedReceipt::parse(&bytes).and_then(verify).map(drop).map_err(|error| error.kind())
        }
        "bundle" => Bundle::parse(&bytes).map(drop).map_err(|error| match error {
            BundleError::Form(error) => identity_kind(&error),
            BundleError::TooMany { .. } => "too-many",
        }),
        "terms" => Terms::parse(&bytes).map(drop).map_err(|error| terms_kind(&error)),
        "hold message" => credit::Message::parse(&bytes).map(drop).map_err(|error| match error {
            credit::MessageError::Form(error) => identity_kind(&error),
            credit::MessageError::Terms(error) => terms_kind(&error),
        }),
        "message" => Message::parse(&bytes).map(drop).map_err(|error| error.kind()),
        other => panic!("there is no object {other:?}"),
    };
    found.err().unwrap_or("accepted")
}

fn terms_kind(error: &TermsError) -> &'static str {
    if let TermsError::Form(error) = error { identity_kind(error) } else { "terms" }
}

pub fn all() -> Vec<Refused> {
    [
        keys(),
        forms(),
        certificates(),
        lists(),
        receipts(),
        terms_refused(),
        bundles(),
        texts(),
        delegation_cases(),
        receipts_on_holds(),
        texts_on_holds(),
        hold_messages(),
    ]
    .concat()
}

fn case(object: &'static str, name: &'static str, bytes: Vec<u8>, kind: &'static str) -> Refused {
    Refused { name, object, bytes, certificate: None, kind }
}

/// A COSE_Sign1 of any parts, signed over them as they are.
pub(super) fn sign(
    key: &SecretKey,
    domain: &str,
    context: &[u8],
    protected: &[u8],
    payload: &[u8],
) -> [Vec<u8>; 5] {
    let external = [b"guestright/", domain.as_bytes(), b"/1", context].concat();
    let signed = [
        head(4, 4),
        head(3, 10),
        b"Signature1".to_vec(),
        string(protected),
        string(&external),
        string(payload),
    ];
    let signature = key.sign(&signed.concat()).0;
    [head(4, 4), string(protected), head(5, 0), string(payload), string(&signature)]
}

fn protected(algorithm: i64) -> Vec<u8> {
    [vec![0xa1, 0x01], integer(algorithm)].concat()
}

fn items() -> Vec<Cbor> {
    cose::open(CONSUMER.member.1.as_bytes(), 1_024).expect("our own certificate").items
}

fn keys() -> Vec<Refused> {
    let compressed = PROVIDER.team.public().as_bytes().to_vec();
    let compact = [&[5], &compressed[1..]].concat();
    let off = [vec![2], vec![0xff; 32]].concat();
    vec![
        case("key", "P-256 in the compact form of one point", compact, "bad-key"),
        case("key", "P-256 with 32 bytes", compressed[1..].to_vec(), "bad-key"),
        case("key", "P-256 beyond the field", off, "bad-key"),
        case("key", "P-256 of nothing", vec![0], "bad-key"),
    ]
}

/// What is wrong with a COSE_Sign1, shown with a certificate.
fn forms() -> Vec<Refused> {
    let team = &CONSUMER.team;
    let good = CONSUMER.member.1.as_bytes();
    let payload = cose::encode(items());
    let with = |protected: &[u8], payload: &[u8]| sign(team, "certificate", &[], protected, payload).concat();
    let mut parts = sign(team, "certificate", &[], &protected(-19), &payload);
    assert_eq!(parts.concat(), good);
    parts[2] = [head(5, 1), integer(4), string(b"me")].concat();
    let unprotected = parts.concat();
    parts[2] = head(5, 0);
    parts[3] = vec![0xf6];
    let detached = parts.concat();
    let long = [&payload[..payload.len() - 5], &[0x1b, 0, 0, 0, 0], &payload[payload.len() - 4..]].concat();
    let endless = [&[0x9f], &payload[1..], &[0xff]].concat();
    let more = [vec![0xa2, 0x01, 0x32, 0x04], string(b"me")].concat();
    let wrong = |name, bytes, kind| case("certificate", name, bytes, kind);
    vec![
        wrong("nothing at all", vec![], "truncated"),
        wrong("cut in the middle", good[..100].to_vec(), "truncated"),
        wrong("one byte short", good[..good.len() - 1].to_vec(), "truncated"),
        wrong("one byte more", [good, &[0]].concat(), "not-canonical"),
        wrong("more bytes than any", vec![0x84; 1_025], "oversized"),
        wrong("a number in eight bytes that fits in four", with(&protected(-19), &long), "not-canonical"),
        wrong("an array without a length", with(&protected(-19), &endless), "not-canonical"),
        wrong(
            "bytes after the payload",
            with(&protected(-19), &[&payload[..], &[0]].concat()),
            "not-canonical",
        ),
        wrong("a header that is not signed", unprotected, "not-canonical"),
        wrong("a header besides the algorithm", with(&more, &payload), "not-canonical"),
        wrong("a payload that is elsewhere", detached, "malformed"),
        wrong("tag 18 in front", [&[0xd2], good].concat(), "malformed"),
        wrong("no algorithm", with(&[], &payload), "malformed"),
        wrong("EdDSA, which does not name the curve", with(&protected(-8), &payload), "unknown-suite"),
        wrong("a payload that is a number", with(&protected(-19), &[1]), "malformed"),
        wrong(
            "an algorithm in two bytes that fits in one",
            with(&[0xa1, 0x01, 0x38, 0x12], &payload),
            "not-canonical",
        ),
        wrong("a header that is no map", with(&[0x32], &payload), "malformed"),
        wrong("a header that ends in the middle", with(&[0xa1, 0x01], &payload), "not-canonical"),
        wrong("an open length before a cut", vec![0x84, 0x5f, 0x43], "not-canonical"),
        wrong("a payload that ends in the middle", with(&protected(-19), &payload[..9]), "truncated"),
        wrong(
            "a payload with a map that ends in the middle",
            with(&protected(-19), &[0x81, 0xa1]),
            "malformed",
        ),
        wrong(
            "a payload with a text that is not UTF-8",
            with(&protected(-19), &[0x81, 0x61, 0xff]),
            "malformed",
        ),
        wrong(
            "a payload of seven arrays",
            with(&protected(-19), &[0x81, 0x81, 0x81, 0x81, 0x81, 0x81, 0x80]),
            "malformed",
        ),
        wrong("an unknown suite before a payload that is none", with(&protected(-8), &[1]), "unknown-suite"),
    ]
}

fn certificates() -> Vec<Refused> {
    let team = &CONSUMER.team;
    let changed = |index: usize, value: Cbor| {
        let mut items = items();
        items[index] = value;
        cose::seal(team, "certificate", &[], items)
    };
    let good = CONSUMER.member.1.as_bytes();
    let flip = |index: usize| {
        let mut flipped = good.to_vec();
        flipped[index] ^= 1;
        flipped
    };
    let mut other_s = good.to_vec();
    add_order(&mut other_s[good.len() - 32..]);
    let seven = [items(), vec![Cbor::from(0)]].concat();
    let wrong = |name, bytes, kind| case("certificate", name, bytes, kind);
    vec![
        wrong("a changed byte of the signature", flip(good.len() - 40), "forged"),
        wrong("a changed byte of the team's key, which is no point then", flip(40), "bad-key"),
        wrong("an Ed25519 s beyond the order", other_s, "forged"),
        wrong("a P-256 s in the upper half", high_s(PROVIDER.member.1.as_bytes()), "forged"),
        wrong("signed for another purpose", cose::seal(team, "revocation", &[], items()), "forged"),
        wrong("signed by its subject", cose::seal(&CONSUMER.member.0, "certificate", &[], items()), "forged"),
        wrong("seven fields", cose::seal(team, "certificate", &[], seven), "malformed"),
        wrong("a role that is none", changed(0, Cbor::from(4)), "malformed"),
        wrong("a role in words", changed(0, Cbor::Text("member".into())), "malformed"),
        wrong("a suite that is none", changed(2, Cbor::from(-7)), "unknown-suite"),
        wrong("a subject of another suite than it says", changed(2, Cbor::from(-9)), "bad-key"),
        wrong("a life that ends before it begins", changed(5, Cbor::from(0)), "malformed"),
        wrong("a life before 1970", changed(4, Cbor::from(-1)), "malformed"),
    ]
}

/// s + L, little-endian: the same number modulo Ed25519's order.
fn add_order(s: &mut [u8]) {
    const ORDER: [u8; 16] =
        [0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14];
    let mut carry = 0;
    for (index, byte) in s.iter_mut().enumerate() {
        let order = if index == 31 { 0x10 } else { ORDER.get(index).copied().unwrap_or(0) };
        let sum = u16::from(*byte) + u16::from(order) + carry;
        [*byte, _] = sum.to_le_bytes();
        carry = sum >> 8;
    }
}

/// n − s, big-endian, in the last 32 bytes: P-256's other signature of the same bytes.
fn high_s(object: &[u8]) -> Vec<u8> {
    let order = super::unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    let mut object = object.to_vec();
    let from = object.len() - 32;
    let mut borrow = 0;
    for index in (0..32).rev() {
        let difference = 256 + u16::from(order[index]) - u16::from(object[from + index]) - borrow;
        [object[from + index], _] = difference.to_le_bytes();
        borrow = u16::from(difference < 256);
    }
    object
}

fn lists() -> Vec<Refused> {
    let list = |keys: &[u8]| {
        let entry = |key: &u8| Cbor::Array(vec![Cbor::Bytes(vec![*key; 24]), Cbor::from(1)]);
        let mut items =
            cose::open(revocation_list(&CONSUMER, 1).as_bytes(), 1_024).expect("our own list").items;
        items[3] = Cbor::Array(keys.iter().map(entry).collect());
        cose::seal(&CONSUMER.team, "revocation", &[], items)
    };
    let wrong = |name, bytes, kind| case("revocation list", name, bytes, kind);
    vec![
        wrong("keys in descending order", list(&[2, 1]), "malformed"),
        wrong("a key twice", list(&[1, 1]), "malformed"),
        wrong("a certificate instead", CONSUMER.member.1.as_bytes().to_vec(), "malformed"),
    ]
}

fn delegation_cases() -> Vec<Refused> {
    let member = &CONSUMER.member.0;
    let good = delegations(&CONSUMER).swap_remove(0).1;
    let changed = |change: fn(&mut Vec<Cbor>)| {
        let mut items = cose::open(good.as_bytes(), 3_072).expect("our own delegation").items;
        change(&mut items);
        cose::seal(member, "delegation", &[], items)
    };
    let team = |number: u8| Cbor::Bytes(vec![number; 24]);
    let mut forged = good.as_bytes().to_vec();
    forged[60] ^= 1;
    let wrong = |name, bytes, kind| case("delegation", name, bytes, kind);
    let items = cose::open(good.as_bytes(), 3_072).expect("our own delegation").items;
    vec![
        wrong("a changed byte", forged, "forged"),
        wrong(
            "signed by the delegate",
            cose::seal(&super::objects::delegate(), "delegation", &[], items.clone()),
            "forged",
        ),
        wrong("signed for another purpose", cose::seal(member, "certificate", &[], items), "forged"),
        wrong("it ends before it begins", changed(|items| items[5] = Cbor::from(1)), "malformed"),
        wrong("six fields", changed(|items| items.truncate(6)), "malformed"),
        wrong("to the member itself", changed(|items| items[2] = items[0].clone()), "malformed"),
        wrong(
            "teams in descending order",
            changed(|items| {
                items[6] = Cbor::Array([2, 1].map(|number| Cbor::Bytes(vec![number; 24])).to_vec())
            }),
            "malformed",
        ),
        wrong(
            "65 teams",
            {
                let teams = Cbor::Array((0..65).map(team).collect());
                let mut items = cose::open(good.as_bytes(), 3_072).expect("our own delegation").items;
                items[6] = teams;
                cose::seal(member, "delegation", &[], items)
            },
            "malformed",
        ),
        wrong("3,073 bytes", vec![0; 3_073], "oversized"),
    ]
}

fn receipts() -> Vec<Refused> {
    let (member, ours) = &CONSUMER.member;
    let good = consumed(STARTED, 50_000_000);
    let items = || cose::open(good.as_bytes(), 512).expect("our own receipt").items;
    let mut forged = good.as_bytes().to_vec();
    forged[60] ^= 1;
    let mut short = items();
    short[0] = Cbor::Bytes(vec![9; 23]);
    let wrong = |name, bytes: &[u8], certificate: &Certificate, kind| Refused {
        certificate: Some(certificate.as_bytes().to_vec()),
        ..case("receipt", name, bytes.to_vec(), kind)
    };
    let signed = |key: &SecretKey, context: &[u8], items| cose::seal(key, "receipt", context, items);
    let at = |started| consumed(started, 1);
    let brief = Certificate::issue(&CONSUMER.team, member.public(), Role::Member, STARTED.plus(1), NOW);
    let (ap_key, ap) = &CONSUMER.access_point;
    let own = Receipt::sign(member, ours, CONSUMER.id(), STARTED, Bytes(1));
    let early = Receipt::sign(member, &brief, PROVIDER.id(), STARTED, Bytes(1));
    let unentitled = Receipt::sign(ap_key, ap, PROVIDER.id(), STARTED, Bytes(1));
    let digest = ours.digest();
    vec![
        wrong("cut in the middle", &good.as_bytes()[..100], ours, "truncated"),
        wrong("more bytes than any", &[0; 513], ours, "oversized"),
        wrong("one byte more", &[good.as_bytes(), &[0]].concat(), ours, "not-canonical"),
        wrong("a changed byte", &forged, ours, "forged"),
        wrong("signed without the certificate's digest", &signed(member, &[], items()), ours, "forged"),
        wrong(
            "signed for another purpose",
            &cose::seal(member, "certificate", digest, items()),
            ours,
            "forged",
        ),
        wrong("a provider of 23 bytes", &signed(member, digest, short), ours, "malformed"),
        wrong("another suite than the key's", &signed(&PROVIDER.team, digest, items()), ours, "wrong-suite"),
        wrong("another certificate", good.as_bytes(), &PROVIDER.member.1, "unknown-certificate"),
        wrong("601 s ahead", at(NOW.plus(601)).as_bytes(), ours, "future-dated"),
        wrong("400 days and a second old", at(NOW.minus(400 * 86_400 + 1)).as_bytes(), ours, "too-old"),
        wrong("a session before the certificate", early.as_bytes(), &brief, "expired-certificate"),
        wrong("signed by an access point", unentitled.as_bytes(), ap, "not-entitled"),
        wrong("a team that serves itself", own.as_bytes(), ours, "self-trade"),
        wrong(
            "a P-256 s in the upper half",
            &high_s(provided(STARTED, 7).as_bytes()),
            &PROVIDER.member.1,
            "forged",
        ),
    ]
}

fn terms_refused() -> Vec<Refused> {
    let (key, certificate) = &PROVIDER.access_point;
    let good = terms(&PROVIDER, ServiceClass::High);
    let items = || cose::open(&good.seal(key, certificate), 768).expect("our own terms").items;
    let mut classless = items();
    classless[6] = Cbor::Text("highest".into());
    let seal = |items| cose::seal(key, "acknowledgement", certificate.digest(), items);
    let other_team = Acknowledgement { provider: CONSUMER.id(), ..good.clone() }.seal(key, certificate);
    let wrong = |name, bytes, certificate: &Certificate, kind| Refused {
        certificate: Some(certificate.as_bytes().to_vec()),
        ..case("acknowledgement", name, bytes, kind)
    };
    let sealed = good.seal(key, certificate);
    let (home, of_home) = &PROVIDER.home;
    vec![
        wrong("another team than the signer's", other_team, certificate, "malformed"),
        wrong("a class that is none", seal(classless), certificate, "malformed"),
        wrong("six fields", seal(items()[..6].to_vec()), certificate, "malformed"),
        wrong("another program of the team", sealed.clone(), of_home, "forged"),
        wrong("signed under another certificate", good.seal(home, certificate), certificate, "forged"),
        wrong("an Ed25519 access point", sealed, &CONSUMER.access_point.1, "wrong-suite"),
    ]
}

fn bundles() -> Vec<Refused> {
    let receipt = Cbor::Bytes(consumed(STARTED, 0).as_bytes().to_vec());
    let empty = || Cbor::Array(vec![]);
    let many = |count| cose::encode(vec![empty(), Cbor::Array(vec![receipt.clone(); count]), empty()]);
    let wrong = |name, bytes, kind| case("bundle", name, bytes, kind);
    vec![
        wrong("two lists", cose::encode(vec![empty(), empty()]), "malformed"),
        wrong(
            "a number for a receipt",
            cose::encode(vec![empty(), Cbor::Array(vec![1.into()]), empty()]),
            "malformed",
        ),
        wrong("65 receipts", many(65), "too-many"),
        wrong(
            "66 certificates, and receipts that are no list",
            cose::encode(vec![Cbor::Array(vec![1.into(); 66]), 1.into(), empty()]),
            "too-many",
        ),
        wrong("cut in the middle", full_bundle().emit()[..50].to_vec(), "truncated"),
        wrong("one byte more", [full_bundle().emit(), vec![0]].concat(), "not-canonical"),
    ]
}

fn texts() -> Vec<Refused> {
    let wrong = |name, text: &str, kind| case("message", name, text.as_bytes().to_vec(), kind);
    let start = "RREQ P2PWNC/3.0\r\n";
    let rreq = |headers: &str| format!("{start}{headers}\r\n");
    let good = "Session-Started: 1\r\nWeight: 2\r\n";
    let many: String = (0..33).map(|number| format!("A{number}: x\r\n")).collect();
    let (_, conn) = messages::all().swap_remove(1);
    let conn = conn.emit();
    let bytes = |name, bytes: Vec<u8>, kind| case("message", name, bytes, kind);
    let forged = Message::Quer {
        reference: 1,
        certificate: Box::new(mixed()),
        request: Bytes(1),
        bundle: Bundle::default(),
        holds: false,
        session: None,
    };
    let forged = String::from_utf8(forged.emit()).expect("no body").replacen(
        "Certificate: hEOh",
        "Certificate: hEOi",
        1,
    );
    vec![
        wrong("an unknown method", "HELO P2PWNC/3.0\r\n\r\n", "malformed"),
        wrong("another protocol", "RREQ HTTP/1.1\r\n\r\n", "malformed"),
        wrong("an older version", "RREQ P2PWNC/2.0\r\n\r\n", "malformed"),
        wrong("no end of the headers", &format!("{start}{good}"), "truncated"),
        bytes("a body that is cut", conn[..conn.len() - 1].to_vec(), "truncated"),
        bytes("a byte after the body", [conn, vec![0]].concat(), "malformed"),
        wrong("a header twice", &rreq("Weight: 1\r\nWeight: 1\r\n"), "malformed"),
        wrong("a header too few", &rreq("Weight: 2\r\n"), "malformed"),
        wrong("a header in small letters", &rreq("session-started: 1\r\nWeight: 2\r\n"), "malformed"),
        wrong("no space after the colon", &rreq("Session-Started:1\r\nWeight: 2\r\n"), "malformed"),
        wrong("a negative number", &rreq("Session-Started: 1\r\nWeight: -2\r\n"), "malformed"),
        wrong(
            "a number of 65 bits",
            &rreq("Session-Started: 1\r\nWeight: 18446744073709551616\r\n"),
            "malformed",
        ),
        wrong("a letter that is not ASCII", &rreq(&format!("{good}X: é\r\n")), "malformed"),
        wrong("33 headers", &format!("{start}{many}\r\n"), "oversized"),
        wrong("a start line of 65 bytes", &format!("RREQ{} P2PWNC/3.0\r\n\r\n", " ".repeat(48)), "oversized"),
        wrong("a header block of 4097 bytes", &rreq(&format!("A: {}\r\n", "x".repeat(4_090))), "oversized"),
        wrong("a body of 65537 bytes", &rreq("Content-Length: 65537\r\n"), "oversized"),
        wrong("a nonce of 15 bytes", &nonce_of(15), "malformed"),
        wrong("base64 without padding", &unpadded(), "malformed"),
        wrong("a certificate that is refused", &forged, "certificate"),
        wrong("a body that is no bundle", "RCPT P2PWNC/3.0\r\nContent-Length: 1\r\n\r\n0", "body"),
        wrong("a decision that is none", "QRSP P2PWNC/3.0\r\nDecision: maybe\r\n\r\n", "malformed"),
        wrong("a number with two signs", &rreq("Session-Started: ++1\r\nWeight: 2\r\n"), "malformed"),
        bytes("a byte behind a certificate that is refused", [forged.as_bytes(), b"x"].concat(), "malformed"),
        wrong(
            "a certificate that is refused before a number that is none",
            &forged.replace("Request-Weight: 1", "Request-Weight: one"),
            "certificate",
        ),
        wrong(
            "a number that is none before a certificate that is refused",
            &forged.replace("Reference: 1", "Reference: one"),
            "malformed",
        ),
        wrong(
            "the body's length before the others, and too large",
            &format!("{start}Content-Length: 65537\r\nWeight: one\r\n\r\n"),
            "oversized",
        ),
        wrong("a port of nothing", "RCPT P2PWNC/3.0\r\nHome: 192.0.2.1:0\r\n\r\n", "malformed"),
        wrong("a code that is none", "ERRO P2PWNC/3.0\r\nCode: oops\r\nReason: x\r\n\r\n", "malformed"),
    ]
}

fn receipts_on_holds() -> Vec<Refused> {
    let (member, ours) = &CONSUMER.member;
    let on = Some((holds::terms(1, Bytes(8_000_000)).id(), 8_000_000));
    let good =
        cose::open(consumed_on(STARTED, 50_000_000, on).as_bytes(), 512).expect("our own receipt").items;
    let wrong = |name, change: &dyn Fn(&mut Vec<Cbor>)| {
        let mut items = good.clone();
        change(&mut items);
        let bytes = cose::seal(member, "receipt", ours.digest(), items);
        Refused { certificate: Some(ours.as_bytes().to_vec()), ..case("receipt", name, bytes, "malformed") }
    };
    vec![
        wrong("a hold without its weight: five fields", &|items| items.truncate(5)),
        wrong("a hold without the weight on all: six fields", &|items| items.truncate(6)),
        wrong("eight fields", &|items| items.push(0.into())),
        wrong("a hold of 23 bytes", &|items| items[4] = Cbor::Bytes(vec![7; 23])),
        wrong("a hold of 25 bytes", &|items| items[4] = Cbor::Bytes(vec![7; 25])),
        wrong("a hold that is a number", &|items| items[4] = 7.into()),
        wrong("more on the hold than on all holds", &|items| items[5] = 8_000_001.into()),
        wrong("more on holds than at all", &|items| items[6] = 50_000_001.into()),
        wrong("a negative weight on the hold", &|items| items[5] = (-1).into()),
        wrong("a negative weight on all holds", &|items| items[6] = (-1).into()),
    ]
}

fn texts_on_holds() -> Vec<Refused> {
    let wrong = |name, text: String| case("message", name, text.into_bytes(), "malformed");
    let id = |length: usize| data_encoding::BASE64.encode(&vec![7; length]);
    let rreq =
        |hold: &str| format!("RREQ P2PWNC/3.0\r\nSession-Started: 1\r\nWeight: 2\r\nHold: {hold}\r\n\r\n");
    let qrsp = |volume: &str, holds: &str| {
        format!(
            "QRSP P2PWNC/3.0\r\nReference: 7\r\nDecision: grant\r\nQos-Class: low\r\nVolume: {volume}\r\n\
             Holds: {holds}\r\nValid-For: 60\r\nReason: -\r\n\r\n"
        )
    };
    let nine = vec![format!("{}/1", id(24)); 9].join(",");
    vec![
        wrong("RREQ: a hold of 23 bytes", rreq(&format!("{}/1", id(23)))),
        wrong("RREQ: a hold without its bytes", rreq(&id(24))),
        wrong("RREQ: two holds", rreq(&format!("{0}/1,{0}/1", id(24)))),
        wrong("QRSP: nine holds", qrsp("0", &nine)),
        wrong("QRSP: a hold of 27 bytes", qrsp("0", &format!("{}/1", id(27)))),
        wrong("QRSP: a hold for less than nothing", qrsp("0", &format!("{}/-1", id(24)))),
        wrong("QRSP: nothing between two commas", qrsp("0", &format!("{0}/1,,{0}/1", id(24)))),
        wrong("QRSP: a volume in words", qrsp("all", &format!("{}/1", id(24)))),
    ]
}

fn hold_messages() -> Vec<Refused> {
    let wrong = |name, bytes: Vec<u8>, kind| case("hold message", name, bytes, kind);
    let commit = |terms| credit::Message::Commit { terms, proof: None }.emit();
    let terms = |between| holds::terms(between, Bytes(8_000_000));
    let amount = |bytes| commit(holds::terms(1, Bytes(bytes)));
    let name = |length| Cbor::Bytes(vec![7; length]);
    let [good, hold] = [2, 0].map(|index| holds::messages().swap_remove(index).1.emit());
    let changed = |change: &dyn Fn(&mut Vec<Cbor>)| {
        let mut items = cose::decode(&hold).expect("our own message");
        change(&mut items);
        cose::encode(items)
    };
    let of_terms = |change: &dyn Fn(&mut Vec<Cbor>)| {
        changed(&|items| change(items[1].as_array_mut().expect("terms are a list")))
    };
    let twice = Terms { between: vec![CONSUMER.id()], ..terms(0) };
    let own = Terms { consumer: PROVIDER.id(), ..terms(0) };
    vec![
        wrong("nothing at all", vec![], "truncated"),
        wrong("an empty list", cose::encode(vec![]), "malformed"),
        wrong("a number that is none", cose::encode(vec![6.into(), name(24)]), "malformed"),
        wrong("GOOD for a hold of 23 bytes", cose::encode(vec![2.into(), name(23)]), "malformed"),
        wrong("GOOD with one field more", cose::encode(vec![2.into(), name(24), 1.into()]), "malformed"),
        wrong("REFUSED that does not say how much", cose::encode(vec![3.into(), name(24)]), "malformed"),
        wrong("cut in the middle", good[..10].to_vec(), "truncated"),
        wrong("one byte more", [&good[..], &[0]].concat(), "not-canonical"),
        wrong("more bytes than any", vec![0x84; credit::Message::LEN_MAX + 1], "oversized"),
        wrong("HOLD without a receipt", changed(&|items| items.truncate(2)), "malformed"),
        wrong("HOLD without a certificate", changed(&|items| items.truncate(3)), "malformed"),
        wrong("five terms", of_terms(&|terms| terms.truncate(5)), "malformed"),
        wrong("a nonce of 15 bytes", of_terms(&|terms| terms[5] = Cbor::Bytes(vec![7; 15])), "malformed"),
        wrong("a team of 23 bytes", of_terms(&|terms| terms[2] = name(23)), "malformed"),
        wrong("four homes between", commit(terms(4)), "terms"),
        wrong("a team on the path twice", commit(twice), "terms"),
        wrong("a provider that is the consumer", commit(own), "terms"),
        wrong("65,535 bytes", amount(65_535), "terms"),
        wrong("64 MB and a byte", amount(64_000_001), "terms"),
    ]
}

/// CONN with a nonce of another length.
fn nonce_of(length: usize) -> String {
    let (_, conn) = messages::all().swap_remove(0);
    let conn = String::from_utf8(conn.emit()).expect("no body");
    let good = "Nonce: c2l4dGVlbiBuZXcgb25lcw==";
    assert!(conn.contains(good) && length == 15);
    conn.replace(good, "Nonce: c2l4dGVlbiBuZXcgb25l")
}

fn unpadded() -> String {
    let (_, conn) = messages::all().swap_remove(0);
    String::from_utf8(conn.emit()).expect("no body").replace("b25lcw==", "b25lcw")
}
