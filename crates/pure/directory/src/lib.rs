//! Where a member's home is: records that the member signs, and those who keep them.
//!
//! In: signed [`Record`]s, frames of other homes, short messages, the time. Out: the record of the member that somebody
//! wants to call, frames and short messages to send, or a sentence on why nobody knows.
//!
//! - [`Record`]: a member's signed word on where its home is, good until a second that it names. Of two records of one
//!   member the one with the higher sequence counts ([`Record::replaces`]).
//! - [`Contact`]: whom a person calls by a name of the person's own, and where to ask. It travels as a text
//!   (`guestright:contact?…`) that fits a QR code. [`Contacts`] is a list of them.
//! - [`Book`]: the records that a home keeps, with limits for everybody who hands some in.
//! - [`Directory`]: a home's machine. It answers other homes from its book, asks them for its own members, and hands its
//!   members' records to its peers. Its frames ([`Message`]) go over the sealed links between homes, beside SIP:
//!   [`is_frame`] tells them apart.
//! - [`Finder`]: the one thing that the directory, the DNS and short messages have in common.
//! - [`sms`]: the same question by short message.
//!
//! # The machine, in six calls
//!
//! ```text
//! directory.handle_own(record, now)                     a member's record, at start and whenever it is new
//! directory.handle_linked(link, home, address, now)     a sealed link to the home with this key is up
//! directory.handle_frame(link, bytes, now)              a frame for which is_frame() holds
//! directory.handle_find(&contact, now) -> Search        whom a member of ours wants to call
//! while let Some((link, bytes)) = directory.poll_transmit()   bytes to send on a link
//! while let Some(event) = directory.poll_event()              LinkNeeded, Found, NotFound, Stored, RenewalNeeded …
//! ```
//!
//! Invariants: a [`Record`] in memory has valid signatures, its member's and its member's team's; whichever way it came
//! counts for nothing; a clock decides how long it counts, never the order of arrival; an older record never takes a
//! newer one's place; what strangers hand in never pushes out what is our own.

mod address;
mod book;
mod card;
mod contact;
mod directory;
mod error;
mod finder;
mod homes;
mod limit;
mod message;
mod record;
pub mod sms;

pub use address::{Address, Host, HostName, LINK_PORT};
pub use book::{Admission, Book, BookLimits, Source};
pub use contact::{Contact, Contacts, HomeHint, TelephoneNumber};
pub use directory::{Admit, Config, Directory, Event, LinkId, Search};
pub use error::{AddressError, BookError, CardError, MessageError, RecordError};
pub use finder::{Announcing, FindError, Finder, Finding, accept};
pub use homes::{HomeMessage, HomeRecord, Homes, HomesEvent, Seek, is_home_message};
pub use message::{Message, Outcome, is_frame};
pub use record::{Record, Statement};
