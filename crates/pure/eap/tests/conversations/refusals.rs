//! Who is not accepted, and why; and that the phone is told so inside TLS.

use crate::phone::{Phone, TLS12, TLS13};
use crate::world::{Household, NOW, Talk, Way};
use guestright_eap::{Alert, Certificate, Credential, Limits, Method, Outcome, Packet, Reason, Server};
use guestright_units::Micros;
use rustls::AlertDescription;

/// Both versions of TLS refuse this certificate for this reason, and say so with this alert.
fn refuses(household: &Household, own: Option<&Credential>, reason: &Reason, alert: &[AlertDescription]) {
    for version in [&TLS12, &TLS13] {
        let phone = Phone::new(version, household.authority.certificate(), own);
        let mut talk = Talk::new(&household.config(), None, phone);
        talk.run(Way::GOOD, 0);
        assert_eq!(talk.reason(), Some(reason), "{version:?}");
        assert!(talk.phone.failed && !talk.phone.succeeded);
        let got = talk.phone.alert();
        assert!(got.is_some_and(|got| alert.contains(&got)), "{version:?}: {got:?}, {:?}", talk.phone.error);
    }
}

#[test]
fn a_phone_of_another_authority() {
    let household = Household::new(1);
    let (_, stranger) = Household::new(2).phone();
    refuses(&household, Some(&stranger), &Reason::WrongAuthority, &[AlertDescription::UnknownCA]);
}

#[test]
fn a_phone_of_an_authority_of_the_same_name() {
    // The same chance, and then a key of its own: the name of the authority is public.
    let household = Household::new(1);
    let impostor = crate::certificates::Impostor::of(&household.authority);
    let forged = impostor.client(NOW);
    refuses(&household, Some(&forged), &Reason::WrongAuthority, &[AlertDescription::UnknownCA]);
}

#[test]
fn a_stranger_is_a_stranger_even_if_expired() {
    let household = Household::new(1);
    let mut other = Household::new(2);
    let (_, stranger) = other.authority.issue_client(NOW.minus(800 * 86_400), &mut other.rng);
    refuses(&household, Some(&stranger), &Reason::WrongAuthority, &[AlertDescription::UnknownCA]);
}

#[test]
fn an_expired_phone() {
    let mut household = Household::new(1);
    let (_, own) = household.authority.issue_client(NOW.minus(366 * 86_400 + 1), &mut household.rng);
    let not_after = NOW.minus(1);
    refuses(&household, Some(&own), &Reason::Expired { not_after }, &[AlertDescription::CertificateExpired]);
    // In its last second it is none.
    let (_, own) = household.authority.issue_client(NOW.minus(366 * 86_400), &mut household.rng);
    let mut talk = Talk::new(
        &household.config(),
        None,
        Phone::new(&TLS13, household.authority.certificate(), Some(&own)),
    );
    talk.run(Way::GOOD, 0);
    assert!(talk.phone.succeeded);
}

#[test]
fn a_phone_of_tomorrow() {
    let mut household = Household::new(1);
    let (_, own) = household.authority.issue_client(NOW.plus(86_401), &mut household.rng);
    let not_before = NOW.plus(1);
    let alert = [AlertDescription::CertificateExpired];
    refuses(&household, Some(&own), &Reason::NotYetValid { not_before }, &alert);
}

#[test]
fn something_that_is_no_phone() {
    let mut household = Household::new(1);
    let alerts = [AlertDescription::UnsupportedCertificate];
    refuses(&household, Some(&household.home), &Reason::NotAPhone, &alerts);
    refuses(&household, Some(household.authority.credential()), &Reason::NotAPhone, &alerts);
    // Certified by us, but for somewhere else.
    let elsewhere = guestright_eap::Authority::restore(
        "elsewhere.example".parse().unwrap(),
        household.authority.credential().clone(),
    );
    let (_, own) = elsewhere.unwrap().issue_client(NOW, &mut household.rng);
    refuses(&household, Some(&own), &Reason::NotAPhone, &alerts);
}

