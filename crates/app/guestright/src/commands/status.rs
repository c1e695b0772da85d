//! `guestright status`: how the household stands where this computer has a home, else how the visitor stands.

use crate::settings::{self, HomeSettings, Source};
use anyhow::anyhow;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::output::Output;
use guestright_host::control;
use guestright_host::home::{overview, socket};
use guestright_overview::{Balance, Guest, Overview, Sum, Team};
use guestright_units::Bytes;
use std::path::PathBuf;

/// How many guests, and how many accounts, are printed; all are in the JSON.
const SHOWN_MAX: usize = 10;
const DAY: u64 = 86_400;

/// Say how it stands: your household with its guests and debts, or you as a guest elsewhere
///
/// Where this computer has a home (home.toml, here or in /etc/guestright) it is the household: who is served, what is owed, what was
/// refused. --json prints the overview that the household's page shows. Otherwise it is the visitor that `guestright up` has
/// started: online or not, why, and what the network can see.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  guestright status
  guestright status --json --home /etc/guestright/home.toml
  guestright status --follow --notify      # as a guest: one line for each change, and a notification on the desktop")]
pub(crate) struct Status {
    /// The home's settings file [default: home.toml, here or in /etc/guestright]
    #[arg(long, value_name = "FILE")]
    home: Option<PathBuf>,
    /// OpenWrt's settings file in the place of --home
    #[arg(long, value_name = "FILE", conflicts_with = "home")]
    uci: Option<PathBuf>,
    #[cfg(feature = "computer")]
    #[command(flatten)]
    visitor: VisitorArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What asks the visitor, also where there is a home.
#[cfg(feature = "computer")]
#[derive(Debug, clap::Args)]
pub(crate) struct VisitorArgs {
    /// The visitor's settings file: asks the visitor, also where there is a home [default: /etc/guestright/visit.toml]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["home", "uci"])]
    pub(crate) config: Option<PathBuf>,
    /// Ask the visitor, go on, and say each change
    #[arg(long, conflicts_with_all = ["home", "uci"])]
    pub(crate) follow: bool,
    /// With --follow: show each change as a notification on the desktop, too
    #[arg(long, requires = "follow")]
    pub(crate) notify: bool,
}

impl Status {
    pub(crate) fn run(self, out: &mut Output) -> Outcome {
        let is_named = self.home.is_some() || self.uci.is_some();
        let file = self.home.clone().unwrap_or_else(|| settings::usual("home.toml"));
        #[cfg(feature = "computer")]
        if self.visitor.config.is_some() || self.visitor.follow || !(is_named || file.exists()) {
            return super::up::Status::of(self.visitor, self.json).run(out);
        }
        if !is_named && !file.exists() {
            return Err(Failure::user(anyhow!("this computer has no home: there is no home.toml here or in /etc/guestright"))
                .hint("name its settings with --home FILE or --uci FILE; `guestright ap status` asks an access point"));
        }
        let overview = of_home(&Source::new(file, self.uci, "home"))?;
        if self.json { Ok(writeln!(out, "{}", overview.to_json())?) } else { print(&overview, out) }
    }
}

/// What the home says, or what its files say where it does not run.
fn of_home(source: &Source) -> Result<Overview, Failure> {
    let settings = source.read::<HomeSettings>()?;
    let origin = source.origin();
    let state = settings::beside(&origin, &settings.state);
    let Some(answer) = control::ask(&socket(&state), "overview")? else {
        let certificate =
            guestright_keys::read_certificate(&settings::beside(&origin, &settings.certificate));
        let start = format!("guestright home --config {}", source.file().display());
        return Ok(overview::stopped(&state, &certificate.map_err(Failure::config)?, &start));
    };
    if answer.is_null() {
        return Err(Failure::network(anyhow!("the home did not answer: it stops, or has too much to do"))
            .hint("ask again in a moment"));
    }
    if let Some(error) = answer["error"].as_str() {
        return Err(Failure::network(anyhow!("the home that runs does not know the question: {error}"))
            .hint("it is older than this program: start it again"));
    }
    Overview::from_json(answer.to_string().as_bytes()).map_err(Failure::network)
}

fn print(overview: &Overview, out: &mut Output) -> Outcome {
    let standing = &overview.standing;
    writeln!(out, "{}", standing.says)?;
    if let Some(to_do) = &standing.to_do {
        writeln!(out, "{to_do}")?;
    }
    for access_point in overview.access_points.iter().filter(|it| !it.up) {
        let key = Team(guestright_units::TeamId(access_point.key.0));
        let trouble = access_point.trouble.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "Access point {}: {trouble}", name(overview, key))?;
    }
    for guest in overview.guests.iter().take(SHOWN_MAX) {
        writeln!(out, "{}", guest_sentence(overview, guest))?;
    }
    more(overview.guests.len(), overview.left_out.guests.get(), "guests", out)?;
    if let Some(credit) = &overview.credit {
        let (by_us, to_us) = (bytes(credit.owed_by_us), bytes(credit.owed_to_us));
        writeln!(out, "Your household owes others {by_us}, and others owe it {to_us}.")?;
        if let Some(allowance) = credit.allowance {
            let (left, per_day) = (bytes(allowance.left), bytes(allowance.per_day));
            writeln!(out, "Of what it gives away, {left} are left; {per_day} are added in a day.")?;
        }
    }
    for balance in overview.balances.iter().take(SHOWN_MAX) {
        writeln!(out, "{}", balance_sentence(overview, balance))?;
    }
    more(overview.balances.len(), overview.left_out.balances.get(), "accounts", out)?;
    let since = overview.at.get().saturating_sub(DAY);
    let lately = overview.refusals.iter().filter(|it| it.at.get() >= since).count();
    if let Some(last) = overview.refusals.first() {
        writeln!(out, "Refused in the last 24 hours: {lately}. The last one: {}", last.reason)?;
    }
    for finding in overview.findings.iter().filter(|finding| !finding.good) {
        let to_do = finding.to_do.as_ref().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "Look at {}: {}; {to_do}", finding.what, finding.says)?;
    }
    Ok(())
}

