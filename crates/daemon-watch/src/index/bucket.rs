//! The conditions on one kind and action, filed by the values they require.

use std::collections::HashMap;
use std::sync::Arc;

use daemon_event::{Event, Field};
use globset::{Glob, GlobSet, GlobSetBuilder};

use super::slots::{Compiled, Entry, Slot, Slots};
use super::texts::{Texts, literal_test};
use crate::compare::{Folding, LONGEST_GLOB, path_pattern};
use crate::filter::{Op, Test};

/// The fields by whose exact values conditions are filed, most selective first.
const EXACT: &[Field] = &[
    Field::LabelAdded,
    Field::LabelRemoved,
    Field::Channel,
    Field::Check,
    Field::Workflow,
    Field::Base,
    Field::Branch,
    Field::Labels,
    Field::Author,
    Field::Actor,
    Field::Environment,
    Field::Tag,
    Field::State,
    Field::Level,
    Field::Repo,
];

#[derive(Debug)]
pub(super) struct Bucket<K> {
    /// The conditions, by slots that stay the same until removal.
    slots: Slots<K>,
    /// Conditions without a value, path or string to look up.
    open: Vec<Slot>,
    /// Conditions by a hash of field and value.
    exact: HashMap<u64, Vec<Slot>>,
    /// The fields that `exact` uses.
    exact_fields: Vec<Field>,
    /// Conditions on paths below a literal folder, by that folder.
    folders: HashMap<u64, Vec<Slot>>,
    /// Conditions on paths anywhere.
    paths: Compiled<PathGlobs>,
    /// Conditions on strings, by field.
    texts: Vec<Texts>,
}

#[derive(Debug)]
struct PathGlobs {
    set: GlobSet,
    /// By glob of the set, the condition.
    owners: Vec<Slot>,
}

impl<K> Default for Bucket<K> {
    fn default() -> Self {
        Self {
            slots: Slots::default(),
            open: Vec::new(),
            exact: HashMap::new(),
            exact_fields: Vec::new(),
            folders: HashMap::new(),
            paths: Compiled::default(),
            texts: Vec::new(),
        }
    }
}

/// From this many entries under one value, paths and strings are more selective.
const CROWDED: usize = 16;

/// Where an entry is filed.
enum Place<'t> {
    Open,
    Exact(&'t Test),
    Paths,
    Text(Field),
}

impl<K> Bucket<K> {
    pub(super) fn insert(&mut self, entry: Entry<K>) -> Slot {
        let tests = Arc::clone(&entry.tests);
        let (has_many, slot) = match self.place(&tests) {
            Place::Open => {
                let slot = self.slots.insert(entry);
                self.open.push(slot);
                (false, slot)
            }
            Place::Exact(test) => {
                let slot = self.slots.insert(entry);
                (self.insert_exact(slot, test), slot)
            }
            Place::Paths => {
                let slot = self.slots.insert(entry);
                (self.insert_paths(slot, &tests), slot)
            }
            Place::Text(field) => {
                let slot = self.slots.insert(entry);
                let at = self.texts.iter().position(|texts| texts.field() == field);
                let at = at.unwrap_or_else(|| {
                    self.texts.push(Texts::new(field));
                    self.texts.len() - 1
                });
                self.texts[at].insert(slot);
                (false, slot)
            }
        };
        if has_many {
            self.slots.mark_siblings(slot);
        }
        slot
    }

    /// Files a condition under every value that it accepts; returns whether there are several.
    fn insert_exact(&mut self, slot: Slot, test: &Test) -> bool {
        if !self.exact_fields.contains(&test.field()) {
            self.exact_fields.push(test.field());
        }
        for value in test.values() {
            let hash = value_hash(test.field(), value);
            self.exact.entry(hash).or_default().push(slot);
        }
        // A condition with several values can be found by each of them, so it needs a check for duplicates.
        test.values().len() > 1
    }

