//! The keys of a link in Microsoft's attributes (RFC 2548, sections 2.4.2 and 2.4.3), which is how hostapd gets them.
//!
//! `b(1) = MD5(S + R + A)`, `c(1) = p(1) xor b(1)`, `b(i) = MD5(S + c(i-1))`: S the secret, R the authenticator of the
//! request, A the salt, p the key behind its length in blocks of 16 octets.

use crate::attribute::Kind;
use crate::error::RadiusError;
use crate::packet::{Draft, Packet};
use crate::secret::Secret;
use std::fmt;
use zeroize::Zeroizing;

/// IANA, "Private Enterprise Numbers".
const MICROSOFT: [u8; 4] = 311_u32.to_be_bytes();
const MS_MPPE_SEND_KEY: u8 = 16;
const MS_MPPE_RECV_KEY: u8 = 17;

/// What an EAP method exports for the link: the master session key (RFC 3748, section 7.10: at least 64 octets).
#[derive(Clone, PartialEq, Eq)]
pub struct Msk(Zeroizing<[u8; 64]>);

impl Msk {
    #[must_use]
    pub fn new(bytes: [u8; 64]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// The first half is the access point's key for receiving, and its PMK (RFC 5216, section 2.3; IEEE 802.11).
    fn halves(&self) -> (&[u8], &[u8]) {
        self.0.split_at(32)
    }
}

impl fmt::Debug for Msk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Msk(..)")
    }
}

/// What the encryption of one response needs.
#[derive(Clone, Copy, Debug)]
pub struct Wrapping<'a> {
    pub secret: &'a Secret,
    /// The authenticator of the request that is answered.
    pub request: &'a [u8; 16],
}

