//! A capture of the call's own packets, as they were on the wire.

use crate::TelephoneError;
use guestright_capture::Writer;
use guestright_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;

/// A pcapng file that grows with the call. What cannot be written ends it, not the call.
pub(crate) struct Recording {
    writer: Writer,
    file: BufWriter<File>,
    buffer: Vec<u8>,
}

impl Recording {
    pub(crate) fn create(path: &Path) -> Result<Self, TelephoneError> {
        let create = || {
            let mut buffer = Vec::new();
            let writer = Writer::new("guestright call", "call", &mut buffer);
            let mut recording = Self { writer, file: BufWriter::new(File::create(path)?), buffer };
            recording.flush()?;
            Ok::<_, std::io::Error>(recording)
        };
        create().map_err(|source| TelephoneError::Unwritable { path: path.to_owned(), source })
    }

    /// Writes a datagram.
    pub(crate) fn packet(
        &mut self,
        at: Time,
        from: SocketAddr,
        to: SocketAddr,
        datagram: &[u8],
    ) -> std::io::Result<()> {
        let written = self.writer.packet(at, from, to, datagram, &mut self.buffer);
        written.map_err(std::io::Error::other)?;
        self.flush()
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// The call is over.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
