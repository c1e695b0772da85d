//! Along which homes a provider tries to reserve: shortest paths first, by what it knows.

use super::hints::Hints;
use std::collections::BTreeMap;

/// A way from the provider to the guest's home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// The teams between the two.
    pub(super) between: Vec<u32>,
    pub(super) bytes: u64,
}

/// What one grant has learned about second-hand debts: so much of them is left. By debtor and creditor.
pub(super) type Known = BTreeMap<(u32, u32), u64>;

/// Marks of teams that are kept from search to search, so that none has to be allocated.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    turn: u32,
    /// By team: in which search it was reached, and from whom.
    reached: Vec<(u32, u32)>,
    queue: Vec<u32>,
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Search<'a> {
    pub(super) provider: u32,
    pub(super) consumer: u32,
    /// What the provider can reserve itself, by team.
    pub(super) spendable: &'a mut BTreeMap<u32, u64>,
    pub(super) hints: &'a Hints,
    pub(super) known: &'a mut Known,
    pub(super) arcs_max: u32,
    pub(super) least: u64,
}

impl Search<'_> {
    /// At most so many paths for at most so much in all. What they take is noted in what is spendable and known.
    pub(super) fn paths(&mut self, paths_max: usize, want: u64, scratch: &mut Scratch) -> Vec<Path> {
        let (mut paths, mut left) = (Vec::new(), want);
        while paths.len() < paths_max && left >= self.least {
            let Some(between) = self.shortest(scratch) else { break };
            let bytes = self.room(&between).min(left);
            if bytes >= self.least {
                left -= bytes;
                self.take(&between, bytes);
                paths.push(Path { between, bytes });
            } else {
                self.close(&between);
            }
        }
        paths
    }

    /// Backwards from the consumer, until somebody is met on whom the provider can reserve.
    fn shortest(&self, scratch: &mut Scratch) -> Option<Vec<u32>> {
        let open = |team: u32| self.spendable.get(&team).is_some_and(|bytes| *bytes >= self.least);
        if open(self.consumer) {
            return Some(Vec::new());
        }
        if self.spendable.is_empty() {
            return None;
        }
        scratch.begin();
        scratch.reach(self.provider, self.provider);
        scratch.reach(self.consumer, self.consumer);
        scratch.queue.push(self.consumer);
        let (mut next, mut level_end) = (0, 1);
        for _ in 1..self.arcs_max {
            while next < level_end {
                let creditor = scratch.queue[next];
                next += 1;
                for &(debtor, bytes) in self.hints.of(creditor) {
                    if scratch.is_reached(debtor) || self.left(debtor, creditor, bytes) < self.least {
                        continue;
                    }
                    scratch.reach(debtor, creditor);
                    if open(debtor) {
                        return Some(scratch.path(debtor, self.consumer));
                    }
                    scratch.queue.push(debtor);
                }
            }
            level_end = scratch.queue.len();
        }
        None
    }

    fn left(&self, debtor: u32, creditor: u32, bytes: u64) -> u64 {
        if self.known.is_empty() {
            return bytes;
        }
        self.known.get(&(debtor, creditor)).copied().unwrap_or(bytes)
    }

    /// The second-hand debts along a path, with what is left of each.
    fn arcs(&self, between: &[u32]) -> Vec<((u32, u32), u64)> {
        let ends = between.iter().copied().skip(1).chain([self.consumer]);
        let arc = |(debtor, creditor): (u32, u32)| {
            let shown = self.hints.of(creditor).iter().find(|(team, _)| *team == debtor);
            let bytes = shown.map_or(0, |(_, bytes)| *bytes);
            ((debtor, creditor), self.left(debtor, creditor, bytes))
        };
        between.iter().copied().zip(ends).map(arc).collect()
    }

    fn first(&self, between: &[u32]) -> u32 {
        between.first().copied().unwrap_or(self.consumer)
    }

    fn room(&self, between: &[u32]) -> u64 {
        let first = self.spendable.get(&self.first(between)).copied().unwrap_or(0);
        self.arcs(between).into_iter().map(|(_, left)| left).min().unwrap_or(u64::MAX).min(first)
    }

    fn take(&mut self, between: &[u32], bytes: u64) {
        let first = self.first(between);
        if let Some(left) = self.spendable.get_mut(&first) {
            *left = left.saturating_sub(bytes);
        }
        for (arc, left) in self.arcs(between) {
            self.known.insert(arc, left.saturating_sub(bytes));
        }
    }

    /// A path on which there is too little is not found again.
    fn close(&mut self, between: &[u32]) {
        let first = self.first(between);
        self.spendable.retain(|team, bytes| *team != first || *bytes >= self.least);
        for (arc, left) in self.arcs(between) {
            if left < self.least {
                self.known.insert(arc, 0);
            }
        }
    }
}

