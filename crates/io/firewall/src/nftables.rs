//! The kernel's nftables over one netlink socket: elements of sets, counters, and whose table it is.
//!
//! Rulesets are text and go through `nft`, once. What is done for each visitor and at each reading goes through this
//! socket: it takes a tenth of a millisecond instead of three for a process, needs no file descriptor that is not open
//! already, and speaks as the table's owner where the table has one (`NFT_TABLE_F_OWNER`).

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_REQUEST, NlaBuffer, NlasIterator,
};
use netlink_packet_netfilter::nftables::{
    DataAttribute, ListAttribute, NfTablesMessageType, RuleAttribute, SetElementAttribute, SetElementList,
    TableAttribute, TableFlags,
};
use netlink_packet_netfilter::{NetfilterHeader, NetfilterProtoFamily};
use rustix::net::netlink::NETFILTER;

use crate::netlink::{Answer, Netlink, emitted, nested, refused, unreadable, zero_terminated};
use crate::{FirewallError, MacAddress};

/// nftables among netfilter's subsystems (linux/netfilter/nfnetlink.h).
const SUBSYSTEM: u16 = 10;
/// The beginning and the end of a batch, messages of netfilter's itself.
const NFNL_MSG_BATCH_BEGIN: u16 = 16;
const NFNL_MSG_BATCH_END: u16 = 17;
/// What stands before the attributes in every message of netfilter's (`struct nfgenmsg`).
pub(crate) const HEADER: usize = 4;
/// Attributes, and a kind of object (linux/netfilter/nf_tables.h).
const NFTA_SET_ELEM_LIST_ELEMENTS: u16 = 3;
const NFTA_SET_ELEM_KEY: u16 = 1;
const NFTA_SET_ELEM_EXPR: u16 = 7;
const NFTA_SET_ELEM_EXPRESSIONS: u16 = 11;
const NFTA_DATA_VALUE: u16 = 1;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_QUOTA_BYTES: u16 = 1;
const NFTA_COUNTER_BYTES: u16 = 1;
const NFTA_COUNTER_PACKETS: u16 = 2;
const NFTA_OBJ_TABLE: u16 = 1;
const NFTA_OBJ_NAME: u16 = 2;
const NFTA_OBJ_TYPE: u16 = 3;
const NFTA_OBJ_DATA: u16 = 4;
const NFT_OBJECT_COUNTER: u32 = 1;
/// The table's name, first among the attributes of a table, a chain and a rule alike.
const NFTA_TABLE: u16 = 1;
/// What makes a chain: its name, hook, policy and type; and a rule: its chain and its expressions.
const CHAIN: [u16; 4] = [3, 4, 5, 7];
const RULE: [u16; 2] = [2, 4];
/// A message: its kind, and its attributes as bytes.
type Message = (NfTablesMessageType, Vec<u8>);

/// A set of our table, or a map.
pub(crate) type Set = &'static str;

/// One change of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Adds an element, unless it is there: then it stays as it is, with its timeout and its count.
    Add(Set, Element),
    /// Removes an element, which has to be there.
    Delete(Set, Element),
}

/// An element of a set or map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    key: Vec<u8>,
    value: Option<Vec<u8>>,
    timeout: Option<Duration>,
    quota: Option<u64>,
}

impl Element {
    /// An element without a value, of no parts yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The next part of its key: an address.
    pub(crate) fn address(mut self, address: Ipv4Addr) -> Self {
        self.key.extend(address.octets());
        self
    }

    /// The next part of its key: a hardware address, which fills up to a multiple of four bytes as every part does.
    pub(crate) fn hardware(mut self, mac: MacAddress) -> Self {
        self.key.extend(mac.bytes());
        self.key.extend([0; 2]);
        self
    }

    /// What a map has for it: the handle of a queue's class, a number in this computer's byte order.
    pub(crate) fn class(mut self, class: u32) -> Self {
        self.value = Some(class.to_ne_bytes().to_vec());
        self
    }

