//! The inner loop: fills every shortest path, depth first, each arc tried once.

use super::network::{Network, is_live};
use super::scratch::{Cursor, Step};
use super::search::{Met, Search};
use crate::graph::NONE;

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
