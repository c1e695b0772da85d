//! Sound in and out: WAV files, the sound card, and what lies between them and a codec.
//!
//! In: a file or a device by name, and the rate that a codec wants. Out: 16-bit samples of one channel at that rate, or
//! the other way round.
//!
//! - [`Source`] and [`Sink`] are the two ends that a call has. The caller sets the pace: a file is read as fast as it is
//!   asked, which is how a call of a minute takes a second in a test.
//! - [`WavSource`] and [`WavSink`] are files, [`SampleSource`] and [`SampleSink`] are memory, [`Tone`] is a sine.
//! - [`card`] is microphone and loudspeaker (cargo feature `sound-card`), on [`Capture`] and [`Playback`], which need no
//!   device: a ring without locks, a resampler, and [`Drift`], which keeps two clocks together.
//! - [`Level`] says how loud something is, [`VoiceDetector`] whether somebody speaks.
//!
//! Files are not trusted: what is in them is an error or sound, never a panic, and nothing in a header makes us reserve
//! memory.

#[cfg(feature = "sound-card")]
pub mod card;
mod device;
mod drift;
mod error;
mod level;
mod memory;
mod resampler;
mod ring;
mod sample;
mod source;
mod voice;
mod wav_sink;
mod wav_source;

pub use device::{Capture, CaptureEnd, Playback, PlaybackEnd, Statistics, capture, playback};
pub use drift::Drift;
pub use error::AudioError;
pub use level::Level;
pub use memory::{SampleSink, SampleSource, Tone};
pub use resampler::{RATE_HZ_MAX, RATE_HZ_MIN, Resampler};
pub use source::{Sink, Source};
pub use voice::VoiceDetector;
pub use wav_sink::{WAV_SAMPLES_MAX, WavSink};
pub use wav_source::WavSource;

/// Ten seconds of speech as a WAV file: 8 kHz, 16 bits, one channel. `speech/README.md` says what is in it.
pub const SPEECH: &[u8] = include_bytes!("../speech/speech-8k.wav");
