//! The team server's machine: keeps what is known of the receipts and decides for its access points.
//!
//! Peers are programs of the same team, authenticated by the channel that they came through: access points ask (QUER)
//! and deliver receipts (RCPT), members deliver receipts and fetch those that they can show elsewhere (UPDT). The
//! receipts themselves are in a store outside; the machine keeps the graph, and acknowledges what the store has made
//! durable.

mod admission;
mod config;
mod credit;
mod decision;
mod joining;
mod orders;
mod session;

use crate::message::{BlockedDevices, Code, GuestId, Inquiry, Message, Outcome, Reference, Update};
use crate::queue::{Queue, Worth};
use crate::renewal::{NotRenewed, Renewer};
use admission::Admission;
use credit::{Credit, SessionQuestion, TrialQuestion};
use decision::Question;
use guestright_credit::{Proof, Signed, Write};
use guestright_directory::Address;
use guestright_identity::{Certificate, CertificateRef, KeyId, RevocationList, Role};
use guestright_ordered::{OrderedMap, OrderedSet};
use guestright_radius::relay;
use guestright_receipt::{Admission as Kept, Bundle, Receipt, Registers};
use guestright_reciprocity::{
    Decision, Edge, Explanation, Graph, Judge, Request, Scratch, ServiceClass, StrangerCounters,
};
use guestright_units::{Bytes, TeamId, Time, UnixSeconds};
use joining::Joining;
use orders::{Devices, OUTCOME_VERSION};
use rand::CryptoRng;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use config::Config;
pub use credit::{CreditConfig, KeptCredit, Neighbour, credit_class, is_for_everybody, is_used_up};

/// A connected program of the own team, numbered by the program around the machine.
pub type Peer = u64;

/// What the lists of a full bundle and the lengths of their items take at most.
const BUNDLE_FRAME_MAX: usize = 1_024;

/// How many revocation lists an access point is handed when it connects, the own team's first.
const HANDED_ON_MAX: usize = 64;

/// A question to the store, to be repeated in the answer.
pub type Token = u64;

/// What the store did with one receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It counts, as the first or the largest of its session.
    Added,
    /// It said what was known.
    Known,
    /// A larger one of its session was known.
    Lower,
}

/// What the store did with the receipts of an [`Event::Store`].
///
/// The sums are the store's own: a member's key that two teams have certified can move a session from one team's
/// debts to the other's, which the outcomes alone do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreReport {
    /// One for each receipt, in their order.
    pub outcomes: Vec<Stored>,
    /// What counts now and did not before.
    pub added: Vec<Edge>,
    /// What counts no longer.
    pub evicted: Vec<Edge>,
}

impl StoreReport {
    /// Takes a receipt into a repository in memory, and notes what became of it.
    pub fn admit(&mut self, store: &mut Registers, receipt: Receipt) {
        let (consumer, provider, weight) = (receipt.consumer(), receipt.provider(), receipt.weight());
        let (outcome, bytes) = match store.admit(receipt) {
            Ok(Kept::New) => (Stored::Added, weight),
            Ok(Kept::Raised(bytes)) => (Stored::Added, bytes),
            Ok(Kept::Known) => (Stored::Known, Bytes(0)),
            Err(_) => (Stored::Lower, Bytes(0)),
        };
        self.outcomes.push(outcome);
        self.added.push(Edge { consumer, provider, bytes });
    }
}

