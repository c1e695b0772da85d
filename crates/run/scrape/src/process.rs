//! What the kernel knows of this process.

use guestright_metrics::Process;
use rustix::process::{Resource, getrlimit};
use std::fs;

/// This process now (proc(5)). What cannot be read is zero.
pub fn process() -> Process {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let whole = fs::read_to_string("/proc/stat").unwrap_or_default();
    let descriptors = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let limit = getrlimit(Resource::Nofile).current;
    Process {
        // The directory itself is one of them while it is read.
        descriptors: u64::try_from(descriptors).unwrap_or(u64::MAX).saturating_sub(1),
        descriptors_max: limit.unwrap_or(u64::MAX),
        ..of_stat(&stat, boot_time(&whole), rustix::param::clock_ticks_per_second(), page_size())
    }
}

fn page_size() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or_default()
}

/// When the computer started, in seconds since 1970.
fn boot_time(stat: &str) -> f64 {
    let line = stat.lines().find_map(|line| line.strip_prefix("btime "));
    line.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or_default()
}

#[expect(clippy::cast_precision_loss, reason = "times of processes are far below 2^52 ticks")]
fn of_stat(stat: &str, boot: f64, ticks_per_second: u64, page_size: u64) -> Process {
    // A program's name is in parentheses and may have any of those in it.
    let after = stat.rsplit_once(") ").map(|(_, after)| after).unwrap_or_default();
    let fields: Vec<&str> = after.split_ascii_whitespace().collect();
    // The first of them is the third of proc(5).
    let field = |number: usize| {
        fields.get(number - 3).and_then(|field| field.parse::<u64>().ok()).unwrap_or_default()
    };
    let seconds = |ticks: u64| ticks as f64 / ticks_per_second as f64;
    Process {
        cpu_seconds: seconds(field(14) + field(15)),
        started: boot + seconds(field(22)),
        resident_bytes: field(24) * page_size,
        ..Process::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_by_its_fields() {
        let stat = "42 (guest) (right)) S 1 42 42 0 -1 4194304 90 0 0 0 250 50 0 0 20 0 3 0 12345 9000000 700 18446744073709551615 1";
        let read = of_stat(stat, boot_time("cpu 1 2\nbtime 1800000000\nprocesses 5\n"), 100, 4_096);
        assert_eq!((read.resident_bytes, read.cpu_seconds), (700 * 4_096, 3.0));
        assert!((read.started - 1_800_000_123.45).abs() < 1e-6, "{}", read.started);
        assert_eq!(of_stat("", 0.0, 100, 4_096), Process::default());
    }

    #[test]
    fn this_process_is_one_of_the_computer() {
        let before = process();
        let file = fs::File::open("/proc/self/stat").unwrap();
        let now = process();
        assert!(now.resident_bytes > 100_000 && now.started > 1.5e9, "{now:?}");
        assert!(now.descriptors > 0 && now.descriptors_max >= now.descriptors, "{before:?} {now:?}");
        drop(file);
    }
}
