//! The loop around the access point's machine.

mod blocked;
#[cfg_attr(not(feature = "radio"), path = "access_point/no_calls.rs")]
mod calls;
mod ending;
mod guard;
mod home_contact;
mod inbox;
mod kept;
mod link;
mod lookups;
mod metrics;
mod orders;
mod overview;
pub mod phones;
pub mod radsec;
mod reloading;
mod rest;
#[cfg_attr(not(feature = "retention"), path = "access_point/no_retention.rs")]
pub mod retention;
mod settings;
pub mod splash;
mod stations;
mod status;

use crate::control::{self, Question};
use crate::home_channel::{self, FromHome};
use crate::log_pace::LogPace;
use crate::renewal::{self, OwnCertificate};
use crate::{HomeAddress, QUESTIONS_MAX, Reload, Requests, export, private};
use blocked::Blocked;
pub use blocked::blocked_devices;
use calls::Calls;
pub use calls::Radio;
use guard::{Condition, Done, Order, Orders};
use guestright_channel::{Credentials, CurrentCredentials};
use guestright_clock::Clock;
use guestright_error::{OrFail as _, RunError};
use guestright_firewall::{self as firewall, Firewall, FirewallError};
use guestright_identity::Role;
use guestright_roaming::AccessPoint;
use guestright_roaming::access_point::{Address, Event, Transmit};
use guestright_store::{Store, Writer, WriterHandle, WriterLimits};
use guestright_units::{Bytes, Time};
use inbox::Inbox;
use kept::Kept;
use link::{FromLink, Link};
use lookups::Lookups;
use phones::{Phones, Waiting};
use rand::rngs::StdRng;
use reloading::Reloading;
use rest::Asker;
use retention::Retention;
use serde_json::{Value, json};
pub use settings::Settings;
use splash::{Guests, Page};
use status::session_json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// How many ended sessions `status` remembers.
const ENDED_MAX: usize = 256;
/// The firewall's counters are not read more often: a reading takes a third of a millisecond.
const PACE_MIN: Duration = Duration::from_millis(10);
/// How long visitors have to sign for the last bytes when the program stops.
const FAREWELL: Duration = Duration::from_secs(3);

/// Whether the own home can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HomeState {
    /// Looked for since the start. Messages wait for it, because it may be there in a moment.
    Sought,
    Up,
    Lost,
}

struct Loop {
    machine: AccessPoint,
    clock: Clock,
    link: Link,
    orders: Orders,
    home: mpsc::Sender<Vec<u8>>,
    home_address: HomeAddress,
    /// What another channel to it would say.
    home_events: mpsc::Sender<FromHome>,
    home_state: HomeState,
    /// Why it cannot be reached.
    home_reason: Option<String>,
    credentials: CurrentCredentials,
    own: OwnCertificate,
    rng: StdRng,
    /// Anybody can show a certificate that does not hold: the log says so many a minute.
    certificate_lines: LogPace,
    last_certificate_refusal: Option<String>,
    store: WriterHandle,
    interface: String,
    team: String,
    reading: bool,
    /// What may pass has changed since that began.
    read_again: bool,
    /// When the firewall's counters are read again.
    next_reading: Instant,
    askers: rest::Askers,
    pace: Duration,
    drops: BTreeMap<String, u64>,
    allowance: Option<Bytes>,
    home_contacts: u64,
    passing: BTreeSet<Address>,
    ended: VecDeque<Value>,
    stopping: bool,
    is_asked_to_stop: bool,
    condition: Condition,
    /// What the firewall refused last, which is said once.
    refused: Option<String>,
    settings: Settings,
    reloading: Reloading,
    /// What the page is shown of guests, and their trials.
    guests: Guests,
    blocked: Blocked,
    shown: overview::Shown,
    counts: metrics::Counts,
    calls: Calls,
    page: Option<Page>,
    phones: Option<Phones>,
    retention: Retention,
    /// Guests come and go as they like: the log has so many lines a minute about them.
    session_lines: LogPace,
    lookups: Lookups,
    stations: rest::Stations,
}

/// Where a running access point with this state directory answers questions.
pub fn socket(state: &Path) -> PathBuf {
    state.join("ap.sock")
}

