//! The home's loop's share of the links: teams, and frames about credit, phones and where homes are.

use crate::book::KnownAddress;
use crate::dials::Wish;
use crate::links::Shared;
use guestright_directory::Address;
use guestright_units::TeamId;
use std::sync::Arc;

use std::collections::BTreeMap;

/// Teams that can be sent to. No call waits.
///
/// 1. Say where homes of teams may be ([`learn`](Self::learn)), as far as that was learned.
/// 2. [`send`](Self::send): over the team's link, or over one that is made for it. Until then the frame is kept.
/// 3. Receive [`NeighbourEvent`](crate::NeighbourEvent)s: what was kept is sent at `Up`, and gone at `Unreachable`. What
///    was sent on a link that then ended (`Down`) may be lost, so whatever has to arrive is sent again until it is answered.
/// 4. Keep [`addresses`](Self::addresses) for the next start.
#[derive(Clone, Debug)]
pub struct Neighbours {
    shared: Arc<Shared>,
}

impl Neighbours {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Sends a frame (`guestright_credit::frame`, a message of `guestright_radius::relay` or
    /// `guestright_directory::HomeMessage`) to a home of the team: the one whose link is the newest. Whether that may work; it
    /// may not if nobody knows where the team is, if it could not be reached a moment ago, or if too much waits.
    pub fn send(&self, team: TeamId, frame: Vec<u8>) -> bool {
        let wish = self.shared.table().send_to_team(team, frame, self.shared.now());
        self.fulfil(wish)
    }

    /// Makes a link to the team if there is none. Whether there is one or it is being made.
    pub fn connect(&self, team: TeamId) -> bool {
        let wish = self.shared.table().connect_to_team(team, self.shared.now());
        self.fulfil(wish)
    }

    /// Takes in where a home of the team may be. It is believed when a home of the team has answered there.
    pub fn learn(&self, team: TeamId, address: Address) {
        self.shared.table().learn(team, address);
    }

    /// Whether there is a link to the team.
    pub fn is_up(&self, team: TeamId) -> bool {
        self.shared.table().is_team_up(team)
    }

    /// Where homes may be, to be given to [`Links::start`](crate::Links::start) the next time.
    pub fn addresses(&self) -> Vec<KnownAddress> {
        self.shared.table().dials.book.all()
    }

    /// How many frames were dropped, by reason.
    pub fn dropped(&self) -> BTreeMap<&'static str, u64> {
        self.shared.table().dropped().clone()
    }

    fn fulfil(&self, wish: Wish) -> bool {
        match wish {
            Wish::Begin(_) if self.shared.is_stopped() => false,
            Wish::Begin(round) => {
                self.shared.dial(round);
                true
            }
            Wish::UnderWay => true,
            Wish::Refused => false,
        }
    }
}
