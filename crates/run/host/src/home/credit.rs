//! The home's credit: what is to be kept, what other homes are told, and what is owed.

use super::delegates::News;
use super::{FromStore, Loop, overview};
use guestright_credit::{Account, Change, Hold, HoldState, Message, Write, frame};
use guestright_directory::{Address, is_home_message};
use guestright_links::NeighbourEvent;
use guestright_radius::relay;
use guestright_roaming::TeamServer;
use guestright_roaming::home::{KeptCredit, Neighbour};
use guestright_store::{HintQuery, Store, StoreError};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use rand::Rng as _;
use serde_json::{Value, json};
use std::collections::VecDeque;

/// What could not be kept is tried again after this time.
const TRY_AGAIN: Micros = Micros::from_millis(500);
/// How many receipts a member carries to show who owes its home.
const HINTS: usize = 64;

/// What has to be kept, in order. One write is under way at a time; what comes meanwhile goes with the next.
///
/// What the machine says relies on it, so it is tried until it works: a home that cannot write says nothing more to other
/// homes, and lets nobody in.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    waiting: VecDeque<Write>,
    under_way: Option<Write>,
    again_at: Option<Time>,
}

impl Keeper {
    fn next(&mut self) -> Option<Write> {
        if self.under_way.is_some() {
            return None;
        }
        let token = self.waiting.back()?.token;
        let changes: Vec<Change> = self.waiting.drain(..).flat_map(|write| write.changes).collect();
        self.under_way = Some(Write { token, changes });
        self.under_way.clone()
    }

    /// How many writes wait or are under way.
    pub(super) fn unkept(&self) -> u64 {
        u64::try_from(self.waiting.len()).unwrap_or(u64::MAX) + u64::from(self.under_way.is_some())
    }

    /// When to try again.
    pub(super) fn timeout(&self) -> Option<Time> {
        self.again_at
    }
}

/// Gives the machine what was kept, and all receipts of our own people and access points.
pub(super) fn restore(
    server: &mut TeamServer,
    store: &Store,
    team: TeamId,
    now: Time,
) -> Result<(), StoreError> {
    let guestright_store::KeptCredit { kept, allowance, sponsored } = store.credit()?;
    let since = kept.sessions_since;
    server.restore_credit(KeptCredit { kept, allowance, sponsored }, now);
    let mut rng = guestright_clock::rng();
    store.first_hand(team, since, |receipt, certificate| {
        server.handle_first_hand(&receipt, certificate, &mut rng, now);
    })
}

impl Loop {
    pub(super) fn keep(&mut self, write: Write) {
        self.keeper.waiting.push_back(write);
        self.keep_next();
    }

    fn keep_next(&mut self) {
        let Some(write) = self.keeper.next() else { return };
        let (inputs, token) = (self.store_inputs.clone(), write.token);
        let reply = move |result| drop(inputs.blocking_send(FromStore::Kept(token, result)));
        if let Err(error) = self.store.keep(write, reply) {
            self.kept(&error);
        }
    }

    /// The store has answered.
    pub(super) fn handle_kept(&mut self, token: guestright_credit::Token, result: Result<(), StoreError>) {
        let now = self.clock.now();
        match result {
            Ok(()) => {
                self.overviews.unkept = None;
                (self.keeper.under_way, self.keeper.again_at) = (None, None);
                self.server.handle_kept(token, &mut self.rng, now);
                self.keep_next();
            }
            Err(error) => self.kept(&error),
        }
    }

    /// What was under way was not kept: it is the first to be tried again.
    fn kept(&mut self, error: &StoreError) {
        self.overviews.unkept = Some(error.to_string());
        self.counts.note_unkept();
        tracing::error!(%error, "accounts could not be kept; nobody is served on credit until they are");
        self.keeper.waiting.extend(self.keeper.under_way.take());
        self.keeper.waiting.rotate_right(1.min(self.keeper.waiting.len()));
        self.keeper.again_at = Some(self.clock.now() + TRY_AGAIN);
    }

    /// The next moment at which something has to be done about credit.
    pub(super) fn credit_due(&self) -> Option<Time> {
        self.server.poll_timeout().into_iter().chain(self.keeper.timeout()).min()
    }

    pub(super) fn pass_time(&mut self) {
        let now = self.clock.now();
        if self.keeper.again_at.take_if(|at| now >= *at).is_some() {
            self.keep_next();
        }
        self.server.handle_timeout(&mut self.rng, now);
        self.phones.handle_timeout(&mut self.rng, now);
        overview::pass_time(self);
        self.orders.handle_timeout(now);
    }

