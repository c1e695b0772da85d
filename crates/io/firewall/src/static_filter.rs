//! A filter on the guests' interface, and on its ports if it is a bridge, that no grant changes: what guests say to the
//! router itself, and to its household.
//!
//! It is classic BPF, which the kernel runs on each frame as it comes in (tc-bpf(8), direct action), before routing and
//! before nftables. So it holds while no table of ours is there: the router's other ports and the household's networks
//! stay shut. Whether a guest has the Internet is not its business.
//!
//! | frame | verdict |
//! | --- | --- |
//! | ARP, EAPOL (the key exchange of Wi-Fi) | goes on |
//! | IPv4 to the access point's address or to everybody: DHCP, DNS, our protocol, our page, ICMP | goes on |
//! | fragments of that after the first, which has the ports and is judged by them | goes on |
//! | IPv4 to any other address of this computer, to the household or to what is private | dropped |
//! | other IPv4 | goes on |
//! | everything else, IPv6 too | dropped |

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::net::Ipv4Addr;

use serde_json::Value;

use crate::lookup::interface_exists;
use crate::traffic_control::TrafficControl;
use crate::{FirewallError, Page, Settings, tool};

/// Other filters of the interface come after it.
const PREFERENCE: &str = "1";
/// Verdicts of tc (linux/pkt_cls.h): ask the next filter, and drop.
const GO_ON: u32 = 0xffff_ffff;
const DROP: u32 = 2;

const ARP: u32 = 0x0806;
const IPV4: u32 = 0x0800;
const EAPOL: u32 = 0x888e;
const ICMP: u32 = 1;
const TCP: u32 = 6;
const UDP: u32 = 17;
const DHCP: u16 = 67;
const DNS: u16 = 53;

/// Where the fields are in an Ethernet frame with IPv4: its type; length of the header, fragment, protocol and
/// destination of RFC 791; and behind a header of any length the destination port of UDP and TCP.
const TYPE: u32 = 12;
const HEADER: u32 = 14;
const FRAGMENT: u32 = 20;
const PROTOCOL: u32 = 23;
const DESTINATION: u32 = 30;
const DESTINATION_PORT: u32 = 16;
/// Where a fragment belongs: zero in the first, which holds eight bytes at least and so the ports.
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// An instruction of classic BPF (linux/filter.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Instruction {
    code: u16,
    /// How many instructions are left out if the comparison holds, and if not.
    jumps: [u8; 2],
    operand: u32,
}

const fn load_half(offset: u32) -> Instruction {
    Instruction { code: 0x28, jumps: [0; 2], operand: offset }
}

const fn load_byte(offset: u32) -> Instruction {
    Instruction { code: 0x30, jumps: [0; 2], operand: offset }
}

const fn load_word(offset: u32) -> Instruction {
    Instruction { code: 0x20, jumps: [0; 2], operand: offset }
}

/// The index register becomes the length of the IPv4 header.
const fn load_header_length() -> Instruction {
    Instruction { code: 0xb1, jumps: [0; 2], operand: HEADER }
}

const fn load_half_indexed(offset: u32) -> Instruction {
    Instruction { code: 0x48, jumps: [0; 2], operand: offset }
}

const fn and(mask: u32) -> Instruction {
    Instruction { code: 0x54, jumps: [0; 2], operand: mask }
}

/// Leaves the next `count` instructions out unless both are equal.
const fn unless_equal(operand: u32, count: u8) -> Instruction {
    Instruction { code: 0x15, jumps: [0, count], operand }
}

/// Leaves the next instruction out if both are equal.
const fn if_equal(operand: u32) -> Instruction {
    Instruction { code: 0x15, jumps: [1, 0], operand }
}

/// Leaves the next instruction out unless one of these bits is set.
const fn unless_any_bit(operand: u32) -> Instruction {
    Instruction { code: 0x45, jumps: [0, 1], operand }
}

const fn end(verdict: u32) -> Instruction {
    Instruction { code: 0x06, jumps: [0; 2], operand: verdict }
}

