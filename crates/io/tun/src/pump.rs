use crate::coalesce::Coalescer;
use crate::segment::Segments;
use crate::wait::Waiter;
use crate::{Device, Socket, TunError};
use guestright_tunnel::{Datagrams, Endpoint, Opened};
use guestright_units::Time;
use portable_atomic::AtomicU64;
use quinn_udp::RecvMeta;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often an endpoint looks at the clock while anything passes. It stamps what passes with the time at which
/// it looked last (boringtun's `TimeCurrent`), and compares the stamps: what passes now and what passes much later must differ.
const TICK: Duration = Duration::from_millis(100);
/// How often it does while nothing passes. What is due then is due after many seconds.
const TICK_AT_REST: Duration = Duration::from_secs(2);
/// The largest thing that the device or the socket hands over, and the device's header.
const READ_MAX: usize = 65_535 + tun_rs::VIRTIO_NET_HDR_LEN;
/// How many small packets are read before what came out of them is sent.
const READS_MAX: usize = 64;
/// How many datagrams, or runs of them that the kernel joined, are received with one call (quinn-udp's limit).
const CALL_MAX: usize = 32;
/// How many are opened and delivered together: as many as make the largest segment for the device, and some.
const RECEIVES_MAX: usize = 4 * CALL_MAX;
/// So many errors in a row, with nothing in between, and a descriptor is taken for dead.
const ERRORS_MAX: u32 = 1_000;

/// A running tunnel: two threads, a device, a socket and an endpoint.
///
/// When it is dropped it stops, and the device and its interface are gone.
#[derive(Debug)]
pub struct Pump {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// What went wrong between us and the kernel, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PumpCounters {
    /// Datagrams that the kernel would not send.
    pub unsent: u64,
    /// Runs of datagrams that the kernel would not cut, and that were sent one by one.
    pub split: u64,
    /// Packets that the device would not take.
    pub undelivered: u64,
    /// What the device handed over and we could not read.
    pub unreadable: u64,
}

/// When the endpoint looks at the clock.
#[derive(Debug)]
struct Ticks {
    next: Instant,
    rests: bool,
}

impl Ticks {
    /// The endpoint has looked. Nothing has passed since.
    fn looked(&mut self, now: Instant) {
        self.rests = true;
        self.next = now + TICK_AT_REST;
    }

    /// Something has passed.
    fn passed(&mut self, now: Instant) {
        self.rests = false;
        self.next = self.next.min(now + TICK);
    }
}

#[derive(Debug)]
struct Shared {
    device: Device,
    socket: Socket,
    endpoint: Arc<dyn Endpoint>,
    stopping: AtomicBool,
    /// Whether anything has come in since the endpoint looked at the clock.
    has_come: AtomicBool,
    /// Whether the endpoint looks seldom, as nothing has passed.
    resting: AtomicBool,
    /// Wakes the thread that reads the device, and keeps the clock.
    outward: Waiter,
    /// Wakes the thread that reads the socket.
    inward: Waiter,
    failure: Mutex<Option<TunError>>,
    undelivered: AtomicU64,
    unreadable: AtomicU64,
}

/// What a thread does until it is told to stop.
type Direction = fn(&Shared) -> Result<(), TunError>;

impl Pump {
    /// Starts pumping. `lost` is called once if a thread had to give up; it should not take long.
    ///
    /// # Errors
    /// If no thread can be had.
    pub fn start(
        device: Device,
        socket: Socket,
        endpoint: Arc<dyn Endpoint>,
        lost: impl Fn(TunError) + Send + Sync + 'static,
    ) -> Result<Self, TunError> {
        let thread = |error: io::Error| TunError::Thread { reason: error.to_string() };
        let (outward, inward) =
            (Waiter::new(&device).map_err(thread)?, Waiter::new(&socket).map_err(thread)?);
        let shared = Arc::new(Shared {
            device,
            socket,
            endpoint,
            stopping: AtomicBool::new(false),
            has_come: AtomicBool::new(false),
            resting: AtomicBool::new(false),
            outward,
            inward,
            failure: Mutex::new(None),
            undelivered: AtomicU64::new(0),
            unreadable: AtomicU64::new(0),
        });
        let lost = Arc::new(lost);
        let mut pump = Self { shared, threads: Vec::new() };
        let directions: [(&str, Direction); 2] =
            [("tunnel-out", Shared::pump_out), ("tunnel-in", Shared::pump_in)];
        for (name, direction) in directions {
            let (shared, lost) = (Arc::clone(&pump.shared), Arc::clone(&lost));
            let work = move || {
                if let Err(error) = direction(&shared) {
                    shared.fail(&error, &*lost);
                }
            };
            let builder = std::thread::Builder::new().name(name.to_owned());
            pump.threads.push(builder.spawn(work).map_err(thread)?);
        }
        Ok(pump)
    }

