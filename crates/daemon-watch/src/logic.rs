//! Relations between filters: one may imply or exclude another.

use daemon_event::{Field, FieldShape};

use crate::compare::{Folding, contains_folded, same};
use crate::filter::{Op, Test};
use crate::interpretation::{Clause, EventPattern, Interpretation, Status};
use crate::span::Span;

impl Interpretation {
    /// Whether two conditions match exactly the same events, however they are worded.
    ///
    /// `false` proves nothing: relations that take more than comparing filters are not found.
    pub fn means_the_same_as(&self, other: &Self) -> bool {
        // A remainder may narrow a condition, so only `mapped` lines can be compared.
        self.status == Status::Mapped
            && other.status == Status::Mapped
            && self.is_covered_by(other)
            && other.is_covered_by(self)
    }

    /// Returns two parts that no event can satisfy together, if every alternative contains such parts.
    pub fn contradiction(&self) -> Option<[Span; 2]> {
        let mut first = None;
        for clause in &self.clauses {
            // One alternative that can be met is enough to wake, so each of them needs a contradiction.
            let parts = self.clause_contradiction(clause)?;
            first.get_or_insert(parts);
        }
        first
    }

    /// Whether an alternative contains two parts that no event can satisfy together.
    pub(crate) fn has_dead_clause(&self) -> bool {
        let mut clauses = self.clauses.iter();
        clauses.any(|clause| self.clause_contradiction(clause).is_some())
    }

    fn is_covered_by(&self, other: &Self) -> bool {
        self.meanings().all(|(event, tests)| {
            other.meanings().any(|(their_event, their_tests)| {
                // A raw event name without an action includes every action of the kind.
                let is_wider = their_event.action.is_none() || event.action == their_event.action;
                let follows = |theirs: &&Test| tests.iter().any(|test| test.implies(theirs));
                (event.source, event.kind) == (their_event.source, their_event.kind)
                    && is_wider
                    && their_tests.iter().all(follows)
            })
        })
    }

    /// Walks the events with what must hold of them.
    fn meanings(&self) -> impl Iterator<Item = (EventPattern, Vec<&Test>)> {
        self.clauses.iter().flat_map(|clause| {
            let tests: Vec<&Test> = self.tests(clause).collect();
            let events = clause.events.iter();
            events.map(move |event| (*event, tests.clone()))
        })
    }

    fn tests<'s>(&'s self, clause: &'s Clause) -> impl Iterator<Item = &'s Test> {
        let filters = clause.filters.iter();
        filters.map(|index| &self.filters[*index].test)
    }

    fn clause_contradiction(&self, clause: &Clause) -> Option<[Span; 2]> {
        let filters = || clause.filters.iter().map(|index| &self.filters[*index]);
        for (at, first) in filters().enumerate() {
            if first.test.is_impossible() {
                return Some([first.span, first.span]);
            }
            for second in filters().skip(at + 1) {
                if first.test.excludes(&second.test) {
                    let mut parts = [first.span, second.span];
                    parts.sort_unstable();
                    return Some(parts);
                }
            }
        }
        // The event itself excludes some filters: a pull request that is opened is not merged.
        let against_events = filters().find(|filter| {
            clause.events.iter().all(|event| {
                let mut facts = facts_of(event);
                facts.any(|fact| fact.excludes(&filter.test))
            })
        });
        against_events.map(|filter| [filter.span, clause.span])
    }
}

/// What an event says by itself: kind, action, field and its only value.
const FACTS: &[(&str, &str, Field, &str)] = &[
    ("pull_request", "opened", Field::State, "open"),
    ("pull_request", "opened", Field::Merged, "false"),
    ("pull_request", "reopened", Field::State, "open"),
    ("pull_request", "reopened", Field::Merged, "false"),
    ("pull_request", "closed", Field::State, "closed"),
    ("pull_request", "ready_for_review", Field::Draft, "false"),
    ("pull_request", "converted_to_draft", Field::Draft, "true"),
    ("issues", "opened", Field::State, "open"),
    ("issues", "reopened", Field::State, "open"),
    ("issues", "closed", Field::State, "closed"),
];

fn facts_of(event: &EventPattern) -> impl Iterator<Item = Test> {
    let facts = FACTS
        .iter()
        .filter(|(kind, action, ..)| *kind == event.kind && Some(*action) == event.action);
    facts.map(|(_, _, field, value)| Test::new(*field, Op::Is, vec![(*value).to_owned()]))
}

