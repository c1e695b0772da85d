//! Phones that join the Wi-Fi by 802.1X, beside the loop: hostapd asks by RADIUS whether a station may join, and is told when
//! one has to leave (design note 0014).
//!
//! ```text
//! hostapd ─ RADIUS ─ ForwardingServer ─ EAPQ ─ own home ─ link ─ the phone's home
//!         ─ RADIUS ─ DisconnectClient
//! ```
//!
//! All these sockets are on loopback, for RADIUS hides little and proves less. hostapd asks because a station wants it to, so
//! what it asks is strangers' doing: datagrams wait in two queues with limits, those of stations whose home has answered
//! first, and all of this together has a share of the loop's time (`SHARE`).

mod asked;
mod secret;
mod share;

use super::{HomeState, Loop, radsec};
use crate::home_channel;
use crate::log_pace::LogPace;
use crate::refusals::sentence;
use asked::Asked;
use guestright_error::RunError;
use guestright_firewall::MacAddress;
use guestright_radius::relay::{Question, What};
use guestright_radius::{
    Accounting, AccountingStatus, Answer, Code, Config, Decision, Disconnect, DisconnectClient,
    DisconnectConfig, Event, ForwardingServer, Kind, Limits, Outcome, Packet, RadiusError, Realm, Refusal,
    Relay, RelayId, Secret, Service, SessionName, Station, Transmit,
};
use guestright_roaming::access_point::{self, BLOCKED, Joined, StationReport};
use guestright_roaming::message::{Message, TeamDecision};
use guestright_units::{Micros, Time};
use portable_atomic::AtomicU64;
use serde_json::{Value, json};
use share::Share;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Of the loop's time, RADIUS has at most one part in so many.
const SHARE: u32 = 4;
/// How many datagrams may wait for the loop, in each of the two queues.
const DATAGRAMS_MAX: usize = 256;
/// No datagram is longer (RFC 2865, section 3).
const DATAGRAM_BYTES_MAX: usize = 4_096;
/// Stations that are to leave: attempts, and the time of the first; each further one has twice as long.
const ORDER_ATTEMPTS_MAX: u32 = 3;
const ORDER_RETRY_AFTER: Micros = Micros::from_seconds(1);
const ORDERS_MAX: usize = 256;

/// What the household has set for phones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where hostapd asks; it reports at the port after this one.
    pub radius: SocketAddr,
    /// Where hostapd awaits orders to let a station go.
    pub disconnect: SocketAddr,
    /// What hostapd and this program share; made if it is not there.
    pub secret_file: PathBuf,
    /// Whether hostapd is told in a sentence why a station is refused.
    pub reply_message: bool,
    /// Where others ask inside TLS, if they may.
    pub radsec: Option<radsec::Settings>,
    #[cfg(not(feature = "hostapd"))]
    pub absent: crate::absent::Absent,
}

impl Settings {
    /// # Errors
    /// An address that others could reach.
    pub fn check(&self) -> Result<(), RunError> {
        for (name, address) in [("radius", self.radius), ("disconnect", self.disconnect)] {
            if !address.ip().is_loopback() {
                let sentence = format!(
                    "[phones] {name}: {address} is not on loopback, and RADIUS can be read and changed by whoever is on its way"
                );
                let hint = format!(
                    "hostapd has to run on this computer; write for example {name} = \"127.0.0.1:{}\"",
                    address.port()
                );
                return Err(RunError::config(sentence).with_hint(hint));
            }
        }
        if matches!(self.radius.port(), 0 | u16::MAX) || self.disconnect.port() == 0 {
            let sentence =
                "[phones] needs ports: radius of 1 to 65534, with the one after it, and disconnect";
            return Err(RunError::config(sentence));
        }
        self.radsec.as_ref().map_or(Ok(()), radsec::Settings::check)
    }

    /// Where hostapd reports.
    #[must_use]
    pub fn accounting(&self) -> SocketAddr {
        SocketAddr::new(self.radius.ip(), self.radius.port().saturating_add(1))
    }

    /// The secret in the file, made by chance if there is no file yet.
    ///
    /// # Errors
    /// The file cannot be used, others may read it, or there is no secret in it.
    pub fn secret(&self) -> Result<zeroize::Zeroizing<String>, RunError> {
        secret::read_or_make(&self.secret_file)
    }
}

