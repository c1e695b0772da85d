use crate::{Boat, Clocks};
use guestright_units::{Micros, Time};
use guestright_voice::playout::Sound;
use guestright_voice::session::Frame;
use guestright_voice::tool::{Ending, Event, Summary, Tool, ToolError, Transmit};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// A packet of sound in these tests, in bytes.
const PAYLOAD: usize = 34;

/// A network, and what is said over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// All chance comes from it.
    pub seed: u64,
    /// How long the network is like that. After it, nothing is lost or overtaken for [`Schedule::calm`].
    pub rough: Micros,
    /// See [`Schedule::rough`].
    pub calm: Micros,
    /// Datagrams of a thousand that are lost.
    pub loss_permille: u32,
    /// Datagrams of a thousand that come twice.
    pub duplicate_permille: u32,
    /// What a way takes at least: there, and back.
    pub delay: [Micros; 2],
    /// What chance adds at most, drawn for each datagram: they overtake each other.
    pub jitter: Micros,
    /// The delay jumps up by as much for a second now and then.
    pub jump: Micros,
    /// Every so many seconds.
    pub jump_every: u64,
    /// How much faster than ours the clocks of both sides are, in parts of a million.
    pub drift_ppm: [i64; 2],
    /// What their clocks show at the start.
    pub start: [Time; 2],
    /// Packets of sound, and packets of silence, at most in a row.
    pub talk_max: u64,
    /// Sound in a packet.
    pub packet: Micros,
}

impl Schedule {
    /// Anything up to a loss of 400 in a thousand.
    #[must_use]
    pub fn random(seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut up_to = |most: u64| rng.random_range(0..=most);
        Self {
            seed,
            rough: Micros::from_millis(2_000 + up_to(2_000)),
            calm: Micros::from_millis(5_000),
            loss_permille: u32::try_from(up_to(400)).unwrap_or(0),
            duplicate_permille: u32::try_from(up_to(200)).unwrap_or(0),
            delay: [Micros(up_to(100_000)), Micros(up_to(100_000))],
            jitter: Micros(up_to(80_000)),
            jump: Micros(up_to(150_000)),
            jump_every: 2 + up_to(3),
            drift_ppm: if up_to(1) == 0 {
                [0, 0]
            } else {
                [up_to(400).cast_signed() - 200, up_to(400).cast_signed() - 200]
            },
            start: [Time(up_to(1 << 50)), Time(up_to(1 << 50))],
            talk_max: 2 + up_to(40),
            packet: Micros::from_millis(20 * (1 + up_to(2))),
        }
    }

    fn end(&self) -> Time {
        Time(self.rough.0 + self.calm.0)
    }

    fn is_rough(&self, now: Time) -> bool {
        now.0 < self.rough.0
    }

    fn local(&self, side: usize, now: Time) -> Time {
        let drift = i128::from(now.0) * i128::from(self.drift_ppm[side]) / 1_000_000;
        let passed = i128::from(now.0) + drift;
        Time(self.start[side].0 + u64::try_from(passed).unwrap_or(0))
    }

    /// The first point of ours at which a side's clock shows at least that.
    fn global(&self, side: usize, local: Time) -> Time {
        let passed = i128::from(local.0.saturating_sub(self.start[side].0));
        let ours = passed * 1_000_000 / (1_000_000 + i128::from(self.drift_ppm[side]));
        let mut ours = Time(u64::try_from(ours).unwrap_or(0));
        while self.local(side, ours) < local {
            ours = ours + Micros(1);
        }
        ours
    }
}

/// A packet of sound that was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// Which frame of the other side.
    pub number: u32,
    pub timestamp: u64,
    /// When, by our clock.
    pub at: Time,
}

#[derive(Debug)]
pub struct Outcome {
    /// Both sides, as they were at the end.
    pub sides: [Boat; 2],
    /// What each side has played.
    pub played: [Vec<Played>; 2],
    /// How the call ended for each.
    pub endings: [Option<Ending>; 2],
    /// Datagrams of the peer's that a side called forged or malformed, while it was in the call.
    pub forged: [u64; 2],
    /// What is wrong with a clock, if something is.
    pub clock_errors: Vec<String>,
    pub summaries: [Summary; 2],
}

