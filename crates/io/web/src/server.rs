//! The server: listeners on one side, the machines that let people in on the other.

use crate::feed::Feed;
use crate::handler::{self, Door, Visit};
use crate::idle::Idle;
use crate::link::{self, Links};
use crate::origin::Arrival;
use crate::rate::{self, Rates};
use crate::session::{self, Origin, SessionId, Sessions};
use crate::slots::{self, Slots};
use crate::token::TOKEN_BYTES;
use crate::{Access, Counts, Peer, Provider, Refusal, Refused, Watch, response};
use bytes::Bytes;
use guestright_units::{Micros, Time};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::fmt;
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The limits.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Of a request: its head and its body together.
    pub request_bytes_max: usize,
    /// Of each door.
    pub connections: slots::Config,
    /// Of all doors together.
    pub requests: rate::Config,
    pub links: link::Config,
    pub sessions: session::Config,
    /// A request's head must have arrived after so long.
    pub head_max: Duration,
    /// And its body after so long more.
    pub body_max: Duration,
    /// A connection on which nothing passes for so long is closed. It must be longer than `heartbeat`.
    pub idle_max: Duration,
    /// The provider must have answered after so long.
    pub provider_max: Duration,
    /// A stream without changes has a sign of life every so often.
    pub heartbeat: Duration,
    /// Between two overviews of one stream.
    pub event_gap_min: Duration,
    /// An overview that is no older is shown again.
    pub overview_age_max: Micros,
    /// Whether the page has no script: then `/` is [`Provider::page`] for those who are let in, and a form is taken for signing in.
    pub has_sign_in_form: bool,
}

impl Default for Config {
    /// Those of design note 0015.
    fn default() -> Self {
        Self {
            request_bytes_max: 16 << 10,
            connections: slots::Config { connections_max: 32, connections_per_peer_max: 8 },
            requests: rate::Config { burst_max: 50, refill: Micros::from_millis(20), peers_max: 1_024 },
            links: link::Config {
                links_max: 4,
                lifetime: Micros::from_seconds(10 * 60),
                guesses: rate::Config { burst_max: 5, refill: Micros::from_seconds(60), peers_max: 256 },
            },
            sessions: session::Config { sessions_max: 16, idle_max: Micros::from_seconds(30 * 60) },
            head_max: Duration::from_secs(10),
            body_max: Duration::from_secs(10),
            idle_max: Duration::from_secs(30),
            provider_max: Duration::from_secs(8),
            heartbeat: Duration::from_secs(10),
            event_gap_min: Duration::from_millis(250),
            overview_age_max: Micros::from_seconds(1),
            has_sign_in_form: false,
        }
    }
}

/// What comes from outside.
pub struct Environment {
    /// A clock that never goes back, whatever the computer's does.
    pub now: Box<dyn Fn() -> Time + Send + Sync>,
    /// Chance that nobody can guess.
    pub chance: Box<dyn Fn() -> [u8; TOKEN_BYTES] + Send + Sync>,
}

