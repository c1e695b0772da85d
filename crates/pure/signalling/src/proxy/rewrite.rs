//! Messages written anew for the other side of a call.

use super::call::{Leg, Route};
use super::context::Context;
use super::report::{REPORT, REPORT_MAX};
use crate::peer::{Party, Peer};
use crate::sdp::SdpError;
use crate::{Message, Method, NameAddress, Start, Uri};
use guestright_identity::KeyId;
use std::net::{IpAddr, SocketAddr};

/// Headers that mean the same on both sides and tell of nobody's network. Everything else stays where it is.
const SAME: [&str; 12] = [
    "Accept",
    "Accept-Language",
    "Expires",
    "Min-SE",
    "Session-Expires",
    "Priority",
    "Reason",
    "RSeq",
    "RAck",
    "Retry-After",
    "Subject",
    "Timestamp",
];
/// Extensions that work through a home (RFC 3262, RFC 4028).
const EXTENSIONS: [&str; 2] = ["100rel", "timer"];
/// What may be asked for in a call.
const METHODS: [&str; 8] = ["INVITE", "ACK", "BYE", "CANCEL", "OPTIONS", "UPDATE", "PRACK", "INFO"];
/// How many homes a request may pass.
const HOPS: u32 = 70;
/// Homes that the home's own requests may pass: none but the next.
pub(super) const OWN_HOPS: u32 = 2;

/// The methods that members may use, for Allow.
pub(super) fn allowed() -> String {
    format!("{}, REGISTER, {PUBLISH}", METHODS.join(", "))
}

/// How a telephone says something of itself (RFC 3903): to its home, and no further.
pub(super) const PUBLISH: &str = "PUBLISH";

/// A session description's type.
pub(super) const SDP: &str = "application/sdp";
/// Bodies in INFO: keys that were pressed, and nothing else.
const DIGITS: [&str; 2] = ["application/dtmf-relay", "application/dtmf"];

/// What kind of body a message has, in lower case and without parameters.
pub(super) fn body_kind(message: &Message) -> String {
    let kind = message.get("Content-Type").unwrap_or_default().split(';').next().unwrap_or_default();
    kind.trim().to_ascii_lowercase()
}

/// Whether a body may be forwarded.
pub(super) fn is_carried(message: &Message, method: &Method) -> bool {
    let kind = body_kind(message);
    let encoded =
        message.get("Content-Encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"));
    let fits = kind == SDP
        || *method == Method::Info && DIGITS.contains(&kind.as_str()) && message.body.len() <= 256;
    let is_report =
        *method == Method::Other(PUBLISH.to_owned()) && kind == REPORT && message.body.len() <= REPORT_MAX;
    message.body.is_empty() || (fits || is_report) && !encoded
}

/// Extensions that a request insists on and that do not work through a home.
pub(super) fn unsupported(request: &Message) -> Option<String> {
    let known = |word: &&str| EXTENSIONS.iter().any(|each| word.eq_ignore_ascii_case(each));
    let required = request.list("Require").filter(|word| !known(word));
    let words: Vec<&str> = required.chain(request.list("Proxy-Require")).collect();
    if words.is_empty() { None } else { Some(words.join(", ")) }
}

/// What may follow in a header of a message to the other side.
fn copy_same(from: &Message, to: &mut Message) {
    to.copy_headers(from, &SAME);
    for name in ["Supported", "Require", "Unsupported"] {
        let words =
            from.list(name).filter(|word| EXTENSIONS.iter().any(|each| word.eq_ignore_ascii_case(each)));
        let words: Vec<&str> = words.collect();
        if !words.is_empty() {
            to.push(name, words.join(", "));
        }
    }
    let methods: Vec<&str> = from.list("Allow").filter(|method| METHODS.contains(method)).collect();
    if !methods.is_empty() {
        to.push("Allow", methods.join(", "));
    }
    for warning in from.values("Warning") {
        // Code, who says so, and text in quotes: who is a host of theirs.
        let mut words = warning.splitn(3, ' ');
        if let (Some(code), Some(_), Some(text)) = (words.next(), words.next(), words.next())
            && code.len() == 3
            && code.bytes().all(|byte| byte.is_ascii_digit())
            && text.len() <= 256
            && text.starts_with('"')
            && text.ends_with('"')
        {
            to.push("Warning", format!("{code} home {text}"));
        }
    }
}

