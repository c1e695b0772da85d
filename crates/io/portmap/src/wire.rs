//! PCP's and NAT-PMP's datagrams.
//!
//! Both go to UDP port 5351 of the router and differ in the first byte, the version: 2 is PCP (RFC 6887), 0 is NAT-PMP
//! (RFC 6886). All numbers are in network byte order.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use thiserror::Error;

/// The router's port for both protocols (RFC 6887 §19.1, RFC 6886 §1.1).
pub const PORT: u16 = 5351;
/// No datagram of PCP is longer (RFC 6887 §7), and none of NAT-PMP.
pub const LEN_MAX: usize = 1_100;

const PCP: u8 = 2;
const NAT_PMP: u8 = 0;
const RESPONSE: u8 = 0x80;
const MAP: u8 = 1;
/// Header and opcode-specific part of a MAP response (RFC 6887 §7.2, §11.1).
const MAP_LEN: usize = 24 + 36;

/// What goes through a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// The protocol's number in IP (RFC 6887 §11.1).
    fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
        }
    }

    /// NAT-PMP's opcode (RFC 6886 §3.3).
    fn opcode(self) -> u8 {
        match self {
            Self::Udp => 1,
            Self::Tcp => 2,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        })
    }
}

/// What is asked of a router: a mapping, or its removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRequest {
    /// Names the mapping; the same for its renewal (RFC 6887 §11.2). NAT-PMP has none.
    pub nonce: [u8; 12],
    /// What goes through the port.
    pub protocol: Protocol,
    /// The port on this computer.
    pub internal: u16,
    /// The port that we would like outside.
    pub suggested: u16,
    /// For how many seconds; 0 removes the mapping.
    pub seconds: u32,
}

/// A router's word about a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The port outside, and the address where the protocol says it.
    pub port: u16,
    /// The address outside; NAT-PMP is asked for it separately.
    pub address: Option<Ipv4Addr>,
    /// For how many seconds it holds.
    pub seconds: u32,
    /// Seconds since the router lost its memory (RFC 6887 §8.5, RFC 6886 §3.6).
    pub epoch: u32,
}

/// What is wrong with a router's datagram, or the reason in it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum WireError {
    /// Too short or too long for what it says it is.
    #[error("a datagram of {got} bytes, expected {want}")]
    Length {
        /// Its bytes.
        got: usize,
        /// What they should be at least.
        want: usize,
    },
    /// Not an answer to our question.
    #[error("it answers a question that was not asked")]
    NotOurs,
    /// The router does not speak this version.
    #[error("it speaks another version of the protocol")]
    Version,
    /// The router says no, and why.
    #[error("{}", reason(*.0))]
    Result(
        /// The result code, as PCP numbers them; NAT-PMP's are brought to the same.
        u16,
    ),
    /// An address that is not of IPv4.
    #[error("the address outside is not of IPv4")]
    Address,
}

/// The meanings of PCP's result codes (RFC 6887 §7.4).
fn reason(code: u16) -> String {
    let message = match code {
        1 => "it speaks another version of the protocol",
        2 => {
            "not authorized: port mapping is turned off in the router's settings, or not for this computer or port"
        }
        3 => "it could not read the request",
        4 => "it does not do this",
        5 | 6 => "it does not know an option or read one",
        7 => "it has no connection to the Internet",
        8 => "it has no room for more mappings",
        9 => "it maps no such protocol",
        10 => "this computer has its share of mappings already",
        11 => "it cannot give the port outside that was asked for",
        12 => "there is another NAT between this computer and it",
        13 => "it cannot forward from everywhere",
        _ => return format!("result {code}"),
    };
    message.to_owned()
}

impl MapRequest {
    /// PCP's MAP request from the address `own`.
    #[must_use]
    pub fn emit_pcp(&self, own: Ipv4Addr) -> Vec<u8> {
        let mut bytes = vec![PCP, MAP, 0, 0];
        bytes.extend(self.seconds.to_be_bytes());
        bytes.extend(own.to_ipv6_mapped().octets());
        bytes.extend(self.nonce);
        bytes.extend([self.protocol.number(), 0, 0, 0]);
        bytes.extend(self.internal.to_be_bytes());
        // RFC 6887 §15: a removal suggests nothing.
        bytes.extend(if self.seconds == 0 { 0 } else { self.suggested }.to_be_bytes());
        bytes.extend(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped().octets());
        bytes
    }

