//! A configuration profile for iOS, iPadOS and macOS: `.mobileconfig`.
//!
//! Keys and types are those of Apple's published schema (`apple/device-management`, `mdm/profiles/`, of October 2024).
//!
//! Two Wi-Fi payloads, for the common name and for Passpoint; the home's authority and the phone's certificate; and IKEv2
//! On-Demand, if the home's gateway offers it.
//!
//! **Why nothing waits for a probe.** Where an access point carries nothing before somebody has signed, a rule with a
//! `URLStringProbe` would have the tunnel wait for an answer from the Internet, and the access point wait for the tunnel, by
//! which the home knows what it may sign. So on participating Wi-Fi the rule is to connect, without a probe, and
//! `CaptiveBypass` has the system believe in the network at once: what comes first out of the phone is the tunnel's
//! handshake, which the tunnel allowance lets through if it has IKE's ports ([`IKE_PORTS`](crate::IKE_PORTS)). A probe is only in the rule for other people's networks, where
//! without one no portal would ever be seen (trailofbits/algo#452).

use guestright_units::Seed;
use zeroize::Zeroizing;

use crate::plist::Dictionary;
use crate::text::one_line;
use crate::{Elsewhere, IkeAuthentication, Phone, ProfileError, Secret, Ssid, TlsVersions, pkcs12};

/// What Apple's own systems ask to see whether the Internet is there; "Success" is the answer.
const PROBE: &str = "http://captive.apple.com/hotspot-detect.html";
const EAP_TLS: u64 = 13;
/// P-256 (RFC 5903).
const DH_GROUP: u64 = 19;

/// The text of a profile. It holds the phone's key: see [`Download::headers`](crate::Download::headers).
///
/// # Errors
/// What [`Phone::check`] says.
pub fn mobileconfig(phone: &Phone, seed: &Seed) -> Result<Zeroizing<String>, ProfileError> {
    phone.check()?;
    let mut payloads =
        vec![authority(phone), identity(phone, seed), wifi_by_name(phone), wifi_by_passpoint(phone)];
    payloads.extend(tunnel(phone));
    let what = if phone.ike.is_some() {
        "Joins the Wi-Fi of participating households and tunnels home from there."
    } else {
        "Joins the Wi-Fi of participating households."
    };
    let profile = head(phone, "Configuration", "", "profile", &format!("{} (guestright)", phone.team))
        .with("PayloadDescription", what)
        .with("PayloadOrganization", phone.team.as_str())
        // The system takes it away by itself. A later profile of the same identity takes its place.
        .with("RemovalDate", phone.not_after)
        .with("PayloadContent", payloads);
    Ok(profile.document())
}

/// The keys that profile and payloads share. Identifier and UUID stay the same for a phone, so that a new profile takes
/// the place of the old one, part by part (`CommonPayloadKeys.yaml`).
fn head(phone: &Phone, kind: &str, part: &str, purpose: &str, name: &str) -> Dictionary {
    let reversed = phone.realm.split('.').rev().collect::<Vec<_>>().join(".");
    let identifier = format!("{reversed}.{}{part}", phone.uuid);
    Dictionary::new()
        .with("PayloadType", kind)
        .with("PayloadVersion", 1)
        .with("PayloadIdentifier", identifier)
        .with("PayloadUUID", uuid(phone, purpose))
        .with("PayloadDisplayName", name)
}

fn uuid(phone: &Phone, purpose: &str) -> String {
    phone.uuid.derive(purpose).to_string()
}

fn authority(phone: &Phone) -> Dictionary {
    head(phone, "com.apple.security.root", ".authority", "authority", &phone.authority_name)
        .with("PayloadCertificateFileName", "authority.cer")
        .with("PayloadContent", phone.authority.as_slice())
}

/// The password is there because macOS takes no file without one (hwdsl2/setup-ipsec-vpn#1580); it keeps nothing secret.
fn identity(phone: &Phone, seed: &Seed) -> Dictionary {
    let password = Secret::password(seed);
    let file = pkcs12::encode(&phone.label, &phone.certificate, &phone.key, Some(&password), seed);
    head(phone, "com.apple.security.pkcs12", ".identity", "identity", &phone.label)
        .with("PayloadCertificateFileName", format!("{}.p12", phone.label))
        .with("Password", password.expose())
        .with("PayloadContent", file.as_slice())
}

fn wifi_by_name(phone: &Phone) -> Dictionary {
    head(phone, "com.apple.wifi.managed", ".wifi", "wifi", &format!("Wi-Fi {}", phone.ssid.as_text()))
        .with("SSID_STR", phone.ssid.as_text())
        .with("HIDDEN_NETWORK", false)
        .and(wifi(phone))
}

