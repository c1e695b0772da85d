use super::*;
use crate::record::tests::{Household, NOW};

const START: Time = NOW.time();

struct Pair {
    caller: Courier,
    callee: Courier,
    numbers: [TelephoneNumber; 2],
    households: [Household; 2],
}

fn number(last: &str) -> TelephoneNumber {
    format!("+1202555{last}").parse().unwrap()
}

fn contact(household: &Household, number: &TelephoneNumber) -> Contact {
    Contact { telephone: Some(number.clone()), ..Contact::new("Other", household.id()).unwrap() }
}

impl Pair {
    fn new(config: &Config) -> Self {
        let numbers = [number("0142"), number("0177")];
        let households = [Household::new(1), Household::new(2)];
        let mut callee = Courier::new(config.clone());
        callee.give_out(households[1].record(1));
        callee.set_contacts([&contact(&households[0], &numbers[0])]);
        Self { caller: Courier::new(config.clone()), callee, numbers, households }
    }

    fn ask(&mut self, chance: u32, now: Time) -> Result<Search, FindError> {
        let caller = self.households[0].record(1);
        self.ask_as(Some(&caller), chance, now)
    }

    fn ask_as(&mut self, caller: Option<&Record>, chance: u32, now: Time) -> Result<Search, FindError> {
        let contact = contact(&self.households[1], &self.numbers[1]);
        self.caller.handle_find(&contact, caller, chance, now)
    }

    /// Hands over what was sent; gives how many short messages went there and back.
    fn pass(&mut self, now: Time) -> (usize, usize) {
        let mut counts = (0, 0);
        while let Some(outgoing) = self.caller.poll_transmit() {
            assert_eq!(outgoing.to, self.numbers[1]);
            counts.0 += outgoing.parts.len();
            outgoing
                .parts
                .iter()
                .rev()
                .for_each(|part| self.callee.handle_message(&self.numbers[0], part, now));
        }
        while let Some(outgoing) = self.callee.poll_transmit() {
            assert_eq!(outgoing.to, self.numbers[0]);
            counts.1 += outgoing.parts.len();
            outgoing.parts.iter().for_each(|part| self.caller.handle_message(&self.numbers[1], part, now));
        }
        counts
    }
}

fn events(courier: &mut Courier) -> Vec<Event> {
    std::iter::from_fn(|| courier.poll_event()).collect()
}

#[test]
fn three_short_messages_there_and_three_back() {
    let mut pair = Pair::new(&Config::default());
    let search = pair.ask(77, START).unwrap();
    assert_eq!(pair.pass(START), (3, 3));
    let record = Box::new(pair.households[1].record(1));
    assert_eq!(events(&mut pair.caller), [Event::Found { search, record }]);
    let learned = Event::Learned(Box::new(pair.households[0].record(1)));
    assert_eq!(events(&mut pair.callee), [learned, Event::Answered(pair.numbers[0].clone())]);
    assert_eq!(pair.caller.poll_timeout(), None);
}

#[test]
fn only_contacts_who_say_so_get_an_answer() {
    let refused = |config: &Config, change: &dyn Fn(&mut Pair), ask: &dyn Fn(&mut Pair)| {
        let mut pair = Pair::new(config);
        change(&mut pair);
        ask(&mut pair);
        let (_, back) = pair.pass(START);
        let kinds: Vec<_> = pair.callee.refusals().keys().copied().collect();
        (back, kinds)
    };
    let default = Config::default();
    let anyone = Config { who_may_ask: WhoMayAsk::Anyone, ..Config::default() };
    let nobody = Config { who_may_ask: WhoMayAsk::Nobody, ..Config::default() };
    let honest = |pair: &mut Pair| assert!(pair.ask(1, START).is_ok());
    let anonymous = |pair: &mut Pair| assert!(pair.ask_as(None, 1, START).is_ok());
    let impostor = |pair: &mut Pair| {
        let other = Household::new(9).record(1);
        assert!(pair.ask_as(Some(&other), 1, START).is_ok());
    };
    let strangers = |pair: &mut Pair| pair.callee.set_contacts([]);
    // Members of one home share its number, in whatever order they are named.
    let shared = |pair: &mut Pair| {
        let [own, other] =
            [&pair.households[0], &Household::new(9)].map(|one| contact(one, &pair.numbers[0]));
        pair.callee.set_contacts([&own, &other]);
    };
    let only_other = |pair: &mut Pair| {
        let other = contact(&Household::new(9), &pair.numbers[0]);
        pair.callee.set_contacts([&other]);
    };
    let gone = |pair: &mut Pair| pair.callee.set_own([]);
    let as_is = |_: &mut Pair| {};
    for who in [&honest as &dyn Fn(&mut Pair), &impostor] {
        assert_eq!(refused(&default, &shared, who), (3, vec![]));
    }
    assert_eq!(refused(&default, &only_other, &honest), (0, vec!["caller"]));
    assert_eq!(refused(&default, &gone, &honest), (0, vec!["no-record"]));
    assert_eq!(refused(&default, &as_is, &honest), (3, vec![]));
    assert_eq!(refused(&default, &strangers, &honest), (0, vec!["stranger"]));
    assert_eq!(refused(&default, &as_is, &anonymous), (0, vec!["caller"]));
    assert_eq!(refused(&default, &as_is, &impostor), (0, vec!["caller"]));
    assert_eq!(refused(&anyone, &strangers, &anonymous), (3, vec![]));
    assert_eq!(refused(&nobody, &as_is, &honest), (0, vec!["nobody-may"]));
}

