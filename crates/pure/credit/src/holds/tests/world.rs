//! Honest homes, a network that loses, repeats and reorders, and the sums that no run may break.

use super::Mutant;
use super::check::{self, Cause, Snapshot, Violation, require};
use super::home::Home;
use super::hostile::Hostile;
use super::visit::Visit;
use crate::account::Overdraft;
use crate::holds::{Config, Event, HoldState, Holds};
use crate::message::{Message, Proof, Signed};
use crate::terms::Terms;
use guestright_receipt::HoldId;
use guestright_units::{Bytes, Micros, TeamId, Time};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const SECOND: u64 = 1_000_000;
/// How often access points deliver what their homes have not acknowledged.
const DELIVERS_EVERY: Micros = Micros::from_seconds(60);
const HOUR: u64 = 3_600 * SECOND;

/// One run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    pub(super) honest: u8,
    pub(super) hostile: u8,
    pub(super) overdraft: Overdraft,
    pub(super) steps: usize,
    /// Homes and links are away for days, and homes never come back.
    pub(super) outages: bool,
    /// How often, in percent, a home is killed before or after a write.
    pub(super) kill_percent: u32,
    /// The one write, counting twice for before and after, at which a home is killed besides.
    pub(super) kill_at: Option<u64>,
    pub(super) mutant: Option<Mutant>,
    /// Only the sums over all homes are looked at, not what each call changes.
    pub(super) sums_only: bool,
}

impl Default for Setup {
    fn default() -> Self {
        let overdraft = Overdraft { per_team: true, total: Bytes(1_500_000) };
        Self {
            honest: 7,
            hostile: 5,
            overdraft,
            steps: 400,
            outages: false,
            kill_percent: 2,
            kill_at: None,
            mutant: None,
            sums_only: false,
        }
    }
}

/// Bytes that really moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// By hostile names from honest homes, on credit.
    pub(super) taken: u64,
    /// By hostile names to each honest home's members, by their signatures.
    pub(super) given: Vec<u64>,
    /// Served by each honest home on credit, to anybody.
    pub(super) served: Vec<u64>,
    /// Received by each honest home's members.
    pub(super) received: Vec<u64>,
    /// Served by each honest home and not committed in time, since it was away.
    pub(super) lost: Vec<u64>,
    /// Committed at one honest home, while the next was away until its hold had ended.
    pub(super) late: u64,
    /// Transfers on credit between honest homes that were paid.
    pub(super) transfers: u64,
    /// Homes that were killed before or after a write.
    pub(super) kills: u64,
    /// Writes, counted before and after each.
    pub(super) writes: u64,
}

impl Sums {
    pub(super) fn given(&self) -> u64 {
        self.given.iter().sum()
    }
}

#[derive(Clone)]
struct Packet {
    at: Time,
    from: TeamId,
    to: TeamId,
    message: Message,
}

/// A receipt that somebody really signed.
pub(super) struct Receipt {
    pub(super) signed: Signed,
    /// Whether hostile names have seen it.
    pub(super) is_known: bool,
}

pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) rng: ChaCha8Rng,
    pub(super) now: Time,
    pub(super) homes: Vec<Home>,
    pub(super) hostile: Hostile,
    pub(super) visits: Vec<Visit>,
    pub(super) sums: Sums,
    pub(super) receipts: Vec<Receipt>,
    network: Vec<Packet>,
    /// What honest homes sent to each other lately, for repeating it.
    sent: Vec<Packet>,
    /// When all access points delivered their receipts.
    delivered_at: Time,
    is_quiet: bool,
}

pub(super) fn honest_team(number: u8) -> TeamId {
    TeamId([number + 1; 24])
}

impl World {
    pub(super) fn new(setup: Setup, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let now = Time(1_800_000_000 * SECOND);
        let config = Config { overdraft: setup.overdraft, ..Config::default() };
        let homes: Vec<_> = (0..setup.honest)
            .map(|number| {
                let skew = Micros(rng.random_range(0..300 * SECOND));
                Home::new(honest_team(number), config, setup.mutant, skew, now)
            })
            .collect();
        let zeros = vec![0; homes.len()];
        let sums = Sums {
            given: zeros.clone(),
            served: zeros.clone(),
            received: zeros.clone(),
            lost: zeros,
            ..Sums::default()
        };
        Self {
            setup,
            rng,
            now,
            homes,
            hostile: Hostile::new(setup.hostile),
            visits: Vec::new(),
            sums,
            receipts: Vec::new(),
            network: Vec::new(),
            sent: Vec::new(),
            delivered_at: now,
            is_quiet: false,
        }
    }

