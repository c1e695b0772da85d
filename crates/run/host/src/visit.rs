//! The program around the visitor's machine: one session after the other, and the way home behind them.

mod look;
mod session;
mod status;

use super::memory::Memory;
use super::meter::Meter;
use super::transport::Line;
use super::way::{News, Plan, Way};
use super::{Place, Visit};
use crate::control::{self, Question};
use crate::homeward::{self, FromHome};
use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_cli::failure::{Failure, Outcome};
use guestright_cli::signals::Signals;
use guestright_clock::Clock;
use guestright_firewall::{MacAddress, neighbour};
use guestright_receipt::Bundle;
use guestright_roaming::message::{Code, Message, Update};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use look::Look;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use session::Session;
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::Interval;

/// The first pause before a session that was lost is opened again; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A visit, whatever sessions it is made of.
struct Guest<'a, W> {
    visit: &'a Visit,
    credentials: Credentials,
    place: Place,
    /// The access point's hardware address, as soon as it is known: another one is another access point.
    hardware: Option<MacAddress>,
    clock: Clock,
    rng: StdRng,
    memory: Memory,
    meter: Meter,
    session: Option<Session>,
    /// Signed for in sessions that are over.
    signed_before: Bytes,
    was_granted: bool,
    provider: Option<TeamId>,
    is_leaving: bool,
    ended: Option<(Code, String)>,
    home: Homeward,
    way: Option<Way>,
    /// When it is looked whether the network has changed under us, and how the tunnel is.
    look: Look,
    questions: mpsc::Receiver<Question>,
    out: &'a mut W,
}

/// The channel to the team's home.
struct Homeward {
    sender: Option<mpsc::Sender<Vec<u8>>>,
    events: Option<mpsc::UnboundedSender<FromHome>>,
    from: mpsc::UnboundedReceiver<FromHome>,
    is_up: bool,
    was_tried: bool,
    reference: u64,
    update: Interval,
}

/// How a session, or the attempt to open one, is over.
#[derive(Debug, PartialEq, Eq)]
enum Over {
    /// For the reason that is in `ended`.
    Ended,
    /// The network has changed under us.
    Moved,
}

pub(super) async fn run(
    visit: &Visit,
    place: Place,
    credentials: Credentials,
    out: &mut impl Write,
) -> Outcome {
    let mut signals = Signals::take()?;
    let plan = match visit.tunnel_file()? {
        Some(file) => Some(tokio::select! {
            plan = Plan::read(&file) => plan?,
            () = signals.recv() => return Ok(()),
        }),
        None => None,
    };
    // Before anything is said to anybody.
    let way = plan.map(|plan| Way::close(plan, &place, visit.port, &visit.state)).transpose()?;
    let (meter, remark) = Meter::start(&place.interface, place.access_point, &visit.state)?;
    let (asked, questions) = mpsc::channel(16);
    let socket = super::socket(&visit.state);
    control::serve(&socket, asked)?;
    let (events, from) = mpsc::unbounded_channel();
    let memory = Memory::new(&visit.state, credentials.certificate.clone());
    let mut guest = Guest {
        visit,
        credentials,
        place,
        hardware: None,
        clock: Clock::start(),
        rng: guestright_clock::rng(),
        memory,
        meter,
        session: None,
        signed_before: Bytes(0),
        was_granted: false,
        provider: None,
        is_leaving: false,
        ended: None,
        home: Homeward {
            sender: None,
            events: Some(events),
            from,
            is_up: false,
            was_tried: false,
            reference: 0,
            update: tokio::time::interval(Duration::from_secs(visit.update_seconds)),
        },
        way,
        look: Look::start(),
        questions,
        out,
    };
    if let Some(remark) = remark {
        guest.say("remark", &remark, json!({ "reason": remark.clone() }))?;
    }
    let outcome = guest.sessions(&mut signals).await;
    // It is only a door; the next start replaces it.
    let _ = std::fs::remove_file(&socket);
    let left = guest.way.take().map(Way::leave).transpose();
    outcome?;
    left.map_err(|error| Failure::network(error).hint("try `guestright visit off`"))?;
    Ok(())
}

