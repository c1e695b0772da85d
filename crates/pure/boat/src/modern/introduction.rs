//! How two who know at most each other's address come to keys.
//!
//! ```text
//! caller                                                        callee
//!   ASK     nonce, fingerprint, preferred cipher, no cookie  ->
//!                                                           <-  AGAIN   nonce, cookie
//!   ASK     the same, with the cookie                        ->
//!                                                           <-  ANSWER  both nonces, fingerprint, preferred cipher
//!   <-                 the exchange of `agreement`, whose prologue covers all that          ->
//! ```
//!
//! The fingerprints stand for those in SDP, so somebody in the middle can put in others: then there are two agreements
//! with different words, or one that fails, because the peer is not the one that was expected. Everything in ASK and
//! ANSWER is in the prologue of Noise, in the words and in the tag of the agreement's datagrams; changed on the way, it
//! ends in none. There is nothing to negotiate down to: a side says which of two good ciphers it prefers, and
//! AES-128-GCM is taken if both prefer it.
//!
//! # Datagrams
//!
//! `9 | version 1 | kind | 0 | body`. RFC 7983 and RFC 9443 give 9 to nobody; an agreement has 8, sealed content 224 to
//! 255. ASK is as long as the longest answer, AGAIN and COMMIT or ANSWER and COMMIT, so nobody is drowned in answers.
//!
//! # Limits of the callee
//!
//! - It keeps nothing of an ASK without its cookie, which is an HMAC over the address and the ASK, with a key that
//!   changes each [`COOKIE_LIFE`]: so every attempt has shown that it receives at its address.
//! - [`ATTEMPTS_MAX`] attempts at a time, [`ATTEMPTS_PER_HOST_MAX`] from one host. Each has keys of its own: a key that
//!   was shown to one cannot be used to choose the words with another.

use super::derive::{Chance, Secret};
use super::{Cipher, Config, Modern};
use crate::{Introduced, Opening};
use callee::Waiting;
use datagram::{Answer, Ask, COOKIE_LEN, Datagram, NONCE_LEN};
use guestright_identity::{Certificate, KeyId, SecretKey};
use guestright_units::{Micros, Seed, Time};
use guestright_voice::agreement::{Agreed, Agreement, AgreementError, Call, Event, Prepared, Role};
use guestright_voice::rtp::Kind;
use guestright_voice::srtp::Profile;
use guestright_voice::tool::{Side, ToolError, Transmit};
use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;

mod callee;
mod datagram;

pub use datagram::parses;

/// The first byte of each datagram of an introduction.
pub const INTRODUCTION: u8 = 9;
/// Attempts that a callee pursues at a time.
pub const ATTEMPTS_MAX: usize = 8;
/// Of them from one host.
pub const ATTEMPTS_PER_HOST_MAX: usize = 2;
/// A cookie is good for so long at least, and for twice as long at most.
pub const COOKIE_LIFE: Micros = Micros::from_seconds(20);

/// The first repetition; each further one waits twice as long, up to [`RETRY_MAX`].
const RETRY_FIRST: Micros = Micros::from_millis(150);
const RETRY_MAX: Micros = Micros::from_millis(1_000);
/// After that there is no answer.
const DEADLINE: Micros = Micros::from_seconds(20);
/// Datagrams that wait to be sent; more are not made.
const TRANSMITS_MAX: usize = 32;
/// The keys of the agreement go into a derivation of our own, so we take the longest.
const PROFILE: Profile = Profile::AeadAes256Gcm;

const PROTECTION_EXPECTED: &str = "encrypted from end to end; the other side has the key that was expected";
const PROTECTION_WORDS: &str =
    "encrypted from end to end; compare the four words to be sure that nobody is in the middle";

/// Who we are, and whom we expect.
#[derive(Clone)]
pub struct Member {
    pub key: SecretKey,
    /// The certificate that says so.
    pub certificate: Certificate,
    /// The key that the peer must have: a contact's. Any other is refused.
    pub expected: Option<KeyId>,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Member({:?}, expects {:?})", self.certificate, self.expected)
    }
}

/// One side's way to a [`Modern`] seal. Times are of the calendar, because certificates expire.
#[derive(Debug)]
pub struct Introduction {
    member: Member,
    config: Config,
    chance: Chance,
    state: State,
    transmits: VecDeque<Transmit>,
    outcome: Option<Result<Introduced, String>>,
    /// There is an outcome, or has been.
    is_over: bool,
}

