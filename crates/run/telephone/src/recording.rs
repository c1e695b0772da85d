//! A capture of the call's own packets, as they were on the wire.

use anyhow::Context;
use guestright_capture::Writer;
use guestright_cli::failure::Failure;
use guestright_units::Time;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::SocketAddr;
use std::path::Path;

/// A pcapng file that grows with the call. What cannot be written ends it, not the call.
pub(super) struct Tape {
    writer: Writer,
    file: BufWriter<File>,
    buffer: Vec<u8>,
}

impl Tape {
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let create = || {
            let mut buffer = Vec::new();
            let writer = Writer::new("guestright call", "call", &mut buffer);
            let mut tape = Self { writer, file: BufWriter::new(File::create(path)?), buffer };
            tape.flush()?;
            Ok::<_, std::io::Error>(tape)
        };
        create().with_context(|| format!("write {}", path.display())).map_err(Failure::config)
    }

    /// Writes a datagram.
    pub(super) fn packet(
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
    pub(super) fn finish(mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}
