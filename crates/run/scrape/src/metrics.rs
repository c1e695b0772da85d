//! Between a loop, which knows figures, and whoever wants their text.

use bytes::Bytes;
use guestright_metrics::text::Format;
use guestright_web::{Accepts, Access, Exposition, File, Provider, Refusal};
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// What is no older is shown again: a loop has better things to do than to be asked fifty times a second.
const AGE_MAX: Duration = Duration::from_secs(1);

/// A loop that knows figures.
pub trait Source: Send + Sync + 'static {
    type Figures: Send + std::fmt::Debug + 'static;

    /// How it is now; nothing if it does not answer.
    fn figures(&self) -> impl Future<Output = Option<Self::Figures>> + Send;

    fn text(figures: &Self::Figures, format: Format) -> String;
}

/// The metrics of one loop.
#[derive(Debug)]
pub struct Metrics<S: Source> {
    source: S,
    last: Mutex<Option<(Instant, S::Figures)>>,
}

impl<S: Source> Metrics<S> {
    pub fn new(source: S) -> Self {
        Self { source, last: Mutex::default() }
    }

    /// The metrics in a format that `accept` names. Whoever asks at the same time gets the same figures.
    ///
    /// # Errors
    ///
    /// The loop does not answer.
    pub async fn exposition(&self, accept: &str) -> Result<Exposition, Refusal> {
        let format = Format::accepted(accept);
        let mut last = self.last.lock().await;
        if last.as_ref().is_none_or(|(at, _)| at.elapsed() >= AGE_MAX) {
            *last = self.source.figures().await.map(|figures| (Instant::now(), figures));
        }
        let Some((_, figures)) = last.as_ref() else {
            return Err(Refusal::Away("The program does not say how it is: it stops.".to_owned()));
        };
        let content = Bytes::from(S::text(figures, format));
        Ok(Exposition { content_type: format.content_type(), content })
    }
}

/// The metrics behind doors.
#[derive(Debug)]
pub(crate) struct Shared<S: Source>(pub(crate) Arc<Metrics<S>>);

impl<S: Source> Provider for Shared<S> {
    fn file(&self, _path: &str, _accepts: Accepts) -> Option<File> {
        None
    }

    async fn overview(&self, _access: Access, _why: Option<&str>) -> Result<Bytes, Refusal> {
        Err(Refusal::Unknown)
    }

    async fn settings(&self) -> Result<Bytes, Refusal> {
        Err(Refusal::Unknown)
    }

    async fn code(&self, _name: &str) -> Option<File> {
        None
    }

    async fn act(&self, _path: &str, _body: Bytes) -> Result<Bytes, Refusal> {
        Err(Refusal::Unknown)
    }

    async fn metrics(&self, accept: &str) -> Result<Exposition, Refusal> {
        self.0.exposition(accept).await
    }
}
