//! Single rules, each against the message that would break it.

use crate::account::Account;
use crate::holds::{Change, Config, Event, Hold, HoldError, HoldState, Holds, Kept};
use crate::message::{Message, Proof, Signed};
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::{HoldId, HoldUse, SessionKey};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const AMOUNT: Bytes = Bytes(100_000);
const PROVIDER: TeamId = TeamId([200; 24]);
const NEXT: TeamId = TeamId([201; 24]);
const CONSUMER: TeamId = TeamId([202; 24]);

fn own() -> TeamId {
    TeamId([1; 24])
}

/// A path from the provider through us to the consumer, or on to another home before that.
fn terms(between: &[TeamId], nonce: u8) -> Terms {
    let (amount, end) = (AMOUNT, NOW.plus(3_600));
    Terms {
        provider: PROVIDER,
        between: between.to_vec(),
        consumer: CONSUMER,
        amount,
        end,
        nonce: [nonce; 16],
    }
}

fn signed(terms: &Terms, hold: Option<u64>) -> Signed {
    let session = SessionKey { provider: terms.provider, member: MemberId([9; 24]), started: NOW };
    let hold = hold.map(|weight| HoldUse { id: terms.id(), weight: Bytes(weight) });
    let on_holds = hold.map_or(Bytes(0), |hold| hold.weight);
    Signed { session, consumer: terms.consumer, weight: AMOUNT, hold, on_holds }
}

/// A home that owes the next team and the consumer so much.
struct Home {
    machine: Holds,
    disk: Vec<Change>,
}

impl Home {
    fn new(owed: Bytes) -> Self {
        let account = |team| (team, Account { owed: owed.0.cast_signed(), ..Account::default() });
        let accounts = [NEXT, CONSUMER].map(account);
        let machine = {
            let kept = Kept { accounts: accounts.into_iter().collect(), ..Kept::default() };
            Holds::new(Config::default(), own(), kept, NOW.time())
        };
        Self { machine, disk: accounts.map(|(team, account)| Change::Account(team, Some(account))).into() }
    }

    /// Everything that was said is said, once it is durable.
    fn drain(&mut self) -> Vec<(TeamId, Message)> {
        while let Some(write) = self.machine.poll_write() {
            self.disk.extend(write.changes);
            self.machine.handle_written(write.token);
        }
        std::iter::from_fn(|| self.machine.poll_transmit()).collect()
    }

    fn receive(
        &mut self,
        from: TeamId,
        message: Message,
        hold: Option<u64>,
        at: Time,
    ) -> Vec<(TeamId, Message)> {
        let signed = match &message {
            Message::Hold { terms, .. } | Message::Commit { terms, .. } => Some(signed(terms, hold)),
            Message::Good { .. } | Message::Refused { .. } | Message::Done { .. } => None,
        };
        self.machine.handle_message(from, message, signed, at);
        self.drain()
    }

    fn ask(&mut self, terms: &Terms) -> Vec<(TeamId, Message)> {
        let proof = Proof::default();
        self.receive(PROVIDER, Message::Hold { terms: terms.clone(), proof }, None, NOW.time())
    }

    fn commit(&mut self, terms: &Terms, used: u64, at: Time) -> Vec<(TeamId, Message)> {
        let message = Message::Commit { terms: terms.clone(), proof: Some(Proof::default()) };
        self.receive(PROVIDER, message, Some(used), at)
    }

    fn begin_anew(&mut self) {
        self.begin_anew_at(NOW.time());
    }

    fn begin_anew_at(&mut self, now: Time) {
        let mut since = UnixSeconds(0);
        let mut sessions = std::collections::BTreeMap::new();
        let mut accounts = std::collections::BTreeMap::new();
        let mut holds = std::collections::BTreeMap::<HoldId, Hold>::new();
        for change in &self.disk {
            match change.clone() {
                Change::Account(team, Some(account)) => drop(accounts.insert(team, account)),
                Change::Account(team, None) => drop(accounts.remove(&team)),
                Change::Hold(id, Some(hold)) => drop(holds.insert(id, hold)),
                Change::Hold(id, None) => drop(holds.remove(&id)),
                Change::Session(key, Some(accounted)) => drop(sessions.insert(key, accounted)),
                Change::Session(key, None) => drop(sessions.remove(&key)),
                Change::SessionsSince(kept) => since = kept,
                Change::Allowance(_) | Change::Sponsored(..) => {}
            }
        }
        self.machine = {
            let (accounts, holds) = (accounts.into_iter().collect(), holds.into_values().collect());
            let sessions = sessions.into_iter().collect();
            let kept = Kept { accounts, holds, sessions, sessions_since: since };
            Holds::new(Config::default(), own(), kept, now)
        };
    }