/// What the program around the machine has to do or may want to know.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Make these durable, then call [`TeamServer::handle_stored`].
    Store {
        /// To be repeated.
        token: Token,
        /// Receipts that were checked.
        receipts: Vec<(Receipt, Certificate)>,
    },
    /// Find receipts over what others owe the own team, then call [`TeamServer::handle_fetched`].
    Fetch {
        /// To be repeated.
        token: Token,
        /// The earliest start of a session.
        since: UnixSeconds,
        /// How many at most.
        max: usize,
    },
    /// Make this durable as one transaction, after all before it, then call [`TeamServer::handle_kept`]. It has to be tried
    /// until it works: what other homes wait for relies on it.
    Keep(Box<Write>),
    /// Send this message about a hold to the home of the team.
    SendHome(TeamId, Box<guestright_credit::Message>),
    /// A device wants to join the Wi-Fi: ask the home of the team, which may be this one, then call
    /// [`TeamServer::handle_home_answer`].
    AskHome(TeamId, Box<relay::Question>),
    /// A member says where the home of the team may be.
    HomeLearned(TeamId, Address),
    /// Credit was reserved for a visitor along a chain of debts.
    Reserved {
        consumer: TeamId,
        amount: Bytes,
        /// The teams between us and the consumer.
        between: Vec<TeamId>,
    },
    /// Keep this revocation list.
    Revoked(Box<RevocationList>),
    /// An access point says that a session is over.
    Finished {
        consumer: TeamId,
        started: UnixSeconds,
        /// How it was served at last; nothing if that is forgotten.
        class: Option<ServiceClass>,
        signed: Bytes,
        /// What was carried and not signed for.
        unpaid: Bytes,
    },
    /// A program of the team has got a certificate with another life.
    Renewed { role: Role, key: KeyId, not_after: UnixSeconds },
    /// A visitor may begin by what is given away and reserved, or not, and why.
    Begun { consumer: TeamId, is_let_in: bool, reason: String },
    /// A visitor's case was decided.
    Decided {
        consumer: TeamId,
        decision: Decision,
        /// What for: one sentence.
        reason: String,
    },
    /// An access point has answered [`TeamServer::ask_access_points`].
    Answered {
        peer: Peer,
        reference: Reference,
        /// The answer's form.
        version: u8,
        answer: Vec<u8>,
    },
    /// An access point has done what [`TeamServer::end_guest`] or [`TeamServer::set_blocked_devices`] asked, or could not. It says
    /// so with their reference, which tells the program around which of its questions this answers: references of both are
    /// its own to choose, and none should be used twice.
    Acted { peer: Peer, reference: Reference, outcome: Outcome },
    /// Something was refused. Counted in [`TeamServer::refusals`].
    Refused {
        /// Why, in a word.
        kind: &'static str,
        /// Why, in a sentence.
        reason: String,
    },
}

#[derive(Debug)]
enum Waiting {
    Decide(Question),
    Acknowledge {
        peer: Peer,
        reference: Option<Reference>,
        refused: usize,
    },
    Fetch {
        peer: Peer,
        reference: Reference,
    },
    /// A question in a session.
    Continue(Box<SessionQuestion>),
}

/// What waits for the store, and the receipts whose sums it will change.
#[derive(Debug)]
struct InStore {
    waiting: Waiting,
    first_hand: Vec<(Signed, Proof)>,
}

/// An answer that waits until what it says is durable.
#[derive(Debug)]
struct HeldBack {
    write: guestright_credit::Token,
    peer: Peer,
    message: Message,
}

