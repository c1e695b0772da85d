//! A strongSwan of our own for IKEv2 and L2TP clients, driven over vici.
//!
//! In: [`Settings`] with the members and their secrets. Out: a charon process that lets these members in and nobody
//! else, started again when it dies, and [`Status`]: who is connected and how.
//!
//! - charon is the one that is installed; its configuration, control socket and process-id file are in a directory of
//!   ours. In a mount namespace of its own that directory is its `/run`, so a strongSwan that the household runs
//!   otherwise is not touched, and the access rules (AppArmor) that distributions ship for charon hold.
//! - Secrets go to charon through its control socket only. They are in no file that this crate writes, but for
//!   pppd's `chap-secrets`, which nobody else may read and which pppd takes from nowhere else.
//! - Packets are charon's affair: in the kernel where it has ESP, else in charon itself (kernel-libipsec).
//! - [`Section`] and [`Session`] speak vici, charon's control protocol.
//!
//! Everything here blocks. charon is ended by [`Gateway`]'s end, and by the end of the process that made it.

mod charon;
mod configuration;
mod connections;
mod error;
mod gateway;
mod l2tp;
mod leftover;
mod message;
mod probe;
mod process;
mod session;
mod settings;
mod status;

pub use connections::{ESP_MODERN, ESP_PAPER, IKE_MODERN, IKE_PAPER};
pub use error::StrongswanError;
pub use gateway::Gateway;
pub use message::{MessageError, Node, Section};
pub use probe::{Installation, kernel_has_esp, why_no_ppp};
pub use session::Session;
pub use settings::{Certificate, DataPlane, L2tp, Member, Profile, Secret, Settings};
pub use status::{Carried, Peer, Status};
