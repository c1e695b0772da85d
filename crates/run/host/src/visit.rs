//! The loop around the visitor's machine: one session after the other, and the way home behind them.

mod ask;
pub mod background;
pub mod browser;
pub mod install;
mod look;
mod memory;
mod meter;
mod portal;
mod record;
pub mod resident;
mod session;
mod settings;
mod status;
mod stay;
mod transport;
mod way;

use crate::control::{self, Question};
use crate::home_channel::{self, FromHome};
use crate::renewal::{self, OwnCertificate};
use crate::{QUESTIONS_MAX, Stop, private};
pub use ask::{AskSettings, Foretold, ask};
use guestright_channel::{Credentials, CurrentCredentials};
use guestright_clock::Clock;
use guestright_error::RunError;
use guestright_firewall::{MacAddress, neighbour};
use guestright_receipt::Bundle;
use guestright_roaming::Ledger;
use guestright_roaming::message::{Code, Message, Update};
use guestright_roaming::renewal::{Notice, Validity};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use look::{Look, Need};
use memory::Memory;
use meter::Meter;
use rand::rngs::StdRng;
use record::Record;
pub use record::{is_guarded, running};
use serde_json::{Value, json};
use session::Session;
use settings::AccessNetwork;
pub use settings::{Settings, Stay, Transport};
use stay::Staying;
pub use stay::{Ended, stay_on};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio::time::Interval;
use transport::Line;
use way::{Plan, TunnelEvent, Way};

/// The first pause before a session that was lost is opened again; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Where a running visit with this state directory answers questions.
pub fn socket(state: &Path) -> PathBuf {
    state.join("visit.sock")
}

/// Where the kill switch's changes are written down: while the file is there, the switch is closed.
pub fn switch_file(state: &Path) -> PathBuf {
    state.join("switch.json")
}

/// What a visit that was killed had left behind, and is gone now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanedUp {
    /// The kill switch, and the tunnel behind it.
    pub switch: bool,
    /// The counters of what was used.
    pub counters: bool,
}

/// Puts back what a visit that was killed has left behind.
///
/// # Errors
/// The system refuses.
pub fn clean_up(state: &Path) -> Result<CleanedUp, RunError> {
    let meter = meter::file(state);
    let counters = meter.exists();
    guestright_firewall::clean_up(&meter).map_err(RunError::network)?;
    let switch = way::undo(state)?;
    Record::forget(state);
    Ok(CleanedUp { switch, counters })
}

/// A visit, whatever sessions it is made of.
struct Guest<'a, W> {
    settings: &'a Settings,
    credentials: CurrentCredentials,
    own: OwnCertificate,
    network: AccessNetwork,
    /// The access point's hardware address, as soon as it is known: another one is another access point.
    hardware: Option<MacAddress>,
    clock: Clock,
    rng: StdRng,
    memory: Memory,
    ledger: Ledger,
    meter: Meter,
    session: Option<Session>,
    /// Why the access point had no room for us, as was last reported, and when that was.
    busy: Option<(String, Instant)>,
    /// Signed for in sessions that are over.
    signed_before: Bytes,
    was_granted: bool,
    provider: Option<TeamId>,
    is_leaving: bool,
    /// Why nobody reads any more what is reported: the terminal was closed, for example. Then we leave.
    output_lost: Option<std::io::Error>,
    ended: Option<(Code, String)>,
    home: HomeChannel,
    way: Option<Way>,
    /// When it is looked whether the network has changed under us, and how the tunnel is.
    look: Look,
    questions: &'a mut mpsc::Receiver<Question>,
    /// What a visit that stays on keeps in mind.
    staying: Option<Staying>,
    out: &'a mut W,
}

/// The channel to the team's home.
struct HomeChannel {
    sender: Option<mpsc::Sender<Vec<u8>>>,
    /// Where what happens on it is sent.
    events: mpsc::Sender<FromHome>,
    from: mpsc::Receiver<FromHome>,
    is_up: bool,
    was_tried: bool,
    reference: u64,
    update: Interval,
}

/// A certificate that wants nothing is looked at so often.
const CERTIFICATE_IDLE: Duration = Duration::from_secs(3_600);

