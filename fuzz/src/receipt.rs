//! Receipts and bundles of them.

use guestright_identity::{Certificate, CertificateRef, IdentityError, cose};
use guestright_receipt::{
    Bundle, BundleError, Receipt, ReceiptError, Registers, Rules, Service, UncheckedReceipt, verify_batch,
};
use guestright_units::Bytes;
use guestright_vectors::actors::{CONSUMER, NOW, PROVIDER};
use rand::SeedableRng;
use rand::rngs::StdRng;

/// A receipt, as it comes and as a payload that the consumer's member has signed.
pub fn receipt(bytes: &[u8]) {
    let (member, certificate) = &CONSUMER.member;
    judge(bytes, certificate);
    judge(bytes, &PROVIDER.member.1);
    if let Ok(items) = cose::decode(bytes) {
        let encoded = cose::seal(member, "receipt", certificate.digest(), items);
        if let Some(read) = judge(&encoded, certificate) {
            let (provider, started) = (read.provider(), read.started());
            let (weight, hold, on_holds) = (read.weight(), read.hold(), read.on_holds());
            let service = Service { provider, started, weight, hold, on_holds };
            let again = Receipt::sign_service(member, certificate, service);
            assert_eq!(again, read);
            assert_eq!(again.as_bytes(), encoded, "the same receipt in other bytes");
        }
    }
}

fn judge(bytes: &[u8], certificate: &Certificate) -> Option<Receipt> {
    let rules = Rules { legacy_suites: true, ..Rules::default() };
    let unchecked = match UncheckedReceipt::parse(bytes) {
        Ok(unchecked) => unchecked,
        Err(error) => {
            assert!(["truncated", "oversized", "not-canonical", "malformed"].contains(&error.kind()));
            return None;
        }
    };
    let single = rules.verify(unchecked.clone(), certificate, NOW);
    let batch = verify_batch(vec![(unchecked, certificate); 2], &rules, NOW, &mut StdRng::seed_from_u64(1));
    assert_eq!(batch, [single.clone(), single.clone()]);
    let read = single.ok()?;
    assert_eq!(read.as_bytes(), bytes);
    assert_eq!(Receipt::from_kept(bytes, certificate).as_ref(), Ok(&read));
    assert_ne!(read.consumer(), read.provider());
    let on_hold = read.hold().map_or(Bytes(0), |hold| hold.weight);
    assert!(on_hold <= read.on_holds() && read.on_holds() <= read.weight());
    assert!(read.hold().is_some() || read.on_holds() == Bytes(0));
    Some(read)
}

/// A bundle, and what holds of it.
pub fn bundle(bytes: &[u8]) {
    let bundle = match Bundle::parse(bytes) {
        Ok(bundle) => bundle,
        Err(BundleError::Form(IdentityError::TooLong { max, .. })) => return assert!(bytes.len() > max),
        Err(_) => return,
    };
    assert!(bytes.is_empty() || bundle.emit() == bytes);
    assert_eq!(Bundle::parse(&bundle.emit()).as_ref(), Ok(&bundle));
    let rules = Rules::default();
    let known = |reference: CertificateRef| {
        let own = [&CONSUMER.member.1, &PROVIDER.member.1];
        own.into_iter().find(|certificate| certificate.reference() == reference).cloned()
    };
    let verified = bundle.verify(known, &rules, NOW, &mut StdRng::seed_from_u64(1));
    assert_eq!(verified.receipts.len() + verified.refused.len(), bundle.receipts.len());
    let mut forwards = Registers::default();
    let mut backwards = Registers::default();
    for receipt in &verified.receipts {
        let certificate = &verified.certificates[&receipt.certificate()];
        let unchecked = UncheckedReceipt::parse(receipt.as_bytes()).expect("it was read before");
        assert_eq!(rules.verify(unchecked, certificate, NOW).as_ref(), Ok(receipt));
        admit(&mut forwards, receipt);
    }
    verified.receipts.iter().rev().for_each(|receipt| admit(&mut backwards, receipt));
    assert_eq!(forwards, backwards, "the order decides what is known");
    let mut both = forwards.clone();
    both.merge(&backwards);
    assert_eq!(both, forwards);
}

fn admit(registers: &mut Registers, receipt: &Receipt) {
    if let Err(error) = registers.admit(receipt.clone()) {
        assert!(matches!(error, ReceiptError::LowerWeight { got, known } if got < known));
    }
}
