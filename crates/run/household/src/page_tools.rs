//! What the household's page needs of other parts: a past that is decided again, and the team's members.

use guestright_error::RunError;
use guestright_host::home::page::{MadeCode, MemberChange, Tools, Trial};
use guestright_page::DryRun;
use guestright_team::from_page::Members;
use guestright_units::TeamId;
use std::path::PathBuf;

/// For one home.
#[derive(Debug)]
pub struct PageTools {
    /// The home's state directory.
    pub state: PathBuf,
    pub team: TeamId,
    /// Nothing: the home has no key of the team.
    pub members: Option<Members>,
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