/// The server of one team.
///
/// The program calls [`handle_connected`](Self::handle_connected) for each program of the team whose key the channel has
/// proved, then [`handle_input`](Self::handle_input) for its messages, and
/// [`handle_disconnected`](Self::handle_disconnected) at the end. After every call that goes in it drains:
///
/// 1. [`poll_event`](Self::poll_event) until there is none. The store answers an [`Event::Store`] with
///    [`handle_stored`](Self::handle_stored) once the receipts are durable, or with
///    [`handle_store_failed`](Self::handle_store_failed), and an [`Event::Fetch`] with
///    [`handle_fetched`](Self::handle_fetched); at once or later, in any order.
/// 2. [`poll_transmit`](Self::poll_transmit) until there is none.
///
/// Besides, an [`Event::AskHome`] is answered with [`handle_home_answer`](Self::handle_home_answer), or not at all.
///
/// With credit ([`Config::credit`]) there is more: an [`Event::Keep`] is answered with [`handle_kept`](Self::handle_kept);
/// other homes' messages about holds go to [`handle_home_message`](Self::handle_home_message), and whether they can be
/// reached to [`handle_neighbour`](Self::handle_neighbour); [`poll_timeout`](Self::poll_timeout) says when it wants
/// [`handle_timeout`](Self::handle_timeout). At the start it gets what was kept
/// ([`restore_credit`](Self::restore_credit)) and all receipts of the own team's people and access points
/// ([`handle_first_hand`](Self::handle_first_hand)). Without credit nothing happens to it by the clock alone.
///
/// ```
/// use guestright_reciprocity::StrangerCounters;
/// use guestright_roaming::home::{Config, Event, StoreReport, TeamServer};
/// # use guestright_identity::{Certificate, Role, SecretKey, Suite};
/// # use rand::SeedableRng;
/// # let mut rng = rand::rngs::StdRng::seed_from_u64(1);
/// # let team = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let key = SecretKey::generate(Suite::Ed25519, &mut rng);
/// # let now = guestright_units::UnixSeconds(1_800_000_000);
/// # let certificate = Certificate::issue(&team, key.public(), Role::AccessPoint, now, now.plus(3_600));
/// # let now = now.time();
/// let team = team.public().team_id();
/// let mut server = TeamServer::new(Config::default(), team, [], vec![], StrangerCounters::default(), now);
/// server.handle_connected(1, certificate, now)?;
/// server.handle_input(1, b"what came from peer 1", &mut rng, now);
/// while let Some(event) = server.poll_event() {
///     match event {
///         Event::Store { token, receipts: _ } => {
///             let report = StoreReport::default(); // What the store says.
///             server.handle_stored(token, &report, &mut rng, now);
///         }
///         Event::Fetch { token, .. } => server.handle_fetched(token, vec![]),
///         _ => {} // What to keep, to send to other homes, to tell people.
///     }
/// }
/// while let Some((peer, _bytes)) = server.poll_transmit() {
///     assert_eq!(peer, 1);
/// }
/// # Ok::<(), String>(())
/// ```
#[derive(Debug)]
pub struct TeamServer {
    config: Config,
    team: TeamId,
    graph: Graph,
    scratch: Scratch,
    judge: Judge,
    peers: OrderedMap<Peer, Certificate>,
    revocations: OrderedMap<TeamId, RevocationList>,
    strangers: BTreeSet<TeamId>,
    admission: Admission,
    waiting: OrderedMap<Token, InStore>,
    credit: Option<Credit>,
    /// What visitors have shown who did not prove their keys yet.
    shown: OrderedMap<(Peer, CertificateRef), Bundle>,
    held_back: VecDeque<HeldBack>,
    /// What certificates are renewed with, if they are.
    renewer: Option<Renewer>,
    joining: Joining,
    /// Whom the household serves no more.
    blocked: OrderedSet<TeamId>,
    /// Until when it serves everybody.
    everybody_until: Option<UnixSeconds>,
    /// Which devices its access points serve no more.
    devices: Devices,
    next_token: Token,
    faded: Time,
    refusals: BTreeMap<&'static str, u64>,
    transmits: Queue<(Peer, Vec<u8>)>,
    events: Queue<Event>,
}

impl TeamServer {
    /// The server of `team`, with what its store knows.
    pub fn new(
        config: Config,
        team: TeamId,
        edges: impl IntoIterator<Item = Edge>,
        revocations: Vec<RevocationList>,
        strangers: StrangerCounters,
        now: Time,
    ) -> Self {
        let edges = edges.into_iter().map(|edge| (edge.consumer, edge.provider, edge.bytes));
        let judge = Judge::new(config.judge, strangers);
        Self {
            team,
            graph: Graph::from_edges(edges),
            scratch: Scratch::new(),
            judge,
            peers: OrderedMap::new(),
            revocations: revocations.into_iter().map(|list| (list.team_id(), list)).collect(),
            strangers: BTreeSet::new(),
            admission: Admission::new(config.sponsored_max),
            waiting: OrderedMap::new(),
            credit: config.credit.map(|credit| Credit::new(credit, team, KeptCredit::default(), now)),
            shown: OrderedMap::new(),
            held_back: VecDeque::new(),
            renewer: None,
            joining: Joining::default(),
            blocked: OrderedSet::new(),
            everybody_until: None,
            devices: Devices::default(),
            next_token: 0,
            faded: now,
            refusals: BTreeMap::new(),
            transmits: Queue::new(config.transmits_max),
            events: Queue::new(config.events_max),
            config,
        }
    }

