//! The signals that ask a program to stop, or to read its settings again.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// SIGTERM and SIGINT, and SIGHUP for a program in a terminal. Made before anything that has to be undone: from then on they
/// wait until they are asked for.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Option<Signal>,
}

impl Signals {
    /// Takes over the signals that ask to stop; needs the runtime. The terminal's end (SIGHUP) is one of them, unless
    /// somebody has the program ignore it, as nohup(1) does.
    pub fn register() -> std::io::Result<Self> {
        let hang_up = if hang_up_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { hang_up, ..Self::register_daemon()? })
    }

    /// The same for a program that outlives its terminal: SIGHUP is none of them, see [`Reloads`].
    pub fn register_daemon() -> std::io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        Ok(Self { terminate, interrupt: signal(SignalKind::interrupt())?, hang_up: None })
    }

    /// The same as a channel, for libraries that know no signals: something comes for each. Needs the runtime.
    pub fn into_channel(mut self) -> mpsc::Receiver<()> {
        let (sender, receiver) = mpsc::channel(1);
        tokio::spawn(async move {
            loop {
                self.recv().await;
                if sender.send(()).await.is_err() {
                    return;
                }
            }
        });
        receiver
    }

    /// Waits for any of them.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = next(self.hang_up.as_mut()) => {}
        }
    }
}

/// SIGHUP, by which daemons are asked to read their settings again.
#[derive(Debug)]
pub struct Reloads(Signal);

impl Reloads {
    /// Takes the signal over; needs the runtime.
    pub fn register() -> std::io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for it.
    pub async fn recv(&mut self) {
        next(Some(&mut self.0)).await;
    }
}

/// Calls `on_signal` for each signal that asks to stop, on a thread of its own, until it returns false. The signals are taken
/// over when this returns, so that whoever waits for what is printed then may send one.
///
/// # Errors
/// The operating system gives no thread, or not the signals.
pub fn watch(mut on_signal: impl FnMut() -> bool + Send + 'static) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut signals = runtime.block_on(async { Signals::register() })?;
    let wait = move || {
        runtime.block_on(async {
            loop {
                signals.recv().await;
                if !on_signal() {
                    return;
                }
            }
        });
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(wait).map(drop)
}

async fn next(signal: Option<&mut Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

/// Whether this program was started with SIGHUP ignored: the first bit of `SigIgn` (proc(5)).
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores_hang_up(&status)
}

fn ignores_hang_up(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_under_nohup_is_known_by_its_mask() {
        assert!(ignores_hang_up("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0"));
        assert!(!ignores_hang_up("Name:\tx\nSigIgn:\t0000000000001000\n"));
        assert!(!ignores_hang_up(""));
    }
}