    /// What homes of other teams do.
    pub(super) fn handle_neighbour(&mut self, event: NeighbourEvent) {
        let now = self.clock.now();
        let (team, state) = match event {
            NeighbourEvent::Up(team) => (team, Neighbour::Up),
            NeighbourEvent::Down(team) => (team, Neighbour::Known),
            NeighbourEvent::Unreachable(team) => (team, Neighbour::Unreachable),
            NeighbourEvent::Frame { team, bytes } if relay::is_message(&bytes) || is_home_message(&bytes) => {
                return self.phones.handle_frame(team, &bytes, &mut self.rng, now);
            }
            NeighbourEvent::Frame { team, bytes } => {
                return self.server.handle_home_message(team, &bytes, &mut self.rng, now);
            }
        };
        tracing::debug!(%team, ?state, "a neighbour");
        if let (Neighbour::Up, Some(neighbours)) = (state, &self.neighbours) {
            self.kept_addresses.keep(neighbours);
        }
        match state {
            Neighbour::Up => self.phones.handle_up(team, now),
            Neighbour::Unknown => {}
            Neighbour::Known => self.phones.handle_down(team, now),
            Neighbour::Unreachable => self.phones.handle_unreachable(team, now),
        }
        self.server.handle_neighbour(team, state, &mut self.rng, now);
    }

    /// Carries out everything that is wanted about phones. Whether the machine was given an answer.
    pub(super) fn drain_phones(&mut self) -> bool {
        loop {
            while let Some((team, addresses)) = self.phones.poll_found() {
                // What is learned last is tried first.
                addresses.into_iter().rev().for_each(|address| self.learn_home(team, address));
            }
            let Some((team, frame)) = self.phones.poll_frame() else { break };
            let sent = self.neighbours.as_ref().is_some_and(|neighbours| neighbours.send(team, frame));
            if !sent {
                self.phones.handle_unreachable(team, self.clock.now());
            }
        }
        let mut is_answered = false;
        while let Some((team, answer)) = self.phones.poll_answer() {
            let now = self.clock.now();
            self.server.handle_home_answer(team, answer, &mut self.rng, now);
            is_answered = true;
        }
        is_answered
    }

    /// Which neighbours may be reached, at the start.
    pub(super) fn introduce_neighbours(&mut self) {
        let now = self.clock.now();
        let known = self.neighbours.as_ref().map(|neighbours| neighbours.addresses()).unwrap_or_default();
        for known in known {
            self.phones.handle_known(known.team);
            self.server.handle_neighbour(known.team, Neighbour::Known, &mut self.rng, now);
        }
    }

    pub(super) fn send_home(&mut self, team: TeamId, message: &Message) {
        let sent = self.neighbours.as_ref().is_some_and(|neighbours| neighbours.send(team, frame(message)));
        if !sent {
            self.server.handle_neighbour(team, Neighbour::Unreachable, &mut self.rng, self.clock.now());
        }
    }

    pub(super) fn learn_home(&mut self, team: TeamId, address: Address) {
        if let Some(neighbours) = &self.neighbours {
            neighbours.learn(team, address);
            self.kept_addresses.keep(neighbours);
            self.phones.handle_known(team);
            self.server.handle_neighbour(team, Neighbour::Known, &mut self.rng, self.clock.now());
        }
    }

    /// What members' delegates do.
    pub(super) fn handle_news(&mut self, news: News) {
        let now = self.clock.now();
        match news {
            News::ProviderHome { provider, home } => self.learn_home(provider, home),
            News::Signed(receipt, certificate) => {
                self.server.handle_signed(*receipt, *certificate, &mut self.rng, now);
            }
        }
    }

    /// Finds what is shown for a member: with credit a receipt for each of some debtors, else those that are as young as `since`.
    pub(super) fn shown(
        &mut self,
        since: UnixSeconds,
        max: usize,
    ) -> impl FnOnce(&Store) -> Vec<(Vec<u8>, Vec<u8>)> + Send + use<> {
        let (team, now, count) = (self.team, self.clock.now().unix_seconds(), max.min(HINTS));
        let has_accounts = self.server.accounts().is_some();
        let hints = has_accounts.then(|| HintQuery { team, now, count, seed: self.rng.next_u64() });
        move |store| {
            let found = match hints {
                Some(hints) => store.hints(hints),
                None => store.receipts_of_provider(team, since, max),
            };
            found.unwrap_or_default()
        }
    }