impl Environment {
    /// The computer's own clock and chance.
    pub fn of_this_computer() -> Self {
        let started = Instant::now();
        Self {
            now: Box::new(move || {
                Time(0) + Micros(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX))
            }),
            chance: Box::new(|| {
                let mut chance = [0; TOKEN_BYTES];
                getrandom::fill(&mut chance).expect("the program's keys and names come from there too");
                chance
            }),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// A server, with any number of doors.
///
/// Each `serve_…` is one door, open until its future is dropped; that ends its connections too. They run on tokio, and the futures
/// do nothing that takes long, but what the provider does.
///
/// ```no_run
/// # async fn example<P: guestright_web::Provider>(provider: P, environment: guestright_web::Environment) -> std::io::Result<()> {
/// use guestright_web::{Config, Server, Watch};
/// use std::sync::Arc;
///
/// let watch = Arc::new(Watch::default()); // The provider has it too, and calls `changed`.
/// let server = Server::new(provider, Arc::clone(&watch), Config::default(), environment);
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8137").await?;
/// let door = tokio::spawn({
///     let server = server.clone();
///     async move { server.serve_link(listener).await }
/// });
/// let link = format!("http://127.0.0.1:8137/#{}", server.link());
/// # drop((door, link)); Ok(()) }
/// ```
#[derive(Debug)]
pub struct Server<P>(Arc<Inner<P>>);

impl<P> Clone for Server<P> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
pub(crate) struct Inner<P> {
    pub(crate) provider: P,
    pub(crate) watch: Arc<Watch>,
    pub(crate) config: Config,
    pub(crate) counts: Counts,
    environment: Environment,
    feed: Feed,
    sessions: Mutex<Sessions>,
    links: Mutex<Links>,
    rates: Mutex<Rates>,
    doors: AtomicU64,
}

impl<P: Provider> Server<P> {
    pub fn new(provider: P, watch: Arc<Watch>, config: Config, environment: Environment) -> Self {
        Self(Arc::new(Inner {
            provider,
            watch,
            config,
            counts: Counts::default(),
            environment,
            feed: Feed::new(config.overview_age_max),
            sessions: Mutex::new(Sessions::new(config.sessions)),
            links: Mutex::new(Links::new(config.links)),
            rates: Mutex::new(Rates::new(config.requests)),
            doors: AtomicU64::new(0),
        }))
    }

    /// Makes a one-time link's code. It belongs behind the `#` of a door's address, where no server's log gets it.
    pub fn link(&self) -> String {
        let chance = (self.0.environment.chance)();
        locked(&self.0.links).make(&chance, self.0.now())
    }

    pub fn counts(&self) -> &Counts {
        &self.0.counts
    }

    /// A door for the program's user: everything, by the rights of the socket's folder.
    pub async fn serve_socket(&self, listener: UnixListener) {
        let mut entrance = self.entrance(Door::Everything);
        loop {
            let stream = entrance.next(|| listener.accept()).await.0;
            entrance.enter(stream, Peer::Local, Arrival::Socket);
        }
    }

    /// A door for those who have the cookie of a one-time link: everything.
    pub async fn serve_link(&self, listener: TcpListener) {
        self.serve_tcp(listener, Door::WithLink, |_| true).await;
    }

    /// A door for those whose address is allowed: to look.
    pub async fn serve_look(&self, listener: TcpListener, may_look: impl Fn(IpAddr) -> bool + Send + Sync) {
        self.serve_tcp(listener, Door::Look, may_look).await;
    }

    /// A door for monitoring programs whose address is allowed: the metrics, and nothing else.
    pub async fn serve_metrics(
        &self,
        listener: TcpListener,
        may_enter: impl Fn(IpAddr) -> bool + Send + Sync,
    ) {
        self.serve_tcp(listener, Door::Metrics, may_enter).await;
    }

    /// The same at a socket, for the program's user.
    pub async fn serve_metrics_socket(&self, listener: UnixListener) {
        let mut entrance = self.entrance(Door::Metrics);
        loop {
            let stream = entrance.next(|| listener.accept()).await.0;
            entrance.enter(stream, Peer::Local, Arrival::Socket);
        }
    }

    async fn serve_tcp(
        &self,
        listener: TcpListener,
        door: Door,
        may_enter: impl Fn(IpAddr) -> bool + Send + Sync,
    ) {
        let mut entrance = self.entrance(door);
        loop {
            let (stream, from) = entrance.next(|| listener.accept()).await;
            let Ok(local) = stream.local_addr() else {
                continue; // It has gone again.
            };
            if may_enter(from.ip().to_canonical()) {
                entrance.enter(stream, from.ip().into(), Arrival::At(local));
            } else {
                self.0.refuse(stream, Refused::Peer);
            }
        }
    }

    fn entrance(&self, door: Door) -> Entrance<P> {
        Entrance {
            inner: Arc::clone(&self.0),
            door,
            number: self.0.doors.fetch_add(1, Ordering::Relaxed),
            slots: Arc::new(Mutex::new(Slots::new(self.0.config.connections))),
            connections: JoinSet::new(),
        }
    }
}

impl<P: Provider> Inner<P> {
    fn now(&self) -> Time {
        (self.environment.now)()
    }

    pub(crate) fn admit(&self, peer: Peer) -> bool {
        locked(&self.rates).admit(peer, self.now())
    }

    pub(crate) fn resume(&self, cookie: &str, origin: Origin) -> Option<SessionId> {
        locked(&self.sessions).resume(cookie, origin, self.now())
    }

    /// Whether a session is one still; who needs none always has one.
    pub(crate) fn is_open(&self, session: Option<SessionId>) -> bool {
        session.is_none_or(|session| locked(&self.sessions).is_open(session, self.now()))
    }

    /// Makes a session of a link, and gives the cookie's text.
    pub(crate) fn redeem(&self, link: &str, origin: Origin) -> Result<String, Refused> {
        locked(&self.links).redeem(link, origin.peer, self.now())?;
        let chance = (self.environment.chance)();
        Ok(locked(&self.sessions).begin(&chance, origin, self.now()))
    }

    pub(crate) async fn overview(&self, access: Access, why: Option<&str>) -> Result<Bytes, Refusal> {
        self.feed.overview(&self.provider, &self.watch, access, why, self.now()).await
    }

    fn refuse(&self, stream: impl Connection, why: Refused) {
        self.counts.count(Some(why));
        stream.send_last(&response::refused_connection(why));
    }
}

/// One door while it is open.
struct Entrance<P> {
    inner: Arc<Inner<P>>,
    door: Door,
    number: u64,
    slots: Arc<Mutex<Slots>>,
    connections: JoinSet<()>,
}

impl<P: Provider> Entrance<P> {
    /// The next connection. Those that ended are forgotten meanwhile.
    async fn next<S, F: Future<Output = io::Result<S>>>(&mut self, accept: impl Fn() -> F) -> S {
        loop {
            tokio::select! {
                accepted = accept() => match accepted {
                    Ok(accepted) => return accepted,
                    // No descriptor is free, as a rule. The connection waits in the kernel's queue.
                    Err(error) => {
                        tracing::debug!(%error, "accepted no connection");
                        sleep(ACCEPT_AGAIN).await;
                    }
                },
                Some(_) = self.connections.join_next() => {}
            }
        }
    }

    fn enter(&mut self, stream: impl Connection, peer: Peer, arrival: Arrival) {
        let inner = &self.inner;
        if !locked(&inner.rates).could_ask(peer, inner.now()) {
            return inner.refuse(stream, Refused::Rate);
        }
        if !locked(&self.slots).enter(peer) {
            return inner.refuse(stream, Refused::Connection);
        }
        let visit = Visit { door: self.door, origin: Origin { door: self.number, peer }, arrival };
        let slot = Slot { slots: Arc::clone(&self.slots), peer };
        let inner = Arc::clone(inner);
        self.connections.spawn(async move {
            connection(inner, visit, stream).await;
            drop(slot);
        });
    }
}

/// A connection's room, until it is dropped.
struct Slot {
    slots: Arc<Mutex<Slots>>,
    peer: Peer,
}

impl Drop for Slot {
    fn drop(&mut self) {
        locked(&self.slots).leave(self.peer);
    }
}

async fn connection<P: Provider>(inner: Arc<Inner<P>>, visit: Visit, stream: impl Connection) {
    let config = inner.config;
    let service = service_fn(move |request| {
        let inner = Arc::clone(&inner);
        async move { Ok::<_, Infallible>(handler::answer(&inner, visit, request).await) }
    });
    let stream = TokioIo::new(Idle::new(stream, config.idle_max));
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.head_max)
        .max_buf_size(config.request_bytes_max)
        .serve_connection(stream, service)
        .await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

/// What a door accepts.
trait Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// Sends as much of a text as can be sent at once, and closes.
    fn send_last(self, text: &str);
}

impl Connection for TcpStream {
    fn send_last(self, text: &str) {
        send_last(self.into_std(), text);
    }
}

impl Connection for UnixStream {
    fn send_last(self, text: &str) {
        send_last(self.into_std(), text);
    }
}

fn send_last(stream: io::Result<impl Write>, text: &str) {
    if let Err(error) = stream.and_then(|mut stream| stream.write_all(text.as_bytes())) {
        tracing::trace!(%error, "whoever was refused got no answer");
    }
}

/// Nobody panics while holding one of these; and if, what is behind it is whole after each call.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
