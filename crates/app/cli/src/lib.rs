//! What the programs `guestright` and `guestright-lab` have in common.
//!
//! In: what a command returned, and what a person typed. Out: an exit code with a sentence ([`failure`]), secret keys
//! whose passphrase was asked for ([`files`]), the wish to stop ([`signals`]), and addresses ([`address`]).

pub mod address;
pub mod failure;
pub mod files;
pub mod signals;
