//! What systemd hears from a service (sd_notify(3)): that it serves, reads its settings, stops, and is alive.
//!
//! Without `NOTIFY_SOCKET` nobody listens, and nothing is sent. A message that cannot be sent changes nothing here.

use rustix::time::{ClockId, clock_gettime};
use std::ffi::{OsStr, OsString};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// It serves, or goes on after reading its settings.
pub const READY: &str = "READY=1";
pub const STOPPING: &str = "STOPPING=1";

/// Sends lines of `NAME=VALUE`.
pub fn notify(state: &str) {
    if let Some(socket) = std::env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(&socket, state)
    {
        tracing::debug!(%error, state, "systemd was not notified");
    }
}

/// It serves, as this sentence says; `systemctl status` shows it.
pub fn serving(sentence: &str) {
    notify(&format!("{READY}\nSTATUS={}", sentence.trim_end()));
}

/// It reads its settings; [`READY`] is to follow. With `Type=notify-reload` the time says that this is the answer to a
/// signal, and not to an earlier one.
pub fn reloading() {
    // It is never negative (clock_gettime(2)).
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    let micros = now.as_micros();
    notify(&format!("RELOADING=1\nMONOTONIC_USEC={micros}"));
}

/// Says again and again that the program is alive, as long as `is_alive` says so within the time; if systemd wants that of
/// this program (`WatchdogSec=`). Needs the runtime.
pub fn keep_watchdog<F>(is_alive: impl Fn() -> F + Send + 'static)
where
    F: Future<Output = bool> + Send,
{
    let variable = |name| std::env::var(name).ok();
    let Some(every) = interval(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), std::process::id())
    else {
        return;
    };
    tokio::spawn(async move {
        while is_alive().await {
            notify("WATCHDOG=1");
            tokio::time::sleep(every).await;
        }
    });
}

/// Half of the time after which systemd gives the program up, as sd_watchdog_enabled(3) advises.
fn interval(micros: Option<String>, process: Option<String>, own: u32) -> Option<Duration> {
    let is_ours = process.is_none_or(|process| process.parse() == Ok(own));
    let micros: u64 = micros?.parse().ok()?;
    (is_ours && micros > 1).then(|| Duration::from_micros(micros / 2))
}

/// A name that begins with `@` is an abstract one (unix(7)).
fn send(socket: &OsStr, state: &str) -> std::io::Result<()> {
    let address = match socket.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(OsString::from(socket))?,
    };
    let from = UnixDatagram::unbound()?;
    // A loop does not wait for systemd.
    from.set_nonblocking(true)?;
    from.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_sockets_are_reached() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("guestright-notify-{}", std::process::id());
        let by_name = SocketAddr::from_abstract_name(&name).unwrap();
        let abstract_name = OsString::from(format!("@{name}"));
        for (socket, address) in [
            (path.clone().into_os_string(), SocketAddr::from_pathname(&path).unwrap()),
            (abstract_name, by_name),
        ] {
            let listener = UnixDatagram::bind_addr(&address).unwrap();
            send(&socket, "READY=1\nSTATUS=it serves").unwrap();
            let mut buffer = [0; 64];
            let count = listener.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..count], b"READY=1\nSTATUS=it serves");
        }
        assert!(send(folder.path().join("nobody").as_os_str(), READY).is_err());
    }

    #[test]
    fn the_watchdog_is_for_the_process_that_it_names() {
        let text = |text: &str| Some(text.to_owned());
        let cases = [
            (text("60000000"), None, Some(30)),
            (text("60000000"), text("7"), Some(30)),
            (text("60000000"), text("8"), None),
            (text("0"), None, None),
            (text("soon"), None, None),
            (None, text("7"), None),
        ];
        for (micros, process, seconds) in cases {
            let want = seconds.map(Duration::from_secs);
            assert_eq!(interval(micros.clone(), process.clone(), 7), want, "{micros:?} {process:?}");
        }
    }
}
