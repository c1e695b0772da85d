//! What the household's page has the home do, in its loop.

use super::limits::{self, Limits};
use super::{Loop, Settings, blocked, everybody};
use crate::reload::Reload;
use guestright_error::RunError;
use guestright_roaming::home::CreditConfig;
use guestright_units::{TeamId, UnixSeconds};
use tokio::sync::{mpsc, oneshot};

/// How many may wait for the loop.
pub(super) const ORDERS_MAX: usize = 16;

/// What is to be done.
#[derive(Debug)]
pub(super) enum Order {
    /// Nothing: say what is set.
    Read,
    BlockTeam {
        team: TeamId,
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
    pub(super) blocked: Vec<(TeamId, UnixSeconds)>,
}

/// An order, and where to say what came of it.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) order: Order,
    pub(super) reply: oneshot::Sender<Result<Standing, RunError>>,
}

/// A way to have things done by a running home.
#[derive(Clone, Debug)]
pub(super) struct OrderHandle(pub(super) mpsc::Sender<Ordered>);

impl OrderHandle {
    /// Has it done, and says what is set then.
    ///
    /// # Errors
    /// It cannot be done, or the home stops or has too much to do.
    pub(super) async fn give(&self, order: Order) -> Result<Standing, RunError> {
        let (reply, answer) = oneshot::channel();
        let stopped = || RunError::network("the home does not answer: it stops, or has too much to do");
        self.0.send(Ordered { order, reply }).await.map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }
}

/// Carries out an order, and answers it.
pub(super) fn handle(this: &mut Loop, ordered: Ordered, reload: &mut Reload<Settings>) {
    let done = carry_out(this, ordered.order, reload);
    let standing = done.map(|()| Standing {
        credit: this.server.credit_config().copied(),
        blocked: this.blocked.iter().collect(),
    });
    let _ = ordered.reply.send(standing);
}

fn carry_out(this: &mut Loop, order: Order, reload: &mut Reload<Settings>) -> Result<(), RunError> {
    match order {
        Order::Read => Ok(()),
        Order::BlockTeam { team, is_blocked } => blocked::set(this, team, is_blocked).map(|_| ()),
        Order::ServeEverybody(until) => everybody::set(this, until),
        Order::Set(limits) => set(this, limits),
        Order::ReadMembers => {
            let answer = this.reload(reload);
            answer["error"].as_str().map_or(Ok(()), |error| Err(RunError::config(error)))
        }
    }
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