    /// After this time the kernel removes it.
    pub(crate) fn expires_after(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// It is found for so many bytes and then no more, in a set whose elements have quotas.
    pub(crate) fn good_for(mut self, bytes: u64) -> Self {
        // The kernel's largest.
        self.quota = Some(bytes.min(i64::MAX.unsigned_abs()));
        self
    }

    fn attributes(&self) -> Vec<SetElementAttribute> {
        let mut attributes = vec![SetElementAttribute::Key(DataAttribute::Value(self.key.clone()))];
        if let Some(value) = &self.value {
            attributes.push(SetElementAttribute::Data(DataAttribute::Value(value.clone())));
        }
        if let Some(timeout) = self.timeout {
            let timeout = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            attributes.push(SetElementAttribute::Timeout(timeout));
        }
        if let Some(bytes) = self.quota {
            let quota = nested(&[DefaultNla::new(NFTA_QUOTA_BYTES, bytes.to_be_bytes().to_vec())]);
            let name = DefaultNla::new(NFTA_EXPR_NAME, zero_terminated("quota"));
            let expression = nested(&[name, DefaultNla::new(NFTA_EXPR_DATA, quota)]);
            attributes.push(SetElementAttribute::Other(DefaultNla::new(NFTA_SET_ELEM_EXPR, expression)));
        }
        attributes
    }
}

/// What the kernel has of an element that it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    key: Vec<u8>,
    /// What its counter has counted, where it has one.
    pub(crate) count: Count,
}

/// A counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl From<Count> for guestright_airtime::Count {
    fn from(Count { packets, bytes }: Count) -> Self {
        Self { packets, bytes }
    }
}

impl Found {
    /// It as it can be removed.
    pub(crate) fn into_element(self) -> Element {
        Element { key: self.key, ..Element::default() }
    }

    /// Its key as the kernel has it.
    pub(crate) fn into_key(self) -> Vec<u8> {
        self.key
    }

    /// The address that its key is.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn address(&self) -> Result<Ipv4Addr, FirewallError> {
        let [address] = self.parts()?;
        Ok(address.into())
    }

    /// The two addresses that its key consists of.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn addresses(&self) -> Result<(Ipv4Addr, Ipv4Addr), FirewallError> {
        let [first, second] = self.parts()?;
        Ok((first.into(), second.into()))
    }

    /// The hardware address and the address that its key consists of.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn station(&self) -> Result<([u8; 6], Ipv4Addr), FirewallError> {
        let [[a, b, c, d], [e, f, ..], address] = self.parts()?;
        Ok(([a, b, c, d, e, f], address.into()))
    }

    /// The end that its key consists of: address, port.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn end(&self) -> Result<SocketAddrV4, FirewallError> {
        let [address, port] = self.parts()?;
        Ok(end(address, port))
    }

    /// The two ends that its key consists of: address, port, address, port.
    ///
    /// # Errors
    /// It is something else.
    pub(crate) fn ends(&self) -> Result<(SocketAddrV4, SocketAddrV4), FirewallError> {
        let [from, from_port, to, to_port] = self.parts()?;
        Ok((end(from, from_port), end(to, to_port)))
    }

    /// The key in parts of four bytes: each thing in it fills a whole number of them.
    fn parts<const N: usize>(&self) -> Result<[[u8; 4]; N], FirewallError> {
        let (parts, rest) = self.key.as_chunks();
        let parts = rest.is_empty().then(|| parts.try_into().ok()).flatten();
        parts.ok_or_else(|| unreadable("read an element's key"))
    }
}

/// An address and a port, each filled up to four bytes.
fn end(address: [u8; 4], [high, low, ..]: [u8; 4]) -> SocketAddrV4 {
    SocketAddrV4::new(address.into(), u16::from_be_bytes([high, low]))
}

/// A socket to the kernel's nftables, in the network namespace where it was opened.
#[derive(Debug)]
pub(crate) struct Nftables {
    socket: Netlink,
}

impl Nftables {
    /// Opens the socket.
    ///
    /// # Errors
    /// This kernel has no netfilter, or no descriptor is left.
    pub(crate) fn open() -> Result<Self, FirewallError> {
        Ok(Self { socket: Netlink::open(Some(NETFILTER))? })
    }

