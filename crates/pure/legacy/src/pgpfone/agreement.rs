//! How two sides come to keys: hello, commitment, public value; and what they read to each other.

use super::cipher::{Cipher, CounterMode};
use super::control::{Control, Hello, SHA1, VERSION_NUMBER};
use super::words::words;
use crate::diffie_hellman::{Prime, Public, Secret, Shared};
use rand::Rng;
use sha1::{Digest as _, Sha1};
use std::fmt;
use subtle::ConstantTimeEq as _;

/// Before a prime in the hash of its offer: "Diffie-Hellman".
const ALGORITHM: u8 = 2;
/// The highest bits of the secret that are not used.
const DERATING: u32 = 4;

/// Where it stands: which message of the other side is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hello,
    Commitment,
    Public,
    Agreed,
}

/// One side's key agreement.
pub(super) struct Agreement {
    is_caller: bool,
    step: Step,
    primes: Vec<Prime>,
    ciphers: Vec<Cipher>,
    /// What we said, and what was said to us, each with its length before it.
    own: Transcript,
    peer: Transcript,
    cipher: Option<Cipher>,
    secret: Option<Secret>,
    commitment: Option<[u8; 20]>,
    peer_name: Option<String>,
}

/// Messages, each with its length before it, as they go into the words.
type Transcript = Vec<u8>;

/// What comes of a message.
pub(super) enum Progress {
    Send(Control),
    /// There are keys.
    Agreed(Box<Agreed>),
}

/// What both sides have then.
pub(super) struct Agreed {
    pub(super) sending: CounterMode,
    pub(super) receiving: CounterMode,
    pub(super) words: [&'static str; 4],
    pub(super) peer_name: Option<String>,
}

/// Why there is no call: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure(pub(super) String);

fn fail<T>(reason: &str) -> Result<T, Failure> {
    Err(Failure(reason.to_owned()))
}

impl Agreement {
    /// Begins, and gives the first message.
    pub(super) fn new(
        is_caller: bool,
        primes: &[Prime],
        ciphers: &[Cipher],
        name: Option<&str>,
        rng: &mut impl Rng,
    ) -> (Self, Control) {
        let mut salt = [0; 8];
        rng.fill_bytes(&mut salt);
        let hello = Control::Hello(Hello {
            version: VERSION_NUMBER,
            name: name.map(str::to_owned),
            hash: Some(SHA1),
            salt,
            primes: primes.iter().map(|prime| offer(&salt, *prime)).collect(),
            ciphers: ciphers.iter().map(|cipher| cipher.code()).collect(),
        });
        let mut agreement = Self {
            is_caller,
            step: Step::Hello,
            primes: primes.to_vec(),
            ciphers: ciphers.to_vec(),
            own: Vec::new(),
            peer: Vec::new(),
            cipher: None,
            secret: None,
            commitment: None,
            peer_name: None,
        };
        note(&mut agreement.own, &hello.emit());
        (agreement, hello)
    }

    /// Whether this message is next.
    pub(super) fn expects(&self, message: &Control) -> bool {
        matches!(
            (self.step, message),
            (Step::Hello, Control::Hello(_))
                | (Step::Commitment, Control::Commitment(_))
                | (Step::Public, Control::Public(_))
        )
    }

    /// Takes the next message, read and as it came.
    pub(super) fn handle(
        &mut self,
        message: &Control,
        bytes: &[u8],
        rng: &mut impl Rng,
    ) -> Result<Progress, Failure> {
        if !self.expects(message) {
            return fail("the other side sent the messages of the set-up in the wrong order");
        }
        note(&mut self.peer, bytes);
        match message {
            Control::Hello(hello) => self.hello(hello, rng),
            Control::Commitment(commitment) => {
                self.commitment = Some(*commitment);
                self.step = Step::Public;
                let Some(secret) = &self.secret else { return fail("there is no secret") };
                let public = Control::Public(secret.public().as_bytes().to_vec());
                note(&mut self.own, &public.emit());
                Ok(Progress::Send(public))
            }
            Control::Public(value) => self.public(value),
            Control::Info(_)
            | Control::Hangup
            | Control::OpenVoice(_)
            | Control::SwitchVoice(_)
            | Control::Talk
            | Control::Listen => fail("the other side sent the messages of the set-up in the wrong order"),
        }
    }

