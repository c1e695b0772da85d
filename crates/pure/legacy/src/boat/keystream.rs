use super::session_key::{KEY_BYTES, KEY_BYTES_MAX, SessionKeyBytes};
use super::{Config, Keystream};
use md5::{Digest as _, Md5};
use rc4::{KeyInit as _, Rc4, StreamCipher as _};
use zeroize::{Zeroize as _, Zeroizing};

/// A receiver makes keystream for at most so many packets in advance: 20 s at 40 ms.
const AHEAD_MAX: u16 = 512;

/// RC4 with the first `dropped` bytes thrown away.
fn rc4(key: &[u8], dropped: u16) -> Rc4 {
    let mut cipher = Rc4::new_from_slice(key).expect("RC4 takes keys of 16 bytes");
    skip(&mut cipher, usize::from(dropped));
    cipher
}

fn skip(cipher: &mut Rc4, mut bytes: usize) {
    let mut scratch = Zeroizing::new([0; 256]);
    while bytes > 0 {
        let part = bytes.min(scratch.len());
        cipher.write_keystream(&mut scratch[..part]);
        bytes -= part;
    }
}

/// RC4 for one packet alone.
fn packet_cipher(key: &SessionKeyBytes, sequence: u16, dropped: u16) -> Rc4 {
    let derived: Zeroizing<[u8; KEY_BYTES]> =
        Zeroizing::new(Md5::new().chain_update(**key).chain_update(sequence.to_be_bytes()).finalize().into());
    rc4(&*derived, dropped)
}

/// The keystream of a key with which we send.
pub(super) enum Writing {
    Running { cipher: Rc4 },
    Seekable { cipher: Rc4, base: u16, slot: u16, position: u64 },
    PerPacket { key: SessionKeyBytes, dropped: u16 },
}

impl Writing {
    pub(super) fn new(key: &SessionKeyBytes, base: u16, config: &Config) -> Self {
        match config.keystream {
            Keystream::Running => Self::Running { cipher: rc4(&**key, config.dropped) },
            Keystream::Seekable => {
                Self::Seekable { cipher: rc4(&**key, config.dropped), base, slot: config.slot, position: 0 }
            }
            Keystream::PerPacket => Self::PerPacket { key: key.clone(), dropped: config.dropped },
        }
    }

    /// Where in the keystream it is, in bytes, where packets have places in it.
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Seekable { position, .. } => *position,
            Self::Running { .. } | Self::PerPacket { .. } => 0,
        }
    }

    /// Encrypts what is in `bytes`. Sequence numbers rise.
    pub(super) fn apply(&mut self, sequence: u16, bytes: &mut [u8]) {
        match self {
            Self::Running { cipher } => cipher.apply_keystream(bytes),
            Self::Seekable { cipher, base, slot, position } => {
                let offset = u64::from(sequence.wrapping_sub(*base)) * u64::from(*slot);
                let unused =
                    offset.checked_sub(*position).expect("sequence numbers rise, and packets fit into slots");
                skip(cipher, usize::try_from(unused).expect("a key protects at most 2^20 bytes"));
                cipher.apply_keystream(bytes);
                *position = offset + u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            }
            Self::PerPacket { key, dropped } => packet_cipher(key, sequence, *dropped).apply_keystream(bytes),
        }
    }
}

/// The keystream of a key with which we receive. [`Reading::peek`] changes nothing that shows; [`Reading::advance`] does,
/// once a packet has proved right.
pub(super) enum Reading {
    /// `ahead` was made and not yet used up.
    Running {
        cipher: Rc4,
        ahead: Zeroizing<Vec<u8>>,
    },
    /// `made` is all of the keystream so far; `last` the place of the last packet that proved right.
    Seekable {
        cipher: Rc4,
        base: u16,
        slot: u16,
        made: Zeroizing<Vec<u8>>,
        last: u16,
    },
    PerPacket {
        key: SessionKeyBytes,
        dropped: u16,
    },
}

impl Reading {
    pub(super) fn new(key: &SessionKeyBytes, base: u16, config: &Config) -> Self {
        match config.keystream {
            Keystream::Running => {
                Self::Running { cipher: rc4(&**key, config.dropped), ahead: Zeroizing::new(Vec::new()) }
            }
            Keystream::Seekable => Self::Seekable {
                cipher: rc4(&**key, config.dropped),
                base,
                slot: config.slot,
                made: Zeroizing::new(Vec::new()),
                last: 0,
            },
            Keystream::PerPacket => Self::PerPacket { key: key.clone(), dropped: config.dropped },
        }
    }

    /// Decrypts what is in `bytes`; `None` if this packet cannot have a place in the keystream.
    pub(super) fn peek(&mut self, sequence: u16, bytes: &mut [u8]) -> Option<()> {
        match self {
            Self::Running { cipher, ahead } => {
                make(cipher, ahead, bytes.len());
                xor(bytes, &ahead[..bytes.len()]);
            }
            Self::Seekable { cipher, base, slot, made, last } => {
                let index = sequence.wrapping_sub(*base);
                let start = u64::from(index) * u64::from(*slot);
                if bytes.len() > usize::from(*slot)
                    || index > last.saturating_add(AHEAD_MAX)
                    || start > KEY_BYTES_MAX
                {
                    return None;
                }
                let start = usize::try_from(start).ok()?;
                make(cipher, made, start + bytes.len());
                xor(bytes, &made[start..start + bytes.len()]);
            }
            Self::PerPacket { key, dropped } => packet_cipher(key, sequence, *dropped).apply_keystream(bytes),
        }
        Some(())
    }

