//! Attacks on a server that listens on loopback. The clock of sessions, links and rates stands still unless a test moves it, so no
//! answer depends on how busy the computer is.

#![expect(clippy::unwrap_used, reason = "tests fail where they are wrong")]

mod floods;
mod house;
mod origins;
mod sessions;
mod streams;
