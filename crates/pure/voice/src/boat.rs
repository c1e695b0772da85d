//! BoAT: a playout clock that is set by handshakes, and keys that come with them (paper D, section 3).
//!
//! Each direction of a call has an instance of its own of the four messages of Table 2. Words: the *talker* S measures
//! the round trip and installs, the *listener* R sets its clock and acknowledges; each side of a call is both.
//!
//! - [`Message`] and [`Content`]: what is said, before it is protected.
//! - [`Seal`]: what protects it. `guestright-legacy` has the paper's, which is broken; `modern` is ours.
//!
//! Why it is so: `docs/design/0007-boat.md`.

mod content;
mod seal;

pub use content::{Audio, Content, KEY_PART_MAX, Message, PAYLOAD_MAX, Report, Step};
pub use seal::{Opened, Seal, SealError};