/// The fields that hold one of two values, and these.
fn values_of(field: Field) -> Option<[&'static str; 2]> {
    match field {
        Field::ActorKind | Field::AuthorKind | Field::ParentAuthorKind => Some(["human", "bot"]),
        Field::RefType => Some(["branch", "tag"]),
        _ if field.shape() == FieldShape::Flag => Some(["true", "false"]),
        _ => None,
    }
}

impl Test {
    /// Whether every value that passes this filter passes the other.
    pub(crate) fn implies(&self, other: &Self) -> bool {
        if self.field() != other.field() {
            return false;
        }
        let (this, other) = (self.positive(), other.positive());
        let (a, b) = (this.values(), other.values());
        match (this.op(), other.op()) {
            (Op::Is, Op::Is) => is_within(&this, a, b),
            (Op::IsNot, Op::IsNot) | (Op::Lacks, Op::Lacks) | (Op::BeginsNot, Op::BeginsNot) => {
                is_within(&this, b, a)
            }
            // A list of labels may contain `bug` and `docs` at once: only a single value excludes the others.
            (Op::Is, Op::IsNot) => this.is_single() && !shares(&this, a, b),
            (Op::Is, Op::Matches) => a.iter().all(|value| other.is_glob_match(value)),
            (Op::Is, Op::MatchesNot) => {
                this.is_single() && !a.iter().any(|value| other.is_glob_match(value))
            }
            (Op::Contains, Op::Contains) => a
                .iter()
                .all(|text| b.iter().any(|part| contains_folded(text, part))),
            (Op::Begins, Op::Begins) | (Op::Command, Op::Command) => is_within(&this, a, b),
            (Op::Any | Op::Only, Op::Any) | (Op::Only, Op::Only) | (Op::Matches, Op::Matches) => {
                globs_are_within(a, b)
            }
            (Op::None, Op::None) | (Op::MatchesNot, Op::MatchesNot) => globs_are_within(b, a),
            (Op::Present, Op::Present) | (Op::Absent, Op::Absent) => true,
            // A filter with a non-empty value passes only for a field that is set.
            (
                Op::Is | Op::Matches | Op::Contains | Op::Begins | Op::Command | Op::Any | Op::Only,
                Op::Present,
            ) => !a.is_empty() && a.iter().all(|value| !value.is_empty()),
            _ => false,
        }
    }

    /// Whether no value passes both.
    pub(crate) fn excludes(&self, other: &Self) -> bool {
        let denies = |one: &Self, other: &Self| {
            other
                .opposite()
                .is_some_and(|opposite| one.implies(&opposite))
        };
        denies(self, other)
            || denies(other, self)
            || self.adds_what_is_missing(other)
            || other.adds_what_is_missing(self)
    }

    /// Whether this filter adds only labels that the other one excludes.
    fn adds_what_is_missing(&self, other: &Self) -> bool {
        // The labels of the payload include the added one, so `labels is_not bug` fails when `bug` is added.
        (self.field(), self.op()) == (Field::LabelAdded, Op::Is)
            && (other.field(), other.op()) == (Field::Labels, Op::IsNot)
            && is_within(self, self.values(), other.values())
    }

    /// Whether no value passes: the excluded globs cover all that the others match.
    fn is_impossible(&self) -> bool {
        let (out, inside): (Vec<&String>, Vec<&String>) =
            self.values().iter().partition(|glob| glob.starts_with('!'));
        let is_out = |glob: &&String| {
            let same = |other: &&String| canonical(&other[1..]) == canonical(glob);
            out.iter().any(same)
        };
        matches!(self.op(), Op::Any | Op::Only) && !inside.is_empty() && inside.iter().all(is_out)
    }

    /// Rewrites an exclusion as an inclusion, if the field has only two values.
    fn positive(&self) -> Self {
        let (Op::IsNot, Some(all)) = (self.op(), values_of(self.field())) else {
            return self.clone();
        };
        let rest = all.into_iter().filter(|value| {
            let folding = Folding::of(self.field());
            !self.values().iter().any(|not| same(not, value, folding))
        });
        Self::new(self.field(), Op::Is, rest.map(str::to_owned).collect())
    }

    /// Returns the filter that passes for a known value exactly if this one fails.
    fn opposite(&self) -> Option<Self> {
        let op = match self.op() {
            Op::Is => Op::IsNot,
            Op::IsNot => Op::Is,
            Op::Matches => Op::MatchesNot,
            Op::MatchesNot => Op::Matches,
            Op::Contains => Op::Lacks,
            Op::Lacks => Op::Contains,
            Op::Begins => Op::BeginsNot,
            Op::BeginsNot => Op::Begins,
            Op::Any => Op::None,
            Op::None => Op::Any,
            Op::Present => Op::Absent,
            Op::Absent => Op::Present,
            Op::Command => Op::CommandNot,
            Op::CommandNot => Op::Command,
            // Not (every path matches) needs a filter on the paths that do not match, for which there is no operator.
            Op::Only => return None,
        };
        Some(Self::new(self.field(), op, self.values().to_vec()))
    }

