//! Waiting for something to read, or for a bell.

use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

const READABLE: u64 = 1;
const BELL: u64 = 2;

/// Waits for one descriptor, and has a bell that anybody may ring to end the waiting.
#[derive(Debug)]
pub(crate) struct Waiter {
    epoll: OwnedFd,
    bell: OwnedFd,
}

impl Waiter {
    /// Will wait for `readable`, which has to be read until it is empty before each waiting.
    pub(crate) fn new(readable: &impl AsFd) -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, readable, EventData::new_u64(READABLE), EventFlags::IN | EventFlags::ET)?;
        epoll::add(&epoll, &bell, EventData::new_u64(BELL), EventFlags::IN)?;
        Ok(Self { epoll, bell })
    }

    /// Waits until there is something to read, the bell rings, or it is time. Whether the bell rang.
    pub(crate) fn wait(&self, until: Option<Instant>) -> io::Result<bool> {
        let left = until.map(|until| {
            let left = until.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: left.as_secs().cast_signed(),
                tv_nsec: left.subsec_nanos().cast_signed().into(),
            }
        });
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }; 2];
        let count = match epoll::wait(&self.epoll, events.as_mut_slice(), left.as_ref()) {
            Ok(count) => count,
            Err(rustix::io::Errno::INTR) => 0,
            Err(error) => return Err(error.into()),
        };
        let rang = events[..count].iter().any(|event| {
            let data = event.data;
            data.u64() == BELL
        });
        if rang {
            let _ = rustix::io::read(&self.bell, &mut [0; 8]);
        }
        Ok(rang)
    }

    /// Ends the waiting, or the next one. A bell that was rung already, and not heard yet, needs no more.
    pub(crate) fn ring(&self) {
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn ends_for_something_to_read_for_the_bell_and_in_time() {
        let source = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let waiter = Waiter::new(&source).unwrap();
        let soon = || Some(Instant::now() + Duration::from_millis(20));
        let started = Instant::now();
        assert!(!waiter.wait(soon()).unwrap());
        assert!(started.elapsed() >= Duration::from_millis(20), "in time, and not before");
        waiter.ring();
        waiter.ring();
        assert!(waiter.wait(None).unwrap(), "rung before it waited");
        assert!(!waiter.wait(soon()).unwrap(), "once");
        rustix::io::write(&source, &1_u64.to_ne_bytes()).unwrap();
        assert!(!waiter.wait(None).unwrap(), "something to read");
    }
}
