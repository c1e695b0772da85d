use super::Config;
use super::envelope::{Envelope, Letter};
use super::pass_phrase::SharedKey;
use super::plain;
use super::session_key::{KEY_BYTES, Receiving, Sending, SessionKeyBytes, TAG};
use guestright_boat::{Content, Message, Opened, Seal, SealError, Step};
use guestright_units::{Micros, Seed, Time};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha20Rng;
use std::collections::VecDeque;
use zeroize::{Zeroize as _, Zeroizing};

/// In clear in front of each datagram.
const HEADER: usize = 3;
const VERSION_MASK: u8 = 0b1100_0000;
/// Under RC4 and a session key; 0 before there is one.
const KEYED: u8 = 0b0100_0000;
const FROM_CALLEE: u8 = 0b0010_0000;
const KEY_BIT: u8 = 0b0001_0000;
const RESERVED: u8 = 0b0000_1111;
/// How long packets under the key before are still opened.
const GRACE: Micros = Micros::from_seconds(2);
/// Keys that we have acknowledged and that are not in use yet: as many phases may fail before the call is given up.
const PENDING_MAX: usize = 8;

/// The protection that paper D prints. One side of a call.
///
/// It opens what it has opened before: against that, the paper has the timestamp, which is the listener's affair. A
/// refused datagram changes nothing, unless [`Config::is_switched_by_bit`].
#[derive(Debug)]
pub struct Legacy {
    config: Config,
    envelope: Envelope,
    is_caller: bool,
    rng: ChaCha20Rng,
    /// The number of the next datagram; the low 16 bits go with it.
    sequence: u64,
    sending: Option<Sending>,
    next: Option<Next>,
    current: Option<Receiving>,
    previous: Option<(Receiving, Time)>,
    /// Messages that are not hidden are taken until then: the grace of having no key.
    bare_until: Option<Time>,
    pending: VecDeque<Receiving>,
    /// The last INSTALL that was opened: its phase, and its sequence number, from which places in the keystream count.
    installed: Option<(u32, u16)>,
    /// The highest sequence number that was opened.
    highest: Option<u64>,
}

/// A key that we have sent and not begun to use.
struct Next {
    phase: u32,
    key: SessionKeyBytes,
    /// The sequence number of its INSTALL, once that was sent.
    base: Option<u16>,
}

impl Legacy {
    /// One side; session keys, IVs and rubbish come from `seed`.
    pub fn new(config: Config, shared: SharedKey, is_caller: bool, seed: &Seed) -> Self {
        Self {
            envelope: Envelope::new(shared, &config),
            config,
            is_caller,
            rng: ChaCha20Rng::from_seed(seed.0),
            sequence: 0,
            sending: None,
            next: None,
            current: None,
            previous: None,
            bare_until: None,
            pending: VecDeque::new(),
            installed: None,
            highest: None,
        }
    }

    /// Whether what it sends is under a session key already.
    pub fn is_keyed(&self) -> bool {
        self.sending.is_some()
    }

    /// Before there is a session key: the message as it is, between rubbish.
    fn seal_bare(&mut self, content: &Content, room: usize, datagram: &mut Vec<u8>) -> Result<(), SealError> {
        let letter = match content {
            Content::Message(message) => Letter::of(message)?,
            // Nothing else can be said yet, but that we are here.
            Content::Cover | Content::Report(_) | Content::Bye => Letter::knock(),
            Content::Audio(_) => {
                return Err(SealError::Unsealable("there is no session key yet"));
            }
        };
        plain::write_letter(&letter, room, &self.envelope, self.is_caller, &mut self.rng, datagram);
        let mut rubbish = [0; TAG];
        self.rng.fill_bytes(&mut rubbish);
        datagram.extend_from_slice(&rubbish);
        Ok(())
    }

