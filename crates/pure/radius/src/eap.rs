//! As much of EAP as whoever carries it has to know: whose turn it is, and how an end looks (RFC 3748, section 4).

use crate::error::RadiusError;

const REQUEST: u8 = 1;
const RESPONSE: u8 = 2;
const SUCCESS: u8 = 3;
const FAILURE: u8 = 4;

/// Reads what a station has sent, and returns its identifier.
pub(crate) fn read_response(eap: &[u8]) -> Result<u8, RadiusError> {
    match read(eap) {
        Some((RESPONSE, identifier)) if eap.len() > 4 => Ok(identifier),
        _ => Err(RadiusError::Eap),
    }
}

/// Whether it is something that a home asks a station.
pub(crate) fn is_request(eap: &[u8]) -> bool {
    matches!(read(eap), Some((REQUEST, _))) && eap.len() > 4
}

/// Success and Failure carry the identifier of the response that they end (RFC 3748, section 4.2).
pub(crate) fn success(identifier: u8) -> [u8; 4] {
    [SUCCESS, identifier, 0, 4]
}

pub(crate) fn failure(identifier: u8) -> [u8; 4] {
    [FAILURE, identifier, 0, 4]
}

fn read(eap: &[u8]) -> Option<(u8, u8)> {
    let &[code, identifier, high, low] = eap.first_chunk()?;
    (usize::from(u16::from_be_bytes([high, low])) == eap.len()).then_some((code, identifier))
}
