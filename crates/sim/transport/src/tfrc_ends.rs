//! Voice over TFRC (RFC 5348): datagrams at a rate that is fair to TCP, and nothing sent twice.
//!
//! The source keeps what its rate does not allow yet; what has waited for too long, or finds too many waiting, is thrown
//! away unsent, the oldest first. The sink hears packets as they come and sends feedback once a round trip. Times on
//! datagrams are microseconds, as those of [`guestright_congestion::tfrc`].

use crate::error::SettingsError;
use crate::foreign::{Ends, Side};
use crate::tcp::Flow;
use guestright_congestion::tfrc::{
    TfrcData, TfrcFeedback, TfrcReceiver, TfrcReceiverSettings, TfrcSender, TfrcSenderSettings,
};
use guestright_engine::{Instant, Nanos};
use std::collections::{BTreeMap, VecDeque};

/// What the ends of a call over TFRC are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TfrcEndsSettings {
    /// The sender's machine; its segment is a packet of speech.
    pub sender: TfrcSenderSettings,
    /// The receiver's machine.
    pub receiver: TfrcReceiverSettings,
    /// Bytes of all headers of a datagram with speech.
    pub header_bytes: u32,
    /// Bytes of the IP packet with feedback.
    pub feedback_bytes: u32,
    /// Packets of speech that wait at most; one more, and the oldest is thrown away.
    pub waiting_max: u32,
    /// Packets of speech that have waited longer are thrown away.
    pub age_max: Nanos,
}

impl TfrcEndsSettings {
    /// Headers of IPv4 (20), UDP (8) and of TFRC's own fields of 4 bytes each: sequence number, time and round-trip time
    /// on data (RFC 5348, section 3.2.1); time, delay, rate and loss event rate on feedback (section 3.2.2). 15 packets
    /// wait at most, for 300 ms.
    #[must_use]
    pub const fn rfc5348(packet_bytes: u32) -> Self {
        Self {
            sender: TfrcSenderSettings::rfc5348(packet_bytes),
            receiver: TfrcReceiverSettings::rfc5348(packet_bytes),
            header_bytes: 40,
            feedback_bytes: 44,
            waiting_max: 15,
            age_max: Nanos::from_millis(300),
        }
    }
}

/// What the ends have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TfrcEndsStats {
    /// Packets of speech that were sent.
    pub sent: u64,
    /// Packets of speech that were heard.
    pub delivered: u64,
    /// Packets of speech that were thrown away unsent because they had waited too long.
    pub expired: u64,
    /// Packets of speech that were thrown away unsent because too many waited.
    pub displaced: u64,
    /// Feedback that was sent.
    pub feedback: u64,
}

/// Both ends of one call over TFRC.
#[derive(Clone, Debug)]
pub struct TfrcEnds {
    settings: TfrcEndsSettings,
    sender: TfrcSender,
    receiver: TfrcReceiver,
    waiting: VecDeque<Spoken>,
    /// What the sink has to send.
    feedback: VecDeque<TfrcFeedback>,
    /// What is on its way, by its number.
    flying: BTreeMap<u64, Datagram>,
    next_id: u64,
    delivered: VecDeque<u32>,
    stats: TfrcEndsStats,
}

/// A packet of speech that waits.
#[derive(Clone, Copy, Debug)]
struct Spoken {
    number: u32,
    bytes: u32,
    at: Instant,
}

#[derive(Clone, Copy, Debug)]
enum Datagram {
    Data { data: TfrcData, number: u32 },
    Feedback(TfrcFeedback),
}

/// The most packets that may be set to wait.
const WAITING_MAX: u32 = 1 << 20;
/// The most datagrams on their way: a network that forgets what it drops gets no more.
const FLYING_MAX: usize = 1 << 16;
/// The most feedback that waits: it is one a round trip, and sent at once.
const FEEDBACK_MAX: usize = 16;

impl TfrcEnds {
    /// The ends of call `flow` (which is only named in errors), from `now` on.
    ///
    /// # Errors
    ///
    /// If the size of a packet cannot be, or none or more than 2^20 packets may wait.
    pub fn new(flow: Flow, settings: TfrcEndsSettings, now: Instant) -> Result<Self, SettingsError> {
        let wrong = |error| SettingsError::Congestion { flow: flow.0, error };
        if settings.waiting_max == 0 || settings.waiting_max > WAITING_MAX {
            return Err(SettingsError::Waiting { flow: flow.0, got: settings.waiting_max, max: WAITING_MAX });
        }
        Ok(Self {
            settings,
            sender: TfrcSender::new(settings.sender, now.time()).map_err(wrong)?,
            receiver: TfrcReceiver::new(settings.receiver).map_err(wrong)?,
            waiting: VecDeque::new(),
            feedback: VecDeque::new(),
            flying: BTreeMap::new(),
            next_id: 0,
            delivered: VecDeque::new(),
            stats: TfrcEndsStats::default(),
        })
    }