/// How many homes a request may still pass; `None` if it has passed too many.
pub(super) fn hops(request: &Message) -> Option<u32> {
    let left = request.get("Max-Forwards").and_then(crate::message::decimal).unwrap_or(HOPS);
    left.min(HOPS).checked_sub(1)
}

/// The host in URIs between homes; no name in the DNS can be it (RFC 6761 section 6.4).
const OUTSIDE: &str = "home.invalid";

/// How somebody is written between homes: by its key.
pub(super) fn outside(key: KeyId) -> NameAddress {
    NameAddress::new(None, Uri::new(&key.to_string(), OUTSIDE))
}

/// A message, and who gets it.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) peer: Peer,
    pub(super) message: Message,
}

/// A response of ours: its code, its reason phrase, and headers that belong to it.
#[derive(Debug)]
pub(super) struct Answer {
    code: u16,
    reason: &'static str,
    headers: Vec<(&'static str, String)>,
}

impl Answer {
    pub(super) fn new(code: u16, reason: &'static str) -> Self {
        Self { code, reason, headers: Vec::new() }
    }

    pub(super) fn with(mut self, name: &'static str, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    /// 503, with the time after which a call may be tried again.
    pub(super) fn too_many_calls() -> Self {
        Self::new(503, "Too Many Calls").with("Retry-After", "30".to_owned())
    }

    /// No room on the air for one more call: where the caller is (503, RFC 3261 section 21.5.4), or where the callee is (486).
    pub(super) fn no_room(at_caller: bool) -> Self {
        let warning = |whose: &str| {
            format!(
                "399 home \"one more call would break those at {whose} access point; try again when one has ended\""
            )
        };
        if at_caller {
            Self::new(503, "No Room For A Call")
                .with("Warning", warning("your"))
                .with("Retry-After", "30".to_owned())
        } else {
            Self::new(486, "Busy Here").with("Warning", warning("the other person's"))
        }
    }

    /// 488, with what is wrong with a session description in Warning (RFC 3261 section 20.43).
    pub(super) fn not_acceptable(error: &SdpError) -> Self {
        let code = match error {
            SdpError::Malformed(_) => 399,
            SdpError::NoAudio => 304,
            SdpError::Unprotected | SdpError::NoKey | SdpError::OtherProtection { .. } => 302,
        };
        Self::new(488, "Not Acceptable Here").with("Warning", format!("{code} home \"{error}\""))
    }
}

/// The tags of a request within a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tags<'a> {
    /// The sender's.
    pub(super) from: Option<&'a str>,
    /// The receiver's.
    pub(super) to: Option<&'a str>,
}

/// A request to one leg of a call, from the other one.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) leg: &'a Leg,
    pub(super) route: &'a Route,
    pub(super) tags: Tags<'a>,
    pub(super) branch: &'a str,
    /// The number in CSeq.
    pub(super) sequence: u32,
}

/// Writes messages in the home's own name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rewriter {
    gateway: IpAddr,
    port: u16,
}

impl Rewriter {
    /// A home at this address in its members' network.
    pub(super) fn new(gateway: IpAddr, port: u16) -> Self {
        Self { gateway, port }
    }

    /// Our step in a message's way to `peer`.
    pub(super) fn via(&self, peer: Peer, branch: &str) -> String {
        let own = SocketAddr::new(self.gateway, self.port);
        match peer {
            Peer::Udp(_) => format!("SIP/2.0/UDP {own};branch={branch}"),
            Peer::Tcp(_) => format!("SIP/2.0/TCP {own};branch={branch}"),
            Peer::Home(_) => format!("SIP/2.0/TCP {OUTSIDE};branch={branch}"),
        }
    }

    /// How somebody is written to members.
    pub(super) fn inside(&self, user: &str) -> Uri {
        let port = (self.port != 5_060).then_some(self.port);
        Uri { port, ..Uri::new(user, &self.gateway.to_string()) }
    }

    /// Where the other side of a leg is reached: here.
    pub(super) fn contact(&self, leg: &Leg, peer: Peer) -> NameAddress {
        let user = leg.remote.uri.user.as_deref().unwrap_or("home");
        let mut uri = match leg.party {
            Party::Member(_) => self.inside(user),
            Party::Home(_) => Uri::new(user, OUTSIDE),
        };
        if matches!(peer, Peer::Tcp(_)) {
            uri.params.push(("transport".to_owned(), Some("tcp".to_owned())));
        }
        NameAddress::new(None, uri)
    }

