//! A fixed priority for threads whose lateness is measured.

/// Whether a thread goes before those of other programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// The kernel refused: the thread waits its turn, and may be late when the computer is busy.
    Usual,
    /// It has a fixed priority (sched(7), `SCHED_FIFO`).
    Fixed,
}

/// Asks for a fixed priority for the calling thread, from 1 to 99. That takes the capability CAP_SYS_NICE, or a limit
/// `RLIMIT_RTPRIO`; root in a user namespace has neither.
#[expect(unsafe_code, reason = "no crate that we have sets a scheduling policy")]
pub fn make_urgent(priority: u8) -> Urgency {
    let priority = libc::c_int::from(priority.clamp(1, 99));
    // By its number, because musl's function of this name always refuses. The kernel's `sched_param` is one `int`.
    // SAFETY: the call reads one number that lives until it returns; 0 is the calling thread.
    let refused =
        unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_FIFO, &raw const priority) };
    if refused == 0 { Urgency::Fixed } else { Urgency::Usual }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread's policy, as proc(5) has it: field 41 of `stat`, 39 behind the name.
    fn policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, behind) = stat.rsplit_once(')').unwrap();
        behind.split_whitespace().nth(38).unwrap().to_owned()
    }

    #[test]
    fn what_is_told_is_what_the_kernel_does() {
        std::thread::spawn(|| {
            assert_eq!(policy(), "0");
            let want = match make_urgent(1) {
                Urgency::Usual => "0",
                Urgency::Fixed => "1",
            };
            assert_eq!(policy(), want);
        })
        .join()
        .unwrap();
    }
}
