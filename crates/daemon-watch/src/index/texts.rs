//! Conditions on the content of a string, found in one pass over it.

use aho_corasick::AhoCorasick;
use daemon_event::{Event, Field};

use super::slots::{Compiled, Slot, Slots};
use crate::compare::Folding;
use crate::filter::{Op, Test};

/// The two characters outside ASCII whose lower case contains ASCII letters. In a string with one of them a literal
/// can occur that a search by bytes does not find.
const FOLDED_TO_ASCII: [char; 2] = ['\u{130}', '\u{212a}'];

/// The conditions on the strings of one field.
#[derive(Debug)]
pub(super) struct Texts {
    field: Field,
    conditions: Compiled<Literals>,
}

#[derive(Debug)]
struct Literals {
    /// `None` if there are too many literals for one automaton.
    search: Option<AhoCorasick>,
    /// By literal, its condition.
    owners: Vec<Slot>,
}

/// Returns a test that passes only for strings with one of its literals.
pub(super) fn literal_test(tests: &[Test]) -> Option<&Test> {
    tests.iter().find(|test| {
        matches!(test.op(), Op::Contains | Op::Command)
            && !test.values().is_empty()
            && test.values().iter().all(|value| literal(value).is_some())
    })
}

/// Returns the longest run of ASCII that every string containing `wanted` contains, ignoring case.
fn literal(wanted: &str) -> Option<String> {
    let folded: String = Folding::Case.chars(wanted).collect();
    // The automaton ignores the case of ASCII only, so the literal is the longest run of it.
    let stretches = folded.split(|c: char| !c.is_ascii());
    let longest = stretches.max_by_key(|stretch| stretch.len())?;
    (!longest.is_empty()).then(|| longest.to_owned())
}

impl Texts {
    pub(super) fn new(field: Field) -> Self {
        Self {
            field,
            conditions: Compiled::default(),
        }
    }

    pub(super) fn field(&self) -> Field {
        self.field
    }

    pub(super) fn insert(&mut self, slot: Slot) {
        self.conditions.insert(slot);
    }

    pub(super) fn sweep<K>(&mut self, slots: &Slots<K>) {
        self.conditions.sweep(slots);
    }

    /// Calls `decide` once for each condition with a literal in the event's string.
    pub(super) fn each_candidate<K>(
        &self,
        slots: &Slots<K>,
        event: &Event,
        decide: &mut impl FnMut(Slot),
    ) {
        let mut texts = event.facts.texts(self.field).peekable();
        if texts.peek().is_none() || self.conditions.is_empty() {
            return;
        }
        let literals = self.conditions.get(|some| compile(some, slots));
        let mut met: Vec<Slot> = Vec::new();
        for text in texts {
            // Without an automaton every condition is decided in full: slower, but none is missed.
            let Some(search) = &literals.search else {
                return self.conditions.all().for_each(decide);
            };
            if text.contains(FOLDED_TO_ASCII) {
                return self.conditions.all().for_each(decide);
            }
            for found in search.find_overlapping_iter(text) {
                let owner = literals.owners[found.pattern().as_usize()];
                // A literal often occurs several times in one comment; this keeps the list short before it is sorted.
                if met.last() != Some(&owner) {
                    met.push(owner);
                }
            }
        }
        met.sort_unstable();
        met.dedup();
        met.into_iter().for_each(&mut *decide);
        self.conditions.late().for_each(decide);
    }
}

fn compile<K>(conditions: &[Slot], slots: &Slots<K>) -> Literals {
    let mut literals = Vec::new();
    let mut owners = Vec::new();
    for (slot, entry) in slots.each(conditions) {
        let values = literal_test(&entry.tests).map(Test::values);
        for value in values.into_iter().flatten() {
            literals.extend(literal(value));
            owners.push(slot);
        }
    }
    let search = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(literals)
        .ok();
    Literals { search, owners }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_other_character_outside_ascii_folds_into_it() {
        let folded: Vec<char> = ('\u{80}'..=char::MAX)
            .filter(|c| c.to_lowercase().any(|lower| lower.is_ascii()))
            .collect();
        assert_eq!(folded, FOLDED_TO_ASCII);
    }

    #[test]
    fn a_literal_is_the_longest_stretch_of_ascii() {
        assert_eq!(literal("/Area-5 help").as_deref(), Some("/area-5 help"));
        assert_eq!(literal("naïve question").as_deref(), Some("ve question"));
        assert_eq!(literal("über"), Some("ber".to_owned()));
        assert_eq!(literal("日本"), None);
        assert_eq!(literal(""), None);
    }
}
