//! What proves who we are, and how it is exchanged while connections are made with it.

use guestright_identity::{Certificate, SecretKey};
use std::sync::{Arc, PoisonError, RwLock};

/// What proves who we are: a certified key.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub key: SecretKey,
    /// The certificate that its team made for it.
    pub certificate: Certificate,
}

/// Credentials whose certificate may be renewed. All clones have the latest; channels that are up do not notice.
#[derive(Clone, Debug)]
pub struct CurrentCredentials(Arc<RwLock<Arc<Credentials>>>);

impl CurrentCredentials {
    /// As they are now.
    pub fn get(&self) -> Arc<Credentials> {
        // Whoever panicked while it was held had replaced all of it or nothing.
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Proves the same key by another certificate from now on.
    pub fn renew(&self, certificate: Certificate) {
        let key = self.get().key.clone();
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Credentials { key, certificate });
    }
}

impl From<Credentials> for CurrentCredentials {
    fn from(credentials: Credentials) -> Self {
        Self(Arc::new(RwLock::new(Arc::new(credentials))))
    }
}
