//! What of each session's receipts is in the accounts already.

use crate::message::Signed;
use guestright_receipt::{HoldId, SessionKey};
use guestright_units::{Bytes, UnixSeconds};
use std::collections::{BTreeMap, BTreeSet};

/// Receipts of sessions that began longer ago are not accounted for any more, in seconds: 31 days. An access point that
/// could not reach its home for so long has served for nothing.
pub(crate) const AGE_MAX: u64 = 31 * 86_400;

/// What of a session is in the accounts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounted {
    /// The weight of the receipt.
    pub weight: Bytes,
    /// The hold that it named.
    pub hold: Option<HoldId>,
    /// What was served on all holds together.
    pub on_holds: Bytes,
}

/// What a receipt adds to its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Raise {
    pub(crate) given: Bytes,
    /// How much of it is on no hold.
    pub(crate) direct: Bytes,
}

/// The sessions that are accounted for.
#[derive(Clone, Debug)]
pub(crate) struct Sessions {
    by_key: BTreeMap<SessionKey, Accounted>,
    /// By their start, to forget the oldest first.
    by_start: BTreeSet<(UnixSeconds, SessionKey)>,
    max: usize,
    /// Sessions that began before this are not accounted for.
    since: UnixSeconds,
    changed: BTreeSet<SessionKey>,
    since_changed: bool,
}

impl Sessions {
    pub(crate) fn new(
        max: usize,
        since: UnixSeconds,
        kept: impl IntoIterator<Item = (SessionKey, Accounted)>,
    ) -> Self {
        let by_key: BTreeMap<_, _> = kept.into_iter().collect();
        let by_start = by_key.keys().map(|key| (key.started, *key)).collect();
        Self { by_key, by_start, max, since, changed: BTreeSet::new(), since_changed: false }
    }

    /// Takes a receipt in; nothing if it says nothing new, or is too old.
    pub(crate) fn raise(&mut self, signed: &Signed) -> Option<Raise> {
        let key = signed.session;
        let before = self.by_key.get(&key).copied().unwrap_or_default();
        if self.is_forgotten(&key) || signed.weight <= before.weight {
            return None;
        }
        // A receipt says what was on all holds, so it does not matter which of those before it have come.
        let on_holds = signed.on_holds.max(before.on_holds);
        let hold = signed.hold.map(|hold| hold.id);
        self.by_key.insert(key, Accounted { weight: signed.weight, hold, on_holds });
        let given = signed.weight.saturating_sub(before.weight);
        let on_holds = on_holds.saturating_sub(before.on_holds);
        self.by_start.insert((key.started, key));
        self.changed.insert(key);
        Some(Raise { given, direct: given.saturating_sub(on_holds) })
    }

    /// The hold that is used now, as far as is known: the one that the session's largest receipt names. A session that
    /// was forgotten may still use what a receipt of it names.
    pub(crate) fn current_hold(&self, signed: &Signed) -> Option<HoldId> {
        let named = signed.hold.map(|hold| hold.id);
        self.by_key.get(&signed.session).map_or(named, |accounted| accounted.hold)
    }

    /// Whether the session is too old for anything.
    pub(crate) fn is_forgotten(&self, session: &SessionKey) -> bool {
        session.started < self.since
    }

    /// Forgets all sessions that began by then, also those of which no receipt came.
    pub(crate) fn forget_until(&mut self, started: UnixSeconds) {
        while let Some(&(first, key)) = self.by_start.first()
            && first <= started
        {
            self.forget(first, key);
        }
        if started.plus(1) > self.since {
            (self.since, self.since_changed) = (started.plus(1), true);
        }
    }

    /// Forgets what is too old, and the oldest if there are too many.
    pub(crate) fn make_room(&mut self, now: UnixSeconds) {
        let oldest = now.minus(AGE_MAX);
        while let Some(&(started, key)) = self.by_start.first()
            && (started < oldest || self.by_key.len() > self.max)
        {
            self.forget(started, key);
            (self.since, self.since_changed) = (self.since.max(started.plus(1)), true);
        }
    }

