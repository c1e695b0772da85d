//! Noise XX in which both sides prove a certificate: of their common team, or of a home of any.

use crate::primitives::Primitives;
use crate::{Channel, ChannelError, Credentials};
use guestright_identity::{Certificate, IdentityError, KeyId, Role, Signature};
use guestright_units::{TeamId, UnixSeconds};
use snow::{Builder, HandshakeState};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// How long a handshake may take.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

const PATTERN: &str = "Noise_XX_25519_ChaChaPoly_SHA256";
/// Between programs of one team.
const TEAM: &[u8] = b"guestright/channel/1";
/// Between homes of any teams.
const HOMES: &[u8] = b"guestright/link/1";
/// No handshake message is longer: a certificate, a signature and three keys.
const HANDSHAKE_MAX: usize = 2_048;

/// The peer that is wanted.
#[derive(Clone, Copy, Debug)]
enum Want {
    /// A program of this team.
    Team(TeamId),
    /// A home of whatever team, with this key if one is named.
    Home(Option<KeyId>),
    /// A home of this team.
    HomeOf(TeamId),
}

impl Want {
    /// What keeps channels and links apart: neither can be taken for the other.
    fn prologue(self) -> &'static [u8] {
        match self {
            Self::Team(_) => TEAM,
            Self::Home(_) | Self::HomeOf(_) => HOMES,
        }
    }

    fn check(self, certificate: &Certificate) -> Result<(), ChannelError> {
        match self {
            Self::Team(want) | Self::HomeOf(want) if certificate.team_id() != want => {
                let (got, want) = (certificate.team_id().short(), want.short());
                Err(ChannelError::OtherTeam { got, want })
            }
            Self::Home(Some(want)) if certificate.subject_id() != want => {
                let (got, want) = (certificate.subject_id().to_string(), want.to_string());
                Err(ChannelError::OtherHome { got, want })
            }
            Self::Home(_) | Self::HomeOf(_) if certificate.role() != Role::Home => {
                Err(IdentityError::WrongRole { got: certificate.role(), want: Role::Home }.into())
            }
            Self::Team(_) | Self::Home(_) | Self::HomeOf(_) => Ok(()),
        }
    }
}

/// A channel, and the certificate that the peer has proved; or why there is none.
pub type Secured = Result<(Channel, Certificate), ChannelError>;

/// Opens a channel to a program of team `want`.
///
/// # Errors
/// [`ChannelError`].
pub async fn connect(
    stream: TcpStream,
    credentials: &Credentials,
    want: TeamId,
    now: UnixSeconds,
) -> Secured {
    initiate(stream, credentials, Want::Team(want), now).await
}

/// Answers a program that must be of team `want`.
///
/// # Errors
/// [`ChannelError`].
pub async fn accept(stream: TcpStream, credentials: &Credentials, want: TeamId, now: UnixSeconds) -> Secured {
    respond(stream, credentials, Want::Team(want), now).await
}

/// Opens a link from home to home, whatever the other one's team. With `want`, it has to have that key.
///
/// # Errors
/// [`ChannelError`].
pub async fn connect_home(
    stream: TcpStream,
    credentials: &Credentials,
    want: Option<KeyId>,
    now: UnixSeconds,
) -> Secured {
    initiate(stream, credentials, Want::Home(want), now).await
}

/// Opens a link to a home of team `want`. Another home is not shown who we are.
///
/// # Errors
/// [`ChannelError`].
pub async fn connect_home_of(
    stream: TcpStream,
    credentials: &Credentials,
    want: TeamId,
    now: UnixSeconds,
) -> Secured {
    initiate(stream, credentials, Want::HomeOf(want), now).await
}

/// Answers another home, whatever its team.
///
/// # Errors
/// [`ChannelError`].
pub async fn accept_home(stream: TcpStream, credentials: &Credentials, now: UnixSeconds) -> Secured {
    respond(stream, credentials, Want::Home(None), now).await
}

async fn initiate(mut stream: TcpStream, credentials: &Credentials, want: Want, now: UnixSeconds) -> Secured {
    let handshake = async {
        let (mut noise, own) = begin(credentials, want.prologue(), true)?;
        write(&mut stream, &mut noise, &[]).await?;
        let answer = read(&mut stream, &mut noise).await?;
        let peer = check(&answer, &noise, want, now)?;
        write(&mut stream, &mut noise, &own).await?;
        Ok((noise, peer))
    };
    let (noise, peer) = in_time(handshake).await?;
    Ok((Channel::new(stream, noise.into_transport_mode()?), peer))
}

