//! V3 owes team 2, which owes team 1: a member of team 1 is served at V3 on that, and nobody else on more than V3 gives
//! away.

use super::cast::Cast;
use super::error::{DemoError, missing};
use super::report::rate;
use super::story::{Story, is, number, session, text};
use super::town::{FREE_RIDER, Household, V1, V2, V3, W3, W4};
use guestright_roaming::message::Volume;
use guestright_units::Bytes;
use serde_json::Value;
use std::time::{Duration, Instant};

const W3_TAKES: u64 = 12_000_000;
const W4_TAKES: u64 = 8_000_000;
/// What a free-rider takes under each of its first names; under those after them it takes all it can get.
const NAME_TAKES: u64 = 400_000;
const FIRST_NAMES: usize = 2;
/// After so many names nobody should have been served.
const NAMES_MAX: usize = 6;
/// How far two homes' books may differ: the last receipt of a session may have reached one of them only. On a busy computer
/// that is as much as one leaves unsigned.
const BOOKS_DIFFER_MAX: u64 = 512 * 1_024;
const SETTLED_WITHIN: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(86_400);

impl Story<'_> {
    pub(crate) async fn w4_is_served_on_a_chain_of_debts(&mut self) -> Result<(), DemoError> {
        self.v3_comes_to_owe_team_2().await?;
        let began_in = self.arrives(W4, "team1", Some(V1)).await?;
        self.rises(W4).await?;
        let class = text(&session(&self.cast.status(V3.team)?, &W4.address().to_string())["class"]);
        let team_2 = text(&self.cast.ask_home(V2, "status")?["team"]);
        let chain = format!("on what our team owes {}, which owes it: ", team_2.get(..8).unwrap_or_default());
        let lines = self.why(V3, V1)?;
        let reserved = lines.iter().find(|line| line.starts_with(&chain)).cloned().unwrap_or_default();
        self.say(&format!(
            "W4 of team 1 comes to V3, which owes its team nothing: class {began_in}, then {class}"
        ))?;
        let team_1 = text(&self.cast.ask_home(V1, "status")?["team"]);
        for command in [["accounts"].as_slice(), &["why", team_1.get(..8).unwrap_or_default()]] {
            let printed = self.cast.home_command(V3, command)?.trim_end().replace('\n', "\n          ");
            self.say(&format!("at V3, `guestright home {}` says:\n          {printed}", command.join(" ")))?;
        }
        let seen = format!("class {began_in}, then {class}; {reserved}");
        let holds = began_in == "lowest" && class == "high" && !reserved.is_empty();
        self.check("W4's class rises at V3, which owes team 2, which owes team 1", holds, seen);
        self.free_rider_changes_its_name().await?;
        let got = self.downloads(W4, W4_TAKES).await?;
        let seen = format!("{}; V3 gives away no more today", rate(got.bytes, got.seconds));
        self.say(&format!("W4 downloads on what is reserved: {seen}"))?;
        let left = number(&self.cast.ask_home(V3, "status")?["credit"]["allowance"]["left"]);
        let holds = got.bytes == W4_TAKES && left < NAME_TAKES;
        self.check("W4 is served on credit where nothing is left to give away", holds, seen);
        Ok(())
    }

    /// W3 of team 3 visits V2, and hands its receipts in at home.
    async fn v3_comes_to_owe_team_2(&mut self) -> Result<(), DemoError> {
        let class = self.arrives(W3, V3.team, Some(V3)).await?;
        let got = self.downloads(W3, W3_TAKES).await?;
        let handed_in = |cast: &Cast| Ok(owed(cast, V3, V2)? >= W3_TAKES.cast_signed());
        self.cast.until("team 3 to know what it owes team 2", handed_in).await?;
        let rate = rate(got.bytes, got.seconds);
        self.say(&format!("W3 of team 3 comes to V2: class {class}; {rate}; so team 3 owes team 2 for it"))
    }

    /// Somebody who never serves anybody comes to V3 under one fresh name after the other.
    async fn free_rider_changes_its_name(&mut self) -> Result<(), DemoError> {
        let (began, before) = (Instant::now(), left_to_give_away(&self.cast, V3)?);
        let mut taken = Vec::new();
        let mut reason = String::new();
        for number in 0..NAMES_MAX {
            let team = format!("free-rider-{number}");
            self.cast.found(&team, None, &[(FREE_RIDER.name, "member")])?;
            self.cast.forget(FREE_RIDER);
            self.cast.visit(FREE_RIDER, &team, None)?;
            let answered = |event: &Value| is("ended")(event) || is("granted")(event);
            let answer = self.cast.hear(FREE_RIDER, "to be answered", answered).await?;
            if is("ended")(&answer) {
                reason = text(&answer["reason"]);
                break;
            }
            self.until_let_through(FREE_RIDER).await?;
            if number < FIRST_NAMES {
                self.downloads(FREE_RIDER, NAME_TAKES).await?;
                self.leaves(FREE_RIDER).await?;
            } else {
                let mut endless = self.cast.begin_download(FREE_RIDER, u64::MAX / 2)?;
                let ended = self.cast.hear(FREE_RIDER, "to be told that it is over", is("ended")).await?;
                reason = text(&ended["reason"]);
                endless.kill().await?;
            }
            // The guest knows before the firewall has confirmed it.
            let is_closed = |cast: &Cast| Ok(taken_by_strangers(cast)?.len() > number);
            self.cast.until("V3 to close the session", is_closed).await?;
            taken = taken_by_strangers(&self.cast)?;
            if number < FIRST_NAMES {
                // What was kept for it and not used is given away again as soon as its home knows.
                let left = before.saturating_sub(taken.iter().sum());
                let is_back = |cast: &Cast| Ok(left_to_give_away(cast, V3)? >= left);
                self.cast.until("V3 to have back what a name has not used", is_back).await?;
            }
        }
        let sum: u64 = taken.iter().sum();
        let allowance = V3.allowance.ok_or_else(missing("V3 gives away little"))?;
        let comes_back = allowance.saturating_mul(began.elapsed().as_secs() + 60) / DAY.as_secs();
        let names = taken.len();
        let seen = format!(
            "{} under {names} names, of {} that were left; then: {reason}",
            Bytes(sum),
            Bytes(before)
        );
        self.say(&format!("a free-rider comes to V3 with fresh names: {seen}"))?;
        let is_refused = names > FIRST_NAMES && names < NAMES_MAX && reason.contains("given away");
        // A visit does not begin on less than a minimum.
        let bounded = is_refused && sum <= before + comes_back && sum + Volume::MIN.0 > before;
        self.check("fresh names get what a household gives away in a day, and no more", bounded, seen);
        Ok(())
    }

    /// Once everybody has left: what each of the three homes says of the others.
    pub(crate) async fn the_books_agree(&mut self) -> Result<(), DemoError> {
        // Reservations are settled by messages between homes, which take a moment.
        let deadline = Instant::now() + SETTLED_WITHIN;
        let mut pairs = self.accounts_of_pairs()?;
        while !pairs.iter().all(Pair::agrees) && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(100)).await;
            pairs = self.accounts_of_pairs()?;
        }
        let agree = pairs.iter().all(Pair::agrees);
        let seen: Vec<_> = pairs.iter().map(Pair::sentence).collect();
        let seen = seen.join("; ");
        self.say(&format!("the homes' accounts: {seen}"))?;
        self.check("the accounts of all three homes agree", agree, seen);
        Ok(())
    }

    fn accounts_of_pairs(&self) -> Result<Vec<Pair>, DemoError> {
        let pairs = [(V1, V2), (V2, V3), (V1, V3)].into_iter();
        let pairs = pairs.map(|(one, other)| {
            Ok(Pair {
                one,
                other,
                by_one: owed(&self.cast, one, other)?,
                by_other: owed(&self.cast, other, one)?,
            })
        });
        pairs.collect()
    }
}

