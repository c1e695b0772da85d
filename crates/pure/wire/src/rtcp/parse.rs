use super::{
    APPLICATION, CLOCK_ERROR_NAME, DESCRIPTION, EXTENDED, GOODBYE, Ntp, PARTS_MAX, Part, RECEIVER_REPORT,
    ReportBlock, RtcpError, SENDER_REPORT, SenderInfo, VOIP_METRICS, VoipMetrics,
};
use guestright_units::Micros;

/// Reads a compound packet, or a part alone (RFC 5506).
///
/// # Errors
/// [`RtcpError`]; no part is taken from a packet of which another is malformed.
pub fn parse(mut bytes: &[u8]) -> Result<Vec<Part>, RtcpError> {
    let mut parts = Vec::new();
    loop {
        if parts.len() == PARTS_MAX {
            return Err(RtcpError::TooManyParts);
        }
        let (mut part, rest) = split(bytes)?;
        if part.is_padded {
            part.body = unpad(part.body, rest.is_empty())?;
        }
        parts.push(read(part)?);
        if rest.is_empty() {
            return Ok(parts);
        }
        bytes = rest;
    }
}

/// Reads what somebody else's compound packet says, and forgives more than [`parse`]: lists and blocks that are cut off
/// end where their bytes do, and padding is not looked at. Texts are not read.
///
/// `None` if the lengths of the parts do not add up exactly. Those of SRTCP never do: it has an index and a tag behind
/// them.
pub fn skim(mut bytes: &[u8]) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    loop {
        let (part, rest) = split(bytes).ok()?;
        parts.extend(skim_part(part));
        if rest.is_empty() {
            return Some(parts);
        }
        bytes = rest;
    }
}

/// The bytes of one part; behind them there may be padding.
#[derive(Clone, Copy)]
struct Raw<'a> {
    is_padded: bool,
    count: u8,
    packet_type: u8,
    body: &'a [u8],
}

fn split(bytes: &[u8]) -> Result<(Raw<'_>, &[u8]), RtcpError> {
    let Some(&[first, packet_type, high, low]) = bytes.first_chunk::<4>() else {
        return Err(RtcpError::Truncated { got: bytes.len(), want: 4 });
    };
    if first >> 6 != 2 {
        return Err(RtcpError::Version(first >> 6));
    }
    if !(192..=223).contains(&packet_type) {
        return Err(RtcpError::PacketType(packet_type));
    }
    let want = 4 + 4 * usize::from(u16::from_be_bytes([high, low]));
    let (part, rest) = bytes.split_at_checked(want).ok_or(RtcpError::Truncated { got: bytes.len(), want })?;
    Ok((Raw { is_padded: first & 0x20 != 0, count: first & 0x1f, packet_type, body: &part[4..] }, rest))
}

/// What is in front of the padding, which only the last part may have (RFC 3550, section 6.4.1).
fn unpad(body: &[u8], is_last: bool) -> Result<&[u8], RtcpError> {
    let padding = usize::from(*body.last().ok_or(RtcpError::Padding)?);
    if padding == 0 || padding % 4 != 0 || padding > body.len() || !is_last {
        return Err(RtcpError::Padding);
    }
    Ok(&body[..body.len() - padding])
}

fn read(raw: Raw<'_>) -> Result<Part, RtcpError> {
    let mut body = Reader(raw.body);
    match raw.packet_type {
        SENDER_REPORT => {
            let (ssrc, info) = (body.u32()?, body.sender_info()?);
            Ok(Part::SenderReport { ssrc, info, blocks: body.blocks(raw.count)? })
        }
        RECEIVER_REPORT => {
            let ssrc = body.u32()?;
            Ok(Part::ReceiverReport { ssrc, blocks: body.blocks(raw.count)? })
        }
        DESCRIPTION => (0..raw.count).map(|_| body.chunk()).collect::<Result<_, _>>().map(Part::Description),
        GOODBYE => (0..raw.count).map(|_| body.u32()).collect::<Result<_, _>>().map(Part::Goodbye),
        EXTENDED => Ok(Part::Extended { ssrc: body.u32()?, voip: body.voip()? }),
        APPLICATION => {
            let ssrc = body.u32()?;
            if body.read(4)? == CLOCK_ERROR_NAME && raw.count == 0 && body.0.len() == 4 {
                return Ok(Part::ClockError { ssrc, error: Micros(u64::from(body.u32()?)) });
            }
            Ok(Part::Other { packet_type: raw.packet_type })
        }
        packet_type => Ok(Part::Other { packet_type }),
    }
}