    /// The packet of so many bytes that was peeked at was right.
    pub(super) fn advance(&mut self, sequence: u16, bytes: usize) {
        match self {
            Self::Running { ahead, .. } => {
                let left = ahead.len() - bytes;
                ahead.copy_within(bytes.., 0);
                ahead[left..].zeroize();
                ahead.truncate(left);
            }
            Self::Seekable { base, last, .. } => *last = (*last).max(sequence.wrapping_sub(*base)),
            Self::PerPacket { .. } => {}
        }
    }
}

/// Makes `made` at least `length` bytes long.
fn make(cipher: &mut Rc4, made: &mut Zeroizing<Vec<u8>>, length: usize) {
    let old = made.len();
    if length > old {
        if length > made.capacity() {
            // A vector that grows by itself leaves keystream behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(length.next_power_of_two()));
            larger.extend_from_slice(made);
            *made = larger;
        }
        made.resize(length, 0);
        cipher.write_keystream(&mut made[old..]);
    }
}

fn xor(bytes: &mut [u8], keystream: &[u8]) {
    for (byte, key) in bytes.iter_mut().zip(keystream) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mac;
    use super::*;
    use proptest::prelude::*;

    fn pair(keystream: Keystream, base: u16) -> (Writing, Reading) {
        let config = Config::new(keystream, Mac::Hmac);
        let key = Zeroizing::new([9; KEY_BYTES]);
        (Writing::new(&key, base, &config), Reading::new(&key, base, &config))
    }

    #[test]
    fn rc4_is_rc4() {
        // RFC 6229, section 2: the key 0x0102..10 of 128 bits, at 0 and 768.
        let key: Vec<u8> = (1..=16).collect();
        let first = |dropped| {
            let mut bytes = [0; 8];
            rc4(&key, dropped).apply_keystream(&mut bytes);
            bytes
        };
        assert_eq!(first(0), [0x9a, 0xc7, 0xcc, 0x9a, 0x60, 0x9d, 0x1e, 0xf7]);
        assert_eq!(first(768), [0xec, 0xcb, 0xe1, 0x3d, 0xe1, 0xfc, 0xc9, 0x1c]);
    }

    proptest! {
        #[test]
        fn packets_decrypt_in_any_order_if_positioned(
            base: u16,
            lengths in prop::collection::vec(1_usize..384, 1..30),
            order: u64,
            is_seekable: bool,
        ) {
            let keystream = if is_seekable { Keystream::Seekable } else { Keystream::PerPacket };
            let (mut writing, mut reading) = pair(keystream, base);
            let mut packets: Vec<(u16, Vec<u8>)> = (1..).zip(lengths).map(|(offset, length)| {
                let (sequence, mut bytes) = (base.wrapping_add(offset), vec![0x55; length]);
                writing.apply(sequence, &mut bytes);
                (sequence, bytes)
            }).collect();
            packets.sort_by_key(|(sequence, _)| u64::from(*sequence).wrapping_mul(order | 1));
            for (sequence, mut bytes) in packets {
                prop_assert_eq!(reading.peek(sequence, &mut bytes), Some(()));
                prop_assert!(bytes.iter().all(|&byte| byte == 0x55));
                reading.advance(sequence, bytes.len());
            }
        }
    }

    #[test]
    fn no_two_packets_share_keystream() {
        for keystream in Keystream::ALL {
            let (mut writing, _) = pair(keystream, 7);
            let mut one = [0; 32];
            let mut two = [0; 32];
            writing.apply(8, &mut one);
            writing.apply(9, &mut two);
            assert_ne!(one, two, "{keystream:?}");
        }
    }

    #[test]
    fn a_packet_from_far_ahead_makes_no_keystream() {
        let (_, mut reading) = pair(Keystream::Seekable, 0);
        assert_eq!(reading.peek(AHEAD_MAX + 1, &mut [0; 20]), None);
        assert_eq!(reading.peek(u16::MAX, &mut [0; 20]), None);
        assert_eq!(reading.peek(1, &mut [0; 385]), None);
        let Reading::Seekable { made, .. } = &reading else { panic!("it is seekable") };
        assert!(made.is_empty());
    }

    #[test]
    fn a_running_keystream_stands_still_while_packets_prove_wrong() {
        let (mut writing, mut reading) = pair(Keystream::Running, 0);
        let mut packet = [0; 20];
        writing.apply(1, &mut packet);
        for _ in 0..3 {
            assert_eq!(reading.peek(1, &mut [9; 300]), Some(()));
        }
        let mut bytes = packet;
        assert_eq!(reading.peek(1, &mut bytes), Some(()));
        assert_eq!(bytes, [0; 20]);
        reading.advance(1, 20);
        let mut lost = [0; 20];
        writing.apply(2, &mut lost);
        let mut after = [0; 20];
        writing.apply(3, &mut after);
        assert_eq!(reading.peek(3, &mut after), Some(()));
        assert_ne!(after, [0; 20], "nothing says that one was lost, and it comes out as rubbish");
    }
}
