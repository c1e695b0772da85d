//! The messages of the protocol: text around the signed bytes.
//!
//! Names and roles of the seven methods are the authors' (remembered, see the design note); the header profile,
//! `P2PWNC/3.0`, ERRO, RNEW, EAPQ, EAPR, TRYQ, TRYR, ASKS and SAYS are ours.

mod acknowledgement;
mod error;
mod frame;
mod inquiry;

use crate::message::frame::Frame;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guestright_directory::Address;
use guestright_identity::Certificate;
use guestright_radius::relay;
use guestright_receipt::{Bundle, HoldId, HoldUse};
use guestright_reciprocity::ServiceClass;
use guestright_units::{Bytes, TeamId, UnixSeconds};
use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

pub use acknowledgement::Acknowledgement;
pub use error::MessageError;
pub use frame::{BODY_MAX, HEADER_BLOCK_MAX, HEADERS_MAX, MESSAGE_MAX, START_LINE_MAX, message_len};
pub use inquiry::{BlockedDevices, Device, GuestId, Inquiry, Outcome};

/// A number that the asker chose and the answer repeats.
pub type Reference = u64;

/// Sixteen bytes that a visitor never used before.
pub type Nonce = [u8; 16];

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Visitor to access point: open a session, or in an open session: look at these receipts.
    Conn {
        certificate: Box<Certificate>,
        /// What the answer must repeat.
        nonce: Nonce,
        /// Whether it signs receipts that name holds.
        holds: bool,
        /// Receipts to be shown.
        bundle: Bundle,
    },
    /// Access point to visitor: granted.
    Cack {
        /// The access point's certificate.
        certificate: Box<Certificate>,
        /// The terms, signed; see [`Acknowledgement::open`].
        acknowledgement: Vec<u8>,
        /// Where the provider's home awaits other homes. Whoever is there has to prove which team it is.
        home: Option<Address>,
    },
    /// Access point to visitor: sign for so much.
    Rreq {
        /// When the session began.
        started: UnixSeconds,
        /// Bytes so far, both ways.
        weight: Bytes,
        /// The hold that is to be named, and how many of them were served on it.
        hold: Option<HoldUse>,
        /// Whether the session is over.
        last: bool,
    },
    /// Access point to the home of a visitor that has nothing but a tunnel: ask me for service in its place, and sign.
    RreqTunnel {
        /// The port from which the home sees the tunnel's datagrams come, at the address that asks.
        port: NonZeroU16,
        /// The session that goes on over this connection, if the one before was lost.
        started: Option<UnixSeconds>,
    },
    /// A receipt or more, from whoever has them to whoever needs them.
    Rcpt {
        /// Present between programs of one team.
        reference: Option<Reference>,
        /// Where the home of the one provider awaits other homes, as its access point said.
        home: Option<Address>,
        bundle: Bundle,
    },
    /// Access point to its team server: how should this visitor be served?
    Quer {
        /// To be repeated in the answer.
        reference: Reference,
        certificate: Box<Certificate>,
        /// How much is asked for. In a session, nothing means that the session is over.
        request: Bytes,
        /// The session that goes on, if it has begun; then the bundle is its latest receipt.
        session: Option<InSession>,
        /// Whether the visitor signs receipts that name holds.
        holds: bool,
        /// Receipts that the visitor showed.
        bundle: Bundle,
    },
    /// Team server to its access point: the decision.
    Qrsp {
        /// From the question.
        reference: Reference,
        /// The class, or nothing if service is refused.
        grant: Option<ServiceClass>,
        /// How much more may be carried; nothing: as much as there is. Without a class, in a session: what was granted before is
        /// withdrawn.
        volume: Option<Volume>,
        /// Where the team's home awaits other homes.
        home: Option<Address>,
        /// Indirect normalised debt, per mille, where one was computed.
        ind: Option<u16>,
        /// Seconds for which the decision holds.
        valid_for: u32,
        /// One sentence for a person.
        reason: String,
    },
    /// To the own team server: send receipts that show what others owe us. The answer is a RCPT. With `stored` set
    /// it is the answer to a RCPT: so many receipts are durable, so many were refused.
    Updt {
        /// To be repeated in the answer, or repeated from the question.
        reference: Reference,
        /// What is asked or answered.
        what: Update,
    },
    /// To the own team server: renew my certificate, the one that the channel has proved. And its answer. Who is refused gets
    /// an ERRO with the reference.
    Rnew {
        /// To be repeated in the answer.
        reference: Reference,
        /// The renewed certificate, in the answer.
        certificate: Option<Box<Certificate>>,
    },
    /// Access point to its team server: ask the home of this team, for a device that wants to join the Wi-Fi.
    Eapq {
        /// To be repeated in the answer.
        reference: Reference,
        /// Whose member the device says that it is. It may be the own team.
        team: TeamId,
        question: Box<relay::Question>,
    },
    /// Team server to its access point: what that home says.
    Eapr {
        /// From the question.
        reference: Reference,
        /// With an accept, and with nothing else: whether a session of the team may begin here.
        decision: Option<TeamDecision>,
        answer: Box<relay::Answer>,
    },
    /// Access point to its team server: how much of what is given away may a station have that nobody signs for?
    Tryq {
        /// To be repeated in the answer, and when the trial is over.
        reference: Reference,
        /// Nothing: it is over, and there is no answer.
        request: Bytes,
        /// How much of what was granted was not carried.
        unused: Bytes,
    },
    /// Team server to its access point: so much.
    Tryr {
        /// From the question.
        reference: Reference,
        granted: Bytes,
        /// One sentence for a person.
        reason: String,
    },
    /// Team server to its access point: what do you know that the household wants to see, or do what it wants.
    Asks {
        /// To be repeated in the answer.
        reference: Reference,
        /// The newest form of the answer that the asker reads.
        version: u8,
        what: Inquiry,
    },
    /// Access point to its team server: the answer.
    Says {
        /// From the question.
        reference: Reference,
        /// The answer's form: the newest that both know.
        version: u8,
        /// In this form, by `pure/overview`.
        answer: Vec<u8>,
    },
    /// Access point to its team server: whether it has done what an ASKS was about.
    SaysOutcome {
        /// From the question.
        reference: Reference,
        /// The answer's form: the newest that both know.
        version: u8,
        outcome: Outcome,
    },
    /// Something was refused, or the session is over.
    Erro {
        /// From the question, between programs of one team.
        reference: Option<Reference>,
        code: Code,
        /// One sentence for a person.
        reason: String,
    },
}

