//! A netlink socket: messages out with numbers of their own, answers in.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    Emitable, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkBuffer, NetlinkHeader, Nla,
};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, getsockname, recv, send,
    socket_with,
};

use crate::FirewallError;

/// Messages of netlink itself (linux/netlink.h).
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// How long an answer may take. The kernel answers at once; but nobody here waits for ever.
const ANSWER_MAX: Duration = Duration::from_secs(3);
/// The largest datagram that the kernel sends: it fills pages, 32 KiB at most.
const DATAGRAM_MAX: usize = 64 * 1024;
/// Acknowledgements of a long transaction wait here.
const BUFFER: usize = 1 << 20;

/// A socket to a part of the kernel, in the network namespace where it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// What the kernel answers.
pub(crate) enum Answer<'a> {
    /// An object, with the header of its part of the kernel.
    Object(&'a [u8]),
    /// That is all, or it is done.
    Done,
    /// An error of errno(3).
    Error(i32),
}

impl Netlink {
    /// Opens the socket; without a protocol to what routes (`NETLINK_ROUTE` is zero).
    ///
    /// # Errors
    /// This kernel has no such part, or no descriptor is left.
    pub(crate) fn open(part: Option<Protocol>) -> Result<Self, FirewallError> {
        let open = || {
            let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, part)?;
            set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_MAX))?;
            set_socket_recv_buffer_size(&socket, BUFFER)?;
            bind(&socket, &SocketAddrNetlink::new(0, 0))?;
            Ok(socket)
        };
        let socket = open().map_err(|error: Errno| refused("open a netlink socket", error.into()))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The number of the message that was appended last.
    pub(crate) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The number by which the kernel knows this socket, in what it tells others about changes made through it.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub(crate) fn port(&self) -> Result<u32, FirewallError> {
        let address = getsockname(&self.socket).and_then(SocketAddrNetlink::try_from);
        address
            .map(|address| address.pid())
            .map_err(|error| refused("ask for a netlink socket's port", error.into()))
    }

    /// Where requests about interfaces may go, which netlink has no messages for.
    pub(crate) fn descriptor(&self) -> &OwnedFd {
        &self.socket
    }

    /// Puts a message behind others that are to be sent together: its kind, and what follows netlink's own header.
    ///
    /// It is not the libraries' type of a message: that has every kind in it, and so has a program that sends one.
    pub(crate) fn append(&mut self, batch: &mut Vec<u8>, kind: u16, parts: [&[u8]; 2], flags: u16) {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        (header.message_type, header.flags, header.sequence_number) = (kind, flags, self.sequence);
        let length = header.buffer_len() + parts.iter().map(|part| part.len()).sum::<usize>();
        header.length = u32::try_from(length).unwrap_or(u32::MAX);
        batch.extend(emitted(&header));
        batch.extend(parts.concat());
    }

    /// Asks for something to be done, and waits until the kernel says that it is.
    ///
    /// # Errors
    /// The kernel refuses, or does not answer.
    pub(crate) fn request(&mut self, kind: u16, parts: [&[u8]; 2], flags: u16) -> io::Result<()> {
        self.converse(kind, parts, NLM_F_ACK | flags, |_| {})
    }

    /// Asks for all objects of a kind, and hands on each.
    ///
    /// # Errors
    /// The kernel refuses, or does not answer.
    pub(crate) fn dump(&mut self, kind: u16, header: &[u8], each: impl FnMut(&[u8])) -> io::Result<()> {
        self.converse(kind, [header, &[]], NLM_F_DUMP, each)
    }

    /// Sends one message, and hands on what comes until the kernel has said how it went.
    fn converse(
        &mut self,
        kind: u16,
        parts: [&[u8]; 2],
        flags: u16,
        mut each: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut message = Vec::new();
        self.append(&mut message, kind, parts, NLM_F_REQUEST | flags);
        self.send(&message)?;
        let mut verdict = None;
        while verdict.is_none() {
            self.receive(self.sequence, |_, answer| match answer {
                Answer::Object(object) => each(object),
                Answer::Done => verdict = Some(Ok(())),
                Answer::Error(code) => verdict = Some(Err(io::Error::from_raw_os_error(code))),
            })?;
        }
        verdict.unwrap_or(Ok(()))
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<()> {
        loop {
            match send(&self.socket, bytes, SendFlags::empty()) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Hands on every message of the next datagram that answers what was sent since `begin`. What is older answers a
    /// question that was given up.
    pub(crate) fn receive(&self, begin: u32, mut each: impl FnMut(u32, Answer<'_>)) -> io::Result<()> {
        let mut buffer = vec![0; DATAGRAM_MAX];
        let length = loop {
            match recv(&self.socket, &mut buffer, RecvFlags::empty()) {
                Ok((length, _)) => break length,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error.into()),
            }
        };
        let asked = self.sequence.wrapping_sub(begin);
        split(buffer.get(..length).unwrap_or_default(), |sequence, answer| {
            if sequence.wrapping_sub(begin) <= asked {
                each(sequence, answer);
            }
        })
    }
}

/// Every message of a datagram, with its number.
pub(crate) fn split(mut rest: &[u8], mut each: impl FnMut(u32, Answer<'_>)) -> io::Result<()> {
    while !rest.is_empty() {
        // A message is never shorter than its header, so each turn takes something away.
        let broken = |_| io::Error::from(io::ErrorKind::InvalidData);
        let message = NetlinkBuffer::new_checked(rest).map_err(broken)?;
        each(message.sequence_number(), Answer::read(&message));
        let length = usize::try_from(message.length()).unwrap_or(usize::MAX);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(())
}

impl<'a> Answer<'a> {
    fn read(message: &NetlinkBuffer<&'a [u8]>) -> Self {
        let payload = message.payload();
        let code = payload.first_chunk().map_or(0, |code| i32::from_ne_bytes(*code));
        match message.message_type() {
            NLMSG_ERROR | NLMSG_DONE if code == 0 => Self::Done,
            NLMSG_ERROR | NLMSG_DONE => Self::Error(code.saturating_neg()),
            _ => Self::Object(payload),
        }
    }
}

/// Something of netlink's as bytes.
pub(crate) fn emitted(part: &impl Emitable) -> Vec<u8> {
    let mut bytes = vec![0; part.buffer_len()];
    part.emit(&mut bytes);
    bytes
}

/// Attributes one after the other, as a message or another attribute has them.
pub(crate) fn nested(attributes: &[impl Nla]) -> Vec<u8> {
    emitted(&attributes)
}

pub(crate) fn zero_terminated(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

pub(crate) fn refused(what: &str, error: io::Error) -> FirewallError {
    FirewallError::Kernel { what: what.to_owned(), reason: error.to_string() }
}

pub(crate) fn unreadable(what: &str) -> FirewallError {
    let reason = "its answer cannot be read; it may be too new for this program".to_owned();
    FirewallError::Kernel { what: what.to_owned(), reason }
}
