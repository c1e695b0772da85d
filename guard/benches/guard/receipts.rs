//! Receipts: what a visitor signs, and what an access point and a home verify.

use crate::{Path, ROUNDS_MAX, Round};
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, Rules, UncheckedReceipt, verify_batch};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::hint::black_box;

pub(crate) const PATHS: &[Path] = &[
    ("receipt-sign", sign),
    ("receipt-parse", parse),
    ("receipt-verify", verify),
    ("receipt-verify-64", batch),
];

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
/// Receipts that are verified at once.
const BATCH: usize = 64;

/// A member and its team's word for it.
struct Signer(SecretKey, Certificate);

impl Signer {
    fn new() -> Self {
        let mut rng = StdRng::seed_from_u64(1);
        let team = SecretKey::generate(Suite::Ed25519, &mut rng);
        let key = SecretKey::generate(Suite::Ed25519, &mut rng);
        let certificate =
            Certificate::issue(&team, key.public(), Role::Member, NOW.minus(10), NOW.plus(1_000));
        Self(key, certificate)
    }

    fn receipt(&self, number: usize) -> Receipt {
        Receipt::sign(&self.0, &self.1, TeamId([9; 24]), NOW, Bytes(50_000_000 + number as u64))
    }

    fn receipts(&self, count: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
        let receipts: Vec<_> = (0..count).map(|number| self.receipt(number).as_bytes().to_vec()).collect();
        receipts.into_iter()
    }
}

fn sign() -> Round {
    let signer = Signer::new();
    let mut numbers = 0..;
    Box::new(move || drop(black_box(signer.receipt(numbers.next().unwrap()))))
}

fn parse() -> Round {
    let mut receipts = Signer::new().receipts(ROUNDS_MAX);
    Box::new(move || drop(black_box(UncheckedReceipt::parse(&receipts.next().unwrap()).unwrap())))
}

fn verify() -> Round {
    let signer = Signer::new();
    let mut receipts = signer.receipts(ROUNDS_MAX);
    Box::new(move || {
        let parsed = UncheckedReceipt::parse(&receipts.next().unwrap()).unwrap();
        black_box(Rules::default().verify(parsed, &signer.1, NOW).unwrap());
    })
}

fn batch() -> Round {
    let signer = Signer::new();
    let receipts: Vec<_> = signer.receipts(BATCH).collect();
    Box::new(move || {
        let parsed = receipts.iter().map(|receipt| (UncheckedReceipt::parse(receipt).unwrap(), &signer.1));
        let mut rng = StdRng::seed_from_u64(3);
        let verdicts = verify_batch(parsed.collect(), &Rules::default(), NOW, &mut rng);
        assert!(verdicts.iter().all(Result::is_ok));
    })
}