#[test]
fn a_phone_without_a_certificate() {
    let household = Household::new(1);
    let alerts = [
        AlertDescription::CertificateRequired,
        AlertDescription::HandshakeFailure,
        AlertDescription::BadCertificate,
    ];
    refuses(&household, None, &Reason::NoCertificate, &alerts);
}

#[test]
fn a_certificate_that_cannot_be_read() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let garbage = crate::certificates::Garbled(own);
    for version in [&TLS12, &TLS13] {
        let phone = garbage.phone(version, household.authority.certificate());
        let mut talk = Talk::new(&household.config(), None, phone);
        talk.run(Way::GOOD, 0);
        assert_eq!(talk.reason(), Some(&Reason::BadCertificate));
        assert_eq!(talk.phone.alert(), Some(AlertDescription::BadCertificate));
    }
}

#[test]
fn a_certificate_with_somebody_elses_key() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let (_, other) = household.phone();
    let thief = crate::certificates::Thief { certificate: own.certificate, key: other.key };
    for version in [&TLS12, &TLS13] {
        let phone = thief.phone(version, household.authority.certificate());
        let mut talk = Talk::new(&household.config(), None, phone);
        talk.run(Way::GOOD, 0);
        assert_eq!(talk.reason(), Some(&Reason::WrongKey));
        assert_eq!(talk.phone.alert(), Some(AlertDescription::DecryptError));
    }
}

#[test]
fn a_revoked_phone_from_the_moment_on() {
    let mut household = Household::new(1);
    let ((_, own), (_, other)) = (household.phone(), household.phone());
    let config = household.config();
    let try_it = |own: &Credential, version| {
        let phone = Phone::new(version, household.authority.certificate(), Some(own));
        let mut talk = Talk::new(&config, None, phone);
        talk.run(Way::GOOD, 0);
        (talk.reason().cloned(), talk.phone.alert())
    };
    for version in [&TLS12, &TLS13] {
        config.replace_revoked([].into());
        assert_eq!(try_it(&own, version), (None, None));
        config.replace_revoked([own.certificate.serial()].into());
        assert_eq!(
            try_it(&own, version),
            (Some(Reason::Revoked), Some(AlertDescription::CertificateRevoked))
        );
        assert_eq!(try_it(&other, version), (None, None));
    }
}

#[test]
fn a_phone_that_is_revoked_while_it_joins() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let config = household.config();
    let mut talk =
        Talk::new(&config, None, Phone::new(&TLS13, household.authority.certificate(), Some(&own)));
    let mut response = talk.phone.identify();
    loop {
        talk.server.handle(&response, talk.now).unwrap();
        let request = talk.server.poll_transmit().unwrap();
        let Some(next) = talk.phone.handle(&request) else { break };
        if talk.phone.received == [0] {
            config.replace_revoked([own.certificate.serial()].into());
        }
        response = next;
    }
    assert_eq!(talk.reason(), Some(&Reason::Revoked));
    assert!(talk.phone.failed);
}

#[test]
fn a_phone_that_does_not_accept_the_home() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let other = Household::new(2);
    for version in [&TLS12, &TLS13] {
        let phone = Phone::new(version, other.authority.certificate(), Some(&own));
        let mut talk = Talk::new(&household.config(), None, phone);
        talk.run(Way::GOOD, 0);
        assert_eq!(talk.reason(), Some(&Reason::Alert(Alert(48))), "{version:?}");
        let phone = Phone::with_server_name(
            version,
            household.authority.certificate(),
            Some(&own),
            "home.elsewhere.example",
        );
        let mut talk = Talk::new(&household.config(), None, phone);
        talk.run(Way::GOOD, 0);
        assert!(matches!(talk.reason(), Some(Reason::Alert(_))), "{:?}", talk.reason());
        assert!(talk.phone.failed);
    }
}