#[test]
fn answers_are_counted_by_number_and_by_day() {
    let mut pair = Pair::new(&Config { asks_burst: 99, ..Config::default() });
    let back: Vec<_> =
        (0..5).map(|chance| (pair.ask(chance, START).unwrap(), pair.pass(START).1).1).collect();
    assert_eq!(back, [3, 3, 3, 0, 0]);
    assert_eq!(pair.callee.refusals()["limited"], 2);
    let later = START + Micros::from_seconds(600);
    assert!(pair.ask(9, later).is_ok());
    assert_eq!(pair.pass(later), (3, 3));
    // A question that the network delivers twice costs one answer.
    let mut pair = Pair::new(&Config::default());
    pair.ask(1, START).unwrap();
    let twice = pair.caller.transmits[0].clone();
    pair.caller.transmits.push_back(twice);
    assert_eq!(pair.pass(START), (6, 3));
    assert_eq!(pair.callee.refusals()["repeated"], 1);
    // And there is a bound for the day, whoever asks; a message in three parts is not sent by halves.
    let mut pair =
        Pair::new(&Config { parts_per_day: 5, answers_burst: 9, asks_burst: 9, ..Config::default() });
    pair.ask(1, START).unwrap();
    assert_eq!(pair.pass(START), (3, 3));
    assert_eq!(pair.ask(2, START), Err(FindError::Limited { seconds: 86_400 / 5 }));
    let third = START + Micros::from_seconds(86_400 / 5);
    assert!(pair.ask(3, third).is_ok());
}

#[test]
fn a_search_ends_with_a_reason() {
    let mut pair = Pair::new(&Config { searches_max: 2, ..Config::default() });
    let without = Contact { telephone: None, ..contact(&pair.households[1], &pair.numbers[1]) };
    let refused = pair.caller.handle_find(&without, None, 5, START);
    assert_eq!(refused, Err(FindError::NoHint("telephone number")));
    let first = pair.ask(1, START).unwrap();
    let second = pair.ask(2, START).unwrap();
    assert!(matches!(pair.ask(3, START), Err(FindError::Limited { .. })));
    let outgoing = pair.caller.poll_transmit().unwrap();
    pair.caller.handle_send_failed(outgoing.id, "no network");
    let reason = FindError::Way("the short message could not be sent: no network".to_owned());
    assert_eq!(events(&mut pair.caller), [Event::NotFound { search: first, reason }]);
    let until = pair.caller.poll_timeout().unwrap();
    pair.caller.handle_timeout(until);
    let reason = FindError::NoAnswer { whom: "+12025550177".to_owned(), seconds: 120 };
    assert_eq!(events(&mut pair.caller), [Event::NotFound { search: second, reason }]);
}

#[test]
fn wrong_answers_change_nothing() {
    let mut pair = Pair::new(&Config::default());
    let search = pair.ask(1, START).unwrap();
    let from = pair.numbers[1].clone();
    let mut hand = |payload: &Payload| {
        for part in split(&payload.emit(), 200).unwrap() {
            pair.caller.handle_message(&from, &part, START);
        }
    };
    hand(&Payload::Answer { reference: 2, record: Household::new(2).record(1) });
    hand(&Payload::Answer { reference: 1, record: Household::new(9).record(1) });
    pair.caller.handle_message(&from, &split(b"\x81", 1).unwrap()[0], START);
    pair.caller.handle_message(&from, b"Hello", START);
    let kinds: Vec<_> = pair.caller.refusals().iter().map(|(kind, count)| (*kind, *count)).collect();
    assert_eq!(kinds, [("bad-answer", 1), ("malformed", 1), ("not-asked", 1), ("part", 1)]);
    events(&mut pair.caller);
    assert_eq!(pair.pass(START), (3, 3));
    assert!(matches!(events(&mut pair.caller)[..], [Event::Found { search: found, .. }] if found == search));
}
