//! What an experiment leaves on the disk.
//!
//! In: tables of numbers, pictures as SVG, lines about finished runs. Out: files.
//!
//! - The same [`Table`] gives the same bytes of [`parquet`], whenever and wherever it is written: no time stands in it.
//! - A file is there whole or not at all ([`file::write`]).
//! - A [`Journal`] survives a program that ends in the middle of a line.
//! - A picture as PNG ([`picture::png`]) is the same on a computer with fonts and on one without.

mod error;
pub mod file;
mod host;
mod journal;
pub mod parquet;
pub mod picture;
mod table;

pub use error::ResultsError;
pub use host::Host;
pub use journal::{Journal, Kept};
pub use table::{Cells, Column, Table};
