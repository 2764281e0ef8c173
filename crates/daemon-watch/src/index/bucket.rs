//! The conditions on one kind and action, by what they insist on.

use std::collections::HashMap;
use std::sync::OnceLock;

use daemon_event::{Event, Field};
use globset::{Glob, GlobSet, GlobSetBuilder};

use super::Entry;
use super::texts::{Texts, literal_test};
use crate::compare::{Folding, LONGEST_GLOB, path_pattern};
use crate::filter::{Op, Test};

/// The fields by whose exact values conditions are filed, most telling first.
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
    /// Conditions that insist on nothing that can be looked up.
    open: Vec<Entry<K>>,
    /// By field and value.
    exact: HashMap<u64, Vec<Entry<K>>>,
    /// The fields that `exact` uses, with how many entries.
    exact_fields: Vec<(Field, usize)>,
    /// Conditions on paths below a folder that they spell out, by that folder.
    folders: HashMap<u64, Vec<Entry<K>>>,
    /// Conditions on paths anywhere.
    paths: Vec<Entry<K>>,
    /// All globs of `paths`, compiled when an event first asks.
    globs: OnceLock<PathGlobs>,
    /// Conditions on texts, by field.
    texts: Vec<Texts<K>>,
}

#[derive(Debug)]
struct PathGlobs {
    set: GlobSet,
    /// By glob of the set, the entry of `paths`.
    owners: Vec<usize>,
}

impl<K> Default for Bucket<K> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            exact: HashMap::new(),
            exact_fields: Vec::new(),
            folders: HashMap::new(),
            paths: Vec::new(),
            globs: OnceLock::new(),
            texts: Vec::new(),
        }
    }
}

/// From this many entries under one value, paths and texts tell conditions better apart.
const CROWDED: usize = 16;

/// Where an entry is filed.
enum Place<'t> {
    Open,
    Exact(&'t Test),
    Paths,
    Text(Field),
}

impl<K: Clone + Eq> Bucket<K> {
    pub(super) fn insert(&mut self, entry: Entry<K>) {
        match self.place(&entry.tests) {
            Place::Open => self.open.push(entry),
            Place::Exact(test) => {
                let (field, values) = (test.field(), test.values().to_vec());
                match self
                    .exact_fields
                    .iter_mut()
                    .find(|(known, _)| *known == field)
                {
                    Some((_, n_entries)) => *n_entries += values.len(),
                    None => self.exact_fields.push((field, values.len())),
                }
                let entry = Entry {
                    has_siblings: entry.has_siblings || values.len() > 1,
                    ..entry
                };
                for value in &values {
                    self.exact
                        .entry(value_hash(field, value))
                        .or_default()
                        .push(entry.clone());
                }
            }
            Place::Paths => {
                let folders: Vec<Option<u64>> = globs_of(&entry)
                    .map(|glob| folder(glob).map(folder_hash))
                    .collect();
                // Several globs can lead to the same entry.
                let entry = Entry {
                    has_siblings: entry.has_siblings || folders.len() > 1,
                    ..entry
                };
                for hash in folders.iter().flatten() {
                    self.folders.entry(*hash).or_default().push(entry.clone());
                }
                if folders.iter().any(Option::is_none) {
                    self.paths.push(entry);
                    self.globs.take();
                }
            }
            Place::Text(field) => {
                let at = self.texts.iter().position(|texts| texts.field() == field);
                let at = at.unwrap_or_else(|| {
                    self.texts.push(Texts::new(field));
                    self.texts.len() - 1
                });
                self.texts[at].insert(entry);
            }
        }
    }