    /// Asks for a hold for a guest of ours, on which the session's first receipts are signed.
    fn reserve(&mut self, terms: &Terms) -> HoldId {
        let consent = Signed { weight: Bytes(0), ..signed(terms, None) };
        let id = self.machine.reserve(terms.clone(), Proof::default(), consent, NOW.time());
        self.drain();
        id.expect("it is owed")
    }

    /// A receipt over so much in all, and so much of that on a hold.
    fn hand_in(&mut self, terms: &Terms, weight: u64, used: u64) -> Vec<(TeamId, Message)> {
        let signed = Signed { weight: Bytes(weight), ..signed(terms, Some(used)) };
        self.machine.handle_receipt(signed, Proof::default(), NOW.time());
        self.drain()
    }

    fn used(&self, id: HoldId) -> Option<u64> {
        match self.machine.table.get(id)?.0.state {
            HoldState::Settled { used, .. } => Some(used.0),
            HoldState::Asked | HoldState::Good | HoldState::Ended => None,
        }
    }

    fn net(&self, team: TeamId) -> i64 {
        self.machine.accounts().get(team).net()
    }
}

/// The next home may have refused, and the refusal be on its way: it would not follow.
#[test]
fn a_commit_moves_nothing_before_the_next_home_has_reserved() {
    for begins_anew in [false, true] {
        let mut home = Home::new(Bytes(1_000_000));
        let terms = terms(&[own(), NEXT], 1);
        home.ask(&terms);
        if begins_anew {
            home.begin_anew();
        }
        assert_eq!(home.commit(&terms, AMOUNT.0, NOW.time()), []);
        assert_eq!((home.net(PROVIDER), home.net(NEXT)), (0, 1_000_000), "{begins_anew}");
        let refused = Message::Refused { id: terms.id(), available: Bytes(0) };
        assert_eq!(home.receive(NEXT, refused.clone(), None, NOW.time()), [(PROVIDER, refused)]);
        assert_eq!(home.machine.accounts().get(NEXT).held, Bytes(0));
    }
}

#[test]
fn what_was_called_good_is_paid_by_a_home_that_began_anew() {
    let mut home = Home::new(Bytes(1_000_000));
    let terms = terms(&[own(), NEXT], 1);
    home.ask(&terms);
    let good = Message::Good { id: terms.id() };
    assert_eq!(home.receive(NEXT, good.clone(), None, NOW.time()), [(PROVIDER, good.clone())]);
    home.begin_anew();
    assert_eq!(home.ask(&terms), [(PROVIDER, good)]);
    assert_eq!(home.commit(&terms, AMOUNT.0, NOW.time()).len(), 2);
    assert_eq!((home.net(PROVIDER), home.net(NEXT)), (100_000, 900_000));
}

/// Another home's own hold may have ended too, and what was behind it be spent.
#[test]
fn a_late_commit_is_paid_only_by_the_last_home_before_the_consumer() {
    let late = NOW.plus(60 * 3_600).time();
    let mut home = Home::new(Bytes(1_000_000));
    let [last, middle] = [terms(&[own()], 1), terms(&[own(), NEXT], 2)];
    home.ask(&last);
    home.ask(&middle);
    home.receive(NEXT, Message::Good { id: middle.id() }, None, NOW.time());
    home.machine.handle_timeout(late);
    assert_eq!(home.machine.accounts().get(NEXT).held, Bytes(0));
    assert_eq!(home.commit(&middle, AMOUNT.0, late), []);
    assert_eq!((home.net(PROVIDER), home.net(NEXT)), (0, 1_000_000));
    home.commit(&last, AMOUNT.0, late);
    assert_eq!((home.net(PROVIDER), home.net(CONSUMER)), (100_000, 900_000));
}

/// Asking and giving up costs the one that does it nothing, and is remembered for days.
#[test]
fn others_cannot_use_up_the_memory_for_our_own_guests() {
    let mut home = Home::new(Bytes(1_000_000));
    home.machine.config.holds_max = 8;
    for nonce in 0..8 {
        let terms = terms(&[own()], nonce);
        let answer = home.ask(&terms).pop().map(|(_, message)| message);
        assert_eq!(answer == Some(Message::Good { id: terms.id() }), nonce < 4, "{nonce}");
        home.receive(PROVIDER, Message::Commit { terms, proof: None }, None, NOW.time());
    }
    assert_eq!(home.machine.refusals().get("busy"), Some(&4));
    let terms = Terms { provider: own(), ..terms(&[], 1) };
    let proof = signed(&terms, None);
    home.machine.reserve(terms, Proof::default(), proof, NOW.time()).expect("half of the memory is ours");
}

