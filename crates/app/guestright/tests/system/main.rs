//! The whole program, started for real: on the command line, and in towns of network namespaces on the real kernel.
//!
//! Every test that needs a network starts itself again inside a sandbox, which the kernel clears away however the
//! test ends.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test says what broke by panicking, and prints what it measured"
)]

mod accesspoint;
mod attacks;
mod backup;
mod blocked;
mod browser;
mod call;
mod cli;
mod credit;
mod crowd;
mod demo;
mod doctor;
mod errors;
mod fast_line;
mod faults;
mod gateway;
mod hostile;
mod ike;
mod ingest;
mod meter;
mod metrics;
mod mos;
mod openwrt;
mod overview;
mod page;
mod phone_files;
mod phones;
mod privileges;
mod profiles;
mod ready;
mod reload;
mod renewal;
mod repeater;
mod rest;
mod retention;
mod setup;
mod soak;
mod splash;
#[path = "../../../../io/strongswan/tests/gateway/stock.rs"]
mod stock;
mod team;
mod town;
mod visit;
mod voice;
mod way_home;
mod what_if;
mod zero_install;
