//! What `guestright-lab` measures with: it joins sockets and clocks with simulated links.
//!
//! In: settings of runs, sockets' addresses, and how many threads there are. Out: rows of runs ([`experiment::Outcome`]),
//! what became of voice on a live path ([`advise`]), datagrams with their times ([`wire`]), voice calls over them
//! ([`traffic`], [`course`]), or a [`BenchError`].
//!
//! - [`netns`]: runs on real sockets, with two hosts' kernels and an emulated path between them.
//! - [`cost`]: the testbed that measures what coding and protecting speech costs this computer.
//! - [`batch`] runs plans into a folder; [`pool`] makes many runs at once, and [`kept`] keeps what finished ones gave.
//! - [`shards`] has runs that several computers share.
//! - [`plan_files`] finds plans; [`folder`] has what stands in a folder of results: rows ([`table`]), how they came about
//!   ([`record`]), figures and the report; [`verdicts`] what a terminal shows of them, [`compared`] two folders beside each
//!   other, [`again`] results judged anew, and [`artifact`] what a referee needs to make them again. [`in_json`] has plans and testbeds for programs,
//!   [`in_words`] for people.
//!
//! Nothing here reads arguments or prints.
//!
//! [`experiment::Outcome`]: guestright_experiment::Outcome

pub mod advise;
pub mod again;
pub mod artifact;
pub mod batch;
pub mod compared;
pub mod cost;
pub mod course;
mod error;
#[cfg(test)]
mod fake;
pub mod folder;
pub mod in_json;
pub mod in_words;
pub mod kept;
pub mod netns;
pub mod numbers;
pub mod overhead;
pub mod plan_files;
pub mod pool;
pub mod record;
pub mod shards;
pub mod table;
pub mod traffic;
pub mod verdicts;
mod virtual_time;
mod voice;
pub mod wire;

pub use error::BenchError;