    /// Who owes whom, for people and programs.
    pub(super) fn accounts(&self) -> Value {
        let Some(accounts) = self.server.accounts() else {
            return json!({ "error": "this home decides by receipts as the papers have it, and keeps no accounts" });
        };
        let one = |(team, account): (TeamId, Account)| {
            json!({
                "team": team.to_string(),
                "we_owe": account.net().max(0),
                "they_owe": account.net().min(0).unsigned_abs(),
                "given_to_us_ever": account.given.0,
                "reserved": account.held.0,
                "can_be_used": accounts.spendable(team).0,
            })
        };
        json!({ "accounts": accounts.iter().map(one).collect::<Vec<_>>(), "overdrawn": accounts.overdrawn().0 })
    }

    /// `TEAM BYTES`: what the household has for a team from now on, beyond what it gives away to everybody.
    pub(super) fn sponsor(&mut self, words: &str) -> Value {
        let parsed = words
            .split_once(' ')
            .and_then(|(team, bytes)| Some((team.parse::<TeamId>().ok()?, bytes.parse::<u64>().ok()?)));
        let Some((team, bytes)) = parsed.filter(|(team, _)| *team != self.team) else {
            return json!({ "error": "whom and with how much? the full id of another team, and bytes" });
        };
        let now = self.clock.now();
        if !self.server.sponsor(team, Bytes(bytes), &mut self.rng, now) {
            return json!({ "error": "this home keeps no accounts, or sponsors too many teams already" });
        }
        json!({ "team": team.to_string(), "left": bytes })
    }

    /// What is reserved for visitors of a team here, in people's words.
    pub(super) fn reservations(&self, team: TeamId, name: &impl Fn(TeamId) -> String) -> Vec<String> {
        let here = |hold: &&Hold| hold.terms.provider == self.team && hold.terms.consumer == team;
        let holds = self.server.holds().map(|(_, hold)| hold);
        let mut lines: Vec<_> = holds.filter(here).filter_map(|hold| sentence(hold, name)).collect();
        if self.server.accounts().is_some() {
            lines.extend(account_sentences(self.server.account(team), &name(team)));
        }
        lines
    }

    pub(super) fn credit_status(&mut self) -> Value {
        let now = self.clock.now();
        let Some((left, per_day)) = self.server.allowance(now) else { return Value::Null };
        let open = self.server.holds().filter(|(_, hold)| hold.state.is_held()).count();
        json!({
            "allowance": { "left": left.0, "per_day": per_day.0 },
            "sponsored": self.server.sponsored().map(|(team, left)| json!({ "team": team.to_string(), "left": left.0 }))
                .collect::<Vec<_>>(),
            "accounts": self.server.accounts().map_or(0, |accounts| accounts.iter().count()),
            "overdrawn": self.server.accounts().map_or(0, |accounts| accounts.overdrawn().0),
            "holds_open": open,
            "refused_to_homes": self.server.hold_refusals(),
            "unkept": self.keeper.unkept(),
        })
    }
}

/// "You are served on the debt of X to us through Y: 12 of 40 MB."
fn sentence(hold: &Hold, name: &impl Fn(TeamId) -> String) -> Option<String> {
    let amount = hold.terms.amount;
    let what = match &hold.state {
        HoldState::Good => format!("{amount} are reserved"),
        HoldState::Asked => format!("{amount} were asked for, and nobody has answered yet"),
        HoldState::Settled { used: Bytes(0), .. } | HoldState::Ended => return None,
        HoldState::Settled { used, .. } => format!("{used} of {amount} were used"),
    };
    let through: Vec<_> = hold.terms.between.iter().map(|team| name(*team)).collect();
    Some(match through.split_first() {
        None => format!("on what our team owes it: {what}"),
        Some((first, [])) => format!("on what our team owes {first}, which owes it: {what}"),
        Some((first, rest)) => {
            format!(
                "on what our team owes {first}, which owes {}, which owes it: {what}",
                rest.join(", which owes ")
            )
        }
    })
}

fn account_sentences(account: Account, team: &str) -> Vec<String> {
    let Account { allowance_debt, given, .. } = account;
    let net = account.net();
    let mut lines = Vec::new();
    match net {
        0 => lines.push(format!("nothing is owed between our team and {team}")),
        owed if owed > 0 => lines.push(format!("our team owes {team} {}", Bytes(owed.unsigned_abs()))),
        owed => lines.push(format!("{team} owes our team {}", Bytes(owed.unsigned_abs()))),
    }
    if allowance_debt > Bytes(0) {
        lines.push(format!("{allowance_debt} of that were given away to it"));
    }
    if given > Bytes(0) {
        lines.push(format!("it has given our members {given} in all"));
    }
    lines
}
