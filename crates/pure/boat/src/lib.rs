//! BoAT: a playout clock that is set by handshakes, and keys that come with them (paper D, section 3).
//!
//! Each direction of a call has an instance of its own of the four messages of Table 2. Words: the *talker* S measures
//! the round trip and installs, the *listener* R sets its clock and acknowledges; each side of a call is both.
//!
//! - [`Message`] and [`Content`]: what is said, before it is protected.
//! - [`Seal`]: what protects it. `guestright-legacy` has the paper's, which is broken; `modern` is ours.
//! - [`Opening`]: how two sides come to a seal.
//! - [`Talker`] and [`Listener`]: the phases, and the clock that they set. [`Buffer`]: Table 3.
//! - [`RateControl`]: how many bytes a second the codec may make.
//!
//! - [`Boat`]: all of that as a [`Tool`](guestright_voice::tool::Tool).
//!
//! Invariants, whatever arrives:
//!
//! - Timestamps of what is played only rise, and no packet is played twice.
//! - With [`InstallRule::ReceiverExact`] the clock jumps over silence only: what was stored is played.
//! - After each installation `Delta` lies between the round trip and two of them, to a tick, but for its bound.
//! - A message that is lost ends its phase, and changes no clock and no key that is in use.
//! - Every queue has a limit, and a datagram that is refused changes nothing but a count.
//!
//! Why it is so: `docs/design/0007-boat.md`.

mod buffer;
mod clock;
mod content;
mod endpoint;
mod listener;
pub mod modern;
mod opening;
pub mod rate;
mod seal;
mod talker;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;

pub use buffer::{Buffer, BufferConfig, HELD_MAX, Packet, Verdict};
pub use clock::TickRate;
pub use content::{Audio, Content, KEY_PART_MAX, Message, PAYLOAD_MAX, Report, Step};
pub use endpoint::{Boat, Clocks, Config, Masking, Timing};
pub use listener::{Gap, Listener, ListenerConfig, ListenerCounts};
pub use opening::{Introduced, Opening};
pub use rate::RateControl;
pub use seal::{Opened, Seal, SealError};
pub use talker::{InstallRule, Shutdown, Talker, TalkerConfig, TalkerCounts};