    fn open_bare(&self, body: &[u8], now: Time) -> Result<Content, SealError> {
        if self.config.is_hidden && self.bare_until.is_some_and(|until| now > until) {
            return Err(SealError::Malformed("a message that is not hidden, after the first session key"));
        }
        if body.first().copied().and_then(plain::letter_kind).is_none() {
            return Err(SealError::Malformed("only handshakes come without a session key"));
        }
        plain::read(body, &self.envelope, !self.is_caller)
    }

    fn open_keyed(&mut self, bit: bool, sequence: u16, body: &[u8], now: Time) -> Result<Content, SealError> {
        if self.config.is_switched_by_bit && self.current.as_ref().is_none_or(|key| key.bit != bit) {
            self.switch_unchecked(bit);
        }
        let plain = self.unprotect(bit, sequence, body, now).ok_or(SealError::Forged)?;
        plain::read(&plain, &self.envelope, !self.is_caller)
    }

    /// Tries the keys that it may be under, and switches to a pending one that fits.
    ///
    /// A pending key may come with either bit: whether the talker has used the one before depends on ACKs that may have
    /// been lost.
    fn unprotect(&mut self, bit: bool, sequence: u16, body: &[u8], now: Time) -> Option<Zeroizing<Vec<u8>>> {
        if let Some(current) = self.current.as_mut().filter(|key| key.bit == bit)
            && let Some(plain) = current.unprotect(sequence, body)
        {
            return Some(plain);
        }
        for at in (0..self.pending.len()).rev() {
            if let Some(plain) = self.pending[at].unprotect(sequence, body) {
                let mut key = self.pending.remove(at).expect("it was there when it was tried");
                key.bit = bit;
                self.pending.clear();
                self.previous = self.current.replace(key).map(|old| (old, now + GRACE));
                self.bare_until.get_or_insert(now + GRACE);
                return Some(plain);
            }
        }
        let (previous, until) = self.previous.as_mut()?;
        if now > *until || previous.bit != bit {
            return None;
        }
        previous.unprotect(sequence, body)
    }

    /// The rule as printed: "as soon as it receives a packet whose flag has been changed".
    fn switch_unchecked(&mut self, bit: bool) {
        if let Some(mut key) = self.pending.pop_back() {
            key.bit = bit;
            self.pending.clear();
            self.previous = None;
            self.current = Some(key);
        }
    }

    /// The sequence number that is nearest to the highest one so far.
    fn widen(&self, sequence: u16) -> u64 {
        let Some(highest) = self.highest else { return (1 << 16) + u64::from(sequence) };
        let low = u16::try_from(highest & 0xffff).expect("it was masked");
        let step = sequence.wrapping_sub(low).cast_signed();
        highest.saturating_add_signed(i64::from(step))
    }
}

impl Seal for Legacy {
    fn seal(
        &mut self,
        content: &Content,
        room: usize,
        _now: Time,
        datagram: &mut Vec<u8>,
    ) -> Result<(), SealError> {
        let sequence = u16::try_from(self.sequence & 0xffff).expect("it was masked");
        let direction = if self.is_caller { 0 } else { FROM_CALLEE };
        let is_bare = !self.config.is_hidden && matches!(content, Content::Message(_));
        datagram.clear();
        match self.sending.as_mut().filter(|_| !is_bare) {
            None => {
                datagram.push(direction);
                datagram.extend_from_slice(&sequence.to_be_bytes());
                self.seal_bare(content, room, datagram)?;
            }
            Some(key) => {
                datagram.push(KEYED | direction | if key.bit { KEY_BIT } else { 0 });
                datagram.extend_from_slice(&sequence.to_be_bytes());
                plain::write(content, room, &self.envelope, self.is_caller, &mut self.rng, datagram)?;
                if let Err(error) = key.check(datagram.len() - HEADER + TAG, &self.config) {
                    // What was not encrypted must not be sent by mistake.
                    datagram.zeroize();
                    return Err(error);
                }
                key.protect(sequence, datagram, HEADER);
            }
        }
        if let Content::Message(Message { phase, step: Step::Install { .. }, .. }) = content
            && let Some(next) = self.next.as_mut().filter(|next| next.phase == *phase)
        {
            next.base = Some(sequence);
        }
        self.sequence += 1;
        Ok(())
    }

