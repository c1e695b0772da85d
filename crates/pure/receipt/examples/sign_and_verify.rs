//! A guest signs for what it used; the team that served it checks the receipts and keeps the largest of each session.
//!
//! `cargo run -p guestright-receipt --example sign_and_verify`

#![expect(clippy::print_stdout, reason = "what it prints is its output")]

use std::error::Error;

use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, Registers, Rules, UncheckedReceipt};
use guestright_units::{Bytes, UnixSeconds};
use rand::SeedableRng;
use rand::rngs::StdRng;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}

fn run() -> Result<String, Box<dyn Error>> {
    // The same keys each time, so that the output is the same. Real keys come from the system's generator.
    let mut rng = StdRng::seed_from_u64(1);
    let started = UnixSeconds(1_800_000_000);

    // The guest is a member of one team, and is served by another.
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let guest = SecretKey::generate(Suite::Ed25519, &mut rng);
    let (from, until) = (started.minus(86_400), started.plus(86_400));
    let certificate = Certificate::issue(&team, guest.public(), Role::Member, from, until);
    let provider = SecretKey::generate(Suite::Ed25519, &mut rng).public().team_id();

    // Every few seconds it signs for all of the session so far: each receipt replaces the one before.
    let sign =
        |bytes| Receipt::sign(&guest, &certificate, provider, started, Bytes(bytes)).as_bytes().to_vec();
    let (first, second) = (sign(10_000_000), sign(25_000_000));
    let mut output = format!("a receipt has {} bytes\n", first.len());

    // The provider gets the bytes. What has another type than `Receipt` has not been checked.
    let rules = Rules::default();
    let now = started.plus(60);
    let mut registers = Registers::default();
    for bytes in [&first, &second, &first] {
        let receipt = rules.verify(UncheckedReceipt::parse(bytes)?, &certificate, now)?;
        match registers.admit(receipt) {
            Ok(admission) => output += &format!("{admission:?}\n"),
            Err(error) => output += &format!("refused: {error}\n"),
        }
    }

    // Nobody else can raise it.
    let mut forged = second;
    *forged.last_mut().ok_or("a receipt is not empty")? ^= 1;
    let refused = rules.verify(UncheckedReceipt::parse(&forged)?, &certificate, now).err();
    let refused = refused.ok_or("a forged receipt is refused")?;
    output += &format!("{}: {refused}\n", refused.kind());

    for receipt in registers.iter() {
        let (consumer, provider) = (receipt.consumer().short(), receipt.provider().short());
        output += &format!("{consumer} owes {provider} {}\n", receipt.weight());
    }
    Ok(output)
}

#[cfg(test)]
mod tests {
    const OUTPUT: &str = "\
a receipt has 128 bytes
New
Raised(Bytes(15000000))
refused: the receipt says 10.0 MB, a receipt over 25.0 MB of this session is known
forged: the receipt is refused: the signature is not valid
090e885f owes e3403022 25.0 MB
";

    #[test]
    fn the_largest_receipt_of_a_session_counts_and_a_forged_one_does_not() {
        assert_eq!(super::run().unwrap(), OUTPUT);
    }
}
