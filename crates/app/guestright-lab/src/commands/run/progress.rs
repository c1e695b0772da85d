//! A line for whoever waits.

use guestright_bench::batch::Event;
use guestright_bench::numbers::scaled;
use guestright_cli::output::Output;
use guestright_error::RunError;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// Shows what happens in a batch: sentences to people, and a bar on a terminal.
pub(in super::super) fn show(
    event: Event<'_>,
    is_text: bool,
    progress: &mut Option<Progress>,
    out: &mut Output,
) -> Result<(), RunError> {
    match (event, progress.as_mut()) {
        (Event::Sentence(sentence), _) if is_text => {
            writeln!(out, "{sentence}")?;
            out.flush()?;
        }
        (Event::Began { label, runs, kept }, _) => *progress = Some(Progress::new(label, runs, kept)),
        (Event::RunMade { rate }, Some(progress)) => progress.made(rate),
        (Event::Ended, Some(progress)) => progress.clear(),
        (Event::Sentence(_) | Event::RunMade { .. } | Event::Ended, _) => {}
    }
    Ok(())
}

/// How many runs of a plan are done, how fast, and how long it will take.
pub(in super::super) struct Progress(ProgressBar);

impl Progress {
    /// Shows it on standard error, if that is a terminal.
    fn new(plan: &str, runs: usize, done: usize) -> Self {
        let is_seen = std::io::stderr().is_terminal();
        let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let style = ProgressStyle::with_template("{prefix} {bar:30} {pos} of {len} runs{msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::with_draw_target(Some(runs as u64), target).with_style(style);
        bar.set_prefix(plan.to_owned());
        // What was done before says nothing about how long the rest takes.
        let bar = bar.with_position(done as u64);
        bar.reset_eta();
        Self(bar)
    }

    /// One more run, at a rate of so many packets in a second.
    fn made(&self, rate: f64) {
        self.0.inc(1);
        let left = HumanDuration(self.0.eta());
        self.0.set_message(format!(", {} packets/s, {left:#} left", scaled(rate)));
    }

    fn clear(&self) {
        self.0.finish_and_clear();
    }
}
