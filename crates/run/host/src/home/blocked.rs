//! Whom the household serves no more, kept between runs.

use super::{Loop, private, why};
use guestright_error::{OrFail as _, RunError};
use guestright_units::{TeamId, UnixSeconds};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// No longer list is kept: it is one that a person has made.
const TEAMS_MAX: usize = 1_024;

/// The teams, and since when.
#[derive(Debug)]
pub(super) struct Blocked {
    file: PathBuf,
    teams: BTreeMap<TeamId, UnixSeconds>,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    team: String,
    since: u64,
}

impl Blocked {
    /// Reads the list of the home with this state directory.
    ///
    /// # Errors
    /// It is there and cannot be read. The home does not start then, for it says who is not to be served; access points serve by
    /// what they knew before, as while their home is away.
    pub(super) fn open(state: &Path) -> Result<Self, RunError> {
        let file = state.join("blocked.json");
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => "[]".to_owned(),
            Err(error) => return Err(RunError::config(format!("read {}: {error}", file.display()))),
        };
        let damaged = || {
            format!(
                "{} is no list of teams; `guestright home block` makes one anew where it is gone",
                file.display()
            )
        };
        let lines: Vec<Line> = serde_json::from_str(&text).or_config(damaged)?;
        let teams = lines.iter().map(|line| Some((line.team.parse().ok()?, UnixSeconds(line.since))));
        let teams = teams.collect::<Option<_>>().ok_or_else(|| RunError::config(damaged()))?;
        Ok(Self { file, teams })
    }

    /// The teams, and since when.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TeamId, UnixSeconds)> {
        self.teams.iter().map(|(team, since)| (*team, *since))
    }

    pub(super) fn teams(&self) -> impl Iterator<Item = TeamId> {
        self.teams.keys().copied()
    }

    /// Makes the list durable with the change, and then takes it over. Says whether it is another.
    fn change(&mut self, team: TeamId, since: Option<UnixSeconds>) -> Result<bool, RunError> {
        let mut teams = self.teams.clone();
        match since {
            Some(_) if teams.contains_key(&team) => {}
            Some(since) => drop(teams.insert(team, since)),
            None => drop(teams.remove(&team)),
        }
        if teams == self.teams {
            return Ok(false);
        }
        if teams.len() > TEAMS_MAX {
            return Err(RunError::config(format!(
                "{TEAMS_MAX} teams are blocked already; unblock one of them first"
            )));
        }
        let lines: Vec<_> =
            teams.iter().map(|(team, since)| Line { team: team.to_string(), since: since.0 }).collect();
        let text = serde_json::to_vec_pretty(&lines).map_err(RunError::bug)?;
        private::replace(&self.file, &text)?;
        self.teams = teams;
        Ok(true)
    }

    fn list(&self) -> Value {
        let one =
            |(team, since): (&TeamId, &UnixSeconds)| json!({ "team": team.to_string(), "since": since.0 });
        json!({ "blocked": self.teams.iter().map(one).collect::<Vec<_>>() })
    }
}

/// Blocks a team, or serves it again. Says whether that is another state than before.
///
/// # Errors
/// It is the own team, too many are blocked, or the list cannot be kept.
pub(super) fn set(this: &mut Loop, team: TeamId, is_blocked: bool) -> Result<bool, RunError> {
    if team == this.team {
        return Err(RunError::user(
            "that is the own team; whoever of it is to be kept out: `guestright team member revoke`",
        ));
    }
    let since = is_blocked.then(|| this.clock.now().unix_seconds());
    let is_changed = this.blocked.change(team, since)?;
    this.server.block(this.blocked.teams());
    Ok(is_changed)
}

/// Answers `block`, `block TEAM` and `unblock TEAM` at the control socket.
pub(super) fn answer(this: &mut Loop, question: &str, beginning: &str) -> Value {
    if beginning.is_empty() {
        return this.blocked.list();
    }
    let is_blocked = question == "block";
    // One that is blocked may be known by nothing else.
    let here: Vec<_> = this.blocked.teams().filter(|team| team.to_string().starts_with(beginning)).collect();
    let found = match here.as_slice() {
        [team] if !is_blocked => Ok(*team),
        _ => why::find_team(this, beginning),
    };
    let team = match found {
        Ok(team) => team,
        Err(error) => return json!({ "error": error }),
    };
    match set(this, team, is_blocked) {
        Ok(is_changed) => {
            let mut answer = this.blocked.list();
            (answer["team"], answer["changed"]) = (json!(team.to_string()), json!(is_changed));
            answer
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

    fn team(number: u16) -> TeamId {
        let mut id = [0; 24];
        id[..2].copy_from_slice(&number.to_be_bytes());
        TeamId(id)
    }

    #[test]
    fn what_was_blocked_is_blocked_after_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(folder.path()).unwrap();
        assert_eq!(blocked.teams().count(), 0);
        assert!(blocked.change(team(1), Some(NOW)).unwrap());
        assert!(blocked.change(team(2), Some(NOW.plus(1))).unwrap());
        assert!(!blocked.change(team(1), Some(NOW.plus(2))).unwrap(), "it is already");
        let mut again = Blocked::open(folder.path()).unwrap();
        assert_eq!(again.teams, BTreeMap::from([(team(1), NOW), (team(2), NOW.plus(1))]));
        assert!(again.change(team(1), None).unwrap());
        assert!(!again.change(team(3), None).unwrap());
        assert!(Blocked::open(folder.path()).unwrap().teams().eq([team(2)]));
    }

    #[test]
    fn a_list_that_cannot_be_read_is_never_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("blocked.json");
        for text in
            ["", "{", "{}", "[1]", r#"[{"team":"12","since":1}]"#, r#"[{"team":"","since":1,"more":2}]"#]
        {
            std::fs::write(&file, text).unwrap();
            let error = Blocked::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains("blocked.json"), "{error}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_written_stays_as_it_was_and_so_does_a_full_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(&folder.path().join("nowhere")).unwrap();
        blocked.change(team(1), Some(NOW)).unwrap_err();
        assert_eq!(blocked.teams().count(), 0);
        let mut full = Blocked::open(folder.path()).unwrap();
        full.teams = (0..1_024).map(|number| (team(number), NOW)).collect();
        let error = full.change(team(1_024), Some(NOW)).unwrap_err().to_string();
        assert!(error.contains("unblock one"), "{error}");
        assert_eq!(full.teams().count(), TEAMS_MAX);
    }
}
