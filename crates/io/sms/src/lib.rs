//! Short messages that ask for a member's home: by SMPP, and by a modem.
//!
//! In: messages of [`guestright_directory::sms`], settings of a gateway or of a serial line. Out: what came back.
//!
//! - [`Sms`]: what sends and receives short messages. Two ways:
//! - [`Smpp`]: an operator's message centre over SMPP 3.4 (TCP). The link is bound again whenever it ends.
//! - [`Modem`]: a GSM modem in PDU mode (3GPP TS 27.005) on a serial line, or on anything else that is a file and
//!   speaks like one.
//! - [`SmsFinder`]: the way to find homes by short message, on either of them.
//!
//! The protocols are machines without I/O ([`smpp::Session`], [`modem::Machine`]); one loop drives both.
//!
//! Invariants: a message whose fate is unknown is never sent twice, since each costs money; a SIM's PIN is tried once
//! and only where the SIM has tries left for a person; neither passwords, PINs, numbers nor texts are logged; what
//! comes from the other side is bounded in length and number.

mod clock;
mod drive;
mod error;
mod finder;
pub mod modem;
mod port;
pub mod smpp;

pub use drive::{Event, Machine, Received, Receiving, Sending, Sms, ToSend};
pub use error::SmsLinkError;
pub use finder::{FinderEvent, SmsFinder};
pub use modem::{Modem, ModemSettings};
pub use smpp::{Smpp, SmppSettings};
