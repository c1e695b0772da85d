//! What the kernel's TCP does on a socket, and what it did.

use crate::EmulatorError;
use rustix::net::{SendFlags, sockopt};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Where the kernel lists the algorithms that it has loaded, or can load (ip-sysctl.rst,
/// `tcp_available_congestion_control`).
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// As much of `struct tcp_info` (linux/tcp.h) as is read.
const INFO_BYTES: usize = 256;

/// The names of the congestion controls that this kernel offers, in its order.
///
/// # Errors
/// If the list cannot be read: there is no /proc.
pub fn offered() -> Result<Vec<String>, EmulatorError> {
    let text = std::fs::read_to_string(AVAILABLE).map_err(|error| EmulatorError::Tcp {
        what: format!("read {AVAILABLE}"),
        reason: error.to_string(),
        hint: String::new(),
    })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Sets the congestion control of a socket (tcp(7), `TCP_CONGESTION`), and reads it back.
///
/// # Errors
/// If the kernel has none of this name, does not let us have it, or has taken another.
pub fn set_congestion(socket: &impl AsFd, name: &str) -> Result<(), EmulatorError> {
    let refused = |reason: String| EmulatorError::Tcp {
        what: format!("set the congestion control {name}"),
        reason,
        hint: format!("; this kernel offers {}", offered().unwrap_or_default().join(", ")),
    };
    sockopt::set_tcp_congestion(socket, name).map_err(|error| refused(error.to_string()))?;
    let got = congestion(socket)?;
    if got == name { Ok(()) } else { Err(refused(format!("the kernel took {got} instead"))) }
}

/// The congestion control that a socket has.
///
/// # Errors
/// If it is no socket of TCP.
pub fn congestion(socket: &impl AsFd) -> Result<String, EmulatorError> {
    sockopt::tcp_congestion(socket).map_err(|error| refused("read the congestion control", &error))
}

/// Whether small segments leave at once (tcp(7), `TCP_NODELAY`).
///
/// # Errors
/// If it is no socket of TCP.
pub fn set_nodelay(socket: &impl AsFd, nodelay: bool) -> Result<(), EmulatorError> {
    sockopt::set_tcp_nodelay(socket, nodelay).map_err(|error| refused("set TCP_NODELAY", &error))
}

/// The longest segment (tcp(7), `TCP_MAXSEG`), in bytes of payload and options. To be set before it is connected.
///
/// # Errors
/// If it is no socket of TCP, or too long or short: the kernel takes 88 to 32,767.
pub fn set_segment(socket: &impl AsFd, bytes: u32) -> Result<(), EmulatorError> {
    set(socket, libc::TCP_MAXSEG, bytes).map_err(|error| refused("set TCP_MAXSEG", &error))
}

/// When there is room to write: with fewer than `bytes` that were never sent (tcp(7), `TCP_NOTSENT_LOWAT`). With 1,
/// as soon as everything has been sent once.
///
/// # Errors
/// If it is no socket of TCP.
pub fn set_unsent_max(socket: &impl AsFd, bytes: u32) -> Result<(), EmulatorError> {
    set(socket, libc::TCP_NOTSENT_LOWAT, bytes).map_err(|error| refused("set TCP_NOTSENT_LOWAT", &error))
}

/// Writes a record that shares no segment with the one behind it (sendmsg(2), `MSG_EOR`). How much of it was taken.
///
/// # Errors
/// As the kernel says; `WouldBlock` if there is no room.
pub fn write_record(socket: &impl AsFd, record: &[u8]) -> io::Result<usize> {
    let flags = SendFlags::EOR | SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    Ok(rustix::net::send(socket, record, flags)?)
}

/// What the kernel knows of a connection (linux/tcp.h, `struct tcp_info`). What an older kernel does not tell is
/// nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// The smoothed round-trip time.
    pub round_trip: Duration,
    /// The retransmission timeout.
    pub timeout: Duration,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Bytes written and never sent (since Linux 4.6).
    pub unsent_bytes: Option<u32>,
    /// Segments with payload sent, those sent again among them (since Linux 4.6).
    pub sent: Option<u64>,
    /// Retransmission timeouts (since Linux 6.7).
    pub timeouts: Option<u64>,
}

/// Asks what the kernel knows of a connection.
///
/// # Errors
/// If it is no socket of TCP.
#[expect(unsafe_code, reason = "no crate that we have reads TCP_INFO")]
pub fn info(socket: &impl AsFd) -> Result<Info, EmulatorError> {
    let mut bytes = [0_u8; INFO_BYTES];
    let mut length = libc::socklen_t::try_from(INFO_BYTES).unwrap_or_default();
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes, which is what `bytes` has, and both live until it returns.
    let refusal = unsafe {
        libc::getsockopt(
            descriptor,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if refusal != 0 {
        return Err(refused("read TCP_INFO", &io::Error::last_os_error()));
    }
    Ok(parse(bytes.get(..length as usize).unwrap_or(&bytes)))
}

/// Offsets as in linux/tcp.h of 6.12: 8 octets, 24 words, 4 double words, and so on; nothing was ever moved.
fn parse(bytes: &[u8]) -> Info {
    let word = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
    let micros = |at| Duration::from_micros(u64::from(word(at).unwrap_or_default()));
    let half = bytes.get(240..).and_then(|rest| rest.first_chunk()).map(|half| u16::from_ne_bytes(*half));
    Info {
        timeout: micros(8),
        round_trip: micros(68),
        retransmitted: u64::from(word(100).unwrap_or_default()),
        unsent_bytes: word(144),
        sent: word(156).map(u64::from),
        timeouts: half.map(u64::from),
    }
}

#[expect(unsafe_code, reason = "no crate that we have sets these options")]
fn set(socket: &impl AsFd, option: libc::c_int, value: u32) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    let length = libc::socklen_t::try_from(size_of::<u32>()).unwrap_or_default();
    // SAFETY: the kernel reads four bytes of a value that lives until it returns.
    let refusal =
        unsafe { libc::setsockopt(descriptor, libc::IPPROTO_TCP, option, (&raw const value).cast(), length) };
    if refusal == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn refused(what: &str, error: &impl ToString) -> EmulatorError {
    EmulatorError::Tcp { what: what.to_owned(), reason: error.to_string(), hint: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn every_congestion_control_that_is_offered_can_be_had_by_root_and_one_by_all() {
        let (one, _other) = pair();
        let names = offered().unwrap();
        let had = names.iter().filter(|name| {
            let set = set_congestion(&one, name).is_ok();
            assert!(!set || congestion(&one).unwrap() == **name);
            set
        });
        assert!(had.count() >= 1, "{names:?}");
        let before = congestion(&one).unwrap();
        let error = set_congestion(&one, "none-such").unwrap_err().to_string();
        assert!(error.contains("none-such") && error.contains(&names.join(", ")), "{error}");
        assert_eq!(congestion(&one).unwrap(), before);
    }

    #[test]
    fn what_the_kernel_tells_of_a_connection_is_what_was_done() {
        let (one, mut other) = pair();
        set_nodelay(&one, true).unwrap();
        set_unsent_max(&one, 1).unwrap();
        let before = info(&one).unwrap();
        for number in 0..10_u8 {
            assert_eq!(write_record(&one, &[number; 100]).unwrap(), 100);
        }
        let mut read = [0; 1_000];
        other.read_exact(&mut read).unwrap();
        let after = info(&one).unwrap();
        assert_eq!(after.retransmitted, 0);
        assert!(
            after.round_trip < Duration::from_secs(1) && after.timeout >= Duration::from_millis(1),
            "{after:?}"
        );
        if let (Some(before), Some(sent)) = (before.sent, after.sent) {
            assert_eq!(sent - before, 10, "one segment for each record");
            assert_eq!(after.unsent_bytes, Some(0));
        }
        assert_eq!(after.timeouts.unwrap_or(0), 0);
    }

    #[test]
    fn an_older_kernel_tells_less() {
        let mut bytes = vec![0; 248];
        bytes[68] = 7;
        bytes[100] = 3;
        bytes[240] = 2;
        let whole = parse(&bytes);
        assert_eq!(
            (whole.round_trip, whole.retransmitted, whole.timeouts),
            (Duration::from_micros(7), 3, Some(2))
        );
        let older = parse(&bytes[..104]);
        assert_eq!(
            (older.retransmitted, older.sent, older.unsent_bytes, older.timeouts),
            (3, None, None, None)
        );
    }
}
