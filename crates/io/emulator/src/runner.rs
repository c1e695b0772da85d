//! The loop that reads, asks, waits and writes.

use crate::{Bell, Device, EmulatorError, Lateness, Urgency, Wait, make_urgent};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The longest packet.
const PACKET_MAX: usize = 65_535;
/// How many packets are read from one side before those that are due are written.
const READS_MAX: usize = 32;
/// Errors of a device, one after the other, after which it counts as lost.
const ERRORS_MAX: u32 = 100;
/// Before whom the thread goes: above those that send and receive through it.
const PRIORITY: u8 = 30;

/// One of the two sides of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// Where the first device is.
    Near,
    /// Where the second device is.
    Far,
}

impl Side {
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

/// What lies between the two sides. Times are since the start of the emulator; they never go back.
pub trait Network: Send + 'static {
    /// A packet comes in at `side`, with its IP header in front.
    fn enter(&mut self, side: Side, packet: &[u8], now: Duration);

    /// When something happens next, if nothing comes in before.
    fn due(&self) -> Option<Duration>;

    /// Everything that happens up to `now`, until a packet leaves: where, and when it should have.
    fn leave(&mut self, now: Duration, packet: &mut Vec<u8>) -> Option<(Side, Duration)>;
}

/// What the emulator has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Packets that came in at the near and at the far side.
    pub entered: [u64; 2],
    /// Packets that were written at the near and at the far side.
    pub left: [u64; 2],
    /// Packets that a device would not take.
    pub refused: u64,
    /// How late packets were written.
    pub lateness: Lateness,
    /// Whether the thread had a fixed priority.
    pub urgency: Option<Urgency>,
}

/// A network that runs, on a thread of its own, until it is stopped.
#[derive(Debug)]
pub struct Emulator<N> {
    shared: Arc<Shared<N>>,
    bell: Bell,
    thread: Option<JoinHandle<Result<(), EmulatorError>>>,
}

#[derive(Debug)]
struct Shared<N> {
    devices: [Device; 2],
    state: Mutex<State<N>>,
    stopping: AtomicBool,
    started: Instant,
}

#[derive(Debug)]
struct State<N> {
    network: N,
    account: Account,
    errors: u32,
}

impl<N: Network> Emulator<N> {
    /// Starts. `near` and `far` have to be up when packets are to come through; `started` is time zero.
    ///
    /// # Errors
    /// If no thread can be had.
    pub fn start(near: Device, far: Device, network: N, started: Instant) -> Result<Self, EmulatorError> {
        let wait = Wait::new().map_err(EmulatorError::thread)?;
        for (device, token) in [&near, &far].into_iter().zip(0..) {
            wait.add(device, token, false).map_err(EmulatorError::thread)?;
        }
        let state = Mutex::new(State { network, account: Account::default(), errors: 0 });
        let shared =
            Arc::new(Shared { devices: [near, far], state, stopping: AtomicBool::new(false), started });
        let (ours, bell) = (Arc::clone(&shared), wait.bell());
        let thread = std::thread::Builder::new().name("emulator".to_owned()).spawn(move || ours.run(wait));
        Ok(Self { shared, bell, thread: Some(thread.map_err(EmulatorError::thread)?) })
    }

    /// Does something to the network between two of its steps. It should not take long, and must not make something
    /// happen earlier than was known: for that, the thread has to be woken ([`Emulator::kick`]).
    pub fn with<T>(&self, act: impl FnOnce(&mut N, Duration) -> T) -> T {
        let mut state = self.shared.lock();
        act(&mut state.network, self.shared.started.elapsed())
    }

    /// What was done so far.
    #[must_use]
    pub fn account(&self) -> Account {
        self.shared.lock().account.clone()
    }

    /// Whether the thread goes on; if not, [`Emulator::stop`] says why.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Makes the thread ask the network again when it is due.
    pub fn kick(&self) {
        self.bell.ring();
    }

