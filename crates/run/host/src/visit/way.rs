//! The way home: the kill switch, and the tunnel behind it.

use super::{AccessNetwork, Settings, switch_file};
use crate::interface;
use guestright_command::system_command;
use guestright_error::{OrFail as _, RunError};
use guestright_firewall::{FirewallError, Guard, KillSwitch, Passage, Surroundings, clean_up};
use guestright_roaming::standing::TunnelState;
use guestright_tun::{Device, DeviceSettings, Pump, Socket, SocketSettings};
use guestright_tunnel::wireguard::{Config, Host, PublicKey};
use guestright_units::{Bytes, Micros, Time};
use guestright_wireguard::{Kernel, KernelSettings, Peer, Support, Tunnel, Userspace, UserspaceSettings};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};
use zeroize::Zeroizing;

/// The name of the tunnel's interface.
const INTERFACE: &str = "gr-visit";
/// The mark of the tunnel's datagrams and the number of its routing table, unless the configuration names one: "gr".
const MARK: u32 = 0x6772;
/// A NAT's memory is refreshed so often, unless the configuration says otherwise (WireGuard's recommendation).
const KEEPALIVE_S: u16 = 25;
/// Nothing comes back for so long while we send: the home may have been restarted and not know us any more.
const IMPATIENT: Duration = Duration::from_secs(5);
/// How often a handshake is begun anew while nothing is agreed and the access point may only just have opened…
const HANDSHAKE_EVERY: Duration = Duration::from_millis(300);
/// …and the same where there are keys already, so that what flows is not disturbed for nothing…
const CONFIRM_EVERY: Duration = Duration::from_secs(1);
/// …and for how long; after that the tunnel's own patience decides.
const HANDSHAKES_FOR: Duration = Duration::from_secs(5);
/// A home that has not answered a handshake for so long is said not to answer…
const NO_ANSWER_AFTER: Duration = Duration::from_secs(10);
/// …and again after so long.
const NO_ANSWER_AGAIN: Duration = Duration::from_secs(60);
/// The name of the home is looked up for so long.
const LOOKUP_MAX: Duration = Duration::from_secs(5);
/// How many reasons why a tunnel was lost may wait.
const LOST_MAX: usize = 8;
/// Nothing is answered for so long: the tunnel does not carry. Longer than a keepalive's answer takes on any way.
const SILENT: Duration = Duration::from_secs(12);
/// Between two comparisons of the switch with what it should be there is at least so much time.
const COMPARE_GAP: Duration = Duration::from_millis(50);
/// How long a tunnel that was lost is left alone before it is made again.
const REOPEN_EVERY: Duration = Duration::from_secs(1);

/// What a configuration says, as far as a visit needs it.
pub(super) struct Plan {
    config: Config,
    home: SocketAddrV4,
    address: Ipv4Addr,
    resolver: Option<Ipv4Addr>,
    mark: u32,
}