/// The household's word about a team whose home has accepted a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamDecision {
    pub granted: bool,
    /// One sentence for a person.
    pub reason: String,
}

/// Where a session stands that is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InSession {
    pub started: UnixSeconds,
    /// How much the access point may still carry in it. Answers get lost, so it says so itself.
    pub left: Bytes,
    /// How much it has carried that is not signed for.
    pub unpaid: Bytes,
}

/// How much an access point may carry for a visitor, beyond what it was allowed before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// On what the household gives away.
    pub allowance: Bytes,
    /// On credit that is reserved: each hold, and for how many bytes. They are used in this order, before the allowance.
    pub holds: Vec<HoldUse>,
    /// Who stands between the provider and the visitor's team on the debts that the holds are of, for the person who asks
    /// why; nobody, if the one owes the other itself.
    pub between: Vec<TeamId>,
}

impl Volume {
    /// Less than this may be too little for a packet: two of the longest that a kernel forwards in one piece, segments that it
    /// has joined. What does not fit into what is left is dropped.
    pub const MIN: Bytes = Bytes(2 * 65_536);
    /// How many holds there may be.
    pub const HOLDS_MAX: usize = 8;
    /// How many teams may stand between.
    pub const BETWEEN_MAX: usize = 8;

    /// Of what the household gives away.
    pub fn of_allowance(allowance: Bytes) -> Self {
        Self { allowance, ..Self::default() }
    }

    /// All of it.
    pub fn total(&self) -> Bytes {
        self.holds.iter().fold(self.allowance, |sum, hold| sum.saturating_add(hold.weight))
    }

