//! The machine of a home's holds: those that it asked for, those that it keeps for others, and those its own guests used.

mod durable;
mod homes;
mod receipts;
mod record;
mod table;
#[cfg(test)]
mod tests;

use crate::account::{Account, Accounts, Overdraft};
use crate::allowance::AllowanceState;
use crate::message::{Message, Proof, Signed};
use crate::sessions::{Accounted, Sessions};
use crate::terms::{Position, Terms, TermsError};
use durable::Durable;
use guestright_receipt::{HoldId, HoldUse, SessionKey};
use guestright_units::{Bytes, Micros, TeamId, Time, UnixSeconds};
use receipts::Payments;
use std::collections::BTreeMap;
use table::Table;
use thiserror::Error;

pub use durable::{Change, Token, Write};
pub use record::{Hold, HoldState};

/// Whether the tests leave out a rule. Nothing of it is in a program.
macro_rules! mutated {
    ($holds:expr, $rule:ident) => {{
        #[cfg(test)]
        let is_left_out = $holds.mutant == Some($crate::holds::tests::Mutant::$rule);
        #[cfg(not(test))]
        let is_left_out = false;
        is_left_out
    }};
}
use mutated;

/// How long a hold outlives the grant that it is for, so that the provider can commit it.
const KEEP: u64 = 24 * 3_600;
/// How much longer each home keeps it than the one before, so that it can pass on what it takes in.
const STEP: u64 = 3_600;
/// How long a commit is still looked at after that.
const LATE: u64 = 7 * 24 * 3_600;
/// How far ahead the end of a grant may lie.
const END_MAX: u64 = 24 * 3_600;
/// How old a session may be for which somebody reserves.
const SESSION_MAX: u64 = 2 * 24 * 3_600;
/// A commit is sent again after this time, then after twice as much, up to the second.
const RESEND_FIRST: Micros = Micros::from_seconds(5);
const RESEND_MAX: Micros = Micros::from_seconds(600);
/// What is reserved for a session: this much at first, then twice what was signed in it.
const SESSION_FIRST: u64 = 8_000_000;

/// How much a home lends, and how many holds it keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// What it lends beyond what it owes.
    pub overdraft: Overdraft,
    /// Whether it reserves for others, who learn thereby where its creditors' people are.
    pub takes_part: bool,
    /// How many accounts it keeps.
    pub accounts_max: usize,
    /// How many holds may be open.
    pub open_max: usize,
    /// How many of them one neighbour may be next to.
    pub neighbour_max: usize,
    /// How many holds it remembers in all. Others' take up half of that at most.
    pub holds_max: usize,
    /// How many sessions it remembers as accounted for.
    pub sessions_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            overdraft: Overdraft::default(),
            takes_part: true,
            accounts_max: 100_000,
            open_max: 4_096,
            neighbour_max: 64,
            holds_max: 65_536,
            sessions_max: 200_000,
        }
    }
}

/// Why something was not reserved or not settled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum HoldError {
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// The path does not lead from the sender through us.
    #[error("the hold's path does not lead from there through us")]
    NotOnPath,
    /// We reserve for nobody.
    #[error("this home takes no part in holds")]
    Declined,
    /// The guest has not agreed.
    #[error("no receipt of the guest stands behind the hold")]
    Consent,
    /// The session's holds are as large as what was signed in it allows.
    #[error("the session has reserved as much as its receipts allow")]
    Session,
    /// The hold ends too late, or has ended.
    #[error("the hold's end is not within the next day")]
    End,
    /// Too many are open.
    #[error("too many holds are open")]
    Busy,
    /// We owe the next team less, or lend it less.
    #[error("{available} can be reserved")]
    Insufficient {
        /// What could be.
        available: Bytes,
    },
    /// There is no such hold, or it ended, or was settled.
    #[error("the hold is not open")]
    NotOpen,
    /// The receipt pays another hold, or none.
    #[error("the receipt does not pay this hold")]
    Payment,
}

impl HoldError {
    /// The reason in a word, for counting.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Terms(_) => "terms",
            Self::NotOnPath => "not-on-path",
            Self::Declined => "declined",
            Self::Consent => "consent",
            Self::Session => "session",
            Self::End => "end",
            Self::Busy => "busy",
            Self::Insufficient { .. } => "insufficient",
            Self::NotOpen => "not-open",
            Self::Payment => "payment",
        }
    }
}

/// What became of a hold that we asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is reserved on the whole path.
    Good { id: HoldId, amount: Bytes },
    /// It is not; somebody on the path could reserve so much.
    Refused {
        id: HoldId,
        /// The homes between, which had been asked.
        between: Vec<TeamId>,
        available: Bytes,
    },
}

