//! What a receipt costs this computer, suite by suite: paper A's Table 1, measured again.

use crate::stopwatch::time_us;
use guestright_identity::{Certificate, Role, SecretKey, Suite};
use guestright_receipt::{Receipt, ReceiptError, Rules, UncheckedReceipt};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::fmt;

/// When the receipts are signed. What is signed has no influence on what it costs.
const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
/// What is signed for.
const WEIGHT: Bytes = Bytes(50_000_000);

/// What one suite costs: times of this thread on the processor, in µs, each the median of the samples; and sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceiptCost {
    pub suite: Suite,
    /// Signing a receipt: what the member's device does.
    pub sign_us: f64,
    /// Verifying it with the member's certificate at hand: what the access point does.
    pub verify_us: f64,
    pub key_bytes: usize,
    pub signature_bytes: usize,
    /// A receipt as it is sent, with its certificate by reference.
    pub receipt_bytes: usize,
    pub certificate_bytes: usize,
}

/// A receipt with fresh keys, which can be verified again and again.
pub struct Sample {
    member: SecretKey,
    certificate: Certificate,
    receipt: Receipt,
    parsed: UncheckedReceipt,
    rules: Rules,
}

impl Sample {
    /// Signs it, and verifies it once.
    ///
    /// # Errors
    /// The suite does not verify what it signed.
    pub fn sign(suite: Suite) -> Result<Self, ReceiptError> {
        let mut rng = guestright_clock::rng();
        let (team, member) = (SecretKey::generate(suite, &mut rng), SecretKey::generate(suite, &mut rng));
        let certificate =
            Certificate::issue(&team, member.public(), Role::Member, NOW.minus(10), NOW.plus(1_000));
        let receipt = Receipt::sign(&member, &certificate, TeamId([9; 24]), NOW, WEIGHT);
        let parsed = UncheckedReceipt::parse(receipt.as_bytes())?;
        let rules = Rules { legacy_suites: true, ..Rules::default() };
        let sample = Self { member, certificate, receipt, parsed, rules };
        sample.verify()?;
        Ok(sample)
    }

    /// Verifies it.
    ///
    /// # Errors
    /// It does not pass.
    pub fn verify(&self) -> Result<(), ReceiptError> {
        self.rules.verify(self.parsed.clone(), &self.certificate, NOW).map(drop)
    }
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sample({})", self.member.public().suite())
    }
}

/// Every suite that was built in, those of the paper among them only with the feature `legacy-suites`.
pub fn suites() -> &'static [Suite] {
    Suite::ALL
}

/// Measures a suite with fresh keys; so many samples, at least one.
///
/// # Errors
/// The suite does not verify what it signed.
pub fn measure(suite: Suite, samples: u32) -> Result<ReceiptCost, ReceiptError> {
    let sample = Sample::sign(suite)?;
    let verify = || drop(std::hint::black_box(sample.verify()));
    let Sample { member, certificate, receipt, .. } = &sample;
    let sign = || Receipt::sign(member, certificate, TeamId([9; 24]), NOW, WEIGHT);
    Ok(ReceiptCost {
        suite,
        sign_us: median(samples, || time_us(|| drop(std::hint::black_box(sign())))),
        verify_us: median(samples, || time_us(verify)),
        key_bytes: member.public().as_bytes().len(),
        signature_bytes: member.sign(receipt.as_bytes()).0.len(),
        receipt_bytes: receipt.as_bytes().len(),
        certificate_bytes: certificate.as_bytes().len(),
    })
}

fn median(samples: u32, measure: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = std::iter::repeat_with(measure).take(samples.max(1) as usize).collect();
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_suite_signs_what_it_verifies_and_has_its_sizes() {
        for suite in suites() {
            let cost = measure(*suite, 1).unwrap();
            assert!(cost.sign_us > 0.0 && cost.verify_us > 0.0, "{cost:?}");
            // Table 1's key sizes: a signature of RSA is as long as its modulus, one of ECDSA twice as long as its order.
            let want = match suite.name() {
                "ed25519" | "ecdsa-p256" => 64,
                "rsa-1024" => 128,
                "rsa-2048" => 256,
                "ecdsa-secp160r1" => 42,
                "ecdsa-secp224r1" => 56,
                other => panic!("{other}"),
            };
            assert_eq!(cost.signature_bytes, want, "{suite}");
            assert!(
                cost.receipt_bytes > cost.signature_bytes && cost.certificate_bytes > cost.key_bytes,
                "{cost:?}"
            );
        }
        assert!(suites().len() >= 2);
    }

    #[test]
    fn a_median_is_in_the_middle() {
        let mut numbers = [9.0, 1.0, 5.0].into_iter();
        assert!((median(3, || numbers.next().unwrap()) - 5.0).abs() < f64::EPSILON);
        assert!((median(0, || 4.0) - 4.0).abs() < f64::EPSILON);
    }
}
