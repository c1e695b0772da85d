//! Names that nobody has thought of come back as they were, or are refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use roxmltree::{Document, ParsingOptions};

use crate::phone::{phone, seed};
use guestright_profile::hostapd::{AccessPoint, Passpoint, Radius, Security};
use guestright_profile::{
    Ike, IkeAuthentication, OnDemand, Phone, ProfileError, Secret, Ssid, Uuid, android, apple,
    network_manager, onc, supplicant,
};

/// Letters that formats care about, other writings, and any others.
fn name() -> impl Strategy<Value = String> {
    let letter = prop_oneof![
        proptest::sample::select("\"'\\<>&;=[]{}#$%`()| \n\tPx0n-/".chars().collect::<Vec<_>>()),
        proptest::sample::select(
            "äßשלעא你ก\u{200b}\u{202e}\u{2066}\u{2028}\u{feff}😀𝔊\u{10fffd}".chars().collect::<Vec<_>>()
        ),
        any::<char>(),
    ];
    proptest::collection::vec(letter, 1..40).prop_map(String::from_iter)
}

/// The text after a key in a property list.
fn string_after<'a>(document: &'a Document<'_>, key: &str) -> Option<&'a str> {
    let key =
        document.descendants().find(|node| node.tag_name().name() == "key" && node.text() == Some(key))?;
    key.next_sibling_element()?.text()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `printf_decode` of hostap, as far as we write it.
fn printf_decode(text: &str) -> Vec<u8> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'\\' => match bytes.next().unwrap() {
                b'x' => {
                    let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                    data_encoding::HEXLOWER.decode(&digits).unwrap()[0]
                }
                other => other,
            },
            other => other,
        });
    }
    out
}

fn assert_android(phone: &Phone) {
    let file = android::wifi_config(phone, &seed()).unwrap();
    let message = String::from_utf8(STANDARD.decode(file.replace('\n', "")).unwrap()).unwrap();
    let part = message.split("--{guestright}").nth(1).unwrap().split("\n\n").nth(1).unwrap();
    let profile = String::from_utf8(STANDARD.decode(part.replace('\n', "")).unwrap()).unwrap();
    let document = Document::parse(&profile).unwrap();
    let name = document.descendants().find(|node| node.text() == Some("FriendlyName")).unwrap();
    assert_eq!(name.next_sibling_element().unwrap().text(), Some(one_line(&phone.team).as_str()));
}

fn assert_linux(phone: &Phone) {
    let file = supplicant::configuration(phone, &seed()).unwrap();
    let names: Vec<&str> = file.lines().filter_map(|line| line.strip_prefix("\tssid=")).collect();
    let ssid = names.into_iter().map(|name| data_encoding::HEXLOWER.decode(name.as_bytes()).unwrap());
    assert_eq!(ssid.collect::<Vec<_>>(), [phone.ssid.as_bytes()]);
    let connection = network_manager::connection(phone, "/etc/guestright", &seed()).unwrap();
    let lines = connection.keyfile.lines().count();
    let plain = network_manager::connection(&crate::phone::phone(), "/etc/guestright", &seed()).unwrap();
    assert_eq!(lines, plain.keyfile.lines().count(), "{}", connection.keyfile.as_str());
}

fn assert_hostapd(operator: &str, ssid: &Ssid) {
    let file = access_point(operator, ssid).render().unwrap();
    let plain = access_point("plain", &Ssid::common()).render().unwrap();
    assert_eq!(file.split('\n').count(), plain.split('\n').count());
    for key in ["venue_name=P\"", "hs20_oper_friendly_name=P\""] {
        let value = file.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        assert_eq!(printf_decode(value.strip_suffix('"').unwrap()), format!("eng:{operator}").as_bytes());
    }
}

