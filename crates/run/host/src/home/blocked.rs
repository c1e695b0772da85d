//! Whom the household serves no more, kept between runs: teams, and devices.

use super::orders::{self, Report};
use super::{Loop, private, why};
use guestright_error::{OrFail as _, RunError};
use guestright_firewall::MacAddress;
use guestright_ordered::OrderedMap;
use guestright_roaming::message::BlockedDevices;
use guestright_units::{TeamId, UnixSeconds};
use serde_json::{Map, Value, json};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tokio::sync::oneshot;

/// What is blocked is either of these.
#[derive(Clone, Copy, Debug)]
struct Kind {
    file: &'static str,
    /// What a line calls it.
    field: &'static str,
    /// No longer list is kept: it is one that a person has made.
    max: usize,
}

const TEAMS: Kind = Kind { file: "blocked.json", field: "team", max: 1_024 };
/// As many as an access point takes.
const DEVICES: Kind = Kind { file: "blocked-devices.json", field: "device", max: BlockedDevices::MAX };

/// One list, and since when each is on it.
#[derive(Debug)]
struct List<K> {
    kind: Kind,
    file: PathBuf,
    since: OrderedMap<K, UnixSeconds>,
}

impl<K: Copy + Ord + Display + FromStr> List<K> {
    fn open(kind: Kind, state: &Path) -> Result<Self, RunError> {
        let file = state.join(kind.file);
        let text = private::read_if_there(&file)?.unwrap_or_else(|| b"[]".to_vec());
        let damaged = || {
            let (file, field) = (file.display(), kind.field);
            format!("{file} is no list of {field}s; `guestright home block` makes one anew where it is gone")
        };
        let lines: Vec<Map<String, Value>> = serde_json::from_slice(&text).or_config(damaged)?;
        let one = |line: &Map<String, Value>| {
            let key = line.get(kind.field)?.as_str()?.parse().ok()?;
            let since = line.get("since")?.as_u64()?;
            (line.len() == 2).then_some((key, UnixSeconds(since)))
        };
        let since: Option<OrderedMap<_, _>> = lines.iter().map(one).collect();
        let since = since.filter(|since| since.len() <= kind.max);
        let since = since.ok_or_else(|| RunError::config(damaged()))?;
        Ok(Self { kind, file, since })
    }

    /// Makes the list durable with the change, and then takes it over. Says whether it is another.
    fn change(&mut self, key: K, since: Option<UnixSeconds>) -> Result<bool, RunError> {
        let mut changed = self.since.clone();
        match since {
            Some(_) if changed.contains_key(&key) => {}
            Some(since) => drop(changed.insert(key, since)),
            None => drop(changed.remove(&key)),
        }
        if changed == self.since {
            return Ok(false);
        }
        let Kind { field, max, .. } = self.kind;
        if changed.len() > max {
            return Err(RunError::config(format!(
                "{max} {field}s are blocked already; unblock one of them first"
            )));
        }
        let text = serde_json::to_vec_pretty(&lines(field, &changed)).map_err(RunError::bug)?;
        private::replace(&self.file, &text)?;
        self.since = changed;
        Ok(true)
    }

    fn lines(&self) -> Vec<Value> {
        lines(self.kind.field, &self.since)
    }
}

fn lines<K: Display>(field: &str, all: &OrderedMap<K, UnixSeconds>) -> Vec<Value> {
    all.iter().map(|(key, since)| json!({ field: key.to_string(), "since": since.0 })).collect()
}

/// The teams and devices.
#[derive(Debug)]
pub(super) struct Blocked {
    teams: List<TeamId>,
    devices: List<MacAddress>,
}

impl Blocked {
    /// Reads the lists of the home with this state directory.
    ///
    /// # Errors
    /// One is there and cannot be read. The home does not start then, for it says who is not to be served; access points serve by
    /// what they knew before, as while their home is away.
    pub(super) fn open(state: &Path) -> Result<Self, RunError> {
        Ok(Self { teams: List::open(TEAMS, state)?, devices: List::open(DEVICES, state)? })
    }

    /// The teams, and since when.
    #[cfg(feature = "page")]
    pub(super) fn teams_since(&self) -> impl Iterator<Item = (TeamId, UnixSeconds)> {
        self.teams.since.iter().map(|(team, since)| (*team, *since))
    }

    /// The devices, and since when.
    #[cfg(feature = "page")]
    pub(super) fn devices_since(&self) -> impl Iterator<Item = (MacAddress, UnixSeconds)> {
        self.devices.since.iter().map(|(device, since)| (*device, *since))
    }

    /// Since when a team is blocked, if it is.
    pub(super) fn since(&self, team: TeamId) -> Option<UnixSeconds> {
        self.teams.since.get(&team).copied()
    }

    pub(super) fn teams(&self) -> impl Iterator<Item = TeamId> {
        self.teams.since.keys().copied()
    }

    /// The list for access points.
    pub(super) fn devices(&self) -> BlockedDevices {
        let devices = self.devices.since.keys().map(|device| device.bytes());
        BlockedDevices::new(devices).expect("the list is as long at most")
    }

    fn list(&self) -> Value {
        json!({ "blocked": self.teams.lines(), "devices": self.devices.lines() })
    }
}

/// How many devices the home with this state directory has its access points not serve.
///
/// # Errors
/// A list is there and cannot be read, and the home does not start.
pub fn blocked_devices(state: &Path) -> Result<usize, RunError> {
    Blocked::open(state).map(|blocked| blocked.devices.since.len())
}

/// A change of the list of devices.
#[derive(Debug)]
pub(super) struct DeviceChange {
    /// Whether the list is another one now.
    pub(super) is_changed: bool,
    /// What access points did, which have the list again in any case: one may have failed to keep it before.
    pub(super) report: oneshot::Receiver<Report>,
}

