//! Looking a record up.

use crate::DnsError;
use crate::exchange::{UDP_MAX, ask};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use guestright_directory::{HostName, Record};
use guestright_identity::KeyId;
use guestright_units::UnixSeconds;
use hickory_proto::op::{Edns, Message, Query, ResponseCode};
use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{Name, RData, RecordType};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the TXT record begins with: what it is, and in which form.
const MARK: &[u8] = b"guestright1";
/// So many TXT records of an answer are looked at; the signatures in them cost time.
const RECORDS_MAX: usize = 4;
/// So many servers of the system's list are asked, as resolv.conf(5) says.
const SERVERS_MAX: usize = 3;

/// Who is asked for names.
#[derive(Clone, Debug)]
pub struct Resolver {
    servers: Servers,
    timeout: Duration,
}

#[derive(Clone, Debug)]
enum Servers {
    Named(SocketAddr),
    File(PathBuf),
}

impl Resolver {
    /// The system's, as `/etc/resolv.conf` names them at the time of each question.
    pub fn system(timeout: Duration) -> Self {
        Self::of_file(Path::new("/etc/resolv.conf"), timeout)
    }

    /// Those that a file in the form of `resolv.conf` names.
    pub fn of_file(path: &Path, timeout: Duration) -> Self {
        Self { servers: Servers::File(path.to_owned()), timeout }
    }

    pub fn named(server: SocketAddr, timeout: Duration) -> Self {
        Self { servers: Servers::Named(server), timeout }
    }

    /// The newest record of `member` under `name` that counts at `now`.
    ///
    /// # Errors
    /// [`DnsError`]; of several servers the last one's.
    pub async fn lookup(&self, name: &HostName, member: KeyId, now: UnixSeconds) -> Result<Record, DnsError> {
        let mut question = question(&owner(name)?);
        question.metadata.recursion_desired = true;
        let mut last = None;
        for server in self.servers().await? {
            question.metadata.id = rand::random();
            match ask(server, &question, self.timeout).await.and_then(|answer| texts(server, name, &answer)) {
                Ok(texts) => return newest(name, member, &texts, now),
                // A server that says there is nothing is right; one that fails may not be.
                Err(error @ DnsError::Nothing(_)) => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| DnsError::NoServer(self.source())))
    }

    async fn servers(&self) -> Result<Vec<SocketAddr>, DnsError> {
        match &self.servers {
            Servers::Named(server) => Ok(vec![*server]),
            Servers::File(path) => {
                let text = tokio::fs::read_to_string(path).await.unwrap_or_default();
                Ok(name_servers(&text))
            }
        }
    }

    fn source(&self) -> String {
        match &self.servers {
            Servers::Named(server) => server.to_string(),
            Servers::File(path) => path.display().to_string(),
        }
    }
}

/// The lines `nameserver ADDRESS`; an address may have a zone (`fe80::1%eth0`), which we cannot use.
fn name_servers(text: &str) -> Vec<SocketAddr> {
    let address = |line: &str| line.strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok();
    text.lines().filter_map(address).take(SERVERS_MAX).map(|ip| (ip, 53).into()).collect()
}

/// Where the record is.
pub(crate) fn owner(name: &HostName) -> Result<Name, DnsError> {
    parse_name(&format!("_guestright.{name}"))
}

pub(crate) fn parse_name(text: &str) -> Result<Name, DnsError> {
    let parsed = Name::from_ascii(text).map_err(|error| DnsError::Name(text.to_owned(), error.to_string()));
    parsed.map(|mut name| {
        name.set_fqdn(true);
        name
    })
}

pub(crate) fn question(owner: &Name) -> Message {
    let mut question = Message::query();
    question.add_query(Query::query(owner.clone(), RecordType::TXT));
    let mut edns = Edns::new();
    edns.set_max_payload(UDP_MAX);
    question.set_edns(edns);
    question
}

/// The TXT records of an answer, of whatever name: a resolver follows aliases, and a record proves itself.
pub(crate) fn texts(server: SocketAddr, name: &HostName, answer: &Message) -> Result<Vec<TXT>, DnsError> {
    if answer.response_code == ResponseCode::NXDomain {
        return Err(DnsError::Nothing(name.to_string()));
    }
    if answer.response_code != ResponseCode::NoError {
        return Err(DnsError::Refused { server, code: answer.response_code.to_string(), hint: "" });
    }
    let text = |record: &hickory_proto::rr::Record| {
        if let RData::TXT(text) = &record.data { Some(text.clone()) } else { None }
    };
    Ok(answer.answers.iter().filter_map(text).collect())
}

fn newest(name: &HostName, member: KeyId, texts: &[TXT], now: UnixSeconds) -> Result<Record, DnsError> {
    let mut best: Option<Record> = None;
    let mut problem = None;
    for bytes in texts.iter().filter_map(unpack).take(RECORDS_MAX) {
        let read = Record::parse(&bytes).and_then(|record| {
            if record.member() == member {
                record.check(now).map(|()| record)
            } else {
                Err(guestright_directory::RecordError::OtherMember { got: record.member(), want: member })
            }
        });
        match read {
            Ok(record) if best.as_ref().is_none_or(|best| record.replaces(best)) => best = Some(record),
            Ok(_) => {}
            Err(error) => problem = Some(error),
        }
    }
    match (best, problem) {
        (Some(record), _) => Ok(record),
        (None, Some(problem)) => Err(problem.into()),
        (None, None) => Err(DnsError::Nothing(name.to_string())),
    }
}

/// A record as the strings of a TXT record (RFC 1035 section 3.3.14).
pub(crate) fn pack(record: &[u8]) -> TXT {
    let text = URL_SAFE_NO_PAD.encode(record);
    let strings = std::iter::once(MARK).chain(text.as_bytes().chunks(255));
    TXT::from_bytes(strings.collect())
}

/// The bytes of a record in a TXT record; nothing if it is not one of ours.
pub(crate) fn unpack(text: &TXT) -> Option<Vec<u8>> {
    let (mark, strings) = text.txt_data.split_first()?;
    let length: usize = strings.iter().map(|string| string.len()).sum();
    if **mark != *MARK || length > Record::LEN_MAX * 2 {
        return None;
    }
    URL_SAFE_NO_PAD.decode(strings.concat()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_systems_servers() {
        let text = "# by hand\nnameserver 192.0.2.53\nsearch example\nnameserver 2001:db8::53\nnameserver fe80::1%eth0\n\
                    nameserver 192.0.2.54\nnameserver 192.0.2.55\n";
        let want: Vec<SocketAddr> =
            ["192.0.2.53:53", "[2001:db8::53]:53", "192.0.2.54:53"].map(|text| text.parse().unwrap()).into();
        assert_eq!(name_servers(text), want);
        assert_eq!(name_servers(""), []);
    }

    #[test]
    fn other_peoples_texts_are_passed_over() {
        for strings in [vec![], vec!["v=spf1 -all"], vec!["guestright2", "AAAA"], vec!["guestright1", "AA=="]]
        {
            let text = TXT::new(strings.iter().map(|&string| string.to_owned()).collect());
            assert_eq!(unpack(&text), None, "{strings:?}");
        }
        let long = "A".repeat(1_284);
        assert_eq!(unpack(&TXT::new(vec!["guestright1".to_owned(), long])), None);
    }

    proptest! {
        #[test]
        fn unpack_inverts_pack(bytes in prop::collection::vec(any::<u8>(), 0..=640)) {
            let text = pack(&bytes);
            prop_assert!(text.txt_data.iter().all(|string| string.len() <= 255));
            prop_assert_eq!(unpack(&text), Some(bytes));
        }
    }
}
