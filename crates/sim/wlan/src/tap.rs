//! What was on the air as bytes, for captures that Wireshark opens.
//!
//! A simulated frame has a length and no bytes. [`AirFrame`] makes the bytes that such a frame would have had, with
//! the frame check sequence, and [`Radiotap`] what a receiver knows of it beyond that. A [`Recorder`] makes both of what
//! [`crate::Wlan::poll_air`] gives.
//!
//! Sources: IEEE 802.11-2020, 9.2 (general), 9.3.1 (control), 9.3.2 (data), 9.3.3.2 (beacon); RFC 1042 (LLC and SNAP);
//! <https://www.radiotap.org/>.

mod recorder;

pub use recorder::Recorder;

use std::fmt;

/// An address of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// The address that station `number` of a simulation has: locally administered, below `02:47:52` ("GR").
    #[must_use]
    pub const fn of_station(number: u16) -> Self {
        let [high, low] = number.to_be_bytes();
        Self([0x02, 0x47, 0x52, 0, high, low])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Which way a data frame goes: which of its addresses means what (IEEE 802.11-2020, table 9-30).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a station to its access point.
    ToAccessPoint,
    /// From an access point to a station of its.
    FromAccessPoint,
    /// Between two stations, without an access point.
    Direct,
}

/// A data frame, or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataFrame<'a> {
    /// Which way it goes.
    pub direction: Direction,
    /// Who receives it on the air.
    pub receiver: MacAddress,
    /// Who sends it on the air.
    pub transmitter: MacAddress,
    /// Whom it comes from or goes to beyond the access point; the cell's name where there is none.
    pub third: MacAddress,
    /// How long the exchange goes on after it, in microseconds.
    pub duration_us: u16,
    /// The MSDU's number, modulo 4096.
    pub sequence: u16,
    /// The fragment's number, 0 to 15.
    pub fragment: u8,
    /// Whether further fragments follow.
    pub more_fragments: bool,
    /// Whether it was sent before.
    pub retry: bool,
    /// The MSDU or a piece of it; see [`msdu`].
    pub body: &'a [u8],
}

/// A beacon of an 802.11b or 802.11g cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beacon<'a> {
    /// The access point.
    pub transmitter: MacAddress,
    /// The beacon's number, modulo 4096.
    pub sequence: u16,
    /// The access point's clock, in microseconds.
    pub clock_us: u64,
    /// Between two beacons, in units of 1,024 microseconds.
    pub interval: u16,
    /// The network's name; what is longer than 32 bytes is cut.
    pub name: &'a [u8],
    /// The channel's number.
    pub channel: u8,
    /// Whether stations may use the short preamble.
    pub short_preamble: bool,
    /// Rates, in 500 kbit/s, with the highest bit for those that all must know; at most 8 are written.
    pub rates: &'a [u8],
}

/// A frame as it was on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirFrame<'a> {
    Data(DataFrame<'a>),
    Ack {
        /// Whose frame arrived.
        receiver: MacAddress,
        /// How long the exchange goes on, in microseconds: 0 but for fragments.
        duration_us: u16,
    },
    /// Request to send.
    Rts {
        /// Who is asked.
        receiver: MacAddress,
        transmitter: MacAddress,
        /// How long the exchange goes on, in microseconds.
        duration_us: u16,
    },
    /// Clear to send.
    Cts {
        /// Who may send.
        receiver: MacAddress,
        /// How long the exchange goes on, in microseconds.
        duration_us: u16,
    },
    Beacon(Beacon<'a>),
}

impl AirFrame<'_> {
    /// Appends the frame to `out`, with its frame check sequence.
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        match self {
            Self::Data(frame) => frame.write(out),
            Self::Ack { receiver, duration_us } => control(0xd4, *duration_us, &[*receiver], out),
            Self::Rts { receiver, transmitter, duration_us } => {
                control(0xb4, *duration_us, &[*receiver, *transmitter], out);
            }
            Self::Cts { receiver, duration_us } => control(0xc4, *duration_us, &[*receiver], out),
            Self::Beacon(beacon) => beacon.write(out),
        }
        let check = check_sequence(&out[start..]);
        out.extend(check.to_le_bytes());
    }

    /// The same, as somebody has it who heard two frames at once or a bad one: with a wrong check sequence.
    pub fn write_damaged(&self, out: &mut Vec<u8>) {
        self.write(out);
        let last = out.len() - 1;
        out[last] ^= 0xff;
    }
}

impl DataFrame<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let distribution = match self.direction {
            Direction::ToAccessPoint => 0x01,
            Direction::FromAccessPoint => 0x02,
            Direction::Direct => 0,
        };
        let flags = distribution | u8::from(self.more_fragments) << 2 | u8::from(self.retry) << 3;
        out.extend([0x08, flags]);
        out.extend(self.duration_us.to_le_bytes());
        for address in [self.receiver, self.transmitter, self.third] {
            out.extend(address.0);
        }
        out.extend((self.sequence << 4 | u16::from(self.fragment & 0x0f)).to_le_bytes());
        out.extend(self.body);
    }
}

