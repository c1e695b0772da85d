//! One call, from the first ring to the summary.

use crate::contacts::identity;
use crate::driver::News;
use crate::media::{self, Media, MediaEvent, MediaSettings, Sockets, Stream};
use crate::offer::{Agreed, Guard, Own, Refusal, SUITES};
use crate::phone::Phone;
use crate::{Protection, TelephoneError};
use guestright_clock::Clock;
use guestright_identity::KeyId;
use guestright_quality::Summary;
use guestright_sip::agent::{Call, CallEvent, CallQuality, Change, Description, Direction, Ending};
use guestright_voice::agreement::{self, Fingerprint, Prepared, Role};
use guestright_voice::srtp::MasterKey;
use rand::Rng;
use serde_json::json;
use std::io::Write;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use zeroize::Zeroizing;

/// How often the other side is asked whether it still knows of the call.
const PROBE_EVERY: Duration = Duration::from_secs(30);
/// So many questions in a row may stay without an answer: the tunnel may be on its way to another access point.
const PROBES_MAX: u32 = 2;

/// Our side of one call, before and while there is one.
pub(crate) struct Part {
    pub(crate) own: Own,
    sockets: Option<Sockets>,
    prepared: Option<Prepared>,
    role: Role,
    expected: Option<KeyId>,
}

/// How a call was over.
pub(crate) enum Over {
    /// As the signalling says.
    Ended(Ending),
    /// We hung up, as was wanted.
    Here,
    /// Nobody picked up for too long.
    Unanswered,
    /// What the other side wanted was not to be had.
    Refused(Refusal),
    /// For another reason.
    Broken(TelephoneError),
}

impl Part {
    /// Opens the sockets, and makes keys for this call.
    pub(crate) fn open<W: Write>(
        phone: &Phone<'_, W>,
        protection: Protection,
        is_caller: bool,
        expected: Option<KeyId>,
    ) -> Result<Self, TelephoneError> {
        let mut rng = guestright_clock::rng();
        let sockets = Sockets::open(phone.settings.account.own)?;
        let prepared = match (&phone.settings.credentials, protection) {
            (Some(own), Protection::EndToEnd) => {
                let seed = guestright_clock::seed();
                let made = Prepared::new(own.key.clone(), own.certificate.clone(), &seed);
                Some(made.map_err(TelephoneError::OwnCertificate)?)
            }
            (_, Protection::Home | Protection::Sdes | Protection::EndToEnd) => None,
        };
        let keys = match protection {
            Protection::Sdes => SUITES
                .iter()
                .map(|suite| {
                    let mut fresh = Zeroizing::new([0; MasterKey::LEN_MAX]);
                    rng.fill_bytes(fresh.as_mut_slice());
                    MasterKey::from_chance(*suite, &fresh)
                })
                .collect(),
            Protection::Home | Protection::EndToEnd => Vec::new(),
        };
        let digest = prepared.as_ref().map(|prepared| digits(&prepared.fingerprint()));
        let own = Own {
            // RFC 8866 section 5.2: a number that fits in 63 bits.
            session: rng.next_u64() >> 1,
            version: 0,
            address: sockets.address(),
            control_port: sockets.control_port(),
            kinds: phone.settings.kinds.clone(),
            payloads: Vec::new(),
            protection,
            digest,
            keys,
            agreed: None,
        };
        let role = if is_caller { Role::Caller } else { Role::Callee };
        Ok(Self { own, sockets: Some(sockets), prepared, role, expected })
    }
}

/// A fingerprint's digits, without the version before them.
fn digits(fingerprint: &Fingerprint) -> String {
    let text = fingerprint.to_string();
    text.split_once(' ').map_or(text.clone(), |(_, digits)| digits.to_owned())
}

/// A call and the voice in it.
pub(crate) struct Conversation<'p, 'a, W> {
    phone: &'p mut Phone<'a, W>,
    call: Call,
    part: Part,
    media: Option<Media>,
    /// What we want: to be on hold is to receive only.
    wanted: Direction,
    held: bool,
    probes: u32,
    answered: Option<Instant>,
    /// Since when there is voice.
    talking: Option<Instant>,
    rang: bool,
}

impl<'p, 'a, W: Write> Conversation<'p, 'a, W> {
    pub(crate) fn new(phone: &'p mut Phone<'a, W>, call: Call, part: Part) -> Self {
        Self {
            phone,
            call,
            part,
            media: None,
            wanted: Direction::SendReceive,
            held: false,
            probes: 0,
            answered: None,
            talking: None,
            rang: false,
        }
    }

