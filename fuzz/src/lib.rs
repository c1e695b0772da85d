//! What every parser promises, as functions of any bytes.
//!
//! In: bytes that anybody could send. Out: nothing, or a panic that names the promise which does not hold: a parser
//! never panics; what it accepts it would write in the same bytes; what we write it reads back; one signature has one
//! verdict, alone and in a batch.
//!
//! `libfuzzer/` looks for such bytes with every function of [`TARGETS`]; `tests/corpus.rs` runs the committed ones.
//! [`seeds`] makes the bytes to begin with, the crate `guestright-vectors` the test vectors of `docs/vectors`.

mod answers;
mod capture;
mod channel;
mod codec;
mod credit;
mod device;
mod directory;
mod eap;
mod identity;
mod kernel;
mod legacy;
mod machines;
mod pgpfone;
mod plan;
mod radius;
mod receipt;
mod roaming;
mod router;
mod sdp;
pub mod seeds;
mod short_messages;
mod signalling;
mod sound;
mod splash;
mod tables;
mod telephone;
mod text;
mod traffic;
mod tunnel;
mod uci;
mod vici;
mod voice;
mod wire;

pub use answers::name_answer;
pub use capture::{capture, streams};
pub use channel::channel;
pub use codec::codec;
pub use credit::credit;
pub use device::segments;
pub use directory::directory;
pub use eap::eap;
pub use identity::{batch, cbor, certificate, delegation, key, key_file, revocations, sealed};
pub use kernel::kernel;
pub use legacy::{nautilus, speak_freely};
pub use machines::{machine_access_point, machine_delegate, machine_home, machine_visitor};
pub use pgpfone::pgpfone;
pub use plan::plan;
pub use radius::{radius, radius_relay};
pub use receipt::{bundle, receipt};
pub use roaming::{acknowledgement, message, stream};
pub use router::{portmap, upnp};
pub use sdp::sdp;
pub use short_messages::{short_message, sms_link};
pub use signalling::{session, sip};
pub use sound::wav;
pub use splash::splash;
pub use tables::tables;
pub use telephone::description;
pub use text::{armour, team_id, wireguard};
pub use traffic::traffic;
pub use tunnel::{esp, esp_datagram, esp_inner, esp_settings, l2tp, ppp};
pub use uci::uci;
pub use vici::vici;
pub use voice::{agreement, boat, crypto_line, introduction, rtcp, rtp};
pub use wire::ip;

/// A function that holds a promise against some bytes.
pub type Target = fn(&[u8]);

/// Every function, under the name of its folder in `corpus` and of its file in `libfuzzer/fuzz_targets`.
pub const TARGETS: [(&str, Target); 63] = [
    ("acknowledgement", acknowledgement),
    ("agreement", agreement),
    ("armour", armour),
    ("batch", batch),
    ("boat", boat),
    ("bundle", bundle),
    ("capture", capture),
    ("cbor", cbor),
    ("certificate", certificate),
    ("channel", channel),
    ("codec", codec),
    ("credit", credit),
    ("crypto_line", crypto_line),
    ("delegation", delegation),
    ("description", description),
    ("directory", directory),
    ("eap", eap),
    ("esp", esp),
    ("esp_datagram", esp_datagram),
    ("esp_inner", esp_inner),
    ("esp_settings", esp_settings),
    ("introduction", introduction),
    ("ip", ip),
    ("kernel", kernel),
    ("key", key),
    ("key_file", key_file),
    ("l2tp", l2tp),
    ("machine_access_point", machine_access_point),
    ("machine_delegate", machine_delegate),
    ("machine_home", machine_home),
    ("machine_visitor", machine_visitor),
    ("message", message),
    ("name_answer", name_answer),
    ("nautilus", nautilus),
    ("pgpfone", pgpfone),
    ("plan", plan),
    ("portmap", portmap),
    ("ppp", ppp),
    ("radius", radius),
    ("radius_relay", radius_relay),
    ("receipt", receipt),
    ("revocations", revocations),
    ("rtcp", rtcp),
    ("rtp", rtp),
    ("sdp", sdp),
    ("sealed", sealed),
    ("segments", segments),
    ("session", session),
    ("short_message", short_message),
    ("sip", sip),
    ("sms_link", sms_link),
    ("speak_freely", speak_freely),
    ("splash", splash),
    ("stream", stream),
    ("streams", streams),
    ("tables", tables),
    ("team_id", team_id),
    ("traffic", traffic),
    ("uci", uci),
    ("upnp", upnp),
    ("vici", vici),
    ("wav", wav),
    ("wireguard", wireguard),
];
