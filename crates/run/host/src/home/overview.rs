//! The household's overview: what the page and `guestright status` show (design note 0015).
//!
//! Whoever wants one has an [`OverviewHandle`]. The loop asks its access points (`rounds`), adds what it knows itself, and leaves to a
//! task what takes time (`gather`). Nothing is gathered while nobody asks, but who was turned away.

mod admission;
mod gather;
mod rounds;
mod standing;
mod stopped;

use super::Loop;
use crate::refusals::{Refusals, Why as WhyRefused};
use admission::Admission;
use gather::{Gather, Named, Slow};
pub(super) use gather::{LookAtTunnels, Phone, ask_calls, calls_of};
use guestright_credit::Account;
use guestright_error::RunError;
use guestright_identity::{KeyId, Role};
use guestright_overview::{
    ANSWER_VERSION, Allowance, Balance, Class, Count, Credit, Guest, Hour, Key, LeftOut, May, Moment, Name,
    Overview, Refusal, RefusedBy, Sentence, ServedBy, Sum, Team, Why,
};
use guestright_reciprocity::Verdict;
use guestright_roaming::home::{Peer, is_used_up};
use guestright_roaming::message::Reference;
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use rounds::{Answers, Rounds};
use serde_json::{Value, json};
use standing::{Facts, standing};
use std::collections::BTreeMap;
use std::sync::Arc;
pub use stopped::stopped;
use tokio::sync::{Mutex, mpsc, oneshot};

/// How many askers wait for the loop, and for a round's end.
const ASKERS_MAX: usize = 16;
const HOUR: u64 = 3_600;
/// What a visitor is taken to ask for, as with `home why`.
const REQUEST: Bytes = Bytes(1_000_000);

/// A way to ask a running home for its overview. Clone it for each task that asks.
#[derive(Clone, Debug)]
pub struct OverviewHandle(mpsc::Sender<Asked>);

/// The other end of an [`OverviewHandle`], for the loop.
#[derive(Debug)]
pub struct OverviewQuestions(mpsc::Receiver<Asked>);

/// Both ends.
pub fn channel() -> (OverviewHandle, OverviewQuestions) {
    let (asks, asked) = mpsc::channel(ASKERS_MAX);
    (OverviewHandle(asks), OverviewQuestions(asked))
}

impl OverviewHandle {
    /// What the household sees now, within the limits of the schema, for somebody who may change things; and why this team would be
    /// served. It takes up to a second, while access points are asked; they are asked every two seconds at most, whoever asks here.
    ///
    /// # Errors
    /// The home stops, or too many ask at once.
    pub async fn overview(&self, why: Option<Team>) -> Result<Overview, RunError> {
        let (reply, answer) = oneshot::channel();
        let asked = Asked { why: why.map(|team| team.0), reply: Reply::Overview(reply) };
        let stopped = || RunError::network("the home does not answer: it stops, or too many ask at once");
        self.0.send(asked).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())
    }
}

impl OverviewQuestions {
    /// The next question; without end if nobody can ask any more.
    pub(super) async fn next(&mut self) -> Asked {
        match self.0.recv().await {
            Some(asked) => asked,
            None => std::future::pending().await,
        }
    }
}

/// Somebody who waits for an overview.
#[derive(Debug)]
pub(super) struct Asked {
    why: Option<TeamId>,
    reply: Reply,
}

#[derive(Debug)]
pub(super) enum Reply {
    Overview(oneshot::Sender<Overview>),
    /// At the control socket.
    Json(oneshot::Sender<Value>),
}

impl Reply {
    /// The asker may have gone.
    fn send(self, overview: Overview) {
        match self {
            Self::Overview(reply) => drop(reply.send(overview)),
            Self::Json(reply) => {
                let json = serde_json::to_value(&overview)
                    .unwrap_or_else(|error| json!({ "error": error.to_string() }));
                let _ = reply.send(json);
            }
        }
    }
}

