//! The lists of a chart, which a thread keeps for its next chart.

use std::cell::{Cell, OnceCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::{Active, Candidate, Chart, Edge, Priority, Words};
use crate::reader::category::{Category, CategorySets};
use crate::reader::value::Value;
use crate::reader::words::Word;

/// An edge by its category and its end.
#[derive(Clone, Copy)]
pub(super) struct Begun {
    pub(super) category: Category,
    pub(super) end: u16,
    pub(super) edge: u32,
}

/// An active edge by its node.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) node: u32,
    pub(super) active: u32,
}

/// The lists of a chart. Most of them grow in each one, so their memory is used again.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) edges: Vec<Edge>,
    pub(super) actives: Vec<Active>,
    pub(super) candidates: Vec<Candidate>,
    /// The active edges that one edge makes.
    pub(super) fresh: Vec<Active>,
    /// The value of words and rules without one.
    pub(super) nothing: Rc<Value>,
    pub(super) agenda: BinaryHeap<Reverse<Priority>>,
    /// The edges that begin at a token, and the active edges that end before it. Both are searched for every edge, so they
    /// hold what the search compares.
    pub(super) beginning: Vec<Vec<Begun>>,
    pub(super) waiting: Vec<Vec<Waiting>>,
    /// The candidates at a token that wait until one of their category is predicted there.
    pub(super) parked: Vec<Vec<usize>>,
    /// The categories with which an active edge that ends before a token continues.
    pub(super) wanted: CategorySets,
    /// The categories with which something wanted before a token can begin.
    pub(super) predicted: CategorySets,
    /// The categories that can begin with a word at a token.
    pub(super) possible: CategorySets,
    /// The least cost of the tokens before a place.
    pub(super) least: Vec<u32>,
}

/// The words of a line and the values that were asked for.
type WordLists = (Vec<Word>, Vec<OnceCell<Rc<Value>>>);

thread_local! {
    static SPARE: Cell<Buffers> = Cell::default();
    static SPARE_WORDS: Cell<WordLists> = Cell::default();
}

/// Returns empty lists for the words of a line.
pub(super) fn spare_words() -> WordLists {
    SPARE_WORDS.take()
}

impl Drop for Words<'_> {
    fn drop(&mut self) {
        self.found.clear();
        self.values.clear();
        let lists = (
            std::mem::take(&mut self.found),
            std::mem::take(&mut self.values),
        );
        SPARE_WORDS.set(lists);
    }
}

impl Buffers {
    /// Returns empty lists for a number of places, and empty sets for a number of categories.
    pub(super) fn of(n_places: usize, n_categories: usize) -> Self {
        let mut buffers = SPARE.take();
        buffers.wanted.clear(n_places, n_categories);
        buffers.predicted.clear(n_places, n_categories);
        buffers.possible.clear(n_places, n_categories);
        buffers.least.clear();
        let n_places = n_places.max(buffers.waiting.len());
        buffers.beginning.resize_with(n_places, Vec::new);
        buffers.waiting.resize_with(n_places, Vec::new);
        buffers.parked.resize_with(n_places, Vec::new);
        buffers
    }

    fn clear(&mut self) {
        self.edges.clear();
        self.actives.clear();
        self.candidates.clear();
        self.agenda.clear();
        self.beginning.iter_mut().for_each(Vec::clear);
        self.waiting.iter_mut().for_each(Vec::clear);
        self.parked.iter_mut().for_each(Vec::clear);
    }
}

impl Drop for Chart<'_> {
    fn drop(&mut self) {
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.clear();
        SPARE.set(buffers);
    }
}
