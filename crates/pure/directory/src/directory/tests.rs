use super::*;
use crate::record::tests::{Household, NOW};
use crate::{BookLimits, Statement};

const START: Time = NOW.time();

fn at(millis: u64) -> Time {
    START + Micros::from_millis(millis)
}

fn hint(text: &str, key: Option<KeyId>) -> HomeHint {
    HomeHint { address: text.parse().unwrap(), key }
}

fn contact(household: &Household, homes: Vec<HomeHint>) -> Contact {
    Contact { homes, ..Contact::new("Callee", household.id()).unwrap() }
}

fn directory(peers: Vec<HomeHint>) -> Directory {
    Directory::new(Config { peers, ..Config::default() }, Book::new(BookLimits::default()))
}

fn events(directory: &mut Directory) -> Vec<Event> {
    std::iter::from_fn(|| directory.poll_event()).collect()
}

fn sent(directory: &mut Directory) -> Vec<(LinkId, Message)> {
    std::iter::from_fn(|| directory.poll_transmit())
        .map(|(link, bytes)| {
            assert!(crate::is_frame(&bytes));
            (link, Message::parse(&bytes).unwrap())
        })
        .collect()
}

/// Two directories and the link between them: number 1 on both sides.
fn join(left: &mut Directory, left_key: KeyId, right: &mut Directory, right_key: KeyId, address: &Address) {
    left.handle_linked(1, right_key, Some(address), START);
    right.handle_linked(1, left_key, None, START);
    pass(left, right, START);
}

fn pass(left: &mut Directory, right: &mut Directory, now: Time) {
    loop {
        let (to_right, to_left) = (left.poll_transmit(), right.poll_transmit());
        if to_right.is_none() && to_left.is_none() {
            return;
        }
        to_right.into_iter().for_each(|(_, bytes)| right.handle_frame(1, &bytes, now));
        to_left.into_iter().for_each(|(_, bytes)| left.handle_frame(1, &bytes, now));
    }
}

#[test]
fn a_home_asks_the_one_that_the_contact_names() {
    let callee = Household::new(1);
    let (ours, address) = (KeyId([1; 24]), hint("home.example", None));
    let (mut caller, mut home) = (directory(vec![]), directory(vec![]));
    let record = callee.record(1);
    home.handle_own(record.clone(), START).unwrap();
    let contact = contact(&callee, vec![address.clone()]);
    let search = caller.handle_find(&contact, START);
    let twin = caller.handle_find(&contact, START);
    assert_eq!(events(&mut caller), [Event::LinkNeeded(address.clone())], "one link for two questions");
    join(&mut caller, ours, &mut home, callee.home, &address.address);
    let found = |search| Event::Found { search, record: Box::new(record.clone()) };
    assert_eq!(events(&mut caller), [Event::Stored(callee.id()), found(search), found(twin)]);
    assert_eq!(caller.poll_timeout(), None);
    // The next time it is in the book.
    let search = caller.handle_find(&contact, START);
    assert_eq!((events(&mut caller), caller.poll_transmit()), (vec![found(search)], None));
    // Nobody knows a newer one.
    let search = caller.handle_find_newer(&contact, 1, START);
    pass(&mut caller, &mut home, START);
    let want = FindError::Unknown("home.example:7275 knows nothing newer".to_owned());
    assert_eq!(events(&mut caller), [Event::NotFound { search, reason: want }]);
    let newer = callee.record(2);
    home.handle_own(newer.clone(), START).unwrap();
    let search = caller.handle_find_newer(&contact, 1, at(20_000));
    pass(&mut caller, &mut home, at(20_000));
    let found = Event::Found { search, record: Box::new(newer) };
    assert_eq!(events(&mut caller), [Event::Stored(callee.id()), found]);
}

#[test]
fn an_older_answer_of_a_stranger_does_not_win_over_the_home_itself() {
    let callee = Household::new(1);
    let (stranger, own) = (hint("stranger.example", None), hint("home.example", None));
    let mut caller = directory(vec![]);
    caller.handle_linked(1, KeyId([8; 24]), Some(&stranger.address), START);
    caller.handle_linked(2, callee.home, Some(&own.address), START);
    let search = caller.handle_find(&contact(&callee, vec![stranger, own]), START);
    let asks = sent(&mut caller);
    let [(1, Message::Ask { reference: first, .. }), (2, Message::Ask { reference: second, .. })] = asks[..]
    else {
        panic!("{asks:?}");
    };
    let answer = |reference, sequence| Message::Answer { reference, record: callee.record(sequence) }.emit();
    caller.handle_frame(1, &answer(first, 1), START);
    assert_eq!(events(&mut caller), [Event::Stored(callee.id())], "it waits a moment for better");
    caller.handle_frame(1, &answer(second, 1), START);
    assert_eq!(caller.refusals()["not-asked"], 1, "another home's question");
    caller.handle_frame(2, &answer(second, 2), at(100));
    let found = Event::Found { search, record: Box::new(callee.record(2)) };
    assert_eq!(events(&mut caller).last(), Some(&found));
}

