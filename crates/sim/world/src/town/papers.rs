//! A visit by the papers' policies: a ratio of flows over the receipts that the home knows, and then all that is wanted.

use super::home::{number, team};
use super::people::{Trip, bytes, count};
use super::settings::{Cheat, Rule, TownSettings};
use super::world::{Name, World};
use guestright_engine::{Instant, Stream, Streams};
use guestright_reciprocity::{
    Basis, Decision, Graph, JudgeConfig, PerMille, Policy, Scratch, ServiceClass, Verdict,
};
use guestright_replay::ByReceipts;
use guestright_units::{Bytes, TeamId};
use std::collections::BTreeMap;

/// What a made-up receipt says.
const CLAIMED: u64 = 2_000_000_000;

/// What a home gave somebody in all, and when last.
#[derive(Clone, Copy, Debug)]
struct Gave {
    bytes: u64,
    at: Instant,
}

#[derive(Clone, Debug)]
struct PaperHome {
    decides: ByReceipts,
    gave: BTreeMap<Name, Gave>,
}

#[derive(Debug)]
pub(super) struct Papers {
    homes: Vec<PaperHome>,
    scratch: Scratch,
    chance: Stream,
    shown_max: usize,
    request: Bytes,
    stranger: u64,
}

/// What a visit got.
#[derive(Clone, Copy, Debug)]
struct Granted {
    bytes: u64,
    /// Whether somebody owed it to the guest.
    on_credit: bool,
    class: Option<ServiceClass>,
    decision: Decision,
}

impl Papers {
    pub(super) fn new(settings: &TownSettings, streams: &Streams) -> Self {
        let papers = &settings.papers;
        let policy = match settings.policy {
            Rule::Credit | Rule::Srm => Policy::Srm,
            Rule::NetFlow => {
                Policy::NetFlow { sigma: PerMille(papers.sigma), kappa: Bytes(bytes(papers.kappa_mb)) }
            }
            Rule::Quota => Policy::Quota { bytes: Bytes(bytes(papers.quota_mb)) },
            Rule::Gmf => Policy::Gmf { gain: PerMille(papers.gain) },
        };
        let judge = JudgeConfig { policy, ..JudgeConfig::default() };
        let home =
            |number| PaperHome { decides: ByReceipts::new(judge, team(number)), gave: BTreeMap::new() };
        Self {
            homes: (0..settings.people.homes).map(home).collect(),
            scratch: Scratch::new(),
            chance: streams.stream("papers", 0),
            shown_max: settings.credit.shown_max,
            request: Bytes(bytes(papers.request_mb)),
            stranger: bytes(papers.stranger_mb),
        }
    }

    #[cfg(test)]
    pub(super) fn set_home(&mut self, number: u32, decides: ByReceipts) {
        self.homes[number as usize].decides = decides;
    }

    pub(super) fn begin_day(&mut self, flood: bool) {
        for (home, index) in self.homes.iter_mut().zip(0_u32..) {
            home.decides.begin_day();
            if flood {
                let own = |edge: &TeamId| number(*edge) == index;
                let edges: Vec<_> = home
                    .decides
                    .graph()
                    .edges()
                    .filter(|edge| own(&edge.consumer) || own(&edge.provider))
                    .map(|edge| (edge.consumer, edge.provider, edge.bytes))
                    .collect();
                home.decides.set_graph(Graph::from_edges(edges));
            }
        }
    }

    /// A guest took so much somewhere: both homes know. `decision`: by which the provider served, if it decides by anything.
    pub(super) fn note(
        &mut self,
        guest: Name,
        provider: Name,
        bytes: u64,
        decision: Option<&Decision>,
        now: Instant,
    ) {
        if let Some(home) = self.homes.get_mut(provider as usize) {
            match decision {
                Some(decision) => home.decides.served(team(guest), Bytes(bytes), decision),
                None => home.decides.learned(team(guest), team(provider), Bytes(bytes)),
            }
        }
        if let Some(home) = self.homes.get_mut(guest as usize) {
            home.decides.consumed(team(provider), Bytes(bytes));
        }
        if let Some(home) = self.homes.get_mut(provider as usize) {
            let gave = home.gave.entry(guest).or_insert(Gave { bytes: 0, at: now });
            *gave = Gave { bytes: gave.bytes + bytes, at: now };
        }
    }

    /// The receipts that a member takes along: of the latest teams that its home served.
    fn shown(&self, guest: Name) -> Vec<(Name, Name, u64)> {
        let Some(home) = self.homes.get(guest as usize) else { return Vec::new() };
        let mut all: Vec<_> = home.gave.iter().collect();
        all.sort_by_key(|(debtor, gave)| (std::cmp::Reverse(gave.at), **debtor));
        all.into_iter().take(self.shown_max).map(|(debtor, gave)| (*debtor, guest, gave.bytes)).collect()
    }

