//! What quinn draws from the computer's entropy unless it is told otherwise: connection ids, reset tokens, address tokens.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};
use quinn_proto::{ConnectionId, ConnectionIdGenerator, TimeSource};
use std::time::{Duration, SystemTime};

/// quinn's length of a connection id.
const LENGTH: usize = 8;

/// Connection ids one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    next: u64,
}

impl Numbered {
    /// The first is `first`; two ends of a connection start far from each other.
    pub(crate) const fn new(first: u64) -> Self {
        Self { next: first }
    }

    pub(crate) fn next_id(&mut self) -> ConnectionId {
        let id = ConnectionId::new(&self.next.to_be_bytes());
        self.next = self.next.wrapping_add(1);
        id
    }
}

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next_id()
    }

    fn cid_len(&self) -> usize {
        LENGTH
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The token of a stateless reset is the connection id it resets, over and over. Nobody resets anything here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repeated;

impl HmacKey for Repeated {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        for (out, byte) in signature_out.iter_mut().zip(data.iter().cycle()) {
            *out = *byte;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut want = [0; 32];
        self.sign(data, &mut want);
        if signature == want { Ok(()) } else { Err(CryptoError) }
    }
}

/// No token of an address is given out, and none is taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for NoTokens {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Err(CryptoError)
    }

    fn open<'a>(&self, _data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Err(CryptoError)
    }
}

impl TimeSource for NoTokens {
    /// The date matters to tokens only.
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}