/// The program for these settings; `own` are the addresses of this computer.
fn program(settings: &Settings, own: &[Ipv4Addr]) -> Vec<Instruction> {
    let mut program = vec![load_half(TYPE)];
    for kind in [ARP, EAPOL] {
        program.extend([unless_equal(kind, 1), end(GO_ON)]);
    }
    program.extend([if_equal(IPV4), end(DROP), load_word(DESTINATION)]);
    let to_router = to_router(settings);
    let length = u8::try_from(to_router.len()).expect("it is a constant of some twenty");
    for address in [settings.access_point, Ipv4Addr::BROADCAST] {
        program.push(unless_equal(address.to_bits(), length));
        program.extend(&to_router);
    }
    for address in own.iter().filter(|address| **address != settings.access_point) {
        program.extend([unless_equal(address.to_bits(), 1), end(DROP)]);
    }
    // From the smallest network to the largest, so that each takes away more of the address than the one before: it is
    // loaded once, and not for each of them, which is what costs most.
    let mut never = settings.never_reached();
    never.sort_by_key(|network| Reverse(network.prefix_len()));
    for of_one_length in never.chunk_by(|left, right| left.prefix_len() == right.prefix_len()) {
        program.extend(of_one_length.first().map(|network| and(network.netmask().to_bits())));
        for network in of_one_length {
            program.extend([unless_equal(network.network().to_bits(), 1), end(DROP)]);
        }
    }
    program.push(end(GO_ON));
    program
}

/// What the router itself may be asked.
fn to_router(settings: &Settings) -> Vec<Instruction> {
    let port = settings.protocol_port;
    let tcp: Vec<_> =
        [DNS, port].into_iter().chain(settings.page.into_iter().flat_map(Page::ports)).collect();
    let ports = |open: &[u16]| {
        let mut program = vec![load_header_length(), load_half_indexed(DESTINATION_PORT)];
        for port in open {
            program.extend([unless_equal(u32::from(*port), 1), end(GO_ON)]);
        }
        program.push(end(DROP));
        program
    };
    let protocol = |number: u32, then: Vec<Instruction>| {
        let length = u8::try_from(then.len()).expect("a few ports");
        [vec![unless_equal(number, length)], then].concat()
    };
    [
        vec![load_half(FRAGMENT), unless_any_bit(FRAGMENT_OFFSET), end(GO_ON), load_byte(PROTOCOL)],
        protocol(ICMP, vec![end(GO_ON)]),
        protocol(UDP, ports(&[DHCP, DNS, port])),
        protocol(TCP, ports(&tcp)),
        vec![end(DROP)],
    ]
    .concat()
}

/// The program as tc(8) reads it.
fn bytecode(program: &[Instruction]) -> String {
    let mut text = program.len().to_string();
    for Instruction { code, jumps: [equal, other], operand } in program {
        write!(text, ",{code} {equal} {other} {operand}").expect("a String takes everything");
    }
    text
}

/// Puts the filter in force, in the place of an earlier one of ours.
///
/// # Errors
/// The kernel refuses: it may have no `cls_bpf`.
pub(crate) fn replace(interface: &str, settings: &Settings, own: &[Ipv4Addr]) -> Result<(), FirewallError> {
    if !has_hook(interface)? {
        tool::run("tc", &["qdisc", "add", "dev", interface, "clsact"], "")?;
    }
    let code = bytecode(&program(settings, own));
    #[rustfmt::skip]
    let filter = [
        "filter", "replace", "dev", interface, "ingress", "pref", PREFERENCE, "handle", "1", "protocol", "all",
        "bpf", "direct-action", "bytecode", &code,
    ];
    tool::run("tc", &filter, "").map(|_| ())
}

/// Whether the filter for these settings is in force.
pub(crate) fn is_in_force(
    interface: &str,
    settings: &Settings,
    own: &[Ipv4Addr],
) -> Result<bool, FirewallError> {
    let found = tool::json("tc", &["-j", "filter", "show", "dev", interface, "ingress", "pref", PREFERENCE])?;
    let program = program(settings, own);
    let filters = found.as_array().into_iter().flatten();
    Ok(filters.map(|filter| &filter["options"]).any(|options| {
        let found: Option<Vec<_>> =
            options["bytecode"]["insns"].as_array().map(|all| all.iter().map_while(read).collect());
        options["direct-action"] == true && found.is_some_and(|found| found == program)
    }))
}

