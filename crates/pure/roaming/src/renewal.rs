//! The machine that keeps one program's certificate alive (`docs/design/0012-renewal.md`).
//!
//! From a third of its life on it asks the team's home for another one: `RNEW →`, `← RNEW` or ERRO, through the channel that has
//! proved its key. What comes is checked, kept by the program around the machine, and used only then. When nothing comes it
//! asks again, later and later, and warns a person in time.

mod renewer;

use crate::message::{Message, Reference};
use guestright_identity::{Certificate, IdentityError, RevocationList, Role, Warrant};
use guestright_units::{Micros, Time, UnixSeconds};
use rand::{CryptoRng, RngExt as _};
use std::collections::VecDeque;
use std::fmt;

pub use renewer::{NotRenewed, Renewer, RenewerConfig};

/// References of ours have this bit: the other machine on the same channel counts its own from one.
const OURS: Reference = 1 << 63;
const DAY: u64 = 86_400;
/// Days before the end at which a person is warned.
const WARN_DAYS: [u64; 3] = [30, 7, 1];
/// An answer is awaited so long…
const ANSWER_MAX: Micros = Micros::from_seconds(10);
/// …or for such a part of the life, if that is shorter.
const ANSWER_PARTS: u64 = 20;
/// The first pause after a refusal or no answer is such a part of the life…
const PAUSE_PARTS: u64 = 200;
/// …and it doubles up to this part,
const PAUSE_MAX_PARTS: u64 = 20;
/// within these bounds.
const PAUSE_MIN: Micros = Micros::from_millis(500);
const PAUSE_MAX: Micros = Micros::from_seconds(6 * 3_600);

/// What the program around the machine has to do or to say.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Make this certificate durable in place of the one that is in use, then call [`Renewal::handle_kept`].
    Keep(Box<Certificate>),
    /// It is durable: use it from now on.
    Renewed(Box<Certificate>),
    /// The certificate ends soon, and was not renewed. Said once for each step.
    EndsSoon(Notice),
    /// It has ended; nobody accepts it. Said once.
    Expired(Notice),
    /// It was not renewed, for this reason. Asked again by itself.
    Failed(String),
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The certificate of a program.
    Certificate(Role),
    /// The warrant of a home's renewing key.
    Warrant,
}

/// How a certificate or a warrant stands, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    pub subject: Subject,
    pub not_before: UnixSeconds,
    /// Last second of its life.
    pub not_after: UnixSeconds,
    /// The second at which this is said.
    pub now: UnixSeconds,
    /// Why it was not renewed, when that was last tried.
    pub reason: Option<String>,
}

/// Whether a certificate holds, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    Good,
    /// It holds, and a person should look why it was not renewed.
    EndsSoon,
    Expired,
    NotYetValid,
}

impl Notice {
    /// The notice of a certificate that nobody tried to renew.
    pub fn of(certificate: &Certificate, now: UnixSeconds) -> Self {
        let (not_before, not_after) = (certificate.not_before(), certificate.not_after());
        let subject = Subject::Certificate(certificate.role());
        Self { subject, not_before, not_after, now, reason: None }
    }

    /// The same for what a home renews by.
    pub fn of_warrant(warrant: &Warrant, now: UnixSeconds) -> Self {
        let (not_before, not_after) = (warrant.not_before(), warrant.not_after());
        Self { subject: Subject::Warrant, not_before, not_after, now, reason: None }
    }

    /// The warning that is due: seconds before the end; 0 when that is over, nothing while none is due.
    pub fn warning_step(&self) -> Option<u64> {
        if self.now > self.not_after { Some(0) } else { step(self.not_before, self.not_after, self.now) }
    }

    /// Whether it holds.
    pub fn validity(&self) -> Validity {
        if self.now > self.not_after {
            Validity::Expired
        } else if self.now < self.not_before {
            Validity::NotYetValid
        } else if step(self.not_before, self.not_after, self.now).is_some() {
            Validity::EndsSoon
        } else {
            Validity::Good
        }
    }
}