impl Plan {
    /// Reads a configuration. Where the home has a name, its address is unspecified until [`Plan::look_up`] or somebody
    /// else has found it.
    pub(super) fn read(path: &Path) -> Result<Self, RunError> {
        let text = guestright_keys::read_to_limit(path, Config::LEN_MAX).map_err(RunError::config)?;
        let text = Zeroizing::new(text);
        let wrong = |what: &str| RunError::config(format!("{}: {what}", path.display()));
        let text = std::str::from_utf8(&text).map_err(|_| wrong("it is no text"))?;
        let config = Config::parse(text)
            .or_config(|| format!("read {}", path.display()))
            .map_err(|error| error.with_hint("`guestright team member add` makes such a file"))?;
        let v4 = |addresses: &[IpAddr]| {
            addresses.iter().find_map(|address| match address {
                IpAddr::V4(v4) => Some(*v4),
                IpAddr::V6(_) => None,
            })
        };
        let addresses: Vec<_> = config.interface.addresses.iter().map(|network| network.address()).collect();
        let address = v4(&addresses).ok_or_else(|| wrong("[Interface] has no IPv4 `Address`"))?;
        let [peer] = config.peers.as_slice() else {
            return Err(wrong("a visit needs exactly one [Peer], its home"));
        };
        let all = peer.allowed_ips.iter().any(|network| network.address().is_ipv4() && network.prefix() == 0);
        if !all {
            return Err(wrong("`AllowedIPs` lets only some traffic through the tunnel")
                .with_hint("everything goes home on a visit: set `AllowedIPs = 0.0.0.0/0`"));
        }
        let endpoint = peer.endpoint.as_ref().ok_or_else(|| wrong("[Peer] has no `Endpoint`"))?;
        let home = match &endpoint.host {
            Host::Address(IpAddr::V4(v4)) => *v4,
            Host::Address(IpAddr::V6(_)) => {
                return Err(wrong(
                    "the home's `Endpoint` is an IPv6 address, and access points carry IPv4 only",
                ));
            }
            Host::Name(_) => Ipv4Addr::UNSPECIFIED,
        };
        let home = SocketAddrV4::new(home, endpoint.port);
        let resolver = v4(&config.interface.dns);
        let mark = config.interface.fwmark.unwrap_or(MARK);
        Ok(Self { home, address, resolver, mark, config })
    }

    /// Looks the home's name up, if it is a name.
    pub(super) async fn look_up(&mut self) -> Result<(), RunError> {
        if let Some(name) = self.name() {
            self.home.set_ip(look_up(name).await?);
        }
        Ok(())
    }

    /// Takes it that the home is there, until something else is found.
    pub(super) fn set_home(&mut self, home: Ipv4Addr) {
        self.home.set_ip(home);
    }

    /// The home's name, if it has one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.config.peers[0].endpoint.as_ref()?.host {
            Host::Name(name) => Some(name),
            Host::Address(_) => None,
        }
    }
}

/// The address of the home. This is asked of whatever resolver the computer has, before the switch is closed: it is
/// the one name that the access point may see.
async fn look_up(name: &str) -> Result<Ipv4Addr, RunError> {
    let found = tokio::time::timeout(LOOKUP_MAX, tokio::net::lookup_host((name, 0))).await;
    let found =
        found.map_err(|_| RunError::network(format!("nobody says in time what the address of {name} is")))?;
    let mut found = found.or_network(|| format!("look up {name}"))?;
    let v4 = found.find_map(|address| match address.ip() {
        IpAddr::V4(v4) => Some(v4),
        IpAddr::V6(_) => None,
    });
    v4.ok_or_else(|| {
        RunError::network(format!("{name} has no IPv4 address"))
            .with_hint("write the home's address into the configuration instead of its name")
    })
}

/// What carries the tunnel.
struct Carrier {
    tunnel: Tunnel,
    /// Where this program carries it itself.
    pump: Option<Pump>,
}

/// A closed kill switch, and the tunnel behind it as soon as there is one. Opened in the right order when dropped:
/// the tunnel first, the switch last.
pub(super) struct Way {
    plan: Plan,
    carrier: Option<Carrier>,
    switch: KillSwitch,
    state_file: PathBuf,
    lost: (mpsc::Sender<String>, mpsc::Receiver<String>),
    /// Rung where there is something to look at before the next look.
    bell: Arc<Notify>,
    /// Since when handshakes are begun again and again.
    handshaking_since: Option<Instant>,
    handshake_at: Option<Instant>,
    /// When it is said next that the home does not answer.
    no_answer_at: Option<Instant>,
    opened: Option<Instant>,
    last: LastReceived,
    agreed: Option<Time>,
    carried: Carried,
    answers: Answers,
    /// Which network we are in, once we are in one.
    surroundings: Option<Surroundings>,
    stays: bool,
    /// The switch may have been changed since it was compared.
    is_suspect: bool,
    compared: Instant,
    /// It was changed, and could not be put back.
    cannot_close: bool,
}

