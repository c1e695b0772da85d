//! For the fuzzer: what a name server answers.

use crate::exchange::read_answer;
use crate::lookup::{owner, pack, question, texts, unpack};
use guestright_directory::HostName;
use hickory_proto::op::Message;
use hickory_proto::rr::{RData, Record};
use std::net::{Ipv4Addr, SocketAddr};

const SERVER: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 53);

fn asked(name: &HostName) -> Option<Message> {
    let mut question = question(&owner(name).ok()?);
    question.metadata.id = 0x1234;
    Some(question)
}

/// What could be records in an answer about this name, whose question had the number 0x1234.
pub fn records(name: &HostName, answer: &[u8]) -> Option<Vec<Vec<u8>>> {
    let server = SocketAddr::from(SERVER);
    let answer = read_answer(server, &asked(name)?, answer).ok()?;
    Some(texts(server, name, &answer).ok()?.iter().filter_map(unpack).collect())
}

/// The answer that has this record.
pub fn answer(name: &HostName, record: &[u8]) -> Option<Vec<u8>> {
    let owner = owner(name).ok()?;
    let mut answer = asked(name)?.into_response();
    answer.add_answer(Record::from_rdata(owner, 60, RData::TXT(pack(record))));
    answer.to_vec().ok()
}
