//! One visit by design note 0010: on the allowance at once, on credit as soon as homes have reserved it.

use super::home::{Served, team};
use super::papers;
use super::people::{bytes, count};
use super::search::{Known, Path, Search};
use super::settings::Rule;
use super::world::{Event, Name, World};
use crate::whole::nanos;
use guestright_credit::{Event as HoldEvent, HoldError, HoldId, Signed, Terms};
use guestright_engine::{Instant, Nanos};
use guestright_identity::MemberId;
use guestright_receipt::{HoldUse, SessionKey};
use guestright_reciprocity::{ClassBounds, ServiceClass};
use guestright_roaming::home::credit_class;
use guestright_units::Bytes;
use rand::RngExt as _;
use std::collections::BTreeMap;

/// A grant is for this much at first, then for twice what was signed, up to the second.
const WANT_MIN: u64 = 8_000_000;
const WANT_MAX: u64 = 64_000_000;
/// A further slice of the allowance is no smaller than this.
const SLICE_MIN: u64 = 1_000_000;
/// How long a grant lasts, in seconds.
const GRANT: u64 = 300;

/// Somebody at somebody else's access point.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) guest: Name,
    pub(super) provider: Name,
    pub(super) wants: u64,
    pub(super) got: u64,
    pub(super) session: SessionKey,
    pub(super) class: Option<ServiceClass>,
    /// What of it was on the allowance.
    allowance: u64,
    /// What is left of the allowance's slice, and how many there were.
    slice: u64,
    slices: u32,
    grant: Option<Grant>,
    /// dice: under how many more names.
    pub(super) tries: u32,
}

/// What is reserved, or being reserved, for the next bytes.
#[derive(Debug)]
struct Grant {
    began: Instant,
    want: u64,
    rounds: u32,
    pending: BTreeMap<HoldId, Path>,
    good: Vec<(HoldId, u64)>,
    known: Known,
    /// Whether another home was asked.
    remote: bool,
    /// How it is used, once that is decided.
    used: Option<Used>,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    credit: u64,
    allowance: u64,
}

impl Grant {
    fn reserved(&self) -> u64 {
        self.good.iter().map(|(_, bytes)| bytes).sum()
    }
}

/// A session that begins now, of a member that is told apart by its number.
pub(super) fn session(provider: Name, member: u32, now: Instant) -> SessionKey {
    let mut id = [0; 24];
    id[..4].copy_from_slice(&member.to_be_bytes());
    SessionKey { provider: team(provider), member: MemberId(id), started: now.time().unix_seconds() }
}