/// A datagram, and where it came.
#[derive(Debug)]
pub(super) struct Datagram {
    door: Door,
    from: SocketAddr,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Door {
    Radius(Service),
    Orders,
}

/// What waits for the loop, and how soon it may have the next.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Of stations that have answered their home, of those that are in, and hostapd's answers.
    known: mpsc::Receiver<Datagram>,
    /// First questions, which anybody can cause as many of as he likes.
    strangers: mpsc::Receiver<Datagram>,
    share: Share,
}

impl Waiting {
    /// The next datagram, once it may be looked at. Nothing is lost if it is given up; nothing ever comes without phones.
    pub(super) async fn next(waiting: &mut Option<Self>) -> Datagram {
        let Some(waiting) = waiting else { return std::future::pending().await };
        waiting.share.turn().await;
        let next = tokio::select! {
            biased;
            datagram = waiting.known.recv() => datagram,
            datagram = waiting.strangers.recv() => datagram,
        };
        match next {
            Some(datagram) => datagram,
            None => std::future::pending().await, // The sockets are closed only with the loop.
        }
    }
}

/// Sockets and machines.
#[derive(Debug)]
pub(super) struct Phones {
    server: ForwardingServer,
    disconnect: DisconnectClient,
    radius: std::net::UdpSocket,
    accounting: std::net::UdpSocket,
    orders: std::net::UdpSocket,
    orders_to: SocketAddr,
    radsec: Option<radsec::Door>,
    asked: Asked,
    /// Stations that hostapd is to let go.
    leaving: BTreeMap<Disconnect, Station>,
    counters: BTreeMap<&'static str, u64>,
    /// Datagrams for which there was no room.
    overflown: Arc<AtomicU64>,
    last_refusal: Option<String>,
    lines: LogPace,
    tasks: Vec<AbortHandle>,
    #[cfg(not(feature = "hostapd"))]
    _absent: crate::absent::Absent,
}

impl Drop for Phones {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Phones {
    /// Opens the sockets.
    pub(super) fn open(settings: &Settings) -> Result<(Self, Waiting), RunError> {
        settings.check()?;
        let text = settings.secret()?;
        let secret = Secret::new(text.as_bytes()).map_err(RunError::config)?;
        let own = match settings.radius {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        };
        let clients = [own, settings.radius.ip()].map(|ip| (ip, secret.clone())).into();
        let config = Config { clients, reply_message: settings.reply_message, limits: Limits::default() };
        let [radius, accounting] = [settings.radius, settings.accounting()]
            .map(|address| bind(address, "await hostapd's RADIUS at"));
        let (radius, accounting) = (radius?, accounting?);
        let orders = bind(SocketAddr::new(settings.disconnect.ip(), 0), "give hostapd orders from")?;
        let (queues, waiting) = Queues::open();
        let overflown = Arc::clone(&queues.overflown);
        let within_tls = queues.clone();
        let deliver = move |from, bytes| {
            within_tls.push(Datagram { door: Door::Radius(Service::Tls), from, bytes });
        };
        let radsec =
            settings.radsec.as_ref().map(|settings| radsec::Door::open(settings, deliver)).transpose()?;
        let mut tasks = Vec::new();
        for (socket, door) in [
            (&radius, Door::Radius(Service::Authentication)),
            (&accounting, Door::Radius(Service::Accounting)),
            (&orders, Door::Orders),
        ] {
            let socket = socket.try_clone().and_then(UdpSocket::from_std).map_err(RunError::network)?;
            tasks.push(tokio::spawn(read(socket, door, queues.clone())).abort_handle());
        }
        let phones = Self {
            asked: Asked::new(guestright_clock::seed()),
            server: ForwardingServer::new(config, guestright_clock::seed()),
            disconnect: DisconnectClient::new(DisconnectConfig {
                server: settings.disconnect,
                secret,
                attempts_max: ORDER_ATTEMPTS_MAX,
                retry_after: ORDER_RETRY_AFTER,
                pending_max: ORDERS_MAX,
            }),
            radius,
            accounting,
            orders,
            orders_to: settings.disconnect,
            radsec,
            leaving: BTreeMap::new(),
            counters: BTreeMap::new(),
            overflown,
            last_refusal: None,
            lines: LogPace::default(),
            tasks,
            #[cfg(not(feature = "hostapd"))]
            _absent: settings.absent,
        };
        Ok((phones, waiting))
    }

