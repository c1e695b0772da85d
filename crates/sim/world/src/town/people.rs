//! Who lives in the town, who goes where, and what they want.

use super::settings::{Cheat, TownSettings};
use guestright_engine::{Instant, Nanos, Stream, Streams};
use rand::RngExt as _;

pub(super) const MB: f64 = 1e6;
pub(super) const DAY: Nanos = Nanos::from_seconds(86_400);
/// How much is going on in each hour of a day, at any scale. Ours.
const HOURS: [f64; 24] = [
    1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 6.0, 6.0, 6.0, 6.0, 8.0, 8.0, 7.0, 7.0, 8.0, 9.0, 10.0, 10.0,
    9.0, 8.0, 5.0, 2.0,
];

/// A team.
#[derive(Clone, Debug)]
pub(super) struct Team {
    /// Whether it has an access point for guests.
    pub(super) serves: bool,
    /// Whether its people go out.
    pub(super) roams: bool,
    /// Whether it is the coalition's.
    pub(super) hostile: bool,
    pub(super) joins: Instant,
}

impl Team {
    /// Whether a guest finds an access point of theirs.
    pub(super) fn serves_at(&self, now: Instant) -> bool {
        self.serves && self.joins <= now
    }
}

/// Somebody goes somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Trip {
    pub(super) at: Instant,
    pub(super) guest: u32,
    pub(super) provider: u32,
    pub(super) wants: u64,
}

/// The teams and all of their people's visits.
#[derive(Clone, Debug)]
pub(super) struct People {
    pub(super) teams: Vec<Team>,
    pub(super) trips: Vec<Trip>,
}

impl People {
    pub(super) fn new(settings: &TownSettings, streams: &Streams) -> Self {
        let mut chance = streams.stream("people", 0);
        let ranks = shuffled(settings.people.homes, &mut chance);
        let teams = teams(settings, &ranks, &mut chance);
        let weights: Vec<f64> =
            ranks.iter().map(|rank| libm::pow(f64::from(*rank + 1), -settings.people.popularity)).collect();
        let mut trips = Vec::new();
        for guest in 0..settings.people.homes {
            // Each team has its own chance, so that a cheat does not change where honest people go.
            let mut chance = streams.stream("trips", u64::from(guest));
            trips_of(settings, &teams, &weights, guest, &mut chance, &mut trips);
        }
        trips.sort_unstable();
        Self { teams, trips }
    }

    /// The honest teams.
    pub(super) fn honest(&self) -> u32 {
        count(self.teams.iter().filter(|team| !team.hostile).count())
    }

    /// The honest homes with an access point.
    pub(super) fn serving(&self) -> u32 {
        count(self.teams.iter().filter(|team| team.serves && !team.hostile).count())
    }

    /// Of the demand, what a town can settle at most in which nobody gets more than it gives.
    pub(super) fn reciprocity_max(&self) -> f64 {
        let mut sums = vec![(0_u64, 0_u64); self.teams.len()];
        for trip in &self.trips {
            sums[trip.guest as usize].0 += trip.wants;
            sums[trip.provider as usize].1 += trip.wants;
        }
        let all: u64 = sums.iter().map(|(took, _)| took).sum();
        let both: u64 = sums.iter().map(|(took, gave)| *took.min(gave)).sum();
        share(both, all)
    }
}

/// The `part` of the whole; not a number without a whole.
#[expect(clippy::cast_precision_loss, reason = "a town's bytes are far below 2^52")]
pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

pub(super) fn count(number: usize) -> u32 {
    u32::try_from(number).expect("a town has fewer than 2^32 of anything")
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "settings have limits")]
pub(super) fn bytes(megabytes: f64) -> u64 {
    (megabytes * MB + 0.5) as u64
}

/// A number whose logarithm is normal.
pub(super) fn lognormal(median: f64, spread: f64, chance: &mut Stream) -> f64 {
    // Box and Muller, "A note on the generation of random normal deviates", Ann. Math. Stat. 29 (1958).
    let (one, two) = (1.0 - chance.random::<f64>(), chance.random::<f64>());
    let normal = libm::sqrt(-2.0 * libm::log(one)) * libm::cos(std::f64::consts::TAU * two);
    median * libm::exp(spread * normal)
}

pub(super) fn exponential(mean: f64, chance: &mut Stream) -> f64 {
    -mean * libm::log(1.0 - chance.random::<f64>())
}

