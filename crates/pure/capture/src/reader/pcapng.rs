//! The newer format: sections of blocks.
//!
//! Source: <https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html>, sections 3 and 4.

use super::bytes::Order;
use super::{FrameSpan, LinkType, Step, check_length};
use crate::error::CaptureError;
use crate::stamp::Stamp;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

/// More interfaces than a computer has.
const INTERFACES_MAX: usize = 65_536;
/// Longer names are cut.
const NAME_MAX: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Pcapng {
    order: Option<Order>,
    interfaces: Vec<Interface>,
    /// Where the interfaces of this section begin.
    section: usize,
}

#[derive(Clone, Debug)]
struct Interface {
    link: LinkType,
    /// The most that was captured of a packet; 0 if there was no limit.
    snap: u32,
    ticks_per_second: u64,
    seconds: i64,
    name: Option<String>,
}

/// A block that is at hand whole.
struct Block<'a> {
    order: Order,
    kind: u32,
    bytes: &'a [u8],
    offset: u64,
}

impl Pcapng {
    pub(super) fn interface_name(&self, interface: u32) -> Option<&str> {
        self.interfaces.get(interface as usize)?.name.as_deref()
    }

    pub(super) fn step(&mut self, bytes: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let Some(kind) = Order::Little.u32(bytes, 0) else { return Ok(Step::Need(12)) };
        let order = if kind == SECTION {
            let Some(mark) = bytes.get(8..12) else { return Ok(Step::Need(12)) };
            match mark {
                [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
                [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
                _ => return Err(CaptureError::Block { offset, what: "its byte-order mark is none" }),
            }
        } else {
            self.order
                .ok_or(CaptureError::Block { offset, what: "the file does not begin with a section" })?
        };
        let (Some(kind), Some(length)) = (order.u32(bytes, 0), order.u32(bytes, 4)) else {
            return Ok(Step::Need(12));
        };
        if length < 12 || length % 4 != 0 {
            return Err(CaptureError::Block { offset, what: "its length is no multiple of 4, or below 12" });
        }
        if !matches!(kind, SECTION | INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET) {
            return Ok(Step::Skip(u64::from(length)));
        }
        check_length(u64::from(length), offset)?;
        let Some(bytes) = bytes.get(..length as usize) else { return Ok(Step::Need(u64::from(length))) };
        if order.u32(bytes, bytes.len() - 4) != Some(length) {
            return Err(CaptureError::Block {
                offset,
                what: "the length at its end is another than at its start",
            });
        }
        self.block(&Block { order, kind, bytes, offset })
    }

    fn block(&mut self, block: &Block<'_>) -> Result<Step, CaptureError> {
        let used = block.bytes.len();
        match block.kind {
            SECTION => {
                let (major, minor) = (block.u16(12)?, block.u16(14)?);
                if major != 1 {
                    return Err(CaptureError::Version { offset: block.offset + 12, major, minor });
                }
                self.order = Some(block.order);
                self.section = self.interfaces.len();
                Ok(Step::Used(used))
            }
            INTERFACE => {
                if self.interfaces.len() == INTERFACES_MAX {
                    return Err(block.damaged("it is one interface too many"));
                }
                self.interfaces.push(Interface::parse(block)?);
                Ok(Step::Used(used))
            }
            ENHANCED_PACKET => Ok(Step::Packet(self.packet(block, block.u32(8)?)?, used)),
            OBSOLETE_PACKET => Ok(Step::Packet(self.packet(block, u32::from(block.u16(8)?))?, used)),
            _ => Ok(Step::Packet(self.simple_packet(block)?, used)),
        }
    }

    /// Section 4.3 and, with an interface of two bytes, appendix A: the same places for everything else.
    fn packet(&self, block: &Block<'_>, interface: u32) -> Result<FrameSpan, CaptureError> {
        let (number, described) = self.interface(block, interface)?;
        let ticks = u64::from(block.u32(12)?) << 32 | u64::from(block.u32(16)?);
        let (captured, length) = (block.u32(20)?, block.u32(24)?);
        // Twenty-eight before the bytes, four after them.
        if captured as usize > block.bytes.len() - 32 {
            return Err(block.damaged("it has fewer bytes than were captured"));
        }
        let at = Some(Stamp::from_ticks(ticks, described.ticks_per_second, described.seconds));
        let length = length.max(captured);
        let captured = captured as usize;
        Ok(FrameSpan { at, link: described.link, interface: number, from: 28, captured, length })
    }

    /// Section 4.4.
    fn simple_packet(&self, block: &Block<'_>) -> Result<FrameSpan, CaptureError> {
        let (number, described) = self.interface(block, 0)?;
        let length = block.u32(8)?;
        let kept = if described.snap == 0 { length } else { length.min(described.snap) };
        let captured = (kept as usize).min(block.bytes.len() - 16);
        Ok(FrameSpan { at: None, link: described.link, interface: number, from: 12, captured, length })
    }

    /// An interface of this section, and its number in the whole file.
    fn interface(&self, block: &Block<'_>, got: u32) -> Result<(u32, &Interface), CaptureError> {
        let number = self.section.saturating_add(got as usize);
        let known = u32::try_from(self.interfaces.len() - self.section).unwrap_or(u32::MAX);
        let described = self.interfaces.get(number);
        let described = described.ok_or(CaptureError::Interface { offset: block.offset, got, known })?;
        Ok((u32::try_from(number).unwrap_or(u32::MAX), described))
    }
}

impl Interface {
    /// Section 4.2.
    fn parse(block: &Block<'_>) -> Result<Self, CaptureError> {
        let mut interface = Self {
            link: LinkType(block.u16(8)?),
            snap: block.u32(12)?,
            ticks_per_second: 1_000_000,
            seconds: 0,
            name: None,
        };
        let mut at = 16;
        // The last four bytes are the length again.
        while at + 4 <= block.bytes.len() - 4 {
            let (code, length) = (block.u16(at)?, usize::from(block.u16(at + 2)?));
            let end = at + 4 + length;
            let value = block.bytes[..block.bytes.len() - 4].get(at + 4..end);
            let value = value.ok_or_else(|| block.damaged("an option is longer than the block"))?;
            match code {
                0 => break,
                2 => {
                    let name = String::from_utf8_lossy(value);
                    interface.name = Some(name.chars().filter(|c| !c.is_control()).take(NAME_MAX).collect());
                }
                9 => interface.ticks_per_second = resolution(value, block)?,
                14 => {
                    let offset = block.order.i64(value, 0);
                    interface.seconds = offset.ok_or_else(|| block.damaged("if_tsoffset is too short"))?;
                }
                _ => {}
            }
            at = end.next_multiple_of(4);
        }
        Ok(interface)
    }
}

/// `if_tsresol`: a power of 10, or of 2 if the highest bit is set.
fn resolution(value: &[u8], block: &Block<'_>) -> Result<u64, CaptureError> {
    let &[power, ..] = value else { return Err(block.damaged("if_tsresol is empty")) };
    let ticks = if power & 0x80 == 0 {
        10_u64.checked_pow(u32::from(power))
    } else {
        2_u64.checked_pow(u32::from(power & 0x7f))
    };
    ticks.ok_or_else(|| block.damaged("its clock ticks more often than 2^64 times a second"))
}

impl Block<'_> {
    fn u16(&self, at: usize) -> Result<u16, CaptureError> {
        self.order.u16(self.body(), at).ok_or_else(|| self.damaged("it is too short for its kind"))
    }

    fn u32(&self, at: usize) -> Result<u32, CaptureError> {
        self.order.u32(self.body(), at).ok_or_else(|| self.damaged("it is too short for its kind"))
    }

    /// All but the length at the end.
    fn body(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 4]
    }

    fn damaged(&self, what: &'static str) -> CaptureError {
        CaptureError::Block { offset: self.offset, what }
    }
}