    fn hello(&mut self, hello: &Hello, rng: &mut impl Rng) -> Result<Progress, Failure> {
        if hello.version[0] > VERSION_NUMBER[0] {
            return fail("the other side speaks a newer version of the protocol");
        }
        if hello.hash.is_some_and(|hash| hash != SHA1) {
            return fail("the other side does not use SHA-1");
        }
        self.peer_name.clone_from(&hello.name);
        let Some(prime) = choose_prime(&self.primes, hello) else {
            return fail("both sides have no prime in common: offer more of them");
        };
        // PGPfone may go on in clear here; nobody who asks for a secure telephone wants that.
        let Some(cipher) = choose_cipher(self.is_caller, &self.ciphers, hello) else {
            return fail("both sides have no cipher in common: offer more of them; nothing is said in clear");
        };
        self.cipher = Some(cipher);
        let secret = Secret::generate(prime, rng);
        let commitment = Control::Commitment(Sha1::digest(secret.public().as_bytes()).into());
        self.secret = Some(secret);
        self.step = Step::Commitment;
        note(&mut self.own, &commitment.emit());
        Ok(Progress::Send(commitment))
    }

    fn public(&mut self, value: &[u8]) -> Result<Progress, Failure> {
        let (Some(commitment), Some(secret), Some(cipher)) =
            (self.commitment, self.secret.take(), self.cipher)
        else {
            return fail("there is no secret");
        };
        let hash: [u8; 20] = Sha1::digest(value).into();
        if !bool::from(hash.ct_eq(&commitment)) {
            return fail(
                "the other side's key is not the one that it committed to: somebody sits in between; hang up",
            );
        }
        let public =
            Public::parse(secret.public().prime(), value).map_err(|error| Failure(error.to_string()))?;
        if public == *secret.public() {
            return fail("our own key came back: somebody reflects what we send; hang up");
        }
        let shared = secret.agree(&public).map_err(|error| Failure(error.to_string()))?;
        let Some((sending, receiving)) = keys(self.is_caller, cipher, public.prime(), &shared) else {
            return fail("the prime is too short for the cipher's keys");
        };
        self.step = Step::Agreed;
        let (caller, callee) = if self.is_caller { (&self.own, &self.peer) } else { (&self.peer, &self.own) };
        let digest: [u8; 20] = Sha1::new().chain_update(caller).chain_update(callee).finalize().into();
        let [first, second, third, fourth, ..] = digest;
        Ok(Progress::Agreed(Box::new(Agreed {
            sending,
            receiving,
            words: words([first, second, third, fourth]),
            peer_name: self.peer_name.take(),
        })))
    }
}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agreement")
            .field("step", &self.step)
            .field("cipher", &self.cipher)
            .finish_non_exhaustive()
    }
}

fn note(transcript: &mut Transcript, message: &[u8]) {
    transcript.extend(u16::try_from(message.len()).unwrap_or(u16::MAX).to_be_bytes());
    transcript.extend(message);
}

/// The first bytes of the hash of a prime behind a salt.
pub(super) fn offer(salt: &[u8; 8], prime: Prime) -> [u8; 8] {
    let hash =
        Sha1::new().chain_update(salt).chain_update([ALGORITHM]).chain_update(prime.to_bytes()).finalize();
    let digest: [u8; 20] = hash.into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// Of each side's favourite among those that both have, the greater.
fn choose_prime(own: &[Prime], hello: &Hello) -> Option<Prime> {
    let index_of = |prime: &Prime| {
        let offer = offer(&hello.salt, *prime);
        hello.primes.iter().position(|theirs| *theirs == offer)
    };
    let ours = own.iter().copied().find(|prime| index_of(prime).is_some())?;
    let theirs = own.iter().copied().filter_map(|prime| Some((index_of(&prime)?, prime))).min()?.1;
    [ours, theirs].into_iter().max_by_key(|prime| (prime.bits(), prime.to_bytes()))
}

/// The first of the caller's list that the callee has too.
fn choose_cipher(is_caller: bool, own: &[Cipher], hello: &Hello) -> Option<Cipher> {
    if is_caller {
        return own.iter().copied().find(|cipher| hello.ciphers.contains(&cipher.code()));
    }
    hello.ciphers.iter().find_map(|code| own.iter().copied().find(|cipher| cipher.code() == *code))
}

/// Both directions' keys, the caller's first, from the last bytes of the secret.
fn keys(
    is_caller: bool,
    cipher: Cipher,
    prime: Prime,
    shared: &Shared,
) -> Option<(CounterMode, CounterMode)> {
    let usable = (prime.bits() - DERATING) as usize / 8;
    let bytes = shared.as_bytes();
    let bytes = bytes.get(bytes.len().checked_sub(usable)?..)?;
    let (caller, rest) = bytes.split_at_checked(cipher.key_len())?;
    let callee = rest.get(..cipher.key_len())?;
    let (caller, callee) = (CounterMode::new(cipher, caller)?, CounterMode::new(cipher, callee)?);
    Some(if is_caller { (caller, callee) } else { (callee, caller) })
}
