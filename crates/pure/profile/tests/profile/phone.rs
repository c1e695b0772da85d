//! A phone to write files for.

use guestright_profile::{
    ConsortiumId, Elsewhere, Ike, IkeAuthentication, OnDemand, Phone, PrivateKey, Secret, Ssid, TlsVersions,
    Uuid,
};
use guestright_units::{Seed, UnixSeconds};

pub(crate) const AUTHORITY: &[u8] = include_bytes!("../fixtures/authority.der");
pub(crate) const CERTIFICATE: &[u8] = include_bytes!("../fixtures/phone.der");
pub(crate) const KEY: &[u8] = include_bytes!("../fixtures/phone-key.der");
pub(crate) const SERVER: &[u8] = include_bytes!("../fixtures/server.der");
pub(crate) const SERVER_KEY: &[u8] = include_bytes!("../fixtures/server-key.der");
pub(crate) const REALM: &str = "k7f2.guestright.invalid";

pub(crate) fn seed() -> Seed {
    Seed::from_number(19)
}

/// With everything that there can be.
pub(crate) fn phone() -> Phone {
    Phone {
        uuid: Uuid::from_random([0x19; 16]),
        label: "b3x9q-w2m6t".to_owned(),
        team: "Family Miller".to_owned(),
        realm: REALM.to_owned(),
        server: format!("home.{REALM}"),
        ssid: Ssid::common(),
        consortiums: vec![ConsortiumId::new(&[0x02, 0x11, 0x22]).unwrap()],
        authority: AUTHORITY.to_vec(),
        authority_name: "Phones of k7f2".to_owned(),
        certificate: CERTIFICATE.to_vec(),
        key: PrivateKey::from_pkcs8(KEY),
        not_before: UnixSeconds(1_795_176_123),
        not_after: UnixSeconds(1_826_712_123),
        tls: TlsVersions::UpTo13,
        ike: Some(ike(IkeAuthentication::SharedSecret(Secret::new("abcdefghijkmnpqrstuvwxyz")))),
    }
}

pub(crate) fn ike(authentication: IkeAuthentication) -> Ike {
    Ike {
        gateway: "home.example.org".to_owned(),
        gateway_identity: "home.guestright".to_owned(),
        identity: "alice".to_owned(),
        authentication,
        on_demand: OnDemand {
            at_home: vec![Ssid::new("Miller's \"home\" <3").unwrap()],
            announced: Some("here.guestright.invalid".to_owned()),
            elsewhere: Elsewhere::Leave,
        },
    }
}

/// Names that somebody could give to a team.
pub(crate) const HOSTILE: [&str; 10] = [
    "</string><key>PayloadRemovalDisallowed</key><true/>",
    "]]> & &amp; &#0; <!-- <![CDATA[",
    "\"}\nnetwork={\nssid=\"evil\"\n",
    "a\\\" \\n \\x00 %s ${LOGIN_ID} $(id) `id`",
    "שלום \u{202e}drow\u{202c} عالم",
    "😀 𝔊 \u{1f469}\u{200d}\u{1f467}",
    "line one\nline two\n[connection]\nid=evil",
    "  blanks  at both ends  ",
    "--{guestright}--",
    "'; DROP TABLE members; --",
];
