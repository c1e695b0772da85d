//! Commits, in any order and any number of times.

use crate::account::Account;
use crate::holds::{Config, Holds};
use crate::message::{Message, Proof, Signed};
use crate::terms::Terms;
use guestright_identity::MemberId;
use guestright_receipt::SessionKey;
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
        let hold = Some((self.terms.id(), Bytes(self.bytes)));
        Signed { session, consumer: self.terms.consumer, weight: Bytes(32_000_000), hold }
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
    let mut machine = Holds::new(Config::default(), own(), accounts, [], NOW.time());
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
