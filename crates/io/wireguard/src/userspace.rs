mod session;

use crate::routes::Routes;
use crate::{Peer, Status, WireGuardError};
use boringtun::noise::errors::WireGuardError as CoreError;
use boringtun::noise::handshake::parse_handshake_anon;
use boringtun::noise::rate_limiter::RateLimiter;
use boringtun::noise::{Packet, Tunn, TunnResult};
use boringtun::x25519::{PublicKey as CorePublic, StaticSecret};
use guestright_tunnel::wireguard::{PrivateKey, PublicKey};
use guestright_tunnel::{Counters, Datagrams, DropReason, Endpoint, Opened, PacketSource, PeerStatus, Tally};
use guestright_units::{Bytes, Micros, Time};
use session::{Holder, Link, Session, destination};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Handshakes a second from which on a sender has to prove with a cookie where it is (WireGuard paper §5.3).
const HANDSHAKES_MAX: u64 = 100;
/// The library numbers sessions in the lowest 8 bits of the receiver's index, peers in the other 24.
const SESSION_BITS: u32 = 8;
/// What a transport message has over the packet inside (WireGuard paper §5.4.6): header and tag.
const OVERHEAD: usize = 32;
/// The longest handshake message.
const HANDSHAKE_LENGTH: usize = 148;

/// How our end behaves where WireGuard leaves it open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserspaceSettings {
    /// If something was sent and nothing came back for so long, a handshake is tried anew. WireGuard itself waits 15 s.
    /// Worth it where the other end may have been restarted and somebody waits.
    pub impatient_after: Option<Micros>,
}

/// One end of WireGuard, for many peers.
///
/// Two threads may use it while others add and remove peers.
pub struct Userspace {
    public: PublicKey,
    secret: StaticSecret,
    core_public: CorePublic,
    settings: UserspaceSettings,
    /// Stands before the search for a sender, which costs a Diffie-Hellman.
    limiter: RateLimiter,
    /// What the machines of the peers look at themselves: nothing that the other has let through is too much.
    unlimited: Arc<RateLimiter>,
    table: RwLock<Table>,
    tally: Tally,
}

struct Table {
    peers: BTreeMap<PublicKey, Arc<Link>>,
    by_index: HashMap<u32, Arc<Link>>,
    routes: Routes<Arc<Link>>,
}

impl Userspace {
    /// No more peers than this.
    pub const PEERS_MAX: usize = 4_096;

    /// An end with this key and no peers.
    #[must_use]
    pub fn new(key: &PrivateKey, settings: UserspaceSettings) -> Self {
        let secret = StaticSecret::from(*key.as_bytes());
        let core_public = CorePublic::from(&secret);
        Self {
            public: key.public(),
            limiter: RateLimiter::new(&core_public, HANDSHAKES_MAX),
            unlimited: Arc::new(RateLimiter::new(&core_public, u64::MAX)),
            secret,
            core_public,
            settings,
            table: RwLock::new(Table {
                peers: BTreeMap::new(),
                by_index: HashMap::new(),
                routes: Routes::new(),
            }),
            tally: Tally::default(),
        }
    }

    #[must_use]
    pub fn public_key(&self) -> PublicKey {
        self.public
    }

    /// Adds a peer, or changes one. What is agreed with it stays, unless its preshared key or its keep-alive changes.
    /// Other peers notice nothing, but that networks given to this one are no longer theirs.
    ///
    /// # Errors
    /// If it is ourselves, or there are too many.
    pub fn set_peer(&self, peer: &Peer) -> Result<(), WireGuardError> {
        let key = peer.public_key;
        if key == self.public {
            return Err(WireGuardError::OwnKey { key });
        }
        let mut table = self.write();
        let known = table.peers.get(&key).filter(|link| link.same_session(peer)).cloned();
        let link = match known {
            Some(link) => link,
            None => {
                table.remove(&key);
                if table.peers.len() >= Self::PEERS_MAX {
                    return Err(WireGuardError::Full { max: Self::PEERS_MAX });
                }
                let index = table.free_index();
                let link = Arc::new(self.link(peer, index));
                table.peers.insert(key, Arc::clone(&link));
                table.by_index.insert(index, Arc::clone(&link));
                link
            }
        };
        table.routes.retain(|owner| owner.key != key);
        for network in &peer.allowed_ips {
            table.routes.insert(*network, Arc::clone(&link));
        }
        if let Some(address) = peer.address {
            link.lock().address = Some(address);
        }
        Ok(())
    }

