//! What makes a receipt count: one set of rules for everybody, or repositories never agree.

use crate::{Receipt, ReceiptError, UncheckedReceipt};
use guestright_identity::{Batch, Certificate, Role};
use guestright_units::UnixSeconds;
use rand::CryptoRng;

/// The rules by which receipts are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How far clocks may differ, in seconds: a session may begin this far in the future.
    pub skew: u64,
    /// How old a receipt may be, in seconds.
    pub age_max: u64,
    /// Whether the suites of the paper's Table 1 count. Only a laboratory says yes.
    pub legacy_suites: bool,
}

impl Default for Rules {
    /// Ten minutes, 400 days, no legacy suites.
    fn default() -> Self {
        Self { skew: 600, age_max: 400 * 86_400, legacy_suites: false }
    }
}

impl Rules {
    /// Everything about `receipt` but its signature.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(
        &self,
        receipt: &UncheckedReceipt,
        certificate: &Certificate,
        now: UnixSeconds,
    ) -> Result<(), ReceiptError> {
        let (suite, started) = (receipt.suite(), receipt.started());
        if receipt.certificate() != certificate.reference() {
            return Err(ReceiptError::UnknownCertificate(receipt.certificate()));
        }
        if suite != certificate.subject().suite() {
            return Err(ReceiptError::WrongSuite { got: suite, want: certificate.subject().suite() });
        }
        if let Some(legacy) = [suite, certificate.team().suite()].into_iter().find(|suite| suite.is_legacy())
            && !self.legacy_suites
        {
            return Err(ReceiptError::LegacySuite(legacy));
        }
        if started > now.plus(self.skew) {
            return Err(ReceiptError::FutureDated { started, now, skew: self.skew });
        }
        if started < now.minus(self.age_max) {
            return Err(ReceiptError::TooOld { started, age_max: self.age_max });
        }
        let (not_before, not_after) = (certificate.not_before(), certificate.not_after());
        if started < not_before || started > not_after {
            return Err(ReceiptError::CertificateExpired { not_before, not_after, started });
        }
        certificate.check(Role::Member, started).map_err(ReceiptError::NotEntitled)?;
        if certificate.team_id() == receipt.provider() {
            return Err(ReceiptError::SelfTrade(receipt.provider()));
        }
        Ok(())
    }

    /// Checks `receipt` whole, its signature last.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn verify(
        &self,
        receipt: UncheckedReceipt,
        certificate: &Certificate,
        now: UnixSeconds,
    ) -> Result<Receipt, ReceiptError> {
        self.check(&receipt, certificate, now)?;
        receipt.claim(certificate)?.verify()?;
        receipt.accept(certificate)
    }
}

/// Checks many receipts, with the verdicts that [`Rules::verify`] gives and in the same order.
///
/// Best in groups of 64: more gain little.
pub fn verify_batch(
    receipts: Vec<(UncheckedReceipt, &Certificate)>,
    rules: &Rules,
    now: UnixSeconds,
    rng: &mut impl CryptoRng,
) -> Vec<Result<Receipt, ReceiptError>> {
    let mut batch = Batch::default();
    let mut checked = Vec::with_capacity(receipts.len());
    for (receipt, certificate) in receipts {
        let claim = rules.check(&receipt, certificate, now).and_then(|()| receipt.claim(certificate));
        checked.push(claim.map(|claim| {
            batch.push(claim);
            (receipt, certificate)
        }));
    }
    // One for each claim, in their order: what broke another rule before has none.
    let mut valid = batch.verify(rng).into_iter();
    let judge = |checked: Result<(UncheckedReceipt, &Certificate), ReceiptError>| {
        let (receipt, certificate) = checked?;
        if valid.next().expect("every claim has a verdict") {
            receipt.accept(certificate)
        } else {
            Err(ReceiptError::Refused(guestright_identity::IdentityError::BadSignature))
        }
    };
    checked.into_iter().map(judge).collect()
}
