//! The wish that a loop stops.

use std::future;
use tokio::sync::mpsc;

/// Whoever may ask a loop to stop.
#[derive(Clone, Debug)]
pub struct Stopper(mpsc::Sender<()>);

/// What a loop waits for besides its work.
#[derive(Debug)]
pub struct Stop(mpsc::Receiver<()>);

/// Both ends. A request that nobody waits for yet is kept; several of them are one.
pub fn stop() -> (Stopper, Stop) {
    let (sender, receiver) = mpsc::channel(1);
    (Stopper(sender), Stop(receiver))
}

impl Stopper {
    pub fn request(&self) {
        // If one waits there already, or the loop has ended, nothing is missed.
        let _ = self.0.try_send(());
    }
}

impl Stop {
    /// Waits for a request; without end if nobody is left who could make one.
    pub async fn requested(&mut self) {
        if self.0.recv().await.is_none() {
            future::pending().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_kept_and_several_are_one() {
        let (stopper, mut stop) = stop();
        stopper.request();
        stopper.request();
        stop.requested().await;
        let again = tokio::time::timeout(std::time::Duration::from_millis(10), stop.requested()).await;
        assert!(again.is_err());
        drop(stopper);
        let never = tokio::time::timeout(std::time::Duration::from_millis(10), stop.requested()).await;
        assert!(never.is_err());
    }
}
