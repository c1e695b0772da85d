//! Stations that have joined the Wi-Fi by 802.1X, and which team each has proved to be of.
//!
//! Having joined is no service: that takes a session. But who has proved to be of one team gets no session of another, and
//! a session that ends badly ends the station's stay, so that its home and this household are asked again.

use crate::access_point::Event;
use guestright_ordered::OrderedMap;
use guestright_units::{Micros, TeamId, Time};

/// A station's hardware address. On the network that it has joined, its frames are encrypted with keys of its own.
pub type Station = [u8; 6];

/// The value of RADIUS's Class: chance that tells one stay from the next.
pub type Stay = [u8; 16];

/// A station of which nothing was reported for so long has gone: the radio reports each once a minute.
const SILENT_MAX: Micros = Micros::from_seconds(300);
/// One of which nothing ever was, after so long: a radio that does not report says nothing at all.
const UNREPORTED_MAX: Micros = Micros::from_seconds(86_400);
/// What the radio has to end a stay itself at its time.
const OVERDUE: Micros = Micros::from_seconds(60);

/// Somebody whom its home and the household have let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    pub station: Station,
    pub team: TeamId,
    pub stay: Stay,
    pub since: Time,
    /// When its stay ends, if that is known.
    pub until: Option<Time>,
}

/// What a radio reports of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationReport {
    pub station: Station,
    /// Nothing: the radio did not say.
    pub stay: Option<Stay>,
    /// Whether it is still there.
    pub is_there: bool,
}

#[derive(Debug)]
struct Entry {
    joined: Joined,
    reported: Option<Time>,
    /// It was to leave.
    dismissed: bool,
}

impl Entry {
    /// When something has to be done about it.
    fn due(&self) -> Time {
        let silent = match self.reported {
            Some(at) => at + SILENT_MAX,
            None => self.joined.since + UNREPORTED_MAX,
        };
        self.joined.until.map_or(silent, |until| silent.min(until + OVERDUE))
    }
}

/// Who has joined.
#[derive(Debug, Default)]
pub(super) struct Stations {
    entries: OrderedMap<Station, Entry>,
}

impl Stations {
    /// Whether there is room for one of the team.
    pub(super) fn has_room(&self, station: Station, team: TeamId, max: usize, team_max: usize) -> bool {
        let others = || self.entries.values().filter(|entry| entry.joined.station != station);
        others().count() < max && others().filter(|entry| entry.joined.team == team).count() < team_max
    }

    pub(super) fn join(&mut self, joined: Joined) {
        let entry = Entry { joined, reported: None, dismissed: false };
        self.entries.insert(entry.joined.station, entry);
    }

    /// Whose member the station has proved to be.
    pub(super) fn team(&self, station: Station) -> Option<TeamId> {
        self.entries.get(&station).map(|entry| entry.joined.team)
    }

    /// The radio reports of a station. One that we do not know of came before we were started: it has to prove itself again.
    pub(super) fn handle_report(&mut self, report: StationReport, now: Time) -> Option<Event> {
        let StationReport { station, stay, is_there } = report;
        let Some(entry) = self.entries.get_mut(&station) else {
            return is_there.then_some(Event::Dismiss { station, reason: "it joined before the last start" });
        };
        if stay.is_some_and(|stay| stay != entry.joined.stay) {
            return None; // Of an earlier stay, overtaken by the next.
        }
        if is_there {
            entry.reported = Some(now);
        } else {
            self.entries.remove(&station);
        }
        None
    }

    /// It has left.
    pub(super) fn leave(&mut self, station: Station) {
        self.entries.remove(&station);
    }

    /// It has to leave, if it has joined and was not told before.
    pub(super) fn dismiss(&mut self, station: Station, reason: &'static str) -> Option<Event> {
        let entry = self.entries.get_mut(&station).filter(|entry| !entry.dismissed)?;
        entry.dismissed = true;
        Some(Event::Dismiss { station, reason })
    }

    /// Everybody has to leave.
    pub(super) fn dismiss_all(&mut self, reason: &'static str) -> Vec<Event> {
        let stations: Vec<_> = self.entries.keys().copied().collect();
        stations.into_iter().filter_map(|station| self.dismiss(station, reason)).collect()
    }

    /// Forgets who has gone without a word. Should one be there after all, it has to prove itself again.
    pub(super) fn handle_timeout(&mut self, now: Time) -> Vec<Event> {
        let due = self.entries.extract_if(|_, entry| entry.due() <= now);
        let reason = "nothing was reported of it for a long time";
        due.map(|(station, _)| Event::Dismiss { station, reason }).collect()
    }

