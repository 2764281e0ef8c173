//! The lists of a chart, which a thread keeps for its next chart.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use super::{Active, Candidate, Chart, Edge, Priority};
use crate::reader::category::Category;
use crate::reader::value::Value;

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
}

thread_local! {
    static SPARE: Cell<Buffers> = Cell::default();
}

impl Buffers {
    /// Returns empty lists for a number of places.
    pub(super) fn of(n_places: usize) -> Self {
        let mut buffers = SPARE.take();
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
