//! TLS without its transport: messages in, messages out, and keys in the end.

use crate::certificate::Certificate;
use crate::outcome::{Reason, Secret, TlsVersion};
use crate::packet::TLS;
use crate::verifier::reason_of;
use rustls::{CertificateError, Error, PeerIncompatible, ProtocolVersion, ServerConnection};
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use zeroize::Zeroizing;

/// What a phone sends if it does not go on (RFC 8446, section 6). As text: a clause for the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert(pub u8);

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number) = *self;
        match number {
            0 | 90 => f.write_str("it has given up, or somebody has cancelled"),
            40 | 70 | 71 => f.write_str("it wants another version of TLS, or other ciphers"),
            42 | 43 | 46 => f.write_str("it does not like the home's certificate"),
            44 => f.write_str("it takes the home's certificate for revoked"),
            45 => f.write_str("the home's certificate has ended, or the phone's clock is wrong"),
            48 => f.write_str("it does not know who made the home's certificate"),
            49 | 116 => f.write_str("it has no certificate to show, or none that fits"),
            _ => write!(f, "alert {number}"),
        }
    }
}

/// What came of a message.
pub(crate) enum Step {
    /// The handshake goes on with this.
    Continue(Vec<u8>),
    /// Both have proven their keys; this is the home's last word, which the phone has to acknowledge.
    Established(Vec<u8>),
    /// The handshake has failed; this is why, as TLS tells the phone. Empty if the phone knows.
    Failed { reason: Reason, alert: Vec<u8> },
}

/// What both ends have in the end.
pub(crate) struct Established {
    pub(crate) certificate: Certificate,
    pub(crate) msk: Secret,
    pub(crate) emsk: Secret,
    pub(crate) session_id: Vec<u8>,
    pub(crate) tls: TlsVersion,
}

#[derive(Debug)]
pub(crate) struct Session {
    tls: ServerConnection,
    /// What both hellos carry, for the name of a conversation in TLS 1.2.
    client_random: Option<[u8; 32]>,
    server_random: Option<[u8; 32]>,
}

impl Session {
    pub(crate) fn new(config: &Arc<rustls::ServerConfig>) -> Self {
        let tls = ServerConnection::new(Arc::clone(config)).expect("a server needs nothing but its settings");
        Self { tls, client_random: None, server_random: None }
    }