/// What is remembered for overviews.
#[derive(Debug, Default)]
pub(super) struct Overviews {
    rounds: Rounds,
    waiting: Vec<Asked>,
    refusals: Refusals,
    refused_by_hour: BTreeMap<UnixSeconds, BTreeMap<RefusedBy, u64>>,
    /// Since when no access point is connected; nothing if one is.
    alone_since: Option<UnixSeconds>,
    /// Why accounts could not be kept the last time, while they cannot.
    pub(super) unkept: Option<String>,
    slow: Arc<Mutex<Slow>>,
    /// What people call the household, if it has said so.
    household_name: Option<String>,
    admission: Admission,
}

impl Overviews {
    /// At the start no access point is connected.
    pub(super) fn new(household_name: Option<String>, admit: bool, now: Time) -> Self {
        let admission = Admission::new(admit, now);
        Self { household_name, admission, alone_since: Some(now.unix_seconds()), ..Self::default() }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        [self.rounds.poll_timeout(), self.admission.poll_timeout()].into_iter().flatten().min()
    }

    /// How many visitors were turned away since the start, by reason.
    pub(super) fn refusals_counted(&self) -> &BTreeMap<RefusedBy, u64> {
        self.refusals.counted()
    }

    /// What is remembered of a team that was turned away here.
    pub(super) fn refusals_of(&self, team: TeamId) -> impl Iterator<Item = &guestright_overview::Refusal> {
        self.refusals.iter().filter(move |it| it.team == Some(guestright_overview::Team(team)))
    }

    /// Forgets that; false if there was nothing.
    pub(super) fn forget_refusals(&mut self, team: TeamId) -> bool {
        self.refusals.forget(team)
    }

    /// A visitor was turned away by a decision.
    fn note_refusal(&mut self, team: TeamId, refused_by: RefusedBy, reason: &str, now: UnixSeconds) {
        let to_do = match refused_by {
            RefusedBy::AllowanceUsedUp => Some(
                "It goes on tomorrow. To give more away, raise allowance_bytes_per_day in home.toml, or set something aside for the \
                 team: guestright home sponsor.",
            ),
            RefusedBy::GaveTooLittle
            | RefusedBy::Unpaid
            | RefusedBy::Busy
            | RefusedBy::CertificateEnded
            | RefusedBy::Revoked
            | RefusedBy::HomeAway
            | RefusedBy::Undecided
            | RefusedBy::Closed
            | RefusedBy::Other => None,
        };
        if self.refusals.note(Some(team), WhyRefused { refused_by, reason, to_do }, now) {
            let hour = self.refused_by_hour.entry(UnixSeconds(now.0 - now.0 % HOUR)).or_default();
            *hour.entry(refused_by).or_default() += 1;
            while self.refused_by_hour.len() > guestright_overview::HOURS_MAX {
                self.refused_by_hour.pop_first();
            }
        }
    }

    /// Hours with nothing but their refusals: those decided here, and those that access points remember.
    fn refused_hours(&self, others: &[Refusal]) -> Vec<Hour> {
        let mut hours = self.refused_by_hour.clone();
        for refusal in others {
            let start = UnixSeconds(refusal.at.get() - refusal.at.get() % HOUR);
            *hours.entry(start).or_default().entry(refusal.refused_by).or_default() += 1;
        }
        let one = |(start, refused): (UnixSeconds, BTreeMap<RefusedBy, u64>)| Hour {
            refused: refused
                .into_iter()
                .map(|(by, count)| (Name::shortened(by.name()), Count::at_most_max(count)))
                .collect(),
            ..gather::empty(Moment::from(start))
        };
        hours.into_iter().map(one).collect()
    }
}

/// `overview` or `overview TEAM` at the control socket.
pub(super) fn handle_question(this: &mut Loop, team: Option<&str>, reply: oneshot::Sender<Value>) {
    if cfg!(not(feature = "overview")) {
        let error =
            "this program was built without the overview: ask `guestright home status`, `accounts` or `why`";
        return drop(reply.send(json!({ "error": error })));
    }
    match team.map(|team| super::why::find_team(this, team)).transpose() {
        Ok(why) => handle(this, Asked { why, reply: Reply::Json(reply) }),
        Err(error) => drop(reply.send(json!({ "error": error }))),
    }
}

/// Somebody wants an overview: it is sent when the round that runs is over, or at once if the last one was just now.
pub(super) fn handle(this: &mut Loop, asked: Asked) {
    if cfg!(not(feature = "overview")) || this.overviews.waiting.len() >= ASKERS_MAX {
        return; // Its reply is dropped, and so it learns that.
    }
    this.overviews.waiting.push(asked);
    ask_access_points(this);
    answer_waiting(this);
}