#[derive(Debug)]
enum State {
    /// A caller that has no answer yet.
    Asking(Box<Asking>),
    /// A callee, and those who try.
    Waiting(Box<Waiting>),
    /// The caller's only attempt, or the callee's that has succeeded.
    Agreeing(Box<Attempt>),
    Over,
}

#[derive(Debug)]
struct Asking {
    to: SocketAddr,
    ask: Ask,
    cookie: [u8; COOKIE_LEN],
    prepared: Prepared,
    /// When it began; none before the first [`Opening::handle_timeout`].
    started: Option<Time>,
    retry_at: Time,
    retry_after: Micros,
}

/// An agreement that is under way, or done.
#[derive(Debug)]
struct Attempt {
    peer: SocketAddr,
    ask: Ask,
    answer: Answer,
    agreement: Agreement,
}

impl Introduction {
    /// Begins. `seed` is chance that nobody else knows; [`Config::cipher`] is what this side prefers.
    ///
    /// # Errors
    /// [`AgreementError::TooLong`] for a certificate that does not fit into a datagram together with a signature.
    pub fn new(side: Side, member: Member, config: Config, seed: &Seed) -> Result<Self, AgreementError> {
        let mut chance = Chance::new(seed);
        let prepared = prepare(&member, &mut chance)?;
        let state = match side {
            Side::Caller { to } => {
                let nonce = nonce(&mut chance);
                let ask = Ask { nonce, fingerprint: prepared.fingerprint(), prefers: config.cipher };
                State::Asking(Box::new(Asking {
                    to,
                    ask,
                    cookie: [0; COOKIE_LEN],
                    prepared,
                    started: None,
                    retry_at: Time(0),
                    retry_after: RETRY_FIRST,
                }))
            }
            Side::Callee => State::Waiting(Box::new(Waiting::new(&mut chance))),
        };
        Ok(Self { member, config, chance, state, transmits: VecDeque::new(), outcome: None, is_over: false })
    }

    fn handle_ask(
        &mut self,
        ask: Ask,
        got: &[u8; COOKIE_LEN],
        from: SocketAddr,
        now: Time,
    ) -> Result<(), ToolError> {
        let State::Waiting(waiting) = &mut self.state else {
            return Err(ToolError::OutOfTurn("nobody is waited for"));
        };
        let datagram = if let Err(cookie) = waiting.check(&ask, got, from, &mut self.chance, now) {
            Datagram::Again { nonce: ask.nonce, cookie }
        } else if let Some(answer) = waiting.answered(&ask, from) {
            Datagram::Answer(answer)
        } else {
            waiting.admit(from)?;
            let prepared = prepare(&self.member, &mut self.chance).expect("it was tried when we began");
            let answer = Answer {
                caller_nonce: ask.nonce,
                nonce: nonce(&mut self.chance),
                fingerprint: prepared.fingerprint(),
                prefers: self.config.cipher,
            };
            let expected = self.member.expected;
            waiting.attempts.push(Attempt::new(Role::Callee, prepared, expected, from, ask, answer, now));
            Datagram::Answer(answer)
        };
        self.push(from, datagram.emit());
        Ok(())
    }

    fn handle_again(
        &mut self,
        nonce: [u8; NONCE_LEN],
        cookie: [u8; COOKIE_LEN],
        from: SocketAddr,
        now: Time,
    ) -> Result<(), ToolError> {
        let asking = self.asking(nonce, from)?;
        if asking.cookie == cookie {
            return Err(ToolError::Replayed);
        }
        asking.cookie = cookie;
        asking.retry_after = RETRY_FIRST;
        asking.retry_at = now + RETRY_FIRST;
        self.ask();
        Ok(())
    }

    fn handle_answer(&mut self, answer: Answer, from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let expected = self.member.expected;
        let asking = self.asking(answer.caller_nonce, from)?;
        let (prepared, ask) = (asking.prepared.clone(), asking.ask);
        let attempt = Attempt::new(Role::Caller, prepared, expected, from, ask, answer, now);
        self.transmits.clear();
        self.state = State::Agreeing(Box::new(attempt));
        Ok(())
    }