    /// The netlink port from which changes are made.
    pub(crate) fn port(&self) -> Result<u32, FirewallError> {
        self.socket.port()
    }

    /// Carries out all of it at once, or nothing.
    ///
    /// # Errors
    /// The kernel's, about the first order that it did not like.
    pub(crate) fn transact(&mut self, table: &str, orders: &[Order]) -> Result<(), FirewallError> {
        let messages = orders.iter().map(|order| order.message(table)).collect();
        self.transaction(messages).map_err(|error| refused(&format!("change table inet {table}"), error))
    }

    /// Makes an empty table that outlives its owner: Linux 6.9 can do that, and nobody may be the owner of another.
    ///
    /// # Errors
    /// There is such a table, or the kernel is too old.
    pub(crate) fn make_persistent_table(&mut self, table: &str) -> Result<(), FirewallError> {
        self.transaction(vec![new_table(table, TableFlags::Persisent)])
            .map_err(|error| refused(&format!("make table inet {table} persistent"), error))
    }

    /// Becomes the owner of a persistent table that has none: from then on nobody else can change or remove it, and
    /// when this socket closes it stays, without an owner.
    ///
    /// # Errors
    /// It has an owner, is not persistent, or is not there.
    pub(crate) fn own_table(&mut self, table: &str) -> Result<(), FirewallError> {
        let flags = TableFlags::Persisent | TableFlags::Owner;
        self.transaction(vec![new_table(table, flags)])
            .map_err(|error| refused(&format!("own table inet {table}"), error))
    }

    /// Removes a table with all that is in it.
    ///
    /// # Errors
    /// It is not there, or is somebody else's.
    pub(crate) fn delete_table(&mut self, table: &str) -> Result<(), FirewallError> {
        let message = (NfTablesMessageType::DeleteTable, nested(&[TableAttribute::Name(table.to_owned())]));
        self.transaction(vec![(message, 0)])
            .map_err(|error| refused(&format!("remove table inet {table}"), error))
    }

    /// Whether there is such a table.
    ///
    /// # Errors
    /// The kernel has no nftables, or its answer cannot be read.
    pub(crate) fn table_exists(&mut self, table: &str) -> Result<bool, FirewallError> {
        let question = (NfTablesMessageType::GetTable, Vec::new());
        let tables = self.dump(question).map_err(|error| refused("list the tables of nftables", error))?;
        let name = zero_terminated(table);
        Ok(tables.iter().any(|found| attribute_of(found, NFTA_TABLE).is_some_and(|found| found == name)))
    }

    /// Every element of a set.
    ///
    /// # Errors
    /// No such set, or the kernel's answer cannot be read.
    pub(crate) fn elements(&mut self, table: &str, set: &str) -> Result<Vec<Found>, FirewallError> {
        let what = || format!("read set {set} of table inet {table}");
        let attributes = [SetElementList::Table(table.to_owned()), SetElementList::Set(set.to_owned())];
        let question = (NfTablesMessageType::GetSetElement, nested(&attributes));
        let answers = self.dump(question).map_err(|error| refused(&what(), error))?;
        let mut found = Vec::new();
        for answer in answers {
            read_elements(&answer, &mut found).ok_or_else(|| unreadable(&what()))?;
        }
        Ok(found)
    }

    /// Every chain and every rule of a table, in the kernel's form without what it numbers; nothing if there is no such
    /// table.
    ///
    /// # Errors
    /// The kernel's answer cannot be read.
    pub(crate) fn rules(&mut self, table: &str) -> Result<Vec<Vec<u8>>, FirewallError> {
        let what = || format!("read the rules of table inet {table}");
        let name = zero_terminated(table);
        let mut all = Vec::new();
        let chains = (NfTablesMessageType::GetChain, Vec::new());
        let rules = (NfTablesMessageType::GetRule, nested(&[RuleAttribute::Table(table.to_owned())]));
        for (question, kinds) in [(chains, CHAIN.as_slice()), (rules, RULE.as_slice())] {
            for answer in self.dump(question).map_err(|error| refused(&what(), error))? {
                if attribute_of(&answer, NFTA_TABLE).is_none_or(|found| found != name) {
                    continue;
                }
                let parts = kinds.iter().filter_map(|kind| attribute_of(&answer, *kind));
                all.push(parts.collect::<Vec<_>>().concat());
            }
        }
        Ok(all)
    }

