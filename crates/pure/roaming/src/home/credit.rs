//! How much each visit may take: credit that is reserved for it with other homes, and slices of the allowance.
//!
//! Design note 0010. A visit begins on a slice of the allowance, and the home asks along chains of debts meanwhile; what is
//! reserved is told to the access point as it comes. Nothing is reserved before the visitor has proved its key.

mod config;
mod trials;
mod visit;

use crate::message::{Reference, Volume};
use guestright_credit::{
    Account, Allowance, AllowanceState, Event as HoldEvent, Hold, HoldId, HoldUse, Holds, Kept, Message,
    Proof, Signed, Terms, Token, Write,
};
use guestright_ordered::{OrderedMap, OrderedSet};
use guestright_receipt::SessionKey;
use guestright_reciprocity::{Chain, ChainQuery, ClassBounds, Graph, Ind, ServiceClass};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use rand::CryptoRng;
use std::collections::VecDeque;
pub(super) use trials::TrialQuestion;
use trials::Trials;
use visit::{Of, Slice, Visit};

pub use config::CreditConfig;

/// How the sentence begins that refuses for want of allowance: an access point shows it in other languages.
const USED_UP: &str = "this household has given away what it gives away for now";

/// Why somebody is served to whom nothing is owed, while the household wants it so.
pub(super) const EVERYBODY: &str = "this household serves everybody for now";

/// Whether a home's sentence says that nothing is left to give away.
pub fn is_used_up(reason: &str) -> bool {
    reason.starts_with(USED_UP)
}

/// Whether a home's sentence says that somebody is served because everybody is.
pub fn is_for_everybody(reason: &str) -> bool {
    reason.contains(EVERYBODY)
}

/// Of what is owed, a session that begins gets so much reserved at most (design note 0010).
const FIRST_AMOUNT: Bytes = Bytes(8_000_000);

/// How many teams a household may sponsor.
const SPONSORED_MAX: usize = 1_024;
/// How often chains are looked for, for one question.
const ROUNDS_MAX: u32 = 3;

/// The class of a guest for whom so much is reserved, by what its team owes us and what it asks for.
pub fn credit_class(account: Account, reserved: Bytes, asked: Bytes, bounds: ClassBounds) -> ServiceClass {
    if reserved == Bytes(0) {
        return ServiceClass::Lowest;
    }
    let debt = account.allowance_debt.saturating_add(account.overdraft());
    let ind = Ind::ratio(reserved.0, debt.saturating_add(asked).0);
    bounds.class(ind).unwrap_or(ServiceClass::Lowest)
}

/// What was kept of a home's credit and allowance. For a home that begins there is nothing.
#[derive(Clone, Debug, Default)]
pub struct KeptCredit {
    pub kept: Kept,
    pub allowance: Option<AllowanceState>,
    /// With what the household sponsors other teams.
    pub sponsored: Vec<(TeamId, Bytes)>,
}

/// How another home stands to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// There is a link.
    Up,
    /// There is none; it is known where the home may be.
    Known,
    /// It could not be reached: what was to be sent is lost.
    Unreachable,
    /// Nobody knows where it is.
    Unknown,
}

/// What an access point asks in a session.
#[derive(Clone, Debug)]
pub(super) struct SessionQuestion {
    pub(super) peer: super::Peer,
    pub(super) reference: Reference,
    pub(super) signed: Signed,
    pub(super) proof: Proof,
    pub(super) holds: bool,
    /// What the access point may still carry, and what it has carried that is not signed for.
    pub(super) left: Bytes,
    pub(super) unpaid: Bytes,
    /// Whether no more will come.
    pub(super) is_over: bool,
}

/// How a visitor may be served from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) class: ServiceClass,
    pub(super) volume: Volume,
    pub(super) reason: String,
}

/// What comes out.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output {
    /// To the access point that asked; nothing: no.
    Answer {
        peer: super::Peer,
        reference: Reference,
        grant: Result<Grant, String>,
    },
    Keep(Write),
    Send(TeamId, Message),
    Reserved {
        consumer: TeamId,
        amount: Bytes,
        between: Vec<TeamId>,
    },
}

