//! Records of where homes are, members' and homes' own, those who keep them, and contact cards.

use crate::seeds::Seed;
use guestright_directory::{
    Book, BookLimits, Config, Contact, Contacts, Directory, HomeMessage, HomeRecord, Homes, Message, Record,
    Source, Statement, is_frame, is_home_message,
};
use guestright_identity::cose;
use guestright_units::TeamId;
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
    home_frame(bytes);
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

/// About where homes of teams are: one frame has one answer, or makes one question and no record of somebody else.
fn home_frame(bytes: &[u8]) {
    if let Ok(message) = HomeMessage::parse(bytes) {
        assert!(is_home_message(bytes) && is_frame(bytes) && bytes.len() <= HomeMessage::LEN_MAX);
        assert_eq!(message.emit(), bytes);
    }
    if let Ok(record) = HomeRecord::parse(bytes) {
        assert_eq!(record.as_bytes(), bytes);
        assert!(!record.replaces(&record));
    }
    let [own, from, other] = [[1; 24], CONSUMER.id().0, [3; 24]].map(TeamId);
    let mut homes = Homes::new(own);
    homes.handle_up(from, NOW.time());
    homes.handle_known(other);
    homes.handle_frame(from, bytes, NOW.time());
    let sent: Vec<_> = std::iter::from_fn(|| homes.poll_transmit()).collect();
    assert!(sent.len() <= 1, "one frame has {} answers", sent.len());
    assert!(sent.iter().all(|(_, frame)| HomeMessage::parse(frame).is_ok()));
    assert!(homes.poll_event().is_none() && homes.record_count() <= 1);
    while let Some(due) = homes.poll_timeout() {
        homes.handle_timeout(due);
    }
    assert_eq!(homes.pursuit_count(), 0);
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
    let (home, certificate) = &CONSUMER.home;
    let life = (NOW, NOW.plus(86_400));
    let record =
        HomeRecord::sign(home, certificate, vec![address("192.0.2.7:7275")], life).expect("a record");
    let ask = HomeMessage::Ask { reference: 7, team: TeamId([7; 24]), hops: 2 };
    seeds.push(("directory", "home-ask".to_owned(), ask.emit()));
    seeds.push(("directory", "home-here".to_owned(), HomeMessage::Here { record }.emit()));
}
