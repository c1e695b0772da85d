//! The loop around the visitor's machine.

use super::memory::Memory;
use super::meter::Meter;
use super::transport::Line;
use super::{Place, Visit};
use crate::failure::{Failure, Outcome};
use crate::homeward::{self, FromHome};
use crate::signals::Signals;
use anyhow::anyhow;
use guestright_channel::Credentials;
use guestright_clock::Clock;
use guestright_receipt::Bundle;
use guestright_roaming::Visitor;
use guestright_roaming::message::{Code, Message, Update};
use guestright_roaming::visitor::{Config, Event};
use guestright_units::{Bytes, TeamId, UnixSeconds};
use rand::rngs::StdRng;
use serde_json::{Value, json};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::sync::mpsc;

struct Loop<'a, W> {
    visitor: Visitor,
    clock: Clock,
    rng: StdRng,
    meter: Meter,
    memory: Memory,
    home: Option<mpsc::Sender<Vec<u8>>>,
    home_tried: bool,
    reference: u64,
    started: Option<UnixSeconds>,
    provider: Option<TeamId>,
    signed: Bytes,
    ended: Option<(Code, String)>,
    json: bool,
    out: &'a mut W,
}

pub(super) async fn run(
    visit: &Visit,
    place: &Place,
    credentials: Credentials,
    out: &mut impl Write,
) -> Outcome {
    let mut signals = Signals::take()?;
    let mut clock = Clock::start();
    let mut rng = guestright_clock::rng();
    let Credentials { key, certificate } = credentials.clone();
    let memory = Memory::new(&visit.state, certificate.clone());
    let (meter, remark) = Meter::start(&place.interface, place.access_point, &visit.state)?;
    let access_point = SocketAddr::from((place.access_point, visit.port));
    let mut line = tokio::select! {
        line = Line::open(access_point, visit.transport) => line?,
        () = signals.recv() => return Ok(()),
    };
    let (bundle, last) = (memory.to_show(), memory.last_session());
    let now = clock.now();
    let visitor = Visitor::new(Config::default(), key, certificate, bundle, last, &mut rng, now);
    let (events, mut from_home) = mpsc::unbounded_channel();
    let mut start_home = visit.home.map(|address| (address, credentials, events));
    let mut this = Loop {
        visitor,
        clock,
        rng,
        meter,
        memory,
        home: None,
        home_tried: false,
        reference: 0,
        started: None,
        provider: None,
        signed: Bytes(0),
        ended: None,
        json: visit.json,
        out,
    };
    if let Some(remark) = remark {
        this.say("remark", &remark, json!({ "reason": remark.clone() }))?;
    }
    let mut update = tokio::time::interval(Duration::from_secs(visit.update_seconds));
    this.drain(&mut line).await?;
    while this.ended.is_none() {
        let idle = Duration::from_secs(60);
        let due = this.visitor.poll_timeout().map_or(idle, |due| this.clock.until(due));
        tokio::select! {
            message = line.receive() => match message {
                Ok(message) => {
                    let now = this.clock.now();
                    this.visitor.handle_input(&message, now);
                }
                Err(error) => this.ended = Some((Code::NoSession, format!("{error:#}"))),
            },
            Some(event) = from_home.recv() => this.handle_home(event)?,
            _ = update.tick() => this.ask_home(),
            () = tokio::time::sleep(due) => {
                let now = this.clock.now();
                this.visitor.handle_timeout(now);
            }
            () = signals.recv() => this.leave(),
        }
        this.drain(&mut line).await?;
        // Home can be reached only once the access point lets us through.
        if this.started.is_some()
            && let Some((address, credentials, events)) = start_home.take()
        {
            this.home = Some(homeward::keep(address, credentials, events));
        }
    }
    this.finish()
}

