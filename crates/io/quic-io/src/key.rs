//! Who a receiver is: a raw Ed25519 key (RFC 7250), made for one run.

use crate::error::QuicIoError;
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use thiserror::Error as ThisError;

/// What comes before an Ed25519 public key in its SubjectPublicKeyInfo (RFC 8410, section 4).
const SPKI_START: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What comes before an Ed25519 private key in PKCS #8 (RFC 8410, section 7).
const PKCS8_START: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// What both ends call what they speak (ALPN, RFC 7301).
const PROTOCOL: &[u8] = b"guestright-voice-measurement";

/// The public key of a receiver, which a sender must know to call it. As text: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ServerKey(pub [u8; 32]);

/// Text that is no key of a receiver.
#[derive(Clone, Copy, Debug, ThisError, PartialEq, Eq)]
#[error("a receiver's key is 64 hexadecimal digits; this text has {got} characters")]
pub struct ParseServerKeyError {
    /// How many characters the text has.
    pub got: usize,
}

impl fmt::Display for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        HEXLOWER.encode_write(&self.0, f)
    }
}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerKey({self})")
    }
}

impl FromStr for ServerKey {
    type Err = ParseServerKeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = ParseServerKeyError { got: text.chars().count() };
        if text.len() != 64 {
            return Err(refused);
        }
        let mut key = [0; 32];
        HEXLOWER_PERMISSIVE.decode_mut(text.as_bytes(), &mut key).map_err(|_| refused)?;
        Ok(Self(key))
    }
}

fn refused(reason: impl fmt::Display) -> QuicIoError {
    QuicIoError::Keys { reason: reason.to_string() }
}

/// A receiver's side of TLS, with a new key.
pub(crate) fn server() -> Result<(Arc<QuicServerConfig>, ServerKey), QuicIoError> {
    let provider = Arc::new(ring::default_provider());
    let mut private = [0; 48];
    private[..16].copy_from_slice(&PKCS8_START);
    provider.secure_random.fill(&mut private[16..]).map_err(|_| refused("the system has no entropy"))?;
    let signing = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(&private[..])).map_err(refused)?;
    let public = signing.public_key().ok_or_else(|| refused("a key without a public one"))?;
    let key = public.strip_prefix(&SPKI_START[..]).and_then(|key| key.try_into().ok());
    let key = ServerKey(key.ok_or_else(|| refused("a public key that is not Ed25519"))?);
    let certified = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], signing);
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(certified))));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok((Arc::new(QuicServerConfig::try_from(config).map_err(refused)?), key))
}

/// A sender's side of TLS, for the receiver with this key.
pub(crate) fn client(key: ServerKey) -> Result<Arc<QuicClientConfig>, QuicIoError> {
    let provider = Arc::new(ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(refused)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { key, provider }))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(Arc::new(QuicClientConfig::try_from(config).map_err(refused)?))
}

/// Takes one raw public key and no other.
#[derive(Debug)]
struct Pinned {
    key: ServerKey,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // Public on both sides: no need for a comparison in constant time.
        if end_entity.strip_prefix(&SPKI_START[..]) == Some(&self.key.0[..]) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::InvalidCertificate(CertificateError::UnknownIssuer))
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("QUIC has TLS 1.3".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(&cert[..]),
            dss,
            algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_inverts_display() {
        let (_, key) = server().unwrap();
        assert_eq!(key.to_string().parse(), Ok(key));
        assert_eq!("zz".repeat(32).parse::<ServerKey>(), Err(ParseServerKeyError { got: 64 }));
        assert_eq!("ab".parse::<ServerKey>(), Err(ParseServerKeyError { got: 2 }));
    }

    #[test]
    fn every_receiver_has_a_key_of_its_own() {
        assert_ne!(server().unwrap().1, server().unwrap().1);
    }
}
