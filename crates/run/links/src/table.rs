//! All links of a home: which home and team each belongs to, and what is to be sent on it.

use crate::config::Config;
use crate::dials::{Dials, Round, Wish};
use crate::links::{Input, LinkEvent, Linked, NeighbourEvent};
use crate::pace::{Attempts, FramePaces};
use crate::transport::{Up, read_messages, write_messages};
use guestright_credit::FRAME_LEN_MAX;
use guestright_directory::{Address, HomeHint, HomeMessage, LinkId, is_home_message};
use guestright_identity::KeyId;
use guestright_ordered::OrderedMap;
use guestright_radius::relay;
use guestright_units::{Micros, TeamId, Time};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// Messages that wait for one link, and for one that is being made.
const OUTGOING_MAX: usize = 256;
const HELD_MAX: usize = 32;
/// Links at a time, and handshakes with homes that the exchange calls.
const LINKS_MAX: usize = 256;
/// How many links may come from one address: several homes may share one, but not a whole town.
const LINKS_EACH_MAX: usize = 16;
const CALLING_MAX: usize = 32;
/// Homes of which it is known where they were reached last.
const ADDRESSES_MAX: usize = 4_096;
/// A link that nobody uses for so long is closed.
const IDLE_MAX: Micros = Micros::from_seconds(900);

/// What the task delivers.
#[derive(Debug)]
pub(crate) enum Output {
    Exchange(LinkEvent),
    Neighbour(NeighbourEvent),
}

struct Open {
    home: KeyId,
    team: TeamId,
    outgoing: mpsc::Sender<Vec<u8>>,
    reader: AbortHandle,
    used: Time,
    /// Where it came from, unless we made it.
    from: Option<IpAddr>,
}

pub(crate) struct Table {
    own: TeamId,
    open: OrderedMap<LinkId, Open>,
    /// The newest link of each home, and of each team.
    by_home: OrderedMap<KeyId, LinkId>,
    by_team: OrderedMap<TeamId, LinkId>,
    /// Where a home was reached last.
    addresses: OrderedMap<KeyId, Address>,
    /// Where the exchange has homes called.
    calling: Vec<HomeHint>,
    /// Its messages for homes that are being called.
    held: OrderedMap<KeyId, VecDeque<Vec<u8>>>,
    pub(crate) dials: Dials,
    pub(crate) attempts: Attempts,
    paces: FramePaces,
    /// Of their own: phones that try to join must not hold up accounts, and who looks for homes neither.
    eap_paces: FramePaces,
    homes_paces: FramePaces,
    next: LinkId,
    outputs: VecDeque<Output>,
    dropped: BTreeMap<&'static str, u64>,
}

impl Table {
    pub(crate) fn new(own: TeamId, config: &Config) -> Self {
        Self {
            own,
            open: OrderedMap::new(),
            by_home: OrderedMap::new(),
            by_team: OrderedMap::new(),
            addresses: OrderedMap::new(),
            calling: Vec::new(),
            held: OrderedMap::new(),
            dials: Dials::new(config),
            attempts: Attempts::new(config.address_rest),
            paces: FramePaces::new(config.frames_per_second_max),
            eap_paces: FramePaces::new(config.frames_per_second_max),
            homes_paces: FramePaces::new(config.frames_per_second_max),
            next: 0,
            outputs: VecDeque::new(),
            dropped: BTreeMap::new(),
        }
    }

