use crate::MediaError;
use crate::clock::MediaClock;
use crate::ports::Ports;
use crate::shared::{CallId, Ends, Shared};
use crate::socket::Port;
use crate::worker::{Command, Worker};
use guestright_relay::{Call, Event, Limits, Side, SideSettings, Statistics};
use guestright_units::Seed;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What media sockets are to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The first port that media may have.
    pub port_first: u16,
    pub port_last: u16,
    /// Threads. One carries a thousand calls.
    pub threads: usize,
    /// Calls at a time.
    pub calls_max: usize,
    /// Limits of each call.
    pub limits: Limits,
}

/// Where a side's ports are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSpec {
    /// The address to listen at: the gateway's in the tunnel for a member, one that others reach for another home. An
    /// unspecified one is any.
    pub address: IpAddr,
    /// Whether there is a second port, for reports. A side without needs [`SideSettings::mux`].
    pub pair: bool,
}

/// A call that is to have media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Where side A's ports are to be.
    pub ports_a: PortSpec,
    /// Where side B's ports are to be.
    pub ports_b: PortSpec,
    /// What was agreed on with side A; [`SideSettings::closed`] as long as nothing was.
    pub a: SideSettings,
    /// What was agreed on with side B.
    pub b: SideSettings,
}

/// A side's ports, to be named in SDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SidePorts {
    pub media: SocketAddr,
    /// For reports, if they have a port of their own.
    pub control: Option<SocketAddr>,
}

/// What a call has carried, and what the kernel did not let it carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCounters {
    /// What came in, and what became of it.
    pub statistics: Statistics,
    /// Datagrams that the kernel dropped because they were not fetched in time.
    pub dropped: u64,
    /// Datagrams that the kernel would not send.
    pub unsent: u64,
}

/// The media of all calls. When it is dropped, the threads end; calls that are still there carry nothing any more.
#[derive(Debug)]
pub struct Media {
    settings: Settings,
    ports: Arc<Ports>,
    clock: Arc<MediaClock>,
    workers: Vec<Worker>,
    calls: Arc<AtomicUsize>,
    next: AtomicU64,
}

/// One call's media. They end when it is dropped.
#[derive(Debug)]
pub struct MediaCall {
    id: CallId,
    shared: Arc<Shared>,
    ports: Arc<Ports>,
    clock: Arc<MediaClock>,
    commands: Arc<crate::worker::Inbox>,
    calls: Arc<AtomicUsize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            port_first: 20_000,
            port_last: 29_999,
            threads: 1,
            calls_max: 2_000,
            limits: Limits::default(),
        }
    }
}

impl Media {
    /// Starts the threads. `on_event` gets what happens to calls, in the order in which it happens to each; it is called in
    /// the threads, and should not take long. `seed` is where to look for ports first.
    ///
    /// # Errors
    /// If the range of ports makes no sense, or no thread can be had.
    pub fn start(
        settings: Settings,
        seed: Seed,
        on_event: impl Fn(CallId, Event) + Send + Sync + 'static,
    ) -> Result<Self, MediaError> {
        make_room(settings.calls_max);
        let [s0, s1, s2, s3, s4, s5, s6, s7, ..] = seed.0;
        let start = u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7]);
        let ports = Ports::new(settings.port_first, settings.port_last, start)?;
        let (clock, on_event) = (Arc::new(MediaClock::start()), Arc::new(on_event));
        let workers = (0..settings.threads.max(1))
            .map(|_| {
                let on_event = Arc::clone(&on_event);
                Worker::start(Arc::clone(&clock), settings.limits.datagram_bytes_max, move |id, event| {
                    on_event(id, event);
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { settings, ports, clock, workers, calls: Arc::default(), next: AtomicU64::new(1) })
    }

    /// Opens ports for a call, and carries its media from now on.
    ///
    /// # Errors
    /// If there are too many calls, no ports, or the sides do not make sense.
    pub fn open(&self, wanted: Wanted) -> Result<MediaCall, MediaError> {
        let counted = Counted::acquire(&self.calls, self.settings.calls_max)?;
        let Wanted { ports_a, ports_b, a, b } = wanted;
        check(Side::A, &a, ports_a.pair, &self.ports)?;
        check(Side::B, &b, ports_b.pair, &self.ports)?;
        let call = Mutex::new(Call::new(self.settings.limits, a, b, self.clock.now())?);
        let (a, b) = (self.bind(ports_a)?, self.bind(ports_b)?);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::new(Shared { id: CallId(number), call, a, b });
        let worker = usize::try_from(number).unwrap_or_default() % self.workers.len();
        let commands = Arc::clone(&self.workers[worker].inbox);
        commands.send(Command::Open(Arc::clone(&shared)));
        Ok(MediaCall {
            id: shared.id,
            shared,
            ports: Arc::clone(&self.ports),
            clock: Arc::clone(&self.clock),
            commands,
            calls: counted.keep(),
        })
    }

    /// How many calls have media now.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    fn bind(&self, spec: PortSpec) -> Result<Ends, MediaError> {
        // A port may be another program's. So many tries, and something else is wrong.
        const TRIES: usize = 16;
        let mut failure = None;
        for _ in 0..TRIES {
            let lease = Arc::new(self.ports.allocate(spec.address)?);
            let open = |port| Port::open((spec.address, port).into(), Arc::clone(&lease));
            let pair = open(lease.even).and_then(|media| {
                let control = if spec.pair { Some(open(lease.even + 1)?) } else { None };
                Ok(Ends { address: spec.address, media, control })
            });
            match pair {
                Ok(ends) => return Ok(ends),
                Err(error) => failure = Some(error),
            }
        }
        Err(failure.expect("there was at least one try"))
    }
}

