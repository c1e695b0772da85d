//! Calls straight from computer to computer, with a tool that has a wire format of its own (design note 0007).
//!
//! In: [`StudySettings`], made of a command line; a [`Task`](guestright_telephone::Task); a [`Terminal`].
//! [`Choice::make`] looks at everything before anything is opened or sent, and [`run`] calls or waits. Out: lines
//! written to the terminal, sound, files, and a [`StudyError`] that says whose fault it was.
//!
//! - [`choice`](Choice): what a person can choose of each [`Profile`]. `tools`: the machine that comes of it.
//! - `engine`: the voice of one call, on top of the driver of `guestright-telephone`. `rating`: how good it was.
//! - `talk`: one call from the first datagram to the summary.
//!
//! Invariants: a call is made with the profile that was asked for, or not at all; whatever is insecure is run only when
//! that was asked for by name, and says so before anything is sent.

mod choice;
mod engine;
mod error;
mod profile;
mod rating;
mod settings;
mod talk;
mod tools;

pub use choice::{Choice, CodecChoice, Profile};
pub use error::StudyError;
pub use profile::run;
pub use settings::{StudySettings, Terminal, ToolSettings};
