//! When nobody is there, counters are read seldom, and anew for whoever asks.

use super::guard::Order;
use super::{Loop, metrics};
use crate::QUESTIONS_MAX;
use guestright_firewall::{self as firewall, Changes};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

/// Without anybody there is nothing to count but what is dropped.
const REST: Duration = Duration::from_secs(60);
/// A visitor with nothing but a tunnel is seen by its counters alone, and the meter of calls is told that there are none.
/// A little more than the second after which they look, so that they do each time.
const REST_WATCHING: Duration = Duration::from_millis(1_100);
/// For so long after the kernel had to do with a station, one is there: it has to do with it again after half a minute of packets
/// (`base_reachable_time_ms`, Linux, networking/ip-sysctl). After that the kernel may know stations that sleep, and says nothing when
/// they speak again, until packets go to them. So they are asked whether they are there.
const STATION_FOR: Duration = Duration::from_secs(90);
/// So many are asked at once, at most.
const ASKED_MAX: usize = 64;
/// Strangers can cause as much ARP as they like: one word of the kernel's is enough for so long.
const SPEAKS_EVERY: Duration = Duration::from_secs(1);
/// The clock is looked at so often at least.
const CLOCK: Duration = Duration::from_secs(5);

/// What the static filter has dropped is counted anew for whoever asks, at most so often. At rest the answer has it already, else the
/// next one.
const COUNT_BARRED_EVERY: Duration = Duration::from_secs(1);

/// Who asks what the counters are part of.
#[derive(Debug)]
pub(super) enum Asker {
    Status(oneshot::Sender<Value>),
    Figures(metrics::Asked),
}

/// Those who ask.
#[derive(Debug, Default)]
pub(super) struct Askers {
    /// Who waits for a reading.
    waiting: Vec<Asker>,
    /// When what the static filter has dropped was last counted for somebody.
    counted_barred: Option<Instant>,
}

/// Whether anybody is there at all: who has a tunnel alone asks for nothing, but no packet comes without ARP.
pub(super) struct Stations {
    interface: String,
    seen: Option<Instant>,
    speaks: Arc<Notify>,
    /// Nothing where the kernel does not tell.
    changes: Option<Changes>,
}

impl Stations {
    /// Begins to listen on this interface.
    pub(super) fn watch(interface: &str) -> Self {
        let speaks = Arc::new(Notify::new());
        let bell = Arc::clone(&speaks);
        let changes = Changes::watch_stations(interface, move || bell.notify_one());
        let changes = changes.inspect_err(|error| tracing::info!(%error, "changes are noticed later")).ok();
        let is_alone = firewall::neighbours(interface).is_ok_and(|neighbours| neighbours.is_empty());
        Self { interface: interface.to_owned(), seen: (!is_alone).then(Instant::now), speaks, changes }
    }

    /// Waits until one speaks. Nothing is lost if that is given up.
    pub(super) async fn next(&mut self) {
        if let Some(seen) = self.seen {
            tokio::time::sleep_until(seen + SPEAKS_EVERY).await;
        }
        self.speaks.notified().await;
        self.seen = Some(Instant::now());
    }

    fn are_there(&mut self) -> bool {
        if self.changes.is_none() {
            return true;
        }
        if self.seen.is_some_and(|seen| seen.elapsed() >= STATION_FOR) {
            self.seen = self.ask().then(Instant::now);
        }
        self.seen.is_some()
    }

    /// Has the kernel ask all that it knows, which it forgets where nobody answers. Whether it knows any, or cannot say.
    fn ask(&self) -> bool {
        let Ok(known) = firewall::neighbours(&self.interface) else { return true };
        for ip in known.keys().take(ASKED_MAX) {
            if let Err(error) = firewall::resolve(*ip, &self.interface) {
                tracing::debug!(%error, "a station was not asked whether it is there");
            }
        }
        !known.is_empty()
    }
}

/// Whether nobody is served, or is about to be.
pub(super) fn is_at_rest(this: &Loop) -> bool {
    !this.stopping
        && this.passing.is_empty()
        && this.guests.trials.is_empty()
        && this.machine.status().is_empty()
}

/// How often the counters are read at least.
pub(super) fn pace(this: &mut Loop) -> Duration {
    if !is_at_rest(this) {
        this.pace
    } else if this.settings.radio.is_some() || this.allowance.is_some() && this.stations.are_there() {
        REST_WATCHING
    } else {
        REST
    }
}

/// How long the loop may wait for something to happen.
pub(super) fn patience(this: &mut Loop) -> Duration {
    pace(this).min(CLOCK)
}

/// Answers, at rest after the counters have been read.
pub(super) fn handle_asker(this: &mut Loop, asker: Asker) {
    if this.askers.counted_barred.is_none_or(|at| at.elapsed() >= COUNT_BARRED_EVERY) {
        this.askers.counted_barred = Some(Instant::now());
        this.orders.send(Order::CountBarred);
    }
    if !is_at_rest(this) || this.askers.waiting.len() >= QUESTIONS_MAX {
        return answer_one(this, asker);
    }
    this.askers.waiting.push(asker);
    this.read();
    if !this.reading {
        answer(this); // The firewall's thread has ended.
    }
}

/// It is time to read the counters. Whoever asked before and still waits is not left waiting for a firewall that is stuck.
pub(super) fn handle_timeout(this: &mut Loop) {
    if this.reading {
        answer(this);
    }
    this.read();
}

/// The counters were read, or cannot be.
pub(super) fn answer(this: &mut Loop) {
    for asker in std::mem::take(&mut this.askers.waiting) {
        answer_one(this, asker);
    }
}

fn answer_one(this: &mut Loop, asker: Asker) {
    match asker {
        // The asker may have gone.
        Asker::Status(reply) => drop(reply.send(this.answer("status"))),
        Asker::Figures(reply) => metrics::answer(this, reply),
    }
}
