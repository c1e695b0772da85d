//! OpenWrt's settings files (UCI).
//!
//! In: the text of a file in `/etc/config`. Out: its sections and options with the line of each ([`Document`]), or settings
//! of any type that serde can fill ([`Root::settings`]). Every error names the line, and what to do there.
//!
//! ```
//! use guestright_uci::{Document, Roots};
//!
//! #[derive(Debug, PartialEq, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Ap { port: u16, shaping: Shaping }
//! #[derive(Debug, PartialEq, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Shaping { down: u64 }
//!
//! let text = "config ap\n\toption enabled '1'\n\toption port '7273'\nconfig ap_shaping\n\toption down '20'\n";
//! let document = Document::parse(text).unwrap();
//! let section = document.root("ap", Roots(&["ap", "home"])).unwrap();
//! assert!(section.enabled);
//! assert_eq!(section.settings::<Ap>().unwrap(), Ap { port: 7273, shaping: Shaping { down: 20 } });
//! ```
//!
//! Invariants: what is accepted is written ([`std::fmt::Display`]) so that it is read as the same; nothing is read that
//! libuci would read differently, but for what is refused here and accepted there: an option or a section that is there
//! twice, `;` and control characters, options without a value, and files beyond the limits.

mod document;
mod error;
mod reader;
mod settings;

pub use document::{Document, Entry, Item, Section, Value};
pub use error::{Problem, UciError};
pub use reader::{ENTRIES_MAX, NAME_BYTES_MAX, SECTIONS_MAX, TEXT_BYTES_MAX, VALUE_BYTES_MAX};
pub use settings::{Root, Roots};