#[test]
fn after_a_moment_a_strangers_answer_is_good_enough() {
    let callee = Household::new(1);
    let (stranger, dead) = (hint("stranger.example", None), hint("192.0.2.1", None));
    let mut caller = directory(vec![]);
    caller.handle_linked(1, KeyId([8; 24]), Some(&stranger.address), START);
    let search = caller.handle_find(&contact(&callee, vec![dead, stranger]), START);
    let (_, Message::Ask { reference, .. }) = sent(&mut caller)[0] else { panic!("no question") };
    caller.handle_frame(1, &Message::Answer { reference, record: callee.record(1) }.emit(), at(10));
    let settles = caller.poll_timeout().unwrap();
    assert_eq!(settles, at(160));
    events(&mut caller);
    caller.handle_timeout(settles);
    assert_eq!(events(&mut caller), [Event::Found { search, record: Box::new(callee.record(1)) }]);
}

#[test]
fn a_search_that_fails_says_why_and_is_remembered() {
    let callee = Household::new(1);
    let peers = vec![hint("peer.example", Some(KeyId([5; 24])))];
    let mut caller = directory(peers.clone());
    let homes = vec![hint("a.example", None), hint("b.example", None), hint("c.example", None)];
    let contact = contact(&callee, homes.clone());
    let search = caller.handle_find(&contact, START);
    let wanted: Vec<_> = homes.iter().cloned().map(Event::LinkNeeded).collect();
    assert_eq!(events(&mut caller), wanted, "three at once, the peer afterwards");
    caller.handle_link_failed(&homes[0].address, START);
    assert_eq!(events(&mut caller), [Event::LinkNeeded(peers[0].clone())]);
    caller.handle_linked(1, KeyId([7; 24]), Some(&homes[1].address), START);
    caller.handle_linked(2, KeyId([5; 24]), None, START); // The peer called us: its key counts.
    let asks = sent(&mut caller);
    let [(1, Message::Ask { .. }), (2, Message::Ask { reference, .. })] = asks[..] else {
        panic!("{asks:?}")
    };
    let unknown = Message::Ended { reference, outcome: Outcome::Unknown, retry_after: 5 };
    caller.handle_frame(2, &unknown.emit(), at(1));
    caller.handle_unlinked(1, at(2));
    assert_eq!(events(&mut caller), []);
    caller.handle_timeout(caller.poll_timeout().unwrap());
    let ended = events(&mut caller);
    let [Event::NotFound { reason, .. }] = &ended[..] else { panic!("{ended:?}") };
    assert_eq!(
        reason.to_string(),
        "there was no answer within 4 s (a.example:7275 cannot be reached; peer.example:7275 does not know; \
         b.example:7275 hung up; c.example:7275 did not answer in time)"
    );
    // For a while the answer is the same without asking, but not for another search.
    let again = caller.handle_find(&contact, at(4_100));
    assert_ne!(again, search);
    assert_eq!(events(&mut caller), [Event::NotFound { search: again, reason: reason.clone() }]);
    caller.handle_find(&contact, at(60_000));
    assert!(matches!(events(&mut caller)[..], [Event::LinkNeeded(_), ..]));
    let nowhere = directory(vec![]).handle_find(&Contact { homes: vec![], ..contact }, START);
    assert_eq!(nowhere, Search(1));
}

#[test]
fn a_forged_answer_is_no_answer() {
    let (callee, other) = (Household::new(1), Household::new(2));
    let home = hint("home.example", None);
    let mut caller = directory(vec![]);
    caller.handle_linked(1, callee.home, Some(&home.address), START);
    let search = caller.handle_find(&contact(&callee, vec![home]), START);
    let (_, Message::Ask { reference, .. }) = sent(&mut caller)[0] else { panic!("no question") };
    caller.handle_frame(1, &Message::Answer { reference, record: other.record(9) }.emit(), START);
    let ended = events(&mut caller);
    let [Event::Refused(1, "bad-answer", _), Event::NotFound { search: over, reason }] = &ended[..] else {
        panic!("{ended:?}");
    };
    assert_eq!(*over, search);
    assert!(matches!(reason, FindError::Record(crate::RecordError::OtherMember { .. })), "{reason}");
    assert!(caller.book().is_empty());
}

