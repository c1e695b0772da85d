use super::message::{Body, KEY_LEN, Message};
use super::noise::{Keys, Noise, Terms, commitment};
use super::prepared::{Fingerprint, Prepared, public};
use super::{AgreementError, Role, Words};
use crate::srtp::{MasterKey, Profile};
use guestright_identity::{Certificate, KeyId};
use guestright_units::{Micros, Time};
use std::collections::VecDeque;
use std::fmt;
use subtle::ConstantTimeEq as _;

/// What the signalling and the settings say about a call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub role: Role,
    /// The ciphers that were agreed on in SDP.
    pub profile: Profile,
    /// The peer's fingerprint out of SDP.
    pub peer: Fingerprint,
    /// The key that the peer must have: a contact's. Any other is refused.
    pub expected: Option<KeyId>,
}

/// What two members have agreed on.
#[derive(Clone, PartialEq, Eq)]
pub struct Agreed {
    /// Protects what we send.
    pub send: MasterKey,
    /// Opens what we receive.
    pub receive: MasterKey,
    /// Who the peer is. Its certificate holds; whether its team has revoked it is for the caller of this to ask.
    pub peer: Certificate,
    /// To be read aloud and compared.
    pub words: Words,
}

/// What the program around it must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// There are keys.
    Agreed(Box<Agreed>),
    /// There will be none. It comes at most once, and for the caller it may come after [`Event::Agreed`], if the callee
    /// never shows that it has them too.
    Failed(AgreementError),
}

/// One side of the exchange.
pub struct Agreement {
    call: Call,
    prepared: Prepared,
    terms: Terms,
    tag: [u8; 8],
    state: State,
    started: Time,
    retry_at: Option<Time>,
    retry_after: Micros,
    checks_left: u32,
    transmits: VecDeque<Vec<u8>>,
    events: VecDeque<Event>,
}

enum State {
    /// The caller has said HELLO.
    AwaitingCommit,
    /// The caller has shown its key.
    AwaitingSecond {
        noise: Box<Noise>,
        commitment: [u8; KEY_LEN],
        first: Vec<u8>,
    },
    /// The caller has keys, and waits for the callee to say that it has them too.
    AwaitingDone {
        third: Vec<u8>,
        done: [u8; 16],
    },
    /// The callee has committed.
    AwaitingFirst,
    /// The callee has shown its key.
    AwaitingThird {
        noise: Box<Noise>,
        first: [u8; KEY_LEN],
        second: Vec<u8>,
    },
    /// The callee has keys, and answers when it is asked again.
    Confirmed {
        third: Vec<u8>,
        done: [u8; 16],
    },
    /// The caller has been told that the callee has keys.
    Settled,
    Failed,
}

/// The first repetition; each further one waits twice as long, up to [`RETRY_MAX`].
const RETRY_FIRST: Micros = Micros::from_millis(150);
const RETRY_MAX: Micros = Micros::from_millis(1_000);
/// After that there is no agreement.
const DEADLINE: Micros = Micros::from_seconds(20);
/// Datagrams that cost arithmetic, between two repetitions.
const CHECKS_MAX: u32 = 8;
/// Answers that wait to be sent; more are not made.
const TRANSMITS_MAX: usize = 8;

impl Agreement {
    /// Begins. The first datagram waits in [`Agreement::poll_transmit`].
    #[must_use]
    pub fn new(prepared: Prepared, call: Call, now: Time) -> Self {
        Self::for_application(prepared, call, &[], now)
    }

    /// Begins to agree on keys for something else than SRTP. `application` says for what, and what both sides have
    /// agreed on before: if it differs between them there is no agreement, and it is in the words. Empty is SRTP.
    #[must_use]
    pub fn for_application(prepared: Prepared, call: Call, application: &[u8], now: Time) -> Self {
        let own = prepared.fingerprint();
        let application = application.to_vec();
        let terms = Terms { role: call.role, profile: call.profile, own, peer: call.peer, application };
        let state = match call.role {
            Role::Caller => State::AwaitingCommit,
            Role::Callee => State::AwaitingFirst,
        };
        let mut agreement = Self {
            call,
            tag: terms.tag(),
            terms,
            prepared,
            state,
            started: now,
            retry_at: Some(now + RETRY_FIRST),
            retry_after: RETRY_FIRST,
            checks_left: CHECKS_MAX,
            transmits: VecDeque::new(),
            events: VecDeque::new(),
        };
        agreement.repeat();
        agreement
    }

