//! What passes an interface now, judged as a file is: by the same [`Survey`].
//!
//! In: an interface. Out: [`Event`]s while it goes on, and a report at the end. Streams that have had no packet for a while
//! are taken out and added up, so that a watch of days holds the calls of now.
//!
//! What the kernel had no room for is this computer's loss: gaps of streams at that time are counted as unseen.

use crate::line::{Line, lines};
use crate::tally::{Now, Tally};
use guestright_capture::{Frame, Limits, LinkType, Report, Stamp, StreamReport, Survey, SurveyConfig};
use guestright_error::RunError;
use guestright_packets::{Bell, Packets, PacketsError, Woken};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is remembered at once: some ten megabytes, of which a look makes a copy.
const LIMITS: Limits = Limits { streams_max: 2_000, candidates_max: 4_000 };

/// How to watch.
#[derive(Clone, Debug)]
pub struct LiveConfig {
    pub interface: String,
    pub survey: SurveyConfig,
    /// What the kernel may keep of packets that were not fetched yet.
    pub buffer_bytes: usize,
    /// Between two looks.
    pub interval: Duration,
    /// A stream without a packet for so long has ended.
    pub idle: Duration,
    /// Ended streams that the last report has in full; earlier ones are in the totals.
    pub ended_max: usize,
    /// When to end by itself.
    pub length: Option<Duration>,
}