    /// A program of the own team has connected and proved the key of `certificate`.
    ///
    /// # Errors
    /// Why it is not let in.
    pub fn handle_connected(
        &mut self,
        peer: Peer,
        certificate: Certificate,
        now: Time,
    ) -> Result<(), String> {
        let now = now.unix_seconds();
        if certificate.team_id() != self.team {
            return Err(format!("it belongs to team {}, not to ours", certificate.team_id().short()));
        }
        certificate.check(certificate.role(), now).map_err(|error| error.to_string())?;
        self.check_revoked(&certificate, now).map_err(|error| error.to_string())?;
        let is_access_point = certificate.role() == Role::AccessPoint;
        self.peers.insert(peer, certificate);
        if is_access_point {
            self.devices.connected(peer);
            let own = self.revocations.get(&self.team).into_iter();
            let others =
                self.revocations.iter().filter(|(team, _)| **team != self.team).map(|(_, list)| list);
            let lists: Vec<_> = own.chain(others).take(HANDED_ON_MAX).map(handed_on).collect();
            lists.iter().for_each(|list| self.send(peer, list));
        }
        Ok(())
    }

    /// A program has gone.
    pub fn handle_disconnected(&mut self, peer: Peer) {
        self.peers.remove(&peer);
        self.devices.disconnected(peer);
        self.joining.disconnected(peer);
        self.shown.retain(|(other, _), _| *other != peer);
    }

    /// Takes a message of a connected program in.
    pub fn handle_input(&mut self, peer: Peer, bytes: &[u8], rng: &mut impl CryptoRng, now: Time) {
        let Some(certificate) = self.peers.get(&peer) else {
            return;
        };
        let (role, seconds) = (certificate.role(), now.unix_seconds());
        let holds = certificate.check(role, seconds);
        if let Err(error) = holds.and_then(|()| self.check_revoked(certificate, seconds)) {
            self.refuse(peer, None, "certificate", Code::Certificate, error.to_string());
            self.peers.remove(&peer);
            self.devices.disconnected(peer);
            return;
        }
        match (Message::parse(bytes), role) {
            (
                Ok(Message::Quer { reference, certificate, request, session, holds, bundle }),
                Role::AccessPoint,
            ) => {
                let consumer = certificate.team_id();
                let question = Question { peer, reference, consumer, request, holds };
                let is_over = session.is_some() && request == Bytes(0);
                if self.blocked.contains(&consumer) && !is_over {
                    return self.turn_away(&question, session.is_some());
                }
                match session {
                    Some(session) if self.credit.is_some() => {
                        self.handle_session_query(&question, session, &certificate, &bundle, rng, now);
                    }
                    Some(_) | None => self.handle_query(question, &certificate, &bundle, rng, now),
                }
            }
            (Ok(Message::Rcpt { reference, home, bundle }), Role::AccessPoint | Role::Member) => {
                let mut verified = self.verify(&bundle, None, rng, now);
                self.keep_to_own(role, &mut verified);
                self.learn(role, home, &verified);
                let refused = verified.refused.len();
                let waiting = Waiting::Acknowledge { peer, reference, refused };
                self.store(verified, waiting, rng, now);
            }
            (
                Ok(Message::Updt { reference, what: Update::Fetch { since, max } }),
                Role::Member | Role::Home,
            ) => {
                let max = usize::from(max).min(Bundle::RECEIPTS_MAX);
                self.fetch(Waiting::Fetch { peer, reference }, since, max, rng, now);
            }
            (Ok(Message::Rnew { reference, certificate: None }), _) => {
                self.handle_renewal(peer, reference, now);
            }
            (Ok(Message::Eapq { reference, team, question }), Role::AccessPoint) => {
                self.handle_eapq(peer, reference, team, question, now);
            }
            (Ok(Message::Tryq { reference, request, unused }), Role::AccessPoint) => {
                self.handle_trial(TrialQuestion { peer, reference, request, unused }, rng, now);
            }
            (Ok(Message::Says { reference, version, answer }), Role::AccessPoint) => {
                self.push_event(Event::Answered { peer, reference, version, answer });
            }
            (Ok(Message::SaysOutcome { reference, outcome, .. }), Role::AccessPoint) => {
                self.push_event(Event::Acted { peer, reference, outcome });
            }
            (Ok(other), _) => {
                let reason = format!("a {} of a {role} is not for a team server", other.method());
                self.refuse(peer, None, "unexpected", Code::Malformed, reason);
            }
            (Err(error), _) => self.refuse(peer, None, error.kind(), Code::Malformed, error.to_string()),
        }
    }