impl Outcome {
    /// Checks what must hold of every schedule.
    ///
    /// # Errors
    /// The first thing that does not hold.
    pub fn check(&self, schedule: &Schedule) -> Result<(), String> {
        if let Some(error) = self.clock_errors.first() {
            return Err(error.clone());
        }
        for side in 0..2 {
            if self.forged[side] != 0 {
                return Err(format!("side {side} had no key for {} datagrams", self.forged[side]));
            }
            for pair in self.played[side].windows(2) {
                if pair[1].number <= pair[0].number || pair[1].timestamp <= pair[0].timestamp {
                    return Err(format!("side {side} played {:?} after {:?}", pair[1], pair[0]));
                }
            }
            self.check_life(side, schedule)?;
        }
        Ok(())
    }

    /// Both are in the call and hear each other, or both know that it is over.
    fn check_life(&self, side: usize, schedule: &Schedule) -> Result<(), String> {
        match (&self.endings[side], &self.endings[1 - side]) {
            (Some(_), Some(_)) => Ok(()),
            (None, None) => {
                let calm = schedule.end().0 - 1_000_000;
                let hears = self.played[side].last().is_some_and(|last| last.at.0 >= calm);
                if hears { Ok(()) } else { Err(format!("side {side} hears nothing at the end")) }
            }
            (mine, other) => Err(format!("side {side} has {mine:?}, the other has {other:?}")),
        }
    }
}

struct Flight {
    to: usize,
    bytes: Vec<u8>,
}

struct Party {
    boat: Boat,
    frame_at: Time,
    sound_at: Time,
    is_talking: bool,
    run: u64,
    number: u32,
    played: Vec<Played>,
    ending: Option<Ending>,
    forged: u64,
}

struct World<'a> {
    schedule: &'a Schedule,
    rng: ChaCha8Rng,
    flights: BTreeMap<(Time, u64), Flight>,
    count: u64,
    parties: [Party; 2],
    clock_errors: Vec<String>,
}

/// The address of a side.
fn address(side: usize) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, if side == 0 { 1 } else { 2 }], 17_447))
}

/// Lets two sides talk. `make` makes a side: 0 is the caller, 1 the callee; with its own address, that of the other, and
/// what its clock shows.
pub fn run(
    schedule: &Schedule,
    mut make: impl FnMut(usize, SocketAddr, SocketAddr, Time) -> Boat,
) -> Outcome {
    let mut party = |side: usize| Party {
        boat: make(side, address(side), address(1 - side), schedule.start[side]),
        frame_at: Time(7_000 + 11_000 * side as u64),
        sound_at: Time(3_000 + 5_000 * side as u64),
        is_talking: true,
        run: 0,
        number: 0,
        played: Vec::new(),
        ending: None,
        forged: 0,
    };
    let mut world = World {
        schedule,
        rng: ChaCha8Rng::seed_from_u64(schedule.seed ^ 0x5eed),
        flights: BTreeMap::new(),
        count: 0,
        parties: [party(0), party(1)],
        clock_errors: Vec::new(),
    };
    world.run();
    let World { parties: [caller, callee], clock_errors, .. } = world;
    let summaries = [caller.boat.summary(), callee.boat.summary()];
    Outcome {
        sides: [caller.boat, callee.boat],
        played: [caller.played, callee.played],
        endings: [caller.ending, callee.ending],
        forged: [caller.forged, callee.forged],
        clock_errors,
        summaries,
    }
}

