//! Wired networks in virtual time: links with queues, and TCP.
//!
//! - A [`Link`] carries packets one way: it queues them, sends them at its rate, and hands them over after the
//!   propagation delay. It sees a packet as a key and a length. One event per packet.
//! - A [`ManagedLink`] has a queue that decides when a packet leaves it: RED, CoDel, fq_codel ([`Discipline`]). An [`AnyLink`]
//!   is either. [`Errors`] say which packets they lose on the wire.
//! - A [`Source`] says when an application speaks, before a run begins; a [`Workload`] is all of that as text.
//! - [`TfrcEnds`] carry voice over TFRC; they are [`Ends`], as anything is that a network carries without knowing it.
//! - A [`Sender`] and a [`Receiver`] are the two ends of a TCP connection that carries data one way. They see segments
//!   and the time, and know nothing of links. Congestion control is a [`guestright_congestion::Controller`].
//!
//! - [`tap`] makes bytes of segments, for captures.
//!
//! None of them has a clock or a queue of events: see [`guestright_engine`]. After every call that goes
//! in, everything is drained that comes out:
//!
//! ```
//! use guestright_congestion::{Reno, RenoSettings};
//! use guestright_engine::{Pool, Queue};
//! use guestright_transport::{
//!     Flow, Link, LinkEvent, LinkNumber, LinkSettings, LinkStatus as _, Receiver, ReceiverSettings, Segment, Sender,
//!     SenderSettings, TcpEvent,
//! };
//!
//! /// Everything that happens in this world.
//! enum Event {
//!     Link(LinkEvent),
//!     Tcp(TcpEvent),
//! }
//!
//! # struct World { queue: Queue<Event>, packets: Pool<Segment>, there: Link, back: Link, sender: Sender<Reno>, receiver: Receiver }
//! use guestright_engine::Part;
//!
//! impl World {
//!     fn send(&mut self) {
//!         while let Some(segment) = self.sender.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
//!             let bytes = self.sender.packet_bytes(&segment);
//!             let key = self.packets.insert(segment);
//!             if !self.there.enqueue(key, bytes, &mut Part::new(&mut self.queue, Event::Link)) {
//!                 self.packets.remove(key); // Dropped: the queue was full.
//!             }
//!         }
//!         while let Some(segment) = self.receiver.poll_segment(&mut Part::new(&mut self.queue, Event::Tcp)) {
//!             let bytes = self.receiver.packet_bytes(&segment);
//!             let key = self.packets.insert(segment);
//!             if !self.back.enqueue(key, bytes, &mut Part::new(&mut self.queue, Event::Link)) {
//!                 self.packets.remove(key);
//!             }
//!         }
//!     }
//!
//!     fn step(&mut self, event: Event) {
//!         match event {
//!             Event::Link(event) if event.link == self.there.number() => {
//!                 self.there.handle(event, &mut Part::new(&mut self.queue, Event::Link));
//!                 while let Some(packet) = self.there.poll_output() {
//!                     let segment = self.packets.remove(packet.key);
//!                     self.receiver.handle_segment(&segment, &mut Part::new(&mut self.queue, Event::Tcp));
//!                 }
//!             }
//!             Event::Link(event) => {
//!                 self.back.handle(event, &mut Part::new(&mut self.queue, Event::Link));
//!                 while let Some(packet) = self.back.poll_output() {
//!                     let segment = self.packets.remove(packet.key);
//!                     self.sender.handle_segment(&segment, &mut Part::new(&mut self.queue, Event::Tcp));
//!                 }
//!             }
//!             Event::Tcp(event) => {
//!                 self.sender.handle(event, &mut Part::new(&mut self.queue, Event::Tcp));
//!                 self.receiver.handle(event, &mut Part::new(&mut self.queue, Event::Tcp));
//!             }
//!         }
//!         self.send();
//!     }
//! }
//!
//! let cable = LinkSettings::ethernet_100();
//! let mut world = World {
//!     queue: Queue::new(),
//!     packets: Pool::new(),
//!     there: Link::new(LinkNumber(0), cable)?,
//!     back: Link::new(LinkNumber(1), cable)?,
//!     sender: Sender::new(Flow(0), SenderSettings::linux_2_6_8(1_448), Reno::new(RenoSettings::linux_2_6_8(1_448))?)?,
//!     receiver: Receiver::new(Flow(0), ReceiverSettings::linux_2_6_8())?,
//! };
//! world.sender.write(1_000_000);
//! world.sender.close();
//! world.send();
//! while let Some((_, event)) = world.queue.pop() {
//!     world.step(event);
//! }
//! assert_eq!(world.receiver.delivered(), 1_000_000);
//! let took = world.sender.finished_at().ok_or("everything is acknowledged")?;
//! // 1448 of 1538 bytes on the wire are payload: at most 94.1 Mbit/s.
//! assert!(took.0 > 84_900_000 && took.0 < 90_000_000, "{took:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod errors;
mod foreign;
mod link;
mod link_number;
pub mod path;
mod queue;
mod source;
pub mod tap;
mod tcp;
mod tfrc_ends;

pub use error::SettingsError;
pub use errors::{ErrorModel, Errors};
pub use foreign::{Ends, Side};
pub use link::{
    AnyLink, Delivered, Link, LinkBase, LinkEvent, LinkOutput, LinkSettings, LinkStats, LinkStatus,
    ManagedLink, QueueLimit,
};
pub use link_number::LinkNumber;
pub use queue::{CoDelSettings, Discipline, Ecn, FqCoDelSettings, Packet, RedSettings};
pub use source::{
    Arrival, Reading, Source, SourceError, SourceKind, SourceSettings, Workload, WorkloadError,
};
pub use tcp::{
    Flags, Flow, Receiver, ReceiverSettings, ReceiverStats, Report, Sack, Segment, Sender, SenderSettings,
    SenderState, SenderStats, TcpEvent, Timer,
};
pub use tfrc_ends::{TfrcEnds, TfrcEndsSettings, TfrcEndsStats};
