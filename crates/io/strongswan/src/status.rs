//! Who is connected, and how.

use std::net::IpAddr;

use crate::{DataPlane, Section, Session, StrongswanError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its identity, or the name that it logged in with.
    pub name: String,
    /// Where it is, as charon sees it: after its access point's translation.
    pub from: Option<IpAddr>,
    /// The port there.
    pub port: u16,
    /// Its addresses inside the tunnel; none for L2TP.
    pub addresses: Vec<IpAddr>,
    /// IKE's version, 1 or 2.
    pub version: u8,
    /// For how many seconds it has been connected.
    pub seconds: u64,
    /// The suite of its packets, for example `AES_GCM_16-128`.
    pub suite: String,
    /// Bytes of inner packets received from it, since the last change of keys.
    pub received_bytes: u64,
    /// Bytes of inner packets sent to it, since the last change of keys.
    pub sent_bytes: u64,
}

/// How the way in through strongSwan is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// charon's process id; none while it is being started again.
    pub charon: Option<u32>,
    /// Who encrypts packets.
    pub data_plane: DataPlane,
    /// Whether L2TP clients can come in.
    pub l2tp: bool,
    /// How often a program had to be started again.
    pub restarts: u64,
    /// Who is connected.
    pub peers: Vec<Peer>,
}

/// Asks charon who is connected.
pub(crate) fn peers(session: &mut Session) -> Result<Vec<Peer>, StrongswanError> {
    let events = session.stream("list-sas", "list-sa", &Section::new())?;
    let connections = events.iter().flat_map(|event| event.sections().map(|(_, sa)| sa));
    Ok(connections.filter(|sa| sa.text("state") == Some("ESTABLISHED")).map(peer).collect())
}

fn peer(sa: &Section) -> Peer {
    let name = sa.text("remote-eap-id").or_else(|| sa.text("remote-id")).unwrap_or_default();
    let children = || {
        let all = sa.sections().filter(|(name, _)| *name == "child-sas").flat_map(|(_, all)| all.sections());
        all.map(|(_, child)| child).filter(|child| child.text("state") == Some("INSTALLED"))
    };
    let sum = |key: &str| children().filter_map(|child| child.number(key)).fold(0, u64::saturating_add);
    Peer {
        name: name.to_owned(),
        from: sa.text("remote-host").and_then(|text| text.parse().ok()),
        port: sa.number("remote-port").and_then(|port| u16::try_from(port).ok()).unwrap_or_default(),
        addresses: sa.items("remote-vips").filter_map(|text| text.parse().ok()).collect(),
        version: sa.number("version").and_then(|version| u8::try_from(version).ok()).unwrap_or_default(),
        seconds: sa.number("established").unwrap_or_default(),
        suite: children().next().map(suite).unwrap_or_default(),
        received_bytes: sum("bytes-in"),
        sent_bytes: sum("bytes-out"),
    }
}

fn suite(child: &Section) -> String {
    let names = ["encr-alg", "encr-keysize", "integ-alg"];
    names.iter().filter_map(|name| child.text(name)).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_connection() {
        let child = |state: &str, bytes: &str| {
            Section::new()
                .value("state", state)
                .value("encr-alg", "AES_CBC")
                .value("encr-keysize", "128")
                .value("integ-alg", "HMAC_MD5_96")
                .value("bytes-in", bytes)
                .value("bytes-out", "7")
        };
        let children = Section::new()
            .section("home-1", child("INSTALLED", "100"))
            .section("home-2", child("INSTALLED", "20"))
            .section("home-3", child("DELETING", "9000"));
        let sa = Section::new()
            .value("version", "2")
            .value("remote-host", "198.51.100.7")
            .value("remote-port", "4500")
            .value("remote-id", "alice")
            .value("established", "61")
            .list("remote-vips", ["10.78.0.254"])
            .section("child-sas", children);
        let want = Peer {
            name: "alice".to_owned(),
            from: Some([198, 51, 100, 7].into()),
            port: 4_500,
            addresses: vec![[10, 78, 0, 254].into()],
            version: 2,
            seconds: 61,
            suite: "AES_CBC-128-HMAC_MD5_96".to_owned(),
            received_bytes: 120,
            sent_bytes: 14,
        };
        assert_eq!(peer(&sa), want);
        assert_eq!(peer(&Section::new()).name, "", "an answer without anything is no panic");
    }
}
