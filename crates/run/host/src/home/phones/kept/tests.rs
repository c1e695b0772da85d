use super::*;
use guestright_eap::{Fragment, Inbound, Method, Outbound};
use guestright_identity::KeyId;
use rand::SeedableRng as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

const TEAM: TeamId = TeamId([1; 24]);
const ASKER: TeamId = TeamId([2; 24]);
const KEY: KeyId = KeyId([7; 24]);
const DAY: u64 = 86_400;

/// rustls reads the computer's clock for the phone.
fn now() -> Time {
    guestright_clock::Clock::start().now()
}

fn open(state: &Path, now: Time) -> (Household, StdRng) {
    let mut rng = StdRng::seed_from_u64(now.0);
    let settings = super::super::household::Settings::default();
    let endpoint = Some("192.0.2.1:51820".parse().unwrap());
    let surroundings = Surroundings { settings, state: state.to_path_buf(), endpoint, ike: true };
    (Household::open(surroundings, TEAM, &mut rng, now).unwrap().unwrap(), rng)
}

fn wish(member: &str) -> Request {
    let (member, ike) = (member.to_owned(), None);
    Request { member, key: KEY, ike, wireguard: None, page: false, anew: false }
}

/// A phone: rustls as a client, and as much EAP as a phone knows.
struct TestPhone {
    tls: ClientConnection,
    inbound: Inbound,
    outbound: Outbound,
}

impl TestPhone {
    fn new(authority: &Certificate, own: &Credential) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.as_der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(
                vec![CertificateDer::from(own.certificate.as_der().to_vec())],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.key.to_der().to_vec())),
            )
            .unwrap();
        let name = ServerName::try_from(format!("home.{}", TeamRealm(TEAM))).unwrap();
        let tls = ClientConnection::new(Arc::new(config), name).unwrap();
        Self { tls, inbound: Inbound::new(65_535), outbound: Outbound::default() }
    }

    fn answer(&mut self, fragment: &Fragment<'_>) -> Vec<u8> {
        if !fragment.start && !fragment.is_acknowledgement() {
            let Some(message) = self.inbound.push(fragment).unwrap() else { return Vec::new() };
            let mut message = message.as_slice();
            while !message.is_empty() {
                self.tls.read_tls(&mut message).unwrap();
                if self.tls.process_new_packets().is_err() {
                    break;
                }
            }
        }
        if self.outbound.is_empty() {
            let mut output = Vec::new();
            while self.tls.wants_write() {
                self.tls.write_tls(&mut output).unwrap();
            }
            self.outbound = Outbound::new(output);
        }
        Vec::new()
    }

    /// Joins at an access point of `asker`: what the home says at last.
    fn join(mut self, household: &mut Household, asker: TeamId, rng: &mut StdRng, now: Time) -> What {
        let conversation = Conversation(random(rng));
        let identity = format!("anonymous@{}", TeamRealm(TEAM));
        let mut eap =
            Packet::Response { identifier: 1, method: Method::Identity(identity.as_bytes()) }.emit();
        for _ in 0..20 {
            let question = Question { conversation, framed_mtu: Some(1_400), eap };
            let answer = household.answer(asker, &question, rng, now).expect("an answer");
            assert_eq!(answer.conversation, conversation);
            let What::Challenge { eap: asked } = answer.what else { return answer.what };
            let Packet::Request { identifier, method: Method::Tls(fragment) } =
                Packet::parse(&asked).unwrap()
            else {
                panic!("a home asks by TLS")
            };
            self.answer(&fragment);
            let response =
                if self.outbound.is_empty() { Fragment::ACKNOWLEDGEMENT } else { self.outbound.next(1_020) };
            eap = Packet::Response { identifier, method: Method::Tls(response) }.emit();
        }
        panic!("a conversation has an end");
    }
}

/// A phone with what was made for it.
fn phone(household: &Household, made: &Made) -> TestPhone {
    TestPhone::new(household.authority.as_ref().unwrap().certificate(), &made.credential)
}

fn sentence(what: &What) -> &str {
    match what {
        What::Reject { reason, .. } | What::Away { reason } => reason.as_str(),
        What::Challenge { .. } | What::Accept { .. } => panic!("{what:?}"),
    }
}