#[derive(Debug)]
pub(super) struct Credit {
    config: CreditConfig,
    team: TeamId,
    holds: Holds,
    allowance: Allowance,
    /// What the household gives to single teams beyond the allowance, by its own choice, and has left for them.
    sponsored: OrderedMap<TeamId, Bytes>,
    /// Until then everybody is served, and the allowance stays as it is.
    everybody_until: Option<UnixSeconds>,
    visits: OrderedMap<SessionKey, Visit>,
    /// Which visit asked for each hold.
    asked: OrderedMap<HoldId, SessionKey>,
    neighbours: OrderedMap<TeamId, Neighbour>,
    /// HOLDs that wait for a link.
    unsent: OrderedMap<TeamId, Vec<HoldId>>,
    /// Visits for which a chain was refused: others are to be tried.
    refused: OrderedSet<SessionKey>,
    /// What was set aside for stations that nobody signs for.
    trials: Trials,
    outputs: VecDeque<Output>,
    written: Token,
}

impl Credit {
    pub(super) fn new(config: CreditConfig, team: TeamId, kept: KeptCredit, now: Time) -> Self {
        Self {
            team,
            holds: Holds::new(config.holds, team, kept.kept, now),
            allowance: Allowance::new(config.allowance, kept.allowance, now),
            sponsored: kept.sponsored.into_iter().collect(),
            everybody_until: None,
            visits: OrderedMap::new(),
            asked: OrderedMap::new(),
            neighbours: OrderedMap::new(),
            unsent: OrderedMap::new(),
            refused: OrderedSet::new(),
            trials: Trials::default(),
            outputs: VecDeque::new(),
            written: 0,
            config,
        }
    }

    pub(super) fn account(&self, team: TeamId) -> Account {
        self.holds.accounts().get(team)
    }

    /// Whether anything is or was owed between us and the team.
    pub(super) fn knows(&self, team: TeamId) -> bool {
        self.account(team) != Account::default()
    }

    pub(super) fn holds(&self) -> &Holds {
        &self.holds
    }

    /// Until then everybody is served, in the lowest class.
    pub(super) fn serve_everybody(&mut self, until: Option<UnixSeconds>) {
        self.everybody_until = until;
    }

    fn serves_everybody(&self, now: Time) -> bool {
        self.everybody_until.is_some_and(|until| now.unix_seconds() < until)
    }

    pub(super) fn allowance_left(&mut self, now: Time) -> Bytes {
        self.allowance.left(now)
    }

    /// From now on the household has so much for this team; nothing ends it.
    pub(super) fn sponsor(&mut self, team: TeamId, left: Bytes, now: Time) -> bool {
        if !self.sponsored.contains_key(&team) && self.sponsored.len() >= SPONSORED_MAX {
            return false;
        }
        self.set_sponsored(team, left);
        self.drain(now);
        true
    }

    pub(super) fn sponsored(&self) -> &OrderedMap<TeamId, Bytes> {
        &self.sponsored
    }

    fn sponsored_for(&self, team: TeamId) -> Bytes {
        self.sponsored.get(&team).copied().unwrap_or_default()
    }

    fn set_sponsored(&mut self, team: TeamId, left: Bytes) {
        if left == Bytes(0) {
            self.sponsored.remove(&team);
        } else {
            self.sponsored.insert(team, left);
        }
        self.holds.keep_sponsored(team, left);
    }

    /// From now on so much is lent and given away.
    pub(super) fn reconfigure(&mut self, config: CreditConfig) {
        self.holds.reconfigure(config.holds.overdraft, config.holds.takes_part);
        self.allowance.reconfigure(config.allowance);
        self.config.holds.overdraft = config.holds.overdraft;
        self.config.holds.takes_part = config.holds.takes_part;
        self.config.allowance = config.allowance;
    }

    pub(super) fn config(&self) -> &CreditConfig {
        &self.config
    }

