//! Mappings that last: asked for, renewed, asked for again when the router forgets, and taken away at the end.

use crate::router::{Mapping, Router};
use crate::{Method, PortmapError, Reach, Timeouts, Wanted};
use std::net::SocketAddrV4;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// For how long mappings are asked for: what RFC 6886 §3.3 recommends.
const HOLDS: Duration = Duration::from_secs(7_200);
/// A mapping is renewed after half its time, and after this at the latest: routers forget when they restart, and
/// addresses outside change.
const RENEW_MAX: Duration = Duration::from_secs(300);
/// …and not before this, whatever the router says.
const RENEW_MIN: Duration = Duration::from_secs(10);
/// The first pause after nobody could map a port; it doubles.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
const PAUSE_MAX: Duration = Duration::from_secs(300);
/// The protocols, in the order in which they are tried.
const METHODS: [Method; 3] = [Method::Pcp, Method::NatPmp, Method::Upnp];
/// No more ports are kept than this.
const WANTED_MAX: usize = 16;

/// What happens to a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Others reach the port under this address, or under another one than before.
    Mapped {
        mapping: Mapping,
        /// Whether its address can be reached from the Internet.
        reach: Reach,
    },
    /// The port cannot be mapped, or not any more. It goes on being tried.
    Failed {
        wanted: Wanted,
        /// Why, in the words of each protocol that was tried.
        reasons: Vec<PortmapError>,
    },
}

/// Keeps mappings until it is dropped, which takes them away; that may last some seconds where a router is silent.
#[derive(Debug)]
pub struct Keeper {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Keeps these ports mapped in the network of this thread. What happens comes out of the receiver; nobody has to
/// listen. At most 16 ports; further ones are left out.
///
/// # Errors
/// The system has no thread for it.
pub fn keep(wanted: Vec<Wanted>, timeouts: Timeouts) -> Result<(Keeper, Receiver<Event>), PortmapError> {
    let (events, happened) = channel();
    let (stop, stopped) = channel();
    let ports = wanted.into_iter().take(WANTED_MAX).map(|wanted| Port::new(wanted, timeouts)).collect();
    let thread = std::thread::Builder::new()
        .name("portmap".to_owned())
        .spawn(move || run(ports, &events, &stopped))
        .map_err(PortmapError::system("start a thread"))?;
    Ok((Keeper { stop: Some(stop), thread: Some(thread) }, happened))
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the keeper of port mappings has failed");
        }
    }
}

/// A port and how it stands with it.
struct Port {
    wanted: Wanted,
    nonce: [u8; 12],
    timeouts: Timeouts,
    mapping: Option<(Router, Mapping)>,
    reported: Option<Result<SocketAddrV4, Vec<PortmapError>>>,
    due: Instant,
    pause: Duration,
}

fn run(mut ports: Vec<Port>, events: &Sender<Event>, stopped: &Receiver<()>) {
    loop {
        let now = Instant::now();
        for port in ports.iter_mut().filter(|port| port.due <= now) {
            if let Some(event) = port.attend() {
                let _ = events.send(event); // Nobody has to listen.
            }
            // Between two silent protocols there may be time to stop.
            if !matches!(stopped.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty)) {
                return ports.iter().for_each(Port::remove);
            }
        }
        let due = ports.iter().map(|port| port.due).min();
        let wait = due.map_or(PAUSE_MAX, |due| due.saturating_duration_since(Instant::now()));
        match stopped.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return ports.iter().for_each(Port::remove),
        }
    }
}

impl Port {
    fn new(wanted: Wanted, timeouts: Timeouts) -> Self {
        let mut nonce = [0; 12];
        // The nonce keeps others from changing the mapping; without entropy there is still the address.
        if let Err(error) = getrandom::fill(&mut nonce) {
            tracing::warn!(%error, "no entropy for a mapping's name");
        }
        Self {
            wanted,
            nonce,
            timeouts,
            mapping: None,
            reported: None,
            due: Instant::now(),
            pause: PAUSE_FIRST,
        }
    }

    /// Maps or renews, and says what is new.
    fn attend(&mut self) -> Option<Event> {
        match self.map() {
            Ok((router, mapping)) => {
                let renew = mapping.holds.map_or(RENEW_MAX, |holds| holds / 2).clamp(RENEW_MIN, RENEW_MAX);
                self.due = Instant::now() + renew;
                self.pause = PAUSE_FIRST;
                self.mapping = Some((router, mapping));
                let is_new = self.reported != Some(Ok(mapping.external));
                self.reported = Some(Ok(mapping.external));
                let reach = Reach::of(*mapping.external.ip());
                is_new.then_some(Event::Mapped { mapping, reach })
            }
            Err(reasons) => {
                self.due = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(PAUSE_MAX);
                self.mapping = None;
                let is_new = self.reported.as_ref() != Some(&Err(reasons.clone()));
                self.reported = Some(Err(reasons.clone()));
                is_new.then_some(Event::Failed { wanted: self.wanted, reasons })
            }
        }
    }

    /// By the protocol that worked last, else by the first that works.
    fn map(&self) -> Result<(Router, Mapping), Vec<PortmapError>> {
        let uplink = crate::uplink().map_err(|error| vec![error])?;
        let router = Router { uplink, timeouts: self.timeouts };
        let last = self.mapping.map(|(_, mapping)| mapping.method);
        let mut reasons = Vec::new();
        for method in last.into_iter().chain(METHODS.into_iter().filter(|method| Some(*method) != last)) {
            match router.map(method, self.wanted, self.nonce, HOLDS) {
                Ok(mapping) => return Ok((router, mapping)),
                Err(error) => {
                    tracing::debug!(wanted = %self.wanted, %error, "a port was not mapped");
                    reasons.push(error);
                }
            }
        }
        Err(reasons)
    }

    fn remove(&self) {
        let Some((router, mapping)) = &self.mapping else { return };
        if let Err(error) = router.unmap(mapping, self.nonce) {
            tracing::info!(wanted = %self.wanted, %error, "a mapping was not taken away; it will run out");
        }
    }
}
