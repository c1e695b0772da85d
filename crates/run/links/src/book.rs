//! Where teams' homes may be: what others say, and what a handshake has proven.

use crate::LinksError;
use guestright_directory::Address;
use guestright_ordered::OrderedMap;
use guestright_units::TeamId;
use std::collections::VecDeque;
use std::fmt::Write as _;

/// An address at which a home of a team may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAddress {
    pub team: TeamId,
    pub address: Address,
    /// Whether a home of the team has answered there, and nobody else since.
    pub is_proven: bool,
}

/// A bounded number of addresses of a bounded number of teams.
#[derive(Debug)]
pub(crate) struct AddressBook {
    teams: OrderedMap<TeamId, Entry>,
    teams_max: usize,
    /// How often something was learned.
    learned: u64,
}

#[derive(Debug, Default)]
struct Entry {
    proven: Option<Address>,
    /// What others say, the newest first.
    hints: VecDeque<Address>,
    /// When something was learned of the team last, as [`AddressBook::learned`] counts.
    learned_at: u64,
}

impl AddressBook {
    /// What is kept of what others say of one team.
    pub(crate) const HINTS_MAX: usize = 3;

    pub(crate) fn new(teams_max: usize) -> Self {
        Self { teams: OrderedMap::new(), teams_max, learned: 0 }
    }

    /// Somebody says that a home of the team is there. Whether that is new.
    pub(crate) fn learn(&mut self, team: TeamId, address: Address) -> bool {
        let entry = self.entry(team);
        if entry.proven.as_ref() == Some(&address) {
            return false;
        }
        let is_new = !entry.hints.contains(&address);
        entry.hints.retain(|known| *known != address);
        entry.hints.push_front(address);
        entry.hints.truncate(Self::HINTS_MAX);
        is_new
    }

    /// A home of the team has answered there.
    pub(crate) fn prove(&mut self, team: TeamId, address: Address) {
        let entry = self.entry(team);
        entry.hints.retain(|known| *known != address);
        let before = entry.proven.replace(address.clone()).filter(|before| *before != address);
        if let Some(before) = before {
            entry.hints.push_front(before);
            entry.hints.truncate(Self::HINTS_MAX);
        }
    }

    /// Somebody else has answered there.
    pub(crate) fn disprove(&mut self, team: TeamId, address: &Address) {
        let Some(entry) = self.teams.get_mut(&team) else { return };
        entry.proven = entry.proven.take().filter(|known| known != address);
        entry.hints.retain(|known| known != address);
        if entry.proven.is_none() && entry.hints.is_empty() {
            self.teams.remove(&team);
        }
    }

    /// Where to try a team: first where it was, then what others say, the newest first.
    pub(crate) fn of(&self, team: TeamId) -> Vec<KnownAddress> {
        self.teams.get(&team).map(|entry| entry.addresses(team)).unwrap_or_default()
    }

    /// Everything, so that learning it in this order makes the same book again.
    pub(crate) fn all(&self) -> Vec<KnownAddress> {
        let mut entries: Vec<_> = self.teams.iter().collect();
        entries.sort_by_key(|(_, entry)| entry.learned_at);
        entries.into_iter().flat_map(|(team, entry)| entry.addresses(*team).into_iter().rev()).collect()
    }

    /// The team's entry, as what was learned of last. Where there is no more room, the team goes of which nothing was
    /// learned for longest, and first those that nobody has reached.
    fn entry(&mut self, team: TeamId) -> &mut Entry {
        if !self.teams.contains_key(&team) && self.teams.len() >= self.teams_max {
            let oldest =
                self.teams.iter().min_by_key(|(_, entry)| (entry.proven.is_some(), entry.learned_at));
            if let Some(oldest) = oldest.map(|(team, _)| *team) {
                self.teams.remove(&oldest);
            }
        }
        self.learned += 1;
        let entry = self.teams.entry(team).or_default();
        entry.learned_at = self.learned;
        entry
    }
}