async fn respond(mut stream: TcpStream, credentials: &Credentials, want: Want, now: UnixSeconds) -> Secured {
    let handshake = async {
        let (mut noise, own) = begin(credentials, want.prologue(), false)?;
        read(&mut stream, &mut noise).await?;
        write(&mut stream, &mut noise, &own).await?;
        let answer = read(&mut stream, &mut noise).await?;
        let peer = check(&answer, &noise, want, now)?;
        Ok((noise, peer))
    };
    let (noise, peer) = in_time(handshake).await?;
    Ok((Channel::new(stream, noise.into_transport_mode()?), peer))
}

pub(crate) async fn in_time<T>(
    handshake: impl Future<Output = Result<T, ChannelError>>,
) -> Result<T, ChannelError> {
    tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await.unwrap_or(Err(ChannelError::Timeout))
}

/// A fresh Noise key, and what proves that it is ours: the certificate and a signature of the key.
fn begin(
    credentials: &Credentials,
    prologue: &[u8],
    initiator: bool,
) -> Result<(HandshakeState, Vec<u8>), ChannelError> {
    let builder = Builder::with_resolver(PATTERN.parse()?, Box::new(Primitives)).prologue(prologue)?;
    let pair = builder.generate_keypair()?;
    let private = Zeroizing::new(pair.private);
    let builder = builder.local_private_key(&private)?;
    let noise = if initiator { builder.build_initiator()? } else { builder.build_responder()? };
    let certificate = credentials.certificate.as_bytes();
    let length = u16::try_from(certificate.len()).expect("a certificate has at most 1024 bytes");
    let signature = credentials.key.sign(&signed(prologue, &pair.public));
    Ok((noise, [&length.to_be_bytes(), certificate, &signature.0].concat()))
}

fn signed(prologue: &[u8], noise_key: &[u8]) -> Vec<u8> {
    [prologue, noise_key].concat()
}

fn check(
    proof: &[u8],
    noise: &HandshakeState,
    want: Want,
    now: UnixSeconds,
) -> Result<Certificate, ChannelError> {
    let malformed = || IdentityError::Malformed("the proof of a channel is a certificate and a signature");
    let (length, rest) = proof.split_first_chunk::<2>().ok_or_else(malformed)?;
    let length = usize::from(u16::from_be_bytes(*length));
    let (certificate, signature) = rest.split_at_checked(length).ok_or_else(malformed)?;
    let certificate = Certificate::parse(certificate)?;
    want.check(&certificate)?;
    let noise_key = noise.get_remote_static().ok_or_else(malformed)?;
    certificate.subject().verify(&signed(want.prologue(), noise_key), &Signature(signature.to_vec()))?;
    // Last, so that it is said of nobody but the peer itself.
    certificate.check(certificate.role(), now).map_err(|reason| ChannelError::NotNow {
        role: certificate.role(),
        key: certificate.subject_id().to_string().chars().take(8).collect(),
        reason,
    })?;
    Ok(certificate)
}

pub(crate) async fn write(
    stream: &mut TcpStream,
    noise: &mut HandshakeState,
    payload: &[u8],
) -> Result<(), ChannelError> {
    let mut message = vec![0; HANDSHAKE_MAX];
    let length = noise.write_message(payload, &mut message)?;
    let header = u16::try_from(length).expect("a handshake message has at most 2048 bytes").to_be_bytes();
    stream.write_all(&[&header, &message[..length]].concat()).await?;
    Ok(())
}

pub(crate) async fn read(
    stream: &mut TcpStream,
    noise: &mut HandshakeState,
) -> Result<Vec<u8>, ChannelError> {
    let length = usize::from(stream.read_u16().await?);
    if length > HANDSHAKE_MAX {
        return Err(ChannelError::TooLong { max: HANDSHAKE_MAX });
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message).await?;
    let mut payload = vec![0; length];
    let length = noise.read_message(&message, &mut payload)?;
    payload.truncate(length);
    Ok(payload)
}
