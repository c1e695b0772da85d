//! One home with its machines.

use super::hints::{Hint, Hints};
use super::people::bytes;
use super::settings::TownSettings;
use guestright_credit::{
    Allowance, AllowanceConfig, AllowanceState, Config, Event, Holds, Message, Overdraft,
};
use guestright_engine::{Instant, Nanos, Stream};
use guestright_units::{Bytes, TeamId};
use rand::RngExt as _;
use std::collections::BTreeMap;

/// A debt counts no more than this when a member chooses what to show (design note 0010, "Hints").
const SCORE_MAX: u64 = 64_000_000;

/// How long a home that did not answer is not asked.
const AVOIDED: Nanos = Nanos::from_seconds(3_600);

/// The name of a team by its number, and back.
pub(super) fn team(number: u32) -> TeamId {
    let mut id = [0; 24];
    id[..4].copy_from_slice(&number.to_be_bytes());
    TeamId(id)
}

pub(super) fn number(team: TeamId) -> u32 {
    let [a, b, c, d, ..] = team.0;
    u32::from_be_bytes([a, b, c, d])
}

/// What the machines of one home have to say.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) messages: Vec<(u32, Message)>,
    pub(super) events: Vec<Event>,
}

/// A home of the policy `credit`.
#[derive(Clone, Debug)]
pub(super) struct Home {
    config: Config,
    number: u32,
    pub(super) holds: Holds,
    allowance_config: AllowanceConfig,
    pub(super) allowance: Allowance,
    kept: Option<AllowanceState>,
    founded: Instant,
    pub(super) hints: Hints,
    /// When each debtor was served last, and how many of its holds were paid.
    latest: BTreeMap<u32, Instant>,
    honoured: BTreeMap<u32, u64>,
    /// Until when a home is not asked, because it did not answer.
    avoided: BTreeMap<u32, Instant>,
    pub(super) up: bool,
    pub(super) silent: bool,
    pub(super) timer: Option<Instant>,
    pub(super) sums: Sums,
}

/// What passed at one home, and how near it came to its limits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// What it gave on credit, what its members signed for, and what it gave away.
    pub(super) credit: u64,
    pub(super) signed: u64,
    pub(super) allowance: u64,
    pub(super) overdraft_slack: Option<i64>,
    pub(super) household_slack: Option<i64>,
    pub(super) allowance_slack: Option<i64>,
}

impl Home {
    pub(super) fn new(number: u32, settings: &TownSettings, founded: Instant) -> Self {
        let credit = &settings.credit;
        let total = Bytes(bytes(credit.overdraft_mb));
        let config =
            Config { overdraft: Overdraft { per_team: credit.overdraft, total }, ..Config::default() };
        let allowance_config = AllowanceConfig {
            per_day: Bytes(bytes(credit.allowance_mb)),
            founding: Bytes(bytes(credit.founding_mb)),
        };
        Self {
            config,
            number,
            holds: Holds::new(config, team(number), [], [], founded.time()),
            allowance_config,
            allowance: Allowance::new(allowance_config, None, founded.time()),
            kept: None,
            founded,
            hints: Hints::new(credit.hints_max),
            latest: BTreeMap::new(),
            honoured: BTreeMap::new(),
            avoided: BTreeMap::new(),
            up: true,
            silent: false,
            timer: None,
            sums: Sums::default(),
        }
    }

    /// Makes durable what the machines want kept, and gives what they may say then.
    pub(super) fn drain(&mut self) -> Said {
        while let Some(write) = self.holds.poll_write() {
            self.holds.handle_written(write.token);
        }
        let mut said = Said::default();
        while let Some((to, message)) = self.holds.poll_transmit() {
            said.messages.push((number(to), message));
        }
        while let Some(event) = self.holds.poll_event() {
            said.events.push(event);
        }
        self.check_overdraft();
        said
    }

    /// A slice of the allowance: half of what is there, an eighth of a day's for an access point whose home is away.
    pub(super) fn slice(&mut self, now: Instant) -> u64 {
        let want = if self.up { Bytes(u64::MAX) } else { Bytes(self.allowance_config.per_day.0 / 8) };
        let (slice, state) = self.allowance.take(want, now.time());
        self.kept = state.or(self.kept);
        slice.0
    }

    pub(super) fn put_back(&mut self, unused: u64) {
        self.allowance.put_back(Bytes(unused));
    }

