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
        let (part, rest) = split(bytes)?;
        parts.push(read(part)?);
        if rest.is_empty() {
            return Ok(parts);
        }
        bytes = rest;
    }
}

/// The bytes of one part, without its padding.
#[derive(Clone, Copy)]
struct Raw<'a> {
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
    let mut body = &part[4..];
    if first & 0x20 != 0 {
        let padding = usize::from(*body.last().ok_or(RtcpError::Padding)?);
        if padding == 0 || padding % 4 != 0 || padding > body.len() || !rest.is_empty() {
            return Err(RtcpError::Padding);
        }
        body = &body[..body.len() - padding];
    }
    Ok((Raw { count: first & 0x1f, packet_type, body }, rest))
}

fn read(raw: Raw<'_>) -> Result<Part, RtcpError> {
    let mut body = Reader(raw.body);
    match raw.packet_type {
        SENDER_REPORT => {
            let ssrc = body.u32()?;
            let ntp = Ntp(u64::from(body.u32()?) << 32 | u64::from(body.u32()?));
            let info = SenderInfo { ntp, timestamp: body.u32()?, packets: body.u32()?, octets: body.u32()? };
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
            if body.take(4)? == CLOCK_ERROR_NAME && raw.count == 0 && body.0.len() == 4 {
                return Ok(Part::ClockError { ssrc, error: Micros(u64::from(body.u32()?)) });
            }
            Ok(Part::Other { packet_type: raw.packet_type })
        }
        packet_type => Ok(Part::Other { packet_type }),
    }
}

/// What is left of a part.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], RtcpError> {
        let truncated = RtcpError::Truncated { got: self.0.len(), want: length };
        let (taken, rest) = self.0.split_at_checked(length).ok_or(truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], RtcpError> {
        Ok(*self.take(N)?.first_chunk().expect("as many were taken"))
    }

    fn u16(&mut self) -> Result<u16, RtcpError> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, RtcpError> {
        self.array().map(u32::from_be_bytes)
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
            let text = self.take(usize::from(length)).map_err(|_| RtcpError::Text)?;
            if item == 1 && name.is_none() {
                name = Some(String::from_utf8_lossy(text).into_owned());
            }
        }
        let used = whole - self.0.len();
        self.take(used.next_multiple_of(4) - used).map_err(|_| RtcpError::Text)?;
        Ok((ssrc, name))
    }

    fn voip(&mut self) -> Result<Vec<VoipMetrics>, RtcpError> {
        let mut found = Vec::new();
        while !self.0.is_empty() {
            let [kind, _, high, low] = self.array()?;
            let length = 4 * usize::from(u16::from_be_bytes([high, low]));
            let mut block = Reader(self.take(length)?);
            if kind == VOIP_METRICS && length == 32 {
                found.push(block.voip_metrics()?);
            }
        }
        Ok(found)
    }

    fn voip_metrics(&mut self) -> Result<VoipMetrics, RtcpError> {
        let ssrc = self.u32()?;
        let [loss_rate, discard_rate, burst_density, gap_density] = self.array()?;
        let (burst_ms, gap_ms) = (self.u16()?, self.u16()?);
        let (round_trip_ms, end_system_ms) = (self.u16()?, self.u16()?);
        // Signal, noise, echo, and the shortest gap.
        let _ = self.take(4)?;
        let [r_factor, _, mos_lq, mos_cq] = self.array()?;
        let _ = self.take(2)?;
        Ok(VoipMetrics {
            ssrc,
            loss_rate,
            discard_rate,
            burst_density,
            gap_density,
            burst_ms,
            gap_ms,
            round_trip_ms,
            end_system_ms,
            r_factor,
            mos_lq,
            mos_cq,
            buffer_nominal_ms: self.u16()?,
            buffer_maximum_ms: self.u16()?,
            buffer_absolute_ms: self.u16()?,
        })
    }
}
