//! How many lines of a kind the log gets in a minute. Where there are more, the next one says how many were left out.

use crate::log_pace::LogPace;
use guestright_units::{TeamId, Time};
use std::fmt::Debug;

/// What others can cause as often as they like, and what the log has of it.
#[derive(Default)]
pub(super) struct Lines {
    /// Strangers can cause a decision five times a second.
    decisions: LogPace,
    /// Sessions that are over.
    pub(super) sessions: LogPace,
    /// Whose certificates did not hold; whoever has one can cause a line as often as it connects.
    certificates: LogPace,
    /// Orders that an access point has not carried out and nobody waits for; it can cause a line as often as it likes.
    orders: LogPace,
    pub(super) last_certificate: Option<String>,
}

impl Lines {
    /// The certificate of a program of the team did not hold.
    pub(super) fn certificate(&mut self, reason: String, now: Time) {
        match self.certificates.next(now) {
            Some(unsaid) => tracing::warn!(%reason, unsaid, "a program of the team was refused"),
            None => tracing::debug!(%reason, "a program of the team was refused"),
        }
        self.last_certificate = Some(reason);
    }

    /// An access point has not done what the household wants, and nobody waits to know.
    pub(super) fn not_done(&mut self, reason: &str, now: Time) {
        match self.orders.next(now) {
            Some(unsaid) => {
                tracing::warn!(%reason, unsaid, "an access point has not done what the household wants");
            }
            None => tracing::debug!(%reason, "an access point has not done what the household wants"),
        }
    }

    /// A visitor of this team was let in, served or refused.
    pub(super) fn decided(&mut self, consumer: TeamId, verdict: &dyn Debug, reason: &str, now: Time) {
        let consumer = consumer.short();
        match self.decisions.next(now) {
            Some(0) => tracing::info!(%consumer, ?verdict, %reason, "decided"),
            Some(unsaid) => tracing::info!(%consumer, ?verdict, %reason, unsaid, "decided"),
            None => tracing::debug!(%consumer, ?verdict, %reason, "decided"),
        }
    }
}
