use super::config::{Cipher, Config, KeyAgreement};
use super::key::CallKey;
use super::message::{CHECK_LEN, Message, Offer};
use crate::diffie_hellman::{Public, Secret};
use guestright_units::{Micros, Time};
use guestright_voice::tool::{Side, ToolError};
use rand::Rng;
use rand::RngExt as _;
use std::fmt;
use std::net::SocketAddr;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// So often each side says its part before it gives up.
pub const ATTEMPTS_MAX: u32 = 20;
/// How long it waits between.
const EVERY: Micros = Micros::from_millis(500);
/// A callee works on another hello no sooner: each costs an exponentiation.
const HELLO_EVERY: Micros = Micros::from_millis(200);

/// How two sides come to a [`CallKey`].
pub(super) struct Agreement {
    cipher: Cipher,
    how: KeyAgreement,
    ours: Offer,
    secret: Option<Secret>,
    state: State,
    last_hello: Option<Time>,
    /// Somebody answered with another key.
    other_key: bool,
}

enum State {
    /// A callee, before anybody.
    Waiting,
    Offering {
        to: SocketAddr,
        attempts: u32,
        next: Time,
    },
    /// A callee that has answered.
    Answered {
        pending: Box<Pending>,
        attempts: u32,
        next: Time,
    },
    /// There is a key; this is said again if the other side asks again.
    Agreed {
        theirs: Offer,
        last_word: Vec<u8>,
    },
    /// Nobody was there, or with another key.
    Failed,
}

struct Pending {
    peer: SocketAddr,
    hello: Offer,
    reply: Vec<u8>,
    key: CallKey,
}

/// What comes of a message or of time.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// To be sent.
    pub(super) send: Option<(SocketAddr, Vec<u8>)>,
    /// There is a key now.
    pub(super) agreed: Option<(SocketAddr, CallKey)>,
    /// There will be none, and why.
    pub(super) failed: Option<String>,
}

impl Agreement {
    pub(super) fn new(config: &Config, rng: &mut impl Rng, now: Time) -> Self {
        let secret = match &config.agreement {
            KeyAgreement::PassPhrase(_) => None,
            KeyAgreement::DiffieHellman(prime) => Some(Secret::generate(*prime, rng)),
        };
        let public = secret.as_ref().map(|secret| secret.public().as_bytes().to_vec()).unwrap_or_default();
        let ours = Offer {
            cipher: config.cipher.code(),
            agreement: config.agreement.code(),
            nonce: rng.random(),
            public,
        };
        let state = match config.side {
            Side::Caller { to } => State::Offering { to, attempts: 0, next: now },
            Side::Callee => State::Waiting,
        };
        let (cipher, how) = (config.cipher, config.agreement.clone());
        Self { cipher, how, ours, secret, state, last_hello: None, other_key: false }
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Offering { next, .. } | State::Answered { next, .. } => Some(*next),
            State::Waiting | State::Agreed { .. } | State::Failed => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) -> Step {
        let (send, attempts, next) = match &mut self.state {
            State::Offering { to, attempts, next } if *next <= now => {
                ((*to, Message::Hello(self.ours.clone()).emit()), attempts, next)
            }
            State::Answered { pending, attempts, next } if *next <= now => {
                ((pending.peer, pending.reply.clone()), attempts, next)
            }
            State::Offering { .. }
            | State::Answered { .. }
            | State::Waiting
            | State::Agreed { .. }
            | State::Failed => return Step::default(),
        };
        if *attempts < ATTEMPTS_MAX {
            *attempts += 1;
            *next = now + EVERY;
            return Step { send: Some(send), ..Step::default() };
        }
        // A callee waits for somebody else; a caller has called for nothing.
        if matches!(self.state, State::Answered { .. }) {
            self.state = State::Waiting;
            return Step::default();
        }
        self.state = State::Failed;
        let why = if self.other_key {
            "whoever answered has another key: say the same pass phrase at both ends"
        } else {
            "nobody answered: the other side has to be waiting, with the same cipher and kind of key"
        };
        Step { failed: Some(why.to_owned()), ..Step::default() }
    }

