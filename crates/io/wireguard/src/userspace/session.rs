//! One peer: the library's machine for it, and what we know beside.

use super::{HANDSHAKE_LENGTH, OVERHEAD, SESSION_BITS, UserspaceSettings, reason};
use crate::{OUTER_HEADERS, Peer, Status};
use boringtun::noise::errors::WireGuardError as CoreError;
use boringtun::noise::{Tunn, TunnResult};
use guestright_tunnel::wireguard::{PresharedKey, PublicKey};
use guestright_tunnel::{Datagrams, DropReason, Opened};
use guestright_units::{Bytes, Micros, Time};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first byte of a message (WireGuard paper §5.4).
const INITIATION: u8 = 1;
const RESPONSE: u8 = 2;
const COOKIE: u8 = 3;
const DATA: u8 = 4;
/// The shortest headers of IPv4 and IPv6.
const IPV4_HEADER: usize = 20;
const IPV6_HEADER: usize = 40;
/// So many packets are sealed or opened before the other direction gets its turn: some 10 µs.
const HOLD_MAX: u32 = 16;
/// A packet can be this long at most: the largest payload of UDP less the overhead.
const PACKET_MAX: usize = 65_507 - OVERHEAD;
/// Time between handshakes that we try because nothing comes back (`REKEY_TIMEOUT` of the paper §6.1).
const RETRY_AFTER: Micros = Micros::from_seconds(5);

/// A peer as the table has it.
pub(super) struct Link {
    pub(super) key: PublicKey,
    pub(super) index: u32,
    preshared: Option<PresharedKey>,
    keepalive_s: Option<u16>,
    session: Mutex<Session>,
}

/// What changes with packets.
pub(super) struct Session {
    tunn: Tunn,
    key: PublicKey,
    settings: UserspaceSettings,
    keepalive: bool,
    pub(super) address: Option<SocketAddr>,
    /// Begin a handshake with the next tick.
    pub(super) initiate: bool,
    agreed: Option<Time>,
    /// We have answered a handshake, and wait for the first packet under its keys.
    answered: bool,
    /// Since when something has been sent without anything coming back.
    unanswered_since: Option<Time>,
    initiated: Option<Time>,
    received: u64,
    sent: u64,
    /// How many datagrams those were, both ways.
    datagrams: u64,
}

/// The lock of one peer, kept while packets are for the same.
#[derive(Default)]
pub(super) struct Holder<'a> {
    held: Option<(&'a Arc<Link>, MutexGuard<'a, Session>)>,
    uses: u32,
}

impl<'a> Holder<'a> {
    pub(super) fn hold(&mut self, link: &'a Arc<Link>) -> &mut Session {
        self.uses += 1;
        let keep =
            self.held.as_ref().is_some_and(|(held, _)| Arc::ptr_eq(held, link) && self.uses < HOLD_MAX);
        if !keep {
            self.held = None; // Before another is locked: nobody ever holds two.
            self.uses = 0;
        }
        let (_, session) = self.held.get_or_insert_with(|| (link, link.lock()));
        session
    }

    /// The peer that is held, if this is a packet for it: most follow one another. Whether it is authentic is seen
    /// when it is opened.
    pub(super) fn expects(&self, datagram: &[u8]) -> Option<&'a Arc<Link>> {
        let link = self.held.as_ref()?.0;
        let head = datagram.first_chunk::<8>().filter(|_| datagram.len() >= OVERHEAD)?;
        let index = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) >> SESSION_BITS;
        (head[..4] == [DATA, 0, 0, 0] && index == link.index).then_some(link)
    }
}

impl Link {
    pub(super) fn new(peer: &Peer, index: u32, session: Session) -> Self {
        Self {
            key: peer.public_key,
            index,
            preshared: peer.preshared_key.clone(),
            keepalive_s: peer.keepalive_s,
            session: Mutex::new(session),
        }
    }

