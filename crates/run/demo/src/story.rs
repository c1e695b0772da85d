//! What happens in the town, in order. Every sentence reports something that was just seen.

use super::cast::{Cast, Download};
use super::error::{DemoError, missing};
use super::report::{Account, Check, Report, rate};
use super::town::{
    GUESTS, Guest, HOUSEHOLD_PC, HOUSEHOLD_ROUTER, Household, NEWCOMER, SERVER, STOCK, V1, V2, V3, W1, W2,
    W3, W4,
};
use guestright_error::RunError;
use guestright_units::Bytes;
use rustix::process::Signal;
use serde_json::Value;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const TASTE: u64 = 3_000_000;
const W2_TAKES: u64 = 60_000_000;
const W1_TAKES: u64 = 50_000_000;
/// More than any tunnel's packets that pass before somebody has signed.
const STOCK_TAKES: u64 = 20_000_000;

/// What whoever watches is informed of.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A sentence about what was just seen, so long after the town was opened.
    Seen { at: Duration, text: &'a str },
    /// So many bytes of what somebody downloads have passed the access point.
    Downloading { guest: &'static str, counted: u64, bytes: u64 },
    /// What somebody downloaded has come, or it went wrong.
    DownloadEnded,
}

/// Takes an event, or says why nobody can be informed any longer.
pub type Watch<'a> = dyn FnMut(Event<'_>) -> Result<(), RunError> + 'a;

/// A town in which the whole story happens: [`run`](Self::run) it once, then [`end`](Self::end) it.
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct Story<'a> {
    pub(crate) cast: Cast,
    pub(crate) report: Report,
    began: Instant,
    interval_ms: u64,
    /// W1's class when it came to V1.
    w1_began_in: String,
    watch: &'a mut Watch<'a>,
}

impl<'a> Story<'a> {
    /// Builds the town. `program` is `guestright`; everything is kept in `directory`; receipts are asked for each
    /// `interval_ms`.
    ///
    /// # Errors
    /// The town cannot be built here.
    pub fn open(
        directory: PathBuf,
        program: PathBuf,
        interval_ms: u64,
        watch: &'a mut Watch<'a>,
    ) -> Result<Self, DemoError> {
        let (report, began, w1_began_in) = (Report::default(), Instant::now(), String::new());
        let cast = Cast::new(directory, program)?;
        Ok(Self { cast, report, began, interval_ms, w1_began_in, watch })
    }

    /// The town, which goes on until it is dropped, and what was found.
    pub fn end(self) -> (Cast, Report) {
        let seconds = self.began.elapsed().as_secs_f64();
        (self.cast, Report { seconds, ..self.report })
    }
}

