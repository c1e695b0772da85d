//! Datagrams of the kernel's nftables and nl80211. The kernel is believed; but another version may say things in a form that nobody
//! has thought of.

use crate::seeds::Seed;
use guestright_firewall::fuzzing;

/// What stands before the attributes: the headers of netlink and of netfilter.
const HEADERS: usize = 16 + 4;
/// An answer about elements of a set, and one about a counter.
const NEW_SET_ELEMENT: u16 = 10 << 8 | 12;
const NEW_OBJECT: u16 = 10 << 8 | 18;

/// Any number that the kernel gives nl80211.
const NL80211: u16 = 28;

/// A datagram of these bytes.
pub fn kernel(bytes: &[u8]) {
    let (elements, counters) = fuzzing::answers(bytes);
    assert!((elements + counters) * 4 <= bytes.len(), "{elements} elements, {counters} counters");
    let (access_points, stations) = fuzzing::radios(bytes);
    assert!((access_points + stations) * 20 <= bytes.len(), "{access_points} and {stations} stations");
}

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).expect("a seed is short");
    let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(kind: u16, attributes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADERS + attributes.len()).expect("a seed is short");
    let mut bytes = length.to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend([0; 10]);
    bytes.extend([1, 0, 0, 0]);
    bytes.extend(attributes);
    bytes
}

pub(crate) fn seeds(seeds: &mut Vec<Seed>) {
    let count = [attribute(1, &1_500_u64.to_be_bytes()), attribute(2, &3_u64.to_be_bytes())].concat();
    let counter = [attribute(1, b"counter\0"), attribute(2, &count)].concat();
    let key = attribute(1, &attribute(1, &[10, 77, 0, 2]));
    let element = attribute(1, &[key, attribute(7, &counter)].concat());
    let elements = message(NEW_SET_ELEMENT, &attribute(3, &element));
    let named = [attribute(2, b"unsigned\0"), attribute(4, &count)].concat();
    let object = message(NEW_OBJECT, &named);
    let both = [elements.clone(), object.clone()].concat();
    assert_eq!(fuzzing::answers(&both), (1, 1), "the seeds are answers");
    // An access point, and a station with 11 Mb/s; generic netlink's header is as long as netfilter's.
    let number = |kind, number: u32| attribute(kind, &number.to_ne_bytes());
    let interface = message(NL80211, &[number(3, 4), number(5, 3), number(38, 2_437)].concat());
    let rate = attribute(21, &attribute(8, &[number(5, 110), attribute(1, &110_u16.to_ne_bytes())].concat()));
    let station = message(NL80211, &[attribute(6, &[2, 0, 0, 0, 1, 0]), rate].concat());
    let radio = [interface, station].concat();
    assert_eq!(fuzzing::radios(&radio), (1, 1), "the seeds are answers");
    for (name, bytes) in [("elements", elements), ("counter", object), ("both", both), ("radio", radio)] {
        seeds.push(("kernel", name.to_owned(), bytes));
    }
}
