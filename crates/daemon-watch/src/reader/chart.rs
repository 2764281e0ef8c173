//! The chart: edges over the tokens of a line, combined cheapest first.

mod buffers;
mod estimate;
mod parse;

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::ops::Range;
use std::rc::Rc;

use buffers::{Begun, Buffers, Waiting};

use super::category::Category;
use super::compose::{Call, Composition};
use super::grammar::{Grammar, MOST_ITEMS};
use super::skips::{LEAST_SKIP, READ_INSTEAD, skips};
use super::value::Value;
use super::words::{Word, words};
use crate::meaning::event::GuardedEvent;
use crate::normalise::Token;

/// The most edges of a line; the rest of a longer one is not read.
const MOST_EDGES: usize = 2_700;
/// The most meanings of a category over one span.
const MOST_MEANINGS: usize = 3;
/// The most meanings of a line.
const MOST_GOALS: usize = 8;

/// A phrase over a span of tokens.
struct Edge {
    category: Category,
    start: usize,
    end: usize,
    cost: u32,
    value: Rc<Value>,
    made: Made,
}

/// What an edge is made of.
#[derive(Clone, Copy)]
enum Made {
    /// A word, by its number.
    Word(usize),
    LeftOver,
    /// A rule, and the active edge that holds its items.
    Rule(usize, usize),
}

/// The beginning of a rule over a span.
struct Active {
    node: u32,
    start: usize,
    end: usize,
    cost: u32,
    /// The active edge before, if there is one, and the edge that continued it.
    before: Option<usize>,
    last: usize,
}

/// The edges of a rule.
struct Items {
    edges: [usize; MOST_ITEMS],
    first: usize,
}

impl std::ops::Deref for Items {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.edges[self.first..]
    }
}

/// The number of something of which a chart has few; lines of more tokens than fit are not read.
fn small<N: TryFrom<usize>>(number: usize) -> N {
    N::try_from(number)
        .ok()
        .expect("a chart is bounded in tokens and edges")
}

/// An edge that is not in the chart yet.
struct Candidate {
    category: Category,
    start: usize,
    end: usize,
    cost: u32,
    made: Made,
}

/// The estimated cost, the number of tokens outside, and the number of a candidate, in this order of significance.
type Priority = u64;

/// The bits of a candidate's number, of which a line has fewer than edges times rules, and of the tokens outside.
const NUMBER_BITS: u32 = 24;
const OUTSIDE_BITS: u32 = 8;

/// The parses of one line.
pub(super) struct Chart<'g> {
    grammar: &'static Grammar,
    words: &'g Words<'g>,
    n_tokens: usize,
    buffers: Buffers,
    read_instead: Vec<Category>,
    unknown_word: Option<Category>,
    /// The most edges that are made, and the cost from which a parse that leaves words over may be cheaper.
    most_edges: usize,
    most_cost: Priority,
}

/// The words of a line, which are the same in each of its charts.
pub(super) struct Words<'l> {
    line: &'l str,
    tokens: &'l [Token],
    found: Vec<Word>,
    /// The values that were asked for.
    values: Vec<OnceCell<Rc<Value>>>,
    is_known: Vec<bool>,
}

impl<'l> Words<'l> {
    pub(super) fn of(grammar: &'static Grammar, line: &'l str, tokens: &'l [Token]) -> Self {
        let (mut found, mut values) = buffers::spare_words();
        words(grammar, line, tokens, &mut found);
        values.resize(found.len(), OnceCell::new());
        let mut is_known = vec![false; tokens.len()];
        for word in found.iter().filter(|word| word.is_known(grammar)) {
            is_known[word.range.clone()].fill(true);
        }
        Self {
            line,
            tokens,
            values,
            found,
            is_known,
        }
    }

    fn value(&self, number: usize) -> Rc<Value> {
        let made = || Rc::new(self.found[number].value(self.line, self.tokens));
        Rc::clone(self.values[number].get_or_init(made))
    }
}

/// Whether a parse may leave words over. Most lines have one that need not, and their charts are much smaller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    Nothing,
    Some,
}