/// Where the firewall's changes are written down.
pub fn firewall_state(state: &Path) -> PathBuf {
    state.join("firewall.json")
}

/// What the loop listens to.
struct Inputs<'a> {
    link: Inbox,
    guard: mpsc::Receiver<Done>,
    home: mpsc::Receiver<FromHome>,
    questions: mpsc::Receiver<Question>,
    page: mpsc::Receiver<splash::Question>,
    /// What hostapd asks and reports.
    radius: Option<Waiting>,
    /// Whoever wants metrics.
    scrapes: mpsc::Receiver<metrics::Asked>,
    requests: &'a mut Requests<Settings>,
}

/// Runs an access point until it is asked to stop. Says one line on `out` when it serves. Needs a tokio runtime.
///
/// # Errors
/// The certificate is not an access point's, a file cannot be used, or the system refuses the firewall or a port.
/// The firewall is then as it was before.
pub async fn run(
    settings: &Settings,
    credentials: Credentials,
    mut requests: Requests<Settings>,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let mut settings = settings.clone();
    while serve(&mut settings, credentials.clone(), &mut requests, out).await? == Ended::ClockSetBack {
        tracing::warn!(
            "this computer's clock was set back: all sessions were closed, and the access point begins anew"
        );
    }
    Ok(())
}

/// Why an access point has ended in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Asked,
    /// Time goes only forward for its machine.
    ClockSetBack,
}

async fn serve(
    settings: &mut Settings,
    credentials: Credentials,
    requests: &mut Requests<Settings>,
    out: &mut impl Write,
) -> Result<Ended, RunError> {
    let state = &settings.state.clone();
    private::check(&credentials, Role::AccessPoint)?;
    let credentials = renewal::latest(credentials, state);
    // Before anything is opened or changed.
    let rules = settings.rules()?;
    private::make_private_directory(state)?;
    let Kept { store, undelivered, revocations, blocked, retention } = Kept::open(state, settings.retention)?;
    let access_point_address = rules.access_point;
    let address = SocketAddr::from((access_point_address, settings.port));
    let (phones, radius) = settings.phones.as_ref().map(Phones::open).transpose()?.unzip();
    let visitors = rules.visitor_network;
    let firewall = Firewall::up(rules, &firewall_state(state)).map_err(RunError::network)?;
    let condition = Condition { layers: firewall.layers(), ..Condition::default() };
    let team = credentials.certificate.team_id().to_string();
    let writer = Writer::start(store, WriterLimits::default()).map_err(RunError::network)?;
    let (door, from_link) = inbox::open();
    let link = Link::open(address, door).await.or_network(|| format!("listen at {address}"))?;
    let Credentials { key, certificate } = credentials.clone();
    let machine = AccessPoint::new(settings.machine.clone(), key, certificate);
    let (events, from_home) = mpsc::channel(home_channel::EVENTS_MAX);
    let credentials = CurrentCredentials::from(credentials);
    let home = home_channel::keep(settings.home.clone(), credentials.clone(), events.clone());
    let (mut clock, mut rng) = (Clock::start(), guestright_clock::rng());
    let own = OwnCertificate::new(&credentials, &settings.certificate, state, &mut rng, clock.now());
    let (questions, asked) = mpsc::channel(QUESTIONS_MAX);
    let (page_questions, from_page) = mpsc::channel(splash::QUESTIONS_MAX);
    let page = settings
        .splash
        .as_ref()
        .map(|splash| Page::open(splash, access_point_address, &settings.visitor_interface, page_questions));
    let page = page.transpose()?;
    control::serve(&socket(state), questions)?;
    let (doors, scrapes) = metrics::open(settings, visitors)?;
    let guard::Running { orders, done: from_guard, thread } = guard::start(firewall)?;
    let parts = Parts {
        machine,
        clock,
        link,
        orders,
        home,
        home_events: events,
        credentials,
        own,
        rng,
        store: writer.handle(),
        blocked,
        team: team.clone(),
        condition,
        page,
        phones,
        retention,
    };
    let mut this = Loop::new(parts, settings);
    kept::restore(&mut this, undelivered, revocations);
    announce(&team, address, &settings.visitor_interface, out)?;
    let inputs = Inputs {
        link: from_link,
        guard: from_guard,
        home: from_home,
        questions: asked,
        page: from_page,
        radius,
        scrapes,
        requests,
    };
    this.run(inputs).await;
    settings.clone_from(&this.settings);
    doors.close().await;
    finish(this, thread, writer, state).await
}

