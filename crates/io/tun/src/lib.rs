//! TUN device and UDP socket with segmentation offload, and the threads that pump packets between them.
//!
//! In: a [`Device`], a [`Socket`] and an [`Endpoint`](guestright_tunnel::Endpoint). Out: a running [`Pump`], until
//! [`Pump::stop`].
//!
//! - One thread reads the device, seals, and writes the socket, and keeps the endpoint's clock; the other reads the
//!   socket, opens, and writes the device. Both take what is there and never wait for more.
//! - The device hands over segments of TCP and UDP of up to 64 KB, which are cut in place into the packets that are
//!   sealed; packets that were opened together are put together again before they go to the device. On the socket,
//!   equally long datagrams to one peer leave with one call (udp(7), `UDP_SEGMENT`).
//! - Datagrams may be fragmented on the way: a path with a smaller MTU is no black hole. Packets larger than the
//!   device's MTU are answered by the kernel (ICMP) before we see them.
//! - Nothing that arrives, and no error about a single packet, ends a thread. Only the loss of the device or of the
//!   socket does, and says so.

mod checksum;
mod coalesce;
mod device;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod pump;
mod segment;
mod socket;
mod wait;

pub use device::{Device, DeviceSettings};
pub use error::TunError;
pub use pump::{Pump, PumpCounters};
pub use socket::{Socket, SocketSettings};
