//! What tells transactions apart.

use crate::{Message, Method, Peer, Via};

/// A transaction that somebody else began (RFC 3261 section 17.2.3). ACK and CANCEL name that of their INVITE.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerKey {
    /// Who has sent the request.
    pub peer: Peer,
    /// The branch in its top Via.
    pub branch: String,
    pub method: Method,
}

impl ServerKey {
    /// The INVITE that this CANCEL or ACK belongs to.
    #[must_use]
    pub fn invite(&self) -> Self {
        Self { method: Method::Invite, ..self.clone() }
    }
}

/// A transaction that we began (RFC 3261 section 17.1.3).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientKey {
    /// The branch in our Via.
    pub branch: String,
    /// The method of the request.
    pub method: Method,
}

impl ClientKey {
    pub(super) fn from_response(response: &Message) -> Option<Self> {
        let branch = Via::parse(response.list("Via").next()?).ok()?.branch()?.to_owned();
        let (_, method) = response.get("CSeq")?.split_once([' ', '\t'])?;
        Some(Self { branch, method: Method::new(method.trim()) })
    }
}
