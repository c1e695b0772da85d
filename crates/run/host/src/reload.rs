//! Settings that are read again while a loop runs.

use guestright_error::RunError;
use serde_json::{Value, json};
use std::fmt;
use std::future;
use tokio::sync::mpsc;

/// What a settings file says now.
#[derive(Clone, Debug)]
pub struct Fresh<S> {
    pub settings: S,
    /// The names of settings that are others now, and that a running program takes.
    pub changed: Vec<String>,
    /// The names of those that count from the next start on.
    pub waiting: Vec<String>,
}

/// Reads a loop's settings again.
pub trait Reread {
    type Settings;

    /// # Errors
    /// They cannot be read, or are wrong. Those in force stay.
    fn read(&mut self) -> Result<Fresh<Self::Settings>, RunError>;

    /// What was read last is in force from now on, but for what waits for the next start.
    fn accepted(&mut self);
}

/// Asks a loop to read its settings again.
#[derive(Clone, Debug)]
pub struct Reloader(mpsc::Sender<()>);

/// What a loop waits for: that its settings are to be read again.
pub struct Reload<S> {
    requests: mpsc::Receiver<()>,
    reread: Box<dyn Reread<Settings = S>>,
}

impl<S> fmt::Debug for Reload<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reload").finish_non_exhaustive()
    }
}

/// Both ends. A request that nobody waits for yet is kept; several of them are one.
pub fn reload<S>(reread: impl Reread<Settings = S> + 'static) -> (Reloader, Reload<S>) {
    let (sender, requests) = mpsc::channel(1);
    (Reloader(sender), Reload { requests, reread: Box::new(reread) })
}

impl Reloader {
    pub fn request(&self) {
        // If one waits there already, or the loop has ended, nothing is missed.
        let _ = self.0.try_send(());
    }
}

impl<S> Reload<S> {
    /// Waits for a request; without end if nobody is left who could make one.
    pub(crate) async fn requested(&mut self) {
        if self.requests.recv().await.is_none() {
            future::pending().await
        }
    }

    pub(crate) fn read(&mut self) -> Result<Fresh<S>, RunError> {
        self.reread.read()
    }

    pub(crate) fn accepted(&mut self) {
        self.reread.accepted();
    }
}

/// What is answered to whoever asked for it, and said in the log.
pub(crate) fn answer(result: &Result<Fresh<impl Sized>, RunError>) -> Value {
    use guestright_error::Fault as _;
    match result {
        Ok(Fresh { changed, waiting, .. }) => {
            tracing::info!(?changed, "the settings were read again");
            if !waiting.is_empty() {
                tracing::warn!(
                    ?waiting,
                    "these settings count from the next start on; until then the old ones do"
                );
            }
            json!({ "changed": changed, "waiting": waiting })
        }
        Err(error) => {
            let (reason, hint) = (error.sentence(), error.hint());
            tracing::error!(%reason, what_to_do = hint, "the settings were read again and are wrong; the old ones stay");
            json!({ "error": reason, "hint": hint })
        }
    }
}
