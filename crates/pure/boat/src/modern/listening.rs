//! The direction in which we listen: what we open with, and the phases that we answer.

use super::derive::{Chance, Secret};
use super::encoding;
use super::healing::{Confirmation, KeyPair, PUBLIC_LEN, Successor, Transcript};
use super::key::{Chain, EpochKey};
use super::{CATCH_UP_MAX, Cipher, GRACE, Sealed, Start};
use crate::{Content, Opened, SealError};
use guestright_units::Time;
use guestright_voice::agreement::Role;
use guestright_voice::srtp::{IndexState, Window};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Listening {
    talker: Role,
    cipher: Cipher,
    root: Secret,
    current: Generation,
    /// Those before, the nearest first, each until then.
    previous: VecDeque<(Generation, Time)>,
    candidate: Option<Candidate>,
    /// The last phase that was answered, and whether it carries keys.
    answered: Option<u32>,
    window: Window,
}

/// One generation's epochs, as far as we have come.
#[derive(Debug)]
struct Generation {
    number: u64,
    /// Of `current`.
    step: u64,
    current: EpochKey,
    /// The two epochs before `current`, the nearest first, each until then.
    old: VecDeque<(u64, EpochKey, Time)>,
    /// The epochs after `current` whose keys we have had to make, in order. Nothing opened with them yet.
    ahead: VecDeque<EpochKey>,
    /// Leads to the epoch after those.
    chain: Chain,
}

/// Epochs before the current one that are kept.
const OLD_MAX: usize = 2;
/// Generations before the current one that are kept: a label tells them, the current one and the next from each other.
/// Two phases may end one right after the other, so one is too few for datagrams that are late.
const PREVIOUS_MAX: usize = 2;

/// A generation that the talker may begin to use.
#[derive(Debug)]
struct Candidate {
    phase: u32,
    root: Secret,
    install: Confirmation,
    ack: Confirmation,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    Answered { chain: Secret },
    Acknowledged(Box<Generation>),
}

/// Where a key was found.
#[derive(Clone, Copy, Debug)]
enum Found {
    Seen,
    Ahead(usize),
}

impl Generation {
    fn new(number: u64, cipher: Cipher, first: Secret) -> Self {
        let mut chain = Chain::new(cipher, first);
        let current = chain.advance();
        Self { number, step: 0, current, old: VecDeque::new(), ahead: VecDeque::new(), chain }
    }

    /// Finds the epoch that `sealed` opens with, and opens it in place.
    ///
    /// Counters rise with epochs, and the highest counter so far was of the current epoch: so a datagram above it is of
    /// this epoch or of a later one, and a datagram below it of this or of an earlier one.
    fn open(&mut self, sealed: &mut Sealed<'_>, is_above: bool) -> Option<Found> {
        let distance = sealed.label.step_after(self.step);
        if distance == 0 && sealed.opens_with(&self.current) {
            return Some(Found::Seen);
        }
        if !is_above {
            let label = sealed.label;
            let mut old = self.old.iter().filter(|(step, ..)| label.step_after(*step) == 0);
            return old.any(|(_, key, _)| sealed.opens_with(key)).then_some(Found::Seen);
        }
        let first = if distance == 0 { 4 } else { distance };
        for index in (first..=CATCH_UP_MAX).step_by(4).map(|steps| steps - 1) {
            while self.ahead.len() <= index {
                self.ahead.push_back(self.chain.advance());
            }
            if sealed.opens_with(&self.ahead[index]) {
                return Some(Found::Ahead(index));
            }
        }
        None
    }

    /// The talker was seen to be there.
    fn commit(&mut self, found: Found, now: Time) {
        let Found::Ahead(index) = found else { return };
        for _ in 0..=index {
            let next = self.ahead.pop_front().expect("it was made when it was looked for");
            let before = std::mem::replace(&mut self.current, next);
            self.old.push_front((self.step, before, now + GRACE));
            self.old.truncate(OLD_MAX);
            self.step += 1;
        }
    }
}

impl Listening {
    pub(super) fn new(talker: Role, cipher: Cipher, start: Start) -> Self {
        Self {
            talker,
            cipher,
            root: start.root,
            current: Generation::new(0, cipher, start.chain),
            previous: VecDeque::new(),
            candidate: None,
            answered: None,
            window: Window::new(),
        }
    }

    pub(super) fn open(&mut self, mut sealed: Sealed<'_>, now: Time) -> Result<Opened, SealError> {
        if sealed.label.talker() != self.talker {
            return Err(SealError::Forged);
        }
        self.forget(now);
        let counter = widen(self.window.highest(), sealed.sequence).ok_or(SealError::Replayed)?;
        match self.window.state(counter) {
            IndexState::Fresh => {}
            IndexState::Used | IndexState::TooOld => return Err(SealError::Replayed),
        }
        sealed.counter = counter;
        let is_above = self.window.highest().is_none_or(|highest| counter > highest);
        let label = sealed.label;
        if label.is_generation(self.current.number) {
            let found = self.current.open(&mut sealed, is_above).ok_or(SealError::Forged)?;
            let content = encoding::parse(sealed.text)?;
            self.current.commit(found, now);
            return Ok(self.accept(counter, content));
        }
        let before = self.previous.iter_mut().find(|(it, _)| !is_above && label.is_generation(it.number));
        if let Some((previous, _)) = before {
            // It may be of an epoch of which nothing came yet: the last before the new generation.
            let found = previous.open(&mut sealed, false).or_else(|| previous.open(&mut sealed, true));
            let found = found.ok_or(SealError::Forged)?;
            let content = encoding::parse(sealed.text)?;
            previous.commit(found, now);
            return Ok(self.accept(counter, content));
        }
        let Some(Candidate { progress: Progress::Acknowledged(next), .. }) = &mut self.candidate else {
            return Err(SealError::Forged);
        };
        if !is_above || !label.is_generation(next.number) {
            return Err(SealError::Forged);
        }
        let found = next.open(&mut sealed, true).ok_or(SealError::Forged)?;
        let content = encoding::parse(sealed.text)?;
        next.commit(found, now);
        self.switch(now);
        Ok(self.accept(counter, content))
    }

