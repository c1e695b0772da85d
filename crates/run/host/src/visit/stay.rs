//! A visit that stays on, from network to network, until the person switches it off.
//!
//! What differs from a visit to one network: the kill switch is closed before there is any network, and for every
//! interface; a network without an access point of ours is used like any other, through the tunnel; whatever an access
//! point says, it is asked again after the time that this takes; other people's portals are found, and shown; and how it
//! stands is one of a few sentences ([`Standing`]), which is shown when it changes.

use super::look::{Look, Need};
use super::portal::{Outside, Proxy};
use super::settings::AccessNetwork;
use super::way::{Plan, Way};
use super::{Guest, Settings};
use crate::control::Question;
use crate::{Stop, private, renewal};
use guestright_channel::Credentials;
use guestright_error::RunError;
use guestright_roaming::message::Code;
use guestright_roaming::standing::{AccessPointState, Facts, HomeState, Standing, TunnelState, pause};
use serde_json::{Value, json};
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Instant;

/// So long an access point of ours may take to answer before the tunnel is tried without one.
const ACCESS_POINT_MAX: Duration = Duration::from_secs(3);
/// How often a tunnel that does not come about is begun anew.
const BEGIN_EVERY: Duration = Duration::from_secs(15);
/// So long a tunnel may take before something may stand in its way.
const TUNNEL_USUAL: Duration = Duration::from_secs(2);
/// How often it is looked for a portal, and where the home is.
const SEARCH_EVERY: Duration = Duration::from_secs(10);
/// A home's program that was lost is back within this, if only the tunnel was made anew.
const HOME_USUAL: Duration = Duration::from_secs(15);

/// Why a visit that stays on has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was asked to stop. The kill switch is open.
    Stopped,
    /// The person has switched it off. The kill switch is open.
    SwitchedOff,
    /// It is to begin anew with other settings. The kill switch is closed.
    Reload,
}

/// What is kept in mind from one look to the next.
#[derive(Debug)]
pub(super) struct Staying {
    /// Since when we are in this network.
    arrived: Instant,
    /// Whether an access point of ours has answered here.
    has_answered: bool,
    /// Whether one has served us here.
    was_served: bool,
    /// How often in a row it was asked in vain.
    attempts: u32,
    /// What it said last, and when it is asked again.
    refusal: Option<(Code, String, Instant)>,
    /// When the tunnel was begun last.
    begun: Option<Instant>,
    lost_home: Option<(Instant, String)>,
    search: Search,
    portal: Option<String>,
    proxy: Option<Proxy>,
    /// What was shown last, and since when that holds.
    shown: Option<(Standing, Instant)>,
    ordered: Option<Ended>,
}

/// What tasks have found beside the tunnel.
#[derive(Debug)]
struct Search {
    found: (mpsc::Sender<Found>, mpsc::Receiver<Found>),
    begun: Option<Instant>,
    is_running: bool,
    /// Which network was searched: what was found in an earlier one does not count.
    network: u64,
}

/// What a task has found in the network of this number.
#[derive(Debug)]
struct Found {
    network: u64,
    portal: Option<(String, Option<Proxy>)>,
    home: Option<Ipv4Addr>,
}

impl Default for Staying {
    fn default() -> Self {
        Self {
            arrived: Instant::now(),
            has_answered: false,
            was_served: false,
            attempts: 0,
            refusal: None,
            begun: None,
            lost_home: None,
            search: Search { found: mpsc::channel(1), begun: None, is_running: false, network: 0 },
            portal: None,
            proxy: None,
            shown: None,
            ordered: None,
        }
    }
}

impl Staying {
    /// Another network: nothing that was said in the old one holds.
    fn arrive(&mut self) {
        let network = self.search.network + 1;
        let search = Search { found: mpsc::channel(1), begun: None, is_running: false, network };
        let (shown, ordered, lost_home) = (self.shown.take(), self.ordered, self.lost_home.take());
        *self = Self { search, shown, ordered, lost_home, ..Self::default() };
    }

