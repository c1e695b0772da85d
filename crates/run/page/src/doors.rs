//! The doors, while they are open.

use crate::Home;
use crate::provider::{IS_PLAIN, Page};
use guestright_units::{Micros, Time};
use guestright_web::{Config, Counts, Environment, Server, Watch};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{fmt, fs, io};
use thiserror::Error;
use tokio::task::{AbortHandle, JoinSet};

/// Whether an address may look.
pub type MayLook = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Which doors there are from the beginning.
#[derive(Clone, Default)]
pub struct Settings {
    /// The program's user comes in here and may do everything. Its folder is for that user alone (mode 0700).
    pub socket: Option<PathBuf>,
    /// Here whoever has the cookie of a one-time link may do everything: loopback, as a rule.
    pub with_link: Vec<SocketAddr>,
    /// Here members may look: the gateway's address within the tunnel, and who is a member by its address there.
    pub look: Option<(SocketAddr, MayLook)>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let look = self.look.as_ref().map(|(address, _)| address);
        f.debug_struct("Settings")
            .field("socket", &self.socket)
            .field("with_link", &self.with_link)
            .field("look", &look)
            .finish()
    }
}

/// Why a door does not open.
#[derive(Debug, Error)]
pub enum DoorsError {
    #[error("the page cannot be opened at {address}: {error}")]
    Listen { address: SocketAddr, error: io::Error },
    #[error("the page cannot be opened at {}: {error}", path.display())]
    Socket { path: PathBuf, error: io::Error },
    #[error("another program has the page open at {}", path.display())]
    InUse { path: PathBuf },
    #[error("{address} is no address within a household, and the page is for nobody outside")]
    Public { address: SocketAddr },
    #[error("all {max} doors are open already; close one first")]
    Full { max: usize },
    #[error("there is no chance to make a link of: {0}")]
    Chance(getrandom::Error),
}

/// How many doors with a link are open at once.
const DOORS_MAX: usize = 8;

/// The page, served, until this is dropped.
///
/// A home makes a [`Watch`] for itself and for the page. It calls [`Watch::changed`] when something has changed, and waits with
/// [`Watch::looked_at`] before it does anything for the page alone, such as to ask its access points.
///
/// ```no_run
/// # async fn example<H: guestright_page::Home>(home: H) -> Result<(), guestright_page::DoorsError> {
/// use guestright_page::{Doors, Settings, Watch};
/// use std::sync::Arc;
///
/// let watch = Arc::new(Watch::default());
/// let settings = Settings { with_link: vec!["127.0.0.1:8137".parse().unwrap()], ..Settings::default() };
/// let mut doors = Doors::open(settings, home, Arc::clone(&watch))?;
/// // When somebody says `guestright home web --enable`:
/// let link = doors.enable("192.168.1.2:8137".parse().unwrap())?;
/// # drop(link); Ok(()) }
/// ```
pub struct Doors<H> {
    server: Server<Page<H>>,
    with_link: BTreeMap<SocketAddr, AbortHandle>,
    look: Option<SocketAddr>,
    tasks: JoinSet<()>,
    /// Ours to remove.
    socket: Option<PathBuf>,
}

impl<H> fmt::Debug for Doors<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Doors")
            .field("with_link", &self.with_link.keys())
            .field("socket", &self.socket)
            .finish()
    }
}

impl<H: Home> Doors<H> {
    /// Opens the doors, and serves within tokio's runtime from now on.
    ///
    /// # Errors
    ///
    /// A door cannot be opened; then none is. There is no chance for links.
    pub fn open(settings: Settings, home: H, watch: Arc<Watch>) -> Result<Self, DoorsError> {
        getrandom::fill(&mut [0; 16]).map_err(DoorsError::Chance)?;
        let config = Config { has_sign_in_form: IS_PLAIN, ..Config::default() };
        let server = Server::new(Page(home), watch, config, environment());
        let mut doors =
            Self { server, with_link: BTreeMap::new(), look: None, tasks: JoinSet::new(), socket: None };
        if let Some(path) = settings.socket {
            let listener = bind_socket(&path).and_then(|listener| from_std(listener, &path))?;
            doors.socket = Some(path);
            let server = doors.server.clone();
            doors.tasks.spawn(async move { server.serve_socket(listener).await });
        }
        if let Some((address, may_look)) = settings.look {
            let (address, listener) = listen(address)?;
            doors.look = Some(address);
            let server = doors.server.clone();
            doors.tasks.spawn(async move { server.serve_look(listener, move |from| may_look(from)).await });
        }
        for address in settings.with_link {
            doors.open_with_link(address)?;
        }
        Ok(doors)
    }