/// Whether the home answers, judged by the bytes that are sent and received.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    sent: Bytes,
    received: Bytes,
    /// Since when nothing of what was sent has been answered.
    unanswered_since: Option<Instant>,
    /// Whether something has come since we are in this network.
    is_confirmed: bool,
    /// The counts are from the network before.
    is_stale: bool,
}

impl Answers {
    /// Takes in both counts. They begin anew with each tunnel, and with each handshake that the kernel is made to begin.
    fn read(&mut self, sent: Bytes, received: Bytes, now: Instant) {
        let begins_anew = sent < self.sent || received < self.received;
        let before = if begins_anew { Self { sent: Bytes(0), received: Bytes(0), ..*self } } else { *self };
        if std::mem::take(&mut self.is_stale) {
            // What has come since the last reading may have come in the old network.
        } else if received > before.received {
            (self.is_confirmed, self.unanswered_since) = (true, None);
        } else if sent > before.sent {
            self.unanswered_since.get_or_insert(now);
        }
        (self.sent, self.received) = (sent, received);
    }

    /// Another network: what came in the old one says nothing of this one.
    fn forget(&mut self) {
        (self.is_confirmed, self.unanswered_since, self.is_stale) = (false, None, true);
    }

    fn state(&self, now: Instant) -> TunnelState {
        let unanswered = self.unanswered_since.map_or(Duration::ZERO, |since| now - since);
        match self.is_confirmed {
            false => TunnelState::Handshaking(unanswered),
            true if unanswered >= SILENT => TunnelState::Silent(unanswered),
            true => TunnelState::Up,
        }
    }
}

/// The bytes of a tunnel when something came back last, and when that was.
#[derive(Clone, Copy)]
struct LastReceived {
    sent: Bytes,
    received: Bytes,
    at: Instant,
}

/// What a tunnel has carried in a session, across tunnels that were lost and made again.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    total: Bytes,
    /// The tunnel's own count when it was last read; it begins anew with each tunnel.
    last: Bytes,
}

impl Carried {
    fn read(&mut self, counted: Bytes) {
        let grown = if counted < self.last { counted } else { counted.saturating_sub(self.last) };
        *self = Self { total: self.total.saturating_add(grown), last: counted };
    }
}

/// What has happened to the tunnel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TunnelEvent {
    Up,
    /// The home has not answered for a while.
    NoAnswer,
    /// It is gone, for this reason, and is made again.
    Lost(String),
}

impl Way {
    /// Closes the switch. Nothing leaves by the access point's network but what is about to be said to the access point;
    /// and as long as there is no network, nothing at all.
    pub(super) fn close(
        plan: Plan,
        network: Option<&AccessNetwork>,
        settings: &Settings,
    ) -> Result<Self, RunError> {
        let guard = match &settings.stay {
            Some(stay) => Guard::AllBut(stay.local_interfaces.clone()),
            None => Guard::Met,
        };
        let passage = Passage {
            interface: INTERFACE.to_owned(),
            address: plan.address,
            home: plan.home,
            mark: plan.mark,
            table: plan.mark,
            resolver: plan.resolver,
            guard,
        };
        let state_file = switch_file(&settings.state);
        let surroundings = network.map(|network| surroundings(network, settings.port));
        let switch = KillSwitch::close(passage, surroundings.clone(), &state_file).map_err(not_closed)?;
        let last = LastReceived { sent: Bytes(0), received: Bytes(0), at: Instant::now() };
        Ok(Self {
            plan,
            carrier: None,
            switch,
            state_file,
            lost: mpsc::channel(LOST_MAX),
            bell: Arc::default(),
            handshaking_since: None,
            handshake_at: None,
            no_answer_at: None,
            opened: None,
            last,
            agreed: None,
            carried: Carried::default(),
            answers: Answers::default(),
            surroundings,
            stays: settings.stay.is_some(),
            is_suspect: false,
            compared: Instant::now(),
            cannot_close: false,
        })
    }

    /// What the tunnel does.
    pub(super) fn state(&self) -> TunnelState {
        if self.carrier.is_none() { TunnelState::Closed } else { self.answers.state(Instant::now()) }
    }

