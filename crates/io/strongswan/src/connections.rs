//! What charon is told over its control socket: connections, secrets, addresses.
//!
//! Names of keys: strongSwan, `swanctl.conf(5)`; they are the same over vici.

use crate::{Member, Profile, Section, Session, Settings, StrongswanError};

/// IKE suites for everybody. In this order: what we like best, and what the built-in clients of Android (from 11),
/// iOS, macOS and Windows offer. Windows offers only 1,024-bit groups until it is told otherwise.
pub const IKE_MODERN: [&str; 3] = [
    "aes256gcm16-aes128gcm16-prfsha256-prfsha384-curve25519-ecp256-ecp384-modp3072-modp2048",
    "chacha20poly1305-prfsha256-prfsha384-curve25519-ecp256-ecp384-modp3072-modp2048",
    "aes256-aes128-sha256-sha384-curve25519-ecp256-ecp384-modp3072-modp2048",
];

/// ESP suites for everybody, with a key exchange of their own and without.
pub const ESP_MODERN: [&str; 6] = [
    "aes256gcm16-aes128gcm16-curve25519-ecp256-ecp384-modp3072-modp2048",
    "aes256gcm16-aes128gcm16",
    "chacha20poly1305-curve25519-ecp256-ecp384-modp3072-modp2048",
    "chacha20poly1305",
    "aes256-aes128-sha256-curve25519-ecp256-ecp384-modp3072-modp2048",
    "aes256-aes128-sha256",
];

/// IKE suites of the papers' time: paper A has AES with MD5, paper B has 3DES with SHA-1.
pub const IKE_PAPER: [&str; 3] = ["aes128-md5-modp1024", "3des-sha1-modp1024", "aes128-sha1-modp1024"];

/// ESP suites of the papers: A, B, and the third that was common.
pub const ESP_PAPER: [&str; 3] = ["aes128-md5", "3des-sha1", "aes128-sha1"];

/// The ways in which clients write a name, with charon's word for each (RFC 7296 section 3.5: ID_FQDN, ID_RFC822_ADDR,
/// ID_KEY_ID). Which one a phone uses is its own secret.
const NAMINGS: [&str; 3] = ["fqdn", "email", "keyid"];

/// How the connection is called that asks for a name.
const EAP: &str = "eap";
/// The way L2TP clients' connection is called.
const L2TP: &str = "l2tp";
/// And what keeps out those that come without IPsec.
const L2TP_GUARD: &str = "l2tp-guard";

/// Tells a fresh charon everything.
pub(crate) fn load(session: &mut Session, settings: &Settings) -> Result<(), StrongswanError> {
    if let Some(certificate) = &settings.certificate {
        let key = Section::new().value("type", "any").value("data", certificate.key.as_slice());
        session.order("load-key", "the gateway's key", &key)?;
        for issuer in pem_blocks(&certificate.certificate).skip(1) {
            let issuer = Section::new().value("type", "X509").value("flag", "NONE").value("data", issuer);
            session.order("load-cert", "an issuer's certificate", &issuer)?;
        }
        let connection = Section::new().section(EAP, eap_connection(settings, None));
        session.order("load-conn", EAP, &connection)?;
    }
    if let Some(secret) = &settings.team_secret {
        // By IKEv1 both ends are known by their addresses when the secret is chosen, or by the identity that only the
        // papers' connections have: so it opens no IKEv2 connection.
        let owners = ["0.0.0.0/0".to_owned(), paper_identity(&settings.identity)];
        let message = secret_message("team", "IKE", secret.expose()).list("owners", owners);
        session.order("load-shared", "team", &message)?;
    }
    if settings.l2tp.is_some() {
        let connection = Section::new().section(L2TP, l2tp_connection(settings));
        session.order("load-conn", L2TP, &connection)?;
        let guard = Section::new().section(L2TP_GUARD, l2tp_guard(settings));
        session.order("load-conn", L2TP_GUARD, &guard)?;
    }
    for member in &settings.members {
        load_member(session, settings, member)?;
    }
    Ok(())
}

