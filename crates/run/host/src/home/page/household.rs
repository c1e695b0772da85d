//! What stands behind the page: the home's loop, and the tools that it has been given.

use super::codes::Codes;
use super::tools::{MadeCode, MemberChange, MemberWish, Tools, Trial};
use super::trial::Trials;
use crate::home::limits::Limits;
use crate::home::overview::OverviewHandle;
use crate::home::wishes::{Standing, Wish, WishHandle};
use guestright_clock::unix_seconds;
use guestright_error::{Fault as _, RunError};
use guestright_identity::KeyId;
use guestright_overview::{May, Moment, Name, Overview, Sum, Team};
#[cfg(feature = "metrics")]
use guestright_page::Exposition;
use guestright_page::{
    Action, Answer, Block, Blocked, DryRunSettings, EndGuest, Home, Limits as PageLimits, Refusal,
    SettingsAnswer,
};
use guestright_roaming::home::{Config, CreditConfig};
use guestright_units::UnixSeconds;
use std::sync::{Arc, Mutex, PoisonError};

const NO_CREDIT: &str = "Your home decides by one of the policies for study, which has no such limits. To change that, see [policy] in \
                         home.toml.";
const NO_TOOLS: &str = "Your home cannot do this from the page. At a terminal: guestright home --help and guestright team --help.";
const DAYS_MAX: u64 = 3_650;

/// What the page shows, and who does what it asks for.
pub(in crate::home) struct Household {
    overviews: OverviewHandle,
    wishes: WishHandle,
    tools: Option<Arc<dyn Tools>>,
    codes: Mutex<Codes>,
    trials: Trials,
    #[cfg(feature = "metrics")]
    metrics: Arc<crate::scrape::HomeMetrics>,
}

impl std::fmt::Debug for Household {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Household").finish_non_exhaustive()
    }
}

impl Home for Household {
    async fn overview(&self, may: May, why: Option<Team>) -> Result<Overview, Refusal> {
        let overview = self.overviews.overview(why).await;
        let overview = overview.map_err(|error| Refusal::Away(error.sentence()))?;
        Ok(Overview { may, ..overview })
    }

    async fn settings(&self) -> Result<SettingsAnswer, Refusal> {
        let standing = self.wish(Wish::Read).await?;
        let settings = standing.credit.as_ref().map(shown).ok_or_else(|| conflict(NO_CREDIT))?;
        let teams = standing.teams.into_iter().map(|(team, since)| (Some(Team(team)), None, since));
        let devices = standing.devices.into_iter();
        let devices =
            devices.map(|(device, since)| (None, Some(Name::shortened(&device.to_string())), since));
        let blocked = teams.chain(devices);
        let blocked = blocked.map(|(team, mac, since)| Blocked { team, mac, since: Moment::from(since) });
        Ok(SettingsAnswer { settings, blocked: blocked.collect() })
    }

    async fn code(&self, name: &str) -> Option<String> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).find(name, unix_seconds())
    }

    #[cfg(feature = "metrics")]
    async fn metrics(&self, accept: &str) -> Result<Exposition, Refusal> {
        self.metrics.exposition(accept).await
    }

    async fn act(&self, action: Action) -> Result<Answer, Refusal> {
        let wish = match action {
            Action::EndGuest(EndGuest { access_point, id }) => {
                let invalid = || Refusal::Invalid("No guest is called that.".to_owned());
                let guest = id.as_str().parse().map_err(|_| invalid())?;
                Wish::EndGuest { access_point: KeyId(access_point.0), guest }
            }
            Action::Block(Block { team: Some(team), blocked, .. }) => {
                Wish::BlockTeam { team: team.0, is_blocked: blocked }
            }
            Action::Block(Block { mac, blocked, .. }) => {
                let mac = mac.as_ref().map_or("", Name::as_str);
                let invalid = |_| Refusal::Invalid("This is no hardware address.".to_owned());
                Wish::BlockDevice { device: mac.parse().map_err(invalid)?, is_blocked: blocked }
            }
            Action::Everybody(everybody) => {
                Wish::ServeEverybody(everybody.until.map(|until| UnixSeconds(until.get())))
            }
            Action::Set(limits) => Wish::Set(wanted(&limits)),
            Action::DryRun(settings) => return self.dry_run(settings).await,
            Action::AddMember(member) => {
                let wish = MemberWish { name: member.name.as_str().to_owned(), kind: member.kind };
                return self.change_member(MemberChange::Add(wish)).await;
            }
            Action::MemberCode(code) => {
                return self.change_member(MemberChange::Code { key: code.key, kind: code.kind }).await;
            }
            Action::RenewMember(member) => {
                return self.change_member(MemberChange::Renew { key: member.key }).await;
            }
            Action::RevokeMember(member) => {
                return self.change_member(MemberChange::Revoke { key: member.key }).await;
            }
        };
        self.wish(wish).await.map(|_| Answer::Done)
    }
}

