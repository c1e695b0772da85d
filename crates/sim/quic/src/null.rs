//! A cryptographic session without cryptography: the handshake's messages and lengths, and no keys.
//!
//! The exchange is TLS 1.3's with a raw Ed25519 key and no client certificate (RFC 8446, section 2; RFC 7250; RFC 9001,
//! section 4), message by message: ClientHello; ServerHello, then EncryptedExtensions, Certificate, CertificateVerify and
//! Finished in one; the client's Finished. Each is a type, a length of three bytes, and a body that begins with the transport
//! parameters where there are any, and is filled up with zeros to what the real one would have.

use bytes::{Buf, BytesMut};
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;
use std::sync::Arc;

/// Of AES-128-GCM and all other ciphers of QUIC (RFC 9001, section 5.3).
const TAG: usize = 16;
/// RFC 9001, section 5.4.2.
const SAMPLE: usize = 16;
/// A packet with more is not one of ours.
const MESSAGE_MAX: usize = 4_096;

/// A message of the handshake, and its usual length without transport parameters, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    /// One key share of X25519, three suites, ALPN, a server name.
    ClientHello,
    /// With a key share of X25519.
    ServerHello,
    /// EncryptedExtensions 20, Certificate (a raw key) 57, CertificateVerify 72, Finished 36.
    ServerFlight,
    /// The client's.
    Finished,
}

impl Message {
    const fn code(self) -> u8 {
        match self {
            Self::ClientHello => 1,
            Self::ServerHello => 2,
            Self::ServerFlight => 8,
            Self::Finished => 20,
        }
    }

    const fn usual_length(self) -> usize {
        match self {
            Self::ClientHello => 200,
            Self::ServerHello => 122,
            Self::ServerFlight => 185,
            Self::Finished => 36,
        }
    }

    /// With the four bytes of type and length, which are part of the usual length.
    fn write(self, parameters: Option<&TransportParameters>, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        if let Some(parameters) = parameters {
            parameters.write(&mut body);
        }
        let parameter_bytes = u16::try_from(body.len()).expect("transport parameters are some 100 bytes");
        let filler = self.usual_length() - 6;
        let length = u32::try_from(2 + body.len() + filler).expect("less than 2^16 and a little");
        let [_, length @ ..] = length.to_be_bytes();
        out.push(self.code());
        out.extend_from_slice(&length);
        out.extend_from_slice(&parameter_bytes.to_be_bytes());
        out.extend_from_slice(&body);
        out.resize(out.len() + filler, 0);
    }
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Write(Message),
    /// The keys of the handshake, without a message.
    HandshakeKeys,
    Read(Message),
    Done,
}

/// One side of a handshake, and of the connection after it.
struct NullSession {
    side: Side,
    own: TransportParameters,
    peer: Option<TransportParameters>,
    step: Step,
    read: Vec<u8>,
}

impl NullSession {
    fn new(side: Side, own: TransportParameters) -> Self {
        let step = match side {
            Side::Client => Step::Write(Message::ClientHello),
            Side::Server => Step::Read(Message::ClientHello),
        };
        Self { side, own, peer: None, step, read: Vec::new() }
    }

    /// The next whole message in what was read, without its type and length.
    fn pop_message(&mut self, want: Message) -> Result<Option<Vec<u8>>, TransportError> {
        let [code, length @ ..] = match self.read.first_chunk::<4>() {
            Some(start) => *start,
            None => return Ok(None),
        };
        let length = usize::from(length[0]) << 16 | usize::from(length[1]) << 8 | usize::from(length[2]);
        if code != want.code() || length > MESSAGE_MAX {
            return Err(broken("not the message that comes next"));
        }
        if self.read.len() < 4 + length {
            return Ok(None);
        }
        let rest = self.read.split_off(4 + length);
        let mut message = std::mem::replace(&mut self.read, rest);
        Ok(Some(message.split_off(4)))
    }

    fn read_parameters(&mut self, message: &[u8]) -> Result<(), TransportError> {
        let mut message = message;
        if message.len() < 2 {
            return Err(broken("a message without transport parameters"));
        }
        let length = usize::from(message.get_u16());
        let Some(mut encoded) = message.get(..length) else {
            return Err(broken("transport parameters longer than their message"));
        };
        if length > 0 {
            self.peer = Some(TransportParameters::read(self.side, &mut encoded)?);
        }
        Ok(())
    }

    const fn after_reading(message: Message) -> Step {
        match message {
            Message::ClientHello => Step::Write(Message::ServerHello),
            Message::ServerHello => Step::HandshakeKeys,
            Message::ServerFlight => Step::Write(Message::Finished),
            Message::Finished => Step::Done,
        }
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _dst_cid: &ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.read.extend_from_slice(buf);
        if self.read.len() > 2 * MESSAGE_MAX {
            return Err(broken("more than a handshake"));
        }
        while let Step::Read(want) = self.step
            && let Some(message) = self.pop_message(want)?
        {
            self.read_parameters(&message)?;
            self.step = Self::after_reading(want);
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match self.step {
            Step::Write(message) => {
                let has_parameters = matches!(message, Message::ClientHello | Message::ServerFlight);
                message.write(has_parameters.then_some(&self.own), buf);
                self.step = match message {
                    Message::ClientHello => Step::Read(Message::ServerHello),
                    Message::ServerHello => Step::Write(Message::ServerFlight),
                    Message::ServerFlight => Step::Read(Message::Finished),
                    Message::Finished => Step::Done,
                };
                (message != Message::ClientHello).then(keys)
            }
            Step::HandshakeKeys => {
                self.step = Step::Read(Message::ServerFlight);
                Some(keys())
            }
            Step::Read(_) | Step::Done => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }

    fn is_valid_retry(&self, _orig_dst_cid: &ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Starts sessions of either side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NullCrypto;

impl ClientConfig for NullCrypto {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(NullSession::new(Side::Client, *params)))
    }
}

impl ServerConfig for NullCrypto {
    fn initial_keys(&self, _version: u32, _dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: &ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::new(Side::Server, *params))
    }
}

/// Leaves everything as it is, and puts zeros where the tag would be.
#[derive(Clone, Copy, Debug)]
struct NullKey;

impl PacketKey for NullKey {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for NullKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        SAMPLE
    }
}

/// PROTOCOL_VIOLATION (RFC 9000, section 20.1).
fn broken(reason: &str) -> TransportError {
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason: reason.to_owned() }
}

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) },
        packet: KeyPair { local: Box::new(NullKey), remote: Box::new(NullKey) },
    }
}