    /// Lets the endpoint look at the clock at once.
    pub fn kick(&self) {
        self.shared.outward.ring();
    }

    /// The socket, to be marked again.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.shared.socket
    }

    /// What went wrong on the way, so far.
    #[must_use]
    pub fn counters(&self) -> PumpCounters {
        PumpCounters {
            unsent: self.shared.socket.unsent.load(Ordering::Relaxed),
            split: self.shared.socket.split.load(Ordering::Relaxed),
            undelivered: self.shared.undelivered.load(Ordering::Relaxed),
            unreadable: self.shared.unreadable.load(Ordering::Relaxed),
        }
    }

    /// Ends both threads and waits for them. The interface goes with the pump.
    ///
    /// # Errors
    /// Why it was not running any more, if so.
    pub fn stop(mut self) -> Result<(), TunError> {
        self.join();
        let failure = self.shared.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(Ok(()), Err)
    }

    fn join(&mut self) {
        self.shared.stop();
        for thread in self.threads.drain(..) {
            // A panic has been printed already; here is nobody to do more about it.
            let _ = thread.join();
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        self.join();
    }
}

impl Shared {
    /// From the device to the socket, and the clock.
    fn pump_out(&self) -> Result<(), TunError> {
        let clock = PumpClock::start();
        let mut buffer = vec![0; READ_MAX];
        let mut out = Datagrams::new();
        let mut ticks = Ticks { next: Instant::now(), rests: false };
        let mut errors = 0;
        while !self.stopping.load(Ordering::Acquire) {
            let instant = Instant::now();
            let now = clock.at(instant);
            if instant >= ticks.next {
                self.has_come.store(false, Ordering::SeqCst);
                self.endpoint.tick(&mut out, now);
                ticks.looked(instant);
            }
            let empty = self.seal_batch(&mut buffer, &mut out, now, &mut errors)?;
            if !out.is_empty() {
                ticks.passed(instant);
            }
            out.runs().for_each(|run| self.socket.send(run));
            out.clear();
            if empty {
                self.resting.store(ticks.rests, Ordering::SeqCst);
                // The other thread notes first and then looks whether this one rests, so one of both sees the other.
                if self.has_come.load(Ordering::SeqCst) {
                    ticks.passed(instant);
                }
                if self.outward.wait(Some(ticks.next)).map_err(waiting)? {
                    // It was the other thread, which something has passed through, or somebody who wants a look at once.
                    if ticks.rests && !self.resting.load(Ordering::SeqCst) {
                        ticks.passed(Instant::now());
                    } else {
                        ticks.next = Instant::now();
                    }
                }
            }
        }
        Ok(())
    }

    /// Seals what the device has, up to a batch. Whether it has no more.
    fn seal_batch(
        &self,
        buffer: &mut [u8],
        out: &mut Datagrams,
        now: Time,
        errors: &mut u32,
    ) -> Result<bool, TunError> {
        for _ in 0..READS_MAX {
            match self.device.read(buffer) {
                Ok(length) => {
                    *errors = 0;
                    match Segments::new(&mut buffer[..length], self.device.offload()) {
                        Some(mut segments) => self.endpoint.seal(&mut segments, out, now),
                        None => _ = self.unreadable.fetch_add(1, Ordering::Relaxed),
                    }
                    if out.len() >= Datagrams::RUN_BYTES_MAX / 2 {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.device_failed(&error, errors)?,
            }
        }
        Ok(false)
    }

    /// From the socket to the device.
    fn pump_in(&self) -> Result<(), TunError> {
        let clock = PumpClock::start();
        let mut buffers: Vec<Vec<u8>> = (0..RECEIVES_MAX).map(|_| vec![0; READ_MAX]).collect();
        let mut metas = [RecvMeta::default(); RECEIVES_MAX];
        let mut coalescer = Coalescer::new(self.device.offload(), self.device.udp_offload());
        let (mut opened, mut replies) = (Opened::new(), Datagrams::new());
        let mut errors = 0;
        while !self.stopping.load(Ordering::Acquire) {
            let (count, drained) = match self.receive_batch(&mut buffers, &mut metas) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    errors += 1; // Of a datagram that we sent, told here (ICMP); or the socket is dead.
                    if errors > ERRORS_MAX {
                        return Err(TunError::SocketLost { reason: error.to_string() });
                    }
                    continue;
                }
            };
            if count > 0 {
                errors = 0;
                let is_something = metas[..count].iter().any(|meta| meta.len > 0);
                let mut datagrams = datagrams(&mut buffers, &metas[..count]);
                self.endpoint.open(&mut datagrams, &mut opened, &mut replies, clock.at(Instant::now()));
                if is_something {
                    self.has_come.store(true, Ordering::SeqCst);
                    if self.resting.swap(false, Ordering::SeqCst) {
                        self.outward.ring();
                    }
                }
                replies.runs().for_each(|run| self.socket.send(run));
                replies.clear();
                self.deliver(&mut coalescer, &mut opened);
            }
            if drained {
                self.inward.wait(None).map_err(waiting)?;
            }
        }
        Ok(())
    }