    /// The call was taken here: there is voice from now on, if the offer was already answered.
    pub(crate) fn begin(&mut self, is_agreed: bool) -> Result<(), TelephoneError> {
        self.answered = Some(Instant::now());
        if is_agreed {
            self.stream()?;
        }
        Ok(())
    }

    pub(crate) fn accept(&self, answer: &str) {
        self.call.accept(answer);
    }

    /// Runs the call to its end, and says how it was.
    pub(crate) async fn run(mut self, who: String) -> Result<Over, TelephoneError> {
        let outcome = self.events(&who).await;
        let over = match outcome {
            Ok(over) => over,
            Err(failure) => Over::Broken(failure),
        };
        self.finish(&who, over).await
    }

    async fn events(&mut self, who: &str) -> Result<Over, TelephoneError> {
        let rings_until = Instant::now() + self.phone.settings.line.ring_max;
        let mut probe = tokio::time::interval_at(Instant::now() + PROBE_EVERY, PROBE_EVERY);
        probe.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let hang_up_at = self.hang_up_at();
            let over = tokio::select! {
                event = self.call.event() => self.handle_call(event, who).await?,
                Some(news) = news(&mut self.media) => self.handle_media(news, who)?,
                _ = self.phone.controls.stop.recv() => Some(Over::Here),
                Some(command) = self.phone.controls.commands.recv() => self.command(&command).await?,
                () = until(hang_up_at) => Some(Over::Here),
                () = tokio::time::sleep_until(rings_until), if self.answered.is_none() => Some(Over::Unanswered),
                _ = tick(&mut probe), if self.answered.is_some() => {
                    self.call.probe();
                    None
                }
            };
            if let Some(over) = over {
                return Ok(over);
            }
        }
    }

    fn hang_up_at(&self) -> Option<Instant> {
        Some(self.talking? + self.phone.settings.line.talk_max?)
    }

    async fn handle_call(&mut self, event: CallEvent, who: &str) -> Result<Option<Over>, TelephoneError> {
        match event {
            CallEvent::Trying => {}
            CallEvent::Ringing => {
                if !std::mem::replace(&mut self.rang, true) {
                    self.phone.report.print("ringing", &format!("it rings at {who}'s"), json!({}))?;
                }
            }
            CallEvent::Answered { answer } => {
                self.answered = Some(Instant::now());
                return self.judged(answer);
            }
            CallEvent::Acknowledged { answer } => {
                if self.part.own.agreed.is_none() {
                    return self.judged(answer);
                }
            }
            CallEvent::Changed(change) => return self.changed(change).await,
            CallEvent::Modified { answer: Ok(answer) } => {
                let over = self.judged(answer)?;
                self.report_hold()?;
                return Ok(over);
            }
            CallEvent::Modified { answer: Err(code) } => {
                let message =
                    format!("the other side did not agree to the change ({code}); all stays as it was");
                self.phone.report.print("unchanged", &message, json!({ "code": code }))?;
                self.part.own.withdraw();
                self.stream()?;
            }
            CallEvent::Probed { is_alive: true } => self.probes = 0,
            CallEvent::Probed { is_alive: false } => {
                self.probes += 1;
                if self.probes > PROBES_MAX {
                    return Ok(Some(Over::Broken(TelephoneError::Gone { who: who.to_owned() })));
                }
            }
            CallEvent::Ended(ending) => return Ok(Some(Over::Ended(ending))),
        }
        Ok(None)
    }

    /// Looks at the other side's answer to our offer.
    fn judged(&mut self, answer: Option<String>) -> Result<Option<Over>, TelephoneError> {
        let judged = answer
            .ok_or(Refusal::Nothing)
            .and_then(|text| Ok(Description::parse(&text)?))
            .and_then(|answer| self.part.own.judge(&answer));
        match judged {
            Ok(()) => {
                self.stream()?;
                Ok(None)
            }
            Err(refusal) => Ok(Some(Over::Refused(refusal))),
        }
    }

    /// The other side wants a change.
    async fn changed(&mut self, change: Change) -> Result<Option<Over>, TelephoneError> {
        let Some(text) = &change.offer else {
            // Our side as it is; or nothing, where only a sign of life was wanted.
            let same = change.wants_offer.then(|| self.part.own.offer(self.wanted));
            self.bring_in_line().await?;
            change.accept(same.as_ref().map(|text| text.as_str())).await;
            return Ok(None);
        };
        let answer = Description::parse(text)
            .map_err(Refusal::from)
            .and_then(|offer| self.part.own.answer(&offer, self.wanted));
        match answer {
            Ok(answer) => {
                self.bring_in_line().await?;
                change.accept(Some(&answer)).await;
                self.report_hold()?;
                Ok(None)
            }
            Err(refusal) => {
                change.refuse(Refusal::CODE).await;
                match refusal {
                    // To go on would be to go on less protected, or with somebody else.
                    Refusal::Protection { .. }
                    | Refusal::Changed { .. }
                    | Refusal::Digest
                    | Refusal::Cipher => Ok(Some(Over::Refused(refusal))),
                    Refusal::Malformed(_) | Refusal::Nothing | Refusal::Codec { .. } => {
                        let message = format!("a change was not taken: {refusal}");
                        self.phone.report.print("unchanged", &message, json!({}))?;
                        Ok(None)
                    }
                }
            }
        }
    }

    fn report_hold(&mut self) -> Result<(), TelephoneError> {
        let Some(agreed) = &self.part.own.agreed else { return Ok(()) };
        let held = agreed.direction != Direction::SendReceive;
        if std::mem::replace(&mut self.held, held) != held {
            let message = if held { "the call is on hold" } else { "the call goes on" };
            self.phone.report.print("hold", message, json!({ "held": held }))?;
        }
        Ok(())
    }

    /// Brings the voice in line with what was agreed on, and waits until it is.
    async fn bring_in_line(&mut self) -> Result<(), TelephoneError> {
        let applied = self.stream()?;
        // Without a voice there is nobody to wait for.
        let _ = applied.await;
        Ok(())
    }

    /// Brings the voice in line with what was agreed on. It says when it is, if it was there before.
    fn stream(&mut self) -> Result<oneshot::Receiver<()>, TelephoneError> {
        let (applied, when_applied) = oneshot::channel();
        let Some(agreed) = self.part.own.agreed.clone() else { return Ok(when_applied) };
        let codec = agreed.kind.to_string();
        if let Some(media) = &self.media {
            media.change(Box::new(self.as_stream(agreed, applied)?));
            return Ok(when_applied);
        }
        let sockets = self.part.sockets.take().ok_or(TelephoneError::NoSockets)?;
        let stream = self.as_stream(agreed, applied)?;
        let settings = MediaSettings {
            line: self.phone.settings.line.clone(),
            voice: self.phone.settings.voice,
            protection: self.part.own.protection,
        };
        self.media = Some(media::start(settings, sockets, stream)?);
        let protection = self.part.own.protection;
        let facts = json!({ "codec": codec, "protection": protection.name() });
        match protection {
            Protection::EndToEnd => {
                self.phone.report.print(
                    "connected",
                    "connected; agreeing on keys before anything is said",
                    facts,
                )?;
            }
            Protection::Home | Protection::Sdes => {
                self.talking = Some(Instant::now());
                self.phone.report.print(
                    "connected",
                    &format!("connected; {}", protection.who_hears()),
                    facts,
                )?;
            }
        }
        Ok(when_applied)
    }

    fn as_stream(&self, agreed: Agreed, applied: oneshot::Sender<()>) -> Result<Stream, TelephoneError> {
        let agreement = match &agreed.guard {
            Guard::EndToEnd { digest } => {
                let peer: Fingerprint = format!("1 {digest}").parse().map_err(TelephoneError::Promise)?;
                let prepared = self.part.prepared.clone();
                let prepared = prepared.ok_or(TelephoneError::NoOwnKey)?;
                let call = agreement::Call {
                    role: self.part.role,
                    profile: SUITES[0],
                    peer,
                    expected: self.part.expected,
                };
                Some((prepared, call))
            }
            Guard::Home | Guard::Sdes { .. } => None,
        };
        Ok(Stream { agreed, agreement, applied })
    }

    fn handle_media(&mut self, news: News<MediaEvent>, who: &str) -> Result<Option<Over>, TelephoneError> {
        match news {
            News::Event(MediaEvent::Agreed(agreed)) => {
                self.talking = Some(Instant::now());
                let key = agreed.peer.subject_id();
                let contact =
                    self.phone.settings.contacts.of_member(key).next().map(|contact| contact.name.clone());
                let facts = json!({
                    "protection": Protection::EndToEnd.name(),
                    "words": agreed.words.words(),
                    "peer": key.to_string(),
                    "contact": contact,
                    "team": agreed.peer.team_id().to_string(),
                });
                let message = format!(
                    "you speak with {}; {}\n  read to each other: {}",
                    identity(&self.phone.settings.contacts, key),
                    Protection::EndToEnd.who_hears(),
                    agreed.words.words().join(" ")
                );
                self.phone.report.print("protected", &message, facts)?;
            }
            News::Event(MediaEvent::NotAgreed(error)) => {
                let failed = TelephoneError::NoKeys { who: who.to_owned(), error };
                return Ok(Some(Over::Broken(failed)));
            }
            News::Second(second) => self.phone.report.second(&second)?,
            News::Trouble(message) => self.phone.report.print("trouble", &message, json!({}))?,
        }
        Ok(None)
    }

    /// What the person at the telephone types.
    async fn command(&mut self, command: &str) -> Result<Option<Over>, TelephoneError> {
        match command.split_once(' ').unwrap_or((command, "")) {
            ("q" | "quit", _) => return Ok(Some(Over::Here)),
            ("h" | "hold", _) => self.modify(Direction::SendOnly).await?,
            ("r" | "resume", _) => self.modify(Direction::SendReceive).await?,
            ("codec", name) => match crate::codec(name) {
                Ok(kind) => {
                    self.part.own.kinds.retain(|other| *other != kind);
                    self.part.own.kinds.insert(0, kind);
                    self.modify(self.wanted).await?;
                }
                Err(unknown) => self.phone.report.print("trouble", &unknown.explained(), json!({}))?,
            },
            ("", _) => {}
            _ => self.phone.report.print(
                "trouble",
                "the commands are: hold, resume, codec NAME, quit",
                json!({}),
            )?,
        }
        Ok(None)
    }

    async fn modify(&mut self, wanted: Direction) -> Result<(), TelephoneError> {
        if self.part.own.agreed.is_some() {
            self.wanted = wanted;
            let offer = self.part.own.offer(wanted);
            // First the voice, then the offer: what was offered may come at once.
            self.bring_in_line().await?;
            self.call.modify(&offer);
        }
        Ok(())
    }

    /// Hangs up, and says how it was.
    async fn finish(self, who: &str, over: Over) -> Result<Over, TelephoneError> {
        let Self { phone, call, media, talking, part, .. } = self;
        let call_id = call.id();
        call.hang_up().await;
        let outcome = match media {
            Some(media) => Some(media.finish().await?),
            None => None,
        };
        let (message, reason) = match &over {
            Over::Ended(Ending::HungUp) => (format!("{who} hung up"), "hung-up"),
            Over::Ended(Ending::Cancelled) => ("the caller has given up".to_owned(), "cancelled"),
            Over::Ended(Ending::HungUpHere) | Over::Here => ("you hung up".to_owned(), "here"),
            Over::Ended(Ending::Refused { code, reason }) => {
                (format!("not taken: {code} {reason}"), "refused")
            }
            Over::Ended(Ending::Silence) | Over::Unanswered => ("no answer".to_owned(), "no-answer"),
            Over::Refused(refusal) => (format!("the call was ended: {refusal}"), "protection"),
            Over::Broken(failure) => (failure.explained(), "broken"),
        };
        phone.report.print("ended", &message, json!({ "reason": reason, "said": message }))?;
        if let Some(outcome) = outcome {
            outcome.seconds.iter().try_for_each(|second| phone.report.second(second))?;
            let seconds = talking.map(|since| since.elapsed().as_secs_f64());
            phone.quality = quality(call_id, talking, outcome.received.as_ref());
            let mut facts = outcome.facts;
            facts["protection"] = json!(part.own.protection.name());
            facts["seconds"] = json!(seconds);
            phone.report.summary(facts, outcome.received.as_ref())?;
        }
        Ok(over)
    }
}

/// How well a call was heard that is over, if there was anything to hear and it can be rated.
fn quality(call_id: String, talking: Option<Instant>, received: Option<&Summary>) -> Option<CallQuality> {
    let opinion = received?.judgement.listening.as_ref().ok()?;
    let ended = Clock::start().now().unix_seconds();
    let [began, ended] = [ended.minus(talking?.elapsed().as_secs()), ended].map(|time| time.to_string());
    Some(CallQuality { call_id, began, ended, mos_listening: opinion.mos.low })
}

/// What is new in the voice; never, without any.
async fn news(media: &mut Option<Media>) -> Option<News<MediaEvent>> {
    match media {
        Some(media) => media.news().await,
        None => std::future::pending().await,
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

async fn tick(interval: &mut Interval) -> Instant {
    interval.tick().await
}
