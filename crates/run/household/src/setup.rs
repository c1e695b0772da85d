//! One setup: begun, or gone on with, or taken back.

use crate::{answers_file, keys};
use guestright_error::RunError;
use guestright_setup::{Answers, Choices, Facts, Plan, PlanError};
use guestright_system::{Executor, Outcome, SystemError, survey};
use std::path::Path;

/// Where files are changed.
const ROOT: &str = "/";

/// What there is on this computer.
///
/// # Errors
/// The system would not say.
pub fn survey_computer() -> Result<Facts, RunError> {
    let seed = guestright_clock::seed().0;
    let seed = u64::from_le_bytes(seed[..8].try_into().expect("a seed has 32 bytes"));
    survey(seed).map_err(system)
}

/// Whether this program may change the computer.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What an earlier setup has left, to be taken back; nothing if there was none.
///
/// # Errors
/// The journal cannot be read, or another process has it.
pub fn open_journal() -> Result<Option<Executor>, RunError> {
    Executor::open(Path::new(ROOT)).map_err(system)
}

/// Takes everything back. Says what was taken back.
///
/// # Errors
/// What could not be taken back.
pub fn undo_setup(executor: Executor) -> Result<Vec<String>, RunError> {
    executor.undo(&mut || false).map_err(system)
}

/// A setup that was begun, or finished, earlier.
#[derive(Debug)]
pub struct Earlier {
    answers: Answers,
    executor: Executor,
}

/// The setup that was begun earlier, as far as this user may know.
///
/// # Errors
/// The journal cannot be read, or another process has it.
pub fn earlier_setup() -> Result<Option<Earlier>, RunError> {
    let executor = if is_root() { open_journal()? } else { None };
    let Some(executor) = executor else { return Ok(None) };
    // Ended before it could note them: nothing was done.
    let Some(text) = executor.answers() else { return Ok(None) };
    Ok(Some(Earlier { answers: answers_file::parse(text)?, executor }))
}

/// What is to be done, and by which answers.
///
/// Show `plan`, then call [`Setup::apply`]. Nothing is changed before that.
#[derive(Debug)]
pub struct Setup {
    pub plan: Plan,
    pub choices: Choices,
    earlier: Option<Executor>,
}

impl Setup {
    /// A first setup.
    ///
    /// # Errors
    /// The answers do not fit this computer, or cannot become keys.
    pub fn begin(facts: &Facts, answers: &Answers) -> Result<Self, RunError> {
        let choices = Choices::choose(facts, answers).map_err(plan_error)?;
        keys::check(&choices)?;
        Ok(Self { plan: Plan::new(facts, &choices), choices, earlier: None })
    }

    /// The same setup again. If answers are `wanted` they have to lead to what was chosen then.
    ///
    /// # Errors
    /// They lead to something else, or the recorded ones do not fit this computer any more.
    pub fn go_on(facts: Facts, earlier: Earlier, wanted: Option<Answers>) -> Result<Self, RunError> {
        let Earlier { answers: recorded, executor } = earlier;
        let facts = facts.without(&recorded.own_interfaces());
        let choices = Choices::choose(&facts, &recorded).map_err(plan_error)?;
        let wanted = wanted.map(|wanted| Choices::choose(&facts, &wanted.or_earlier(&recorded)));
        if wanted.is_some_and(|wanted| wanted.as_ref() != Ok(&choices)) {
            let is_finished = executor.is_finished();
            let what = if is_finished { "this computer was set up" } else { "a setup was begun here" };
            return Err(RunError::user(format!("{what} with other answers")).with_hint(
                "change the files in /etc/guestright; or begin anew after `guestright setup --undo`, which also \
                 removes the team's keys",
            ));
        }
        Ok(Self { plan: Plan::new(&facts, &choices), choices, earlier: Some(executor) })
    }

    /// Whether an earlier setup did not come to its end.
    pub fn is_unfinished(&self) -> bool {
        self.earlier.as_ref().is_some_and(|executor| !executor.is_finished())
    }

    /// Does every step whose result is not there.
    ///
    /// # Errors
    /// Something is in the way of a first setup: then nothing was done. Or a step fails: then calling it again goes on.
    pub fn apply(&mut self) -> Result<Outcome, RunError> {
        self.apply_below(Path::new(ROOT))
    }