impl Household {
    pub(in crate::home) fn new(
        overviews: OverviewHandle,
        wishes: WishHandle,
        tools: Option<Arc<dyn Tools>>,
        #[cfg(feature = "metrics")] metrics: Arc<crate::scrape::HomeMetrics>,
    ) -> Self {
        Self {
            overviews,
            wishes,
            tools,
            codes: Mutex::default(),
            trials: Trials::default(),
            #[cfg(feature = "metrics")]
            metrics,
        }
    }

    async fn wish(&self, wish: Wish) -> Result<Standing, Refusal> {
        self.wishes.wish(wish).await.map_err(|error| refused(&error))
    }

    fn tools(&self) -> Result<Arc<dyn Tools>, Refusal> {
        self.tools.clone().ok_or_else(|| conflict(NO_TOOLS))
    }

    async fn dry_run(&self, DryRunSettings { limits, days }: DryRunSettings) -> Result<Answer, Refusal> {
        let (tools, limits) = (self.tools()?, wanted(&limits));
        if !(1..=DAYS_MAX).contains(&days.get()) || !limits.are_possible() {
            return Err(Refusal::Invalid("Days are 1 to 3650, and no limit is that high.".to_owned()));
        }
        let standing = self.wish(Wish::Read).await?;
        let credit = standing.credit.ok_or_else(|| conflict(NO_CREDIT))?;
        let config = |credit| Config { credit: Some(credit), ..Config::default() };
        let trial = Trial {
            in_force: config(credit),
            other: config(limits.applied_to(credit)),
            since: unix_seconds().minus(days.get() * 86_400),
        };
        let answer = self.trials.ask(tools, trial).await;
        answer.map(Answer::DryRun).map_err(Refusal::Conflict)
    }

    /// Once it has begun it is done, whether the page waits for it or not: files are not left half written.
    async fn change_member(&self, change: MemberChange) -> Result<Answer, Refusal> {
        let tools = self.tools()?;
        let wishes = self.wishes.clone();
        // A task of its own: who has asked may be gone by then. Whatever is written, the home reads it, also after an error.
        let task = tokio::spawn(async move {
            let done = tokio::task::spawn_blocking(move || tools.change_member(&change)).await;
            (done, wishes.wish(Wish::ReadMembers).await)
        });
        let stops = |_| Refusal::Away("The home stops.".to_owned());
        let (done, read) = task.await.map_err(stops)?;
        let made = done.map_err(stops)?.map_err(|error| refused(&error))?;
        read.map_err(|error| {
            let hint = "What was changed is on the disk. When the home has read it, ask for the code again.";
            refused(&if made.is_some() { error.with_hint(hint) } else { error })
        })?;
        Ok(made.map_or(Answer::Done, |made: MadeCode| {
            let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
            Answer::Code(codes.keep(made, unix_seconds()))
        }))
    }
}

fn shown(config: &CreditConfig) -> PageLimits {
    let Limits { allowance_bytes_per_day, founding_bytes, lend_bytes_max, hold } = Limits::of(config);
    PageLimits {
        allowance_bytes_per_day: Sum::at_most_max(allowance_bytes_per_day),
        founding_bytes: Sum::at_most_max(founding_bytes),
        lend_bytes_max: Sum::at_most_max(lend_bytes_max),
        hold,
    }
}

fn wanted(limits: &PageLimits) -> Limits {
    Limits {
        allowance_bytes_per_day: limits.allowance_bytes_per_day.get(),
        founding_bytes: limits.founding_bytes.get(),
        lend_bytes_max: limits.lend_bytes_max.get(),
        hold: limits.hold,
    }
}

fn conflict(sentence: &str) -> Refusal {
    Refusal::Conflict(sentence.to_owned())
}

/// An error, as a sentence of the page with what to do.
fn refused(error: &RunError) -> Refusal {
    let text = error.sentence();
    let mut letters = text.chars();
    let begin: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let mut sentence = format!("{begin}{}.", letters.as_str().trim_end_matches('.'));
    if let Some(hint) = error.hint() {
        sentence.push_str(&format!(" What to do: {}.", hint.trim_end_matches('.')));
    }
    Refusal::Conflict(sentence)
}
