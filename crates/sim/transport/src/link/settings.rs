use crate::error::SettingsError;
use crate::link_number::LinkNumber;
use guestright_engine::Nanos;

/// The most packets or bytes that a queue may be set to hold.
const QUEUE_LIMIT: u64 = 1 << 32;

/// How much a queue takes before it drops what comes (drop-tail). What is being sent counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets.
    Packets(u32),
    /// So many bytes of packets, without the overhead of frames. An empty queue takes a packet of any size.
    Bytes(u64),
}

impl QueueLimit {
    /// Whether so much may be in the queue. One packet may, of any size.
    pub(super) const fn holds(self, packets: usize, bytes: u64) -> bool {
        match self {
            Self::Packets(max) => packets <= max as usize,
            Self::Bytes(max) => packets <= 1 || bytes <= max,
        }
    }

    pub(super) const fn has_room(self, packets: usize, queued_bytes: u64, bytes: u32) -> bool {
        match self {
            Self::Packets(max) => packets < max as usize,
            Self::Bytes(max) => packets == 0 || queued_bytes + bytes as u64 <= max,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Bits per second on the wire.
    pub rate: u64,
    /// From the last bit's departure to its arrival. Light in a cable: some 5 ns a metre.
    pub delay: Nanos,
    /// Bytes on the wire that a packet of the network layer does not have.
    pub overhead: u32,
    /// The least bytes of a packet on the wire, overhead not counted; shorter ones are padded. Ethernet: 46.
    pub bytes_min: u32,
    /// The queue before it.
    pub queue_max: QueueLimit,
    /// How many of a million packets are lost on the wire, each for itself.
    pub loss_per_million: u32,
}

impl LinkSettings {
    /// Bytes of an Ethernet frame around an IP packet: preamble and start of frame 8, addresses and type 14, frame check
    /// sequence 4, gap to the next frame 12 (IEEE 802.3, clauses 3.1 and 4.4.2).
    pub const ETHERNET_OVERHEAD: u32 = 38;

    /// The least payload of an Ethernet frame (IEEE 802.3, clause 3.2.8).
    pub const ETHERNET_BYTES_MIN: u32 = 46;

    /// A link without overhead, delay or loss, and a queue of 1000 packets.
    #[must_use]
    pub const fn bare(rate: u64) -> Self {
        Self {
            rate,
            delay: Nanos(0),
            overhead: 0,
            bytes_min: 0,
            queue_max: QueueLimit::Packets(1_000),
            loss_per_million: 0,
        }
    }

    /// One direction of full-duplex Ethernet: 500 ns of cable (100 m), a queue of 1000 packets (Linux's `txqueuelen`).
    #[must_use]
    pub const fn ethernet(rate: u64) -> Self {
        Self {
            delay: Nanos(500),
            overhead: Self::ETHERNET_OVERHEAD,
            bytes_min: Self::ETHERNET_BYTES_MIN,
            ..Self::bare(rate)
        }
    }

    /// One direction of 100BASE-TX.
    #[must_use]
    pub const fn ethernet_100() -> Self {
        Self::ethernet(100_000_000)
    }

    /// How long a packet of `bytes` keeps the transmitter.
    #[must_use]
    pub fn transmission_time(&self, bytes: u32) -> Nanos {
        let bits = (u64::from(bytes.max(self.bytes_min)) + u64::from(self.overhead)) * 8;
        // Fits for packets of up to 2 GB, and is several times faster than with 128 bits.
        Nanos(bits.saturating_mul(1_000_000_000).div_ceil(self.rate))
    }

    pub(super) const fn check(&self, number: LinkNumber) -> Result<(), SettingsError> {
        let link = number.0;
        if self.rate == 0 {
            return Err(SettingsError::Rate { link });
        }
        let (got, unit) = match self.queue_max {
            QueueLimit::Packets(max) => (max as u64, "packets"),
            QueueLimit::Bytes(max) => (max, "bytes"),
        };
        if got == 0 || got > QUEUE_LIMIT {
            return Err(SettingsError::Queue { link, got, max: QUEUE_LIMIT, unit });
        }
        if self.loss_per_million > 1_000_000 {
            return Err(SettingsError::Loss { link, got_per_million: self.loss_per_million });
        }
        Ok(())
    }
}