    fn open(&mut self, datagram: &[u8], now: Time) -> Result<Opened, SealError> {
        let (&[first, high, low], body) = datagram
            .split_first_chunk::<HEADER>()
            .ok_or(SealError::Malformed("it is shorter than a header"))?;
        if first & RESERVED != 0 {
            return Err(SealError::Malformed("reserved bits are set"));
        }
        if (first & FROM_CALLEE == 0) == self.is_caller {
            return Err(SealError::Malformed("it comes from our own side"));
        }
        let sequence = u16::from_be_bytes([high, low]);
        let content = match first & VERSION_MASK {
            0 => self.open_bare(body, now)?,
            KEYED => self.open_keyed(first & KEY_BIT != 0, sequence, body, now)?,
            _ => return Err(SealError::Malformed("an unknown version")),
        };
        if let Content::Message(Message { phase, step: Step::Install { .. }, .. }) = &content {
            self.installed = Some((*phase, sequence));
        }
        let wide = self.widen(sequence);
        self.highest = self.highest.max(Some(wide));
        Ok(Opened { content, sequence: wide })
    }

    fn probe(&mut self, _phase: u32) -> Vec<u8> {
        Vec::new()
    }

    fn response(&mut self, _phase: u32, probe: &[u8]) -> Result<Vec<u8>, SealError> {
        nothing(probe)
    }

    fn install(&mut self, phase: u32, response: &[u8]) -> Result<Vec<u8>, SealError> {
        nothing(response)?;
        let mut key = SessionKeyBytes::default();
        self.rng.fill_bytes(&mut *key);
        let given = key.to_vec();
        self.next = Some(Next { phase, key, base: None });
        Ok(given)
    }

    fn ack(&mut self, phase: u32, install: &[u8]) -> Result<Vec<u8>, SealError> {
        let given: &[u8; KEY_BYTES] =
            install.try_into().map_err(|_| SealError::KeyPart("a session key has 16 bytes"))?;
        let Some((_, base)) = self.installed.filter(|(installed, _)| *installed == phase) else {
            return Err(SealError::KeyPart("no INSTALL of this phase was opened"));
        };
        if self.pending.iter().chain(&self.current).any(|key| key.phase >= phase) {
            return Err(SealError::KeyPart("its phase has a key already"));
        }
        let key = SessionKeyBytes::new(*given);
        self.pending.push_back(Receiving::new(&key, phase, base, &self.config));
        if self.pending.len() > PENDING_MAX {
            self.pending.pop_front();
        }
        Ok(Vec::new())
    }

    fn complete(&mut self, phase: u32, ack: &[u8]) -> Result<(), SealError> {
        nothing(ack)?;
        let Some((next, base)) =
            self.next.as_ref().filter(|next| next.phase == phase).and_then(|next| Some((next, next.base?)))
        else {
            return Err(SealError::KeyPart("no INSTALL of this phase was sent"));
        };
        let bit = self.sending.as_ref().is_some_and(|key| !key.bit);
        self.sending = Some(Sending::new(&next.key, bit, base, &self.config));
        self.next = None;
        Ok(())
    }

    fn abandon(&mut self, phase: u32) {
        self.next.take_if(|next| next.phase == phase);
    }
}

/// PROBE, RESPONSE and ACK bring no key material.
fn nothing(part: &[u8]) -> Result<Vec<u8>, SealError> {
    if part.is_empty() { Ok(Vec::new()) } else { Err(SealError::KeyPart("there is none in this message")) }
}

impl std::fmt::Debug for Next {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Next").field("phase", &self.phase).field("base", &self.base).finish_non_exhaustive()
    }
}
