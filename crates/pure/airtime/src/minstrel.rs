use crate::mode::Mode;
use crate::ppdu::{Ht, PPDU_TIME_MAX, subframe_bytes};
use guestright_units::{Micros, Time};

/// How [`Minstrel`] measures and tries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinstrelConfig {
    /// How often successes are weighed and the ranking is made anew.
    pub interval: Micros,
    /// The weight of what was known before in the moving average; the rest is the last interval's.
    pub memory: f64,
    /// Every how manieth PPDU tries a mode that is not the best.
    pub sample_every: u32,
    /// Length of the MPDUs by which throughputs are compared.
    pub mpdu_bytes: u32,
    /// So many of them are in the PPDU that is compared, unless they take too long.
    pub mpdus: u32,
}

impl Default for MinstrelConfig {
    /// 100 ms, three quarters, every tenth, and 16 MPDUs of 1,500 bytes: the figures that descriptions of Minstrel give.
    fn default() -> Self {
        Self {
            interval: Micros::from_millis(100),
            memory: 0.75,
            sample_every: 10,
            mpdu_bytes: 1_500,
            mpdus: 16,
        }
    }
}

/// Chooses the mode of each PPDU to one receiver by what became of those before.
///
/// It follows the published descriptions of Minstrel: count MPDUs sent and received of each mode, weigh each interval's share
/// into an exponentially weighted moving average, rank the modes by what they would carry with it, send with the best, and try
/// another one now and then. A mode below a tenth carries nothing, since retries would take longer than they bring.
///
/// In: [`Minstrel::next_mode`] in front of each PPDU, with a number of chance, and [`Minstrel::handle_sent`] when its answer came, or
/// did not. There is no timeout: the ranking is made in [`Minstrel::handle_sent`].
///
/// ```
/// use guestright_airtime::{Band, Format, Guard, Ht, Minstrel, MinstrelConfig, Mode, Width};
/// use guestright_units::Time;
///
/// let mode = Mode::new(Format::Ht, Width::Mhz20, Guard::Ns800, 1, 0).unwrap();
/// let mut minstrel = Minstrel::new(MinstrelConfig::default(), &Ht::new(mode, Band::Ghz5), Time(0));
/// let first = minstrel.next_mode(0);
/// minstrel.handle_sent(first, 16, 16, Time(1_000));
/// ```
#[derive(Clone, Debug)]
pub struct Minstrel {
    config: MinstrelConfig,
    rows: Vec<Row>,
    /// Places in `rows`.
    best: usize,
    ranked_at: Time,
    sent: u32,
    /// Which mode is tried next, counted from the one that chance named.
    tried: usize,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    mode: Mode,
    /// Payload that a PPDU of the config carries if all arrives, in bits per second.
    full: f64,
    sent: u32,
    received: u32,
    /// The moving average of the share that arrives; `None` before the first MPDU.
    share: Option<f64>,
}

/// What arrives less often than this is not worth sending.
const SHARE_MIN: f64 = 0.1;

impl Minstrel {
    /// All modes with width, guard interval and streams of `phy`'s; begins with the slowest.
    ///
    /// # Panics
    ///
    /// If [`MinstrelConfig::sample_every`] is 0.
    #[must_use]
    pub fn new(config: MinstrelConfig, phy: &Ht, now: Time) -> Self {
        assert!(config.sample_every > 0, "every PPDU at the most tries another mode");
        let rows = phy.mode.siblings().map(|mode| Row::new(mode, phy, &config)).collect();
        Self { config, rows, best: 0, ranked_at: now, sent: 0, tried: 0 }
    }

    /// The mode of the next PPDU. `chance` says which mode is tried when one is: any number, each equally likely.
    pub fn next_mode(&mut self, chance: u32) -> Mode {
        self.sent = self.sent.wrapping_add(1);
        if !self.sent.is_multiple_of(self.config.sample_every) || self.rows.len() < 2 {
            return self.rows[self.best].mode;
        }
        // Any but the best; and none that could not beat it if everything arrived, unless the best is losing.
        let best = &self.rows[self.best];
        let worth = |row: &Row| row.full > best.throughput() && row.mode != best.mode;
        let candidates = self.rows.iter().filter(|row| worth(row)).count();
        if candidates == 0 {
            return best.mode;
        }
        let chosen = (chance as usize).wrapping_add(self.tried) % candidates;
        self.tried = self.tried.wrapping_add(1);
        let row = self.rows.iter().filter(|row| worth(row)).nth(chosen);
        row.expect("fewer than there are candidates").mode
    }

    /// Of `sent` MPDUs in `mode` so many were `received`.
    pub fn handle_sent(&mut self, mode: Mode, sent: u32, received: u32, now: Time) {
        if let Some(row) = self.rows.iter_mut().find(|row| row.mode == mode) {
            row.sent = row.sent.saturating_add(sent);
            row.received = row.received.saturating_add(received.min(sent));
        }
        if now - self.ranked_at >= self.config.interval {
            self.rank();
            self.ranked_at = now;
        }
    }

    /// The mode that carries most by what is known now.
    #[must_use]
    pub fn best(&self) -> Mode {
        self.rows[self.best].mode
    }

    /// The moving average of the share of MPDUs that arrive in `mode`; `None` if none was sent.
    #[must_use]
    pub fn share(&self, mode: Mode) -> Option<f64> {
        self.rows.iter().find(|row| row.mode == mode)?.share
    }

    fn rank(&mut self) {
        for row in &mut self.rows {
            row.weigh(self.config.memory);
        }
        let throughputs = self.rows.iter().map(Row::throughput).enumerate();
        // Of those that carry nothing, the slowest is the safest.
        let best = throughputs.fold((0, 0.0), |best, row| if row.1 > best.1 { row } else { best });
        self.best = best.0;
    }
}

