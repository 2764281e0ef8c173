//! What a finished parse says about the words of its line.

use std::fmt::Write as _;
use std::ops::Range;

use super::{Chart, Made};

/// The beginning of the names of categories for phrases that the grammar reads and no event holds: all of one is left over.
const LEFT: &str = "left.";

/// The categories of events with all that is said of them.
const EVENTS: &[&str] = &["E", "Nominal"];

/// The beginning of the names of categories for exceptions.
const EXCEPTION: &str = "Except";

impl Chart<'_> {
    /// Returns the ranges of tokens that a parse leaves over: an unknown word with the phrase that it belongs to.
    pub(in crate::reader) fn left_over(&self, goal: usize) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut open = vec![goal];
        while let Some(at) = open.pop() {
            let edge = &self.buffers.edges[at];
            let Made::Rule(_, active) = edge.made else {
                if matches!(edge.made, Made::LeftOver) {
                    found.push(edge.start..edge.end);
                }
                continue;
            };
            let items = self.items(active);
            let is_unknown =
                |item: &usize| Some(self.buffers.edges[*item].category) == self.unknown_word;
            let is_left = self
                .grammar
                .categories
                .name(edge.category)
                .starts_with(LEFT);
            if is_left || items.iter().any(is_unknown) {
                // "second approval": the noun alone would be another condition.
                found.push(edge.start..edge.end);
            } else {
                open.extend_from_slice(&items);
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        found
    }

    /// Returns the words of the event around a token, with what is said of it.
    pub(in crate::reader) fn event_around(
        &self,
        goal: usize,
        token: usize,
    ) -> Option<Range<usize>> {
        let mut open = vec![goal];
        while let Some(at) = open.pop() {
            let edge = &self.buffers.edges[at];
            if !(edge.start..edge.end).contains(&token) {
                continue;
            }
            if EVENTS.contains(&self.grammar.categories.name(edge.category)) {
                return Some(edge.start..edge.end);
            }
            if let Made::Rule(_, active) = edge.made {
                open.extend_from_slice(&self.items(active));
            }
        }
        None
    }

    /// Whether a parse leaves words over inside an exception, which would then exclude more than its author says.
    pub(in crate::reader) fn cuts_exception(&self, goal: usize) -> bool {
        let mut open = vec![(goal, false)];
        while let Some((at, is_inside)) = open.pop() {
            let edge = &self.buffers.edges[at];
            match edge.made {
                Made::LeftOver if is_inside => return true,
                Made::LeftOver | Made::Word(..) => {}
                Made::Rule(_, active) => {
                    let name = self.grammar.categories.name(edge.category);
                    let is_inside = is_inside || name.starts_with(EXCEPTION);
                    open.extend(self.items(active).iter().map(|item| (*item, is_inside)));
                }
            }
        }
        false
    }

    /// Returns the misspelt tokens of a parse, and what they were read as.
    pub(in crate::reader) fn mended(&self, goal: usize) -> Vec<(usize, &'static str)> {
        let leaves = self.leaves(goal);
        let typo = |at: &usize| match self.buffers.edges[*at].made {
            Made::Word(number) => self.words.found[number].mended,
            Made::LeftOver | Made::Rule(..) => None,
        };
        leaves.iter().filter_map(typo).collect()
    }

    /// Returns the edges of words of a parse, in the order of the line.
    fn leaves(&self, goal: usize) -> Vec<usize> {
        let mut found = Vec::new();
        let mut open = vec![goal];
        while let Some(at) = open.pop() {
            match self.buffers.edges[at].made {
                Made::Word(..) | Made::LeftOver => found.push(at),
                Made::Rule(_, active) => open.extend_from_slice(&self.items(active)),
            }
        }
        found.sort_unstable_by_key(|at| self.buffers.edges[*at].start);
        found
    }

    /// Returns the edges of a parse, each before those that it consists of, with their depth.
    pub(in crate::reader) fn edges_of(&self, goal: usize) -> Vec<EdgeOfParse<'_>> {
        let mut found = Vec::new();
        let mut open = vec![(goal, 0_usize)];
        while let Some((at, depth)) = open.pop() {
            let edge = &self.buffers.edges[at];
            let rule = match edge.made {
                Made::Rule(rule, active) => {
                    let items = self.items(active);
                    open.extend(items.iter().rev().map(|item| (*item, depth + 1)));
                    Some(&*self.grammar.rules[rule].text)
                }
                Made::Word(..) | Made::LeftOver => None,
            };
            found.push(EdgeOfParse {
                depth,
                range: edge.start..edge.end,
                cost: edge.cost,
                category: self.grammar.categories.name(edge.category),
                rule,
            });
        }
        found
    }

    /// Returns the cost of a parse.
    pub(in crate::reader) fn cost(&self, goal: usize) -> u32 {
        self.buffers.edges[goal].cost
    }

    /// Prints a parse.
    pub(in crate::reader) fn tree(&self, goal: usize) -> String {
        let mut text = String::new();
        for edge in self.edges_of(goal) {
            let indent = edge.depth * 2;
            let (start, end, cost) = (edge.range.start, edge.range.end, edge.cost);
            let (name, rule) = (edge.category, edge.rule.unwrap_or_default());
            writeln!(text, "{:indent$}{start}..{end} {cost} {name}  {rule}", "")
                .expect("writing to a string succeeds");
        }
        text
    }
}

/// An edge of a parse.
pub(in crate::reader) struct EdgeOfParse<'g> {
    pub(in crate::reader) depth: usize,
    pub(in crate::reader) range: Range<usize>,
    pub(in crate::reader) cost: u32,
    pub(in crate::reader) category: &'g str,
    pub(in crate::reader) rule: Option<&'g str>,
}
