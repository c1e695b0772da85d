//! The doors of a home besides its control socket: the page's, and those for monitoring programs.

use super::gateway::Gateway;
use super::overview::{self, OverviewQuestions};
#[cfg(feature = "page")]
use super::page;
use super::{Settings, metrics, wishes};
#[cfg(feature = "metrics")]
use crate::scrape;
use guestright_error::RunError;
use tokio::sync::mpsc;

/// Open until this is dropped.
#[derive(Debug)]
pub(super) struct Doors {
    #[cfg(feature = "page")]
    pub(super) page: page::Page,
    #[cfg(feature = "metrics")]
    _metrics: guestright_scrape::Doors,
}

/// What is asked through them; without end where there are none.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) overviews: OverviewQuestions,
    pub(super) scrapes: mpsc::Receiver<metrics::Asked>,
    pub(super) wishes: mpsc::Receiver<wishes::Wished>,
}

/// Opens those that this program has.
#[cfg_attr(
    not(all(feature = "page", feature = "metrics")),
    expect(unused_variables, reason = "nobody can ask what has no door")
)]
pub(super) fn open(settings: &Settings, gateway: Option<&Gateway>) -> Result<(Doors, Asked), RunError> {
    let (overviews, asked_overviews) = overview::channel();
    let (wishes, wished) = mpsc::channel(wishes::WISHES_MAX);
    let (scrapes, asked_scrapes) = mpsc::channel(metrics::ASKED_MAX);
    #[cfg(feature = "metrics")]
    let (metrics, metrics_doors) =
        scrape::open(&settings.state, settings.metrics, scrape::HomeSource(scrapes), |_| true)?;
    #[cfg(feature = "page")]
    let household = page::Household::new(
        overviews,
        wishes::WishHandle(wishes),
        settings.page.tools.clone(),
        #[cfg(feature = "metrics")]
        metrics,
    );
    let doors = Doors {
        #[cfg(feature = "page")]
        page: page::Page::open(&settings.page, &settings.state, gateway, household)?,
        #[cfg(feature = "metrics")]
        _metrics: metrics_doors,
    };
    Ok((doors, Asked { overviews: asked_overviews, scrapes: asked_scrapes, wishes: wished }))
}
