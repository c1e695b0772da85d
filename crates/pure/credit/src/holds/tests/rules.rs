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
    Signed { session, consumer: terms.consumer, weight: AMOUNT, hold }
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
        let mut accounts = std::collections::BTreeMap::new();
        let mut holds = std::collections::BTreeMap::<HoldId, Hold>::new();
        for change in &self.disk {
            match change.clone() {
                Change::Account(team, Some(account)) => drop(accounts.insert(team, account)),
                Change::Account(team, None) => drop(accounts.remove(&team)),
                Change::Hold(id, Some(hold)) => drop(holds.insert(id, hold)),
                Change::Hold(id, None) => drop(holds.remove(&id)),
                Change::Session(..)
                | Change::SessionsSince(_)
                | Change::Allowance(_)
                | Change::Sponsored(..) => {}
            }
        }
        self.machine = {
            let (accounts, holds) = (accounts.into_iter().collect(), holds.into_values().collect());
            let kept = Kept { accounts, holds, ..Kept::default() };
            Holds::new(Config::default(), own(), kept, NOW.time())
        };
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
