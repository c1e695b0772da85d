//! Who is connected, and how.

use std::net::IpAddr;

use crate::{DataPlane, Section, Session, StrongswanError, connections};

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
    /// The member whose secret opened it: charon has a connection for each. Nothing for L2TP, and for IKEv1, where one secret
    /// is the whole team's.
    pub member: Option<String>,
    /// What each pair of keys has carried, those included that were replaced a moment ago.
    pub carried: Vec<Carried>,
}

/// What one pair of keys has carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Which pair: no two of one charon have the same number.
    pub pair: u64,
    /// Bytes of inner packets, both ways.
    pub bytes: u64,
    /// And how many packets those were.
    pub packets: u64,
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
    let connections = events.iter().flat_map(Section::sections);
    let is_there = |sa: &Section| sa.text("state") == Some("ESTABLISHED");
    Ok(connections.filter(|(_, sa)| is_there(sa)).map(|(name, sa)| peer(name, sa)).collect())
}

fn peer(connection: &str, sa: &Section) -> Peer {
    let name = sa.text("remote-eap-id").or_else(|| sa.text("remote-id")).unwrap_or_default();
    let all = || {
        let all = sa.sections().filter(|(name, _)| *name == "child-sas").flat_map(|(_, all)| all.sections());
        all.map(|(_, child)| child)
    };
    let children = || all().filter(|child| child.text("state") == Some("INSTALLED"));
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
        member: connections::member_of(connection).map(str::to_owned),
        carried: all().filter_map(carried).collect(),
    }
}

fn carried(child: &Section) -> Option<Carried> {
    let both = |one: &str, other: &str| {
        let of = |key: &str| child.number(key).unwrap_or_default();
        of(one).saturating_add(of(other))
    };
    let (bytes, packets) = (both("bytes-in", "bytes-out"), both("packets-in", "packets-out"));
    child.number("uniqueid").map(|pair| Carried { pair, bytes, packets })
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
        let child = |number: &str, state: &str, bytes: &str| {
            Section::new()
                .value("uniqueid", number)
                .value("state", state)
                .value("encr-alg", "AES_CBC")
                .value("encr-keysize", "128")
                .value("integ-alg", "HMAC_MD5_96")
                .value("bytes-in", bytes)
                .value("bytes-out", "7")
                .value("packets-in", "2")
                .value("packets-out", "1")
        };
        let children = Section::new()
            .section("home-1", child("1", "INSTALLED", "100"))
            .section("home-2", child("2", "INSTALLED", "20"))
            .section("home-3", child("3", "DELETING", "9000"));
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
            member: Some("alice".to_owned()),
            carried: [(1, 107), (2, 27), (3, 9_007)]
                .map(|(pair, bytes)| Carried { pair, bytes, packets: 3 })
                .to_vec(),
        };
        assert_eq!(peer("fqdn:alice", &sa), want);
        let nobody = peer("l2tp", &Section::new());
        assert_eq!(
            (nobody.name.as_str(), nobody.member),
            ("", None),
            "an answer without anything is no panic"
        );
    }
}