    fn parse(frame: &Frame<'_>) -> Result<Option<Self>, MessageError> {
        let Some(allowance) = frame.optional("Volume")? else { return Ok(None) };
        let wrong = |why: &str| MessageError::Header { name: "Holds", why: why.to_owned() };
        let texts = frame.text("Holds").unwrap_or_default().split_terminator(',');
        let holds: Vec<_> = texts
            .take(Self::HOLDS_MAX + 1)
            .map(|text| parse_hold(text).ok_or_else(|| wrong("no list of holds")))
            .collect::<Result<_, _>>()?;
        if holds.len() > Self::HOLDS_MAX {
            return Err(wrong("more than eight holds"));
        }
        let between = frame.text("Between").ok().map_or(Ok(Vec::new()), parse_between)?;
        Ok(Some(Self { allowance: Bytes(allowance), holds, between }))
    }

    fn write(&self, out: &mut Writer) {
        out.header("Volume", self.allowance.0);
        if !self.holds.is_empty() {
            out.header("Holds", self.holds.iter().map(write_hold).collect::<Vec<_>>().join(","));
        }
        if !self.between.is_empty() {
            out.header("Between", self.between.iter().map(TeamId::to_string).collect::<Vec<_>>().join(","));
        }
    }
}

/// Reads teams with commas between them.
fn parse_between(text: &str) -> Result<Vec<TeamId>, MessageError> {
    let wrong = |why: &str| MessageError::Header { name: "Between", why: why.to_owned() };
    let teams: Vec<_> = text
        .split(',')
        .take(Volume::BETWEEN_MAX + 1)
        .map(|team| team.parse().map_err(|_| wrong("no list of teams")))
        .collect::<Result<_, _>>()?;
    if teams.len() > Volume::BETWEEN_MAX { Err(wrong("more than eight teams")) } else { Ok(teams) }
}

/// Reads `id/bytes`.
fn parse_hold(text: &str) -> Option<HoldUse> {
    let (id, bytes) = text.rsplit_once('/')?;
    let id = STANDARD.decode(id).ok()?.try_into().ok()?;
    Some(HoldUse { id: HoldId(id), weight: Bytes(bytes.parse().ok()?) })
}

fn write_hold(hold: &HoldUse) -> String {
    format!("{}/{}", STANDARD.encode(hold.id.0), hold.weight.0)
}

/// What an UPDT is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Send receipts of sessions that began at `since` or later, at most `max`.
    Fetch {
        /// The earliest start of a session.
        since: UnixSeconds,
        /// How many at most.
        max: u16,
    },
    /// The receipts of a RCPT were taken in: these are durable, those were refused.
    Taken {
        /// How many are durable.
        stored: u16,
        /// How many were refused.
        refused: u16,
    },
}

/// The kind of an ERRO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Code {
    /// The message could not be read.
    Malformed,
    /// The certificate does not hold.
    Certificate,
    /// A receipt does not count.
    Receipt,
    /// The decision was no.
    Refused,
    /// Too much is going on; try later.
    Busy,
    /// No receipt came in time.
    Unpaid,
    /// There is no such session.
    NoSession,
    /// The sender leaves.
    Closed,
}

