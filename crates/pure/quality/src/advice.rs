//! Which transport voice should take on a path, from what each of them did there.
//!
//! Each transport is tried on the path, in one or both directions. A direction's quality is the rating of the E-model at
//! the playout delay that suits its packets best; a transport is as good as its worse direction. The best is advised. Of
//! those that are no worse than the best by [`TIE_R`], the simplest is: less can go wrong with it.

use crate::opinion::Satisfaction;
use serde::Serialize;
use std::fmt;

/// Ratings that are nearer to each other than this are taken for equal. Some 0.1 of a mean opinion score; trials of a few
/// seconds cannot tell less apart.
pub const TIE_R: f64 = 3.0;

/// Below this rating a call is not acceptable: "nearly all users dissatisfied" (ITU-T G.107, annex B).
const ACCEPTABLE_R: f64 = 60.0;

/// From this share on, loss is worth a word.
const LOSS_TO_MENTION: f64 = 0.005;

/// From this share on, a transport that does not slow down does harm to itself and to others.
const HARMFUL_LOSS: f64 = 0.05;

/// How voice can be carried, from the simplest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// Each packet by itself, nothing is repaired, nothing slows down.
    Udp,
    /// QUIC datagrams (RFC 9221): not repaired, but as fast as congestion control lets them.
    QuicDatagrams,
    /// A QUIC stream: repaired and in order.
    QuicStream,
    /// A TCP connection: repaired and in order.
    Tcp,
}

impl Carrier {
    /// Whether lost packets are sent again.
    #[must_use]
    pub const fn repairs(self) -> bool {
        matches!(self, Self::QuicStream | Self::Tcp)
    }
}

/// What came of the packets of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct DirectionStats {
    /// Packets spoken.
    pub made: u64,
    /// Share of them that never came.
    pub lost: f64,
    /// Share of them that came, but later than the playout delay.
    pub late: f64,
    /// The playout delay, from speaking to hearing, in ms.
    pub playout_ms: f64,
    /// The longest that one packet took, in ms; `None` if none came.
    pub longest_ms: Option<f64>,
    /// The rating at that playout delay.
    pub r: f64,
    /// Its mean opinion score.
    pub mos: f64,
}

/// A transport that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// What it is called: `tcp-cubic`.
    pub name: String,
    /// How it carries voice.
    pub carrier: Carrier,
    /// What came of it in each direction; or why there was nothing, in a few words: "the connection was refused".
    pub result: Result<Vec<DirectionStats>, String>,
}

impl Trial {
    /// The rating of the worse direction; `None` if it did not work.
    #[must_use]
    pub fn rating(&self) -> Option<f64> {
        self.worse().map(|stats| stats.r)
    }

    /// The worse direction.
    #[must_use]
    pub fn worse(&self) -> Option<&DirectionStats> {
        let directions = self.result.as_ref().ok()?;
        directions.iter().min_by(|a, b| a.r.total_cmp(&b.r))
    }
}

/// A reason for the advice, in the order in which one would tell it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum Reason {
    /// It is the best, by this much.
    Best {
        /// The rating of its worse direction.
        r: f64,
        /// The opinion score.
        mos: f64,
        /// The best of the others with its rating.
        next: Option<(String, f64)>,
    },
    /// Others are as good; it is the simplest.
    Simplest {
        /// Their names.
        equals: Vec<String>,
    },
    /// Others repair losses, which makes packets late.
    RepairingIsSlow {
        /// One that repairs.
        other: String,
        /// What it made late, as a share.
        late: f64,
        /// The longest that one packet took, in ms.
        longest_ms: f64,
        /// What the advised one lost.
        lost: f64,
    },
    /// The advised one repairs in time what others lose.
    RepairingPays {
        /// One that does not repair.
        other: String,
        /// What that one lost, as a share.
        lost: f64,
        /// The longest that one packet took with repairing, in ms.
        longest_ms: f64,
    },
    /// There is next to no loss, so there is nothing to repair.
    NothingToRepair,
    /// It loses much and does not slow down.
    Harmful {
        /// What it lost, as a share.
        lost: f64,
        /// The best of those that slow down.
        instead: Option<String>,
    },
    /// Nothing gives a call that people would accept.
    NothingIsGood {
        /// What people would say of the best.
        class: Satisfaction,
    },
    /// One did not work at all.
    Fails {
        /// What it is called.
        name: String,
        /// What went wrong, in a few words.
        why: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| share * 100.0;
        match self {
            Self::Best { r, mos, next: None } => {
                write!(f, "it is the only one that works: R {r:.0}, MOS {mos:.1}")
            }
            Self::Best { r, mos, next: Some((other, next)) } => {
                write!(f, "it is heard best: R {r:.0}, MOS {mos:.1}; then {other} with R {next:.0}")
            }
            Self::Simplest { equals } => {
                write!(
                    f,
                    "{} would be as good (within {TIE_R} of R), but this is simpler",
                    equals.join(" and ")
                )
            }
            Self::RepairingIsSlow { other, late, longest_ms, lost } => write!(
                f,
                "sending again comes too late here: {other} makes {:.1} % of the packets late, up to {longest_ms:.0} ms, \
                 while only {:.1} % are lost without it",
                percent(late),
                percent(lost)
            ),
            Self::RepairingPays { other, lost, longest_ms } => write!(
                f,
                "{other} loses {:.1} %, and sending again is quick enough: no packet took more than {longest_ms:.0} ms",
                percent(lost)
            ),
            Self::NothingToRepair => {
                write!(f, "the path loses next to nothing, so there is nothing to repair")
            }
            Self::Harmful { lost, instead } => {
                write!(
                    f,
                    "beware: it loses {:.1} % and does not slow down, so it takes from others",
                    percent(lost)
                )?;
                match instead {
                    Some(other) => write!(f, "; {other} gives way, or take a codec with a lower rate"),
                    None => write!(f, "; take a codec with a lower rate"),
                }
            }
            Self::NothingIsGood { class } => write!(
                f,
                "no transport makes this path good enough ({class}); a codec with a lower rate or less other traffic might"
            ),
            Self::Fails { name, why } => write!(f, "{name} does not work: {why}"),
        }
    }
}