    /// Reads the answer to it.
    ///
    /// # Errors
    /// What is wrong with it, or the router's reason to refuse.
    pub fn parse_pcp(&self, bytes: &[u8]) -> Result<Mapped, WireError> {
        check_length(bytes, 4)?;
        if bytes[0] != PCP {
            // A router that only knows NAT-PMP says so in its own format (RFC 6887 appendix A).
            return Err(WireError::Version);
        }
        if bytes[1] != RESPONSE | MAP {
            return Err(WireError::NotOurs);
        }
        if bytes[3] == 1 {
            return Err(WireError::Version);
        }
        check_length(bytes, MAP_LEN)?;
        let (header, map) = bytes.split_at(24);
        let fits = map[..12] == self.nonce
            && map[12] == self.protocol.number()
            && number16(map, 16) == self.internal;
        if !fits {
            return Err(WireError::NotOurs);
        }
        if header[3] != 0 {
            return Err(WireError::Result(header[3].into()));
        }
        let mut octets = [0; 16];
        octets.copy_from_slice(&map[20..36]);
        let address = Ipv6Addr::from(octets).to_ipv4_mapped();
        let (seconds, epoch) = (number32(header, 4), number32(header, 8));
        let address = if seconds == 0 { address } else { Some(address.ok_or(WireError::Address)?) };
        Ok(Mapped { port: number16(map, 18), address, seconds, epoch })
    }

    /// NAT-PMP's request for a mapping.
    #[must_use]
    pub fn emit_nat_pmp(&self) -> Vec<u8> {
        let mut bytes = vec![NAT_PMP, self.protocol.opcode(), 0, 0];
        bytes.extend(self.internal.to_be_bytes());
        // RFC 6886 §3.4: a removal suggests nothing.
        bytes.extend(if self.seconds == 0 { 0 } else { self.suggested }.to_be_bytes());
        bytes.extend(self.seconds.to_be_bytes());
        bytes
    }

    /// Reads the answer to it.
    ///
    /// # Errors
    /// What is wrong with it, or the router's reason to refuse.
    pub fn parse_nat_pmp(&self, bytes: &[u8]) -> Result<Mapped, WireError> {
        check_nat_pmp(bytes, self.protocol.opcode(), 16)?;
        if number16(bytes, 8) != self.internal {
            return Err(WireError::NotOurs);
        }
        let (epoch, port, seconds) = (number32(bytes, 4), number16(bytes, 10), number32(bytes, 12));
        Ok(Mapped { port, address: None, seconds, epoch })
    }
}

/// NAT-PMP's question for the address outside (RFC 6886 §3.2).
pub const ASK_ADDRESS: [u8; 2] = [NAT_PMP, 0];