    /// Asks all access points what the household wants to see, and says which were asked. Each answers with an
    /// [`Event::Answered`], or not at all: one that is older than this question counts it among what it cannot read.
    pub fn ask_access_points(&mut self, reference: Reference, version: u8) -> Vec<(Peer, KeyId)> {
        let asked = self.access_points();
        let question = Message::Asks { reference, version, what: Inquiry::Overview };
        asked.iter().for_each(|(peer, _)| self.send(*peer, &question));
        asked
    }

    /// Has an access point end a guest's session, by the name that its overview gives it. False: it is not connected, and was not
    /// asked. Otherwise it answers with an [`Event::Acted`] with the reference, or not at all: one that is older
    /// than this question counts it among what it cannot read. What was done and the answer lost looks the same, so the program around
    /// waits for a while and then says that it does not know.
    pub fn end_guest(&mut self, access_point: KeyId, guest: GuestId, reference: Reference) -> bool {
        let connected = self.access_points();
        let here: Vec<_> = connected.into_iter().filter(|(_, key)| *key == access_point).collect();
        let what = Inquiry::EndGuest(guest);
        let question = Message::Asks { reference, version: OUTCOME_VERSION, what };
        // Of an access point that has connected anew, the channel before may not be known to be gone.
        here.iter().for_each(|(peer, _)| self.send(*peer, &question));
        !here.is_empty()
    }

    /// The household serves these devices no longer, and all others again. Every access point that is connected has the list before
    /// anything else, and each one that connects later, before it gets a decision of this home. Says which were asked. Each answers
    /// with an [`Event::Acted`] with the reference of the latest list, now or when it connects, or not at all.
    pub fn set_blocked_devices(
        &mut self,
        devices: BlockedDevices,
        reference: Reference,
    ) -> Vec<(Peer, KeyId)> {
        let asked = self.access_points();
        let unsent = asked.iter().map(|(peer, _)| *peer).collect();
        self.devices.set(devices, reference, unsent);
        asked
    }

    /// Renews the team's certificates with this from now on, or no more.
    pub fn set_renewer(&mut self, renewer: Option<Renewer>) {
        self.renewer = renewer;
    }

    /// What certificates are renewed with.
    pub fn renewer(&self) -> Option<&Renewer> {
        self.renewer.as_ref()
    }

    /// Renews a certificate whose key is in this home: its own, or a delegate's.
    ///
    /// # Errors
    /// [`NotRenewed`].
    pub fn renew_own(&mut self, certificate: &Certificate, now: Time) -> Result<Certificate, NotRenewed> {
        let renewer = self.renewer.as_mut().ok_or(NotRenewed::NoKey)?;
        renewer.renew_own(certificate, self.revocations.get(&self.team), now)
    }

