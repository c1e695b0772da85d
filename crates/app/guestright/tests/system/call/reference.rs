//! How late this computer makes packets, measured beside the telephones under test by streams that have nothing of theirs.

use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

/// A telephone's two threads meet the scheduler by chance: the worst of several streams counts.
const STREAMS: usize = 3;
/// A packet of voice is this long.
const PERIOD: Duration = Duration::from_millis(20);
/// With so much missing at random, G.711 with concealment has a listening score of 4.0 (ITU-T G.107, G.113).
const MISSING_AT_GOOD: f64 = 0.042;

/// Streams of packets that run until they are judged: a thread sends on time, another looks when each packet comes.
pub(crate) struct Reference {
    stop: Arc<AtomicBool>,
    streams: Vec<JoinHandle<Stream>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    packets: u32,
    late: u32,
    latest: Duration,
}

/// What this computer allowed while the streams ran.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowed {
    /// The share of packets that came too late for the buffer, in the worst stream.
    late: f64,
}

impl Reference {
    /// Beside telephones that hold back so much more than their path takes.
    pub(crate) fn with_hold(hold: Duration) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let begin = Instant::now();
        let streams = (0..STREAMS)
            .map(|_| {
                let (mouth, ear) = UnixDatagram::pair().unwrap();
                let stopping = stop.clone();
                spawn(move || send_packets(&mouth, begin, &stopping));
                spawn(move || hear(&ear, begin, hold))
            })
            .collect();
        Self { stop, streams }
    }

    /// Ends the streams and says what they found.
    pub(crate) fn judge(self) -> Allowed {
        self.stop.store(true, Ordering::Relaxed);
        let streams: Vec<_> = self.streams.into_iter().map(|stream| stream.join().unwrap()).collect();
        let share = |stream: &Stream| f64::from(stream.late) / f64::from(stream.packets.max(1));
        let late = streams.iter().map(share).fold(0.0, f64::max);
        println!("the reference: {late:.4} of the packets were late; {streams:?}");
        Allowed { late }
    }
}

/// Sends the number of each packet when it is due, and nothing at the end.
fn send_packets(mouth: &UnixDatagram, begin: Instant, stop: &AtomicBool) {
    let mut number = 0_u32;
    while !stop.load(Ordering::Relaxed) {
        sleep((begin + PERIOD * number).saturating_duration_since(Instant::now()));
        mouth.send(&number.to_be_bytes()).unwrap();
        number += 1;
    }
    mouth.send(&[]).unwrap();
}

fn hear(ear: &UnixDatagram, begin: Instant, hold: Duration) -> Stream {
    let mut stream = Stream::default();
    let mut number = [0; 4];
    while ear.recv(&mut number).unwrap() == number.len() {
        let due = begin + PERIOD * u32::from_be_bytes(number);
        let after = Instant::now().saturating_duration_since(due);
        stream.packets += 1;
        stream.late += u32::from(after > hold);
        stream.latest = stream.latest.max(after);
    }
    stream
}

impl Allowed {
    /// The share that a telephone may miss on this computer: twice what the worst stream has missed, because the
    /// telephone's own share varies as well.
    pub(crate) fn missing(self) -> f64 {
        2.0 * self.late
    }

    /// What is left of a share of pieces of 100 ms, or of 50 ms, when each packet of 20 ms that may be missing spoils as
    /// much as it can: 100 ms.
    pub(crate) fn left_of(self, share: f64) -> f64 {
        share - 5.0 * self.missing()
    }

    /// The listening score that a call has to reach: 4.0, unless this computer did not allow it.
    pub(crate) fn good_mos(self) -> f64 {
        listening_mos(MISSING_AT_GOOD + self.missing())
    }

    /// Whether no packet of any stream was too late.
    pub(crate) fn is_in_time(self) -> bool {
        self.late == 0.0
    }
}

/// The E-model with everything else at its default, written out here once more: R = 93.2 - Ie,eff (ITU-T G.107 annex B for
/// the score), G.711 with concealment (Ie 0, Bpl 25.1).
fn listening_mos(missing: f64) -> f64 {
    let percent = missing * 100.0;
    let r = 93.2 - 95.0 * percent / (percent + 25.1);
    1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6
}

#[test]
fn a_computer_in_time_is_allowed_nothing() {
    let allowed = Allowed { late: 0.0 };
    assert!((allowed.good_mos() - 4.0).abs() < 0.01, "{}", allowed.good_mos());
    assert!(allowed.is_in_time() && allowed.left_of(0.7) == 0.7);
    let late = Allowed { late: 0.02 };
    assert!(late.good_mos() < allowed.good_mos() && (late.left_of(0.7) - 0.5).abs() < 1e-9);
}