/// Stops what belongs to the loop, in the order in which one needs the other, and says why it has ended.
async fn finish(
    mut this: Loop,
    thread: JoinHandle<Result<(), FirewallError>>,
    writer: Writer,
    state: &Path,
) -> Result<Ended, RunError> {
    this.link.finish().await;
    this.orders.send(Order::Stop);
    let restored = thread.join().map_err(|_| RunError::broken_thread("the firewall's thread"))?;
    writer.stop().map_err(RunError::network)?;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(socket(state));
    restored.map_err(RunError::network)?;
    match this.condition.trouble {
        Some(trouble) if this.condition.is_lost => Err(RunError::network(format!(
            "the firewall could not be put back three times, so nothing is forwarded any more: {trouble}"
        ))),
        _ if this.clock.was_set_back() && !this.is_asked_to_stop => Ok(Ended::ClockSetBack),
        _ => Ok(Ended::Asked),
    }
}

/// What is opened before the loop begins.
struct Parts {
    machine: AccessPoint,
    clock: Clock,
    link: Link,
    orders: Orders,
    home: mpsc::Sender<Vec<u8>>,
    home_events: mpsc::Sender<FromHome>,
    credentials: CurrentCredentials,
    own: OwnCertificate,
    rng: StdRng,
    store: WriterHandle,
    blocked: Blocked,
    team: String,
    condition: Condition,
    page: Option<Page>,
    phones: Option<Phones>,
    retention: Retention,
}

impl Loop {
    fn new(mut parts: Parts, settings: &Settings) -> Self {
        let now = parts.clock.now();
        let guests = Guests::new(settings.trial(), now);
        parts.machine.set_blocked_devices(parts.blocked.devices().clone(), now);
        let Parts { machine, clock, link, orders, home, home_events, credentials, own, rng, .. } = parts;
        let Parts { store, blocked, team, condition, page, phones, retention, .. } = parts;
        Self {
            machine,
            clock,
            link,
            orders,
            home,
            home_address: settings.home.clone(),
            home_events,
            home_state: HomeState::Sought,
            home_reason: None,
            credentials,
            own,
            rng,
            certificate_lines: LogPace::default(),
            last_certificate_refusal: None,
            store,
            interface: settings.visitor_interface.clone(),
            team,
            reading: false,
            read_again: false,
            next_reading: Instant::now(),
            askers: rest::Askers::default(),
            pace: settings.pace(),
            drops: BTreeMap::new(),
            allowance: settings.tunnels.is_some().then_some(Bytes(0)),
            home_contacts: 0,
            passing: BTreeSet::new(),
            ended: VecDeque::new(),
            stopping: false,
            is_asked_to_stop: false,
            condition,
            refused: None,
            settings: settings.clone(),
            reloading: Reloading::default(),
            guests,
            blocked,
            shown: overview::Shown::default(),
            counts: metrics::Counts::default(),
            calls: Calls::new(settings.radio.as_ref()),
            page,
            phones,
            retention,
            session_lines: LogPace::default(),
            lookups: Lookups::default(),
            stations: rest::Stations::watch(&settings.visitor_interface),
        }
    }

