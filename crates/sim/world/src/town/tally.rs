//! What is measured.

use super::home::{Home, least, number, signed};
use super::people::{DAY, MB, People, share};
use super::settings::TownSettings;
use guestright_credit::HoldError;
use guestright_engine::{Instant, Nanos};
use guestright_experiment::{MetricInfo, Outcome};
use guestright_reciprocity::ServiceClass;
use std::collections::BTreeMap;

/// The meter's tolerance (design note 0010, "The visitor's meter").
const TOLERANCE: f64 = 1.05;
/// What a visitor signs ahead of its meter at most, for all providers together and a day (likewise).
const AHEAD: u64 = 64 * 1_024;
/// With less a visit was not served, unless it wanted less.
const SERVED: u64 = 1_000_000;

pub(super) const METRICS: [MetricInfo; 39] = [
    MetricInfo::new("given_mb", "MB", "What the coalition's homes really gave honest guests."),
    MetricInfo::new("signed_mb", "MB", "What honest guests signed for it."),
    MetricInfo::new("taken_mb", "MB", "What the coalition took on credit."),
    MetricInfo::new("taken_over_given", "", "The third over the first, at the end."),
    MetricInfo::new(
        "slack_mb",
        "MB",
        "The least, over every prefix of the run, of 1.05 given + min(1.05 lambda given, Lambda homes) minus taken. To 1.05 \
         given comes what a visitor may sign ahead of its meter, 64 KiB a day, where it was asked for that. Below 0: the \
         bound does not hold.",
    ),
    MetricInfo::new("slack_signed_mb", "MB", "The same with what was signed in place of 1.05 given."),
    MetricInfo::new("of_bound", "", "The most, over every prefix, of taken over the bound (at least 1 MB)."),
    MetricInfo::new(
        "strangers_mb",
        "MB",
        "What the coalition took on the allowance, or as strangers, a home with an access point and day.",
    ),
    MetricInfo::new("visits", "", "Visits of honest guests at honest homes."),
    MetricInfo::new("served_pct", "%", "Of these, with 1 MB at least or all that was wanted."),
    MetricInfo::new("volume_pct", "%", "Of the bytes that they wanted, those that they got."),
    MetricInfo::new("refused_pct", "%", "Honest visits that got nothing."),
    MetricInfo::new("lowest_pct", "%", "Honest visits in class lowest."),
    MetricInfo::new("low_pct", "%", "Honest visits in class low."),
    MetricInfo::new("middle_pct", "%", "Honest visits in class middle."),
    MetricInfo::new("high_pct", "%", "Honest visits in class high."),
    MetricInfo::new(
        "newcomer_days",
        "days",
        "Median time of newcomers from their coming to a visit with 1 MB.",
    ),
    MetricInfo::new(
        "newcomer_wait_days",
        "days",
        "The longest time of a newcomer from its first outing to that.",
    ),
    MetricInfo::new("newcomer_day_pct", "%", "Newcomers that have it within a day of their first outing."),
    MetricInfo::new("newcomer_middle_days", "days", "Median time to a visit in class middle or better."),
    MetricInfo::new("newcomer_middle_pct", "%", "Newcomers that had one."),
    MetricInfo::new("credit_pct", "%", "Of all service at honest homes, what was on credit."),
    MetricInfo::new(
        "credit_honest_pct",
        "%",
        "Of all service to honest guests at honest homes, what was on credit.",
    ),
    MetricInfo::new(
        "reciprocity_max_pct",
        "%",
        "Of the demand, what could be settled at most: the sum of the smaller of what each team wants and is asked for.",
    ),
    MetricInfo::new("demand_mb", "MB", "What honest guests want, a team and day."),
    MetricInfo::new(
        "allowance_mb",
        "MB",
        "Given on the allowance, or to strangers, a home with an access point and day.",
    ),
    MetricInfo::new("messages_per_visit", "", "Messages between homes for each visit to an honest home."),
    MetricInfo::new(
        "reservations_per_visit",
        "",
        "Reservations at other homes that were asked for, for each.",
    ),
    MetricInfo::new("hold_p50_ms", "ms", "Time that a grant waited for other homes' answers, median."),
    MetricInfo::new("hold_p95_ms", "ms", "The same, of 95 %."),
    MetricInfo::new("hold_p99_ms", "ms", "The same, of 99 %."),
    MetricInfo::new("hold_refused_pct", "%", "Reservations that were refused, of those that were asked for."),
    MetricInfo::new(
        "overdraft_slack_mb",
        "MB",
        "The least of what a home may lend minus what it has lent, all teams together or one.",
    ),
    MetricInfo::new(
        "household_slack_mb",
        "MB",
        "The least of what a home's people took, and Lambda, minus what it gave on credit.",
    ),
    MetricInfo::new(
        "allowance_slack_mb",
        "MB",
        "The least of A (t + 1) and what comes at founding minus what a home gave away.",
    ),
    MetricInfo::new(
        "books_apart_mb",
        "MB",
        "What honest homes disagree about at the end, sum over all pairs.",
    ),
    MetricInfo::new("uncommitted_mb", "MB", "Served on holds that could not be cashed."),
    MetricInfo::new("attempts", "", "Attempts of the coalition at homes with an access point."),
    MetricInfo::new("attempts_served_pct", "%", "Of these, with 1 MB at least."),
];