fn ask_access_points(this: &mut Loop) {
    let now = this.clock.now();
    if let Some(reference) = this.overviews.rounds.due(now) {
        let asked = this.server.ask_access_points(reference, ANSWER_VERSION);
        this.overviews.rounds.began(reference, asked.into_iter().map(|(_, key)| Key(key.0)), now);
    }
}

/// An access point has answered.
pub(super) fn handle_answer(
    this: &mut Loop,
    peer: Peer,
    (reference, version): (Reference, u8),
    answer: &[u8],
) {
    if cfg!(not(feature = "overview")) {
        return;
    }
    let now = this.clock.now();
    let key = this.server.peers().find(|(number, ..)| *number == peer).map(|(_, _, key)| Key(key.0));
    if let Some(key) = key {
        this.overviews.rounds.handle_answer(key, (reference, version), answer, now);
        tell_exchange(this, now);
    }
    answer_waiting(this);
}

/// The exchange learns what access points have said of calls.
fn tell_exchange(this: &mut Loop, now: Time) {
    let Overviews { admission, rounds, .. } = &mut this.overviews;
    admission.tell(this.exchange.as_ref(), rounds, this.gateway.as_ref(), now);
}

/// A program of the team is there.
pub(super) fn note_connected(this: &mut Loop, role: Role) {
    if role == Role::AccessPoint {
        this.overviews.alone_since = None;
    }
}

/// A program of the team is about to go.
pub(super) fn note_gone(this: &mut Loop, peer: Peer) {
    let now = this.clock.now();
    let access_points = || this.server.peers().filter(|(_, role, _)| *role == Role::AccessPoint);
    let Some((_, _, key)) = access_points().find(|(number, ..)| *number == peer) else { return };
    if access_points().count() == 1 {
        this.overviews.alone_since = Some(now.unix_seconds());
    }
    this.overviews.rounds.handle_gone(Key(key.0), now);
    answer_waiting(this);
}

/// Time has passed.
pub(super) fn pass_time(this: &mut Loop) {
    if cfg!(not(feature = "overview")) {
        return;
    }
    let now = this.clock.now();
    this.overviews.rounds.handle_timeout(now);
    if this.overviews.admission.is_due(now) {
        tell_exchange(this, now);
        if this.overviews.admission.admits() {
            ask_access_points(this);
        }
    }
    answer_waiting(this);
}

/// Calls are admitted by what access points say, or not any more.
pub(super) fn set_admission(this: &mut Loop, admit: bool) {
    let now = this.clock.now();
    this.overviews.admission.switch(admit, this.exchange.as_ref(), now);
}

/// A visitor was not let in, by what is given away and reserved.
pub(super) fn note_not_begun(this: &mut Loop, consumer: TeamId, reason: &str) {
    let by = if is_used_up(reason) { RefusedBy::AllowanceUsedUp } else { RefusedBy::Other };
    let now = this.clock.now().unix_seconds();
    this.overviews.note_refusal(consumer, by, reason, now);
}

/// A visitor's case was decided by a policy of the papers.
pub(super) fn note_decided(this: &mut Loop, consumer: TeamId, verdict: Verdict, reason: &str) {
    if verdict == Verdict::Refused {
        let now = this.clock.now().unix_seconds();
        this.overviews.note_refusal(consumer, RefusedBy::GaveTooLittle, reason, now);
    }
}

/// Sends what is waited for, unless access points have time left to answer.
fn answer_waiting(this: &mut Loop) {
    if cfg!(not(feature = "overview"))
        || this.overviews.rounds.is_running()
        || this.overviews.waiting.is_empty()
    {
        return;
    }
    let waiting = std::mem::take(&mut this.overviews.waiting);
    let askers =
        waiting.into_iter().map(|asked| (asked.why.map(|team| why_of(this, team)), asked.reply)).collect();
    let overview = gather_overview(this);
    let now = this.clock.now().unix_seconds();
    let gather = Gather {
        team: this.team,
        now,
        store: this.store.clone(),
        slow: Arc::clone(&this.overviews.slow),
        certificate: this.renewing.certificate().clone(),
        uplink: this.gateway.as_ref().map(|gateway| gateway.uplink().to_owned()),
        tunnels: this.gateway.as_ref().map(super::gateway::Gateway::look_at_tunnels),
        calls: this.exchange.as_ref().map(gather::ask_calls),
        members: members(this, now),
        revoked: this.server.own_revocations().cloned().unwrap_or_default(),
    };
    tokio::spawn(gather.answer(overview, askers));
}

