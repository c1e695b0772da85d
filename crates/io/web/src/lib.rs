//! A local HTTP server with doors: through which one comes decides what one may do. It knows nothing of what it serves.
//!
//! In: listeners, a [`Provider`] that has what is served, a clock that never goes back, and chance. Out: HTTP/1.1, and
//! [`Watch`], by which the provider sees whether anybody looks.
//!
//! | door | who | may |
//! | --- | --- | --- |
//! | [`Server::serve_socket`] | the program's user, by the folder's mode | everything |
//! | [`Server::serve_link`] | who has the cookie of a one-time link | everything |
//! | [`Server::serve_look`] | whose address is allowed | look |
//! | [`Server::serve_metrics`] | whose address is allowed | read the metrics, and nothing else |
//!
//! - [`session`], [`link`], [`origin`], [`rate`], [`slots`]: who gets in, as machines without a clock, a socket or chance of their own.
//! - [`Refused`]: every reason not to answer; each is counted.
//!
//! Invariants: a name is never an address of ours but `localhost` on loopback, so a name that somebody else can point at us
//! (DNS rebinding) reaches nothing. Nothing is changed without a header that a form cannot send. No header lets another origin
//! read an answer. Of links and sessions only digests are kept. Every queue, table and length has a limit (`…_max`). While
//! nobody looks the provider is asked nothing.

mod bind;
mod body;
mod encoding;
mod events;
mod feed;
mod handler;
mod idle;
pub mod link;
pub mod origin;
mod peer;
mod provider;
pub mod rate;
mod refused;
mod request;
mod response;
mod server;
pub mod session;
pub mod slots;
mod token;

pub use bind::{BindError, bind_socket, bind_tcp, is_within_household};
pub use encoding::{Accepts, Encoding};
pub use feed::Watch;
pub use peer::Peer;
pub use provider::{Access, Exposition, File, Provider, Refusal};
pub use refused::{Counts, Refused};
pub use server::{Config, Environment, Server};