    fn access_point(&self, serves: Option<AccessPointState>) -> AccessPointState {
        if let Some(serves) = serves {
            return serves;
        }
        match &self.refusal {
            Some((code, reason, until)) if self.has_answered => AccessPointState::Refuses {
                code: *code,
                reason: reason.clone(),
                again_seconds: (*until - Instant::now()).as_secs(),
            },
            _ if !self.has_answered && self.arrived.elapsed() >= ACCESS_POINT_MAX => AccessPointState::Nobody,
            _ => AccessPointState::Asking,
        }
    }
}

/// Where the home was found last, for a start in a network that does not say.
fn home_file(settings: &Settings) -> PathBuf {
    settings.state.join("home-address")
}

/// Visits whatever network there is until it is switched off or asked to stop, or to begin anew. How it stands is written on
/// `out` when it changes. Questions are answered as at the socket of a visit; besides, `down` switches it off and
/// `reload` lets it begin anew. Needs a tokio runtime.
///
/// # Errors
/// The tunnel's configuration cannot be used, or the system refuses. The kill switch, if it was closed, stays closed.
pub async fn stay_on(
    settings: &Settings,
    credentials: Credentials,
    questions: &mut mpsc::Receiver<Question>,
    stop: &mut Stop,
    out: &mut impl Write,
) -> Result<Ended, RunError> {
    // One that has expired says so in the log: the tunnel leads home all the same, in networks that ask for none.
    let credentials = renewal::latest(credentials, &settings.state);
    private::make_private_directory(&settings.state)?;
    let file = settings.tunnel.as_ref().ok_or_else(|| {
        RunError::config("who stays on needs a tunnel home: every network is one that is not trusted")
    })?;
    let mut plan = Plan::read(file)?;
    if plan.name().is_some() {
        let known = std::fs::read_to_string(home_file(settings)).ok();
        if let Some(address) = known.and_then(|text| text.trim().parse().ok()) {
            plan.set_home(address);
        }
    }
    let network = settings.access_network().ok();
    let way = Way::close(plan, network.as_ref(), settings)?;
    let (network, way) = match wait_for_network(settings, network, way, questions, stop, out).await? {
        Waited::Network(network, way) => (network, *way),
        Waited::Ended(ended) => return Ok(ended),
    };
    let mut guest = Guest::new(settings, credentials, network, Some(way), questions, out)?;
    let outcome = guest.sessions(stop).await;
    let ordered = guest.staying.as_ref().and_then(|staying| staying.ordered);
    let Some(way) = guest.way.take() else { return Err(RunError::bug("the way home was taken")) };
    if let Err(error) = outcome {
        way.stay_closed();
        return Err(error);
    }
    end(way, ordered.unwrap_or(Ended::Stopped))
}

fn end(way: Way, ended: Ended) -> Result<Ended, RunError> {
    match ended {
        Ended::Reload => way.stay_closed(),
        Ended::Stopped | Ended::SwitchedOff => way.leave()?,
    }
    Ok(ended)
}

enum Waited {
    Network(AccessNetwork, Box<Way>),
    Ended(Ended),
}

/// Waits until there is a network with a way out.
async fn wait_for_network(
    settings: &Settings,
    network: Option<AccessNetwork>,
    mut way: Way,
    questions: &mut mpsc::Receiver<Question>,
    stop: &mut Stop,
    out: &mut impl Write,
) -> Result<Waited, RunError> {
    if let Some(network) = network {
        return Ok(Waited::Network(network, Box::new(way)));
    }
    let mut look = Look::start(way.bell());
    let standing = Standing::NoNetwork;
    tell(&standing, settings.json, out)?;
    let since = Instant::now();
    loop {
        tokio::select! {
            () = look.tick(Need::Unsettled) => if let Ok(network) = settings.access_network() {
                way.move_to(&network, settings.port)?;
                return Ok(Waited::Network(network, Box::new(way)));
            },
            Some((question, reply)) = questions.recv() => {
                let ordered = order(&question);
                let answer = match ordered {
                    Some(_) => json!({ "stopping": true }),
                    None => json!({ "standing": standing_json(&standing, since), "held_back": way.status_held() }),
                };
                let _ = reply.send(answer); // The asker may have gone.
                if let Some(ordered) = ordered {
                    return end(way, ordered).map(Waited::Ended);
                }
            }
            () = stop.requested() => return end(way, Ended::Stopped).map(Waited::Ended),
        }
    }
}

