//! In a build without calls: an exchange that nobody can have.

use crate::{Members, OwnHome, Settings};
use guestright_error::RunError;
use guestright_links::ExchangeLinks;
use serde_json::Value;
use tokio::sync::oneshot;

/// There is none.
#[derive(Clone, Copy, Debug)]
pub enum Exchange {}

impl Exchange {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    #[expect(clippy::unused_async, reason = "as in a build that has calls")]
    pub async fn start(_: &Settings, _: OwnHome<'_>, _: ExchangeLinks) -> Result<Self, RunError> {
        let hint = "leave [voice] out of the home's settings, or take a build with the feature exchange";
        Err(RunError::config("this program was built without calls").with_hint(hint))
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn set_members(&self, _: Members) -> Result<(), RunError> {
        match *self {}
    }

    /// Never called.
    pub fn set_rooms(&self, _: Vec<guestright_signalling::CallRoom>) -> bool {
        match *self {}
    }

    /// Never called.
    pub fn join(&self, _: oneshot::Sender<Value>) -> oneshot::Sender<Value> {
        match *self {}
    }

    /// Never called.
    #[expect(clippy::unused_async, reason = "as in a build that has calls")]
    pub async fn stop(self) {
        match self {}
    }
}