    /// What the socket has, up to a batch: how many buffers are filled, and whether it has no more.
    fn receive_batch(&self, buffers: &mut [Vec<u8>], metas: &mut [RecvMeta]) -> io::Result<(usize, bool)> {
        let mut count = 0;
        while count < buffers.len() {
            let mut rest = buffers[count..].iter_mut();
            let mut slices: [IoSliceMut<'_>; CALL_MAX] =
                std::array::from_fn(|_| IoSliceMut::new(rest.next().map_or(&mut [], Vec::as_mut_slice)));
            match self.socket.receive(&mut slices, &mut metas[count..]) {
                // Fewer than asked for: it was all there was.
                Ok(received) if received < CALL_MAX => return Ok((count + received, true)),
                Ok(received) => count += received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok((count, true)),
                Err(error) if count == 0 => return Err(error),
                Err(_) => return Ok((count, false)),
            }
        }
        Ok((count, false))
    }

    fn deliver(&self, coalescer: &mut Coalescer, opened: &mut Opened) {
        coalescer.write(opened, |pieces| {
            // The device takes whole packets or nothing. It never blocks for long, and has its own queue.
            if self.device.write(pieces).is_err() {
                self.undelivered.fetch_add(1, Ordering::Relaxed);
            }
        });
        opened.clear();
    }

    fn device_failed(&self, error: &io::Error, errors: &mut u32) -> Result<(), TunError> {
        *errors += 1;
        // EBADFD is what a deleted interface says.
        if *errors > ERRORS_MAX || error.raw_os_error() == Some(libc::EBADFD) {
            return Err(TunError::DeviceLost {
                name: self.device.name().to_owned(),
                reason: error.to_string(),
            });
        }
        Ok(())
    }

    fn fail(&self, error: &TunError, lost: &dyn Fn(TunError)) {
        let first = {
            let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
            let first = failure.is_none();
            failure.get_or_insert_with(|| error.clone());
            first
        };
        self.stop();
        if first {
            lost(error.clone());
        }
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        self.outward.ring();
        self.inward.ring();
    }
}

/// The single datagrams in what was received. The kernel joins equally long ones of one sender (udp(7), `UDP_GRO`).
fn datagrams<'a>(
    buffers: &'a mut [Vec<u8>],
    metas: &'a [RecvMeta],
) -> impl Iterator<Item = (SocketAddr, &'a mut [u8])> {
    buffers.iter_mut().zip(metas).flat_map(|(buffer, meta)| {
        let from = canonical(meta.addr);
        let stride = meta.stride.max(1);
        buffer[..meta.len].chunks_mut(stride).map(move |datagram| (from, datagram))
    })
}

/// IPv4 as such, where a socket of IPv6 writes it in an address of its own.
fn canonical(from: SocketAddr) -> SocketAddr {
    match from.ip().to_canonical() {
        IpAddr::V4(v4) => (v4, from.port()).into(),
        IpAddr::V6(_) => from,
    }
}

fn waiting(error: io::Error) -> TunError {
    TunError::Thread { reason: error.to_string() }
}

/// Time since the Unix epoch, read from the wall clock once.
#[derive(Debug)]
struct PumpClock {
    started: Instant,
    epoch: Duration,
}

impl PumpClock {
    fn start() -> Self {
        let epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), epoch }
    }

    fn at(&self, instant: Instant) -> Time {
        let since = self.epoch + instant.saturating_duration_since(self.started);
        Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_looks_at_the_clock_often_while_anything_passes_and_seldom_otherwise() {
        let began = Instant::now();
        let mut ticks = Ticks { next: began, rests: false };
        ticks.looked(began);
        assert_eq!((ticks.next, ticks.rests), (began + TICK_AT_REST, true));
        ticks.passed(began + TICK);
        assert_eq!((ticks.next, ticks.rests), (began + 2 * TICK, false));
        ticks.passed(began + TICK_AT_REST);
        assert_eq!(ticks.next, began + 2 * TICK, "what passes puts nothing off");
    }
}
