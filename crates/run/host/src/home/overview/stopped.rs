//! The overview of a home that does not run: what its files say.

use super::gather;
use guestright_identity::Certificate;
use guestright_overview::{LeftOut, May, Moment, Name, Overview, Sentence, Standing, State, Team};
use guestright_store::Store;
use guestright_units::UnixSeconds;
use std::collections::BTreeMap;
use std::path::Path;

/// What can be said of a home with this state directory and certificate while it does not run. `start` says how to start it.
pub fn stopped(state: &Path, certificate: &Certificate, start: &str) -> Overview {
    let now = guestright_clock::unix_seconds();
    let is_locked = Store::is_in_use(&state.join(crate::home::STORE));
    Overview {
        version: Name::shortened(env!("CARGO_PKG_VERSION")),
        at: Moment::from(now),
        team: Team(certificate.team_id()),
        may: May::Change,
        everybody_until: None,
        standing: standing(now, certificate.not_before(), is_locked, start),
        access_points: Vec::new(),
        guests: Vec::new(),
        calls: Vec::new(),
        credit: None,
        balances: Vec::new(),
        why: None,
        hours: Vec::new(),
        refusals: Vec::new(),
        members: Vec::new(),
        findings: gather::findings(certificate, None),
        names: BTreeMap::new(),
        left_out: LeftOut::default(),
    }
}

fn standing(now: UnixSeconds, begins: UnixSeconds, is_locked: bool, start: &str) -> Standing {
    let start = format!("Start it: {start}.");
    let (state, says, to_do) = if now < begins {
        let says = format!("The home does not run, and the clock of this computer is wrong: it says {now}.");
        let to_do =
            "Connect the computer to the Internet and wait a minute, or set the clock; then start the home.";
        (State::ClockWrong, says, to_do.to_owned())
    } else if is_locked {
        let says = "Another program has the store open, so nothing can be kept and nobody is let in.";
        let to_do =
            "End the other program, for example a second home or a backup that hangs; then start the home.";
        (State::StoreLocked, says.to_owned(), to_do.to_owned())
    } else {
        let says = "The home does not run: access points serve guests from what may be given away without it, and after that \
                    nobody.";
        (State::HomeAway, says.to_owned(), start)
    };
    let (says, to_do) = (Sentence::shortened(&says), Some(Sentence::shortened(&to_do)));
    Standing { state, on: false, says, to_do, since: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::credentials;
    use guestright_identity::Role;
    use guestright_store::Limits;

    #[test]
    fn a_home_that_does_not_run_says_why_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let certificate = credentials(Role::Home).certificate;
        let state = || stopped(folder.path(), &certificate, "guestright home").standing;
        assert_eq!(state().state, State::HomeAway);
        assert_eq!(state().to_do.unwrap().as_str(), "Start it: guestright home.");
        let limits = Limits { receipts_max: 10, own_team: None };
        let store = Store::open(&folder.path().join(crate::home::STORE), limits).unwrap();
        assert_eq!(state().state, State::StoreLocked);
        drop(store);
        assert_eq!(state().state, State::HomeAway);
        let early = standing(UnixSeconds(5), UnixSeconds(6), true, "");
        assert_eq!((early.state, early.on), (State::ClockWrong, false));
    }

    #[test]
    fn it_is_an_overview() {
        let folder = tempfile::tempdir().unwrap();
        let overview = stopped(folder.path(), &credentials(Role::Home).certificate, "guestright home");
        assert_eq!(Overview::from_json(overview.to_json().as_bytes()).unwrap(), overview);
        assert!(overview.findings.iter().any(|finding| finding.what.as_str() == "clock" && finding.good));
    }
}
