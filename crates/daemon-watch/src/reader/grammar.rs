//! Rules as data: `Left -> item item? 'word' : composition argument +cost`.

use super::category::{Categories, Category, CategorySet};
use super::compose::{Composition, composition};
use super::lexicon::Lexicon;
use super::value::Sense;
use crate::normalise::{Token, TokenKind};

/// The grammar: rules as a tree of their items, so that rules with the same beginning share edges.
pub(super) struct Grammar {
    pub(super) lexicon: Lexicon,
    pub(super) categories: Categories,
    pub(super) rules: Vec<Rule>,
    pub(super) nodes: Vec<Node>,
    /// The node behind the first item of a rule, by the category of the item.
    starts: Vec<Option<usize>>,
    /// The categories with which a line can begin.
    pub(super) begins: CategorySet,
    pub(super) goal: Category,
}

/// The most items of a rule.
pub(super) const MOST_ITEMS: usize = 16;

impl Grammar {
    /// Returns the node of the rules that begin with a category.
    pub(super) fn first_after(&self, category: Category) -> Option<usize> {
        self.starts[category.index()]
    }

    /// Whether a token is a word of a category.
    pub(super) fn is_one(&self, token: &Token, name: &str) -> bool {
        let category = self.categories.find(name);
        let mut words = self.lexicon.alone(&token.text).iter();
        token.kind == TokenKind::Word && words.any(|phrase| Some(phrase.category) == category)
    }

    /// Returns an empty set of the categories of the grammar.
    pub(super) fn no_categories(&self) -> CategorySet {
        CategorySet::with_room(self.categories.len())
    }
}

/// A rule, without its items.
pub(super) struct Rule {
    pub(super) left: Category,
    pub(super) compose: Composition,
    pub(super) arguments: Vec<Sense>,
    pub(super) cost: u32,
    /// The rule as it is written, for traces.
    pub(super) text: String,
}

/// A place in the tree of items.
#[derive(Default)]
pub(super) struct Node {
    next: Vec<(Category, usize)>,
    /// The categories of the next items.
    pub(super) items: CategorySet,
    pub(super) complete: Vec<usize>,
    /// The words with which one of the next items can begin.
    pub(super) first: CategorySet,
}

impl Node {
    pub(super) fn after(&self, category: Category) -> Option<usize> {
        if !self.items.contains(category) {
            return None;
        }
        let found = self.next.binary_search_by_key(&category, |(item, _)| *item);
        found.map_or(None, |at| Some(self.next[at].1))
    }
}

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
                text: text.to_owned(),
            };
            self.written.push(Written { items, rule });
        }
    }

    /// Returns the lists of items with and without the optional ones.
    fn expanded(&mut self, items: &[&str]) -> Vec<Vec<Category>> {
        let mut found: Vec<Vec<Category>> = vec![Vec::new()];
        for item in items {
            let (name, is_optional) = match item.strip_suffix('?') {
                Some(name) => (name, true),
                None => (*item, false),
            };
            let category = self.categories.of(name);
            if let Some(words) = name
                .strip_prefix('\'')
                .and_then(|rest| rest.strip_suffix('\''))
            {
                for phrase in words.split('|') {
                    self.lexicon.phrase(phrase, category, &Sense::Nothing);
                }
            }
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

    /// Returns the grammar, with the words that can begin each of its items.
    pub(super) fn finish(mut self, goal: &str) -> Grammar {
        let goal = self.categories.of(goal);
        self.lexicon.sort();
        let first = self.first_words();
        let mut grammar = Grammar {
            lexicon: self.lexicon,
            categories: self.categories,
            rules: Vec::new(),
            nodes: vec![Node::default()],
            starts: Vec::new(),
            begins: first[goal.index()].clone(),
            goal,
        };
        for Written { items, rule } in self.written {
            let mut at = 0;
            for item in items {
                let found = grammar.nodes[at]
                    .next
                    .iter()
                    .find(|(known, _)| *known == item);
                at = match found {
                    Some((_, next)) => *next,
                    None => {
                        grammar.nodes.push(Node::default());
                        let next = grammar.nodes.len() - 1;
                        grammar.nodes[at].next.push((item, next));
                        grammar.nodes[at].first.add(&first[item.index()]);
                        next
                    }
                };
            }
            let number = grammar.rules.len();
            grammar.nodes[at].complete.push(number);
            grammar.rules.push(rule);
        }
        for node in &mut grammar.nodes {
            node.next.sort_unstable();
            for (category, _) in &node.next {
                node.items.insert(*category);
            }
        }
        grammar.starts = vec![None; grammar.categories.len()];
        for (category, node) in &grammar.nodes[0].next {
            grammar.starts[category.index()] = Some(*node);
        }
        grammar
    }

    /// Returns, for each category, the categories of words with which it can begin, itself included.
    fn first_words(&self) -> Vec<CategorySet> {
        let mut first = vec![CategorySet::default(); self.categories.len()];
        for (at, set) in first.iter_mut().enumerate() {
            set.insert(Category(
                u16::try_from(at).expect("categories are numbered so"),
            ));
        }
        let mut is_changed = true;
        while is_changed {
            is_changed = false;
            for written in &self.written {
                let begins = first[written.items[0].index()].clone();
                is_changed |= first[written.rule.left.index()].add(&begins);
            }
        }
        first
    }
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
