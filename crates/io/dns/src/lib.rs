//! A member's home in the DNS: dynamic update and lookup.
//!
//! In: a signed record, a name in a zone, the key for updates. Out: the record under that name, replaced in one step and
//! only by a newer one; or, for a lookup, the newest record of the member that was asked for.
//!
//! Below the name `alice.example` there are
//!
//! - `_guestright.alice.example TXT "guestright1" "…"`: the record in base64url, in strings of 255 characters at most;
//! - `_guestright._tcp.alice.example SRV`: the home's addresses, for people who look with `dig`. Where the record has
//!   addresses instead of names, `alice.example` gets them as A and AAAA.
//!
//! Nobody has to trust the DNS for this: the record is signed by the member. Whoever controls the zone can only withhold
//! it or show an older one that has not ended.
//!
//! Invariants: an answer counts only if it is one to our question (number, name, type, source); of an answer, four
//! TXT records are looked at; an answer to an update counts only with a valid signature of the key (RFC 8945); no
//! secret is shown by `Debug`.

mod addresses;
mod error;
mod exchange;
mod finder;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod lookup;
mod settings;
mod update;

pub use addresses::addresses;
pub use error::DnsError;
pub use exchange::Aside;
pub use finder::DnsFinder;
pub use lookup::Resolver;
pub use settings::{TsigKey, UpdateSettings};
pub use update::{Published, Updater};
