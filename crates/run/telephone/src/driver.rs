//! What the thread of any call has around its machine: clock and pace, sound, recording, analyser, and who reads its news.
//!
//! SIP's voice (`media`) and the tools with a wire format of their own (`guestright-study`) are machines without clock and socket;
//! this is what drives both.

use crate::recording::Recording;
use crate::report::Second;
use crate::sound::Sound;
use crate::{LineSettings, TelephoneError};
use guestright_audio::AudioError;
use guestright_clock::Clock;
use guestright_quality::{Analyser, AnalyserConfig, Interval, Packet, Summary};
use guestright_units::{Micros, Time};
use guestright_voice::playout::Counts;
use guestright_voice::session::{Delay, DelaySource, ReceivedPacket};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc as blocking;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// A datagram has at most so many bytes; the rest is cut, and the packet is then no packet.
pub const DATAGRAM_MAX: usize = 2_048;
/// So many datagrams are read before it is looked at the clock again.
pub const BATCH_MAX: usize = 64;
/// After a longer pause (the computer slept) the pace begins anew.
const BEHIND_MAX: Duration = Duration::from_millis(500);
/// So much news waits until somebody reads it.
const NEWS_MAX: usize = 64;

/// What is new in a call; `E` is what only its machine has to say.
#[derive(Debug)]
pub enum News<E> {
    /// The machine's own.
    Event(E),
    /// A second has passed.
    Second(Box<Second>),
    /// Something went wrong that does not end the call.
    Trouble(String),
}

/// What the thread is to do.
#[derive(Debug)]
pub enum Order<O> {
    /// Go on in another way.
    Change(O),
    Stop,
}

/// What a call was like.
#[derive(Debug)]
pub struct Outcome {
    /// Of the packets that were received; none if none were.
    pub received: Option<Summary>,
    /// Seconds that were not reported yet.
    pub seconds: Vec<Second>,
    pub facts: Value,
}

/// The thread of a call, as the rest of the program holds it.
#[derive(Debug)]
pub struct Voice<O, E> {
    orders: blocking::Sender<Order<O>>,
    news: mpsc::Receiver<News<E>>,
    thread: JoinHandle<Result<Outcome, TelephoneError>>,
}

impl<O, E> Voice<O, E> {
    /// Begins to send and to play. `make` opens what there is to open, and gives what the thread runs.
    pub fn start<F>(
        make: impl FnOnce(blocking::Receiver<Order<O>>, mpsc::Sender<News<E>>) -> Result<F, TelephoneError>,
    ) -> Result<Self, TelephoneError>
    where
        F: FnOnce() -> Result<Outcome, TelephoneError> + Send + 'static,
    {
        let (orders, ordered) = blocking::channel();
        let (sender, news) = mpsc::channel(NEWS_MAX);
        let run = make(ordered, sender)?;
        let thread = std::thread::Builder::new().name("voice".to_owned()).spawn(run)?;
        Ok(Self { orders, news, thread })
    }

    /// Goes on in another way.
    pub fn change(&self, order: O) {
        // If the thread has ended, its news have said why.
        drop(self.orders.send(Order::Change(order)));
    }

    /// Waits for what is new; none any more when the thread has ended.
    pub async fn news(&mut self) -> Option<News<E>> {
        self.news.recv().await
    }

    /// Stops, and says how it was.
    pub async fn finish(mut self) -> Result<Outcome, TelephoneError> {
        drop(self.orders.send(Order::Stop));
        // It must not wait for us to read.
        while self.news.recv().await.is_some() {}
        let joined = tokio::task::spawn_blocking(move || self.thread.join()).await;
        joined.map_err(|_| TelephoneError::Panic)?.map_err(|_| TelephoneError::Panic)?
    }
}

/// Deadlines that do not drift.
#[derive(Debug)]
pub struct Pace {
    next: Instant,
    period: Duration,
}

impl Pace {
    /// Due at once, and after each `period`.
    pub fn new(period: Duration) -> Self {
        Self { next: Instant::now(), period }
    }

    /// Another period, from the next deadline on.
    pub fn set_period(&mut self, period: Duration) {
        self.period = period;
    }

