//! What the household keeps about another team: shown to it, and forgotten where nobody loses by it (design note 0017).

use super::{Loop, why};
use crate::control;
use crate::export;
use guestright_credit::{Hold, HoldId, HoldState};
use guestright_error::RunError;
use guestright_identity::Certificate;
use guestright_receipt::{SessionKey, UncheckedReceipt};
use guestright_store::{Encoded, Store, StoreError};
use guestright_units::TeamId;
use serde_json::{Value, json};
use std::path::Path;
use tokio::sync::oneshot;

/// So many receipts are looked through for one answer.
const PAGE: usize = 1_024;

/// Fetches what the home behind `socket` keeps about a team. Nothing if none runs there.
///
/// # Errors
/// It does not know the team, does not answer, or its store fails.
pub fn fetch(socket: &Path, team: &str) -> Result<Option<Value>, RunError> {
    let mut after = String::new();
    let mut whole: Option<Value> = None;
    loop {
        let Some(mut page) = control::ask(socket, format!("about {team} {after}").trim_end())? else {
            return Ok(None);
        };
        if let Some(error) = page["error"].as_str() {
            return Err(RunError::user(error.to_owned()));
        }
        if page.is_null() {
            let error = RunError::network("the home has not answered: it ends, or has too much to do");
            return Err(error.with_hint("ask again in a moment"));
        }
        let next = page["next"].take();
        match &mut whole {
            None => {
                if let Some(object) = page.as_object_mut() {
                    object.remove("next");
                }
                whole = Some(page);
            }
            Some(whole) => add(&mut whole["receipts"], &mut page["receipts"]),
        }
        match next.as_str() {
            Some(next) if next != after => after = next.to_owned(),
            _ => return Ok(whole),
        }
    }
}

/// Adds a page's receipts to those of the pages before.
fn add(whole: &mut Value, page: &mut Value) {
    for name in ["count", "it_was_served_bytes", "it_served_bytes"] {
        let sum = [&*whole, &*page].map(|it| it[name].as_u64().unwrap_or_default());
        whole[name] = json!(sum[0].saturating_add(sum[1]));
    }
    if let (Some(all), Some(more)) = (whole["bundles"].as_array_mut(), page["bundles"].as_array_mut()) {
        all.append(more);
    }
}

/// Answers `about TEAM`, `about TEAM SESSION` and `forget TEAM` at the control socket.
pub(super) fn answer(this: &mut Loop, question: &str, words: &str, reply: oneshot::Sender<Value>) {
    let (beginning, after) = words.split_once(' ').unwrap_or((words, ""));
    let after = if after.is_empty() { Ok(None) } else { export::session(after).map(Some).ok_or(()) };
    let (team, after) = match (find_team(this, beginning), after) {
        (Ok(team), Ok(after)) => (team, after),
        (Err(error), _) => return drop(reply.send(json!({ "error": error }))),
        (_, Err(())) => return drop(reply.send(json!({ "error": "a page begins after a session" }))),
    };
    if question == "forget" {
        return drop(reply.send(forget(this, team)));
    }
    let mut answer = kept(this, team);
    let job = move |store: &mut Store| {
        let answer = match page(store, team, after) {
            Ok((receipts, next)) => {
                (answer["receipts"], answer["next"]) = (receipts, json!(next));
                answer
            }
            Err(error) => json!({ "error": error.to_string() }),
        };
        let _ = reply.send(answer); // The asker may have gone.
    };
    if let Err(error) = this.store.run(job) {
        tracing::warn!(%error, "the store is too busy to be asked");
    }
}

/// Another team that something is kept about.
fn find_team(this: &Loop, beginning: &str) -> Result<TeamId, String> {
    let blocked: Vec<_> =
        this.blocked.teams().filter(|team| team.to_string().starts_with(beginning)).collect();
    let team = match (beginning.is_empty(), blocked.as_slice(), why::find_team(this, beginning)) {
        (true, ..) => return Err("which team? its 48 hexadecimal digits, or the first few".to_owned()),
        // One that is blocked may be known by nothing else.
        (_, [team], Err(_)) => *team,
        (_, _, found) => found?,
    };
    if team == this.team {
        return Err("that is the own team: `guestright receipt export` has its receipts".to_owned());
    }
    Ok(team)
}

/// All but the receipts.
fn kept(this: &Loop, team: TeamId) -> Value {
    let account = this.server.accounts().map(|_| {
        let account = this.server.account(team);
        json!({
            "we_owe": account.net().max(0),
            "they_owe": account.net().min(0).unsigned_abs(),
            "given_to_us_ever": account.given.0,
            "reserved": account.held.0,
        })
    });
    let is_of = |hold: &Hold| {
        hold.terms.provider == team || hold.terms.consumer == team || hold.terms.between.contains(&team)
    };
    json!({
        "team": team.to_string(),
        "account": account,
        "sponsored": sponsored(this, team),
        "blocked_since": this.blocked.since(team).map(|since| since.to_string()),
        "holds": this.server.holds().filter(|(_, it)| is_of(it)).map(|(id, it)| hold(id, it)).collect::<Vec<_>>(),
        "refusals": this.overviews.refusals_of(team).collect::<Vec<_>>(),
    })
}