impl<W: Write> Guest<'_, W> {
    /// Opens sessions until it is enough.
    async fn sessions(&mut self, signals: &mut Signals) -> Outcome {
        let mut pause = PAUSE_FIRST;
        loop {
            let over = match self.connect(signals).await? {
                Some(line) => self.session(line, signals).await?,
                None if self.is_leaving => return self.left_early(),
                None => Over::Moved,
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
            if over == Over::Ended {
                let (code, reason) = self.ended.take().unwrap_or((Code::NoSession, "ended".to_owned()));
                let facts = json!({ "code": code.to_string(), "reason": reason });
                self.say("lost", &format!("the session is over ({reason}); opening another one"), facts)?;
                if !self.pause(pause, signals).await? {
                    return self.left_early();
                }
                pause = (pause * 2).min(PAUSE_MAX);
            }
        }
    }

    /// The end of a visit whose last session is over, if there was one.
    fn left_early(&mut self) -> Outcome {
        if self.was_granted {
            self.ended = Some((Code::Closed, "left while no access point served".to_owned()));
            return self.finish();
        }
        Ok(())
    }

    /// Whether a session that is over is opened again: with a tunnel, once there was one (also in a visit that was
    /// killed), and if it can make a difference.
    fn resumes(&self) -> bool {
        let last = self.ended.as_ref().is_none_or(|(code, _)| *code != Code::Certificate);
        let went_on = self.was_granted || self.way.as_ref().is_some_and(Way::goes_on);
        self.way.is_some() && went_on && !self.is_leaving && last
    }

    /// A way to the access point; none if there is another access point by now, or we leave.
    async fn connect(&mut self, signals: &mut Signals) -> anyhow::Result<Option<Line>, Failure> {
        let access_point = SocketAddr::from((self.place.access_point, self.visit.port));
        let interface = self.place.interface.clone();
        let opening = Line::open(access_point, &interface, self.visit.transport);
        tokio::pin!(opening);
        loop {
            tokio::select! {
                line = &mut opening => match line {
                    Ok(line) => return Ok(Some(line)),
                    Err(failure) if !self.was_granted || self.way.is_none() => return Err(failure),
                    // There may be no network at the moment.
                    Err(_) => {
                        self.pause(PAUSE_MAX, signals).await?;
                        return Ok(None);
                    }
                },
                () = self.look.tick() => if self.look_around()? {
                    return Ok(None);
                },
                Some(event) = self.home.from.recv() => self.handle_home(event)?,
                Some((question, reply)) = self.questions.recv() => self.answer(&question, reply),
                () = signals.recv() => {
                    self.leave();
                    return Ok(None);
                }
            }
        }
    }

    /// Waits between two sessions; false if we leave.
    async fn pause(&mut self, pause: Duration, signals: &mut Signals) -> anyhow::Result<bool> {
        let until = tokio::time::Instant::now() + pause;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => return Ok(true),
                () = self.look.tick() => if self.look_around()? {
                    return Ok(true);
                },
                Some(event) = self.home.from.recv() => self.handle_home(event)?,
                Some((question, reply)) = self.questions.recv() => self.answer(&question, reply),
                () = signals.recv() => {
                    self.leave();
                    return Ok(false);
                }
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

    /// Looks how the tunnel is, and whether there is another access point; true if there is.
    fn look_around(&mut self) -> anyhow::Result<bool> {
        let Some(way) = &mut self.way else { return Ok(false) };
        match way.look() {
            Some(News::Up) => {
                let home = way.home().to_string();
                self.start_home();
                let said = format!("everything goes home through the tunnel to {home}");
                self.say("tunnel", &said, json!({ "up": true, "endpoint": home }))?;
            }
            Some(News::Lost(reason)) => {
                let said = format!("the tunnel is lost and made again: {reason}");
                self.say("tunnel", &said, json!({ "up": false, "reason": reason }))?;
            }
            None => {}
        }
        self.look_for_another_access_point()
    }

    fn look_for_another_access_point(&mut self) -> anyhow::Result<bool> {
        // Without a default route there is no network at the moment; the old place may come back.
        let Ok(place) = self.visit.place() else { return Ok(false) };
        let hardware = neighbour(place.access_point, &place.interface).unwrap_or_default();
        let other_hardware = matches!((self.hardware, hardware), (Some(then), Some(now)) if then != now);
        self.hardware = hardware.or(self.hardware);
        if place == self.place && !other_hardware {
            return Ok(false);
        }
        if let Some(way) = &mut self.way {
            way.move_to(&place, self.visit.port)?;
        }
        // The old one is taken down first: both have the same name.
        self.meter.stop();
        let (meter, _) = Meter::start(&place.interface, place.access_point, &self.visit.state)?;
        self.meter = meter;
        self.hardware = hardware;
        let said = format!("another access point, {} on {}", place.access_point, place.interface);
        let facts = json!({ "access_point": place.access_point.to_string(), "interface": place.interface });
        self.place = place;
        self.say("moved", &said, facts)?;
        Ok(true)
    }

    /// Home can be reached once the access point lets us through, and with a tunnel once that carries.
    fn start_home(&mut self) {
        if let (Some(address), Some(events)) = (self.visit.home, self.home.events.take()) {
            self.home.sender = Some(homeward::keep(address, self.credentials.clone(), events));
        }
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
        let bundle = self.memory.to_hand_in();
        if !bundle.receipts.is_empty() {
            self.home.reference += 1;
            let _ = home.try_send(Message::Rcpt { reference: Some(self.home.reference), bundle }.emit());
        }
    }

    fn handle_home(&mut self, event: FromHome) -> anyhow::Result<()> {
        match event {
            FromHome::Up => {
                self.home.was_tried = true;
                self.home.is_up = true;
                self.say("home", "reached the team's home", json!({ "up": true }))?;
                self.ask_home();
            }
            // The first try may come before the access point's firewall has opened.
            FromHome::Lost(_) if !self.home.was_tried => self.home.was_tried = true,
            FromHome::Lost(reason) => {
                self.home.is_up = false;
                let said = format!("the team's home cannot be reached: {reason}");
                self.say("home", &said, json!({ "up": false, "reason": reason }))?;
            }
            FromHome::Message(bytes) => match Message::parse(&bytes) {
                Ok(Message::Rcpt { bundle, .. }) => self.show(bundle)?,
                Ok(Message::Updt { what: Update::Taken { stored, refused }, .. }) => {
                    let said = format!("the team's home has {stored} of our receipts, refused {refused}");
                    self.say("handed-in", &said, json!({ "stored": stored, "refused": refused }))?;
                }
                Ok(other) => tracing::debug!(method = other.method(), "home said something unexpected"),
                Err(error) => tracing::debug!(%error, "home said something that is no message"),
            },
        }
        Ok(())
    }

    fn show(&mut self, bundle: Bundle) -> anyhow::Result<()> {
        if bundle != self.memory.to_show() {
            self.memory.keep_to_show(&bundle)?;
            let count = bundle.receipts.len();
            let said = format!("showing {count} receipts over what others owe our team");
            self.say("showing", &said, json!({ "receipts": count }))?;
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
    fn finish(&mut self) -> Outcome {
        let (code, reason) = self.ended.take().unwrap_or((Code::Closed, "ended".to_owned()));
        let counted = if self.was_granted { self.meter.read().unwrap_or_default() } else { Bytes(0) };
        let signed = self.signed();
        let said = format!("{reason} ({signed} signed for, {counted} counted)");
        let facts = json!({ "code": code.to_string(), "reason": reason, "signed": signed.0, "counted": counted.0,
            "provider": self.provider.map(|team| team.to_string()) });
        if code == Code::Closed {
            return Ok(self.say("ended", &said, facts)?);
        }
        if self.visit.json {
            self.say("ended", &said, facts)?;
        }
        let hint = match code {
            Code::Refused => {
                "let your team's access point serve others first, then --home fetches receipts to show"
            }
            Code::Busy => "try again in a minute",
            Code::Certificate => "ask your team for a new certificate: guestright team member add",
            Code::Unpaid => "the access point did not get your receipt in time; visit again",
            Code::Malformed | Code::Receipt | Code::NoSession | Code::Closed => {
                "check that this network has a guestright access point: --access-point names one"
            }
        };
        Err(Failure::network(anyhow!("{said}")).hint(hint))
    }

    fn say(&mut self, event: &str, said: &str, mut facts: Value) -> anyhow::Result<()> {
        if self.visit.json {
            facts["event"] = json!(event);
            facts["time_us"] = json!(self.clock.now().0);
            writeln!(self.out, "{facts}")?;
        } else {
            writeln!(self.out, "{said}")?;
        }
        Ok(self.out.flush()?)
    }
}