impl<'g> Chart<'g> {
    /// Prepares the chart of a line that is read with a number of edges.
    pub(super) fn new(
        grammar: &'static Grammar,
        line: &str,
        tokens: &[Token],
        words: &'g Words<'g>,
        leaving: Leaving,
        most_edges: usize,
    ) -> Self {
        let n_tokens = tokens.len();
        let categories = READ_INSTEAD.iter();
        let mut buffers = Buffers::of(n_tokens + 1, grammar.categories.len());
        let candidates = words.found.iter().enumerate();
        buffers
            .candidates
            .extend(candidates.map(|(number, word)| Candidate {
                category: word.category,
                start: word.range.start,
                end: word.range.end,
                cost: word.cost,
                made: Made::Word(number),
            }));
        let mut chart = Self {
            grammar,
            words,
            n_tokens,
            buffers,
            most_edges: most_edges.min(MOST_EDGES),
            most_cost: match leaving {
                Leaving::Nothing => Priority::from(LEAST_SKIP),
                Leaving::Some => Priority::MAX,
            },
            unknown_word: grammar.categories.find("skip.word"),
            read_instead: categories
                .filter_map(|name| grammar.categories.find(name))
                .collect(),
        };
        chart
            .buffers
            .predicted
            .add(0, &grammar.begins_with[grammar.goal.index()]);
        if leaving == Leaving::Some {
            for skip in skips(grammar, line, tokens, &words.is_known) {
                chart.buffers.candidates.push(Candidate {
                    category: skip.category,
                    start: skip.range.start,
                    end: skip.range.end,
                    cost: skip.cost,
                    made: Made::LeftOver,
                });
            }
        }
        chart.note_possible();
        chart.estimate();
        for number in 0..chart.buffers.candidates.len() {
            chart.schedule(number);
        }
        chart
    }

    /// Returns the next cheapest parse of the whole line.
    pub(super) fn next_goal(&mut self) -> Option<usize> {
        while let Some(Reverse(priority)) = self.buffers.agenda.pop() {
            let number = (priority & ((1 << NUMBER_BITS) - 1)) as usize;
            let cost = priority >> (OUTSIDE_BITS + NUMBER_BITS);
            if self.is_full() || cost >= self.most_cost {
                return None;
            }
            let Some(edge) = self.accept(number) else {
                continue;
            };
            self.buffers.beginning[edge.start].push(Begun {
                category: edge.category,
                end: small(edge.end),
                edge: small(self.buffers.edges.len()),
            });
            let at = self.buffers.edges.len();
            let is_goal =
                edge.category == self.grammar.goal && (edge.start, edge.end) == (0, self.n_tokens);
            self.buffers.edges.push(edge);
            if is_goal {
                return Some(at);
            }
            self.extend(at);
        }
        None
    }

    /// Returns the edge of a candidate, unless it is known or the composition refuses.
    fn accept(&self, number: usize) -> Option<Edge> {
        let candidate = &self.buffers.candidates[number];
        let begun = &self.buffers.beginning[candidate.start];
        let end: u16 = small(candidate.end);
        // The accounts refuse some readings of a line, and the next cheapest of them is tried.
        let most = if candidate.category == self.grammar.goal {
            MOST_GOALS
        } else {
            MOST_MEANINGS
        };
        let mut known = [0; MOST_GOALS];
        let mut n_known = 0;
        for edge in begun {
            if edge.end == end && edge.category == candidate.category {
                known[n_known] = edge.edge;
                n_known += 1;
                if n_known >= most {
                    return None;
                }
            }
        }
        let value = match candidate.made {
            Made::Word(number) if self.words.found[number].is_structure() => {
                Rc::clone(&self.buffers.nothing)
            }
            Made::Word(number) => self.words.value(number),
            Made::LeftOver => {
                let is_read = (begun.iter())
                    .any(|edge| edge.end == end && self.read_instead.contains(&edge.category));
                if is_read {
                    return None;
                }
                Rc::clone(&self.buffers.nothing)
            }
            Made::Rule(rule, active) => {
                self.compose(rule, active, candidate.start..candidate.end)?
            }
        };
        let mut known = known[..n_known].iter();
        if known.any(|known| *self.buffers.edges[*known as usize].value == *value) {
            return None;
        }
        Some(Edge {
            category: candidate.category,
            start: candidate.start,
            end: candidate.end,
            cost: candidate.cost,
            value,
            made: candidate.made,
        })
    }

    fn compose(&self, rule: usize, active: usize, range: Range<usize>) -> Option<Rc<Value>> {
        let rule = &self.grammar.rules[rule];
        // The items are visited from the last to the first.
        let mut edges = [0; MOST_ITEMS];
        let mut first = MOST_ITEMS;
        let mut next = Some(active);
        while let Some(at) = next {
            let active = &self.buffers.actives[at];
            if !matches!(*self.buffers.edges[active.last].value, Value::Nothing) {
                first -= 1;
                edges[first] = active.last;
            }
            next = active.before;
        }
        let edges = &edges[first..];
        let value = |edge: usize| &self.buffers.edges[edge].value;
        match rule.compose {
            Composition::Same => match edges {
                [] => Some(Rc::clone(&self.buffers.nothing)),
                [one] => Some(Rc::clone(value(*one))),
                _ => None,
            },
            Composition::By(function) => {
                let mut values: [&Value; MOST_ITEMS] = [&Value::Nothing; MOST_ITEMS];
                for (place, edge) in values.iter_mut().zip(edges) {
                    *place = value(*edge);
                }
                let call = Call {
                    values: &values[..edges.len()],
                    arguments: &rule.arguments,
                    range,
                };
                function(&call).map(Rc::new)
            }
        }
    }