    /// Whether tunnel and switch are as they should be, so that little can happen to them that the kernel does not tell of.
    pub(super) fn is_settled(&self) -> bool {
        let handshakes = self.handshaking_since.is_some_and(|since| since.elapsed() < HANDSHAKES_FOR);
        let is_well = !self.is_suspect && !self.cannot_close && self.lost.1.is_empty();
        is_well && !handshakes && self.agreed.is_some() && self.state() == TunnelState::Up
    }

    /// When patience ends with a home that something was sent to and nothing has come back from yet. This program's own tunnel is
    /// impatient by itself.
    pub(super) fn impatient_at(&self) -> Option<Instant> {
        let in_kernel = self.carrier.as_ref().is_some_and(|carrier| carrier.pump.is_none());
        (in_kernel && self.answers.unanswered_since.is_some()).then(|| self.last.at + IMPATIENT)
    }

    /// What is rung when the tunnel is lost.
    pub(super) fn bell(&self) -> Arc<Notify> {
        Arc::clone(&self.bell)
    }

    /// The mark of what passes beside the tunnel.
    pub(super) fn mark(&self) -> u32 {
        self.plan.mark
    }

    /// Lets this program's own marked connections pass beside the tunnel, or no more.
    pub(super) fn let_portal(&mut self, portal: bool) -> Result<(), RunError> {
        let Some(surroundings) = &mut self.surroundings else { return Ok(()) };
        surroundings.portal = portal;
        self.switch.move_to(surroundings.clone()).map_err(RunError::network)
    }

    /// Puts back what another program has taken from the switch, if something may have changed. Says whether it had to.
    /// What cannot be put back is tried again.
    pub(super) fn keep_closed(&mut self, may_have_changed: bool) -> bool {
        self.is_suspect |= may_have_changed;
        if !self.is_suspect || self.compared.elapsed() < COMPARE_GAP {
            return false;
        }
        self.compared = Instant::now();
        match self.switch.put_back(self.carrier.is_some()) {
            Ok(changed) => {
                (self.is_suspect, self.cannot_close) = (false, false);
                if changed {
                    tracing::warn!("another program had changed the kill switch; it is closed again");
                }
                changed
            }
            Err(error) => {
                if !std::mem::replace(&mut self.cannot_close, true) {
                    tracing::warn!(%error, "another program has changed the kill switch, and it cannot be put back; trying on");
                }
                false
            }
        }
    }

    /// Follows the home to another address.
    pub(super) fn follow_home(&mut self, home: Ipv4Addr) -> Result<(), RunError> {
        self.plan.set_home(home);
        self.switch.follow_home(self.plan.home).map_err(RunError::network)?;
        if let Some(carrier) = &self.carrier {
            carrier.tunnel.set_peer(&self.peer()).map_err(RunError::network)?;
            self.handshaking_since = Some(Instant::now());
        }
        Ok(())
    }

    /// The home as the tunnel is told of it.
    fn peer(&self) -> Peer {
        let mut peer = Peer::from(&self.plan.config.peers[0]);
        peer.address = Some(self.plan.home.into());
        peer.keepalive_s = peer.keepalive_s.or(Some(KEEPALIVE_S));
        peer
    }

    /// The access point serves: makes the tunnel, unless it is there, and begins handshakes.
    pub(super) fn granted(&mut self) -> Result<(), RunError> {
        if self.carrier.is_none() {
            self.open()?;
        }
        self.handshaking_since = Some(Instant::now());
        self.handshake_at = self.agreed.map(|_| Instant::now());
        self.no_answer_at.get_or_insert(Instant::now() + NO_ANSWER_AFTER);
        Ok(())
    }

