//! The channel to the own home, kept up in the background.

use crate::HomeAddress;
use guestright_channel::{ChannelError, Credentials, CurrentCredentials, Sender, connect};
use guestright_identity::Role;
use rustix::net::sockopt;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::mpsc;

/// How many events may wait for the loop.
pub(crate) const EVENTS_MAX: usize = 64;
/// How many messages may wait for the home.
pub(crate) const QUEUE_MAX: usize = 256;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// When nothing came for so long, the other end's kernel is asked whether it is there…
const SILENT_AFTER: Duration = Duration::from_secs(8);
/// …and again after so long, so many times.
const SILENT_AGAIN: Duration = Duration::from_secs(1);
const SILENT_TIMES: u32 = 3;
/// What was sent has to be acknowledged within this.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(8);
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What happens on the channel.
#[derive(Debug)]
pub(crate) enum FromHome {
    /// The home is there.
    Up,
    Message(Vec<u8>),
    /// It cannot be reached, for this reason. We go on trying.
    Lost(String),
}

/// Keeps a channel to the home; messages go in here, what happens comes out at `events`.
///
/// When `events` is full its tasks wait, nothing more is read from the home, and TCP makes the home wait. The loop must
/// not wait for them meanwhile: it sends with `try_send`, and loses a message rather than wait.
pub(crate) fn keep(
    home: HomeAddress,
    credentials: CurrentCredentials,
    events: mpsc::Sender<FromHome>,
) -> mpsc::Sender<Vec<u8>> {
    let (send, mut messages) = mpsc::channel(QUEUE_MAX);
    tokio::spawn(async move {
        let mut pause = PAUSE_FIRST;
        loop {
            let failed = match once(&home, &credentials.get(), &events, &mut messages).await {
                Ok(()) => return, // The program has no more to say.
                Err(error) => error,
            };
            if !matches!(failed, Attempt::NotReached(_)) {
                pause = PAUSE_FIRST;
            }
            if events.send(FromHome::Lost(failed.to_string())).await.is_err() {
                return;
            }
            // Messages for a channel that is gone are repeated by the machine or not worth repeating.
            while messages.try_recv().is_ok() {}
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    });
    send
}

#[derive(Debug)]
enum Attempt {
    NotReached(ChannelError),
    Ended(String),
}

impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReached(error) => write!(f, "{error}"),
            Self::Ended(reason) => f.write_str(reason),
        }
    }
}

async fn once(
    home: &HomeAddress,
    credentials: &Credentials,
    events: &mpsc::Sender<FromHome>,
    messages: &mut mpsc::Receiver<Vec<u8>>,
) -> Result<(), Attempt> {
    let now = guestright_clock::unix_seconds();
    let team = credentials.certificate.team_id();
    let opened = async {
        let stream = connect_to(home).await?;
        if let Err(error) = notice_silence(&stream) {
            tracing::debug!(%error, "a home that falls silent will be noticed late");
        }
        connect(stream, credentials, team, now).await
    };
    let (channel, peer) = opened.await.map_err(Attempt::NotReached)?;
    if peer.role() != Role::Home {
        return Err(Attempt::Ended(format!("{home} is a {} of our team, not its home", peer.role())));
    }
    let (mut sender, mut receiver) = channel.split();
    let _ = events.send(FromHome::Up).await;
    let incoming = events.clone();
    let mut reading = tokio::spawn(async move {
        loop {
            match receiver.receive().await {
                Ok(Some(message)) => {
                    if incoming.send(FromHome::Message(message)).await.is_err() {
                        return "nobody listens any more".to_owned();
                    }
                }
                Ok(None) => return "the home closed the channel".to_owned(),
                Err(error) => return error.to_string(),
            }
        }
    });
    let ended = tokio::select! {
        reason = &mut reading => Err(Attempt::Ended(reason.unwrap_or_else(|error| error.to_string()))),
        sent = pass_on(&mut sender, messages) => sent.map_err(|error| Attempt::Ended(error.to_string())),
    };
    reading.abort();
    ended
}

/// A connection to the first of the home's addresses that answers.
async fn connect_to(home: &HomeAddress) -> Result<TcpStream, ChannelError> {
    let mut failed = ChannelError::Timeout;
    for address in home.resolve().await? {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => failed = error.into(),
            Err(_) => failed = ChannelError::Timeout,
        }
    }
    Err(failed)
}

/// Lets the kernel notice within seconds that the other end is gone without a word, or has forgotten us: a home that was
/// killed behind a tunnel cannot say so.
fn notice_silence(stream: &TcpStream) -> rustix::io::Result<()> {
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, SILENT_AFTER)?;
    sockopt::set_tcp_keepintvl(stream, SILENT_AGAIN)?;
    sockopt::set_tcp_keepcnt(stream, SILENT_TIMES)?;
    sockopt::set_tcp_user_timeout(stream, u32::try_from(UNACKNOWLEDGED_MAX.as_millis()).unwrap_or(u32::MAX))
}

async fn pass_on(sender: &mut Sender, messages: &mut mpsc::Receiver<Vec<u8>>) -> Result<(), ChannelError> {
    while let Some(message) = messages.recv().await {
        sender.send(&message).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FLOOD, credentials, flood};
    use guestright_channel::accept;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_home_that_floods_is_made_to_wait() {
        let home = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = home.local_addr().unwrap();
        let (events, mut received) = mpsc::channel(EVENTS_MAX);
        let _messages = keep(address.into(), credentials(Role::AccessPoint).into(), events);
        let (stream, _) = home.accept().await.unwrap();
        let own = credentials(Role::Home);
        let (team, now) = (own.certificate.team_id(), guestright_clock::unix_seconds());
        let (channel, _) = accept(stream, &own, team, now).await.unwrap();
        let (mut sender, _keep) = channel.split();
        assert!(
            flood(&mut sender).await < FLOOD,
            "the home could send everything to a loop that reads nothing"
        );
        assert_eq!(received.len(), EVENTS_MAX);
        // And it goes on when the loop does.
        let mut messages = 0;
        while messages <= EVENTS_MAX {
            messages += usize::from(matches!(received.recv().await, Some(FromHome::Message(_))));
        }
    }
}
