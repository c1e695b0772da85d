//! For the fuzzer: what is cut and joined, without a device.

use crate::coalesce::Coalescer;
use crate::segment::Segments;
use guestright_tunnel::{Opened, PacketSource as _};

/// Bytes before what the device hands over or takes.
pub const HEADER_LEN: usize = tun_rs::VIRTIO_NET_HDR_LEN;

/// The packets in what was read from a device with offload; nothing if its header makes no sense.
pub fn cut(mut read: Vec<u8>) -> Option<Vec<Vec<u8>>> {
    let mut segments = Segments::new(&mut read, true)?;
    let mut packets = Vec::new();
    while let Some(packet) = segments.next_packet() {
        packets.push(packet.to_vec());
    }
    Some(packets)
}

/// What is written to a device with offload for these packets.
pub fn join(packets: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut opened = Opened::new();
    for packet in packets {
        opened.room(packet.len())[..packet.len()].copy_from_slice(packet);
        opened.push(0..packet.len());
    }
    let mut written = Vec::new();
    Coalescer::new(true, true).write(&mut opened, |pieces| {
        written.push(pieces.iter().flat_map(|piece| piece.to_vec()).collect());
    });
    written
}