    /// Awaits, calls the machine, carries out what it wants; until a request to stop and then its farewell end it.
    async fn run(&mut self, mut inputs: Inputs<'_>) {
        let farewell = tokio::time::sleep(Duration::MAX);
        tokio::pin!(farewell);
        loop {
            let now = self.clock.now();
            let phones = self.phones.as_ref().and_then(Phones::due);
            let due =
                [self.machine.poll_timeout(), self.own.due(now), self.guests.trials.poll_timeout(), phones];
            let due = due.into_iter().flatten().min();
            let (rests, patience) = (rest::is_at_rest(self), rest::patience(self));
            let due = due.map_or(patience, |due| self.clock.until(due).min(patience));
            let mut stop = false;
            tokio::select! {
                input = inputs.link.recv(), if !self.orders.are_many() => self.handle_link(input),
                (stream, from) = self.link.accept() => self.link.admit(stream, from),
                Some(answer) = inputs.guard.recv() => self.handle_guard(answer, &mut inputs.requests.reload),
                Some(event) = inputs.home.recv() => self.handle_home(event),
                Some((question, reply)) = inputs.questions.recv() => {
                    stop = question == "stop";
                    self.handle_question(&question, reply, &mut inputs.requests.reload);
                }
                Some(question) = inputs.page.recv() => splash::handle_page(self, question),
                datagram = Waiting::next(&mut inputs.radius) => self.handle_radius(&datagram, &mut inputs.radius),
                reply = metrics::next(&mut inputs.scrapes) => rest::handle_asker(self, Asker::Figures(reply)),
                () = inputs.requests.reload.requested() => self.begin_reload(&mut inputs.requests.reload, None),
                () = inputs.requests.probes.answer() => {}
                () = self.stations.next(), if rests => {}
                () = tokio::time::sleep_until(self.next_reading) => rest::handle_timeout(self),
                () = tokio::time::sleep(due) => {}
                () = inputs.requests.stop.requested() => stop = true,
                () = &mut farewell => return,
            }
            let now = self.clock.now();
            self.is_asked_to_stop |= stop;
            if (stop || self.clock.was_set_back()) && !self.stopping {
                self.stopping = true;
                self.machine.shut_down(now);
                self.guests.trials.end_all(now);
                farewell.as_mut().reset(Instant::now() + FAREWELL);
            }
            if self.machine.poll_timeout().is_some_and(|due| due <= now) {
                // Whoever answered in time is listened to before its time is over, also when we are late ourselves: what
                // the sockets hold is read first.
                tokio::task::yield_now().await;
                while let Some(input) = inputs.link.try_visitor() {
                    self.handle_link(input);
                }
            }
            self.machine.handle_timeout(now);
            self.guests.trials.handle_timeout(now);
            self.calls.handle_timeout(now);
            self.pass_time_of_phones(now);
            self.keep_certificate(now);
            if self.machine.limits_rose() {
                self.read();
            }
            self.link.set_in_use(self.machine.paths_in_use());
            self.drain();
            // Somebody may have come.
            let next_reading = Instant::now() + rest::pace(self);
            self.next_reading = self.next_reading.min(next_reading);
            if self.condition.is_lost {
                return;
            }
            let delivered = self.machine.undelivered() == 0 || self.home_state != HomeState::Up;
            let is_empty = self.machine.status().is_empty()
                && self.guests.trials.is_empty()
                && self.phones.as_ref().is_none_or(Phones::is_settled);
            if self.stopping && is_empty && delivered {
                return;
            }
        }
    }

    fn handle_question(
        &mut self,
        question: &str,
        reply: oneshot::Sender<Value>,
        reload: &mut Reload<Settings>,
    ) {
        if question == "reload" {
            self.begin_reload(reload, Some(reply));
        } else if let Some(after) = question.strip_prefix(export::QUESTION) {
            export::answer(&self.store, after.trim(), reply);
        } else if retention::is_question(question) {
            retention::answer(self, question, reply);
        } else if question == "status" {
            rest::handle_asker(self, Asker::Status(reply));
        } else {
            let _ = reply.send(self.answer(question));
        }
    }

    fn handle_link(&mut self, input: FromLink) {
        match input {
            FromLink::Message { path, bytes, .. } if inbox::is_contact(path) => {
                let now = self.clock.now();
                self.machine.handle_contact(path, &bytes, now);
            }
            FromLink::Message { ip, path, bytes } => {
                if self.stopping && self.machine.status().is_empty() {
                    return;
                }
                let now = self.clock.now();
                let Some(mac) = self.lookups.hardware_address(ip, &self.interface, now) else { return };
                let address = Address::new(mac, ip);
                if !self.passing.contains(&address) {
                    self.counts.note_message(address, &bytes, now);
                }
                self.machine.handle_visitor(address, path, &bytes, now);
            }
            FromLink::Ended(path) => {
                self.link.end(path);
                let now = self.clock.now();
                self.machine.handle_disconnected(path, now);
            }
            FromLink::HomeReached { ip, path, stream } => {
                self.link.add(path, ip, stream);
                self.machine.handle_connected(path);
            }
        }
    }