impl Story<'_> {
    /// # Errors
    /// Something did not happen, or took too long.
    pub async fn run(&mut self) -> Result<(), DemoError> {
        self.open_town().await?;
        self.newcomers().await?;
        self.w2_is_served_for_what_team_1_gave().await?;
        self.w1_rises().await?;
        self.w1_calls_w2().await?;
        self.nobody_sees_more_than_a_tunnel()?;
        self.stock_client_is_served().await?;
        self.household_stays_closed().await?;
        self.silence_is_cut_off().await?;
        self.they_leave(&[W1, W2]).await?;
        self.w4_is_served_on_a_chain_of_debts().await?;
        self.they_leave(&[W3, W4]).await?;
        self.the_books_agree().await?;
        self.three_counts_agree()
    }

    pub(crate) fn say(&mut self, text: &str) -> Result<(), DemoError> {
        let at = self.began.elapsed();
        Ok((self.watch)(Event::Seen { at, text })?)
    }

    pub(crate) fn check(&mut self, claim: &'static str, holds: bool, seen: String) {
        self.report.checks.push(Check { claim, holds, seen });
    }

    async fn open_town(&mut self) -> Result<(), DemoError> {
        let household = [("router", "access-point"), ("home", "home")];
        let roaming: [(Household, &[&str]); 3] = [(V1, &["w2", "w4"]), (V2, &["w1", "stock"]), (V3, &["w3"])];
        for (home, members) in roaming {
            let members: Vec<_> = members.iter().map(|name| (*name, "member")).collect();
            self.cast.found(home.team, Some(home), &[household.as_slice(), &members].concat())?;
        }
        self.cast.found("team4", None, &[("newcomer", "member")])?;
        let server = format!("{SERVER}:80");
        self.cast.start("internet", "internet", &["demo", "--internet", &server]).await?;
        for household in [V1, V2, V3] {
            self.cast.open(household, self.interval_ms).await?;
        }
        let allowance = |household| -> Result<_, DemoError> {
            let credit = self.cast.ask_home(household, "status")?;
            Ok(Bytes(number(&credit["credit"]["allowance"]["left"])))
        };
        let (usual, small) = (allowance(V1)?, allowance(V3)?);
        self.say(&format!(
            "V1, V2 and V3 (teams 1, 2 and 3) are open for guests; nobody owes anybody anything. V1 and V2 have {usual} \
             to give away, V3 {small}"
        ))
    }

    /// Starts a visit and waits until it is granted; returns the class.
    pub(crate) async fn arrives(
        &mut self,
        guest: Guest,
        team: &str,
        home: Option<Household>,
    ) -> Result<String, DemoError> {
        self.cast.visit(guest, team, home)?;
        let granted = self.cast.hear(guest, "to be granted service", is("granted")).await?;
        self.until_let_through(guest).await?;
        Ok(text(&granted["class"]))
    }

    /// Waits until the firewall lets a guest through who was granted service.
    pub(crate) async fn until_let_through(&self, guest: Guest) -> Result<(), DemoError> {
        let (team, ip) = (guest.at.team, guest.address().to_string());
        let open = |cast: &Cast| Ok(session(&cast.status(team)?, &ip)["open"] == true);
        self.cast.until("the firewall to open", open).await
    }

    /// A download that can be watched.
    pub(crate) async fn downloads(&mut self, guest: Guest, bytes: u64) -> Result<Download, DemoError> {
        let (team, ip) = (guest.at.team, guest.address().to_string());
        let before = number(&session(&self.cast.status(team)?, &ip)["counted"]);
        let download = self.cast.download(guest, bytes);
        tokio::pin!(download);
        let result = loop {
            tokio::select! {
                result = &mut download => break result,
                () = tokio::time::sleep(Duration::from_millis(100)) => {
                    let counted = number(&session(&self.cast.status(team)?, &ip)["counted"]);
                    let counted = counted.saturating_sub(before);
                    (self.watch)(Event::Downloading { guest: guest.name, counted, bytes })?;
                }
            }
        };
        (self.watch)(Event::DownloadEnded)?;
        result
    }

    async fn newcomers(&mut self) -> Result<(), DemoError> {
        let class = self.arrives(NEWCOMER, "team4", None).await?;
        let got = self.downloads(NEWCOMER, TASTE).await?;
        let seen = format!("class {class}; {}", rate(got.bytes, got.seconds));
        self.say(&format!("a newcomer comes to V1 and is served what that gives away: {seen}"))?;
        self.check("a newcomer is served, in the lowest class", class == "lowest", seen);
        let class = self.arrives(W1, "team2", Some(V2)).await?;
        let got = self.downloads(W1, TASTE).await?;
        self.say(&format!(
            "W1 of team 2 comes to V1, which owes its team nothing: class {class}; {}",
            rate(got.bytes, got.seconds)
        ))?;
        self.w1_began_in = class;
        Ok(())
    }

    pub(crate) async fn leaves(&mut self, guest: Guest) -> Result<(), DemoError> {
        self.cast.signal(guest, Signal::INT)?;
        let ended = self.cast.hear(guest, "to leave", is("ended")).await?;
        let (team, ip) = (guest.at.team, guest.address().to_string());
        let gone = |cast: &Cast| Ok(ended_session(&cast.status(team)?, &ip).is_some());
        self.cast.until("the session to be closed", gone).await?;
        let closed =
            ended_session(&self.cast.status(team)?, &ip).ok_or_else(missing("the session is closed"))?;
        let who = match guest.name {
            "w1" => "W1 (team 2) at V1",
            "w2" => "W2 (team 1) at V2",
            "w3" => "W3 (team 3) at V2",
            "w4" => "W4 (team 1) at V3",
            "freerider" => "free-rider at V3",
            _ => "newcomer at V1",
        };
        self.report.accounts.push(Account {
            who,
            class: text(&closed["class"]),
            carried: number(&closed["counted"]),
            signed: number(&closed["signed"]),
            counted: number(&ended["counted"]),
        });
        Ok(())
    }

    async fn w2_is_served_for_what_team_1_gave(&mut self) -> Result<(), DemoError> {
        // W1 hands its receipts in at home, so team 2 knows what it owes team 1.
        self.cast.hear(W1, "to hand its receipts in at home", is("handed-in")).await?;
        let began_in = self.arrives(W2, "team1", Some(V1)).await?;
        self.rises(W2).await?;
        let got = self.downloads(W2, W2_TAKES).await?;
        let seen = format!("class {began_in}, then high; {}", rate(got.bytes, got.seconds));
        self.say(&format!("W2 of team 1 comes to V2, and team 2 owes team 1 for W1: {seen}"))?;
        let reserved =
            self.why(V2, V1)?.into_iter().any(|line| line.starts_with("on what our team owes it: "));
        self.check("W2 is served for what its team gave to W1", reserved, seen);
        Ok(())
    }

    /// Waits until a guest is served in the class `high`, by its access point.
    pub(crate) async fn rises(&mut self, guest: Guest) -> Result<(), DemoError> {
        let ip = guest.address().to_string();
        let risen = |cast: &Cast| Ok(session(&cast.status(guest.at.team)?, &ip)["class"] == "high");
        self.cast.until(&format!("{} to be served better", guest.name), risen).await
    }

    /// What a home says about how it serves another household's team.
    pub(crate) fn why(&self, home: Household, consumer: Household) -> Result<Vec<String>, DemoError> {
        let team = self.cast.ask_home(consumer, "status")?;
        let answer = self.cast.ask_home(home, &format!("why {}", text(&team["team"])))?;
        Ok(answer["lines"].as_array().into_iter().flatten().map(text).collect())
    }

    async fn w1_rises(&mut self) -> Result<(), DemoError> {
        // When half of its slice is signed for, its access point asks how much more it may have.
        self.downloads(W1, TASTE).await?;
        self.rises(W1).await?;
        self.say("W1, still at V1, is served on what team 1 owes its team for W2 by now: class high")?;
        let got = self.downloads(W1, W1_TAKES).await?;
        let seen = format!("{}; the server saw {}", rate(got.bytes, got.seconds), got.seen_as);
        self.say(&format!("W1 downloads through V1: {seen}"))?;
        // Now by the access point, in the same session.
        let began_in = std::mem::take(&mut self.w1_began_in);
        let served = text(&session(&self.cast.status("team1")?, &W1.address().to_string())["class"]);
        let risen = began_in == "lowest" && served == "high";
        self.check("W1's class rises while it is connected", risen, format!("{began_in}, then {served}"));
        let at_home = got.seen_as == V2.address.to_string();
        self.check(
            "W1 downloads 50 MB through V1, and the Internet sees its home",
            got.bytes == W1_TAKES && at_home,
            seen,
        );
        Ok(())
    }

    /// What V1 can see of W1, and V2 of W2.
    fn nobody_sees_more_than_a_tunnel(&mut self) -> Result<(), DemoError> {
        let mut only = true;
        let mut seen = Vec::new();
        for (guest, home) in [(W1, V2), (W2, V1)] {
            let flows = self.cast.seen_of(guest)?;
            only &= flows.iter().eq([&format!("udp {}", home.gateway())]);
            let flows = flows.into_iter().collect::<Vec<_>>().join(", ");
            let (host, name) = (guest.at.name.to_uppercase(), guest.name.to_uppercase());
            seen.push(format!("{host} of {name}: {flows}"));
        }
        let seen = seen.join("; ");
        self.say(&format!("what the access points saw: {seen}"))?;
        self.check("an access point sees its guests' tunnels home, and nothing else", only, seen);
        Ok(())
    }

    /// Somebody who has nothing but a stock WireGuard app comes by.
    async fn stock_client_is_served(&mut self) -> Result<(), DemoError> {
        if !self.cast.has_app(STOCK) {
            let reason =
                "`wg` and a WireGuard that is not ours, the kernel's or wireguard-go, are not installed";
            return self.say(&format!("a guest with only a stock WireGuard client is left out: {reason}"));
        }
        let client = self.cast.open_app(STOCK, "team2", V2).await?;
        let got = self.cast.download(STOCK, STOCK_TAKES).await?;
        let ip = STOCK.address().to_string();
        let signs = |cast: &Cast| Ok(number(&session(&cast.status("team1")?, &ip)["signed"]) >= STOCK_TAKES);
        self.cast.until("the home to sign for all of it", signs).await?;
        let served = session(&self.cast.status("team1")?, &ip);
        let signed = number(&served["signed"]);
        let seen = format!(
            "{client}; {}; the server saw {}; its home has signed for {}",
            rate(got.bytes, got.seconds),
            got.seen_as,
            Bytes(signed)
        );
        self.say(&format!("a guest with only a stock WireGuard client comes to V1: {seen}"))?;
        let at_home = got.seen_as == V2.address.to_string();
        let paid = signed >= STOCK_TAKES && served["tunnel"] == V2.address.to_string();
        self.check(
            "a stock WireGuard client is served, and its home signs for it",
            got.bytes == STOCK_TAKES && at_home && paid,
            seen,
        );
        Ok(())
    }

    async fn household_stays_closed(&mut self) -> Result<(), DemoError> {
        let mut reached = Vec::new();
        let probes = [
            (HOUSEHOLD_PC.to_string(), 80),
            (HOUSEHOLD_ROUTER.to_string(), 7274),
            (V1.address.to_string(), 7274),
        ];
        for (address, port) in &probes {
            if self.cast.can_reach(NEWCOMER, address, *port).await? {
                reached.push(format!("{address}:{port}"));
            }
        }
        // The filter before the table is counted for whoever asks, a moment later.
        let wanted = probes.len() as u64;
        let counted = |cast: &Cast| Ok(kept_out(&cast.status("team1")?) >= wanted);
        self.cast.until("the packets to be counted", counted).await?;
        let dropped = kept_out(&self.cast.status("team1")?);
        let seen = match reached.as_slice() {
            [] => format!("{} probes, none answered; V1 has dropped {dropped} packets", probes.len()),
            open => format!("reached {}", open.join(", ")),
        };
        self.say(&format!("the newcomer tries V1's household: {seen}"))?;
        let closed = reached.is_empty() && dropped >= probes.len() as u64;
        self.check("V1's household stays closed to its guests", closed, seen);
        Ok(())
    }

    async fn silence_is_cut_off(&mut self) -> Result<(), DemoError> {
        let ip = NEWCOMER.address().to_string();
        self.cast.forget(NEWCOMER);
        let mut endless = self.cast.begin_download(NEWCOMER, u64::MAX / 2)?;
        self.cast.hear(NEWCOMER, "to sign", is("signed")).await?;
        self.cast.signal(NEWCOMER, Signal::STOP)?;
        let silent = Instant::now();
        let closed = |cast: &Cast| Ok(ended_session(&cast.status("team1")?, &ip).is_some());
        self.cast.until("the silent visitor to be cut off", closed).await?;
        let after = silent.elapsed();
        let looking = Instant::now();
        let session =
            ended_session(&self.cast.status("team1")?, &ip).ok_or_else(missing("the session is closed"))?;
        let unpaid = number(&session["counted"]).saturating_sub(number(&session["signed"]));
        // How long a look takes tells how busy this computer is; it is not noticed sooner.
        let look = looking.elapsed();
        endless.kill().await?;
        self.cast.signal(NEWCOMER, Signal::CONT)?;
        let interval = Duration::from_millis(self.interval_ms);
        // The next receipt is asked for within one interval; the answer has half an interval; then it is over.
        let in_time = after <= interval * 3 / 2 + Duration::from_millis(600) + look * 4;
        let ended = self.cast.hear(NEWCOMER, "to learn that it is over", is("ended")).await?;
        let seen = format!(
            "closed {:.1} s after it fell silent (a receipt is due every {:.1} s and overdue {:.1} s later); \
             {} were carried for nothing",
            after.as_secs_f64(),
            interval.as_secs_f64(),
            interval.as_secs_f64() / 2.0,
            Bytes(unpaid)
        );
        self.say(&format!("the newcomer stops signing in the middle of a download: {seen}"))?;
        let cut = session["end"] == "unpaid" && ended["code"] == "unpaid";
        self.check(
            "who stops signing is cut off within one interval of the request that it leaves unanswered",
            cut && in_time,
            seen,
        );
        Ok(())
    }

    /// They say goodbye and sign the last receipts. What was reserved and not used for them is free then.
    async fn they_leave(&mut self, guests: &[Guest]) -> Result<(), DemoError> {
        for guest in guests {
            self.cast.forget(*guest);
            self.leaves(*guest).await?;
        }
        let names: Vec<_> = guests.iter().map(|guest| guest.name.to_uppercase()).collect();
        self.say(&format!("{} say goodbye and sign the last receipts", names.join(" and ")))
    }

    fn three_counts_agree(&mut self) -> Result<(), DemoError> {
        let agree = self.report.accounts.iter().all(Account::agrees);
        let worst = self.report.accounts.iter().map(Account::difference).fold(0.0, f64::max);
        let seen = format!(
            "{} sessions, the largest difference is {:.3} %",
            self.report.accounts.len(),
            worst * 100.0
        );
        self.check("counters, receipts and visitors agree within 0.1 %, or a few packets", agree, seen);
        let table = self.cast.world.run("v1", "nft", &["list", "table", "inet", "guestright"])?;
        let shown = table.contains(GUESTS);
        self.check(
            "it was the kernel's packet filter all along",
            shown,
            format!("{} lines of rules at V1", table.lines().count()),
        );
        Ok(())
    }
}

