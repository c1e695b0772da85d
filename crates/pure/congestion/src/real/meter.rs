use crate::controller::WaveReport;
use guestright_units::Time;

/// The receiver's side of TCP-Real: the rate of each wave that has come in.
///
/// In: the wave that each segment says it belongs to, its bytes, when it came. Out: a report of the last wave that is over,
/// to be put on every acknowledgement.
///
/// Segments of an earlier wave that come late (sent again, or overtaken) belong to no report. A wave of which nothing came
/// in has none either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveMeter {
    /// The wave that comes in: its number, its first segment's arrival, its bytes so far.
    current: Option<(u32, Time, u64)>,
    report: Option<WaveReport>,
}

impl WaveMeter {
    /// A segment of `wave` with `bytes` came in.
    pub const fn on_segment(&mut self, wave: u32, bytes: u64, now: Time) {
        let Some((number, first, gathered)) = self.current else {
            self.current = Some((wave, now, bytes));
            return;
        };
        if wave == number {
            self.current = Some((number, first, gathered.saturating_add(bytes)));
        } else if wave > number {
            self.report = Some(WaveReport { number, bytes: gathered, interval: now.since(first) });
            self.current = Some((wave, now, bytes));
        }
    }

    /// What is known of the last wave that is over; `None` before there was one.
    #[must_use]
    pub const fn report(&self) -> Option<WaveReport> {
        self.report
    }
}