#[test]
fn an_authority_certifies_nothing_outside_its_realm() {
    // Phones trust it for this network; whoever steals its key is not to be somebody else's server.
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let stolen = guestright_eap::Authority::restore(
        "bank.example".parse().unwrap(),
        household.authority.credential().clone(),
    );
    household.home = stolen.unwrap().issue_server(NOW, &mut household.rng);
    let phone =
        Phone::with_server_name(&TLS13, household.authority.certificate(), Some(&own), "home.bank.example");
    let mut talk = Talk::new(&household.config(), None, phone);
    talk.run(Way::GOOD, 0);
    assert!(matches!(talk.reason(), Some(Reason::Alert(_))), "{:?}", talk.server.outcome());
}

#[test]
fn a_phone_that_wants_another_method() {
    let household = Household::new(1);
    let phone = Phone::new(&TLS13, household.authority.certificate(), None);
    let mut talk = Talk::new(&household.config(), None, phone);
    talk.server.handle(&talk.phone.identify(), talk.now).unwrap();
    let request = talk.server.poll_transmit().unwrap();
    let nak = Packet::Response { identifier: request[1], method: Method::Nak(&[25, 21]) }.emit();
    talk.server.handle(&nak, talk.now).unwrap();
    assert_eq!(talk.server.poll_transmit(), Some(Packet::Failure { identifier: request[1] }.emit()));
    assert_eq!(talk.reason(), Some(&Reason::OtherMethod { wanted: vec![25, 21] }));
}

#[test]
fn a_phone_that_takes_too_long() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let limits = Limits { duration_max: Micros::from_seconds(5), ..Limits::default() };
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config_with(limits), None, phone);
    talk.server.handle(&talk.phone.identify(), talk.now).unwrap();
    let request = talk.server.poll_transmit().unwrap();
    let deadline = talk.server.poll_timeout().unwrap();
    assert_eq!(deadline, talk.now + Micros::from_seconds(5));
    talk.server.handle_timeout(guestright_units::Time(deadline.0 - 1));
    assert_eq!(talk.server.outcome(), None);
    talk.server.handle_timeout(deadline);
    assert_eq!(talk.reason(), Some(&Reason::TooSlow));
    assert_eq!((talk.server.poll_timeout(), talk.server.poll_transmit()), (None, None));
    // If it comes after all, it gets an answer.
    let response = talk.phone.handle(&request).unwrap();
    talk.server.handle(&response, deadline).unwrap();
    assert_eq!(talk.phone.handle(&talk.server.poll_transmit().unwrap()), None);
    assert!(talk.phone.failed);
}

#[test]
fn a_home_without_a_matching_key_is_not_set_up() {
    let mut household = Household::new(1);
    let (_, other) = household.phone();
    let mixed = Credential { certificate: household.home.certificate.clone(), key: other.key };
    let authority = household.authority.certificate();
    let realm = crate::world::realm();
    let config = guestright_eap::Config::new(authority, realm, &mixed, [].into(), Limits::default());
    assert_eq!(config.unwrap_err(), guestright_eap::ConfigError::Credential);
}

#[test]
fn nothing_secret_is_shown() {
    let mut household = Household::new(1);
    let (_, own) = household.phone();
    let phone = Phone::new(&TLS13, household.authority.certificate(), Some(&own));
    let mut talk = Talk::new(&household.config(), None, phone);
    talk.run(Way::GOOD, 0);
    let server: &Server = &talk.server;
    let Some(Outcome::Accepted { msk, .. }) = server.outcome() else { panic!() };
    let shown = format!("{server:?} {own:?} {:?}", household.authority);
    let bytes = format!("{:?}", &msk.as_bytes()[..4]);
    assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
    assert!(shown.contains("Secret(..)") && shown.contains("PrivateKey(..)"));
    let _ = Certificate::from_der(own.certificate.as_der()).unwrap();
}