/// PCP's question whether it is spoken at all: ANNOUNCE (RFC 6887 §14.1).
#[must_use]
pub fn announce(own: Ipv4Addr) -> Vec<u8> {
    let mut bytes = vec![PCP, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(own.to_ipv6_mapped().octets());
    bytes
}

/// Reads the answer to [`announce`]: whether the router speaks PCP.
///
/// # Errors
/// It does not, or what is wrong with the answer.
pub fn parse_announce(bytes: &[u8]) -> Result<(), WireError> {
    check_length(bytes, 4)?;
    match (bytes[0], bytes[1], bytes[3]) {
        (PCP, RESPONSE, 1) => Err(WireError::Version),
        // It may not know this opcode, and speaks PCP all the same.
        (PCP, RESPONSE, 0 | 4) => check_length(bytes, 24),
        (PCP, RESPONSE, code) => Err(WireError::Result(code.into())),
        (PCP, ..) => Err(WireError::NotOurs),
        _ => Err(WireError::Version),
    }
}

/// Reads the answer to [`ASK_ADDRESS`].
///
/// # Errors
/// What is wrong with it, or the router's reason to refuse.
pub fn parse_address(bytes: &[u8]) -> Result<Ipv4Addr, WireError> {
    check_nat_pmp(bytes, 0, 12)?;
    Ok(Ipv4Addr::from_bits(number32(bytes, 8)))
}

fn check_nat_pmp(bytes: &[u8], opcode: u8, want: usize) -> Result<(), WireError> {
    check_length(bytes, 8)?;
    if bytes[0] != NAT_PMP {
        return Err(WireError::Version);
    }
    if bytes[1] != RESPONSE | opcode {
        return Err(WireError::NotOurs);
    }
    // RFC 6886 §3.5: its results 3, 4 and 5 are PCP's 7, 8 and 4.
    match number16(bytes, 2) {
        0 => check_length(bytes, want),
        1 => Err(WireError::Version),
        3 => Err(WireError::Result(7)),
        4 => Err(WireError::Result(8)),
        5 => Err(WireError::Result(4)),
        code => Err(WireError::Result(code)),
    }
}

fn check_length(bytes: &[u8], want: usize) -> Result<(), WireError> {
    let got = bytes.len();
    if got < want || got > LEN_MAX { Err(WireError::Length { got, want }) } else { Ok(()) }
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl Mapped {
    /// Where the mapping can be reached, if the address is known.
    #[must_use]
    pub fn external(&self) -> Option<SocketAddrV4> {
        Some(SocketAddrV4::new(self.address?, self.port))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::HEXLOWER;
    use proptest::prelude::*;

    const ASK: MapRequest = MapRequest {
        nonce: [7; 12],
        protocol: Protocol::Udp,
        internal: 51_820,
        suggested: 51_820,
        seconds: 7_200,
    };

    fn hex(text: &str) -> Vec<u8> {
        HEXLOWER.decode(text.replace(char::is_whitespace, "").as_bytes()).unwrap()
    }

    #[test]
    fn a_request_has_the_bytes_of_the_rfc() {
        let want = hex(
            "02 01 0000 00001c20 00000000000000000000ffff c0a80102 070707070707070707070707 11 000000 ca6c ca6c \
             00000000000000000000ffff 00000000",
        );
        assert_eq!(ASK.emit_pcp(Ipv4Addr::new(192, 168, 1, 2)), want);
        assert_eq!(ASK.emit_nat_pmp(), hex("00 01 0000 ca6c ca6c 00001c20"));
        let remove = MapRequest { seconds: 0, protocol: Protocol::Tcp, ..ASK };
        assert_eq!(remove.emit_nat_pmp(), hex("00 02 0000 ca6c 0000 00000000"));
    }

    /// A router's answer by PCP with this result.
    fn answer(result: u8) -> Vec<u8> {
        let mut bytes = hex("02 81 0000 00000e10 00000064 000000000000000000000000");
        bytes[3] = result;
        bytes.extend(hex("070707070707070707070707 11 000000 ca6c ca6d 00000000000000000000ffff 0b16212c"));
        bytes
    }

    #[test]
    fn an_answer_is_read_and_only_ours() {
        let address = Some(Ipv4Addr::new(11, 22, 33, 44));
        let want = Mapped { port: 51_821, address, seconds: 3_600, epoch: 100 };
        assert_eq!(ASK.parse_pcp(&answer(0)), Ok(want));
        assert_eq!(want.external().unwrap().to_string(), "11.22.33.44:51821");
        assert_eq!(ASK.parse_pcp(&answer(2)), Err(WireError::Result(2)));
        assert_eq!(ASK.parse_pcp(&answer(1)), Err(WireError::Version));
        for other in [
            MapRequest { nonce: [8; 12], ..ASK },
            MapRequest { protocol: Protocol::Tcp, ..ASK },
            MapRequest { internal: 1, ..ASK },
        ] {
            assert_eq!(other.parse_pcp(&answer(0)), Err(WireError::NotOurs));
        }
        for length in 4..60 {
            let cut = ASK.parse_pcp(&answer(0)[..length]);
            assert_eq!(cut, Err(WireError::Length { got: length, want: 60 }));
        }
        // NAT-PMP's "unsupported version", which a router without PCP gives.
        assert_eq!(ASK.parse_pcp(&hex("00 81 0001 00000064")), Err(WireError::Version));
        let six = [&answer(0)[..44], &[0x20; 16]].concat();
        assert_eq!(ASK.parse_pcp(&six), Err(WireError::Address));
    }

    #[test]
    fn answers_of_nat_pmp_are_read_and_only_ours() {
        let good = hex("00 81 0000 00000064 ca6c ca6d 00000e10");
        let want = Mapped { port: 51_821, address: None, seconds: 3_600, epoch: 100 };
        assert_eq!(ASK.parse_nat_pmp(&good), Ok(want));
        assert_eq!(MapRequest { internal: 1, ..ASK }.parse_nat_pmp(&good), Err(WireError::NotOurs));
        let tcp = MapRequest { protocol: Protocol::Tcp, ..ASK };
        assert_eq!(tcp.parse_nat_pmp(&good), Err(WireError::NotOurs));
        assert_eq!(ASK.parse_nat_pmp(&hex("00 81 0002 00000064")), Err(WireError::Result(2)));
        assert_eq!(ASK.parse_nat_pmp(&hex("00 81 0003 00000064")), Err(WireError::Result(7)));
        let address = hex("00 80 0000 00000064 0b16212c");
        assert_eq!(parse_address(&address), Ok(Ipv4Addr::new(11, 22, 33, 44)));
        assert_eq!(parse_address(&address[..11]), Err(WireError::Length { got: 11, want: 12 }));
    }

    proptest! {
        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..1_200)) {
            let _ = (ASK.parse_pcp(&bytes), ASK.parse_nat_pmp(&bytes), parse_address(&bytes), parse_announce(&bytes));
        }
    }
}