/// What was kept of a home's accounts and holds. For a home that begins there is nothing.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    pub accounts: Vec<(TeamId, Account)>,
    pub holds: Vec<Hold>,
    pub sessions: Vec<(SessionKey, Accounted)>,
    /// Sessions that began before this are not accounted for.
    pub sessions_since: UnixSeconds,
}

/// A home's accounts and holds.
///
/// After each call that goes in, the program drains [`poll_write`](Self::poll_write), makes each write durable as one
/// transaction, in order, and calls [`handle_written`](Self::handle_written). [`poll_transmit`](Self::poll_transmit)
/// and [`poll_event`](Self::poll_event) give out only what relies on nothing that is not durable yet. If a write fails,
/// the machine is ahead of the disk: drop it and make another from what is kept.
///
/// A message is handled once its receipt was checked: the signatures of member and team, the certificate's dates, and
/// that the team's revocation list has nothing against it.
///
/// ```
/// use guestright_credit::{Config, Holds, Kept};
/// use guestright_units::{Bytes, TeamId, Time};
///
/// let [home, friend] = [1, 2].map(|number| TeamId([number; 24]));
/// let mut holds = Holds::new(Config::default(), home, Kept::default(), Time(0));
/// holds.signed(friend, Bytes(1_000), Bytes(1_000));
/// while let Some(write) = holds.poll_write() {
///     // Keep `write.changes`, then:
///     holds.handle_written(write.token);
/// }
/// assert_eq!(holds.accounts().get(friend).owed, 1_000);
/// ```
#[derive(Clone, Debug)]
pub struct Holds {
    config: Config,
    team: TeamId,
    accounts: Accounts,
    sessions: Sessions,
    payments: Payments,
    table: Table,
    durable: Durable,
    refusals: BTreeMap<&'static str, u64>,
    /// The latest time that was passed in. Nothing ends a second time because a clock was set back.
    now: Time,
    /// The rule that is left out, so that the tests show that they would notice.
    #[cfg(test)]
    mutant: Option<tests::Mutant>,
}

impl Holds {
    /// The accounts and holds of `team` as they were kept.
    pub fn new(config: Config, team: TeamId, kept: Kept, now: Time) -> Self {
        let table = Table::new(team, kept.holds, now);
        let mut payments = Payments::default();
        for (id, hold) in table.iter().filter(|(_, hold)| hold.state.is_held() && hold.terms.provider == team)
        {
            payments.expect(hold.session, id);
        }
        Self {
            accounts: Accounts::new(config.overdraft, config.accounts_max, kept.accounts),
            sessions: Sessions::new(config.sessions_max, kept.sessions_since, kept.sessions),
            payments,
            table,
            durable: Durable::default(),
            refusals: BTreeMap::new(),
            config,
            team,
            now,
            #[cfg(test)]
            mutant: None,
        }
    }

    /// From now on so much is lent, and others' requests are taken or not. Holds that there are stay.
    pub fn reconfigure(&mut self, overdraft: Overdraft, takes_part: bool) {
        (self.config.overdraft, self.config.takes_part) = (overdraft, takes_part);
        self.accounts.set_overdraft(overdraft);
    }

    /// Who owes whom.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// The holds that are remembered, in the order of their names.
    pub fn holds(&self) -> impl Iterator<Item = (HoldId, &Hold)> {
        self.table.iter()
    }

    /// A member of ours signed for `given` bytes more from the team, of which `direct` are on no hold.
    ///
    /// What is on a hold is owed once its commit comes.
    pub fn signed(&mut self, team: TeamId, given: Bytes, direct: Bytes) {
        self.accounts.signed(team, given, direct);
        self.flush();
    }

    /// Asks for a hold for a guest of ours. The answer is an [`Event`], or none: what is not answered is not credit.
    ///
    /// # Errors
    /// Why we cannot even reserve our own part.
    pub fn reserve(
        &mut self,
        terms: Terms,
        proof: Proof,
        signed: Signed,
        now: Time,
    ) -> Result<HoldId, HoldError> {
        self.now = self.now.max(now);
        let at = terms.position(self.team).filter(|at| at.previous.is_none());
        let at = at.ok_or(HoldError::NotOnPath)?;
        let session = signed.session;
        let id = self.take(terms, at, proof, signed)?;
        self.payments.expect(session, id);
        self.flush();
        Ok(id)
    }

    /// Nothing was used of a hold that we asked for, and nothing will be: everybody may have it back.
    pub fn give_up(&mut self, id: HoldId, now: Time) {
        self.now = self.now.max(now);
        if self.table.held(id).is_some_and(|(_, at)| at.previous.is_none()) {
            self.settle(id, Bytes(0), None);
            self.flush();
        }
    }