/// An instruction as tc tells it.
fn read(instruction: &Value) -> Option<Instruction> {
    let number = |name: &str| instruction[name].as_u64();
    let jump = |name: &str| u8::try_from(number(name)?).ok();
    Some(Instruction {
        code: u16::try_from(number("code")?).ok()?,
        jumps: [jump("jt")?, jump("jf")?],
        operand: u32::try_from(number("k")?).ok()?,
    })
}

/// Takes the filter away, and the hook if it was not there before us.
///
/// # Errors
/// The system refuses.
pub(crate) fn remove(interface: &str, keep_hook: bool) -> Result<(), FirewallError> {
    if !interface_exists(interface) || !has_hook(interface)? {
        return Ok(());
    }
    let arguments: &[&str] = if keep_hook {
        &["filter", "del", "dev", interface, "ingress", "pref", PREFERENCE]
    } else {
        &["qdisc", "del", "dev", interface, "clsact"]
    };
    tool::run("tc", arguments, "").map(|_| ())
}

/// Packets that were dropped at the hook, by whatever filter hangs there.
///
/// # Errors
/// The system does not say.
pub(crate) fn drops(interface: &str) -> Result<u64, FirewallError> {
    let found = tool::json("tc", &["-s", "-j", "qdisc", "show", "dev", interface])?;
    let hooks = found.as_array().into_iter().flatten().filter(|qdisc| qdisc["kind"] == "clsact");
    Ok(hooks.filter_map(|qdisc| qdisc["drops"].as_u64()).sum())
}

