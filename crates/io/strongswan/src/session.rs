//! A conversation with charon over its control socket.
//!
//! Source: strongSwan, `src/libcharon/plugins/vici/README.md`, "Transport protocol" and "Packet layer".

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use zeroize::Zeroizing;

use crate::{MessageError, Section, StrongswanError};

const CMD_REQUEST: u8 = 0;
const CMD_RESPONSE: u8 = 1;
const EVENT_REGISTER: u8 = 3;
const EVENT_UNREGISTER: u8 = 4;
const EVENT_CONFIRM: u8 = 5;
const EVENT: u8 = 7;

/// The longest packet, without its length (the protocol's own limit).
const PACKET_MAX: usize = 512 * 1_024;
/// How many events one answer may consist of.
const EVENTS_MAX: usize = 10_000;
/// How long charon may take for one packet.
const PATIENCE: Duration = Duration::from_secs(10);

/// One connection to charon's control socket.
#[derive(Debug)]
pub struct Session {
    stream: UnixStream,
}

impl Session {
    /// Connects to the socket `name` in `directory`, however long the directory's path is.
    ///
    /// # Errors
    /// Nobody answers there.
    pub fn connect(directory: &Path, name: &str) -> Result<Self, StrongswanError> {
        // A socket's path may have 107 bytes; this one is always short.
        let opened = File::open(directory).map_err(broken)?;
        let path = format!("/proc/self/fd/{}/{name}", opened.as_raw_fd());
        let stream = UnixStream::connect(path).map_err(broken)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
        Ok(Self { stream })
    }

    /// Asks for something that answers at once.
    ///
    /// # Errors
    /// charon has gone, or does not know the command.
    pub fn request(&mut self, command: &'static str, message: &Section) -> Result<Section, StrongswanError> {
        self.send(CMD_REQUEST, command, message)?;
        match self.receive()? {
            (CMD_RESPONSE, body) => Ok(Section::parse(&body)?),
            (got, _) => Err(StrongswanError::Answer { command, got }),
        }
    }

    /// Asks for something that charon may refuse; `name` is what it is about.
    ///
    /// # Errors
    /// charon has gone or refused.
    pub fn order(
        &mut self,
        command: &'static str,
        name: &str,
        message: &Section,
    ) -> Result<(), StrongswanError> {
        let answer = self.request(command, message)?;
        if answer.text("success") == Some("yes") {
            return Ok(());
        }
        let reason = answer.text("errmsg").unwrap_or("it gave no reason").to_owned();
        Err(StrongswanError::Refused { command, name: name.to_owned(), reason })
    }

    /// Asks for something that is answered by any number of events named `event`.
    ///
    /// # Errors
    /// charon has gone, or does not know the command.
    pub fn stream(
        &mut self,
        command: &'static str,
        event: &'static str,
        message: &Section,
    ) -> Result<Vec<Section>, StrongswanError> {
        self.subscribe(EVENT_REGISTER, event)?;
        self.send(CMD_REQUEST, command, message)?;
        let mut events = Vec::new();
        loop {
            match self.receive()? {
                (EVENT, body) => {
                    let name_length = usize::from(*body.first().ok_or(MessageError::Truncated { at: 0 })?);
                    let message = body.get(1 + name_length..).ok_or(MessageError::Truncated { at: 1 })?;
                    if events.len() < EVENTS_MAX {
                        events.push(Section::parse(message)?);
                    }
                }
                (CMD_RESPONSE, _) => break,
                (got, _) => return Err(StrongswanError::Answer { command, got }),
            }
        }
        self.subscribe(EVENT_UNREGISTER, event)?;
        Ok(events)
    }

    fn subscribe(&mut self, packet: u8, event: &'static str) -> Result<(), StrongswanError> {
        self.send(packet, event, &Section::new())?;
        match self.receive()? {
            (EVENT_CONFIRM, _) => Ok(()),
            (got, _) => Err(StrongswanError::Answer { command: event, got }),
        }
    }

    /// The bytes may hold a secret, so they are wiped.
    fn send(&mut self, packet: u8, name: &str, message: &Section) -> Result<(), StrongswanError> {
        let body = Zeroizing::new(message.emit()?);
        let length = 2 + name.len() + body.len();
        let too_long = MessageError::Long { got: length, max: PACKET_MAX };
        if length > PACKET_MAX {
            return Err(too_long.into());
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(4 + length));
        bytes.extend(u32::try_from(length).map_err(|_| too_long)?.to_be_bytes());
        bytes.extend([packet, u8::try_from(name.len()).map_err(|_| too_long)?]);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(&body);
        self.stream.write_all(&bytes).map_err(broken)
    }

    /// A packet's type and what follows it.
    fn receive(&mut self) -> Result<(u8, Vec<u8>), StrongswanError> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).map_err(broken)?;
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length == 0 {
            return Err(MessageError::Truncated { at: 0 }.into());
        }
        if length > PACKET_MAX {
            return Err(MessageError::Long { got: length, max: PACKET_MAX }.into());
        }
        let mut packet = vec![0; length];
        self.stream.read_exact(&mut packet).map_err(broken)?;
        let body = packet.split_off(1);
        Ok((packet[0], body))
    }
}

fn broken(error: std::io::Error) -> StrongswanError {
    StrongswanError::Socket { reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A charon that says `bytes` whatever it is asked, in a directory with a long path.
    fn against(bytes: &'static [u8]) -> (tempfile::TempDir, Session) {
        let directory = tempfile::tempdir().unwrap();
        let deep = directory.path().join("d".repeat(120));
        std::fs::create_dir(&deep).unwrap();
        let short = File::open(&deep).unwrap();
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/vici", short.as_raw_fd())).unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.write_all(bytes);
            let _ = stream.read(&mut [0; 1_000]);
        });
        (directory, Session::connect(&deep, "vici").unwrap())
    }

    #[test]
    fn a_charon_that_says_nonsense_is_refused() {
        #[rustfmt::skip]
        let cases: [(&'static [u8], StrongswanError); 5] = [
            (&[0, 0, 0, 0],          MessageError::Truncated { at: 0 }.into()),
            (&[0xff; 4],             MessageError::Long { got: 0xffff_ffff, max: PACKET_MAX }.into()),
            (&[0, 0, 0, 1, 2],       StrongswanError::Answer { command: "version", got: 2 }),
            (&[0, 0, 0, 2, 1, 9],    MessageError::Element { got: 9, at: 0 }.into()),
            (&[0, 0, 0, 9, 1],       StrongswanError::Socket { reason: "failed to fill whole buffer".to_owned() }),
        ];
        for (bytes, want) in cases {
            let (_directory, mut session) = against(bytes);
            assert_eq!(session.request("version", &Section::new()), Err(want));
        }
    }

    #[test]
    fn a_refusal_has_its_reason() {
        let (_directory, mut session) =
            against(b"\0\0\0\x1a\x01\x03\x07success\0\x02no\x03\x06errmsg\0\x02no");
        let refused = session.order("load-conn", "alice", &Section::new());
        let want = StrongswanError::Refused {
            command: "load-conn",
            name: "alice".to_owned(),
            reason: "no".to_owned(),
        };
        assert_eq!(refused, Err(want));
    }
}