/// A newcomer's firsts.
#[derive(Clone, Copy, Debug, Default)]
struct Firsts {
    outing: Option<Instant>,
    served: Option<Instant>,
    middle: Option<Instant>,
}

#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) given: u64,
    pub(super) signed: u64,
    /// What visitors may have signed ahead of their meters.
    ahead: u64,
    pub(super) taken: u64,
    pub(super) messages: u64,
    pub(super) reservations: u64,
    pub(super) uncommitted: u64,
    lent_max: f64,
    per_team: bool,
    slack: Option<i64>,
    slack_signed: Option<i64>,
    of_bound: f64,
    strangers: u64,
    honest: [u64; 2],
    visits: u64,
    visits_served: u64,
    wanted: u64,
    got: u64,
    classes: [u64; 5],
    newcomers: BTreeMap<u32, Firsts>,
    joined: Instant,
    refusals: u64,
    waits: Vec<Nanos>,
    attempts: u64,
    attempts_served: u64,
}

impl Tally {
    pub(super) fn new(settings: &TownSettings, people: &People) -> Self {
        let homes = settings.people.homes;
        let newcomers = homes.saturating_sub(settings.people.newcomers)..homes;
        Self {
            given: 0,
            signed: 0,
            ahead: 0,
            taken: 0,
            messages: 0,
            reservations: 0,
            uncommitted: 0,
            lent_max: f64::from(people.honest()) * settings.credit.overdraft_mb * MB,
            per_team: settings.credit.overdraft,
            slack: None,
            slack_signed: None,
            of_bound: 0.0,
            strangers: 0,
            honest: [0; 2],
            visits: 0,
            visits_served: 0,
            wanted: 0,
            got: 0,
            classes: [0; 5],
            newcomers: newcomers.map(|team| (team, Firsts::default())).collect(),
            joined: Instant(u64::from(settings.people.newcomers_day) * DAY.0),
            refusals: 0,
            waits: Vec::new(),
            attempts: 0,
            attempts_served: 0,
        }
    }

    /// An honest guest goes out.
    pub(super) fn outing(&mut self, guest: u32, now: Instant) {
        if let Some(firsts) = self.newcomers.get_mut(&guest) {
            firsts.outing.get_or_insert(now);
        }
    }

    /// An honest home served so much.
    pub(super) fn served(&mut self, hostile: bool, credit: u64, allowance: u64) {
        if hostile {
            self.taken += credit;
            self.strangers += allowance;
            if credit > 0 {
                self.check();
            }
        } else {
            self.honest[0] += credit;
            self.honest[1] += allowance;
        }
    }

    /// A visitor was asked on another day to sign ahead of its meter.
    pub(super) fn asked_ahead(&mut self) {
        self.ahead += AHEAD;
    }