    /// The channel has proved the peer's key, and its certificate was checked with this message as with any other.
    fn handle_renewal(&mut self, peer: Peer, reference: Reference, now: Time) {
        let Some(certificate) = self.peers.get(&peer) else { return };
        let revocations = self.revocations.get(&self.team);
        let renewed = match &mut self.renewer {
            Some(renewer) => renewer.renew(certificate, revocations, now),
            None => Err(NotRenewed::NoKey),
        };
        match renewed {
            Ok(certificate) => {
                let (role, key) = (certificate.role(), certificate.subject_id());
                self.push_event(Event::Renewed { role, key, not_after: certificate.not_after() });
                // The channel outlives the certificate with which it began.
                self.peers.insert(peer, certificate.clone());
                self.send(peer, &Message::Rnew { reference, certificate: Some(Box::new(certificate)) });
            }
            Err(reason) => {
                self.refuse(peer, Some(reference), "renewal", Code::Certificate, reason.to_string());
            }
        }
    }

    /// Takes in what the store did with the receipts of an [`Event::Store`], and what it had to let go.
    pub fn handle_stored(&mut self, token: Token, report: &StoreReport, rng: &mut impl CryptoRng, now: Time) {
        let Some(InStore { waiting, first_hand }) = self.waiting.remove(&token) else {
            return;
        };
        for edge in &report.added {
            self.count(*edge);
        }
        for edge in &report.evicted {
            self.graph.subtract(edge.consumer, edge.provider, edge.bytes);
        }
        let of = |wanted| report.outcomes.iter().filter(|outcome| **outcome == wanted).count();
        let (added, lower) = (of(Stored::Added), of(Stored::Lower));
        if lower > 0 {
            *self.refusals.entry("replayed").or_default() += lower as u64;
        }
        let sponsor = match &waiting {
            Waiting::Decide(question) => Some(question.consumer),
            Waiting::Continue(question) => Some(question.signed.consumer),
            Waiting::Acknowledge { .. } | Waiting::Fetch { .. } => None,
        };
        if let Some(sponsor) = sponsor {
            let own = usize::from(matches!(waiting, Waiting::Continue(_)));
            self.admission.introduced(sponsor, u32::try_from(added.saturating_sub(own)).unwrap_or(u32::MAX));
        }
        if let Some(credit) = &mut self.credit {
            first_hand.into_iter().for_each(|(signed, proof)| credit.handle_receipt(signed, proof, now));
        }
        self.answer_stored(waiting, report.outcomes.len(), lower, rng, now);
        self.drain_credit(rng, now);
    }

    /// Takes in that the store failed: nothing is acknowledged.
    pub fn handle_store_failed(&mut self, token: Token, reason: &str) {
        match self.waiting.remove(&token).map(|in_store| in_store.waiting) {
            Some(Waiting::Continue(question)) => {
                let (peer, reference) = (question.peer, question.reference);
                self.refuse(peer, Some(reference), "store", Code::Busy, reason.to_owned());
            }
            Some(Waiting::Decide(Question { peer, reference, .. }) | Waiting::Fetch { peer, reference }) => {
                self.refuse(peer, Some(reference), "store", Code::Busy, reason.to_owned());
            }
            Some(Waiting::Acknowledge { peer, reference, .. }) => {
                self.refuse(peer, reference, "store", Code::Busy, reason.to_owned());
            }
            None => {}
        }
    }

    /// Takes in the receipts and certificates of an [`Event::Fetch`].
    pub fn handle_fetched(&mut self, token: Token, found: Vec<(Vec<u8>, Vec<u8>)>) {
        let waiting = self.waiting.remove(&token).map(|in_store| in_store.waiting);
        let Some(Waiting::Fetch { peer, reference }) = waiting else {
            return;
        };
        let mut bundle = Bundle::default();
        let mut left = Bundle::LEN_MAX - BUNDLE_FRAME_MAX;
        for (receipt, certificate) in found.into_iter().take(Bundle::RECEIPTS_MAX) {
            let len = receipt.len() + certificate.len();
            if len > left {
                break; // Only the long keys of the laboratory fill a bundle.
            }
            left -= len;
            if !bundle.certificates.contains(&certificate) {
                bundle.certificates.push(certificate);
            }
            bundle.receipts.push(receipt);
        }
        let own = self.revocations.get(&self.team);
        bundle.revocations.extend(own.map(|list| list.as_bytes().to_vec()));
        if bundle.emit().len() > Bundle::LEN_MAX {
            bundle.revocations.clear();
        }
        self.send(peer, &Message::Rcpt { reference: Some(reference), bundle, home: None });
    }

