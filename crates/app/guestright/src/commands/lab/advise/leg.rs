//! One leg: voice in one direction, and what was heard.

use super::super::netns::voice::{Line, Span, Voice};
use super::protocol::{Leg, Report};
use guestright_engine::Instant as Moment;
use guestright_quality::{Heard, Playout, PlayoutCounts};
use guestright_units::Micros;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How long after the last packet somebody still listens.
pub(super) const AFTERWARDS: Duration = Duration::from_secs(2);

/// Takes part in a leg, as the one who speaks or the one who listens. `clock`: when this end began to measure.
pub(super) fn take_part(leg: &Leg, socket: OwnedFd, speaks: bool, clock: Instant) -> io::Result<Report> {
    let begin = Instant::now();
    let times = (0..leg.packets).map(|number| Moment(u64::from(number) * u64::from(leg.interval_us) * 1_000));
    let voice = Voice {
        lines: vec![if speaks { Line::speaking(socket) } else { Line::listening(socket) }],
        is_stream: leg.carrier.carrier().repairs(),
        packet_bytes: leg.bytes.into(),
        send_buffer: leg.send_buffer.into(),
        arrivals: vec![times.collect()],
    };
    let (spoken, _) = voice.run(Span { begin, end: begin + leg.lasts() + AFTERWARDS })?;
    let first_us = micros(begin.saturating_duration_since(clock));
    let heard = spoken.heard.iter().map(|heard| (heard.number, first_us + heard.at.0 / 1_000)).collect();
    Ok(Report { first_us, heard })
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// How long each packet took by the two clocks, and the least of it. The clocks may be any time apart.
pub(super) fn differences(leg: &Leg, first_us: u64, heard: &[(u32, u64)]) -> Vec<i64> {
    let made = |number: u32| first_us.saturating_add(u64::from(number) * u64::from(leg.interval_us));
    let mut seen = vec![false; leg.packets as usize];
    let mut differences = Vec::with_capacity(heard.len());
    for (number, at) in heard {
        // Each counts once, and none that was never spoken.
        if seen.get_mut(*number as usize).is_some_and(|seen| !std::mem::replace(seen, true)) {
            differences.push(at.cast_signed().saturating_sub(made(*number).cast_signed()));
        }
    }
    differences
}

/// The rating of a leg. `least` is the least difference of all legs in this direction, and that packet took `base`.
pub(super) fn heard(leg: &Leg, differences: &[i64], least: i64, base: Micros) -> Result<Heard, String> {
    let packet_ms = f64::from(leg.interval_us) / 1e3;
    let playout = Playout::g711(packet_ms).map_err(|error| error.to_string())?;
    let mut counts = PlayoutCounts::default();
    let delays = || differences.iter().map(|difference| base.0.saturating_add_signed(difference - least));
    delays().for_each(|delay| counts.add(Micros(delay)));
    let made = u64::from(leg.packets);
    let best = playout.best(&counts, made, packet_ms).ok_or("nothing was spoken")?;
    let lost = (made - differences.len() as u64) as f64 / made as f64;
    Ok(Heard {
        made,
        lost,
        late: (best.loss - lost).max(0.0),
        playout_ms: best.wait_ms,
        longest_ms: delays().max().map(|delay| delay as f64 / 1e3),
        r: best.r,
        mos: best.mos,
    })
}
