//! What every parser promises, as functions of any bytes.
//!
//! In: bytes that anybody could send. Out: nothing, or a panic that names the promise which does not hold: a parser
//! never panics; what it accepts it would write in the same bytes; what we write it reads back; one signature has one
//! verdict, alone and in a batch.
//!
//! `libfuzzer/` looks for such bytes with every function of [`TARGETS`]; `tests/corpus.rs` runs the committed ones.
//! [`seeds`] makes the bytes to begin with, [`vectors`] the test vectors of `docs/vectors`.

pub mod actors;
mod canonical;
mod identity;
mod receipt;
mod roaming;
pub mod seeds;
mod text;
pub mod vectors;

pub use identity::{batch, cbor, certificate, key, key_file, revocations, sealed};
pub use receipt::{bundle, receipt};
pub use roaming::{acknowledgement, message, stream};
pub use text::{armour, team_id};

/// A function that holds a promise against some bytes.
pub type Target = fn(&[u8]);

/// Every function, under the name of its folder in `corpus` and of its file in `libfuzzer/fuzz_targets`.
pub const TARGETS: [(&str, Target); 14] = [
    ("acknowledgement", acknowledgement),
    ("armour", armour),
    ("batch", batch),
    ("bundle", bundle),
    ("cbor", cbor),
    ("certificate", certificate),
    ("key", key),
    ("key_file", key_file),
    ("message", message),
    ("receipt", receipt),
    ("revocations", revocations),
    ("sealed", sealed),
    ("stream", stream),
    ("team_id", team_id),
];
