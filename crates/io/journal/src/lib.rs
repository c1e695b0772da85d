//! Events for systemd's journal (systemd.io/JOURNAL_NATIVE_PROTOCOL).
//!
//! In: events of `tracing`. Out: for each a datagram to the journal's socket, with a field `GUESTRIGHT_…` for each fact and a
//! `MESSAGE_ID` for its kind, if it is one of [`KINDS`].
//!
//! Invariants: a kind keeps its number, whatever becomes of its words. What does not fit a field is cut, so that every entry fits a
//! datagram. Spans are not looked at: there are none. A journal that stands still costs a program [`PATIENCE`] for an event, which is
//! lost then.

mod entry;
mod kinds;

pub use kinds::{KINDS, Kind, kind};

use entry::Entry;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Where systemd's journal listens.
pub const SOCKET: &str = "/run/systemd/journal/socket";

/// How long an event waits for the journal, which may have much to read.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// The way to the journal.
#[derive(Debug)]
pub struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
    identifier: String,
}

impl Journal {
    /// Events go to this socket, as those of a program of this name.
    ///
    /// # Errors
    /// Nobody listens there.
    pub fn open(path: &Path, identifier: &str) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(PATIENCE))?;
        // The journal passes over an empty datagram.
        socket.send_to(&[], path)?;
        Ok(Self { socket, path: path.to_owned(), identifier: identifier.to_owned() })
    }
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let about = event.metadata();
        let mut entry = Entry::default();
        entry.put("PRIORITY", priority(*about.level()));
        entry.put("TARGET", about.target());
        if let Some(file) = about.file() {
            entry.put("CODE_FILE", file);
        }
        if let Some(line) = about.line() {
            entry.put("CODE_LINE", &line.to_string());
        }
        entry.put("SYSLOG_IDENTIFIER", &self.identifier);
        let mut facts = Facts { entry, message: String::new() };
        event.record(&mut facts);
        let Facts { mut entry, message } = facts;
        if let Some(kind) = kind(about.name(), &message) {
            entry.put("MESSAGE_ID", kind.id);
        }
        entry.put("MESSAGE", &message);
        // Whoever cannot log cannot say so either.
        let _ = self.socket.send_to(entry.bytes(), &self.path);
    }
}

/// As syslog numbers them (RFC 5424, section 6.2.1). What a person is to see by default is a notice.
fn priority(level: Level) -> &'static str {
    match level {
        Level::ERROR => "3",
        Level::WARN => "4",
        Level::INFO => "5",
        Level::DEBUG => "6",
        Level::TRACE => "7",
    }
}

struct Facts {
    entry: Entry,
    message: String,
}

impl Visit for Facts {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.entry.put_fact(field.name(), value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
