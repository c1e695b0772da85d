//! The doors, while they are open.

use crate::Home;
use crate::provider::{IS_PLAIN, Page};
use guestright_web::{BindError, Config, Counts, Environment, Server, Watch, bind_socket, bind_tcp};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, fs};
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
    #[error("the page is not there: {0}")]
    Bind(#[from] BindError),
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
        let server = Server::new(Page(home), watch, config, Environment::of_this_computer());
        let mut doors =
            Self { server, with_link: BTreeMap::new(), look: None, tasks: JoinSet::new(), socket: None };
        if let Some(path) = settings.socket {
            let listener = bind_socket(&path)?;
            doors.socket = Some(path);
            let server = doors.server.clone();
            doors.tasks.spawn(async move { server.serve_socket(listener).await });
        }
        if let Some((address, may_look)) = settings.look {
            let (address, listener) = bind_tcp(address)?;
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
        let (address, listener) = bind_tcp(address)?;
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
