//! A computer that is made to share its Wi-Fi: looked at, changed step by step, and put back.
//!
//! In: the steps of `guestright_setup`. Out: what became of each, and in the journal what was there before.
//!
//! - [`survey`] looks: interfaces, networks, radios, who sets them up, which programs there are.
//! - [`Executor`] changes: before each change it notes in its journal what is there, on the disk. So whatever ends it, and
//!   whenever, the next one goes on ([`Executor::apply`]) or takes everything back ([`Executor::undo`]).
//!
//! Invariants: nothing is changed that was not noted before; what was noted first is what is put back, however often the
//! steps are done again; a step whose result is there changes nothing; what a person has edited since stays. Design note
//! 0011.

mod error;
mod executor;
mod journal;
mod links;
mod path_state;
mod services;
mod survey;
mod tool;
mod undo;
mod users;

pub use error::SystemError;
pub use executor::{Done, Executor, Maker, Outcome, Owners};
pub use survey::survey;
