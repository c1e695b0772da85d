//! Messages, the terms in a CACK, and messages on a stream.

use guestright_channel::MessageReader;
use guestright_identity::cose;
use guestright_roaming::message::{
    Acknowledgement, MESSAGE_MAX, Message, MessageError, Outcome, TeamDecision, message_len,
};
use guestright_vectors::actors::{CONSUMER, PROVIDER};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, ReadBuf};

/// The terms of a session, as they come and as a payload that an access point has signed.
pub fn acknowledgement(bytes: &[u8]) {
    for household in [&CONSUMER, &PROVIDER] {
        let (key, certificate) = &household.access_point;
        if let Ok(terms) = Acknowledgement::open(bytes, certificate) {
            assert_eq!(terms.seal(key, certificate), bytes);
        }
        if let Ok(items) = cose::decode(bytes) {
            let encoded = cose::seal(key, "acknowledgement", certificate.digest(), items);
            if let Ok(terms) = Acknowledgement::open(&encoded, certificate) {
                assert_eq!(terms.provider, household.id());
                assert_eq!(terms.seal(key, certificate), encoded, "the same terms in other bytes");
            }
        }
    }
}

/// A message, and its length as a stream would find it.
pub fn message(bytes: &[u8]) {
    let parsed = Message::parse(bytes);
    match message_len(bytes) {
        Ok(None) => assert_eq!(parsed, Err(MessageError::Truncated { got: bytes.len() })),
        Ok(Some(length)) if length > bytes.len() => {
            assert!(length <= MESSAGE_MAX);
            assert_eq!(parsed, Err(MessageError::Truncated { got: bytes.len() }));
        }
        Ok(Some(length)) => {
            let extra = bytes.len() - length;
            assert!(extra == 0 || parsed == Err(MessageError::Trailing { got: extra }));
            let whole = Message::parse(&bytes[..length]);
            assert!(!matches!(whole, Err(MessageError::Truncated { .. } | MessageError::Trailing { .. })));
            // No part of a message looks like another one, or like rubbish.
            for cut in [length / 4, length / 2, length - 1] {
                let seen = message_len(&bytes[..cut]);
                assert!(seen == Ok(None) || seen == Ok(Some(length)), "cut at {cut}: {seen:?}");
            }
        }
        Err(error) => assert_eq!(parsed, Err(error)),
    }
    if let Ok(message) = parsed {
        let emitted = message.emit();
        assert_eq!(message_len(&emitted), Ok(Some(emitted.len())));
        let again = Message::parse(&emitted).expect("our own message");
        assert_eq!(again, as_emitted(message));
        assert_eq!(again.emit(), emitted);
    }
}

/// A reason for people is shortened when it is written; everything else is read back as it was.
fn as_emitted(mut message: Message) -> Message {
    if let Message::Qrsp { reason, .. }
    | Message::Erro { reason, .. }
    | Message::Tryr { reason, .. }
    | Message::SaysOutcome { outcome: Outcome::Failed { reason }, .. }
    | Message::Eapr { decision: Some(TeamDecision { reason, .. }), .. } = &mut message
    {
        let short = reason.chars().take(600).collect::<String>().trim().to_owned();
        *reason = if short.is_empty() { "-".to_owned() } else { short };
    }
    message
}

/// Messages on a stream, which brings them in pieces of any length: the first byte decides which.
pub fn stream(bytes: &[u8]) {
    let Some((&seed, bytes)) = bytes.split_first() else {
        return;
    };
    let measure = |bytes: &[u8]| message_len(bytes).map_err(|error| error.to_string());
    let pieces = Pieces { rest: bytes, state: u32::from(seed), ready: false };
    let mut reader = MessageReader::new(pieces, measure, MESSAGE_MAX);
    let mut rest = bytes;
    loop {
        let want = match message_len(rest) {
            Ok(Some(length)) => rest.split_at_checked(length),
            Ok(None) | Err(_) => None,
        };
        match (wait(reader.receive()), want) {
            (Ok(Some(got)), Some((want, after))) => {
                assert_eq!(got, want);
                rest = after;
            }
            (Ok(None), None) => return assert!(rest.is_empty()),
            (Err(_), None) => {
                assert!(!rest.is_empty() && rest.starts_with(reader.rest()));
                return;
            }
            (got, want) => panic!("read {got:?}, there is {want:?}"),
        }
    }
}

/// A stream that brings a few bytes at a time, and sometimes has to be asked twice.
struct Pieces<'a> {
    rest: &'a [u8],
    state: u32,
    ready: bool,
}

impl AsyncRead for Pieces<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.ready = !self.ready;
        if !self.ready {
            return Poll::Pending;
        }
        // Numerical Recipes' generator: any sequence will do.
        self.state = self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let most = if self.state & 0x1000_0000 == 0 { 1 + (self.state >> 24) } else { 4_096 };
        let length = self.rest.len().min(buffer.remaining()).min(usize::try_from(most).unwrap_or(1));
        let (piece, rest) = self.rest.split_at(length);
        buffer.put_slice(piece);
        self.rest = rest;
        Poll::Ready(Ok(()))
    }
}

/// Asks until there is an answer: nothing here waits for anything outside.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(answer) = future.as_mut().poll(&mut context) {
            return answer;
        }
    }
}
