//! The splash page: what an access point shows to phones that run no program of ours.
//!
//! In: the bytes of one HTTP request, and what the access point knows of the guest who sent them ([`Guest`]). Out: the bytes
//! of the response, and at most one [`Action`]. The answers to the probes by which systems look for such a page ([`PROBES`]),
//! and the ways to announce it: RFC 8910 ([`announcement`]) and RFC 8908 (a route of the machine).
//!
//! - [`Splash`]: the machine. [`Splash::handle_request`] is the one call.
//! - [`Settings`]: what the household says of itself. A [`Splash`] is made only of what has been checked.
//! - [`Guest`]: how somebody stands at this access point, whether a trial is offered, and the token of the lease.
//! - [`Language`]: English, German, French, Arabic. A text that a language lacks does not compile.
//!
//! Invariants: a response has at most [`RESPONSE_BYTES_MAX`] bytes, or [`TERMS_RESPONSE_BYTES_MAX`] if it is the page
//! of terms, and closes its connection; nothing of a request is in a
//! response; only a `POST` from our own page, with the token of the guest's lease, makes an [`Action`]; every redirect leads
//! to the address in the settings; a name that is neither ours nor a probe's gets no page; nothing is answered on behalf of
//! a host with a certificate.

pub mod announcement;
mod api;
mod guest;
mod language;
mod page;
mod probe;
mod request;
mod response;
mod settings;
mod splash;

pub use guest::{
    Debt, Guest, LeaseToken, Standing, TRIAL_SECONDS_USUAL, TokenError, Trial, WhyRefused, WhyServed,
};
pub use language::Language;
pub use probe::{Online, PROBES, Probe};
pub use request::{BODY_BYTES_MAX, HEAD_BYTES_MAX, HEADERS_MAX};
pub use response::{RESPONSE_BYTES_MAX, TERMS_RESPONSE_BYTES_MAX};
pub use settings::{Secured, Settings, SettingsError, TERMS_TEXT_BYTES_MAX};
pub use splash::{Action, Answer, Received, Splash, Transport};