    /// Whether the bound holds at this moment, and how near it is.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "a town's bytes are below 2^52"
    )]
    fn check(&mut self) {
        let taken = self.taken as f64;
        let bound = |given: f64| given + if self.per_team { given.min(self.lent_max) } else { 0.0 };
        let metered = self.given as f64 * TOLERANCE + self.ahead as f64;
        let (real, by_receipts) = (bound(metered), bound(self.signed as f64));
        self.of_bound = self.of_bound.max(taken / real.max(MB));
        least(&mut self.slack, (real - taken) as i64);
        least(&mut self.slack_signed, (by_receipts - taken) as i64);
    }

    /// An honest visit at an honest home is over.
    pub(super) fn visited(
        &mut self,
        guest: u32,
        wants: u64,
        got: u64,
        class: Option<ServiceClass>,
        now: Instant,
    ) {
        self.visits += 1;
        self.wanted += wants;
        self.got += got;
        let is_served = got >= SERVED.min(wants);
        self.visits_served += u64::from(is_served);
        let index = match class {
            None => 0,
            Some(ServiceClass::Lowest) => 1,
            Some(ServiceClass::Low) => 2,
            Some(ServiceClass::Middle) => 3,
            Some(ServiceClass::High | ServiceClass::Own) => 4,
        };
        self.classes[index] += 1;
        if let Some(firsts) = self.newcomers.get_mut(&guest) {
            if is_served {
                firsts.served.get_or_insert(now);
            }
            if index >= 3 {
                firsts.middle.get_or_insert(now);
            }
        }
    }

    /// An honest guest got all that it wanted at the coalition's home.
    pub(super) fn served_elsewhere(&mut self, guest: u32, now: Instant) {
        if let Some(firsts) = self.newcomers.get_mut(&guest) {
            firsts.served.get_or_insert(now);
        }
    }

    pub(super) fn attempted(&mut self, got: u64) {
        self.attempts += 1;
        self.attempts_served += u64::from(got >= SERVED);
    }

    pub(super) fn refused(&mut self, _error: &HoldError) {
        self.refusals += 1;
    }

    pub(super) fn waited(&mut self, waited: Nanos) {
        self.waits.push(waited);
    }

    pub(super) fn outcome(mut self, settings: &TownSettings, people: &People, homes: &[Home]) -> Outcome {
        let mut outcome = Outcome { packets: self.visits + self.attempts, ..Outcome::default() };
        if self.slack.is_none() && self.attempts > 0 {
            self.check();
        }
        let days = f64::from(settings.people.days);
        let team_days = days * f64::from(people.honest());
        let home_days = days * f64::from(people.serving());
        self.note_bound(&mut outcome, home_days);
        self.note_visits(&mut outcome, people, home_days);
        outcome.set("demand_mb", mb(people.trips.iter().map(|trip| trip.wants).sum()) / team_days);
        self.note_newcomers(&mut outcome);
        self.note_holds(&mut outcome);
        note_homes(&mut outcome, people, homes);
        outcome
    }

    fn note_bound(&self, outcome: &mut Outcome, home_days: f64) {
        outcome.set("given_mb", mb(self.given));
        outcome.set("signed_mb", mb(self.signed));
        outcome.set("taken_mb", mb(self.taken));
        outcome.set("taken_over_given", share(self.taken, self.given));
        outcome.set("slack_mb", self.slack.map(mb_signed));
        outcome.set("slack_signed_mb", self.slack_signed.map(mb_signed));
        outcome.set("of_bound", self.slack.map(|_| self.of_bound));
        outcome.set("strangers_mb", mb(self.strangers) / home_days);
        outcome.set("attempts", count(self.attempts));
        outcome.set("attempts_served_pct", 100.0 * share(self.attempts_served, self.attempts));
    }

    fn note_visits(&self, outcome: &mut Outcome, people: &People, home_days: f64) {
        let pct = |part: u64, whole: u64| 100.0 * share(part, whole);
        outcome.set("visits", count(self.visits));
        outcome.set("served_pct", pct(self.visits_served, self.visits));
        outcome.set("volume_pct", pct(self.got, self.wanted));
        let names = ["refused_pct", "lowest_pct", "low_pct", "middle_pct", "high_pct"];
        for (name, visits) in names.into_iter().zip(self.classes) {
            outcome.set(name, pct(visits, self.visits));
        }
        let [credit, allowance] = self.honest;
        let all = credit + allowance + self.taken + self.strangers;
        outcome.set("credit_pct", pct(credit + self.taken, all));
        outcome.set("credit_honest_pct", pct(credit, credit + allowance));
        outcome.set("allowance_mb", mb(allowance + self.strangers) / home_days);
        outcome.set("reciprocity_max_pct", 100.0 * people.reciprocity_max());
    }

    fn note_newcomers(&self, outcome: &mut Outcome) {
        let days = |at: Instant, from: Instant| at.since(from).as_seconds() / DAY.as_seconds();
        let all = self.newcomers.len() as u64;
        let went: Vec<(Instant, Option<Instant>)> =
            self.newcomers.values().filter_map(|firsts| Some((firsts.outing?, firsts.served))).collect();
        let waits: Vec<Option<f64>> =
            went.iter().map(|(outing, served)| served.map(|served| days(served, *outing))).collect();
        let soon = waits.iter().filter(|wait| wait.is_some_and(|days| days <= 1.0)).count() as u64;
        let longest = waits.iter().copied().collect::<Option<Vec<f64>>>();
        let longest = longest.and_then(|waits| waits.into_iter().max_by(f64::total_cmp));
        let median_of = |first: fn(&Firsts) -> Option<Instant>| {
            let firsts = self.newcomers.values();
            let mut waits: Vec<f64> = firsts
                .map(|firsts| first(firsts).map_or(f64::INFINITY, |at| days(at, self.joined)))
                .collect();
            waits.sort_by(f64::total_cmp);
            waits.get(waits.len() / 2).copied()
        };
        let middle = self.newcomers.values().filter(|firsts| firsts.middle.is_some()).count() as u64;
        outcome.set("newcomer_days", median_of(|firsts| firsts.served));
        outcome.set("newcomer_wait_days", longest);
        outcome.set("newcomer_day_pct", 100.0 * share(soon, went.len() as u64));
        outcome.set("newcomer_middle_days", median_of(|firsts| firsts.middle));
        outcome.set("newcomer_middle_pct", 100.0 * share(middle, all));
    }

    fn note_holds(&mut self, outcome: &mut Outcome) {
        let visits = self.visits + self.attempts;
        outcome.set("messages_per_visit", share(self.messages, visits));
        outcome.set("reservations_per_visit", share(self.reservations, visits));
        outcome.set("hold_refused_pct", 100.0 * share(self.refusals, self.reservations));
        outcome.set("uncommitted_mb", mb(self.uncommitted));
        self.waits.sort_unstable();
        for (name, share) in [("hold_p50_ms", 50), ("hold_p95_ms", 95), ("hold_p99_ms", 99)] {
            let wait = self.waits.get(self.waits.len() * share / 100);
            outcome.set(name, wait.map(|wait| wait.as_millis()));
        }
    }
}