    /// Removes a peer, and what is agreed with it.
    ///
    /// # Errors
    /// If there is none with this key.
    pub fn remove_peer(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        if self.write().remove(key) { Ok(()) } else { Err(WireGuardError::NoPeer { key: *key }) }
    }

    /// Lets the next [`Endpoint::tick`] begin a handshake with the peer, whatever is agreed already.
    ///
    /// # Errors
    /// If there is none with this key.
    pub fn initiate(&self, key: &PublicKey) -> Result<(), WireGuardError> {
        let table = self.read();
        let link = table.peers.get(key).ok_or(WireGuardError::NoPeer { key: *key })?;
        link.lock().initiate = true;
        Ok(())
    }

    /// How it stands with each peer, in the order of their keys.
    #[must_use]
    pub fn status(&self) -> Vec<Status> {
        self.read().peers.values().map(|link| link.status()).collect()
    }

    /// Bytes of the authentic datagrams of all peers and of those to them, as IPv4 packets.
    #[must_use]
    pub fn carried(&self) -> Bytes {
        Bytes(self.read().peers.values().map(|link| link.carried()).sum())
    }

    /// The same of one peer; nothing if there is none with this key.
    #[must_use]
    pub fn carried_for(&self, key: &PublicKey) -> Option<Bytes> {
        self.read().peers.get(key).map(|link| Bytes(link.carried()))
    }

    fn link(&self, peer: &Peer, index: u32) -> Link {
        let preshared = peer.preshared_key.as_ref().map(|key| *key.as_bytes());
        let tunn = Tunn::new(
            self.secret.clone(),
            CorePublic::from(peer.public_key.0),
            preshared,
            peer.keepalive_s,
            index,
            Some(Arc::clone(&self.unlimited)),
        );
        Link::new(peer, index, Session::new(tunn, peer, self.settings))
    }