/// The household serves a device no longer, or serves it again. The list is durable before access points have it.
///
/// # Errors
/// It is full, or cannot be written; then nothing has changed.
pub(super) fn change_device(
    this: &mut Loop,
    device: MacAddress,
    is_blocked: bool,
) -> Result<DeviceChange, RunError> {
    let since = is_blocked.then(|| this.clock.now().unix_seconds());
    let is_changed = this.blocked.devices.change(device, since)?;
    let list = this.blocked.devices();
    Ok(DeviceChange { is_changed, report: orders::block_devices(this, list) })
}

/// Answers `block-device MAC` and `unblock-device MAC` at the control socket, once access points have answered.
pub(super) fn answer_device(this: &mut Loop, question: &str, device: &str, reply: oneshot::Sender<Value>) {
    let changed = device.parse().map_err(RunError::user).and_then(|device: MacAddress| {
        let DeviceChange { is_changed, report } = change_device(this, device, question == "block-device")?;
        Ok((json!({ "device": device.to_string(), "changed": is_changed }), report))
    });
    match changed {
        Ok((answer, report)) => orders::answer_when_reported(report, answer, reply),
        Err(error) => drop(reply.send(json!({ "error": error.sentence() }))),
    }
}

/// Blocks a team, or serves it again. Says whether that is another state than before.
///
/// # Errors
/// It is the own team, too many are blocked, or the list cannot be kept.
pub(super) fn set_team(this: &mut Loop, team: TeamId, is_blocked: bool) -> Result<bool, RunError> {
    if team == this.team {
        return Err(RunError::user(
            "that is the own team; whoever of it is to be kept out: `guestright team member revoke`",
        ));
    }
    let since = is_blocked.then(|| this.clock.now().unix_seconds());
    let is_changed = this.blocked.teams.change(team, since)?;
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
    match set_team(this, team, is_blocked) {
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

    fn device(number: u16) -> MacAddress {
        let [high, low] = number.to_be_bytes();
        MacAddress::new([2, 0, 0, 0, high, low]).unwrap()
    }

    #[test]
    fn what_was_blocked_is_blocked_after_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(folder.path()).unwrap();
        assert_eq!(blocked.teams().count(), 0);
        assert!(blocked.teams.change(team(1), Some(NOW)).unwrap());
        assert!(blocked.teams.change(team(2), Some(NOW.plus(1))).unwrap());
        assert!(!blocked.teams.change(team(1), Some(NOW.plus(2))).unwrap(), "it is already");
        assert!(blocked.devices.change(device(1), Some(NOW.plus(3))).unwrap());
        let mut again = Blocked::open(folder.path()).unwrap();
        assert_eq!(again.teams.since, OrderedMap::from([(team(1), NOW), (team(2), NOW.plus(1))]));
        assert!(again.teams.change(team(1), None).unwrap());
        assert!(!again.teams.change(team(3), None).unwrap());
        let again = Blocked::open(folder.path()).unwrap();
        assert!(again.teams().eq([team(2)]));
        assert!(again.devices().iter().eq([device(1).bytes()]));
        let listed = json!({
            "blocked": [{ "team": team(2).to_string(), "since": NOW.0 + 1 }],
            "devices": [{ "device": "02:00:00:00:00:01", "since": NOW.0 + 3 }],
        });
        assert_eq!(again.list(), listed);
    }

    #[test]
    fn a_list_that_cannot_be_read_is_never_taken_for_an_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        let (teams, mac) = (team(1).to_string(), "02:00:00:00:00:01");
        for (kind, good) in [(TEAMS, teams.as_str()), (DEVICES, mac)] {
            let (file, field) = (folder.path().join(kind.file), kind.field);
            for text in [
                String::new(),
                "{".to_owned(),
                "{}".to_owned(),
                "[1]".to_owned(),
                format!(r#"[{{"{field}":"12","since":1}}]"#),
                format!(r#"[{{"{field}":"{good}"}}]"#),
                format!(r#"[{{"{field}":"{good}","since":-1}}]"#),
                format!(r#"[{{"{field}":"{good}","since":1,"more":2}}]"#),
            ] {
                std::fs::write(&file, &text).unwrap();
                let error = Blocked::open(folder.path()).unwrap_err().to_string();
                assert!(error.contains(kind.file), "{text}: {error}");
            }
            std::fs::write(&file, format!(r#"[{{"{field}":"{good}","since":1}}]"#)).unwrap();
            assert_eq!(Blocked::open(folder.path()).unwrap().list()["blocked"][0]["team"], teams);
        }
    }

    #[test]
    fn a_list_that_cannot_be_written_stays_as_it_was_and_so_does_a_full_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut blocked = Blocked::open(&folder.path().join("nowhere")).unwrap();
        blocked.teams.change(team(1), Some(NOW)).unwrap_err();
        blocked.devices.change(device(1), Some(NOW)).unwrap_err();
        assert_eq!((blocked.teams().count(), blocked.devices().len()), (0, 0));
        let mut full = Blocked::open(folder.path()).unwrap();
        full.teams.since = (0..1_024).map(|number| (team(number), NOW)).collect();
        let error = full.teams.change(team(1_024), Some(NOW)).unwrap_err().to_string();
        assert!(error.contains("unblock one"), "{error}");
        assert_eq!(full.teams().count(), 1_024);
        full.devices.since = (0..256).map(|number| (device(number), NOW)).collect();
        let error = full.devices.change(device(256), Some(NOW)).unwrap_err().to_string();
        assert!(error.contains("256 devices are blocked already"), "{error}");
        assert_eq!(full.devices().len(), BlockedDevices::MAX);
    }
}
