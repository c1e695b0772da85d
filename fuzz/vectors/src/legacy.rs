//! Vectors of the suites of paper A's Table 1. OpenSSL draws their keys and, on a curve, the signatures from its own
//! chance: they are made once, and verified from then on.

use crate::actors::{NOW, PROVIDER, STARTED};
use crate::{certificate, hex, key, receipt, with};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::Receipt;
use guestright_units::Bytes;
use rand::SeedableRng;
use serde_json::{Value, json};

/// A new file.
pub fn make() -> Value {
    let suite = |&suite: &Suite| {
        let mut rng = rand::rngs::StdRng::seed_from_u64(1); // These suites do not ask it.
        let team = SecretKey::generate(suite, &mut rng);
        let member = SecretKey::generate(suite, &mut rng);
        let (from, to) = (NOW.minus(86_400), NOW.plus(90 * 86_400));
        let known = Certificate::issue(&team, member.public(), Role::Member, from, to);
        let signed = Receipt::sign(&member, &known, PROVIDER.id(), STARTED, Bytes(50_000_000));
        let secret =
            |secret: &SecretKey| with(json!({ "secret": hex(&secret.to_bytes()) }), &key(secret.public()));
        json!({
            "suite": suite.name(),
            "team": secret(&team),
            "member": secret(&member),
            "certificate": certificate(&format!("{suite} member"), &known),
            "receipt": receipt(&format!("50 MB, {suite}"), &signed, &known),
        })
    };
    let suites: Vec<_> = Suite::ALL.iter().filter(|suite| suite.is_legacy()).map(suite).collect();
    json!({ "now": NOW.0, "suites": suites })
}
