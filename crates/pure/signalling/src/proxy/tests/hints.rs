//! Contact cards that telephones send along.

use super::*;
use guestright_directory::Contact as Card;

/// A card for who has this key, with everything that may be on one.
fn card(key: KeyId) -> String {
    let home = guestright_directory::HomeHint { address: "203.0.113.2:7275".parse().unwrap(), key: None };
    let telephone = Some("+12025550142".parse().unwrap());
    Card { homes: vec![home], telephone, ..Card::new("Bob, far away", key).unwrap() }.card().unwrap()
}

/// An INVITE of alice's with these header lines beside the usual ones.
fn with_lines(to: &str, lines: &str) -> String {
    invite("alice", ALICES, to, "c1", "").replacen("User-Agent: phone\r\n", lines, 1)
}

fn line(card: &str) -> String {
    format!("Guestright-Contact: {card}\r\n")
}

/// What came with the search that a call has led to, and what was refused.
fn found(to: &str, lines: &str) -> (Option<Option<Card>>, Vec<&'static str>) {
    let mut town = Town::registered();
    town.send(0, ALICES, &with_lines(to, lines));
    let found = town.events.iter().find_map(|(_, event)| {
        let Event::Find { key, caller, card, .. } = event else { return None };
        assert_eq!((*key, *caller), (BOB, ALICE));
        Some(card.as_deref().cloned())
    });
    for message in &town.between {
        let content = String::from_utf8(message.emit()).unwrap();
        assert!(!content.contains("Guestright-Contact") && !content.contains("2025550142"), "{content}");
    }
    (found, town.homes[0].refused().keys().copied().collect())
}

#[test]
fn a_card_of_who_is_called_goes_to_the_search_and_no_further() {
    let (bob, key) = (card(BOB), BOB.to_string());
    for to in [key.as_str(), "bobby"] {
        let (found, refused) = found(to, &line(&bob));
        assert_eq!((found, refused), (Some(Some(Card::parse(&bob).unwrap())), vec![]), "{to}");
    }
    assert_eq!(found(&key, "User-Agent: phone\r\n"), (Some(None), vec![]));
    // A call to somebody of this home needs none.
    assert_eq!(found("carol", &line(&bob)), (None, vec![]));
}

#[test]
fn a_card_that_is_not_about_who_is_called_is_counted_and_the_call_goes_on() {
    let bob = card(BOB);
    #[rustfmt::skip]
    let cases = [
        (line(&card(CAROL)), "contact card of somebody else"),
        (line(&bob).repeat(2), "two contact cards"),
        (line("tel:112"), "malformed contact card"),
        (line(&format!("{bob}&home=not%20a%20place")), "malformed contact card"),
        (line(""), "malformed contact card"),
        (line(&format!("{bob}&x={}", "x".repeat(Card::CARD_MAX))), "contact card too long"),
    ];
    for (lines, want) in cases {
        assert_eq!(found(&BOB.to_string(), &lines), (Some(None), vec![want]), "{lines}");
    }
}

#[test]
fn another_homes_card_changes_nothing() {
    let mut town = Town::registered();
    let (bob, key) = (card(BOB), BOB.to_string());
    // Home 1 asks home 0 for bob, who is none of its members, and says where he is.
    let lines = format!("P-Asserted-Identity: <sip:{BOB}@home.invalid>\r\n{}", line(&bob));
    let text = with_lines(&key, &lines).replace("P-Asserted-Identity: <sip:president@10.73.5.1>\r\n", "");
    let now = town.now;
    town.homes[0].handle_message(Peer::Home(HOMES[1]), text.as_bytes(), now);
    town.settle();
    assert!(!town.events.iter().any(|(_, event)| matches!(event, Event::Find { .. })), "{:?}", town.events);
    assert_eq!(town.between.iter().map(code).max(), Some(404));
}