impl Row {
    fn new(mode: Mode, phy: &Ht, config: &MinstrelConfig) -> Self {
        let subframe = subframe_bytes(config.mpdu_bytes);
        let mpdus = (phy.psdu_bytes_within(PPDU_TIME_MAX, mode) / subframe).clamp(1, config.mpdus.max(1));
        let rate = phy.response_rate(mode);
        let mean_backoff = phy.aifs(3).0 + 15 * phy.slot().0 / 2;
        let answer = phy.sifs().0 + phy.block_ack_time(64, rate).0;
        let time = phy.psdu_time(mpdus * subframe, mode).0 + answer + mean_backoff;
        #[expect(clippy::cast_precision_loss, reason = "some milliseconds in ns")]
        let full = f64::from(mpdus * config.mpdu_bytes) * 8e9 / time as f64;
        Self { mode, full, sent: 0, received: 0, share: None }
    }

    fn weigh(&mut self, memory: f64) {
        if self.sent == 0 {
            return;
        }
        let share = f64::from(self.received) / f64::from(self.sent);
        self.share = Some(self.share.map_or(share, |before| before * memory + share * (1.0 - memory)));
        (self.sent, self.received) = (0, 0);
    }

    fn throughput(&self) -> f64 {
        let share = self.share.unwrap_or(0.0);
        if share < SHARE_MIN { 0.0 } else { share * self.full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Band, Format, Guard, Width};

    struct Channel {
        minstrel: Minstrel,
        modes: Vec<Mode>,
        now: u64,
        chance: u32,
    }

    impl Channel {
        fn new() -> Self {
            let mode = Mode::new(Format::Vht, Width::Mhz80, Guard::Ns400, 1, 0).unwrap();
            let phy = Ht::new(mode, Band::Ghz5);
            let minstrel = Minstrel::new(MinstrelConfig::default(), &phy, Time(0));
            Self { minstrel, modes: mode.siblings().collect(), now: 0, chance: 1 }
        }

        /// Sends a PPDU of 16 MPDUs each 2 ms, of which the share of its mode arrives; says how many were in the best mode.
        fn run(&mut self, millis: u64, share: impl Fn(u8) -> f64) -> Vec<u8> {
            let mut sent = Vec::new();
            for _ in 0..millis / 2 {
                self.now += 2_000;
                self.chance = self.chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let mode = self.minstrel.next_mode(self.chance >> 16);
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "up to 16")]
                let received = (share(mode.mcs()) * 16.0).round() as u32;
                self.minstrel.handle_sent(mode, 16, received, Time(self.now));
                sent.push(mode.mcs());
            }
            sent
        }
    }

    /// What carries most is computed here from rates alone: it is clear enough.
    fn best(modes: &[Mode], share: impl Fn(u8) -> f64) -> u8 {
        let carried = |mode: &Mode| share(mode.mcs()) * f64::from(mode.kbps());
        modes.iter().max_by(|a, b| carried(a).total_cmp(&carried(b))).unwrap().mcs()
    }

    #[test]
    fn finds_the_best_mode_of_channels_within_two_seconds() {
        for edge in 0..=9 {
            // All arrives up to the edge, of the next mode 40 %, and nothing beyond.
            let share = |mcs: u8| {
                if mcs <= edge {
                    1.0
                } else if mcs == edge + 1 {
                    0.4
                } else {
                    0.0
                }
            };
            let mut channel = Channel::new();
            channel.run(2_000, share);
            assert_eq!(channel.minstrel.best().mcs(), best(&channel.modes, share), "edge {edge}");
            let sent = channel.run(2_000, share);
            let in_best = sent.iter().filter(|mcs| **mcs == channel.minstrel.best().mcs()).count();
            assert!(in_best * 100 >= sent.len() * 89, "edge {edge}: {in_best} of {}", sent.len());
        }
    }

    #[test]
    fn takes_a_faster_mode_that_loses_some_if_it_carries_more() {
        let share = |mcs: u8| {
            if mcs <= 4 {
                1.0
            } else if mcs == 7 {
                0.75
            } else {
                0.1
            }
        };
        let mut channel = Channel::new();
        channel.run(2_000, share);
        assert_eq!((channel.minstrel.best().mcs(), best(&channel.modes, share)), (7, 7));
        let seven = channel.modes[7];
        assert!((channel.minstrel.share(seven).unwrap() - 0.75).abs() < 1e-9);
    }

    #[test]
    fn follows_a_change_within_a_second_downwards_and_two_upwards() {
        let mut channel = Channel::new();
        let (good, bad) = (|mcs: u8| f64::from(u8::from(mcs <= 8)), |mcs: u8| f64::from(u8::from(mcs <= 2)));
        channel.run(2_000, good);
        assert_eq!(channel.minstrel.best().mcs(), 8);
        channel.run(1_000, bad);
        // Where everything is lost it falls back to what arrives, however little was tried of it lately.
        assert!(channel.minstrel.best().mcs() <= 2, "{}", channel.minstrel.best());
        channel.run(2_000, bad);
        assert_eq!(channel.minstrel.best().mcs(), 2);
        channel.run(2_000, good);
        assert_eq!(channel.minstrel.best().mcs(), 8);
    }

    #[test]
    fn counts_of_no_mode_of_its_change_nothing() {
        let mut channel = Channel::new();
        let other = Mode::new(Format::Ht, Width::Mhz20, Guard::Ns800, 1, 7).unwrap();
        channel.minstrel.handle_sent(other, 16, 16, Time(1_000_000));
        assert_eq!(channel.minstrel.best().mcs(), 0);
        assert_eq!(channel.minstrel.share(other), None);
    }
}