    /// The whole run.
    pub(super) fn run(&mut self) -> Result<(), Violation> {
        for _ in 0..self.setup.steps {
            self.step()?;
            self.check()?;
        }
        // A run on the bank.
        self.rush(30)?;
        self.settle_down()?;
        self.check()
    }

    /// A run among honest homes, until so many transfers were paid.
    pub(super) fn run_transfers(&mut self, count: u64) -> Result<(), Violation> {
        while self.sums.transfers < count {
            self.step()?;
            self.check()?;
        }
        self.settle_down()?;
        self.paid_in_full()
    }

    pub(super) fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_ratio(percent, 100)
    }

    /// The index of an honest home.
    pub(super) fn honest(&self, team: TeamId) -> Option<usize> {
        self.homes.iter().position(|home| home.team == team)
    }

    pub(super) fn any_home(&mut self) -> usize {
        self.rng.random_range(0..self.homes.len())
    }

    pub(super) fn sign(&mut self, signed: Signed, is_known: bool) -> usize {
        self.receipts.push(Receipt { signed, is_known });
        self.receipts.len() - 1
    }

    pub(super) fn proof(number: usize) -> Proof {
        Proof { receipt: number.to_be_bytes().to_vec(), certificate: Vec::new() }
    }

    /// What a proof says, if it is genuine.
    pub(super) fn receipt(&mut self, proof: &Proof) -> Option<&mut Receipt> {
        let number = usize::from_be_bytes(proof.receipt.clone().try_into().ok()?);
        self.receipts.get_mut(number)
    }

    fn step(&mut self) -> Result<(), Violation> {
        match self.rng.random_range(0..100) {
            0..10 => self.write_some(),
            10..20 => self.deliver_some(),
            20..55 => self.visit(),
            55..90 => self.act_hostile(),
            90..92 => {
                let index = self.any_home();
                self.crash(index);
                Ok(())
            }
            92..94 => {
                let (index, team) = (self.any_home(), self.any_team());
                self.connect(index, team)
            }
            _ => self.pass_time(),
        }
    }

    fn any_team(&mut self) -> TeamId {
        let index = self.any_home();
        let own = self.homes[index].team;
        if self.chance(50) { own } else { self.hostile.any(&mut self.rng).unwrap_or(own) }
    }

    fn connect(&mut self, index: usize, team: TeamId) -> Result<(), Violation> {
        self.call(index, &Cause::Timeout, |machine, now| machine.handle_connected(team, now)).map(drop)
    }

    fn pass_time(&mut self) -> Result<(), Violation> {
        let span = match self.rng.random_range(0..100) {
            0..75 => self.rng.random_range(0..5 * SECOND),
            75..88 => self.rng.random_range(0..120 * SECOND),
            88..94 => self.rng.random_range(0..HOUR / 2),
            94..98 => self.rng.random_range(0..12 * HOUR),
            _ => self.rng.random_range(24 * HOUR..60 * HOUR),
        };
        self.advance(self.now + Micros(span))?;
        if span < 24 * HOUR {
            return Ok(());
        }
        // Holds have ended: what was behind them is used again, then they are committed.
        self.rush(5)?;
        (0..15).try_for_each(|_| self.commit_hostile())?;
        self.rush(5)
    }

    /// Hostile guests take what they can get, at once.
    fn rush(&mut self, visits: usize) -> Result<(), Violation> {
        for _ in 0..visits {
            let provider = self.any_home();
            self.take_all(provider)?;
            self.check()?;
        }
        Ok(())
    }

    /// What was just asked for goes all the way, if nothing goes wrong.
    pub(super) fn hurry(&mut self) -> Result<(), Violation> {
        for _ in 0..5 {
            self.write_some()?;
            self.now = self.now + Micros(SECOND);
            self.deliver_some()?;
            self.answer()?;
        }
        Ok(())
    }

    /// Calls a machine and looks at what the call did. Nothing is called on a home that is down.
    pub(super) fn call<R>(
        &mut self,
        index: usize,
        cause: &Cause,
        call: impl FnOnce(&mut Holds, Time) -> R,
    ) -> Result<Option<R>, Violation> {
        let home = &mut self.homes[index];
        let now = home.local(self.now);
        let Some(machine) = &mut home.machine else {
            return Ok(None);
        };
        let before = Snapshot::of(machine, cause);
        let result = call(machine, now);
        home.collect();
        if matches!(cause, Cause::Timeout) {
            self.count_late(index, &before);
        }
        self.count_settled(index, &before.own(self.homes[index].team));
        let home = &self.homes[index];
        if !self.setup.sums_only {
            check::changes(home, cause, &before, now)?;
            check::sums(home, self.setup.overdraft)?;
        }
        self.drain(index)?;
        Ok(Some(result))
    }

    /// Where a hold ended, and the honest home before it may have been paid, the bytes may be taken twice.
    fn count_late(&mut self, index: usize, before: &Snapshot) {
        let home = &self.homes[index];
        let Some(machine) = &home.machine else {
            return;
        };
        for (id, hold) in before.held() {
            // Its end came late enough that it may even be forgotten by now.
            let state = machine.table.get(id).map(|(hold, _)| &hold.state);
            if !state.is_none_or(|state| *state == HoldState::Ended) {
                continue;
            }
            let previous = hold.terms.position(home.team).and_then(|at| at.previous);
            let previous = self.homes.iter().find(|home| Some(home.team) == previous);
            let is_open = |home: &Home| {
                let hold =
                    home.machine.as_ref().and_then(|machine| machine.table.get(id).map(|(hold, _)| hold));
                let state = hold.or(home.kept.get(&id)).map(|hold| &hold.state);
                state.is_some_and(|state| match state {
                    HoldState::Settled { used, .. } => used.0 > 0,
                    HoldState::Asked | HoldState::Good | HoldState::Ended => state.is_held(),
                })
            };
            if previous.is_some_and(is_open) {
                self.sums.late += hold.terms.amount.0;
            }
        }
    }

    /// Sends on what a home says now.
    fn drain(&mut self, index: usize) -> Result<(), Violation> {
        let (messages, events) = self.homes[index].drain();
        let mut unsent = Vec::new();
        for (to, message) in messages {
            match message {
                Message::Good { id } => self.call_good(index, id)?,
                Message::Done { id } if !self.setup.sums_only => {
                    check::done(&self.homes, index, to, id, self.homes[index].local(self.now))?;
                }
                Message::Done { .. }
                | Message::Hold { .. }
                | Message::Refused { .. }
                | Message::Commit { .. } => {}
            }
            if matches!(message, Message::Hold { .. }) && !self.is_quiet && self.chance(5) {
                unsent.push(message);
                continue;
            }
            self.post(index, to, message);
        }
        for event in events {
            if let Event::Good { id, .. } = event {
                self.call_good(index, id)?;
            }
            self.handle_event(event);
        }
        unsent.iter().try_for_each(|message| self.undelivered(index, message))
    }

    fn call_good(&mut self, index: usize, id: HoldId) -> Result<(), Violation> {
        self.homes[index].called_good.insert(id);
        if self.setup.sums_only { Ok(()) } else { check::good(&self.homes, index, id) }
    }

    fn post(&mut self, index: usize, to: TeamId, message: Message) {
        let from = self.homes[index].team;
        if self.honest(to).is_none() {
            if let Some(proof) = message.proof()
                && let Some(receipt) = self.receipt(proof)
            {
                receipt.is_known = true;
            }
            return self.hostile.receive(to, from, message);
        }
        let packet = Packet { at: self.now, from, to, message };
        self.sent.push(packet.clone());
        self.send(packet);
    }

    fn send(&mut self, packet: Packet) {
        let copies = match self.rng.random_range(0..100) {
            _ if self.is_quiet => 1,
            0..10 => 0,
            10..20 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let delay = if self.chance(5) { HOUR / 3 } else { 3 * SECOND };
            let at = self.now + Micros(self.rng.random_range(0..delay));
            self.network.push(Packet { at, ..packet.clone() });
        }
    }

    /// Delivers some of what is due, in any order; now and then something of long ago again.
    fn deliver_some(&mut self) -> Result<(), Violation> {
        if !self.sent.is_empty() && self.chance(5) {
            let number = self.rng.random_range(0..self.sent.len());
            let packet = self.sent[number].clone();
            self.network.push(packet);
        }
        for _ in 0..4 {
            let due: Vec<_> = (0..self.network.len()).filter(|&at| self.network[at].at <= self.now).collect();
            if due.is_empty() {
                return Ok(());
            }
            let chosen = due[self.rng.random_range(0..due.len())];
            let packet = self.network.swap_remove(chosen);
            self.deliver(packet.from, packet.to, packet.message)?;
        }
        Ok(())
    }

    pub(super) fn deliver(&mut self, from: TeamId, to: TeamId, message: Message) -> Result<(), Violation> {
        let Some(index) = self.honest(to) else {
            return Ok(());
        };
        let signed =
            message.proof().cloned().and_then(|proof| self.receipt(&proof).map(|found| found.signed));
        let cause = Cause::Message { from, message: &message, signed };
        self.call(index, &cause, |machine, now| machine.handle_message(from, message.clone(), signed, now))
            .map(drop)
    }

    fn write_some(&mut self) -> Result<(), Violation> {
        for index in 0..self.homes.len() {
            if self.chance(70) {
                self.write_all(index)?;
            }
        }
        Ok(())
    }

    /// Takes in what members hand in and makes everything durable, unless the home is killed on the way.
    fn write_all(&mut self, index: usize) -> Result<(), Violation> {
        // Members come home when they do, and may come again with the same.
        while self.homes[index].machine.is_some() && (self.is_quiet || self.chance(70)) {
            let Some((signed, proof)) = self.homes[index].members.pop_front() else { break };
            self.take_receipt(index, signed, proof.clone())?;
            if self.chance(5) && !self.is_quiet {
                self.homes[index].members.push_back((signed, proof));
            }
        }
        while self.homes[index].has_writes() {
            if self.is_killed() {
                self.crash(index);
                return Ok(());
            }
            let token = self.homes[index].write();
            if self.is_killed() {
                self.crash(index);
                return Ok(());
            }
            if let (Some(machine), Some(token)) = (&mut self.homes[index].machine, token) {
                machine.handle_written(token);
            }
            self.drain(index)?;
        }
        Ok(())
    }

    fn is_killed(&mut self) -> bool {
        let is_killed = self.setup.kill_at == Some(self.sums.writes)
            || !self.is_quiet && self.rng.random_ratio(self.setup.kill_percent, 100);
        self.sums.writes += 1;
        self.sums.kills += u64::from(is_killed);
        is_killed
    }

    /// A receipt is kept, then the machine takes it in.
    pub(super) fn take_receipt(
        &mut self,
        index: usize,
        signed: Signed,
        proof: Proof,
    ) -> Result<(), Violation> {
        if self.homes[index].machine.is_none() {
            return Ok(());
        }
        self.homes[index].keep(signed, proof.clone());
        self.call(index, &Cause::Own, |machine, now| machine.handle_receipt(signed, proof, now)).map(drop)
    }

    pub(super) fn crash(&mut self, index: usize) {
        if self.homes[index].machine.is_none() {
            return;
        }
        let span = match self.rng.random_range(0..100) {
            0..50 => 0,
            50..95 => self.rng.random_range(0..HOUR / 3),
            _ if self.setup.outages => self.rng.random_range(0..60 * HOUR),
            _ => HOUR / 3,
        };
        self.homes[index].crash(self.now + Micros(span));
        self.homes[index].is_gone = self.setup.outages && self.chance(3);
        self.end_visits(index, span > 20 * HOUR || self.homes[index].is_gone);
        self.start_homes();
    }

    fn start_homes(&mut self) {
        let now = self.now;
        let down = self.homes.iter_mut().filter(|home| home.machine.is_none() && !home.is_gone);
        down.filter(|home| home.up_at <= now).for_each(|home| home.start(now));
    }

    /// Lets the time pass, with everything that happens meanwhile in its order.
    fn advance(&mut self, until: Time) -> Result<(), Violation> {
        loop {
            self.start_homes();
            for index in 0..self.homes.len() {
                if self.homes[index].timeout().is_some_and(|due| due <= self.now) {
                    self.call(index, &Cause::Timeout, Holds::handle_timeout)?;
                }
            }
            if self.now.since(self.delivered_at) >= DELIVERS_EVERY || self.is_quiet {
                self.delivered_at = self.now;
                self.deliver_all_receipts()?;
            }
            for index in 0..self.homes.len() {
                self.write_all(index)?;
            }
            let now = self.now;
            let (due, later) =
                std::mem::take(&mut self.network).into_iter().partition(|packet| packet.at <= now);
            self.network = later;
            let due: Vec<Packet> = due;
            let is_idle = due.is_empty() && !self.homes.iter().any(Home::has_writes);
            for packet in due {
                self.deliver(packet.from, packet.to, packet.message)?;
            }
            if is_idle {
                let look = if self.visits.iter().any(|visit| visit.has_receipts(&self.homes)) {
                    self.now.max(self.delivered_at + DELIVERS_EVERY)
                } else {
                    Time(self.now.0 + HOUR / 2)
                };
                let next = self.next_event().unwrap_or(look).min(look).max(Time(self.now.0 + 1));
                if next > until {
                    self.now = self.now.max(until);
                    return Ok(());
                }
                self.now = next;
            }
            self.check()?;
        }
    }

    fn next_event(&self) -> Option<Time> {
        let packets = self.network.iter().map(|packet| packet.at).min();
        let timeouts = self.homes.iter().filter_map(Home::timeout).min();
        let down = self.homes.iter().filter(|home| home.machine.is_none() && !home.is_gone);
        [packets, timeouts, down.map(|home| home.up_at).min()].into_iter().flatten().min()
    }

    /// Everything arrives, everybody comes back, and all holds end.
    fn settle_down(&mut self) -> Result<(), Violation> {
        self.is_quiet = true;
        let now = self.now;
        self.homes.iter_mut().for_each(|home| home.up_at = home.up_at.min(now));
        self.start_homes();
        self.finish_all()?;
        for _ in 0..60 {
            self.advance(self.now + Micros(HOUR))?;
            self.hostile
                .acknowledge_all()
                .into_iter()
                .try_for_each(|(from, to, id)| self.deliver(from, to, Message::Done { id }))?;
        }
        if self.setup.sums_only || self.sums.late > 0 || self.sums.lost.iter().any(|&lost| lost > 0) {
            return Ok(());
        }
        check::counterparts(&self.homes)
    }

    /// What a home lends at most to teams that gave it so much.
    fn lent(&self, given: u64) -> u64 {
        let Overdraft { per_team, total } = self.setup.overdraft;
        if per_team { given.min(total.0) } else { 0 }
    }

    /// What hostile names may have taken on credit: what they gave, what each home lends at most, and what homes lost
    /// that were away.
    pub(super) fn bound(&self) -> u64 {
        let lent: u64 = self.sums.given.iter().map(|&given| self.lent(given)).sum();
        self.sums.given() + lent + self.sums.lost.iter().sum::<u64>() + self.sums.late
    }

    /// The sums over all homes.
    pub(super) fn check(&self) -> Result<(), Violation> {
        let (sums, bound) = (&self.sums, self.bound());
        let lost: u64 = sums.lost.iter().sum();
        require(sums.taken <= bound, || {
            format!(
                "{} taken of {bound}; {} given, {lost} lost, {} late",
                sums.taken,
                sums.given(),
                sums.late
            )
        })?;
        for (index, &served) in sums.served.iter().enumerate() {
            let bound = sums.received[index] + self.lent(sums.received[index]) + sums.lost[index];
            require(served <= bound, || format!("home {index} served {served} on credit of {bound}"))?;
        }
        require(self.setup.outages || self.setup.sums_only || sums.late + lost == 0, || {
            format!("{lost} were not committed in time, {} where the next home's hold had ended", sums.late)
        })
    }

    /// How much a team could pass on to another, as far as the team's own home says.
    pub(super) fn arc(&self, from: TeamId, to: TeamId) -> u64 {
        match self.honest(from) {
            Some(index) => {
                let machine = self.homes[index].machine.as_ref();
                machine.map_or(0, |machine| machine.accounts().spendable(to).0)
            }
            None => Terms::AMOUNT_MAX.0,
        }
    }

    /// A path from one team to another by chance, with what can be reserved on it: the homes between.
    pub(super) fn path(&mut self, from: TeamId, to: TeamId) -> Option<(Vec<TeamId>, u64)> {
        let teams: Vec<_> = self.homes.iter().map(|home| home.team).chain(self.hostile.names()).collect();
        let min = Terms::AMOUNT_MIN.0;
        for _ in 0..6 {
            let (mut between, mut amount, mut here) = (Vec::new(), Terms::AMOUNT_MAX.0, from);
            loop {
                let last = self.arc(here, to);
                let is_full = between.len() == Terms::BETWEEN_MAX;
                if last >= min && (is_full || self.chance(60)) {
                    return Some((between, amount.min(last)));
                }
                let is_new = |team: &TeamId| *team != from && *team != to && !between.contains(team);
                let next = teams.iter().filter(|team| is_new(team)).map(|&team| (team, self.arc(here, team)));
                let next: Vec<_> = next.filter(|(_, arc)| *arc >= min).collect();
                if is_full || next.is_empty() {
                    break;
                }
                let (team, arc) = next[self.rng.random_range(0..next.len())];
                amount = amount.min(arc);
                between.push(team);
                here = team;
            }
        }
        None
    }
}
