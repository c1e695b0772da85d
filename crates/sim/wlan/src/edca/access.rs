//! Who may send: backoffs of four categories, and what makes a medium busy.

use super::queue::Category;
use super::{Edca, Event, Kind, Node};
use guestright_engine::{Agenda, Instant};

/// Later than everything else, in ns.
const NEVER: u64 = u64::MAX;

impl Node {
    pub(super) const fn new(categories: [Category; 4]) -> Self {
        Self {
            categories,
            sensed: 0,
            sensed_at: 0,
            is_sending: false,
            reserved_until: 0,
            is_idle: true,
            eifs: 0,
            locked: None,
            planned: NEVER,
            epoch: 0,
            exchange: None,
        }
    }

    const fn sees_idle(&self, now: u64) -> bool {
        self.sensed == 0 && !self.is_sending && self.exchange.is_none() && now >= self.reserved_until
    }
}

impl Edca {
    /// A category has a packet and contends from now on, if it does not yet.
    pub(super) fn request(&mut self, node: u16, category: usize, agenda: &mut impl Agenda<Event>) {
        let (now, slot) = (agenda.now().0, self.times.slot);
        let it = &mut self.nodes[usize::from(node)];
        if it.categories[category].mpdus.len() > 1 {
            return;
        }
        if it.is_idle {
            it.categories[category].count_down(now, slot);
            it.categories[category].begin_idle(now);
            self.plan(node, agenda);
        } else {
            it.categories[category].begin_busy();
        }
    }

    /// Looks whether a station's medium has become busy or idle.
    pub(super) fn update(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let (now, slot) = (agenda.now().0, self.times.slot);
        let it = &mut self.nodes[usize::from(node)];
        match (it.is_idle, it.sees_idle(now)) {
            (true, false) => {
                it.is_idle = false;
                for category in &mut it.categories {
                    category.freeze(now, slot);
                }
                // Whose backoff ends at this moment cannot know yet, and sends.
                if it.planned != now {
                    it.planned = NEVER;
                    it.epoch = it.epoch.wrapping_add(1);
                }
            }
            (false, true) => {
                it.is_idle = true;
                let more = std::mem::take(&mut it.eifs);
                for category in &mut it.categories {
                    category.resume(now, more);
                }
                self.plan(node, agenda);
            }
            (true, true) | (false, false) => {}
        }
    }

    fn plan(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let it = &mut self.nodes[usize::from(node)];
        let slot = self.times.slot;
        let next = it.categories.iter().filter_map(|category| category.access_at(slot)).min();
        let next = next.unwrap_or(NEVER);
        if next == it.planned {
            return;
        }
        it.epoch = it.epoch.wrapping_add(1);
        it.planned = next;
        if next != NEVER {
            let epoch = it.epoch;
            agenda.schedule(Instant(next), Event(Kind::Access { node, epoch }));
        }
    }

    /// Backoffs of a station are over: the most urgent category sends, others have collided inside (10.23.2.4).
    pub(super) fn access(&mut self, node: u16, agenda: &mut impl Agenda<Event>) {
        let (now, slot) = (agenda.now().0, self.times.slot);
        let it = &mut self.nodes[usize::from(node)];
        it.planned = NEVER;
        let due = |category: &Category| category.access_at(slot) == Some(now);
        let Some(winner) = (0..4).rev().find(|index| due(&it.categories[*index])) else { return };
        let beaten: Vec<usize> = (0..winner).filter(|index| due(&it.categories[*index])).collect();
        for index in beaten {
            let category = &mut self.nodes[usize::from(node)].categories[index];
            category.stats.internal_collisions += 1;
            category.fail();
            self.count_attempt_of_first(node, index);
        }
        self.nodes[usize::from(node)].categories[winner].stats.accesses += 1;
        self.begin_exchange(node, winner, agenda);
    }
}
