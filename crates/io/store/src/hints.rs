//! What members carry to show who owes their home: one receipt for each debtor (design note 0010, "Hints").

use crate::read::Encoded;
use guestright_receipt::Rules;
use guestright_units::{TeamId, UnixSeconds};
use rusqlite::{Connection, params};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// More debt makes no better path: no session reserves more.
const WORTH_MAX: u64 = 64_000_000;

/// Only so many of the latest receipts are looked at: a home that serves 250 sessions a day has these in 400 days.
const RECEIPTS_MAX: i64 = 100_000;

/// Which hints are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HintQuery {
    /// The home that is owed.
    pub team: TeamId,
    /// Receipts that do not count any more by now are left out.
    pub now: UnixSeconds,
    /// How many at most: three quarters of them the best, one eighth the latest, and one eighth chosen by the seed.
    pub count: usize,
    /// Another one for each answer; a debtor that cannot guess it cannot push another out for good.
    pub seed: u64,
}

/// What a team owes, over all its receipts.
#[derive(Clone, Copy, Debug, Default)]
struct Debtor {
    sum: u64,
    latest: u64,
    /// The largest weight; of equal ones, the latest; then the row.
    largest: (u64, u64, i64),
}

impl Debtor {
    fn add(&mut self, other: Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.latest = self.latest.max(other.latest);
        self.largest = self.largest.max(other.largest);
    }
}

/// What [`Store::hints`](crate::Store::hints) gives.
pub(crate) fn select(connection: &Connection, query: HintQuery) -> rusqlite::Result<Vec<Encoded>> {
    let debtors = debtors(connection, query)?;
    let honoured = honoured(connection, query.team)?;
    let rows = choose(&debtors, &honoured, query);
    let mut statement = connection.prepare_cached(
        "SELECT r.raw, c.raw FROM receipt r JOIN certificate c ON c.id = r.certificate WHERE r.id = ?",
    )?;
    rows.iter().map(|id| statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))).collect()
}

fn debtors(connection: &Connection, query: HintQuery) -> rusqlite::Result<BTreeMap<TeamId, Debtor>> {
    let mut debtors = BTreeMap::<_, Debtor>::new();
    let mut team = connection.prepare_cached("SELECT team FROM certificate WHERE id = ?")?;
    for (certificate, owed) in owed_under_certificates(connection, query)? {
        let debtor = team.query_row([certificate], |row| Ok(TeamId(row.get(0)?)))?;
        if debtor != query.team {
            debtors.entry(debtor).or_default().add(owed);
        }
    }
    Ok(debtors)
}

fn owed_under_certificates(
    connection: &Connection,
    query: HintQuery,
) -> rusqlite::Result<BTreeMap<i64, Debtor>> {
    let rules = Rules::default();
    let (first, last) = (query.now.minus(rules.age_max), query.now.plus(rules.skew));
    let mut statement = connection.prepare_cached(
        "SELECT certificate, weight, started, id FROM receipt
         WHERE provider = (SELECT id FROM provider WHERE team = ?) AND started BETWEEN ? AND ? ORDER BY started DESC LIMIT ?",
    )?;
    let mut rows =
        statement.query(params![query.team.0, first.0.cast_signed(), last.0.cast_signed(), RECEIPTS_MAX])?;
    let mut owed = BTreeMap::<_, Debtor>::new();
    while let Some(row) = rows.next()? {
        let weight = row.get::<_, i64>(1)?.cast_unsigned();
        let started = row.get::<_, i64>(2)?.cast_unsigned();
        if weight > 0 {
            let largest = (weight, started, row.get(3)?);
            owed.entry(row.get(0)?).or_default().add(Debtor { sum: weight, latest: started, largest });
        }
    }
    Ok(owed)
}

/// How many holds each team paid us, as the last home before ours.
fn honoured(connection: &Connection, team: TeamId) -> rusqlite::Result<BTreeMap<TeamId, u64>> {
    let mut statement = connection.prepare_cached(
        "SELECT debtor, count(*) FROM hold INDEXED BY hold_honoured WHERE consumer = ? AND used > 0 GROUP BY debtor",
    )?;
    let rows = statement
        .query_map([team.0], |row| Ok((TeamId(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned())))?;
    rows.collect()
}

/// The rows of the receipts to show.
fn choose(
    debtors: &BTreeMap<TeamId, Debtor>,
    honoured: &BTreeMap<TeamId, u64>,
    query: HintQuery,
) -> Vec<i64> {
    let score = |team: &TeamId, debtor: &Debtor| {
        let holds = honoured.get(team).copied().unwrap_or(0);
        u128::from(debtor.sum.min(WORTH_MAX)) * (1 + u128::from(holds))
    };
    let at_random = |team: &TeamId| -> [u8; 32] {
        Sha256::new().chain_update(query.seed.to_be_bytes()).chain_update(team.0).finalize().into()
    };
    let eighth = query.count / 8;
    let mut chosen = Chosen::default();
    chosen.add(ordered(debtors, score), query.count - 2 * eighth);
    chosen.add(ordered(debtors, |_, debtor| debtor.latest), eighth);
    chosen.add(ordered(debtors, |team, _| at_random(team)), eighth);
    chosen.teams.iter().filter_map(|team| debtors.get(team)).map(|debtor| debtor.largest.2).collect()
}

/// Teams with the largest key first; of equal ones, in the order of their ids.
fn ordered<K: Ord>(debtors: &BTreeMap<TeamId, Debtor>, key: impl Fn(&TeamId, &Debtor) -> K) -> Vec<TeamId> {
    let mut keys: Vec<_> = debtors.iter().map(|(team, debtor)| (Reverse(key(team, debtor)), *team)).collect();
    keys.sort();
    keys.into_iter().map(|(_, team)| team).collect()
}

#[derive(Default)]
struct Chosen {
    teams: Vec<TeamId>,
    known: BTreeSet<TeamId>,
}

impl Chosen {
    /// The first `count` that were not chosen yet.
    fn add(&mut self, teams: Vec<TeamId>, count: usize) {
        let known = &mut self.known;
        self.teams.extend(teams.into_iter().filter(|team| known.insert(*team)).take(count));
    }
}

#[cfg(test)]
mod tests;
