//! ESP as the end of a tunnel: one peer, keys that both know beforehand.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use guestright_units::{Bytes, Micros, Time};
use zeroize::Zeroizing;

use crate::encapsulation::{self, Datagram, Encapsulation, PeerAddress};
use crate::esp::{
    DropKind, Drops, InboundSa, LifetimeEvent, NEXT_HEADER_DUMMY, OpenError, OpenedPacket, OutboundSa,
    SealError, Suite,
};
use crate::esp_settings::EspSettings;
use crate::l2tp::{Stack, StackError};
use crate::wireguard::Network;
use crate::{Counters, Datagrams, DropReason, Endpoint, Opened, PacketSource, PeerStatus, Tally};
use guestright_wire::ip::{self, Packet};

/// One end of a pair of ESP associations with one peer.
///
/// - The peer is where its newest authentic packet came from, so it may move, and may sit behind NAT. Until the first
///   one it is where the settings say.
/// - When nothing was sent for a while, a dummy packet is (RFC 4303, section 2.6): it keeps NAT awake, and tells the
///   peer where we are, which the keep-alive of RFC 3948 does not.
/// - Congestion marks are not carried over: packets leave unmarked (RFC 6040, section 4.3), because a UDP socket does
///   not say how a datagram was marked.
pub struct EspEndpoint {
    suite: Suite,
    encapsulation: Encapsulation,
    stack: Option<Stack>,
    peer_networks: Vec<Network>,
    name: String,
    outbound: Mutex<Outbound>,
    inbound: Mutex<Inbound>,
    peer: Mutex<PeerAddress>,
    tally: Tally,
}

struct Outbound {
    sa: OutboundSa,
    sent_at: Option<Time>,
    bytes: u64,
}

struct Inbound {
    sa: InboundSa,
    drops: Drops,
    keep_alives: u64,
    bytes: u64,
}

/// An inner packet, and where it lies in the datagram it came in.
type Inner = std::ops::Range<usize>;

impl EspEndpoint {
    /// Starts with that sequence number and that chance, see [`OutboundSa::new`]. `peer` is where to send to before the
    /// peer was heard; without it, it has to begin.
    #[must_use]
    pub fn new(
        settings: &EspSettings,
        peer: Option<SocketAddr>,
        first_sequence: u64,
        iv_seed: &Zeroizing<[u8; 32]>,
    ) -> Self {
        let sa = settings.outbound_sa(first_sequence, iv_seed);
        Self {
            suite: settings.suite(),
            encapsulation: settings.encapsulation,
            stack: settings.stack,
            peer_networks: settings.peer_networks.clone(),
            name: format!("{:#010x}", settings.outbound.spi),
            outbound: Mutex::new(Outbound { sa, sent_at: None, bytes: 0 }),
            inbound: Mutex::new(Inbound {
                sa: settings.inbound_sa(),
                drops: Drops::default(),
                keep_alives: 0,
                bytes: 0,
            }),
            peer: Mutex::new(PeerAddress::new(peer)),
            tally: Tally::default(),
        }
    }

    /// See [`OutboundSa::set_sequence_limit`].
    pub fn set_sequence_limit(&self, last: u64) {
        lock(&self.outbound).sa.set_sequence_limit(last);
    }

    /// See [`OutboundSa::next_sequence`].
    #[must_use]
    pub fn next_sequence(&self) -> Option<u64> {
        lock(&self.outbound).sa.next_sequence()
    }

    /// What was dropped of what came in, in more kinds than [`Counters`] tells apart.
    #[must_use]
    pub fn drops(&self) -> Drops {
        lock(&self.inbound).drops
    }

    /// How many keep-alives came in (RFC 3948, section 2.3).
    #[must_use]
    pub fn keep_alives(&self) -> u64 {
        lock(&self.inbound).keep_alives
    }

    /// What has happened to the lifetime of either association since it was last asked.
    pub fn poll_event(&self) -> Option<LifetimeEvent> {
        let event = lock(&self.outbound).sa.poll_event();
        event.or_else(|| lock(&self.inbound).sa.poll_event())
    }

    fn headers_len(&self) -> usize {
        self.stack.as_ref().map_or(0, Stack::header_len)
    }

