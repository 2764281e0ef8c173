//! What a parse costs at least, by which candidates are ordered and dropped.

use std::cmp::Reverse;

use super::{Candidate, Chart, NUMBER_BITS, OUTSIDE_BITS, Priority};

impl Chart<'_> {
    /// Notes what can begin with the words at each token.
    pub(super) fn note_possible(&mut self) {
        for Candidate {
            category, start, ..
        } in &self.buffers.candidates
        {
            // What begins with a known category is known as well.
            if !self.buffers.possible.contains(*start, *category) {
                let begins = &self.grammar.begins[category.index()];
                self.buffers.possible.add(*start, begins);
            }
        }
    }

    /// Finds the least cost at which each token can be covered.
    pub(super) fn estimate(&mut self) {
        let mut each = vec![u32::MAX; self.n_tokens];
        for candidate in &self.buffers.candidates {
            let length = u32::try_from(candidate.end - candidate.start).unwrap_or(u32::MAX);
            for least in &mut each[candidate.start..candidate.end] {
                *least = (*least).min(candidate.cost / length);
            }
        }
        let mut before = 0_u32;
        self.buffers.least.push(before);
        for least in each {
            before = before.saturating_add(if least == u32::MAX { 0 } else { least });
            self.buffers.least.push(before);
        }
    }

    /// Returns the least cost of the tokens outside a span.
    fn outside(&self, start: usize, end: usize) -> u32 {
        self.buffers.least[self.n_tokens] - (self.buffers.least[end] - self.buffers.least[start])
    }

    /// Whether every parse with something of a cost over a span costs more than it may.
    pub(super) fn is_too_dear(&self, start: usize, end: usize, cost: u32) -> bool {
        Priority::from(cost + self.outside(start, end)) >= self.most_cost
    }

    /// Puts a candidate on the agenda, or aside until something predicts its category there. Drops it if its parses cost more
    /// than they may.
    pub(super) fn schedule(&mut self, number: usize) {
        let Candidate {
            start, end, cost, ..
        } = self.buffers.candidates[number];
        if !self.is_too_dear(start, end, cost) && !self.admit(number) {
            self.buffers.parked[start].push(number);
        }
    }

    /// Puts a candidate on the agenda, if its category is predicted; returns whether it is.
    pub(super) fn admit(&mut self, number: usize) -> bool {
        let Candidate {
            category,
            start,
            end,
            cost,
            ..
        } = self.buffers.candidates[number];
        let is_predicted = self.buffers.predicted.contains(start, category);
        if is_predicted {
            let cost = Priority::from(cost + self.outside(start, end));
            let n_outside = self.n_tokens - (end - start);
            let priority = (cost << OUTSIDE_BITS | n_outside as Priority) << NUMBER_BITS;
            self.buffers
                .agenda
                .push(Reverse(priority | number as Priority));
        }
        is_predicted
    }
}
