//! The meter on a thread of its own: it runs `nft` and must not hold up anybody.

use guestright_error::RunError;
use guestright_firewall::TunnelMeter;
use guestright_units::Bytes;
use std::collections::BTreeMap;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// It is not read more often than this, whoever asks.
const READ_EVERY: Duration = Duration::from_millis(100);

type Counts = Arc<BTreeMap<SocketAddrV4, Bytes>>;

/// The thread, and the way to ask it.
#[derive(Debug)]
pub(super) struct Meter {
    questions: mpsc::Sender<oneshot::Sender<Counts>>,
    thread: JoinHandle<Result<(), RunError>>,
}

impl Meter {
    /// Begins to count what comes to and goes from the gateway's port.
    pub(super) fn start(port: u16, state_file: &Path) -> Result<Self, RunError> {
        let meter = TunnelMeter::up(&[port].into(), state_file).map_err(RunError::network)?;
        let (questions, asked) = mpsc::channel::<oneshot::Sender<Counts>>();
        let thread = std::thread::Builder::new().name("tunnel-meter".to_owned()).spawn(move || {
            let mut last: Option<(Instant, Counts)> = None;
            while let Ok(reply) = asked.recv() {
                if last.as_ref().is_none_or(|(at, _)| at.elapsed() >= READ_EVERY) {
                    match meter.read() {
                        Ok(counts) => {
                            let counts = counts.into_iter().map(|(peer, bytes)| (peer, Bytes(bytes)));
                            last = Some((Instant::now(), Arc::new(counts.collect())));
                        }
                        // What was counted before is all that is signed for.
                        Err(error) => tracing::error!(%error, "the tunnels' meter could not be read"),
                    }
                }
                let _ = reply.send(last.as_ref().map(|(_, counts)| Arc::clone(counts)).unwrap_or_default());
            }
            meter.down().map_err(RunError::network)
        });
        Ok(Self { questions, thread: thread.map_err(RunError::network)? })
    }

    /// What was counted so far for each peer.
    pub(super) fn read(&self) -> impl Future<Output = Counts> + Send + use<> {
        let (reply, answer) = oneshot::channel();
        let _ = self.questions.send(reply); // The thread ends only after this.
        async { answer.await.unwrap_or_default() }
    }

    pub(super) fn stop(self) -> Result<(), RunError> {
        drop(self.questions);
        self.thread.join().map_err(|_| RunError::broken_thread("the meter's thread"))?
    }
}