    /// Takes a datagram of [`Kind::Agreement`](guestright_wire::rtp::Kind::Agreement).
    ///
    /// # Errors
    /// [`AgreementError`] says what was wrong with it, to be counted. If it was so wrong that there is no agreement any
    /// more, [`Event::Failed`] says that as well.
    pub fn handle_input(&mut self, datagram: &[u8], now: Time) -> Result<(), AgreementError> {
        let message = Message::parse(datagram)?;
        if message.tag != self.tag {
            return Err(AgreementError::OtherCall);
        }
        match (self.call.role, message.body) {
            (Role::Caller, Body::Commit(commitment)) => self.handle_commit(*commitment, now),
            (Role::Caller, Body::Second(body)) => self.handle_second(body, now),
            (Role::Caller, Body::Done(proof)) => self.handle_done(proof),
            (Role::Callee, Body::Hello) => self.handle_hello(),
            (Role::Callee, Body::First(body)) => self.handle_first(body, now),
            (Role::Callee, Body::Third(body)) => self.handle_third(body, now),
            (Role::Caller, Body::Hello | Body::First(_) | Body::Third(_))
            | (Role::Callee, Body::Commit(_) | Body::Second(_) | Body::Done(_)) => {
                Err(AgreementError::OutOfTurn)
            }
        }
    }

    /// Media of the peer passed its check: it has the keys, so nothing needs repeating.
    pub fn handle_peer_media(&mut self) {
        if matches!(self.state, State::AwaitingDone { .. }) {
            self.settle();
        }
    }

