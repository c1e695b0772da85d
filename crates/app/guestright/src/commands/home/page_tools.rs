//! What the household's page needs of other parts of the program: `home simulate`, and `team member`.

use crate::commands::team::read_home;
use crate::settings::{self, HomeSettings, Source};
use guestright_error::RunError;
use guestright_host::home::page::{MadeCode, MemberChange, Tools, Trial};
use guestright_page::DryRun;
use guestright_team::from_page::Members;
use guestright_units::TeamId;
use std::path::PathBuf;

/// For one home.
#[derive(Debug)]
pub(super) struct PageTools {
    state: PathBuf,
    team: TeamId,
    members: Option<Members>,
}

impl PageTools {
    pub(super) fn new(settings: &HomeSettings, source: &Source, team: TeamId) -> Self {
        let origin = source.origin();
        let dir = settings.web.as_ref().and_then(|web| web.team.as_ref());
        let members = dir.map(|dir| Members {
            dir: settings::beside(&origin, dir),
            home: source.file().to_owned(),
            read_home,
        });
        Self { state: settings::beside(&origin, &settings.state), team, members }
    }
}

impl Tools for PageTools {
    fn dry_run(
        &self,
        Trial { in_force, other, since }: &Trial,
        progress: &mut dyn FnMut(u64, u64) -> Result<(), RunError>,
    ) -> Result<DryRun, RunError> {
        let settings = guestright_dry_run::Settings {
            state: &self.state,
            team: self.team,
            in_force,
            other,
            since: *since,
        };
        let report = guestright_dry_run::run(settings, progress)?;
        serde_json::from_value(report.to_json()).map_err(RunError::bug)
    }

    fn change_member(&self, change: &MemberChange) -> Result<Option<MadeCode>, RunError> {
        let members = self.members.as_ref().ok_or_else(|| {
            RunError::config("this home does not have the team's key, so members are changed at a terminal")
                .with_hint(
                    "guestright team member --help; or name the team's directory in home.toml, [web] team",
                )
        })?;
        members.change(change)
    }
}