impl<W: Write> Loop<'_, W> {
    fn leave(&mut self) {
        // Once the access point has closed, home is out of reach.
        self.hand_in();
        let now = self.clock.now();
        self.visitor.leave(now);
    }

    /// Hands in what we signed, and asks for what others owe us.
    fn ask_home(&mut self) {
        self.hand_in();
        let Some(home) = &self.home else { return };
        self.reference += 1;
        let ask = self.reference;
        let max = u16::try_from(Bundle::RECEIPTS_MAX).unwrap_or(u16::MAX);
        let what = Update::Fetch { since: UnixSeconds(0), max };
        let _ = home.try_send(Message::Updt { reference: ask, what }.emit());
    }

    fn hand_in(&mut self) {
        let Some(home) = &self.home else { return };
        let bundle = self.memory.to_hand_in();
        if !bundle.receipts.is_empty() {
            self.reference += 1;
            let _ = home.try_send(Message::Rcpt { reference: Some(self.reference), bundle }.emit());
        }
    }

    fn handle_home(&mut self, event: FromHome) -> anyhow::Result<()> {
        match event {
            FromHome::Up => {
                self.home_tried = true;
                self.say("home", "reached the team's home", json!({ "up": true }))?;
                self.ask_home();
            }
            // The first try may come before the access point's firewall has opened.
            FromHome::Lost(_) if !self.home_tried => self.home_tried = true,
            FromHome::Lost(reason) => {
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
            self.visitor.show(bundle, &mut self.rng, now);
        }
        Ok(())
    }

    /// Carries out everything that the machine wants.
    async fn drain(&mut self, line: &mut Line) -> anyhow::Result<()> {
        loop {
            while let Some(message) = self.visitor.poll_transmit() {
                if let Err(error) = line.send(&message).await {
                    self.ended.get_or_insert((Code::NoSession, format!("{error:#}")));
                }
            }
            match self.visitor.poll_event() {
                Some(event) => self.carry_out(event)?,
                None => return Ok(()),
            }
        }
    }

    fn carry_out(&mut self, event: Event) -> anyhow::Result<()> {
        match event {
            Event::Granted { provider, class, started, interval } => {
                if self.started != Some(started) {
                    self.started = Some(started);
                    self.provider = Some(provider);
                    self.memory.keep_session(provider, started)?;
                    self.meter.restart()?;
                }
                let seconds = interval.as_seconds();
                let said = format!(
                    "team {} serves us in class {class}; a receipt is due every {seconds} s",
                    provider.short()
                );
                let facts = json!({ "provider": provider.to_string(), "class": class.name(),
                    "started": started.to_string(), "interval_us": interval.0 });
                self.say("granted", &said, facts)
            }
            Event::MeterNeeded => {
                let counted = self.meter.read()?;
                self.visitor.handle_meter(counted);
                Ok(())
            }
            Event::Signed(receipt) => {
                self.signed = receipt.weight();
                if receipt.weight() == Bytes(0) {
                    return Ok(());
                }
                let counted = self.meter.read()?;
                let said = format!("signed for {}; counted {counted}", receipt.weight());
                let facts = json!({ "weight": receipt.weight().0, "counted": counted.0 });
                self.memory.signed(receipt)?;
                self.say("signed", &said, facts)
            }
            Event::Disputed { claimed, counted } => {
                let said = format!("NOT signed: the access point claims {claimed}, we counted {counted}");
                self.say("disputed", &said, json!({ "claimed": claimed.0, "counted": counted.0 }))
            }
            Event::Dropped { kind, reason } => {
                tracing::debug!(kind, %reason, "dropped a message");
                Ok(())
            }
            Event::Ended { code, reason } => {
                self.ended.get_or_insert((code, reason));
                Ok(())
            }
        }
    }

    /// The last words, and the exit code: an error unless we left of our own will.
    fn finish(mut self) -> Outcome {
        let (code, reason) = self.ended.take().unwrap_or((Code::Closed, "ended".to_owned()));
        let counted = if self.started.is_some() { self.meter.read().unwrap_or_default() } else { Bytes(0) };
        let signed = self.signed;
        let said = format!("{reason} ({signed} signed for, {counted} counted)");
        let facts = json!({ "code": code.to_string(), "reason": reason, "signed": signed.0, "counted": counted.0,
            "provider": self.provider.map(|team| team.to_string()) });
        if code == Code::Closed {
            return Ok(self.say("ended", &said, facts)?);
        }
        if self.json {
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
        if self.json {
            facts["event"] = json!(event);
            facts["time_us"] = json!(self.clock.now().0);
            writeln!(self.out, "{facts}")?;
        } else {
            writeln!(self.out, "{said}")?;
        }
        Ok(self.out.flush()?)
    }
}
