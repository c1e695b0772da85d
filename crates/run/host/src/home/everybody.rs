//! Until when the household serves everybody, kept between runs.

use super::{Loop, private};
use guestright_error::RunError;
use guestright_units::UnixSeconds;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// It is for an emergency or a feast, and not for ever: so many seconds.
const LONGEST: u64 = 7 * 86_400;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept {
    until: u64,
}

fn file(state: &Path) -> PathBuf {
    state.join("everybody.json")
}

/// Until when, as it was kept by the home with this state directory. A file that cannot be read serves nobody.
pub(super) fn kept(state: &Path, now: UnixSeconds) -> Option<UnixSeconds> {
    let file = file(state);
    let bytes = match private::read_if_there(&file) {
        Ok(bytes) => bytes?,
        Err(error) => {
            tracing::warn!(%error, "it cannot be read whether everybody is served: nobody is whom the policy refuses");
            return None;
        }
    };
    match serde_json::from_slice::<Kept>(&bytes) {
        // A clock that was set back makes it no longer than it may be.
        Ok(kept) => Some(UnixSeconds(kept.until)).filter(|until| *until <= now.plus(LONGEST)),
        Err(error) => {
            tracing::warn!(%error, file = %file.display(), "until when everybody is served is damaged: nobody is whom the policy refuses");
            None
        }
    }
}

/// Makes durable until when everybody is served, and then does so; nothing: no longer.
///
/// # Errors
/// It is too long, over already, or cannot be kept.
pub(super) fn set(this: &mut Loop, until: Option<UnixSeconds>) -> Result<(), RunError> {
    let now = this.clock.now().unix_seconds();
    match until {
        Some(until) if until <= now => {
            return Err(RunError::user("until when everybody is to be served is over already"));
        }
        Some(until) if until > now.plus(LONGEST) => {
            return Err(RunError::user("everybody is served for a week at most; say it again then"));
        }
        Some(until) => {
            let text = serde_json::to_vec(&Kept { until: until.0 }).map_err(RunError::bug)?;
            private::replace(&file(&this.state), &text)?;
            tracing::info!(%until, "everybody is served from now on, in the lowest class");
        }
        None => {
            private::remove(&file(&this.state))?;
            tracing::info!("everybody is served no longer");
        }
    }
    this.server.serve_everybody(until);
    Ok(())
}

/// Answers `everybody`, `everybody SECONDS` and `everybody stop` at the control socket.
pub(super) fn answer(this: &mut Loop, words: &str) -> Value {
    let now = this.clock.now();
    let result = match words {
        "" => Ok(()),
        "stop" => set(this, None),
        seconds => match seconds.parse() {
            Ok(seconds) => set(this, Some(now.unix_seconds().plus(seconds))),
            Err(_) => Err(RunError::user(format!("{seconds} is no number of seconds"))),
        },
    };
    match result {
        Ok(()) => json!({ "until": this.server.everybody_until(now).map(|until| until.0) }),
        Err(error) => json!({ "error": error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_serves_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let now = UnixSeconds(1_800_000_000 - LONGEST);
        let kept = |now| kept(folder.path(), now);
        assert_eq!(kept(now), None);
        std::fs::write(file(folder.path()), r#"{"until":1800000000}"#).unwrap();
        assert_eq!(kept(now), Some(UnixSeconds(1_800_000_000)));
        assert_eq!(kept(now.minus(1)), None);
        for damaged in ["", "{", "{}", "[]", r#"{"until":-1}"#, r#"{"until":1,"more":2}"#] {
            std::fs::write(file(folder.path()), damaged).unwrap();
            assert_eq!(kept(now), None, "{damaged}");
        }
    }
}