    /// Whether a visitor of the team may begin, before it has proved its key; `shows`: whether it shows debts to it.
    pub(super) fn begin(&mut self, consumer: TeamId, shows: bool, now: Time) -> Result<Grant, String> {
        let min = self.config.slice_min;
        if self.serves_everybody(now) {
            let (class, volume) = (ServiceClass::Lowest, Volume::of_allowance(min));
            return Ok(Grant { class, volume, reason: EVERYBODY.to_owned() });
        }
        if self.sponsored_for(consumer) >= min
            || self.allowance.left(now) >= min
            || self.holds.accounts().spendable(consumer) >= min
            || shows
        {
            let reason = "it begins on what this household gives away; credit is asked for".to_owned();
            // Its first packets need not wait for the answer to the next question, which counts them.
            let allowance = if self.allowance.left(now) >= min { min } else { Bytes(0) };
            let volume = Volume::of_allowance(allowance);
            return Ok(Grant { class: ServiceClass::Lowest, volume, reason });
        }
        Err(self.used_up())
    }

    /// How a visitor of the team would be served if it came now, as far as this home knows by itself. Nothing is taken.
    pub(super) fn foretell(&mut self, consumer: TeamId, now: Time) -> Result<Grant, String> {
        let CreditConfig { slice_first, slice_min: min, bounds, amount_max, .. } = self.config;
        let sponsored = self.sponsored_for(consumer);
        let owed = self.holds.accounts().spendable(consumer).min(FIRST_AMOUNT).min(amount_max);
        let owed = if owed < Terms::AMOUNT_MIN.max(min) { Bytes(0) } else { owed };
        let class = credit_class(self.account(consumer), owed, owed, bounds);
        if self.serves_everybody(now) {
            let first = match owed {
                Bytes(0) => String::new(),
                owed => format!("{owed} to begin with of what this household owes your team, or lends it; "),
            };
            let reason = format!("{first}{EVERYBODY}, and what you use is owed");
            return Ok(Grant {
                class,
                volume: Volume::of_allowance(slice_first.saturating_add(owed)),
                reason,
            });
        }
        let (slice, whose) = if sponsored >= min {
            (sponsored.min(slice_first), "of what this household has for your team")
        } else {
            (self.allowance.next_slice(slice_first, now), "of what this household gives away")
        };
        let slice = if slice < min { Bytes(0) } else { slice };
        let reason = match (slice, owed) {
            (Bytes(0), Bytes(0)) => return Err(self.used_up()),
            (slice, Bytes(0)) => {
                format!("{slice} {whose} to begin with; what other households owe your team may add to it")
            }
            (Bytes(0), owed) => {
                format!("{owed} to begin with of what this household owes your team, or lends it")
            }
            (slice, owed) => {
                format!(
                    "{owed} to begin with of what this household owes your team, or lends it, and {slice} {whose}"
                )
            }
        };
        Ok(Grant { class, volume: Volume::of_allowance(slice.saturating_add(owed)), reason })
    }

    /// An access point asks how much more a session may take.
    pub(super) fn ask(
        &mut self,
        question: SessionQuestion,
        graph: &Graph,
        rng: &mut impl CryptoRng,
        now: Time,
    ) {
        let session = question.signed.session;
        if !self.visits.contains_key(&session) && self.visits.len() >= self.config.visits_max {
            self.forget_oldest();
        }
        let is_first = !self.visits.contains_key(&session);
        let visit = self.visits.entry(session).or_insert_with(|| Visit::new(question.clone(), now));
        visit.ask(question, now);
        if is_first {
            let begun_on = self.slice_for_all(self.config.slice_min, now);
            if let Some(visit) = self.visits.get_mut(&session) {
                visit.add(begun_on);
            }
        }
        self.reserve(session, graph, rng, now);
        let is_waiting = self.visits.get(&session).is_some_and(|visit| !visit.pending.is_empty());
        if is_first || !is_waiting {
            self.answer(session, now);
        }
        if let Some(visit) = self.visits.get_mut(&session).filter(|visit| !visit.is_answered) {
            visit.wait_until = Some(now + self.config.wait_max);
        }
        self.drain(now);
    }

    /// Tries other chains where one was refused. To be called after everything else that goes in.
    pub(super) fn try_again(&mut self, graph: &Graph, rng: &mut impl CryptoRng, now: Time) {
        while let Some(session) = self.refused.pop_first() {
            self.reserve(session, graph, rng, now);
            let visit = self.visits.get(&session);
            if visit.is_some_and(|visit| visit.pending.is_empty() && !visit.is_answered) {
                self.answer(session, now);
            }
            self.drain(now);
        }
    }

