//! A line for whoever waits.

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Instant;

/// How many runs of a plan are done, how fast, and how long it will take.
pub(super) struct Progress {
    bar: ProgressBar,
    began: Instant,
    packets: u64,
}

impl Progress {
    /// Shows it on standard error, if that is a terminal.
    pub(super) fn new(plan: &str, runs: usize, done: usize) -> Self {
        let is_seen = std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos} of {len} runs{msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target).with_style(style);
        bar.set_prefix(plan.to_owned());
        // What was done before says nothing about how long the rest takes.
        let bar = bar.with_position(done as u64);
        bar.reset_eta();
        Self { bar, began: Instant::now(), packets: 0 }
    }

    pub(super) fn done(&mut self, packets: u64) {
        self.packets = self.packets.saturating_add(packets);
        self.bar.inc(1);
        let left = HumanDuration(self.bar.eta());
        self.bar.set_message(format!(", {} packets/s, {left:#} left", scaled(self.rate())));
    }

    /// Simulated packets in a second.
    pub(super) fn rate(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "for people")]
        let packets = self.packets as f64;
        packets / self.began.elapsed().as_secs_f64().max(1e-3)
    }

    pub(super) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// "1.5 million".
pub(super) fn scaled(number: f64) -> String {
    match number {
        0.0..1e4 => format!("{number:.0}"),
        1e4..1e6 => format!("{:.0} thousand", number / 1e3),
        _ => format!("{:.1} million", number / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_said_in_words() {
        let formatted = [7.0, 9_999.0, 12_345.0, 1_500_000.0].map(scaled);
        assert_eq!(formatted, ["7", "9999", "12 thousand", "1.5 million"]);
    }
}
