//! Calls of members: the home as registrar and proxy, its links to other homes, its directory, and calls' media.
//!
//! The machines are `signalling`'s [`Proxy`] and `directory`'s [`Directory`]. They run in one task beside the home's
//! loop, which tells them when members have changed ([`Voice::reload`]) and asks them how it stands
//! ([`Voice::join`]).

mod files;
mod find;
mod links;
mod rooms;
mod search;
mod ways;

use super::gateway::Gateway;
use crate::settings::VoiceSettings;
use anyhow::Context;
use files::{read_book, read_members};
use find::{Finds, Purpose};
use guestright_channel::Credentials;
use guestright_cli::failure::Failure;
use guestright_clock::Clock;
use guestright_directory::{Directory, LinkId, Record, is_frame};
use guestright_firewall::VoicePorts;
use guestright_identity::KeyId;
use guestright_media::Settings as MediaSettings;
use guestright_signalling::sdp::Mode;
use guestright_signalling::{CallStatus, Config, Contact, Event, Link, Member, Peer, Proxy};
use guestright_sip::{Incoming, Telephones};
use guestright_units::{Micros, Time};
use links::{LinkEvent, Links};
use rooms::Rooms;
use serde_json::{Value, json};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio::sync::{mpsc, oneshot};
use ways::{Told, Ways};

/// How often it is looked whether calls are alive, links are used, and the book is to be kept.
const LOOK_EVERY: Micros = Micros::from_seconds(10);

/// What members' telephones need of the firewall.
pub(super) fn ports(settings: &VoiceSettings) -> VoicePorts {
    VoicePorts { sip: settings.sip_port, media: (settings.media_port_first, settings.media_port_last) }
}

/// The running telephone exchange.
pub(super) struct Voice {
    orders: mpsc::Sender<Order>,
    task: tokio::task::JoinHandle<()>,
}

enum Order {
    Members(Vec<Member>, Vec<Record>),
    Status(oneshot::Sender<Value>),
    Stop,
}

struct Task {
    proxy: Proxy,
    directory: Directory,
    telephones: Telephones,
    links: Links,
    rooms: Rooms,
    finds: Finds,
    ways: Ways,
    own: Vec<KeyId>,
    book: PathBuf,
    book_is_kept: bool,
    clock: Clock,
    look_at: Time,
}

impl Voice {
    /// Listens for telephones at the gateway's address, and for other homes.
    pub(super) async fn start(
        settings: &VoiceSettings,
        credentials: &Credentials,
        gateway: &Gateway,
        state: &Path,
    ) -> Result<Self, Failure> {
        settings.check()?;
        let (_, address) = gateway.network();
        let address = IpAddr::from(address);
        let mut clock = Clock::start();
        let now = clock.now();
        let at = SocketAddr::new(address, settings.sip_port);
        let (telephones, heard) =
            Telephones::open(at).await.map_err(|error| Failure::network(anyhow::Error::from(error)))?;
        let listener = tokio::net::TcpListener::bind(settings.listen).await;
        let listener = listener
            .with_context(|| format!("listen for other homes at {}", settings.listen))
            .map_err(Failure::network)?;
        let (links, linked) = Links::start(listener, credentials.clone());
        let home = credentials.certificate.subject_id();
        let mut proxy = Proxy::new(config(settings, address, home), guestright_clock::seed(), now);
        let contacts = settings.contacts()?;
        let named = contacts.iter().map(|each| Contact { name: each.name.clone(), key: each.member });
        proxy.set_contacts(named.collect());
        let file = state.join("directory.book");
        let book = read_book(&file, now);
        let peers = settings.peers()?;
        let directory = guestright_directory::Config { peers, ..guestright_directory::Config::default() };
        let (ways, told) = Ways::start(settings).await?;
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
            rooms: Rooms::start(media, address).map_err(Failure::network)?,
            finds: Finds::new(contacts, numbers_on_cards),
            ways,
            own: Vec::new(),
            book: file,
            book_is_kept: true,
            clock,
            look_at: now + LOOK_EVERY,
        };
        let (orders, ordered) = mpsc::channel(16);
        let this = Self { orders, task: tokio::spawn(task.run(heard, linked, told, ordered)) };
        this.reload(gateway).await?;
        Ok(this)
    }

    /// The members are others, perhaps.
    pub(super) async fn reload(&self, gateway: &Gateway) -> Result<(), Failure> {
        let (members, records) = read_members(gateway)?;
        let _ = self.orders.send(Order::Members(members, records)).await;
        Ok(())
    }

    /// The same, for who cannot wait: if the exchange is too busy to be told, it is not.
    pub(super) fn reload_soon(&self, gateway: &Gateway) -> Result<(), Failure> {
        let (members, records) = read_members(gateway)?;
        if self.orders.try_send(Order::Members(members, records)).is_err() {
            return Err(Failure::network(anyhow::anyhow!("the exchange is too busy to be told of members")));
        }
        Ok(())
    }

    /// Where to send `home`'s own status, so that what is known of calls joins it on the way to `reply`.
    pub(super) fn join(&self, reply: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
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
    pub(super) async fn stop(self) {
        let _ = self.orders.send(Order::Stop).await;
        let _ = self.task.await;
    }
}