/// Lets a member in.
pub(crate) fn load_member(
    session: &mut Session,
    settings: &Settings,
    member: &Member,
) -> Result<(), StrongswanError> {
    let name = &member.name;
    let resolvers = settings.resolvers.iter().map(ToString::to_string);
    let pool = Section::new().value("addrs", member.address.to_string()).list("dns", resolvers);
    session.order("load-pool", name, &Section::new().section(name, pool))?;
    let owners = NAMINGS.map(|naming| format!("{naming}:{name}"));
    let secret = secret_message(name, "IKE", member.secret.expose()).list("owners", &owners);
    session.order("load-shared", name, &secret)?;
    for owner in &owners {
        let connection = Section::new().section(owner, psk_connection(settings, member, owner));
        session.order("load-conn", owner, &connection)?;
    }
    if settings.certificate.is_some() {
        let id = format!("eap:{name}");
        let secret = secret_message(&id, "EAP", member.secret.expose()).list("owners", [name]);
        session.order("load-shared", &id, &secret)?;
        let connection = Section::new().section(&id, eap_connection(settings, Some(member)));
        session.order("load-conn", &id, &connection)?;
    }
    if settings.profile == Profile::LegacyPaper {
        let id = format!("paper:{name}");
        let connection = Section::new().section(&id, paper_connection(settings, member));
        session.order("load-conn", &id, &connection)?;
    }
    Ok(())
}

/// Whose connection this is, by its name. None of the papers' is anybody's: who has the team's secret can say any name.
pub(crate) fn member_of(connection: &str) -> Option<&str> {
    let (kind, name) = connection.split_once(':')?;
    (NAMINGS.contains(&kind) || kind == EAP).then_some(name)
}

