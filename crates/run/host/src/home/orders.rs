//! What the household has its access points do, and who waits to know whether they have (design note 0015).
//!
//! Each order has a number of its own, which the answer repeats. An access point that does not answer in time may have done it all the
//! same, and its answer may have got lost: it is said to be silent, and nothing more is claimed.

use super::Loop;
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_roaming::home::Peer;
use guestright_roaming::message::{BlockedDevices, GuestId, Outcome, Reference};
use guestright_units::{Micros, Time};
use serde_json::{Value, json};
use tokio::sync::oneshot;

/// An access point writes a small file at most, and then answers.
const ANSWER_WITHIN: Micros = Micros::from_seconds(3);
/// So many orders wait for answers. One more, and the oldest waits no longer.
const ORDERS_MAX: usize = 1_024;
/// The number of the list of devices that nobody waits for: that of the start.
pub(super) const AT_START: Reference = 0;

/// What became of an order, at each access point that was asked. None may have been: no access point is connected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// It is done, and so many sessions and trials ended by it.
    pub(super) done: Vec<(KeyId, u32)>,
    /// It is not, or not for long, and why.
    pub(super) failed: Vec<(KeyId, String)>,
    /// It did not answer in time: it is older than this home, or busy, or away.
    pub(super) silent: Vec<KeyId>,
}

impl Report {
    /// For programs.
    pub(super) fn to_json(&self) -> Value {
        let key = |key: &KeyId| json!(key.to_string());
        let done = self.done.iter().map(|(at, ended)| json!({ "key": key(at), "ended": ended }));
        let failed = self.failed.iter().map(|(at, reason)| json!({ "key": key(at), "failed": reason }));
        let silent = self.silent.iter().map(|at| json!({ "key": key(at), "silent": true }));
        done.chain(failed).chain(silent).collect()
    }
}

#[derive(Debug)]
struct Order {
    awaited: OrderedMap<Peer, KeyId>,
    report: Report,
    until: Time,
    reply: oneshot::Sender<Report>,
}

impl Order {
    /// Whoever has not answered is silent, unless it has by a newer channel. The asker may have gone.
    fn end(mut self) {
        self.report.silent.extend(self.awaited.values());
        let Report { done, failed, silent } = &mut self.report;
        let has_answered =
            |key: &KeyId| done.iter().any(|it| it.0 == *key) || failed.iter().any(|it| it.0 == *key);
        silent.retain(|key| !has_answered(key));
        silent.dedup();
        let _ = self.reply.send(self.report);
    }
}

/// Orders that were given and not answered by all.
#[derive(Debug, Default)]
pub(super) struct Orders {
    last: Reference,
    open: OrderedMap<Reference, Order>,
}

impl Orders {
    /// The number of the next order; then [`Self::gave`].
    fn next(&mut self) -> Reference {
        self.last += 1;
        self.last
    }

    /// These access points were asked.
    fn gave(
        &mut self,
        reference: Reference,
        asked: impl IntoIterator<Item = (Peer, KeyId)>,
        now: Time,
    ) -> oneshot::Receiver<Report> {
        let (reply, report) = oneshot::channel();
        let awaited = asked.into_iter().collect();
        let order = Order { awaited, report: Report::default(), until: now + ANSWER_WITHIN, reply };
        self.open.insert(reference, order);
        while self.open.len() > ORDERS_MAX {
            self.open.pop_first().into_iter().for_each(|(_, oldest)| oldest.end());
        }
        self.end_finished(now);
        report
    }

    /// An access point has answered. False: nobody waits for that.
    fn handle_acted(&mut self, peer: Peer, reference: Reference, outcome: &Outcome, now: Time) -> bool {
        let Some(order) = self.open.get_mut(&reference) else { return false };
        let Some(key) = order.awaited.remove(&peer) else { return false };
        match outcome {
            Outcome::Done { ended } => order.report.done.push((key, *ended)),
            Outcome::Failed { reason } => order.report.failed.push((key, reason.clone())),
        }
        self.end_finished(now);
        true
    }

    /// A program of the team has gone, and answers no more.
    pub(super) fn handle_gone(&mut self, peer: Peer, now: Time) {
        for order in self.open.values_mut() {
            order.report.silent.extend(order.awaited.remove(&peer));
        }
        self.end_finished(now);
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.end_finished(now);
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.open.values().map(|order| order.until).min()
    }

    fn end_finished(&mut self, now: Time) {
        let is_over = |order: &mut Order| order.awaited.is_empty() || order.until <= now;
        self.open.extract_if(|_, order| is_over(order)).for_each(|(_, order)| order.end());
    }
}

/// Has an access point end a guest's session or trial, by the name that the overview gives it. Nothing: no access point of this key is
/// connected. Where the report says that it is done and nothing ended, it was over already.
pub(super) fn end_guest(
    this: &mut Loop,
    access_point: KeyId,
    guest: GuestId,
) -> Option<oneshot::Receiver<Report>> {
    let reference = this.orders.next();
    if !this.server.end_guest(access_point, guest, reference) {
        return None;
    }
    let now = this.clock.now();
    let here = this.server.peers().filter(|(.., key)| *key == access_point).map(|(peer, _, key)| (peer, key));
    Some(this.orders.gave(reference, here, now))
}

/// Has all access points serve these devices no longer, and all others again; those that connect later too.
pub(super) fn block_devices(this: &mut Loop, devices: BlockedDevices) -> oneshot::Receiver<Report> {
    let reference = this.orders.next();
    let asked = this.server.set_blocked_devices(devices, reference);
    let now = this.clock.now();
    this.orders.gave(reference, asked, now)
}