    /// Returns the edges of an active edge, in order.
    fn items(&self, active: usize) -> Items {
        let mut items = Items {
            edges: [0; MOST_ITEMS],
            first: MOST_ITEMS,
        };
        let mut next = Some(active);
        while let Some(at) = next {
            items.first -= 1;
            items.edges[items.first] = self.buffers.actives[at].last;
            next = self.buffers.actives[at].before;
        }
        items
    }

    /// Continues every active edge before an edge, and begins rules with it.
    fn extend(&mut self, at: usize) {
        let edge = &self.buffers.edges[at];
        let (category, start, end, cost) = (edge.category, edge.start, edge.end, edge.cost);
        let mut fresh = std::mem::take(&mut self.buffers.fresh);
        if let Some(node) = self.grammar.first_after(category) {
            fresh.push(Active {
                node,
                start,
                end,
                cost,
                before: None,
                last: at,
            });
        }
        let is_wanted = self.buffers.wanted.contains(start, category);
        for before in self.buffers.waiting[start].iter().filter(|_| is_wanted) {
            if let Some(node) = self.grammar.after(before.node, category) {
                let before = before.active as usize;
                let active = &self.buffers.actives[before];
                fresh.push(Active {
                    node,
                    start: active.start,
                    end,
                    cost: active.cost + cost,
                    before: Some(before),
                    last: at,
                });
            }
        }
        while let Some(active) = fresh.pop() {
            self.activate(active, &mut fresh);
        }
        self.buffers.fresh = fresh;
    }

    fn activate(&mut self, active: Active, fresh: &mut Vec<Active>) {
        let number = self.buffers.actives.len();
        let Active {
            node,
            start,
            end,
            cost,
            ..
        } = active;
        if self.is_too_dear(start, end, cost) {
            return;
        }
        self.buffers.actives.push(active);
        for rule in self.grammar.complete(node) {
            let rule = *rule as usize;
            let written = &self.grammar.rules[rule];
            self.buffers.candidates.push(Candidate {
                category: written.left,
                start,
                end,
                cost: cost + written.cost,
                made: Made::Rule(rule, number),
            });
            self.schedule(self.buffers.candidates.len() - 1);
        }
        if !self.expect(node, end) {
            return;
        }
        self.buffers.waiting[end].push(Waiting {
            node,
            active: small(number),
        });
        for begun in &self.buffers.beginning[end] {
            if let Some(next) = self.grammar.after(node, begun.category) {
                let edge = &self.buffers.edges[begun.edge as usize];
                fresh.push(Active {
                    node: next,
                    start,
                    end: edge.end,
                    cost: cost + edge.cost,
                    before: Some(number),
                    last: begun.edge as usize,
                });
            }
        }
    }

    /// Predicts what can continue a node at a place. Returns whether a word there can begin it: most nodes cannot be continued,
    /// and without the test the chart is several times larger.
    fn expect(&mut self, node: u32, place: usize) -> bool {
        if place >= self.n_tokens {
            return false;
        }
        // Another edge that ends here has predicted the same.
        let waiting = &self.buffers.waiting[place];
        if waiting.iter().any(|waiting| waiting.node == node) {
            return true;
        }
        let (mut is_possible, mut is_new) = (false, false);
        self.grammar
            .continue_with(node, self.buffers.possible.at(place), |item| {
                is_possible = true;
                if self.buffers.wanted.insert(place, item) {
                    let begins_with = &self.grammar.begins_with[item.index()];
                    is_new |= self.buffers.predicted.add(place, begins_with);
                }
            });
        if is_new {
            let mut parked = std::mem::take(&mut self.buffers.parked[place]);
            parked.retain(|number| !self.admit(*number));
            self.buffers.parked[place] = parked;
        }
        is_possible
    }

    /// Whether the chart has as many edges as it may.
    pub(super) fn is_full(&self) -> bool {
        self.n_edges() > self.most_edges
    }

    pub(super) fn n_edges(&self) -> usize {
        self.buffers.edges.len() + self.buffers.actives.len()
    }

    /// Returns the events of a parse.
    pub(super) fn events(&self, goal: usize) -> Option<&[GuardedEvent]> {
        match &*self.buffers.edges[goal].value {
            Value::Events(events, _) => Some(events),
            _ => None,
        }
    }
}