impl MediaCall {
    /// The call's number, as it is on_event with events.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }

    /// A side's ports, at the address that was asked for.
    #[must_use]
    pub fn ports(&self, side: Side) -> SidePorts {
        let ends = self.shared.ends(side);
        let even = ends.media.lease.even;
        SidePorts {
            media: (ends.address, even).into(),
            control: ends.control.as_ref().map(|_| (ends.address, even + 1).into()),
        }
    }

    /// A side has agreed on something else; see [`Call::update`].
    ///
    /// # Errors
    /// If it makes no sense. Then nothing has changed.
    pub fn update(&self, side: Side, settings: SideSettings) -> Result<(), MediaError> {
        check(side, &settings, self.shared.ends(side).control.is_some(), &self.ports)?;
        Ok(self.shared.call().update(side, settings, self.clock.now())?)
    }

    /// Both sides have agreed on something else; see [`Call::update_both`].
    ///
    /// # Errors
    /// If it makes no sense. Then nothing has changed.
    pub fn update_both(&self, a: SideSettings, b: SideSettings) -> Result<(), MediaError> {
        check(Side::A, &a, self.shared.a.control.is_some(), &self.ports)?;
        check(Side::B, &b, self.shared.b.control.is_some(), &self.ports)?;
        Ok(self.shared.call().update_both(a, b, self.clock.now())?)
    }

    /// What a side agreed on last.
    #[must_use]
    pub fn settings(&self, side: Side) -> SideSettings {
        self.shared.call().settings(side).clone()
    }

    /// What has been carried so far.
    #[must_use]
    pub fn counters(&self) -> CallCounters {
        let statistics = self.shared.call().statistics();
        let mut counters = CallCounters { statistics, ..CallCounters::default() };
        for port in self.shared.all_ports() {
            counters.dropped += port.dropped();
            counters.unsent += port.unsent.load(Ordering::Relaxed);
        }
        counters
    }
}

impl Drop for MediaCall {
    fn drop(&mut self) {
        self.commands.send(Command::Close(self.id));
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Many systems let a program open 1,024 files, and more if it asks. A call needs four at most.
fn make_room(calls_max: usize) {
    let others = 1_024;
    let wanted = u64::try_from(calls_max).unwrap_or(u64::MAX).saturating_mul(4).saturating_add(others);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(limit.maximum.map_or(wanted, |maximum| maximum.min(wanted)));
        // If not, calls end where files do, and say so.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum });
    }
}

/// A call's place among those that there may be; it is given back unless kept.
struct Counted<'a>(&'a Arc<AtomicUsize>);

impl<'a> Counted<'a> {
    fn acquire(calls: &'a Arc<AtomicUsize>, max: usize) -> Result<Self, MediaError> {
        let counted = Self(calls);
        if calls.fetch_add(1, Ordering::Relaxed) >= max {
            return Err(MediaError::TooManyCalls { max });
        }
        Ok(counted)
    }

    fn keep(self) -> Arc<AtomicUsize> {
        let calls = Arc::clone(self.0);
        std::mem::forget(self);
        calls
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether a side can be carried by sockets like ours.
fn check(side: Side, settings: &SideSettings, pair: bool, ports: &Ports) -> Result<(), MediaError> {
    let closed = settings.protection == guestright_relay::Protection::Closed;
    if !pair && !settings.mux && !closed {
        return Err(MediaError::NoControlPort { side });
    }
    let addresses = [settings.media, settings.control].into_iter().flatten();
    match addresses.into_iter().find(|address| ports.contains(address.port()) && is_ours(address.ip())) {
        Some(address) => Err(MediaError::OwnPort { side, address }),
        None => Ok(()),
    }
}

/// Whether an address is one of this computer's: then a socket can be had there.
fn is_ours(address: IpAddr) -> bool {
    address.is_loopback() || address == Ipv4Addr::UNSPECIFIED || UdpSocket::bind((address, 0)).is_ok()
}