fn access_point(operator: &str, ssid: &Ssid) -> AccessPoint {
    AccessPoint {
        interface: "wlan0".to_owned(),
        bridge: None,
        radio: None,
        ssid: ssid.clone(),
        security: Security::Wpa3,
        radius: Radius {
            identifier: "ap".to_owned(),
            authentication_port: 1812,
            accounting_port: 1813,
            orders_port: 3799,
            secret: Secret::new("sixteen-letters-and-more"),
            knows_message_authenticator: true,
        },
        passpoint: Some(Passpoint {
            operator: operator.to_owned(),
            realms: Vec::new(),
            domain: "a.b".to_owned(),
            consortiums: Vec::new(),
        }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_taken_is_read_back(team in name(), authority_name in name(), ssid in name(), member in name()) {
        let ssid = Ssid::new(&ssid).unwrap_or_else(|_| Ssid::common());
        let phone = Phone { team, authority_name, ssid, ..phone() };
        if phone.check().is_err() {
            let refused = apple::mobileconfig(&phone, &seed()).is_err() && onc::configuration(&phone, &seed()).is_err();
            prop_assert!(refused);
            return Ok(());
        }
        let text = apple::mobileconfig(&phone, &seed()).unwrap();
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&text, options).unwrap();
        prop_assert_eq!(string_after(&document, "PayloadOrganization"), Some(phone.team.as_str()));
        prop_assert!(document.descendants().any(|node| node.text() == Some(phone.authority_name.as_str())));
        prop_assert_eq!(string_after(&document, "SSID_STR").map(str::as_bytes), Some(phone.ssid.as_bytes()));
        assert_android(&phone);
        let text = onc::configuration(&phone, &seed()).unwrap();
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let network = &json["NetworkConfigurations"][0]["WiFi"];
        prop_assert_eq!(network["SSID"].as_str().map(str::as_bytes), Some(phone.ssid.as_bytes()));
        assert_linux(&phone);
        assert_hostapd(&phone.team, &phone.ssid);
        // Nobody checks the member's name for the page: it is only shown.
        let page = guestright_profile::page::Page {
            team: &phone.team,
            member: &member,
            ends: phone.not_after,
            minutes: 1,
            links: &[],
            password: None,
        };
        let page = guestright_profile::page::render(&page);
        let shown: Vec<&str> = page.split("<bdi>").skip(1).map(|part| part.split("</bdi>").next().unwrap()).collect();
        let unescape = |text: &str| text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        prop_assert_eq!(shown.into_iter().map(unescape).collect::<Vec<_>>(), [member, phone.team]);
    }
}

#[test]
fn a_phone_that_cannot_be_is_refused() {
    let ike = |change: fn(&mut Ike)| {
        let mut phone = phone();
        change(phone.ike.as_mut().unwrap());
        phone
    };
    let many = |ike: &mut Ike| {
        ike.on_demand = OnDemand { at_home: vec![Ssid::common(); 9], ..OnDemand::default() };
    };
    #[rustfmt::skip]
    let wrong = [
        ("label", Phone { label: "../evil".to_owned(), ..phone() }),
        ("team", Phone { team: "a\u{0}".to_owned(), ..phone() }),
        ("authority", Phone { authority_name: String::new(), ..phone() }),
        ("realm", Phone { realm: "no realm".to_owned(), ..phone() }),
        ("server", Phone { server: "a\"b.c".to_owned(), ..phone() }),
        ("authority's certificate is no DER", Phone { authority: b"-----BEGIN".to_vec(), ..phone() }),
        ("phone's key is no DER", Phone { key: guestright_profile::PrivateKey::from_pkcs8(*b"key"), ..phone() }),
        ("consortiums", Phone { consortiums: vec![phone().consortiums[0].clone(); 5], ..phone() }),
        ("ends", Phone { not_after: phone().not_before, ..phone() }),
        ("gateway's address", ike(|ike| ike.gateway = "a b".to_owned())),
        ("gateway's identity", ike(|ike| ike.gateway_identity = "home".to_owned())),
        ("member's name", ike(|ike| ike.identity = "alice\n".to_owned())),
        ("secret", ike(|ike| ike.authentication = IkeAuthentication::SharedSecret(Secret::new("a b")))),
        ("networks", ike(many)),
        ("announced", ike(|ike| ike.on_demand.announced = Some("*".to_owned()))),
    ];
    for (word, phone) in wrong {
        let error: ProfileError = phone.check().unwrap_err();
        assert!(error.to_string().contains(word), "{word}: {error}");
        let files = [apple::mobileconfig(&phone, &seed()), android::wifi_config(&phone, &seed())];
        assert!(files.iter().all(|file| file.as_ref() == Err(&error)));
    }
}

#[test]
fn addresses_may_stand_for_the_gateway() {
    for gateway in ["192.0.2.1", "2001:db8::1", "home.example.org"] {
        let mut phone = phone();
        phone.ike.as_mut().unwrap().gateway = gateway.to_owned();
        assert_eq!(phone.check(), Ok(()));
    }
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?} {:?}", phone(), Uuid::from_random([1; 16]));
    let connection = network_manager::connection(&phone(), "/etc/guestright", &seed()).unwrap();
    assert_eq!(format!("{connection:?}"), "Connection(..)");
    assert!(!shown.contains("abcdefghijkmnpqrstuvwxyz"), "{shown}");
    let key: String = crate::phone::KEY[40..56].iter().map(|byte| format!("{byte}, ")).collect();
    assert!(!shown.contains(&key), "{shown}");
}
