//! The telephone exchange of a home: registrar and proxy of its members, directory of other homes, and the media of
//! calls.
//!
//! In: [`Settings`], the home's key, the address of its gateway, its [`Members`], and a share of its links to other homes
//! ([`guestright_links::ExchangeLinks`]). Out: a running [`Exchange`], which is told when members have changed
//! ([`Exchange::set_members`]) and asked how it stands ([`Exchange::join`]).
//!
//! Invariants: one task owns the machines (`signalling`'s `Proxy`, `directory`'s `Directory`) and is the only one that
//! calls them; every queue that others can fill has a limit; a record counts by its signature, whichever way it came.

#[cfg(feature = "calls")]
mod book;
#[cfg(feature = "calls")]
mod exchange;
#[cfg(feature = "calls")]
mod find;
mod home;
#[cfg(feature = "calls")]
mod media;
#[cfg(feature = "calls")]
mod search;
mod settings;
#[cfg(feature = "dns")]
mod update_key;
#[cfg(feature = "calls")]
mod ways;
#[cfg(not(feature = "calls"))]
mod without_calls;

#[cfg(feature = "calls")]
pub use exchange::Exchange;
pub use home::{Members, OwnHome};
pub use settings::{DnsSettings, DnsZone, MemberNames, Settings, SmsLine, SmsSettings};
#[cfg(feature = "dns")]
pub use update_key::update_key;
#[cfg(not(feature = "calls"))]
pub use without_calls::Exchange;
