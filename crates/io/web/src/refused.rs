//! Why a request is not answered, and how often that was.

use hyper::StatusCode;
use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request, or a connection, was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// The door, or the peer's part of it, has no room for another connection.
    Connection,
    /// The peer asks too often.
    Rate,
    /// The address is not one of those that may look.
    Peer,
    /// It is for another host, or for none, or is to be passed on.
    Host,
    /// Another page asks.
    Origin,
    /// There is no such method here.
    Method,
    /// What would change something has not the header that a form cannot send, or is no JSON.
    Header,
    /// It is longer than a request may be.
    Length,
    /// It did not arrive in time.
    Slow,
    /// Its body could not be read.
    Body,
    /// There is no session.
    Session,
    /// One may only look here.
    Look,
    /// The link is good no more, or never was.
    Link,
    /// Too many links were wrong.
    Guessed,
    /// There is nothing of that name.
    Unknown,
    /// The provider refused.
    Provider,
    /// The provider did not answer in time.
    Away,
}

impl Refused {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Connection,
        Self::Rate,
        Self::Peer,
        Self::Host,
        Self::Origin,
        Self::Method,
        Self::Header,
        Self::Length,
        Self::Slow,
        Self::Body,
        Self::Session,
        Self::Look,
        Self::Link,
        Self::Guessed,
        Self::Unknown,
        Self::Provider,
        Self::Away,
    ];

    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Connection | Self::Away => StatusCode::SERVICE_UNAVAILABLE,
            Self::Rate | Self::Guessed => StatusCode::TOO_MANY_REQUESTS,
            Self::Host => StatusCode::MISDIRECTED_REQUEST,
            Self::Peer | Self::Origin | Self::Look | Self::Link => StatusCode::FORBIDDEN,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::Header => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Length => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Slow => StatusCode::REQUEST_TIMEOUT,
            Self::Body | Self::Provider => StatusCode::BAD_REQUEST,
            Self::Session => StatusCode::UNAUTHORIZED,
            Self::Unknown => StatusCode::NOT_FOUND,
        }
    }

    /// What is said to a person.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Connection => "Too many connections are open here. Close other pages, and try again.",
            Self::Rate => "These are too many requests at once. Wait a second, and try again.",
            Self::Peer => "This is only for the household, and for its members through their tunnel home.",
            Self::Host => "This page is reached by the home's address, and by no other name.",
            Self::Origin => "Another page asked for this. Only the household's own page may.",
            Self::Method => "This cannot be done with that address.",
            Self::Header => "This was not sent by the household's page.",
            Self::Length => "This request is too long.",
            Self::Slow => "This request did not arrive in time.",
            Self::Body => "This request cannot be read.",
            Self::Session => {
                "There is no session any more. Make a new link on the home's computer: guestright home web --enable"
            }
            Self::Look => {
                "You may look here, and change nothing. To change something, make a link on the home's computer."
            }
            Self::Link => {
                "This link does not work, or not any more. Make a new one on the home's computer: guestright home web --enable"
            }
            Self::Guessed => "Too many links were wrong. Wait a minute, and try again.",
            Self::Unknown => "There is nothing at this address.",
            Self::Provider => "The home refused this.",
            Self::Away => "The home does not answer. Try again.",
        }
    }
}

/// How many requests were answered, and refused for which reason.
#[derive(Debug, Default)]
pub struct Counts {
    answered: AtomicU64,
    refused: [AtomicU64; Refused::ALL.len()],
}

impl Counts {
    pub(crate) fn count(&self, refused: Option<Refused>) {
        let counter = refused.map_or(&self.answered, |refused| &self.refused[refused as usize]);
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Requests that were answered.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Requests and connections that were refused for this reason.
    pub fn refused(&self, why: Refused) -> u64 {
        self.refused[why as usize].load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_counter_of_its_own() {
        let counts = Counts::default();
        for (index, why) in Refused::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, index);
            counts.count(Some(why));
            assert_eq!(counts.refused(why), 1, "{why:?}");
            assert!(why.status().is_client_error() || why.status().is_server_error());
            assert!(why.sentence().ends_with('.') || why.sentence().ends_with("--enable"), "{why:?}");
        }
        assert_eq!(counts.answered(), 0);
    }
}
