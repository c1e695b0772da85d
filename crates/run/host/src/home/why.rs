//! Why a team would be served.

use super::Loop;
use guestright_units::{Bytes, TeamId};
use serde_json::{Value, json};

/// The team with this id, or the one that is known whose id begins like that.
pub(super) fn find_team(this: &Loop, beginning: &str) -> Result<TeamId, String> {
    let graph = this.server.graph();
    let known: Vec<_> = graph.teams().filter(|team| team.to_string().starts_with(beginning)).collect();
    match (beginning.parse::<TeamId>(), known.as_slice()) {
        (Ok(team), _) | (Err(_), &[team]) => Ok(team),
        (Err(_), []) => Err(format!("no team is known whose id begins with {beginning}")),
        (Err(_), several) => {
            let count = several.len();
            Err(format!("{count} teams begin with {beginning}; give more digits"))
        }
    }
}

/// How a team would be served now, and why: `why TEAM` at the control socket.
pub(super) fn why(this: &mut Loop, beginning: &str) -> Value {
    let team = match find_team(this, beginning) {
        Ok(team) => team,
        Err(error) => return json!({ "error": error }),
    };
    if this.server.is_blocked(team) {
        return json!({ "team": team.to_string(), "reason": "the household has blocked this team",
            "lines": ["The household serves this team no more: guestright home unblock."] });
    }
    let everybody = this.server.everybody_until(this.clock.now());
    let for_all = everybody.map(|until| {
        format!("Whoever is owed nothing is served all the same, in the lowest class: this household serves everybody until {until}.")
    });
    let explanation = this.server.explain(team, Bytes(1_000_000), &mut this.rng);
    let own = this.team;
    let name = |team: TeamId| if team == own { "our team".to_owned() } else { team.short() };
    if this.server.accounts().is_some() {
        let lines: Vec<_> = this.reservations(team, &name).into_iter().chain(for_all).collect();
        return json!({ "team": team.to_string(), "reason": "by credit that is reserved between homes", "lines": lines });
    }
    json!({ "team": team.to_string(), "reason": explanation.decision.reason(),
        "ind": explanation.decision.ind.map(|ind| ind.to_string()),
        "lines": explanation.lines(name).into_iter().chain(for_all).collect::<Vec<_>>() })
}