impl Entry {
    fn addresses(&self, team: TeamId) -> Vec<KnownAddress> {
        let known = |address: &Address, is_proven| KnownAddress { team, address: address.clone(), is_proven };
        let proven = self.proven.iter().map(|address| known(address, true));
        proven.chain(self.hints.iter().map(|address| known(address, false))).collect()
    }
}

/// The addresses as text, one on a line: team, `proven` or `hint`, address.
pub fn emit_addresses(addresses: &[KnownAddress]) -> String {
    let mut text = String::new();
    for KnownAddress { team, address, is_proven } in addresses {
        let how = if *is_proven { "proven" } else { "hint" };
        writeln!(text, "{team} {how} {address}").expect("a string takes everything");
    }
    text
}

/// Reads what [`emit_addresses`] writes.
///
/// # Errors
/// [`LinksError::AddressLine`].
pub fn parse_addresses(text: &str) -> Result<Vec<KnownAddress>, LinksError> {
    let parse = |line: &str| {
        let [team, how, address] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        let is_proven = match how {
            "proven" => true,
            "hint" => false,
            _ => return None,
        };
        Some(KnownAddress { team: team.parse().ok()?, address: address.parse().ok()?, is_proven })
    };
    let lines = text.lines().zip(1..);
    lines.map(|(line, number)| parse(line).ok_or(LinksError::AddressLine { number })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn team(number: u8) -> TeamId {
        TeamId([number; 24])
    }

    fn address(number: u8) -> Address {
        format!("192.0.2.{number}:7275").parse().unwrap()
    }

    fn addresses(book: &AddressBook, of: u8) -> Vec<(u8, bool)> {
        let last = |known: KnownAddress| {
            let number = (0..=255).find(|number| known.address == address(*number)).unwrap();
            (number, known.is_proven)
        };
        book.of(team(of)).into_iter().map(last).collect()
    }

    #[test]
    fn what_is_proven_comes_first_and_hints_do_not_push_it_out() {
        let mut book = AddressBook::new(9);
        book.prove(team(1), address(1));
        for hint in 2..=5 {
            assert!(book.learn(team(1), address(hint)));
        }
        assert!(!book.learn(team(1), address(1)) && !book.learn(team(1), address(3)));
        assert_eq!(addresses(&book, 1), [(1, true), (3, false), (5, false), (4, false)]);
        book.prove(team(1), address(4));
        assert_eq!(addresses(&book, 1), [(4, true), (1, false), (3, false), (5, false)], "it has moved");
        book.disprove(team(1), &address(4));
        assert_eq!(addresses(&book, 1), [(1, false), (3, false), (5, false)]);
    }

    #[test]
    fn where_there_is_no_room_teams_that_nobody_has_reached_go_first() {
        let mut book = AddressBook::new(3);
        book.prove(team(1), address(1));
        book.learn(team(2), address(2));
        book.learn(team(3), address(3));
        book.learn(team(2), address(4));
        book.learn(team(4), address(5));
        let known =
            |book: &AddressBook| (1..=5).filter(|of| !book.of(team(*of)).is_empty()).collect::<Vec<_>>();
        assert_eq!(known(&book), [1, 2, 4]);
        book.prove(team(2), address(2));
        book.prove(team(4), address(5));
        book.learn(team(5), address(6));
        assert_eq!(known(&book), [2, 4, 5], "all were reached: the one of which nothing is new");
    }

    #[test]
    fn a_book_is_read_as_it_was_written() {
        let mut book = AddressBook::new(3);
        book.learn(team(2), address(9));
        book.learn(team(2), address(2));
        book.prove(team(1), "[2001:db8::1]:7275".parse().unwrap());
        book.prove(team(2), "home.example:7".parse().unwrap());
        let text = emit_addresses(&book.all());
        let read = parse_addresses(&text).unwrap();
        let mut again = AddressBook::new(3);
        for KnownAddress { team, address, is_proven } in read {
            if is_proven {
                again.prove(team, address);
            } else {
                again.learn(team, address);
            }
        }
        assert_eq!(emit_addresses(&again.all()), text);
        let refused = parse_addresses(&format!("{text}x"));
        assert!(matches!(refused, Err(LinksError::AddressLine { number: 5 })), "{refused:?}");
    }
}
