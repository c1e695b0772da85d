//! Makes a team and a member's certificate, checks it as a stranger would, and takes it back.
//!
//! `cargo run -p guestright-identity --example team`

#![expect(clippy::print_stdout, reason = "what it prints is its output")]

use std::collections::BTreeMap;
use std::error::Error;

use guestright_identity::{Certificate, RevocationList, Role, SecretKey, Suite};
use guestright_units::UnixSeconds;
use rand::SeedableRng;
use rand::rngs::StdRng;

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", run()?);
    Ok(())
}

fn run() -> Result<String, Box<dyn Error>> {
    // The same keys each time, so that the output is the same. Real keys come from the system's generator.
    let mut rng = StdRng::seed_from_u64(1);
    let now = UnixSeconds(1_800_000_000);
    let day = 86_400;

    // The founder of a team makes its key, Bea's telephone makes hers; no secret is sent.
    let team = SecretKey::generate(Suite::Ed25519, &mut rng);
    let bea = SecretKey::generate(Suite::Ed25519, &mut rng);
    let issued = Certificate::issue(&team, bea.public(), Role::Member, now, now.plus(365 * day));

    // Somebody who has never met the team gets the bytes, and needs nothing else to check them.
    let certificate = Certificate::parse(issued.as_bytes())?;
    certificate.check(Role::Member, now.plus(day))?;
    let mut output = format!(
        "{} bytes: team {} vouches for a member until {}\n",
        issued.as_bytes().len(),
        certificate.team_id().short(),
        certificate.not_after()
    );

    // Then Bea signs something, and the key in her certificate says that it was she.
    let signature = bea.sign(b"I was here");
    certificate.subject().verify(b"I was here", &signature)?;
    output += "her signature is good\n";
    for (what, result) in [
        ("other words", certificate.subject().verify(b"I was there", &signature)),
        ("as a home", certificate.check(Role::Home, now.plus(day))),
        ("in two years", certificate.check(Role::Member, now.plus(730 * day))),
    ] {
        let refused = result.err().ok_or("this should have been refused")?;
        output += &format!("{what}: {refused}\n");
    }

    // The telephone is lost: the team takes its word back from that day on. What was signed before still counts.
    let lost = now.plus(30 * day);
    let list = RevocationList::issue(&team, 1, lost, BTreeMap::from([(bea.public().id(), lost)]))?;
    let list = RevocationList::parse(list.as_bytes())?;
    list.check_certificate(&certificate, lost.minus(1))?;
    let refused = list.check_certificate(&certificate, lost).err().ok_or("the key is revoked")?;
    output += &format!("after the loss: {refused}\n");
    Ok(output)
}

#[cfg(test)]
mod tests {
    const OUTPUT: &str = "\
155 bytes: team 090e885f vouches for a member until 2028-01-15T08:00:00Z
her signature is good
other words: the signature is not valid
as a home: the certificate is for the role member, not for home
in two years: the certificate expired at 2028-01-15T08:00:00Z, and it is 2029-01-14T08:00:00Z
after the loss: the team revoked this key at 2027-02-14T08:00:00Z
";

    #[test]
    fn only_the_member_is_believed_and_only_in_time() {
        assert_eq!(super::run().unwrap(), OUTPUT);
    }
}