/// For access points that call themselves something else. The domain is what the phone's home is known by: an access point
/// that announces it is the team's own, one that announces the realm alone is somebody else's.
fn wifi_by_passpoint(phone: &Phone) -> Dictionary {
    let mut payload = head(phone, "com.apple.wifi.managed", ".passpoint", "passpoint", "Wi-Fi by Passpoint")
        .with("IsHotspot", true)
        .with("ServiceProviderRoamingEnabled", true)
        .with("DisplayedOperatorName", one_line(&phone.team))
        .with("DomainName", phone.realm.as_str())
        .with("NAIRealmNames", vec![phone.realm.as_str()]);
    if !phone.consortiums.is_empty() {
        let ids: Vec<String> = phone.consortiums.iter().map(crate::ConsortiumId::hex).collect();
        payload = payload.with("RoamingConsortiumOIs", ids);
    }
    payload.and(wifi(phone))
}

/// `WPA2` is the lower bound: since iOS 16 and macOS 13 it joins WPA3 too, and `WPA3` would join nothing else.
fn wifi(phone: &Phone) -> Dictionary {
    let newest = match phone.tls {
        TlsVersions::Only12 => "1.2",
        TlsVersions::UpTo13 => "1.3",
    };
    let eap = Dictionary::new()
        .with("AcceptEAPTypes", vec![EAP_TLS])
        .with("UserName", phone.outer_identity())
        .with("TLSCertificateIsRequired", true)
        .with("TLSTrustedServerNames", vec![phone.server.as_str()])
        .with("PayloadCertificateAnchorUUID", vec![uuid(phone, "authority")])
        .with("TLSMinimumVersion", "1.2")
        .with("TLSMaximumVersion", newest);
    Dictionary::new()
        .with("AutoJoin", true)
        .with("CaptiveBypass", phone.ike.is_some())
        .with("ProxyType", "None")
        .with("EncryptionType", "WPA2")
        .with("PayloadCertificateUUID", uuid(phone, "identity"))
        .with("EAPClientConfiguration", eap)
}

fn tunnel(phone: &Phone) -> Option<Dictionary> {
    let ike = phone.ike.as_ref()?;
    let association = || {
        Dictionary::new()
            .with("EncryptionAlgorithm", "AES-256-GCM")
            .with("IntegrityAlgorithm", "SHA2-256")
            .with("DiffieHellmanGroup", DH_GROUP)
    };
    let settings = Dictionary::new()
        .with("RemoteAddress", ike.gateway.as_str())
        .with("RemoteIdentifier", ike.gateway_identity.as_str())
        .with("LocalIdentifier", ike.identity.as_str())
        .and(authentication(phone, &ike.authentication, &ike.identity, &ike.gateway_identity))
        .with("IKESecurityAssociationParameters", association())
        .with("ChildSecurityAssociationParameters", association())
        .with("EnablePFS", 1)
        .with("DisableMOBIKE", 0)
        .with("DeadPeerDetectionRate", "Medium")
        .with("OnDemandEnabled", 1)
        .with("OnDemandRules", rules(phone, &ike.on_demand.at_home));
    let name = format!("{} (home)", phone.team);
    Some(
        head(phone, "com.apple.vpn.managed", ".tunnel", "tunnel", &name)
            .with("UserDefinedName", name)
            .with("VPNType", "IKEv2")
            .with("IKEv2", settings),
    )
}

fn authentication(phone: &Phone, by: &IkeAuthentication, name: &str, gateway: &str) -> Dictionary {
    match by {
        IkeAuthentication::SharedSecret(secret) => Dictionary::new()
            .with("AuthenticationMethod", "SharedSecret")
            .with("SharedSecret", secret.expose()),
        IkeAuthentication::Password(secret) => Dictionary::new()
            .with("AuthenticationMethod", "None")
            .with("ExtendedAuthEnabled", 1)
            .with("AuthName", name)
            .with("AuthPassword", secret.expose())
            .with("ServerCertificateCommonName", gateway),
        IkeAuthentication::Certificate => Dictionary::new()
            .with("AuthenticationMethod", "Certificate")
            .with("PayloadCertificateUUID", uuid(phone, "identity"))
            .with("CertificateType", "ECDSA256")
            .with("ServerCertificateIssuerCommonName", phone.authority_name.as_str())
            .with("ServerCertificateCommonName", gateway),
    }
}

/// The first that matches decides.
fn rules(phone: &Phone, at_home: &[Ssid]) -> Vec<Dictionary> {
    let rule = |action: &str| Dictionary::new().with("Action", action);
    let on_wifi = |action| rule(action).with("InterfaceTypeMatch", "WiFi");
    let on_demand = phone.ike.as_ref().map(|ike| &ike.on_demand);
    let mut rules = Vec::new();
    if !at_home.is_empty() {
        let names: Vec<&str> = at_home.iter().map(Ssid::as_text).collect();
        rules.push(on_wifi("Disconnect").with("SSIDMatch", names));
    }
    rules.push(on_wifi("Connect").with("SSIDMatch", vec![phone.ssid.as_text()]));
    if let Some(domain) = on_demand.and_then(|on_demand| on_demand.announced.as_ref()) {
        rules.push(on_wifi("Connect").with("DNSDomainMatch", vec![domain.as_str()]));
    }
    if on_demand.is_some_and(|on_demand| on_demand.elsewhere == Elsewhere::Tunnel) {
        rules.push(on_wifi("Connect").with("URLStringProbe", PROBE));
    }
    rules.push(rule("Ignore"));
    rules
}