    /// How a session is served; nothing if it is not remembered.
    pub(super) fn class_of(&self, session: SessionKey) -> Option<ServiceClass> {
        self.visits.get(&session).map(|visit| visit.class)
    }

    /// The session is over: what was not used is free again.
    pub(super) fn finish(&mut self, session: SessionKey, unpaid: Bytes, now: Time) {
        if let Some(visit) = self.visits.remove(&session) {
            // What is counted nowhere was used first, from when there was such a thing.
            let since = visit.given_away.saturating_add(unpaid).saturating_sub(visit.given_before);
            let given_away = visit.given_before.saturating_add(since.saturating_sub(visit.uncounted));
            let unused = visit.slices.saturating_add(visit.sponsored).saturating_sub(given_away);
            // What was on a hold and is not signed for is given away too.
            let beyond = given_away.saturating_sub(visit.slices.saturating_add(visit.sponsored));
            self.slice_for_all(beyond, now);
            let of_team = Bytes(unused.0.min(visit.sponsored.0));
            if of_team > Bytes(0) {
                let team = visit.signed.consumer;
                self.set_sponsored(team, self.sponsored_for(team).saturating_add(of_team));
            }
            self.allowance.put_back(unused.saturating_sub(of_team));
            self.asked.retain(|_, asked_by| *asked_by != session);
        }
        self.holds.finish(session, now);
        self.drain(now);
    }

    /// Takes in a receipt that is durable: an access point's over what we served, or a member's over what it took.
    pub(super) fn handle_receipt(&mut self, signed: Signed, proof: Proof, now: Time) {
        let session = signed.session;
        let given_away = self.holds.handle_receipt(signed, proof.clone(), now);
        if let Some(visit) = self.visits.get_mut(&session) {
            visit.given_away = visit.given_away.saturating_add(given_away);
            visit.latest(signed, proof, now);
        }
        self.drain(now);
    }

    /// Takes in another home's message, with what its receipt says if it is genuine.
    pub(super) fn handle_message(
        &mut self,
        from: TeamId,
        message: Message,
        signed: Option<Signed>,
        now: Time,
    ) {
        self.holds.handle_message(from, message, signed, now);
        self.drain(now);
    }

    pub(super) fn handle_neighbour(&mut self, team: TeamId, state: Neighbour, now: Time) {
        if state == Neighbour::Unknown {
            self.neighbours.remove(&team);
        } else {
            self.neighbours.insert(team, state);
        }
        match state {
            Neighbour::Up => {
                self.unsent.remove(&team);
                self.holds.handle_connected(team, now);
            }
            Neighbour::Unreachable => {
                for id in self.unsent.remove(&team).unwrap_or_default() {
                    self.holds.handle_undelivered(id, now);
                }
            }
            Neighbour::Known | Neighbour::Unknown => {}
        }
        self.drain(now);
    }

    pub(super) fn handle_kept(&mut self, token: Token, now: Time) {
        self.written = self.written.max(token);
        self.holds.handle_written(token);
        self.drain(now);
    }

    /// The last write, and the last that is durable.
    pub(super) fn writes(&self) -> (Token, Token) {
        (self.holds.last_write(), self.written)
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let waiting = self.visits.values().filter_map(|visit| visit.wait_until);
        waiting.chain(self.holds.poll_timeout()).min()
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.holds.handle_timeout(now);
        let is_due = |visit: &Visit| visit.wait_until.is_some_and(|until| now >= until);
        let due: Vec<_> =
            self.visits.iter().filter(|(_, visit)| is_due(visit)).map(|(key, _)| *key).collect();
        for session in due {
            if let Some(visit) = self.visits.get_mut(&session) {
                visit.wait_until = None;
            }
            self.answer(session, now);
        }
        self.drain(now);
    }

