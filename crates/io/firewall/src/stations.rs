//! How fast the kernel's radios send to their stations: nl80211, over generic netlink (design note 0018).
//!
//! Three questions are asked, none of which needs a privilege: the number of the family `nl80211`, which interfaces are
//! access points, and each one's stations. Numbers of commands and attributes are those of linux/genetlink.h and linux/nl80211.h,
//! which never change. What is not asked for is passed over, so that a newer kernel's answers can be read too.

use std::collections::BTreeMap;
use std::io;

use netlink_packet_core::{DefaultNla, NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NlasIterator};
use rustix::io::Errno;
use rustix::net::netlink::GENERIC;

use crate::netlink::{Answer, Netlink, nested, refused, unreadable, zero_terminated};
use crate::{FirewallError, MacAddress};

/// The family that names the others (`GENL_ID_CTRL`), its question, and its attributes.
const CONTROL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// Command, version, and two bytes that are not used (`struct genlmsghdr`).
const HEADER: usize = 4;

const NL80211_CMD_GET_INTERFACE: u8 = 5;
const NL80211_CMD_GET_STATION: u8 = 17;
const NL80211_ATTR_IFINDEX: u16 = 3;
const NL80211_ATTR_IFTYPE: u16 = 5;
const NL80211_ATTR_MAC: u16 = 6;
const NL80211_ATTR_STA_INFO: u16 = 21;
const NL80211_ATTR_WIPHY_FREQ: u16 = 38;
const NL80211_STA_INFO_TX_BITRATE: u16 = 8;
/// In steps of 100 kbit/s: as 16 bits, and as 32 for what those cannot say.
const NL80211_RATE_INFO_BITRATE: u16 = 1;
const NL80211_RATE_INFO_BITRATE32: u16 = 5;
/// An access point, and a VLAN of one.
const ACCESS_POINTS: [u32; 2] = [3, 4];

/// A router has a handful of interfaces, and an access point at most 2,007 stations (IEEE 802.11-2020, 9.4.1.8).
const OBJECTS_MAX: usize = 4_096;
const INTERFACES_MAX: usize = 64;

/// A station of one of the kernel's access points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Station {
    /// The rate at which the kernel last sent data to it, in kbit/s; nothing before it has.
    pub rate_kbps: Option<u32>,
    /// The middle of its radio's channel, in MHz, if the kernel says it.
    pub frequency_mhz: Option<u32>,
}

/// Asks the kernel's radios, in the network namespace where it was opened.
#[derive(Debug)]
pub struct Radios {
    socket: Netlink,
    /// The number of nl80211.
    family: u16,
}

impl Radios {
    /// Opens a socket to nl80211.
    ///
    /// # Errors
    /// This kernel has no nl80211, or no descriptor is left.
    pub fn open() -> Result<Self, FirewallError> {
        let mut socket = Netlink::open(Some(GENERIC))?;
        let name = DefaultNla::new(CTRL_ATTR_FAMILY_NAME, zero_terminated("nl80211"));
        let question = Question { family: CONTROL, command: CTRL_CMD_GETFAMILY, attributes: nested(&[name]) };
        let answers = ask(&mut socket, &question, NLM_F_REQUEST | NLM_F_ACK)
            .map_err(|error| refused("find nl80211", error))?;
        let family = answers.iter().find_map(|answer| number(answer, CTRL_ATTR_FAMILY_ID));
        let family = family.and_then(|family| u16::try_from(family).ok());
        Ok(Self { socket, family: family.ok_or_else(|| unreadable("find nl80211"))? })
    }

    /// Every station of every access point of this kernel, by its hardware address; none where no radio is an access point.
    ///
    /// # Errors
    /// The kernel refuses, or says more than an access point can have.
    pub fn stations(&mut self) -> Result<BTreeMap<MacAddress, Station>, FirewallError> {
        let what = "read the rates of stations";
        let interfaces =
            self.dump(NL80211_CMD_GET_INTERFACE, Vec::new()).map_err(|error| refused(what, error))?;
        let mut all = BTreeMap::new();
        for AccessPoint { index, frequency_mhz } in access_points(&interfaces) {
            let index = DefaultNla::new(NL80211_ATTR_IFINDEX, index.to_ne_bytes().to_vec());
            let stations = self.dump(NL80211_CMD_GET_STATION, nested(&[index]));
            // An interface that has gone meanwhile has no stations any more.
            let stations = stations.or_else(|error| {
                let is_gone = matches!(Errno::from_io_error(&error), Some(Errno::NODEV | Errno::NOENT));
                if is_gone { Ok(Vec::new()) } else { Err(refused(what, error)) }
            })?;
            all.extend(stations.iter().filter_map(|answer| station(answer, frequency_mhz)));
        }
        Ok(all)
    }