    /// The question that a datagram with this nonce, from there, is the answer to.
    fn asking(&mut self, nonce: [u8; NONCE_LEN], from: SocketAddr) -> Result<&mut Asking, ToolError> {
        match &mut self.state {
            State::Asking(asking) if asking.to != from => Err(ToolError::Stranger),
            State::Asking(asking) if asking.ask.nonce != nonce => Err(ToolError::Forged),
            State::Asking(asking) => Ok(asking),
            State::Waiting(_) | State::Agreeing(_) | State::Over => {
                Err(ToolError::OutOfTurn("an answer that was not asked for"))
            }
        }
    }

    fn handle_agreement(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let attempts = match &mut self.state {
            State::Waiting(waiting) => waiting.attempts.as_mut_slice(),
            State::Agreeing(attempt) => std::slice::from_mut(&mut **attempt),
            State::Asking(_) | State::Over => {
                return Err(ToolError::OutOfTurn("an agreement before an introduction"));
            }
        };
        let mut verdict = Err(ToolError::Stranger);
        for attempt in attempts.iter_mut().filter(|attempt| attempt.peer == from) {
            match attempt.agreement.handle_input(datagram, now) {
                Err(AgreementError::OtherCall) => verdict = Err(ToolError::Forged),
                Ok(()) => return Ok(()),
                Err(error) => return Err(refusal(&error)),
            }
        }
        verdict
    }

    /// Sends ASK, as it is now.
    fn ask(&mut self) {
        let State::Asking(asking) = &self.state else { return };
        let (to, datagram) = (asking.to, Datagram::Ask { ask: asking.ask, cookie: asking.cookie });
        self.push(to, datagram.emit());
    }

    fn push(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        if self.transmits.len() < TRANSMITS_MAX {
            self.transmits.push_back(Transmit { to, bytes });
        }
    }

    /// Takes out what the agreements have to say, and sees what has become of them.
    fn drain(&mut self) {
        match &mut self.state {
            State::Waiting(waiting) => {
                let mut agreed = None;
                for (index, attempt) in waiting.attempts.iter_mut().enumerate() {
                    attempt.drain(&mut self.transmits);
                    if let Some(Event::Agreed(it)) = attempt.agreement.poll_event() {
                        agreed.get_or_insert((index, it));
                    }
                }
                // One that has failed was told so by silence; the callee goes on waiting.
                if let Some((index, agreed)) = agreed {
                    let attempt = waiting.attempts.swap_remove(index);
                    self.succeed(&attempt, &agreed, Role::Callee);
                    self.state = State::Agreeing(Box::new(attempt));
                } else {
                    waiting.attempts.retain(|attempt| !attempt.agreement.is_failed());
                }
            }
            State::Agreeing(attempt) => {
                attempt.drain(&mut self.transmits);
                match attempt.agreement.poll_event() {
                    Some(Event::Agreed(agreed)) => {
                        let State::Agreeing(attempt) = std::mem::replace(&mut self.state, State::Over) else {
                            return;
                        };
                        self.succeed(&attempt, &agreed, Role::Caller);
                        self.state = State::Agreeing(attempt);
                    }
                    Some(Event::Failed(error)) => self.fail(error.to_string()),
                    None => {}
                }
            }
            State::Asking(_) | State::Over => {}
        }
    }

    /// After the agreement it means only that the callee never said that it has the keys too.
    fn fail(&mut self, why: String) {
        if !self.is_over {
            self.is_over = true;
            self.outcome = Some(Err(why));
        }
        self.transmits.clear();
        self.state = State::Over;
    }

    fn succeed(&mut self, attempt: &Attempt, agreed: &Agreed, role: Role) {
        let config = Config { cipher: attempt.cipher(), ..self.config };
        let seal = Modern::from_agreed(role, agreed, config, &Seed(*self.chance.draw().as_bytes()));
        let is_expected = self.member.expected.is_some();
        self.is_over = true;
        self.outcome = Some(Ok(Introduced {
            seal: Box::new(seal),
            peer: attempt.peer,
            name: Some(agreed.peer.subject_id().to_string()),
            is_verified: true,
            words: agreed.words.words().iter().map(ToString::to_string).collect(),
            protection: if is_expected { PROTECTION_EXPECTED } else { PROTECTION_WORDS },
        }));
    }
}