impl Beacon<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend([0x80, 0, 0, 0]);
        for address in [MacAddress::BROADCAST, self.transmitter, self.transmitter] {
            out.extend(address.0);
        }
        out.extend((self.sequence << 4).to_le_bytes());
        out.extend(self.clock_us.to_le_bytes());
        out.extend(self.interval.to_le_bytes());
        // Capabilities: an infrastructure network.
        out.extend([0x01 | u8::from(self.short_preamble) << 5, 0]);
        element(0, &self.name[..self.name.len().min(32)], out);
        element(1, &self.rates[..self.rates.len().min(8)], out);
        element(3, &[self.channel], out);
    }
}

/// An information element of a management frame. Its value has at most 32 bytes here.
fn element(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    out.extend([kind, u8::try_from(value.len()).expect("at most 32 bytes")]);
    out.extend(value);
}

fn control(kind: u8, duration_us: u16, addresses: &[MacAddress], out: &mut Vec<u8>) {
    out.extend([kind, 0]);
    out.extend(duration_us.to_le_bytes());
    for address in addresses {
        out.extend(address.0);
    }
}

/// The MSDU around an IP packet: LLC and SNAP in front of it, 8 bytes.
#[must_use]
pub fn msdu(packet: &[u8]) -> Vec<u8> {
    let ether_type =
        if packet.first().is_some_and(|byte| byte >> 4 == 6) { [0x86, 0xdd] } else { [0x08, 0x00] };
    [&[0xaa, 0xaa, 0x03, 0, 0, 0][..], &ether_type, packet].concat()
}

/// The frame check sequence: CRC-32 of ISO 3309, the lowest byte first (IEEE 802.11-2020, 9.2.4.8).
fn check_sequence(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| {
                if crc & 1 == 0 { crc >> 1 } else { crc >> 1 ^ 0xedb8_8320 }
            },
        )
    };
    !bytes.iter().fold(u32::MAX, step)
}

/// What a receiver knows of a frame besides its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radiotap {
    /// When the frame began, in microseconds since the start of the run.
    pub at_us: u64,
    /// Its rate, in 500 kbit/s.
    pub rate: u8,
    /// The middle of the channel, in MHz.
    pub frequency_mhz: u16,
    /// Whether it was sent with OFDM, and not with DSSS or CCK.
    pub ofdm: bool,
    /// Whether its preamble was the short one.
    pub short_preamble: bool,
}

impl Radiotap {
    /// How many bytes it has.
    pub const LENGTH: usize = 22;

    /// Appends the header to `out`; the frame follows it, with its check sequence.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend([0, 0, 22, 0]);
        // There are: clock, flags, rate, channel.
        out.extend(0b1111_u32.to_le_bytes());
        out.extend(self.at_us.to_le_bytes());
        // The frame has its check sequence.
        out.extend([0x10 | u8::from(self.short_preamble) << 1, self.rate]);
        out.extend(self.frequency_mhz.to_le_bytes());
        let band: u16 = if self.frequency_mhz < 3_000 { 0x80 } else { 0x100 };
        let kind: u16 = if self.ofdm { 0x40 } else { 0x20 };
        out.extend((band | kind).to_le_bytes());
    }
}

/// The middle of a channel, in MHz (IEEE 802.11-2020, annex E and 17.3.8.4.2).
#[must_use]
pub const fn frequency_mhz(channel: u8) -> u16 {
    match channel {
        14 => 2_484,
        1..=13 => 2_407 + 5 * channel as u16,
        _ => 5_000 + 5 * channel as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_sequence_is_the_one_of_the_standard() {
        // The CRC's published check value, and the residue that it leaves over itself.
        assert_eq!(check_sequence(b"123456789"), 0xcbf4_3926);
        let mut frame = Vec::new();
        AirFrame::Ack { receiver: MacAddress::of_station(1), duration_us: 0 }.write(&mut frame);
        assert_eq!(check_sequence(&frame), 0x2144_df1c);
    }

    #[test]
    fn frames_are_as_long_as_the_standard_says() {
        let (a, b) = (MacAddress::of_station(1), MacAddress::of_station(2));
        let body = msdu(&[0x45; 60]);
        let data = DataFrame {
            direction: Direction::ToAccessPoint,
            receiver: a,
            transmitter: b,
            third: a,
            duration_us: 213,
            sequence: 4_095,
            fragment: 0,
            more_fragments: false,
            retry: false,
            body: &body,
        };
        let cases = [
            (AirFrame::Data(data), 96),
            (AirFrame::Ack { receiver: a, duration_us: 0 }, 14),
            (AirFrame::Rts { receiver: a, transmitter: b, duration_us: 0 }, 20),
            (AirFrame::Cts { receiver: a, duration_us: 0 }, 14),
        ];
        for (frame, length) in cases {
            let mut out = Vec::new();
            frame.write(&mut out);
            assert_eq!(out.len(), length, "{frame:?}");
        }
    }

    #[test]
    fn channels_are_where_they_are() {
        let channels =
            [(1, 2_412), (6, 2_437), (11, 2_462), (13, 2_472), (14, 2_484), (36, 5_180), (165, 5_825)];
        for (channel, frequency) in channels {
            assert_eq!(frequency_mhz(channel), frequency, "channel {channel}");
        }
    }
}
