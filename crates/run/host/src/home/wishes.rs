//! What the household's page wants done, by the home in its loop and by its access points.

use super::blocked::{self, DeviceChange};
use super::limits::{self, Limits};
use super::orders::{self, Report};
use super::{Loop, Settings, everybody, overview};
use crate::reload::Reload;
use guestright_error::RunError;
use guestright_firewall::MacAddress;
use guestright_identity::KeyId;
use guestright_roaming::home::CreditConfig;
use guestright_roaming::message::GuestId;
use guestright_units::{TeamId, UnixSeconds};
use tokio::sync::{mpsc, oneshot};

/// How many may wait for the loop.
pub(super) const WISHES_MAX: usize = 16;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Wish {
    /// Nothing: say what is set.
    Read,
    EndGuest {
        access_point: KeyId,
        guest: GuestId,
    },
    /// Sessions of its members that the page knows of end too.
    BlockTeam {
        team: TeamId,
        is_blocked: bool,
    },
    BlockDevice {
        device: MacAddress,
        is_blocked: bool,
    },
    ServeEverybody(Option<UnixSeconds>),
    Set(Limits),
    /// Members' files are others.
    ReadMembers,
}

/// What is set.
#[derive(Debug)]
pub(super) struct Standing {
    /// Nothing: the home decides by a policy of the papers.
    pub(super) credit: Option<CreditConfig>,
    pub(super) teams: Vec<(TeamId, UnixSeconds)>,
    pub(super) devices: Vec<(MacAddress, UnixSeconds)>,
}

/// A wish, and where to say what came of it.
#[derive(Debug)]
pub(super) struct Wished {
    wish: Wish,
    reply: oneshot::Sender<Result<Standing, RunError>>,
}

/// A way to have things done by a running home.
#[derive(Clone, Debug)]
pub(super) struct WishHandle(pub(super) mpsc::Sender<Wished>);

impl WishHandle {
    /// Has it done, and says what is set then.
    ///
    /// # Errors
    /// It cannot be done, an access point does not answer, or the home stops or has too much to do.
    pub(super) async fn wish(&self, wish: Wish) -> Result<Standing, RunError> {
        let (reply, answer) = oneshot::channel();
        let stopped = || RunError::network("the home does not answer: it stops, or has too much to do");
        self.0.send(Wished { wish, reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

/// Does it, and answers: at once, or when access points have answered.
pub(super) fn handle(this: &mut Loop, wished: Wished, reload: &mut Reload<Settings>) {
    let Wished { wish, reply } = wished;
    match carry_out(this, wish, reload) {
        Ok(reports) => {
            let standing = Standing {
                credit: this.server.credit_config().copied(),
                teams: this.blocked.teams_since().collect(),
                devices: this.blocked.devices_since().collect(),
            };
            tokio::spawn(async move {
                let _ = reply.send(all_done(reports).await.map(|()| standing));
            });
        }
        Err(error) => drop(reply.send(Err(error))),
    }
}

/// What access points will say of it.
type Reports = Vec<oneshot::Receiver<Report>>;

fn carry_out(this: &mut Loop, wish: Wish, reload: &mut Reload<Settings>) -> Result<Reports, RunError> {
    match wish {
        Wish::Read => {}
        Wish::EndGuest { access_point, guest } => {
            let report = orders::end_guest(this, access_point, guest);
            let away = || RunError::network("this access point is not connected");
            return Ok(vec![report.ok_or_else(away)?]);
        }
        Wish::BlockTeam { team, is_blocked } => {
            blocked::set_team(this, team, is_blocked)?;
            if is_blocked {
                let guests = overview::known_guests(this, team);
                let ended = guests.into_iter().filter_map(|(at, guest)| orders::end_guest(this, at, guest));
                return Ok(ended.collect());
            }
        }
        Wish::BlockDevice { device, is_blocked } => {
            let DeviceChange { report, .. } = blocked::change_device(this, device, is_blocked)?;
            return Ok(vec![report]);
        }
        Wish::ServeEverybody(until) => everybody::set(this, until)?,
        Wish::Set(limits) => set(this, limits)?,
        Wish::ReadMembers => {
            let answer = this.reload(reload);
            if let Some(error) = answer["error"].as_str() {
                return Err(RunError::config(error));
            }
        }
    }
    Ok(Reports::new())
}

/// Comes back when all access points have done it.
///
/// # Errors
/// One could not, or does not answer; what could be done is done.
async fn all_done(reports: Reports) -> Result<(), RunError> {
    for report in reports {
        let Report { failed, silent, .. } = report.await.unwrap_or_default();
        if let Some((_, reason)) = failed.into_iter().next() {
            return Err(RunError::network(format!("an access point could not do it: {reason}")));
        }
        if !silent.is_empty() {
            let says = "an access point has not answered, and may have done it or not";
            return Err(RunError::network(says).with_hint("look at the page again in a moment"));
        }
    }
    Ok(())
}

fn set(this: &mut Loop, limits: Limits) -> Result<(), RunError> {
    let none = "this home decides by a policy of the papers, which has no such limits: [policy] in home.toml";
    let of_settings = this.credit_of_settings.ok_or_else(|| RunError::config(none))?;
    if !limits.are_possible() {
        return Err(RunError::user(format!("no limit is higher than {} bytes", limits::MAX)));
    }
    limits::keep(&this.state, limits, &of_settings)?;
    this.server.set_credit(limits.applied_to(of_settings));
    Ok(())
}
