use super::keystream::{Reading, Writing};
use super::{Config, Keystream, Mac};
use guestright_boat::SealError;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// `K_i` has 128 bits.
pub(super) const KEY_BYTES: usize = 16;
/// `K_i`, wiped when it goes.
pub(super) type SessionKeyBytes = Zeroizing<[u8; KEY_BYTES]>;
/// At the end of each packet.
pub(super) const TAG: usize = 16;
/// A key protects at most so many bytes (of keystream, where packets have places in it).
pub(super) const KEY_BYTES_MAX: u64 = 1 << 20;

/// What a key does for the side that receives, and as much as both need.
struct Keyed {
    mac: Mac,
    mac_key: Zeroizing<[u8; KEY_BYTES]>,
}

impl Keyed {
    fn new(key: &SessionKeyBytes, mac: Mac) -> Self {
        let derived = Md5::new().chain_update(b"MAC").chain_update(**key).finalize();
        Self { mac, mac_key: Zeroizing::new(derived.into()) }
    }

    fn hmac(&self, sealed: &[u8]) -> [u8; TAG] {
        let mut mac = Hmac::<Md5>::new_from_slice(&*self.mac_key).expect("HMAC takes keys of any length");
        mac.update(sealed);
        mac.finalize().into_bytes().into()
    }
}

/// A key with which we send.
pub(super) struct Sending {
    keyed: Keyed,
    keystream: Writing,
    /// The key bit of the packets.
    pub(super) bit: bool,
    used: u64,
}

impl Sending {
    /// `base`: the sequence number of the INSTALL that brought it.
    pub(super) fn new(key: &SessionKeyBytes, bit: bool, base: u16, config: &Config) -> Self {
        Self { keyed: Keyed::new(key, config.mac), keystream: Writing::new(key, base, config), bit, used: 0 }
    }

    /// Whether a packet of `length` bytes, its MAC included, may still be protected.
    ///
    /// # Errors
    /// Why not.
    pub(super) fn check(&self, length: usize, config: &Config) -> Result<(), SealError> {
        if config.keystream == Keystream::Seekable && length > usize::from(config.slot) {
            return Err(SealError::Unsealable("longer than a slot of the keystream"));
        }
        let used = self.used + u64::try_from(length).unwrap_or(u64::MAX);
        let is_worn_out =
            used > KEY_BYTES_MAX || self.keystream.position() > KEY_BYTES_MAX - u64::from(config.slot);
        if is_worn_out { Err(SealError::WornOut) } else { Ok(()) }
    }

    /// Encrypts `packet`, and appends its MAC (Algorithm 1).
    pub(super) fn protect(&mut self, sequence: u16, packet: &mut Vec<u8>, from: usize) {
        match self.keyed.mac {
            Mac::EncryptedDigest => {
                let digest = Md5::digest(&packet[from..]);
                packet.extend_from_slice(&digest);
                self.keystream.apply(sequence, &mut packet[from..]);
            }
            Mac::Hmac => {
                self.keystream.apply(sequence, &mut packet[from..]);
                let tag = self.keyed.hmac(&packet[from..]);
                packet.extend_from_slice(&tag);
            }
        }
        self.used += u64::try_from(packet.len() - from).unwrap_or(u64::MAX);
    }
}

/// A key with which we receive.
pub(super) struct Receiving {
    keyed: Keyed,
    keystream: Reading,
    /// The key bit of its packets, once it is in use.
    pub(super) bit: bool,
    pub(super) phase: u32,
}

impl Receiving {
    pub(super) fn new(key: &SessionKeyBytes, phase: u32, base: u16, config: &Config) -> Self {
        Self {
            keyed: Keyed::new(key, config.mac),
            keystream: Reading::new(key, base, config),
            bit: false,
            phase,
        }
    }

    /// Decrypts `sealed` (without the first three bytes) and checks its MAC; `None` if it does not fit.
    pub(super) fn unprotect(&mut self, sequence: u16, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let body = sealed.len().checked_sub(TAG)?;
        let hidden = match self.keyed.mac {
            Mac::EncryptedDigest => sealed,
            Mac::Hmac => {
                let is_right: bool = self.keyed.hmac(&sealed[..body]).ct_eq(&sealed[body..]).into();
                if !is_right {
                    return None;
                }
                &sealed[..body]
            }
        };
        let mut plain = Zeroizing::new(hidden.to_vec());
        self.keystream.peek(sequence, &mut plain)?;
        if self.keyed.mac == Mac::EncryptedDigest {
            let is_right: bool = Md5::digest(&plain[..body]).as_slice().ct_eq(&plain[body..]).into();
            if !is_right {
                return None;
            }
            plain.truncate(body);
        }
        self.keystream.advance(sequence, hidden.len());
        Some(plain)
    }
}

impl fmt::Debug for Sending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending").field("bit", &self.bit).field("used", &self.used).finish_non_exhaustive()
    }
}

impl fmt::Debug for Receiving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving")
            .field("bit", &self.bit)
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}