    pub(super) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Reserves what the session may have, along the chains that can be found.
    fn reserve(&mut self, session: SessionKey, graph: &Graph, rng: &mut impl CryptoRng, now: Time) {
        let Some(visit) = self.visits.get_mut(&session) else { return };
        let (signed, proof) = (visit.signed, visit.proof.clone());
        if !visit.holds {
            return;
        }
        let wanted = self.holds.room(&signed).min(self.config.amount_max);
        let query = ChainQuery {
            provider: self.team,
            consumer: signed.consumer,
            bytes: wanted,
            bytes_min: self.config.slice_min.max(Terms::AMOUNT_MIN),
        };
        if visit.rounds >= ROUNDS_MAX {
            return;
        }
        visit.rounds += 1;
        let (accounts, neighbours, ceilings) = (self.holds.accounts(), &self.neighbours, &visit.ceilings);
        let spendable = |team: TeamId| {
            let can_be_asked = team == signed.consumer
                || neighbours.get(&team).is_some_and(|state| *state != Neighbour::Unreachable);
            if can_be_asked { accounts.spendable(team) } else { Bytes(0) }
        };
        let chains = graph.chains(query, self.config.chains, spendable);
        let end = now.unix_seconds().plus(self.config.grant_seconds.into());
        let amount =
            |chain: &Chain| ceilings.get(&chain.between).map_or(chain.bytes, |most| chain.bytes.min(*most));
        let chains: Vec<_> = chains.into_iter().map(|chain| (amount(&chain), chain.between)).collect();
        for (amount, between) in chains.into_iter().filter(|(amount, _)| *amount >= query.bytes_min) {
            let mut nonce = [0; 16];
            rng.fill_bytes(&mut nonce);
            let terms = Terms {
                provider: self.team,
                between: between.clone(),
                consumer: signed.consumer,
                amount,
                end,
                nonce,
            };
            let Ok(id) = self.holds.reserve(terms, proof.clone(), signed, now) else { continue };
            self.asked.insert(id, session);
            if let Some(visit) = self.visits.get_mut(&session) {
                visit.pending.insert(id);
                visit.ceilings.insert(between, Bytes(0));
            }
        }
    }

    /// Takes from the allowance, and has kept what is left of it.
    fn take_allowance(&mut self, want: Bytes, now: Time) -> Bytes {
        let (taken, state) = self.allowance.take(want, now);
        state.into_iter().for_each(|state| self.holds.keep_allowance(state));
        taken
    }

    /// Takes from the allowance, unless everybody is served.
    fn slice_for_all(&mut self, want: Bytes, now: Time) -> Slice {
        if self.serves_everybody(now) {
            return Slice { bytes: want, of: Of::Everybody };
        }
        Slice { bytes: self.take_allowance(want, now), of: Of::Allowance }
    }

    /// Takes a slice of what the household has for this team, or for all.
    fn slice(&mut self, team: TeamId, want: Bytes, now: Time) -> Slice {
        let min = self.config.slice_min;
        let left = self.sponsored_for(team);
        if left >= min && !self.serves_everybody(now) {
            let bytes = Bytes(want.0.min(left.0));
            self.set_sponsored(team, left.saturating_sub(bytes));
            return Slice { bytes, of: Of::Team };
        }
        let slice = self.slice_for_all(want, now);
        if slice.bytes < min {
            self.allowance.put_back(slice.bytes);
            return Slice { bytes: Bytes(0), ..slice };
        }
        slice
    }

    /// Answers with a slice of the allowance, less what the visit has left. If there is none, the answer waits for other
    /// homes as long as it may.
    fn answer(&mut self, session: SessionKey, now: Time) {
        let Some(visit) = self.visits.get(&session) else { return };
        let (first, max, min) = (self.config.slice_first, self.config.slice_max, self.config.slice_min);
        let (unused, consumer) = (visit.left, visit.signed.consumer);
        let want = Bytes(visit.signed.weight.0.saturating_mul(2)).max(first).min(max).saturating_sub(unused);
        let slice = if want >= min {
            self.slice(consumer, want, now)
        } else {
            Slice { bytes: Bytes(0), of: Of::Allowance }
        };
        let Some(visit) = self.visits.get_mut(&session) else { return };
        let waits = !visit.pending.is_empty() && visit.wait_until.is_none_or(|until| now < until);
        if slice.bytes == Bytes(0) && waits && !visit.is_answered {
            return;
        }
        visit.add(slice);
        visit.left = visit.left.saturating_add(slice.bytes);
        let (peer, reference, class) = (visit.peer, visit.reference, visit.class);
        (visit.is_answered, visit.wait_until) = (true, None);
        let grant = if slice.bytes == Bytes(0) && unused < min {
            Err(self.used_up())
        } else {
            let reason = match slice {
                Slice { bytes: Bytes(0), .. } => format!("it has {unused} left"),
                Slice { bytes, of: Of::Team } => format!("{bytes} of what this household has for your team"),
                Slice { bytes, of: Of::Allowance } => format!("{bytes} of what this household gives away"),
                Slice { of: Of::Everybody, .. } => EVERYBODY.to_owned(),
            };
            Ok(Grant { class, volume: Volume::of_allowance(slice.bytes), reason })
        };
        self.outputs.push_back(Output::Answer { peer, reference, grant });
    }

