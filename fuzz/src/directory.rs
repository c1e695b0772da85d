//! Records of where homes are, those who keep them, and contact cards.

use crate::seeds::Seed;
use guestright_directory::{
    Book, BookLimits, Config, Contact, Contacts, Directory, Message, Record, Source, Statement, is_frame,
};
use guestright_identity::cose;
use guestright_vectors::actors::{CONSUMER, NOW};

/// A record, a frame between homes, a kept book or a contact card, whichever the bytes are; and as a payload that the
/// consumer's member has signed.
pub fn directory(bytes: &[u8]) {
    record(bytes);
    if let Ok(items) = cose::decode(bytes) {
        let (member, certificate) = &CONSUMER.member;
        let encoded = cose::seal(member, "home-record", &[], items);
        if let Some(read) = record(&encoded)
            && read.certificate() == certificate
        {
            let again = Record::sign(member, certificate, read.statement().clone());
            assert_eq!(again.as_ref().map(Record::as_bytes), Ok(&encoded[..]), "one record in other bytes");
        }
    }
    frame(bytes);
    if let Ok(book) = Book::restore(bytes, BookLimits::default(), NOW) {
        let again = Book::restore(&book.snapshot(), BookLimits::default(), NOW);
        assert_eq!(again.as_ref(), Ok(&book));
    }
    cards(&String::from_utf8_lossy(bytes));
}

fn record(bytes: &[u8]) -> Option<Record> {
    let read = Record::parse(bytes).ok()?;
    assert_eq!(read.as_bytes(), bytes);
    assert!(!read.replaces(&read));
    assert!((1..=Record::ADDRESSES_MAX).contains(&read.addresses().len()));
    let mut book = Book::new(BookLimits { records_max: 1, per_source_max: 1 });
    let taken = book.admit(read.clone(), Source::Dns, NOW);
    assert_eq!(taken.is_ok(), read.check(NOW).is_ok());
    assert_eq!(book.get(read.member(), NOW).is_some(), taken.is_ok());
    Some(read)
}

fn frame(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert!(is_frame(bytes));
        assert_eq!(message.emit(), bytes);
    }
    let mut directory = Directory::new(Config::default(), Book::new(BookLimits::default()));
    directory.handle_linked(1, CONSUMER.home.0.public().id(), None, NOW.time());
    directory.handle_frame(1, bytes, NOW.time());
    let sent = std::iter::from_fn(|| directory.poll_transmit()).count();
    assert!(sent <= 1, "one frame has {sent} answers");
    assert!(directory.book().is_empty(), "a stranger's record was taken");
}

fn cards(text: &str) {
    if let Ok(contact) = Contact::parse(text) {
        let card = contact.card();
        assert!(card.as_ref().is_ok_and(|card| card.len() >= 60), "{card:?}");
        assert_eq!(card.and_then(|card| Contact::parse(&card)), Ok(contact));
    }
    if let Ok(contacts) = Contacts::parse(text) {
        assert_eq!(contacts.emit().and_then(|list| Contacts::parse(&list)), Ok(contacts));
    }
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let (member, certificate) = &CONSUMER.member;
    let address = |text: &str| text.parse().expect("an address");
    let statement = Statement {
        home: CONSUMER.home.0.public().id(),
        home_team: CONSUMER.id(),
        addresses: vec![address("192.0.2.7:7275"), address("[2001:db8::7]:1"), address("home.example:7275")],
        sequence: NOW.0,
        not_before: NOW,
        not_after: NOW.plus(86_400),
    };
    let record = Record::sign(member, certificate, statement).expect("a record");
    let answer = Message::Answer { reference: 7, record };
    seeds.push(("directory", "answer".to_owned(), answer.emit()));
}
