//! Rules as data: `Left -> item item? 'word' : composition argument +cost`.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::category::{Categories, CategoriesAt, Category, CategorySet};
use super::compose::{Composition, composition};
use super::lexicon::Lexicon;
use super::value::Sense;
use super::words::PLACED;
use crate::normalise::{Token, TokenKind};

/// The grammar: rules as a tree of their items, so that rules with the same beginning share edges.
pub(super) struct Grammar {
    pub(super) lexicon: Lexicon,
    pub(super) categories: Categories,
    pub(super) rules: Vec<Rule>,
    nodes: Vec<Node>,
    /// What continues the nodes, one node after the other, each sorted by category.
    next: Vec<(Category, u32)>,
    /// The node behind the first item of a rule, by the category of the item.
    starts: Vec<Option<u32>>,
    /// For each category, those with which it can begin and those that can begin with it, itself included.
    pub(super) begins_with: Vec<CategorySet>,
    pub(super) begins: Vec<CategorySet>,
    pub(super) goal: Category,
    /// The categories of words that are known in one place of a line only.
    pub(super) placed: Vec<Category>,
}

/// The most items of a rule.
pub(super) const MOST_ITEMS: usize = 16;

impl Grammar {
    /// Returns the node of the rules that begin with a category.
    pub(super) fn first_after(&self, category: Category) -> Option<u32> {
        self.starts[category.index()]
    }

    /// Returns the node behind another one and an item of a category.
    pub(super) fn after(&self, node: u32, category: Category) -> Option<u32> {
        let node = &self.nodes[node as usize];
        if (node.items.as_ref()).is_some_and(|items| !items.contains(category)) {
            return None;
        }
        let next = self.next_of(node);
        let found = next.binary_search_by_key(&category, |(item, _)| *item);
        found.ok().map(|at| next[at].1)
    }

    /// Calls a function with the categories that continue a node and are possible.
    pub(super) fn continue_with(
        &self,
        node: u32,
        possible: CategoriesAt<'_>,
        mut with: impl FnMut(Category),
    ) {
        let node = &self.nodes[node as usize];
        match &node.items {
            Some(items) => possible.of(items).for_each(with),
            None => {
                for (item, _) in self.next_of(node) {
                    if possible.contains(*item) {
                        with(*item);
                    }
                }
            }
        }
    }

    /// Returns the categories that continue a node, each with the node behind it.
    fn next_of(&self, node: &Node) -> &[(Category, u32)] {
        &self.next[node.next.start as usize..node.next.end as usize]
    }

    /// Returns the rules that are complete at a node.
    pub(super) fn complete(&self, node: u32) -> &[u32] {
        &self.nodes[node as usize].complete
    }

    /// Whether a token is a word of a category.
    pub(super) fn is_one(&self, token: &Token, name: &str) -> bool {
        let category = self.categories.find(name);
        let mut words = self.lexicon.alone(&token.text).iter();
        token.kind == TokenKind::Word && words.any(|phrase| Some(phrase.category) == category)
    }
}

/// A rule, without its items.
pub(super) struct Rule {
    pub(super) left: Category,
    pub(super) compose: Composition,
    pub(super) arguments: Vec<Sense>,
    pub(super) cost: u32,
    /// The rule as it is written, for traces.
    pub(super) text: Arc<str>,
}

/// A place in the tree of items.
#[derive(Clone, Default)]
struct Node {
    /// Where what continues it is in the list of the grammar.
    next: Range<u32>,
    /// The categories that continue it, where they are many.
    items: Option<CategorySet>,
    complete: Vec<u32>,
}

/// From this number of continuations on, a set of them is faster than the list.
const MANY_ITEMS: usize = 16;

/// A rule with its items, while the grammar is built.
pub(super) struct Written {
    pub(super) items: Vec<Category>,
    pub(super) rule: Rule,
}

/// Collects rules and the words that they name.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) lexicon: Lexicon,
    pub(super) categories: Categories,
    written: Vec<Written>,
}

impl Builder {
    /// Adds a line of the grammar: a rule, or `coord Many One any all`.
    ///
    /// # Panics
    /// Panics if the line is malformed; the file is a part of the program.
    pub(super) fn line(&mut self, line: &str) {
        if line.contains('$') {
            for form in ["f", "b", "g", "ed"] {
                self.line(&line.replace('$', form));
            }
            return;
        }
        if let Some(rest) = line.strip_prefix("coord ") {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [many, one, or, and] = words[..] else {
                panic!("a coordination has four words: {line}");
            };
            return self.coordinate(many, one, or, and);
        }
        self.rule(line);
    }

    /// Lists of a category: commas take the connective behind them.
    fn coordinate(&mut self, many: &str, one: &str, or: &str, and: &str) {
        for (connective, word, compose) in
            [("or", "'or|and/or'", or), ("and", "'and|as well as'", and)]
        {
            if compose == "-" {
                continue;
            }
            let list = format!("{many}+{connective}");
            self.rule(&format!("{list} -> {one} {word} {one} : {compose} +1"));
            self.rule(&format!("{list} -> {one} ',' {word} {one} : {compose} +2"));
            self.rule(&format!("{list} -> {one} ',' {list} : {compose} +1"));
            self.rule(&format!("{list} -> {one} {word} {list} : {compose} +2"));
            self.rule(&format!("{many} -> {list} : same"));
        }
    }

