use crate::{Action, Answer, SettingsAnswer};
use guestright_overview::{May, Overview, Team};
use guestright_web::{Exposition, Refusal};
use std::future::Future;

/// What the page needs of a home. It is asked from many connections; a home that is one loop answers by a channel.
///
/// Nothing is asked while nobody looks. What takes longer than eight seconds is given up.
pub trait Home: Send + Sync + 'static {
    /// What is to be seen now by those who `may` so much, and why a team would be served.
    fn overview(&self, may: May, why: Option<Team>)
    -> impl Future<Output = Result<Overview, Refusal>> + Send;

    /// What is set, and who is not served.
    fn settings(&self) -> impl Future<Output = Result<SettingsAnswer, Refusal>> + Send;

    /// A code's picture, in SVG, by what stands behind `/v1/codes/` in [`Code::image`](crate::Code::image).
    fn code(&self, name: &str) -> impl Future<Output = Option<String>> + Send;

    /// The metrics, in a format that `accept` names. Only the program's user gets them here.
    fn metrics(&self, _accept: &str) -> impl Future<Output = Result<Exposition, Refusal>> + Send {
        async { Err(Refusal::Unknown) }
    }

    /// Does something. Whoever asks may.
    fn act(&self, action: Action) -> impl Future<Output = Result<Answer, Refusal>> + Send;
}
