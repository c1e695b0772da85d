//! Which packets were seen, and how often the sequence number has wrapped (RFC 3711, section 3.3).

use super::SrtpError;

/// How many indices behind the highest may still come.
pub const WINDOW: u64 = 1024;

const WORDS: usize = 16;

/// The indices that have been used, in a ring of bits as of RFC 6479.
///
/// Ask [`Window::state`] first, check the packet, and only then [`Window::accept`] its index.
#[derive(Clone, Debug, Default)]
pub struct Window {
    highest: Option<u64>,
    words: [u64; WORDS + 1],
}

/// Where an index lies in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexState {
    /// Not used yet.
    Fresh,
    Used,
    /// [`WINDOW`] or more behind the highest: nobody knows.
    TooOld,
}

impl Window {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The highest index that was accepted.
    #[must_use]
    pub fn highest(&self) -> Option<u64> {
        self.highest
    }

    /// Whether an index may be accepted.
    #[inline]
    #[must_use]
    pub fn state(&self, index: u64) -> IndexState {
        match self.highest {
            None => IndexState::Fresh,
            Some(highest) if index > highest => IndexState::Fresh,
            Some(highest) if highest - index >= WINDOW => IndexState::TooOld,
            Some(_) if self.words[word(index)] & bit(index) != 0 => IndexState::Used,
            Some(_) => IndexState::Fresh,
        }
    }

    /// Remembers an index that [`Window::state`] called fresh.
    #[inline]
    pub fn accept(&mut self, index: u64) {
        match self.highest {
            Some(highest) if index <= highest => {}
            before => {
                let from = before.map_or(index / 64, |highest| highest / 64 + 1);
                let to = index / 64;
                if to >= from + self.words.len() as u64 || before.is_none() {
                    self.words.fill(0);
                } else {
                    (from..=to).for_each(|number| self.words[word(number * 64)] = 0);
                }
                self.highest = Some(index);
            }
        }
        self.words[word(index)] |= bit(index);
    }
}

fn word(index: u64) -> usize {
    (index / 64 % (WORDS as u64 + 1)) as usize
}

fn bit(index: u64) -> u64 {
    1 << (index % 64)
}

/// What is known of one source under one key.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) ssrc: u32,
    pub(super) rtp: Window,
    pub(super) rtcp: Window,
    /// The rollover counter before the first packet.
    pub(super) rollover_start: u32,
}

/// The largest index: 32 bits of rollover counter, 16 of sequence number.
pub(super) const INDEX_MAX: u64 = (1 << 48) - 1;

impl Source {
    pub(super) fn new(ssrc: u32, rollover_start: u32) -> Self {
        Self { ssrc, rtp: Window::new(), rtcp: Window::new(), rollover_start }
    }

    /// The index that a sequence number most likely stands for (RFC 3711, section 3.3.1).
    ///
    /// Before index 0 there is nothing: a number that would belong there is too old.
    #[inline]
    pub(super) fn estimate(&self, sequence: u16) -> Result<u64, SrtpError> {
        let sequence = u64::from(sequence);
        let Some(highest) = self.rtp.highest() else {
            return Ok(u64::from(self.rollover_start) << 16 | sequence);
        };
        let ahead = sequence.wrapping_sub(highest) & 0xffff;
        if ahead < 1 << 15 {
            let index = highest + ahead;
            return if index <= INDEX_MAX { Ok(index) } else { Err(SrtpError::KeyWornOut) };
        }
        let too_old = SrtpError::TooOld { ssrc: self.ssrc, index: sequence };
        highest.checked_sub((1 << 16) - ahead).ok_or(too_old)
    }
}

/// The sources under one key, the one that was used last in front.
#[derive(Clone, Debug, Default)]
pub(super) struct Sources(Vec<Source>);

impl Sources {
    /// The one with that name, moved to the front.
    #[inline]
    pub(super) fn find(&mut self, ssrc: u32) -> Option<&mut Source> {
        let index = self.0.iter().position(|source| source.ssrc == ssrc)?;
        self.0.swap(0, index);
        self.0.first_mut()
    }

    pub(super) fn get(&self, ssrc: u32) -> Option<&Source> {
        self.0.iter().find(|source| source.ssrc == ssrc)
    }

    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= super::SOURCES_MAX
    }

    /// Adds a source; the caller has asked [`Sources::is_full`].
    pub(super) fn add(&mut self, source: Source) {
        self.0.push(source);
        let last = self.0.len() - 1;
        self.0.swap(0, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The window does what a set of all indices would do.
        #[test]
        fn is_a_set_that_forgets_downwards(
            start in 0_u64..1 << 40, steps in proptest::collection::vec(-1_500_i64..1_500, 1..400),
        ) {
            let mut window = Window::new();
            let mut seen = BTreeSet::new();
            let mut at = start;
            for step in steps {
                at = at.saturating_add_signed(step);
                let want = match seen.last() {
                    Some(&highest) if highest >= at && highest - at >= WINDOW => IndexState::TooOld,
                    _ if seen.contains(&at) => IndexState::Used,
                    _ => IndexState::Fresh,
                };
                prop_assert_eq!(window.state(at), want);
                if want == IndexState::Fresh {
                    window.accept(at);
                    seen.insert(at);
                }
            }
        }
    }

    #[test]
    fn a_sequence_number_is_placed_near_the_highest() {
        let mut source = Source::new(1, 0);
        assert_eq!(source.estimate(65_000), Ok(65_000));
        source.rtp.accept(5);
        let too_old = SrtpError::TooOld { ssrc: 1, index: 65_535 };
        assert_eq!(source.estimate(65_535), Err(too_old));
        source.rtp.accept(65_535);
        assert_eq!((source.estimate(0), source.estimate(65_534)), (Ok(65_536), Ok(65_534)));
        source.rtp.accept(65_536 + 5);
        assert_eq!((source.estimate(65_535), source.estimate(6)), (Ok(65_535), Ok(65_542)));
        source.rtp.accept(INDEX_MAX);
        assert_eq!(source.estimate(0), Err(SrtpError::KeyWornOut));
        assert_eq!(source.estimate(65_534), Ok(INDEX_MAX - 1));
    }
}
