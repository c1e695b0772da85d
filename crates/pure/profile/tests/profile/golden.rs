//! Every file as it should be, to the letter.

use crate::phone::{ike, phone, seed};
use guestright_profile::{
    Download, Elsewhere, IkeAuthentication, Phone, Secret, TlsVersions, android, apple, network_manager, onc,
    page, supplicant,
};
use guestright_units::UnixSeconds;

/// Compares with the file of this name; `GUESTRIGHT_BLESS=1` writes it anew.
pub(crate) fn assert_is_golden(name: &str, rendered: &str) {
    let golden = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("GUESTRIGHT_BLESS").is_some() {
        std::fs::write(&golden, rendered).unwrap();
    }
    let wanted = std::fs::read_to_string(&golden).unwrap();
    assert!(
        rendered == wanted,
        "differs from {golden}; if meant so, GUESTRIGHT_BLESS=1 writes it anew:\n{rendered}"
    );
}

#[test]
fn profiles_of_apple() {
    assert_is_golden("shared-secret.mobileconfig", &apple::mobileconfig(&phone(), &seed()).unwrap());
    let with = |authentication| Phone { ike: Some(ike(authentication)), ..phone() };
    let by_password = with(IkeAuthentication::Password(Secret::new("abcdefghijkmnpqrstuvwxyz")));
    assert_is_golden("password.mobileconfig", &apple::mobileconfig(&by_password, &seed()).unwrap());
    let mut by_certificate = with(IkeAuthentication::Certificate);
    by_certificate.ike.as_mut().unwrap().on_demand.elsewhere = Elsewhere::Tunnel;
    assert_is_golden("certificate.mobileconfig", &apple::mobileconfig(&by_certificate, &seed()).unwrap());
    let wifi = Phone { ike: None, consortiums: Vec::new(), tls: TlsVersions::Only12, ..phone() };
    assert_is_golden("wifi.mobileconfig", &apple::mobileconfig(&wifi, &seed()).unwrap());
}

#[test]
fn a_file_for_android() {
    assert_is_golden("android.wifi-config", &android::wifi_config(&phone(), &seed()).unwrap());
}

#[test]
fn a_configuration_for_chromeos() {
    assert_is_golden("chromeos.onc", &onc::configuration(&phone(), &seed()).unwrap());
}

#[test]
fn configurations_for_linux() {
    assert_is_golden("wpa_supplicant.conf", &supplicant::configuration(&phone(), &seed()).unwrap());
    let connection = network_manager::connection(&phone(), "/etc/guestright", &seed()).unwrap();
    assert_is_golden("guestright.nmconnection", &connection.keyfile);
    assert_is_golden("authority.pem", &connection.authority);
}

#[test]
fn the_page() {
    let links = [
        (Download::Apple, "/phone/aaaa"),
        (Download::Android, "/phone/bbbb"),
        (Download::ChromeOs, "/phone/cccc"),
        (Download::Supplicant, "/phone/dddd"),
        (Download::Pkcs12, "/phone/eeee"),
        (Download::WireGuard, "/phone/ffff"),
    ];
    let page = page::Page {
        team: "Family Miller",
        member: "alice",
        ends: UnixSeconds(1_826_712_123),
        minutes: 15,
        links: &links,
        password: Some(&Secret::password(&seed())),
    };
    assert_is_golden("page.html", &page::render(&page));
    let headers: Vec<String> =
        page::headers().iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    assert_is_golden("page.headers", &headers.concat());
}
