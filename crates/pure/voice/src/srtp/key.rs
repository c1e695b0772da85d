use super::{Profile, SrtpError};
use std::fmt;
use zeroize::Zeroizing;

/// A master key and its salt, for one direction of one call. It is wiped when dropped, and `Debug` does not show it.
#[derive(Clone)]
pub struct MasterKey {
    profile: Profile,
    /// Key, then salt.
    bytes: Zeroizing<[u8; 46]>,
}

impl MasterKey {
    /// The longest key with its salt.
    pub const LEN_MAX: usize = 46;

    /// Takes a key and a salt of the profile's lengths.
    ///
    /// # Errors
    /// [`SrtpError::KeyLength`].
    pub fn new(profile: Profile, key: &[u8], salt: &[u8]) -> Result<Self, SrtpError> {
        if key.len() != profile.key_len() || salt.len() != profile.salt_len() {
            let (got_key, got_salt) = (key.len(), salt.len());
            let (want_key, want_salt) = (profile.key_len(), profile.salt_len());
            return Err(SrtpError::KeyLength { profile, got_key, got_salt, want_key, want_salt });
        }
        let mut bytes = Zeroizing::new([0; Self::LEN_MAX]);
        bytes[..key.len()].copy_from_slice(key);
        bytes[key.len()..key.len() + salt.len()].copy_from_slice(salt);
        Ok(Self { profile, bytes })
    }

    /// Takes as much as the profile needs from chance that nobody else knows, key first.
    ///
    /// `fresh` must come from a generator for secrets and be used once.
    #[must_use]
    pub fn from_chance(profile: Profile, fresh: &Zeroizing<[u8; Self::LEN_MAX]>) -> Self {
        let mut bytes = fresh.clone();
        bytes[profile.key_len() + profile.salt_len()..].fill(0);
        Self { profile, bytes }
    }

    /// Which ciphers it is for.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// The key without its salt. Secret.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.bytes[..self.profile.key_len()]
    }

    /// The salt. Treated as secret.
    #[must_use]
    pub fn salt(&self) -> &[u8] {
        &self.bytes[self.profile.key_len()..][..self.profile.salt_len()]
    }

    /// Key and salt, as SDES writes them one after the other. Secret.
    pub(crate) fn key_and_salt(&self) -> &[u8] {
        &self.bytes[..self.profile.key_len() + self.profile.salt_len()]
    }
}

impl PartialEq for MasterKey {
    fn eq(&self, other: &Self) -> bool {
        use subtle::ConstantTimeEq as _;
        self.profile == other.profile && bool::from(self.bytes.as_slice().ct_eq(other.bytes.as_slice()))
    }
}

impl Eq for MasterKey {}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({}, ..)", self.profile)
    }
}