    /// Settings were read again, and perhaps files were renewed.
    pub(super) fn reconfigure(&mut self, settings: &Settings) {
        self.server.set_reply_message(settings.reply_message);
        self.radsec.iter().for_each(radsec::Door::read_again);
    }

    /// When [`Loop::pass_time_of_phones`] is wanted.
    pub(super) fn due(&self) -> Option<Time> {
        [self.server.poll_timeout(), self.disconnect.poll_timeout()].into_iter().flatten().min()
    }

    /// Whether nobody is to leave who has not left yet.
    pub(super) fn is_settled(&self) -> bool {
        self.leaving.is_empty()
    }

    fn count(&mut self, what: &'static str) {
        *self.counters.entry(what).or_default() += 1;
    }

    fn receive(&mut self, datagram: &Datagram, now: Time) {
        let Datagram { door, from, bytes } = datagram;
        let received = match door {
            Door::Radius(service) => self.server.handle_datagram(*service, *from, bytes, now),
            Door::Orders => {
                let received = self.disconnect.handle_datagram(*from, bytes);
                received.inspect_err(|_| self.count("orders-unasked"))
            }
        };
        let Err(error) = received else { return };
        tracing::debug!(%error, "dropped what came from hostapd");
        // Strangers choose what is in attributes, and not how packets are framed and signed.
        let is_broken = matches!(
            error,
            RadiusError::Length { .. }
                | RadiusError::Truncated { .. }
                | RadiusError::Attribute { .. }
                | RadiusError::MessageAuthenticator { .. }
                | RadiusError::Authenticator
        );
        if let (Door::Radius(Service::Tls), true, Some(radsec)) = (door, is_broken, &self.radsec) {
            radsec.close(*from, &error.to_string());
        }
    }

    fn send(&mut self) {
        while let Some(Transmit { service, to, bytes }) = self.server.poll_transmit() {
            let is_sent = match service {
                Service::Authentication => self.radius.send_to(&bytes, to).is_ok(),
                Service::Accounting => self.accounting.send_to(&bytes, to).is_ok(),
                Service::Tls => self.radsec.as_ref().is_some_and(|radsec| radsec.send(to, bytes)),
            };
            if !is_sent {
                // It asks again.
                self.count("unsent");
            }
        }
        while let Some(bytes) = self.disconnect.poll_transmit() {
            if self.orders.send_to(&bytes, self.orders_to).is_err() {
                self.count("unsent");
            }
        }
    }

    fn refused(&mut self, realm: Option<Realm>, station: Station, refusal: &Refusal, now: Time) {
        if matches!(refusal, Refusal::Replaced) {
            return;
        }
        self.count("refused");
        let (team, kind, reason) = (realm.map(|realm| realm.0.short()), refusal.kind(), refusal.sentence());
        tracing::debug!(%station, "the station that was refused");
        match self.lines.next(now) {
            Some(unsaid) => tracing::info!(team, kind, %reason, unsaid, "a device may not join the Wi-Fi"),
            None => tracing::debug!(team, kind, %reason, "a device may not join the Wi-Fi"),
        }
        self.last_refusal = Some(reason);
    }

    /// For people and for programs.
    pub(super) fn status<'a>(&self, joined: impl Iterator<Item = &'a Joined>) -> Value {
        let stations = joined.map(|joined| {
            json!({
                "mac": MacAddress::new(joined.station).map(|mac| mac.to_string()).unwrap_or_default(),
                "team": joined.team.to_string(),
                "since": joined.since.unix_seconds().to_string(),
            })
        });
        let mut counters = self.server.counters().clone();
        for (what, count) in &self.counters {
            *counters.entry(what).or_default() += count;
        }
        let overflown = self.overflown.load(Ordering::Relaxed);
        counters.extend((overflown > 0).then_some(("overflow", overflown)));
        json!({
            "joining": self.server.conversations(),
            "joined": stations.collect::<Vec<_>>(),
            "counters": counters,
            "last_refusal": self.last_refusal,
            "radsec": self.radsec.as_ref().map(radsec::Door::status),
        })
    }
}

