use super::*;
use crate::Statement;
use crate::record::tests::{Household, NOW};
use proptest::prelude::*;

fn book(records_max: usize, per_source_max: usize) -> Book {
    Book::new(BookLimits { records_max, per_source_max })
}

fn home(number: u8) -> Source {
    Source::Home(KeyId([number; 24]))
}

#[test]
fn the_newest_record_of_each_member_counts() {
    let household = Household::new(1);
    let mut book = book(8, 8);
    let [first, second] = [1, 2].map(|sequence| household.record(sequence));
    assert_eq!(book.admit(first.clone(), home(1), NOW), Ok(Admission::New));
    assert_eq!(book.admit(first.clone(), home(2), NOW), Ok(Admission::Known));
    assert_eq!(book.admit(second.clone(), home(2), NOW), Ok(Admission::Newer));
    assert_eq!(book.admit(first, home(1), NOW), Err(BookError::Older { got: 1, known: 2 }));
    assert_eq!(book.get(household.id(), NOW), Some(&second));
    assert_eq!(book.own().count(), 0);
    book.admit(second, Source::Own, NOW).unwrap();
    assert_eq!(book.own().count(), 1, "a member of ours whose record came from outside first");
    book.disown(household.id());
    assert!(book.is_empty());
}

#[test]
fn what_has_ended_is_not_given_out_and_keeps_an_older_one_away() {
    let household = Household::new(1);
    let mut book = book(8, 8);
    let long = household.sign(Statement { not_after: NOW.plus(1_000), ..household.statement(1) });
    let short = household.sign(Statement { not_after: NOW.plus(10), ..household.statement(2) });
    book.admit(short.clone(), home(1), NOW).unwrap();
    let later = NOW.plus(11);
    assert_eq!(book.get(household.id(), later), None);
    assert!(matches!(book.admit(short.clone(), home(1), later), Err(BookError::Record(_))));
    assert_eq!(book.admit(long, home(2), later), Err(BookError::Older { got: 1, known: 2 }));
    assert_eq!(book.forget(short.ends().plus(Book::REMEMBER - 1)), 0);
    assert_eq!(book.forget(short.ends().plus(Book::REMEMBER)), 1);
}

#[test]
fn strangers_push_out_no_more_than_their_own_share() {
    let mut book = book(6, 4);
    let mut next = 0;
    let mut give = |book: &mut Book, source| {
        next += 1;
        book.admit(Household::new(next).record(next), source, NOW)
    };
    for _ in 0..2 {
        give(&mut book, Source::Own).unwrap();
    }
    for _ in 0..4 {
        give(&mut book, home(1)).unwrap();
    }
    assert_eq!(give(&mut book, home(1)), Err(BookError::SourceFull { max: 4 }));
    // Full. A second source gets room from the larger one until they have the same.
    for _ in 0..2 {
        give(&mut book, home(2)).unwrap();
    }
    assert_eq!((book.count(home(1)), book.count(home(2))), (2, 2));
    assert_eq!(give(&mut book, home(2)), Err(BookError::Full { max: 6 }));
    // Our own come first, as long as there are strangers.
    for _ in 0..4 {
        give(&mut book, Source::Own).unwrap();
    }
    assert_eq!(book.own().count(), 6);
    assert_eq!(give(&mut book, Source::Own), Err(BookError::Full { max: 6 }));
    assert_eq!(give(&mut book, home(3)), Err(BookError::Full { max: 6 }));
}

#[test]
fn a_snapshot_survives_and_a_forged_one_does_not() {
    let mut book = book(8, 8);
    let sources = [Source::Own, home(7), Source::Dns, Source::ShortMessage];
    for (number, source) in (1..).zip(sources) {
        book.admit(Household::new(number).record(number), source, NOW).unwrap();
    }
    let bytes = book.snapshot();
    assert_eq!(Book::restore(&bytes, book.limits, NOW).as_ref(), Ok(&book));
    let mut forged = bytes.clone();
    *forged.last_mut().unwrap() ^= 1; // The last byte of the last record's signature.
    assert_eq!(Book::restore(&forged, book.limits, NOW).map(|book| book.len()), Ok(3));
    assert!(matches!(Book::restore(&bytes[1..], book.limits, NOW), Err(BookError::Snapshot(_))));
    assert!(matches!(Book::restore(&[], book.limits, NOW), Err(BookError::Snapshot(_))));
    let small = BookLimits { records_max: 2, per_source_max: 1 };
    assert_eq!(Book::restore(&bytes, small, NOW).map(|book| book.len()), Ok(2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever comes in whichever order: limits hold, and of each member that stays the highest sequence is known.
    #[test]
    fn limits_hold_for_any_history(steps in prop::collection::vec((0..6_u64, 1..5_u64, 0..4_u8), 1..60)) {
        let mut book = book(4, 2);
        let households: Vec<_> = (0..6).map(Household::new).collect();
        for (member, sequence, source) in steps {
            let source = if source == 0 { Source::Own } else { home(source) };
            let household = &households[usize::try_from(member).unwrap()];
            let own: Vec<_> = book.own().map(Record::member).collect();
            let known = book.get(household.id(), NOW).map(Record::sequence);
            let taken = book.admit(household.record(sequence), source, NOW);
            prop_assert!(own.iter().all(|member| book.own().any(|record| record.member() == *member)));
            prop_assert!(book.len() <= 4);
            prop_assert!((1..4).all(|number| book.count(home(number)) <= 2));
            let after = book.get(household.id(), NOW).map(Record::sequence);
            prop_assert!(after >= known, "{known:?} became {after:?}");
            prop_assert_eq!(taken.is_ok(), after == Some(sequence));
        }
        prop_assert_eq!(Book::restore(&book.snapshot(), book.limits, NOW), Ok(book));
    }
}