    fn accept(&mut self, counter: u64, content: Content) -> Opened {
        self.window.accept(counter);
        Opened { content, sequence: counter }
    }

    /// The talker was seen to use the candidate.
    fn switch(&mut self, now: Time) {
        let Some(Candidate { root, progress: Progress::Acknowledged(next), .. }) = self.candidate.take()
        else {
            return;
        };
        self.root = root;
        let before = std::mem::replace(&mut self.current, *next);
        self.previous.push_front((before, now + GRACE));
        self.previous.truncate(PREVIOUS_MAX);
    }

    /// Wipes keys whose grace is over.
    fn forget(&mut self, now: Time) {
        self.previous.retain(|(_, until)| now < *until);
        self.current.old.retain(|(_, _, until)| now < *until);
    }

    pub(super) fn response(
        &mut self,
        phase: u32,
        probe: &[u8],
        chance: &mut Chance,
    ) -> Result<Vec<u8>, SealError> {
        if self.answered.is_some_and(|answered| phase <= answered) {
            return Err(SealError::KeyPart("a phase that was answered before"));
        }
        if probe.is_empty() {
            self.answered = Some(phase);
            // A talker that begins a phase with the old generation has given up the one before for ever.
            self.candidate = None;
            return Ok(Vec::new());
        }
        let probe: &[u8; PUBLIC_LEN] =
            probe.try_into().map_err(|_| SealError::KeyPart("a public key has 32 bytes"))?;
        let pair = KeyPair::draw(chance);
        let response = pair.public;
        let (talker, generation) = (self.talker, self.current.number + 1);
        let transcript = Transcript { talker, generation, phase, probe, response: &response };
        let Successor { root, chain, install, ack } = Successor::new(&self.root, &pair, probe, &transcript)?;
        self.answered = Some(phase);
        let progress = Progress::Answered { chain };
        self.candidate = Some(Candidate { phase, root, install, ack, progress });
        Ok(response.to_vec())
    }

    pub(super) fn ack(&mut self, phase: u32, install: &[u8]) -> Result<Vec<u8>, SealError> {
        if self.answered != Some(phase) {
            return Err(SealError::KeyPart("it is not of the phase that we have answered"));
        }
        let number = self.current.number + 1;
        let Some(candidate) = self.candidate.as_mut().filter(|candidate| candidate.phase == phase) else {
            return if install.is_empty() {
                Ok(Vec::new())
            } else {
                Err(SealError::KeyPart("a confirmation of nothing"))
            };
        };
        candidate.install.check(install)?;
        if let Progress::Answered { chain } = &candidate.progress {
            let next = Generation::new(number, self.cipher, chain.clone());
            candidate.progress = Progress::Acknowledged(Box::new(next));
        }
        Ok(candidate.ack.to_vec())
    }

    pub(super) fn generation(&self) -> u64 {
        self.current.number
    }

    #[cfg(test)]
    pub(super) fn step(&self) -> u64 {
        self.current.step
    }
}

/// The counter nearest to the highest so far that ends in `sequence`; none lies below 0.
///
/// It is the right one as long as less than 32,768 datagrams were lost in a row; and nobody catches up with more, see
/// [`EPOCH_PACKETS_MAX`](super::EPOCH_PACKETS_MAX).
fn widen(highest: Option<u64>, sequence: u16) -> Option<u64> {
    let sequence = u64::from(sequence);
    let Some(highest) = highest else { return Some(sequence) };
    let ahead = sequence.wrapping_sub(highest) & 0xffff;
    if ahead < 1 << 15 { highest.checked_add(ahead) } else { highest.checked_sub((1 << 16) - ahead) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_number_is_placed_near_the_highest() {
        #[rustfmt::skip]
        let cases = [
            (None, 5, Some(5)), (None, 65_535, Some(65_535)),
            (Some(0), 65_535, None), (Some(0), 32_767, Some(32_767)), (Some(0), 32_768, None),
            (Some(65_535), 0, Some(65_536)), (Some(65_536), 65_535, Some(65_535)),
            (Some(65_536), 32_769, Some(32_769)), (Some(65_536), 32_768, Some(32_768)),
            (Some(65_536), 32_767, Some(98_303)), (Some(u64::MAX), 0, None),
        ];
        for (highest, sequence, want) in cases {
            assert_eq!(widen(highest, sequence), want, "{highest:?} {sequence}");
        }
    }
}