impl World<'_> {
    fn run(&mut self) {
        let mut now = Time(0);
        // The last silence is waited for only where one side has ended.
        let patience = self.schedule.end() + Micros::from_seconds(30);
        loop {
            (0..2).for_each(|side| self.collect(side, now));
            self.check_clocks(now);
            let next = self.next(now);
            let endings = self.parties.iter().filter(|party| party.ending.is_some()).count();
            if endings == 2 || (next > self.schedule.end() && endings == 0) || next > patience {
                return;
            }
            now = next;
            self.step(now);
        }
    }

    fn next(&self, now: Time) -> Time {
        let flight = self.flights.first_key_value().map(|((at, _), _)| *at);
        let parties = self.parties.iter().enumerate().flat_map(|(side, party)| {
            let timeout = party.boat.poll_timeout().map(|at| self.schedule.global(side, at));
            [Some(party.frame_at), Some(party.sound_at), timeout]
        });
        let next = flight.into_iter().chain(parties.flatten()).min().unwrap_or(now);
        next.max(now)
    }

    fn step(&mut self, now: Time) {
        while let Some(entry) = self.flights.first_entry()
            && entry.key().0 <= now
        {
            let Flight { to, bytes } = entry.remove();
            let local = self.schedule.local(to, now);
            let party = &mut self.parties[to];
            let outcome = party.boat.handle_datagram(&bytes, address(1 - to), local);
            let is_unknown = matches!(outcome, Err(ToolError::Forged | ToolError::Malformed(_)));
            party.forged += u64::from(is_unknown && party.ending.is_none());
            self.collect(to, now);
        }
        for side in 0..2 {
            let local = self.schedule.local(side, now);
            let party = &mut self.parties[side];
            if party.boat.poll_timeout().is_some_and(|at| at <= local) {
                party.boat.handle_timeout(local);
                let again = party.boat.poll_timeout();
                assert!(again.is_none_or(|at| at > local), "side {side} wants {again:?} at {local:?} again");
            }
            if party.frame_at <= now {
                self.speak(side, now);
            }
            if self.parties[side].sound_at <= now {
                self.listen(side, now);
            }
        }
    }

    fn speak(&mut self, side: usize, now: Time) {
        let party = &mut self.parties[side];
        // In the calm everybody speaks often, so that one hears whether they hear each other.
        let most =
            if self.schedule.is_rough(now) { self.schedule.talk_max } else { self.schedule.talk_max.min(8) };
        party.run = party.run.min(most);
        if party.run == 0 {
            party.is_talking = !party.is_talking;
            party.run = self.rng.random_range(1..=most);
        }
        party.run -= 1;
        party.number += 1;
        let mut payload = [0; PAYLOAD];
        payload[..4].copy_from_slice(&party.number.to_be_bytes());
        let frame = Frame {
            payload: &payload,
            duration: self.schedule.packet,
            is_speech: party.is_talking,
            noise_level: 60,
        };
        party.boat.handle_frame(&frame, self.schedule.local(side, now));
        let next = self.schedule.local(side, party.frame_at) + self.schedule.packet;
        party.frame_at = self.schedule.global(side, next);
    }

    fn listen(&mut self, side: usize, now: Time) {
        let local = self.schedule.local(side, now);
        let party = &mut self.parties[side];
        let output = party.boat.poll_sound(local);
        if let Sound::Play { payload, timestamp, .. } = output.sound {
            let number = payload.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
            party.played.push(Played { number, timestamp, at: now });
        }
        assert!(output.duration.0 > 0, "no sound lasts no time");
        party.sound_at = self.schedule.global(side, local + output.duration);
    }

    fn collect(&mut self, side: usize, now: Time) {
        while let Some(transmit) = self.parties[side].boat.poll_transmit() {
            self.send(side, transmit, now);
        }
        while let Some(event) = self.parties[side].boat.poll_event() {
            match event {
                Event::Ended(ending) => self.parties[side].ending = Some(ending),
                Event::Connected(_) | Event::Trouble(_) => {}
            }
        }
        while self.parties[side].boat.poll_received().is_some() {}
    }

    fn send(&mut self, side: usize, transmit: Transmit, now: Time) {
        assert_eq!(transmit.to, address(1 - side), "it goes to the peer");
        let Schedule { loss_permille, duplicate_permille, delay, jitter, jump, jump_every, .. } =
            *self.schedule;
        let is_rough = self.schedule.is_rough(now);
        let copies = match is_rough {
            false => 1,
            true if self.rng.random_ratio(loss_permille.min(1_000), 1_000) => 0,
            true if self.rng.random_ratio(duplicate_permille.min(1_000), 1_000) => 2,
            true => 1,
        };
        for _ in 0..copies {
            let mut takes = delay[side].0;
            if is_rough {
                takes += self.rng.random_range(0..=jitter.0);
                let is_up = (now.0 / 1_000_000).is_multiple_of(jump_every.max(1));
                takes += if is_up { jump.0 } else { 0 };
            }
            self.count += 1;
            let flight = Flight { to: 1 - side, bytes: transmit.bytes.clone() };
            self.flights.insert((now + Micros(takes), self.count), flight);
        }
    }

    /// Where the clocks do not drift, `Delta` lies between what was installed and the round trip more, to a tick.
    fn check_clocks(&mut self, now: Time) {
        if self.schedule.drift_ppm != [0, 0] || !self.clock_errors.is_empty() {
            return;
        }
        for side in 0..2 {
            let clocks = |side: usize| self.parties[side].boat.clocks(self.schedule.local(side, now));
            let (Some(here), Some(there)) = (clocks(side), clocks(1 - side)) else { continue };
            let Clocks { listener: Some(listener), bounds: Some((least, most)), is_pending: false, .. } =
                here
            else {
                continue;
            };
            let delta = i64::from(there.talker.wrapping_sub(listener).cast_signed());
            if delta < least.cast_signed() - 1 || delta > most.cast_signed() + 1 {
                let error = format!("side {side} at {now:?}: Delta is {delta}, not in {least}..={most}");
                self.clock_errors.push(error);
            }
        }
    }
}