#[test]
fn a_provider_commits_nothing_that_was_not_called_good() {
    let mut home = Home::new(Bytes(1_000_000));
    let terms = Terms { provider: own(), ..terms(&[NEXT], 1) };
    let proof = signed(&terms, Some(1));
    let id = home.machine.reserve(terms, Proof::default(), proof, NOW.time()).expect("it is owed");
    let commit = |home: &mut Home| home.machine.commit(id, Proof::default(), &proof, NOW.time());
    assert_eq!(commit(&mut home), Err(HoldError::NotOpen));
    home.receive(NEXT, Message::Good { id }, None, NOW.time());
    assert_eq!(home.machine.poll_event(), Some(Event::Good { id, amount: AMOUNT }));
    assert_eq!(commit(&mut home), Ok(Bytes(1)));
    let state = home.machine.holds().next().map(|(_, hold)| hold.state.clone());
    assert!(matches!(state, Some(HoldState::Settled { used: Bytes(1), .. })));
}

fn own_terms(between: &[TeamId], nonce: u8) -> Terms {
    Terms { provider: own(), ..terms(between, nonce) }
}

#[test]
fn a_receipt_that_was_overtaken_still_pays_its_hold_and_ends_no_other() {
    let mut home = Home::new(Bytes(1_000_000));
    let [first, second] = [own_terms(&[], 1), own_terms(&[], 2)];
    let [a, b] = [home.reserve(&first), home.reserve(&second)];
    home.hand_in(&second, 70_000, 10_000);
    assert_eq!((home.used(a), home.used(b)), (None, None));
    home.hand_in(&first, 60_000, 60_000);
    assert_eq!((home.used(a), home.used(b)), (Some(60_000), None));
    home.hand_in(&first, 60_000, 60_000);
    home.hand_in(&second, 95_000, 35_000);
    home.hand_in(&second, 70_000, 10_000);
    home.machine.finish(signed(&second, None).session, NOW.time());
    assert_eq!((home.used(a), home.used(b)), (Some(60_000), Some(35_000)));
}

#[test]
fn a_hold_that_was_never_good_settles_nothing() {
    let mut home = Home::new(Bytes(1_000_000));
    let terms = own_terms(&[NEXT], 1);
    let id = home.reserve(&terms);
    home.hand_in(&terms, AMOUNT.0, AMOUNT.0);
    assert_eq!((home.used(id), home.net(NEXT)), (Some(0), 1_000_000));
    assert_eq!(home.machine.accounts().get(NEXT).held, Bytes(0));
}

/// After a new start the receipts come again, and access points may have larger ones.
#[test]
fn a_grant_that_ended_is_paid_without_the_end_of_its_session() {
    for (begins_anew, want) in [(false, 20_000), (true, 50_000)] {
        let mut home = Home::new(Bytes(1_000_000));
        let terms = own_terms(&[], 1);
        let id = home.reserve(&terms);
        home.hand_in(&terms, 20_000, 20_000);
        let mut late = terms.end.plus(200).time();
        if begins_anew {
            home.begin_anew_at(late);
            for weight in [20_000, 50_000] {
                let receipt = Signed { weight: Bytes(weight), ..signed(&terms, Some(weight)) };
                home.machine.handle_receipt(receipt, Proof::default(), late);
                home.machine.handle_timeout(late);
            }
            late = late + guestright_units::Micros::from_seconds(200);
        }
        assert_eq!(home.used(id), None);
        home.machine.handle_timeout(late);
        assert_eq!(home.used(id), Some(want));
        assert_eq!(home.machine.payments.timeout(), None);
    }
}

