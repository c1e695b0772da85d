use crate::channel::{Channel, Contender, NEVER};
use crate::config::{Config, ConfigError, IdleAccess, MSDU_BYTES_MAX, Mac, Station, StationId};
use crate::output::{ChannelStats, Msdu, OnAir, Output, Stats};
use crate::station::Sender;
use guestright_airtime::Phy;
use guestright_engine::{Agenda, Instant, Streams};
use rand::Rng;
use std::collections::VecDeque;

/// An event of a [`Wlan`]: give it back to [`Wlan::handle`] when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event(pub(crate) Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Somebody's backoff is over, if the plan is still this one.
    Access { channel: u16, epoch: u32 },
    /// A data frame ends.
    FrameEnded { channel: u16 },
    /// The medium becomes idle.
    Over { channel: u16 },
    /// A station has waited in vain for its last answer.
    GaveUp { station: StationId },
    /// A beacon is due.
    Beacon { station: StationId },
}

/// Times that are needed all the time, in ns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) slot: u64,
    pub(crate) sifs: u64,
    pub(crate) difs: u64,
    pub(crate) eifs: u64,
}

/// Stations that share channels by the distributed coordination function of IEEE 802.11.
///
/// A machine in virtual time. In: [`Wlan::enqueue`], and [`Wlan::handle`] for each event it has put on the agenda. Out:
/// [`Wlan::poll_output`] (and [`Wlan::poll_air`]), to be drained after each call. The same configuration, streams and
/// calls give the same outputs at the same times.
#[derive(Debug)]
pub struct Wlan {
    pub(crate) phy: Phy,
    pub(crate) mac: Mac,
    pub(crate) times: Times,
    /// Whether frames of any station are hit by errors.
    pub(crate) has_errors: bool,
    pub(crate) senders: Vec<Sender>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) outputs: VecDeque<Output>,
    pub(crate) air: Option<VecDeque<OnAir>>,
    beacon_phases: Vec<(StationId, u64)>,
}

impl Wlan {
    /// Stations that have sent nothing yet, on idle channels.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration.
    pub fn new(config: &Config, streams: &Streams) -> Result<Self, ConfigError> {
        config.check()?;
        let phy = config.phy;
        let times = Times { slot: phy.slot.0, sifs: phy.sifs.0, difs: phy.difs().0, eifs: phy.eifs().0 };
        let mut channels: Vec<Channel> = Vec::new();
        let mut senders = Vec::new();
        let mut beacon_phases = Vec::new();
        let number = |number: usize| u16::try_from(number).expect("the configuration was checked");
        for (index, station) in config.stations.iter().enumerate() {
            let mut sender = Sender::new(config, number(index), streams);
            let wanted = config.cells[station.cell].channel;
            let channel_index =
                channels.iter().position(|channel| channel.number == wanted).unwrap_or_else(|| {
                    channels.push(Channel::new(wanted));
                    channels.len() - 1
                });
            let contenders = &mut channels[channel_index].contenders;
            (sender.channel, sender.contender_index) = (number(channel_index), number(contenders.len()));
            contenders.push(Contender::new(sender.id));
            if let Some(beacons) = config.mac.beacons.filter(|_| station.is_access_point) {
                let mut chance = streams.stream("802.11 beacons", index as u64);
                beacon_phases.push((sender.id, chance.next_u64() % beacons.interval.0));
            }
            senders.push(sender);
        }
        for channel in &mut channels {
            channel.losers.reserve(channel.contenders.len());
        }
        let is_bad = |station: &Station| station.bit_error_rate > 0.0 || station.frame_loss > 0.0;
        let has_errors = config.stations.iter().any(is_bad);
        Ok(Self {
            phy,
            mac: config.mac,
            times,
            has_errors,
            senders,
            channels,
            outputs: VecDeque::with_capacity(16),
            air: None,
            beacon_phases,
        })
    }

    /// Begins with what stations do by themselves: beacons. Without it there are none.
    pub fn start(&mut self, agenda: &mut impl Agenda<Event>) {
        for (station, phase) in std::mem::take(&mut self.beacon_phases) {
            agenda.schedule(Instant(agenda.now().0 + phase), Event(Kind::Beacon { station }));
        }
    }

