//! Putting a record, or a host's address, into the DNS (RFC 2136).

use crate::addresses::addresses_of;
use crate::exchange::ask_tcp;
use crate::lookup::{owner, pack, parse_name, question, texts, unpack};
use crate::{DnsError, UpdateSettings};
use guestright_directory::{Host, HostName, Record};
use guestright_units::UnixSeconds;
use hickory_proto::op::update_message::UpdateMessage as _;
use hickory_proto::op::{Message, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, SRV, TXT};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};
use std::net::Ipv4Addr;
use std::time::{SystemTime, UNIX_EPOCH};

/// How often a change of somebody else may come between.
const TRIES_MAX: usize = 4;

/// What became of what was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is new under this name.
    New,
    /// It took an older one's place.
    Replaced,
    /// It was there already.
    Unchanged,
}

/// Puts records into a zone.
#[derive(Clone, Debug)]
pub struct Updater {
    settings: UpdateSettings,
}

impl Updater {
    /// An updater for one zone.
    pub fn new(settings: UpdateSettings) -> Self {
        Self { settings }
    }

    /// Puts `record` under `name`, in one step, unless a newer record of its member is there.
    ///
    /// What was there is a condition of the update (RFC 2136 section 2.4.2), so that of two who publish at once the
    /// newer one wins.
    ///
    /// # Errors
    /// [`DnsError`]; nothing has changed then, except after [`DnsError::Timeout`], when nobody knows.
    pub async fn publish(&self, name: &HostName, record: &Record) -> Result<Published, DnsError> {
        for _ in 0..TRIES_MAX {
            let found = self.found(name).await?;
            let kept: Vec<_> =
                found.iter().filter_map(unpack).filter_map(|bytes| Record::parse(&bytes).ok()).collect();
            if kept.iter().any(|kept| kept.member() != record.member()) {
                return Err(DnsError::OtherMember(name.to_string()));
            }
            if let Some(newer) = kept.iter().find(|kept| kept.replaces(record)) {
                let (got, known) = (record.sequence(), newer.sequence());
                return Err(DnsError::Older { name: name.to_string(), got, known });
            }
            if kept.contains(record) && kept.len() == 1 {
                return Ok(Published::Unchanged);
            }
            let mut update = self.begin(name, &found)?;
            update.add_update(self.record(owner(name)?, RData::TXT(pack(record.as_bytes()))));
            if self.settings.for_people {
                self.describe(&mut update, name, record)?;
            }
            if self.send(update).await? {
                return Ok(if kept.is_empty() { Published::New } else { Published::Replaced });
            }
        }
        Err(DnsError::Contended(name.to_string()))
    }

    /// Takes everything that we have put under `name` away.
    ///
    /// # Errors
    /// [`DnsError`].
    pub async fn withdraw(&self, name: &HostName) -> Result<(), DnsError> {
        for _ in 0..TRIES_MAX {
            let found = self.found(name).await?;
            let update = self.begin(name, &found)?;
            if self.send(update).await? {
                return Ok(());
            }
        }
        Err(DnsError::Contended(name.to_string()))
    }

    /// Makes `address` the only IPv4 address of the host `name`; its other records stay as they are.
    ///
    /// # Errors
    /// [`DnsError`]; nothing has changed then, except after [`DnsError::Timeout`], when nobody knows.
    pub async fn publish_address(&self, name: &HostName, address: Ipv4Addr) -> Result<Published, DnsError> {
        let host = parse_name(name.as_str())?;
        let mut update = self.for_zone(name, &host)?;
        let mut question = Message::query();
        question.add_query(Query::query(host.clone(), RecordType::A));
        question.metadata.id = rand::random();
        let server = self.settings.server;
        let (answer, _) = ask_tcp(server, &question, self.settings.timeout).await?;
        let known = addresses_of(&answer);
        if known == [address] {
            return Ok(Published::Unchanged);
        }
        update.add_update(empty(&host, DNSClass::ANY, RecordType::A));
        update.add_update(self.record(host, RData::A(A(address))));
        // It has no conditions that could fail.
        self.send(update).await?;
        Ok(if known.is_empty() { Published::New } else { Published::Replaced })
    }

    /// All TXT records that are there, by the primary server's word.
    async fn found(&self, name: &HostName) -> Result<Vec<TXT>, DnsError> {
        self.for_zone(name, &owner(name)?)?;
        let server = self.settings.server;
        let (answer, _) = ask_tcp(server, &question(&owner(name)?), self.settings.timeout).await?;
        match texts(server, name, &answer) {
            Err(DnsError::Nothing(_)) => Ok(Vec::new()),
            Err(DnsError::Refused { server, code, .. }) => {
                Err(DnsError::Refused { server, code, hint: "; is it the primary server of the zone?" })
            }
            other => other,
        }
    }