/// An access point has done what it was asked, or could not.
pub(super) fn handle_acted(this: &mut Loop, peer: Peer, reference: Reference, outcome: &Outcome) {
    let now = this.clock.now();
    let is_awaited = this.orders.handle_acted(peer, reference, outcome, now);
    if let (Outcome::Failed { reason }, false) = (outcome, is_awaited) {
        // It was sent the list because it connected, and nobody waits for its answer.
        this.lines.not_done(reason, now);
    }
}

/// Answers `end-guest ACCESS-POINT GUEST` at the control socket.
pub(super) fn answer_end_guest(this: &mut Loop, words: &str, reply: oneshot::Sender<Value>) {
    let read = words.split_once(' ').and_then(|(access_point, guest)| {
        let key = serde_json::from_value::<guestright_overview::Key>(json!(access_point)).ok()?;
        Some((KeyId(key.0), guest.parse().ok()?))
    });
    let given = match read {
        Some((access_point, guest)) => {
            end_guest(this, access_point, guest).ok_or("this access point is not connected")
        }
        None => Err(
            "name an access point by its key, and a guest by its id, as `guestright status --json` has them",
        ),
    };
    match given {
        Ok(report) => answer_when_reported(report, json!({}), reply),
        Err(error) => drop(reply.send(json!({ "error": error }))),
    }
}

/// Sends this answer once access points have answered, with what they did.
pub(super) fn answer_when_reported(
    report: oneshot::Receiver<Report>,
    mut answer: Value,
    reply: oneshot::Sender<Value>,
) {
    tokio::spawn(async move {
        answer["access_points"] = report.await.unwrap_or_default().to_json();
        // The asker may have gone.
        let _ = reply.send(answer);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::UnixSeconds;

    const ONE: KeyId = KeyId([1; 24]);
    const TWO: KeyId = KeyId([2; 24]);
    const DONE: Outcome = Outcome::Done { ended: 1 };

    fn at(millis: u64) -> Time {
        UnixSeconds(1_800_000_000).time() + Micros::from_millis(millis)
    }

    #[test]
    fn an_order_is_over_with_the_last_answer() {
        let mut orders = Orders::default();
        let reference = orders.next();
        let mut report = orders.gave(reference, [(7, ONE), (8, TWO)], at(0));
        assert!(orders.handle_acted(7, reference, &DONE, at(10)));
        assert!(report.try_recv().is_err());
        let failed = Outcome::Failed { reason: "the disk is full".to_owned() };
        assert!(orders.handle_acted(8, reference, &failed, at(20)));
        let failed = vec![(TWO, "the disk is full".to_owned())];
        assert_eq!(report.try_recv(), Ok(Report { done: vec![(ONE, 1)], failed, silent: vec![] }));
        assert_eq!(orders.poll_timeout(), None);
    }

    #[test]
    fn an_answer_counts_once_from_whom_it_is_awaited_and_for_its_own_order() {
        let mut orders = Orders::default();
        let (first, second) = (orders.next(), orders.next());
        let mut one = orders.gave(first, [(7, ONE), (8, TWO)], at(0));
        let mut two = orders.gave(second, [(7, ONE)], at(0));
        assert!(!orders.handle_acted(9, first, &DONE, at(1)), "it was not asked");
        assert!(!orders.handle_acted(7, 99, &DONE, at(1)), "that was not asked");
        assert!(!orders.handle_acted(7, AT_START, &DONE, at(1)), "nobody waits for it");
        assert!(orders.handle_acted(7, first, &DONE, at(1)));
        assert!(!orders.handle_acted(7, first, &DONE, at(1)), "it has answered");
        assert!(one.try_recv().is_err() && two.try_recv().is_err());
        assert!(orders.handle_acted(7, second, &DONE, at(1)));
        assert_eq!(two.try_recv().unwrap().done, [(ONE, 1)]);
    }

    #[test]
    fn whoever_is_gone_or_late_is_silent() {
        let mut orders = Orders::default();
        let reference = orders.next();
        let mut report = orders.gave(reference, [(7, ONE), (8, TWO)], at(0));
        orders.handle_gone(7, at(10));
        assert_eq!(orders.poll_timeout(), Some(at(3_000)));
        orders.handle_timeout(at(2_999));
        assert!(report.try_recv().is_err());
        orders.handle_timeout(at(3_000));
        assert_eq!(report.try_recv().unwrap().silent, [ONE, TWO]);
        assert!(!orders.handle_acted(8, reference, &DONE, at(3_001)), "nobody waits any more");
    }

    #[test]
    fn an_access_point_that_has_connected_anew_is_not_silent_for_its_old_channel() {
        let mut orders = Orders::default();
        let reference = orders.next();
        let mut report = orders.gave(reference, [(7, ONE), (8, ONE), (9, TWO), (10, TWO)], at(0));
        assert!(orders.handle_acted(8, reference, &DONE, at(10)));
        orders.handle_gone(7, at(20));
        orders.handle_timeout(at(3_000));
        let want = Report { done: vec![(ONE, 1)], failed: vec![], silent: vec![TWO] };
        assert_eq!(report.try_recv(), Ok(want));
    }

    #[test]
    fn without_access_points_it_is_over_at_once_and_the_oldest_of_too_many_waits_no_longer() {
        let mut orders = Orders::default();
        let reference = orders.next();
        assert_eq!(orders.gave(reference, [], at(0)).try_recv(), Ok(Report::default()));
        let mut reports = Vec::new();
        for _ in 0..=ORDERS_MAX {
            let reference = orders.next();
            reports.push(orders.gave(reference, [(7, ONE)], at(0)));
        }
        assert_eq!(reports[0].try_recv().unwrap().silent, [ONE]);
        assert!(reports[1].try_recv().is_err());
        assert_eq!(orders.open.len(), ORDERS_MAX);
    }
}
