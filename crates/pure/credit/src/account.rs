//! What a home and the teams that it deals with owe each other.

use guestright_units::{Bytes, TeamId};
use std::collections::{BTreeMap, BTreeSet};

/// What is owed no more than this to a team that never gave anything may be forgotten when there are too many accounts.
/// Somebody with a little credit could otherwise make as many accounts as there are bytes in it.
const DUST: u64 = 64 * 1_024;

/// What a home owes one team, and what that team owes it. Design note 0010, "Accounts".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// What we owe the team, net, in bytes. Below zero: the team owes us, through a commit that used our overdraft.
    pub owed: i64,
    /// What the team owes us for service on the allowance that `owed` did not cover.
    pub allowance_debt: Bytes,
    /// All that the team ever gave our members, by their own signatures. Never falls.
    pub given: Bytes,
    /// The sum of our open holds on the team.
    pub held: Bytes,
}

impl Account {
    /// What we owe the team in all; below zero, what it owes us.
    pub fn net(&self) -> i64 {
        self.owed.saturating_sub(signed(self.allowance_debt.0))
    }

    /// What the team owes us for commits.
    pub fn overdraft(&self) -> Bytes {
        Bytes(self.owed.min(0).unsigned_abs())
    }

    /// What its holds could add to its overdraft.
    fn held_beyond(&self) -> u64 {
        self.held.0.saturating_sub(self.claim())
    }

    fn claim(&self) -> u64 {
        self.owed.max(0).unsigned_abs()
    }

    /// Whether only we, or a team that never gave anything, lose by forgetting it.
    fn is_dispensable(&self) -> bool {
        self.given.0 == 0 && self.held.0 == 0 && self.claim() <= DUST
    }

    /// The team gave so much: it pays what it owes for allowances first.
    fn credit(&mut self, bytes: u64) {
        let paid = bytes.min(self.allowance_debt.0);
        self.allowance_debt.0 -= paid;
        self.owed = self.owed.saturating_add(signed(bytes - paid));
    }

    /// We served the team on the allowance. What is reserved for others stays owed.
    fn debit_allowance(&mut self, bytes: u64) {
        let paid = bytes.min(self.claim().saturating_sub(self.held.0));
        self.owed -= signed(paid);
        self.allowance_debt = self.allowance_debt.saturating_add(Bytes(bytes - paid));
    }
}

/// As many bytes as an account can tell of.
fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// What a home lends beyond what it owes, so that debts can move at all where few have debts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overdraft {
    /// Whether a team may be overdrawn up to all that it ever gave (the note's lambda, 1 or 0).
    pub per_team: bool,
    /// How much all teams together may be overdrawn (the note's capital lambda).
    pub total: Bytes,
}

impl Default for Overdraft {
    /// 25 MB for all teams together: in simulated towns 1.04 to 1.08 times what was given was taken (design note 0010).
    fn default() -> Self {
        Self { per_team: true, total: Bytes(25_000_000) }
    }
}

/// All accounts of a home.
#[derive(Clone, Debug)]
pub struct Accounts {
    overdraft: Overdraft,
    max: usize,
    by_team: BTreeMap<TeamId, Account>,
    /// The sum of all overdrafts.
    overdrawn: u64,
    /// The sum of what all holds could add to them.
    held_beyond: u64,
    /// What was changed since it was asked for.
    changed: BTreeSet<TeamId>,
}

impl Accounts {
    /// The accounts that were kept. No more than `max` are, unless we owe more of them, or they gave us something.
    pub fn new(overdraft: Overdraft, max: usize, kept: impl IntoIterator<Item = (TeamId, Account)>) -> Self {
        let by_team = BTreeMap::new();
        let mut accounts =
            Self { overdraft, max, by_team, overdrawn: 0, held_beyond: 0, changed: BTreeSet::new() };
        for (team, account) in kept {
            accounts.change(team, |new| *new = account);
        }
        accounts.changed.clear();
        accounts
    }

    /// From now on so much is lent. What is lent beyond it already is waited for.
    pub(crate) fn set_overdraft(&mut self, overdraft: Overdraft) {
        self.overdraft = overdraft;
    }

    /// How much is lent.
    pub fn overdraft(&self) -> Overdraft {
        self.overdraft
    }

