//! The inner loop: fills every shortest path, depth first, each arc tried once.

use super::network::{Network, is_live};
use super::scratch::{Cursor, Step};
use super::search::{Met, Search};
use crate::graph::NONE;
use std::ops::Range;

/// What must hold of the next node on a shortest path.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// On the source's side: that level from the source.
    FromSource(u32),
    /// Where the sides meet: that level from the source and that to the target.
    Meeting(u32, u32),
    /// On the target's side: that level to the target.
    ToTarget(u32),
}

impl Wanted {
    /// Whether the target alone will do: no other node is at its level.
    fn is_target(self, base: u32) -> bool {
        match self {
            Self::FromSource(_) => false,
            Self::Meeting(_, to_target) | Self::ToTarget(to_target) => to_target == base,
        }
    }
}

impl<N: Network> Search<'_, N> {
    /// Pushes along shortest paths until all of them are full or `allowance` bytes went through.
    ///
    /// Returns the bytes pushed; the arc budget may end it early, between two paths.
    pub(super) fn push_shortest(&mut self, met: Met, allowance: u64) -> u64 {
        let mut pushed = 0;
        let mut node = self.source;
        self.scratch.path.clear();
        while self.scanned < self.arcs_max {
            if node == self.target {
                let bytes = self.scratch.path.iter().map(|step| step.residual).min().unwrap_or(0);
                let bytes = bytes.min(allowance - pushed);
                pushed += bytes;
                node = self.push_path(bytes);
                if pushed == allowance {
                    break;
                }
            } else if let Some(step) = self.advance(node, met) {
                self.scratch.path.push(step);
                node = step.to;
            } else if let Some(step) = self.scratch.path.pop() {
                node = step.from;
                self.skip(node);
            } else {
                break;
            }
        }
        pushed
    }

    /// Puts `bytes` on every arc of the path and drops its part behind the first arc that is now full.
    fn push_path(&mut self, bytes: u64) -> u32 {
        let mut kept = self.scratch.path.len();
        for at in (0..self.scratch.path.len()).rev() {
            let step = &mut self.scratch.path[at];
            step.residual -= bytes;
            if step.residual == 0 {
                kept = at;
            }
            let step = *step;
            if step.backwards {
                self.scratch.pull(step.arc, bytes);
            } else {
                let capacity = self.network.capacity(step.arc);
                self.scratch.push(step.arc, step.from, step.to, bytes, capacity);
            }
        }
        let node = self.scratch.path.get(kept).map_or(self.target, |step| step.from);
        self.scratch.path.truncate(kept);
        node
    }

    /// The next arc with room that leads one level on, starting at the node's cursor, which stays on it.
    fn advance(&mut self, node: u32, met: Met) -> Option<Step> {
        let wanted = self.wanted(node, met);
        let mut cursor = self.scratch.cursor(node).unwrap_or_else(|| self.first(node));
        let step = loop {
            cursor = self.pass(node, cursor, wanted);
            if self.scanned >= self.arcs_max {
                break None;
            }
            self.scanned += 1;
            match self.look(node, cursor, wanted) {
                Look::Leads(step) => break Some(step),
                Look::End => break None,
                Look::No => cursor = self.after(node, cursor),
            }
        };
        self.scratch.set_cursor(node, cursor);
        step
    }

    /// Moves a cursor in a row past the arcs that lead to no wanted node, as far as out of the row.
    ///
    /// To the target alone leads at most one arc of a row, and rows are sorted by where their arcs lead, so most are not looked
    /// at. They are counted as if they were: a budget ends the same searches at the same point, and everybody who knows the
    /// same decides the same.
    fn pass(&mut self, node: u32, cursor: Cursor, wanted: Wanted) -> Cursor {
        let Cursor::Row(from) = cursor else { return cursor };
        #[cfg(test)]
        if super::tests::walks() {
            return cursor;
        }
        let row = from..self.network.out_row(node).end;
        let found = if wanted.is_target(self.scratch.base) {
            self.network.graph().find_head(row.clone(), self.target)
        } else {
            self.first_admitted(row.clone(), wanted)
        };
        let to = found.unwrap_or(row.end);
        let passed = u64::from(to - from);
        if passed >= self.arcs_max.saturating_sub(self.scanned) {
            self.scanned = self.arcs_max.max(self.scanned);
            return cursor; // The query is over.
        }
        self.scanned += passed;
        if found.is_some() { Cursor::Row(to) } else { self.first_extra(node) }
    }

    /// The first arc in a part of a row that leads to a wanted node, whether it has room or not.
    fn first_admitted(&self, row: Range<u32>, wanted: Wanted) -> Option<u32> {
        let heads = self.network.graph().heads(row.clone());
        let levels = |head: &u32| self.scratch.levels[*head as usize];
        let is_live = |head: &u32| is_live(*head);
        let found = match wanted {
            Wanted::FromSource(level) => heads.iter().position(|it| is_live(it) && levels(it)[0] == level),
            Wanted::Meeting(level, level_target) => {
                heads.iter().position(|it| is_live(it) && levels(it) == [level, level_target])
            }
            Wanted::ToTarget(level) => heads.iter().position(|it| is_live(it) && levels(it)[1] == level),
        }?;
        Some(row.start + u32::try_from(found).expect("a row is shorter than all rows"))
    }

    fn wanted(&self, node: u32, met: Met) -> Wanted {
        let base = self.scratch.base;
        let [from_source, to_target] = self.scratch.levels[node as usize];
        let [depth, depth_target] = met.depths;
        if from_source < base || from_source - base >= depth {
            Wanted::ToTarget(to_target - 1)
        } else if from_source - base + 1 == depth {
            Wanted::Meeting(from_source + 1, base + depth_target)
        } else {
            Wanted::FromSource(from_source + 1)
        }
    }

    fn admits(&self, wanted: Wanted, node: u32) -> bool {
        let [from_source, to_target] = self.scratch.levels[node as usize];
        match wanted {
            Wanted::FromSource(level) => from_source == level,
            Wanted::Meeting(level, level_target) => from_source == level && to_target == level_target,
            Wanted::ToTarget(level) => to_target == level,
        }
    }

    fn look(&self, node: u32, cursor: Cursor, wanted: Wanted) -> Look {
        let (to, arc, backwards) = match cursor {
            Cursor::Row(arc) => {
                let head = self.network.graph().heads(arc..arc + 1)[0];
                if !is_live(head) {
                    return Look::No;
                }
                (head, arc, false)
            }
            Cursor::Extra(arc) => (self.network.extra_ends(arc).1, arc, false),
            Cursor::Back(NONE) => return Look::End,
            Cursor::Back(entry) => {
                let entry = &self.scratch.carried[entry as usize];
                (entry.tail, entry.arc, true)
            }
        };
        if !self.admits(wanted, to) {
            return Look::No;
        }
        let flow = self.scratch.flow(arc);
        let residual = if backwards { flow } else { self.network.capacity(arc) - flow };
        if residual == 0 {
            return Look::No;
        }
        Look::Leads(Step { from: node, to, arc, backwards, residual })
    }

    fn first(&self, node: u32) -> Cursor {
        let row = self.network.out_row(node);
        if row.is_empty() { self.first_extra(node) } else { Cursor::Row(row.start) }
    }

    fn first_extra(&self, node: u32) -> Cursor {
        match self.network.first_extra_out(node) {
            NONE => Cursor::Back(self.scratch.first_in(node)),
            arc => Cursor::Extra(arc),
        }
    }

    fn after(&self, node: u32, cursor: Cursor) -> Cursor {
        match cursor {
            Cursor::Row(arc) if arc + 1 < self.network.out_row(node).end => Cursor::Row(arc + 1),
            Cursor::Row(_) => self.first_extra(node),
            Cursor::Extra(arc) => match self.network.next_extra_out(arc) {
                NONE => Cursor::Back(self.scratch.first_in(node)),
                next => Cursor::Extra(next),
            },
            Cursor::Back(NONE) => cursor,
            Cursor::Back(entry) => Cursor::Back(self.scratch.carried[entry as usize].next_in),
        }
    }

    /// Leaves the arc under the node's cursor, which led nowhere, for good.
    fn skip(&mut self, node: u32) {
        if let Some(cursor) = self.scratch.cursor(node) {
            let next = self.after(node, cursor);
            self.scratch.set_cursor(node, next);
        }
    }
}

/// What is under a cursor.
enum Look {
    Leads(Step),
    No,
    End,
}
