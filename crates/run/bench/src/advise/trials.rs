//! Which transports are tried, and what is made of the trials.

use crate::advise::{self as bench, CarrierName, Leg, LegResult};
use guestright_emulator::tcp;
use guestright_error::{OrFail as _, RunError};
use guestright_quality::{DirectionStats, Trial};
use guestright_units::Micros;

/// Speech in a packet: 20 ms of G.711.
const PACKET: (u32, u16) = (20_000, 160);
/// As the experiments have it.
const SEND_BUFFER: u16 = 15;

/// What is tried: its name, its carrier, and its congestion control where that can be chosen.
pub type Transport = (String, CarrierName, Option<String>);

/// Voice in one direction, for so many seconds.
pub fn leg(carrier: CarrierName, congestion: Option<String>, back: bool, seconds: u32) -> Leg {
    let (interval_us, bytes) = PACKET;
    let packets = seconds * (1_000_000 / interval_us);
    Leg { carrier, congestion, back, packets, interval_us, bytes, send_buffer: SEND_BUFFER }
}

/// What is tried: what was `named`, otherwise everything that both kernels have. `theirs` are the other one's congestion
/// controls of TCP.
///
/// # Errors
/// Something was named that not both have.
pub fn transports(named: &[String], theirs: &[String]) -> Result<Vec<Transport>, RunError> {
    let ours = tcp::offered().or_network(|| "ask the kernel what its TCP can do".to_owned())?;
    let both: Vec<&String> = ours.iter().filter(|name| theirs.contains(name)).collect();
    let tcp = |name: &String| (format!("tcp-{name}"), CarrierName::Tcp, Some(name.clone()));
    let quic = |name: &str, carrier| (name.to_owned(), carrier, Some(bench::QUIC_CONGESTION.to_owned()));
    let plain = [
        ("udp".to_owned(), CarrierName::Udp, None),
        quic("quic-datagrams", CarrierName::QuicDatagrams),
        quic("quic-stream", CarrierName::QuicStream),
    ];
    if named.is_empty() {
        return Ok(plain.into_iter().chain(both.into_iter().map(tcp)).collect());
    }
    let find = |name: &String| {
        if let Some(found) = plain.iter().find(|(plain, ..)| plain == name) {
            return Ok(found.clone());
        }
        both.iter().find(|offered| **offered == name).map(|name| tcp(name)).ok_or_else(|| {
            let offers = both.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            RunError::user(format!("--transport {name}: not both kernels have it"))
                .with_hint(format!("one of udp, quic-datagrams, quic-stream, {offers}; what a kernel has is in net.ipv4.tcp_available_congestion_control"))
        })
    };
    named.iter().map(find).collect()
}

/// A transport that was tried there and back.
#[derive(Debug)]
pub struct Tried {
    pub name: String,
    pub carrier: CarrierName,
    pub legs: [LegResult; 2],
}

/// What can be said of a transport at once.
pub fn words(legs: &[LegResult; 2]) -> String {
    let one = |result: &LegResult| match result {
        Ok((leg, differences)) => format!("{} of {}", differences.len(), leg.packets),
        Err(why) => why.clone(),
    };
    format!("heard there {}, back {}", one(&legs[0]), one(&legs[1]))
}

/// Ratings. The fastest packet of a direction, whatever carried it, took half of the fastest round trip.
pub fn rate_all(tried: Vec<Tried>, round_trip: Micros) -> Vec<Trial> {
    let least = |direction: usize| {
        let all = tried.iter().filter_map(|tried| tried.legs[direction].as_ref().ok());
        all.flat_map(|(_, differences)| differences).copied().min().unwrap_or_default()
    };
    let (least, base) = ([least(0), least(1)], Micros(round_trip.0 / 2));
    let rate = |tried: Tried| {
        let rate_leg = |(leg, least): (LegResult, i64)| {
            leg.and_then(|(leg, took)| bench::rate(&leg, &took, least, base))
        };
        let result: Result<Vec<DirectionStats>, String> =
            tried.legs.into_iter().zip(least).map(rate_leg).collect();
        Trial { name: tried.name, carrier: tried.carrier.carrier(), result }
    };
    tried.into_iter().map(rate).collect()
}
