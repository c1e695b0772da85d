//! The four machines together, in virtual time, over a bad link and against people who cheat.

#![expect(
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test picks out the event that it is about, and stops where it is not there"
)]

mod attacks;
mod blocked;
mod credit;
mod days;
mod delegate;
mod floods;
mod home;
mod homes;
mod overcharging;
mod random;
mod reload;
mod renewal;
mod sequences;
mod stations;
mod tunnels;
mod visitor;
mod visits;
mod world;