/// `None` for a part of which nothing can be said.
fn skim_part(raw: Raw<'_>) -> Option<Part> {
    let mut body = Reader(raw.body);
    let count = raw.count;
    match raw.packet_type {
        SENDER_REPORT => {
            let (ssrc, info) = (body.u32().ok()?, body.sender_info().ok()?);
            let blocks = (0..count).map_while(|_| body.block().ok()).collect();
            Some(Part::SenderReport { ssrc, info, blocks })
        }
        RECEIVER_REPORT => {
            let ssrc = body.u32().ok()?;
            Some(Part::ReceiverReport { ssrc, blocks: (0..count).map_while(|_| body.block().ok()).collect() })
        }
        GOODBYE => Some(Part::Goodbye((0..count).map_while(|_| body.u32().ok()).collect())),
        EXTENDED => {
            let ssrc = body.u32().ok()?;
            let mut voip = Vec::new();
            while let Ok((kind, mut block)) = body.extended_block() {
                if kind == VOIP_METRICS {
                    voip.extend(block.voip_metrics());
                }
            }
            Some(Part::Extended { ssrc, voip })
        }
        packet_type => Some(Part::Other { packet_type }),
    }
}

/// What is left of a part.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn read(&mut self, length: usize) -> Result<&'a [u8], RtcpError> {
        let truncated = RtcpError::Truncated { got: self.0.len(), want: length };
        let (taken, rest) = self.0.split_at_checked(length).ok_or(truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RtcpError> {
        Ok(*self.read(N)?.first_chunk().expect("as many were taken"))
    }

    fn skip(&mut self, length: usize) -> Result<&mut Self, RtcpError> {
        self.read(length)?;
        Ok(self)
    }

    fn u8(&mut self) -> Result<u8, RtcpError> {
        self.array().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Result<u16, RtcpError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, RtcpError> {
        self.array().map(u32::from_be_bytes)
    }

    fn sender_info(&mut self) -> Result<SenderInfo, RtcpError> {
        let ntp = Ntp(u64::from(self.u32()?) << 32 | u64::from(self.u32()?));
        Ok(SenderInfo { ntp, timestamp: self.u32()?, packets: self.u32()?, octets: self.u32()? })
    }

    fn blocks(&mut self, count: u8) -> Result<Vec<ReportBlock>, RtcpError> {
        (0..count).map(|_| self.block()).collect()
    }

    fn block(&mut self) -> Result<ReportBlock, RtcpError> {
        let ssrc = self.u32()?;
        let [fraction_lost, l0, l1, l2] = self.array()?;
        Ok(ReportBlock {
            ssrc,
            fraction_lost,
            // 24 bits with a sign.
            cumulative_lost: i32::from_be_bytes([l0, l1, l2, 0]) >> 8,
            highest_sequence: self.u32()?,
            jitter: self.u32()?,
            last_report: self.u32()?,
            delay_since: self.u32()?,
        })
    }

    /// A source and its items, to the zero byte that ends them and on to a whole word (RFC 3550, section 6.5).
    fn chunk(&mut self) -> Result<(u32, Option<String>), RtcpError> {
        let whole = self.0.len();
        let ssrc = self.u32()?;
        let mut name = None;
        loop {
            let [item] = self.array().map_err(|_| RtcpError::Text)?;
            if item == 0 {
                break;
            }
            let [length] = self.array().map_err(|_| RtcpError::Text)?;
            let text = self.read(usize::from(length)).map_err(|_| RtcpError::Text)?;
            if item == 1 && name.is_none() {
                name = Some(String::from_utf8_lossy(text).into_owned());
            }
        }
        let used = whole - self.0.len();
        self.read(used.next_multiple_of(4) - used).map_err(|_| RtcpError::Text)?;
        Ok((ssrc, name))
    }

    fn voip(&mut self) -> Result<Vec<VoipMetrics>, RtcpError> {
        let mut found = Vec::new();
        while !self.0.is_empty() {
            let (kind, mut block) = self.extended_block()?;
            if kind == VOIP_METRICS && block.0.len() == 32 {
                found.push(block.voip_metrics()?);
            }
        }
        Ok(found)
    }

    /// A block of an extended report: its kind, and what is behind its first word (RFC 3611, section 3).
    fn extended_block(&mut self) -> Result<(u8, Self), RtcpError> {
        let [kind, _, high, low] = self.array()?;
        Ok((kind, Self(self.read(4 * usize::from(u16::from_be_bytes([high, low])))?)))
    }

    fn voip_metrics(&mut self) -> Result<VoipMetrics, RtcpError> {
        // In the order of the bytes (RFC 3611, section 4.7).
        Ok(VoipMetrics {
            ssrc: self.u32()?,
            loss_rate: self.u8()?,
            discard_rate: self.u8()?,
            burst_density: self.u8()?,
            gap_density: self.u8()?,
            burst_ms: self.u16()?,
            gap_ms: self.u16()?,
            round_trip_ms: self.u16()?,
            end_system_ms: self.u16()?,
            // Behind signal, noise, echo, and the shortest gap.
            r_factor: self.skip(4)?.u8()?,
            // Behind the R factor of another kind of network.
            mos_lq: self.skip(1)?.u8()?,
            mos_cq: self.u8()?,
            // Behind the receiver's configuration and a reserved byte.
            buffer_nominal_ms: self.skip(2)?.u16()?,
            buffer_maximum_ms: self.u16()?,
            buffer_absolute_ms: self.u16()?,
        })
    }
}