    /// Ends the thread, and gives the network back with what was done.
    ///
    /// # Errors
    /// Why it was not running any more, if so.
    pub fn stop(mut self) -> Result<(N, Account), EmulatorError> {
        let ended = self.end();
        let Self { shared, .. } = &mut self;
        let shared = Arc::clone(shared);
        drop(self);
        ended?;
        let shared = Arc::into_inner(shared).ok_or_else(|| EmulatorError::thread("it did not end"))?;
        let State { network, account, .. } =
            shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((network, account))
    }
}

impl<N> Emulator<N> {
    fn end(&mut self) -> Result<(), EmulatorError> {
        self.shared.stopping.store(true, Ordering::Release);
        self.bell.ring();
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(ended)) => ended,
            // The panic has been printed already.
            Some(Err(_)) => Err(EmulatorError::thread("it ended in a panic")),
            None => Ok(()),
        }
    }
}

impl<N> Drop for Emulator<N> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!(%error, "the emulated network had ended before");
        }
    }
}

impl<N> Shared<N> {
    fn lock(&self) -> std::sync::MutexGuard<'_, State<N>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<N: Network> Shared<N> {
    fn run(&self, mut wait: Wait) -> Result<(), EmulatorError> {
        self.lock().account.urgency = Some(make_urgent(PRIORITY));
        let (mut buffer, mut packet, mut ready) = (vec![0; PACKET_MAX], Vec::new(), Vec::new());
        while !self.stopping.load(Ordering::Acquire) {
            let (due, is_drained) = {
                let mut state = self.lock();
                self.write(&mut state, &mut packet)?;
                let is_drained = self.read(&mut state, &mut buffer)?;
                (state.network.due(), is_drained)
            };
            if is_drained {
                let until = due.map(|due| self.started + due);
                wait.wait(until, &mut ready).map_err(EmulatorError::thread)?;
            }
        }
        Ok(())
    }

    /// Writes all that is due.
    fn write(&self, state: &mut State<N>, packet: &mut Vec<u8>) -> Result<(), EmulatorError> {
        while let Some((side, due)) = state.network.leave(self.started.elapsed(), packet) {
            let device = &self.devices[side as usize];
            match device.write(packet) {
                Ok(_) => {
                    state.errors = 0;
                    state.account.left[side as usize] += 1;
                    state.account.lateness.note(self.started.elapsed().saturating_sub(due));
                }
                Err(error) => {
                    state.account.refused += 1;
                    lost(device, &error, &mut state.errors)?;
                }
            }
        }
        Ok(())
    }

    /// Takes what came in, up to a limit. Whether there is no more.
    fn read(&self, state: &mut State<N>, buffer: &mut [u8]) -> Result<bool, EmulatorError> {
        let mut is_drained = true;
        for side in [Side::Near, Side::Far] {
            let device = &self.devices[side as usize];
            let mut reads = 0;
            loop {
                match device.read(buffer) {
                    Ok(length) => {
                        state.errors = 0;
                        state.account.entered[side as usize] += 1;
                        state.network.enter(side, &buffer[..length], self.started.elapsed());
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => lost(device, &error, &mut state.errors)?,
                }
                reads += 1;
                if reads == READS_MAX {
                    is_drained = false;
                    break;
                }
            }
        }
        Ok(is_drained)
    }
}

/// Counts an error of a device; too many, or that it is gone, are the end.
fn lost(device: &Device, error: &io::Error, errors: &mut u32) -> Result<(), EmulatorError> {
    // A device that is down says EIO; it may come up yet.
    *errors += u32::from(error.kind() != io::ErrorKind::Interrupted);
    if *errors > ERRORS_MAX || error.raw_os_error() == Some(libc::EBADFD) {
        return Err(EmulatorError::Lost { name: device.name().to_owned(), reason: error.to_string() });
    }
    Ok(())
}
