//! What charon says over its control socket.

use guestright_strongswan::{Node, Section};

/// A message of vici: what is accepted has one form, and looking anything up in it is safe.
pub fn vici(bytes: &[u8]) {
    let Ok(section) = Section::parse(bytes) else { return };
    assert_eq!(section.emit().expect("what was read fits"), bytes);
    look(&section);
}

fn look(section: &Section) {
    for (name, node) in section.entries() {
        if let Node::Value(_) = node {
            let number = section.number(name);
            assert!(number.is_none() || section.text(name).is_some(), "a number is text");
        }
        let _ = section.items(name).count();
    }
    section.sections().for_each(|(_, inner)| look(inner));
}