    /// Takes a revocation list in, from the team itself or from a bundle, and hands it on to the access points.
    pub fn handle_revocations(&mut self, list: RevocationList) {
        let team = list.team_id();
        let known = self.revocations.contains_key(&team);
        if team != self.team && !known && self.revocations.len() >= self.config.revocations_max {
            *self.refusals.entry("revocations").or_default() += 1;
            return;
        }
        let newer = self.revocations.get(&team).is_none_or(|known| known.is_superseded_by(&list));
        let relevant = team == self.team || self.graph.knows(team);
        if newer && relevant {
            self.revocations.insert(team, list.clone());
            let message = handed_on(&list);
            let access_points = self.peers.iter().filter(|(_, it)| it.role() == Role::AccessPoint);
            let access_points: Vec<_> = access_points.map(|(&peer, _)| peer).collect();
            access_points.into_iter().for_each(|peer| self.send(peer, &message));
            self.push_event(Event::Revoked(Box::new(list)));
        }
    }

    /// From now on it decides by these: how visitors are judged, what is lent and what is given away. Reservations, accounts
    /// and what was given away today stay. Whether there is credit at all ([`Config::credit`]) does not change, nor do
    /// the lengths of queues and memories.
    pub fn reconfigure(&mut self, config: &Config) {
        if self.credit.is_some() != config.credit.is_some() {
            return;
        }
        self.judge.reconfigure(config.judge);
        self.config.judge = config.judge;
        if let Some(credit) = config.credit {
            self.set_credit(credit);
        }
    }

    /// From now on so much is lent and given away. Nothing without credit.
    pub fn set_credit(&mut self, config: CreditConfig) {
        if let Some(credit) = &mut self.credit {
            credit.reconfigure(config);
            self.config.credit = Some(config);
        }
    }

    /// The household serves members of these teams no more, whatever is owed, and of all others again. Sessions that are open
    /// end with their access point's next question, which comes when half of what they may have is used. The own team is
    /// served in any case.
    pub fn block(&mut self, teams: impl IntoIterator<Item = TeamId>) {
        self.blocked = teams.into_iter().filter(|team| *team != self.team).collect();
    }

    /// Until then everybody is served in the lowest class to whom nothing is owed, but those who are blocked. What is given to them is
    /// owed, and not taken from what the household gives away a day.
    pub fn serve_everybody(&mut self, until: Option<UnixSeconds>) {
        self.everybody_until = until;
        if let Some(credit) = &mut self.credit {
            credit.serve_everybody(until);
        }
    }

    /// Until when everybody is served, if that is so now.
    pub fn everybody_until(&self, now: Time) -> Option<UnixSeconds> {
        self.everybody_until.filter(|until| now.unix_seconds() < *until)
    }

    /// What is lent and given away; nothing without credit.
    pub fn credit_config(&self) -> Option<&CreditConfig> {
        self.config.credit.as_ref()
    }

    /// Whether the household serves this team no more.
    pub fn is_blocked(&self, team: TeamId) -> bool {
        self.blocked.contains(&team)
    }

    /// The next message to send.
    pub fn poll_transmit(&mut self) -> Option<(Peer, Vec<u8>)> {
        self.devices.poll_transmit().or_else(|| self.transmits.pop())
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop()
    }

    /// How a request would be decided now, with the chains of debts behind it.
    pub fn explain(&mut self, consumer: TeamId, request: Bytes, rng: &mut impl CryptoRng) -> Explanation {
        let request = Request { provider: self.team, consumer, bytes: request };
        self.judge.explain(&self.graph, &mut self.scratch, request, rng)
    }