/// What two homes say of what is owed between them: each says what it owes the other; below zero, what the other owes it.
struct Pair {
    one: Household,
    other: Household,
    by_one: i64,
    by_other: i64,
}

impl Pair {
    fn agrees(&self) -> bool {
        (self.by_one + self.by_other).unsigned_abs() <= BOOKS_DIFFER_MAX
    }

    fn sentence(&self) -> String {
        let Self { one, other, by_one, by_other } = self;
        let (debtor, creditor) = if *by_one > 0 { (one, other) } else { (other, one) };
        let [debtor, creditor] = [debtor, creditor].map(|household| household.name.to_uppercase());
        let [here, there] = [by_one, by_other].map(|bytes| Bytes(bytes.unsigned_abs()));
        format!("{debtor} owes {creditor} {here} by one, {there} by the other")
    }
}

/// What V3 carried in each session of the free-rider that is over.
fn taken_by_strangers(cast: &Cast) -> Result<Vec<u64>, DemoError> {
    let status = cast.status(V3.team)?;
    let ip = FREE_RIDER.address().to_string();
    let closed = status["closed"].as_array().into_iter().flatten();
    Ok(closed
        .filter(|session| session["ip"] == ip.as_str())
        .map(|session| number(&session["counted"]))
        .collect())
}

/// What a household may still give away today.
fn left_to_give_away(cast: &Cast, home: Household) -> Result<u64, DemoError> {
    Ok(number(&cast.ask_home(home, "status")?["credit"]["allowance"]["left"]))
}

/// What one household owes another by its own accounts; below zero: what the other owes it.
fn owed(cast: &Cast, home: Household, to: Household) -> Result<i64, DemoError> {
    let team = cast.ask_home(to, "status")?["team"].clone();
    let answer = cast.ask_home(home, "accounts")?;
    let account = answer["accounts"].as_array().into_iter().flatten().find(|account| account["team"] == team);
    let bytes = |key: &str| account.map_or(0, |account| number(&account[key])).cast_signed();
    Ok(bytes("we_owe") - bytes("they_owe"))
}