    /// The account of a team; an empty one if there is none.
    pub fn get(&self, team: TeamId) -> Account {
        self.by_team.get(&team).copied().unwrap_or_default()
    }

    /// All accounts, in the order of the teams' ids.
    pub fn iter(&self) -> impl Iterator<Item = (TeamId, Account)> + '_ {
        self.by_team.iter().map(|(&team, &account)| (team, account))
    }

    /// How many bytes may still be reserved on what we owe the team, with what we lend it.
    pub fn spendable(&self, team: TeamId) -> Bytes {
        let account = self.get(team);
        let lent = if self.overdraft.per_team { account.given.0 } else { 0 };
        let own = lent.saturating_sub(account.overdraft().0);
        let others = self.held_beyond - account.held_beyond();
        let all = self.overdraft.total.0.saturating_sub(self.overdrawn).saturating_sub(others);
        Bytes((account.claim().saturating_add(own.min(all))).saturating_sub(account.held.0))
    }

    /// What all teams together are overdrawn.
    pub fn overdrawn(&self) -> Bytes {
        Bytes(self.overdrawn)
    }

    /// A member of ours signed for `given` bytes more from the team, of which `direct` are on no hold.
    pub fn signed(&mut self, team: TeamId, given: Bytes, direct: Bytes) {
        self.change(team, |account| {
            account.given = account.given.saturating_add(given);
            account.credit(direct.0.min(given.0));
        });
    }

    /// We served the team on the allowance. Says how much of it we did not owe.
    pub fn served(&mut self, team: TeamId, bytes: Bytes) -> Bytes {
        let debt = self.get(team).allowance_debt;
        self.change(team, |account| account.debit_allowance(bytes.0));
        self.get(team).allowance_debt.saturating_sub(debt)
    }

    /// So much is reserved on what we owe the team.
    pub fn hold(&mut self, team: TeamId, amount: Bytes) {
        self.change(team, |account| account.held = account.held.saturating_add(amount));
    }

    /// It is no longer.
    pub fn release(&mut self, team: TeamId, amount: Bytes) {
        self.change(team, |account| account.held = account.held.saturating_sub(amount));
    }

    /// A commit used so much of what we owe the team.
    pub fn debit(&mut self, team: TeamId, bytes: Bytes) {
        self.change(team, |account| account.owed = account.owed.saturating_sub(signed(bytes.0)));
    }

    /// A commit makes us owe the team so much more.
    pub fn credit(&mut self, team: TeamId, bytes: Bytes) {
        self.change(team, |account| account.credit(bytes.0));
    }

    /// What was changed since the last call; nothing where an account is no longer.
    pub(crate) fn take_changed(&mut self) -> Vec<(TeamId, Option<Account>)> {
        self.make_room();
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|team| (team, self.by_team.get(&team).copied())).collect()
    }

    /// Every change goes through here, so that the sums are right.
    fn change(&mut self, team: TeamId, change: impl FnOnce(&mut Account)) {
        let before = self.get(team);
        let mut after = before;
        change(&mut after);
        if after == before {
            return;
        }
        self.overdrawn = self.overdrawn - before.overdraft().0 + after.overdraft().0;
        self.held_beyond = self.held_beyond - before.held_beyond() + after.held_beyond();
        self.changed.insert(team);
        if after == Account::default() {
            self.by_team.remove(&team);
        } else {
            self.by_team.insert(team, after);
        }
    }

    /// Forgets a sixteenth of the accounts when there are too many: of those that matter least, the smallest.
    fn make_room(&mut self) {
        if self.by_team.len() <= self.max {
            return;
        }
        let dispensable = self.by_team.iter().filter(|(_, account)| account.is_dispensable());
        let mut teams: Vec<_> =
            dispensable.map(|(&team, account)| (account.claim() + account.allowance_debt.0, team)).collect();
        teams.sort_unstable();
        for (_, team) in teams.into_iter().take(self.max / 16 + 1) {
            self.change(team, |account| *account = Account::default());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const A: TeamId = TeamId([1; 24]);
    const B: TeamId = TeamId([2; 24]);

    fn accounts() -> Accounts {
        Accounts::new(Overdraft { per_team: true, total: Bytes(50) }, 100, [])
    }

    #[test]
    fn what_is_given_pays_the_debt_for_allowances_first() {
        let mut accounts = accounts();
        accounts.served(A, Bytes(30));
        assert_eq!(accounts.get(A).net(), -30);
        accounts.signed(A, Bytes(100), Bytes(100));
        let account = accounts.get(A);
        assert_eq!((account.owed, account.allowance_debt, account.given), (70, Bytes(0), Bytes(100)));
        accounts.served(A, Bytes(90));
        let account = accounts.get(A);
        assert_eq!((account.owed, account.allowance_debt, account.net()), (0, Bytes(20), -20));
    }

    #[test]
    fn what_is_reserved_is_not_paid_with_the_allowance() {
        let mut accounts = accounts();
        accounts.signed(A, Bytes(100), Bytes(100));
        accounts.hold(A, Bytes(80));
        accounts.served(A, Bytes(50));
        let account = accounts.get(A);
        assert_eq!((account.owed, account.allowance_debt), (80, Bytes(30)));
    }

    #[test]
    fn a_team_is_lent_what_it_gave_and_all_teams_no_more_than_the_total() {
        let mut accounts = accounts();
        accounts.signed(A, Bytes(40), Bytes(40));
        accounts.signed(B, Bytes(200), Bytes(200));
        assert_eq!((accounts.spendable(A), accounts.spendable(B)), (Bytes(80), Bytes(250)));
        // A reservation of what is owed lends nothing; one beyond it does, and leaves less for the other.
        accounts.hold(A, Bytes(40));
        assert_eq!((accounts.spendable(A), accounts.spendable(B)), (Bytes(40), Bytes(250)));
        accounts.hold(A, Bytes(30));
        assert_eq!((accounts.spendable(A), accounts.spendable(B)), (Bytes(10), Bytes(220)));
        // The commit makes it an overdraft.
        accounts.release(A, Bytes(70));
        accounts.debit(A, Bytes(70));
        assert_eq!((accounts.overdrawn(), accounts.get(A).net()), (Bytes(30), -30));
        assert_eq!((accounts.spendable(A), accounts.spendable(B)), (Bytes(10), Bytes(220)));
        // What it gives on a hold is lent again; what it gives directly pays.
        accounts.signed(A, Bytes(5), Bytes(0));
        assert_eq!(accounts.spendable(A), Bytes(15));
        accounts.signed(A, Bytes(30), Bytes(30));
        assert_eq!((accounts.overdrawn(), accounts.get(A).owed), (Bytes(0), 0));
    }

    #[test]
    fn nobody_is_lent_anything_without_having_given() {
        let mut accounts = accounts();
        accounts.credit(A, Bytes(10));
        assert_eq!(accounts.spendable(A), Bytes(10));
        assert_eq!(accounts.spendable(B), Bytes(0));
    }

    #[test]
    fn a_flood_of_small_accounts_costs_those_who_made_it() {
        let mut accounts = Accounts::new(Overdraft::default(), 32, []);
        accounts.signed(A, Bytes(1), Bytes(1));
        accounts.credit(B, Bytes(DUST + 1));
        for number in 0..1_000_u16 {
            let [high, low] = number.to_be_bytes();
            let mut id = [9; 24];
            (id[0], id[1]) = (high, low);
            accounts.credit(TeamId(id), Bytes(1 + u64::from(number % 7)));
            accounts.take_changed();
        }
        assert!(accounts.iter().count() <= 32);
        assert_eq!((accounts.get(A).owed, accounts.get(B).owed), (1, 65_537));
    }

    proptest! {
        /// Otherwise a new name would pay.
        #[test]
        fn a_debtor_is_offered_no_less_than_a_fresh_name(
            steps in prop::collection::vec((0_u8..3, 0_u64..100, any::<bool>()), 0..40)
        ) {
            let mut accounts = accounts();
            for (what, bytes, is_a) in steps {
                let team = if is_a { A } else { B };
                match what {
                    0 => drop(accounts.served(team, Bytes(bytes))),
                    1 => accounts.signed(team, Bytes(bytes), Bytes(bytes / 2)),
                    _ => accounts.hold(team, accounts.spendable(team).min(Bytes(bytes))),
                }
            }
            let fresh = accounts.spendable(TeamId([7; 24]));
            prop_assert_eq!(fresh, Bytes(0));
            prop_assert!(accounts.spendable(A) >= fresh && accounts.spendable(B) >= fresh);
        }
    }
}