    /// How long it is until it is due.
    pub fn left(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Whether it is due; if so, it is waited for the next time.
    pub fn is_due(&mut self) -> bool {
        self.poll_due().is_some()
    }

    /// How long it has been due, if it is; then it is waited for the next time.
    pub fn poll_due(&mut self) -> Option<Micros> {
        let now = Instant::now();
        let behind = now.checked_duration_since(self.next)?;
        let behind = if behind > BEHIND_MAX { Duration::ZERO } else { behind };
        self.next = now - behind + self.period;
        Some(Micros(u64::try_from(behind.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Waits until a datagram is there, or so much time has passed.
pub fn wait<'s>(sockets: impl IntoIterator<Item = &'s UdpSocket>, at_most: Duration) -> std::io::Result<()> {
    let timeout = Timespec {
        tv_sec: i64::try_from(at_most.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(at_most.subsec_nanos()),
    };
    let mut sockets: Vec<_> = sockets.into_iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    match rustix::event::poll(&mut sockets, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Around a machine: all that has nothing to do with which machine it is.
pub struct Driver<E> {
    pub clock: Clock,
    analyser: Analyser,
    pub round_trip: Option<Micros>,
    pub buffered: Option<Micros>,
    /// Who can hear the call, in a word.
    pub protection: &'static str,
    sound: Option<Sound>,
    recording: Option<Recording>,
    news: mpsc::Sender<News<E>>,
}

impl<E> fmt::Debug for Driver<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("protection", &self.protection).finish_non_exhaustive()
    }
}

impl<E> Driver<E> {
    /// Without sound and capture.
    pub fn new(
        clock: Clock,
        analyser: AnalyserConfig,
        protection: &'static str,
        news: mpsc::Sender<News<E>>,
    ) -> Self {
        Self {
            clock,
            analyser: Analyser::new(analyser),
            round_trip: None,
            buffered: None,
            protection,
            sound: None,
            recording: None,
            news,
        }
    }

    /// Opens the sound, for a codec of samples at `rate_hz`, unless it is open.
    pub fn open_sound(&mut self, line: &LineSettings, rate_hz: u32) -> Result<(), TelephoneError> {
        if self.sound.is_none() {
            self.sound = Some(Sound::open(&line.sound, rate_hz)?);
        }
        Ok(())
    }

    /// Begins the capture, if one is wanted and it has not begun.
    pub fn open_recording(&mut self, line: &LineSettings) -> Result<(), TelephoneError> {
        if self.recording.is_none() {
            self.recording = line.recording.as_deref().map(Recording::create).transpose()?;
        }
        Ok(())
    }

    /// Another codec, of another rate.
    pub fn set_codec_rate(&mut self, codec_hz: u32) {
        if let Some(sound) = &mut self.sound {
            sound.set_codec_rate(codec_hz);
        }
    }

    /// The next samples of the microphone or the file in its place.
    pub fn capture(&mut self, samples: usize) -> Result<Vec<i16>, AudioError> {
        self.sound.as_mut().map_or_else(|| Ok(vec![0; samples]), |sound| sound.capture(samples))
    }

    /// Plays samples.
    pub fn play(&mut self, samples: &[i16]) -> Result<(), AudioError> {
        self.sound.as_mut().map_or(Ok(()), |sound| sound.play(samples))
    }

    /// Passes on what must not be missed. The other end reads until it has stopped us.
    pub fn report(&self, event: E) {
        drop(self.news.blocking_send(News::Event(event)));
    }

    /// Passes on what may be missed.
    pub fn trouble(&self, message: String) {
        drop(self.news.try_send(News::Trouble(message)));
    }

    /// A datagram that came or went.
    pub fn record(&mut self, at: Time, from: SocketAddr, to: SocketAddr, bytes: &[u8]) {
        if let Some(recording) = &mut self.recording
            && let Err(error) = recording.packet(at, from, to, bytes)
        {
            self.recording = None;
            self.trouble(format!("the capture ends here: {error}"));
        }
    }

    /// A packet of sound was received.
    pub fn handle_received(&mut self, received: &ReceivedPacket) {
        self.analyser.handle_packet(&packet(received));
    }

    /// Reports the seconds that are over.
    pub fn report_seconds(&mut self, now: Time) {
        self.analyser.handle_timeout(now);
        while let Some(second) = self.second() {
            // If nobody reads, a second is not shown; the summary still counts it.
            drop(self.news.try_send(News::Second(Box::new(second))));
        }
    }

    fn second(&mut self) -> Option<Second> {
        let row = self.analyser.poll_row()?;
        Some(Second {
            row,
            round_trip: self.round_trip.map(duration),
            playout: self.buffered.map(duration),
            protection: self.protection,
        })
    }

    /// Ends everything; `facts` are the machine's, and get the analyser's.
    pub fn finish(mut self, mut facts: Value) -> Result<Outcome, TelephoneError> {
        self.analyser.finish();
        let seconds = std::iter::from_fn(|| self.second()).collect();
        let summary = self.analyser.summary();
        facts["heard"] = serde_json::to_value(&summary)?;
        self.sound.map_or(Ok(()), Sound::finish)?;
        if let Some(recording) = self.recording {
            recording.finish().map_err(TelephoneError::Recording)?;
        }
        let received = (summary.counts.received > 0).then_some(summary);
        Ok(Outcome { received, seconds, facts })
    }
}

/// A packet as the analyser wants it. A delay that only the round trip bounds is an interval too.
fn packet(received: &ReceivedPacket) -> Packet {
    Packet {
        sequence: received.sequence,
        timestamp: received.timestamp,
        marker: received.marker,
        payload_bytes: received.payload_bytes,
        arrival: received.arrival,
        delay_ms: received.delay.and_then(interval),
    }
}

/// Where the clocks contradict the round trip, nothing is believed.
fn interval(delay: Delay) -> Option<Interval> {
    let bounds = Interval::new(delay.low.as_seconds() * 1e3, delay.high.as_seconds() * 1e3);
    match delay.source {
        DelaySource::Clocks | DelaySource::RoundTrip => Some(bounds),
        DelaySource::Contradiction => None,
    }
}

fn duration(span: Micros) -> Duration {
    Duration::from_micros(span.0)
}

/// What became of packets of sound.
pub fn played(counts: &Counts) -> Value {
    json!({
        "packets": counts.played,
        "late": counts.late,
        "lost": counts.lost,
        "duplicates": counts.duplicates,
        "overflow": counts.overflow,
        "skipped": counts.skipped,
        "concealed": counts.concealed,
        "talkspurts": counts.talkspurts,
    })
}
