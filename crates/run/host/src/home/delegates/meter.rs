//! The meter on a thread of its own: it runs `nft` and must not hold up anybody.

use guestright_error::RunError;
use guestright_firewall::{TunnelCounts, TunnelMeter};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// It is not read more often than this, whoever asks.
const READ_EVERY: Duration = Duration::from_millis(100);

type Counts = Arc<TunnelCounts>;

/// The way to ask it. Nothing: it is to end.
#[derive(Clone, Debug)]
pub(super) struct Readings(mpsc::Sender<Option<oneshot::Sender<Counts>>>);

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
        let (questions, asked) = mpsc::channel::<Option<oneshot::Sender<Counts>>>();
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
        Ok(Self { readings: Readings(questions), thread: thread.map_err(RunError::network)? })
    }

    pub(super) fn readings(&self) -> Readings {
        self.readings.clone()
    }

    /// Who still asks learns nothing.
    pub(super) fn stop(self) -> Result<(), RunError> {
        let _ = self.readings.0.send(None);
        self.thread.join().map_err(|_| RunError::broken_thread("the meter's thread"))?
    }
}

impl Readings {
    /// What was counted so far for each peer.
    pub(super) fn read(&self) -> impl Future<Output = Counts> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.send(Some(reply));
        async { answer.await.unwrap_or_default() }
    }
}
