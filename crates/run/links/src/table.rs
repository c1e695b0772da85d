//! Sealed links to other homes: one for each, whichever side connected.

use guestright_channel::{Credentials, Receiver, Sender, accept_home, connect_home};
use guestright_clock::Clock;
use guestright_directory::{Address, HomeHint, Host, LinkId};
use guestright_identity::{Certificate, KeyId};
use guestright_units::{Micros, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// Events that wait for the loop; links wait if there are more.
const EVENTS_MAX: usize = 512;
/// Messages that wait for one link, and for one that is being made.
const OUTGOING_MAX: usize = 256;
const HELD_MAX: usize = 32;
/// Links at a time, and handshakes.
const LINKS_MAX: usize = 256;
/// How many links may come from one address: several homes may share one, but not a whole town.
const LINKS_EACH_MAX: usize = 16;
const HANDSHAKES_MAX: usize = 32;
/// How often one address may connect in a minute.
const CONNECTIONS_MAX: u32 = 30;
/// How many addresses are counted.
const ADDRESSES_MAX: usize = 4_096;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
/// A link that nobody uses for so long is closed.
const IDLE_MAX: Micros = Micros::from_seconds(900);

/// What happens on links.
pub enum LinkEvent {
    /// There is a link.
    Up(Box<Up>),
    /// A message of another home.
    Frame(LinkId, Vec<u8>),
    /// A link has ended.
    Down(LinkId),
    /// No link could be made there.
    Failed(HomeHint),
}

/// A fresh link.
pub struct Up {
    sender: Sender,
    receiver: Receiver,
    certificate: Certificate,
    peer: SocketAddr,
    local: SocketAddr,
    called: Option<HomeHint>,
}

/// What the machines have to know of a link.
#[derive(Clone, Debug)]
pub struct Linked {
    pub link: LinkId,
    pub home: KeyId,
    pub peer: IpAddr,
    pub local: IpAddr,
    pub called: Option<Address>,
}

struct Open {
    home: KeyId,
    outgoing: mpsc::Sender<Vec<u8>>,
    reader: tokio::task::JoinHandle<()>,
    used: Time,
    /// Where it came from, unless we made it.
    from: Option<IpAddr>,
}

pub struct Links {
    credentials: Arc<Credentials>,
    events: mpsc::Sender<LinkEvent>,
    open: BTreeMap<LinkId, Open>,
    by_home: BTreeMap<KeyId, LinkId>,
    /// Where a home was reached last.
    addresses: BTreeMap<KeyId, Address>,
    connecting: Vec<HomeHint>,
    /// Messages for homes to which a link is being made.
    held: BTreeMap<KeyId, VecDeque<Vec<u8>>>,
    next: LinkId,
    acceptor: tokio::task::JoinHandle<()>,
}

impl Links {
    /// Awaits other homes.
    pub fn start(listener: TcpListener, credentials: Credentials) -> (Self, mpsc::Receiver<LinkEvent>) {
        let credentials = Arc::new(credentials);
        let (events, received) = mpsc::channel(EVENTS_MAX);
        let acceptor = tokio::spawn(accept_all(listener, Arc::clone(&credentials), events.clone()));
        let this = Self {
            credentials,
            events,
            open: BTreeMap::new(),
            by_home: BTreeMap::new(),
            addresses: BTreeMap::new(),
            connecting: Vec::new(),
            held: BTreeMap::new(),
            next: 0,
            acceptor,
        };
        (this, received)
    }

    /// Whether there is a link to this home.
    pub fn is_up(&self, home: KeyId) -> bool {
        self.by_home.contains_key(&home)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Connects to a home; what comes of it is an event.
    pub fn connect(&mut self, hint: HomeHint) {
        if self.connecting.contains(&hint) || self.connecting.len() >= HANDSHAKES_MAX {
            return;
        }
        self.connecting.push(hint.clone());
        let (credentials, events) = (Arc::clone(&self.credentials), self.events.clone());
        tokio::spawn(async move {
            let event = match connect(&hint, &credentials).await {
                Ok(up) => LinkEvent::Up(Box::new(up)),
                Err(error) => {
                    tracing::debug!(%error, "another home could not be reached");
                    LinkEvent::Failed(hint)
                }
            };
            let _ = events.send(event).await;
        });
    }

    /// Reads and writes on a fresh link from now on.
    pub fn accept(&mut self, up: Up, now: Time) -> Option<Linked> {
        let Up { mut sender, mut receiver, certificate, peer, local, called } = up;
        if let Some(called) = &called {
            self.connecting.retain(|each| each != called);
        }
        let from = called.is_none().then(|| peer.ip().to_canonical());
        let came = self.open.iter().filter_map(|(link, open)| Some((*link, open.from?, open.used)));
        match room(came, self.open.len(), from) {
            Room::Enough => {}
            Room::None => {
                tracing::debug!(%peer, "its address has enough links");
                return None;
            }
            Room::After(link) => {
                // It is let go of as if it had broken, and whoever is turned away now may come again.
                let _ = self.events.try_send(LinkEvent::Down(link));
                return None;
            }
        }
        let (link, home) = (self.next, certificate.subject_id());
        self.next += 1;
        let (outgoing, mut messages) = mpsc::channel::<Vec<u8>>(OUTGOING_MAX);
        tokio::spawn(async move {
            while let Some(message) = messages.recv().await {
                if sender.send(&message).await.is_err() {
                    return;
                }
            }
        });
        let events = self.events.clone();
        let reader = tokio::spawn(async move {
            while let Ok(Some(message)) = receiver.receive().await {
                if events.send(LinkEvent::Frame(link, message)).await.is_err() {
                    return;
                }
            }
            let _ = events.send(LinkEvent::Down(link)).await;
        });
        for message in self.held.remove(&home).into_iter().flatten() {
            let _ = outgoing.try_send(message);
        }
        if let Some(called) = &called {
            self.addresses.insert(home, called.address.clone());
        }
        self.open.insert(link, Open { home, outgoing, reader, used: now, from });
        self.by_home.insert(home, link);
        let called = called.map(|called| called.address);
        Some(Linked { link, home, peer: peer.ip().to_canonical(), local: local.ip().to_canonical(), called })
    }

    /// Whose link it is.
    pub fn home(&mut self, link: LinkId, now: Time) -> Option<KeyId> {
        let open = self.open.get_mut(&link)?;
        open.used = now;
        Some(open.home)
    }

    /// A link is no more. The home that has none any more, if so.
    pub fn remove(&mut self, link: LinkId) -> Option<KeyId> {
        let open = self.open.remove(&link)?;
        open.reader.abort();
        if self.by_home.get(&open.home) != Some(&link) {
            return None;
        }
        let other = self.open.iter().rev().find(|(_, other)| other.home == open.home).map(|(id, _)| *id);
        match other {
            Some(other) => {
                self.by_home.insert(open.home, other);
                None
            }
            None => {
                self.by_home.remove(&open.home);
                Some(open.home)
            }
        }
    }

    /// A connection to a home has failed. The home that cannot be told what was held for it.
    pub fn failed(&mut self, hint: &HomeHint) -> Option<KeyId> {
        self.connecting.retain(|each| each != hint);
        let home = hint.key?;
        self.held.remove(&home).map(|_| home)
    }

    /// Sends to a home; over a new link if there is none and it is known where it was. Says whether that may work.
    pub fn send(&mut self, home: KeyId, message: Vec<u8>, now: Time) -> bool {
        if let Some(link) = self.by_home.get(&home).copied() {
            return self.send_on(link, message, now);
        }
        let Some(address) = self.addresses.get(&home).cloned() else { return false };
        let held = self.held.entry(home).or_default();
        if held.len() >= HELD_MAX {
            return false;
        }
        held.push_back(message);
        self.connect(HomeHint { address, key: Some(home) });
        true
    }

    pub fn send_on(&mut self, link: LinkId, message: Vec<u8>, now: Time) -> bool {
        let Some(open) = self.open.get_mut(&link) else { return false };
        open.used = now;
        open.outgoing.try_send(message).is_ok()
    }

    /// Links that nobody has used for long.
    pub fn idle(&self, now: Time) -> Vec<LinkId> {
        let is_idle = |open: &Open| now.since(open.used) > IDLE_MAX;
        self.open.iter().filter(|(_, open)| is_idle(open)).map(|(id, _)| *id).collect()
    }
}

/// Whether there is room for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Enough,
    None,
    /// Once this one is gone.
    After(LinkId),
}

/// Whether there is room for a link that comes `from` an address, or is ours, beside those that `came`, of `all`. When all
/// places are taken, the address that has most of them gives one up, the one that was not used for longest.
fn room(came: impl Iterator<Item = (LinkId, IpAddr, Time)>, all: usize, from: Option<IpAddr>) -> Room {
    let mut by_address = BTreeMap::<IpAddr, Vec<(Time, LinkId)>>::new();
    for (link, address, used) in came {
        by_address.entry(address).or_default().push((used, link));
    }
    let same = from.and_then(|from| by_address.get(&from)).map_or(0, Vec::len);
    if same >= LINKS_EACH_MAX {
        return Room::None;
    }
    if all < LINKS_MAX {
        return Room::Enough;
    }
    let most = by_address.values().max_by_key(|links| links.len()).filter(|links| links.len() > same + 1);
    most.and_then(|links| links.iter().min()).map_or(Room::None, |(_, link)| Room::After(*link))
}

impl Drop for Links {
    fn drop(&mut self) {
        self.acceptor.abort();
        self.open.values().for_each(|open| open.reader.abort());
    }
}

/// Lets other homes in, so often from one address and no oftener.
async fn accept_all(listener: TcpListener, credentials: Arc<Credentials>, events: mpsc::Sender<LinkEvent>) {
    let handshakes = Arc::new(Semaphore::new(HANDSHAKES_MAX));
    let (mut addresses_seen, mut since) = (BTreeMap::<IpAddr, u32>::new(), Instant::now());
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
        let (credentials, events) = (Arc::clone(&credentials), events.clone());
        tokio::spawn(async move {
            let now = Clock::start().now().unix_seconds();
            let Ok(local) = stream.local_addr() else { return };
            match accept_home(stream, &credentials, now).await {
                Ok((channel, certificate)) => {
                    let (sender, receiver) = channel.split();
                    let up = Up { sender, receiver, certificate, peer: from, local, called: None };
                    let _ = events.send(LinkEvent::Up(Box::new(up))).await;
                }
                Err(error) => tracing::debug!(%error, "refused a link"),
            }
            drop(permit);
        });
    }
}

