//! Where answers are printed, with a name for when it fails.

use std::io::{Error, Result, Write};

/// Standard output: what goes wrong says that it was there.
pub(super) struct StandardOutput<'a, W>(pub(super) &'a mut W);

fn named(error: &Error) -> Error {
    Error::new(error.kind(), format!("cannot write to standard output: {error}"))
}

impl<W: Write> Write for StandardOutput<'_, W> {
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
    use std::io::{BufWriter, ErrorKind};

    #[test]
    fn an_error_names_it_and_stays_of_its_kind() {
        let mut full: &mut [u8] = &mut [];
        let error = StandardOutput(&mut full).write_all(b"answer").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WriteZero);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut writer = BufWriter::new(writer);
        let mut out = StandardOutput(&mut writer);
        out.write_all(b"answer").unwrap();
        let error = out.flush().unwrap_err();
        assert!(error.kind() == ErrorKind::BrokenPipe && error.to_string().contains("standard output"));
        // What could not be written must not be tried again when it is dropped.
        let _ = writer.into_parts();
    }
}
