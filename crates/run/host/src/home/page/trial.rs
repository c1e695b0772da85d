//! Policies that are tried on the past while pages wait: a few at a time, each on a thread of its own.

use super::tools::{Tools, Trial};
use guestright_error::RunError;
use guestright_overview::Count;
use guestright_page::{DryRun, DryRunAnswer};
use portable_atomic::AtomicU64;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// How long the page usually waits.
const WAIT: Duration = Duration::from_secs(2);
/// Nobody waits any more if it was not asked for so long. The page asks again at once.
const ABANDONED: Duration = Duration::from_secs(10);
/// So many at a time: each takes a core. One more, and the one that began first ends.
const RUNNING_MAX: usize = 2;

/// Those that are under way, the latest last.
#[derive(Debug)]
pub(super) struct Trials {
    running: Mutex<VecDeque<Arc<Running>>>,
    /// How long the page waits for an answer before it asks again.
    wait: Duration,
}

#[derive(Debug)]
struct Running {
    trial: Trial,
    done: AtomicU64,
    all: AtomicU64,
    is_over: AtomicBool,
    began: Instant,
    /// When it was asked for last, in milliseconds after it began.
    asked: AtomicU64,
    result: watch::Sender<Option<Result<DryRun, String>>>,
}

impl Default for Trials {
    fn default() -> Self {
        Self { running: Mutex::default(), wait: WAIT }
    }
}

impl Trials {
    /// What came of it, or how far it is. Whoever asks for the same shares it.
    ///
    /// # Errors
    /// The past cannot be read, or others are tried instead; a sentence.
    pub(super) async fn ask(&self, tools: Arc<dyn Tools>, trial: Trial) -> Result<DryRunAnswer, String> {
        let running = self.find_or_begin(tools, trial);
        let mut result = running.result.subscribe();
        let waited = tokio::time::timeout(self.wait, result.wait_for(Option::is_some)).await;
        let found = match waited {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) | Err(_) => None,
        };
        match found {
            Some(result) => {
                // The past goes on: whoever asks again has it decided again.
                self.forget(&running);
                result.map(DryRunAnswer::Done)
            }
            None => Ok(running.progress()),
        }
    }

    fn find_or_begin(&self, tools: Arc<dyn Tools>, trial: Trial) -> Arc<Running> {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|running| !running.is_abandoned());
        if let Some(running) = all.iter().find(|running| running.trial.is_alike(&trial)) {
            running.note_asked();
            return Arc::clone(running);
        }
        while all.len() >= RUNNING_MAX {
            all.pop_front().into_iter().for_each(|first| first.is_over.store(true, Relaxed));
        }
        let running = Arc::new(Running {
            trial,
            done: AtomicU64::new(0),
            all: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            began: Instant::now(),
            asked: AtomicU64::new(0),
            result: watch::Sender::new(None),
        });
        let works = Arc::clone(&running);
        tokio::task::spawn_blocking(move || works.work(&*tools));
        all.push_back(Arc::clone(&running));
        running
    }

    fn forget(&self, running: &Arc<Running>) {
        let mut all = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| !Arc::ptr_eq(one, running));
    }
}

impl Running {
    fn work(&self, tools: &dyn Tools) {
        let result = tools.dry_run(&self.trial, &mut |done, all| {
            self.done.store(done, Relaxed);
            self.all.store(all, Relaxed);
            if self.is_over.load(Relaxed) {
                return Err(RunError::user(
                    "other limits are being tried now; try these again when that is over",
                ));
            }
            if self.is_abandoned() {
                return Err(RunError::user("nobody waits for it any more"));
            }
            Ok(())
        });
        self.result.send_replace(Some(result.map_err(|error| error.sentence())));
    }

    fn note_asked(&self) {
        self.asked.store(millis(self.began.elapsed()), Relaxed);
    }

    fn is_abandoned(&self) -> bool {
        millis(self.began.elapsed()).saturating_sub(self.asked.load(Relaxed)) > millis(ABANDONED)
    }

    fn progress(&self) -> DryRunAnswer {
        let [done, of] = [&self.done, &self.all].map(|it| Count::at_most_max(it.load(Relaxed)));
        DryRunAnswer::Running { done, of }
    }
}

impl Trial {
    /// Whether it is the same question, asked a little later.
    fn is_alike(&self, other: &Self) -> bool {
        self.in_force == other.in_force
            && self.other == other.other
            && self.since.0.abs_diff(other.since.0) < 3_600
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::page::tools::{MadeCode, MemberChange};
    use guestright_overview::Moment;
    use guestright_roaming::home::Config;
    use guestright_units::UnixSeconds;
    use std::sync::mpsc;

    /// Ends when it may, or when nobody waits.
    #[derive(Debug)]
    struct Slow {
        may_end: Mutex<mpsc::Receiver<()>>,
        ended: mpsc::Sender<bool>,
    }

    impl Tools for Slow {
        fn dry_run(
            &self,
            trial: &Trial,
            progress: &mut dyn FnMut(u64, u64) -> Result<(), RunError>,
        ) -> Result<DryRun, RunError> {
            let may_end = self.may_end.lock().unwrap();
            let step = Duration::from_millis(1);
            while may_end.recv_timeout(step) == Err(mpsc::RecvTimeoutError::Timeout) {
                progress(1, 4).inspect_err(|_| self.ended.send(false).unwrap())?;
            }
            self.ended.send(true).unwrap();
            Ok(DryRun { since: Moment::from(trial.since), complete: true, rows: vec![], changed: vec![] })
        }

        fn change_member(&self, change: &MemberChange) -> Result<Option<MadeCode>, RunError> {
            panic!("{change:?}")
        }
    }

    fn trial(since: u64) -> Trial {
        Trial { in_force: Config::default(), other: Config::default(), since: UnixSeconds(since) }
    }

    #[tokio::test]
    async fn a_trial_is_asked_for_until_it_is_done_and_one_too_many_ends_the_first() {
        let (end, may_end) = mpsc::channel();
        let (ended, was_ended) = mpsc::channel();
        let tools: Arc<dyn Tools> = Arc::new(Slow { may_end: Mutex::new(may_end), ended });
        let trials = Trials { wait: Duration::from_millis(20), ..Trials::default() };
        let ask = |since| trials.ask(Arc::clone(&tools), trial(since));
        let is_running = |answer| matches!(answer, Ok(DryRunAnswer::Running { .. }));
        assert!(is_running(ask(1_000_000).await));
        while ask(1_000_001).await != Ok(DryRunAnswer::Running { done: Count::from(1), of: Count::from(4) }) {
        }
        let asks_on = trials.find_or_begin(Arc::clone(&tools), trial(1_000_000));
        assert!(is_running(ask(2_000_000).await) && is_running(ask(1_000_000).await), "two browsers");
        assert!(is_running(ask(3_000_000).await));
        assert!(!was_ended.recv().unwrap(), "the first one has given up");
        let sentence = asks_on.result.subscribe().wait_for(Option::is_some).await.unwrap().clone();
        assert!(sentence.unwrap().unwrap_err().contains("other limits are being tried"));
        (0..2).for_each(|_| end.send(()).unwrap());
        assert!(was_ended.recv().unwrap() && was_ended.recv().unwrap());
        for since in [2_000_000, 3_000_000] {
            while is_running(ask(since).await) {}
        }
        assert!(trials.running.lock().unwrap().is_empty(), "what is known is not kept");
    }
}
