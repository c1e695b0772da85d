//! `guestright home simulate`: who would have been served under another policy.

use crate::settings::{self, HomeSettings, PolicyFile, Source};
use guestright_cli::failure::Outcome;
use guestright_cli::output::Output;
use guestright_dry_run::{Report, Settings, Since, run};
use guestright_error::OrFail as _;
use guestright_keys::read_certificate;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::path::PathBuf;

/// Try another policy on the household's own past: who would have been served otherwise, and how much
///
/// FILE has the sections `[policy]` and `[credit]` as home.toml does; what it leaves out is as in home.toml. The receipts that the
/// store still has are decided again, in the order in which they came, under the policy in force and under that of FILE. Nothing
/// is changed, and a home that runs goes on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  printf '[credit]\\nallowance_bytes_per_day = 50000000\\n' > stricter.toml
  guestright home simulate --policy stricter.toml --since 30d --figure stricter.svg --config home.toml")]
pub(super) struct Simulate {
    /// The other policy
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// How far back sessions are counted: a number with h, d or w
    #[arg(long, value_name = "SPAN", default_value = "30d")]
    since: Since,
    /// Draw what was served in each class, as SVG
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Simulate {
    pub(super) fn run(self, home: &HomeSettings, source: &Source, out: &mut Output) -> Outcome {
        let origin = source.origin();
        let certificate = settings::beside(&origin, &home.certificate);
        let team =
            read_certificate(&certificate).or_config(|| "read the home's certificate".to_owned())?.team_id();
        let state = settings::beside(&origin, &home.state);
        let home = home.clone().with_limits_of_page(&state)?;
        let other = PolicyFile::read(&self.policy, &home)?.machine();
        let in_force = home.policy_in_force().machine();
        let since = self.since.before(guestright_clock::unix_seconds());
        let report = with_bar(Settings { state: &state, team, in_force: &in_force, other: &other, since })?;
        if let Some(figure) = &self.figure {
            std::fs::write(figure, report.to_figure()?)
                .or_config(|| format!("write {}", figure.display()))?;
        }
        if self.json {
            return Ok(writeln!(out, "{}", report.to_json())?);
        }
        Ok(write!(out, "{}", report.to_text())?)
    }
}

/// Ctrl-C ends it at once: nothing has to be put back.
fn with_bar(settings: Settings<'_>) -> Result<Report, guestright_error::RunError> {
    let mut shown: Option<ProgressBar> = None;
    let report = run(settings, |done, all| {
        shown.get_or_insert_with(|| bar(all)).set_position(done);
        Ok(())
    });
    if let Some(bar) = shown {
        bar.finish_and_clear();
    }
    report
}

fn bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("deciding again {bar:40} {pos} of {len} receipts, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