impl Code {
    const ALL: [(Code, &'static str); 8] = [
        (Code::Malformed, "malformed"),
        (Code::Certificate, "certificate"),
        (Code::Receipt, "receipt"),
        (Code::Refused, "refused"),
        (Code::Busy, "busy"),
        (Code::Unpaid, "unpaid"),
        (Code::NoSession, "no-session"),
        (Code::Closed, "closed"),
    ];
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(code, _)| code == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for Code {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found.map(|(code, _)| *code).ok_or_else(|| "no such code".to_owned())
    }
}

impl Message {
    /// Reads one whole message.
    ///
    /// # Errors
    /// [`MessageError`]; the certificate of CONN, CACK and QUER has been checked, receipts have not.
    #[expect(clippy::too_many_lines, reason = "an arm for each message")]
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut frame = Frame::parse(bytes)?;
        match frame.method {
            "CONN" => Ok(Self::Conn {
                certificate: frame.certificate("Member-Certificate")?,
                nonce: frame.bytes("Nonce")?,
                holds: frame.optional::<u8>("Holds")?.is_some_and(|holds| holds == 1),
                bundle: frame.bundle()?,
            }),
            "CACK" => Ok(Self::Cack {
                certificate: frame.certificate("Provider-Certificate")?,
                acknowledgement: frame.base64("Acknowledgement")?,
                home: frame.optional("Home")?,
            }),
            "RREQ" if frame.has("Tunnel") => Ok(Self::RreqTunnel {
                port: frame.value("Tunnel")?,
                started: frame.optional("Session-Started")?.map(UnixSeconds),
            }),
            "RREQ" => Ok(Self::Rreq {
                started: UnixSeconds(frame.value("Session-Started")?),
                weight: Bytes(frame.value("Weight")?),
                hold: frame
                    .text("Hold")
                    .ok()
                    .map(|text| {
                        parse_hold(text)
                            .ok_or(MessageError::Header { name: "Hold", why: "no hold and its bytes".into() })
                    })
                    .transpose()?,
                last: frame.optional::<u8>("Last")?.is_some_and(|last| last == 1),
            }),
            "RCPT" => Ok(Self::Rcpt {
                reference: frame.optional("Reference")?,
                home: frame.optional("Home")?,
                bundle: frame.bundle()?,
            }),
            "QUER" => Ok(Self::Quer {
                reference: frame.value("Reference")?,
                certificate: frame.certificate("Member-Certificate")?,
                request: Bytes(frame.value("Request-Weight")?),
                session: frame.in_session()?,
                holds: frame.optional::<u8>("Holds")?.is_some_and(|holds| holds == 1),
                bundle: frame.bundle()?,
            }),
            "QRSP" => Self::parse_qrsp(&mut frame),
            "UPDT" => Self::parse_updt(&mut frame),
            "RNEW" => Ok(Self::Rnew {
                reference: frame.value("Reference")?,
                certificate: frame
                    .has("Certificate")
                    .then(|| frame.certificate("Certificate"))
                    .transpose()?,
            }),
            "EAPQ" => Ok(Self::Eapq {
                reference: frame.value("Reference")?,
                team: frame.value("Team")?,
                question: Box::new(relay::Question::parse(frame.body())?),
            }),
            "EAPR" => Self::parse_eapr(&frame),
            "TRYQ" => Ok(Self::Tryq {
                reference: frame.value("Reference")?,
                request: Bytes(frame.value("Request-Weight")?),
                unused: Bytes(frame.value("Unused")?),
            }),
            "TRYR" => Ok(Self::Tryr {
                reference: frame.value("Reference")?,
                granted: Bytes(frame.value("Volume")?),
                reason: frame.text("Reason")?.to_owned(),
            }),
            "ASKS" => Ok(Self::Asks {
                reference: frame.value("Reference")?,
                version: frame.value("Version")?,
                what: Inquiry::parse(&frame)?,
            }),
            "SAYS" if frame.has("Outcome") => Ok(Self::SaysOutcome {
                reference: frame.value("Reference")?,
                version: frame.value("Version")?,
                outcome: Outcome::parse(&frame)?,
            }),
            "SAYS" => Ok(Self::Says {
                reference: frame.value("Reference")?,
                version: frame.value("Version")?,
                answer: frame.body().to_vec(),
            }),
            "ERRO" => Ok(Self::Erro {
                reference: frame.optional("Reference")?,
                code: frame.value("Code")?,
                reason: frame.text("Reason")?.to_owned(),
            }),
            _ => Err(MessageError::StartLine),
        }
    }

    fn parse_qrsp(frame: &mut Frame<'_>) -> Result<Self, MessageError> {
        let grant = if parse_decision(frame)? { Some(frame.value("Qos-Class")?) } else { None };
        Ok(Self::Qrsp {
            reference: frame.value("Reference")?,
            grant,
            volume: Volume::parse(frame)?,
            home: frame.optional("Home")?,
            ind: frame.optional("Ind-Permille")?,
            valid_for: frame.value("Valid-For")?,
            reason: frame.text("Reason")?.to_owned(),
        })
    }

