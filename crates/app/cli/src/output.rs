//! Where answers are printed.

use guestright_error::RunError;
use std::fmt::{self, Arguments};
use std::io::{Error, Result, Write};

/// Standard output. What goes wrong says that it was there, and is no error of a file or of the network:
/// [`RunError::Output`].
///
/// Libraries get it as the `Write` that they ask for.
pub struct Output<'a>(&'a mut dyn Write);

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").finish_non_exhaustive()
    }
}

impl<'a> Output<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self(out)
    }

    /// For `write!` and `writeln!`, which take this one before that of `Write`.
    ///
    /// # Errors
    /// [`RunError::Output`].
    pub fn write_fmt(&mut self, arguments: Arguments<'_>) -> std::result::Result<(), RunError> {
        Write::write_fmt(self, arguments).map_err(RunError::Output)
    }

    /// # Errors
    /// [`RunError::Output`].
    pub fn write_all(&mut self, bytes: &[u8]) -> std::result::Result<(), RunError> {
        Write::write_all(self, bytes).map_err(RunError::Output)
    }

    /// # Errors
    /// [`RunError::Output`].
    pub fn flush(&mut self) -> std::result::Result<(), RunError> {
        Write::flush(self).map_err(RunError::Output)
    }
}

fn named(error: &Error) -> Error {
    Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.write(bytes).map_err(|error| named(&error))
    }

    fn flush(&mut self) -> Result<()> {
        self.0.flush().map_err(|error| named(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_error::Fault as _;
    use std::io::BufWriter;

    #[test]
    fn an_error_names_it_and_stays_of_its_kind() {
        let mut full: &mut [u8] = &mut [];
        let error = Output::new(&mut full).write_all(b"answer").unwrap_err();
        assert!(matches!(&error, RunError::Output(_)) && !error.is_broken_pipe(), "{error}");
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut writer = BufWriter::new(writer);
        let mut out = Output::new(&mut writer);
        writeln!(out, "answer").unwrap();
        let error = out.flush().unwrap_err();
        assert!(error.is_broken_pipe() && error.to_string().contains("standard output"), "{error}");
        // What could not be written must not be tried again when it is dropped.
        let _ = writer.into_parts();
    }
}