    fn apply_below(&mut self, root: &Path) -> Result<Outcome, RunError> {
        let begun = match self.earlier.take() {
            Some(executor) => executor,
            None => self.begin_journal(root)?,
        };
        // It stays if a step fails: a journal with steps in it is never begun again, for that may take them back.
        let executor = self.earlier.insert(begun);
        let outcome = executor.apply(&self.plan.steps, &mut keys::KeyMaker, &mut || false).map_err(system)?;
        self.earlier = None; // Others may have the journal now.
        Ok(outcome)
    }

    fn begin_journal(&self, root: &Path) -> Result<Executor, RunError> {
        let text = answers_file::text(&self.choices.answers())?;
        let executor = Executor::begin(root, &text).map_err(system)?;
        if let Err(error) = executor.check_clear(&self.plan.steps) {
            // Nothing has been done yet: leave nothing behind.
            undo_setup(executor)?;
            return Err(system(error));
        }
        Ok(executor)
    }
}

fn plan_error(error: PlanError) -> RunError {
    let hint = error.hint();
    RunError::config(error).with_hint(hint)
}

fn system(error: SystemError) -> RunError {
    let hint = error.hint();
    let is_config = matches!(
        error,
        SystemError::InTheWay { .. } | SystemError::LinkInTheWay { .. } | SystemError::Journal { .. }
    );
    let error = if is_config { RunError::config(error) } else { RunError::network(error) };
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_setup::{
        Change, HomeAnswer, Init, Interface, Kind, Manager, Owner, Step, Subnet, TeamWork,
    };
    use std::collections::BTreeSet;

    /// A computer with a way to the Internet and a free wire.
    fn facts() -> Facts {
        let interface = |name: &str, addresses| Interface {
            name: name.to_owned(),
            kind: Kind::Wired,
            addresses,
            bridge: None,
            is_up: true,
        };
        let uplink: Subnet = "192.168.1.0/24".parse().unwrap();
        Facts {
            init: Init::Unknown,
            manager: Manager::Unknown,
            uplink: Some("eth0".to_owned()),
            uplink_address: Some([192, 168, 1, 20].into()),
            interfaces: vec![interface("eth0", vec![uplink]), interface("eth1", Vec::new())],
            networks: vec![("eth0".to_owned(), uplink)],
            radios: Vec::new(),
            programs: ["nft", "ip", "dnsmasq"].map(str::to_owned).into(),
            has_resolved: false,
            taken_ports: BTreeSet::new(),
            program: "/usr/bin/guestright".into(),
            packaged_units: BTreeSet::new(),
            seed: 7,
        }
    }

    fn answers(endpoint: &str) -> Answers {
        let home = HomeAnswer::Here { endpoint: Some(endpoint.to_owned()), port_mapping: true };
        Answers { home, ..Answers::default() }
    }

    #[test]
    fn an_endpoint_that_cannot_be_is_refused_before_the_first_step() {
        for endpoint in ["home.example.org:99999", "a..b", "999.1.1.1"] {
            let refused = Setup::begin(&facts(), &answers(endpoint)).unwrap_err().sentence();
            assert!(refused.starts_with("`endpoint` is") && refused.contains(endpoint), "{refused}");
        }
        for endpoint in ["home.example.org", "home.example.org:443", "203.0.113.7"] {
            Setup::begin(&facts(), &answers(endpoint)).unwrap();
        }
    }

    #[test]
    fn a_setup_that_failed_goes_on_and_takes_nothing_back() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let step = |change| Step { says: String::new(), back: String::new(), change };
        let file = |path: &str| {
            let (path, text) = (path.into(), "ours".to_owned());
            step(Change::File { path, mode: 0o600, owner: Owner::Root, text })
        };
        let work = TeamWork::Join { code: "no code".to_owned(), has_home: false };
        let fails = step(Change::Team { path: "/team".into(), work });
        let mut setup = Setup::begin(&facts(), &answers("home.example.org")).unwrap();
        setup.plan.steps = vec![file("/first"), fails, file("/last")];
        setup.apply_below(root).unwrap_err();
        // Somebody else's, and in the way of a first setup.
        std::fs::write(root.join("last"), "theirs").unwrap();
        let again = setup.apply_below(root).unwrap_err().sentence();
        assert!(again.contains("no code"), "{again}");
        assert_eq!(std::fs::read_to_string(root.join("first")).unwrap(), "ours");
        setup.plan.steps.remove(1);
        setup.apply_below(root).unwrap();
        assert!(!setup.is_unfinished());
    }
}