    /// What is to be delivered next.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How many frames were dropped, by reason.
    pub(crate) fn dropped(&self) -> &BTreeMap<&'static str, u64> {
        &self.dropped
    }

    pub(crate) fn count_dropped(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Reads and writes on a fresh link from now on. Whether there is room for it. `inputs` is where its tasks report.
    pub(crate) fn accept(&mut self, up: Up, inputs: &mpsc::Sender<Input>, now: Time) -> bool {
        let Up { sender, receiver, certificate, peer, local, called } = up;
        if let Some(called) = &called {
            self.calling.retain(|each| each != called);
        }
        let (home, team) = (certificate.subject_id(), certificate.team_id());
        let from = called.is_none().then(|| peer.ip().to_canonical());
        let came = self.open.iter().filter_map(|(link, open)| Some((*link, open.from?, open.used)));
        match room(came, self.open.len(), from) {
            Room::Enough => {}
            Room::None => {
                tracing::debug!(%peer, "its address has enough links");
                return false;
            }
            Room::After(link) => self.close(link),
        }
        let link = self.next;
        self.next += 1;
        let (outgoing, messages) = mpsc::channel::<Vec<u8>>(OUTGOING_MAX);
        tokio::spawn(write_messages(sender, messages, link, inputs.clone()));
        let reader = tokio::spawn(read_messages(receiver, link, inputs.clone())).abort_handle();
        let is_neighbour = team != self.own;
        let held = self.held.remove(&home).into_iter().flatten();
        for message in held.chain(self.dials.linked(team)) {
            let _ = outgoing.try_send(message);
        }
        if let Some(HomeHint { address, .. }) = &called {
            if self.addresses.len() >= ADDRESSES_MAX && !self.addresses.contains_key(&home) {
                self.addresses.pop_first();
            }
            self.addresses.insert(home, address.clone());
            if is_neighbour {
                self.dials.book.prove(team, address.clone());
            }
        }
        self.open.insert(link, Open { home, team, outgoing, reader, used: now, from });
        self.by_home.insert(home, link);
        if self.by_team.insert(team, link).is_none() && is_neighbour {
            self.outputs.push_back(Output::Neighbour(NeighbourEvent::Up(team)));
        }
        let (peer, local) = (peer.ip().to_canonical(), local.ip().to_canonical());
        let called = called.map(|called| called.address);
        let linked = Linked { link, home, peer, local, called };
        self.outputs.push_back(Output::Exchange(LinkEvent::Up(linked)));
        true
    }

    /// Takes in what another home sends: a frame about credit, EAP or where homes are for the home's loop, anything else for
    /// the exchange.
    pub(crate) fn receive(&mut self, link: LinkId, bytes: Vec<u8>, now: Time) {
        let Some(open) = self.open.get_mut(&link) else { return };
        let Some(kind) = Kind::of(&bytes) else {
            open.used = now;
            return self.outputs.push_back(Output::Exchange(LinkEvent::Frame(link, bytes)));
        };
        let team = open.team;
        let paces = match kind {
            Kind::Credit => &mut self.paces,
            Kind::Eap => &mut self.eap_paces,
            Kind::Homes => &mut self.homes_paces,
        };
        if team == self.own {
            self.count_dropped("own team");
        } else if bytes.len() > kind.bytes_max() {
            self.count_dropped("too long");
        } else if !paces.try_acquire(team, now) {
            self.count_dropped("too many of one team");
        } else {
            open.used = now;
            self.outputs.push_back(Output::Neighbour(NeighbourEvent::Frame { team, bytes }));
        }
    }

    /// A link is no more.
    pub(crate) fn close(&mut self, link: LinkId) {
        let Some(open) = self.open.remove(&link) else { return };
        open.reader.abort();
        let newest = |is_same: &dyn Fn(&Open) -> bool| {
            self.open.iter().rev().find(|(_, other)| is_same(other)).map(|(link, _)| *link)
        };
        let (of_home, of_team) =
            (newest(&|other| other.home == open.home), newest(&|other| other.team == open.team));
        match of_home {
            Some(other) => self.by_home.insert(open.home, other),
            None => self.by_home.remove(&open.home),
        };
        match of_team {
            Some(other) => drop(self.by_team.insert(open.team, other)),
            None => {
                self.by_team.remove(&open.team);
                if open.team != self.own {
                    self.outputs.push_back(Output::Neighbour(NeighbourEvent::Down(open.team)));
                }
            }
        }
        self.outputs.push_back(Output::Exchange(LinkEvent::Down(link)));
    }

    pub(crate) fn close_all(&mut self) {
        while let Some((link, _)) = self.open.first_key_value() {
            self.close(*link);
        }
    }

    /// Closes links that nobody has used for long.
    pub(crate) fn close_idle(&mut self, now: Time) {
        let is_idle = |open: &Open| now.since(open.used) > IDLE_MAX;
        let idle: Vec<_> = self.open.iter().filter(|(_, open)| is_idle(open)).map(|(id, _)| *id).collect();
        idle.into_iter().for_each(|link| self.close(link));
    }

    /// The exchange wants this home called. Whether that is to be begun now; it may be under way.
    pub(crate) fn call(&mut self, hint: &HomeHint) -> Called {
        if self.calling.contains(hint) {
            return Called::UnderWay;
        }
        if self.calling.len() >= CALLING_MAX {
            return Called::Refused;
        }
        self.calling.push(hint.clone());
        Called::Begin
    }

    /// The exchange learns that no home is there.
    pub(crate) fn fail_call(&mut self, hint: HomeHint) {
        self.outputs.push_back(Output::Exchange(LinkEvent::Failed(hint)));
    }

    /// A home that the exchange wanted called could not be reached. The home that cannot be sent what was held for it.
    pub(crate) fn call_failed(&mut self, hint: &HomeHint) -> Option<KeyId> {
        self.calling.retain(|each| each != hint);
        let home = hint.key?;
        self.held.remove(&home).map(|_| home)
    }

    /// Sends to a home, or says where it is to be called first.
    pub(crate) fn send_to_home(&mut self, home: KeyId, message: Vec<u8>, now: Time) -> Sent {
        if let Some(link) = self.by_home.get(&home).copied() {
            return Sent::from(self.send_on(link, message, now));
        }
        let Some(address) = self.addresses.get(&home).cloned() else { return Sent::Refused };
        let hint = HomeHint { address, key: Some(home) };
        let may_call = self.calling.contains(&hint) || self.calling.len() < CALLING_MAX;
        if !may_call || self.held.get(&home).is_some_and(|held| held.len() >= HELD_MAX) {
            return Sent::Refused;
        }
        self.held.entry(home).or_default().push_back(message);
        Sent::Call(hint)
    }

    pub(crate) fn send_on(&mut self, link: LinkId, message: Vec<u8>, now: Time) -> bool {
        let Some(open) = self.open.get_mut(&link) else { return false };
        open.used = now;
        open.outgoing.try_send(message).is_ok()
    }

    pub(crate) fn is_team_up(&self, team: TeamId) -> bool {
        team != self.own && self.by_team.contains_key(&team)
    }

    /// Sends to a team, or says where it is to be called first. Nothing but frames for other homes' loops is sent.
    pub(crate) fn send_to_team(&mut self, team: TeamId, frame: Vec<u8>, now: Time) -> Wish {
        if team == self.own || Kind::of(&frame).is_none_or(|kind| frame.len() > kind.bytes_max()) {
            return Wish::Refused;
        }
        let Some(link) = self.by_team.get(&team).copied() else {
            return self.dials.reach(team, Some(frame), now);
        };
        if self.send_on(link, frame, now) { Wish::UnderWay } else { Wish::Refused }
    }

    pub(crate) fn connect_to_team(&mut self, team: TeamId, now: Time) -> Wish {
        if team == self.own {
            return Wish::Refused;
        }
        if self.is_team_up(team) { Wish::UnderWay } else { self.dials.reach(team, None, now) }
    }

    pub(crate) fn learn(&mut self, team: TeamId, address: Address) {
        if team != self.own {
            self.dials.learn(team, address);
        }
    }

    /// Takes in what was known before.
    pub(crate) fn restore(&mut self, team: TeamId, address: Address, is_proven: bool) {
        if is_proven && team != self.own {
            self.dials.book.prove(team, address);
        } else {
            self.learn(team, address);
        }
    }

    /// Nobody of a team was there.
    pub(crate) fn dial_failed(&mut self, round: &Round, was_tried: bool, now: Time) {
        if self.dials.failed(round.team, round.number, was_tried, now) {
            self.outputs.push_back(Output::Neighbour(NeighbourEvent::Unreachable(round.team)));
        }
    }
}

