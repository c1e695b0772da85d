//! What lies between a sound card's callback and a call, without the card.

use crate::ring::{Reader, Writer, ring};
use crate::{AudioError, Drift, Resampler, Sink, Source, resampler};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// How much lies ready to begin with, in ms, and how much at most where that was not enough.
const READY_MS: u32 = 40;
const READY_MS_MAX: u32 = 200;
/// By how much more, each time that it was not enough.
const READY_MS_STEP: u32 = 10;
/// With this much more than ready, something is thrown away: a call must not become later and later.
const EXCESS_MS_MAX: u32 = 100;

/// What went wrong between the clocks until now, and how things are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How often there was nothing to play or to send, so that it was silence.
    pub underruns: u64,
    /// Samples of the card's that were thrown away because there were too many.
    pub dropped_samples: u64,
    /// Samples of the card's that lie ready now.
    pub ready_samples: usize,
    /// By how many millionths the card's clock is faster than the caller's.
    pub clock_ppm: f64,
}

#[derive(Debug, Default)]
struct Counters {
    underruns: AtomicU64,
    dropped_samples: AtomicU64,
    /// How much is to lie ready, in samples of the card's.
    ready: AtomicUsize,
}

impl Counters {
    fn statistics(&self, ready_samples: usize, clock_ppm: f64) -> Statistics {
        Statistics {
            underruns: self.underruns.load(Ordering::Relaxed),
            dropped_samples: self.dropped_samples.load(Ordering::Relaxed),
            ready_samples,
            clock_ppm,
        }
    }

    /// It was not enough: more is to lie ready, up to the limit.
    fn underrun(&self, card_hz: u32) {
        self.underruns.fetch_add(1, Ordering::Relaxed);
        let more = self.ready.load(Ordering::Relaxed) + samples(card_hz, READY_MS_STEP);
        self.ready.store(more.min(samples(card_hz, READY_MS_MAX)), Ordering::Relaxed);
    }
}

fn samples(rate_hz: u32, milliseconds: u32) -> usize {
    usize::try_from(u64::from(rate_hz) * u64::from(milliseconds) / 1_000).unwrap_or(0)
}

/// Both ends of a microphone whose card runs at `card_hz`, for a call at `rate_hz`.
///
/// # Errors
///
/// [`AudioError::Rate`] for rates that are none.
pub fn capture(card_hz: u32, rate_hz: u32) -> Result<(CaptureEnd, Capture), AudioError> {
    let resampler = Resampler::new(card_hz, rate_hz)?;
    let (writer, reader) = ring(samples(card_hz, READY_MS_MAX + EXCESS_MS_MAX * 2));
    let ready = samples(card_hz, READY_MS);
    let counters = Arc::new(Counters { ready: AtomicUsize::new(ready), ..Counters::default() });
    let end = CaptureEnd { writer, counters: Arc::clone(&counters) };
    let drift = Drift::new(card_hz, ready);
    Ok((end, Capture { card_hz, rate_hz, reader, resampler, drift, counters, is_ready: false }))
}

/// The card's end of a microphone. Nothing in it waits or reserves memory.
#[derive(Debug)]
pub struct CaptureEnd {
    writer: Writer,
    counters: Arc<Counters>,
}

impl CaptureEnd {
    /// Takes what the microphone heard, one channel at the card's rate. `count` is how many samples there are.
    pub fn push(&mut self, samples: impl Iterator<Item = i16>, count: usize) {
        let dropped = count.saturating_sub(self.writer.write(samples.take(count)));
        self.counters.dropped_samples.fetch_add(u64::try_from(dropped).unwrap_or(0), Ordering::Relaxed);
    }
}

/// The call's end of a microphone.
#[derive(Debug)]
pub struct Capture {
    card_hz: u32,
    rate_hz: u32,
    reader: Reader,
    resampler: Resampler,
    drift: Drift,
    counters: Arc<Counters>,
    is_ready: bool,
}

impl Capture {
    /// What went wrong until now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.statistics(self.reader.filled(), self.drift.parts_per_million())
    }

    /// Begins only when enough lies ready, and throws away what is too much.
    fn prepare(&mut self, elapsed: f64) {
        let (ready, filled) = (self.counters.ready.load(Ordering::Relaxed), self.reader.filled());
        if !self.is_ready {
            self.is_ready = filled >= ready;
            self.drift.restart(ready);
        }
        if filled > ready + samples(self.card_hz, EXCESS_MS_MAX) {
            let dropped = self.reader.skip(filled - ready);
            self.counters.dropped_samples.fetch_add(u64::try_from(dropped).unwrap_or(0), Ordering::Relaxed);
            self.drift.restart(ready);
        } else if self.is_ready {
            self.resampler.adjust(self.drift.measured(filled, elapsed));
        }
    }
}