impl World<'_> {
    pub(super) fn begin_trip(&mut self, trip: usize) {
        let trip = self.people.trips[trip];
        self.tally.outing(trip.guest, self.now());
        if self.is_hostile(trip.provider) {
            self.begin_at_coalition(trip);
        } else if self.settings.policy == Rule::Credit {
            let shown =
                self.homes[trip.guest as usize].shown(self.settings.credit.shown_max, &mut self.chance);
            let now = self.now();
            let home = &mut self.homes[trip.provider as usize];
            let given = home.holds.accounts().get(team(trip.guest)).given.0;
            home.hints.accept(&shown, given, now);
            self.begin_visit(trip.guest, trip.provider, trip.wants, 0);
        } else {
            papers::visit(self, trip);
        }
    }

    /// Somebody comes to an honest home, after having shown what there is to show.
    pub(super) fn begin_visit(&mut self, guest: Name, provider: Name, wants: u64, tries: u32) {
        let id = self.new_visit(guest, provider, wants, tries);
        self.take_slice(id);
        self.begin_grant(id);
    }

    pub(super) fn new_visit(&mut self, guest: Name, provider: Name, wants: u64, tries: u32) -> u32 {
        self.visits_made += 1;
        let id = self.visits_made;
        let session = session(provider, id, self.now());
        let visit = Visit {
            guest,
            provider,
            wants,
            got: 0,
            session,
            class: None,
            allowance: 0,
            slice: 0,
            slices: 0,
            grant: None,
            tries,
        };
        self.visits.insert(id, visit);
        id
    }

    /// A slice of the allowance, if the visit may still have one.
    fn take_slice(&mut self, id: u32) {
        let now = self.now();
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let slices_max = self.settings.credit.slices_max;
        if visit.slice > 0 || (slices_max > 0 && visit.slices >= slices_max) {
            return;
        }
        let home = &mut self.homes[visit.provider as usize];
        visit.slice = home.slice(now);
        visit.slices += 1;
        if visit.slices > 1 && visit.slice < SLICE_MIN {
            // Nearly nothing is left. Without this a guest would wait for each byte that comes in.
            home.put_back(std::mem::take(&mut visit.slice));
        }
    }

    fn begin_grant(&mut self, id: u32) {
        let began = self.now();
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let want = (2 * visit.got).clamp(WANT_MIN, WANT_MAX);
        visit.grant = Some(Grant {
            began,
            want,
            rounds: 0,
            pending: BTreeMap::new(),
            good: Vec::new(),
            known: Known::new(),
            remote: false,
            used: None,
        });
        self.reserve(id);
        let is_waiting = self.grant(id).is_some_and(|grant| grant.used.is_none());
        if is_waiting {
            let wait = Nanos::from_millis(self.settings.credit.wait_ms);
            self.queue.push(began + wait, Event::Deadline { visit: id, began });
        }
    }

    fn grant(&mut self, id: u32) -> Option<&mut Grant> {
        self.visits.get_mut(&id)?.grant.as_mut()
    }

    /// One round: finds paths and asks for them.
    fn reserve(&mut self, id: u32) {
        let paths = self.search(id);
        let end = self.now().time().unix_seconds().plus(GRANT);
        for path in paths {
            let Some(visit) = self.visits.get(&id) else { return };
            let (provider, guest, session, got) = (visit.provider, visit.guest, visit.session, visit.got);
            let terms = Terms {
                provider: team(provider),
                between: path.between.iter().copied().map(team).collect(),
                consumer: team(guest),
                amount: Bytes(path.bytes),
                end,
                nonce: self.chance.random::<u128>().to_be_bytes(),
            };
            let signed =
                Signed { session, consumer: team(guest), weight: Bytes(got), hold: None, on_holds: Bytes(0) };
            let proof = self.sign(signed);
            let now = self.now().time();
            let home = &mut self.homes[provider as usize];
            let reserved = home.holds.reserve(terms, proof, signed, now);
            let output = home.drain();
            match reserved {
                Ok(hold) => {
                    self.asked.insert(hold, id);
                    self.tally.reservations += u64::from(count(path.between.len()));
                    if let Some(grant) = self.grant(id) {
                        grant.remote |= !path.between.is_empty();
                        grant.pending.insert(hold, path);
                    }
                }
                Err(error) => self.tally.refused(&error),
            }
            self.speak(provider, output);
        }
        self.end_round(id);
    }

    fn search(&mut self, id: u32) -> Vec<Path> {
        let credit = &self.settings.credit;
        let now = self.queue.now();
        let Some(visit) = self.visits.get_mut(&id) else { return Vec::new() };
        let home = &self.homes[visit.provider as usize];
        let (provider, consumer) = (visit.provider, visit.guest);
        let Some(grant) = visit.grant.as_mut().filter(|grant| grant.rounds < credit.rounds_max && home.up)
        else {
            return Vec::new();
        };
        grant.rounds += 1;
        let missing = grant.want.saturating_sub(grant.reserved());
        let least = Terms::AMOUNT_MIN.0;
        if missing < least {
            return Vec::new();
        }
        let mut spendable = home.spendable(consumer, least, now);
        let mut search = Search {
            provider,
            consumer,
            spendable: &mut spendable,
            hints: &home.hints,
            known: &mut grant.known,
            // Whoever has no links to others settles what it owes itself.
            arcs_max: if home.silent { 1 } else { credit.arcs_max },
            least,
        };
        search.paths(credit.paths_max, missing, &mut self.scratch)
    }

    pub(super) fn visit_of(&self, event: &HoldEvent) -> Option<u32> {
        let (HoldEvent::Good { id, .. } | HoldEvent::Refused { id, .. }) = event;
        self.asked.get(id).copied()
    }

    /// A hold was reserved, or was not.
    pub(super) fn note_hold(&mut self, event: HoldEvent) {
        let Some(id) = self.visit_of(&event) else { return };
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let (provider, guest) = (visit.provider, visit.guest);
        let Some(grant) = visit.grant.as_mut().filter(|grant| grant.used.is_none()) else { return };
        match event {
            HoldEvent::Good { id: hold, amount } => {
                if grant.pending.remove(&hold).is_some() {
                    grant.good.push((hold, amount.0));
                }
            }
            HoldEvent::Refused { id: hold, available, .. } => {
                self.tally.refused(&HoldError::Insufficient { available });
                self.asked.remove(&hold);
                let Some(path) = grant.pending.remove(&hold) else { return };
                let ends = path.between.iter().copied().skip(1).chain([guest]);
                for arc in path.between.iter().copied().zip(ends) {
                    // Nobody says which home it was; with one home between, there is no question.
                    grant.known.insert(arc, available.0);
                }
                if let [debtor] = path.between[..] {
                    self.homes[provider as usize].hints.correct(debtor, guest, available.0);
                }
            }
        }
    }

    /// Asks once more, or begins to serve, if there is nothing to wait for.
    pub(super) fn end_round(&mut self, id: u32) {
        let rounds_max = self.settings.credit.rounds_max;
        let Some(grant) = self.grant(id).filter(|grant| grant.pending.is_empty() && grant.used.is_none())
        else {
            return;
        };
        let missing = grant.want.saturating_sub(grant.reserved());
        // The first round found nothing, or it found all: neither gets better.
        let asks_again = grant.remote && missing >= Terms::AMOUNT_MIN.0 && grant.rounds < rounds_max;
        if asks_again {
            let before = grant.rounds;
            self.reserve_again(id, before);
        } else {
            self.serve(id);
        }
    }

    fn reserve_again(&mut self, id: u32, before: u32) {
        self.reserve(id);
        let is_stuck = self.grant(id).is_some_and(|grant| grant.rounds == before && grant.used.is_none());
        if is_stuck {
            self.serve(id);
        }
    }

    pub(super) fn end_waiting(&mut self, id: u32, began: Instant) {
        let now = self.now();
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let provider = visit.provider;
        let Some(grant) = visit.grant.as_mut().filter(|grant| grant.began == began && grant.used.is_none())
        else {
            return;
        };
        let home = &mut self.homes[provider as usize];
        for (hold, path) in std::mem::take(&mut grant.pending) {
            self.asked.remove(&hold);
            home.holds.give_up(hold, now.time());
            match path.between[..] {
                [debtor] => home.avoid(debtor, now),
                // Which of them it was is not known; another way there is tried first.
                [first, second, ..] => home.hints.correct(first, second, 0),
                [] => {}
            }
        }
        let output = home.drain();
        self.speak(provider, output);
        self.serve(id);
    }

    /// Decides what the next bytes are: what passed while it waited is the allowance's, then credit, then the allowance.
    fn serve(&mut self, id: u32) {
        let now = self.now();
        let line = self.settings.people.line_mbps * 1e6 / 8.0;
        let Some(visit) = self.visits.get_mut(&id) else { return };
        let Some(grant) = &mut visit.grant else { return };
        let waited = now.since(grant.began);
        if grant.remote {
            self.tally.waited(waited);
        }
        let left = visit.wants - visit.got;
        let waiting = bytes(waited.as_seconds() * line / 1e6).min(visit.slice).min(left);
        let reserved = grant.reserved();
        let credit = reserved.min(left - waiting);
        let rest = (left - waiting - credit).min(visit.slice - waiting);
        let allowance = waiting + rest.min(grant.want.saturating_sub(waiting + credit));
        grant.used = Some(Used { credit, allowance });
        visit.slice -= allowance;
        if visit.class.is_none() && credit + allowance > 0 {
            let account = self.homes[visit.provider as usize].holds.accounts().get(team(visit.guest));
            let (reserved, asked) = (Bytes(reserved), Bytes(grant.want));
            visit.class = Some(credit_class(account, reserved, asked, ClassBounds::default()));
        }
        let after = nanos((credit + allowance - waiting) as f64 / line * 1e9);
        self.queue.push(now + after, Event::Served(id));
    }

    /// The guest has signed for what a grant gave, and the provider cashes it.
    pub(super) fn finish_grant(&mut self, id: u32) {
        let now = self.now();
        let Some(visit) = self.visits.get_mut(&id) else { return };
        if !self.homes[visit.provider as usize].up {
            // Its access point has the receipts; they are cashed when it is back.
            let later = now + Nanos::from_seconds(600);
            return self.queue.push(later, Event::Served(id));
        }
        let Some(Grant { used: Some(used), good, .. }) = visit.grant.take() else { return };
        let Used { credit, allowance } = used;
        visit.got += credit + allowance;
        visit.allowance += allowance;
        let allowance_of_session = visit.allowance;
        let (provider, guest, session, got) = (visit.provider, visit.guest, visit.session, visit.got);
        let is_done = visit.got >= visit.wants;
        self.cash(provider, guest, session, got, &good, credit);
        let served = Served { credit, allowance, allowance_of_session };
        self.homes[provider as usize].served(session, guest, served, now);
        self.tally.served(self.is_hostile(guest), credit, allowance);
        if !self.is_hostile(guest) {
            let home = &mut self.homes[guest as usize];
            home.signed(provider, credit + allowance, allowance);
            let output = home.drain();
            self.speak(guest, output);
        }
        let output = self.homes[provider as usize].drain();
        self.speak(provider, output);
        if is_done || credit + allowance == 0 {
            return self.finish_visit(id);
        }
        self.take_slice(id);
        self.begin_grant(id);
    }

    /// One receipt for each hold. What of a hold was not used is free again.
    fn cash(
        &mut self,
        provider: Name,
        guest: Name,
        session: SessionKey,
        got: u64,
        good: &[(HoldId, u64)],
        credit: u64,
    ) {
        let now = self.now().time();
        let mut left = credit;
        for &(hold, amount) in good {
            let used = amount.min(left);
            left -= used;
            self.asked.remove(&hold);
            #[cfg(test)]
            if let Some((_, kept)) = self.homes[provider as usize].holds.holds().find(|(id, _)| *id == hold) {
                self.past.paid(session, &kept.terms, used);
            }
            if used == 0 {
                self.homes[provider as usize].holds.give_up(hold, now);
                continue;
            }
            let signed = Signed {
                session,
                consumer: team(guest),
                weight: Bytes(got),
                hold: Some(HoldUse { id: hold, weight: Bytes(used) }),
                on_holds: Bytes(credit),
            };
            let proof = self.sign(signed);
            if let Err(error) = self.homes[provider as usize].holds.commit(hold, proof, &signed, now) {
                self.tally.uncommitted += used;
                self.tally.refused(&error);
            }
        }
    }

    fn finish_visit(&mut self, id: u32) {
        let Some(visit) = self.visits.remove(&id) else { return };
        self.homes[visit.provider as usize].put_back(visit.slice);
        #[cfg(test)]
        self.keep_past(&visit);
        if self.is_hostile(visit.guest) {
            self.try_again(&visit);
        } else {
            let class = visit.class.filter(|_| visit.got > 0);
            self.tally.visited(visit.guest, visit.wants, visit.got, class, self.queue.now());
        }
    }

    #[cfg(test)]
    fn keep_past(&mut self, visit: &Visit) {
        let Visit { guest, provider, wants, got, session, .. } = *visit;
        let class = visit.class.filter(|_| got > 0);
        self.past.decided(provider, super::past::Decided { guest, wants, got, class });
        self.past.visited(session, guest, got, got - visit.allowance);
    }
}
