//! Connections of callers.

use super::Input;
use guestright_channel::MessageReader;
use guestright_roaming::delegate::CallId;
use guestright_roaming::message::{MESSAGE_MAX, message_len};
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

/// A caller that does not take an answer for so long gets no more.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long the last words may take when the program stops.
const FINISH_MAX: Duration = Duration::from_secs(1);
/// How many messages may wait on one connection.
const WORDS_MAX: usize = 32;

/// One connection.
#[derive(Debug)]
pub(super) struct Line {
    words: mpsc::Sender<Vec<u8>>,
    reading: AbortHandle,
    writing: JoinHandle<()>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: BTreeMap<CallId, Line>,
    next: CallId,
}

impl Lines {
    /// Takes a connection in; what is heard on it goes to `inputs`.
    pub(super) fn add(&mut self, stream: TcpStream, inputs: &mpsc::Sender<Input>) -> CallId {
        let call = self.next;
        self.next += 1;
        let (read, mut write) = stream.into_split();
        let (words, mut waiting) = mpsc::channel::<Vec<u8>>(WORDS_MAX);
        let heard = inputs.clone();
        let reading = tokio::spawn(async move {
            let measure = |bytes: &[u8]| message_len(bytes).map_err(|error| error.to_string());
            let mut reader = MessageReader::new(read, measure, MESSAGE_MAX);
            // Silence is the machine's business: it gives up whoever does not ask in time.
            while let Ok(Some(bytes)) = reader.receive().await {
                if heard.send(Input::Heard(call, bytes)).await.is_err() {
                    return;
                }
            }
            let _ = heard.send(Input::HungUp(call)).await;
        });
        let writing = tokio::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                let written = tokio::time::timeout(ANSWER_MAX, write.write_all(&bytes)).await;
                if !matches!(written, Ok(Ok(()))) {
                    return;
                }
            }
        });
        self.lines.insert(call, Line { words, reading: reading.abort_handle(), writing });
        call
    }

    /// Says something. What cannot be said is lost, and asked for again.
    pub(super) fn say(&self, call: CallId, bytes: Vec<u8>) {
        if let Some(line) = self.lines.get(&call) {
            let _ = line.words.try_send(bytes);
        }
    }

    /// Closes a connection once its last words are sent.
    pub(super) fn end(&mut self, call: CallId) {
        if let Some(line) = self.lines.remove(&call) {
            line.reading.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Closes every connection once its last words are sent, or after a moment.
    pub(super) async fn finish(&mut self) {
        let deadline = tokio::time::Instant::now() + FINISH_MAX;
        for (_, Line { words, reading, writing }) in std::mem::take(&mut self.lines) {
            reading.abort();
            drop(words);
            // Whoever does not take its answer now does not want it.
            let _ = tokio::time::timeout_at(deadline, writing).await;
        }
    }
}