    fn handle_guard(&mut self, answer: Done, reload: &mut Reload<Settings>) {
        let now = self.clock.now();
        match answer {
            Done::Read(reading) => {
                self.reading = false;
                self.refused = None;
                self.drops = reading.drops;
                self.allowance = self.allowance.map(|_| reading.allowance);
                self.calls.handle_reading(&reading.passing, reading.stations, now);
                for (address, passing) in reading.passing {
                    self.counts.note_traffic(&address, passing.used);
                    let counted = guard::both_ways(passing.used);
                    if self.guests.trials.contains(address) {
                        self.guests.trials.handle_traffic(address, counted, now);
                    } else {
                        self.machine.handle_traffic(address, counted, now);
                    }
                }
                let soon = Duration::from_micros(self.machine.next_reading(now).0).max(PACE_MIN);
                self.next_reading = self.next_reading.min(Instant::now() + soon);
                if std::mem::take(&mut self.read_again) {
                    self.read();
                }
                self.handle_tunnels(&reading.tunnels);
                if !self.reading {
                    rest::answer(self);
                }
            }
            Done::Opened(address) if self.guests.trials.contains(address) => {
                self.guests.trials.handle_opened(address);
            }
            Done::Opened(address) => {
                self.passing.insert(address);
                self.counts.note_online(address, now);
            }
            Done::Reconfigured(result) => self.end_reload(reload, result),
            Done::Closed(address, traffic) => {
                // It may have been opened after its session was over.
                self.passing.remove(&address);
                self.counts.note_closed(&address, traffic);
                let counted = guard::both_ways(traffic);
                if !splash::trial_closed(self, address, counted) {
                    self.machine.handle_closed(address, counted, now);
                }
            }
            Done::Failed(error) => {
                self.reading = false;
                if self.refused.as_ref() != Some(&error) {
                    tracing::error!(%error, "the firewall refused an order");
                    self.refused = Some(error);
                }
                rest::answer(self);
            }
            Done::Barred(packets) => self.condition.barred = packets,
            Done::Compared(condition) => {
                if condition.trouble.is_some() && condition.trouble != self.condition.trouble {
                    let trouble = condition.trouble.as_deref().unwrap_or_default();
                    tracing::error!(trouble, "the firewall is not as it should be");
                }
                self.condition = condition;
            }
        }
    }

    /// Visitors that have nothing but a tunnel: their homes are contacted, within the machine's limits.
    fn handle_tunnels(&mut self, tunnels: &[(Ipv4Addr, Ipv4Addr, NonZeroU16)]) {
        if tunnels.is_empty() {
            return;
        }
        let neighbours = firewall::neighbours(&self.interface).unwrap_or_else(|error| {
            tracing::warn!(%error, "the visitors' hardware addresses could not be looked up");
            BTreeMap::new()
        });
        let now = self.clock.now();
        for (ip, home, port) in tunnels {
            if let Some(mac) = neighbours.get(ip).filter(|_| !self.guests.trials.is_at(*ip)) {
                self.machine.handle_flow(Address::new(mac.bytes(), *ip), *home, *port, now);
            }
        }
    }