    /// An update without any change, for the zone that `own` has to be in; `name` is what it is called in an error.
    fn for_zone(&self, name: &HostName, own: &Name) -> Result<Message, DnsError> {
        let mut zone = Query::query(parse_name(&self.settings.zone)?, RecordType::SOA);
        zone.set_query_class(DNSClass::IN);
        if !zone.name().zone_of(own) {
            let problem = format!("it is not in the zone {}", self.settings.zone);
            return Err(DnsError::Name(name.to_string(), problem));
        }
        let mut update = Message::query();
        update.metadata.op_code = OpCode::Update;
        update.metadata.recursion_desired = false;
        update.add_zone(zone);
        Ok(update)
    }

    /// An update that takes everything of ours away, if what was found is still there.
    fn begin(&self, name: &HostName, found: &[TXT]) -> Result<Message, DnsError> {
        let text = owner(name)?;
        let mut update = self.for_zone(name, &text)?;
        if found.is_empty() {
            // Section 2.4.3: the RRset does not exist.
            update.add_pre_requisite(empty(&text, DNSClass::NONE, RecordType::TXT));
        }
        for kept in found {
            // Section 2.4.2: the RRset exists with exactly these values.
            let mut kept = self.record(text.clone(), RData::TXT(kept.clone()));
            kept.ttl = 0;
            update.add_pre_requisite(kept);
        }
        // Section 2.5.2: delete an RRset.
        update.add_update(empty(&text, DNSClass::ANY, RecordType::TXT));
        if self.settings.for_people {
            update.add_update(empty(&service(name)?, DNSClass::ANY, RecordType::SRV));
            let host = parse_name(name.as_str())?;
            for kind in [RecordType::A, RecordType::AAAA] {
                update.add_update(empty(&host, DNSClass::ANY, kind));
            }
        }
        Ok(update)
    }

    /// SRV, A and AAAA records, so that people see where the home is.
    fn describe(&self, update: &mut Message, name: &HostName, record: &Record) -> Result<(), DnsError> {
        let own = parse_name(name.as_str())?;
        for (priority, address) in (0..).zip(record.addresses()) {
            let target = match address.host() {
                Host::Name(host) => parse_name(host.as_str())?,
                Host::V4(ip) => {
                    update.add_update(self.record(own.clone(), RData::A(A(*ip))));
                    own.clone()
                }
                Host::V6(ip) => {
                    update.add_update(self.record(own.clone(), RData::AAAA(AAAA(*ip))));
                    own.clone()
                }
            };
            let service_data = SRV::new(priority, 0, address.port().get(), target);
            update.add_update(self.record(service(name)?, RData::SRV(service_data)));
        }
        Ok(())
    }

    fn record(&self, name: Name, data: RData) -> hickory_proto::rr::Record {
        hickory_proto::rr::Record::from_rdata(name, self.settings.ttl, data)
    }

    /// Signs an update and sends it; says whether its conditions held.
    async fn send(&self, mut update: Message) -> Result<bool, DnsError> {
        let server = self.settings.server;
        let refused = |problem: String| DnsError::Answer { server, problem };
        let signer = self.settings.key.signer()?;
        let now = now();
        let verifier = update.finalize(&signer, now.0).map_err(|error| refused(error.to_string()))?;
        let mut verifier = verifier.ok_or_else(|| refused("our own update was not signed".to_owned()))?;
        let (answer, bytes) = ask_tcp(server, &update, self.settings.timeout).await?;
        if answer.response_code == ResponseCode::NotAuth {
            // Such an answer cannot be signed (RFC 8945 section 5.3.2); it is no more than a complaint.
            let hint = "; is the key's name or secret wrong, or a clock, or is it not the primary server?";
            return Err(DnsError::Refused { server, code: answer.response_code.to_string(), hint });
        }
        verifier.verify(&bytes).map_err(|error| refused(format!("its signature is not valid: {error}")))?;
        let code = answer.response_code;
        if [ResponseCode::NXRRSet, ResponseCode::YXRRSet].contains(&code) {
            return Ok(false);
        }
        if code != ResponseCode::NoError {
            let hint = "; may this key update this name?";
            return Err(DnsError::Refused { server, code: code.to_string(), hint });
        }
        Ok(true)
    }
}

fn service(name: &HostName) -> Result<Name, DnsError> {
    parse_name(&format!("_guestright._tcp.{name}"))
}

/// A record without data, as conditions and deletions have them.
fn empty(name: &Name, class: DNSClass, kind: RecordType) -> hickory_proto::rr::Record {
    let mut record = hickory_proto::rr::Record::update0(name.clone(), 0, kind);
    record.dns_class = class;
    record
}

/// The second that it is, for signatures of updates and for records.
pub(crate) fn now() -> UnixSeconds {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixSeconds(since.as_secs())
}
