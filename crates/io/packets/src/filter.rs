//! A classic BPF program that lets UDP through (Documentation/networking/filter.rst of Linux).
//!
//! The socket hands packets on without their link's header, so byte 0 is IP's.

use socket2::SockFilter;

const LOAD_WORD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
const LOAD_BYTE: u16 = 0x30; // BPF_LD | BPF_B | BPF_ABS
const JUMP_IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
const SHIFT_RIGHT: u16 = 0x74; // BPF_ALU | BPF_RSH | BPF_K
const RETURN: u16 = 0x06; // BPF_RET | BPF_K

/// What the kernel knows of a packet besides its bytes: `SKF_AD_OFF` and `SKF_AD_PKTTYPE` (linux/filter.h).
const PACKET_TYPE: u32 = 0xffff_f000 + 4;
const PACKET_OUTGOING: u32 = 4;
const UDP: u32 = 17;
const IPV6_FRAGMENT: u32 = 44;

/// UDP over IPv4 and IPv6, with all fragments, up to so many bytes of each packet. `once`: not what leaves, because it
/// comes in again.
pub(crate) fn udp(snap: u32, once: bool) -> Vec<SockFilter> {
    // An instruction: code, jump if true, jump if false, operand. Jumps count from the next one; the last two are
    // "let through" and "drop".
    #[rustfmt::skip]
    let body = [
        (LOAD_BYTE,     0, 0, 0),             //  0: version
        (SHIFT_RIGHT,   0, 0, 4),             //  1
        (JUMP_IF_EQUAL, 0, 2, 4),             //  2: IPv4, or to 5
        (LOAD_BYTE,     0, 0, 9),             //  3: protocol
        (JUMP_IF_EQUAL, 6, 7, UDP),           //  4: to 11 or 12
        (JUMP_IF_EQUAL, 0, 6, 6),             //  5: IPv6, or to 12
        (LOAD_BYTE,     0, 0, 6),             //  6: next header
        (JUMP_IF_EQUAL, 3, 0, UDP),           //  7: to 11
        (JUMP_IF_EQUAL, 0, 3, IPV6_FRAGMENT), //  8: or to 12
        (LOAD_BYTE,     0, 0, 40),            //  9: what the fragment is of
        (JUMP_IF_EQUAL, 0, 1, UDP),           // 10: to 11 or 12
        (RETURN,        0, 0, snap),          // 11
        (RETURN,        0, 0, 0),             // 12
    ];
    let skip_own = [(LOAD_WORD, 0, 0, PACKET_TYPE), (JUMP_IF_EQUAL, 12, 0, PACKET_OUTGOING)];
    let head: &[(u16, u8, u8, u32)] = if once { &skip_own } else { &[] };
    head.iter().chain(&body).map(|(code, yes, no, k)| SockFilter::new(*code, *yes, *no, *k)).collect()
}