    /// Every named counter of a table.
    ///
    /// # Errors
    /// No such table, or the kernel's answer cannot be read.
    pub(crate) fn counters(&mut self, table: &str) -> Result<BTreeMap<String, Count>, FirewallError> {
        let what = || format!("read the counters of table inet {table}");
        let attributes = nested(&[
            DefaultNla::new(NFTA_OBJ_TABLE, zero_terminated(table)),
            DefaultNla::new(NFTA_OBJ_TYPE, NFT_OBJECT_COUNTER.to_be_bytes().to_vec()),
        ]);
        let question = (NfTablesMessageType::GetObject, attributes);
        let answers = self.dump(question).map_err(|error| refused(&what(), error))?;
        if answers.is_empty() {
            return Err(refused(&what(), io::ErrorKind::NotFound.into()));
        }
        answers.iter().map(|answer| read_counter(answer).ok_or_else(|| unreadable(&what()))).collect()
    }
}

/// Reading and writing.
impl Nftables {
    /// Sends messages as one batch, and waits until the kernel has acknowledged each.
    fn transaction(&mut self, messages: Vec<(Message, u16)>) -> io::Result<()> {
        let mut batch = Vec::new();
        self.mark(&mut batch, NFNL_MSG_BATCH_BEGIN);
        let begin = self.socket.sequence();
        let mut unanswered = messages.len();
        for (message, flags) in messages {
            self.append(&mut batch, &message, NLM_F_REQUEST | NLM_F_ACK | flags);
        }
        self.mark(&mut batch, NFNL_MSG_BATCH_END);
        self.socket.send(&batch)?;
        let mut verdict = Ok(());
        while unanswered > 0 {
            self.socket.receive(begin, |sequence, answer| {
                if let Answer::Error(errno) = answer
                    && verdict.is_ok()
                {
                    verdict = Err(io::Error::from_raw_os_error(errno));
                }
                // An answer to the beginning of the batch: the kernel did not look at the rest.
                unanswered = if sequence == begin { 0 } else { unanswered.saturating_sub(1) };
            })?;
        }
        verdict
    }

    /// Asks for all of something; the attributes of each object.
    fn dump(&mut self, question: Message) -> io::Result<Vec<Vec<u8>>> {
        let mut message = Vec::new();
        self.append(&mut message, &question, NLM_F_REQUEST | NLM_F_DUMP);
        self.socket.send(&message)?;
        let (mut objects, mut verdict, mut is_over) = (Vec::new(), Ok(()), false);
        while !is_over {
            self.socket.receive(self.socket.sequence(), |_, answer| match answer {
                Answer::Object(object) => objects.push(object.get(HEADER..).unwrap_or_default().to_vec()),
                Answer::Done => is_over = true,
                Answer::Error(errno) => {
                    verdict = Err(io::Error::from_raw_os_error(errno));
                    is_over = true;
                }
            })?;
        }
        verdict.map(|()| objects)
    }

    fn append(&mut self, batch: &mut Vec<u8>, (kind, attributes): &Message, flags: u16) {
        let header = NetfilterHeader::new(NetfilterProtoFamily::Inet, 0, 0);
        let kind = (SUBSYSTEM << 8) | u16::from(u8::from(*kind));
        self.socket.append(batch, kind, [&emitted(&header), attributes], flags);
    }

    /// Begins or ends a batch, which names the subsystem that it is for.
    fn mark(&mut self, batch: &mut Vec<u8>, kind: u16) {
        let header = NetfilterHeader::new(NetfilterProtoFamily::Unspec, 0, SUBSYSTEM);
        self.socket.append(batch, kind, [&emitted(&header), &[]], NLM_F_REQUEST);
    }
}

