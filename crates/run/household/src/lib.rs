//! A computer is set up to share its Wi-Fi, and has all of it taken back (design note 0011).
//!
//! In: answers, from a file ([`answers_file`]) or from a person, and the wish to go on. Out: a plan that can be shown before
//! anything is done, and then this computer with the plan carried out, or as it was before.
//!
//! Invariants: what `pure/setup` plans `io/system` does, and nothing else; keys that cannot be made are refused before the
//! first step; a setup that did not come to its end goes on with the answers that it began with.

pub mod answers_file;
mod keys;
#[cfg(feature = "page")]
mod page_tools;
mod setup;

#[cfg(feature = "page")]
pub use page_tools::PageTools;
pub use setup::{Earlier, Setup, earlier_setup, is_root, open_journal, survey_computer, undo_setup};