impl Scratch {
    fn begin(&mut self) {
        self.turn += 1;
        self.queue.clear();
    }

    fn is_reached(&self, team: u32) -> bool {
        self.reached.get(team as usize).is_some_and(|(turn, _)| *turn == self.turn)
    }

    fn reach(&mut self, team: u32, from: u32) {
        let at = team as usize;
        if self.reached.len() <= at {
            self.reached.resize(at + 1, (0, 0));
        }
        self.reached[at] = (self.turn, from);
    }

    /// From there on to the consumer, which is not part of it.
    fn path(&self, from: u32, consumer: u32) -> Vec<u32> {
        let mut path = vec![from];
        loop {
            let (_, next) = self.reached[path[path.len() - 1] as usize];
            if next == consumer {
                return path;
            }
            path.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hints::Hint;
    use super::*;
    use guestright_engine::Instant;

    fn hints(arcs: &[(u32, u32, u64)]) -> Hints {
        let mut hints = Hints::new(1_000);
        let mut by_creditor: BTreeMap<u32, Vec<Hint>> = BTreeMap::new();
        for &(debtor, creditor, bytes) in arcs {
            by_creditor.entry(creditor).or_default().push(Hint { debtor, creditor, bytes });
        }
        for shown in by_creditor.values() {
            hints.accept(shown, 0, Instant(1));
        }
        hints
    }

    fn paths(
        spendable: &[(u32, u64)],
        arcs: &[(u32, u32, u64)],
        arcs_max: u32,
        want: u64,
    ) -> Vec<(Vec<u32>, u64)> {
        let hints = hints(arcs);
        let mut search = Search {
            provider: 0,
            consumer: 9,
            spendable: &mut spendable.iter().copied().collect(),
            hints: &hints,
            known: &mut Known::new(),
            arcs_max,
            least: 2,
        };
        search
            .paths(8, want, &mut Scratch::default())
            .into_iter()
            .map(|path| (path.between, path.bytes))
            .collect()
    }

    #[test]
    fn the_shortest_comes_first_and_no_arc_is_used_twice() {
        let arcs = [(1, 9, 50), (2, 1, 100), (3, 2, 100)];
        let spendable = [(1, 30), (3, 100), (9, 10)];
        assert_eq!(paths(&spendable, &arcs, 4, 60), [(vec![], 10), (vec![1], 30), (vec![3, 2, 1], 20)]);
        assert_eq!(paths(&spendable, &arcs, 3, 60), [(vec![], 10), (vec![1], 30)]);
        assert_eq!(paths(&spendable, &arcs, 1, 60), [(vec![], 10)]);
        assert_eq!(paths(&spendable, &arcs, 4, 35), [(vec![], 10), (vec![1], 25)]);
    }

    #[test]
    fn no_path_leads_through_the_provider_or_along_what_is_too_little() {
        assert_eq!(paths(&[(1, 5)], &[(0, 9, 50), (1, 0, 50)], 4, 60), []);
        assert_eq!(paths(&[(1, 5)], &[(1, 9, 1)], 4, 60), []);
        assert_eq!(paths(&[(1, 1)], &[(1, 9, 5)], 4, 60), []);
    }
}