    fn handle_home(&mut self, event: FromHome) {
        let now = self.clock.now();
        match event {
            FromHome::Up => {
                self.home_state = HomeState::Up;
                self.home_reason = None;
                self.own.handle_home(true, &mut self.rng, now);
                self.machine.handle_home_found(now);
            }
            FromHome::Message(bytes) => {
                let is_other = self.handle_phones_answer(&bytes, now)
                    || self.own.handle_input(&bytes, &mut self.rng, now)
                    || splash::handle_trial_answer(self, &bytes, now)
                    || orders::handle_question(self, &bytes, now);
                if !is_other {
                    self.machine.handle_home(&bytes, now);
                }
            }
            FromHome::Lost(reason) => {
                self.own.handle_home(false, &mut self.rng, now);
                if self.home_state == HomeState::Up {
                    tracing::warn!(%reason, "the home is lost; trying again");
                } else if self.home_reason.as_ref() != Some(&reason) {
                    tracing::warn!(%reason, "the home cannot be reached; trying again");
                }
                self.home_reason = Some(reason);
                self.home_state = HomeState::Lost;
                self.machine.handle_home_lost(now);
                self.phones_lost_home(now);
            }
        }
    }

    /// Has the own certificate renewed in time, and uses the new one. Sessions go on.
    fn keep_certificate(&mut self, now: Time) {
        let to_do = self.own.pass_time(&mut self.rng, now);
        for message in to_do.messages {
            // If it does not fit it is asked again.
            let _ = self.home.try_send(message);
        }
        if let Some(certificate) = to_do.renewed {
            self.machine.renew(certificate);
        }
        if to_do.by_hand {
            // The old channel ends when nobody can send on it any more.
            let (home, events) = (self.home_address.clone(), self.home_events.clone());
            self.home = home_channel::keep(home, self.credentials.clone(), events);
        }
    }

    /// Asks the firewall for its counters, unless it is still busy with the last time: then as soon as it is done.
    fn read(&mut self) {
        self.next_reading = Instant::now() + rest::pace(self);
        if self.reading {
            self.read_again = true;
        } else {
            let gates = self.machine.open().chain(self.guests.trials.gates()).collect();
            let rates = self.calls.wants_rates(self.clock.now());
            self.reading = self.orders.send(Order::Read { gates, rates });
        }
    }

    /// Carries out everything that the machine wants.
    fn drain(&mut self) {
        while let Some(event) = self.machine.poll_event() {
            self.carry_out(event);
        }
        splash::drain_trials(self);
        while let Some(transmit) = self.machine.poll_transmit() {
            match transmit {
                Transmit::Visitor(path, bytes) => self.link.answer(path, bytes),
                Transmit::Home(bytes) => {
                    // A queue that is full says that there is too much to do, not that nobody is there: what does not fit
                    // is asked again, or decided when its time is over.
                    let sent = self.home.try_send(bytes);
                    if self.home_state == HomeState::Lost || matches!(sent, Err(TrySendError::Closed(_))) {
                        let now = self.clock.now();
                        self.machine.handle_home_lost(now);
                    }
                }
            }
        }
    }

    fn carry_out(&mut self, event: Event) {
        match event {
            Event::Connect { path, home } => {
                self.home_contacts += 1;
                self.link.contact_home(path, home);
            }
            Event::Disconnect(path) => self.link.end(path),
            Event::Dismiss { station, reason } => self.dismiss(station, reason),
            Event::Opened { address, class, member } => {
                tracing::debug!(%class, %member, %address, "opened a session");
                self.counts.note_session(class);
                retention::session_begins(self, address);
                let gate = self.machine.open().find(|gate| gate.address == address);
                if let Some(gate) = gate {
                    splash::open_session(self, address, class, gate.most);
                }
            }
            Event::Reclassified { address, class } => self.order(Order::Reclassify(address, class)),
            Event::Closing { address, .. } => {
                self.passing.remove(&address);
                splash::session_is_over(self, address);
                self.order(Order::Close(address));
            }
            Event::Closed { session, code } => ending::closed(self, &session, code),
            Event::Received(receipt, certificate) => {
                self.counts.note_receipt();
                let now = self.clock.now().unix_seconds();
                let reply = |result: Result<_, guestright_store::StoreError>| {
                    if let Err(error) = result {
                        tracing::error!(%error, "a receipt could not be kept here");
                    }
                };
                if let Err(error) = self.store.put(vec![(receipt, *certificate)], now, reply) {
                    tracing::error!(%error, "a receipt could not be kept here");
                }
            }
            Event::Delivered(sessions) => {
                let _ = self.store.run(move |store| drop(store.mark_flushed(&sessions)));
            }
            Event::Revoked(list) => {
                tracing::info!(team = %list.team_id().short(), "the home has handed on a revocation list");
                let keep = move |store: &mut Store| {
                    if let Err(error) = store.put_revocation(&list) {
                        tracing::error!(%error, "a revocation list could not be kept here");
                    }
                };
                let _ = self.store.run(keep);
            }
            Event::Refused { address, kind: kind @ ("certificate" | "revoked"), reason } => {
                self.note_refusal(address, kind, &reason);
                // The visitor is told the same. It is said here because it may be this computer's clock that is wrong.
                match self.certificate_lines.next(self.clock.now()) {
                    Some(unsaid) => tracing::warn!(%reason, unsaid, "refused a visitor for its certificate"),
                    None => tracing::debug!(%reason, "refused a visitor for its certificate"),
                }
                self.last_certificate_refusal = Some(reason);
            }
            Event::Refused { address, kind, reason } => {
                self.note_refusal(address, kind, &reason);
                tracing::debug!(%address, kind, %reason, "refused");
            }
        }
    }

