//! Answers of name servers, which anybody on the way can make up.

use crate::seeds::Seed;
use guestright_directory::{HostName, Record};
use guestright_dns::fuzzing::{answer, records};
use guestright_vectors::actors::CONSUMER;

fn name() -> HostName {
    HostName::new("home.example.org").expect("a name")
}

/// An answer as it comes, and as one that has these bytes for a record.
pub fn name_answer(bytes: &[u8]) {
    for record in records(&name(), bytes).into_iter().flatten() {
        // A record proves itself; others are refused.
        if let Ok(record) = Record::parse(&record) {
            assert!(record.certificate().as_bytes().len() < bytes.len());
        }
    }
    if bytes.len() <= Record::LEN_MAX {
        let answer = answer(&name(), bytes).expect("a record fits an answer");
        assert_eq!(records(&name(), &answer), Some(vec![bytes.to_vec()]));
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let record = CONSUMER.member.1.as_bytes();
    let good = answer(&name(), record).expect("a record fits an answer");
    let mut compressed = good.clone();
    // A name that points at itself (RFC 1035 section 4.1.4).
    compressed.extend([0xc0, 0x0c]);
    seeds.push(("name_answer", "good".to_owned(), good.clone()));
    seeds.push(("name_answer", "trailing".to_owned(), compressed));
    seeds.push(("name_answer", "cut".to_owned(), good[..good.len() / 2].to_vec()));
}