/// Forgets a member and ends its connections. What is not there is passed over.
pub(crate) fn unload_member(session: &mut Session, name: &str) -> Result<(), StrongswanError> {
    let named = |key: &str, value: &str| Section::new().value(key, value);
    let connections = ["fqdn", "email", "keyid", "eap", "paper"].map(|kind| format!("{kind}:{name}"));
    let mut orders: Vec<(&'static str, Section)> = Vec::new();
    for id in &connections {
        orders.push(("unload-conn", named("name", id)));
        // Without waiting for the client to agree: it may be far away.
        orders.push(("terminate", named("ike", id).value("force", "yes").value("timeout", "-1")));
    }
    orders.push(("unload-shared", named("id", name)));
    orders.push(("unload-shared", named("id", &format!("eap:{name}"))));
    orders.push(("unload-pool", named("name", name)));
    for (command, message) in orders {
        match session.order(command, name, &message) {
            Ok(()) => {}
            Err(StrongswanError::Refused { reason, .. }) => {
                tracing::debug!(command, reason, "nothing to forget");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn secret_message(id: &str, kind: &str, secret: &str) -> Section {
    Section::new().value("id", id).value("type", kind).value("data", secret)
}

/// What all connections for tunnels have: one address for one member, at one place at a time; clients that move keep
/// their connection (MOBIKE, RFC 4555); those that have gone are forgotten.
fn tunnel(member: Option<&Member>, version: &str, ike: &[&str], esp: &[&str]) -> Section {
    let child = Section::new()
        .value("mode", "tunnel")
        .list("local_ts", ["0.0.0.0/0"])
        .list("esp_proposals", esp)
        .value("rekey_time", "1h")
        .value("dpd_action", "clear");
    Section::new()
        .value("version", version)
        .list("proposals", ike)
        .list("pools", member.map(|member| &member.name))
        .value("unique", "replace")
        .value("mobike", "yes")
        .value("dpd_delay", "15s")
        .value("rekey_time", "4h")
        .section("children", Section::new().section("home", child))
}

fn psk_connection(settings: &Settings, member: &Member, owner: &str) -> Section {
    let auth = |id: &str| Section::new().value("auth", "psk").value("id", id);
    tunnel(Some(member), "2", &IKE_MODERN, &ESP_MODERN)
        .section("local", auth(&settings.identity))
        .section("remote", auth(owner))
}

/// Without a member: what asks everybody for a name. Nobody is of its group, so that a connection has to be that of the
/// member who has proved to have this name. It has to be loaded first, because charon asks for no name otherwise.
fn eap_connection(settings: &Settings, member: Option<&Member>) -> Section {
    let mut local = Section::new().value("auth", "pubkey").value("id", &settings.identity);
    if let Some(certificate) = &settings.certificate {
        local = local.list("certs", pem_blocks(&certificate.certificate).take(1));
    }
    let remote = Section::new().value("auth", "eap-mschapv2");
    let remote = match member {
        None => remote.value("eap_id", "%any").list("groups", ["nobody"]),
        Some(member) => remote.value("eap_id", &member.name),
    };
    tunnel(member, "2", &IKE_MODERN, &ESP_MODERN)
        .value("send_cert", "always")
        .section("local", local)
        .section("remote", remote)
}

fn paper_connection(settings: &Settings, member: &Member) -> Section {
    let auth = |id: &str| Section::new().value("auth", "psk").value("id", id);
    tunnel(Some(member), "1", &IKE_PAPER, &ESP_PAPER)
        .section("local", auth(&paper_identity(&settings.identity)))
        .section("remote", auth(&paper_identity(&member.name)))
}

/// How the gateway and a member call themselves on the papers' connections. IKEv1 has to choose a secret before it knows
/// who is there, so nobody's own secret may fit any of them.
fn paper_identity(name: &str) -> String {
    format!("paper.{name}")
}

/// Transport mode between two addresses, for the L2TP port only (RFC 3193).
fn l2tp_connection(settings: &Settings) -> Section {
    let mut ike = vec!["aes256-aes128-sha256-sha384-sha1-ecp256-ecp384-modp3072-modp2048"];
    let mut esp = vec!["aes256gcm16-aes128gcm16", "aes256-aes128-sha256-sha1"];
    if settings.profile == Profile::LegacyPaper {
        ike.extend(IKE_PAPER);
        esp.extend(ESP_PAPER);
    }
    let child = Section::new()
        .value("mode", "transport")
        .list("local_ts", ["dynamic[udp/1701]"])
        .list("remote_ts", ["dynamic[udp]"])
        .list("esp_proposals", esp)
        .value("dpd_action", "clear");
    let mut connection = Section::new().value("version", "1");
    if let Some(l2tp) = &settings.l2tp {
        connection = connection.list("local_addrs", [l2tp.listen.to_string()]);
    }
    connection
        .list("proposals", ike)
        .value("dpd_delay", "15s")
        .section("local", Section::new().value("auth", "psk"))
        .section("remote", Section::new().value("auth", "psk"))
        .section("children", Section::new().section(L2TP, child))
}

/// The certificates of a PEM file; all of it where it is not PEM.
fn pem_blocks(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    const END: &[u8] = b"-----END CERTIFICATE-----";
    let mut rest = file;
    std::iter::from_fn(move || {
        let end = rest.windows(END.len()).position(|window| window == END).map(|at| at + END.len());
        let is_first = rest.len() == file.len();
        let end = end.or_else(|| (is_first && !rest.is_empty()).then_some(rest.len()))?;
        let (block, after) = rest.split_at(end);
        rest = after;
        Some(block)
    })
}

/// Drops L2TP that no IPsec protects: connections' own policies are narrower, so they come first.
fn l2tp_guard(settings: &Settings) -> Section {
    let listen = settings.l2tp.iter().map(|l2tp| format!("{}/32[udp/1701]", l2tp.listen));
    let child = Section::new()
        .value("mode", "drop")
        .list("local_ts", listen)
        .list("remote_ts", ["0.0.0.0/0[udp]"])
        .value("start_action", "trap");
    Section::new()
        .list("remote_addrs", ["127.0.0.1"])
        .section("local", Section::new())
        .section("remote", Section::new())
        .section("children", Section::new().section(L2TP_GUARD, child))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::settings;
    use crate::{L2tp, Secret};

    #[test]
    fn a_certificate_file_may_hold_its_issuers() {
        let block = |name: &str| format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----");
        let file = format!("{}\n{}\n", block("leaf"), block("issuer"));
        let blocks: Vec<_> = pem_blocks(file.as_bytes()).collect();
        assert_eq!(blocks, [block("leaf").as_bytes(), format!("\n{}", block("issuer")).as_bytes()]);
        assert_eq!(pem_blocks(b"\x30\x82").collect::<Vec<_>>(), [b"\x30\x82"], "DER is one");
        assert_eq!(pem_blocks(b"").count(), 0);
    }

    #[test]
    fn a_connection_is_the_members_whose_secret_opened_it() {
        let of = [
            "fqdn:alice",
            "email:alice",
            "keyid:alice",
            "eap:alice",
            "paper:alice",
            "l2tp",
            "eap",
            "x:alice",
        ];
        let alice = Some("alice");
        assert_eq!(of.map(member_of), [alice, alice, alice, alice, None, None, None, None]);
    }

    #[test]
    fn only_the_legacy_profile_offers_the_papers_suites() {
        let settings = Settings {
            l2tp: Some(L2tp { listen: [198, 51, 100, 2].into(), gateway: [10, 78, 0, 1].into() }),
            team_secret: Some(Secret::new("team-secret-12").unwrap()),
            ..settings()
        };
        let weak = |connection: &Section| {
            let text = String::from_utf8_lossy(&connection.emit().unwrap()).into_owned();
            ["md5", "3des", "modp1024"].iter().any(|word| text.contains(word))
        };
        let legacy = Settings { profile: Profile::LegacyPaper, ..settings.clone() };
        let member = &settings.members[0];
        assert!(!weak(&l2tp_connection(&settings)) && weak(&l2tp_connection(&legacy)));
        assert!(!weak(&psk_connection(&legacy, member, "fqdn:alice")));
        assert!(!weak(&eap_connection(&legacy, Some(member))));
        assert!(weak(&paper_connection(&legacy, member)));
    }
}