/// Why there is no link: logged, and nothing depends on it.
type NoLink = Box<dyn std::error::Error + Send + Sync>;

async fn connect(hint: &HomeHint, credentials: &Credentials) -> Result<Up, NoLink> {
    let port = hint.address.port().get();
    let addresses: Vec<SocketAddr> = match hint.address.host() {
        Host::V4(ip) => vec![(*ip, port).into()],
        Host::V6(ip) => vec![(*ip, port).into()],
        Host::Name(name) => {
            tokio::time::timeout(CONNECT_TIMEOUT, tokio::net::lookup_host((name.as_str(), port)))
                .await??
                .take(4)
                .collect()
        }
    };
    let mut failed = NoLink::from("the name has no address");
    for address in addresses.into_iter().filter(|address| may_connect(address.ip())) {
        let attempt = async {
            let stream = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await??;
            let local = stream.local_addr()?;
            let now = Clock::start().now().unix_seconds();
            let (channel, certificate) = connect_home(stream, credentials, hint.key, now).await?;
            let (sender, receiver) = channel.split();
            let called = Some(hint.clone());
            Ok::<_, NoLink>(Up { sender, receiver, certificate, peer: address, local, called })
        };
        match attempt.await {
            Ok(up) => return Ok(up),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// A record may name any address. A home does not connect to itself, nor to what only its own link knows.
fn may_connect(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(ip) => {
            !ip.is_loopback() && !ip.is_link_local() && !ip.is_unspecified() && !ip.is_multicast()
        }
        IpAddr::V6(ip) => !ip.is_loopback() && !ip.is_unspecified() && !ip.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// So many links of each of these addresses, the first of each used longest ago.
    fn links(counts: &[(u8, usize)]) -> Vec<(LinkId, IpAddr, Time)> {
        let address = |number: u8| IpAddr::from(Ipv4Addr::new(192, 0, 2, number));
        let of = |&(number, count): &(u8, usize)| (0..count).map(move |nth| (address(number), nth));
        let all = counts.iter().flat_map(of).zip(0..);
        all.map(|((address, nth), link)| (link, address, Time(1_000 + nth as u64))).collect()
    }

    #[test]
    fn one_address_has_its_share_and_gives_way_when_all_places_are_taken() {
        let from = |number| Some(IpAddr::from(Ipv4Addr::new(192, 0, 2, number)));
        let try_room = |counts: &[(u8, usize)], all, from| room(links(counts).into_iter(), all, from);
        assert_eq!(try_room(&[(1, 15)], 15, from(1)), Room::Enough);
        assert_eq!(try_room(&[(1, 16)], 16, from(1)), Room::None);
        assert_eq!(try_room(&[(1, 16)], 16, from(2)), Room::Enough);
        assert_eq!(try_room(&[(1, 3), (2, 16)], LINKS_MAX, from(3)), Room::After(3));
        assert_eq!(try_room(&[(1, 3), (2, 16)], LINKS_MAX, None), Room::After(3), "we connect ourselves");
        assert_eq!(try_room(&[(1, 1), (2, 1)], LINKS_MAX, from(3)), Room::None, "everybody has one");
    }
}