/// What a frame for the home's loop is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Credit,
    Eap,
    /// Where homes of teams are.
    Homes,
}

impl Kind {
    fn of(frame: &[u8]) -> Option<Self> {
        if guestright_credit::is_frame(frame) {
            return Some(Self::Credit);
        }
        if is_home_message(frame) {
            return Some(Self::Homes);
        }
        relay::is_message(frame).then_some(Self::Eap)
    }

    fn bytes_max(self) -> usize {
        match self {
            Self::Credit => FRAME_LEN_MAX,
            Self::Eap => relay::MESSAGE_BYTES_MAX,
            Self::Homes => HomeMessage::LEN_MAX,
        }
    }
}

/// What comes of the wish to have a home called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Called {
    Begin,
    UnderWay,
    /// Too many are being called.
    Refused,
}

/// What comes of a message to a home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It waits for the link.
    Queued,
    /// It waits until this home was called.
    Call(HomeHint),
    Refused,
}

impl From<bool> for Sent {
    fn from(is_queued: bool) -> Self {
        if is_queued { Self::Queued } else { Self::Refused }
    }
}

/// Whether there is room for a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Enough,
    None,
    /// Once this one is gone.
    After(LinkId),
}

/// Whether there is room for a link that comes `from` an address, or is ours, beside those that `came`, of `all`. When all
/// places are taken, the address that has most of them gives one up, the one that was not used for longest.
fn room(came: impl Iterator<Item = (LinkId, IpAddr, Time)>, all: usize, from: Option<IpAddr>) -> Room {
    let mut by_address = OrderedMap::<IpAddr, Vec<(Time, LinkId)>>::new();
    for (link, address, used) in came {
        by_address.entry(address).or_default().push((used, link));
    }
    let same = from.and_then(|from| by_address.get(&from)).map_or(0, Vec::len);
    if same >= LINKS_EACH_MAX {
        return Room::None;
    }
    if all < LINKS_MAX {
        return Room::Enough;
    }
    let most = by_address.values().max_by_key(|links| links.len()).filter(|links| links.len() > same + 1);
    most.and_then(|links| links.iter().min()).map_or(Room::None, |(_, link)| Room::After(*link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// So many links of each of these addresses, the first of each used longest ago.
    fn links(counts: &[(u8, usize)]) -> Vec<(LinkId, IpAddr, Time)> {
        let address = |number: u8| IpAddr::from(Ipv4Addr::new(192, 0, 2, number));
        let of = |&(number, count): &(u8, usize)| (0..count).map(move |nth| (address(number), nth));
        let all = counts.iter().flat_map(of).zip(0..);
        all.map(|((address, nth), link)| (link, address, Time(1_000 + nth as u64))).collect()
    }

    #[test]
    fn one_address_has_its_share_and_gives_way_when_all_places_are_taken() {
        let from = |number| Some(IpAddr::from(Ipv4Addr::new(192, 0, 2, number)));
        let try_room = |counts: &[(u8, usize)], all, from| room(links(counts).into_iter(), all, from);
        assert_eq!(try_room(&[(1, 15)], 15, from(1)), Room::Enough);
        assert_eq!(try_room(&[(1, 16)], 16, from(1)), Room::None);
        assert_eq!(try_room(&[(1, 16)], 16, from(2)), Room::Enough);
        assert_eq!(try_room(&[(1, 3), (2, 16)], LINKS_MAX, from(3)), Room::After(3));
        assert_eq!(try_room(&[(1, 3), (2, 16)], LINKS_MAX, None), Room::After(3), "we connect ourselves");
        assert_eq!(try_room(&[(1, 1), (2, 1)], LINKS_MAX, from(3)), Room::None, "everybody has one");
    }
}
