//! What homes say to each other about holds.

use crate::seeds::Seed;
use guestright_credit::{Message, Terms};
use guestright_vectors::canonical::{Form, judge};
use guestright_vectors::holds;

/// A message about a hold, and its terms by themselves.
pub fn credit(bytes: &[u8]) {
    if let Ok(message) = Message::parse(bytes) {
        assert!(bytes.len() <= Message::LEN_MAX);
        assert!(matches!(judge(bytes), Form::Plain(_)), "accepted in a form that is not the only one");
        assert_eq!(message.emit(), bytes, "the same message in other bytes");
        if let Message::Hold { terms, .. } | Message::Commit { terms, .. } = &message {
            check(terms);
        }
    }
    if let Ok(terms) = Terms::parse(bytes) {
        assert_eq!(terms.emit(), bytes, "the same terms in other bytes");
        check(&terms);
        let commit = Message::Commit { terms: terms.clone(), proof: None };
        assert_eq!(commit.id(), terms.id());
        assert_eq!(Message::parse(&commit.emit()), Ok(commit));
    }
}

/// Nobody reads terms to which nobody may agree, and one home in them names one path.
fn check(terms: &Terms) {
    assert_eq!(terms.check(), Ok(()));
    assert_eq!(Terms::parse(&terms.emit()).as_ref(), Ok(terms));
    let back = Terms { between: terms.between.iter().rev().copied().collect(), ..terms.clone() };
    assert_eq!(back.id() == terms.id(), back == *terms);
}

/// Messages that are sent, and their terms; near misses are among the vectors.
pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    for (index, (_, message)) in holds::messages().into_iter().enumerate() {
        let bytes = message.emit();
        if let Message::Hold { terms, .. } = &message {
            seeds.push(("credit", format!("terms-{index}"), terms.emit()));
            seeds.push(("cbor", format!("terms-{index}"), terms.emit()));
        }
        seeds.push(("credit", format!("good-{index}"), bytes));
    }
}
