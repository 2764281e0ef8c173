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
pub(super) struct CategorySet {
    words: Vec<u64>,
    /// The numbers of the words that are not zero, since most are.
    filled: Vec<u16>,
}

impl CategorySet {
    /// Returns the empty set, with room for a number of categories.
    pub(super) fn with_room(n_categories: usize) -> Self {
        Self {
            words: vec![0; n_categories.div_ceil(64)],
            filled: Vec::new(),
        }
    }

    /// Adds a category; returns whether it is new.
    pub(super) fn insert(&mut self, category: Category) -> bool {
        let word = category.0 / 64;
        if self.words[usize::from(word)] == 0 {
            self.filled.push(word);
        }
        insert(&mut self.words, category)
    }

    pub(super) fn contains(&self, category: Category) -> bool {
        contains(&self.words, category)
    }

    /// Returns the categories, sorted.
    pub(super) fn iter(&self) -> impl Iterator<Item = Category> + '_ {
        (self.words.iter().enumerate()).flat_map(|(at, word)| bits(at, *word))
    }

    /// Returns the words that are not zero, with their numbers.
    fn filled(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let filled = self.filled.iter().map(|at| usize::from(*at));
        filled.map(|at| (at, self.words[at]))
    }
}

/// Returns the categories of one word of a set.
fn bits(at: usize, word: u64) -> impl Iterator<Item = Category> {
    let next = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
    let rests = std::iter::successors(Some(word).filter(|word| *word != 0), next);
    rests.map(move |rest| {
        let number = at * 64 + rest.trailing_zeros() as usize;
        Category(u16::try_from(number).expect("it was numbered so"))
    })
}

/// The set of categories of one place.
#[derive(Clone, Copy)]
pub(super) struct CategoriesAt<'s>(&'s [u64]);

impl<'s> CategoriesAt<'s> {
    pub(super) fn contains(self, category: Category) -> bool {
        contains(self.0, category)
    }

    /// Returns the categories that are in another set as well.
    pub(super) fn of(self, other: &'s CategorySet) -> impl Iterator<Item = Category> + 's {
        let filled = other.filled();
        filled.flat_map(move |(at, word)| bits(at, word & self.0[at]))
    }
}

/// Sets of categories, one for each place of a line.
#[derive(Default)]
pub(super) struct CategorySets {
    words: Vec<u64>,
    width: usize,
}

impl CategorySets {
    /// Makes a number of empty sets of these.
    pub(super) fn clear(&mut self, count: usize, n_categories: usize) {
        self.width = n_categories.div_ceil(64);
        self.words.clear();
        self.words.resize(count * self.width, 0);
    }

    /// Returns the set of a place.
    pub(super) fn at(&self, place: usize) -> CategoriesAt<'_> {
        CategoriesAt(&self.words[place * self.width..(place + 1) * self.width])
    }

    fn at_mut(&mut self, place: usize) -> &mut [u64] {
        &mut self.words[place * self.width..(place + 1) * self.width]
    }

    /// Adds a category to a set; returns whether it is new there.
    pub(super) fn insert(&mut self, place: usize, category: Category) -> bool {
        insert(self.at_mut(place), category)
    }

    /// Adds categories to a set; returns whether one of them is new there.
    pub(super) fn add(&mut self, place: usize, more: &CategorySet) -> bool {
        let mine = self.at_mut(place);
        let mut new = 0;
        for (at, theirs) in more.filled() {
            new |= theirs & !mine[at];
            mine[at] |= theirs;
        }
        new != 0
    }

    pub(super) fn contains(&self, place: usize, category: Category) -> bool {
        self.at(place).contains(category)
    }
}

fn contains(words: &[u64], category: Category) -> bool {
    words[category.index() / 64] >> (category.index() % 64) & 1 == 1
}

fn insert(words: &mut [u64], category: Category) -> bool {
    let word = &mut words[category.index() / 64];
    let bit = 1 << (category.index() % 64);
    let is_new = *word & bit == 0;
    *word |= bit;
    is_new
}
