//! What a town is made of.

use guestright_experiment::settings;

/// How homes decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Reserved between homes: design note 0010.
    Credit,
    /// The papers' rules: a ratio of flows or a quota over the receipts that the home knows.
    Srm,
    NetFlow,
    Quota,
    Gmf,
}

const RULES: [(&str, Rule); 5] = [
    ("credit", Rule::Credit),
    ("srm", Rule::Srm),
    ("netflow", Rule::NetFlow),
    ("quota", Rule::Quota),
    ("gmf", Rule::Gmf),
];

/// What the coalition does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cheat {
    None,
    Whitewash,
    Fan,
    Ring,
    OverClaims,
    Junk,
    Flood,
    Dice,
    SpoofedDebts,
    Silent,
    Crashes,
    EarlyRelease,
    DoubleCashing,
}

const CHEATS: [(&str, Cheat); 13] = [
    ("none", Cheat::None),
    ("whitewash", Cheat::Whitewash),
    ("fan", Cheat::Fan),
    ("ring", Cheat::Ring),
    ("over-claims", Cheat::OverClaims),
    ("junk", Cheat::Junk),
    ("flood", Cheat::Flood),
    ("dice", Cheat::Dice),
    ("spoofed-debts", Cheat::SpoofedDebts),
    ("silent", Cheat::Silent),
    ("crashes", Cheat::Crashes),
    ("early-release", Cheat::EarlyRelease),
    ("double-cashing", Cheat::DoubleCashing),
];

impl Cheat {
    /// Whether fresh names come with the word of a home that really gave.
    pub(super) fn vouches(self) -> bool {
        !matches!(self, Self::None | Self::Whitewash | Self::Dice)
    }
}

settings! {
    /// Who lives there, who goes where, and what they want.
    pub(super) struct PeopleSettings {
        /// Teams.
        homes: u32 = integer("homes", "", 300, (4, 5_000)),
        /// How long it goes on.
        days: u32 = integer("days", "days", 90, (1, 730)),
        /// Exponent of the places' popularity (Zipf).
        popularity: f64 = float("people.popularity", "", 0.8, (0.0, 3.0)),
        /// Share of teams whose people stay at home.
        stay: f64 = float("people.stay", "", 0.2, (0.0, 1.0)),
        /// Share of teams without an access point to give from. Their people go out.
        homeless: f64 = float("people.homeless", "", 0.08, (0.0, 0.9)),
        /// Visits of a team that goes out.
        visits_per_day: f64 = float("people.visits_per_day", "1/day", 1.035, (0.0, 50.0)),
        /// Spread of that over teams: standard deviation of its logarithm.
        activity_spread: f64 = float("people.activity_spread", "", 1.1, (0.0, 3.0)),
        /// Places that a team likes.
        favourites: u32 = integer("people.favourites", "", 8, (1, 100)),
        /// Share of visits to one of them; the others are to places by their popularity.
        favourite_share: f64 = float("people.favourite_share", "", 0.7, (0.0, 1.0)),
        /// Median of what a visit wants.
        demand_mb: f64 = float("people.demand_mb", "MB", 15.0, (0.1, 10_000.0)),
        /// Standard deviation of its logarithm.
        demand_spread: f64 = float("people.demand_spread", "", 1.215, (0.0, 3.0)),
        /// Teams that come later.
        newcomers: u32 = integer("people.newcomers", "", 15, (0, 1_000)),
        /// When they come.
        newcomers_day: u32 = integer("people.newcomers_day", "day", 30, (0, 730)),
        /// What a guest's line carries.
        line_mbps: f64 = float("people.line_mbps", "Mb/s", 20.0, (0.1, 10_000.0)),
    }
}

settings! {
    /// Those who give little and want much.
    pub(super) struct CoalitionSettings {
        /// What they do. `fan`: every attempt under a fresh name, for which a home vouches that really gave; all but
        /// whitewash and dice come with a fan.
        cheat: Cheat = choice("cheat", "none", CHEATS),
        /// How many there are.
        people: u32 = integer("coalition.people", "", 5, (0, 10_000)),
        /// How often each of them tries.
        attempts_per_day: u32 = integer("coalition.attempts_per_day", "1/day", 8, (0, 1_000)),
        /// Whether they know which homes have an access point. Else they go to any, and where there is none to nobody.
        knows_homes: bool = bool("coalition.knows_homes", true),
        /// What each attempt wants.
        wants_mb: f64 = float("coalition.wants_mb", "MB", 2_000.0, (0.0, 1e6)),
        /// How popular their home is: the share of places that are less so. It serves all guests all that they want.
        rank: f64 = float("coalition.rank", "", 0.97, (0.0, 1.0)),
        /// When it has given so much, it serves nobody any more; 0 is never.
        gives_max_mb: f64 = float("coalition.gives_max_mb", "MB", 0.0, (0.0, 1e9)),
        /// dice: under how many fresh names somebody tries at one home, one after the other.
        tries: u32 = integer("coalition.tries", "", 20, (1, 1_000)),
        /// over-claims: what they ask guests to sign beyond what they carried.
        claim_share: f64 = float("coalition.claim_share", "", 0.05, (0.0, 0.05)),
        /// over-claims: and once a day from each team.
        claim_kb: u64 = integer("coalition.claim_kb", "kB", 64, (0, 64)),
        /// junk: names a day that sign for 30 bytes at every home.
        junk_names: u32 = integer("coalition.junk_names", "1/day", 64, (0, 256)),
        /// flood: when all that homes know at second hand is pushed out.
        flood_day: u32 = integer("coalition.flood_day", "day", 45, (0, 730)),
        /// silent: share of homes that answer no other home.
        silent_share: f64 = float("coalition.silent_share", "", 0.3, (0.0, 1.0)),
        /// crashes: mean time from one crash of a home to the next.
        crash_days: f64 = float("coalition.crash_days", "days", 7.0, (0.1, 1_000.0)),
        /// crashes: how long it is away.
        crash_hours: f64 = float("coalition.crash_hours", "h", 6.0, (0.0, 1_000.0)),
    }
}

