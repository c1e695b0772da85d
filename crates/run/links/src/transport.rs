//! Sockets and handshakes: how links come to be, and what reads and writes on them.

use crate::book::KnownAddress;
use crate::dials::Round;
use crate::links::{Input, Shared};
use guestright_channel::{
    ChannelError, CurrentCredentials, Receiver, Secured, Sender, accept_home, connect_home, connect_home_of,
};
use guestright_clock::unix_seconds;
use guestright_directory::{Address, HomeHint, Host, LinkId};
use guestright_identity::Certificate;
use guestright_ordered::OrderedMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// Handshakes at a time with homes that come.
const HANDSHAKES_MAX: usize = 32;
/// How often one address may connect in a minute.
const CONNECTIONS_MAX: u32 = 30;
/// How many addresses are counted.
const ADDRESSES_MAX: usize = 4_096;
/// How many addresses of one name are tried.
const RESOLVED_MAX: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// A fresh link.
pub(crate) struct Up {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) certificate: Certificate,
    pub(crate) peer: SocketAddr,
    pub(crate) local: SocketAddr,
    pub(crate) called: Option<HomeHint>,
}

/// Lets other homes in, so often from one address and no oftener.
pub(crate) async fn accept_all(
    listener: TcpListener,
    credentials: CurrentCredentials,
    inputs: mpsc::Sender<Input>,
) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    let (mut addresses_seen, mut since) = (OrderedMap::<IpAddr, u32>::new(), Instant::now());
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a link could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        if since.elapsed() > Duration::from_secs(60) || addresses_seen.len() > ADDRESSES_MAX {
            addresses_seen.clear();
            since = Instant::now();
        }
        let count = addresses_seen.entry(from.ip()).or_default();
        *count += 1;
        if *count > CONNECTIONS_MAX {
            continue;
        }
        let Ok(permit) = Arc::clone(&handshakes).try_acquire_owned() else { continue };
        let (credentials, inputs) = (credentials.get(), inputs.clone());
        tokio::spawn(async move {
            let Ok(local) = stream.local_addr() else { return };
            match accept_home(stream, &credentials, unix_seconds()).await {
                Ok((channel, certificate)) => {
                    let (sender, receiver) = channel.split();
                    let up = Up { sender, receiver, certificate, peer: from, local, called: None };
                    let _ = inputs.send(Input::Up(Box::new(up))).await;
                }
                Err(error) => tracing::debug!(%error, "refused a link"),
            }
            drop(permit);
        });
    }
}

/// Why there is no link: logged, and nothing depends on it.
pub(crate) type NoLink = Box<dyn std::error::Error + Send + Sync>;

/// Connects to the home that a hint is of.
pub(crate) async fn connect(hint: &HomeHint, credentials: &CurrentCredentials) -> Result<Up, NoLink> {
    let credentials = &credentials.get();
    let mut failed = NoLink::from("the name has no address");
    for address in resolve(&hint.address).await?.into_iter().filter(|address| may_connect(address.ip())) {
        let handshake = |stream| connect_home(stream, credentials, hint.key, unix_seconds());
        match open(address, hint.clone(), handshake).await {
            Ok(up) => return Ok(up),
            Err(error) => failed = error.into(),
        }
    }
    Err(failed)
}

/// No home of the team was there.
pub(crate) struct NoNeighbour {
    /// Whether any address was tried; too much may have been tried before.
    pub(crate) was_tried: bool,
}

/// Tries the addresses of a team one after the other. What others say may be a lie that sends us to somebody who has
/// nothing to do with it, so each attempt is counted.
pub(crate) async fn dial(
    round: &Round,
    credentials: &CurrentCredentials,
    shared: &Shared,
) -> Result<Up, NoNeighbour> {
    let credentials = &credentials.get();
    let mut was_tried = false;
    for known in &round.addresses {
        let KnownAddress { team, address, is_proven } = known;
        if matches!(address.host(), Host::Name(_)) {
            if !shared.try_lookup(*is_proven) {
                continue;
            }
            was_tried = true;
        }
        for resolved in resolve(address).await.unwrap_or_default() {
            let may_call = shared.may_call(resolved.ip());
            if may_call && !shared.try_connect(resolved, *is_proven) {
                continue;
            }
            // What may not be called is no home's, whenever it is tried.
            was_tried = true;
            if !may_call {
                continue;
            }
            let handshake = |stream| connect_home_of(stream, credentials, *team, unix_seconds());
            let called = HomeHint { address: address.clone(), key: None };
            match open(resolved, called, handshake).await {
                Ok(up) => return Ok(up),
                Err(ChannelError::OtherTeam { .. }) => {
                    tracing::debug!(%team, "a home of another team is where it was to be");
                    shared.disprove(*team, address);
                    break;
                }
                Err(error) => tracing::debug!(%error, %team, "a home of the team could not be reached"),
            }
        }
    }
    Err(NoNeighbour { was_tried })
}

async fn resolve(address: &Address) -> std::io::Result<Vec<SocketAddr>> {
    let port = address.port().get();
    match address.host() {
        Host::V4(ip) => Ok(vec![(*ip, port).into()]),
        Host::V6(ip) => Ok(vec![(*ip, port).into()]),
        Host::Name(name) => {
            let lookup = tokio::net::lookup_host((name.as_str(), port));
            Ok(tokio::time::timeout(CONNECT_TIMEOUT, lookup).await??.take(RESOLVED_MAX).collect())
        }
    }
}

async fn open<F: Future<Output = Secured>>(
    address: SocketAddr,
    called: HomeHint,
    handshake: impl FnOnce(TcpStream) -> F,
) -> Result<Up, ChannelError> {
    let connecting = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address));
    let stream = connecting.await.map_err(std::io::Error::from)??;
    let local = stream.local_addr()?;
    let (channel, certificate) = handshake(stream).await?;
    let (sender, receiver) = channel.split();
    Ok(Up { sender, receiver, certificate, peer: address, local, called: Some(called) })
}

/// Sends what is queued, until nothing can be queued any more; then what is still there. A home that does not read for
/// long loses the link.
pub(crate) async fn write_messages(
    mut sender: Sender,
    mut messages: mpsc::Receiver<Vec<u8>>,
    link: LinkId,
    inputs: mpsc::Sender<Input>,
) {
    while let Some(message) = messages.recv().await {
        let sent = tokio::time::timeout(WRITE_TIMEOUT, sender.send(&message)).await;
        if !matches!(sent, Ok(Ok(()))) {
            let _ = inputs.send(Input::Down(link)).await;
            return;
        }
    }
}

/// Passes on what comes, and waits while the links' task is behind, so that the other home has to.
pub(crate) async fn read_messages(mut receiver: Receiver, link: LinkId, inputs: mpsc::Sender<Input>) {
    while let Ok(Some(message)) = receiver.receive().await {
        if inputs.send(Input::Frame(link, message)).await.is_err() {
            return;
        }
    }
    let _ = inputs.send(Input::Down(link)).await;
}

/// A record may name any address. A home does not connect to itself, nor to what only its own link knows.
pub(crate) fn may_connect(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(ip) => {
            !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified() && !ip.is_multicast()
        }
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unspecified() && !ip.is_unicast_link_local(),
    }
}
