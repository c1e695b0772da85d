//! One session with one access point, from the first question to the last receipt.

use super::transport::Line;
use super::{Guest, Over, status};
use crate::Stop;
use guestright_channel::Credentials;
use guestright_error::RunError;
use guestright_roaming::Visitor;
use guestright_roaming::message::Code;
use guestright_roaming::visitor::{Config, Event};
use guestright_units::{Bytes, Micros, TeamId, UnixSeconds};
use serde_json::json;
use std::io::Write;
use std::time::{Duration, Instant};

/// Without a tunnel a visit ends with its session, and waits long for an access point that is silent. With one, the
/// session is opened again, and the sooner the better.
const SILENCE_MAX: Micros = Micros::from_seconds(7);
/// The same for questions to an access point that was there a moment ago: about 3.5 s.
const ATTEMPTS_MAX: u32 = 3;
/// A machine that has nothing to wait for is looked at so often.
const IDLE: Duration = Duration::from_secs(60);
/// An access point, or whoever forges its datagrams, may have a new reason each time: so often one is reported.
const BUSY_EVERY: Duration = Duration::from_secs(10);

/// The visitor's machine and what has come of it.
pub(super) struct Session {
    pub(super) visitor: Visitor,
    started: Option<UnixSeconds>,
    pub(super) class: Option<String>,
    pub(super) signed: Bytes,
}

impl Session {
    /// Whether the access point has granted it.
    pub(super) fn is_open(&self) -> bool {
        self.started.is_some()
    }
}

