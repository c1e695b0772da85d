//! Bytes, read as choices.

use guestright_units::{Bytes, Micros};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte; 0 once all are used.
    pub(super) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(first, rest)| (*first, rest));
        self.0 = rest;
        first
    }

    pub(super) fn yes(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Numbers of every size, and those at the edges.
    pub(super) fn number(&mut self) -> u64 {
        match self.byte() {
            0..=63 => self.byte().into(),
            64..=127 => u64::from(self.byte()) << 8,
            128..=191 => u64::from(self.byte()) << 20,
            192..=223 => 1 << (self.byte() % 64),
            224..=239 => u64::MAX - u64::from(self.byte()),
            240..=255 => 0,
        }
    }

    pub(super) fn bytes(&mut self) -> Bytes {
        Bytes(self.number())
    }

    /// Nothing, a moment, seconds, or much longer: at most two months.
    pub(super) fn span(&mut self) -> Micros {
        match self.byte() {
            0..=31 => Micros(0),
            32..=127 => Micros::from_millis(u64::from(self.byte()) * 4),
            128..=223 => Micros::from_millis(u64::from(self.byte()) * 100),
            224..=247 => Micros::from_seconds(u64::from(self.byte()) * 30),
            248..=255 => Micros::from_seconds(u64::from(self.byte()) * 20_000),
        }
    }

    /// Some bytes as they are.
    pub(super) fn raw(&mut self) -> Vec<u8> {
        let length = usize::from(self.byte()).min(self.0.len());
        let (raw, rest) = self.0.split_at(length);
        self.0 = rest;
        raw.to_vec()
    }

    /// A message with one bit changed, or cut short.
    pub(super) fn spoil(&mut self, mut message: Vec<u8>) -> Vec<u8> {
        let at = usize::from(u16::from_be_bytes([self.byte(), self.byte()])) % message.len().max(1);
        if self.byte() < 32 {
            message.truncate(at);
        } else if let Some(byte) = message.get_mut(at) {
            *byte ^= 1 << (self.byte() % 8);
        }
        message
    }
}

/// How many inputs are kept to come again.
const SENT_MAX: usize = 32;

/// What a machine was sent lately.
#[derive(Debug)]
pub(super) struct Sent<T>(VecDeque<T>);

impl<T: Clone> Sent<T> {
    pub(super) fn new() -> Self {
        Self(VecDeque::new())
    }

    pub(super) fn push(&mut self, input: T) {
        self.0.push_back(input);
        if self.0.len() > SENT_MAX {
            self.0.pop_front();
        }
    }

    /// One of them; nothing if nothing was sent.
    pub(super) fn pick(&self, choices: &mut Choices<'_>) -> Option<T> {
        (!self.0.is_empty()).then(|| self.0[choices.below(self.0.len())].clone())
    }

    /// All of them, which are forgotten.
    pub(super) fn take(&mut self) -> impl Iterator<Item = T> + use<T> {
        std::mem::take(&mut self.0).into_iter()
    }
}
