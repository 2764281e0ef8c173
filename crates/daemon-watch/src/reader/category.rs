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
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CategorySet(Vec<u64>);

impl CategorySet {
    /// Returns the empty set, with room for a number of categories.
    pub(super) fn with_room(n_categories: usize) -> Self {
        Self(vec![0; n_categories.div_ceil(64)])
    }

    /// Adds a category; returns whether it is new.
    pub(super) fn insert(&mut self, category: Category) -> bool {
        insert(&mut self.0, category)
    }

    /// Returns the categories, sorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = Category> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
            let rests = std::iter::successors(Some(*word).filter(|word| *word != 0), next);
            rests.map(move |rest| {
                let number = at * 64 + rest.trailing_zeros() as usize;
                Category(u16::try_from(number).expect("it was numbered so"))
            })
        })
    }
}

/// Sets of categories, one for each place of a line.
pub(super) struct CategorySets {
    words: Vec<u64>,
    width: usize,
}

impl CategorySets {
    /// Returns a number of empty sets.
    pub(super) fn new(count: usize, n_categories: usize) -> Self {
        let width = n_categories.div_ceil(64);
        Self {
            words: vec![0; count * width],
            width,
        }
    }

    fn at(&mut self, place: usize) -> &mut [u64] {
        &mut self.words[place * self.width..(place + 1) * self.width]
    }

    /// Adds a category to a set; returns whether it is new there.
    pub(super) fn insert(&mut self, place: usize, category: Category) -> bool {
        insert(self.at(place), category)
    }

    /// Adds categories to a set; returns whether one of them is new there.
    pub(super) fn add(&mut self, place: usize, more: &CategorySet) -> bool {
        let mut is_new = false;
        for (mine, theirs) in self.at(place).iter_mut().zip(&more.0) {
            is_new |= *theirs & !*mine != 0;
            *mine |= theirs;
        }
        is_new
    }

    pub(super) fn contains(&self, place: usize, category: Category) -> bool {
        self.words[place * self.width + category.index() / 64] >> (category.index() % 64) & 1 == 1
    }
}

fn insert(words: &mut [u64], category: Category) -> bool {
    let word = &mut words[category.index() / 64];
    let bit = 1 << (category.index() % 64);
    let is_new = *word & bit == 0;
    *word |= bit;
    is_new
}