    /// Whether an event has at most one value of the field.
    fn is_single(&self) -> bool {
        self.field().shape() != FieldShape::Texts
    }
}

/// Whether every one of some values is among the others.
fn is_within(test: &Test, some: &[String], others: &[String]) -> bool {
    let folding = Folding::of(test.field());
    some.iter()
        .all(|value| others.iter().any(|other| same(value, other, folding)))
}

fn shares(test: &Test, some: &[String], others: &[String]) -> bool {
    let folding = Folding::of(test.field());
    some.iter()
        .any(|value| others.iter().any(|other| same(value, other, folding)))
}

/// Whether paths of some globs are paths of the others: more globs let more in, more of those after `!` less.
fn globs_are_within(some: &[String], others: &[String]) -> bool {
    // A glob after `!` removes paths from the comparison, so each of them makes the filter narrower.
    let is_out = |glob: &&String| glob.starts_with('!');
    let has = |globs: &[String], glob: &String| {
        globs
            .iter()
            .any(|other| canonical(other) == canonical(glob))
    };
    some.iter()
        .filter(|glob| !is_out(glob))
        .all(|glob| has(others, glob))
        && others.iter().filter(is_out).all(|glob| has(some, glob))
}

/// Spells a glob in one of the ways that match the same paths: `docs/` is `docs/**`.
fn canonical(glob: &str) -> String {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    match glob.strip_suffix('/') {
        Some(folder) if !folder.is_empty() => format!("{folder}/**"),
        Some(_) | None => glob.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> Test {
        text.parse().expect("it is a filter")
    }

    #[test]
    fn a_narrower_filter_implies_a_wider_one() {
        for (narrow, wide) in [
            ("base is main", "base is main | develop"),
            ("labels is Bug", "labels is bug"),
            ("author_kind is human", "author_kind is_not bot"),
            ("draft is_not true", "draft is false"),
            ("base is main", "base is_not develop"),
            ("base is release/2", "base matches release/*"),
            ("base is main", "base matches_not release/*"),
            ("comment contains \"memory leak\"", "comment contains leak"),
            ("comment lacks leak | drip", "comment lacks leak"),
            (
                "changed_files any_of docs/",
                "changed_files any_of docs/** | *.md",
            ),
            (
                "changed_files any_of *.md | !docs/",
                "changed_files any_of *.md",
            ),
            ("changed_files only docs/", "changed_files any_of docs/"),
            (
                "changed_files none_of docs/ | src/",
                "changed_files none_of docs/",
            ),
            ("label_added is bug", "label_added present"),
        ] {
            assert!(test(narrow).implies(&test(wide)), "{narrow} => {wide}");
            assert!(
                !test(wide).implies(&test(narrow))
                    || test(wide).positive() == test(narrow).positive()
                    || narrow.eq_ignore_ascii_case(wide),
                "{wide} => {narrow}"
            );
        }
    }

    #[test]
    fn unrelated_filters_neither_imply_nor_exclude_each_other() {
        for (a, b) in [
            ("labels is bug", "labels is docs"),
            ("labels is bug", "labels is_not docs"),
            ("base is main", "head is main"),
            ("title contains drip", "title contains leak"),
            ("changed_files any_of docs/", "changed_files none_of src/"),
            (
                "changed_files any_of *.md | !docs/",
                "changed_files any_of docs/",
            ),
            ("base matches release/*", "base is_not release/1"),
        ] {
            assert!(
                !test(a).implies(&test(b)) && !test(b).implies(&test(a)),
                "{a}; {b}"
            );
            assert!(
                !test(a).excludes(&test(b)) && !test(b).excludes(&test(a)),
                "{a}; {b}"
            );
        }
    }

    #[test]
    fn what_cannot_hold_together_is_excluded_either_way() {
        for (a, b) in [
            ("draft is true", "draft is false"),
            ("author_kind is bot", "author_kind is_not bot"),
            ("base is main", "base is develop"),
            ("base is main", "base matches release/*"),
            ("base is release/1", "base matches_not release/*"),
            ("labels is bug | docs", "labels is_not docs | bug | later"),
            ("comment contains \"memory leak\"", "comment lacks leak"),
            ("changed_files only docs/", "changed_files none_of docs/**"),
            ("milestone is v2", "milestone absent"),
        ] {
            assert!(
                test(a).excludes(&test(b)) && test(b).excludes(&test(a)),
                "{a}; {b}"
            );
        }
    }
}