/// Whether the interface has the hook that filters hang on; other programs may use it too.
pub(crate) fn has_hook(interface: &str) -> Result<bool, FirewallError> {
    Ok(TrafficControl::open()?.queues(interface)?.iter().any(|queue| queue.kind == "clsact"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 77, 0, 1), Ipv4Addr::new(203, 0, 113, 1)];

    /// What the program says of a frame, instruction by instruction as linux/filter.h has them.
    fn verdict(program: &[Instruction], frame: &[u8]) -> u32 {
        let (mut a, mut x, mut at) = (0_u32, 0_usize, 0);
        let load = |from: usize, length: usize| {
            frame
                .get(from..from + length)
                .map(|bytes| bytes.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
        };
        loop {
            let Instruction { code, jumps: [holds, fails], operand } = program[at];
            let offset = operand as usize;
            at += 1;
            let loaded = match code {
                0x20 => load(offset, 4),
                0x28 => load(offset, 2),
                0x30 => load(offset, 1),
                0x48 => load(x + offset, 2),
                0xb1 => {
                    x = 4 * (frame[offset] as usize & 0xf);
                    continue;
                }
                0x54 => Some(a & operand),
                0x15 | 0x45 => {
                    let is_true = if code == 0x15 { a == operand } else { a & operand != 0 };
                    at += usize::from(if is_true { holds } else { fails });
                    continue;
                }
                0x06 => return operand,
                other => panic!("no instruction {other:#x}"),
            };
            // The kernel drops what ends before the field.
            let Some(loaded) = loaded else { return 0 };
            a = loaded;
        }
    }

    fn frame(kind: u16, rest: &[u8]) -> Vec<u8> {
        [[2; 12].as_slice(), &kind.to_be_bytes(), rest].concat()
    }

    fn packet(to: &str, protocol: u32, port: u16, options: usize, fragment: u16) -> Vec<u8> {
        let mut header = vec![0; 20 + options];
        header[0] = 0x40 | u8::try_from(5 + options / 4).unwrap();
        header[6..8].copy_from_slice(&fragment.to_be_bytes());
        header[9] = u8::try_from(protocol).unwrap();
        header[16..20].copy_from_slice(&to.parse::<Ipv4Addr>().unwrap().octets());
        let ports = [[0x13, 0x88], port.to_be_bytes(), [0; 2], [0; 2]].concat();
        frame(0x0800, &[header, ports].concat())
    }

    #[test]
    fn guests_may_ask_the_router_for_little_and_the_household_for_nothing() {
        let network = (Ipv4Addr::new(10, 77, 0, 0), 24);
        let mut settings = Settings::new("guests", "wan", OWN[0], network, 7_273);
        settings.household = vec![(Ipv4Addr::new(198, 51, 100, 0).into(), 24)];
        let program = program(&settings, &OWN);
        let udp = |to, port| packet(to, UDP, port, 0, 0);
        let tcp = |to, port| packet(to, TCP, port, 0, 0);
        let goes_on = [
            ("ARP", frame(0x0806, &[0; 28])),
            ("the key exchange of Wi-Fi", frame(0x888e, &[0; 40])),
            ("DHCP to everybody", udp("255.255.255.255", 67)),
            ("DNS", udp("10.77.0.1", 53)),
            ("DNS over TCP", tcp("10.77.0.1", 53)),
            ("the protocol", udp("10.77.0.1", 7_273)),
            ("the protocol over TCP, with IP options", packet("10.77.0.1", TCP, 7_273, 12, 0)),
            ("ping", packet("10.77.0.1", ICMP, 0, 0, 0)),
            ("the Internet", udp("192.0.2.1", 9)),
            ("a fragment to the Internet", packet("192.0.2.1", UDP, 9, 0, 0x2000)),
            ("the first fragment of a long question", packet("10.77.0.1", UDP, 7_273, 0, 0x2000)),
            ("the rest of it", packet("10.77.0.1", UDP, 22, 0, 185)),
        ];
        for (what, frame) in goes_on {
            assert_eq!(verdict(&program, &frame), GO_ON, "{what}");
        }
        let dropped = [
            ("IPv6", frame(0x86dd, &[0; 40])),
            ("a VLAN", frame(0x8100, &[0; 40])),
            ("SSH", tcp("10.77.0.1", 22)),
            ("the port of another protocol", packet("10.77.0.1", 132, 53, 0, 0)),
            ("DHCP over TCP", tcp("10.77.0.1", 67)),
            ("a port that IP options hide", packet("10.77.0.1", UDP, 22, 40, 0)),
            ("a first fragment to another port", packet("10.77.0.1", UDP, 22, 0, 0x2000)),
            ("a fragment to the household", packet("192.168.1.2", UDP, 53, 0, 185)),
            ("something to everybody", udp("255.255.255.255", 138)),
            ("the router's other address", tcp("203.0.113.1", 53)),
            ("another guest", udp("10.77.0.7", 9)),
            ("the household", udp("192.168.1.2", 53)),
            ("the household's public addresses", udp("198.51.100.9", 443)),
            ("loopback", udp("127.0.0.1", 53)),
            ("a group", udp("224.0.0.251", 5353)),
        ];
        for (what, frame) in dropped {
            assert_eq!(verdict(&program, &frame), DROP, "{what}");
        }
        assert_eq!(verdict(&program, &tcp("10.77.0.1", 7_280)), DROP, "no page");
        settings.page = Some(Page { port: 7_280, secured_port: Some(7_281) });
        let with_page = super::program(&settings, &OWN);
        for (port, want) in [(7_280, GO_ON), (7_281, GO_ON), (80, DROP), (443, DROP)] {
            assert_eq!(verdict(&with_page, &tcp("10.77.0.1", port)), want, "{port}");
            assert_eq!(verdict(&with_page, &udp("10.77.0.1", port)), DROP, "{port}");
        }
        for length in 0..40 {
            let cut = verdict(&program, &udp("10.77.0.1", 22)[..length]);
            assert!(cut == 0 || cut == DROP, "a frame of {length} bytes goes on");
        }
    }

    #[test]
    fn a_program_is_read_as_tc_writes_it() {
        let one = serde_json::json!({ "code": 21, "jt": 0, "jf": 1, "k": 2054 });
        assert_eq!(read(&one), Some(unless_equal(ARP, 1)));
        assert_eq!(read(&serde_json::json!({ "code": 21 })), None);
        assert_eq!(bytecode(&[unless_equal(ARP, 1), end(DROP)]), "2,21 0 1 2054,6 0 0 2");
    }
}
