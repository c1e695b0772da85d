//! The rules of design note 0010: what is owed, what is lent, and what is given away.

use crate::{Outcome, Receipt, SettledHold};
use guestright_credit::{Account, Accounts, Allowance, Terms};
use guestright_reciprocity::{PerMille, ServiceClass};
use guestright_roaming::home::{CreditConfig, credit_class};
use guestright_units::{Bytes, TeamId, Time};

/// No more is reserved for a session that begins (design note 0010).
const FIRST: Bytes = Bytes(8_000_000);

/// One home's accounts and allowance, without the other homes: what those agreed to is in the holds that were paid.
#[derive(Clone, Debug)]
pub struct ByCredit {
    config: CreditConfig,
    team: TeamId,
    accounts: Accounts,
    allowance: Option<Allowance>,
    asked: Option<Bytes>,
}

impl ByCredit {
    /// A home that owes nobody anything yet. It is founded when its first receipt comes.
    pub fn new(config: CreditConfig, team: TeamId) -> Self {
        let accounts = Accounts::new(config.holds.overdraft, config.holds.accounts_max, []);
        Self { config, team, accounts, allowance: None, asked: None }
    }

    pub fn account(&self, team: TeamId) -> Account {
        self.accounts.get(team)
    }

    /// Asks for the class by this amount, where it is not what is reserved: the simulated town does.
    #[must_use]
    pub fn asking(self, asked: Bytes) -> Self {
        Self { asked: Some(asked), ..self }
    }

    /// What becomes of a session at our own access points; of others' only what changes our accounts.
    pub fn handle(&mut self, receipt: &Receipt, holds: &[SettledHold]) -> Option<Outcome> {
        let (provider, now) = (receipt.session.provider, receipt.at.time());
        self.allowance.get_or_insert_with(|| Allowance::new(self.config.allowance, None, now));
        if provider == self.team && receipt.consumer == self.team {
            return Some(Outcome {
                class: Some(ServiceClass::Own),
                bytes: receipt.weight,
                probability: PerMille::WHOLE,
            });
        }
        if provider == self.team {
            return Some(self.serve(receipt, holds, now));
        }
        if receipt.consumer == self.team {
            let direct = receipt.weight.saturating_sub(receipt.on_holds);
            self.accounts.signed(provider, receipt.weight, direct);
            // What was on a hold, the home before ours no longer owes us.
            for (previous, used) in holds.iter().filter_map(|hold| Some((hold.previous?, hold.used))) {
                self.accounts.credit(previous, used);
            }
        }
        None
    }

    /// A hold of somebody else's session, in which we stood between two homes.
    pub fn pass_on(&mut self, hold: &SettledHold) {
        let (Some(previous), Some(next)) = (hold.previous, hold.next) else { return };
        if self.config.holds.takes_part && self.accounts.spendable(next) >= hold.amount {
            self.accounts.debit(next, hold.used);
            self.accounts.credit(previous, hold.used);
        }
    }

    /// What was on holds is on them as far as we owe or lend as much. Then comes what we owe the guest's own team, if nothing of
    /// that was reserved; then the allowance; and then the rest of what we owe its team.
    fn serve(&mut self, receipt: &Receipt, holds: &[SettledHold], now: Time) -> Outcome {
        let Receipt { consumer, weight, .. } = *receipt;
        let class = self.class(receipt, holds);
        let mut left = weight;
        let mut known = Bytes(0);
        for (next, hold) in in_order(holds) {
            known = known.saturating_add(hold.used);
            // Less than the least amount is not reserved at all.
            let available = hold.amount.min(self.accounts.spendable(next));
            let used =
                if available < Terms::AMOUNT_MIN { Bytes(0) } else { hold.used.min(available).min(left) };
            self.accounts.debit(next, used);
            left = left.saturating_sub(used);
        }
        // Of these holds nothing is kept any more, so the accounts do not know of them. They are as they were.
        left = left.saturating_sub(receipt.on_holds.saturating_sub(known));
        left = left.saturating_sub(self.pay_directly(consumer, self.direct(consumer, holds), left));
        let given_away = self.give_away(left, now);
        self.accounts.served(consumer, given_away);
        left = left.saturating_sub(given_away);
        left = left.saturating_sub(self.pay_directly(consumer, self.reservable(consumer), left));
        let bytes = weight.saturating_sub(left);
        let class = (bytes > Bytes(0)).then_some(class);
        Outcome { class, bytes, probability: PerMille::WHOLE }
    }

    /// What could be reserved on what we owe or lend the guest's own team.
    fn reservable(&self, consumer: TeamId) -> Bytes {
        let spendable = self.accounts.spendable(consumer);
        if spendable < Terms::AMOUNT_MIN { Bytes(0) } else { spendable }
    }

    /// The same where nothing of it was reserved in fact: a home would have asked for it first, and needs nobody for that.
    fn direct(&self, consumer: TeamId, holds: &[SettledHold]) -> Bytes {
        let was_reserved = holds.iter().any(|hold| hold.next == Some(consumer));
        if was_reserved { Bytes(0) } else { self.reservable(consumer) }
    }

    fn pay_directly(&mut self, consumer: TeamId, most: Bytes, left: Bytes) -> Bytes {
        let used = most.min(left);
        self.accounts.debit(consumer, used);
        used
    }

    /// How the session begins: by what is reserved for its first grant.
    fn class(&mut self, receipt: &Receipt, holds: &[SettledHold]) -> ServiceClass {
        let (consumer, first) = (receipt.consumer, receipt.at.plus(self.config.grant_seconds.into()));
        // What our own team owes the guest's is asked for first, and nobody else need be.
        let direct = self.reservable(consumer).min(FIRST);
        self.accounts.hold(consumer, direct);
        let mut reserved = vec![(consumer, direct)];
        for (next, hold) in in_order(holds).filter(|(next, hold)| hold.end <= first && *next != consumer) {
            let amount = hold.amount.min(self.accounts.spendable(next));
            if amount >= Terms::AMOUNT_MIN {
                self.accounts.hold(next, amount);
                reserved.push((next, amount));
            }
        }
        let sum = reserved.iter().fold(Bytes(0), |sum, (_, amount)| sum.saturating_add(*amount));
        reserved.iter().for_each(|(next, amount)| self.accounts.release(*next, *amount));
        let sum = sum.min(FIRST);
        credit_class(self.account(consumer), sum, self.asked.unwrap_or(sum), self.config.bounds)
    }

    /// Slice after slice, as a visit gets them, until one would be too small.
    fn give_away(&mut self, want: Bytes, now: Time) -> Bytes {
        let Some(allowance) = &mut self.allowance else { return Bytes(0) };
        let mut given = Bytes(0);
        while given < want {
            let missing = want.saturating_sub(given);
            let (slice, _) = allowance.take(missing, now);
            if slice < missing && slice < self.config.slice_min {
                allowance.put_back(slice);
                break;
            }
            given = given.saturating_add(slice);
        }
        given
    }
}

/// Holds on which we owe somebody, the earliest first.
fn in_order(holds: &[SettledHold]) -> impl Iterator<Item = (TeamId, &SettledHold)> {
    let mut sorted: Vec<_> = holds.iter().filter_map(|hold| Some((hold.next?, hold))).collect();
    sorted.sort_by_key(|(_, hold)| hold.end);
    sorted.into_iter()
}
