//! The older format: a header, then records.
//!
//! Source: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-05.html>, sections 4 and 5.

use super::bytes::Order;
use super::{FrameSpan, LinkType, Step, check_length};
use crate::error::CaptureError;
use crate::stamp::Stamp;

const HEADER: usize = 24;

#[derive(Clone, Debug)]
pub(super) struct Pcap {
    order: Order,
    /// Ticks of the second number of a time.
    per_second: u64,
    /// Length of a record's header: 16, or 24 in the variant of Alexey Kuznetsov's libpcap.
    record: usize,
    /// `None` before the file's header.
    link: Option<LinkType>,
}

impl Pcap {
    pub(super) fn new(order: Order, per_second: u64, modified: bool) -> Self {
        Self { order, per_second, record: if modified { 24 } else { 16 }, link: None }
    }

    pub(super) fn step(&mut self, bytes: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let Some(link) = self.link else { return self.header(bytes, offset) };
        let numbers = (|| {
            let number = |at| self.order.u32(bytes, at);
            Some((number(0)?, number(4)?, number(8)?, number(12)?))
        })();
        let (Some((seconds, ticks, captured, length)), true) = (numbers, bytes.len() >= self.record) else {
            return Ok(Step::Need(self.record as u64));
        };
        check_length(u64::from(captured), offset)?;
        let captured = captured as usize;
        let whole = self.record + captured;
        if bytes.len() < whole {
            return Ok(Step::Need(whole as u64));
        }
        let at = Some(Stamp::from_ticks(u64::from(ticks), self.per_second, i64::from(seconds)));
        let length = length.max(u32::try_from(captured).unwrap_or(u32::MAX));
        Ok(Step::Packet(FrameSpan { at, link, interface: 0, from: self.record, captured, length }, whole))
    }

    fn header(&mut self, bytes: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let numbers = (|| {
            let (major, minor) = (self.order.u16(bytes, 4)?, self.order.u16(bytes, 6)?);
            Some((major, minor, self.order.u32(bytes, 20)?))
        })();
        let Some((major, minor, link)) = numbers else { return Ok(Step::Need(HEADER as u64)) };
        if major != 2 {
            return Err(CaptureError::Version { offset: offset + 4, major, minor });
        }
        // The upper half says how long the frame check sequence is.
        let [low, high, ..] = link.to_le_bytes();
        self.link = Some(LinkType(u16::from_le_bytes([low, high])));
        Ok(Step::Used(HEADER))
    }
}
