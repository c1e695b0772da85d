//! The question whether a loop still goes round, for a watchdog.

use std::future;
use tokio::sync::{mpsc, oneshot};

/// Whoever asks.
#[derive(Clone, Debug)]
pub struct Prober(mpsc::Sender<oneshot::Sender<()>>);

/// What a loop answers between two pieces of work. A loop that stands still answers nothing.
#[derive(Debug)]
pub struct Probes(mpsc::Receiver<oneshot::Sender<()>>);

/// Both ends.
pub fn probe() -> (Prober, Probes) {
    let (sender, receiver) = mpsc::channel(1);
    (Prober(sender), Probes(receiver))
}

impl Prober {
    /// Waits until the loop answers; false if it has ended.
    pub async fn is_answered(&self) -> bool {
        let (reply, answer) = oneshot::channel();
        self.0.send(reply).await.is_ok() && answer.await.is_ok()
    }
}

impl Probes {
    /// Waits for a question and answers it; without end if nobody is left who could ask.
    pub(crate) async fn answer(&mut self) {
        match self.0.recv().await {
            // Whoever asked may wait no more.
            Some(reply) => drop(reply.send(())),
            None => future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_stands_still_answers_nothing() {
        let (prober, mut probes) = probe();
        let waiting = tokio::time::timeout(Duration::from_secs(60), prober.is_answered()).await;
        assert!(waiting.is_err());
        // One question that nobody waits for any more, and one that somebody does.
        let (answered, ()) = tokio::join!(prober.is_answered(), async {
            probes.answer().await;
            probes.answer().await;
        });
        assert!(answered);
        drop(probes);
        assert!(!prober.is_answered().await);
    }
}