    /// What they have done so far.
    #[must_use]
    pub const fn stats(&self) -> TfrcEndsStats {
        self.stats
    }

    /// The sender's machine, to be looked at.
    #[must_use]
    pub const fn sender(&self) -> &TfrcSender {
        &self.sender
    }

    /// Packets of speech that wait to be sent.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    fn launch(&mut self, datagram: Datagram) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.flying.insert(id, datagram);
        id
    }

    /// Throws away what has waited too long.
    fn expire(&mut self, now: Instant) {
        let age_max = self.settings.age_max;
        while self.waiting.pop_front_if(|spoken| now.since(spoken.at) > age_max).is_some() {
            self.stats.expired += 1;
        }
    }

    fn send_speech(&mut self, now: Instant) -> Option<(u64, u32)> {
        self.expire(now);
        if now < Instant::from_time(self.sender.next_at()) {
            return None;
        }
        let Spoken { number, bytes, .. } = self.waiting.pop_front()?;
        let data = self.sender.send(bytes, !self.waiting.is_empty(), now.time());
        self.stats.sent += 1;
        let id = self.launch(Datagram::Data { data, number });
        Some((id, bytes.saturating_add(self.settings.header_bytes)))
    }

    fn send_feedback(&mut self) -> Option<(u64, u32)> {
        let feedback = self.feedback.pop_front()?;
        self.stats.feedback += 1;
        Some((self.launch(Datagram::Feedback(feedback)), self.settings.feedback_bytes))
    }

    fn report(&mut self, feedback: Option<TfrcFeedback>) {
        if self.feedback.len() < FEEDBACK_MAX {
            self.feedback.extend(feedback);
        }
    }
}

impl Ends for TfrcEnds {
    fn write(&mut self, now: Instant, number: u32, bytes: u32) {
        self.expire(now);
        if self.waiting.len() == self.settings.waiting_max as usize {
            self.waiting.pop_front();
            self.stats.displaced += 1;
        }
        self.waiting.push_back(Spoken { number, bytes, at: now });
    }

    fn arrive(&mut self, now: Instant, side: Side, id: u64, marked: bool) {
        match (self.flying.remove(&id), side) {
            (Some(Datagram::Data { data, number }), Side::Sink) => {
                self.stats.delivered += 1;
                self.delivered.push_back(number);
                let feedback = self.receiver.on_data(&data, marked, now.time());
                self.report(feedback);
            }
            (Some(Datagram::Feedback(feedback)), Side::Source) => {
                self.sender.on_feedback(&feedback, now.time());
            }
            // Nothing that this side understands.
            (Some(Datagram::Data { .. }), Side::Source)
            | (Some(Datagram::Feedback(_)), Side::Sink)
            | (None, _) => {}
        }
    }

    fn drop_datagram(&mut self, id: u64) {
        self.flying.remove(&id);
    }

    fn timeout(&self, side: Side) -> Option<Instant> {
        let at = match side {
            Side::Source => {
                let may_send = !self.waiting.is_empty() && self.flying.len() < FLYING_MAX;
                let next = may_send.then(|| self.sender.next_at());
                next.into_iter().chain(self.sender.poll_timeout()).min()
            }
            Side::Sink => self.receiver.poll_timeout(),
        };
        at.map(Instant::from_time)
    }

    fn time_out(&mut self, now: Instant, side: Side) {
        match side {
            // Whether something may be sent is asked when it is polled.
            Side::Source => self.sender.on_timeout(now.time()),
            Side::Sink => {
                let feedback = self.receiver.on_timeout(now.time());
                self.report(feedback);
            }
        }
    }

    fn poll_transmit(&mut self, now: Instant, side: Side) -> Option<(u64, u32)> {
        if self.flying.len() >= FLYING_MAX {
            return None;
        }
        match side {
            Side::Source => self.send_speech(now),
            Side::Sink => self.send_feedback(),
        }
    }

    fn poll_delivered(&mut self) -> Option<u32> {
        self.delivered.pop_front()
    }
}
