//! Messages written anew for the other side of a call.

use super::call::{Call, Leg};
use super::config::{OUTSIDE, Party};
use super::transaction::{Server, copy};
use super::{Peer, Proxy};
use crate::{Message, Method, NameAddress, Start, Uri};

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

/// The methods that members may use, for Allow.
pub(super) fn allowed() -> String {
    format!("{}, REGISTER", METHODS.join(", "))
}

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
    message.body.is_empty() || fits && !encoded
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
    copy(from, to, &SAME);
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

impl Proxy {
    /// Our step in a message's way to `peer`.
    pub(super) fn via(&self, peer: Peer, branch: &str) -> String {
        match peer {
            Peer::Udp(_) => format!("SIP/2.0/UDP {};branch={branch}", self.own_host()),
            Peer::Tcp(_) => format!("SIP/2.0/TCP {};branch={branch}", self.own_host()),
            Peer::Home(_) => format!("SIP/2.0/TCP {OUTSIDE};branch={branch}"),
        }
    }

    fn own_host(&self) -> String {
        let (gateway, port) = (self.config.gateway, self.config.port);
        std::net::SocketAddr::new(gateway, port).to_string()
    }

    /// How somebody is written to members.
    pub(super) fn inside(&self, user: &str) -> Uri {
        let port = (self.config.port != 5_060).then_some(self.config.port);
        Uri { port, ..Uri::new(user, &self.config.gateway.to_string()) }
    }

    /// Where the other side of a leg is reached: here.
    pub(super) fn contact(&self, leg: &Leg, peer: Peer) -> NameAddress {
        let user = leg.far.uri.user.as_deref().unwrap_or("home");
        let mut uri = match leg.party {
            Party::Member(_) => self.inside(user),
            Party::Home(_) => Uri::new(user, OUTSIDE),
        };
        if matches!(peer, Peer::Tcp(_)) {
            uri.params.push(("transport".to_owned(), Some("tcp".to_owned())));
        }
        NameAddress::new(None, uri)
    }

    /// A request to one leg of a call, from the other one. `tags` are the sender's and the receiver's; it gets this
    /// branch and this number in CSeq.
    pub(super) fn build_request(
        &self,
        method: &Method,
        call: &Call,
        leg: usize,
        (peer, target): (Peer, &Uri),
        tags: (Option<&str>, Option<&str>),
        (branch, sequence): (&str, u32),
    ) -> Message {
        let to = &call.legs[leg];
        let mut message = Message::request(method.clone(), &target.to_string());
        message.push("Via", self.via(peer, branch));
        message.push("From", to.far.tagged(tags.0));
        message.push("To", to.near.tagged(tags.1));
        message.push("Call-ID", &to.call_id);
        message.push("CSeq", format!("{sequence} {method}"));
        if matches!(method, Method::Invite | Method::Update) {
            message.push("Contact", self.contact(to, peer));
        }
        message
    }

    /// Adds to a request what the one that it comes from has said in it.
    pub(super) fn complete_request(
        &self,
        message: &mut Message,
        from: &Message,
        hops: u32,
        body: Option<Vec<u8>>,
    ) {
        message.push("Max-Forwards", hops);
        copy_same(from, message);
        let kind = body_kind(from);
        if let Some(body) = body.filter(|body| !body.is_empty()) {
            message.push("Content-Type", kind);
            message.body = body;
        }
    }

    /// An answer of ours to a request.
    pub(super) fn answer(server: &Server, code: u16, reason: &str) -> Message {
        let mut message = Message::response(code, reason);
        copy(&server.request, &mut message, &["Via", "From"]);
        let to = server.request.get("To").unwrap_or_default();
        let tagged = NameAddress::parse(to).is_ok_and(|to| to.tag().is_some());
        if tagged || code == 100 {
            message.push("To", to);
        } else {
            message.push("To", format!("{to};tag={}", server.tag));
        }
        copy(&server.request, &mut message, &["Call-ID", "CSeq"]);
        message
    }

    /// An answer of the other side, written for this one. `contact` is ours, if it needs one.
    pub(super) fn pass_answer(
        server: &Server,
        response: &Message,
        contact: Option<NameAddress>,
        body: Option<Vec<u8>>,
    ) -> Message {
        let Start::Response { code, reason } = &response.start else { return response.clone() };
        let plain = reason.chars().filter(|letter| !letter.is_control()).take(64).collect::<String>();
        let mut message = Message::response(*code, &plain);
        copy(&server.request, &mut message, &["Via", "From"]);
        let own = server.request.get("To").unwrap_or_default();
        let tag = response
            .get("To")
            .and_then(|to| NameAddress::parse(to).ok())
            .and_then(|to| to.tag().map(str::to_owned));
        match (NameAddress::parse(own), tag) {
            (Ok(own_to), Some(tag)) if own_to.tag().is_none() => {
                message.push("To", own_to.tagged(Some(&tag)))
            }
            _ => message.push("To", own),
        }
        copy(&server.request, &mut message, &["Call-ID", "CSeq"]);
        if let Some(contact) = contact {
            message.push("Contact", contact);
        }
        copy_same(response, &mut message);
        let kind = body_kind(response);
        if let Some(body) = body.filter(|body| !body.is_empty()) {
            message.push("Content-Type", kind);
            message.body = body;
        }
        message
    }

    /// Answers a request ourselves.
    pub(super) fn reply(
        &mut self,
        key: &super::transaction::ServerKey,
        code: u16,
        reason: &str,
        header: Option<(&str, String)>,
        now: guestright_units::Time,
    ) {
        let Some(server) = self.servers.get(key) else { return };
        let mut response = Self::answer(server, code, reason);
        if let Some((name, value)) = header {
            response.push(name, value);
        }
        self.send_response(key, &response, now);
    }
}