/// What a question orders, if it is no question.
fn order(question: &str) -> Option<Ended> {
    match question {
        "down" => Some(Ended::SwitchedOff),
        "reload" => Some(Ended::Reload),
        "stop" => Some(Ended::Stopped),
        _ => None,
    }
}

/// For programs.
pub(super) fn standing_json(standing: &Standing, since: Instant) -> Value {
    json!({ "state": standing.word(), "online": standing.is_online(), "sentence": standing.to_string(),
        "for_seconds": since.elapsed().as_secs() })
}

fn tell(standing: &Standing, as_json: bool, out: &mut impl Write) -> Result<(), RunError> {
    let shown = if as_json {
        writeln!(
            out,
            "{}",
            json!({ "event": "standing", "state": standing.word(), "sentence": standing.to_string() })
        )
    } else {
        writeln!(out, "{standing}")
    };
    shown.and_then(|()| out.flush()).map_err(RunError::Output)
}

impl<W: Write> Guest<'_, W> {
    /// An access point of ours has said something.
    pub(super) fn access_point_answered(&mut self) {
        if let Some(staying) = &mut self.staying {
            staying.has_answered = true;
        }
    }

    /// The home's program was reached, or lost for this reason.
    pub(super) fn home_is(&mut self, lost: Option<String>) {
        let Some(staying) = &mut self.staying else { return };
        staying.lost_home = lost.map(|reason| {
            let since = staying.lost_home.take().map_or_else(Instant::now, |(since, _)| since);
            (since, reason)
        });
    }

    /// Takes an order, if the question is one of a visit that stays on.
    pub(super) fn take_order(&mut self, question: &str) -> bool {
        let (Some(staying), Some(ordered)) = (&mut self.staying, order(question)) else { return false };
        staying.ordered = Some(ordered);
        self.leave();
        true
    }

    /// Waits as long as what the access point said takes; false if we leave.
    pub(super) async fn pause_before_asking_again(&mut self, stop: &mut Stop) -> Result<bool, RunError> {
        let (code, reason) = self.ended.take().unwrap_or((Code::NoSession, "it ended".to_owned()));
        let Some(staying) = &mut self.staying else { return Ok(true) };
        let pause = pause(code, staying.was_served, staying.attempts);
        staying.attempts += 1;
        tracing::debug!(%code, reason, ?pause, "asking the access point again after a pause");
        staying.refusal = Some((code, reason, Instant::now() + pause));
        self.pause(pause, stop).await
    }

    /// What there is to do for one who stays, a few times a second.
    pub(super) fn look_as_one_who_stays(&mut self, has_moved: bool) -> Result<(), RunError> {
        // Who served in the network before says nothing of this one.
        let serves = self.serves().filter(|_| !has_moved);
        let is_reachable = self.settings.access_network().is_ok();
        let (Some(staying), Some(way)) = (&mut self.staying, &mut self.way) else { return Ok(()) };
        if has_moved {
            staying.arrive();
        }
        if serves.is_some() {
            (staying.was_served, staying.attempts, staying.refusal) = (true, 0, None);
        }
        let is_up = way.state() == TunnelState::Up;
        // An access point of ours lets the tunnel through when it serves; in other networks there is nobody to ask.
        let is_let =
            serves.is_some() || !staying.has_answered && staying.arrived.elapsed() >= ACCESS_POINT_MAX;
        let is_known = !way.home().ip().is_unspecified();
        if !is_up && is_let && is_known && staying.begun.is_none_or(|begun| begun.elapsed() >= BEGIN_EVERY) {
            staying.begun = Some(Instant::now());
            way.granted()?;
        }
        let waits = staying.begun.is_some_and(|begun| begun.elapsed() >= TUNNEL_USUAL) || !is_known;
        let searches = is_reachable && !is_up && is_let && waits;
        if is_up {
            (staying.portal, staying.proxy) = (None, None);
        }
        way.let_portal(searches || staying.portal.is_some())?;
        if searches && staying.search.is_due() {
            let outside = Outside { network: self.network.clone(), mark: way.mark() };
            staying.search.start(outside, way.name().map(str::to_owned), staying.portal.is_some());
        }
        if let Some(Found { portal, home, .. }) = staying.search.found() {
            if let Some((url, proxy)) = portal {
                staying.portal = Some(url);
                staying.proxy = proxy.or(staying.proxy.take());
            }
            if let Some(home) = home.filter(|home| home != way.home().ip()) {
                tracing::info!(%home, "the home has another address");
                way.follow_home(home)?;
                private::replace(&home_file(self.settings), home.to_string().as_bytes())?;
            }
        }
        self.tell_how_it_stands(serves, is_reachable)
    }

    fn serves(&self) -> Option<AccessPointState> {
        let session = self.session.as_ref().filter(|session| session.is_open())?;
        let class = session.class.as_deref()?.parse().ok()?;
        Some(AccessPointState::Serves { team: self.provider?, class })
    }

    fn tell_how_it_stands(
        &mut self,
        serves: Option<AccessPointState>,
        has_network: bool,
    ) -> Result<(), RunError> {
        let (Some(staying), Some(way)) = (&mut self.staying, &self.way) else { return Ok(()) };
        let home = match &staying.lost_home {
            Some((since, reason)) if since.elapsed() >= HOME_USUAL => HomeState::Lost(reason.clone()),
            Some(_) => HomeState::Unknown,
            None if self.home.is_up => HomeState::Reached,
            None => HomeState::Unknown,
        };
        let facts = Facts {
            is_on: true,
            has_network,
            access_point: staying.access_point(serves),
            tunnel: way.state(),
            home,
            portal: staying.portal.clone(),
            endpoint: way.name().map_or_else(|| way.home().to_string(), str::to_owned),
        };
        let standing = facts.standing();
        let (is_news, since) = match &staying.shown {
            Some((shown, since)) if shown.word() == standing.word() => {
                (standing.is_news_after(shown), *since)
            }
            Some(_) | None => (true, Instant::now()),
        };
        staying.shown = Some((standing.clone(), since));
        if is_news { tell(&standing, self.settings.json, self.out) } else { Ok(()) }
    }

    /// What `status` says besides, of a visit that stays on.
    pub(super) fn staying_json(&self) -> Value {
        let Some(staying) = &self.staying else { return Value::Null };
        let Some((standing, since)) = &staying.shown else { return Value::Null };
        let mut json = standing_json(standing, *since);
        json["portal"] = staying.portal.as_ref().map_or(Value::Null, |url| {
            json!({ "url": url, "proxy": staying.proxy.as_ref().map(|proxy| proxy.address.to_string()) })
        });
        json
    }
}

impl Search {
    fn is_due(&self) -> bool {
        !self.is_running && self.begun.is_none_or(|begun| begun.elapsed() >= SEARCH_EVERY)
    }

    /// Looks for a portal, and where the home of this name is.
    fn start(&mut self, outside: Outside, name: Option<String>, has_proxy: bool) {
        (self.begun, self.is_running) = (Some(Instant::now()), true);
        let (network, found) = (self.network, self.found.0.clone());
        tokio::spawn(async move {
            let home = match name {
                Some(name) => outside.look_up(&name).await.first().copied(),
                None => None,
            };
            let portal = match outside.find_portal().await {
                Some(url) if has_proxy => Some((url, None)),
                Some(url) => {
                    let proxy = Proxy::start(outside).await;
                    let proxy =
                        proxy.inspect_err(|error| tracing::warn!(%error, "no proxy to the portal")).ok();
                    Some((url, proxy))
                }
                None => None,
            };
            // Nobody waits for it any more, if we have moved on.
            let _ = found.send(Found { network, portal, home }).await;
        });
    }

    fn found(&mut self) -> Option<Found> {
        let found = self.found.1.try_recv().ok()?;
        self.is_running = false;
        (found.network == self.network).then_some(found)
    }
}
