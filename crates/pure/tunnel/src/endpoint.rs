//! What every end of a tunnel is, without input or output.
//!
//! Two threads use one [`Endpoint`]: one brings inner packets and sends the datagrams that come out, the other brings
//! datagrams and delivers the inner packets. Both bring them in batches, so that an endpoint can lock once for many.
//! What comes out is written into buffers of the caller, which are used again and again: nothing is allocated for a
//! packet.

mod buffers;
mod counters;

pub use buffers::{Datagrams, Opened, Run};
pub use counters::{Counters, DropReason, Tally};

use guestright_units::{Bytes, Time};
use std::fmt;
use std::net::SocketAddr;

/// One end of a tunnel.
///
/// Nothing waits inside: each call writes into the caller's buffers, which are cleared before they are used again.
///
/// - [`seal`](Self::seal), then send `out`, run by run.
/// - [`open`](Self::open), then deliver `opened` and send `replies`; both may be filled by one call.
/// - [`tick`](Self::tick) a few times a second, then send `out`: nothing else makes handshakes and keep-alives go.
///
/// ```
/// use guestright_tunnel::{Datagrams, Endpoint, Opened};
/// use guestright_units::Time;
/// use std::net::{SocketAddr, UdpSocket};
///
/// fn outbound(end: &dyn Endpoint, packets: &[&[u8]], out: &mut Datagrams, socket: &UdpSocket, now: Time) {
///     out.clear();
///     end.seal(&mut packets.iter(), out, now);
///     for run in out.runs() {
///         for datagram in run.datagrams() {
///             let _ = socket.send_to(datagram, run.to); // A tunnel promises no more than UDP does.
///         }
///     }
/// }
///
/// fn inbound(end: &dyn Endpoint, datagram: &mut [u8], from: SocketAddr, now: Time) -> (Opened, Datagrams) {
///     let (mut opened, mut replies) = (Opened::new(), Datagrams::new());
///     end.open(&mut [(from, datagram)].into_iter(), &mut opened, &mut replies, now);
///     (opened, replies) // Inner packets for the system, and datagrams to be sent.
/// }
/// ```
///
/// A packet that cannot be carried, or a datagram that is not what it should be, is counted in
/// [`Endpoint::counters`] and dropped. Nothing that arrives ends anything.
pub trait Endpoint: fmt::Debug + Send + Sync {
    /// The most bytes that a datagram has over the packet inside it, without the outer IP and UDP headers.
    fn overhead_max(&self) -> usize;

    /// Seals whole inner IP packets and puts the datagrams for them into `out`, in the order of the packets.
    fn seal(&self, packets: &mut dyn PacketSource, out: &mut Datagrams, now: Time);

    /// Opens datagrams, each with the address that it came from. Inner packets go into `opened`, in the order of
    /// the datagrams; what has to be answered goes into `replies`. What is in a datagram afterwards is of no use.
    fn open(
        &self,
        datagrams: &mut dyn Iterator<Item = (SocketAddr, &mut [u8])>,
        opened: &mut Opened,
        replies: &mut Datagrams,
        now: Time,
    );

    /// What is due by the clock: repeated handshakes, keep-alives, forgetting. To be called a few times a second.
    fn tick(&self, out: &mut Datagrams, now: Time);

    /// What has been carried and dropped since the endpoint was made.
    fn counters(&self) -> Counters;

    /// How it stands with each peer.
    fn peers(&self) -> Vec<PeerStatus>;
}

/// Inner packets, one after the other.
///
/// Not an `Iterator`, because a packet is gone when the next one is asked for: a large segment of TCP is cut in place.
pub trait PacketSource {
    /// The next packet, beginning with its IP header.
    fn next_packet(&mut self) -> Option<&[u8]>;
}

/// How it stands with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerStatus {
    /// Its name: with WireGuard the public key in base64, with ESP the number of the security association.
    pub name: String,
    /// Where it was last heard from, or is said to be.
    pub address: Option<SocketAddr>,
    /// When both last agreed on keys; `None` if never, or if the keys are fixed.
    pub agreed: Option<Time>,
    /// Bytes of inner packets that came from it.
    pub received: Bytes,
    /// Bytes of inner packets that went to it.
    pub sent: Bytes,
}

/// Slices are a source, for tests and for single packets.
impl PacketSource for std::slice::Iter<'_, &[u8]> {
    fn next_packet(&mut self) -> Option<&[u8]> {
        self.next().copied()
    }
}
