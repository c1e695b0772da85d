//! What the programs `guestright` and `guestright-lab` have in common.
//!
//! In: what a command returned, and what a person typed. Out: an exit code with a sentence ([`failure`], [`program`]),
//! answers ([`output`]), the arguments ([`arguments`]), secret keys whose passphrase was asked for ([`files`]), the wish to stop ([`signals`]),
//! addresses ([`address`]), settings of calls ([`call`]), and completions and manual pages ([`completions`]).

pub mod address;
pub mod arguments;
#[cfg(feature = "computer")]
pub mod call;
#[cfg(feature = "computer")]
pub mod completions;
pub mod failure;
pub mod files;
pub mod output;
pub mod program;
pub mod signals;
