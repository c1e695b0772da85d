//! What a client and a server share, and the digests that are made with it.

use crate::error::RadiusError;
use hmac::{Hmac, KeyInit as _, Mac as _};
use md5::{Digest as _, Md5};
use std::fmt;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

/// The longest secret; longer ones are mistakes in a file.
const SECRET_BYTES_MAX: usize = 128;

/// A shared secret. RFC 2865, section 3, wants at least 16 octets; [`Secret::new`] refuses only what cannot be one,
/// because whoever configures a stock client may have to use what that has.
#[derive(Clone)]
pub struct Secret(Zeroizing<Vec<u8>>);

impl Secret {
    /// # Errors
    /// If it is empty or very long.
    pub fn new(bytes: &[u8]) -> Result<Self, RadiusError> {
        if bytes.is_empty() || bytes.len() > SECRET_BYTES_MAX {
            return Err(RadiusError::Secret { got: bytes.len(), max: SECRET_BYTES_MAX });
        }
        Ok(Self(Zeroizing::new(bytes.to_vec())))
    }

    /// What is shared inside TLS (RFC 6614, section 2.3), and proves nothing.
    #[must_use]
    pub fn radsec() -> Self {
        Self(Zeroizing::new(b"radsec".to_vec()))
    }

    /// MD5 over the parts and then the secret, as RFC 2865, section 3, and RFC 2866, section 3, make authenticators.
    pub(crate) fn digest(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut digest = Md5::new();
        for part in parts {
            digest.update(part);
        }
        digest.update(&*self.0);
        digest.finalize().into()
    }

    /// MD5 over the secret and then the parts, as RFC 2548, section 2.4.2, makes the key stream.
    pub(crate) fn stream_block(&self, parts: &[&[u8]]) -> Zeroizing<[u8; 16]> {
        let mut digest = Md5::new();
        digest.update(&*self.0);
        for part in parts {
            digest.update(part);
        }
        Zeroizing::new(digest.finalize().into())
    }

    /// HMAC-MD5 over the parts, as RFC 3579, section 3.2, makes Message-Authenticator.
    pub(crate) fn hmac(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut mac = Hmac::<Md5>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

/// Compares in a time that does not depend on where the two differ.
pub(crate) fn equal(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}
