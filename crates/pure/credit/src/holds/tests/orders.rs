//! Commits, in any order and any number of times.

use crate::account::{Account, Overdraft};
use crate::holds::{Config, Holds, Kept};
use crate::message::{Message, Proof, Signed};
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::{HoldUse, SessionKey};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use proptest::prelude::*;

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
const COUNT: u8 = 8;

/// A hold through us: from one of two providers to one of two consumers, and what was used of it.
#[derive(Clone, Debug)]
struct Used {
    terms: Terms,
    bytes: u64,
}

impl Used {
    fn signed(&self) -> Signed {
        let session = SessionKey { provider: self.terms.provider, member: MemberId([9; 24]), started: NOW };
        let hold = Some(HoldUse { id: self.terms.id(), weight: Bytes(self.bytes) });
        let on_holds = hold.map_or(Bytes(0), |hold| hold.weight);
        Signed { session, consumer: self.terms.consumer, weight: Bytes(32_000_000), hold, on_holds }
    }
}

fn any_used(nonce: u8) -> impl Strategy<Value = Used> {
    (0_u8..2, 0_u8..2, 65_536_u64..1_000_000, 0_u64..1_200_000).prop_map(move |(from, to, amount, bytes)| {
        let between = vec![own()];
        let (provider, consumer) = (TeamId([10 + from; 24]), TeamId([20 + to; 24]));
        let terms = Terms {
            provider,
            between,
            consumer,
            amount: Bytes(amount),
            end: NOW.plus(60),
            nonce: [nonce; 16],
        };
        Used { terms, bytes }
    })
}

fn own() -> TeamId {
    TeamId([1; 24])
}

fn reserved(holds: &[Used]) -> Holds {
    let account = |owed, debt| Account { owed, allowance_debt: Bytes(debt), ..Account::default() };
    let accounts = [(10, account(0, 700_000)), (20, account(8_000_000, 0)), (21, account(8_000_000, 0))];
    let accounts = accounts.map(|(team, account)| (TeamId([team; 24]), account));
    let kept = Kept { accounts: accounts.into(), ..Kept::default() };
    let mut machine = Holds::new(Config::default(), own(), kept, NOW.time());
    for used in holds {
        let message = Message::Hold { terms: used.terms.clone(), proof: Proof::default() };
        machine.handle_message(used.terms.provider, message, Some(used.signed()), NOW.time());
    }
    machine
}

fn commit(machine: &mut Holds, used: &Used) {
    let message = Message::Commit { terms: used.terms.clone(), proof: Some(Proof::default()) };
    machine.handle_message(used.terms.provider, message, Some(used.signed()), NOW.time());
}

proptest! {
    #[test]
    fn any_order_and_repetition_of_commits_comes_to_the_same(
        holds in (0..COUNT).map(any_used).collect::<Vec<_>>(),
        order in Just((0..usize::from(COUNT)).collect::<Vec<_>>()).prop_shuffle(),
        again in prop::collection::vec(0..usize::from(COUNT), 0..12),
    ) {
        let (mut one, mut other) = (reserved(&holds), reserved(&holds));
        holds.iter().for_each(|used| commit(&mut one, used));
        for (step, &at) in order.iter().enumerate() {
            commit(&mut other, &holds[at]);
            // What comes again was committed before.
            again.iter().filter(|&&back| back <= step).for_each(|&back| commit(&mut other, &holds[order[back]]));
        }
        prop_assert!(one.accounts().iter().eq(other.accounts().iter()));
        prop_assert!(one.holds().map(|(id, hold)| (id, &hold.state)).eq(other.holds().map(|(id, hold)| (id, &hold.state))));
        let moved: u64 = holds.iter().map(|used| used.bytes.min(used.terms.amount.0)).sum();
        let left: i64 = [20, 21].map(|team| one.accounts().get(TeamId([team; 24])).net()).iter().sum();
        prop_assert_eq!(left, 16_000_000 - moved.cast_signed());
    }
}