    /// Opens a door in the household's network, if it is not open yet, and gives a one-time link to it.
    ///
    /// # Errors
    ///
    /// The address is none of ours, is taken, or is no address within a household; or too many doors are open.
    pub fn enable(&mut self, address: SocketAddr) -> Result<String, DoorsError> {
        let address = self.open_with_link(address)?;
        Ok(self.link(address))
    }

    /// Closes a door with a link, and ends all connections through it. Whether it was open.
    pub fn disable(&mut self, address: SocketAddr) -> bool {
        let door = self.with_link.remove(&address);
        door.map(|door| door.abort()).is_some()
    }

    /// A one-time link to an open door: good once, for ten minutes.
    pub fn link(&self, address: SocketAddr) -> String {
        format!("http://{address}/#{}", self.server.link())
    }

    /// Where doors with a link are open.
    pub fn with_link(&self) -> impl Iterator<Item = SocketAddr> {
        self.with_link.keys().copied()
    }

    /// Where members may look.
    pub fn look(&self) -> Option<SocketAddr> {
        self.look
    }

    /// How many requests were answered, and why others were not.
    pub fn counts(&self) -> &Counts {
        self.server.counts()
    }

    fn open_with_link(&mut self, address: SocketAddr) -> Result<SocketAddr, DoorsError> {
        if self.with_link.contains_key(&address) {
            return Ok(address);
        }
        if self.with_link.len() >= DOORS_MAX {
            return Err(DoorsError::Full { max: DOORS_MAX });
        }
        let (address, listener) = listen(address)?;
        let server = self.server.clone();
        let door = self.tasks.spawn(async move { server.serve_link(listener).await });
        self.with_link.insert(address, door);
        Ok(address)
    }
}

impl<H> Drop for Doors<H> {
    fn drop(&mut self) {
        if let Some(path) = &self.socket
            && let Err(error) = fs::remove_file(path)
        {
            tracing::debug!(%error, path = %path.display(), "the page's socket stays");
        }
    }
}

fn environment() -> Environment {
    let started = Instant::now();
    Environment {
        now: Box::new(move || {
            Time(0) + Micros(u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX))
        }),
        chance: Box::new(|| {
            let mut chance = [0; 16];
            getrandom::fill(&mut chance).expect("it was there when the doors were opened");
            chance
        }),
    }
}

fn listen(address: SocketAddr) -> Result<(SocketAddr, tokio::net::TcpListener), DoorsError> {
    if !is_within_household(address.ip()) {
        return Err(DoorsError::Public { address });
    }
    let open = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        Ok((listener.local_addr()?, listener))
    };
    open().map_err(|error| DoorsError::Listen { address, error })
}

/// Loopback, and what is no address on the Internet: RFC 1918, RFC 6598 (tunnels), RFC 3927, RFC 4193, RFC 4291.
fn is_within_household(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => {
            let [first, second, ..] = ip.octets();
            let is_shared = first == 100 && (64..128).contains(&second);
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || is_shared
        }
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
    }
}

/// A socket that its user alone may use. One that a program left behind when it was killed is removed.
fn bind_socket(path: &Path) -> Result<UnixListener, DoorsError> {
    let failed = |error| DoorsError::Socket { path: path.to_owned(), error };
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if UnixStream::connect(path).is_ok() {
                return Err(DoorsError::InUse { path: path.to_owned() });
            }
            fs::remove_file(path).map_err(failed)?;
            UnixListener::bind(path).map_err(failed)?
        }
        bound => bound.map_err(failed)?,
    };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

fn from_std(listener: UnixListener, path: &Path) -> Result<tokio::net::UnixListener, DoorsError> {
    let listener = listener.set_nonblocking(true).and_then(|()| tokio::net::UnixListener::from_std(listener));
    listener.map_err(|error| DoorsError::Socket { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_door_is_where_the_internet_is() {
        for inside in [
            "127.0.0.1",
            "192.168.1.2",
            "10.0.0.1",
            "172.16.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "::1",
            "fd00::1",
            "fe80::1",
        ] {
            assert!(is_within_household(inside.parse().unwrap()), "{inside}");
        }
        for outside in
            ["0.0.0.0", "203.0.113.1", "100.128.0.1", "172.32.0.1", "::", "2001:db8::1", "::ffff:8.8.8.8"]
        {
            assert!(!is_within_household(outside.parse().unwrap()), "{outside}");
        }
    }
}
