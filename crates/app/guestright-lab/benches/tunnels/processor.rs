//! How much of the processor was used, by whom.
//!
//! - A process: `/proc/PID/task/*/schedstat`, nanoseconds on a processor. What the kernel does for others while it
//!   interrupts a process (softirq) is in there; what its own threads for that do is not.
//! - The whole computer: time in which no processor was idle, from `/proc/stat`, in steps of 10 ms. It holds all of
//!   the above and everything else that ran here, so it means something on a quiet computer only.
//!
//! Both need neither cgroups nor rights, so continuous integration has the same figures.

use std::fs;
use std::time::{Duration, Instant};

use guestright_netns::Process;

/// The unit of `/proc/stat` on every architecture that Linux runs programs on (`USER_HZ`).
const TICKS_PER_SECOND: f64 = 100.0;

/// How long others are watched, and how much of the processors they may use: `/proc/stat` counts in 10 ms.
const LOOK: Duration = Duration::from_millis(300);
const QUIET: f64 = 0.08;

/// The state of the clocks at one moment.
pub(crate) struct Clocks {
    at: Instant,
    daemons_ns: u64,
    /// Idle, waiting for disks, and taken away by the hypervisor: all processors together.
    unused_ticks: f64,
    processors: f64,
}

/// Between two moments, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub(crate) daemons_us: f64,
    pub(crate) computer_us: f64,
}

impl Clocks {
    pub(crate) fn read(daemons: &[Process]) -> Self {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let mut lines = text.lines();
        let first: Vec<f64> = lines
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal: proc_stat(5).
        let unused_ticks = [3, 4, 7].iter().filter_map(|&at: &usize| first.get(at)).sum();
        let processors = lines.take_while(|line| line.starts_with("cpu")).count() as f64;
        let daemons_ns = daemons.iter().map(|daemon| of_process(daemon.id())).sum();
        Self { at: Instant::now(), daemons_ns, unused_ticks, processors }
    }

    /// What was used since `earlier`.
    pub(crate) fn since(&self, earlier: &Self) -> Used {
        let elapsed_us = self.at.duration_since(earlier.at).as_secs_f64() * 1e6;
        let unused_us = (self.unused_ticks - earlier.unused_ticks) / TICKS_PER_SECOND * 1e6;
        Used {
            daemons_us: self.daemons_ns.saturating_sub(earlier.daemons_ns) as f64 / 1e3,
            computer_us: (elapsed_us * self.processors - unused_us).max(0.0),
        }
    }
}

fn of_process(id: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("schedstat")).ok())
        .filter_map(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .sum()
}

/// Waits until others leave the processors alone, as long as it takes but no longer than `patience`. The share of
/// the processors' time that they used last.
pub(crate) fn wait_for_quiet(patience: Duration) -> f64 {
    let began = Instant::now();
    loop {
        let before = Clocks::read(&[]);
        std::thread::sleep(LOOK);
        let after = Clocks::read(&[]);
        let possible_us = after.at.duration_since(before.at).as_secs_f64() * 1e6 * after.processors;
        let busy = after.since(&before).computer_us / possible_us;
        if busy < QUIET || began.elapsed() >= patience {
            return busy;
        }
    }
}

/// How many programs wanted to run in the last minute: `/proc/loadavg`.
pub(crate) fn load() -> f64 {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0.0)
}

/// The model of the first processor.
pub(crate) fn model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    line.split(':').nth(1).unwrap_or("unknown").trim().to_owned()
}