fn bind(address: SocketAddr, what: &str) -> Result<std::net::UdpSocket, RunError> {
    let socket = std::net::UdpSocket::bind(address).and_then(|socket| {
        socket.set_nonblocking(true)?;
        Ok(socket)
    });
    socket.map_err(|error| {
        if error.kind() == ErrorKind::AddrInUse {
            return RunError::network(format!("{what} {address}: another program is there already"))
                .with_hint(
                    "it may be a RADIUS server; give [phones] another port in `radius`, and hostapd the same",
                );
        }
        RunError::network(format!("{what} {address}: {error}"))
    })
}

/// The readers' end of what waits.
#[derive(Clone)]
struct Queues {
    known: mpsc::Sender<Datagram>,
    strangers: mpsc::Sender<Datagram>,
    overflown: Arc<AtomicU64>,
}

impl Queues {
    fn open() -> (Self, Waiting) {
        let (known, known_waiting) = mpsc::channel(DATAGRAMS_MAX);
        let (strangers, strangers_waiting) = mpsc::channel(DATAGRAMS_MAX);
        let waiting =
            Waiting { known: known_waiting, strangers: strangers_waiting, share: Share::new(SHARE) };
        (Self { known, strangers, overflown: Arc::default() }, waiting)
    }

    /// When too many wait, it is dropped, as a network would.
    fn push(&self, datagram: Datagram) {
        let is_first = match datagram.door {
            Door::Radius(Service::Authentication) => {
                !Packet::parse(&datagram.bytes).is_ok_and(|packet| has_state(&packet))
            }
            Door::Radius(Service::Tls) => Packet::parse(&datagram.bytes)
                .is_ok_and(|packet| packet.code() == Code::AccessRequest && !has_state(&packet)),
            Door::Radius(Service::Accounting) | Door::Orders => false,
        };
        let queue = if is_first { &self.strangers } else { &self.known };
        if queue.try_send(datagram).is_err() {
            self.overflown.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether hostapd says that this follows an answer of ours. Nothing has been verified: it is for the queue alone.
fn has_state(packet: &Packet<'_>) -> bool {
    packet.all(Kind::STATE).next().is_some()
}

/// Hands datagrams to the loop.
async fn read(socket: UdpSocket, door: Door, queues: Queues) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX + 1];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, from)) => {
                let bytes = buffer[..length].to_vec();
                queues.push(Datagram { door, from, bytes });
            }
            // Nobody awaited what was sent last: that is all it says.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
            Err(error) => {
                tracing::error!(%error, "hostapd can no longer be served");
                return;
            }
        }
    }
}

impl Loop {
    /// Something came from hostapd.
    pub(super) fn handle_radius(&mut self, datagram: &Datagram, waiting: &mut Option<Waiting>) {
        let begun = guestright_clock::thread_time();
        let now = self.clock.now();
        if let Some(phones) = &mut self.phones {
            phones.receive(datagram, now);
        }
        self.drain_phones(now);
        if let Some(waiting) = waiting {
            waiting.share.charge(guestright_clock::thread_time().saturating_sub(begun));
        }
    }

    /// The own home's answer, if it is about a device that wants to join. Whether it is.
    pub(super) fn handle_phones_answer(&mut self, bytes: &[u8], now: Time) -> bool {
        if !bytes.starts_with(b"EAPR ") {
            return false;
        }
        let Some(phones) = &mut self.phones else { return true };
        match Message::parse(bytes) {
            Ok(Message::Eapr { reference, decision, answer }) => {
                match phones.asked.answered(reference, answer.conversation) {
                    Some((relay, station)) => self.answer_station(relay, station, decision, answer.what, now),
                    None => phones.count("late-answer"),
                }
            }
            Ok(_) | Err(_) => phones.count("home"),
        }
        self.drain_phones(now);
        true
    }

    fn answer_station(
        &mut self,
        relay: RelayId,
        (station, realm): (Station, Realm),
        decision: Option<TeamDecision>,
        what: What,
        now: Time,
    ) {
        let Some(phones) = &mut self.phones else { return };
        if let Some(TeamDecision { granted, reason }) = decision {
            let room = self.machine.check_join(station.0, realm.0);
            let decision = match (granted, room) {
                (true, Ok(())) => Decision::Admit { session_timeout: None },
                (true, Err(sentence)) => Decision::Refuse { sentence: sentence.to_owned() },
                (false, _) => Decision::Refuse {
                    sentence: format!("This household does not serve your team now: {reason}"),
                },
            };
            phones.server.handle_decision(relay.conversation, decision, now);
        }
        let answer = match what {
            What::Challenge { eap } => Answer::Challenge { eap },
            What::Accept { msk, valid_for_seconds, .. } => {
                let session_timeout = Some(Micros::from_seconds(valid_for_seconds.into()));
                Answer::Accept { msk, session_timeout }
            }
            What::Reject { reason, .. } => Answer::Reject { sentence: reason.to_string() },
            What::Away { reason } => Answer::Unanswered { sentence: reason.to_string() },
        };
        phones.server.handle_answer(relay, answer, now);
    }