/// A provider shows any receipts that an honest guest signed, and never commits.
#[test]
fn a_provider_locks_no_more_than_the_note_allows_beside_what_its_guest_signed_for() {
    let mut home = Home::new(Bytes(1_000_000_000));
    let (mut weight, mut receipts) = (0, Vec::new());
    for nonce in 0..40 {
        let mut terms = terms(&[own()], nonce);
        receipts.push(Signed { weight: Bytes(weight), ..signed(&terms, None) });
        // Whatever receipt gives it the most.
        let best = receipts.iter().copied().max_by_key(|receipt| home.machine.room(receipt));
        let best = best.expect("there is a receipt");
        terms.amount = home.machine.room(&best);
        if terms.amount < Terms::AMOUNT_MIN {
            break;
        }
        let hold = Message::Hold { terms: terms.clone(), proof: Proof::default() };
        home.machine.handle_message(PROVIDER, hold, Some(best), NOW.time());
        let held = home.machine.accounts().get(CONSUMER).held.0;
        assert!(held <= weight + (2 * weight).clamp(8_000_000, 64_000_000), "{held} held, {weight} signed");
        // The guest uses all of it.
        weight += terms.amount.0;
        receipts.push(Signed { weight: Bytes(weight), ..signed(&terms, Some(terms.amount.0)) });
    }
    let held = home.machine.accounts().get(CONSUMER).held.0;
    assert!(weight <= held && held <= 128_000_000, "{held} held, {weight} signed");
}

/// A consumer that signs anything for an accomplice reserves what it is owed, and not a byte more.
#[test]
fn no_receipt_of_a_consumer_reserves_more_than_it_is_owed() {
    let mut home = Home::new(Bytes(10_000_000));
    for nonce in 0..40 {
        let mut terms = terms(&[own()], nonce);
        terms.amount = Bytes(3_000_000);
        let receipt = Signed { weight: Bytes(u64::MAX), ..signed(&terms, Some(u64::MAX)) };
        let hold = Message::Hold { terms: terms.clone(), proof: Proof::default() };
        home.machine.handle_message(PROVIDER, hold, Some(receipt), NOW.time());
        if nonce % 3 == 0 {
            let commit = Message::Commit { terms, proof: Some(Proof::default()) };
            home.machine.handle_message(PROVIDER, commit, Some(receipt), NOW.time());
        }
        let account = home.machine.accounts().get(CONSUMER);
        assert!(account.held.0.cast_signed() <= account.owed, "{account:?}");
    }
    assert_eq!(home.net(PROVIDER) + home.net(CONSUMER), 10_000_000);
}

/// A router without a battery begins in the past.
#[test]
fn what_was_paid_is_not_paid_again_when_a_clock_was_set_back() {
    for days in [0, 5, 9, 20, 32, 60] {
        // As the guest's home, and between.
        let mut home = Home::new(Bytes(1_000_000));
        let claim = Terms { consumer: own(), ..terms(&[NEXT], 1) };
        let middle = terms(&[own()], 2);
        let commit_claim = |home: &mut Home| {
            let commit = Message::Commit { terms: claim.clone(), proof: Some(Proof::default()) };
            home.receive(NEXT, commit, Some(AMOUNT.0), NOW.time());
        };
        commit_claim(&mut home);
        home.ask(&middle);
        home.commit(&middle, AMOUNT.0, NOW.time());
        let nets = |home: &Home| [NEXT, PROVIDER, CONSUMER].map(|team| home.net(team));
        assert_eq!(nets(&home), [1_100_000, 100_000, 900_000]);
        let receipt = Signed { weight: Bytes(50_000), ..signed(&claim, None) };
        home.machine.handle_receipt(receipt, Proof::default(), NOW.time());
        let before = nets(&home);
        home.machine.handle_timeout(NOW.plus(days * 86_400).time());
        home.drain();
        home.begin_anew_at(NOW.time());
        commit_claim(&mut home);
        home.ask(&middle);
        home.commit(&middle, AMOUNT.0, NOW.time());
        home.machine.handle_receipt(receipt, Proof::default(), NOW.time());
        assert_eq!(nets(&home), before, "set back by {days} days");
    }
}

/// A guest's program keeps the latest receipt of a session. What was on the holds before it is paid along their paths.
#[test]
fn bytes_on_holds_are_not_owed_again_when_only_the_latest_receipt_arrives() {
    let mut home = Home::new(Bytes(1_000_000));
    let terms = Terms { consumer: own(), ..terms(&[NEXT], 1) };
    let commit = Message::Commit { terms: terms.clone(), proof: Some(Proof::default()) };
    home.receive(NEXT, commit, Some(AMOUNT.0), NOW.time());
    // All but 10,000 bytes were on that hold and on another, of which no receipt came: it names the other.
    let hold = Some(HoldUse { id: HoldId([9; 24]), weight: Bytes(5_000) });
    let (weight, on_holds) = (Bytes(AMOUNT.0 + 15_000), Bytes(AMOUNT.0 + 5_000));
    home.machine.handle_receipt(
        Signed { weight, hold, on_holds, ..signed(&terms, None) },
        Proof::default(),
        NOW.time(),
    );
    assert_eq!((home.net(NEXT), home.net(PROVIDER)), (1_100_000, 10_000));
}
