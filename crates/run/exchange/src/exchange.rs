//! The task that owns the machines.

use crate::book::read_book;
use crate::find::{Purpose, Searches};
use crate::media::CallMedia;
use crate::ways::{WayEvent, Ways};
use crate::{Members, OwnHome, Settings};
use guestright_clock::Clock;
use guestright_directory::{Directory, LinkId, Record, is_frame};
use guestright_error::RunError;
use guestright_identity::KeyId;
use guestright_links::{ExchangeLinks, LinkEvent};
use guestright_media::Settings as MediaSettings;
use guestright_signalling::sdp::Mode;
use guestright_signalling::{CallRoom, CallStatus, Config, Contact, Event, Link, Peer, Proxy};
use guestright_sip::{Incoming, Telephones};
use guestright_units::{Micros, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use tokio::sync::{mpsc, oneshot};

/// How often calls that no media passed are looked for, and the book is written.
const CHECK_EVERY: Micros = Micros::from_seconds(10);

/// How many orders may wait for the exchange.
const ORDERS_MAX: usize = 16;

/// A running telephone exchange. It ends with [`Exchange::stop`], or when it is dropped.
#[derive(Debug)]
pub struct Exchange {
    orders: mpsc::Sender<Order>,
    task: tokio::task::JoinHandle<()>,
}

enum Order {
    Members(Members),
    Rooms(Vec<CallRoom>),
    Status(oneshot::Sender<Value>),
    Stop,
}

pub(crate) struct Task {
    pub(crate) proxy: Proxy,
    pub(crate) directory: Directory,
    telephones: Telephones,
    pub(crate) links: ExchangeLinks,
    media: CallMedia,
    pub(crate) searches: Searches,
    pub(crate) ways: Ways,
    own: Vec<KeyId>,
    book: PathBuf,
    pub(crate) book_is_kept: bool,
    pub(crate) clock: Clock,
    check_at: Time,
    /// How often members' telephones have said each mean opinion score, in hundredths: 351 at most.
    scores: BTreeMap<u16, u64>,
}

impl Exchange {
    /// Listens for telephones at the gateway's address. What is known of other homes is kept in the directory `state`.
    /// Needs a tokio runtime.
    ///
    /// # Errors
    /// A port is taken, a file with a secret cannot be used, or a way to find homes is not in this build.
    pub async fn start(
        settings: &Settings,
        own: OwnHome<'_>,
        links: ExchangeLinks,
    ) -> Result<Self, RunError> {
        let OwnHome { home, address, state, members } = own;
        let mut clock = Clock::start();
        let now = clock.now();
        let at = SocketAddr::new(address, settings.sip_port);
        let (telephones, from_telephones) = Telephones::open(at).await.map_err(RunError::network)?;
        let mut proxy = Proxy::new(config(settings, address, home), guestright_clock::seed(), now);
        let named =
            settings.contacts.iter().map(|each| Contact { name: each.name.clone(), key: each.member });
        proxy.set_contacts(named.collect());
        let file = state.join("directory.book");
        let book = read_book(&file, now);
        let peers = settings.peers.clone();
        let directory = guestright_directory::Config { peers, ..guestright_directory::Config::default() };
        let (ways, from_ways) = Ways::start(settings).await?;
        let numbers_on_cards = settings.sms.as_ref().is_some_and(|sms| sms.ask_numbers_on_cards);
        let media = MediaSettings {
            port_first: settings.media_port_first,
            port_last: settings.media_port_last,
            calls_max: settings.calls_max,
            ..MediaSettings::default()
        };
        let task = Task {
            proxy,
            directory: Directory::new(directory, book),
            telephones,
            links,
            media: CallMedia::start(media, address)?,
            searches: Searches::new(settings.contacts.clone(), numbers_on_cards),
            ways,
            own: Vec::new(),
            book: file,
            book_is_kept: true,
            clock,
            check_at: now + CHECK_EVERY,
            scores: BTreeMap::new(),
        };
        let (orders, from_home) = mpsc::channel(ORDERS_MAX);
        let this = Self { orders, task: tokio::spawn(task.run(from_telephones, from_ways, from_home)) };
        this.set_members(members)?;
        Ok(this)
    }

    /// The members are others, perhaps.
    ///
    /// # Errors
    /// The exchange is too busy to be told, and was not.
    pub fn set_members(&self, members: Members) -> Result<(), RunError> {
        let sent = self.orders.try_send(Order::Members(members));
        sent.map_err(|_| RunError::network("the exchange is too busy to be told of members"))
    }

    /// What the household's access points say of calls; see [`Proxy::set_rooms`]. False if that was too much at a time: then what they said
    /// before counts on, until they are said again.
    pub fn set_rooms(&self, rooms: Vec<CallRoom>) -> bool {
        self.orders.try_send(Order::Rooms(rooms)).is_ok()
    }

    /// Where to send `home`'s own status, so that what is known of calls joins it on the way to `reply`.
    pub fn join(&self, reply: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
        let (sender, received) = oneshot::channel::<Value>();
        let orders = self.orders.clone();
        tokio::spawn(async move {
            let Ok(mut status) = received.await else { return };
            let (asked, answer) = oneshot::channel();
            if orders.send(Order::Status(asked)).await.is_ok()
                && let Ok(voice) = answer.await
            {
                status["voice"] = voice;
            }
            let _ = reply.send(status);
        });
        sender
    }

    /// Ends all calls and closes everything.
    pub async fn stop(self) {
        let _ = self.orders.send(Order::Stop).await;
        let _ = self.task.await;
    }
}

fn config(settings: &Settings, gateway: IpAddr, home: KeyId) -> Config {
    Config {
        port: settings.sip_port,
        domains: settings.domains.clone(),
        strangers: settings.strangers,
        calls_max: settings.calls_max,
        calls_each_max: settings.calls_each_max,
        ..Config::new(gateway, home)
    }
}

impl Task {
    async fn run(
        mut self,
        mut from_telephones: mpsc::Receiver<Incoming>,
        mut from_ways: mpsc::Receiver<WayEvent>,
        mut from_home: mpsc::Receiver<Order>,
    ) {
        loop {
            self.drain();
            let due = [self.proxy.poll_timeout(), self.directory.poll_timeout(), Some(self.check_at)];
            let due = due.into_iter().flatten().min().unwrap_or(self.check_at);
            let wait = self.clock.until(due);
            tokio::select! {
                Some(received) = from_telephones.recv() => self.handle_sip(received),
                Some(event) = self.links.recv() => self.handle_link(event),
                Some(event) = from_ways.recv() => self.handle_way(event),
                order = from_home.recv() => match order {
                    Some(Order::Members(members)) => self.set_members(members),
                    Some(Order::Rooms(rooms)) => self.proxy.set_rooms(rooms, self.clock.now()),
                    Some(Order::Status(reply)) => drop(reply.send(self.status())),
                    Some(Order::Stop) | None => break,
                },
                () = tokio::time::sleep(wait) => self.pass_time(),
            }
        }
        self.end();
    }

    fn handle_sip(&mut self, received: Incoming) {
        let now = self.clock.now();
        match received {
            Incoming::Message(peer, bytes) => self.proxy.handle_message(peer, &bytes, now),
            Incoming::Gone(peer) => self.proxy.handle_unreachable(peer, now),
        }
    }

    fn handle_link(&mut self, event: LinkEvent) {
        let now = self.clock.now();
        match event {
            LinkEvent::Up(linked) => {
                self.proxy.handle_link(linked.home, Link { address: linked.peer, local: linked.local });
                self.directory.handle_linked(linked.link, linked.home, linked.called.as_ref(), now);
                for (call, reach) in self.searches.linked(linked.home) {
                    self.proxy.handle_found(call, reach, now);
                }
            }
            LinkEvent::Frame(link, bytes) if is_frame(&bytes) => {
                if self.links.home(link).is_some() {
                    self.directory.handle_frame(link, &bytes, now);
                }
            }
            LinkEvent::Frame(link, bytes) => {
                if let Some(home) = self.links.home(link) {
                    self.proxy.handle_message(Peer::Home(home), &bytes, now);
                }
            }
            LinkEvent::Down(link) => self.unlinked(link, now),
            LinkEvent::Failed(hint) => {
                if let Some(home) = self.links.failed(&hint) {
                    self.proxy.handle_unreachable(Peer::Home(home), now);
                }
                self.directory.handle_link_failed(&hint.address, now);
                for failed in self.searches.link_failed(&hint, &self.links) {
                    self.not_there(failed, now);
                }
            }
        }
    }

    fn unlinked(&mut self, link: LinkId, now: Time) {
        let lost = self.links.remove(link);
        self.directory.handle_unlinked(link, now);
        if let Some(home) = lost {
            self.proxy.handle_unreachable(Peer::Home(home), now);
        }
    }

    fn set_members(&mut self, Members { all: members, records }: Members) {
        let now = self.clock.now();
        let keys: Vec<KeyId> = members.iter().map(|member| member.key).collect();
        for key in self.own.iter().filter(|key| !keys.contains(key)) {
            self.directory.handle_left(*key);
        }
        let name = |record: &Record| members.iter().find(|member| member.key == record.member());
        let named = records.iter().filter_map(|record| Some((name(record)?.name.clone(), record.clone())));
        self.ways.set_own(&named.collect::<Vec<_>>());
        for record in records {
            if !keys.contains(&record.member()) {
                tracing::warn!("a member's record is another key's");
            } else if let Err(error) = self.directory.handle_own(record, now) {
                tracing::warn!(%error, "a member's record does not count; the member has to sign a new one");
            }
        }
        self.own = keys;
        self.proxy.set_members(members, now);
    }

    fn pass_time(&mut self) {
        let now = self.clock.now();
        self.proxy.handle_timeout(now);
        self.directory.handle_timeout(now);
        if self.check_at > now {
            return;
        }
        self.check_at = now + CHECK_EVERY;
        for call in self.media.active() {
            self.proxy.handle_media_received(call, now);
        }
        self.keep_book();
    }

    fn keep_book(&mut self) {
        if self.book_is_kept {
            return;
        }
        self.book_is_kept = true;
        if let Err(error) = guestright_keys::replace_private(&self.book, &self.directory.book().snapshot()) {
            tracing::warn!(%error, "what is known of other homes could not be kept");
        }
    }

    /// Carries out everything that the machines want, until they want nothing more.
    fn drain(&mut self) {
        let now = self.clock.now();
        loop {
            let mut is_quiet = true;
            while let Some(event) = self.proxy.poll_event() {
                is_quiet = false;
                self.carry_out(event, now);
            }
            while let Some((peer, bytes)) = self.proxy.poll_transmit() {
                is_quiet = false;
                match peer {
                    Peer::Udp(_) | Peer::Tcp(_) => self.telephones.send(peer, bytes),
                    Peer::Home(home) => {
                        if !self.links.send(home, bytes) {
                            self.proxy.handle_unreachable(peer, now);
                        }
                    }
                }
            }
            while let Some(event) = self.directory.poll_event() {
                is_quiet = false;
                self.handle_directory(event, now);
            }
            while let Some((link, bytes)) = self.directory.poll_transmit() {
                is_quiet = false;
                if !self.links.send_on(link, bytes) {
                    self.unlinked(link, now);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    fn carry_out(&mut self, event: Event, now: Time) {
        match event {
            Event::Find { call, key, caller, card } => {
                let contact = Box::new(self.searches.called(key, card.as_deref()));
                let search = self.directory.handle_find(&contact, now);
                self.searches.begin(search, Purpose::Call { call, caller, contact, tried: false });
            }
            Event::Verify { call, key, home } => {
                // The home itself has the record; the question goes over the link that the call came on.
                let contact = self.searches.vouched(key, home);
                let search = self.directory.handle_find(&contact, now);
                self.searches.begin(search, Purpose::Verify { call, key, home });
            }
            Event::Allocate { call, sides } => {
                let ports = self.media.open(call, sides);
                self.proxy.handle_allocated(call, ports, now);
            }
            Event::Update { call, sides } => self.media.update(call, *sides),
            Event::Release { call } => self.media.close(call),
            Event::Reported { mos_hundredths } => *self.scores.entry(mos_hundredths).or_default() += 1,
            Event::Registered { member, telephones } => {
                tracing::debug!(%member, telephones, "a member's telephones");
            }
        }
    }

    fn status(&self) -> Value {
        let now = Clock::start().now();
        let call = |call: CallStatus| {
            json!({
                "id": call.id.0,
                "caller": call.who.caller,
                "callee": call.who.callee,
                "since": call.since.unix_seconds().0,
                "seconds": (now - call.since).0 / 1_000_000,
                "phase": call.phase.to_string(),
                "protection": call.mode.map(|mode| protection(mode, call.is_between)),
                "from": self.media.status(call.id),
                // Only an end of the call knows its delay.
                "mos": Value::Null,
            })
        };
        let telephones: serde_json::Map<String, Value> =
            self.proxy.telephones(now).map(|(name, count)| (name.to_owned(), json!(count))).collect();
        json!({
            "sip": self.telephones.address().to_string(),
            "links": self.links.count(),
            "records": self.directory.book().len(),
            "telephones": telephones,
            "calls": self.proxy.calls().map(call).collect::<Vec<_>>(),
            "refused": self.proxy.refused(),
            "scores": self.scores.iter().map(|(hundredths, count)| [u64::from(*hundredths), *count]).collect::<Vec<_>>(),
            "calls_that_fit": self.proxy.room_left().collect::<Vec<_>>(),
        })
    }

    /// Tells everybody that calls are over, as far as that can be done at once.
    fn end(&mut self) {
        let now = self.clock.now();
        let calls: Vec<_> = self.proxy.calls().map(|call| call.id).collect();
        for call in calls {
            self.proxy.hang_up(call, "the home stops", now);
        }
        self.drain();
        self.book_is_kept = false;
        self.keep_book();
    }
}

fn protection(mode: Mode, is_between: bool) -> &'static str {
    match (mode, is_between) {
        (Mode::EndToEnd, _) => "end-to-end",
        (Mode::Homes, true) => "home-to-home",
        (Mode::Homes, false) => "tunnels",
    }
}