    /// The own home is lost: nobody's home can be asked.
    pub(super) fn phones_lost_home(&mut self, now: Time) {
        let Some(phones) = &mut self.phones else { return };
        for relay in phones.asked.take_all() {
            phones.server.handle_answer(relay, Answer::Away, now);
        }
        self.drain_phones(now);
    }

    pub(super) fn pass_time_of_phones(&mut self, now: Time) {
        let Some(phones) = &mut self.phones else { return };
        if phones.due().is_none_or(|due| due > now) {
            return;
        }
        phones.server.handle_timeout(now);
        phones.disconnect.handle_timeout(now);
        self.drain_phones(now);
    }

    /// The machine wants a station to leave the Wi-Fi.
    pub(super) fn dismiss(&mut self, station: access_point::Station, reason: &'static str) {
        let now = self.clock.now();
        let Some(phones) = &mut self.phones else { return self.machine.handle_left(station) };
        let station = Station(station);
        let session = SessionName { station: Some(station), ..SessionName::default() };
        tracing::debug!(%station, reason, "a station is to leave the Wi-Fi");
        match phones.disconnect.handle_disconnect(&session, now) {
            Ok(disconnect) => drop(phones.leaving.insert(disconnect, station)),
            Err(_) => phones.count("orders-full"),
        }
        phones.send();
    }

    /// Carries out everything that RADIUS wants.
    pub(super) fn drain_phones(&mut self, now: Time) {
        while let Some(event) = self.phones.as_mut().and_then(|phones| phones.server.poll_event()) {
            self.carry_out_for_phones(event, now);
        }
        let Some(phones) = &mut self.phones else { return };
        phones.send();
        while let Some(event) = phones.disconnect.poll_event() {
            let Some(station) = phones.leaving.remove(&event.disconnect) else { continue };
            match event.outcome {
                Outcome::Ended | Outcome::NoSession => {
                    phones.count("dismissed");
                    self.machine.handle_left(station.0);
                }
                outcome @ (Outcome::Refused { .. } | Outcome::Unanswered) => {
                    phones.count("not-dismissed");
                    if let Some(unsaid) = phones.lines.next(now) {
                        tracing::warn!(%outcome, unsaid, "a device whose session is over stays on the Wi-Fi, without service");
                    }
                }
            }
        }
    }

    fn carry_out_for_phones(&mut self, event: Event, now: Time) {
        let Some(phones) = &mut self.phones else { return };
        match event {
            Event::Relay(relay) => self.relay(relay, now),
            // It came with the home's yes.
            Event::DecisionNeeded { conversation, .. } => {
                let sentence = "This household could not decide. Try again.".to_owned();
                phones.server.handle_decision(conversation, Decision::Refuse { sentence }, now);
            }
            Event::Opened { conversation, session, realm, station, session_timeout, .. } => {
                phones.asked.end(conversation);
                let team = realm.0.short();
                match phones.lines.next(now) {
                    Some(unsaid) => tracing::info!(team, unsaid, "a device joined the Wi-Fi"),
                    None => tracing::debug!(team, "a device joined the Wi-Fi"),
                }
                let until = session_timeout.map(|timeout| now + timeout);
                let (station, team, stay) = (station.0, realm.0, session.0);
                self.machine.handle_joined(Joined { station, team, stay, since: now, until });
            }
            Event::Refused { conversation, realm, station, refusal } => {
                conversation.into_iter().for_each(|id| phones.asked.end(id));
                phones.refused(realm, station, &refusal, now);
            }
            Event::Accounting(accounting) => {
                if let Some(report) = read_report(&accounting) {
                    self.machine.handle_report(report, now);
                }
            }
        }
    }

