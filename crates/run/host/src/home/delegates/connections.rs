//! Connections of access points that ask for receipts.

use super::Input;
use guestright_channel::MessageReader;
use guestright_ordered::OrderedMap;
use guestright_roaming::delegate::ConnectionId;
use guestright_roaming::message::{MESSAGE_MAX, message_len};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinHandle};

/// An access point that does not read an answer for so long gets no more.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How long the last messages may take when the program stops.
const FINISH_MAX: Duration = Duration::from_secs(1);
/// How many messages may wait on one connection.
const MESSAGES_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Connection {
    messages: mpsc::Sender<Vec<u8>>,
    reading: AbortHandle,
    writing: JoinHandle<()>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Connections {
    open: OrderedMap<ConnectionId, Connection>,
    next: ConnectionId,
}

impl Connections {
    /// Reads and writes on a connection from now on; what comes on it goes to `inputs`.
    pub(super) fn add(&mut self, stream: TcpStream, inputs: &mpsc::Sender<Input>) -> ConnectionId {
        let id = self.next;
        self.next += 1;
        let (read, mut write) = stream.into_split();
        let (messages, mut waiting) = mpsc::channel::<Vec<u8>>(MESSAGES_MAX);
        let inputs = inputs.clone();
        let reading = tokio::spawn(async move {
            let measure = |bytes: &[u8]| message_len(bytes).map_err(|error| error.to_string());
            let mut reader = MessageReader::new(read, measure, MESSAGE_MAX);
            // Silence is the machine's business: it gives up whoever does not ask in time.
            while let Ok(Some(bytes)) = reader.receive().await {
                if inputs.send(Input::Message(id, bytes)).await.is_err() {
                    return;
                }
            }
            let _ = inputs.send(Input::Closed(id)).await;
        });
        let writing = tokio::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                let written = tokio::time::timeout(ANSWER_MAX, write.write_all(&bytes)).await;
                if !matches!(written, Ok(Ok(()))) {
                    return;
                }
            }
        });
        self.open.insert(id, Connection { messages, reading: reading.abort_handle(), writing });
        id
    }

    /// Sends a message. What cannot be sent is lost, and asked for again.
    pub(super) fn send(&self, id: ConnectionId, bytes: Vec<u8>) {
        if let Some(connection) = self.open.get(&id) {
            let _ = connection.messages.try_send(bytes);
        }
    }

    /// Closes a connection once its last messages are sent.
    pub(super) fn end(&mut self, id: ConnectionId) {
        if let Some(connection) = self.open.remove(&id) {
            connection.reading.abort();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Closes every connection once its last messages are sent, or after a moment.
    pub(super) async fn finish(&mut self) {
        let deadline = tokio::time::Instant::now() + FINISH_MAX;
        for (_, Connection { messages, reading, writing }) in std::mem::take(&mut self.open) {
            reading.abort();
            drop(messages);
            // Whoever does not take its answer now does not want it.
            let _ = tokio::time::timeout_at(deadline, writing).await;
        }
    }
}
