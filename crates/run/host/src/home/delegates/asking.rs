//! The way to ask a thread of its own.

use std::sync::mpsc;
use tokio::sync::oneshot;

/// Who wants to know. Nothing: the thread is to end.
pub(super) type Question<T> = Option<oneshot::Sender<T>>;

/// One of those who may ask.
#[derive(Clone, Debug)]
pub(super) struct Asking<T>(mpsc::Sender<Question<T>>);

impl<T: Default + Send> Asking<T> {
    /// The asking side, and what the thread receives.
    pub(super) fn open() -> (Self, mpsc::Receiver<Question<T>>) {
        let (sender, receiver) = mpsc::channel();
        (Self(sender), receiver)
    }

    /// Asks at once, and gives the answer; nothing in it if the thread has ended.
    pub(super) fn read(&self) -> impl Future<Output = T> + Send + use<T> {
        let (reply, answer) = oneshot::channel();
        let _ = self.0.send(Some(reply));
        async { answer.await.unwrap_or_default() }
    }

    /// Whoever still asks learns nothing.
    pub(super) fn end(&self) {
        let _ = self.0.send(None);
    }
}