fn config(settings: &VoiceSettings, gateway: IpAddr, home: KeyId) -> Config {
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
        mut heard: mpsc::Receiver<Incoming>,
        mut linked: mpsc::Receiver<LinkEvent>,
        mut told: mpsc::Receiver<Told>,
        mut ordered: mpsc::Receiver<Order>,
    ) {
        loop {
            self.drain();
            let due = [self.proxy.poll_timeout(), self.directory.poll_timeout(), Some(self.look_at)];
            let due = due.into_iter().flatten().min().unwrap_or(self.look_at);
            let wait = self.clock.until(due);
            tokio::select! {
                Some(heard) = heard.recv() => self.hear(heard),
                Some(event) = linked.recv() => self.linked(event),
                Some(told) = told.recv() => self.told(told),
                order = ordered.recv() => match order {
                    Some(Order::Members(members, records)) => self.set_members(members, records),
                    Some(Order::Status(reply)) => drop(reply.send(self.status())),
                    Some(Order::Stop) | None => break,
                },
                () = tokio::time::sleep(wait) => self.pass_time(),
            }
        }
        self.end();
    }

    fn hear(&mut self, heard: Incoming) {
        let now = self.clock.now();
        match heard {
            Incoming::Message(peer, bytes) => self.proxy.handle_message(peer, &bytes, now),
            Incoming::Gone(peer) => self.proxy.handle_unreachable(peer, now),
        }
    }

    fn linked(&mut self, event: LinkEvent) {
        let now = self.clock.now();
        match event {
            LinkEvent::Up(up) => {
                let Some(linked) = self.links.take(*up, now) else { return };
                self.proxy.handle_link(linked.home, Link { address: linked.peer, local: linked.local });
                self.directory.handle_linked(linked.link, linked.home, linked.called.as_ref(), now);
                for (call, reach) in self.finds.linked(linked.home) {
                    self.proxy.handle_found(call, reach, now);
                }
            }
            LinkEvent::Frame(link, bytes) if is_frame(&bytes) => {
                if self.links.home(link, now).is_some() {
                    self.directory.handle_frame(link, &bytes, now);
                }
            }
            LinkEvent::Frame(link, bytes) => {
                if let Some(home) = self.links.home(link, now) {
                    self.proxy.handle_message(Peer::Home(home), &bytes, now);
                }
            }
            LinkEvent::Down(link) => self.unlinked(link, now),
            LinkEvent::Failed(hint) => {
                if let Some(home) = self.links.failed(&hint) {
                    self.proxy.handle_unreachable(Peer::Home(home), now);
                }
                self.directory.handle_link_failed(&hint.address, now);
                for failed in self.finds.link_failed(&hint, &mut self.links) {
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

    fn set_members(&mut self, members: Vec<Member>, records: Vec<Record>) {
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
        if self.look_at > now {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        for call in self.rooms.heard() {
            self.proxy.handle_media_received(call, now);
        }
        for link in self.links.idle(now) {
            self.unlinked(link, now);
        }
        self.keep_book();
    }

    fn keep_book(&mut self) {
        if self.book_is_kept {
            return;
        }
        self.book_is_kept = true;
        if let Err(error) =
            crate::gateway_files::replace_private(&self.book, &self.directory.book().snapshot())
        {
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
                        if !self.links.send(home, bytes, now) {
                            self.proxy.handle_unreachable(peer, now);
                        }
                    }
                }
            }
            while let Some(event) = self.directory.poll_event() {
                is_quiet = false;
                self.directory_says(event, now);
            }
            while let Some((link, bytes)) = self.directory.poll_transmit() {
                is_quiet = false;
                if !self.links.send_on(link, bytes, now) {
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
                let contact = Box::new(self.finds.called(key, card.as_deref()));
                let search = self.directory.handle_find(&contact, now);
                self.finds.begin(search, Purpose::Call { call, caller, contact, tried: false });
            }
            Event::Verify { call, key, home } => {
                // The home itself has the record; the question goes over the link that the call came on.
                let contact = self.finds.vouched(key, home);
                let search = self.directory.handle_find(&contact, now);
                self.finds.begin(search, Purpose::Verify { call, key, home });
            }
            Event::Allocate { call, sides } => {
                let ports = self.rooms.open(call, sides);
                self.proxy.handle_allocated(call, ports, now);
            }
            Event::Update { call, sides } => self.rooms.update(call, *sides),
            Event::Release { call } => self.rooms.close(call),
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
                "from": self.rooms.status(call.id),
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
