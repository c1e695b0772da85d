//! What a receipt costs: sign, verify, verify in batches of 64, for every suite.
//!
//! Paper A, Table 1 (200 MHz MIPS, ms): RSA-1024 300.6 to sign, 12.3 to verify; ECC-160 20.3 and 114.7; RSA-2048
//! 1529.0 and 37.9; ECC-224 23.4 and 135.7. `make bench` prints that table beside these figures.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and stops when it is wrong"
)]

use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, Rules, UncheckedReceipt, verify_batch};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

fn main() {
    println!("paper A, Table 1 (ms on a 200 MHz MIPS): suite, sign, verify");
    for row in [
        "rsa-1024  300.6   12.3",
        "ecc-160    20.3  114.7",
        "rsa-2048 1529.0   37.9",
        "ecc-224    23.4  135.7",
    ] {
        println!("  {row}");
    }
    divan::main();
}

fn signers(suite: Suite, count: u64) -> Vec<(SecretKey, Certificate)> {
    let mut rng = StdRng::seed_from_u64(1);
    let team = SecretKey::generate(suite, &mut rng);
    let signer = |_| {
        let key = SecretKey::generate(suite, &mut rng);
        let certificate =
            Certificate::issue(&team, key.public(), Role::Member, NOW.minus(10), NOW.plus(1_000));
        (key, certificate)
    };
    (0..count).map(signer).collect()
}

fn receipt((key, certificate): &(SecretKey, Certificate)) -> Receipt {
    Receipt::sign(key, certificate, TeamId([9; 24]), NOW, Bytes(50_000_000))
}

fn rules() -> Rules {
    Rules { legacy_suites: true, ..Rules::default() }
}

#[divan::bench(args = Suite::ALL)]
fn sign(bencher: divan::Bencher<'_, '_>, suite: Suite) {
    let signer = signers(suite, 1).remove(0);
    bencher.bench(|| receipt(&signer));
}

#[divan::bench(args = Suite::ALL)]
fn verify(bencher: divan::Bencher<'_, '_>, suite: Suite) {
    let signer = signers(suite, 1).remove(0);
    let bytes = receipt(&signer).as_bytes().to_vec();
    let parsed = UncheckedReceipt::parse(&bytes).unwrap();
    bencher
        .with_inputs(|| parsed.clone())
        .bench_values(|parsed| rules().verify(parsed, &signer.1, NOW).unwrap());
}

/// 64 receipts of 64 members, one call: divide by 64 to compare with `verify`.
#[divan::bench(args = [Suite::Ed25519])]
fn verify_64_members(bencher: divan::Bencher<'_, '_>, suite: Suite) {
    batch(bencher, &signers(suite, 64));
}

/// 64 receipts of one member, one call.
#[divan::bench(args = [Suite::Ed25519])]
fn verify_64_of_one_member(bencher: divan::Bencher<'_, '_>, suite: Suite) {
    batch(bencher, &signers(suite, 1));
}

fn batch(bencher: divan::Bencher<'_, '_>, signers: &[(SecretKey, Certificate)]) {
    let pairs: Vec<_> = signers
        .iter()
        .cycle()
        .take(64)
        .map(|signer| (UncheckedReceipt::parse(receipt(signer).as_bytes()).unwrap(), &signer.1))
        .collect();
    bencher
        .counter(divan::counter::ItemsCount::new(64_usize))
        .with_inputs(|| (pairs.clone(), StdRng::seed_from_u64(3)))
        .bench_values(|(pairs, mut rng)| {
            let verdicts = verify_batch(pairs, &rules(), NOW, &mut rng);
            assert!(verdicts.iter().all(Result::is_ok));
        });
}
