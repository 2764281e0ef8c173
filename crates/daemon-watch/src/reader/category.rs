//! Categories of words and phrases, numbered.

use rustc_hash::FxHashMap;

/// A category of words or phrases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Category(pub(super) u16);

impl Category {
    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The names of the categories.
#[derive(Debug, Default)]
pub(super) struct Categories {
    numbers: FxHashMap<String, Category>,
    names: Vec<String>,
}

impl Categories {
    /// Returns the category of a name; a new name gets the next number.
    pub(super) fn of(&mut self, name: &str) -> Category {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = u16::try_from(self.names.len()).expect("a grammar has fewer categories");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), Category(number));
        Category(number)
    }

    pub(super) fn find(&self, name: &str) -> Option<Category> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, category: Category) -> &str {
        self.names.get(category.index()).map_or("", String::as_str)
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

/// A set of categories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CategorySet(Vec<u64>);

impl CategorySet {
    pub(super) fn insert(&mut self, category: Category) {
        let at = category.index() / 64;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (category.index() % 64);
    }

    /// Adds the categories of another set; returns whether one of them is new.
    pub(super) fn add(&mut self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut is_new = false;
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            is_new |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        is_new
    }

    /// Returns the empty set, with room for a number of categories.
    pub(super) fn with_room(n_categories: usize) -> Self {
        Self(vec![0; n_categories.div_ceil(64)])
    }

    /// Whether the sets have a category in common.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&other.0);
        pairs.any(|(mine, theirs)| mine & theirs != 0)
    }

    pub(super) fn contains(&self, category: Category) -> bool {
        let word = self.0.get(category.index() / 64);
        word.is_some_and(|word| word >> (category.index() % 64) & 1 == 1)
    }
}