/// Guests of a team, as access points have answered last: at which one, and what it calls them.
#[cfg(feature = "page")]
pub(super) fn known_guests(
    this: &mut Loop,
    team: TeamId,
) -> Vec<(KeyId, guestright_roaming::message::GuestId)> {
    let now = this.clock.now();
    let guests = this.overviews.rounds.answers(now).guests.into_iter();
    let of_team = guests.filter(|guest| guest.team == Some(Team(team)));
    of_team.filter_map(|it| Some((KeyId(it.access_point.0), it.id.as_str().parse().ok()?))).collect()
}

/// What the loop knows by itself.
fn gather_overview(this: &mut Loop) -> Overview {
    let now = this.clock.now();
    let Answers { access_points, mut guests, refusals: others, guests_left_out, refusals_left_out } =
        this.overviews.rounds.answers(now);
    let sponsored: BTreeMap<_, _> = this.server.sponsored().collect();
    guests.iter_mut().for_each(|guest| refine(guest, &sponsored));
    let hours = this.overviews.refused_hours(&others);
    let mut refusals: Vec<_> = this.overviews.refusals.iter().cloned().chain(others).collect();
    refusals.sort_by_key(|refusal| std::cmp::Reverse(refusal.at));
    let certificate = this.renewing.certificate();
    let standing = standing(&Facts {
        now: now.unix_seconds(),
        certificate: (certificate.not_before(), certificate.not_after()),
        unkept: this.overviews.unkept.as_deref(),
        access_points: &access_points,
        guests: &guests,
        guests_left_out: guests_left_out.get(),
        alone_since: this.overviews.alone_since,
    });
    Overview {
        version: Name::shortened(env!("CARGO_PKG_VERSION")),
        at: Moment::from(now.unix_seconds()),
        team: Team(this.team),
        may: May::Change,
        everybody_until: this.server.everybody_until(now).map(Moment::from),
        standing,
        access_points,
        guests,
        calls: Vec::new(),
        credit: Some(credit(this, now)),
        balances: balances(this, &sponsored),
        why: None,
        hours,
        refusals,
        members: Vec::new(),
        findings: Vec::new(),
        names: this
            .overviews
            .household_name
            .iter()
            .map(|name| (Team(this.team), Name::shortened(name)))
            .collect(),
        left_out: LeftOut { guests: guests_left_out, refusals: refusals_left_out, ..LeftOut::default() },
    }
}

fn credit(this: &mut Loop, now: Time) -> Credit {
    let allowance = this.server.allowance(now);
    let allowance = allowance.map(|(left, per_day)| Allowance { left: left.into(), per_day: per_day.into() });
    let graph = this.server.graph();
    let by_graph = (graph.out_capacity(this.team), graph.in_capacity(this.team));
    let accounts = this.server.accounts();
    let (by_us, to_us) = accounts.map_or(by_graph, |accounts| {
        accounts.iter().fold((Bytes(0), Bytes(0)), |(by_us, to_us), (_, account)| {
            let (owe, owed) = net(account);
            (by_us.saturating_add(owe), to_us.saturating_add(owed))
        })
    });
    Credit {
        owed_by_us: by_us.into(),
        owed_to_us: to_us.into(),
        allowance,
        overdrawn: accounts.map_or(Bytes(0), |accounts| accounts.overdrawn()).into(),
        overdraft_max: accounts.map_or(Bytes(0), |accounts| accounts.overdraft().total).into(),
        holds_open: Count::from(this.server.holds().filter(|(_, hold)| hold.state.is_held()).count()),
    }
}