    /// A whole message of the phone's.
    pub(crate) fn handle(&mut self, message: &[u8]) -> Step {
        self.client_random = self.client_random.or_else(|| hello_random(message));
        let result = self.read(message);
        let mut output = self.output();
        self.server_random = self.server_random.or_else(|| hello_random(&output));
        match result {
            Err(error) => Step::Failed { reason: reason(&error), alert: output },
            Ok(()) if self.tls.is_handshaking() => Step::Continue(output),
            Ok(()) => {
                if self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
                    // The protected indication of success (RFC 9190, section 2.5).
                    self.tls.writer().write_all(&[0]).expect("a byte fits the buffer");
                    output.extend(self.output());
                }
                Step::Established(output)
            }
        }
    }

    /// Why a message that should have been an acknowledgement was none.
    pub(crate) fn handle_unexpected(&mut self, message: &[u8]) -> Reason {
        self.read(message).map_or_else(|error| reason(&error), |()| Reason::Tls)
    }

    /// Keys, names, and whom they belong to.
    pub(crate) fn established(&self) -> Option<Established> {
        let certificate = Certificate::from_der(self.tls.peer_certificates()?.first()?).ok()?;
        let is_newest = self.tls.protocol_version()? == ProtocolVersion::TLSv1_3;
        let tls = if is_newest { TlsVersion::Tls13 } else { TlsVersion::Tls12 };
        let keys = Zeroizing::new([0_u8; 128]);
        let (keys, session_id) = match tls {
            // RFC 9190, section 2.3.
            TlsVersion::Tls13 => (
                self.export(keys, b"EXPORTER_EAP_TLS_Key_Material", Some(&[TLS]))?,
                self.export(Zeroizing::new([0; 64]), b"EXPORTER_EAP_TLS_Method-Id", Some(&[TLS]))?.to_vec(),
            ),
            // RFC 5216, section 2.3.
            TlsVersion::Tls12 => (
                self.export(keys, b"client EAP encryption", None)?,
                [self.client_random?, self.server_random?].concat(),
            ),
        };
        let (msk, emsk) = keys.split_at(64);
        Some(Established {
            certificate,
            msk: Secret::new(msk.try_into().ok()?),
            emsk: Secret::new(emsk.try_into().ok()?),
            session_id: [&[TLS], &session_id[..]].concat(),
            tls,
        })
    }

    fn export<const N: usize>(
        &self,
        mut out: Zeroizing<[u8; N]>,
        label: &[u8],
        context: Option<&[u8]>,
    ) -> Option<Zeroizing<[u8; N]>> {
        self.tls.export_keying_material(&mut out[..], label, context).ok()?;
        Some(out)
    }

    fn read(&mut self, mut message: &[u8]) -> Result<(), Error> {
        while !message.is_empty() {
            let read = self.tls.read_tls(&mut message);
            // Full, or closed by the phone: in the middle of a handshake that breaks it off.
            if read.map_err(|_| Error::General("more than TLS takes".to_owned()))? == 0 {
                return Err(Error::AlertReceived(rustls::AlertDescription::CloseNotify));
            }
            let state = self.tls.process_new_packets()?;
            if state.plaintext_bytes_to_read() > 0 {
                return Err(Error::General("a phone has nothing to say inside TLS".to_owned()));
            }
        }
        Ok(())
    }

    fn output(&mut self) -> Vec<u8> {
        let mut output = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut output).expect("memory takes every byte");
        }
        output
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "an enum of rustls, which has more variants with each release"
)]
fn reason(error: &Error) -> Reason {
    match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => Reason::WrongKey,
        Error::InvalidCertificate(error) => reason_of(error),
        Error::NoCertificatesPresented
        | Error::PeerIncompatible(PeerIncompatible::NoCertificateRequestSignatureSchemesInCommon) => {
            Reason::NoCertificate
        }
        Error::AlertReceived(alert) => Reason::Alert(Alert(u8::from(*alert))),
        _ => Reason::Tls,
    }
}

/// The random number of a hello, which stands after its kind, length and version (RFC 5246, section 7.4.1). A hello may
/// be cut into several records.
fn hello_random(mut stream: &[u8]) -> Option<[u8; 32]> {
    const HANDSHAKE: u8 = 22;
    let mut handshake = Vec::new();
    while handshake.len() < 38 {
        let ([kind, _, _, high, low], rest) = stream.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (record, rest) = rest.split_at_checked(length).filter(|_| *kind == HANDSHAKE)?;
        handshake.extend_from_slice(record);
        stream = rest;
    }
    matches!(handshake[0], 1 | 2).then(|| handshake[6..38].try_into().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_random_number_in_a_hello_of_several_records() {
        let hello: Vec<u8> = [&[1, 0, 0, 34, 3, 3][..], &[7; 32], &[9; 10]].concat();
        let whole = [&[22, 3, 1, 0, 48][..], &hello].concat();
        let pieces: Vec<u8> = hello
            .chunks(5)
            .flat_map(|piece| [&[22, 3, 1, 0, u8::try_from(piece.len()).unwrap()], piece].concat())
            .collect();
        assert_eq!(hello_random(&whole), Some([7; 32]));
        assert_eq!(hello_random(&pieces), Some([7; 32]));
        assert_eq!(hello_random(&whole[..whole.len() - 1]), None);
        assert_eq!(hello_random(&[&[21][..], &whole[1..]].concat()), None);
        assert_eq!(hello_random(b""), None);
    }
}