impl Source for Capture {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// Never waits and never ends: what the microphone does not have in time is silence.
    fn read(&mut self, wanted: &mut [i16]) -> Result<usize, AudioError> {
        self.prepare(crate::sample::count(wanted.len()) / f64::from(self.rate_hz));
        while self.is_ready && self.resampler.ready() < wanted.len() {
            let missing = self.resampler.missing();
            if self.reader.filled() < missing {
                self.is_ready = false;
                self.counters.underrun(self.card_hz);
                break;
            }
            let resampler = &mut self.resampler;
            self.reader.read(missing, |sample| resampler.push([sample]));
        }
        let count = self.resampler.pull(wanted);
        wanted[count..].fill(0);
        Ok(wanted.len())
    }
}

/// Both ends of a loudspeaker whose card runs at `card_hz`, for a call at `rate_hz`.
///
/// # Errors
///
/// [`AudioError::Rate`] for rates that are none.
pub fn playback(card_hz: u32, rate_hz: u32) -> Result<(PlaybackEnd, Playback), AudioError> {
    let resampler = Resampler::new(rate_hz, card_hz)?;
    let (writer, reader) = ring(samples(card_hz, READY_MS_MAX + EXCESS_MS_MAX * 2));
    let ready = samples(card_hz, READY_MS);
    let counters = Arc::new(Counters { ready: AtomicUsize::new(ready), ..Counters::default() });
    let end = PlaybackEnd { card_hz, reader, counters: Arc::clone(&counters), is_ready: false };
    let drift = Drift::new(card_hz, ready);
    resampler::check_rate(card_hz)?;
    Ok((end, Playback { card_hz, rate_hz, writer, resampler, drift, counters, ready }))
}

/// The card's end of a loudspeaker. Nothing in it waits or reserves memory.
#[derive(Debug)]
pub struct PlaybackEnd {
    card_hz: u32,
    reader: Reader,
    counters: Arc<Counters>,
    is_ready: bool,
}

impl PlaybackEnd {
    /// Gives `count` samples, one channel at the card's rate, one after the other.
    pub fn play(&mut self, count: usize, mut play: impl FnMut(i16)) {
        let ready = self.counters.ready.load(Ordering::Relaxed);
        self.is_ready = self.is_ready || self.reader.filled() >= ready;
        let had = if self.is_ready { self.reader.read(count, &mut play) } else { 0 };
        if self.is_ready && had < count {
            self.is_ready = false;
            self.counters.underrun(self.card_hz);
        }
        (had..count).for_each(|_| play(0));
    }
}

/// The call's end of a loudspeaker.
#[derive(Debug)]
pub struct Playback {
    card_hz: u32,
    rate_hz: u32,
    writer: Writer,
    resampler: Resampler,
    drift: Drift,
    counters: Arc<Counters>,
    ready: usize,
}

impl Playback {
    /// What went wrong until now.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.counters.statistics(self.writer.filled(), -self.drift.parts_per_million())
    }
}

impl Sink for Playback {
    fn rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// Never waits and never fails: what is too much is thrown away.
    fn write(&mut self, wanted: &[i16]) -> Result<(), AudioError> {
        let (ready, filled) = (self.counters.ready.load(Ordering::Relaxed), self.writer.filled());
        if ready != self.ready {
            self.ready = ready;
            self.drift.restart(ready);
        }
        let elapsed = crate::sample::count(wanted.len()) / f64::from(self.rate_hz);
        self.resampler.adjust(self.drift.measured(filled, elapsed));
        self.resampler.push(wanted.iter().copied());
        let room = (ready + samples(self.card_hz, EXCESS_MS_MAX)).saturating_sub(filled);
        let mut made = [0; 480];
        let mut left = room;
        loop {
            let count = self.resampler.pull(&mut made);
            if count == 0 {
                return Ok(());
            }
            let written = self.writer.write(made.iter().copied().take(count.min(left)));
            left -= written;
            let dropped = u64::try_from(count - written).unwrap_or(0);
            self.counters.dropped_samples.fetch_add(dropped, Ordering::Relaxed);
        }
    }

    fn finish(self: Box<Self>) -> Result<(), AudioError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
