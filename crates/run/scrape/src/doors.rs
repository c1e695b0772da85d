//! The doors, while they are open.

use crate::metrics::Shared;
use crate::{Metrics, Source};
use guestright_web::{BindError, Config, Environment, Server, Watch, bind_socket, bind_tcp};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;
use tokio::task::JoinSet;

/// Whether an address may fetch metrics at the port.
pub type MayEnter = Arc<dyn Fn(IpAddr) -> bool + Send + Sync>;

/// Which doors there are.
#[derive(Clone)]
pub struct Settings {
    /// The program's user comes in here. Its folder is for that user alone (mode 0700).
    pub socket: PathBuf,
    /// Here whoever may enter comes in.
    pub listen: Option<SocketAddr>,
    /// Who may.
    pub may_enter: MayEnter,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("socket", &self.socket)
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

/// Why a door does not open.
#[derive(Debug, Error)]
#[error("the metrics are not there: {0}")]
pub struct DoorsError(#[from] pub BindError);

/// The metrics, served, until this is closed.
#[derive(Debug)]
pub struct Doors {
    tasks: JoinSet<()>,
    listen: Option<SocketAddr>,
    socket: PathBuf,
}

impl Doors {
    /// Opens the doors, and serves within tokio's runtime from now on.
    ///
    /// # Errors
    ///
    /// A door cannot be opened; then none is.
    pub fn open<S: Source>(settings: Settings, metrics: Arc<Metrics<S>>) -> Result<Self, DoorsError> {
        let Settings { socket, listen, may_enter } = settings;
        let port = listen.map(bind_tcp).transpose()?;
        let at_socket = bind_socket(&socket)?;
        let server = Server::new(
            Shared(metrics),
            Arc::<Watch>::default(),
            Config::default(),
            Environment::of_this_computer(),
        );
        let mut doors = Self { tasks: JoinSet::new(), listen: None, socket };
        let local = server.clone();
        doors.tasks.spawn(async move { local.serve_metrics_socket(at_socket).await });
        if let Some((address, listener)) = port {
            doors.listen = Some(address);
            doors
                .tasks
                .spawn(async move { server.serve_metrics(listener, move |from| may_enter(from)).await });
        }
        Ok(doors)
    }

    /// Where the port is.
    pub fn listen(&self) -> Option<SocketAddr> {
        self.listen
    }

    /// Closes the doors; when it returns, the port is free again.
    pub async fn close(mut self) {
        self.tasks.shutdown().await;
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.socket) {
            tracing::debug!(%error, path = %self.socket.display(), "the metrics' socket stays");
        }
    }
}