    /// Files a condition under its folders or among the globs; returns whether it has several entries.
    fn insert_paths(&mut self, slot: Slot, tests: &[Test]) -> bool {
        let folders: Vec<Option<u64>> = globs_of(tests)
            .map(|glob| folder(glob).map(folder_hash))
            .collect();
        for hash in folders.iter().flatten() {
            self.folders.entry(*hash).or_default().push(slot);
        }
        // A glob without a literal folder, as `**/*.sql`, can only be found by matching all of them.
        if folders.iter().any(Option::is_none) {
            self.paths.insert(slot);
        }
        folders.len() > 1
    }

    /// Chooses the key of an entry: the value with the fewest entries, or paths and strings if all are crowded.
    fn place<'t>(&self, tests: &'t [Test]) -> Place<'t> {
        let exact = EXACT
            .iter()
            .filter_map(|field| {
                tests
                    .iter()
                    .find(|test| test.field() == *field && test.op() == Op::Is)
            })
            .map(|test| (self.crowd(test), test))
            .min_by_key(|(crowd, _)| *crowd);
        let on_paths = |test: &Test| {
            test.field() == Field::ChangedFiles && matches!(test.op(), Op::Any | Op::Only)
        };
        match exact {
            // Under a crowded value each event of the bucket would decide all of the entries.
            Some((crowd, test)) if crowd < CROWDED => Place::Exact(test),
            _ if tests.iter().any(on_paths) => Place::Paths,
            _ => match (literal_test(tests), exact) {
                (Some(test), _) => Place::Text(test.field()),
                (None, Some((_, test))) => Place::Exact(test),
                (None, None) => Place::Open,
            },
        }
    }

    /// Returns the number of entries under the most crowded value of a test.
    fn crowd(&self, test: &Test) -> usize {
        let values = test.values().iter();
        values
            .filter_map(|value| self.exact.get(&value_hash(test.field(), value)))
            .map(Vec::len)
            .max()
            .unwrap_or(0)
    }

    /// Removes a condition. References to it are swept when more slots are empty than used.
    pub(super) fn remove(&mut self, slot: Slot) {
        if !self.slots.remove(slot) {
            return;
        }
        let Self {
            slots,
            open,
            exact,
            folders,
            paths,
            texts,
            ..
        } = self;
        // The sweep visits every reference, which is why it runs only when more slots are empty than used.
        open.retain(|slot| slots.holds(*slot));
        for filed in [exact, folders] {
            filed.retain(|_, found| {
                found.retain(|slot| slots.holds(*slot));
                !found.is_empty()
            });
        }
        paths.sweep(slots);
        texts.iter_mut().for_each(|texts| texts.sweep(slots));
        slots.swept();
    }

    /// Returns how many slots there are, empty ones included.
    #[cfg(test)]
    pub(super) fn n_slots(&self) -> usize {
        self.slots.len()
    }

    /// Calls `decide` with every entry that may be met; some entries more than once.
    pub(super) fn each_candidate(&self, event: &Event, mut decide: impl FnMut(&Entry<K>)) {
        let mut decide = |slot: Slot| self.slots.get(slot).into_iter().for_each(&mut decide);
        self.open.iter().copied().for_each(&mut decide);
        if !self.exact.is_empty() {
            for field in &self.exact_fields {
                for value in event.facts.texts(*field) {
                    let found = self.exact.get(&value_hash(*field, value));
                    found.into_iter().flatten().copied().for_each(&mut decide);
                }
            }
        }
        if !self.folders.is_empty() {
            self.each_in_folders(event, &mut decide);
        }
        for texts in &self.texts {
            texts.each_candidate(&self.slots, event, &mut decide);
        }
        self.each_by_globs(event, &mut decide);
    }

    /// Calls `decide` for the conditions on each folder that holds a changed path, once for each folder.
    fn each_in_folders(&self, event: &Event, decide: &mut impl FnMut(Slot)) {
        for (index, path) in event.facts.texts(Field::ChangedFiles).enumerate() {
            for (end, _) in path.match_indices('/') {
                let folder = &path[..end];
                let Some(found) = self.folders.get(&folder_hash(folder)) else {
                    continue;
                };
                // Several changed files in one folder would decide its conditions once for each file.
                let mut earlier = event.facts.texts(Field::ChangedFiles).take(index);
                let is_in = |other: &str| {
                    other
                        .strip_prefix(folder)
                        .is_some_and(|rest| rest.starts_with('/'))
                };
                if !earlier.any(is_in) {
                    found.iter().copied().for_each(&mut *decide);
                }
            }
        }
    }

    /// Calls `decide` once for each condition one of whose globs a changed path matches.
    fn each_by_globs(&self, event: &Event, decide: &mut impl FnMut(Slot)) {
        if self.paths.is_empty() || event.facts.texts(Field::ChangedFiles).next().is_none() {
            return;
        }
        let globs = self.paths.get(|slots| compile(slots, &self.slots));
        let mut found: Vec<usize> = Vec::new();
        let mut met: Vec<Slot> = Vec::new();
        for path in event.facts.texts(Field::ChangedFiles) {
            globs.set.matches_into(path, &mut found);
            met.extend(found.iter().map(|glob| globs.owners[*glob]));
        }
        // Two paths may match the same glob, and each condition is decided once.
        met.sort_unstable();
        met.dedup();
        met.into_iter().for_each(&mut *decide);
        self.paths.late().for_each(decide);
    }
}