    fn dump(&mut self, command: u8, attributes: Vec<u8>) -> io::Result<Vec<Vec<u8>>> {
        let question = Question { family: self.family, command, attributes };
        ask(&mut self.socket, &question, NLM_F_REQUEST | NLM_F_DUMP)
    }
}

struct Question {
    family: u16,
    command: u8,
    attributes: Vec<u8>,
}

/// The attributes of each object that the kernel answers with.
fn ask(socket: &mut Netlink, question: &Question, flags: u16) -> io::Result<Vec<Vec<u8>>> {
    let mut message = Vec::new();
    let header = [question.command, 1, 0, 0];
    let parts = [&header[..], &question.attributes];
    socket.append(&mut message, question.family, parts, flags);
    socket.send(&message)?;
    let (mut objects, mut verdict, mut is_over) = (Vec::new(), Ok(()), false);
    while !is_over {
        socket.receive(socket.sequence(), |_, answer| match answer {
            Answer::Object(object) if objects.len() < OBJECTS_MAX => {
                objects.push(object.get(HEADER..).unwrap_or_default().to_vec());
            }
            Answer::Object(_) => verdict = Err(io::ErrorKind::InvalidData.into()),
            Answer::Done => is_over = true,
            Answer::Error(errno) => {
                verdict = Err(io::Error::from_raw_os_error(errno));
                is_over = true;
            }
        })?;
        is_over |= verdict.is_err();
    }
    verdict.map(|()| objects)
}

/// An interface that is an access point.
struct AccessPoint {
    index: u32,
    frequency_mhz: Option<u32>,
}

fn access_points(interfaces: &[Vec<u8>]) -> impl Iterator<Item = AccessPoint> {
    let access_point = |answer: &Vec<u8>| {
        let kind = number(answer, NL80211_ATTR_IFTYPE)?;
        let index = number(answer, NL80211_ATTR_IFINDEX)?;
        let frequency_mhz = number(answer, NL80211_ATTR_WIPHY_FREQ);
        ACCESS_POINTS.contains(&kind).then_some(AccessPoint { index, frequency_mhz })
    };
    interfaces.iter().filter_map(access_point).take(INTERFACES_MAX)
}

fn station(answer: &[u8], frequency_mhz: Option<u32>) -> Option<(MacAddress, Station)> {
    let mac: [u8; 6] = attribute(answer, NL80211_ATTR_MAC)?.try_into().ok()?;
    let mac = MacAddress::new(mac).ok()?;
    let rate = attribute(answer, NL80211_ATTR_STA_INFO)
        .and_then(|info| attribute(&info, NL80211_STA_INFO_TX_BITRATE))
        .and_then(|rate| {
            number(&rate, NL80211_RATE_INFO_BITRATE32).or_else(|| number(&rate, NL80211_RATE_INFO_BITRATE))
        });
    let rate_kbps = rate.filter(|rate| *rate > 0).map(|rate| rate.saturating_mul(100));
    Some((mac, Station { rate_kbps, frequency_mhz }))
}

/// The value of the first attribute of this kind; those behind one that is cut off are not looked at.
fn attribute(bytes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut attributes = NlasIterator::new(bytes).map_while(Result::ok);
    let found = attributes.find(|attribute| attribute.kind() == kind)?;
    Some(found.value().to_vec())
}

/// A number of 16 or 32 bits.
fn number(bytes: &[u8], kind: u16) -> Option<u32> {
    match *attribute(bytes, kind)? {
        [a, b] => Some(u16::from_ne_bytes([a, b]).into()),
        [a, b, c, d] => Some(u32::from_ne_bytes([a, b, c, d])),
        _ => None,
    }
}