settings! {
    /// The policy `credit`.
    pub(super) struct CreditSettings {
        /// Whether a team may be overdrawn up to all that it gave: lambda 1 or 0.
        overdraft: bool = bool("credit.overdraft", true),
        /// And all teams together at one home: the capital lambda.
        overdraft_mb: f64 = float("credit.overdraft_mb", "MB", 25.0, (0.0, 1e6)),
        /// What a home gives away.
        allowance_mb: f64 = float("credit.allowance_mb", "MB/day", 200.0, (0.0, 1e6)),
        /// And once more than that, when it is founded.
        founding_mb: f64 = float("credit.founding_mb", "MB", 100.0, (0.0, 1e6)),
        /// How many slices of the allowance one visit gets, each half of what is there; 0 is no limit.
        slices_max: u32 = integer("credit.slices_max", "", 1, (0, 1_000)),
        /// What a member shows.
        shown_max: usize = integer("credit.shown_max", "", 64, (0, 1_000)),
        /// What a home knows at second hand.
        hints_max: usize = integer("credit.hints_max", "", 20_000, (0, 1_000_000)),
        /// Longest path, in arcs; 1 is without other homes.
        arcs_max: u32 = integer("credit.arcs_max", "", 4, (1, 4)),
        /// Reservations of a grant in one round.
        paths_max: usize = integer("credit.paths_max", "", 8, (1, 64)),
        /// Rounds of a grant.
        rounds_max: u32 = integer("credit.rounds_max", "", 3, (1, 16)),
        /// What is not answered after this time is not credit.
        wait_ms: u64 = integer("credit.wait_ms", "ms", 1_000, (1, 60_000)),
    }
}

settings! {
    /// Between homes.
    pub(super) struct NetworkSettings {
        /// Median time of a message from home to home.
        delay_ms: f64 = float("network.delay_ms", "ms", 20.0, (0.0, 10_000.0)),
        /// Standard deviation of its logarithm. Messages of one link arrive in their order.
        spread: f64 = float("network.spread", "", 0.5, (0.0, 3.0)),
        /// What a home needs to make durable what a message relies on.
        write_ms: f64 = float("network.write_ms", "ms", 5.0, (0.0, 10_000.0)),
        /// Share of messages that are lost.
        loss: f64 = float("network.loss", "", 0.0, (0.0, 1.0)),
    }
}

settings! {
    /// The papers' policies.
    pub(super) struct PapersSettings {
        /// What a request counts as.
        request_mb: f64 = float("papers.request_mb", "MB", 10.0, (0.0, 1e6)),
        /// The most that a stranger gets: an hour at an eighth of 20 Mb/s.
        stranger_mb: f64 = float("papers.stranger_mb", "MB", 1_125.0, (0.0, 1e6)),
        /// netflow: how much of its own debt is taken off a team's credit, in thousandths.
        sigma: u16 = integer("papers.sigma", "‰", 750, (0, 1_000)),
        /// netflow: what every team may pass on regardless.
        kappa_mb: f64 = float("papers.kappa_mb", "MB", 25.0, (0.0, 1e6)),
        /// gmf: what a byte keeps per team in between, in thousandths.
        gain: u16 = integer("papers.gain", "‰", 500, (0, 1_000)),
        /// quota: what counts as a full contribution.
        quota_mb: f64 = float("papers.quota_mb", "MB", 1_000.0, (0.0, 1e6)),
    }
}

settings! {
    /// The settings of the testbed.
    pub(super) struct TownSettings {
        /// How homes decide: by what is reserved between them (`credit`), or as the papers have it.
        policy: Rule = choice("policy", "credit", RULES),
        coalition: CoalitionSettings,
        people: PeopleSettings,
        credit: CreditSettings,
        network: NetworkSettings,
        papers: PapersSettings,
    }
}
