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
mod router;
pub mod seeds;
mod text;
mod tunnel;
pub mod vectors;
mod vici;

pub use identity::{batch, cbor, certificate, delegation, key, key_file, revocations, sealed};
pub use receipt::{bundle, receipt};
pub use roaming::{acknowledgement, message, stream};
pub use router::{portmap, upnp};
pub use text::{armour, team_id, wireguard};
pub use tunnel::{esp, esp_datagram, esp_inner, esp_settings, l2tp, ppp};
pub use vici::vici;

/// A function that holds a promise against some bytes.
pub type Target = fn(&[u8]);

/// Every function, under the name of its folder in `corpus` and of its file in `libfuzzer/fuzz_targets`.
pub const TARGETS: [(&str, Target); 25] = [
    ("acknowledgement", acknowledgement),
    ("armour", armour),
    ("batch", batch),
    ("bundle", bundle),
    ("cbor", cbor),
    ("certificate", certificate),
    ("delegation", delegation),
    ("esp", esp),
    ("esp_datagram", esp_datagram),
    ("esp_inner", esp_inner),
    ("esp_settings", esp_settings),
    ("key", key),
    ("key_file", key_file),
    ("l2tp", l2tp),
    ("message", message),
    ("portmap", portmap),
    ("ppp", ppp),
    ("receipt", receipt),
    ("revocations", revocations),
    ("sealed", sealed),
    ("stream", stream),
    ("team_id", team_id),
    ("upnp", upnp),
    ("vici", vici),
    ("wireguard", wireguard),
];