    fn forget(&mut self, started: UnixSeconds, key: SessionKey) {
        self.by_start.remove(&(started, key));
        self.by_key.remove(&key);
        self.changed.insert(key);
    }

    /// What was changed since the last call; nothing where a session is no longer kept.
    pub(crate) fn take_changed(&mut self) -> Vec<(SessionKey, Option<Accounted>)> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|key| (key, self.by_key.get(&key).copied())).collect()
    }

    /// Since when sessions are accounted for, if that was changed since the last call.
    pub(crate) fn take_since(&mut self) -> Option<UnixSeconds> {
        std::mem::take(&mut self.since_changed).then_some(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_identity::MemberId;
    use guestright_receipt::HoldUse;
    use guestright_units::TeamId;

    const START: u64 = 1_800_000_000;

    /// What is on a hold, and on all of them.
    fn signed(started: u64, weight: u64, hold: Option<(u8, u64, u64)>) -> Signed {
        let (provider, member) = (TeamId([1; 24]), MemberId([2; 24]));
        let on_holds = Bytes(hold.map_or(0, |(.., on_holds)| on_holds));
        let hold = hold.map(|(id, bytes, _)| HoldUse { id: HoldId([id; 24]), weight: Bytes(bytes) });
        let session = SessionKey { provider, member, started: UnixSeconds(started) };
        Signed { session, consumer: TeamId([3; 24]), weight: Bytes(weight), hold, on_holds }
    }

    #[test]
    fn each_byte_is_accounted_for_once_whatever_holds_it_was_on() {
        let mut sessions = Sessions::new(10, UnixSeconds(0), []);
        for (weight, hold, want) in [
            (0, None, None),
            (100, None, Some((100, 100))),
            (100, None, None),
            (160, Some((7, 50, 50)), Some((60, 10))),
            (200, Some((7, 90, 90)), Some((40, 0))),
            (150, Some((7, 90, 90)), None),
            (260, Some((8, 60, 150)), Some((60, 0))),
            (300, Some((8, 70, 160)), Some((40, 30))),
            (330, Some((8, 70, 160)), Some((30, 30))),
            (400, Some((11, 20, 220)), Some((70, 10))),
        ] {
            let raise = sessions.raise(&signed(START, weight, hold));
            assert_eq!(raise.map(|raise| (raise.given.0, raise.direct.0)), want, "{weight}");
        }
    }

    #[test]
    fn who_signs_for_less_on_holds_than_before_owes_what_is_new() {
        let mut sessions = Sessions::new(10, UnixSeconds(0), []);
        sessions.raise(&signed(START, 100, Some((7, 100, 100))));
        let raise = sessions.raise(&signed(START, 110, Some((8, 10, 10))));
        assert_eq!(raise, Some(Raise { given: Bytes(10), direct: Bytes(10) }));
        let raise = sessions.raise(&signed(START, 120, Some((8, 20, 120))));
        assert_eq!(raise, Some(Raise { given: Bytes(10), direct: Bytes(0) }), "and nothing is paid back");
    }

    #[test]
    fn what_was_forgotten_is_not_accounted_for_again() {
        let mut sessions = Sessions::new(2, UnixSeconds(0), []);
        for day in 0..3 {
            assert!(sessions.raise(&signed(START + day * 86_400, 10, None)).is_some());
        }
        sessions.make_room(UnixSeconds(START + 3 * 86_400));
        assert_eq!(sessions.raise(&signed(START, 20, None)), None, "there were too many");
        sessions.make_room(UnixSeconds(START + 40 * 86_400));
        assert_eq!(sessions.raise(&signed(START + 2 * 86_400, 20, None)), None, "it is too old");
        assert_eq!(sessions.take_since(), Some(UnixSeconds(START + 2 * 86_400 + 1)));
        assert_eq!(sessions.take_since(), None);
        assert!(sessions.take_changed().iter().all(|(_, kept)| kept.is_none()));
    }
}
