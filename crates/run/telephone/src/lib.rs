//! A member's telephone: calls by SIP, the voice in them, and what is said about them.
//!
//! In: [`TelephoneSettings`], which were made of a command line, a [`Task`], and the person at the telephone
//! ([`Controls`]). Out: lines for that person or for a program, written to the `Write` that [`run`] is given; sound;
//! files, where they were asked for; and a [`TelephoneError`] that says whose fault it was.
//!
//! - [`phone`]: dialling, waiting for calls. [`line`]: one call from the first ring to the summary. `offer`: what is
//!   offered, answered, and not put up with.
//! - `media`: the voice of a call by SIP. [`driver`]: what the voice of any call has around its machine, with or
//!   without SIP; [`ear`]: its codec; `sound`: microphone, loudspeaker and files; `recording`: its packets in a file.
//! - [`report`]: what the person, a program and a table get to know.
//! - [`home`]: where home is. [`contacts`]: whom a name stands for.
//!
//! Invariants: a call is never less protected than it was asked for; the thread of the voice never waits for whoever
//! reads its news, but where a word must not be missed.
//!
//! Why it is so: `docs/design/0004-voice.md`.

pub mod contacts;
pub mod driver;
pub mod ear;
mod error;
pub mod home;
mod line;
mod media;
mod offer;
pub mod phone;
mod recording;
pub mod report;
mod settings;
mod sound;

pub use error::TelephoneError;
pub use guestright_sip::agent::Transport;
pub use phone::run;
pub use settings::{
    Answer, Controls, LineSettings, Playout, Protection, Reachability, ReportSettings, SoundSettings, Task,
    TelephoneSettings, VoiceSettings, Waiting, codec, codecs, read_commands,
};