#[test]
fn a_phone_joins_with_what_it_imported_also_after_the_home_was_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    assert_eq!(household.poll_timeout(), None, "nothing is made before the first phone");
    let made = household.make(&wish("alice"), &mut rng, now).unwrap();
    for again in 0..2 {
        let what = phone(&household, &made).join(&mut household, ASKER, &mut rng, now);
        let What::Accept { eap, msk, valid_for_seconds, home } = what else { panic!("{what:?}") };
        assert_eq!((eap[0], eap.len(), home), (3, 4, Some("192.0.2.1:51820".parse().unwrap())));
        assert!(msk.as_bytes() != &[0; 64] && u64::from(valid_for_seconds) > 364 * DAY);
        assert_eq!(household.status(now)["counts"]["joined"], 1 + again);
        if again == 0 {
            let counts = std::mem::take(&mut household.counts);
            (household, rng) = open(folder.path(), now);
            household.counts = counts;
        }
    }
    for name in ["authority.pem", "home.pem", "phones.json"] {
        let mode = std::fs::metadata(folder.path().join("phones").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn a_revoked_phone_is_refused_by_its_next_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    let [alice, bob] = ["alice", "bob"].map(|name| household.make(&wish(name), &mut rng, now).unwrap());
    assert_eq!(household.revoke("alice", now).unwrap()["revoked"], 1);
    let what = phone(&household, &alice).join(&mut household, ASKER, &mut rng, now);
    assert!(sentence(&what).contains("withdrawn"), "{what:?}");
    let what = phone(&household, &bob).join(&mut household, ASKER, &mut rng, now);
    assert!(matches!(what, What::Accept { .. }), "{what:?}");
    // Through the team's list, and after a start.
    let team = guestright_identity::SecretKey::generate(guestright_identity::Suite::Ed25519, &mut rng);
    let seconds = now.unix_seconds();
    let list = RevocationList::issue(&team, 1, seconds, [(KEY, seconds)].into()).unwrap();
    household.handle_revocations(&list, now);
    (household, rng) = open(folder.path(), now);
    let what = phone(&household, &bob).join(&mut household, ASKER, &mut rng, now);
    assert!(sentence(&what).contains("withdrawn"), "{what:?}");
    assert_eq!(household.status(now)["phones"][1]["revoked"], true);
}

#[test]
fn a_new_certificate_lets_the_old_one_count_unless_it_is_to_be_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    let first = household.make(&wish("alice"), &mut rng, now).unwrap();
    let second = household.make(&wish("alice"), &mut rng, now).unwrap();
    assert!(first.phone.label != second.phone.label && first.phone.uuid == second.phone.uuid);
    assert_eq!(household.status(now)["phones"][0]["certificates"], 2);
    let third = household.make(&Request { anew: true, ..wish("alice") }, &mut rng, now).unwrap();
    for (made, joins) in [(first, false), (second, false), (third, true)] {
        let what = phone(&household, &made).join(&mut household, ASKER, &mut rng, now);
        assert_eq!(matches!(what, What::Accept { .. }), joins, "{what:?}");
    }
}

/// As after a backup that is older than the phone.
#[test]
fn a_phone_that_is_not_on_the_list_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    let made = household.make(&wish("alice"), &mut rng, now).unwrap();
    std::fs::remove_file(folder.path().join("phones/phones.json")).unwrap();
    let (mut household, mut rng) = open(folder.path(), now);
    let what = phone(&household, &made).join(&mut household, ASKER, &mut rng, now);
    assert_eq!(sentence(&what), UNKNOWN);
    assert!(matches!(what, What::Reject { eap, .. } if eap[0] == 4));
}

#[test]
fn nobody_names_anothers_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    let ask = |household: &mut Household, asker, eap: &[u8], rng: &mut StdRng| {
        let conversation = Conversation([5; 16]);
        household.answer(asker, &Question { conversation, framed_mtu: None, eap: eap.to_vec() }, rng, now)
    };
    let identity = Packet::Response { identifier: 1, method: Method::Identity(b"a@b") }.emit();
    let what = ask(&mut household, ASKER, &identity, &mut rng).unwrap().what;
    assert_eq!(sentence(&what), NONE_YET);
    household.add(wish("alice"), &mut rng, now).unwrap();
    let begun = ask(&mut household, ASKER, &identity, &mut rng).unwrap();
    assert_eq!(
        ask(&mut household, ASKER, &identity, &mut rng),
        Some(begun),
        "repeated, and answered as before"
    );
    let next = Packet::Response { identifier: 2, method: Method::Tls(Fragment::ACKNOWLEDGEMENT) }.emit();
    let what = ask(&mut household, TEAM, &next, &mut rng).unwrap().what;
    assert_eq!(sentence(&what), OVER, "another asker's conversation of the same name is another one");
    assert_eq!(ask(&mut household, ASKER, &next, &mut rng), None, "out of turn");
    household.handle_timeout(&mut rng, now + Micros::from_seconds(120));
    assert_eq!(household.status(now)["conversations"], 0);
    assert!(household.server.as_ref().unwrap().ids.is_empty());
}