fn teams(settings: &TownSettings, ranks: &[u32], chance: &mut Stream) -> Vec<Team> {
    let people = &settings.people;
    let first_newcomer = people.homes.saturating_sub(people.newcomers);
    let joins = Instant::START + Nanos(DAY.0 * u64::from(people.newcomers_day));
    let mut teams: Vec<Team> = (0..people.homes)
        .map(|number| {
            let (stays, homeless) =
                (chance.random::<f64>() < people.stay, chance.random::<f64>() < people.homeless);
            // Who comes later is asked how it fares, so it has a home and goes out.
            let is_new = number >= first_newcomer;
            Team {
                serves: is_new || !homeless,
                roams: is_new || homeless || !stays,
                hostile: false,
                joins: if is_new { joins } else { Instant::START },
            }
        })
        .collect();
    let hostile = match settings.coalition.cheat {
        Cheat::None => 0,
        Cheat::EarlyRelease => 2,
        Cheat::Whitewash
        | Cheat::Fan
        | Cheat::Ring
        | Cheat::OverClaims
        | Cheat::Junk
        | Cheat::Flood
        | Cheat::Dice
        | Cheat::SpoofedDebts
        | Cheat::Silent
        | Cheat::Crashes
        | Cheat::DoubleCashing => 1,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of at most 5000")]
    let first = ((1.0 - settings.coalition.rank) * f64::from(people.homes)) as u32;
    let mut candidates: Vec<u32> = (0..first_newcomer).collect();
    candidates.sort_unstable_by_key(|number| ranks[*number as usize].abs_diff(first));
    for number in candidates.into_iter().take(hostile) {
        teams[number as usize] = Team { serves: true, roams: false, hostile: true, joins: Instant::START };
    }
    teams
}

fn trips_of(
    settings: &TownSettings,
    teams: &[Team],
    weights: &[f64],
    guest: u32,
    chance: &mut Stream,
    trips: &mut Vec<Trip>,
) {
    let (people, team) = (&settings.people, &teams[guest as usize]);
    // The mean over teams is what is set, whatever the spread.
    let median = people.visits_per_day * libm::exp(-people.activity_spread * people.activity_spread / 2.0);
    let rate = lognormal(median, people.activity_spread, chance);
    let destinations = Destinations::new(teams, weights, guest);
    let favourites = destinations.favourites(people.favourites, chance);
    if !team.roams {
        return;
    }
    let hours: Vec<f64> = sums(HOURS.iter().copied());
    for day in 0..u64::from(people.days) {
        for _ in 0..poisson(rate, chance) {
            let hour = drawn(&hours, chance) as u64;
            let within = chance.random_range(0..3_600_000_000_000_u64);
            let at = Instant(day * DAY.0 + hour * 3_600_000_000_000 + within);
            let wants = bytes(lognormal(people.demand_mb, people.demand_spread, chance)).max(1);
            let likes = chance.random::<f64>() < people.favourite_share;
            let liked = favourites.get(chance.random_range(0..favourites.len().max(1))).copied();
            let elsewhere = destinations.drawn(chance);
            let open = |index: &u32| teams[*index as usize].joins <= at;
            let provider = liked.filter(|index| likes && open(index)).or(elsewhere.filter(open));
            if let Some(provider) = provider.filter(|_| at >= team.joins) {
                trips.push(Trip { at, guest, provider, wants });
            }
        }
    }
}

/// Where a team's people may go, by popularity.
struct Destinations {
    teams: Vec<u32>,
    sums: Vec<f64>,
}

impl Destinations {
    fn new(teams: &[Team], weights: &[f64], guest: u32) -> Self {
        let there: Vec<u32> =
            (0..count(teams.len())).filter(|&index| index != guest && teams[index as usize].serves).collect();
        let sums = sums(there.iter().map(|index| weights[*index as usize]));
        Self { teams: there, sums }
    }

    fn drawn(&self, chance: &mut Stream) -> Option<u32> {
        self.teams.get(drawn(&self.sums, chance)).copied()
    }

    fn favourites(&self, wanted: u32, chance: &mut Stream) -> Vec<u32> {
        let mut found = Vec::new();
        let wanted = self.teams.len().min(wanted as usize);
        while found.len() < wanted {
            found.extend(self.drawn(chance).filter(|index| !found.contains(index)));
        }
        found
    }
}

fn sums(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    weights
        .map(|weight| {
            sum += weight;
            sum
        })
        .collect()
}

fn drawn(sums: &[f64], chance: &mut Stream) -> usize {
    let point = chance.random::<f64>() * sums.last().copied().unwrap_or(0.0);
    sums.partition_point(|sum| *sum <= point).min(sums.len().saturating_sub(1))
}

/// How often something happens that happens `mean` times on average.
fn poisson(mean: f64, chance: &mut Stream) -> u32 {
    let mut passed = 0.0;
    let mut happened = 0;
    loop {
        passed += exponential(1.0, chance);
        if passed > mean {
            return happened;
        }
        happened += 1;
    }
}

fn shuffled(number: u32, chance: &mut Stream) -> Vec<u32> {
    let mut all: Vec<u32> = (0..number).collect();
    for last in (1..all.len()).rev() {
        all.swap(last, chance.random_range(0..=last));
    }
    all
}
