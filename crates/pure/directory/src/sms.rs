//! The question where somebody's home is, by short message.
//!
//! As in the paper: the caller's side sends a short message that says where its own home is, the callee's answers with
//! where the callee's home is. Both are signed [`Record`](crate::Record)s here. They are 8-bit data in a few
//! concatenated messages, addressed to an application port, so that no telephone shows them to a person.
//!
//! - [`Courier`]: the machine that asks and answers. An answer costs money: it goes to contacts only, unless somebody
//!   says otherwise, and to each number only so often.
//! - [`split`] and [`Reassembly`]: concatenation (3GPP TS 23.040 section 9.2.3.24).
//! - [`Submit`] and [`Deliver`]: what a modem takes and gives in PDU mode (TS 23.040 section 9.2.2).
//! - [`Payload`]: what is said.

mod alphabet;
mod config;
mod courier;
mod error;
mod header;
mod payload;
mod pdu;
mod reassembly;
mod timestamp;

pub use config::{Config, WhoMayAsk};
pub use courier::{Courier, Event, Outgoing, OutgoingId};
pub use error::SmsError;
pub use header::{Concatenation, Header, PORT, Ports, USER_DATA_MAX, split};
pub use payload::Payload;
pub use pdu::{Alphabet, Deliver, Party, Submit, from_hex, to_hex};
pub use reassembly::{Reassembly, ReassemblyLimits};
pub use timestamp::{Timestamp, relative_validity, validity_seconds};