fn note_homes(outcome: &mut Outcome, people: &People, homes: &[Home]) {
    let honest = || homes.iter().zip(&people.teams).filter(|(_, team)| !team.hostile).map(|(home, _)| home);
    let lowest = |slack: fn(&Home) -> Option<i64>| honest().filter_map(slack).min().map(mb_signed);
    outcome.set("overdraft_slack_mb", lowest(|home| home.sums.overdraft_slack));
    outcome.set("household_slack_mb", lowest(|home| home.sums.household_slack));
    outcome.set("allowance_slack_mb", lowest(|home| home.sums.allowance_slack));
    let mut apart = 0;
    for (home, index) in homes.iter().zip(0_u32..) {
        for (team, account) in home.holds.accounts().iter() {
            let other = number(team);
            let is_honest = people.teams.get(other as usize).is_some_and(|team| !team.hostile);
            if is_honest && !people.teams[index as usize].hostile {
                let back = homes[other as usize].holds.accounts().get(super::home::team(index)).net();
                apart += (account.net() + back).unsigned_abs();
            }
        }
    }
    outcome.set("books_apart_mb", mb(apart / 2));
}

fn mb(number: u64) -> f64 {
    mb_signed(signed(number))
}

#[expect(clippy::cast_precision_loss, reason = "a town's bytes are far below 2^52")]
fn mb_signed(number: i64) -> f64 {
    number as f64 / MB
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn count(number: u64) -> f64 {
    number as f64
}