    /// Somebody got nothing: for the guest's page, and for the household's.
    fn note_refusal(&mut self, address: Address, kind: &str, reason: &str) {
        let now = self.clock.now();
        self.counts.note_refused(address, now);
        self.guests.note_refusal(address, kind, reason, now);
        self.shown.note_refusal(kind, reason, self.home_state == HomeState::Up, now);
    }

    /// The sessions; open are those whose packets the firewall lets through.
    fn sessions(&self) -> Vec<Value> {
        let mut sessions = self.machine.status();
        for session in &mut sessions {
            session.open &= self.passing.contains(&session.address);
        }
        sessions.iter().map(session_json).collect()
    }

    fn order(&mut self, order: Order) {
        self.counts.note_order(&order);
        // The thread ends only after this loop.
        self.orders.send(order);
    }

    /// Packets that were dropped, by the table and by the filter before it.
    fn dropped(&self) -> BTreeMap<&str, u64> {
        let table = self.drops.iter().map(|(name, packets)| (name.as_str(), *packets));
        table.chain([("barred", self.condition.barred)]).collect()
    }

    fn answer(&mut self, question: &str) -> Value {
        match question {
            "status" => json!({
                "team": self.team,
                "certificate": self.own.status(self.clock.now()),
                "home_up": self.home_state == HomeState::Up,
                "home_reason": self.home_reason,
                "certificate_refused": self.last_certificate_refusal,
                "sessions": self.sessions(),
                "closed": self.ended,
                "undelivered": self.machine.undelivered(),
                "left_while_away": self.machine.left_while_away().0,
                "refused": self.machine.refusals(),
                "blocked_devices": self.machine.blocked_devices().len(),
                "dropped": self.dropped(),
                "layers": {
                    "leases": true,
                    "routing": self.condition.layers.routing,
                    "static_filter": self.condition.layers.static_filter,
                    "owned_table": self.condition.layers.owned_table,
                },
                "mended": self.condition.mended,
                "trouble": self.condition.trouble.as_ref().or(self.refused.as_ref()),
                "splash": self.page.as_ref().map(|page| {
                    let mut status = page.status();
                    status["trials"] = self.guests.status();
                    status
                }),
                "phones": self.phones.as_ref().map(|phones| phones.status(self.machine.joined())),
                "retention": self.retention.status(),
                "calls": self.calls.status(),
                "allowance": self.allowance.map(|used| json!({ "used": used.0, "home_contacts": self.home_contacts })),
            }),
            "stop" => json!({ "stopping": true }),
            _ => match question.split_once(' ') {
                Some(("end", address)) => ending::answer(self, address),
                _ => {
                    json!({ "error": "the questions are: status, end ADDRESS, who, forget, export, reload, stop" })
                }
            },
        }
    }
}

/// Says that it serves.
fn announce(team: &str, address: SocketAddr, interface: &str, out: &mut impl Write) -> Result<(), RunError> {
    writeln!(out, "access point of team {team} at {address}, for visitors on {interface}")
        .and_then(|()| out.flush())
        .map_err(RunError::Output)
}