    pub(super) fn handle_hello(
        &mut self,
        hello: Offer,
        from: SocketAddr,
        now: Time,
    ) -> Result<Step, ToolError> {
        match &self.state {
            State::Waiting => {}
            State::Answered { pending, .. } if pending.hello == hello && pending.peer == from => {
                return Ok(Step { send: Some((from, pending.reply.clone())), ..Step::default() });
            }
            State::Answered { .. } => {}
            State::Offering { .. } => return Err(ToolError::OutOfTurn("both call")),
            State::Agreed { .. } | State::Failed => return Err(ToolError::OutOfTurn("there is a call")),
        }
        if self.last_hello.is_some_and(|last| now.since(last) < HELLO_EVERY) {
            return Err(ToolError::OutOfTurn("one hello after another"));
        }
        let key = self.key(&hello, &hello, &self.ours)?;
        self.last_hello = Some(now);
        let reply = Message::Answer { offer: self.ours.clone(), check: key.callee_check() }.emit();
        let pending = Box::new(Pending { peer: from, hello, reply: reply.clone(), key });
        self.state = State::Answered { pending, attempts: 1, next: now + EVERY };
        Ok(Step { send: Some((from, reply)), ..Step::default() })
    }

    pub(super) fn handle_answer(
        &mut self,
        theirs: Offer,
        check: [u8; CHECK_LEN],
        from: SocketAddr,
    ) -> Result<Step, ToolError> {
        match &self.state {
            State::Offering { .. } => {}
            State::Agreed { theirs: known, last_word } if *known == theirs => {
                return Ok(Step { send: Some((from, last_word.clone())), ..Step::default() });
            }
            State::Waiting | State::Answered { .. } | State::Agreed { .. } | State::Failed => {
                return Err(ToolError::OutOfTurn("an answer to nothing"));
            }
        }
        let key = self.key(&theirs, &self.ours, &theirs)?;
        if !bool::from(key.callee_check().ct_eq(&check)) {
            self.other_key = true;
            return Err(ToolError::Forged);
        }
        let last_word = Message::Confirm { check: key.caller_check() }.emit();
        self.state = State::Agreed { theirs, last_word: last_word.clone() };
        Ok(Step { send: Some((from, last_word)), agreed: Some((from, key)), failed: None })
    }

    pub(super) fn handle_confirm(
        &mut self,
        check: [u8; CHECK_LEN],
        from: SocketAddr,
    ) -> Result<Step, ToolError> {
        let is_right = match &self.state {
            State::Answered { pending, .. } if pending.peer == from => {
                bool::from(pending.key.caller_check().ct_eq(&check))
            }
            // It comes again if our answer was sent again.
            State::Agreed { .. } => return Ok(Step::default()),
            State::Waiting | State::Offering { .. } | State::Answered { .. } | State::Failed => {
                return Err(ToolError::OutOfTurn("a confirmation of nothing"));
            }
        };
        if !is_right {
            return Err(ToolError::Forged);
        }
        let State::Answered { pending, .. } = std::mem::replace(&mut self.state, State::Failed) else {
            return Err(ToolError::OutOfTurn("a confirmation of nothing"));
        };
        let Pending { hello, reply, key, .. } = *pending;
        self.state = State::Agreed { theirs: hello, last_word: reply };
        Ok(Step { agreed: Some((from, key)), ..Step::default() })
    }

    /// The key with whoever made the offer `theirs`.
    fn key(&self, theirs: &Offer, hello: &Offer, answer: &Offer) -> Result<CallKey, ToolError> {
        if (theirs.cipher, theirs.agreement) != (self.ours.cipher, self.ours.agreement) {
            return Err(ToolError::Malformed("another cipher or another kind of key than ours"));
        }
        if theirs.public.len() != self.how.public_len() {
            return Err(ToolError::Malformed("a public value of another length"));
        }
        if theirs.nonce == self.ours.nonce {
            return Err(ToolError::Replayed);
        }
        let secret: Zeroizing<Vec<u8>> = match (&self.how, &self.secret) {
            (KeyAgreement::DiffieHellman(prime), Some(secret)) => {
                let public = Public::parse(*prime, &theirs.public);
                let shared = public.and_then(|public| secret.agree(&public));
                let refused = |_| ToolError::Malformed("a public value that would give the key away");
                Zeroizing::new(shared.map_err(refused)?.as_bytes().to_vec())
            }
            (KeyAgreement::PassPhrase(phrase), _) => Zeroizing::new(phrase.as_bytes().to_vec()),
            (KeyAgreement::DiffieHellman(_), None) => return Err(ToolError::OutOfTurn("there is no secret")),
        };
        Ok(CallKey::new(self.cipher, &secret, hello, answer))
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Waiting => "waiting",
            State::Offering { .. } => "offering",
            State::Answered { .. } => "answered",
            State::Agreed { .. } => "agreed",
            State::Failed => "failed",
        };
        write!(f, "Agreement({:?}, {:?}, {state})", self.cipher, self.how)
    }
}
