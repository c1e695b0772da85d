use super::{AirFrame, Beacon, DataFrame, Direction, MacAddress, Radiotap, frequency_mhz, msdu};
use crate::config::{Config, Station, StationId};
use crate::output::{OnAir, OnAirKind};
use guestright_airtime::Rate;
use guestright_airtime::{Preamble, Standard};

/// The length of header and frame check sequence that frames of a capture have, whatever the simulated overhead is.
const HEADER_AND_CHECK: usize = 28;

/// Makes bytes of what [`crate::Wlan::poll_air`] gives: radiotap and frame, for captures with link type 127.
///
/// Frames are as long as they were on the air if [`crate::Mac::overhead_bytes`] is 36. Otherwise they have the header of
/// 24 bytes and the LLC and SNAP of 8 that a real frame would have.
#[derive(Clone, Debug)]
pub struct Recorder {
    stations: Vec<Member>,
    short_preamble: bool,
    standard: Standard,
    beacon_interval: u16,
    /// How many bytes of an MSDU a fragment has.
    piece: Option<usize>,
}

/// A station and its cell.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// The address of its cell's access point.
    access_point: Option<MacAddress>,
    is_access_point: bool,
}

impl Recorder {
    /// A recorder for the stations of `config`.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let access_point_of = |cell: usize| {
            let number =
                config.stations.iter().position(|other| other.cell == cell && other.is_access_point)?;
            u16::try_from(number).ok().map(MacAddress::of_station)
        };
        let member = |station: &Station| Member {
            access_point: access_point_of(station.cell),
            is_access_point: station.is_access_point,
        };
        let stations = config.stations.iter().map(member).collect();
        let header = config.mac.header_bytes();
        let piece =
            config.mac.fragmentation_threshold.map(|threshold| threshold.saturating_sub(header) as usize);
        // In units of 1,024 µs.
        let interval = config.mac.beacons.map_or(0, |beacons| beacons.interval.0 / 1_024_000);
        Self {
            stations,
            short_preamble: config.phy.preamble == Preamble::Short,
            standard: config.phy.standard,
            beacon_interval: u16::try_from(interval).unwrap_or(u16::MAX),
            piece,
        }
    }

    /// Appends radiotap and frame to `out`. `packet` is the IP packet of a data frame, from its first byte; nobody looks
    /// at it otherwise.
    pub fn write(&self, frame: &OnAir, packet: &[u8], out: &mut Vec<u8>) {
        let known = Radiotap {
            at_us: frame.at.0 / 1_000,
            rate: u8::try_from(frame.rate.kbps() / 500).unwrap_or(u8::MAX),
            frequency_mhz: frequency_mhz(frame.channel),
            ofdm: frame.rate.is_ofdm(),
            short_preamble: self.short_preamble && frame.rate != Rate::Dsss1,
        };
        known.write(out);
        let body = msdu(packet);
        let air = self.air_frame(frame, &body);
        if frame.is_damaged {
            air.write_damaged(out);
        } else {
            air.write(out);
        }
    }

    fn air_frame<'a>(&'a self, frame: &OnAir, body: &'a [u8]) -> AirFrame<'a> {
        let (receiver, transmitter) = (address(frame.to), address(frame.from));
        // The field has 15 bits.
        let duration_us = u16::try_from(frame.rest.0.div_ceil(1_000)).unwrap_or(u16::MAX).min(32_767);
        match frame.kind {
            OnAirKind::Ack => AirFrame::Ack { receiver, duration_us },
            OnAirKind::Rts => AirFrame::Rts { receiver, transmitter, duration_us },
            OnAirKind::Cts => AirFrame::Cts { receiver, duration_us },
            OnAirKind::Beacon { sequence } => AirFrame::Beacon(Beacon {
                transmitter,
                sequence: number(sequence),
                clock_us: frame.at.0 / 1_000,
                interval: self.beacon_interval,
                name: b"guestright",
                channel: frame.channel,
                short_preamble: self.short_preamble,
                rates: rates(self.standard),
            }),
            OnAirKind::Data { sequence, fragment, more_fragments, retry, .. } => {
                let (direction, third) = self.way(frame.from, frame.to);
                AirFrame::Data(DataFrame {
                    direction,
                    receiver,
                    transmitter,
                    third,
                    duration_us,
                    sequence: number(sequence),
                    fragment,
                    more_fragments,
                    retry,
                    body: self.piece_of(body, fragment, frame.bytes, more_fragments),
                })
            }
        }
    }

    fn way(&self, from: StationId, to: StationId) -> (Direction, MacAddress) {
        let member = |station: StationId| self.stations.get(station.index()).copied().unwrap_or_default();
        let sender = member(from);
        if sender.is_access_point {
            (Direction::FromAccessPoint, address(from))
        } else if member(to).is_access_point {
            (Direction::ToAccessPoint, address(to))
        } else {
            (Direction::Direct, sender.access_point.unwrap_or(MacAddress::BROADCAST))
        }
    }

    /// The part of an MSDU that fragment number `fragment` carries; all of it where there are no fragments.
    fn piece_of<'a>(&self, body: &'a [u8], fragment: u8, bytes: u32, more: bool) -> &'a [u8] {
        let Some(piece) = self.piece.filter(|_| more || fragment > 0) else { return body };
        let start = (usize::from(fragment) * piece).min(body.len());
        let length =
            if more { bytes as usize - HEADER_AND_CHECK.min(bytes as usize) } else { body.len() - start };
        &body[start..(start + length).min(body.len())]
    }
}

fn address(station: StationId) -> MacAddress {
    if station == StationId::EVERYBODY { MacAddress::BROADCAST } else { MacAddress::of_station(station.0) }
}

fn number(sequence: u32) -> u16 {
    u16::try_from(sequence % 4_096).expect("12 bits")
}

/// Supported rates as beacons write them, the basic ones with the highest bit; up to 8 fit the element.
const fn rates(standard: Standard) -> &'static [u8] {
    match standard {
        Standard::B => &[0x82, 0x84, 0x0b, 0x16],
        Standard::A => &[0x8c, 0x12, 0x98, 0x24, 0xb0, 0x48, 0x60, 0x6c],
        Standard::G => &[0x82, 0x84, 0x8b, 0x96, 0x0c, 0x18, 0x30, 0x6c],
    }
}