    /// Seals one packet into the room of `out`; gives the datagram's length and the packet's.
    fn seal_one(
        &self,
        sa: &mut OutboundSa,
        bytes: &[u8],
        out: &mut Datagrams,
    ) -> Result<(usize, usize), DropReason> {
        let inner = Packet::parse(bytes).map_err(|_| DropReason::BadInner)?;
        let headers_len = self.headers_len();
        let payload_len = headers_len + inner.len;
        let start = self.suite.payload_offset();
        let room = out.room(self.suite.packet_len(payload_len));
        let payload = &mut room[start..start + payload_len];
        payload[headers_len..].copy_from_slice(&bytes[..inner.len]);
        let next_header = match &self.stack {
            None => inner.next_header(),
            Some(stack) => {
                stack.wrap(payload).map_err(|_| DropReason::BadInner)?;
                ip::PROTOCOL_UDP
            }
        };
        let length = sa.seal_in_place(next_header, payload_len, room).map_err(seal_reason)?;
        Ok((length, inner.len))
    }

    /// Opens one datagram in place and finds the inner packet. `None` is a keep-alive.
    fn open_one(
        &self,
        inbound: &mut Inbound,
        peer: &mut PeerAddress,
        from: SocketAddr,
        datagram: &mut [u8],
    ) -> Result<Option<Inner>, DropKind> {
        let packet = match self.encapsulation {
            Encapsulation::Raw => datagram,
            Encapsulation::Udp => match encapsulation::classify(datagram) {
                Datagram::Esp(packet) => packet,
                Datagram::KeepAlive => {
                    inbound.keep_alives += 1;
                    return Ok(None);
                }
                Datagram::KeyExchange(_) => return Err(DropKind::KeyExchange),
                Datagram::TooShort => return Err(DropKind::Truncated),
            },
        };
        let opened = inbound.sa.open(packet);
        if let Some(sequence) = authentic(&opened) {
            peer.learn(from, sequence);
        }
        let opened = opened.map_err(OpenError::kind)?;
        self.find_inner(packet, &opened).map(Some)
    }

    fn find_inner(&self, packet: &[u8], opened: &OpenedPacket) -> Result<Inner, DropKind> {
        let payload = &packet[opened.payload.clone()];
        let start = opened.payload.start;
        let Some(stack) = &self.stack else {
            let inner = Packet::parse(payload).map_err(|_| DropKind::WrongInner)?;
            if inner.next_header() != opened.next_header {
                return Err(DropKind::WrongInner);
            }
            self.check_source(&inner)?;
            return Ok(start..start + inner.len);
        };
        if opened.next_header != ip::PROTOCOL_UDP {
            return Err(DropKind::WrongInner);
        }
        let found = stack.unwrap(payload).map_err(stack_kind)?;
        let inner = Packet::parse(&payload[found.clone()]).map_err(|_| DropKind::WrongInner)?;
        self.check_source(&inner)?;
        Ok(start + found.start..start + found.end)
    }

    /// RFC 4301, section 5.2: what comes out of a tunnel has to be what may come out of it.
    fn check_source(&self, inner: &Packet) -> Result<(), DropKind> {
        let is_allowed = self.peer_networks.iter().any(|network| network.contains(inner.source));
        if is_allowed || self.peer_networks.is_empty() { Ok(()) } else { Err(DropKind::WrongSource) }
    }
}

impl Endpoint for EspEndpoint {
    fn overhead_max(&self) -> usize {
        let padding_max = self.suite.alignment() - 1;
        self.suite.packet_len(0) + padding_max + self.headers_len()
    }

    fn seal(&self, packets: &mut dyn PacketSource, out: &mut Datagrams, now: Time) {
        let to = lock(&self.peer).get();
        let mut guard = lock(&self.outbound);
        let outbound = &mut *guard;
        let mut sent = 0;
        while let Some(packet) = packets.next_packet() {
            let sealed = to.ok_or(DropReason::NoAddress).and_then(|to| {
                let (length, inner_len) = self.seal_one(&mut outbound.sa, packet, out)?;
                out.push(to, length);
                Ok(inner_len)
            });
            match sealed {
                Ok(inner_len) => {
                    sent += 1;
                    outbound.bytes += inner_len as u64;
                }
                Err(reason) => self.tally.dropped(reason),
            }
        }
        if sent > 0 {
            outbound.sent_at = Some(now);
            self.tally.sent(sent);
        }
    }

