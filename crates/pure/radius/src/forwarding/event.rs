use crate::mppe::Msk;
use crate::realm::{Realm, RealmError};
use crate::request::{Accounting, Nas};
use crate::station::{Network, Station};
use guestright_units::Micros;
use std::net::SocketAddr;
use thiserror::Error;

/// Where a packet has come in, and where its answer leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Service {
    /// 1812.
    Authentication,
    /// 1813.
    Accounting,
    /// Both, over one connection inside TLS (RFC 6614, section 2.3). TLS has proven who asks, so the secret is the one that
    /// everybody knows; `source` and `to` are the connection's other end.
    Tls,
}

/// A packet to send: a datagram, or what goes into a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub service: Service,
    pub to: SocketAddr,
    pub bytes: Vec<u8>,
}

/// One station's way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConversationId(pub u64);

/// What a home is asked: a conversation and how often its station has sent something. An answer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelayId {
    pub conversation: ConversationId,
    pub round: u32,
}

/// What goes to a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relay {
    pub id: RelayId,
    pub realm: Realm,
    pub station: Station,
    pub network: Option<Network>,
    pub nas: Nas,
    /// What the station has sent.
    pub eap: Vec<u8>,
    /// How long what the home asks next may be: the home has to cut longer messages itself (RFC 3579, section 2.4).
    pub eap_bytes_max: usize,
}

/// What a home says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The station is to answer this.
    Challenge { eap: Vec<u8> },
    /// It is a member, and these are the link's keys. EAP-Success is added here: it carries nothing of the home's.
    Accept {
        msk: Msk,
        /// After this the station has to prove itself again.
        session_timeout: Option<Micros>,
    },
    /// It is not. The sentence is for the guest.
    Reject { sentence: String },
    /// There is no home, or no way to it.
    Away,
    /// There is no answer, and this is why: a sentence for the guest, of whoever asked the home for us.
    Unanswered { sentence: String },
}

/// The other yes: what the access point's own household decides of the guest's team.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Admit { session_timeout: Option<Micros> },
    Refuse { sentence: String },
}

/// The value of Class: chance that ties what the access point reports later to whom it was let in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Session(pub [u8; 16]);

/// Something for the program around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Carry this to the realm's home, and its answer to [`handle_answer`](crate::ForwardingServer::handle_answer).
    Relay(Relay),
    /// The home says yes. What about the team? See [`handle_decision`](crate::ForwardingServer::handle_decision).
    DecisionNeeded {
        conversation: ConversationId,
        realm: Realm,
        station: Station,
        network: Option<Network>,
    },
    /// The station is in, until `session_timeout` has passed.
    Opened {
        conversation: ConversationId,
        session: Session,
        realm: Realm,
        station: Station,
        network: Option<Network>,
        session_timeout: Option<Micros>,
    },
    /// It is not, and if there was a conversation it is over: its home need not keep it either.
    Refused {
        conversation: Option<ConversationId>,
        realm: Option<Realm>,
        station: Station,
        refusal: Refusal,
    },
    Accounting(Accounting),
}

/// Why a station is not let in. Sentences are for people.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("{0}")]
    Realm(RealmError),
    #[error(
        "Your home cannot be reached from here. It has to be online for you to join; try again in a while."
    )]
    HomeAway,
    #[error("Your home did not answer in time. Try again.")]
    HomeSlow,
    #[error("{0}")]
    Unanswered(String),
    #[error("Your home does not let you in: {0}")]
    Home(String),
    #[error("{0}")]
    Decision(String),
    #[error("Too many devices are trying to join at the moment. Try again.")]
    Crowded,
    #[error("Your device has begun anew.")]
    Replaced,
    #[error("Joining took too many messages. Install the profile again.")]
    TooLong,
    #[error("Your home has sent something that this network cannot pass on.")]
    BadAnswer,
    #[error("This household could not decide in time. Try again.")]
    Undecided,
    #[error("Your device has stopped answering.")]
    StationSilent,
    #[error("This attempt to join is over. Try again.")]
    Over,
}

/// Three attributes.
const SENTENCE_BYTES_MAX: usize = 3 * crate::VALUE_BYTES_MAX - 9;

impl Refusal {
    /// A word for counters.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Realm(_) => "realm",
            Self::HomeAway => "home-away",
            Self::HomeSlow => "home-slow",
            Self::Unanswered(_) => "unanswered",
            Self::Home(_) => "home",
            Self::Decision(_) => "decision",
            Self::Crowded => "crowded",
            Self::Replaced => "replaced",
            Self::TooLong => "too-long",
            Self::BadAnswer => "bad-answer",
            Self::Undecided => "undecided",
            Self::StationSilent => "station-silent",
            Self::Over => "over",
        }
    }

    /// The sentence in one line, and not longer than three attributes: some of it may be another household's.
    #[must_use]
    pub fn sentence(&self) -> String {
        let mut line: String =
            self.to_string().chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        line.truncate(line.floor_char_boundary(SENTENCE_BYTES_MAX));
        line
    }
}