impl fmt::Display for Notice {
    /// One sentence: what happened, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subject, not_before, not_after, now, reason } = self;
        let to_do = match subject {
            Subject::Certificate(_) => {
                "ask your team for a new certificate: guestright team member renew NAME"
            }
            Subject::Warrant => "give this home another renewing key: guestright team renewal init",
        };
        match self.validity() {
            Validity::Expired => {
                write!(f, "{subject} expired at {not_after}, and it is {now}: nobody accepts it; {to_do}")?;
                write!(f, ", unless this computer's clock is wrong")?;
            }
            Validity::NotYetValid => {
                write!(f, "{subject} is valid from {not_before}, and it is {now}: ")?;
                write!(f, "set this computer's clock, or {to_do}")?;
            }
            Validity::EndsSoon => {
                let left = duration(not_after.0.saturating_sub(now.0));
                write!(f, "{subject} expires in {left}, at {not_after}, and was not renewed; {to_do}")?;
            }
            Validity::Good => write!(f, "{subject} holds until {not_after}")?,
        }
        match reason {
            Some(reason) if self.validity() != Validity::Good => write!(f, " (not renewed: {reason})"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(role) => write!(f, "this {role}'s certificate"),
            Self::Warrant => write!(f, "the warrant of this home's renewing key"),
        }
    }
}

/// So many seconds, as a person says it.
fn duration(seconds: u64) -> String {
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / DAY, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Which warning is due at `now`: the smallest that has been reached, as seconds before the end.
///
/// A certificate of 90 days or more has all three. A step that is more than a third of the life is left out, for
/// the certificate could not have been renewed by then; where all are, there is one at a third of the life.
fn step(not_before: UnixSeconds, not_after: UnixSeconds, now: UnixSeconds) -> Option<u64> {
    let third = (not_after.0 - not_before.0) / 3;
    let left = not_after.0.saturating_sub(now.0);
    let steps = WARN_DAYS.map(|days| days * DAY);
    let reached = steps.into_iter().filter(|step| *step <= third && left <= *step).min();
    reached.or((third < DAY && left <= third).then_some(third))
}

/// What is asked and not answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    reference: Reference,
    until: Time,
}

/// Keeps the certificate of a member, an access point or a home alive.
///
/// The program calls [`handle_home`](Self::handle_home) when its home can be reached or not, [`handle_input`](Self::handle_input)
/// with what came from it, [`handle_kept`](Self::handle_kept) in answer to [`Event::Keep`], and
/// [`handle_timeout`](Self::handle_timeout) when [`poll_timeout`](Self::poll_timeout) says so. After each it drains
/// [`poll_event`](Self::poll_event) and [`poll_transmit`](Self::poll_transmit).
#[derive(Debug)]
pub struct Renewal {
    certificate: Certificate,
    home_is_up: bool,
    /// When the home is asked next.
    ask_at: Time,
    pause: Micros,
    asked: Option<Asked>,
    /// What is not kept yet.
    keeping: Option<Certificate>,
    last_reference: Reference,
    /// The last step of which a person was warned for this certificate, in seconds before its end; 0 once it has expired.
    warned: Option<u64>,
    reason: Option<String>,
    renewals: u64,
    transmits: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
}