    fn open(&mut self) -> Result<(), RunError> {
        self.opened = Some(Instant::now());
        self.carried.last = Bytes(0);
        let interface = &self.plan.config.interface;
        let mtu = interface.mtu.unwrap_or(DeviceSettings::WIREGUARD_MTU);
        let peer = self.peer();
        let broken =
            |error: &dyn std::fmt::Display| RunError::network(format!("the tunnel cannot be made: {error}"));
        remove_interface();
        let carrier = match Kernel::probe() {
            Support::Yes => {
                let settings = KernelSettings {
                    interface: INTERFACE.to_owned(),
                    private_key: interface.private_key.clone(),
                    addresses: interface.addresses.clone(),
                    mtu,
                    listen_port: interface.listen_port,
                    mark: Some(self.plan.mark),
                };
                let kernel = Kernel::open(&settings).map_err(|error| broken(&error))?;
                Carrier { tunnel: Tunnel::Kernel(Arc::new(kernel)), pump: None }
            }
            Support::No(reason) => {
                tracing::debug!(%reason, "this program carries the tunnel, not the kernel");
                self.carry(mtu).map_err(|error| broken(&error))?
            }
        };
        carrier.tunnel.set_peer(&peer).map_err(|error| broken(&error))?;
        self.carrier = Some(carrier);
        self.switch.open_tunnel().map_err(|error| broken(&error))
    }

    fn carry(&self, mtu: u16) -> Result<Carrier, guestright_tun::TunError> {
        let interface = &self.plan.config.interface;
        let impatient_after = Micros(u64::try_from(IMPATIENT.as_micros()).unwrap_or(u64::MAX));
        let settings = UserspaceSettings { impatient_after: Some(impatient_after) };
        let end = Arc::new(Userspace::new(&interface.private_key, settings));
        let mut device = DeviceSettings::new(INTERFACE, mtu);
        device.addresses = vec![(self.plan.address.into(), 32)];
        let bind = SocketAddr::from((Ipv4Addr::UNSPECIFIED, interface.listen_port.unwrap_or(0)));
        let socket =
            Socket::open(&SocketSettings { bind, mark: Some(self.plan.mark), ..SocketSettings::default() })?;
        let (lost, bell) = (self.lost.0.clone(), self.bell());
        let on_error = move |error: guestright_tun::TunError| {
            // One that finds no room says the same as those that wait.
            let _ = lost.try_send(error.to_string());
            bell.notify_one();
        };
        let pump = Pump::start(Device::open(&device)?, socket, end.clone(), on_error)?;
        Ok(Carrier { tunnel: Tunnel::Userspace(end), pump: Some(pump) })
    }

    /// Goes along to another access point; flows in the tunnel go on.
    pub(super) fn move_to(&mut self, network: &AccessNetwork, port: u16) -> Result<(), RunError> {
        let surroundings = surroundings(network, port);
        self.answers.forget();
        self.surroundings = Some(surroundings.clone());
        self.switch.move_to(surroundings).map_err(RunError::network)
    }

    /// What is due by the clock: begins handshakes, makes a lost tunnel again. To be called a few times a second.
    pub(super) fn look(&mut self) -> Option<TunnelEvent> {
        if let Ok(reason) = self.lost.1.try_recv() {
            self.carrier = None;
            self.agreed = None;
            return Some(TunnelEvent::Lost(reason));
        }
        let Some(carrier) = &self.carrier else {
            let due = self.opened.is_some_and(|at| at.elapsed() >= REOPEN_EVERY);
            return match due.then(|| self.granted()) {
                Some(Err(error)) => Some(TunnelEvent::Lost(error.sentence())),
                Some(Ok(())) | None => None,
            };
        };
        let status = match carrier.tunnel.status() {
            Ok(status) => status.into_iter().next(),
            Err(error) => return Some(TunnelEvent::Lost(error.to_string())),
        };
        let (sent, received, agreed) =
            status.map_or((Bytes(0), Bytes(0), None), |peer| (peer.sent, peer.received, peer.agreed));
        self.answers.read(sent, received, Instant::now());
        let LastReceived { sent: sent_then, received: received_then, at } = self.last;
        // Until something is sent there is nothing to wait for.
        if received != received_then || sent == sent_then {
            self.last = LastReceived { sent, received, at: Instant::now() };
        }
        let came_up = agreed.is_some() && self.agreed != agreed;
        self.agreed = agreed.or(self.agreed);
        if came_up {
            self.handshaking_since = None;
            self.no_answer_at = None;
            return Some(TunnelEvent::Up);
        }
        if let Some(at) = self.no_answer_at.filter(|at| *at <= Instant::now()) {
            self.no_answer_at = Some(at + NO_ANSWER_AGAIN);
            return Some(TunnelEvent::NoAnswer);
        }
        let in_userspace = carrier.pump.is_some();
        // Who stays wants to know whether the home is reached from this network, too; the keys of the last one still hold.
        let confirms = self.stays && !self.answers.is_confirmed;
        let waits = self.handshaking_since.is_some_and(|since| since.elapsed() < HANDSHAKES_FOR)
            && (agreed.is_none() || confirms);
        let every = if agreed.is_none() { HANDSHAKE_EVERY } else { CONFIRM_EVERY };
        let handshake_due = self.handshake_at.is_none_or(|at| at.elapsed() >= every);
        // This program's own tunnel is impatient by itself.
        let silent = !in_userspace && at.elapsed() >= IMPATIENT;
        if (waits && handshake_due) || silent {
            self.begin_handshake();
        }
        None
    }

