//! A configuration for `wpa_supplicant`, by the common name and by Passpoint.
//!
//! Names of settings: `wpa_supplicant.conf` of hostap 2.10. Certificates and the key are in the file itself
//! (`blob-base64-…`), so that it is one file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use guestright_units::Seed;
use zeroize::Zeroizing;

use crate::text::{printf_quoted, wrapped};
use crate::{Phone, ProfileError, TlsVersions, pkcs12};

/// A line of hostap's is read into 512 bytes.
const LINE: usize = 76;

/// The text of a configuration. It holds the phone's key: nobody but root should read it.
///
/// # Errors
/// What [`Phone::check`] says.
pub fn configuration(phone: &Phone, seed: &Seed) -> Result<Zeroizing<String>, ProfileError> {
    phone.check()?;
    let identity = pkcs12::encode(&phone.label, &phone.certificate, &phone.key, None, seed);
    let identity = Zeroizing::new(STANDARD.encode(&*identity));
    let mut out =
        Zeroizing::new(String::with_capacity(4_096 + 2 * identity.len() + 2 * phone.authority.len()));
    let consortiums: Vec<String> = phone.consortiums.iter().map(crate::ConsortiumId::hex).collect();
    let consortiums = match consortiums.as_slice() {
        [] => String::new(),
        ids => format!("\troaming_consortiums=\"{}\"\n", ids.join(",")),
    };
    let Phone { realm, server, .. } = phone;
    let name = printf_quoted(&phone.outer_identity());
    let versions = match phone.tls {
        TlsVersions::Only12 => "tls_disable_tlsv1_0=1 tls_disable_tlsv1_1=1 tls_disable_tlsv1_3=1",
        TlsVersions::UpTo13 => "tls_disable_tlsv1_0=1 tls_disable_tlsv1_1=1 tls_disable_tlsv1_3=0",
    };
    let trust = "\tca_cert=\"blob://guestright-authority\"\n\tprivate_key=\"blob://guestright-identity\"\n\
                 \tprivate_key_passwd=\"\"\n";
    out.push_str(&format!(
        "interworking=1\nhs20=1\nauto_interworking=1\npmf=1\n\n\
         network={{\n\tssid={}\n\tproto=RSN\n\tkey_mgmt=WPA-EAP WPA-EAP-SHA256\n\tpairwise=CCMP\n\tieee80211w=1\n\
         \teap=TLS\n\tidentity={name}\n{trust}\tdomain_match=\"{server}\"\n\tphase1=\"{versions}\"\n\tpriority=1\n}}\n\n\
         cred={{\n\trealm=\"{realm}\"\n\tdomain=\"{realm}\"\n{consortiums}\teap=TLS\n\tusername={name}\n{trust}\
         \tphase1=\"{versions}\"\n\tdomain_suffix_match=\"{server}\"\n}}\n",
        phone.ssid.hex()
    ));
    for (name, text) in [
        ("guestright-authority", &Zeroizing::new(STANDARD.encode(&phone.authority))),
        ("guestright-identity", &identity),
    ] {
        out.push_str(&format!("\nblob-base64-{name}={{\n"));
        out.push_str(&Zeroizing::new(wrapped(text, LINE)));
        out.push_str("}\n");
    }
    Ok(out)
}