impl Renewal {
    /// For the certificate that is in use.
    pub fn new(certificate: Certificate, rng: &mut impl CryptoRng, now: Time) -> Self {
        let mut renewal = Self {
            ask_at: now,
            pause: Micros(0),
            certificate,
            home_is_up: false,
            asked: None,
            keeping: None,
            last_reference: OURS,
            warned: None,
            reason: None,
            renewals: 0,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        renewal.schedule(rng, now);
        renewal.warn(now);
        renewal
    }

    /// Takes in whether the home can be reached. The first question of a channel is asked at once if it is due.
    pub fn handle_home(&mut self, is_up: bool, rng: &mut impl CryptoRng, now: Time) {
        if !is_up {
            // An answer to this will not come.
            self.asked = None;
        } else if !self.home_is_up && self.is_old(now) {
            self.ask_at = now + self.jitter(self.pause_first(), rng);
        }
        self.home_is_up = is_up;
        self.handle_timeout(rng, now);
    }

    /// Takes in a message of the home; false if it is none of ours, and for somebody else.
    pub fn handle_input(&mut self, bytes: &[u8], rng: &mut impl CryptoRng, now: Time) -> bool {
        match Message::parse(bytes) {
            Ok(Message::Rnew { reference, certificate: Some(certificate) }) => {
                if self.asked.take_if(|asked| asked.reference == reference).is_some() {
                    match self.check(&certificate, now) {
                        Ok(()) => {
                            self.keeping = Some((*certificate).clone());
                            self.events.push_back(Event::Keep(certificate));
                        }
                        Err(reason) => self.failed(reason, rng, now),
                    }
                }
                true
            }
            Ok(Message::Erro { reference: Some(reference), reason, .. }) if reference & OURS != 0 => {
                if self.asked.take_if(|asked| asked.reference == reference).is_some() {
                    self.failed(format!("the home says: {reason}"), rng, now);
                }
                true
            }
            // Also what is damaged: it asks again by itself.
            Ok(_) | Err(_) => bytes.starts_with(b"RNEW "),
        }
    }

    /// Takes in whether a certificate could be made durable. If not the old one stays in use, and it is tried again.
    pub fn handle_kept(&mut self, kept: Result<(), String>, rng: &mut impl CryptoRng, now: Time) {
        let Some(certificate) = self.keeping.take() else { return };
        match kept {
            Ok(()) => {
                self.renewals += 1;
                self.adopt(certificate.clone(), rng, now);
                self.events.push_back(Event::Renewed(Box::new(certificate)));
            }
            Err(reason) => self.failed(format!("the new certificate could not be kept: {reason}"), rng, now),
        }
    }

    /// Takes in a certificate that a person has put in place of the one in use; false if that is no better.
    pub fn handle_replaced(&mut self, certificate: Certificate, rng: &mut impl CryptoRng, now: Time) -> bool {
        let is_better = self.check(&certificate, now).is_ok();
        if is_better {
            self.adopt(certificate.clone(), rng, now);
            self.events.push_back(Event::Renewed(Box::new(certificate)));
        }
        is_better
    }

    /// Takes in that the time is now.
    pub fn handle_timeout(&mut self, rng: &mut impl CryptoRng, now: Time) {
        self.warn(now);
        if self.asked.take_if(|asked| now >= asked.until).is_some() {
            self.failed("the home did not answer".to_owned(), rng, now);
        }
        let is_busy = self.asked.is_some() || self.keeping.is_some();
        if now < self.ask_at || is_busy || !self.home_is_up {
            return;
        }
        self.last_reference = (self.last_reference + 1) | OURS;
        let reference = self.last_reference;
        let patience = ANSWER_MAX.min(self.part(ANSWER_PARTS)).max(PAUSE_MIN);
        self.asked = Some(Asked { reference, until: now + patience });
        self.transmits.push_back(Message::Rnew { reference, certificate: None }.emit());
    }

    /// The next message to the home.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Renewal::handle_timeout`] wants to be called.
    pub fn poll_timeout(&self) -> Option<Time> {
        let ask = match (self.asked, &self.keeping) {
            (Some(asked), _) => Some(asked.until),
            (None, None) if self.home_is_up => Some(self.ask_at),
            _ => None,
        };
        [ask, self.next_warning()].into_iter().flatten().min()
    }

    /// The certificate in use.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Whether it is time to have another one: a third of its life is over.
    pub fn is_old(&self, now: Time) -> bool {
        now >= self.old_at()
    }

    /// How often it was renewed here.
    pub fn renewals(&self) -> u64 {
        self.renewals
    }

    /// How the certificate stands.
    pub fn notice(&self, now: Time) -> Notice {
        Notice { reason: self.reason.clone(), ..Notice::of(&self.certificate, now.unix_seconds()) }
    }

    /// Whether `certificate` may take the place of the one in use.
    fn check(&self, certificate: &Certificate, now: Time) -> Result<(), String> {
        let own = &self.certificate;
        if certificate.member_id() != own.member_id() || certificate.role() != own.role() {
            return Err("the new certificate is for another key, role or team".to_owned());
        }
        certificate
            .check(own.role(), now.unix_seconds())
            .map_err(|error: IdentityError| error.to_string())?;
        if certificate.not_after() <= own.not_after() {
            return Err("the new certificate does not last longer than this one".to_owned());
        }
        Ok(())
    }

    fn adopt(&mut self, certificate: Certificate, rng: &mut impl CryptoRng, now: Time) {
        (self.certificate, self.warned, self.reason) = (certificate, None, None);
        (self.asked, self.keeping) = (None, None);
        self.schedule(rng, now);
        self.warn(now);
    }

    /// From a third of the life on, not everybody at once.
    fn schedule(&mut self, rng: &mut impl CryptoRng, now: Time) {
        self.pause = self.pause_first();
        let spread = self.jitter(self.part(12), rng);
        self.ask_at = (self.old_at() + spread).max(now + self.jitter(self.pause_first(), rng));
    }

    fn failed(&mut self, reason: String, rng: &mut impl CryptoRng, now: Time) {
        // Half to all of it, so that those who failed together do not come again together.
        let half = Micros(self.pause.0 / 2);
        self.ask_at = now + half + self.jitter(half, rng);
        let most = self.part(PAUSE_MAX_PARTS).clamp(PAUSE_MIN, PAUSE_MAX);
        self.pause = Micros(self.pause.0 * 2).min(most);
        self.events.push_back(Event::Failed(reason.clone()));
        self.reason = Some(reason);
    }

    fn warn(&mut self, now: Time) {
        let seconds = now.unix_seconds();
        let due = Notice::of(&self.certificate, seconds).warning_step();
        let Some(due) = due.filter(|due| self.warned.is_none_or(|warned| *due < warned)) else { return };
        self.warned = Some(due);
        let notice = self.notice(now);
        self.events.push_back(if due == 0 { Event::Expired(notice) } else { Event::EndsSoon(notice) });
    }

    /// When the next step is reached, or the end.
    fn next_warning(&self) -> Option<Time> {
        let (not_before, not_after) = (self.certificate.not_before(), self.certificate.not_after());
        let third = self.certificate.life() / 3;
        let steps = WARN_DAYS.map(|days| days * DAY).into_iter().chain([third]);
        let is_ahead = |left: &u64| self.warned.is_none_or(|warned| *left < warned);
        let at = |left: u64| UnixSeconds(not_after.0 - left);
        let counts = |left: &u64| *left <= third && step(not_before, not_after, at(*left)) == Some(*left);
        let next = steps.filter(|left| is_ahead(left) && counts(left)).max();
        match next {
            Some(left) => Some(at(left).time()),
            None => (self.warned != Some(0)).then(|| not_after.plus(1).time()),
        }
    }

    fn old_at(&self) -> Time {
        self.certificate.not_before().time() + self.part(3)
    }

    /// So big a part of the certificate's life.
    fn part(&self, parts: u64) -> Micros {
        Micros(self.certificate.life().saturating_mul(1_000_000) / parts)
    }

    fn pause_first(&self) -> Micros {
        self.part(PAUSE_PARTS).clamp(PAUSE_MIN, PAUSE_MAX)
    }

    fn jitter(&self, most: Micros, rng: &mut impl CryptoRng) -> Micros {
        Micros(rng.random_range(0..=most.0))
    }
}

/// Whether a warrant, or what it is for, is not revoked by its team's list.
pub(crate) fn check_renewing_key(
    list: Option<&RevocationList>,
    warrant: &Warrant,
    now: UnixSeconds,
) -> Result<(), IdentityError> {
    match list.map_or(Ok(()), |list| list.check(warrant.renewing().id(), now)) {
        Err(IdentityError::Revoked { since }) => Err(IdentityError::RenewingKeyRevoked { since }),
        other => other,
    }
}

#[cfg(test)]
mod tests;