impl Order {
    fn message(&self, table: &str) -> (Message, u16) {
        let (Self::Add(set, element) | Self::Delete(set, element)) = self;
        let elements = vec![ListAttribute::Element(element.attributes())];
        let attributes = nested(&[
            SetElementList::Table(table.to_owned()),
            SetElementList::Set((*set).to_owned()),
            SetElementList::Elements(elements),
        ]);
        match self {
            Self::Add(..) => ((NfTablesMessageType::NewSetElement, attributes), NLM_F_CREATE),
            Self::Delete(..) => ((NfTablesMessageType::DeleteSetElement, attributes), 0),
        }
    }
}

fn new_table(table: &str, flags: TableFlags) -> (Message, u16) {
    let attributes = nested(&[TableAttribute::Name(table.to_owned()), TableAttribute::Flags(flags)]);
    ((NfTablesMessageType::NewTable, attributes), NLM_F_CREATE)
}

/// What the fuzzer calls: how many elements and counters a datagram of the kernel's tells of.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_datagram(datagram: &[u8]) -> (usize, usize) {
    let (mut found, mut counters) = (Vec::new(), 0);
    let _ = crate::netlink::split(datagram, |_, answer| {
        if let Answer::Object(object) = answer {
            let attributes = object.get(HEADER..).unwrap_or_default();
            let _ = read_elements(attributes, &mut found);
            counters += usize::from(read_counter(attributes).is_some());
        }
    });
    for found in &found {
        let _ = (found.address(), found.addresses(), found.station(), found.end(), found.ends());
    }
    (found.len(), counters)
}

/// The elements in one answer, behind those that are there already.
fn read_elements(answer: &[u8], found: &mut Vec<Found>) -> Option<()> {
    for list in attributes(answer) {
        let list = list?;
        if list.kind() != NFTA_SET_ELEM_LIST_ELEMENTS {
            continue;
        }
        for element in attributes(list.value()) {
            found.push(read_element(element?.value())?);
        }
    }
    Some(())
}

fn read_element(element: &[u8]) -> Option<Found> {
    let (mut key, mut count) = (None, Count::default());
    for attribute in attributes(element) {
        let attribute = attribute?;
        match attribute.kind() {
            NFTA_SET_ELEM_KEY => key = Some(attribute_of(attribute.value(), NFTA_DATA_VALUE)?),
            NFTA_SET_ELEM_EXPR => count = read_expression(attribute.value()).unwrap_or(count),
            NFTA_SET_ELEM_EXPRESSIONS => {
                for expression in attributes(attribute.value()) {
                    count = read_expression(expression?.value()).unwrap_or(count);
                }
            }
            _ => {}
        }
    }
    Some(Found { key: key?, count })
}

/// What a counter has counted; nothing if it is another expression.
fn read_expression(expression: &[u8]) -> Option<Count> {
    let name = attribute_of(expression, NFTA_EXPR_NAME)?;
    if name != b"counter\0" {
        return None;
    }
    read_count(&attribute_of(expression, NFTA_EXPR_DATA)?)
}

fn read_counter(answer: &[u8]) -> Option<(String, Count)> {
    let name = attribute_of(answer, NFTA_OBJ_NAME)?;
    let name = String::from_utf8(name.strip_suffix(&[0])?.to_vec()).ok()?;
    Some((name, read_count(&attribute_of(answer, NFTA_OBJ_DATA)?)?))
}

fn read_count(counter: &[u8]) -> Option<Count> {
    let number = |kind| Some(u64::from_be_bytes(attribute_of(counter, kind)?.try_into().ok()?));
    Some(Count { packets: number(NFTA_COUNTER_PACKETS)?, bytes: number(NFTA_COUNTER_BYTES)? })
}

fn attributes(bytes: &[u8]) -> impl Iterator<Item = Option<NlaBuffer<&[u8]>>> {
    NlasIterator::new(bytes).map(Result::ok)
}

/// The value of the first attribute of this kind.
fn attribute_of(bytes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let found = attributes(bytes).flatten().find(|attribute| attribute.kind() == kind)?;
    Some(found.value().to_vec())
}