/// What voice should take, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The name of the trial that is advised; `None` if nothing worked.
    pub recommended: Option<String>,
    /// Why, the most important first.
    pub reasons: Vec<Reason>,
}

/// Advises one of the transports that were tried.
#[must_use]
pub fn advise(trials: &[Trial]) -> Advice {
    let mut working: Vec<(&Trial, &DirectionStats)> =
        trials.iter().filter_map(|trial| Some((trial, trial.worse()?))).collect();
    // Best first; of equals the simpler one, then the one that was named first.
    working.sort_by(|(a, one), (b, other)| other.r.total_cmp(&one.r).then(a.carrier.cmp(&b.carrier)));
    let fails = trials.iter().filter_map(|trial| {
        let why = trial.result.as_ref().err()?.clone();
        Some(Reason::Fails { name: trial.name.clone(), why })
    });
    let Some(&(best, top)) = working.first() else {
        return Advice { recommended: None, reasons: fails.collect() };
    };
    let equals: Vec<&(&Trial, &DirectionStats)> =
        working.iter().filter(|(_, stats)| top.r - stats.r < TIE_R).collect();
    let &(chosen, stats) =
        equals.iter().copied().min_by_key(|(trial, _)| trial.carrier).unwrap_or(&(best, top));
    let mut reasons = vec![standing(chosen, stats, &equals, &working)];
    reasons.extend(repairing(chosen, stats, &working));
    if chosen.carrier == Carrier::Udp && stats.lost >= HARMFUL_LOSS {
        let instead = working.iter().find(|(trial, _)| trial.carrier != Carrier::Udp);
        reasons.push(Reason::Harmful {
            lost: stats.lost,
            instead: instead.map(|(trial, _)| trial.name.clone()),
        });
    }
    if stats.r < ACCEPTABLE_R {
        reasons.push(Reason::NothingIsGood { class: Satisfaction::of_r(stats.r) });
    }
    reasons.extend(fails);
    Advice { recommended: Some(chosen.name.clone()), reasons }
}

/// Whether the chosen one is the best or the simplest of the best.
fn standing(
    chosen: &Trial,
    stats: &DirectionStats,
    equals: &[&(&Trial, &DirectionStats)],
    working: &[(&Trial, &DirectionStats)],
) -> Reason {
    let others: Vec<String> = equals
        .iter()
        .filter(|(trial, _)| trial.name != chosen.name)
        .map(|(trial, _)| trial.name.clone())
        .collect();
    if others.is_empty() {
        let next = working.iter().find(|(trial, _)| trial.name != chosen.name);
        let next = next.map(|(trial, stats)| (trial.name.clone(), stats.r));
        return Reason::Best { r: stats.r, mos: stats.mos, next };
    }
    Reason::Simplest { equals: others }
}

/// What sending again does on this path, if it was tried with and without.
fn repairing(
    chosen: &Trial,
    stats: &DirectionStats,
    working: &[(&Trial, &DirectionStats)],
) -> Option<Reason> {
    let (other, theirs) =
        working.iter().find(|(trial, _)| trial.carrier.repairs() != chosen.carrier.repairs())?;
    let (plain, repaired) = if chosen.carrier.repairs() { (theirs, &stats) } else { (&stats, theirs) };
    if plain.lost < LOSS_TO_MENTION {
        return Some(Reason::NothingToRepair);
    }
    let longest_ms = repaired.longest_ms?;
    if chosen.carrier.repairs() {
        return Some(Reason::RepairingPays { other: other.name.clone(), lost: plain.lost, longest_ms });
    }
    let late = repaired.late + repaired.lost;
    (late > 0.0).then(|| Reason::RepairingIsSlow {
        other: other.name.clone(),
        late,
        longest_ms,
        lost: plain.lost,
    })
}

#[cfg(test)]
mod tests;
