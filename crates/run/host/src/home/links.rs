//! The home's links to other homes.

use guestright_channel::CurrentCredentials;
use guestright_directory::Address;
use guestright_error::{OrFail as _, RunError};
use guestright_links::{
    Config, ExchangeLinks, KnownAddress, Links, NeighbourEvent, Neighbours, Started, emit_addresses,
    parse_addresses,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Where neighbours may be, in the state directory.
const ADDRESSES: &str = "neighbours.addresses";
/// That file is not longer: four addresses of each team.
const ADDRESSES_LEN_MAX: usize = 4 * 1_024 * 1_024;

/// Links to other homes.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where other homes are awaited.
    pub listen: SocketAddr,
    /// Where others are to find this home, if it is known.
    pub announce: Option<Address>,
}

/// What the loop and the exchange have of the links; nothing if there are none.
pub(super) struct Shares {
    pub(super) links: Option<Links>,
    pub(super) exchange: Option<ExchangeLinks>,
    pub(super) neighbours: Option<Neighbours>,
    /// Without links its sender is gone.
    pub(super) events: mpsc::Receiver<NeighbourEvent>,
}

/// Awaits other homes, if that is wanted.
pub(super) async fn start(
    settings: Option<&Settings>,
    credentials: &CurrentCredentials,
    state: &Path,
) -> Result<Shares, RunError> {
    let Some(settings) = settings else {
        let (_, events) = mpsc::channel(1);
        return Ok(Shares { links: None, exchange: None, neighbours: None, events });
    };
    let listener = Links::listen(settings.listen).await?;
    let known = read_addresses(&state.join(ADDRESSES));
    let Started { links, exchange, neighbours, events } =
        Links::start(listener, credentials.clone(), &Config::default(), known);
    Ok(Shares { links: Some(links), exchange: Some(exchange), neighbours: Some(neighbours), events })
}

/// Ends them, and keeps where neighbours may be.
pub(super) fn stop(links: Option<Links>, neighbours: Option<Neighbours>, state: &Path) {
    if let Some(neighbours) = neighbours {
        write_addresses(state, &emit_addresses(&neighbours.addresses()));
    }
    links.map(Links::stop).unwrap_or_default();
}

/// Where neighbours may be, kept as soon as it changes: a home that is killed owes them messages, and has to find them.
#[derive(Debug)]
pub(super) struct Kept {
    state: PathBuf,
    text: String,
}

impl Kept {
    pub(super) fn new(state: &Path) -> Self {
        Self { state: state.to_path_buf(), text: String::new() }
    }

    pub(super) fn keep(&mut self, neighbours: &Neighbours) {
        let text = emit_addresses(&neighbours.addresses());
        if text != self.text {
            write_addresses(&self.state, &text);
            self.text = text;
        }
    }
}

fn write_addresses(state: &Path, text: &str) {
    if let Err(error) = guestright_keys::replace_private(&state.join(ADDRESSES), text.as_bytes()) {
        tracing::warn!(%error, "where neighbours may be could not be kept");
    }
}

/// What was known before. It is not worth stopping for: it is learned again.
fn read_addresses(file: &Path) -> Vec<KnownAddress> {
    if !file.exists() {
        return Vec::new();
    }
    let read = || {
        let what = || format!("read {}", file.display());
        let bytes = guestright_keys::read_to_limit(file, ADDRESSES_LEN_MAX).or_config(what)?;
        Ok::<_, RunError>(parse_addresses(&String::from_utf8(bytes.to_vec()).or_config(what)?)?)
    };
    read().unwrap_or_else(|error| {
        tracing::warn!(error = error.sentence(), "where neighbours may be is not known any more");
        Vec::new()
    })
}
