//! The household's page: what is served, and the doors through which (design note 0015).
//!
//! In: [`Settings`] of the doors, and a [`Home`], which knows the household and does what it is asked. Out: [`Doors`], which are
//! open until they are dropped, and one-time links.
//!
//! - [`Doors::open`] binds the sockets and serves; [`Doors::enable`] opens a door in the household's network and gives its link.
//! - [`Action`]: all that the page can ask for, read from what it posts.
//! - [`openapi`]: the local API, described.
//! - `plain`: the page without a script, written here from an overview. It is served where the page of `web/` was not built.
//!
//! Invariants: without a built page all that an [`Overview`](guestright_overview::Overview) says is still shown. No door is at an
//! address that the Internet reaches. A link's code stands behind `#` and nowhere else.

mod action;
mod describe;
mod doors;
mod files;
mod home;
mod plain;
mod provider;

pub use action::{
    Action, AddMember, Answer, Block, Blocked, Code, DryRun, DryRunAnswer, DryRunChange, DryRunRow,
    DryRunSettings, EndGuest, Everybody, Limits, MemberCode, MemberKey, Part, SettingsAnswer, TunnelOrPhone,
};
pub use describe::openapi;
pub use doors::{Doors, DoorsError, MayLook, Settings};
pub use guestright_web::{BindError, Counts, Exposition, Refusal, Refused, Watch};
pub use home::Home;
