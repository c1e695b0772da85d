//! What the programs `guestright` and `guestright-lab` have in common.
//!
//! In: what a command returned, and what a person typed. Out: an exit code with a sentence ([`failure`], [`program`]),
//! secret keys whose passphrase was asked for ([`files`]), the wish to stop ([`signals`]), addresses ([`address`]), and
//! completions and manual pages ([`completions`]).

pub mod address;
pub mod completions;
pub mod failure;
pub mod files;
pub mod program;
pub mod signals;