impl<W: Write> Guest<'_, W> {
    /// Asks for service, signs, and returns when it is over.
    pub(super) async fn session(&mut self, mut line: Line, stop: &mut Stop) -> Result<Over, RunError> {
        self.begin_session();
        self.drain(&mut line).await?;
        while self.ended.is_none() {
            let due = self.session.as_ref().and_then(|session| session.visitor.poll_timeout());
            let due = due.map_or(IDLE, |due| self.clock.until(due)).min(self.certificate_due());
            let need = self.needs_look();
            tokio::select! {
                message = line.receive() => match message {
                    Ok(message) => {
                        self.access_point_answered();
                        let now = self.clock.now();
                        self.with_visitor(|visitor| visitor.handle_input(&message, now));
                    }
                    Err(error) => self.ended = Some(self.line_lost(&error)),
                },
                Some(event) = self.home.from.recv() => self.handle_home(event)?,
                _ = self.home.update.tick() => self.ask_home(),
                () = self.look.tick(need) => if self.look_around()? {
                    return Ok(Over::Moved);
                },
                Some((question, reply)) = self.questions.recv() => status::answer(self, &question, reply),
                () = tokio::time::sleep(due) => {
                    let now = self.clock.now();
                    self.with_visitor(|visitor| visitor.handle_timeout(now));
                }
                () = stop.requested() => self.leave(),
            }
            self.keep_certificate()?;
            self.drain(&mut line).await?;
        }
        Ok(Over::Ended)
    }

    fn begin_session(&mut self) {
        self.ended = None;
        let mut config = Config::default();
        if self.way.is_some() {
            config.silence_max = SILENCE_MAX;
        }
        if self.way.is_some() && self.was_granted {
            config.attempts_max = ATTEMPTS_MAX;
        }
        let Credentials { key, certificate } = (*self.credentials.get()).clone();
        let (bundle, last) = (self.memory.to_show(), self.memory.last_session());
        let now = self.clock.now();
        let visitor = Visitor::new(config, key, certificate, bundle, last, &mut self.rng, now);
        self.session = Some(Session { visitor, started: None, class: None, signed: Bytes(0) });
    }

    fn with_visitor(&mut self, work: impl FnOnce(&mut Visitor)) {
        if let Some(session) = &mut self.session {
            work(&mut session.visitor);
        }
    }

    /// Carries out everything that the machine wants.
    async fn drain(&mut self, line: &mut Line) -> Result<(), RunError> {
        loop {
            // Events first: what is signed for is kept before its receipt leaves.
            if let Some(event) = self.session.as_mut().and_then(|session| session.visitor.poll_event()) {
                self.carry_out(event)?;
                continue;
            }
            let Some(message) = self.session.as_mut().and_then(|session| session.visitor.poll_transmit())
            else {
                return Ok(());
            };
            if let Err(error) = line.send(&message).await {
                let lost = self.line_lost(&error);
                self.ended.get_or_insert(lost);
            }
        }
    }

    /// Why a session whose line has failed is over. To who leaves, an access point owes no answer.
    fn line_lost(&self, error: &RunError) -> (Code, String) {
        let code = if self.is_leaving { Code::Closed } else { Code::NoSession };
        (code, error.sentence())
    }

    fn carry_out(&mut self, event: Event) -> Result<(), RunError> {
        match event {
            Event::Granted { provider, class, started, interval, home } => {
                self.granted(provider, started)?;
                self.memory.keep_home(provider, home)?;
                if let Some(session) = &mut self.session {
                    session.class = Some(class.name().to_owned());
                }
                let seconds = interval.as_seconds();
                let sentence = format!(
                    "team {} serves us in class {class}; a receipt is due every {seconds} s",
                    provider.short()
                );
                let facts = json!({ "provider": provider.to_string(), "class": class.name(),
                    "started": started.to_string(), "interval_us": interval.0 });
                self.report("granted", &sentence, facts)?;
            }
            Event::MeterNeeded => {
                let (counted, now) = (self.counted()?, self.clock.now());
                if let Some(session) = &mut self.session {
                    session.visitor.handle_meter(counted, &mut self.ledger, now);
                }
            }
            Event::Signed(receipt) => {
                let weight = receipt.weight();
                if let Some(session) = &mut self.session {
                    session.signed = weight;
                }
                if weight == Bytes(0) {
                    return Ok(());
                }
                self.memory.keep_ledger(&self.ledger)?;
                self.memory.signed(receipt)?;
                let counted = self.counted()?;
                let facts = json!({ "weight": weight.0, "counted": counted.0 });
                self.report("signed", &format!("signed for {weight}; counted {counted}"), facts)?;
            }
            Event::Disputed { claimed, counted } => {
                let sentence = format!("NOT signed: the access point claims {claimed}, we counted {counted}");
                self.report("disputed", &sentence, json!({ "claimed": claimed.0, "counted": counted.0 }))?;
            }
            Event::Dropped { kind: "busy", reason } => self.is_busy(reason)?,
            Event::Dropped { kind, reason } => tracing::debug!(kind, %reason, "dropped a message"),
            Event::Ended { code, reason } => {
                self.ended.get_or_insert((code, reason));
            }
        }
        Ok(())
    }

    /// The access point has no room for us yet. The machine asks on; the person learns why there is nothing to see.
    fn is_busy(&mut self, reason: String) -> Result<(), RunError> {
        if self.busy.as_ref().is_some_and(|(last, at)| *last == reason || at.elapsed() < BUSY_EVERY) {
            return Ok(());
        }
        self.report("busy", &format!("not served yet, asking again: {reason}"), json!({ "reason": reason }))?;
        self.busy = Some((reason, Instant::now()));
        Ok(())
    }

    /// What was used in this session. Through the tunnel, only what its other end has sealed, and what was sealed for it:
    /// what else comes by the interface, the access point may have made up.
    pub(super) fn counted(&mut self) -> Result<Bytes, RunError> {
        let seen = self.meter.read()?;
        Ok(self.way.as_mut().map_or(seen, |way| way.carried().min(seen)))
    }

    /// A session is granted, or its class has changed.
    fn granted(&mut self, provider: TeamId, started: UnixSeconds) -> Result<(), RunError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        if session.started == Some(started) {
            return Ok(());
        }
        session.started = Some(started);
        self.was_granted = true;
        self.busy = None;
        self.provider = Some(provider);
        self.memory.keep_session(provider, started)?;
        self.meter.restart()?;
        match &mut self.way {
            Some(way) => {
                way.count_from_now();
                way.granted()
            }
            None => {
                self.start_home();
                Ok(())
            }
        }
    }
}