#[test]
fn records_are_handed_to_peers_and_only_theirs_are_taken() {
    let member = Household::new(1);
    let [ours, peer] = [1, 2].map(|number| KeyId([number; 24]));
    let address = hint("peer.example", Some(peer));
    let (mut left, mut right) =
        (directory(vec![address.clone()]), directory(vec![hint("us.example", Some(ours))]));
    left.handle_own(member.record(1), START).unwrap();
    assert_eq!(events(&mut left), [Event::Stored(member.id()), Event::LinkNeeded(address.clone())]);
    join(&mut left, ours, &mut right, peer, &address.address);
    assert_eq!(right.book().get(member.id(), NOW), Some(&member.record(1)));
    let kept = Event::Announced { home: peer, member: member.id(), outcome: Outcome::Kept };
    assert_eq!(events(&mut left), std::slice::from_ref(&kept));
    left.handle_own(member.record(2), START).unwrap();
    pass(&mut left, &mut right, START);
    assert_eq!(events(&mut left), [Event::Stored(member.id()), kept]);
    assert_eq!(right.book().get(member.id(), NOW), Some(&member.record(2)));
    // It is said again now and then, and the peer hears of what it missed.
    assert!(left.poll_timeout().unwrap() <= at(12 * 3_600_000));
    left.handle_timeout(at(12 * 3_600_000));
    assert!(matches!(sent(&mut left)[..], [(1, Message::Announce { .. })]));
    // Who is no peer is refused before its record is looked at.
    right.handle_linked(9, KeyId([9; 24]), None, START);
    let offer = Message::Announce { reference: 4, record: Household::new(3).record(1) };
    right.handle_frame(9, &offer.emit(), START);
    let refused = Message::Ended { reference: 4, outcome: Outcome::Refused, retry_after: 0 };
    assert_eq!(sent(&mut right), [(9, refused)]);
    assert_eq!((right.book().len(), right.refusals()["not-a-peer"]), (1, 1));
}

#[test]
fn an_unanswered_announcement_is_repeated_three_times() {
    let member = Household::new(1);
    let peer = KeyId([2; 24]);
    let mut home = directory(vec![hint("peer.example", Some(peer))]);
    home.handle_linked(1, peer, None, START);
    home.handle_own(member.record(1), START).unwrap();
    let mut sends = Vec::new();
    let mut now = START;
    while now < at(60_000) {
        sends.extend(sent(&mut home).into_iter().map(|_| now.since(START).0 / 1_000_000));
        now = home.poll_timeout().unwrap();
        home.handle_timeout(now);
    }
    assert_eq!(sends, [0, 4, 16]);
}

#[test]
fn a_peer_that_is_busy_is_asked_again_when_it_says() {
    let member = Household::new(1);
    let peer = KeyId([2; 24]);
    let mut home = directory(vec![hint("peer.example", Some(peer))]);
    home.handle_linked(1, peer, None, START);
    home.handle_own(member.record(1), START).unwrap();
    let (_, Message::Announce { reference, .. }) = sent(&mut home)[0] else { panic!("no announcement") };
    let limited = Message::Ended { reference, outcome: Outcome::Limited, retry_after: 30 };
    home.handle_frame(1, &limited.emit(), START);
    home.handle_timeout(at(29_000));
    assert_eq!(sent(&mut home), []);
    home.handle_timeout(at(30_000));
    assert!(matches!(sent(&mut home)[..], [(1, Message::Announce { .. })]));
}

#[test]
fn whoever_asks_too_much_is_told_to_wait() {
    let mut home = Directory::new(
        Config { asks_burst: 2, asks_every: Micros::from_seconds(10), ..Config::default() },
        Book::new(BookLimits::default()),
    );
    for (link, key) in [(1, 1), (2, 1), (3, 2)] {
        home.handle_linked(link, KeyId([key; 24]), None, START);
    }
    let ask = Message::Ask { reference: 1, member: KeyId([0; 24]) }.emit();
    for link in [1, 2, 1, 3] {
        home.handle_frame(link, &ask, START);
    }
    let ended = |outcome, retry_after| Message::Ended { reference: 1, outcome, retry_after };
    let unknown = ended(Outcome::Unknown, 15);
    let want = [(1, unknown.clone()), (2, unknown.clone()), (1, ended(Outcome::Limited, 10)), (3, unknown)];
    assert_eq!(sent(&mut home), want, "a second link of one home is no second home");
    home.handle_frame(7, &ask, START);
    assert_eq!(sent(&mut home), [], "there is no such link");
    home.handle_frame(1, b"\x81\x01", START);
    assert_eq!(home.refusals()["malformed"], 1);
}

#[test]
fn a_renewal_is_wanted_once_before_a_record_ends() {
    let member = Household::new(1);
    let mut home = directory(vec![]);
    home.handle_own(member.record(1), START).unwrap();
    events(&mut home);
    let due = home.poll_timeout().unwrap();
    assert_eq!(due.unix_seconds(), NOW.plus(6 * 86_400));
    home.handle_timeout(due);
    let ends = member.record(1).ends();
    assert_eq!(events(&mut home), [Event::RenewalNeeded { member: member.id(), ends }]);
    assert_eq!(home.poll_timeout(), None);
    let fresh = Statement { not_after: ends.plus(7 * 86_400), ..member.statement(2) };
    home.handle_own(member.sign(fresh), due).unwrap();
    assert_eq!(home.poll_timeout().map(Time::unix_seconds), Some(NOW.plus(13 * 86_400)));
    home.handle_left(member.id());
    assert_eq!((home.book().len(), home.poll_timeout()), (0, None));
}