pub(crate) fn is(name: &'static str) -> impl Fn(&Value) -> bool {
    move |event| event["event"] == name
}

/// The guest's session; if it has none, that of its tunnel.
pub(crate) fn session(status: &Value, ip: &str) -> Value {
    let sessions = status["sessions"].as_array().into_iter().flatten();
    let own = sessions.filter(|session| session["ip"] == ip).min_by_key(|session| is_of_tunnel(session));
    own.cloned().unwrap_or_default()
}

/// The guest's own session, once it is over. After it the guest's tunnel may be served for a moment, by receipts of its
/// home, until the guest has taken it down.
fn ended_session(status: &Value, ip: &str) -> Option<Value> {
    let open = session(status, ip);
    if open["open"] == true && !is_of_tunnel(&open) {
        return None;
    }
    let sessions = status["closed"].as_array()?;
    sessions.iter().rev().find(|session| session["ip"] == ip && !is_of_tunnel(session)).cloned()
}

fn is_of_tunnel(session: &Value) -> bool {
    !session["tunnel"].is_null()
}

/// Packets that the access point kept from the household, from the router and from the Internet.
fn kept_out(status: &Value) -> u64 {
    ["barred", "household4", "not_granted", "to_router"]
        .iter()
        .map(|kind| number(&status["dropped"][kind]))
        .sum()
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

pub(crate) fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