/// The globs that a path must match for an entry.
fn globs_of(tests: &[Test]) -> impl Iterator<Item = &str> {
    let tests = tests
        .iter()
        .filter(|test| test.field() == Field::ChangedFiles);
    tests
        .filter(|test| matches!(test.op(), Op::Any | Op::Only))
        .flat_map(Test::values)
        .map(String::as_str)
        .filter(|value| !value.starts_with('!'))
}

/// Returns the literal folder of a glob before its first wildcard: `src/d1` of `src/d1/**/*.rs`.
fn folder(glob: &str) -> Option<&str> {
    let glob = glob
        .strip_prefix("./")
        .unwrap_or(glob)
        .trim_start_matches('/');
    // An escaped character may be part of the folder's name; such globs are matched instead of looked up.
    if glob.contains('\\') || glob.len() > LONGEST_GLOB {
        return None;
    }
    let literal = glob
        .find(['*', '?', '[', '{'])
        .map_or(glob, |at| &glob[..at]);
    let (folder, _) = literal.rsplit_once('/')?;
    (!folder.is_empty()).then_some(folder)
}

fn folder_hash(folder: &str) -> u64 {
    hash_chars(folder.chars())
}

fn compile<K>(paths: &[Slot], slots: &Slots<K>) -> PathGlobs {
    let mut builder = GlobSetBuilder::new();
    let mut owners = Vec::new();
    for (slot, entry) in slots.each(paths) {
        let globs = globs_of(&entry.tests).filter(|glob| folder(glob).is_none());
        for glob in globs {
            // A glob that does not compile is replaced by one that matches everything: its condition is decided in full.
            let built = globset::GlobBuilder::new(&path_pattern(glob))
                .literal_separator(true)
                .build();
            builder
                .add(built.unwrap_or_else(|_not_a_glob| Glob::new("**").expect("`**` is a glob")));
            owners.push(slot);
        }
    }
    PathGlobs {
        set: builder.build().unwrap_or_default(),
        owners,
    }
}

fn value_hash(field: Field, value: &str) -> u64 {
    // The field is part of the hash: `main` as base and `main` as branch are different keys.
    let seed = char::from_u32(u32::from(field as u8) + 0x100).expect("fields are few");
    hash_chars(std::iter::once(seed).chain(Folding::of(field).chars(value)))
}

/// Hashes characters without collecting them (FNV-1a).
pub(super) fn hash_chars(chars: impl Iterator<Item = char>) -> u64 {
    // Values of every event are hashed. Collecting the folded string first would allocate for each.
    chars.fold(0xcbf2_9ce4_8422_2325, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
    })
}
