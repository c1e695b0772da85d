//! Runs on many threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done<R> {
    Well(R),
    /// The work panicked: a mistake of ours.
    Broken,
}

/// Does `work` for each job on so many threads, and tells of each by its place among the jobs, in whatever order they
/// end. Returns at once. The threads end when no job is left, or when `tell` says that nobody listens any more.
///
/// # Errors
/// If a thread cannot be started.
pub fn start<J, R>(
    jobs: Vec<J>,
    threads: usize,
    work: impl Fn(&J) -> R + Clone + Send + 'static,
    on_done: impl Fn(usize, Done<R>) -> bool + Clone + Send + 'static,
) -> std::io::Result<()>
where
    J: Send + Sync + 'static,
{
    let threads = threads.clamp(1, jobs.len().max(1));
    let (jobs, next) = (Arc::new(jobs), Arc::new(AtomicUsize::new(0)));
    for number in 0..threads {
        let (jobs, next, work, on_done) = (jobs.clone(), next.clone(), work.clone(), on_done.clone());
        let run = move || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { return };
                let done = catch_unwind(AssertUnwindSafe(|| work(job)));
                if !on_done(index, done.map_or(Done::Broken, Done::Well)) {
                    return;
                }
            }
        };
        std::thread::Builder::new().name(format!("run-{number}")).spawn(run)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::{Barrier, mpsc};

    fn collect<R: Send + 'static>(
        jobs: Vec<u32>,
        threads: usize,
        work: impl Fn(&u32) -> R + Clone + Send + 'static,
    ) -> Vec<(usize, Done<R>)> {
        let (send, receive) = mpsc::channel();
        start(jobs, threads, work, move |index, done| send.send((index, done)).is_ok()).unwrap();
        receive.iter().collect()
    }

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_threads() {
        for threads in [0, 1, 2, 7, 1_000] {
            let mut done = collect((0..100).collect(), threads, |job| job * job);
            done.sort_by_key(|done| done.0);
            let want: Vec<_> = (0..100_u32).map(|job| (job as usize, Done::Well(job * job))).collect();
            assert_eq!(done, want, "{threads} threads");
        }
        assert!(collect(vec![], 3, |job| *job).is_empty());
    }

    /// Two jobs that wait for each other end only if they are done at the same time.
    #[test]
    fn jobs_are_done_at_the_same_time() {
        let barrier = Arc::new(Barrier::new(2));
        let done = collect(vec![0, 1], 2, move |_| {
            barrier.wait();
        });
        assert_eq!(done.len(), 2);
    }

    #[test]
    fn a_job_that_panics_is_told_and_does_not_end_the_others() {
        let done = collect((0..10).collect(), 2, |job| assert_ne!(*job, 3, "as this test wants it"));
        assert_eq!(done.len(), 10);
        let broken: BTreeSet<_> =
            done.iter().filter(|done| done.1 == Done::Broken).map(|done| done.0).collect();
        assert_eq!(broken, BTreeSet::from([3]));
    }

    #[test]
    fn threads_end_when_nobody_listens() {
        let (send, receive) = mpsc::channel();
        let on_done = move |index, done: Done<u32>| send.send((index, done)).is_ok() && index < 4;
        start((0..1_000).collect(), 1, |job| *job, on_done).unwrap();
        assert_eq!(receive.iter().count(), 5);
    }
}