    fn open(
        &self,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, &mut [u8])>,
        opened: &mut Opened,
        _replies: &mut Datagrams,
        _now: Time,
    ) {
        let mut guard = lock(&self.inbound);
        let inbound = &mut *guard;
        let mut peer = lock(&self.peer);
        let mut received = 0;
        for (from, datagram) in datagrams {
            match self.open_one(inbound, &mut peer, from, datagram) {
                Ok(None) => {}
                Ok(Some(inner)) => {
                    let length = inner.len();
                    opened.room(length).copy_from_slice(&datagram[inner]);
                    opened.push(0..length);
                    inbound.bytes += length as u64;
                    received += 1;
                }
                Err(kind) => {
                    inbound.drops.count(kind);
                    if let Some(reason) = reason(kind) {
                        self.tally.dropped(reason);
                    }
                }
            }
        }
        self.tally.received(received);
    }

    fn tick(&self, out: &mut Datagrams, now: Time) {
        let Some(to) = lock(&self.peer).get() else { return };
        let mut outbound = lock(&self.outbound);
        let interval = Micros::from_seconds(encapsulation::KEEP_ALIVE_INTERVAL_S);
        if outbound.sent_at.is_some_and(|sent_at| now.since(sent_at) < interval) {
            return;
        }
        let room = out.room(self.suite.packet_len(0));
        if let Ok(length) = outbound.sa.seal(NEXT_HEADER_DUMMY, &[], room) {
            out.push(to, length);
        }
        // Whether it could be sealed or not: there is no use in trying at every tick.
        outbound.sent_at = Some(now);
    }

    fn counters(&self) -> Counters {
        self.tally.counters()
    }

    fn peers(&self) -> Vec<PeerStatus> {
        // One lock at a time: `open` holds two.
        let address = lock(&self.peer).get();
        let received = Bytes(lock(&self.inbound).bytes);
        let sent = Bytes(lock(&self.outbound).bytes);
        vec![PeerStatus { name: self.name.clone(), address, agreed: None, received, sent }]
    }
}

/// The sequence number of a packet that was written by who has the key, whatever is in it.
fn authentic(opened: &Result<OpenedPacket, OpenError>) -> Option<u64> {
    match opened {
        Ok(OpenedPacket { sequence, .. })
        | Err(OpenError::WrongPad { sequence } | OpenError::Dummy { sequence }) => Some(*sequence),
        Err(
            OpenError::Truncated { .. }
            | OpenError::Oversized { .. }
            | OpenError::Misaligned { .. }
            | OpenError::WrongSpi { .. }
            | OpenError::Replay(_)
            | OpenError::WrongIcv { .. }
            | OpenError::Expired,
        ) => None,
    }
}

fn seal_reason(error: SealError) -> DropReason {
    match error {
        SealError::Oversized { .. } | SealError::Room { .. } => DropReason::TooLarge,
        SealError::SequencesUsedUp | SealError::NotReserved | SealError::Expired => DropReason::NoKeys,
    }
}

fn stack_kind(error: StackError) -> DropKind {
    match error {
        StackError::Udp => DropKind::WrongUdp,
        StackError::L2tp(_) => DropKind::WrongL2tp,
        StackError::Ppp(_) | StackError::OtherProtocol(_) => DropKind::WrongPpp,
        StackError::Inner => DropKind::WrongInner,
    }
}

/// The coarser reason. A dummy was meant to be dropped: that is nothing to report.
fn reason(kind: DropKind) -> Option<DropReason> {
    Some(match kind {
        DropKind::Dummy => return None,
        DropKind::Truncated | DropKind::Misaligned | DropKind::KeyExchange => DropReason::Malformed,
        DropKind::Oversized => DropReason::TooLarge,
        DropKind::WrongSpi => DropReason::UnknownPeer,
        DropKind::Replayed => DropReason::Replayed,
        DropKind::TooOld => DropReason::TooOld,
        DropKind::WrongIcv => DropReason::NotAuthentic,
        DropKind::WrongPad => DropReason::BadPadding,
        DropKind::Expired => DropReason::NoKeys,
        DropKind::WrongSource => DropReason::WrongSource,
        DropKind::WrongInner | DropKind::WrongUdp | DropKind::WrongL2tp | DropKind::WrongPpp => {
            DropReason::BadInner
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for EspEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EspEndpoint")
            .field("spi", &self.name)
            .field("suite", &self.suite)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