    /// Asks the own home, if it can be asked, and not for a device that is blocked. Not so much that what visitors have to say to it finds no room.
    fn relay(&mut self, relay: Relay, now: Time) {
        let Some(phones) = &mut self.phones else { return };
        if self.machine.is_blocked(relay.station.0) {
            let home_is_up = self.home_state == HomeState::Up;
            self.shown.note_refusal("blocked", BLOCKED, home_is_up, now);
            let sentence = sentence(BLOCKED).as_str().to_owned();
            let decision = Decision::Refuse { sentence };
            return phones.server.handle_decision(relay.id.conversation, decision, now);
        }
        let has_room = self.home.capacity() > home_channel::QUEUE_MAX / 2;
        if self.home_state != HomeState::Lost && has_room {
            let (conversation, reference) = phones.asked.ask(&relay);
            let framed_mtu = u16::try_from(relay.eap_bytes_max).ok();
            let question = Box::new(Question { conversation, framed_mtu, eap: relay.eap });
            let message = Message::Eapq { reference, team: relay.realm.0, question };
            if self.home.try_send(message.emit()).is_ok() {
                return;
            }
        }
        if !has_room {
            phones.count("home-busy");
        }
        phones.server.handle_answer(relay.id, Answer::Away, now);
    }
}

/// What concerns one station.
fn read_report(accounting: &Accounting) -> Option<StationReport> {
    let is_there = match accounting.status {
        AccountingStatus::Start | AccountingStatus::Interim => true,
        AccountingStatus::Stop => false,
        // hostapd itself comes or goes. Its stations join anew, or are not spoken of any more.
        AccountingStatus::On | AccountingStatus::Off => return None,
    };
    let stay = accounting.class.as_deref().and_then(|class| class.try_into().ok());
    Some(StationReport { station: accounting.station?.0, stay, is_there })
}

#[cfg(test)]
#[cfg(feature = "hostapd")]
mod tests {
    use super::*;

    fn settings(radius: &str, disconnect: &str) -> Settings {
        let secret_file = PathBuf::from("radius.secret");
        let [radius, disconnect] = [radius, disconnect].map(|text| text.parse().unwrap());
        Settings { radius, disconnect, secret_file, reply_message: true, radsec: None }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_answered_its_home_does_not_wait_behind_those_who_ask_for_the_first_time() {
        use guestright_radius::Draft;
        let secret = Secret::new(b"between hostapd and us").unwrap();
        let push = |queues: &Queues, identifier, state: Option<&[u8]>| {
            let mut draft = Draft::new(Code::AccessRequest, identifier);
            if let Some(state) = state {
                draft.push(Kind::STATE, state).unwrap();
            }
            let bytes = draft.emit_request(&secret, [7; 16]);
            let from = "127.0.0.1:40000".parse().unwrap();
            queues.push(Datagram { door: Door::Radius(Service::Authentication), from, bytes });
        };
        let (queues, waiting) = Queues::open();
        for _ in 0..10 * DATAGRAMS_MAX {
            push(&queues, 1, None);
        }
        push(&queues, 2, Some(b"sixteen of ours."));
        let mut waiting = Some(waiting);
        let next = [Waiting::next(&mut waiting).await, Waiting::next(&mut waiting).await];
        assert_eq!(next.map(|datagram| Packet::parse(&datagram.bytes).unwrap().identifier()), [2, 1]);
        let lost = u64::try_from(9 * DATAGRAMS_MAX).unwrap();
        assert_eq!(queues.overflown.load(Ordering::Relaxed), lost);
    }

    #[test]
    fn radius_is_on_loopback_or_not_at_all() {
        let good = settings("127.0.0.1:1812", "127.0.0.1:3799");
        assert!(good.check().is_ok() && settings("[::1]:1812", "[::1]:3799").check().is_ok());
        assert_eq!(good.accounting(), "127.0.0.1:1813".parse().unwrap());
        for (radius, disconnect, word) in [
            ("0.0.0.0:1812", "127.0.0.1:3799", "radius: 0.0.0.0:1812 is not on loopback"),
            ("127.0.0.1:1812", "192.168.1.1:3799", "disconnect: 192.168.1.1:3799 is not on loopback"),
            ("[::]:1812", "127.0.0.1:3799", "is not on loopback"),
            ("127.0.0.1:0", "127.0.0.1:3799", "ports"),
            ("127.0.0.1:65535", "127.0.0.1:3799", "ports"),
        ] {
            let refused = settings(radius, disconnect).check().unwrap_err().sentence();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
