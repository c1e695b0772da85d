//! QR codes on the terminal.

use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_error::RunError;
use guestright_team::qr;
use zeroize::Zeroizing;

/// A QR code, to be shown.
pub(crate) struct Code(qr::Code);

impl Code {
    /// The code of a text.
    pub(crate) fn new(text: &str) -> Result<Self, RunError> {
        qr::Code::new(text).map(Self)
    }

    /// On a terminal it sets its colours; elsewhere light is what is printed, for a dark background.
    pub(crate) fn print(&self, is_terminal: bool, out: &mut Output) -> Outcome {
        for line in self.0.lines() {
            // White on black (ECMA-48, "select graphic rendition").
            if is_terminal {
                writeln!(out, "\x1b[97;40m{}\x1b[0m", line.as_str())?;
            } else {
                writeln!(out, "{}", line.as_str())?;
            }
        }
        Ok(())
    }

    pub(crate) fn svg(&self) -> Zeroizing<String> {
        self.0.svg()
    }

    pub(crate) fn png(&self) -> Zeroizing<Vec<u8>> {
        self.0.png()
    }
}
