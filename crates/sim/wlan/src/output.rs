use crate::config::StationId;
use guestright_airtime::Rate;
use guestright_engine::{Instant, Key, Nanos};

/// A packet that a station is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Msdu {
    /// Which packet: what it is, only the world knows. It comes back in exactly one [`Output`].
    pub key: Key,
    /// Length of the IP packet.
    pub bytes: u32,
    /// The receiver, on the same channel; or [`StationId::EVERYBODY`].
    pub to: StationId,
}

/// What became of an MSDU: exactly one of these for each that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The receiver has it: at the end of the data frame, before the ACK. What is sent again after that, because the
    /// ACK was lost, the receiver drops as a duplicate, and nothing is said of it.
    Delivered {
        /// The receiver; [`StationId::EVERYBODY`] for a broadcast.
        station: StationId,
        from: StationId,
        /// What was sent.
        msdu: Msdu,
        /// When it was put into the sender's queue.
        queued_at: Instant,
        /// How often its last (or only) fragment was sent.
        attempts: u32,
    },
    /// The sender has given up, and the receiver has not got it.
    Dropped {
        station: StationId,
        /// What was to be sent.
        msdu: Msdu,
        /// When it was put into the queue.
        queued_at: Instant,
        reason: DropReason,
    },
}

/// Why a sender dropped an MSDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A frame of it was sent as often as the retry limit allows.
    RetryLimit,
    /// It had waited for longer than [`crate::Mac::lifetime`].
    Lifetime,
    /// A broadcast that nobody could receive: a collision or bit errors. Broadcasts are not repeated.
    Broadcast,
}

/// What a station has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// MSDUs that were put into the queue.
    pub accepted: u64,
    /// MSDUs for which the queue had no room.
    pub queue_full: u64,
    /// MSDUs of this sender that their receivers have got.
    pub delivered: u64,
    /// Bytes of their IP packets.
    pub delivered_bytes: u64,
    /// MSDUs given up at the retry limit that the receiver has not got.
    pub retry_limit: u64,
    /// MSDUs given up at the retry limit though the receiver has got them: all their ACKs were lost.
    pub unacknowledged: u64,
    /// MSDUs that waited for too long.
    pub expired: u64,
    /// Broadcasts that nobody received.
    pub broadcasts_lost: u64,
    /// Times that it won or shared access to the medium.
    pub accesses: u64,
    /// Those of them in which somebody else began at the same time.
    pub collisions: u64,
    /// Collisions in which its frame was received all the same.
    pub captures: u64,
    /// Accesses that failed for bit errors: in data, ACK, RTS or CTS.
    pub errors: u64,
    /// Frames that this receiver already had.
    pub duplicates: u64,
    pub beacons: u64,
    /// MSDUs in the queue now, the one in service with them.
    pub queued: u64,
    /// Most MSDUs that ever were in the queue.
    pub queued_max: u64,
    /// Slots of backoff drawn.
    pub backoff_slots: u64,
    /// How often a backoff was drawn.
    pub backoffs: u64,
}

/// What was on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// Times that somebody began to send by contention.
    pub accesses: u64,
    /// Those of them in which two or more began.
    pub collisions: u64,
    /// How long it was busy, with the SIFS within exchanges.
    pub busy: Nanos,
}

/// A frame on the air, for captures: see [`crate::Wlan::tap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnAir {
    /// When its preamble began.
    pub at: Instant,
    /// How long it took, with preamble and header.
    pub duration: Nanos,
    /// The channel's number.
    pub channel: u8,
    /// Who sent it.
    pub from: StationId,
    pub to: StationId,
    pub kind: OnAirKind,
    /// Length of the MPDU, with header and FCS.
    pub bytes: u32,
    pub rate: Rate,
    /// How long the exchange goes on after it: the duration field.
    pub rest: Nanos,
    /// Whether its receiver could not read it.
    pub is_damaged: bool,
}

/// What a frame was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAirKind {
    /// Data: an MSDU or a fragment of it.
    Data {
        msdu: Msdu,
        /// The MSDU's number at its sender; the sequence number is this modulo 4096.
        sequence: u32,
        /// The fragment's number, from 0.
        fragment: u8,
        /// Whether further fragments follow.
        more_fragments: bool,
        /// Whether it was sent before.
        retry: bool,
    },
    Ack,
    /// Request to send.
    Rts,
    /// Clear to send; to itself it is protection.
    Cts,
    Beacon {
        /// Its number at its sender.
        sequence: u32,
    },
}