/// What a person can do whose visit with a tunnel has failed.
const STAYS_CLOSED: &str = "the kill switch stays closed, and nothing leaves this computer in the clear: visit again, or \
                            open it with `guestright visit off`";

/// What a visit that stays on tells: its journal is for years.
const STANDING_EVENTS: [&str; 3] = ["standing", "moved", "disputed"];

/// How a session, or the attempt to open one, is over.
#[derive(Debug, PartialEq, Eq)]
enum Over {
    /// For the reason that is in `ended`.
    Ended,
    /// The network has changed under us.
    Moved,
}

/// Visits until it is asked to stop, or the access point ends the visit. What happens is written on `out`. Needs a tokio
/// runtime.
///
/// # Errors
/// There is no access point or it refuses, the tunnel's configuration cannot be used, or the system refuses. The kill
/// switch is open then, unless the hint says otherwise.
pub async fn run(
    settings: &Settings,
    credentials: Credentials,
    mut stop: Stop,
    out: &mut impl Write,
) -> Result<(), RunError> {
    let credentials = renewal::latest(credentials, &settings.state);
    check_certificate(&credentials)?;
    let network = settings.access_network()?;
    private::make_private_directory(&settings.state)?;
    let plan = match &settings.tunnel {
        Some(file) => {
            let mut plan = Plan::read(file)?;
            tokio::select! {
                found = plan.look_up() => found?,
                () = stop.requested() => return Ok(()),
            }
            Some(plan)
        }
        None => None,
    };
    // Before anything is sent to anybody.
    let way = plan.map(|plan| Way::close(plan, Some(&network), settings)).transpose()?;
    let (asked, mut questions) = mpsc::channel(QUESTIONS_MAX);
    let socket = socket(&settings.state);
    control::serve(&socket, asked)?;
    let record = Record::write(&settings.state);
    let mut guest = Guest::new(settings, credentials, network, way, &mut questions, out)?;
    let outcome = guest.sessions(&mut stop).await;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(&socket);
    let goes_on = guest.went_on() && !guest.is_leaving;
    let outcome = outcome.and(guest.output_lost.take().map_or(Ok(()), |error| Err(RunError::Output(error))));
    end(guest.way.take(), record, goes_on, outcome)
}

/// Opens the switch, if there is one: not after a failure of a visit that had a session and that nobody has ended (`goes_on`).
fn end(
    way: Option<Way>,
    record: Record,
    goes_on: bool,
    outcome: Result<(), RunError>,
) -> Result<(), RunError> {
    let Some(way) = way else {
        record.remove();
        return outcome;
    };
    if let (Err(error), true) = (&outcome, goes_on) {
        tracing::debug!(%error, "the kill switch stays closed");
        way.stay_closed();
        return outcome.map_err(|error| error.with_hint(STAYS_CLOSED));
    }
    let left = way.leave();
    if left.is_ok() {
        record.remove();
    }
    outcome?;
    left.map_err(|error| error.with_hint("try `guestright visit off`"))
}

impl<'a, W: Write> Guest<'a, W> {
    fn new(
        settings: &'a Settings,
        credentials: Credentials,
        network: AccessNetwork,
        way: Option<Way>,
        questions: &'a mut mpsc::Receiver<Question>,
        out: &'a mut W,
    ) -> Result<Self, RunError> {
        let (meter, remark) = Meter::start(&network, &settings.state)?;
        // The loop never waits for the tasks that send here: they may wait for it.
        let (events, from) = mpsc::channel(home_channel::EVENTS_MAX);
        let memory = Memory::new(&settings.state, credentials.certificate.clone());
        let mut clock = Clock::start();
        let ledger = memory.ledger(clock.now());
        let credentials = CurrentCredentials::from(credentials);
        let mut rng = guestright_clock::rng();
        let own =
            OwnCertificate::new(&credentials, &settings.certificate, &settings.state, &mut rng, clock.now());
        let mut guest = Self {
            settings,
            credentials,
            own,
            network,
            hardware: None,
            clock,
            rng,
            memory,
            ledger,
            meter,
            session: None,
            busy: None,
            signed_before: Bytes(0),
            was_granted: false,
            provider: None,
            is_leaving: false,
            output_lost: None,
            ended: None,
            home: HomeChannel {
                sender: None,
                events,
                from,
                is_up: false,
                was_tried: false,
                reference: 0,
                update: tokio::time::interval(settings.update_every),
            },
            look: way.as_ref().map_or_else(Look::at_nothing, |way| Look::start(way.bell())),
            way,
            questions,
            staying: settings.stay.as_ref().map(|_| Staying::default()),
            out,
        };
        if let Some(remark) = remark {
            guest.report("remark", &remark, json!({ "reason": remark.clone() }))?;
        }
        Ok(guest)
    }
}

