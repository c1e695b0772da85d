//! The meter on a thread of its own: it runs `nft` and must not hold up anybody.

use super::asking::Asking;
use guestright_error::RunError;
use guestright_firewall::{TunnelCounts, TunnelMeter};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// It is not read more often than this, whoever asks.
const READ_EVERY: Duration = Duration::from_millis(100);

type Counts = Arc<TunnelCounts>;

/// The way to ask what was counted so far for each peer.
pub(super) type Readings = Asking<Counts>;

/// The thread.
#[derive(Debug)]
pub(super) struct Meter {
    readings: Readings,
    thread: JoinHandle<Result<(), RunError>>,
}

impl Meter {
    /// Begins to count what comes to and goes from the gateway's port, and from IPsec's if members come by it.
    pub(super) fn start(port: u16, ipsec: bool, state_file: &Path) -> Result<Self, RunError> {
        let meter = TunnelMeter::up(&[port].into(), ipsec, state_file).map_err(RunError::network)?;
        let (readings, asked) = Readings::open();
        let thread = std::thread::Builder::new().name("tunnel-meter".to_owned()).spawn(move || {
            let mut last: Option<(Instant, Counts)> = None;
            while let Ok(Some(reply)) = asked.recv() {
                if last.as_ref().is_none_or(|(at, _)| at.elapsed() >= READ_EVERY) {
                    match meter.read() {
                        Ok(counts) => last = Some((Instant::now(), Arc::new(counts))),
                        // What was counted before is all that is signed for.
                        Err(error) => tracing::error!(%error, "the tunnels' meter could not be read"),
                    }
                }
                let _ = reply.send(last.as_ref().map(|(_, counts)| Arc::clone(counts)).unwrap_or_default());
            }
            meter.down().map_err(RunError::network)
        });
        Ok(Self { readings, thread: thread.map_err(RunError::network)? })
    }

    pub(super) fn readings(&self) -> Readings {
        self.readings.clone()
    }

    /// Who still asks learns nothing.
    pub(super) fn stop(self) -> Result<(), RunError> {
        self.readings.end();
        self.thread.join().map_err(|_| RunError::broken_thread("the meter's thread"))?
    }
}