impl Opening for Introduction {
    fn handle_datagram(&mut self, datagram: &[u8], from: SocketAddr, now: Time) -> Result<(), ToolError> {
        let done = match datagram.first() {
            Some(&Kind::AGREEMENT) => self.handle_agreement(datagram, from, now),
            _ => match Datagram::parse(datagram)? {
                Datagram::Ask { ask, cookie } => self.handle_ask(ask, &cookie, from, now),
                Datagram::Again { nonce, cookie } => self.handle_again(nonce, cookie, from, now),
                Datagram::Answer(answer) => self.handle_answer(answer, from, now),
            },
        };
        self.drain();
        done
    }

    fn handle_timeout(&mut self, now: Time) {
        match &mut self.state {
            State::Asking(asking) if now >= asking.retry_at => {
                let started = *asking.started.get_or_insert(now);
                if now.since(started) >= DEADLINE {
                    let (to, seconds) = (asking.to, DEADLINE.0 / 1_000_000);
                    self.fail(format!("nobody at {to} has answered within {seconds} s"));
                    return;
                }
                asking.retry_at = now + asking.retry_after;
                asking.retry_after = Micros((asking.retry_after.0 * 2).min(RETRY_MAX.0));
                self.ask();
            }
            State::Asking(_) | State::Over => {}
            State::Waiting(waiting) => {
                waiting.attempts.iter_mut().for_each(|attempt| attempt.agreement.handle_timeout(now));
            }
            State::Agreeing(attempt) => attempt.agreement.handle_timeout(now),
        }
        self.drain();
    }

    fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Asking(asking) => Some(asking.retry_at),
            State::Waiting(waiting) => {
                waiting.attempts.iter().filter_map(|attempt| attempt.agreement.poll_timeout()).min()
            }
            State::Agreeing(attempt) => attempt.agreement.poll_timeout(),
            State::Over => None,
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_outcome(&mut self) -> Option<Result<Introduced, String>> {
        self.outcome.take()
    }
}

impl Attempt {
    fn new(
        role: Role,
        prepared: Prepared,
        expected: Option<KeyId>,
        peer: SocketAddr,
        ask: Ask,
        answer: Answer,
        now: Time,
    ) -> Self {
        let fingerprint = match role {
            Role::Caller => answer.fingerprint,
            Role::Callee => ask.fingerprint,
        };
        let call = Call { role, profile: PROFILE, peer: fingerprint, expected };
        let versions = [super::VERSION, datagram::VERSION];
        let application = [b"guestright/boat/1", &versions[..], &ask.to_bytes(), &answer.to_bytes()].concat();
        let agreement = Agreement::for_application(prepared, call, &application, now);
        Self { peer, ask, answer, agreement }
    }

    /// AES-128-GCM if both prefer it.
    fn cipher(&self) -> Cipher {
        match (self.ask.prefers, self.answer.prefers) {
            (Cipher::Aes128Gcm, Cipher::Aes128Gcm) => Cipher::Aes128Gcm,
            (Cipher::ChaCha20Poly1305, _) | (_, Cipher::ChaCha20Poly1305) => Cipher::ChaCha20Poly1305,
        }
    }

    fn drain(&mut self, transmits: &mut VecDeque<Transmit>) {
        while let Some(bytes) = self.agreement.poll_transmit() {
            if transmits.len() < TRANSMITS_MAX {
                transmits.push_back(Transmit { to: self.peer, bytes });
            }
        }
    }
}

/// Keys for one attempt.
fn prepare(member: &Member, chance: &mut Chance) -> Result<Prepared, AgreementError> {
    let seed = Seed(*chance.draw().as_bytes());
    Prepared::new(member.key.clone(), member.certificate.clone(), &seed)
}

fn nonce(chance: &mut Chance) -> [u8; NONCE_LEN] {
    *chance.draw().as_bytes().first_chunk().expect("32 bytes were drawn")
}

fn refusal(error: &AgreementError) -> ToolError {
    match error {
        AgreementError::Malformed(what) => ToolError::Malformed(what),
        AgreementError::OutOfTurn => ToolError::OutOfTurn("a step of the agreement"),
        AgreementError::TooMany => ToolError::OutOfTurn("too many datagrams to check them all"),
        AgreementError::OtherCall
        | AgreementError::Forged
        | AgreementError::Commitment
        | AgreementError::Fingerprint
        | AgreementError::OtherPeer { .. }
        | AgreementError::Identity(_)
        | AgreementError::TooLong { .. }
        | AgreementError::Timeout { .. } => ToolError::Forged,
    }
}

#[cfg(test)]
mod tests;
