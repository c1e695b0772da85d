//! The signals that ask a program to stop.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// SIGTERM and SIGINT. Made before anything that has to be undone: from then on they wait until they are asked for.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes over both signals; needs the runtime.
    pub fn register() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
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

    /// Waits for either.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
