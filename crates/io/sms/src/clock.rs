//! The time, for the machines.

use guestright_units::{Micros, Time};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Waits until then; without a time, for ever.
pub(crate) async fn sleep_until(at: Option<Time>) {
    match at {
        Some(at) => {
            let Micros(wait) = at.since(now());
            tokio::time::sleep(Duration::from_micros(wait)).await;
        }
        None => std::future::pending().await,
    }
}