    /// The peer that a datagram is for, before anything is changed. What has to be answered to a stranger under load,
    /// a cookie, goes into `replies`.
    fn addressee<'t>(
        &self,
        table: &'t Table,
        from: SocketAddr,
        datagram: &[u8],
        replies: &mut Datagrams,
    ) -> Result<&'t Arc<Link>, DropReason> {
        let mut cookie = [0; HANDSHAKE_LENGTH];
        let index = match Tunn::parse_incoming_packet(datagram).map_err(|_| DropReason::Malformed)? {
            Packet::PacketData(packet) => packet.receiver_idx,
            Packet::HandshakeResponse(packet) => {
                self.verify(from, datagram, &mut cookie, replies)?;
                packet.receiver_idx
            }
            Packet::PacketCookieReply(packet) => packet.receiver_idx,
            Packet::HandshakeInit(packet) => {
                self.verify(from, datagram, &mut cookie, replies)?;
                let half = parse_handshake_anon(&self.secret, &self.core_public, &packet)
                    .map_err(|_| DropReason::NotAuthentic)?;
                let key = PublicKey(half.peer_static_public);
                return table.peers.get(&key).ok_or(DropReason::UnknownPeer);
            }
        };
        table.by_index.get(&(index >> SESSION_BITS)).ok_or(DropReason::UnknownPeer)
    }

    /// Whether a handshake message is meant for us, and is not one too many.
    fn verify(
        &self,
        from: SocketAddr,
        datagram: &[u8],
        cookie: &mut [u8],
        replies: &mut Datagrams,
    ) -> Result<(), DropReason> {
        match self.limiter.verify_packet(Some(from.ip()), datagram, cookie) {
            Ok(_) => Ok(()),
            Err(TunnResult::WriteToNetwork(cookie)) => {
                replies.room(cookie.len()).copy_from_slice(cookie);
                replies.push(from, cookie.len());
                Err(DropReason::Overload)
            }
            Err(TunnResult::Err(error)) => Err(reason(&error)),
            Err(TunnResult::Done | TunnResult::WriteToTunnelV4(..) | TunnResult::WriteToTunnelV6(..)) => {
                Err(DropReason::Malformed)
            }
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint for Userspace {
    fn overhead_max(&self) -> usize {
        OVERHEAD
    }

    fn seal(&self, packets: &mut dyn PacketSource, out: &mut Datagrams, now: Time) {
        let table = self.read();
        let mut holder = Holder::default();
        let mut sent = 0;
        let mut last = None; // Where the packet before went: mostly this one goes there too.
        while let Some(packet) = packets.next_packet() {
            let link = match (destination(packet), last) {
                (None, _) => Err(DropReason::BadInner),
                (Some(address), Some((before, link))) if address == before => Ok(link),
                (Some(address), _) => table.routes.find(address).ok_or(DropReason::NoRoute).inspect(|link| {
                    last = Some((address, *link));
                }),
            };
            match link.and_then(|link| holder.hold(link).seal(packet, out, now)) {
                Ok(sealed) => sent += u64::from(sealed),
                Err(reason) => self.tally.dropped(reason),
            }
        }
        self.tally.sent(sent);
    }

    fn open(
        &self,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, &mut [u8])>,
        opened: &mut Opened,
        replies: &mut Datagrams,
        now: Time,
    ) {
        let table = self.read();
        let mut holder = Holder::default();
        let before = opened.len();
        let mut last: Option<(IpAddr, &Arc<Link>)> = None; // Who was found to own an address.
        for (from, datagram) in datagrams {
            let link = match holder.expects(datagram) {
                Some(link) => Ok(link),
                None => self.addressee(&table, from, datagram, replies),
            };
            let done = link.and_then(|link| {
                let mine = |source| {
                    if last.is_some_and(|(address, owner)| address == source && Arc::ptr_eq(owner, link)) {
                        return true;
                    }
                    let owner = table.routes.find(source).filter(|owner| Arc::ptr_eq(owner, link));
                    last = owner.map(|owner| (source, owner)).or(last);
                    owner.is_some()
                };
                holder.hold(link).open(from, datagram, opened, replies, now, mine)
            });
            if let Err(reason) = done {
                self.tally.dropped(reason);
            }
        }
        self.tally.received(u64::try_from(opened.len() - before).unwrap_or(u64::MAX));
    }

    fn tick(&self, out: &mut Datagrams, now: Time) {
        self.limiter.reset_count();
        let table = self.read();
        for link in table.peers.values() {
            if let Err(reason) = link.lock().tick(out, now) {
                self.tally.dropped(reason);
            }
        }
    }

    fn counters(&self) -> Counters {
        self.tally.counters()
    }

    fn peers(&self) -> Vec<PeerStatus> {
        let peer = |status: Status| PeerStatus {
            name: status.public_key.to_string(),
            address: status.address,
            agreed: status.agreed,
            received: status.received,
            sent: status.sent,
        };
        self.status().into_iter().map(peer).collect()
    }
}

impl Table {
    fn remove(&mut self, key: &PublicKey) -> bool {
        let Some(link) = self.peers.remove(key) else { return false };
        self.by_index.remove(&link.index);
        self.routes.retain(|owner| owner.key != *key);
        true
    }

    /// A number that no peer has, and that nobody can guess.
    fn free_index(&self) -> u32 {
        loop {
            let random = getrandom::u32().expect("the operating system has a source of entropy");
            let index = random >> SESSION_BITS;
            if !self.by_index.contains_key(&index) {
                return index;
            }
        }
    }
}

impl fmt::Debug for Userspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Userspace({}, {} peers)", self.public, self.read().peers.len())
    }
}

/// Our word for what the library says.
fn reason(error: &CoreError) -> DropReason {
    match error {
        CoreError::InvalidMac | CoreError::InvalidAeadTag | CoreError::WrongKey => DropReason::NotAuthentic,
        CoreError::DuplicateCounter | CoreError::WrongTai64nTimestamp => DropReason::Replayed,
        CoreError::InvalidCounter => DropReason::TooOld,
        CoreError::WrongIndex | CoreError::UnexpectedPacket => DropReason::UnknownPeer,
        CoreError::NoCurrentSession | CoreError::ConnectionExpired => DropReason::NoKeys,
        CoreError::UnderLoad => DropReason::Overload,
        CoreError::InvalidPacket => DropReason::BadInner,
        CoreError::DestinationBufferTooSmall => DropReason::TooLarge,
        CoreError::IncorrectPacketLength
        | CoreError::WrongPacketType
        | CoreError::InvalidTai64nTimestamp
        | CoreError::LockFailed => DropReason::Malformed,
    }
}

#[cfg(test)]
mod tests;
