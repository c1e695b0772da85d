//! WireGuard's keys: Curve25519 (RFC 7748), 32 bytes, written in base64 (RFC 4648 §4).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;
use x25519_dalek::StaticSecret;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// What a text that should have been a key is told.
const WANT: &str = "a key: 32 bytes in base64, 44 letters";

/// The name of one end of a tunnel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// The secret behind a [`PublicKey`].
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct PrivateKey([u8; 32]);

/// A secret of two peers, mixed into their handshake.
#[derive(Clone, PartialEq, Eq, Zeroize, ZeroizeOnDrop)]
pub struct PresharedKey([u8; 32]);

impl PrivateKey {
    /// The key of these 32 random bytes. They are clamped (RFC 7748 §5), as `wg genkey` does.
    #[must_use]
    pub fn from_random(mut bytes: [u8; 32]) -> Self {
        bytes[0] &= 0xf8;
        bytes[31] = bytes[31] & 0x7f | 0x40;
        let key = Self(bytes);
        bytes.zeroize();
        key
    }

    /// Its public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        PublicKey(x25519_dalek::PublicKey::from(&StaticSecret::from(self.0)).to_bytes())
    }
}

macro_rules! secrets {
    ($($key:ident),+) => {
        $(impl $key {
            /// The secret with these bytes, as they are.
            #[must_use]
            pub fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            /// The secret itself.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }

            /// The secret as it stands in a configuration.
            #[must_use]
            pub fn to_base64(&self) -> Zeroizing<String> {
                Zeroizing::new(STANDARD.encode(self.0))
            }
        })+
    };
}

secrets!(PrivateKey, PresharedKey);

/// 32 bytes from the one base64 text that stands for them.
fn decode(text: &str) -> Result<Zeroizing<[u8; 32]>, &'static str> {
    if text.len() != 44 {
        return Err(WANT);
    }
    let mut bytes = Zeroizing::new([0; 32]);
    // The decoder wants room for what three more letters could have stood for.
    let mut room = Zeroizing::new([0; 33]);
    match STANDARD.decode_slice(text, room.as_mut()) {
        Ok(32) => bytes.copy_from_slice(&room[..32]),
        Ok(_) | Err(_) => return Err(WANT),
    }
    Ok(bytes)
}

impl FromStr for PublicKey {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(*decode(text)?))
    }
}

impl FromStr for PrivateKey {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(*decode(text)?))
    }
}

impl FromStr for PresharedKey {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(*decode(text)?))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey(of {})", self.public())
    }
}

impl fmt::Debug for PresharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PresharedKey(hidden)")
    }
}