/// Anything that hostile names say to a home, with receipts among themselves.
#[derive(Clone, Debug)]
enum Statement {
    Hold,
    Good,
    Refused,
    Commit,
    Nothing,
}

fn any_statement() -> impl Strategy<Value = (Statement, usize)> {
    let statement = prop_oneof![
        3 => Just(Statement::Hold),
        1 => Just(Statement::Good),
        1 => Just(Statement::Refused),
        3 => Just(Statement::Commit),
        1 => Just(Statement::Nothing)
    ];
    (statement, 0_usize..12)
}

/// Between two of 20 names, of which we know three.
fn any_pair(nonce: u8) -> impl Strategy<Value = Used> {
    let names = (0_u8..20, 0_u8..20).prop_filter("one name is no pair", |(from, to)| from != to);
    (names, 65_536_u64..400_000).prop_map(move |((from, to), amount)| {
        let (provider, consumer) = (TeamId([10 + from; 24]), TeamId([10 + to; 24]));
        let (between, end) = (vec![own()], NOW.plus(60));
        let terms = Terms { provider, between, consumer, amount: Bytes(amount), end, nonce: [nonce; 16] };
        Used { terms, bytes: u64::MAX }
    })
}

proptest! {
    /// However they move what they have among their names, old and new: what can be reserved for all of them together is
    /// what is owed to them and what all teams together are lent.
    #[test]
    fn receipts_among_hostile_names_and_fresh_names_raise_no_sum(
        owed in prop::collection::vec((0_u64..900_000, 0_u64..900_000), 3),
        total in 0_u64..1_500_000,
        holds in (0..12).map(any_pair).collect::<Vec<_>>(),
        statements in prop::collection::vec(any_statement(), 0..40),
    ) {
        let config = Config { overdraft: Overdraft { per_team: true, total: Bytes(total) }, ..Config::default() };
        let mut machine = Holds::new(config, own(), Kept::default(), NOW.time());
        for (number, &(direct, on_holds)) in (0..).zip(&owed) {
            machine.signed(TeamId([10 + number; 24]), Bytes(direct + on_holds), Bytes(direct));
        }
        let given: u64 = owed.iter().map(|(direct, on_holds)| direct + on_holds).sum();
        let bound = owed.iter().map(|(direct, _)| direct).sum::<u64>() + given.min(total);
        for (what, at) in statements {
            let used = &holds[at];
            let (id, terms) = (used.terms.id(), used.terms.clone());
            let (from, message) = match what {
                Statement::Hold => (terms.provider, Message::Hold { terms, proof: Proof::default() }),
                Statement::Good => (terms.consumer, Message::Good { id }),
                Statement::Refused => (terms.consumer, Message::Refused { id, available: Bytes(u64::MAX) }),
                Statement::Commit => (terms.provider, Message::Commit { terms, proof: Some(Proof::default()) }),
                Statement::Nothing => (terms.provider, Message::Commit { terms, proof: None }),
            };
            machine.handle_message(from, message, Some(used.signed()), NOW.time());
        }
        // All of them come at once, and take what there is.
        let mut taken = 0;
        for (name, nonce) in (0..20).flat_map(|name| (0..4).map(move |nonce| (name, nonce))) {
            let consumer = TeamId([10 + name; 24]);
            let amount = machine.accounts().spendable(consumer).min(Bytes(2_000_000));
            let (provider, end, nonce) = (own(), NOW.plus(60), [100 + nonce; 16]);
            let terms = Terms { provider, between: Vec::new(), consumer, amount, end, nonce };
            let signed = Used { terms: terms.clone(), bytes: 0 }.signed();
            let reserved = machine.reserve(terms, Proof::default(), signed, NOW.time());
            taken += reserved.map_or(0, |_| amount.0);
        }
        prop_assert!(taken <= bound, "{} of {}", taken, bound);
        prop_assert!(machine.accounts().overdrawn().0 <= total);
    }
}
