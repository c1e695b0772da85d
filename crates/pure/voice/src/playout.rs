//! When each packet is played: a buffer that takes out the jitter, and the policies that say how long it holds.
//!
//! In: packets with wide sequence numbers and timestamps, in any order. Out, each time the sound given last is used up:
//! an [`Output`]: a payload to decode, or what to play instead. A [`Policy`] learns from every arrival and is asked for
//! the delay of each talkspurt.
//!
//! Invariants, whatever arrives:
//!
//! - No packet is played twice, and sequence numbers and timestamps of what is played only rise.
//! - The delay is changed between talkspurts, or where the listener says it is quiet; never within speech.
//! - What is held never spans more than [`Config::delay_max`]: the oldest is dropped, so delay cannot grow.
//! - Each packet that came is counted once: played, late, duplicate, overflow or skipped. Each that did not come is lost.
//!
//! Times of the sender ("media time") are timestamps in µs. Its clock and ours have an unknown offset, so the delays that
//! a policy sees are all wrong by one constant, which cancels in when a packet is played.

mod buffer;
mod policy;
mod stream;

pub use buffer::Playout;
pub use policy::{
    Arrival, Fixed, Handshake, Histogram, Moon, PaperA, Policy, Ramjee1, Ramjee4, WindowMinimum,
};

pub use stream::{Config, Counts, Fate, Incoming, Output, Sound};

#[cfg(test)]
mod tests;