    /// The receipt graph as this team knows it.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The keys of the own team that count no longer, and since when; nothing if there is no list.
    pub fn own_revocations(&self) -> Option<&BTreeMap<KeyId, UnixSeconds>> {
        self.revocations.get(&self.team).map(RevocationList::revoked)
    }

    /// The counters by which strangers are treated, to be kept.
    pub fn stranger_counters(&self) -> StrangerCounters {
        self.judge.stranger_counters()
    }

    /// How many messages and receipts were refused, by kind.
    pub fn refusals(&self) -> &BTreeMap<&'static str, u64> {
        &self.refusals
    }

    /// Which programs of the team are connected: number, role and key.
    pub fn peers(&self) -> impl Iterator<Item = (Peer, Role, KeyId)> {
        self.peers.iter().map(|(&peer, certificate)| (peer, certificate.role(), certificate.subject_id()))
    }

    /// Which access points are connected.
    fn access_points(&self) -> Vec<(Peer, KeyId)> {
        let access_points = self.peers().filter(|(_, role, _)| *role == Role::AccessPoint);
        access_points.map(|(peer, _, key)| (peer, key)).collect()
    }

    fn refuse(
        &mut self,
        peer: Peer,
        reference: Option<Reference>,
        kind: &'static str,
        code: Code,
        reason: String,
    ) {
        *self.refusals.entry(kind).or_default() += 1;
        self.transmit(Worth::Reply, peer, &Message::Erro { reference, code, reason: reason.clone() });
        self.push_event(Event::Refused { kind, reason });
    }

    fn send(&mut self, peer: Peer, message: &Message) {
        self.transmit(Worth::Team, peer, message);
    }

    /// No transmit is the only copy of anything, so in a full queue any of them may give way, refusals first: an access
    /// point that gets no answer to a QUER decides by its own configuration, it delivers receipts again until they are
    /// acknowledged, and a member fetches again.
    fn transmit(&mut self, worth: Worth, peer: Peer, message: &Message) {
        if self.transmits.push(worth, (peer, message.emit())) {
            *self.refusals.entry("queue-full").or_default() += 1;
        }
    }

    /// Orders to the store never give way: nobody else knows of the receipts in them, and somebody waits for each.
    ///
    /// There are few of them all the same. A question to the store counts as waiting until it is answered, which it is not
    /// before it is fetched, so there are [`Config::waiting_max`] at most. Of a team's revocation lists the latest counts,
    /// so it replaces one that was not fetched, and no more than [`Config::revocations_max`] teams have one. What only
    /// tells what happened gives way, refusals before decisions.
    fn push_event(&mut self, event: Event) {
        let worth = match &event {
            Event::Store { .. } | Event::Fetch { .. } | Event::Keep(_) => Worth::Durable,
            // It is sent again, or its hold ends by itself.
            Event::SendHome(..) | Event::AskHome(..) | Event::HomeLearned(..) | Event::Reserved { .. } => {
                Worth::Team
            }
            Event::Revoked(list) => {
                let team = list.team_id();
                self.events
                    .remove_if(|other| matches!(other, Event::Revoked(older) if older.team_id() == team));
                Worth::Durable
            }
            Event::Acted { .. }
            | Event::Begun { .. }
            | Event::Decided { .. }
            | Event::Finished { .. }
            | Event::Renewed { .. } => Worth::Session,
            // It is asked again.
            Event::Answered { .. } | Event::Refused { .. } => Worth::Reply,
        };
        if self.events.push(worth, event) {
            *self.refusals.entry("queue-full").or_default() += 1;
        }
    }
}

/// A revocation list for an access point: a RCPT that answers nothing and has no receipts.
fn handed_on(list: &RevocationList) -> Message {
    let bundle = Bundle { revocations: vec![list.as_bytes().to_vec()], ..Bundle::default() };
    Message::Rcpt { reference: None, bundle, home: None }
}

#[cfg(test)]
mod tests;