/// Nobody serves a member whose certificate has ended: better said before anything is closed or sent.
fn check_certificate(credentials: &Credentials) -> Result<(), RunError> {
    let now = guestright_clock::unix_seconds();
    let notice = Notice::of(&credentials.certificate, now);
    match notice.validity() {
        Validity::Expired | Validity::NotYetValid => Err(RunError::config(notice.to_string())),
        Validity::Good | Validity::EndsSoon => Ok(()),
    }
}

impl<W: Write> Guest<'_, W> {
    /// Opens sessions until it is enough.
    async fn sessions(&mut self, stop: &mut Stop) -> Result<(), RunError> {
        let mut pause = PAUSE_FIRST;
        loop {
            if self.clock.was_set_back() {
                self.clock = Clock::start();
                self.own.clock_was_set(&mut self.rng, self.clock.now());
            }
            let over = match self.connect(stop).await {
                Ok(Some(line)) => self.session(line, stop).await?,
                Ok(None) if self.is_leaving => return self.left_early(),
                Ok(None) => Over::Moved,
                Err(error) if self.staying.is_some() => {
                    self.ended = Some((Code::NoSession, error.sentence()));
                    Over::Ended
                }
                Err(error) => return Err(error),
            };
            if let Some(session) = &self.session
                && session.is_open()
            {
                pause = PAUSE_FIRST;
            }
            self.forget_session();
            if over == Over::Ended && !self.resumes() {
                return self.finish();
            }
            if over == Over::Ended && self.staying.is_some() {
                if !self.pause_before_asking_again(stop).await? {
                    return self.left_early();
                }
            } else if over == Over::Ended {
                let (code, reason) = self.ended.take().unwrap_or((Code::NoSession, "ended".to_owned()));
                let facts = json!({ "code": code.to_string(), "reason": reason });
                self.report("lost", &format!("the session is over ({reason}); opening another one"), facts)?;
                if !self.pause(pause, stop).await? {
                    return self.left_early();
                }
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    /// The end of a visit whose last session is over, if there was one.
    fn left_early(&mut self) -> Result<(), RunError> {
        if self.was_granted {
            self.ended = Some((Code::Closed, "left while no access point served".to_owned()));
            return self.finish();
        }
        Ok(())
    }

    /// Whether a session that is over is opened again: with a tunnel, once there was one (also in a visit that was
    /// killed), until the person leaves. Whatever an access point says, it may be somebody who wants the kill switch open.
    fn resumes(&self) -> bool {
        self.way.is_some() && (self.went_on() || self.staying.is_some()) && !self.is_leaving
    }

    /// Whether there was a session, in this run or in the one before it that was killed.
    fn went_on(&self) -> bool {
        self.was_granted || self.way.as_ref().is_some_and(Way::goes_on)
    }

    /// A way to the access point; none if there is another access point by now, or we leave.
    async fn connect(&mut self, stop: &mut Stop) -> Result<Option<Line>, RunError> {
        let access_point = SocketAddr::from((self.network.access_point, self.settings.port));
        let interface = self.network.interface.clone();
        let opening = Line::open(access_point, &interface, self.settings.transport);
        tokio::pin!(opening);
        loop {
            self.keep_certificate()?;
            let (certificate_due, need) = (self.certificate_due(), self.needs_look());
            tokio::select! {
                line = &mut opening => match line {
                    Ok(line) => return Ok(Some(line)),
                    Err(error) if !self.was_granted || self.way.is_none() || self.staying.is_some() => {
                        return Err(error);
                    }
                    // There may be no network at the moment.
                    Err(_) => {
                        self.pause(PAUSE_MAX, stop).await?;
                        return Ok(None);
                    }
                },
                () = self.look.tick(need) => if self.look_around()? {
                    return Ok(None);
                },
                Some(event) = self.home.from.recv() => self.handle_home(event)?,
                () = tokio::time::sleep(certificate_due) => {}
                Some((question, reply)) = self.questions.recv() => status::answer(self, &question, reply),
                () = stop.requested() => self.leave(),
            }
            if self.is_leaving {
                return Ok(None);
            }
        }
    }

    /// Waits between two sessions; false if we leave.
    async fn pause(&mut self, pause: Duration, stop: &mut Stop) -> Result<bool, RunError> {
        let until = tokio::time::Instant::now() + pause;
        loop {
            self.keep_certificate()?;
            let (certificate_due, need) = (self.certificate_due(), self.needs_look());
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(true),
                () = self.look.tick(need) => if self.look_around()? {
                    return Ok(true);
                },
                Some(event) = self.home.from.recv() => self.handle_home(event)?,
                () = tokio::time::sleep(certificate_due) => {}
                Some((question, reply)) = self.questions.recv() => status::answer(self, &question, reply),
                () = stop.requested() => self.leave(),
            }
            if self.is_leaving {
                return Ok(false);
            }
        }
    }

    /// Says goodbye.
    fn leave(&mut self) {
        self.is_leaving = true;
        // Once the access point has closed, home is out of reach.
        self.hand_in();
        let now = self.clock.now();
        if let Some(session) = &mut self.session {
            session.visitor.leave(now);
        }
    }

    /// How much there is to look after at the moment.
    fn needs_look(&self) -> Need {
        let Some(way) = &self.way else { return Need::Nothing };
        let is_settled = way.is_settled() && self.session.as_ref().is_some_and(Session::is_open);
        if !is_settled {
            return Need::Unsettled;
        }
        way.impatient_at().map_or(Need::Settled, |at| Need::Unanswered(at.into()))
    }

    /// Looks how the tunnel is, and whether there is another access point; true if there is.
    fn look_around(&mut self) -> Result<bool, RunError> {
        let Some(way) = &mut self.way else { return Ok(false) };
        if way.keep_closed(self.look.switch_may_have_changed()) {
            let sentence = "another program had changed the kill switch; it is closed again, and little can have left meanwhile";
            self.report("switch", sentence, json!({ "put_back": true }))?;
        }
        let Some(way) = &mut self.way else { return Ok(false) };
        match way.look() {
            Some(TunnelEvent::Up) => {
                let home = way.home().to_string();
                self.start_home();
                let sentence = format!("everything goes home through the tunnel to {home}");
                self.report("tunnel", &sentence, json!({ "up": true, "endpoint": home }))?;
            }
            Some(TunnelEvent::NoAnswer) => {
                let home = way.home();
                let sentence = format!(
                    "your home does not answer at {home}, so nothing leaves this computer: the home has to run with \
                     [gateway], and its router has to let UDP port {} through; trying on",
                    home.port()
                );
                let facts = json!({ "up": false, "endpoint": home.to_string(), "reason": "no handshake" });
                self.report("tunnel", &sentence, facts)?;
            }
            Some(TunnelEvent::Lost(reason)) => {
                let sentence = format!("the tunnel is lost and made again: {reason}");
                self.report("tunnel", &sentence, json!({ "up": false, "reason": reason }))?;
            }
            None => {}
        }
        let has_moved = self.look_for_another_access_point()?;
        self.look_as_one_who_stays(has_moved)?;
        Ok(has_moved)
    }

    fn look_for_another_access_point(&mut self) -> Result<bool, RunError> {
        // Without a default route there is no network at the moment; the old one may come back.
        let Ok(network) = self.settings.access_network() else { return Ok(false) };
        let hardware = neighbour(network.access_point, &network.interface).unwrap_or_default();
        let other_hardware = matches!((self.hardware, hardware), (Some(then), Some(now)) if then != now);
        self.hardware = hardware.or(self.hardware);
        if network == self.network && !other_hardware {
            return Ok(false);
        }
        if let Some(way) = &mut self.way {
            way.move_to(&network, self.settings.port)?;
        }
        // The old one is taken down first: both have the same name.
        self.meter.stop();
        let (meter, _) = Meter::start(&network, &self.settings.state)?;
        self.meter = meter;
        self.hardware = hardware;
        let sentence = format!("another access point, {} on {}", network.access_point, network.interface);
        let facts =
            json!({ "access_point": network.access_point.to_string(), "interface": network.interface });
        self.network = network;
        self.busy = None;
        self.report("moved", &sentence, facts)?;
        Ok(true)
    }

    /// Home can be reached once the access point lets us through, and with a tunnel once that carries.
    fn start_home(&mut self) {
        if self.home.sender.is_none() {
            self.open_home();
        }
    }

    /// Opens the channel to the home, in place of one that there was.
    fn open_home(&mut self) {
        if let Some(home) = self.settings.home.clone() {
            let events = self.home.events.clone();
            self.home.sender = Some(home_channel::keep(home, self.credentials.clone(), events));
        }
    }

    /// Has the own certificate renewed in time, and uses the new one. An open session goes on.
    fn keep_certificate(&mut self) -> Result<(), RunError> {
        let now = self.clock.now();
        let to_do = self.own.pass_time(&mut self.rng, now);
        for message in to_do.messages {
            // If it does not fit it is asked again.
            self.home.sender.as_ref().map(|home| home.try_send(message));
        }
        if to_do.by_hand && self.home.sender.is_some() {
            self.open_home();
        }
        let Some(certificate) = to_do.renewed else { return Ok(()) };
        let until = certificate.not_after();
        self.memory.renewed(certificate.clone());
        if let Some(session) = &mut self.session {
            session.visitor.renew(certificate, &mut self.rng, now);
        }
        let sentence = format!("our certificate was renewed and holds until {until}");
        self.report("renewed", &sentence, json!({ "not_after": until.to_string() }))
    }

    /// When the certificate wants to be looked after.
    fn certificate_due(&mut self) -> Duration {
        let now = self.clock.now();
        self.own.due(now).map_or(CERTIFICATE_IDLE, |due| self.clock.until(due))
    }

    /// Hands in what we signed, and asks for what others owe us.
    fn ask_home(&mut self) {
        self.hand_in();
        let Some(home) = &self.home.sender else { return };
        self.home.reference += 1;
        let ask = self.home.reference;
        let max = u16::try_from(Bundle::RECEIPTS_MAX).unwrap_or(u16::MAX);
        let what = Update::Fetch { since: UnixSeconds(0), max };
        let _ = home.try_send(Message::Updt { reference: ask, what }.emit());
    }

    fn hand_in(&mut self) {
        let Some(home) = &self.home.sender else { return };
        for (provider, bundle) in self.memory.to_hand_in() {
            self.home.reference += 1;
            let reference = Some(self.home.reference);
            let _ = home.try_send(Message::Rcpt { reference, bundle, home: provider }.emit());
        }
    }

    fn handle_home(&mut self, event: FromHome) -> Result<(), RunError> {
        match event {
            FromHome::Up => {
                self.home.was_tried = true;
                self.home.is_up = true;
                self.home_is(None);
                let now = self.clock.now();
                self.own.handle_home(true, &mut self.rng, now);
                self.report("home", "reached the team's home", json!({ "up": true }))?;
                self.ask_home();
            }
            // The first try may come before the access point's firewall has opened.
            FromHome::Lost(_) if !self.home.was_tried => self.home.was_tried = true,
            FromHome::Lost(reason) => {
                self.home.is_up = false;
                self.home_is(Some(reason.clone()));
                let now = self.clock.now();
                self.own.handle_home(false, &mut self.rng, now);
                let sentence = format!("the team's home cannot be reached: {reason}");
                self.report("home", &sentence, json!({ "up": false, "reason": reason }))?;
            }
            FromHome::Message(bytes) if self.is_of_certificate(&bytes) => {}
            FromHome::Message(bytes) => match Message::parse(&bytes) {
                Ok(Message::Rcpt { bundle, .. }) => self.show(bundle)?,
                Ok(Message::Updt { what: Update::Taken { stored, refused }, .. }) => {
                    let sentence = format!("the team's home has {stored} of our receipts, refused {refused}");
                    self.report("handed-in", &sentence, json!({ "stored": stored, "refused": refused }))?;
                }
                Ok(other) => tracing::debug!(method = other.method(), "home has sent something unexpected"),
                Err(error) => tracing::debug!(%error, "home has sent something that is no message"),
            },
        }
        Ok(())
    }

    fn is_of_certificate(&mut self, bytes: &[u8]) -> bool {
        let now = self.clock.now();
        self.own.handle_input(bytes, &mut self.rng, now)
    }

    fn show(&mut self, bundle: Bundle) -> Result<(), RunError> {
        if bundle != self.memory.to_show() {
            self.memory.keep_to_show(&bundle)?;
            let count = bundle.receipts.len();
            let sentence = format!("showing {count} receipts over what others owe our team");
            self.report("showing", &sentence, json!({ "receipts": count }))?;
            let now = self.clock.now();
            if let Some(session) = &mut self.session {
                session.visitor.show(bundle, &mut self.rng, now);
            }
        }
        Ok(())
    }

    /// Signed for on this visit.
    fn signed(&self) -> Bytes {
        let now = self.session.as_ref().map_or(Bytes(0), |session| session.signed);
        self.signed_before.saturating_add(now)
    }

    fn forget_session(&mut self) {
        self.signed_before = self.signed();
        self.session = None;
    }

    /// The last words, and the exit code: an error unless we left of our own will.
    fn finish(&mut self) -> Result<(), RunError> {
        let (code, reason) = self.ended.take().unwrap_or((Code::Closed, "ended".to_owned()));
        let counted = if self.was_granted { self.counted().unwrap_or_default() } else { Bytes(0) };
        let signed = self.signed();
        let sentence = format!("{reason} ({signed} signed for, {counted} counted)");
        let facts = json!({ "code": code.to_string(), "reason": reason, "signed": signed.0, "counted": counted.0,
            "provider": self.provider.map(|team| team.to_string()) });
        if code == Code::Closed || self.is_leaving {
            return self.report("ended", &sentence, facts);
        }
        if self.settings.json {
            self.report("ended", &sentence, facts)?;
        }
        let hint = match code {
            Code::Refused => {
                "ask again later, or elsewhere; whoever serves others at home is served on what is owed, if --home can \
                 fetch the receipts"
            }
            Code::Busy => "try again in a minute",
            Code::Certificate => {
                "look whether this computer's clock is right; if it is, whoever keeps your team's key has to certify this \
                 device anew: guestright team member renew NAME"
            }
            Code::Unpaid => "the access point did not get your receipt in time; visit again",
            Code::Malformed | Code::Receipt => {
                "the access point does not understand this program: are both of one version?"
            }
            Code::NoSession | Code::Closed => {
                "check that this network has a guestright access point: --access-point names one"
            }
        };
        Err(RunError::network(sentence).with_hint(hint))
    }

    /// What is reported when nobody reads it any more makes us leave, and no more than that: an orderly end opens the kill
    /// switch.
    fn report(&mut self, event: &str, sentence: &str, facts: Value) -> Result<(), RunError> {
        if self.staying.is_some() && !STANDING_EVENTS.contains(&event) {
            tracing::debug!(event, "{sentence}");
            return Ok(());
        }
        if self.output_lost.is_none()
            && let Err(error) = self.write(event, sentence, facts)
        {
            self.output_lost = Some(error);
            if !self.is_leaving {
                self.leave();
            }
        }
        Ok(())
    }

    fn write(&mut self, event: &str, sentence: &str, mut facts: Value) -> std::io::Result<()> {
        let written = if self.settings.json {
            facts["event"] = json!(event);
            facts["time_us"] = json!(self.clock.now().0);
            writeln!(self.out, "{facts}")
        } else {
            writeln!(self.out, "{sentence}")
        };
        written.and_then(|()| self.out.flush())
    }
}
