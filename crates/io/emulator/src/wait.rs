//! Waiting for sockets, for a bell, and for a time that is met to some microseconds.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
/// How much is told at once.
const EVENTS_MAX: usize = 64;

/// Something that a wait ended for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token under which it was added.
    pub token: u64,
    /// Whether it can be read, or has ended.
    pub readable: bool,
    /// Whether it can be written.
    pub writable: bool,
}

/// Waits for many descriptors until a time. The kernel's usual waits may be 50 µs late (prctl(2), `PR_SET_TIMERSLACK`);
/// a timer that is a descriptor of its own is not.
#[derive(Debug)]
pub struct Wait {
    epoll: OwnedFd,
    timer: OwnedFd,
    bell: Bell,
    armed: Option<Instant>,
}

/// Ends a wait, from any thread.
#[derive(Clone, Debug)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// Ends the waiting, or the next one.
    pub fn ring(&self) {
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }
}

impl Wait {
    /// Waits for nothing yet.
    ///
    /// # Errors
    /// If the kernel has no more descriptors for us.
    pub fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self { epoll, timer, bell: Bell(Arc::new(bell)), armed: None })
    }

    /// What ends the waiting.
    #[must_use]
    pub fn bell(&self) -> Bell {
        self.bell.clone()
    }

    /// Waits for `descriptor` too, for something to read and, if `writable`, for room to write. A wait ends for it as
    /// long as it is ready.
    ///
    /// # Errors
    /// If it cannot be waited for, or is there already.
    pub fn add(&self, descriptor: &impl AsFd, token: u64, writable: bool) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, descriptor, EventData::new_u64(token), interest(writable))?)
    }

    /// Waits for room to write, or no longer.
    ///
    /// # Errors
    /// If it was not added.
    pub fn change(&self, descriptor: &impl AsFd, token: u64, writable: bool) -> io::Result<()> {
        Ok(epoll::modify(&self.epoll, descriptor, EventData::new_u64(token), interest(writable))?)
    }

    /// Waits for it no longer.
    ///
    /// # Errors
    /// If it was not added.
    pub fn remove(&self, descriptor: &impl AsFd) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, descriptor)?)
    }

    /// Waits until something is ready, the bell rings, or it is time. Gives what is ready; nothing if it is time or the
    /// bell rang.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        self.arm(until)?;
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; EVENTS_MAX];
        let count = match epoll::wait(&self.epoll, events.as_mut_slice(), None) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            let (data, flags) = (event.data, event.flags);
            match data.u64() {
                TIMER => {
                    self.armed = None;
                    let _ = rustix::io::read(&self.timer, &mut [0; 8]);
                }
                BELL => _ = rustix::io::read(&*self.bell.0, &mut [0; 8]),
                token => ready.push(Ready {
                    token,
                    readable: flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR),
                    writable: flags.intersects(EventFlags::OUT | EventFlags::ERR),
                }),
            }
        }
        Ok(())
    }

    fn arm(&mut self, until: Option<Instant>) -> io::Result<()> {
        if self.armed == until {
            return Ok(());
        }
        // A timer of zero is switched off: what is due is due in a nanosecond.
        let left =
            until.map(|until| until.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1)));
        let left = left.unwrap_or_default();
        let value =
            Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) };
        let new = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        rustix::time::timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &new)?;
        self.armed = until;
        Ok(())
    }
}

fn interest(writable: bool) -> EventFlags {
    if writable { EventFlags::IN | EventFlags::OUT } else { EventFlags::IN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_in_time_for_the_bell_and_for_what_is_ready() {
        let (mut wait, mut ready) = (Wait::new().unwrap(), Vec::new());
        let (one, other) = rustix::net::socketpair(
            rustix::net::AddressFamily::UNIX,
            rustix::net::SocketType::STREAM,
            rustix::net::SocketFlags::NONBLOCK,
            None,
        )
        .unwrap();
        wait.add(&one, 7, false).unwrap();
        let until = Instant::now() + Duration::from_millis(20);
        wait.wait(Some(until), &mut ready).unwrap();
        assert!(ready.is_empty() && Instant::now() >= until, "in time, and not before");
        wait.wait(Some(until), &mut ready).unwrap();
        assert!(ready.is_empty(), "a time that is past ends it at once");
        wait.bell().ring();
        wait.wait(None, &mut ready).unwrap();
        assert!(ready.is_empty());
        rustix::io::write(&other, b"x").unwrap();
        wait.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [Ready { token: 7, readable: true, writable: false }]);
        wait.change(&one, 7, true).unwrap();
        wait.wait(None, &mut ready).unwrap();
        assert_eq!(ready, [Ready { token: 7, readable: true, writable: true }]);
        wait.remove(&one).unwrap();
        wait.wait(Some(Instant::now() + Duration::from_millis(1)), &mut ready).unwrap();
        assert!(ready.is_empty());
    }
}
