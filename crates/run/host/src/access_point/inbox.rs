//! What comes from the link waits here for the loop, in three queues: what comes on a path that a session uses, strangers'
//! datagrams, and strangers' connections. However many strangers there are, visitors do not wait behind them, and
//! datagrams do not wait behind connections, which are patient.

use super::link::FromLink;
use guestright_roaming::access_point::Path;
use std::sync::{Arc, PoisonError, RwLock};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// How many messages may wait in each queue.
const MESSAGES_MAX: usize = 256;

/// The loop's end.
pub(super) struct Inbox {
    known: Receiver<FromLink>,
    /// Datagrams and connections.
    strangers: [Receiver<FromLink>; 2],
    /// Which of them has its turn.
    turn: usize,
}

/// The end of those who read from sockets.
#[derive(Clone)]
pub(super) struct Door {
    known: Sender<FromLink>,
    datagrams: Sender<FromLink>,
    connections: Sender<FromLink>,
    in_use: Arc<RwLock<Vec<Path>>>,
}

/// Both ends of the queues.
pub(super) fn open() -> (Door, Inbox) {
    let [known, datagrams, connections] = [(); 3].map(|()| mpsc::channel(MESSAGES_MAX));
    let inbox = Inbox { known: known.1, strangers: [datagrams.1, connections.1], turn: 0 };
    let door =
        Door { known: known.0, datagrams: datagrams.0, connections: connections.0, in_use: Arc::default() };
    (door, inbox)
}

impl Inbox {
    /// Waits for the next input: a visitor's, if there is one, else one of the strangers' in turn.
    pub(super) async fn recv(&mut self) -> Option<FromLink> {
        let [datagrams, connections] = &mut self.strangers;
        let (first, second) =
            if self.turn == 0 { (datagrams, connections) } else { (connections, datagrams) };
        self.turn = 1 - self.turn;
        tokio::select! {
            biased;
            Some(input) = self.known.recv() => Some(input),
            Some(input) = first.recv() => Some(input),
            Some(input) = second.recv() => Some(input),
            else => None,
        }
    }

    /// A visitor's input, if one is there.
    pub(super) fn try_known(&mut self) -> Option<FromLink> {
        self.known.try_recv().ok()
    }
}

impl Door {
    /// Says which paths belong to sessions, and to questions of those who want one.
    pub(super) fn set_in_use(&self, paths: Vec<Path>) {
        *self.in_use.write().unwrap_or_else(PoisonError::into_inner) = paths;
    }

    pub(super) fn is_in_use(&self, path: Path) -> bool {
        self.in_use.read().unwrap_or_else(PoisonError::into_inner).contains(&path)
    }

    /// A datagram. When the loop is behind, it is dropped, as a network would.
    pub(super) fn datagram(&self, path: Path, input: FromLink) {
        let queue = if self.is_in_use(path) { &self.known } else { &self.datagrams };
        let _ = queue.try_send(input);
    }

    /// Something of a connection, which waits until there is room. Whether the loop is still there.
    pub(super) async fn connection(&self, path: Path, input: FromLink) -> bool {
        let queue = if self.is_in_use(path) { &self.known } else { &self.connections };
        queue.send(input).await.is_ok()
    }

    /// Where it is told what became of a contact with a visitor's home.
    pub(super) fn homes(&self) -> Sender<FromLink> {
        self.known.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const VISITOR: Path = 1;

    fn message(path: Path) -> FromLink {
        FromLink::Message { ip: Ipv4Addr::LOCALHOST, path, bytes: Vec::new() }
    }

    fn path(input: &FromLink) -> Path {
        match input {
            FromLink::Message { path, .. } | FromLink::Ended(path) | FromLink::HomeReached { path, .. } => {
                *path
            }
        }
    }

    #[tokio::test]
    async fn a_visitor_does_not_wait_behind_strangers() {
        let (door, mut inbox) = open();
        door.set_in_use(vec![VISITOR]);
        let strangers: Vec<_> = (0..100)
            .map(|number| {
                let door = door.clone();
                tokio::spawn(async move {
                    for _ in 0..10 {
                        door.connection(1_000 + number, message(1_000 + number)).await;
                    }
                })
            })
            .collect();
        for number in 0..1_000 {
            door.datagram(2_000 + number, message(2_000 + number));
            tokio::task::yield_now().await;
        }
        door.datagram(VISITOR, message(VISITOR));
        assert_eq!(inbox.recv().await.map(|input| path(&input)), Some(VISITOR));
        strangers.iter().for_each(tokio::task::JoinHandle::abort);
    }

    #[tokio::test]
    async fn a_strangers_datagram_finds_room_however_many_connections_want_some() {
        let (door, mut inbox) = open();
        let connections: Vec<_> = (0..1_000)
            .map(|number| {
                let door = door.clone();
                tokio::spawn(async move { door.connection(1_000 + number, message(1_000 + number)).await })
            })
            .collect();
        for asked in 0..50 {
            tokio::task::yield_now().await;
            door.datagram(asked, message(asked));
            let next = [inbox.recv().await, inbox.recv().await];
            assert!(next.iter().flatten().any(|input| path(input) == asked), "question {asked}");
        }
        connections.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
