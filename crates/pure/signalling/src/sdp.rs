//! What a home makes of session descriptions (RFC 8866, RFC 3264): it understands the one stream that it carries, and
//! writes the description again in its own name. The text itself is read and written by [`guestright_wire::sdp`].

mod stream;

pub use guestright_wire::sdp::{Description, Direction};
pub use stream::{
    Keys, LocalMedia, MediaPorts, Mode, Network, Ports, RemoteMedia, Secret, read_media, rewrite_description,
};

use guestright_wire::sdp::{self, Connection, Limits, OwnedField};
use thiserror::Error;

/// How much of a description is read. The lines are those after `v=` and `o=`, and these two.
const LIMITS: Limits = Limits { bytes_max: 8 * 1_024, lines_max: 2 + 256, media_max: 8 };

/// Why a description is refused. The text goes to the caller, in a Warning.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SdpError {
    #[error("the session description is not understood: {0}")]
    Malformed(&'static str),
    #[error("nothing but RTP audio is carried, and none is offered")]
    NoAudio,
    /// Somebody wants voice between homes in the clear.
    #[error("voice between homes has to be protected")]
    Unprotected,
    /// The other home does not know our way to protect it.
    #[error("the other home offers no key for AEAD_AES_128_GCM")]
    NoKey,
    /// A call that was protected one way is to be protected another way.
    #[error("the call is protected {was}, and stays so: {now} is refused")]
    OtherProtection {
        /// As agreed on.
        was: Mode,
        /// As asked for.
        now: Mode,
    },
}

impl From<sdp::SdpError> for SdpError {
    fn from(error: sdp::SdpError) -> Self {
        Self::Malformed(error.reason())
    }
}

/// Reads a description from a member or from another home.
///
/// # Errors
/// [`SdpError::Malformed`].
pub fn parse_description(bytes: &[u8]) -> Result<Description, SdpError> {
    Ok(Description::parse(bytes, &LIMITS)?)
}

/// The addresses that a description names, as written, longest first.
pub(crate) fn named_addresses(description: &Description) -> Vec<&str> {
    let streams = description.media.iter().flat_map(|media| &media.lines);
    let all = description.lines.iter().chain(streams);
    let connections = all.filter_map(connection).map(|connection| connection.address);
    let mut found: Vec<&str> = connections.chain([description.origin.address.as_str()]).collect();
    found.sort_by_key(|address| std::cmp::Reverse(address.len()));
    found.dedup();
    found
}

/// What a `c=` line says.
fn connection(field: &OwnedField) -> Option<Connection<'_>> {
    if field.kind == 'c' { Connection::parse(&field.value) } else { None }
}

#[cfg(test)]
mod tests;
