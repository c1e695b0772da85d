//! Who was turned away lately, for the household's overview: the latest, of whoever asks again and again one each.

use guestright_overview::{Moment, REFUSALS_MAX, Refusal, RefusedBy, Sentence, Team};
use guestright_units::{TeamId, UnixSeconds};
use std::collections::{BTreeMap, VecDeque};

/// Whoever is turned away asks again: within so many seconds that is one refusal.
const SAME_WITHIN: u64 = 60;

/// Why somebody was turned away.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Why<'a> {
    pub(crate) refused_by: RefusedBy,
    pub(crate) reason: &'a str,
    pub(crate) to_do: Option<&'a str>,
}

/// The latest refusals, the newest first; `REFUSALS_MAX` of them.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    latest: VecDeque<Refusal>,
    /// All of them, those of the same within a minute too.
    counted: BTreeMap<RefusedBy, u64>,
}

impl Refusals {
    /// Somebody was turned away. Says whether that is another refusal than those before.
    pub(crate) fn note(&mut self, team: Option<TeamId>, why: Why<'_>, now: UnixSeconds) -> bool {
        *self.counted.entry(why.refused_by).or_default() += 1;
        let (at, team) = (Moment::from(now), team.map(Team));
        let reason = sentence(why.reason);
        let is_same = |it: &Refusal| {
            it.team == team && it.reason == reason && at.get().saturating_sub(it.at.get()) < SAME_WITHIN
        };
        let before = self.latest.len();
        self.latest.retain(|it| !is_same(it));
        let is_new = self.latest.len() == before;
        self.latest.truncate(REFUSALS_MAX - 1);
        let to_do = why.to_do.map(Sentence::shortened);
        self.latest.push_front(Refusal { at, team, refused_by: why.refused_by, reason, to_do });
        is_new
    }

    /// Forgets those of a team; false if there were none. They stay counted.
    pub(crate) fn forget(&mut self, team: TeamId) -> bool {
        let before = self.latest.len();
        self.latest.retain(|it| it.team != Some(Team(team)));
        self.latest.len() < before
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Refusal> {
        self.latest.iter()
    }

    /// How many there were since the start, by reason.
    pub(crate) fn counted(&self) -> &BTreeMap<RefusedBy, u64> {
        &self.counted
    }
}

/// What a machine says in half a sentence, as a whole one.
pub(crate) fn sentence(text: &str) -> Sentence {
    let mut characters = text.trim().chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    let mut whole: String = first.chain(characters).collect();
    if !whole.ends_with(['.', '!', '?']) {
        whole.push('.');
    }
    Sentence::shortened(&whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: UnixSeconds = UnixSeconds(1_800_000_000);

    fn why(reason: &str) -> Why<'_> {
        Why { refused_by: RefusedBy::Busy, reason, to_do: None }
    }

    #[test]
    fn whoever_asks_again_and_again_is_one_refusal() {
        let mut refusals = Refusals::default();
        for seconds in 0..50 {
            assert_eq!(refusals.note(None, why("all places are taken"), START.plus(seconds)), seconds == 0);
        }
        let at: Vec<_> = refusals.iter().map(|it| it.at.get()).collect();
        assert_eq!(at, [START.0 + 49], "the latest time of it");
        assert_eq!(refusals.counted()[&RefusedBy::Busy], 50, "but every one is counted");
        assert!(refusals.note(None, why("all places are taken"), START.plus(49 + SAME_WITHIN)));
        assert!(refusals.note(Some(TeamId([1; 24])), why("all places are taken"), START.plus(110)));
    }

    #[test]
    fn the_oldest_go_first() {
        let mut refusals = Refusals::default();
        for number in 0..500 {
            refusals.note(None, why(&format!("reason {number}")), START);
        }
        assert_eq!(refusals.iter().count(), REFUSALS_MAX);
        assert_eq!(refusals.iter().next().unwrap().reason.as_str(), "Reason 499.");
    }

    #[test]
    fn half_a_sentence_becomes_a_whole_one() {
        assert_eq!(sentence("the key is revoked").as_str(), "The key is revoked.");
        assert_eq!(sentence("Refused: it took more.").as_str(), "Refused: it took more.");
        assert_eq!(sentence("").as_str(), ".");
    }
}