    pub(super) fn timeout(&self) -> Option<Time> {
        self.entries.values().map(Entry::due).min()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Joined> {
        self.entries.values().map(|entry| &entry.joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(1_000_000_000);
    const OURS: TeamId = TeamId([1; 24]);
    const THEIRS: TeamId = TeamId([2; 24]);

    fn station(number: u8) -> Station {
        [2, 0, 0, 0, 0, number]
    }

    fn joined(number: u8, team: TeamId) -> Joined {
        Joined { station: station(number), team, stay: [number; 16], since: NOW, until: None }
    }

    fn report(number: u8, stay: Option<u8>, is_there: bool) -> StationReport {
        StationReport { station: station(number), stay: stay.map(|stay| [stay; 16]), is_there }
    }

    fn with(all: impl IntoIterator<Item = Joined>) -> Stations {
        let mut stations = Stations::default();
        all.into_iter().for_each(|joined| stations.join(joined));
        stations
    }

    #[test]
    fn neither_a_team_nor_all_of_them_have_more_than_their_share() {
        let stations = with([joined(1, OURS), joined(2, OURS), joined(3, THEIRS)]);
        let has_room = |number, team| stations.has_room(station(number), team, 4, 2);
        assert!(!has_room(9, OURS) && has_room(9, THEIRS));
        assert!(has_room(1, OURS), "who comes again takes its own room");
        let stations = with((0..4).map(|number| joined(number, TeamId([number; 24]))));
        assert!(!stations.has_room(station(9), TeamId([9; 24]), 4, 2));
    }

    #[test]
    fn the_end_of_an_earlier_stay_does_not_end_the_next() {
        let mut stations = with([joined(1, OURS)]);
        assert_eq!(stations.handle_report(report(1, Some(8), false), NOW), None);
        assert_eq!(stations.team(station(1)), Some(OURS));
        assert_eq!(stations.handle_report(report(1, Some(1), false), NOW), None);
        assert_eq!(stations.team(station(1)), None);
    }

    #[test]
    fn who_was_there_before_us_has_to_prove_itself_again() {
        let mut stations = Stations::default();
        assert_eq!(stations.handle_report(report(1, Some(1), false), NOW), None);
        let event = stations.handle_report(report(1, Some(1), true), NOW);
        assert!(matches!(event, Some(Event::Dismiss { station: [2, 0, 0, 0, 0, 1], .. })), "{event:?}");
    }

    #[test]
    fn who_falls_silent_is_forgotten_and_sent_away_if_it_is_there_after_all() {
        let mut stations = with([joined(1, OURS), joined(2, OURS)]);
        assert_eq!(stations.timeout(), Some(NOW + UNREPORTED_MAX), "a radio may report nothing at all");
        stations.handle_report(report(1, Some(1), true), NOW);
        stations.handle_report(report(2, None, true), NOW + Micros(1));
        assert_eq!(stations.timeout(), Some(NOW + SILENT_MAX));
        assert_eq!(stations.handle_timeout(NOW + Micros(SILENT_MAX.0 - 1)), []);
        let gone = stations.handle_timeout(NOW + SILENT_MAX);
        assert!(matches!(gone.as_slice(), [Event::Dismiss { station: [2, 0, 0, 0, 0, 1], .. }]), "{gone:?}");
        assert_eq!((stations.team(station(1)), stations.team(station(2))), (None, Some(OURS)));
    }

    #[test]
    fn a_stay_ends_at_its_time_unless_it_is_renewed() {
        let until = |seconds| Some(NOW + Micros::from_seconds(seconds));
        let mut stations = with([Joined { until: until(100), ..joined(1, OURS) }]);
        stations.join(Joined { until: until(200), ..joined(1, OURS) });
        assert_eq!(stations.timeout(), until(260));
        assert_eq!(stations.handle_timeout(NOW + Micros::from_seconds(260)).len(), 1);
        assert_eq!(stations.timeout(), None);
    }

    #[test]
    fn it_is_told_once() {
        let mut stations = with([joined(1, OURS), joined(2, THEIRS)]);
        assert!(stations.dismiss(station(1), "unpaid").is_some());
        assert_eq!(stations.dismiss(station(1), "unpaid"), None);
        assert_eq!(stations.dismiss(station(9), "unpaid"), None, "it never joined");
        assert_eq!(stations.dismiss_all("the end").len(), 1);
        stations.join(joined(1, OURS));
        assert!(stations.dismiss(station(1), "unpaid").is_some(), "of another stay");
    }
}