    /// Gives `station` a packet to send. `false`: its queue is full, and the packet stays the caller's.
    ///
    /// # Panics
    ///
    /// If there is no such station or receiver, if they are the same or not on one channel, or if the MSDU would be
    /// longer than [`MSDU_BYTES_MAX`].
    #[inline]
    pub fn enqueue(&mut self, station: StationId, msdu: Msdu, agenda: &mut impl Agenda<Event>) -> bool {
        let now = agenda.now();
        assert!(
            msdu.bytes + self.mac.snap_bytes() <= MSDU_BYTES_MAX,
            "an MSDU of {} bytes is longer than {MSDU_BYTES_MAX}: the network above has to divide it",
            msdu.bytes
        );
        if msdu.to != StationId::EVERYBODY {
            let (from, to) = (self.senders[station.index()].channel, self.senders[msdu.to.index()].channel);
            assert!(
                from == to && msdu.to != station,
                "{station:?} cannot send to {:?} over the air",
                msdu.to
            );
        }
        if self.mac.lifetime.is_some() && self.senders[station.index()].is_full() {
            self.expire(station, now);
        }
        let sender = &mut self.senders[station.index()];
        if !sender.push(msdu, now) {
            return false;
        }
        if !sender.is_sending {
            self.request(station, agenda);
        }
        true
    }

    /// Handles an event that is due now.
    pub fn handle(&mut self, event: Event, agenda: &mut impl Agenda<Event>) {
        match event.0 {
            Kind::Access { channel, epoch } => {
                if self.channels[usize::from(channel)].epoch == epoch {
                    self.access(channel, agenda);
                }
            }
            Kind::FrameEnded { channel } => self.frame_ended(channel, agenda),
            Kind::Over { channel } => self.over(channel, agenda),
            Kind::GaveUp { station } => self.gave_up(station, agenda),
            Kind::Beacon { station } => self.beacon(station, agenda),
        }
    }

    /// What became of an MSDU, in the order in which it happened.
    #[inline]
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// From now on, keeps every frame on the air for [`Wlan::poll_air`], or no longer does.
    pub fn tap(&mut self, is_on: bool) {
        self.air = is_on.then(VecDeque::new);
    }

    /// The next frame that was on the air since [`Wlan::tap`]; those of one channel come in the order of their
    /// beginnings, some of them before they begin.
    pub fn poll_air(&mut self) -> Option<OnAir> {
        self.air.as_mut()?.pop_front()
    }

    /// What a station has done.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn stats(&self, station: StationId) -> &Stats {
        &self.senders[station.index()].stats
    }

    /// What was on a channel; `None` if no station is on it.
    #[must_use]
    pub fn channel_stats(&self, channel: u8) -> Option<&ChannelStats> {
        self.channels.iter().find(|other| other.number == channel).map(|other| &other.stats)
    }

    /// MSDUs in a station's queue, the one in service with them.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn queued(&self, station: StationId) -> u64 {
        self.stats(station).queued
    }

    pub(crate) fn contender(&mut self, station: StationId) -> &mut Contender {
        let sender = &self.senders[station.index()];
        &mut self.channels[usize::from(sender.channel)].contenders[usize::from(sender.contender_index)]
    }

    /// Drops what has waited for too long.
    pub(crate) fn expire(&mut self, station: StationId, now: Instant) {
        while let Some(output) = self.senders[station.index()].expire(&self.mac, now) {
            self.outputs.push_back(output);
        }
    }

    /// A station has a frame and contends from now on, if it does not yet (10.3.4.2).
    #[inline]
    pub(crate) fn request(&mut self, station: StationId, agenda: &mut impl Agenda<Event>) {
        let sender = &mut self.senders[station.index()];
        let number = sender.channel;
        let channel = &mut self.channels[usize::from(number)];
        let contender = &mut channel.contenders[usize::from(sender.contender_index)];
        if contender.wants {
            return;
        }
        contender.wants = true;
        contender.is_immediate = false;
        if channel.is_busy {
            if contender.slots == 0 {
                contender.slots = sender.draw();
            }
            return;
        }
        let (now, Times { slot, difs, .. }) = (agenda.now().0, self.times);
        contender.count_down(now, slot);
        if contender.slots == 0 {
            contender.is_immediate = true;
            let ready = match self.mac.idle_access {
                IdleAccess::AfterDifs => now + difs,
                IdleAccess::AtOnce => now,
            };
            contender.start = contender.start.max(ready);
        }
        let at = contender.access_at(slot);
        if at < channel.planned {
            plan(channel, number, at, agenda);
        }
    }

    fn beacon(&mut self, station: StationId, agenda: &mut impl Agenda<Event>) {
        let Some(beacons) = self.mac.beacons else { return };
        let next = agenda.now() + beacons.interval;
        agenda.schedule(next, Event(Kind::Beacon { station }));
        let sender = &mut self.senders[station.index()];
        sender.is_beacon_due = true;
        if !sender.is_sending {
            self.request(station, agenda);
        }
    }
}

/// Plans the next access of a channel.
pub(crate) fn plan(channel: &mut Channel, number: u16, at: u64, agenda: &mut impl Agenda<Event>) {
    channel.epoch = channel.epoch.wrapping_add(1);
    channel.planned = at;
    if at != NEVER {
        agenda.schedule(Instant(at), Event(Kind::Access { channel: number, epoch: channel.epoch }));
    }
}