    /// Chooses what an entry is found by: the value that the fewest others share, unless many share each.
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
            Some((crowd, test)) if crowd < CROWDED => Place::Exact(test),
            _ if tests.iter().any(on_paths) => Place::Paths,
            _ => match (literal_test(tests), exact) {
                (Some(test), _) => Place::Text(test.field()),
                (None, Some((_, test))) => Place::Exact(test),
                (None, None) => Place::Open,
            },
        }
    }

    /// Returns how many entries the fullest value of a test holds.
    fn crowd(&self, test: &Test) -> usize {
        let values = test.values().iter();
        values
            .filter_map(|value| self.exact.get(&value_hash(test.field(), value)))
            .map(Vec::len)
            .max()
            .unwrap_or(0)
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.open.retain(|entry| entry.key != *key);
        self.exact.retain(|_, entries| {
            entries.retain(|entry| entry.key != *key);
            !entries.is_empty()
        });
        self.folders.retain(|_, entries| {
            entries.retain(|entry| entry.key != *key);
            !entries.is_empty()
        });
        self.texts.iter_mut().for_each(|texts| texts.remove(key));
        let n_paths = self.paths.len();
        self.paths.retain(|entry| entry.key != *key);
        if self.paths.len() != n_paths {
            self.globs.take();
        }
    }

    /// Calls `decide` with every entry that may be met; some entries more than once.
    pub(super) fn each_candidate(&self, event: &Event, mut decide: impl FnMut(&Entry<K>)) {
        self.open.iter().for_each(&mut decide);
        if !self.exact.is_empty() {
            for (field, _) in &self.exact_fields {
                for value in event.facts.texts(*field) {
                    let found = self.exact.get(&value_hash(*field, value));
                    found.into_iter().flatten().for_each(&mut decide);
                }
            }
        }
        if !self.folders.is_empty() {
            self.each_in_folders(event, &mut decide);
        }
        for texts in &self.texts {
            texts.each_candidate(event, &mut decide);
        }
        if self.paths.is_empty() {
            return;
        }
        let globs = self.globs.get_or_init(|| compile(&self.paths));
        let mut found: Vec<usize> = Vec::new();
        let mut met: Vec<usize> = Vec::new();
        for path in event.facts.texts(Field::ChangedFiles) {
            globs.set.matches_into(path, &mut found);
            met.extend(found.iter().map(|glob| globs.owners[*glob]));
        }
        met.sort_unstable();
        met.dedup();
        met.iter().for_each(|index| decide(&self.paths[*index]));
    }
}

impl<K> Bucket<K> {
    /// Calls `decide` for the conditions on each folder that holds a changed path, once for each folder.
    fn each_in_folders(&self, event: &Event, decide: &mut impl FnMut(&Entry<K>)) {
        for (index, path) in event.facts.texts(Field::ChangedFiles).enumerate() {
            for (end, _) in path.match_indices('/') {
                let folder = &path[..end];
                let Some(entries) = self.folders.get(&folder_hash(folder)) else {
                    continue;
                };
                let mut earlier = event.facts.texts(Field::ChangedFiles).take(index);
                let is_in = |other: &str| {
                    other
                        .strip_prefix(folder)
                        .is_some_and(|rest| rest.starts_with('/'))
                };
                if !earlier.any(is_in) {
                    entries.iter().for_each(&mut *decide);
                }
            }
        }
    }
}

/// The globs by which an entry asks for paths.
fn globs_of<K>(entry: &Entry<K>) -> impl Iterator<Item = &str> {
    let tests = entry
        .tests
        .iter()
        .filter(|test| test.field() == Field::ChangedFiles);
    tests
        .filter(|test| matches!(test.op(), Op::Any | Op::Only))
        .flat_map(Test::values)
        .map(String::as_str)
        .filter(|value| !value.starts_with('!'))
}

/// Returns the folder that a glob spells out before its first wildcard: `src/d1` of `src/d1/**/*.rs`.
fn folder(glob: &str) -> Option<&str> {
    let glob = glob
        .strip_prefix("./")
        .unwrap_or(glob)
        .trim_start_matches('/');
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

fn compile<K>(paths: &[Entry<K>]) -> PathGlobs {
    let mut builder = GlobSetBuilder::new();
    let mut owners = Vec::new();
    for (owner, entry) in paths.iter().enumerate() {
        let globs = globs_of(entry).filter(|glob| folder(glob).is_none());
        for glob in globs {
            // What does not compile is met by a glob for everything and decided in full.
            let built = globset::GlobBuilder::new(&path_pattern(glob))
                .literal_separator(true)
                .build();
            builder
                .add(built.unwrap_or_else(|_not_a_glob| Glob::new("**").expect("`**` is a glob")));
            owners.push(owner);
        }
    }
    PathGlobs {
        set: builder.build().unwrap_or_default(),
        owners,
    }
}

fn value_hash(field: Field, value: &str) -> u64 {
    let seed = char::from_u32(u32::from(field as u8) + 0x100).expect("fields are few");
    hash_chars(std::iter::once(seed).chain(Folding::of(field).chars(value)))
}

/// Hashes characters without collecting them (FNV-1a).
pub(super) fn hash_chars(chars: impl Iterator<Item = char>) -> u64 {
    chars.fold(0xcbf2_9ce4_8422_2325, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01b3)
    })
}
