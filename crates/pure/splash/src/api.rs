//! The API of RFC 8908: how a guest stands, for its system.

use crate::guest::{Guest, Standing, Trial};
use crate::settings::Secured;
use serde::Serialize;

/// Its route; behind it may stand `/` and the token of a lease.
pub(crate) const PATH: &str = "/api";
pub(crate) const CONTENT_TYPE: &str = "application/captive+json";

/// RFC 8908 section 5. What a guest that is not online has not got is left out.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
struct State {
    captive: bool,
    user_portal_url: String,
    venue_info_url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_remaining: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_remaining: Option<u64>,
    can_extend_session: bool,
}

pub(crate) fn state(guest: &Guest, secured: &Secured) -> String {
    let page = format!("{}/", secured.origin());
    let served = match &guest.standing {
        Standing::Served { left, .. } => Some(*left),
        Standing::Stranger
        | Standing::Welcome { .. }
        | Standing::Refused { .. }
        | Standing::HomeAway
        | Standing::Undecided
        | Standing::Closed => None,
    };
    let (seconds_remaining, left) = match (served, guest.trial) {
        (Some(left), _) => (None, left),
        (None, Trial::Running { left, seconds_left }) => (Some(seconds_left), Some(left)),
        (None, Trial::Closed | Trial::Offered(_) | Trial::UsedUp) => (None, None),
    };
    let state = State {
        captive: !guest.is_online(),
        user_portal_url: page.clone(),
        venue_info_url: page,
        seconds_remaining,
        bytes_remaining: left.map(|left| left.0),
        // Nothing in the page makes a session longer that has begun.
        can_extend_session: false,
    };
    serde_json::to_string(&state).expect("strings and numbers can be written")
}
