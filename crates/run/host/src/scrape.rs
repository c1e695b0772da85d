//! Where monitoring programs come in, and how the loops are asked for them.

use guestright_error::RunError;
use guestright_metrics::{AccessPointFigures, HomeFigures};
use guestright_scrape::{Doors, DoorsError, Format, Metrics, Settings, Source, process};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// The socket in a state directory.
const SOCKET: &str = "metrics.sock";

/// A home's loop.
#[derive(Debug)]
pub(crate) struct HomeSource(pub(crate) mpsc::Sender<oneshot::Sender<HomeFigures>>);

/// An access point's loop.
#[derive(Debug)]
pub(crate) struct AccessPointSource(pub(crate) mpsc::Sender<oneshot::Sender<AccessPointFigures>>);

#[cfg_attr(not(feature = "page"), expect(dead_code, reason = "the page shows them too"))]
pub(crate) type HomeMetrics = Metrics<HomeSource>;

impl Source for HomeSource {
    type Figures = HomeFigures;

    async fn figures(&self) -> Option<HomeFigures> {
        let figures = ask(&self.0).await?;
        Some(HomeFigures { process: process(), ..figures })
    }

    fn text(figures: &HomeFigures, format: Format) -> String {
        guestright_metrics::text::home(figures, format)
    }
}

impl Source for AccessPointSource {
    type Figures = AccessPointFigures;

    async fn figures(&self) -> Option<AccessPointFigures> {
        let figures = ask(&self.0).await?;
        Some(AccessPointFigures { process: process(), ..figures })
    }

    fn text(figures: &AccessPointFigures, format: Format) -> String {
        guestright_metrics::text::access_point(figures, format)
    }
}

async fn ask<T>(asks: &mpsc::Sender<oneshot::Sender<T>>) -> Option<T> {
    let (reply, answer) = oneshot::channel();
    asks.send(reply).await.ok()?;
    answer.await.ok()
}

/// Opens the doors of a program with this state directory.
pub(crate) fn open<S: Source>(
    state: &Path,
    listen: Option<SocketAddr>,
    source: S,
    may_enter: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
) -> Result<(Arc<Metrics<S>>, Doors), RunError> {
    let metrics = Arc::new(Metrics::new(source));
    let settings = Settings { socket: state.join(SOCKET), listen, may_enter: Arc::new(may_enter) };
    let doors = Doors::open(settings, Arc::clone(&metrics)).map_err(refused)?;
    if let Some(address) = doors.listen() {
        tracing::info!(%address, "monitoring programs may fetch metrics");
    }
    Ok((metrics, doors))
}

/// The same for an access point: its visitors, whose network this is, fetch nothing, even if a packet of theirs got so far.
pub(crate) fn open_for_household(
    state: &Path,
    listen: Option<SocketAddr>,
    asks: mpsc::Sender<oneshot::Sender<AccessPointFigures>>,
    visitors: (Ipv4Addr, u8),
) -> Result<Doors, RunError> {
    let may_enter = move |from: IpAddr| match from.to_canonical() {
        IpAddr::V4(from) => !contains(visitors, from),
        // Visitors have no address of IPv6 that is forwarded or let in.
        IpAddr::V6(_) => true,
    };
    open(state, listen, AccessPointSource(asks), may_enter).map(|(_, doors)| doors)
}

fn contains((network, length): (Ipv4Addr, u8), address: Ipv4Addr) -> bool {
    let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0);
    (network.to_bits() ^ address.to_bits()) & mask == 0
}

fn refused(error: DoorsError) -> RunError {
    use guestright_scrape::BindError;
    let (sentence, hint) =
        (error.to_string(), "name another address in [metrics], for example \"127.0.0.1:7278\"");
    match error.0 {
        BindError::Public { .. } => RunError::config(sentence).with_hint(hint),
        BindError::Listen { .. } => RunError::network(sentence).with_hint(hint),
        BindError::Socket { .. } | BindError::InUse { .. } => RunError::network(sentence),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        let visitors = (Ipv4Addr::new(10, 11, 0, 0), 24);
        assert!(contains(visitors, Ipv4Addr::new(10, 11, 0, 255)));
        assert!(!contains(visitors, Ipv4Addr::new(10, 11, 1, 0)));
        assert!(contains((Ipv4Addr::UNSPECIFIED, 0), Ipv4Addr::new(192, 0, 2, 1)));
    }
}
