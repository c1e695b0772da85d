use guestright_units::Time;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time since the Unix epoch, read from the wall clock once.
#[derive(Debug)]
pub(crate) struct MediaClock {
    started: Instant,
    epoch: Duration,
}

impl MediaClock {
    pub(crate) fn start() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch }
    }

    pub(crate) fn now(&self) -> Time {
        let since = self.epoch + self.started.elapsed();
        Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}
