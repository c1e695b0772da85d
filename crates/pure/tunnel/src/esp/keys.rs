//! The secrets of one direction of an association.

use std::fmt;

use thiserror::Error;
use zeroize::Zeroizing;

use super::suite::Suite;

/// A suite and its keys, wiped when dropped and never printed.
#[derive(Clone)]
pub struct Keys {
    suite: Suite,
    encryption: Zeroizing<Vec<u8>>,
    authentication: Zeroizing<Vec<u8>>,
}

/// Keys that a suite cannot use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The encryption key (with the salt, where the suite has one) has another length.
    #[error(
        "the encryption key of {suite} is {got} bytes long, expected {want} (with the salt, if it has one)"
    )]
    EncryptionLength {
        /// Whose keys they were to be.
        suite: Suite,
        /// Bytes given.
        got: usize,
        /// Bytes needed.
        want: usize,
    },
    /// The authentication key has another length.
    #[error("the authentication key of {suite} is {got} bytes long, expected {want}")]
    AuthenticationLength {
        /// Whose keys they were to be.
        suite: Suite,
        /// Bytes given.
        got: usize,
        /// Bytes needed.
        want: usize,
    },
    /// Two neighbouring thirds of a triple DES key are equal, so that it is single DES (RFC 2451, section 2.3).
    #[error("that triple DES key is no stronger than single DES: make a new one")]
    Weak,
}

impl Keys {
    /// Takes keys of exactly the lengths that the suite wants.
    ///
    /// # Errors
    /// [`KeyError`] if a length is wrong, or a triple DES key is single DES.
    pub fn new(suite: Suite, encryption: &[u8], authentication: &[u8]) -> Result<Self, KeyError> {
        let (got, want) = (encryption.len(), suite.encryption_key_len());
        if got != want {
            return Err(KeyError::EncryptionLength { suite, got, want });
        }
        let (got, want) = (authentication.len(), suite.authentication_key_len());
        if got != want {
            return Err(KeyError::AuthenticationLength { suite, got, want });
        }
        if suite == Suite::TripleDesCbcHmacSha1 && is_single_des(encryption) {
            return Err(KeyError::Weak);
        }
        let [encryption, authentication] =
            [encryption, authentication].map(|key| Zeroizing::new(key.to_vec()));
        Ok(Self { suite, encryption, authentication })
    }

    /// The suite that they are for.
    #[must_use]
    pub fn suite(&self) -> Suite {
        self.suite
    }

    /// The encryption key, with the salt at its end where the suite has one.
    #[must_use]
    pub fn encryption(&self) -> &[u8] {
        &self.encryption
    }

    /// The authentication key; empty where encryption authenticates too.
    #[must_use]
    pub fn authentication(&self) -> &[u8] {
        &self.authentication
    }
}

/// The lowest bit of each byte is parity, which the cipher ignores (FIPS 46-3).
fn is_single_des(key: &[u8]) -> bool {
    let third = |at: usize| key.iter().skip(at * 8).take(8).map(|byte| byte >> 1);
    third(0).eq(third(1)) || third(1).eq(third(2))
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keys").field("suite", &self.suite).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_only_the_lengths_of_the_suite() {
        for suite in Suite::ALL {
            let want = (suite.encryption_key_len(), suite.authentication_key_len());
            for encryption in 0..48 {
                for authentication in 0..24 {
                    let key: Vec<u8> = (0..48).collect();
                    let keys = Keys::new(suite, &key[..encryption], &key[..authentication]);
                    assert_eq!(keys.is_ok(), (encryption, authentication) == want, "{suite}");
                }
            }
        }
    }

    #[test]
    fn refuses_triple_des_that_is_single_des() {
        let mut key = [7; 24];
        key[..8].fill(8);
        let keys = Keys::new(Suite::TripleDesCbcHmacSha1, &key, &[0; 20]);
        assert_eq!(keys.map(|_| ()), Err(KeyError::Weak));
        key[8..16].fill(9); // Only the parity differs from the first third.
        let keys = Keys::new(Suite::TripleDesCbcHmacSha1, &key, &[0; 20]);
        assert_eq!(keys.map(|_| ()), Err(KeyError::Weak));
    }

    #[test]
    fn does_not_print_secrets() {
        let keys = Keys::new(Suite::Aes128CbcHmacMd5, &[0xab; 16], &[0xcd; 16]).unwrap();
        assert_eq!(format!("{keys:?}"), "Keys { suite: Aes128CbcHmacMd5, .. }");
    }
}
