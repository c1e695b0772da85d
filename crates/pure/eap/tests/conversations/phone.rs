//! A phone: rustls as a client, and as much EAP as a phone knows.

use crate::world::{NOW, REALM};
use guestright_eap::{Certificate, Credential, Fragment, Inbound, Method, Outbound, Packet, PrivateKey};
use guestright_units::UnixSeconds;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use rustls::{AlertDescription, ClientConfig, ClientConnection, Error, ProtocolVersion, RootCertStore};
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use rustls::version::{TLS12, TLS13};
pub(crate) type Version = &'static rustls::SupportedProtocolVersion;

pub(crate) struct Phone {
    tls: ClientConnection,
    inbound: Inbound,
    outbound: Outbound,
    pub(crate) packet_bytes_max: usize,
    /// The last request and what was answered to it (RFC 3748, section 4.1).
    last: Option<(u8, Vec<u8>)>,
    pub(crate) succeeded: bool,
    pub(crate) failed: bool,
    /// What TLS did not like, here or there.
    pub(crate) error: Option<Error>,
    /// What came inside TLS.
    pub(crate) received: Vec<u8>,
    started: bool,
}

#[derive(Debug)]
struct Clock(UnixSeconds);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0.0)))
    }
}

impl Phone {
    /// A phone that trusts this authority, and shows this certificate, or none.
    pub(crate) fn new(version: Version, authority: &Certificate, own: Option<&Credential>) -> Self {
        Self::with_server_name(version, authority, own, &format!("home.{REALM}"))
    }

    pub(crate) fn with_server_name(
        version: Version,
        authority: &Certificate,
        own: Option<&Credential>,
        server_name: &str,
    ) -> Self {
        let own = own.map(|own| (own.certificate.as_der().to_vec(), &own.key));
        Self::build(version, authority, own, server_name)
    }

    /// A phone that shows these bytes as its certificate, whatever its key is.
    pub(crate) fn with_chain(
        version: Version,
        authority: &Certificate,
        der: Vec<u8>,
        key: &PrivateKey,
    ) -> Self {
        Self::build(version, authority, Some((der, key)), &format!("home.{REALM}"))
    }

    fn build(
        version: Version,
        authority: &Certificate,
        own: Option<(Vec<u8>, &PrivateKey)>,
        server_name: &str,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(authority.as_der().to_vec())).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_details(provider, Arc::new(Clock(NOW)))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match own {
            None => builder.with_no_client_auth(),
            Some((der, key)) => {
                let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.to_der().to_vec()));
                let key = rustls::crypto::ring::sign::any_ecdsa_type(&key).unwrap();
                let shown = CertifiedKey::new(vec![CertificateDer::from(der)], key);
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown)))
            }
        };
        config.resumption = Resumption::in_memory_sessions(4);
        let name = ServerName::try_from(server_name.to_owned()).unwrap();
        Self {
            tls: ClientConnection::new(Arc::new(config), name).unwrap(),
            inbound: Inbound::new(65_535),
            outbound: Outbound::default(),
            packet_bytes_max: 1_020,
            last: None,
            succeeded: false,
            failed: false,
            error: None,
            received: Vec::new(),
            started: false,
        }
    }

    pub(crate) fn identify(&self) -> Vec<u8> {
        let identity = format!("anonymous@{REALM}");
        Packet::Response { identifier: 9, method: Method::Identity(identity.as_bytes()) }.emit()
    }

    /// Answers a packet; not the last one.
    pub(crate) fn handle(&mut self, packet: &[u8]) -> Option<Vec<u8>> {
        match Packet::parse(packet).unwrap() {
            Packet::Success { .. } => self.succeeded = true,
            Packet::Failure { .. } => self.failed = true,
            Packet::Response { .. } => panic!("a home sends no response"),
            Packet::Request { identifier, method } => {
                if let Some((last, response)) = &self.last
                    && *last == identifier
                {
                    return Some(response.clone());
                }
                let Method::Tls(fragment) = method else { panic!("not asked for {method:?}") };
                let answer = self.answer(&fragment);
                let response = Packet::Response { identifier, method: Method::Tls(answer.borrow()) }.emit();
                assert!(response.len() <= self.packet_bytes_max);
                self.last = Some((identifier, response.clone()));
                return Some(response);
            }
        }
        None
    }

    fn answer(&mut self, fragment: &Fragment<'_>) -> OwnedFragment {
        if fragment.start {
            assert!(!std::mem::replace(&mut self.started, true), "it is asked to begin once");
            self.outbound = Outbound::new(self.output());
        } else if !fragment.is_acknowledgement() {
            let Some(message) = self.inbound.push(fragment).unwrap() else {
                return OwnedFragment::of(&Fragment::ACKNOWLEDGEMENT);
            };
            self.read(&message);
            self.outbound = Outbound::new(self.output());
        }
        if self.outbound.is_empty() {
            return OwnedFragment::of(&Fragment::ACKNOWLEDGEMENT);
        }
        OwnedFragment::of(&self.outbound.next(self.packet_bytes_max))
    }

    fn read(&mut self, mut message: &[u8]) {
        while !message.is_empty() {
            self.tls.read_tls(&mut message).unwrap();
            match self.tls.process_new_packets() {
                Err(error) => {
                    self.error = Some(error);
                    return;
                }
                Ok(state) => {
                    let mut bytes = vec![0; state.plaintext_bytes_to_read()];
                    self.tls.reader().read_exact(&mut bytes).unwrap();
                    self.received.extend(bytes);
                }
            }
        }
    }

    fn output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut output).unwrap();
        }
        output
    }

    /// MSK, then EMSK, as RFC 9190, section 2.3, and RFC 5216, section 2.3, have them.
    pub(crate) fn keys(&self) -> [u8; 128] {
        let (label, context) = match self.tls.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => ("EXPORTER_EAP_TLS_Key_Material", Some(&[13_u8][..])),
            _ => ("client EAP encryption", None),
        };
        self.tls.export_keying_material([0; 128], label.as_bytes(), context).unwrap()
    }

    pub(crate) fn alert(&self) -> Option<AlertDescription> {
        match self.error {
            Some(Error::AlertReceived(alert)) => Some(alert),
            _ => None,
        }
    }
}

/// A fragment with bytes of its own.
struct OwnedFragment {
    more: bool,
    total: Option<u32>,
    bytes: Vec<u8>,
}

impl OwnedFragment {
    fn of(fragment: &Fragment<'_>) -> Self {
        Self { more: fragment.more, total: fragment.total, bytes: fragment.bytes.to_vec() }
    }

    fn borrow(&self) -> Fragment<'_> {
        Fragment { start: false, more: self.more, total: self.total, bytes: &self.bytes }
    }
}