    /// Counts from here on.
    pub(super) fn count_from_now(&mut self) {
        self.carried();
        self.carried.total = Bytes(0);
    }

    /// IPv4 bytes of the tunnel's datagrams, as an access point counts them: those that the home has sealed and those that
    /// were sealed for it. What cannot be read is not counted.
    pub(super) fn carried(&mut self) -> Bytes {
        let counted = self.carrier.as_ref().and_then(|carrier| carrier.tunnel.carried().ok());
        if let Some(counted) = counted {
            self.carried.read(counted);
        }
        self.carried.total
    }

    fn begin_handshake(&mut self) {
        self.carried(); // The kernel forgets its count of a peer with which a handshake is begun.
        let Some(carrier) = &self.carrier else { return };
        self.handshake_at = Some(Instant::now());
        self.last.at = Instant::now();
        if let Err(error) = carrier.tunnel.initiate(&self.home_key()) {
            tracing::debug!(%error, "no handshake was begun");
        }
        if let Some(pump) = &carrier.pump {
            pump.kick();
        }
    }

    fn home_key(&self) -> PublicKey {
        self.plan.config.peers[0].public_key
    }

    /// Whether a killed visit had left the switch closed: then this one goes on where that one stopped.
    pub(super) fn goes_on(&self) -> bool {
        self.switch.took_over()
    }

    /// The home's end of the tunnel.
    pub(super) fn home(&self) -> SocketAddrV4 {
        self.plan.home
    }

    /// The home's name, if the configuration names it.
    pub(super) fn name(&self) -> Option<&str> {
        self.plan.name()
    }

    /// How it stands, for `visit status`.
    pub(super) fn status(&self, now: Time) -> (Value, Value) {
        let peer = self.carrier.as_ref().and_then(|carrier| carrier.tunnel.status().ok()?.into_iter().next());
        let carried_by = self.carrier.as_ref().map(|carrier| match carrier.tunnel {
            Tunnel::Userspace(_) => "this program",
            Tunnel::Kernel(_) => "the kernel",
        });
        let agreed = peer.as_ref().and_then(|peer| peer.agreed);
        let tunnel = json!({
            "interface": INTERFACE,
            "address": self.plan.address.to_string(),
            "endpoint": self.plan.home.to_string(),
            "home_key": self.home_key().to_string(),
            "carried_by": carried_by,
            "resolver": self.plan.resolver.map(|resolver| resolver.to_string()),
            "handshake_seconds_ago": agreed.map(|agreed| (now - agreed).as_seconds()),
            "received": peer.as_ref().map(|peer| peer.received.0),
            "sent": peer.as_ref().map(|peer| peer.sent.0),
        });
        (tunnel, self.status_held())
    }

    /// What the switch has held back, by kind.
    pub(super) fn status_held(&self) -> Value {
        self.switch.held_back().map_or(Value::Null, |held| json!(held))
    }