    fn parse_eapr(frame: &Frame<'_>) -> Result<Self, MessageError> {
        let reference = frame.value("Reference")?;
        let decision = match frame.has("Decision") {
            true => Some(TeamDecision {
                granted: parse_decision(frame)?,
                reason: frame.text("Reason")?.to_owned(),
            }),
            false => None,
        };
        let answer = Box::new(relay::Answer::parse(frame.body())?);
        match (matches!(answer.what, relay::What::Accept { .. }), &decision) {
            (true, None) => Err(MessageError::MissingHeader("Decision")),
            (false, Some(_)) => {
                Err(MessageError::Header { name: "Decision", why: "the home has not accepted".into() })
            }
            (true, Some(_)) | (false, None) => Ok(Self::Eapr { reference, decision, answer }),
        }
    }

    fn parse_updt(frame: &mut Frame<'_>) -> Result<Self, MessageError> {
        let reference = frame.value("Reference")?;
        let what = match frame.optional("Stored")? {
            Some(stored) => Update::Taken { stored, refused: frame.value("Refused")? },
            None => Update::Fetch { since: UnixSeconds(frame.value("Since")?), max: frame.value("Max")? },
        };
        Ok(Self::Updt { reference, what })
    }

    /// Writes the message; [`Message::parse`] reads it back.
    #[expect(clippy::too_many_lines, reason = "an arm for each message")]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::new(self.method());
        match self {
            Self::Conn { certificate, nonce, holds, bundle } => {
                out.certificate("Member-Certificate", certificate);
                out.header("Nonce", STANDARD.encode(nonce));
                out.flag("Holds", *holds);
                out.bundle(bundle);
            }
            Self::Cack { certificate, acknowledgement, home } => {
                out.certificate("Provider-Certificate", certificate);
                out.header("Acknowledgement", STANDARD.encode(acknowledgement));
                out.optional("Home", home.as_ref());
            }
            Self::Rreq { started, weight, hold, last } => {
                out.header("Session-Started", started.0);
                out.header("Weight", weight.0);
                out.optional("Hold", hold.as_ref().map(write_hold));
                out.flag("Last", *last);
            }
            Self::RreqTunnel { port, started } => {
                out.header("Tunnel", port);
                out.optional("Session-Started", started.map(|started| started.0));
            }
            Self::Rcpt { reference, home, bundle } => {
                out.optional("Reference", reference.as_ref());
                out.optional("Home", home.as_ref());
                out.bundle(bundle);
            }
            Self::Quer { reference, certificate, request, session, holds, bundle } => {
                out.header("Reference", reference);
                out.certificate("Member-Certificate", certificate);
                out.header("Request-Weight", request.0);
                if let Some(InSession { started, left, unpaid }) = session {
                    out.header("Session-Started", started.0);
                    out.header("Left", left.0);
                    out.header("Unpaid", unpaid.0);
                }
                out.flag("Holds", *holds);
                out.bundle(bundle);
            }
            Self::Qrsp { reference, grant, volume, home, ind, valid_for, reason } => {
                out.header("Reference", reference);
                out.decision(grant.is_some());
                out.optional("Qos-Class", grant.as_ref());
                volume.iter().for_each(|volume| volume.write(&mut out));
                out.optional("Home", home.as_ref());
                out.optional("Ind-Permille", ind.as_ref());
                out.header("Valid-For", valid_for);
                out.header("Reason", printable(reason));
            }
            Self::Updt { reference, what } => {
                out.header("Reference", reference);
                what.write(&mut out);
            }
            Self::Rnew { reference, certificate } => {
                out.header("Reference", reference);
                certificate.iter().for_each(|certificate| out.certificate("Certificate", certificate));
            }
            Self::Eapq { reference, team, question } => {
                out.header("Reference", reference);
                out.header("Team", team);
                out.body = question.emit();
            }
            Self::Eapr { reference, decision, answer } => {
                out.header("Reference", reference);
                if let Some(TeamDecision { granted, reason }) = decision {
                    out.decision(*granted);
                    out.header("Reason", printable(reason));
                }
                out.body = answer.emit();
            }
            Self::Tryq { reference, request, unused } => {
                out.header("Reference", reference);
                out.header("Request-Weight", request.0);
                out.header("Unused", unused.0);
            }
            Self::Tryr { reference, granted, reason } => {
                out.header("Reference", reference);
                out.header("Volume", granted.0);
                out.header("Reason", printable(reason));
            }
            Self::Asks { reference, version, what } => {
                out.header("Reference", reference);
                out.header("Version", version);
                what.write(&mut out);
            }
            Self::Says { reference, version, answer } => {
                out.header("Reference", reference);
                out.header("Version", version);
                out.body.clone_from(answer);
            }
            Self::SaysOutcome { reference, version, outcome } => {
                out.header("Reference", reference);
                out.header("Version", version);
                outcome.write(&mut out);
            }
            Self::Erro { reference, code, reason } => {
                out.optional("Reference", reference.as_ref());
                out.header("Code", code);
                out.header("Reason", printable(reason));
            }
        }
        out.finish()
    }

    /// The first word of the message.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Conn { .. } => "CONN",
            Self::Cack { .. } => "CACK",
            Self::Rreq { .. } | Self::RreqTunnel { .. } => "RREQ",
            Self::Rcpt { .. } => "RCPT",
            Self::Quer { .. } => "QUER",
            Self::Qrsp { .. } => "QRSP",
            Self::Updt { .. } => "UPDT",
            Self::Rnew { .. } => "RNEW",
            Self::Eapq { .. } => "EAPQ",
            Self::Eapr { .. } => "EAPR",
            Self::Tryq { .. } => "TRYQ",
            Self::Tryr { .. } => "TRYR",
            Self::Asks { .. } => "ASKS",
            Self::Says { .. } | Self::SaysOutcome { .. } => "SAYS",
            Self::Erro { .. } => "ERRO",
        }
    }

    /// An ERRO without a reference.
    pub fn error(code: Code, reason: impl fmt::Display) -> Self {
        Self::Erro { reference: None, code, reason: printable(&reason.to_string()) }
    }
}