#[test]
fn the_homes_certificate_is_made_anew_in_time_and_phones_go_on_believing_it() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    // Eight months ago, so that today it is due.
    let then = Time(now.0 - 250 * DAY * 1_000_000);
    let (mut household, mut rng) = open(folder.path(), then);
    let made = household.make(&wish("alice"), &mut rng, then).unwrap();
    let of = |household: &Household| household.server.as_ref().unwrap().certificate.serial();
    let first = of(&household);
    household.handle_timeout(&mut rng, then + Micros::from_seconds(240 * DAY));
    assert_eq!(of(&household), first);
    household.handle_timeout(&mut rng, now);
    let second = of(&household);
    assert_ne!(second, first);
    let what = phone(&household, &made).join(&mut household, ASKER, &mut rng, now);
    assert!(matches!(what, What::Accept { .. }), "{what:?}");
    let (household, _) = open(folder.path(), now);
    assert_eq!(of(&household), second, "it was kept");
}

#[test]
fn a_clock_that_is_wrong_is_reported_and_makes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let started = Time(1_000_000); // 1970, as on a computer without a battery.
    let (mut household, mut rng) = open(folder.path(), started);
    let refused = household.add(wish("alice"), &mut rng, started).unwrap_err();
    assert!(refused.sentence().contains("clock"), "{}", refused.sentence());
    assert!(!folder.path().join("phones").exists());
    household.add(wish("alice"), &mut rng, now).unwrap();
    assert_eq!(household.status(now)["warnings"], json!([]));
    let home = folder.path().join("phones/home.pem");
    let kept = std::fs::read(&home).unwrap();
    let (household, _) = open(folder.path(), started);
    assert_eq!(std::fs::read(&home).unwrap(), kept, "a certificate of 1970 would be of no use tomorrow");
    let warnings = household.status(started)["warnings"].to_string();
    assert!(warnings.contains("the clock says 1970"), "{warnings}");
    let late = Time(now.0 + 11 * 366 * DAY * 1_000_000);
    let warnings = household.status(late)["warnings"].to_string();
    assert!(warnings.contains("is the clock right"), "{warnings}");
}

#[test]
fn a_file_that_is_not_what_it_was_stops_the_home() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    household.add(wish("alice"), &mut rng, now).unwrap();
    let try_open = |rng: &mut StdRng| {
        let settings = super::super::household::Settings::default();
        let state = folder.path().to_path_buf();
        Household::open(Surroundings { settings, state, endpoint: None, ike: false }, TEAM, rng, now)
    };
    let home = folder.path().join("phones/home.pem");
    std::fs::write(&home, "cut off").unwrap();
    assert!(try_open(&mut rng).is_ok(), "that is made anew");
    for name in ["authority.pem", "phones.json"] {
        let path = folder.path().join("phones").join(name);
        let kept = std::fs::read(&path).unwrap();
        std::fs::write(&path, &kept[..kept.len() / 2]).unwrap();
        assert!(try_open(&mut rng).unwrap_err().sentence().contains(name));
        std::fs::write(&path, &kept).unwrap();
    }
    let authority = folder.path().join("phones/authority.pem");
    std::fs::set_permissions(&authority, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(try_open(&mut rng).is_err(), "others could read the authority's key");
}

/// Every system has its file, and none of them names the member.
#[test]
fn all_files_are_made_and_name_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let now = now();
    let (mut household, mut rng) = open(folder.path(), now);
    let ike = IkeAccess {
        gateway: "home.example.org".to_owned(),
        gateway_identity: "home.example.org".to_owned(),
        secret: Zeroizing::new("sesame".to_owned()),
    };
    let made = household.add(Request { ike: Some(ike), ..wish("alice") }, &mut rng, now).unwrap();
    let label = made["label"].as_str().unwrap();
    let names: Vec<_> = made["files"].as_object().unwrap().keys().cloned().collect();
    let p12 = format!("{label}.p12");
    let want = [
        "android.wifi-config",
        "apple.mobileconfig",
        "authority.pem",
        "certificate.p12",
        "chromeos.onc",
        "network-manager.nmconnection",
        "wpa_supplicant.conf",
        &p12,
    ];
    let mut want: Vec<_> = want.iter().map(ToString::to_string).collect();
    want.sort();
    let mut names = names;
    names.sort();
    assert_eq!(names, want);
    assert_eq!(made["ikev2"], true);
    let apple = STANDARD.decode(made["files"]["apple.mobileconfig"].as_str().unwrap()).unwrap();
    let apple = String::from_utf8(apple).unwrap();
    assert!(apple.contains("com.apple.vpn.managed") && apple.contains("home.example.org"));
}