/// Accounts, the largest first. A policy of the papers keeps none.
fn balances(this: &Loop, sponsored: &BTreeMap<TeamId, Bytes>) -> Vec<Balance> {
    let Some(accounts) = this.server.accounts() else { return Vec::new() };
    let mut all: BTreeMap<TeamId, Account> = accounts.iter().collect();
    for team in sponsored.keys() {
        all.entry(*team).or_default();
    }
    let one = |(team, account): (TeamId, Account)| {
        let (we_owe, they_owe) = net(account);
        Balance {
            team: Team(team),
            we_owe: we_owe.into(),
            they_owe: they_owe.into(),
            given_to_us_ever: account.given.into(),
            reserved: account.held.into(),
            can_be_used: accounts.spendable(team).into(),
            sponsored: sponsored.get(&team).copied().map(Sum::from).unwrap_or_default(),
        }
    };
    let mut balances: Vec<_> = all.into_iter().map(one).collect();
    let size = |it: &Balance| it.we_owe.max(it.they_owe).max(it.sponsored);
    balances.sort_by_key(|balance| std::cmp::Reverse(size(balance)));
    balances
}

/// What `home why TEAM` says, with its chains of debts.
fn why_of(this: &mut Loop, team: TeamId) -> Why {
    let now = this.clock.now();
    let explanation = this.server.explain(team, REQUEST, &mut this.rng);
    let own = this.team;
    let name = |team: TeamId| if team == own { "our team".to_owned() } else { team.short() };
    let would_begin = this.server.would_begin(team, now);
    let lines = match would_begin {
        Some(_) => this.reservations(team, &name),
        None => explanation.lines(name),
    };
    let mut why = Why::of(&explanation, REQUEST, lines.iter().map(String::as_str));
    if this.server.is_blocked(team) {
        (why.class, why.ind) = (None, None);
        why.reason = Sentence::shortened("Refused: the household has blocked this team.");
        return why;
    }
    // With credit it is not the ratio that decides, and the class rises with what is reserved.
    if let Some((class, reason)) = would_begin {
        why.class = class.map(Class::from);
        why.ind = None;
        let sentence = match class {
            Some(class) => format!("Served in the {class} class at first: {reason}."),
            None => format!("Refused: {reason}."),
        };
        why.reason = Sentence::shortened(&sentence);
    } else if why.class.is_none() && this.server.everybody_until(now).is_some() {
        why.class = Some(Class::Lowest);
        why.reason =
            Sentence::shortened("Served in the lowest class: this household serves everybody for now.");
    }
    why
}

/// Members that the gateway or the book of phones names.
pub(super) fn members(this: &Loop, now: UnixSeconds) -> Vec<Named> {
    let key = |text: &str| text.parse::<TeamId>().ok().map(|id| KeyId(id.0));
    let mut members: BTreeMap<KeyId, Named> = BTreeMap::new();
    for (name, id, not_after) in this.gateway.iter().flat_map(super::gateway::Gateway::members_shown) {
        if let Some(key) = key(id) {
            let named = Named { key, name: name.to_owned(), not_after, has_tunnel: true, phone: None };
            members.insert(key, named);
        }
    }
    for phone in this.phones.phones(now) {
        let Some(key) = key(&phone.key) else { continue };
        let named = members.entry(key).or_insert_with(|| {
            let name = phone.member.clone();
            Named { key, name, not_after: None, has_tunnel: false, phone: None }
        });
        named.phone = Some(phone);
    }
    members.into_values().collect()
}

/// What we owe and are owed by an account; one of the two is nothing.
fn net(account: Account) -> (Bytes, Bytes) {
    let net = account.net();
    (Bytes(net.max(0).unsigned_abs()), Bytes(net.min(0).unsigned_abs()))
}

/// Only the home knows what is set aside for a team, which is used before what is given away to all.
fn refine(guest: &mut Guest, sponsored: &BTreeMap<TeamId, Bytes>) {
    if guest.served_by != ServedBy::Allowance {
        return;
    }
    let left = guest.team.and_then(|team| sponsored.get(&team.0)).copied().unwrap_or_default();
    if left > Bytes(0) {
        guest.served_by = ServedBy::Sponsored;
        guest.reason = Sentence::shortened("Served on what this household has set aside for the team.");
    }
}

#[cfg(test)]
mod tests;
