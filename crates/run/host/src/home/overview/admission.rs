//! Whether one more call fits: the home asks its access points, and the exchange heeds what they say (design note 0018).
//!
//! An access point that falls silent is not heeded any more: its home would otherwise refuse calls for a radio that it knows
//! nothing of.

use super::super::gateway::Gateway;
use super::rounds::Rounds;
use guestright_exchange::Exchange;
use guestright_identity::KeyId;
use guestright_overview::Key;
use guestright_signalling::CallRoom;
use guestright_units::{Micros, Time};
use std::collections::BTreeMap;

/// How often access points are asked while calls are to be admitted by them.
const ASK_EVERY: Micros = Micros::from_seconds(5);
/// For so long an answer holds.
const FRESH: Micros = Micros::from_seconds(15);

/// After so long the exchange is asked again to count nothing, if it was too busy before.
const AGAIN: Micros = Micros::from_seconds(1);

/// Whether calls are admitted by them, and when they are asked next.
#[derive(Debug, Default)]
pub(super) struct Admission {
    admit: bool,
    next: Option<Time>,
}

impl Admission {
    /// `admit`: whether the household has switched it on.
    pub(super) fn new(admit: bool, now: Time) -> Self {
        Self { admit, next: admit.then_some(now) }
    }

    /// The household has switched it on or off: from now on it counts, and nobody is refused for what was said before.
    pub(super) fn switch(&mut self, admit: bool, exchange: Option<&Exchange>, now: Time) {
        if self.admit == admit {
            return;
        }
        *self = Self::new(admit, now);
        if !admit {
            self.clear(exchange, now);
        }
    }

    /// Tells the exchange that nothing counts, sooner or later.
    fn clear(&mut self, exchange: Option<&Exchange>, now: Time) {
        let is_done = exchange.is_none_or(|exchange| exchange.set_rooms(Vec::new()));
        self.next = (!is_done).then_some(now + AGAIN);
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.next
    }

    /// Whether there is something to do now; then the next time is later.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let is_due = self.next.is_some_and(|next| next <= now);
        if is_due {
            self.next = Some(now + ASK_EVERY);
        }
        is_due
    }

    /// Whether access points are asked.
    pub(super) const fn admits(&self) -> bool {
        self.admit
    }

    /// Tells the exchange what they have said.
    pub(super) fn tell(
        &mut self,
        exchange: Option<&Exchange>,
        rounds: &Rounds,
        gateway: Option<&Gateway>,
        now: Time,
    ) {
        if !self.admit {
            if self.next.is_some() {
                self.clear(exchange, now);
            }
        } else if let Some(exchange) = exchange {
            let delegates = gateway.map(Gateway::members_by_delegate).unwrap_or_default();
            // If it is too busy, they will say it again.
            exchange.set_rooms(rooms(rounds, &delegates, now));
        }
    }
}

/// What access points that have answered lately say of calls. Where a member has nothing but its tunnel, an access point knows
/// the delegate that signs for it; the exchange knows the member.
fn rooms(rounds: &Rounds, delegates: &BTreeMap<KeyId, KeyId>, now: Time) -> Vec<CallRoom> {
    let member = |key: &Key| delegates.get(&KeyId(key.0)).copied().unwrap_or(KeyId(key.0));
    let room = |calls: &guestright_overview::CallRoom| CallRoom {
        members: calls.members.iter().map(member).collect(),
        more: u32::try_from(calls.more.get()).unwrap_or(u32::MAX),
    };
    rounds.calls(now, FRESH).map(room).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_overview::{Answer, Count, Overview};
    use guestright_units::UnixSeconds;

    const START: Time = UnixSeconds(1_800_000_000).time();
    const ONE: Key = Key([1; 24]);

    fn after(seconds: u64) -> Time {
        START + Micros::from_seconds(seconds)
    }

    #[test]
    fn nobody_is_asked_where_calls_are_admitted_by_nobody() {
        let mut off = Admission::new(false, START);
        assert_eq!((off.poll_timeout(), off.is_due(after(100))), (None, false));
        let mut on = Admission::new(true, START);
        assert!(on.is_due(START) && !on.is_due(after(4)) && on.is_due(after(5)));
    }

    #[test]
    fn it_is_switched_on_and_off_while_the_home_runs() {
        let mut admission = Admission::new(false, START);
        admission.switch(true, None, after(100));
        assert_eq!(admission.poll_timeout(), Some(after(100)));
        assert!(admission.is_due(after(100)));
        admission.switch(true, None, after(101));
        assert_eq!(admission.poll_timeout(), Some(after(105)), "it was on");
        admission.switch(false, None, after(102));
        assert_eq!((admission.poll_timeout(), admission.is_due(after(200))), (None, false));
    }

    #[test]
    fn what_an_access_point_said_holds_for_a_while_and_no_longer() {
        let mut rounds = Rounds::default();
        rounds.began(1, [ONE], START);
        let overview = include_bytes!("../../../../../pure/overview/tests/fixtures/serving.json");
        let mut access_point = Overview::from_json(overview).unwrap().access_points.remove(0);
        let calls = guestright_overview::CallRoom {
            now: Count::at_most_max(3),
            more: Count::at_most_max(2),
            members: vec![Key([7; 24]), Key([8; 24])],
        };
        access_point.calls = Some(calls);
        let none = Count::default();
        let (guests, refusals) = (Vec::new(), Vec::new());
        let answer =
            Answer { access_point, guests, refusals, guests_left_out: none, refusals_left_out: none };
        rounds.handle_answer(ONE, (1, 1), &answer.to_cbor(), after(1));
        // The second one is the delegate of a member that has nothing but its tunnel.
        let delegates = [(KeyId([8; 24]), KeyId([9; 24]))].into();
        let want = CallRoom { members: [KeyId([7; 24]), KeyId([9; 24])].into(), more: 2 };
        assert_eq!(rooms(&rounds, &delegates, after(15)), [want]);
        assert_eq!(rooms(&rounds, &delegates, after(16)), []);
        let shown = rounds.answers(after(2)).access_points.remove(0).calls.unwrap();
        assert_eq!((shown.more.get(), shown.members), (2, vec![]), "whoever looks is not told who is where");
    }
}
