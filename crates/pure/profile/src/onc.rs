//! Open Network Configuration for ChromeOS: `.onc`.
//!
//! Keys and types are those of Chromium's `components/onc/docs/onc_spec.md`. A PKCS#12 file in it may have no password. It is
//! imported at `chrome://network#general`, by hand; Passpoint is not in the format.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_units::Seed;
use serde_json::{Value, json};
use zeroize::{Zeroize as _, Zeroizing};

use crate::text::{one_line, pem};
use crate::{IkeAuthentication, Phone, ProfileError, TlsVersions, pkcs12};

/// The text of a configuration. It holds the phone's key, without a password.
///
/// # Errors
/// What [`Phone::check`] says.
pub fn configuration(phone: &Phone, seed: &Seed) -> Result<Zeroizing<String>, ProfileError> {
    phone.check()?;
    let identity = pkcs12::encode(&phone.label, &phone.certificate, &phone.key, None, seed);
    let guid = |purpose: &str| format!("{{{}}}", phone.uuid.derive(purpose));
    let mut networks = vec![wifi(phone)];
    networks.extend(tunnel(phone));
    let mut configuration = json!({
        "Type": "UnencryptedConfiguration",
        "NetworkConfigurations": networks,
        "Certificates": [
            { "GUID": guid("authority"), "Type": "Authority", "X509": pem("CERTIFICATE", &phone.authority) },
            { "GUID": guid("identity"), "Type": "Client", "PKCS12": STANDARD.encode(&*identity) },
        ],
    });
    // Of the final length at once: what grows leaves pieces behind that nobody wipes.
    let mut out = Zeroizing::new(Vec::with_capacity(8_192 + 2 * (identity.len() + phone.authority.len())));
    serde_json::to_writer_pretty(&mut *out, &configuration).expect("what is in it can be written");
    out.push(b'\n');
    wipe(&mut configuration);
    Ok(Zeroizing::new(String::from_utf8(std::mem::take(&mut *out)).expect("JSON is text")))
}

fn wifi(phone: &Phone) -> Value {
    let guid = |purpose: &str| format!("{{{}}}", phone.uuid.derive(purpose));
    let mut eap = json!({
        "Outer": "EAP-TLS",
        "Identity": phone.outer_identity(),
        "SaveCredentials": true,
        "ServerCARefs": [guid("authority")],
        "UseSystemCAs": false,
        "DomainSuffixMatch": [phone.server],
        "ClientCertType": "Ref",
        "ClientCertRef": guid("identity"),
    });
    if phone.tls == TlsVersions::Only12 {
        eap["TLSVersionMax"] = "1.2".into();
    }
    json!({
        "GUID": guid("wifi"),
        "Name": phone.ssid.as_text(),
        "Type": "WiFi",
        "WiFi": {
            "HexSSID": phone.ssid.hex().to_uppercase(),
            "SSID": phone.ssid.as_text(),
            "Security": "WPA-EAP",
            "AutoConnect": true,
            "HiddenSSID": false,
            "EAP": eap,
        },
    })
}

/// Only by a shared secret: how ChromeOS would take the others has not been looked into.
fn tunnel(phone: &Phone) -> Option<Value> {
    let ike = phone.ike.as_ref()?;
    let IkeAuthentication::SharedSecret(secret) = &ike.authentication else { return None };
    Some(json!({
        "GUID": format!("{{{}}}", phone.uuid.derive("tunnel")),
        "Name": format!("{} (home)", one_line(&phone.team)),
        "Type": "VPN",
        "VPN": {
            "Type": "IPsec",
            "Host": ike.gateway,
            "IPsec": {
                "IKEVersion": 2,
                "AuthenticationType": "PSK",
                "PSK": secret.expose(),
                "SaveCredentials": true,
                "LocalIdentity": ike.identity,
                "RemoteIdentity": ike.gateway_identity,
            },
        },
    }))
}

/// JSON's values do not wipe themselves.
fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(values) => values.iter_mut().for_each(wipe),
        Value::Object(values) => values.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