fn parse_decision(frame: &Frame<'_>) -> Result<bool, MessageError> {
    match frame.text("Decision")? {
        "deny" => Ok(false),
        "grant" => Ok(true),
        _ => Err(MessageError::Header { name: "Decision", why: "neither grant nor deny".into() }),
    }
}

impl Update {
    fn write(&self, out: &mut Writer) {
        match self {
            Self::Fetch { since, max } => {
                out.header("Since", since.0);
                out.header("Max", max);
            }
            Self::Taken { stored, refused } => {
                out.header("Stored", stored);
                out.header("Refused", refused);
            }
        }
    }
}

/// A message while it is written.
#[derive(Debug)]
struct Writer {
    text: String,
    body: Vec<u8>,
}

impl Writer {
    fn new(method: &str) -> Self {
        Self { text: format!("{method} P2PWNC/3.0\r\n"), body: Vec::new() }
    }

    fn header(&mut self, name: &str, value: impl fmt::Display) {
        self.text.push_str(&format!("{name}: {value}\r\n"));
    }

    fn optional(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.header(name, value);
        }
    }

    fn flag(&mut self, name: &str, is_set: bool) {
        self.optional(name, is_set.then_some(1));
    }

    fn decision(&mut self, granted: bool) {
        self.header("Decision", if granted { "grant" } else { "deny" });
    }

    fn certificate(&mut self, name: &str, certificate: &Certificate) {
        self.header(name, STANDARD.encode(certificate.as_bytes()));
    }

    /// An empty bundle is no body.
    fn bundle(&mut self, bundle: &Bundle) {
        if *bundle != Bundle::default() {
            self.body = bundle.emit();
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if !self.body.is_empty() {
            self.header("Content-Length", self.body.len());
        }
        self.text.push_str("\r\n");
        [self.text.as_bytes(), &self.body].concat()
    }
}

/// `text` as a header value: printable ASCII, one line, at most 600 characters, never empty.
fn printable(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if (' '..='~').contains(&c) { c } else { '?' }).take(600).collect();
    line = line.trim().to_owned();
    if line.is_empty() { "-".to_owned() } else { line }
}

#[cfg(test)]
mod tests;