    /// Tells the access point what is reserved.
    fn reserved(&mut self, session: SessionKey, hold: HoldUse) {
        let between = self.between(hold.id);
        let Some(visit) = self.visits.get_mut(&session) else { return };
        (visit.is_answered, visit.wait_until) = (true, None);
        visit.reserved = visit.reserved.saturating_add(hold.weight);
        visit.left = visit.left.saturating_add(hold.weight);
        let (peer, reference, consumer) = (visit.peer, visit.reference, visit.signed.consumer);
        let total = visit.reserved;
        let class = self.class(consumer, total);
        if let Some(visit) = self.visits.get_mut(&session) {
            visit.class = class;
        }
        let reason = format!("{} are reserved on what households owe each other", hold.weight);
        let volume = Volume { holds: vec![hold], between: between.clone(), ..Volume::default() };
        let grant = Grant { class, volume, reason };
        self.outputs.push_back(Output::Answer { peer, reference, grant: Ok(grant) });
        self.outputs.push_back(Output::Reserved { consumer, amount: hold.weight, between });
    }

    /// What is reserved over what the team owes us and asks for (economics of the papers' ratio, for priority only).
    fn class(&self, consumer: TeamId, reserved: Bytes) -> ServiceClass {
        credit_class(self.account(consumer), reserved, reserved, self.config.bounds)
    }

    fn used_up(&self) -> String {
        let per_day = self.config.allowance.per_day;
        format!("{USED_UP} ({per_day} a day), and owes your team nothing; some of it comes back each hour")
    }

    /// Carries what the machine of the holds says outward.
    fn drain(&mut self, now: Time) {
        while let Some(write) = self.holds.poll_write() {
            self.outputs.push_back(Output::Keep(write));
        }
        while let Some((to, message)) = self.holds.poll_transmit() {
            if let Message::Hold { terms, .. } = &message
                && self.neighbours.get(&to) != Some(&Neighbour::Up)
            {
                self.unsent.entry(to).or_default().push(terms.id());
            }
            self.outputs.push_back(Output::Send(to, message));
        }
        while let Some(event) = self.holds.poll_event() {
            self.handle_event(event, now);
        }
        while let Some(write) = self.holds.poll_write() {
            self.outputs.push_back(Output::Keep(write));
        }
    }

    fn handle_event(&mut self, event: HoldEvent, now: Time) {
        let (HoldEvent::Good { id, .. } | HoldEvent::Refused { id, .. }) = event;
        let Some(session) = self.asked.remove(&id) else {
            // Nobody waits for it any more.
            return self.holds.give_up(id, now);
        };
        let Some(visit) = self.visits.get_mut(&session) else {
            return self.holds.give_up(id, now);
        };
        visit.pending.remove(&id);
        match event {
            HoldEvent::Good { id, amount } => self.reserved(session, HoldUse { id, weight: amount }),
            HoldEvent::Refused { between, available, .. } => {
                visit.ceilings.insert(between, available);
                self.refused.insert(session);
            }
        }
    }

    fn between(&self, id: HoldId) -> Vec<TeamId> {
        let mut holds = self.holds.holds();
        holds
            .find(|(other, _)| *other == id)
            .map(|(_, hold): (_, &Hold)| hold.terms.between.clone())
            .unwrap_or_default()
    }

    fn forget_oldest(&mut self) {
        if let Some(session) = self.visits.iter().min_by_key(|(_, visit)| visit.seen).map(|(key, _)| *key) {
            self.visits.remove(&session); // Its slices count as used.
        }
    }
}