fn guest_sentence(overview: &Overview, guest: &Guest) -> String {
    let who = guest
        .team
        .map_or_else(|| "A stranger".to_owned(), |team| format!("A member of {}", name(overview, team)));
    let carried = bytes(guest.counted);
    if guest.open {
        format!("{who} has had {carried}. {}", guest.reason)
    } else {
        format!("{who} waits for the session to begin or end; {carried} were carried.")
    }
}

fn balance_sentence(overview: &Overview, balance: &Balance) -> String {
    let team = name(overview, balance.team);
    match (balance.we_owe.get(), balance.they_owe.get()) {
        (0, 0) => format!("Nothing is owed between your household and {team}."),
        (0, _) => format!("{team} owes your household {}.", bytes(balance.they_owe)),
        _ => format!("Your household owes {team} {}.", bytes(balance.we_owe)),
    }
}

/// How many are not printed.
fn more(listed: usize, left_out: u64, what: &str, out: &mut Output) -> Outcome {
    let more = listed.saturating_sub(SHOWN_MAX) as u64 + left_out;
    if more > 0 { Ok(writeln!(out, "And {more} more {what}; --json has them.")?) } else { Ok(()) }
}

/// What the household calls a team, or the beginning of its id.
fn name(overview: &Overview, team: Team) -> String {
    overview.names.get(&team).map_or_else(|| team.0.short(), ToString::to_string)
}

fn bytes(sum: Sum) -> Bytes {
    Bytes(sum.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(fixture: &[u8]) -> String {
        let mut text = Vec::new();
        print(&Overview::from_json(fixture).unwrap(), &mut Output::new(&mut text)).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_household_is_described_in_sentences() {
        let text = printed(include_bytes!("../../../../pure/overview/tests/fixtures/serving.json"));
        for line in [
            "Your Wi-Fi is shared, and 6 guests are served.\n",
            "Access point e5bcfc8f: The access point has not answered since 18:36.\n",
            "Your household owes others 2.7 GB, and others owe it 1.6 GB.\n",
            "A stranger has had 1.3 MB. A stranger tries the Wi-Fi for a few minutes.\n",
        ] {
            assert!(text.contains(line), "{line} is not in:\n{text}");
        }
        assert!(text.lines().all(|line| line.ends_with('.')), "{text}");
    }

    #[test]
    fn what_is_wrong_comes_first_with_what_to_do() {
        let text = printed(include_bytes!("../../../../pure/overview/tests/fixtures/home-away.json"));
        let lines: Vec<_> = text.lines().take(2).collect();
        assert!(lines[0].starts_with("No access point reaches the home"), "{text}");
        assert!(lines[1].starts_with("Look whether the access point is switched on"), "{text}");
    }
}