/// What the fuzzer calls: how many access points and stations a datagram of the kernel's tells of.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_datagram(datagram: &[u8]) -> (usize, usize) {
    let mut objects = Vec::new();
    let _ = crate::netlink::split(datagram, |_, answer| {
        if let Answer::Object(object) = answer {
            objects.push(object.get(HEADER..).unwrap_or_default().to_vec());
        }
    });
    let stations = objects.iter().filter_map(|object| station(object, None)).count();
    (access_points(&objects).count(), stations)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];

    fn nla(kind: u16, value: &[u8]) -> DefaultNla {
        DefaultNla::new(kind, value.to_vec())
    }

    fn rate(attributes: &[DefaultNla]) -> Vec<u8> {
        let info = nla(NL80211_STA_INFO_TX_BITRATE, &nested(attributes));
        // Before it the kernel says other things: here for how long the station was silent, and the signal.
        let info = nested(&[nla(1, &7_u32.to_ne_bytes()), nla(7, &[0xd0]), info]);
        nested(&[
            nla(NL80211_ATTR_IFINDEX, &4_u32.to_ne_bytes()),
            nla(NL80211_ATTR_MAC, &MAC),
            nla(46, &9_u32.to_ne_bytes()),
            nla(NL80211_ATTR_STA_INFO, &info),
        ])
    }

    #[test]
    fn the_rate_is_the_one_in_32_bits_where_there_is_one() {
        let short = |rate: u16| nla(NL80211_RATE_INFO_BITRATE, &rate.to_ne_bytes());
        let long = |rate: u32| nla(NL80211_RATE_INFO_BITRATE32, &rate.to_ne_bytes());
        #[rustfmt::skip]
        let cases = [
            ("11 Mb/s",                     vec![short(110)],                   Some(11_000)),
            ("both say the same",           vec![long(540), short(540)],        Some(54_000)),
            ("faster than 16 bits",         vec![long(86_000)],                 Some(8_600_000)),
            ("none yet",                    vec![],                             None),
            ("zero is none",                vec![long(0), short(0)],            None),
            ("an index of HT beside it",    vec![nla(2, &[7]), short(650)],     Some(65_000)),
            ("more than can be",            vec![long(u32::MAX)],               Some(u32::MAX)),
            ("of a length that is unknown", vec![nla(5, &[1, 2, 3])],           None),
        ];
        for (name, attributes, rate_kbps) in cases {
            let want = Station { rate_kbps, frequency_mhz: Some(2_437) };
            let got = station(&rate(&attributes), Some(2_437));
            assert_eq!(got, Some((MacAddress::new(MAC).unwrap(), want)), "{name}");
        }
    }

    #[test]
    fn only_access_points_are_asked_for_stations() {
        let interface = |index: u32, kind: u32| {
            nested(&[
                nla(NL80211_ATTR_IFINDEX, &index.to_ne_bytes()),
                nla(4, b"wlan0\0"),
                nla(NL80211_ATTR_IFTYPE, &kind.to_ne_bytes()),
                nla(NL80211_ATTR_WIPHY_FREQ, &5_180_u32.to_ne_bytes()),
            ])
        };
        // A station, an access point, a VLAN of one, a monitor.
        let all = [interface(1, 2), interface(2, 3), interface(3, 4), interface(4, 6), Vec::new()];
        let found: Vec<_> = access_points(&all).map(|it| (it.index, it.frequency_mhz)).collect();
        assert_eq!(found, [(2, Some(5_180)), (3, Some(5_180))]);
        let many = vec![interface(2, 3); INTERFACES_MAX + 1];
        assert_eq!(access_points(&many).count(), INTERFACES_MAX);
    }

    /// Whatever is cut off or changed, nothing is read that is not there.
    #[test]
    fn any_bytes_can_be_read() {
        let whole = rate(&[nla(NL80211_RATE_INFO_BITRATE32, &540_u32.to_ne_bytes())]);
        for end in 0..whole.len() {
            let got = station(&whole[..end], None);
            assert!(got.is_none_or(|(_, it)| it.rate_kbps.is_none()), "the first {end} bytes");
            for value in [0, 1, 3, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[end] = value;
                let _ = station(&changed, None);
                let _ = access_points(&[changed]).count();
            }
        }
        for group in [[1, 0, 0, 0, 0, 1], [0; 6]] {
            assert_eq!(station(&nested(&[nla(NL80211_ATTR_MAC, &group)]), None), None, "no station");
        }
    }

    #[test]
    fn a_kernel_without_nl80211_says_so_and_others_answer() {
        match Radios::open() {
            Ok(mut radios) => {
                assert!(radios.family > CONTROL);
                radios.stations().unwrap();
            }
            Err(error) => assert!(error.to_string().contains("find nl80211"), "{error}"),
        }
    }
}
