use super::*;
use rand::SeedableRng;
use rand::rngs::StdRng;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

fn authority(realm: &str) -> (Authority, StdRng) {
    let mut rng = StdRng::seed_from_u64(1);
    (Authority::found(realm.parse().unwrap(), NOW, &mut rng), rng)
}

fn subject(certificate: &Certificate) -> String {
    certificate.parsed().tbs_certificate().subject().to_string()
}

#[test]
fn an_authority_is_restored_from_what_was_kept() {
    let (authority, mut rng) = authority("team.example");
    let kept = authority.credential();
    let certificate = Certificate::from_pem(&kept.certificate.to_pem()).unwrap();
    let key = PrivateKey::from_pem(&kept.key.to_pem()).unwrap();
    assert_eq!(certificate, kept.certificate);
    let restored = Authority::restore(
        "team.example".parse().unwrap(),
        Credential { certificate: certificate.clone(), key },
    )
    .unwrap();
    let (from_one, from_other) = (&mut StdRng::seed_from_u64(2), &mut StdRng::seed_from_u64(2));
    assert_eq!(
        authority.issue_server(NOW, from_one).certificate,
        restored.issue_server(NOW, from_other).certificate
    );

    let other = PrivateKey::generate(&mut rng);
    let mixed = Authority::restore("team.example".parse().unwrap(), Credential { certificate, key: other });
    assert_eq!(mixed.unwrap_err(), AuthorityError::OtherKey);
    let server = authority.issue_server(NOW, &mut rng);
    let leaf = Authority::restore("team.example".parse().unwrap(), server);
    assert_eq!(leaf.unwrap_err(), AuthorityError::NoAuthority);
}

#[test]
fn a_phone_has_a_label_and_no_name() {
    let (authority, mut rng) = authority("team.example");
    let (label, phone) = authority.issue_client(NOW, &mut rng);
    let (other_label, other) = authority.issue_client(NOW, &mut rng);
    assert_ne!(label, other_label);
    assert_ne!(phone.certificate.serial(), other.certificate.serial());
    assert_eq!(subject(&phone.certificate), format!("CN={label}@team.example"));
    assert_eq!(phone.certificate.label(authority.realm()), Some(label));
    assert_eq!(phone.certificate.label(&"other.example".parse().unwrap()), None);
    assert_eq!(phone.certificate.not_after(), NOW.plus(366 * 86_400));
    assert_eq!(phone.certificate.not_before(), NOW.minus(86_400));
    assert_eq!(authority.issue_server(NOW, &mut rng).certificate.label(authority.realm()), None);
}

#[test]
fn a_common_name_is_not_too_long() {
    let realm = format!("{}.guestright.alt", "0123456789abcdef".repeat(3));
    let (authority, mut rng) = authority(&realm);
    let (label, phone) = authority.issue_client(NOW, &mut rng);
    assert_eq!(subject(&phone.certificate), format!("CN={label}"));
    assert_eq!(phone.certificate.label(authority.realm()), Some(label));
    assert_eq!(subject(&authority.issue_server(NOW, &mut rng).certificate), "CN=home");
}

#[test]
fn no_certificate_outlives_its_authority() {
    let (authority, mut rng) = authority("team.example");
    let late = authority.certificate().not_after().minus(86_400);
    assert_eq!(
        authority.issue_client(late, &mut rng).1.certificate.not_after(),
        authority.certificate().not_after()
    );
}

#[test]
fn what_is_no_certificate_is_refused() {
    let (authority, _) = authority("team.example");
    let der = authority.certificate().as_der();
    for length in 0..der.len() {
        assert_eq!(Certificate::from_der(&der[..length]), Err(crate::CertificateError));
    }
    assert_eq!(Certificate::from_pem("no certificate"), Err(crate::CertificateError));
}

#[test]
fn a_certificate_names_the_authority_that_made_it_and_no_other() {
    let (authority, mut rng) = authority("team.example");
    let other = Authority::found("team.example".parse().unwrap(), NOW, &mut rng);
    let server = authority.issue_server(NOW, &mut rng).certificate;
    assert!(server.is_issued_by(authority.certificate()) && !server.is_issued_by(other.certificate()));
    assert!(!authority.certificate().is_issued_by(authority.certificate()), "it is nobody's but its own");
    let name = authority.certificate().common_name().unwrap();
    assert!(name.starts_with("guestright Wi-Fi ") && name.len() == 25, "{name}");
    assert_eq!(server.common_name().as_deref(), Some("home.team.example"));
}
