//! A Passpoint file for Android: `application/x-wifi-config`.
//!
//! What it may hold is what AOSP's parser reads (`ConfigParser`, `PpsMoParser` in `packages/modules/Wifi/framework`); any
//! node that it does not know makes it refuse the whole file. The document is
//! <https://source.android.com/docs/core/connect/wifi-passpoint>. From the parser, and not in the document:
//!
//! - A certificate is EAP-TLS by itself: `EAPType` under `DigitalCertificate` would be refused.
//! - `Extension/Android/AAAServerTrustedNames` has the system believe the public authorities instead of the one in the file
//!   (`PasspointProvider`). Without it the server's name is compared with `FQDN`: so that is the realm, and the server's
//!   name is below it.
//! - The end of a subscription is in a node that is `SubscriptionParameter` in some releases and `SubscriptionParameters` in
//!   others, each unknown to the other. So only the credential's own end is here, which all know; and the certificate ends.
//! - Texts are trimmed, and control characters are left out: the team's name is on one line.
//! - An `UpdateIdentifier`, or a policy, would make it a file of release 2, which has to be renewed by a server.
//!
//! A private authority is taken since Android 11, and the server's name is checked since then.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_units::Seed;
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::text::{one_line, wrapped};
use crate::xml::escape;
use crate::{ConsortiumId, Phone, ProfileError, pkcs12};

/// It is in no base64.
const BOUNDARY: &str = "{guestright}";
/// RFC 2045, section 6.8.
const LINE: usize = 76;

/// The file, as it goes over HTTP: base64 of a multipart message. It holds the phone's key, without a password.
///
/// # Errors
/// What [`Phone::check`] says.
pub fn wifi_config(phone: &Phone, seed: &Seed) -> Result<Zeroizing<String>, ProfileError> {
    phone.check()?;
    let identity = pkcs12::encode(&phone.label, &phone.certificate, &phone.key, None, seed);
    let subscription = subscription(phone);
    let parts: [(&str, &[u8]); 3] = [
        ("application/x-passpoint-profile", subscription.as_bytes()),
        ("application/x-x509-ca-cert", &phone.authority),
        ("application/x-pkcs12", &identity),
    ];
    let length: usize = parts.iter().map(|(_, bytes)| 256 + 2 * bytes.len()).sum();
    let mut message = Zeroizing::new(String::with_capacity(length));
    message.push_str(&format!(
        "Content-Type: multipart/mixed; boundary={BOUNDARY}\nContent-Transfer-Encoding: base64\n\n"
    ));
    for (kind, bytes) in parts {
        let text = Zeroizing::new(STANDARD.encode(bytes));
        message
            .push_str(&format!("--{BOUNDARY}\nContent-Type: {kind}\nContent-Transfer-Encoding: base64\n\n"));
        message.push_str(&Zeroizing::new(wrapped(&text, LINE)));
    }
    message.push_str(&format!("--{BOUNDARY}--\n"));
    let encoded = Zeroizing::new(STANDARD.encode(message.as_bytes()));
    Ok(Zeroizing::new(wrapped(&encoded, LINE)))
}

/// The tree of management objects (OMA-TS-DM-TND-V1.2; Hotspot 2.0, section 9.1).
fn subscription(phone: &Phone) -> String {
    let fingerprint = data_encoding::HEXLOWER.encode(&Sha256::digest(&phone.certificate));
    let mut home = leaf("FriendlyName", &one_line(&phone.team)) + &leaf("FQDN", &phone.realm);
    if !phone.consortiums.is_empty() {
        let ids: Vec<String> = phone.consortiums.iter().map(ConsortiumId::hex).collect();
        home.push_str(&leaf("RoamingConsortiumOI", &ids.join(",")));
    }
    let certificate = leaf("CertificateType", "x509v3") + &leaf("CertSHA256Fingerprint", &fingerprint);
    let credential = leaf("CreationDate", &phone.not_before.to_string())
        + &leaf("ExpirationDate", &phone.not_after.to_string())
        + &leaf("Realm", &phone.realm)
        + &node("DigitalCertificate", &certificate);
    let provider = node("HomeSP", &home) + &node("Credential", &credential);
    let kind = "<RTProperties><Type><DDFName>urn:wfa:mo:hotspot2dot0-perprovidersubscription:1.0</DDFName></Type>\
                </RTProperties>";
    let tree = node("PerProviderSubscription", &format!("{kind}\n{}", node("i001", &provider)));
    format!("<MgmtTree xmlns=\"syncml:dmddf1.2\">\n<VerDTD>1.2</VerDTD>\n{tree}</MgmtTree>\n")
}

fn node(name: &str, inner: &str) -> String {
    format!("<Node><NodeName>{name}</NodeName>\n{inner}</Node>\n")
}

fn leaf(name: &str, value: &str) -> String {
    format!("<Node><NodeName>{name}</NodeName><Value>{}</Value></Node>\n", escape(value))
}