    /// Pays a hold that we asked for with the guest's latest receipt. Returns how much was used of it.
    ///
    /// # Errors
    /// [`HoldError::NotOpen`] if it was not good, has ended or is settled, which makes what was served on it allowance;
    /// [`HoldError::Payment`] if the receipt does not pay it.
    pub fn commit(
        &mut self,
        id: HoldId,
        proof: Proof,
        signed: &Signed,
        now: Time,
    ) -> Result<Bytes, HoldError> {
        self.now = self.now.max(now);
        let (hold, at) = self.table.held(id).ok_or(HoldError::NotOpen)?;
        if at.previous.is_some() || hold.state != HoldState::Good {
            return Err(HoldError::NotOpen);
        }
        let used = paid(&hold.terms, id, signed).ok_or(HoldError::Payment)?;
        self.settle(id, used, Some(proof));
        self.flush();
        Ok(used)
    }

    /// Takes in a message of another home, and what its receipt says if it has one that is genuine.
    pub fn handle_message(&mut self, from: TeamId, message: Message, signed: Option<Signed>, now: Time) {
        self.now = self.now.max(now);
        match message {
            Message::Hold { terms, proof } => self.handle_hold(from, terms, proof, signed),
            Message::Good { id } => self.handle_good(from, id),
            Message::Refused { id, available } => self.handle_refused(from, id, available),
            Message::Commit { terms, proof } => self.handle_commit(from, terms, proof, signed),
            Message::Done { id } => self.table.acknowledged(from, id),
        }
        self.flush();
    }

