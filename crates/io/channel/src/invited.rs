//! A channel between two who share a secret of 128 bits and nothing else: one invited the other.

use crate::handshake::{in_time, read, write};
use crate::primitives::Primitives;
use crate::{Channel, ChannelError};
use snow::{Builder, HandshakeState};
use tokio::net::TcpStream;
use zeroize::Zeroizing;

/// noiseprotocol.org, revision 34, section 9: both know the secret before the first message, so whoever does not gets no
/// answer, and whoever records everything learns nothing when the secret is known later.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
const INVITED: &[u8] = b"guestright/invite/1";

/// What an invitation is good for: known to the two of them, used once.
pub type InvitationSecret = Zeroizing<[u8; 16]>;

/// Opens a channel to whoever invited us.
///
/// # Errors
/// [`ChannelError`]; [`ChannelError::Noise`] if the other side has another secret.
pub async fn connect_invited(
    mut stream: TcpStream,
    secret: &InvitationSecret,
) -> Result<Channel, ChannelError> {
    let handshake = async {
        let mut noise = begin(secret, true)?;
        write(&mut stream, &mut noise, &[]).await?;
        read(&mut stream, &mut noise).await?;
        Ok(noise)
    };
    let noise = in_time(handshake).await?;
    Ok(Channel::new(stream, noise.into_transport_mode()?))
}

/// Answers somebody who has to have been invited with this secret.
///
/// # Errors
/// [`ChannelError`].
pub async fn accept_invited(
    mut stream: TcpStream,
    secret: &InvitationSecret,
) -> Result<Channel, ChannelError> {
    let handshake = async {
        let mut noise = begin(secret, false)?;
        read(&mut stream, &mut noise).await?;
        write(&mut stream, &mut noise, &[]).await?;
        Ok(noise)
    };
    let noise = in_time(handshake).await?;
    Ok(Channel::new(stream, noise.into_transport_mode()?))
}

fn begin(secret: &InvitationSecret, is_initiator: bool) -> Result<HandshakeState, ChannelError> {
    // Noise wants 32 bytes and hashes them (section 9.2): 128 bits of chance stay 128 bits of chance.
    let mut key = Zeroizing::new([0; 32]);
    key[..16].copy_from_slice(&secret[..]);
    let builder = Builder::with_resolver(PATTERN.parse()?, Box::new(Primitives));
    let builder = builder.prologue(INVITED)?.psk(0, &key)?;
    Ok(if is_initiator { builder.build_initiator()? } else { builder.build_responder()? })
}