impl Wrapping<'_> {
    /// Writes both keys. The salts have to be chance; they are made different, and marked as salts.
    ///
    /// # Errors
    /// If the packet would be too long.
    pub fn push_keys(&self, draft: &mut Draft, msk: &Msk, chance: [u8; 4]) -> Result<(), RadiusError> {
        let [a, b, c, d] = chance;
        // The leftmost bit is set, and no two salts of a packet are the same (RFC 2548, section 2.4.2).
        let salts = [[a | 0x80, b & 0xfe], [c | 0x80, d | 1]];
        let (receive, send) = msk.halves();
        self.push_key(draft, MS_MPPE_SEND_KEY, send, salts[0])?;
        self.push_key(draft, MS_MPPE_RECV_KEY, receive, salts[1])
    }

    fn push_key(&self, draft: &mut Draft, kind: u8, key: &[u8], salt: [u8; 2]) -> Result<(), RadiusError> {
        let mut text = Zeroizing::new(Vec::with_capacity(48));
        text.push(u8::try_from(key.len()).map_err(|_| RadiusError::Key)?);
        text.extend(key);
        let padded = text.len().next_multiple_of(16);
        text.resize(padded, 0);
        let mut value = MICROSOFT.to_vec();
        value.extend([kind, u8::try_from(text.len() + 4).map_err(|_| RadiusError::Key)?]);
        value.extend(salt);
        let mut block = self.secret.stream_block(&[self.request, &salt]);
        for chunk in text.chunks(16) {
            let start = value.len();
            value.extend(chunk.iter().zip(block.iter()).map(|(text, stream)| text ^ stream));
            block = self.secret.stream_block(&[&value[start..]]);
        }
        draft.push(Kind::VENDOR_SPECIFIC, &value)?;
        Ok(())
    }

    /// Reads both keys of a response that was verified.
    ///
    /// # Errors
    /// If one is missing, or not of 32 octets.
    pub fn read_keys(&self, packet: &Packet<'_>) -> Result<Msk, RadiusError> {
        let mut msk = Zeroizing::new([0; 64]);
        let (receive, send) = msk.split_at_mut(32);
        self.read_key(packet, MS_MPPE_RECV_KEY, receive)?;
        self.read_key(packet, MS_MPPE_SEND_KEY, send)?;
        Ok(Msk(msk))
    }

    fn read_key(&self, packet: &Packet<'_>, kind: u8, key: &mut [u8]) -> Result<(), RadiusError> {
        let of_kind = |value: &&[u8]| value.starts_with(&MICROSOFT) && value.get(4) == Some(&kind);
        let value = packet.all(Kind::VENDOR_SPECIFIC).find(of_kind);
        let value = value.ok_or(RadiusError::Missing { kind: Kind::VENDOR_SPECIFIC })?;
        let length = value.get(5).map_or(0, |length| usize::from(*length));
        if length != value.len() - MICROSOFT.len() || length < 4 {
            return Err(RadiusError::Key);
        }
        let (salt, sealed) = value[6..].split_at(2);
        if sealed.is_empty() || !sealed.len().is_multiple_of(16) {
            return Err(RadiusError::Key);
        }
        let mut text = Zeroizing::new(Vec::with_capacity(sealed.len()));
        let mut block = self.secret.stream_block(&[self.request, salt]);
        for chunk in sealed.chunks(16) {
            text.extend(chunk.iter().zip(block.iter()).map(|(sealed, stream)| sealed ^ stream));
            block = self.secret.stream_block(&[chunk]);
        }
        if usize::from(text[0]) != key.len() || text.len() != (key.len() + 1).next_multiple_of(16) {
            return Err(RadiusError::Key);
        }
        key.copy_from_slice(&text[1..=key.len()]);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Code;
    use proptest::prelude::*;

    fn accept(secret: &Secret, request: &[u8; 16], msk: &Msk, chance: [u8; 4]) -> Vec<u8> {
        let mut draft = Draft::new(Code::AccessAccept, 1);
        Wrapping { secret, request }.push_keys(&mut draft, msk, chance).unwrap();
        draft.emit_response(secret, request)
    }

    /// The same by the formula, in Python: `hashlib.md5(S + R + A)`, with S = `radius`, R = 1 to 16, A = 8000, a key of 32
    /// octets 0x20 to 0x3f.
    #[test]
    fn the_first_key_is_what_another_implementation_makes() {
        let secret = Secret::new(b"radius").unwrap();
        let request = std::array::from_fn(|index| u8::try_from(index + 1).unwrap());
        let msk = Msk::new(std::array::from_fn(|index| u8::try_from(index).unwrap()));
        let bytes = accept(&secret, &request, &msk, [0, 1, 0, 0]);
        let packet = Packet::parse(&bytes).unwrap();
        let value = packet.all(Kind::VENDOR_SPECIFIC).next().unwrap();
        let want = "00000137103480006067f7f8acc8d93c40ea7bcd9d4ae332f08d3aac67af616b4dd4c4b54c68e796e488ff693019410942c91138ab32ce7f";
        assert_eq!(data_encoding::HEXLOWER.encode(value), want);
    }

    #[test]
    fn salts_are_marked_and_differ() {
        let secret = Secret::new(b"radius").unwrap();
        for chance in [[0; 4], [0xff; 4], [1, 2, 1, 2]] {
            let bytes = accept(&secret, &[7; 16], &Msk::new([3; 64]), chance);
            let packet = Packet::parse(&bytes).unwrap();
            let salts: Vec<_> = packet.all(Kind::VENDOR_SPECIFIC).map(|value| [value[6], value[7]]).collect();
            assert!(salts.len() == 2 && salts[0] != salts[1] && salts.iter().all(|salt| salt[0] & 0x80 != 0));
        }
    }

    proptest! {
        #[test]
        fn read_inverts_push(request: [u8; 16], halves: [[u8; 32]; 2], chance: [u8; 4]) {
            let secret = Secret::new(b"a secret of 16 b").unwrap();
            let msk = Msk::new(halves.concat().try_into().unwrap());
            let bytes = accept(&secret, &request, &msk, chance);
            let packet = Packet::parse(&bytes).unwrap();
            prop_assert_eq!(Wrapping { secret: &secret, request: &request }.read_keys(&packet), Ok(msk.clone()));
            let other = Secret::new(b"another secret..").unwrap();
            prop_assert_ne!(Wrapping { secret: &other, request: &request }.read_keys(&packet), Ok(msk));
        }

        #[test]
        fn no_value_panics(value in prop::collection::vec(any::<u8>(), 0..253), kind in 15_u8..19) {
            let secret = Secret::new(b"radius").unwrap();
            let mut draft = Draft::new(Code::AccessAccept, 1);
            let length = u8::try_from(value.len().min(200) + 2).unwrap();
            let value = [&[0, 0, 1, 0x37, kind, length][..], &value[..value.len().min(200)]].concat();
            draft.push(Kind::VENDOR_SPECIFIC, &value).unwrap();
            let bytes = draft.emit_response(&secret, &[0; 16]);
            let wrapping = Wrapping { secret: &secret, request: &[0; 16] };
            let _ = wrapping.read_keys(&Packet::parse(&bytes).unwrap());
        }
    }
}
