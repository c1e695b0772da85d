//! Messages of TLS in pieces (RFC 5216, section 2.1.5).

use crate::packet::Fragment;
use thiserror::Error;

/// A piece that does not continue what came before it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FragmentError {
    #[error("a first piece does not say how long its message is")]
    NoTotal,
    #[error("a piece that is not the last one is empty")]
    Empty,
    #[error("a message of {got} bytes is longer than {max}")]
    Long { got: usize, max: usize },
    #[error("a message of {want} bytes has {got}")]
    Total { got: usize, want: usize },
    #[error("only a home asks to begin")]
    Start,
}

/// A message that comes in pieces.
#[derive(Clone, Debug)]
pub struct Inbound {
    bytes_max: usize,
    bytes: Vec<u8>,
    /// How long the message becomes; none between two messages.
    total: Option<usize>,
}

impl Inbound {
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: Vec::new(), total: None }
    }

    /// Adds a piece; returns the message when it is whole.
    ///
    /// # Errors
    /// If the piece does not fit. It is left out, and the message waits for another one.
    pub fn push(&mut self, fragment: &Fragment<'_>) -> Result<Option<Vec<u8>>, FragmentError> {
        if fragment.start {
            return Err(FragmentError::Start);
        }
        if fragment.more && fragment.bytes.is_empty() {
            return Err(FragmentError::Empty);
        }
        let stated = fragment.total.map(|total| usize::try_from(total).unwrap_or(usize::MAX));
        let got = self.bytes.len() + fragment.bytes.len();
        let want = match (self.total, stated) {
            (None, None) if fragment.more => return Err(FragmentError::NoTotal),
            (None, None) => got,
            (None, Some(total)) => total,
            // Some phones repeat the length in each piece.
            (Some(total), None) => total,
            (Some(total), Some(stated)) if stated == total => total,
            (Some(want), Some(got)) => return Err(FragmentError::Total { got, want }),
        };
        if want > self.bytes_max {
            return Err(FragmentError::Long { got: want, max: self.bytes_max });
        }
        if got > want || (got == want) == fragment.more {
            return Err(FragmentError::Total { got, want });
        }
        self.bytes.extend_from_slice(fragment.bytes);
        self.total = fragment.more.then_some(want);
        Ok((!fragment.more).then(|| std::mem::take(&mut self.bytes)))
    }
}

/// A message that goes out in pieces, each of which is acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Outbound {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outbound {
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, sent: 0 }
    }

    /// Whether all of it is out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// The next piece, for a packet of at most `packet_bytes_max` bytes.
    pub fn next(&mut self, packet_bytes_max: usize) -> Fragment<'_> {
        /// Code, identifier, length, method, flags.
        const HEADER_BYTES: usize = 6;
        const TOTAL_BYTES: usize = 4;

        let left = self.bytes.len() - self.sent;
        let room = packet_bytes_max.saturating_sub(HEADER_BYTES).max(TOTAL_BYTES + 1);
        let total = (self.sent == 0 && left > room)
            .then(|| u32::try_from(self.bytes.len()).expect("a message is short"));
        let room = if total.is_some() { room - TOTAL_BYTES } else { room };
        let start = self.sent;
        self.sent += left.min(room);
        Fragment { start: false, more: left > room, total, bytes: &self.bytes[start..self.sent] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Method, Packet};
    use proptest::prelude::*;

    fn piece(more: bool, total: Option<u32>, bytes: &[u8]) -> Fragment<'_> {
        Fragment { start: false, more, total, bytes }
    }

    proptest! {
        #[test]
        fn what_goes_out_in_pieces_comes_in_whole(bytes in prop::collection::vec(0_u8.., 0..5_000), mtu in 11_usize..1_500) {
            let mut outbound = Outbound::new(bytes.clone());
            let mut inbound = Inbound::new(65_535);
            let mut rounds = 0;
            loop {
                let fragment = outbound.next(mtu);
                let method = Method::Tls(fragment);
                let packet = Packet::Request { identifier: 1, method }.emit();
                prop_assert!(packet.len() <= mtu);
                rounds += 1;
                match inbound.push(&fragment).unwrap() {
                    None => prop_assert!(!outbound.is_empty()),
                    Some(whole) => {
                        prop_assert_eq!(whole, bytes.clone());
                        prop_assert!(outbound.is_empty());
                        break;
                    }
                }
            }
            prop_assert!(rounds <= (bytes.len() + 4) / (mtu - 6) + 1);
        }
    }

    #[test]
    fn a_piece_that_does_not_fit_changes_nothing() {
        let mut inbound = Inbound::new(10);
        #[rustfmt::skip]
        let first = [
            (piece(true, None, b"abc"),                 FragmentError::NoTotal),
            (piece(true, Some(4), b""),                 FragmentError::Empty),
            (piece(true, Some(11), b"abc"),             FragmentError::Long { got: 11, max: 10 }),
            (piece(true, Some(u32::MAX), b"abc"),       FragmentError::Long { got: 0xffff_ffff, max: 10 }),
            (piece(false, None, b"abcdefghijk"),        FragmentError::Long { got: 11, max: 10 }),
            (piece(false, Some(4), b"abc"),             FragmentError::Total { got: 3, want: 4 }),
            (piece(true, Some(3), b"abc"),              FragmentError::Total { got: 3, want: 3 }),
            (Fragment::START,                           FragmentError::Start),
        ];
        for (fragment, error) in first {
            assert_eq!(inbound.push(&fragment), Err(error));
        }
        assert_eq!(inbound.push(&piece(true, Some(6), b"abc")), Ok(None));
        #[rustfmt::skip]
        let second = [
            (piece(true, Some(7), b"d"),                FragmentError::Total { got: 7, want: 6 }),
            (piece(true, None, b"defg"),                FragmentError::Total { got: 7, want: 6 }),
            (piece(false, None, b"de"),                 FragmentError::Total { got: 5, want: 6 }),
            (piece(false, None, b""),                   FragmentError::Total { got: 3, want: 6 }),
        ];
        for (fragment, error) in second {
            assert_eq!(inbound.push(&fragment), Err(error));
        }
        assert_eq!(inbound.push(&piece(true, Some(6), b"de")), Ok(None));
        assert_eq!(inbound.push(&piece(false, None, b"f")), Ok(Some(b"abcdef".to_vec())));
        assert_eq!(inbound.push(&piece(false, Some(2), b"gh")), Ok(Some(b"gh".to_vec())));
    }
}