/// What happens meanwhile.
#[derive(Debug)]
pub enum Event<'a> {
    /// A look at all streams that go on, once in an interval.
    Looked { report: &'a Report, tally: &'a Tally, now: &'a Now },
    /// A stream has ended.
    Ended(&'a Line),
}

/// All at the end.
#[derive(Debug)]
pub struct Watched {
    pub report: Report,
    pub tally: Tally,
    pub now: Now,
    /// Streams that ended too long ago to be in the report.
    pub left_out: u64,
}

/// An interface that is watched.
#[derive(Debug)]
pub struct Live {
    config: LiveConfig,
    packets: Packets,
    survey: Survey,
    ended: VecDeque<StreamReport>,
    left_out: u64,
    tally: Tally,
    stop: Arc<AtomicBool>,
}

/// Ends a watch, from any thread.
#[derive(Clone, Debug)]
pub struct Stop(Bell, Arc<AtomicBool>);

impl Stop {
    pub fn stop(&self) {
        self.1.store(true, Ordering::Release);
        self.0.ring();
    }
}

impl Live {
    /// Opens the interface. Nothing later needs a privilege.
    ///
    /// # Errors
    /// There is no such interface, this user may not watch it, or the system refuses.
    pub fn open(config: LiveConfig) -> Result<Self, RunError> {
        let packets = Packets::open(&config.interface, config.buffer_bytes).map_err(of_interface)?;
        // Nobody looks at single seconds here, and they would be kept as long as the watch lasts.
        let survey = SurveyConfig { rows_max: 0, limits: LIMITS, ..config.survey.clone() };
        Ok(Self {
            survey: Survey::live(survey, &config.interface),
            config,
            packets,
            ended: VecDeque::new(),
            left_out: 0,
            tally: Tally::default(),
            stop: Arc::new(AtomicBool::new(false)),
        })
    }

    /// What ends it.
    pub fn stop(&self) -> Stop {
        Stop(self.packets.bell(), Arc::clone(&self.stop))
    }

    /// Watches until it is stopped, or for as long as it was to.
    ///
    /// # Errors
    /// The interface goes away, or `show` fails.
    pub fn run(
        mut self,
        show: &mut dyn FnMut(Event<'_>) -> Result<(), RunError>,
    ) -> Result<Watched, RunError> {
        let began = Instant::now();
        let end = self.config.length.map(|length| began + length);
        let mut next_look = began + self.config.interval;
        while !self.stop.load(Ordering::Acquire) {
            let now = Instant::now();
            if end.is_some_and(|end| now >= end) {
                break;
            }
            if now >= next_look {
                self.look(show)?;
                // Not one for each that was missed.
                next_look = now + self.config.interval;
            }
            let until = end.map_or(next_look, |end| end.min(next_look));
            match self.packets.wait(until.saturating_duration_since(now)).map_err(of_interface)? {
                Woken::Packets => {
                    self.fetch()?;
                }
                Woken::Bell | Woken::Timeout => {}
            };
        }
        // What has come already is part of it.
        while self.fetch()? > 0 {}
        Ok(self.finish())
    }

    /// Hands on one batch: how many packets it had.
    fn fetch(&mut self) -> Result<usize, RunError> {
        let count = self.packets.fetch().map_err(of_interface)?;
        if let Some(drops) = self.packets.drops().map_err(of_interface)? {
            self.survey.handle_drops(drops.count, Stamp(drops.from_ns), Stamp(drops.to_ns));
        }
        for packet in self.packets.fetched() {
            self.survey.handle_frame(&Frame {
                at: packet.at_ns.map(Stamp),
                link: LinkType::IP,
                interface: 0,
                bytes: packet.bytes,
                length: packet.length,
                offset: 0,
            });
        }
        Ok(count)
    }

    fn look(&mut self, show: &mut dyn FnMut(Event<'_>) -> Result<(), RunError>) -> Result<(), RunError> {
        let idle = u64::try_from(self.config.idle.as_nanos()).unwrap_or(u64::MAX);
        let before = Stamp(guestright_packets::now_ns().saturating_sub(idle));
        for stream in self.survey.retire(before) {
            self.end(stream, &mut |line| show(Event::Ended(line)))?;
        }
        let report = self.survey.report();
        let now = self.now(&report);
        show(Event::Looked { report: &report, tally: &self.tally, now: &now })
    }

    fn end(
        &mut self,
        mut stream: StreamReport,
        show: &mut dyn FnMut(&Line) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let number = usize::try_from(self.tally.streams).unwrap_or(usize::MAX - 1);
        for line in lines(&self.config.interface, number, &stream) {
            self.tally.add(&line);
            show(&line)?;
        }
        // Their numbers are others' by now.
        (stream.opposite, stream.copies) = (None, Vec::new());
        self.ended.push_back(stream);
        if self.ended.len() > self.config.ended_max {
            self.ended.pop_front();
            self.left_out += 1;
        }
        Ok(())
    }

    fn now(&self, report: &Report) -> Now {
        let lines = report.streams.iter().flat_map(|stream| lines(&self.config.interface, 0, stream));
        Now {
            active: report.streams.len() as u64,
            active_worst: lines.filter_map(|line| line.score()).min_by(f64::total_cmp),
            own_drops: report.counts.own_drops,
            files_failed: 0,
        }
    }

    fn finish(self) -> Watched {
        let Self { config, survey, ended, left_out, mut tally, .. } = self;
        let mut report = survey.finish();
        report.rows_dropped = 0;
        let before = ended.len();
        for stream in &mut report.streams {
            for index in stream.opposite.iter_mut().chain(&mut stream.copies) {
                *index += before;
            }
        }
        for (number, stream) in report.streams.iter().enumerate() {
            lines(&config.interface, before + number, stream).for_each(|line| tally.add(&line));
        }
        report.streams.splice(0..0, ended);
        let now = Now { own_drops: report.counts.own_drops, ..Now::default() };
        Watched { report, tally, now, left_out }
    }
}

fn of_interface(error: PacketsError) -> RunError {
    let hint = match &error {
        PacketsError::NoInterface { .. } => "`ip -brief link` lists the interfaces of this computer",
        PacketsError::NoPrivilege { .. } => {
            "run it as root; it gives up all privileges as soon as the interface is open"
        }
        PacketsError::Down { .. } => "switch it on with `ip link set INTERFACE up`",
        PacketsError::Refused { .. } => "capture with tcpdump, and give the file",
    };
    match error {
        PacketsError::NoInterface { .. } => RunError::user(error).with_hint(hint),
        PacketsError::NoPrivilege { .. } | PacketsError::Down { .. } | PacketsError::Refused { .. } => {
            RunError::network(error).with_hint(hint)
        }
    }
}