    /// Takes in what a guest shows. Says what of it is new.
    fn accept(&mut self, provider: Name, shown: &[(Name, Name, u64)]) -> Vec<(Name, Name, u64)> {
        let decides = &mut self.homes[provider as usize].decides;
        let mut learned = Vec::new();
        for &(consumer, giver, bytes) in shown {
            let known = decides.graph().capacity(team(consumer), team(giver));
            let new = Bytes(bytes).saturating_sub(known);
            decides.learned(team(consumer), team(giver), new);
            learned.push((consumer, giver, new.0));
        }
        learned
    }

    fn decide(&mut self, guest: Name, provider: Name, wants: u64) -> Granted {
        let decides = &self.homes[provider as usize].decides;
        let decision = decides.decide(team(guest), self.request, &mut self.scratch, &mut self.chance);
        let class = match decision.verdict {
            Verdict::Granted(class) => Some(class),
            Verdict::Refused => None,
        };
        let is_stranger = matches!(decision.basis, Basis::Stranger { .. });
        let bytes = match class {
            None => 0,
            Some(_) if is_stranger => wants.min(self.stranger),
            Some(_) => wants,
        };
        Granted { bytes, on_credit: !is_stranger, class, decision }
    }
}

/// An honest guest at an honest home.
pub(super) fn visit(world: &mut World<'_>, trip: Trip) {
    let now = world.now();
    let Some(papers) = &mut world.papers else { return };
    let shown = papers.shown(trip.guest);
    let learned = papers.accept(trip.provider, &shown);
    let granted = papers.decide(trip.guest, trip.provider, trip.wants);
    #[cfg(test)]
    keep_past(world, trip, &learned, granted, now);
    #[cfg(not(test))]
    drop(learned);
    let Some(papers) = &mut world.papers else { return };
    if granted.bytes > 0 {
        papers.note(trip.guest, trip.provider, granted.bytes, Some(&granted.decision), now);
    }
    tally(world, false, granted);
    world.tally.visited(trip.guest, trip.wants, granted.bytes, granted.class, now);
}

#[cfg(test)]
fn keep_past(
    world: &mut World<'_>,
    trip: Trip,
    learned: &[(Name, Name, u64)],
    granted: Granted,
    now: Instant,
) {
    let Trip { guest, provider, wants, .. } = trip;
    let Granted { bytes: got, class, .. } = granted;
    if world.past.home == Some(provider) {
        learned.iter().for_each(|&(consumer, giver, new)| world.past.signed(consumer, giver, new, now));
    }
    if [guest, provider].map(Some).contains(&world.past.home) {
        world.past.signed(guest, provider, got, now);
    }
    world.past.decided(provider, super::past::Decided { guest, wants, got, class });
}

/// Somebody of the coalition at an honest home, under one name after another if it is patient.
pub(super) fn attempt(world: &mut World<'_>, provider: u32, wants: u64) {
    let now = world.now();
    let cheat = world.settings.coalition.cheat;
    let tries = if cheat == Cheat::Dice { world.settings.coalition.tries } else { 1 };
    for _ in 0..tries {
        let name = world.coalition.fresh();
        let home = world.coalition.homes.first().copied().filter(|_| cheat.vouches());
        let Some(papers) = &mut world.papers else { return };
        if let Some(home) = home {
            let mut shown = papers.shown(home);
            if cheat == Cheat::SpoofedDebts {
                // Debts of others cannot be made up: their members have not signed. Those of other names can.
                let made_up = (0..32).map(|number| (count(papers.homes.len()) + number, name, CLAIMED));
                shown.extend(made_up);
            }
            if cheat == Cheat::Ring {
                let ring = world.coalition.fresh();
                shown.extend([(home, ring, CLAIMED), (ring, name, CLAIMED), (name, ring, CLAIMED)]);
            } else {
                shown.push((home, name, CLAIMED));
            }
            papers.accept(provider, &shown);
        }
        let granted = papers.decide(name, provider, wants);
        if granted.bytes > 0 {
            papers.note(name, provider, granted.bytes, Some(&granted.decision), now);
        }
        tally(world, true, granted);
        world.tally.attempted(granted.bytes);
        if granted.bytes > 0 {
            return;
        }
    }
}

/// A guest took so much at the coalition's home.
pub(super) fn note(world: &mut World<'_>, guest: Name, provider: Name, bytes: u64) {
    let now = world.now();
    if let Some(papers) = &mut world.papers {
        papers.note(guest, provider, bytes, None, now);
    }
}

fn tally(world: &mut World<'_>, hostile: bool, granted: Granted) {
    let (credit, strangers) = if granted.on_credit { (granted.bytes, 0) } else { (0, granted.bytes) };
    world.tally.served(hostile, credit, strangers);
}
