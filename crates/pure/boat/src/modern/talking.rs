//! The direction in which we talk: what we seal with, and the phases that we begin.

use super::derive::{Chance, Secret};
use super::healing::{Confirmation, KeyPair, PUBLIC_LEN, Successor, Transcript};
use super::key::{Chain, EpochKey};
use super::{Cipher, EPOCH, EPOCH_BYTES_MAX, EPOCH_PACKETS_MAX, Label, Start};
use crate::SealError;
use guestright_units::Time;
use guestright_voice::agreement::Role;

/// After so many datagrams nothing is sealed any more. At 25 a second that is 350,000 years.
pub(super) const COUNTER_MAX: u64 = (1 << 48) - 1;

#[derive(Debug)]
pub(super) struct Talking {
    role: Role,
    cipher: Cipher,
    healing_interval: u32,
    root: Secret,
    generation: u64,
    /// Leads to the epoch after this one.
    chain: Chain,
    step: u64,
    epoch: EpochKey,
    /// When it first sealed something.
    epoch_started: Option<Time>,
    epoch_bytes: usize,
    epoch_packets: u32,
    /// Of the next datagram.
    counter: u64,
    pending: Option<Pending>,
    /// Phases since the last one that brought a generation, this one included.
    phases: u32,
}

#[derive(Debug)]
struct Pending {
    phase: u32,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    /// This phase carries no keys.
    Plain,
    Probed(KeyPair),
    Installed {
        root: Secret,
        chain: Secret,
        ack: Confirmation,
    },
}

impl Talking {
    pub(super) fn new(role: Role, cipher: Cipher, healing_interval: u32, start: Start) -> Self {
        let mut chain = Chain::new(cipher, start.chain);
        let epoch = chain.advance();
        Self {
            role,
            cipher,
            healing_interval,
            root: start.root,
            generation: 0,
            chain,
            step: 0,
            epoch,
            epoch_started: None,
            epoch_bytes: 0,
            epoch_packets: 0,
            counter: 0,
            pending: None,
            phases: 0,
        }
    }

    /// The key, label and counter for the next datagram, of `length` bytes.
    pub(super) fn next(&mut self, length: usize, now: Time) -> Result<(&EpochKey, Label, u64), SealError> {
        if self.counter > COUNTER_MAX {
            return Err(SealError::WornOut);
        }
        // One step only, however long nothing was sent: the epochs between protected nothing, and the listener need not
        // catch up with them.
        if self.epoch_started.is_some_and(|started| now.since(started) >= EPOCH)
            || self.epoch_packets >= EPOCH_PACKETS_MAX
            || self.epoch_bytes + length > EPOCH_BYTES_MAX
        {
            self.epoch = self.chain.advance();
            self.step += 1;
            self.begin_epoch();
        }
        self.epoch_started.get_or_insert(now);
        self.epoch_bytes += length;
        self.epoch_packets += 1;
        let counter = self.counter;
        self.counter += 1;
        Ok((&self.epoch, Label::new(self.role, self.generation, self.step), counter))
    }

    fn begin_epoch(&mut self) {
        self.epoch_started = None;
        self.epoch_bytes = 0;
        self.epoch_packets = 0;
    }

    pub(super) fn probe(&mut self, phase: u32, chance: &mut Chance) -> Vec<u8> {
        self.phases = self.phases.saturating_add(1);
        let (progress, key) = if self.phases >= self.healing_interval {
            let pair = KeyPair::draw(chance);
            let public = pair.public.to_vec();
            (Progress::Probed(pair), public)
        } else {
            (Progress::Plain, Vec::new())
        };
        self.pending = Some(Pending { phase, progress });
        key
    }

    fn pending(&mut self, phase: u32) -> Result<&mut Progress, SealError> {
        match &mut self.pending {
            Some(pending) if pending.phase == phase => Ok(&mut pending.progress),
            Some(_) | None => Err(SealError::KeyPart("it is not of the phase that we have begun")),
        }
    }

    pub(super) fn install(&mut self, phase: u32, response: &[u8]) -> Result<Vec<u8>, SealError> {
        let (talker, generation, root) = (self.role, self.generation + 1, self.root.clone());
        let progress = self.pending(phase)?;
        let pair = match progress {
            Progress::Plain if response.is_empty() => return Ok(Vec::new()),
            Progress::Plain => return Err(SealError::KeyPart("a key that we did not ask for")),
            Progress::Probed(pair) => pair,
            Progress::Installed { .. } => return Err(SealError::KeyPart("a second answer")),
        };
        let response: &[u8; PUBLIC_LEN] =
            response.try_into().map_err(|_| SealError::KeyPart("a public key has 32 bytes"))?;
        let probe = pair.public;
        let transcript = Transcript { talker, generation, phase, probe: &probe, response };
        let Successor { root, chain, install, ack } = Successor::new(&root, pair, response, &transcript)?;
        *progress = Progress::Installed { root, chain, ack };
        Ok(install.to_vec())
    }

    pub(super) fn complete(&mut self, phase: u32, ack: &[u8]) -> Result<(), SealError> {
        match self.pending(phase)? {
            Progress::Plain if ack.is_empty() => {}
            Progress::Plain => return Err(SealError::KeyPart("a confirmation of nothing")),
            Progress::Probed(_) => return Err(SealError::KeyPart("a confirmation before there are keys")),
            Progress::Installed { ack: want, .. } => want.check(ack)?,
        }
        if let Some(Pending { progress: Progress::Installed { root, chain, .. }, .. }) = self.pending.take() {
            self.root = root;
            self.generation += 1;
            self.chain = Chain::new(self.cipher, chain);
            self.epoch = self.chain.advance();
            self.step = 0;
            self.begin_epoch();
            self.phases = 0;
        }
        Ok(())
    }

    pub(super) fn abandon(&mut self, phase: u32) {
        self.pending = self.pending.take().filter(|pending| pending.phase != phase);
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    #[cfg(test)]
    pub(super) fn set_counter(&mut self, counter: u64) {
        self.counter = counter;
    }
}