/// What is left of what the household has set aside for a team.
fn sponsored(this: &Loop, team: TeamId) -> Option<u64> {
    this.server.sponsored().find(|(it, _)| *it == team).map(|(_, left)| left.0)
}

fn hold(id: HoldId, hold: &Hold) -> Value {
    let (state, used) = match &hold.state {
        HoldState::Asked => ("asked", None),
        HoldState::Good => ("good", None),
        HoldState::Ended => ("ended", None),
        HoldState::Settled { used, .. } => ("settled", Some(used.0)),
    };
    let id: String = id.0.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({
        "id": id,
        "provider": hold.terms.provider.to_string(),
        "between": hold.terms.between.iter().map(TeamId::to_string).collect::<Vec<_>>(),
        "consumer": hold.terms.consumer.to_string(),
        "amount": hold.terms.amount.0,
        "end": hold.terms.end.to_string(),
        "state": state,
        "used": used,
    })
}

/// The receipts of a team among the next ones after a session, and after which session the next page begins.
fn page(
    store: &Store,
    team: TeamId,
    after: Option<SessionKey>,
) -> Result<(Value, Option<String>), StoreError> {
    let looked_at = store.receipts_after(after, PAGE)?;
    let next = looked_at.last().filter(|_| looked_at.len() == PAGE).map(|(session, _)| export::name(session));
    let (mut of_team, mut served, mut was_served) = (Vec::<(SessionKey, Encoded)>::new(), 0_u64, 0_u64);
    for (session, (receipt, certificate)) in looked_at {
        // What is kept was checked when it came.
        let weight = UncheckedReceipt::parse(&receipt).map_or(0, |receipt| receipt.weight().0);
        let consumer = Certificate::parse_kept(&certificate).ok().map(|certificate| certificate.team_id());
        if session.provider == team {
            served = served.saturating_add(weight);
        } else if consumer == Some(team) {
            was_served = was_served.saturating_add(weight);
        } else {
            continue;
        }
        of_team.push((session, (receipt, certificate)));
    }
    let receipts = json!({
        "count": of_team.len(),
        "it_served_bytes": served,
        "it_was_served_bytes": was_served,
        "bundles": export::bundles(&of_team),
    });
    Ok((receipts, next))
}

/// Forgets what neither the household nor anybody else loses by, and says what stays and why.
fn forget(this: &mut Loop, team: TeamId) -> Value {
    let mut forgotten = Vec::new();
    if sponsored(this, team).is_some() {
        let answer = this.sponsor(&format!("{team} 0"));
        if !answer["error"].is_null() {
            return answer;
        }
        forgotten.push("sponsored");
    }
    if this.overviews.forget_refusals(team) {
        forgotten.push("refusals");
    }
    let mut stays = vec![json!({
        "what": "receipts",
        "why": "each is what somebody owes: a debt that is forgotten on one side is still claimed on the other, and one that is shown \
                again would be counted again. The oldest go when there are more than receipts_max",
    })];
    if this.server.holds().any(|(_, hold)| hold.terms.provider == team || hold.terms.consumer == team) {
        stays.push(
            json!({ "what": "holds", "why": "they are settled first, and go a month after their session" }),
        );
    }
    if this.server.accounts().is_some() {
        stays.push(json!({
            "what": "account",
            "why": "it is the sum of what was given, on which what others reserve relies; it has no addresses and no times",
        }));
    }
    if this.blocked.since(team).is_some() {
        stays.push(
            json!({ "what": "block", "why": "the household wants it: `guestright home unblock` ends it" }),
        );
    }
    json!({ "team": team.to_string(), "forgotten": forgotten, "stays": stays })
}

/// What was forgotten, and what stays and why, for people: the answer to `forget`.
pub fn sentences(answer: &Value) -> Vec<String> {
    let list = |name: &str| answer[name].as_array().cloned().unwrap_or_default();
    let forgotten: Vec<_> =
        list("forgotten").iter().filter_map(|it| it.as_str().map(str::to_owned)).collect();
    let team = answer["team"].as_str().and_then(|team| team.get(..8)).unwrap_or("-");
    let forgotten = if forgotten.is_empty() { "nothing".to_owned() } else { forgotten.join(", ") };
    let stays = list("stays").into_iter().map(|stays| {
        let text = |name: &str| stays[name].as_str().unwrap_or_default().to_owned();
        format!("stays: {}: {}", text("what"), text("why"))
    });
    std::iter::once(format!("forgotten of team {team}: {forgotten}")).chain(stays).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_receipts_become_one() {
        let page = |count: u64, bundle: &str| json!({ "count": count, "it_was_served_bytes": u64::MAX / 2, "it_served_bytes": count, "bundles": [bundle] });
        let mut whole = page(1, "a");
        for more in ["b", "c"] {
            add(&mut whole, &mut page(2, more));
        }
        assert_eq!((&whole["count"], &whole["it_served_bytes"]), (&5.into(), &5.into()));
        assert_eq!(whole["it_was_served_bytes"], u64::MAX, "as many as can be said");
        assert_eq!(whole["bundles"], json!(["a", "b", "c"]));
    }
}