    /// The beginning of a request, with nothing in it that comes from the other side.
    pub(super) fn build_request(&self, new: NewRequest<'_>) -> Outgoing {
        let NewRequest { method, leg, route, tags, branch, sequence } = new;
        let mut message = Message::request(method.clone(), &route.target.to_string());
        message.push("Via", self.via(route.peer, branch));
        message.push("From", leg.remote.tagged(tags.from));
        message.push("To", leg.local.tagged(tags.to));
        message.push("Call-ID", &leg.call_id);
        message.push("CSeq", format!("{sequence} {method}"));
        if matches!(method, Method::Invite | Method::Update) {
            message.push("Contact", self.contact(leg, route.peer));
        }
        Outgoing { peer: route.peer, message }
    }
}

/// Adds to a request what the one that it comes from has said in it.
pub(super) fn complete_request(message: &mut Message, from: &Message, hops: u32, body: Vec<u8>) {
    message.push("Max-Forwards", hops);
    copy_same(from, message);
    push_body(message, from, body);
}

/// A response of ours to a request.
pub(super) fn build_response(context: &Context, answer: &Answer) -> Message {
    let Answer { code, reason, headers } = answer;
    let mut message = Message::response(*code, reason);
    message.copy_headers(&context.request, &["Via", "From"]);
    let to = context.request.get("To").unwrap_or_default();
    let tagged = NameAddress::parse(to).is_ok_and(|to| to.tag().is_some());
    if tagged || *code == 100 {
        message.push("To", to);
    } else {
        message.push("To", format!("{to};tag={}", context.tag));
    }
    message.copy_headers(&context.request, &["Call-ID", "CSeq"]);
    for (name, value) in headers {
        message.push(name, value);
    }
    message
}

/// A response of the other side, written for this one. `contact` is ours, if it needs one.
pub(super) fn rewrite_response(
    context: &Context,
    response: &Message,
    contact: Option<NameAddress>,
    body: Vec<u8>,
) -> Message {
    let Start::Response { code, reason } = &response.start else { return response.clone() };
    let plain = reason.chars().filter(|letter| !letter.is_control()).take(64).collect::<String>();
    let mut message = Message::response(*code, &plain);
    message.copy_headers(&context.request, &["Via", "From"]);
    let own = context.request.get("To").unwrap_or_default();
    let tag = response
        .get("To")
        .and_then(|to| NameAddress::parse(to).ok())
        .and_then(|to| to.tag().map(str::to_owned));
    match (NameAddress::parse(own), tag) {
        (Ok(own_to), Some(tag)) if own_to.tag().is_none() => message.push("To", own_to.tagged(Some(&tag))),
        _ => message.push("To", own),
    }
    message.copy_headers(&context.request, &["Call-ID", "CSeq"]);
    if let Some(contact) = contact {
        message.push("Contact", contact);
    }
    copy_same(response, &mut message);
    push_body(&mut message, response, body);
    message
}

/// A body of the kind that `from` has.
fn push_body(message: &mut Message, from: &Message, body: Vec<u8>) {
    if !body.is_empty() {
        message.push("Content-Type", body_kind(from));
        message.body = body;
    }
}

/// A request in the dialog that an answer has made, though nobody wants that dialog: ACK or BYE to a telephone that
/// has accepted too late.
pub(super) fn build_stray(invite: &Message, response: &Message, method: &Method, sequence: u32) -> Message {
    let contact = response.list("Contact").next().and_then(|text| NameAddress::parse(text).ok());
    let own = match &invite.start {
        Start::Request { uri, .. } => uri.clone(),
        Start::Response { .. } => String::new(),
    };
    let target = contact.map_or(own, |contact| contact.uri.to_string());
    let mut message = Message::request(method.clone(), &target);
    message.copy_headers(invite, &["From"]);
    let tag = response
        .get("To")
        .and_then(|to| NameAddress::parse(to).ok())
        .and_then(|to| to.tag().map(str::to_owned));
    if let Some(to) = invite.get("To").and_then(|to| NameAddress::parse(to).ok()) {
        let tag = to.tag().map(str::to_owned).or(tag);
        message.push("To", to.tagged(tag.as_deref()));
    }
    message.copy_headers(invite, &["Call-ID"]);
    message.push("CSeq", format!("{sequence} {method}"));
    message.push("Max-Forwards", OWN_HOPS);
    message
}