    fn rule(&mut self, text: &str) {
        let (left, right) = text
            .split_once(" -> ")
            .unwrap_or_else(|| panic!("no rule: {text}"));
        let (items, what) = right.split_once(" : ").unwrap_or((right, "same"));
        let mut cost = 1;
        let mut name = "same";
        let mut arguments = Vec::new();
        for (at, word) in split(what).into_iter().enumerate() {
            if let Some(more) = word.strip_prefix('+') {
                cost += more
                    .parse::<u32>()
                    .unwrap_or_else(|_| panic!("no cost: {text}"));
            } else if at == 0 {
                name = word;
            } else {
                let word = word.trim_matches('"');
                arguments.push(Sense::parse(word).unwrap_or_else(|| panic!("no sense: {text}")));
            }
        }
        let compose = composition(name).unwrap_or_else(|| panic!("no composition: {text}"));
        let left = self.categories.of(left);
        let written: Arc<str> = text.into();
        for items in self.expanded(&split(items)) {
            assert!(
                (1..=MOST_ITEMS).contains(&items.len()),
                "a rule with so many items: {text}"
            );
            let rule = Rule {
                left,
                compose,
                arguments: arguments.clone(),
                cost,
                text: Arc::clone(&written),
            };
            self.written.push(Written { items, rule });
        }
    }

    /// Returns the category of an item; words in quotes are added to the lexicon.
    fn item(&mut self, name: &str) -> Category {
        if let Some(known) = self.categories.find(name) {
            return known;
        }
        let category = self.categories.of(name);
        let words = name
            .strip_prefix('\'')
            .and_then(|rest| rest.strip_suffix('\''));
        for phrase in words.into_iter().flat_map(|words| words.split('|')) {
            self.lexicon.phrase(phrase, category, &Sense::Nothing);
        }
        category
    }

    /// Returns the lists of items with and without the optional ones.
    fn expanded(&mut self, items: &[&str]) -> Vec<Vec<Category>> {
        let mut found: Vec<Vec<Category>> = vec![Vec::new()];
        for item in items {
            let (name, is_optional) = match item.strip_suffix('?') {
                Some(name) => (name, true),
                None => (*item, false),
            };
            let category = self.item(name);
            let mut with: Vec<Vec<Category>> = found.clone();
            with.iter_mut().for_each(|list| list.push(category));
            if is_optional {
                found.extend(with);
            } else {
                found = with;
            }
        }
        found
    }

    /// Returns the grammar.
    pub(super) fn finish(mut self, goal: &str) -> Grammar {
        let goal = self.categories.of(goal);
        self.lexicon.sort();
        let begins = self.begins();
        let mut begins_with = vec![CategorySet::with_room(begins.len()); begins.len()];
        for (at, set) in begins.iter().enumerate() {
            for category in set.iter() {
                begins_with[category.index()].insert(Category(small(at)));
            }
        }
        let mut nodes = vec![Node::default()];
        let mut tree: FxHashMap<(u32, Category), u32> = FxHashMap::default();
        let mut rules = Vec::with_capacity(self.written.len());
        for Written { items, rule } in self.written {
            let last = items.into_iter().fold(0, |at, item| {
                *tree.entry((at, item)).or_insert_with(|| {
                    nodes.push(Node::default());
                    small(nodes.len() - 1)
                })
            });
            nodes[last as usize].complete.push(small(rules.len()));
            rules.push(rule);
        }
        let mut edges: Vec<((u32, Category), u32)> = tree.into_iter().collect();
        edges.sort_unstable();
        let mut start = 0;
        for same in edges.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
            let ((node, _), _) = same[0];
            let node: &mut Node = &mut nodes[node as usize];
            node.next = small(start)..small(start + same.len());
            if same.len() >= MANY_ITEMS {
                let items = node.items.insert(CategorySet::with_room(begins.len()));
                for ((_, item), _) in same {
                    items.insert(*item);
                }
            }
            start += same.len();
        }
        let mut starts = vec![None; self.categories.len()];
        for ((_, category), node) in edges.iter().take_while(|((at, _), _)| *at == 0) {
            starts[category.index()] = Some(*node);
        }
        let placed = PLACED.iter().filter_map(|name| self.categories.find(name));
        Grammar {
            placed: placed.collect(),
            lexicon: self.lexicon,
            categories: self.categories,
            rules,
            nodes,
            next: edges
                .into_iter()
                .map(|((_, category), node)| (category, node))
                .collect(),
            starts,
            begins_with,
            begins,
            goal,
        }
    }

    /// Returns, for each category, those that can begin with it, itself included.
    fn begins(&self) -> Vec<CategorySet> {
        let n_categories = self.categories.len();
        let mut lefts: Vec<Vec<Category>> = vec![Vec::new(); n_categories];
        for written in &self.written {
            lefts[written.items[0].index()].push(written.rule.left);
        }
        for known in &mut lefts {
            known.sort_unstable();
            known.dedup();
        }
        let reached = |at: usize| {
            let mut found = CategorySet::with_room(n_categories);
            let mut open = vec![Category(small(at))];
            while let Some(category) = open.pop() {
                if found.insert(category) {
                    open.extend(&lefts[category.index()]);
                }
            }
            found
        };
        (0..n_categories).map(reached).collect()
    }
}

/// The number of something of which a grammar has few.
fn small<N: TryFrom<usize>>(number: usize) -> N {
    N::try_from(number)
        .ok()
        .expect("a grammar is bounded in rules")
}

/// Splits at blanks outside of quotes.
fn split(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = None;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => {
                quote = Some(c);
                start.get_or_insert(at);
            }
            (None, ' ') => {
                if let Some(from) = start.take() {
                    found.push(&text[from..at]);
                }
            }
            (None, _) => {
                start.get_or_insert(at);
            }
        }
    }
    if let Some(from) = start {
        found.push(&text[from..]);
    }
    found
}
