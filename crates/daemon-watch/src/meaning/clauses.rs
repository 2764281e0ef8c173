//! Clauses and filters while they are collected.

use crate::filter::Filter;
use crate::interpretation::Clause;

/// The clauses of an interpretation while they are collected.
#[derive(Debug, Default)]
pub(crate) struct ClauseSet {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) notes: Vec<String>,
}

impl ClauseSet {
    pub(crate) fn filter(&mut self, filter: Filter) -> usize {
        match self.filters.iter().position(|known| *known == filter) {
            Some(index) => index,
            None => {
                self.filters.push(filter);
                self.filters.len() - 1
            }
        }
    }

    pub(crate) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}