    /// A guest of the team was served, so much of it on the allowance.
    pub(super) fn served(&mut self, guest: u32, credit: u64, allowance: u64, now: Instant) {
        self.holds.served(team(guest), Bytes(allowance));
        self.latest.insert(guest, now);
        self.sums.credit += credit;
        self.sums.allowance += allowance;
        let lent = signed(self.config.overdraft.total.0);
        least(&mut self.sums.household_slack, signed(self.sums.signed) + lent - signed(self.sums.credit));
        let days = now.time().since(self.founded.time()).0;
        let refilled = u128::from(self.allowance_config.per_day.0) * u128::from(days) / 86_400_000_000;
        let bound = self.allowance_config.per_day.0 + self.allowance_config.founding.0;
        let bound = signed(bound) + i64::try_from(refilled).unwrap_or(i64::MAX);
        least(&mut self.sums.allowance_slack, bound - signed(self.sums.allowance));
    }

    /// A member signed for so much from the team, some of it on no hold.
    pub(super) fn signed(&mut self, provider: u32, given: u64, direct: u64) {
        self.sums.signed += given;
        self.holds.signed(team(provider), Bytes(given), Bytes(direct));
    }

    /// A commit that makes us owe the team more came from there: it honoured what it owed.
    pub(super) fn honoured(&mut self, by: u32) {
        *self.honoured.entry(by).or_default() += 1;
    }

    /// It did not answer in time.
    pub(super) fn avoid(&mut self, home: u32, now: Instant) {
        self.avoided.insert(home, now + AVOIDED);
    }

    /// On whom we can reserve how much for a guest of that team. Of homes that do not answer only the guest's own counts,
    /// which is not asked.
    pub(super) fn spendable(&self, guest: u32, least: u64, now: Instant) -> BTreeMap<u32, u64> {
        let is_open = |team: u32| team == guest || self.avoided.get(&team).is_none_or(|until| *until <= now);
        let accounts = self.holds.accounts();
        accounts
            .iter()
            .filter(|(_, account)| account.owed > 0 || account.given.0 > 0)
            .map(|(team, _)| (number(team), accounts.spendable(team).0))
            .filter(|(team, bytes)| *bytes >= least && is_open(*team))
            .collect()
    }

    /// What a member takes along: three quarters the best, an eighth each the latest and any.
    pub(super) fn shown(&self, max: usize, chance: &mut Stream) -> Vec<Hint> {
        let mut debts: Vec<Hint> = self
            .holds
            .accounts()
            .iter()
            .filter(|(_, account)| account.net() < 0)
            .map(|(team, account)| {
                let bytes = account.net().unsigned_abs();
                Hint { debtor: number(team), creditor: self.number, bytes }
            })
            .collect();
        if debts.len() > max {
            let (best, latest) = (max * 3 / 4, max / 8);
            debts.sort_by_cached_key(|hint| {
                let honoured = self.honoured.get(&hint.debtor).copied().unwrap_or(0);
                std::cmp::Reverse(hint.bytes.min(SCORE_MAX) * (1 + honoured))
            });
            debts[best..].sort_by_cached_key(|hint| std::cmp::Reverse(self.latest.get(&hint.debtor)));
            let from = best + latest;
            for place in from..max {
                let drawn = chance.random_range(place..debts.len());
                debts.swap(place, drawn);
            }
            debts.truncate(max);
        }
        debts.sort_by_key(|hint| std::cmp::Reverse(hint.bytes));
        debts
    }

    /// The program ends, and begins anew with what it had kept.
    pub(super) fn restart(&mut self, now: Instant) {
        let accounts: Vec<_> = self.holds.accounts().iter().collect();
        let holds: Vec<_> = self.holds.holds().map(|(_, hold)| hold.clone()).collect();
        self.holds = Holds::new(self.config, team(self.number), accounts, holds, now.time());
        self.allowance = Allowance::new(self.allowance_config, self.kept, now.time());
        self.hints.clear();
        self.up = true;
    }

    fn check_overdraft(&mut self) {
        let slack = signed(self.config.overdraft.total.0) - signed(self.holds.accounts().overdrawn().0);
        least(&mut self.sums.overdraft_slack, slack);
    }

    /// The lowest of what teams gave minus what they are overdrawn.
    pub(super) fn check_accounts(&mut self) {
        let lends = self.config.overdraft.per_team;
        for (_, account) in self.holds.accounts().iter().filter(|(_, account)| account.owed < 0) {
            let lent = if lends { account.given.0 } else { 0 };
            least(&mut self.sums.overdraft_slack, signed(lent) - signed(account.overdraft().0));
        }
    }
}

pub(super) fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

pub(super) fn least(slack: &mut Option<i64>, now: i64) {
    *slack = Some(slack.map_or(now, |before| before.min(now)));
}