    /// Whether what is agreed can stay when the peer becomes `peer`.
    pub(super) fn same_session(&self, peer: &Peer) -> bool {
        self.preshared == peer.preshared_key && self.keepalive_s == peer.keepalive_s
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Datagrams both ways as IPv4 packets.
    pub(super) fn carried(&self) -> u64 {
        let session = self.lock();
        session.received + session.sent + OUTER_HEADERS * session.datagrams
    }

    pub(super) fn status(&self) -> Status {
        let session = self.lock();
        Status {
            public_key: self.key,
            address: session.address,
            agreed: session.agreed,
            received: Bytes(session.received),
            sent: Bytes(session.sent),
        }
    }
}

impl Session {
    pub(super) fn new(tunn: Tunn, peer: &Peer, settings: UserspaceSettings) -> Self {
        Self {
            tunn,
            key: peer.public_key,
            settings,
            keepalive: peer.keepalive_s.is_some(),
            address: peer.address,
            initiate: false,
            agreed: None,
            answered: false,
            unanswered_since: None,
            initiated: None,
            received: 0,
            sent: 0,
            datagrams: 0,
        }
    }

    /// Seals a packet. Whether it left: without keys the library keeps some, and a handshake leaves instead.
    pub(super) fn seal(&mut self, packet: &[u8], out: &mut Datagrams, now: Time) -> Result<bool, DropReason> {
        let address = self.address.ok_or(DropReason::NoAddress)?;
        if packet.len() > PACKET_MAX {
            return Err(DropReason::TooLarge);
        }
        let room = out.room((packet.len() + OVERHEAD).max(HANDSHAKE_LENGTH));
        match self.tunn.encapsulate(packet, room) {
            TunnResult::WriteToNetwork(message) => {
                let (length, data) = (message.len(), message[0] == DATA);
                out.push(address, length);
                self.note_sent(length);
                if data {
                    self.unanswered_since.get_or_insert(now);
                } else {
                    self.initiated = Some(now);
                }
                Ok(data)
            }
            TunnResult::Done => Ok(false),
            TunnResult::Err(_) | TunnResult::WriteToTunnelV4(..) | TunnResult::WriteToTunnelV6(..) => {
                Err(DropReason::NoKeys)
            }
        }
    }

    /// Opens a datagram that says that it is from this peer. `mine` knows which addresses the peer may use.
    pub(super) fn open(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        opened: &mut Opened,
        replies: &mut Datagrams,
        now: Time,
        mine: impl FnOnce(IpAddr) -> bool,
    ) -> Result<(), DropReason> {
        let kind = datagram.first().copied().unwrap_or_default();
        let room = opened.room(datagram.len().max(HANDSHAKE_LENGTH));
        let (packet, source) = match self.tunn.decapsulate(Some(from.ip()), datagram, room) {
            TunnResult::WriteToTunnelV4(packet, source) => (packet, IpAddr::from(source)),
            TunnResult::WriteToTunnelV6(packet, source) => (packet, IpAddr::from(source)),
            TunnResult::WriteToNetwork(reply) if reply.first() == Some(&COOKIE) => {
                return Err(DropReason::Overload); // Nothing is authentic yet.
            }
            TunnResult::WriteToNetwork(reply) => {
                replies.room(reply.len()).copy_from_slice(reply);
                let length = reply.len();
                self.handle_authenticated(kind, from, datagram.len(), now);
                self.reply(length, replies, now);
                return Ok(());
            }
            TunnResult::Done => {
                self.handle_authenticated(kind, from, datagram.len(), now);
                return Ok(());
            }
            TunnResult::Err(CoreError::InvalidPacket) => {
                self.handle_authenticated(kind, from, datagram.len(), now); // Authentic, but what is inside is no packet.
                return Err(DropReason::BadInner);
            }
            TunnResult::Err(error) => return Err(reason(&error)),
        };
        let least = if source.is_ipv4() { IPV4_HEADER } else { IPV6_HEADER };
        let length = packet.len();
        self.handle_authenticated(kind, from, datagram.len(), now);
        if length < least {
            return Err(DropReason::BadInner);
        }
        if !mine(source) {
            return Err(DropReason::WrongSource);
        }
        opened.push(0..length);
        Ok(())
    }

