//! The household's page: doors through which an overview is seen, and what is asked for there is done (design note 0015).

mod codes;
mod household;
mod tools;
mod trial;

use super::gateway::Gateway;
use crate::interface::own_address;
use guestright_error::RunError;
use guestright_page::{BindError, Doors, DoorsError, MayLook, Watch};
pub(super) use household::Household;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
pub use tools::{MadeCode, MemberChange, MemberWish, Tools, Trial};

/// The port of the page in the household's network and in members' tunnels, unless another is named.
pub const PORT: u16 = 7277;
/// While somebody looks, the page is made anew so often.
const EVERY: Duration = Duration::from_secs(2);

/// Where the page of a home with this state directory is for the user that the home runs as.
pub fn socket(state: &Path) -> PathBuf {
    state.join("page.sock")
}

/// Where the page is besides that, and by what it does things.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Here whoever has a link comes in, from the start on.
    pub listen: Vec<SocketAddr>,
    /// Nothing: no policy is tried, and members stay as they are.
    pub tools: Option<Arc<dyn Tools>>,
}

/// The page, served until this is dropped.
#[derive(Debug)]
pub(super) struct Page {
    doors: Doors<Household>,
    /// Who comes in through the tunnel.
    members: Arc<Mutex<BTreeSet<Ipv4Addr>>>,
    /// Says that something may have changed, while somebody looks.
    ticking: AbortHandle,
}

impl Drop for Page {
    fn drop(&mut self) {
        self.ticking.abort();
    }
}

impl Page {
    /// Opens the doors that are open from the start on.
    pub(super) fn open(
        settings: &Settings,
        state: &Path,
        gateway: Option<&Gateway>,
        household: Household,
    ) -> Result<Self, RunError> {
        let members = Arc::<Mutex<BTreeSet<Ipv4Addr>>>::default();
        let look = gateway.map(|gateway| {
            let members = Arc::clone(&members);
            let is_member: MayLook = Arc::new(move |from: IpAddr| match from.to_canonical() {
                IpAddr::V4(from) => members.lock().unwrap_or_else(PoisonError::into_inner).contains(&from),
                IpAddr::V6(_) => false,
            });
            (SocketAddr::from((gateway.network().1, PORT)), is_member)
        });
        let doors = guestright_page::Settings {
            socket: Some(socket(state)),
            with_link: settings.listen.clone(),
            look,
        };
        let watch = Arc::<Watch>::default();
        let opened = Doors::open(doors, household, Arc::clone(&watch));
        let ticking = tokio::spawn(tick(watch)).abort_handle();
        let this = Self { doors: opened.map_err(refused)?, members, ticking };
        this.admit(gateway);
        Ok(this)
    }

    /// The gateway has other members.
    pub(super) fn admit(&self, gateway: Option<&Gateway>) {
        let addresses = gateway.into_iter().flat_map(Gateway::members).map(|(_, address, _)| address);
        *self.members.lock().unwrap_or_else(PoisonError::into_inner) = addresses.collect();
    }

    /// Answers `web`, `web enable`, `web enable ADDRESS:PORT` and `web disable`.
    pub(super) fn answer(&mut self, words: &str) -> Value {
        let answer = match words.split_once(' ') {
            None if words.is_empty() => Ok(Value::Null),
            None if words == "enable" => {
                own_address().and_then(|address| self.enable(SocketAddr::new(address, PORT)))
            }
            None if words == "disable" => Ok(self.disable()),
            Some(("enable", address)) => match address.parse() {
                Ok(address) => self.enable(address),
                Err(_) => Err(RunError::config(format!("{address} is no address with a port"))),
            },
            _ => Err(RunError::bug(format!("{words:?} is nothing that the page can do"))),
        };
        match answer {
            Ok(more) => {
                let open: Vec<_> = self.doors.with_link().map(|address| address.to_string()).collect();
                json!({ "open": open, "link": more["link"], "closed": more["closed"],
                    "answered": self.doors.counts().answered() })
            }
            Err(error) => json!({ "error": error.sentence() }),
        }
    }

    fn enable(&mut self, address: SocketAddr) -> Result<Value, RunError> {
        let link = self.doors.enable(address).map_err(refused)?;
        Ok(json!({ "link": link }))
    }

    fn disable(&mut self) -> Value {
        let open: Vec<_> = self.doors.with_link().collect();
        let closed = open.into_iter().filter(|address| self.doors.disable(*address)).count();
        json!({ "closed": closed })
    }
}

/// Nothing happens while nobody looks.
async fn tick(watch: Arc<Watch>) {
    loop {
        watch.looked_at().await;
        tokio::time::sleep(EVERY).await;
        watch.changed();
    }
}

fn refused(error: DoorsError) -> RunError {
    let (sentence, hint) = (error.to_string(), "say another one: [web] in home.toml, or --at");
    match error {
        DoorsError::Bind(BindError::Public { .. }) => RunError::config(sentence).with_hint(hint),
        DoorsError::Bind(BindError::Listen { .. }) => RunError::network(sentence).with_hint(hint),
        DoorsError::Bind(BindError::Socket { .. } | BindError::InUse { .. })
        | DoorsError::Full { .. }
        | DoorsError::Chance(_) => RunError::network(sentence),
    }
}
