//! Somebody else's phone: Debian's `eapol_test`, which is `wpa_supplicant` without a radio, with OpenSSL as its TLS.
//!
//! It speaks RADIUS to its access point, which is [`radius`].

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a foreign phone has a real clock and needs a real way; a test stops where something is not there"
)]

mod radius;

use guestright_eap::{
    Alert, Authority, Certificate, Config, Credential, Label, Limits, Outcome, Reason, TlsVersion,
};
use guestright_units::UnixSeconds;
use radius::{Radius, SECRET};
use rand::SeedableRng as _;
use rand::rngs::StdRng;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

const REALM: &str = "0123abcd.guestright.alt";
const DAY: u64 = 86_400;

struct Household {
    authority: Authority,
    home: Credential,
    now: UnixSeconds,
    rng: StdRng,
}

impl Household {
    fn new(seed: u64) -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        let (now, mut rng) = (UnixSeconds(now.as_secs()), StdRng::seed_from_u64(seed));
        let authority = Authority::found(REALM.parse().unwrap(), now, &mut rng);
        let home = authority.issue_server(now, &mut rng);
        Self { authority, home, now, rng }
    }

    fn phone_since(&mut self, since: UnixSeconds) -> (Label, Credential) {
        self.authority.issue_client(since, &mut self.rng)
    }

    fn phone(&mut self) -> (Label, Credential) {
        self.phone_since(self.now)
    }

    fn config(&self) -> Config {
        let realm = REALM.parse().unwrap();
        Config::new(self.authority.certificate(), realm, &self.home, [].into(), Limits::default()).unwrap()
    }
}

/// What came of a run of `eapol_test`.
struct Run {
    outcome: Option<Outcome>,
    /// Packets that the access point brought.
    round_trips: u32,
    output: String,
    succeeded: bool,
}

/// Runs `eapol_test` with this certificate, if any, against this home.
fn join(config: &Config, trusted: &Certificate, own: Option<&Credential>, network: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("ca.pem"), trusted.to_pem()).unwrap();
    let mut lines = format!(
        "key_mgmt=WPA-EAP\nidentity=\"anonymous@{REALM}\"\nca_cert=\"{}\"\n{network}\n",
        at("ca.pem").display()
    );
    if let Some(own) = own {
        fs::write(at("own.pem"), own.certificate.to_pem()).unwrap();
        fs::write(at("own.key"), own.key.to_pem().as_bytes()).unwrap();
        lines += &format!(
            "client_cert=\"{}\"\nprivate_key=\"{}\"\n",
            at("own.pem").display(),
            at("own.key").display()
        );
    }
    fs::write(at("network.conf"), format!("network={{\n{lines}}}\n")).unwrap();
    let radius = Radius::start(config);
    let output = eapol_test(&at("network.conf"), radius.port());
    let (outcome, round_trips) = radius.stop();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Run { outcome, round_trips, succeeded: output.status.success(), output: text }
}

fn eapol_test(network: &Path, port: u16) -> std::process::Output {
    Command::new("eapol_test")
        .args(["-a127.0.0.1", &format!("-p{port}"), &format!("-s{SECRET}"), "-t15", "-c"])
        .arg(network)
        .output()
        .expect("eapol_test is installed: make setup GROUP=test")
}

const TLS12: &str = "eap=TLS\nphase1=\"tls_disable_tlsv1_3=1\"";
const TLS13: &str = "eap=TLS\nphase1=\"tls_disable_tlsv1_3=0\"";

#[test]
fn a_phone_joins_with_both_versions_of_tls_in_four_round_trips() {
    let mut household = Household::new(1);
    for (network, version) in [(TLS12, TlsVersion::Tls12), (TLS13, TlsVersion::Tls13)] {
        let (label, own) = household.phone();
        let network = format!("{network}\ndomain_match=\"home.{REALM}\"");
        let run = join(&household.config(), household.authority.certificate(), Some(&own), &network);
        let Some(Outcome::Accepted { label: got, tls, .. }) = &run.outcome else {
            panic!("{:?}\n{}", run.outcome, run.output);
        };
        assert_eq!((*got, *tls), (label, version));
        assert!(run.succeeded && run.output.trim_end().ends_with("SUCCESS"), "{}", run.output);
        // The keys of the air are the same on both ends: it compares them itself.
        assert!(run.output.contains("MPPE keys OK: 1  mismatch: 0"), "{}", run.output);
        assert!(run.round_trips <= 4, "{} round trips", run.round_trips);
    }
}

#[test]
fn a_phone_joins_in_small_pieces() {
    let mut household = Household::new(2);
    for network in [TLS12, TLS13] {
        let (_, own) = household.phone();
        let network = format!("{network}\nfragment_size=120");
        let run = join(&household.config(), household.authority.certificate(), Some(&own), &network);
        assert!(matches!(run.outcome, Some(Outcome::Accepted { .. })), "{:?}\n{}", run.outcome, run.output);
        assert!(run.succeeded && run.round_trips > 8, "{}", run.output);
    }
}

#[test]
fn a_phone_is_refused_for_each_reason() {
    let mut household = Household::new(3);
    let mut other = Household::new(4);
    let now = household.now;
    let (_, stranger) = other.phone();
    let (_, expired) = household.phone_since(now.minus(400 * DAY));
    let (_, early) = household.phone_since(now.plus(3 * DAY));
    let (_, revoked) = household.phone();
    let home = household.home.clone();
    let not_after = expired.certificate.not_after();
    let not_before = early.certificate.not_before();
    #[rustfmt::skip]
    let cases = [
        (Some(&stranger), Reason::WrongAuthority,             "unknown CA"),
        (Some(&expired),  Reason::Expired { not_after },      "certificate expired"),
        (Some(&early),    Reason::NotYetValid { not_before }, "certificate expired"),
        (Some(&revoked),  Reason::Revoked,                    "certificate revoked"),
        (Some(&home),     Reason::NotAPhone,                  "unsupported certificate"),
    ];
    let config = household.config();
    config.replace_revoked([revoked.certificate.serial()].into());
    for (own, reason, alert) in cases {
        for network in [TLS12, TLS13] {
            let run = join(&config, household.authority.certificate(), own, network);
            let want = Some(Outcome::Refused { reason: reason.clone() });
            assert_eq!(run.outcome, want, "{network}\n{}", run.output);
            assert!(!run.succeeded, "{}", run.output);
            // The phone is told why.
            assert!(run.output.contains(alert), "{alert}, {network}\n{}", run.output);
        }
    }
}

#[test]
fn a_phone_does_not_accept_another_home() {
    let mut household = Household::new(5);
    let other = Household::new(6);
    let (_, own) = household.phone();
    for network in [TLS12, TLS13] {
        let run = join(&household.config(), other.authority.certificate(), Some(&own), network);
        let want = Some(Outcome::Refused { reason: Reason::Alert(Alert(48)) });
        assert_eq!(run.outcome, want, "{}", run.output);
        assert!(!run.succeeded);
    }
}

#[test]
fn a_phone_that_wants_something_else_is_refused() {
    let household = Household::new(7);
    let network = "eap=TTLS\npassword=\"no\"";
    let run = join(&household.config(), household.authority.certificate(), None, network);
    let want = Some(Outcome::Refused { reason: Reason::OtherMethod { wanted: vec![21] } });
    assert_eq!(run.outcome, want, "{}", run.output);
    assert!(!run.succeeded);
}
