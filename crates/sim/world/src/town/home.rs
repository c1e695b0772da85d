//! One home with its machines.

use super::hints::{Hint, Hints};
use super::people::bytes;
use super::settings::TownSettings;
use guestright_credit::{
    Accounted, Allowance, AllowanceConfig, AllowanceState, Change, Config, Event, Holds, Kept, Message,
    Overdraft, Proof, Signed,
};
use guestright_engine::{Instant, Nanos, Stream};
use guestright_receipt::SessionKey;
use guestright_units::{Bytes, TeamId, UnixSeconds};
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
pub(super) struct Output {
    pub(super) messages: Vec<(u32, Message)>,
    pub(super) events: Vec<Event>,
}

/// What a guest got since the last time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) credit: u64,
    pub(super) allowance: u64,
    /// On the allowance since the session began.
    pub(super) allowance_of_session: u64,
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
    /// What is kept of sessions, which the machine does not show.
    sessions: BTreeMap<SessionKey, Accounted>,
    sessions_since: UnixSeconds,
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
            holds: Holds::new(config, team(number), Kept::default(), founded.time()),
            allowance_config,
            allowance: Allowance::new(allowance_config, None, founded.time()),
            kept: None,
            sessions: BTreeMap::new(),
            sessions_since: UnixSeconds(0),
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
    pub(super) fn drain(&mut self) -> Output {
        while let Some(write) = self.holds.poll_write() {
            write.changes.iter().for_each(|change| self.keep_session(change));
            self.holds.handle_written(write.token);
        }
        let mut output = Output::default();
        while let Some((to, message)) = self.holds.poll_transmit() {
            output.messages.push((number(to), message));
        }
        while let Some(event) = self.holds.poll_event() {
            output.events.push(event);
        }
        self.check_overdraft();
        output
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

    /// A guest of the team was served, and signed for what of the session was on the allowance until now.
    pub(super) fn served(&mut self, session: SessionKey, guest: u32, served: Served, now: Instant) {
        let Served { credit, allowance, allowance_of_session } = served;
        let weight = Bytes(allowance_of_session);
        let (consumer, hold, on_holds) = (team(guest), None, Bytes(0));
        let receipt = Signed { session, consumer, weight, hold, on_holds };
        let proof = Proof { receipt: Vec::new(), certificate: Vec::new() };
        self.holds.handle_receipt(receipt, proof, now.time());
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
            for index in from..max {
                let drawn = chance.random_range(index..debts.len());
                debts.swap(index, drawn);
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
        let sessions = self.sessions.iter().map(|(session, accounted)| (*session, *accounted)).collect();
        let kept = Kept { accounts, holds, sessions, sessions_since: self.sessions_since };
        self.holds = Holds::new(self.config, team(self.number), kept, now.time());
        self.allowance = Allowance::new(self.allowance_config, self.kept, now.time());
        self.hints.clear();
        self.up = true;
    }

    fn keep_session(&mut self, change: &Change) {
        match change {
            Change::Session(session, Some(accounted)) => {
                self.sessions.insert(*session, *accounted);
            }
            Change::Session(session, None) => {
                self.sessions.remove(session);
            }
            Change::SessionsSince(since) => self.sessions_since = *since,
            Change::Account(..) | Change::Hold(..) | Change::Allowance(_) | Change::Sponsored(..) => {}
        }
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