    /// Takes the tunnel away and leaves the switch closed: nobody has said that it may be opened.
    pub(super) fn stay_closed(mut self) {
        self.carrier = None;
        self.switch.stay_closed();
    }

    /// Takes the tunnel away and then opens the switch.
    pub(super) fn leave(mut self) -> Result<(), RunError> {
        self.carrier = None;
        let state_file = self.state_file.clone();
        let Self { switch, .. } = self;
        switch.open().or_network(|| format!("undo what {} tells of", state_file.display()))
    }
}

/// Why the switch could not be closed, and what to do about that.
fn not_closed(error: FirewallError) -> RunError {
    if let FirewallError::Busy { pid, .. } = error {
        return RunError::network(format!("a visit runs already (process {pid})"))
            .with_hint("`guestright visit status` shows it, and `guestright visit off` ends it");
    }
    if matches!(error, FirewallError::TableTaken { .. }) {
        return RunError::network(
            "a kill switch is closed already, by a visit that keeps its state elsewhere",
        )
        .with_hint("`guestright visit off` ends it, from any directory");
    }
    if matches!(error, FirewallError::NoInterface { .. }) {
        return interface::refused(error);
    }
    let failed = RunError::network(error);
    if rustix::process::geteuid().is_root() {
        return failed;
    }
    failed.with_hint(
        "a tunnel that everything goes through needs an administrator: run as root, or do without: --no-tunnel",
    )
}

fn surroundings(network: &AccessNetwork, port: u16) -> Surroundings {
    let AccessNetwork { access_point, interface } = network.clone();
    Surroundings { interface, access_point, port, portal: false }
}

/// Undoes what a killed visit left behind; says whether there was anything.
pub(super) fn undo(state: &Path) -> Result<bool, RunError> {
    let file = switch_file(state);
    if !file.exists() {
        return Ok(false);
    }
    // The tunnel first. Without it everything is held back until the switch opens.
    remove_interface();
    clean_up(&file).map_err(RunError::network)?;
    Ok(true)
}

/// Removes the kernel's interface of our name, which outlives a program that was killed.
fn remove_interface() {
    let mut command = system_command("ip");
    command.args(["link", "delete", "dev", INTERFACE]);
    // Mostly there is none.
    let _ = command.stdin(std::process::Stdio::null()).output();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_home_that_answers_nothing_is_noticed_and_one_that_is_asked_nothing_is_not() {
        let (start, mut answers) = (Instant::now(), Answers::default());
        let mut read = |seconds, sent, received| {
            let now = start + Duration::from_secs(seconds);
            answers.read(Bytes(sent), Bytes(received), now);
            answers.state(now)
        };
        let handshaking = |seconds| TunnelState::Handshaking(Duration::from_secs(seconds));
        assert_eq!(read(0, 148, 0), handshaking(0));
        assert_eq!(read(7, 296, 0), handshaking(7));
        assert_eq!(read(8, 296, 92), TunnelState::Up);
        assert_eq!(read(500, 296, 92), TunnelState::Up, "nothing was asked");
        assert_eq!(read(501, 400, 92), TunnelState::Up, "not for long");
        assert_eq!(read(515, 500, 92), TunnelState::Silent(Duration::from_secs(14)));
        // A handshake is begun anew, and the counts with it.
        assert_eq!(read(516, 148, 0), TunnelState::Silent(Duration::from_secs(15)));
        assert_eq!(read(517, 148, 92), TunnelState::Up);
        answers.forget();
        assert_eq!(answers.state(start + Duration::from_secs(518)), handshaking(0));
        // The last words of the old network are not the new one's.
        let mut read = |seconds, sent, received| {
            let now = start + Duration::from_secs(seconds);
            answers.read(Bytes(sent), Bytes(received), now);
            answers.state(now)
        };
        assert_eq!(read(519, 148, 900), handshaking(0));
        assert_eq!(read(520, 296, 900), handshaking(0));
        assert_eq!(read(522, 296, 992), TunnelState::Up);
    }
}
