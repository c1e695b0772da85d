//! The vectors of design note 0012: what `docs/vectors/renewals.json` has to say, to the byte.

#![expect(clippy::unwrap_used, reason = "a test fails where it stands")]

use guestright_identity::{Certificate, IdentityError, Role, SecretKey, Suite, Warrant};
use guestright_units::UnixSeconds;

const COMMITTED: &str = include_str!("../../../../docs/vectors/renewals.json");
const START: UnixSeconds = UnixSeconds(1_800_000_000);
const DAY: u64 = 86_400;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn key(suite: Suite, number: u8) -> SecretKey {
    SecretKey::from_bytes(suite, &[number; 32]).unwrap()
}

/// As `negative.json` calls it.
#[expect(clippy::wildcard_enum_match_arm, reason = "no vector is refused for anything else")]
fn kind(error: &IdentityError) -> &'static str {
    match error {
        IdentityError::Truncated { .. } => "truncated",
        IdentityError::TooLong { .. } => "oversized",
        IdentityError::NotCanonical => "not-canonical",
        IdentityError::WrongSuite { .. } => "wrong-suite",
        IdentityError::BadSignature => "forged",
        IdentityError::BadKey(_) => "bad-key",
        IdentityError::UnknownSuite { .. } => "unknown-suite",
        IdentityError::WarrantExceeded(_) => "exceeded",
        IdentityError::Malformed(_) => "malformed",
        other => panic!("{other} is no kind of a vector"),
    }
}

struct Team {
    team: SecretKey,
    member: SecretKey,
    renewing: SecretKey,
    role: Role,
}

impl Team {
    fn original(&self) -> Certificate {
        Certificate::issue(&self.team, self.member.public(), self.role, START, START.plus(30 * DAY))
    }

    fn warrant(&self, life_max: u64) -> Warrant {
        let (from, to) = (START.plus(DAY), START.plus(100 * DAY));
        Warrant::issue(&self.team, self.renewing.public(), from, to, life_max).unwrap()
    }
}

fn good(name: &str, team: &Team) -> String {
    let (original, warrant) = (team.original(), team.warrant(20 * DAY));
    let (from, to) = (START.plus(15 * DAY), START.plus(35 * DAY));
    let renewed = original.renew(&team.renewing, &warrant, from, to).unwrap();
    format!(
        "    {{\n      \"name\": \"{name}\",\n      \"role\": \"{}\",\n      \"team\": \"{}\",\n      \"subject\": \"{}\",\n      \
         \"renewing\": \"{}\",\n      \"renewing_id\": \"{}\",\n      \"life_max\": {},\n      \"not_before\": {},\n      \
         \"not_after\": {},\n      \"original\": \"{}\",\n      \"warrant\": \"{}\",\n      \"encoded\": \"{}\",\n      \
         \"digest\": \"{}\"\n    }}",
        team.role,
        hex(team.team.public().as_bytes()),
        hex(team.member.public().as_bytes()),
        hex(team.renewing.public().as_bytes()),
        team.renewing.public().id(),
        warrant.life_max(),
        from.0,
        to.0,
        hex(original.as_bytes()),
        hex(warrant.as_bytes()),
        hex(renewed.as_bytes()),
        hex(renewed.digest()),
    )
}

/// Every way in which a renewal is put together wrongly, sealed with the right key.
fn bad(team: &Team) -> Vec<(&'static str, Vec<u8>)> {
    use ciborium::Value;
    use guestright_identity::cose::{open, seal};
    let (original, warrant) = (team.original(), team.warrant(20 * DAY));
    let stranger = key(Suite::Ed25519, 9);
    let strange =
        Warrant::issue(&stranger, team.renewing.public(), START, START.plus(100 * DAY), 20 * DAY).unwrap();
    let make = |by: &SecretKey, domain: &str, original: &[u8], warrant: &[u8], from: u64, to: u64| {
        let items = vec![
            Value::Bytes(original.to_vec()),
            Value::Bytes(warrant.to_vec()),
            Value::from(START.0 + from),
            Value::from(START.0 + to),
        ];
        seal(by, domain, &[], items)
    };
    let (own, word) = (original.as_bytes(), warrant.as_bytes());
    let usual = |from, to| make(&team.renewing, "renewal", own, word, from, to);
    let whole = usual(15 * DAY, 35 * DAY);
    let mut flipped = whole.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let by_itself = {
        let mut items = open(own, Certificate::LEN_MAX).unwrap().items;
        items[3] = Value::Bytes(stranger.public().as_bytes().to_vec());
        seal(&team.renewing, "certificate", &[], items)
    };
    vec![
        ("a signature that is not", flipped),
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("a byte more", [whole.as_slice(), &[0]].concat()),
        ("longer than the warrant allows", usual(15 * DAY, 35 * DAY + 1)),
        ("longer than the original", {
            let longer = team.warrant(90 * DAY);
            make(&team.renewing, "renewal", own, longer.as_bytes(), 2 * DAY, 32 * DAY + 1)
        }),
        ("begins before the warrant", usual(DAY - 1, 20 * DAY)),
        ("ends after the warrant", usual(90 * DAY, 100 * DAY + 1)),
        ("ends before it begins", usual(15 * DAY, 15 * DAY - 1)),
        ("by the team's key", make(&team.team, "renewal", own, word, 15 * DAY, 35 * DAY)),
        ("by another key", make(&stranger, "renewal", own, word, 15 * DAY, 35 * DAY)),
        ("for another purpose", make(&team.renewing, "certificate", own, word, 15 * DAY, 35 * DAY)),
        (
            "another team's warrant",
            make(&team.renewing, "renewal", own, strange.as_bytes(), 15 * DAY, 35 * DAY),
        ),
        (
            "a key that the team never certified",
            make(&team.renewing, "renewal", &by_itself, word, 15 * DAY, 35 * DAY),
        ),
        ("a second step", make(&team.renewing, "renewal", &whole, word, 16 * DAY, 36 * DAY)),
        ("the halves exchanged", make(&team.renewing, "renewal", word, own, 15 * DAY, 35 * DAY)),
    ]
}

fn generated() -> String {
    let ed25519 = Team {
        team: key(Suite::Ed25519, 1),
        member: key(Suite::Ed25519, 2),
        renewing: key(Suite::Ed25519, 3),
        role: Role::Member,
    };
    let mixed = Team {
        team: key(Suite::EcdsaP256, 4),
        member: key(Suite::Ed25519, 5),
        renewing: key(Suite::EcdsaP256, 6),
        role: Role::AccessPoint,
    };
    let renewals = [good("all of ed25519", &ed25519), good("of both suites", &mixed)];
    let refused = bad(&ed25519).into_iter().map(|(name, bytes)| {
        let error = Certificate::parse(&bytes).unwrap_err();
        format!(
            "    {{ \"name\": \"{name}\", \"kind\": \"{}\", \"bytes\": \"{}\" }}",
            kind(&error),
            hex(&bytes)
        )
    });
    let refused: Vec<_> = refused.collect();
    format!(
        "{{\n  \"renewals\": [\n{}\n  ],\n  \"refused\": [\n{}\n  ]\n}}\n",
        renewals.join(",\n"),
        refused.join(",\n")
    )
}

#[test]
fn the_committed_vectors_are_what_this_code_makes() {
    let generated = generated();
    assert!(generated == COMMITTED, "docs/vectors/renewals.json is stale; it should be:\n{generated}");
}