    /// A link to the team is up: what it has not acknowledged is sent again.
    pub fn handle_connected(&mut self, team: TeamId, now: Time) {
        self.now = self.now.max(now);
        self.table.hurry(team, self.now);
        self.handle_timeout(now);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.table.due(), self.payments.timeout()].into_iter().flatten().min()
    }

    /// Sends again what was not acknowledged, and ends what has ended.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.settle_due();
        while let Some(id) = self.table.due_by(self.now) {
            if let Some((hold, at)) = self.table.held(id) {
                let (amount, next) = (hold.terms.amount, at.next);
                self.payments.done(hold.session, id);
                next.into_iter().for_each(|next| self.accounts.release(next, amount));
            }
            if let Some((hold, _)) = self.table.get(id)
                && hold.is_paid()
                && self.now >= hold.forgotten()
            {
                self.sessions.forget_until(hold.session.started);
            }
            self.table.handle_due(id, self.now, &mut self.durable);
        }
        self.flush();
    }

    /// Keeps what is left of the allowance, beside everything else.
    pub fn keep_allowance(&mut self, state: AllowanceState) {
        self.durable.flush(vec![Change::Allowance(state)]);
    }

    /// Keeps what is left of what the household sponsors a team with.
    pub fn keep_sponsored(&mut self, team: TeamId, left: Bytes) {
        self.durable.flush(vec![Change::Sponsored(team, left)]);
    }

    /// The next write.
    pub fn poll_write(&mut self) -> Option<Write> {
        self.durable.poll_write()
    }

    /// The last write that was made. Nothing that was sent so far relies on a later one.
    pub fn last_write(&self) -> Token {
        self.durable.last_write()
    }

    /// A HOLD could not be sent: nobody has seen it, so what was reserved for it is free again.
    pub fn handle_undelivered(&mut self, id: HoldId, now: Time) {
        self.now = self.now.max(now);
        if let Some((_, at)) = self.table.held(id)
            && let Some(next) = at.next
        {
            self.handle_refused(next, id, Bytes(0));
            self.flush();
        }
    }

    /// A write is durable, and with it all before it.
    pub fn handle_written(&mut self, token: Token) {
        self.durable.handle_written(token);
    }

    /// The next message, and for whom.
    pub fn poll_transmit(&mut self) -> Option<(TeamId, Message)> {
        self.durable.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.durable.poll_event()
    }

    /// How often what was refused to others, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// Reserves our part of a hold and asks the next home for its own.
    fn take(
        &mut self,
        terms: Terms,
        at: Position,
        proof: Proof,
        signed: Signed,
    ) -> Result<HoldId, HoldError> {
        let next = at.next.ok_or(HoldError::NotOnPath)?;
        self.admit(&terms, at.previous, next, &signed)?;
        let id = terms.id();
        if !mutated!(self, GoodWithoutReserving) {
            self.accounts.hold(next, terms.amount);
        }
        // The consumer's home is not asked: its member has signed.
        let is_last = next == terms.consumer;
        let state = if is_last { HoldState::Good } else { HoldState::Asked };
        self.table.insert(id, Hold { terms: terms.clone(), session: signed.session, state }, self.now);
        #[cfg(test)]
        if mutated!(self, EndsEarly) && at.previous.is_some() {
            self.table.end_at(id, self.now + Micros::from_seconds(600));
        }
        if is_last {
            self.pass_good(id, at.previous, terms.amount);
        } else {
            self.durable.send(next, Message::Hold { terms, proof });
        }
        Ok(id)
    }

    /// Whether a hold can be reserved. The part that is already reserved is not looked at.
    fn admit(
        &self,
        terms: &Terms,
        previous: Option<TeamId>,
        next: TeamId,
        signed: &Signed,
    ) -> Result<(), HoldError> {
        terms.check()?;
        let now = self.now.unix_seconds();
        if previous.is_some() && !self.config.takes_part {
            return Err(HoldError::Declined);
        }
        if signed.session.provider != terms.provider
            || signed.consumer != terms.consumer
            || signed.session.started < now.minus(SESSION_MAX)
            || self.sessions.is_forgotten(&signed.session)
        {
            return Err(HoldError::Consent);
        }
        if terms.end <= now || terms.end > now.plus(END_MAX) {
            return Err(HoldError::End);
        }
        if terms.amount > self.room(signed) {
            return Err(HoldError::Session);
        }
        // Whoever asks and gives up at once is remembered for days, and need not leave us without holds of our own.
        let holds_max = if previous.is_some() { self.config.holds_max / 2 } else { self.config.holds_max };
        let neighbours = previous.into_iter().chain([next]);
        let most = neighbours.map(|team| self.table.open_at(team)).max().unwrap_or(0);
        if self.table.contains(terms.id())
            || self.table.open() >= self.config.open_max
            || self.table.len() >= holds_max
            || most >= self.config.neighbour_max
        {
            return Err(HoldError::Busy);
        }
        let available = self.accounts.spendable(next);
        if available < terms.amount {
            return Err(HoldError::Insufficient { available });
        }
        Ok(())
    }

    /// How much more may be reserved for a session, by its latest receipt: twice what was signed in it may be reserved and
    /// not used.
    pub fn room(&self, signed: &Signed) -> Bytes {
        let limit = signed.weight.0.saturating_mul(2).clamp(SESSION_FIRST, Terms::AMOUNT_MAX.0);
        let used = signed.hold.and_then(|used| {
            let (hold, _) = self.table.held(used.id)?;
            (hold.session == signed.session).then(|| used.weight.min(hold.terms.amount).0)
        });
        let used = used.unwrap_or(0);
        Bytes(limit.saturating_sub(self.table.session(signed.session).saturating_sub(used)))
    }

    fn pass_good(&mut self, id: HoldId, previous: Option<TeamId>, amount: Bytes) {
        match previous {
            Some(previous) => self.durable.send(previous, Message::Good { id }),
            None => self.durable.report(Event::Good { id, amount }),
        }
    }

    /// Moves what was used along the path, frees the rest, and passes the commit on.
    fn settle(&mut self, id: HoldId, used: Bytes, proof: Option<Proof>) {
        let Some((hold, at)) = self.table.get(id) else {
            return;
        };
        let (terms, held) = (hold.terms.clone(), hold.state.is_held());
        self.payments.done(hold.session, id);
        if let Some(next) = at.next {
            if held {
                self.accounts.release(next, terms.amount);
            }
            self.accounts.debit(next, used);
            self.durable.send(next, Message::Commit { terms, proof: proof.clone() });
        }
        if let Some(previous) = at.previous {
            self.accounts.credit(previous, used);
            self.durable.send(previous, Message::Done { id });
        }
        self.table.settle(id, used, proof, self.now);
    }

    /// One write of everything that this call has changed.
    fn flush(&mut self) {
        let accounts = self.accounts.take_changed();
        let changes = accounts.into_iter().map(|(team, account)| Change::Account(team, account));
        self.sessions.make_room(self.now.unix_seconds());
        let sessions = self.sessions.take_changed().into_iter();
        let sessions = sessions.map(|(session, accounted)| Change::Session(session, accounted));
        let since = self.sessions.take_since().map(Change::SessionsSince);
        let changes = changes.chain(self.table.take_changed()).chain(sessions).chain(since).collect();
        self.durable.flush(changes);
    }
}

/// What a receipt pays of a hold; nothing if it is for another.
fn paid(terms: &Terms, id: HoldId, signed: &Signed) -> Option<Bytes> {
    let HoldUse { id: named, weight } = signed.hold?;
    let fits = named == id && signed.session.provider == terms.provider && signed.consumer == terms.consumer;
    fits.then_some(weight.min(terms.amount))
}