    /// Repeats what was not answered, or gives up.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.retry_at.is_none_or(|at| now < at) {
            return;
        }
        if now.since(self.started) >= DEADLINE {
            self.fail(AgreementError::Timeout { seconds: DEADLINE.0 / 1_000_000 });
            return;
        }
        self.checks_left = CHECKS_MAX;
        self.repeat();
        self.retry_after = Micros((self.retry_after.0 * 2).min(RETRY_MAX.0));
        self.retry_at = Some(now + self.retry_after);
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.transmits.pop_front()
    }

    /// What has happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When it wants [`Agreement::handle_timeout`].
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        self.retry_at
    }

    #[must_use]
    pub fn is_failed(&self) -> bool {
        matches!(self.state, State::Failed)
    }

    fn handle_commit(&mut self, commitment: [u8; KEY_LEN], now: Time) -> Result<(), AgreementError> {
        match &self.state {
            State::AwaitingCommit => {
                let mut noise = Noise::new(&self.prepared, self.terms.clone(), commitment);
                let first = noise.write_first();
                self.state = State::AwaitingSecond { noise: Box::new(noise), commitment, first };
                self.advance(now);
                Ok(())
            }
            // The callee repeats itself as long as it has not heard FIRST.
            State::AwaitingSecond { commitment: known, .. } if *known == commitment => {
                self.repeat();
                Ok(())
            }
            State::AwaitingSecond { .. } => Err(AgreementError::Commitment),
            State::AwaitingDone { .. }
            | State::AwaitingFirst
            | State::AwaitingThird { .. }
            | State::Confirmed { .. }
            | State::Settled
            | State::Failed => Err(AgreementError::OutOfTurn),
        }
    }

    fn handle_second(&mut self, body: &[u8], now: Time) -> Result<(), AgreementError> {
        let State::AwaitingSecond { noise, commitment: committed, .. } = &mut self.state else {
            // Our THIRD was lost, or a datagram came twice.
            if matches!(self.state, State::AwaitingDone { .. }) {
                self.repeat();
                return Ok(());
            }
            return Err(AgreementError::OutOfTurn);
        };
        let callee = *body.first_chunk::<KEY_LEN>().expect("its length was checked");
        if commitment(&callee) != *committed {
            return Err(AgreementError::Commitment);
        }
        spend(&mut self.checks_left)?;
        let judged = noise.read_proof(body, &callee, self.call.expected, now.unix_seconds());
        let peer = match judged {
            Ok(peer) => peer,
            Err(AgreementError::Forged) => return Err(AgreementError::Forged),
            Err(error) => return Err(self.fail(error)),
        };
        let third = noise.write_proof(&self.prepared);
        let words = noise.words(&public(&self.prepared.ephemeral), &callee);
        let Keys { send, receive, done } = noise.keys();
        self.state = State::AwaitingDone { third, done };
        self.events.push_back(Event::Agreed(Box::new(Agreed { send, receive, peer, words })));
        self.advance(now);
        Ok(())
    }

    fn handle_done(&mut self, proof: &[u8; 16]) -> Result<(), AgreementError> {
        match &self.state {
            State::AwaitingDone { done, .. } if bool::from(done.ct_eq(proof)) => {
                self.settle();
                Ok(())
            }
            State::AwaitingDone { .. } => Err(AgreementError::Forged),
            State::Settled => Ok(()),
            State::AwaitingCommit
            | State::AwaitingSecond { .. }
            | State::AwaitingFirst
            | State::AwaitingThird { .. }
            | State::Confirmed { .. }
            | State::Failed => Err(AgreementError::OutOfTurn),
        }
    }

    fn handle_hello(&mut self) -> Result<(), AgreementError> {
        if matches!(self.state, State::AwaitingFirst) {
            self.repeat();
            return Ok(());
        }
        // Late or repeated: whoever sent FIRST has our commitment.
        Err(AgreementError::OutOfTurn)
    }

    fn handle_first(&mut self, body: &[u8], now: Time) -> Result<(), AgreementError> {
        let caller: [u8; KEY_LEN] = body.try_into().expect("its length was checked");
        match &self.state {
            State::AwaitingFirst => {
                spend(&mut self.checks_left)?;
                let committed = commitment(&public(&self.prepared.ephemeral));
                let mut noise = Noise::new(&self.prepared, self.terms.clone(), committed);
                noise.read_first(body)?;
                let second = noise.write_proof(&self.prepared);
                self.state = State::AwaitingThird { noise: Box::new(noise), first: caller, second };
                self.advance(now);
                Ok(())
            }
            State::AwaitingThird { first, .. } if *first == caller => {
                self.repeat();
                Ok(())
            }
            // Our key is out: a second choice of the other's is not taken.
            State::AwaitingThird { .. } => Err(AgreementError::Commitment),
            State::AwaitingCommit
            | State::AwaitingSecond { .. }
            | State::AwaitingDone { .. }
            | State::Confirmed { .. }
            | State::Settled
            | State::Failed => Err(AgreementError::OutOfTurn),
        }
    }

    fn handle_third(&mut self, body: &[u8], now: Time) -> Result<(), AgreementError> {
        let (noise, caller) = match &mut self.state {
            State::AwaitingThird { noise, first, .. } => (noise, *first),
            State::Confirmed { third, .. } if third == body => {
                self.repeat();
                return Ok(());
            }
            State::AwaitingCommit
            | State::AwaitingSecond { .. }
            | State::AwaitingDone { .. }
            | State::AwaitingFirst
            | State::Confirmed { .. }
            | State::Settled
            | State::Failed => return Err(AgreementError::OutOfTurn),
        };
        spend(&mut self.checks_left)?;
        let judged = noise.read_proof(body, &caller, self.call.expected, now.unix_seconds());
        let peer = match judged {
            Ok(peer) => peer,
            Err(AgreementError::Forged) => {
                **noise = noise.before_third(&self.prepared, &caller)?;
                return Err(AgreementError::Forged);
            }
            Err(error) => return Err(self.fail(error)),
        };
        let words = noise.words(&caller, &public(&self.prepared.ephemeral));
        let Keys { send, receive, done } = noise.keys();
        self.state = State::Confirmed { third: body.to_vec(), done };
        self.retry_at = None;
        self.events.push_back(Event::Agreed(Box::new(Agreed { send, receive, peer, words })));
        self.repeat();
        Ok(())
    }

    /// A step further: says so at once, and begins anew with the short wait.
    fn advance(&mut self, now: Time) {
        self.repeat();
        self.retry_after = RETRY_FIRST;
        self.retry_at = Some(now + RETRY_FIRST);
    }

    /// Sends what this state has to say.
    fn repeat(&mut self) {
        if self.transmits.len() >= TRANSMITS_MAX {
            return;
        }
        let committed;
        let body = match &self.state {
            State::AwaitingCommit => Body::Hello,
            State::AwaitingSecond { first, .. } => Body::First(first),
            State::AwaitingDone { third, .. } => Body::Third(third),
            State::AwaitingFirst => {
                committed = commitment(&public(&self.prepared.ephemeral));
                Body::Commit(&committed)
            }
            State::AwaitingThird { second, .. } => Body::Second(second),
            State::Confirmed { done, .. } => Body::Done(done),
            State::Settled | State::Failed => return,
        };
        self.transmits.push_back(Message { tag: self.tag, body }.emit());
    }

    fn settle(&mut self) {
        self.state = State::Settled;
        self.retry_at = None;
        self.transmits.clear();
    }

    fn fail(&mut self, error: AgreementError) -> AgreementError {
        self.state = State::Failed;
        self.retry_at = None;
        self.transmits.clear();
        self.events.push_back(Event::Failed(error.clone()));
        error
    }
}

fn spend(checks_left: &mut u32) -> Result<(), AgreementError> {
    *checks_left = checks_left.checked_sub(1).ok_or(AgreementError::TooMany)?;
    Ok(())
}

impl fmt::Debug for Agreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Agreed({} with {:?})", self.send.profile(), self.peer)
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::AwaitingCommit => "awaiting commitment",
            State::AwaitingSecond { .. } => "awaiting the callee's proof",
            State::AwaitingDone { .. } => "awaiting confirmation",
            State::AwaitingFirst => "awaiting the caller's key",
            State::AwaitingThird { .. } => "awaiting the caller's proof",
            State::Confirmed { .. } | State::Settled => "agreed",
            State::Failed => "failed",
        };
        write!(f, "Agreement({:?}, {state})", self.call.role)
    }
}