    /// What is due.
    pub(super) fn tick(&mut self, out: &mut Datagrams, now: Time) -> Result<(), DropReason> {
        let room = out.room(HANDSHAKE_LENGTH);
        let length = match self.tunn.update_timers(room) {
            TunnResult::WriteToNetwork(message) => Some((message[0], message.len())),
            // It has given up after 90 s (`REKEY_ATTEMPT_TIME`). One that is to be kept alive is tried on.
            TunnResult::Err(CoreError::ConnectionExpired) => {
                self.initiate |= self.keepalive && self.may_initiate(now);
                None
            }
            TunnResult::Done
            | TunnResult::Err(_)
            | TunnResult::WriteToTunnelV4(..)
            | TunnResult::WriteToTunnelV6(..) => None,
        };
        if let Some((kind, length)) = length {
            let address = self.address.ok_or(DropReason::NoAddress)?;
            if kind == INITIATION {
                self.initiated = Some(now);
            }
            out.push(address, length);
            self.note_sent(length);
        }
        self.initiate |= self.is_impatient(now);
        if std::mem::take(&mut self.initiate) {
            self.begin(out, now)?;
        }
        Ok(())
    }

    fn begin(&mut self, out: &mut Datagrams, now: Time) -> Result<(), DropReason> {
        let address = self.address.ok_or(DropReason::NoAddress)?;
        let room = out.room(HANDSHAKE_LENGTH);
        if let TunnResult::WriteToNetwork(message) = self.tunn.format_handshake_initiation(room, true) {
            let length = message.len();
            out.push(address, length);
            self.note_sent(length);
            self.initiated = Some(now);
        }
        Ok(())
    }

    /// Sends the reply that is in the room of `replies`, and what has waited for keys.
    fn reply(&mut self, length: usize, replies: &mut Datagrams, now: Time) {
        let Some(address) = self.address else { return };
        replies.push(address, length);
        self.note_sent(length);
        loop {
            let room = replies.room(PACKET_MAX + OVERHEAD);
            let TunnResult::WriteToNetwork(message) = self.tunn.decapsulate(None, &[], room) else { return };
            let (kind, length) = (message[0], message.len());
            replies.push(address, length);
            self.note_sent(length);
            if kind != DATA {
                self.initiated = Some(now);
                return; // There are no keys after all; the packet is back in the queue.
            }
            self.unanswered_since.get_or_insert(now);
        }
    }

    /// An authentic message has come. A cookie's reply is not: whoever sees our messages can make one.
    fn handle_authenticated(&mut self, kind: u8, from: SocketAddr, length: usize, now: Time) {
        if !matches!(kind, INITIATION | RESPONSE | DATA) {
            return;
        }
        self.received += length as u64;
        self.datagrams += 1;
        self.unanswered_since = None;
        if self.address != Some(from) {
            tracing::debug!(peer = %self.key, "the peer has moved");
            self.address = Some(from);
        }
        match kind {
            INITIATION => self.answered = true,
            RESPONSE => self.agreed = Some(now),
            _ if std::mem::take(&mut self.answered) => self.agreed = Some(now),
            _ => {}
        }
    }

    fn note_sent(&mut self, length: usize) {
        self.sent += length as u64;
        self.datagrams += 1;
    }

    fn is_impatient(&self, now: Time) -> bool {
        let Some((after, since)) = self.settings.impatient_after.zip(self.unanswered_since) else {
            return false;
        };
        now - since >= after && self.may_initiate(now)
    }

    fn may_initiate(&self, now: Time) -> bool {
        self.initiated.is_none_or(|at| now - at >= RETRY_AFTER)
    }
}

/// Where an inner packet goes; `None` if it is no IP packet.
pub(super) fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 if packet.len() >= IPV4_HEADER => Some(<[u8; 4]>::try_from(packet.get(16..20)?).ok()?.into()),
        6 if packet.len() >= IPV6_HEADER => Some(<[u8; 16]>::try_from(packet.get(24..40)?).ok()?.into()),
        _ => None,
    }
}
