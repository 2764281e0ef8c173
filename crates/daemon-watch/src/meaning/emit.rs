//! From events and guards to clauses and filters, by the vocabulary.

use daemon_event::vocabulary::{self, EventKind, Noun};
use daemon_event::{Field, Source};

use super::atom::{RowOfEvent, Says};
use super::clauses::ClauseSet;
use super::event::GuardedEvent;
use super::facts::tells;
use super::formula::{FilterLiteral, Formula, alternatives, is};
use super::notes::{LABEL_BY_ID, default_note};
use super::spoken::Spoken;
use super::topic::topic;
use crate::filter::{Filter, Mark, Test};
use crate::interpretation::{Clause, EventPattern};

/// The most clauses of one line.
const MOST_CLAUSES: usize = 64;

/// The events of clauses with their filters, by number.
type Groups = Vec<(Vec<EventPattern>, Vec<usize>)>;

/// Builds the clauses of all events, or returns `None` if a statement has no field in an event.
pub(crate) fn emit(line: Spoken<'_>, events: &[GuardedEvent]) -> Option<ClauseSet> {
    let mut found = ClauseSet::default();
    for event in events {
        let mut sources = sources(event);
        if event.source.is_none() && is_label_of(line, event.noun) {
            sources.retain(|source| *source == Source::Github);
        }
        // An event whose statements fit none of its kinds would vanish next to other alternatives.
        let groups = groups(line, event, &sources, &mut found)?;
        if event.raw.is_none()
            && let Some(note) = default_note(
                event.noun,
                event.verb,
                names_source(event),
                sources.len(),
                says_merge_request(line),
            )
        {
            found.note(note);
        }
        let names_lost_label = |filter: &Filter| filter.test.field() == Field::LabelRemoved;
        if sources.contains(&Source::Linear) && found.filters.iter().any(names_lost_label) {
            found.note(LABEL_BY_ID);
        }
        let mark = if event.raw.is_none() && event.noun == Noun::Issue && !names_source(event) {
            Mark::Inferred
        } else {
            Mark::Exact
        };
        let span = line.span(&(event.start..line.tokens.len()));
        for (events, filters) in groups {
            let is_known = found
                .clauses
                .iter()
                .any(|known| known.events == events && known.filters == filters);
            if !is_known {
                found.clauses.push(Clause {
                    events,
                    filters,
                    span,
                    mark,
                });
            }
        }
    }
    (!found.clauses.is_empty() && found.clauses.len() <= MOST_CLAUSES).then_some(found)
}

/// Returns the events that the vocabulary has for one event in some sources, by their filters; `None` if it has no event.
fn groups(
    line: Spoken<'_>,
    event: &GuardedEvent,
    sources: &[Source],
    found: &mut ClauseSet,
) -> Option<Groups> {
    let mut groups = Groups::new();
    let is_meant = |kind: &EventKind| {
        let is_other = event.on == [Noun::Issue] && kind.name.starts_with("pull_request");
        sources.contains(&kind.source) && event.without != Some(kind.name) && !is_other
    };
    let pattern = |kind: &EventKind, action| EventPattern {
        source: kind.source,
        kind: kind.name,
        action,
    };
    if let Some((name, action)) = event.raw {
        let kind = vocabulary::kind(event.source.unwrap_or(Source::Github), name)?;
        is_meant(kind).then_some(())?;
        let pattern = pattern(kind, action);
        add(line, event, kind, pattern, Vec::new(), &mut groups, found)?;
    } else {
        for (kind, row) in vocabulary::rows(event.noun) {
            if row.verbs.contains(&event.verb) && is_meant(kind) {
                let pattern = pattern(kind, row.action);
                let tests = row.guards.iter().map(Test::from).collect();
                add(line, event, kind, pattern, tests, &mut groups, found)?;
            }
        }
    }
    (!groups.is_empty()).then_some(groups)
}

fn names_source(event: &GuardedEvent) -> bool {
    event.source.is_some()
        || event
            .guard
            .mentions(&|atom| matches!(atom.says, Says::Source(_)))
}

/// Whether a label belongs to the repository.
fn is_label_of(line: Spoken<'_>, noun: Noun) -> bool {
    matches!(noun, Noun::RepositoryLabel | Noun::IssueLabel)
        && (0..line.tokens.len()).any(|at| matches!(line.word_at(at), "repository" | "repo"))
}

fn says_merge_request(line: Spoken<'_>) -> bool {
    (0..line.tokens.len()).any(|at| {
        matches!(line.word_at(at), "mr" | "mrs")
            || line.word_at(at) == "merge" && line.word_at(at + 1).starts_with("request")
    })
}

/// The sources of a noun without a named source.
fn sources(event: &GuardedEvent) -> Vec<Source> {
    if let Some(source) = event.source {
        return vec![source];
    }
    if topic(event.noun, None).is_some() {
        return Source::ALL.to_vec();
    }
    let on_pull = event.on.contains(&Noun::PullRequest) && !event.on.contains(&Noun::Issue);
    let is_of_github = on_pull || event.without.is_some();
    Source::ALL
        .iter()
        .copied()
        .filter(|source| match source {
            Source::Github => true,
            Source::Linear => matches!(event.noun, Noun::Issue | Noun::Comment) && !is_of_github,
            Source::Git => matches!(
                event.noun,
                Noun::Commit | Noun::Branch | Noun::Tag | Noun::PullRequest | Noun::File
            ),
            Source::Slack | Source::Sentry | Source::Cloudevents => false,
        })
        .collect()
}

/// Adds one event of one kind with its filters.
fn add(
    line: Spoken<'_>,
    event: &GuardedEvent,
    kind: &EventKind,
    pattern: EventPattern,
    tests: Vec<Test>,
    groups: &mut Groups,
    found: &mut ClauseSet,
) -> Option<()> {
    let whole = event.start..line.tokens.len();
    let literal = |test: Test| {
        Formula::Atom(FilterLiteral {
            test,
            range: whole.clone(),
        })
    };
    let mut formula = tests
        .into_iter()
        .map(literal)
        .fold(Formula::Always, Formula::and);
    if let Some(on) = comment_place(event) {
        formula = formula.and(literal(on));
    }
    let occasion = RowOfEvent {
        source: kind.source,
        kind: kind.name,
        noun: event.noun,
        verb: event.verb,
    };
    let said = event
        .guard
        .replace(false, &mut |atom: &super::atom::Atom, negated| {
            atom.on(&occasion, negated)
        });
    let Some(said) = said else {
        // An event of another service without the field is not meant; on GitHub the line is read another way.
        return (kind.source != Source::Github).then_some(());
    };
    for list in alternatives(&formula.and(said))? {
        // A field that the kind never holds cannot be meant: `an unmerged branch is deleted`.
        let is_untold = |literal: &FilterLiteral| {
            !literal.test.op().is_negated() && !kind.can_hold(literal.test.field())
        };
        if list.iter().any(is_untold) {
            return (kind.source != Source::Github).then_some(());
        }
        let mut filters = Vec::new();
        for literal in list {
            is_told(event, literal.test.field()).then_some(())?;
            let span = line.span(&literal.range);
            let index = found.filter(Filter {
                test: literal.test,
                span,
                mark: Mark::Exact,
            });
            if !filters.contains(&index) {
                filters.push(index);
            }
        }
        match groups.iter_mut().find(|(_, known)| *known == filters) {
            Some((events, _)) if events.contains(&pattern) => {}
            Some((events, _)) => events.push(pattern),
            None => groups.push((vec![pattern], filters)),
        }
    }
    Some(())
}

/// Whether one of the possible events can hold a fact.
fn is_told(event: &GuardedEvent, field: Field) -> bool {
    topic(event.noun, event.source).is_none()
        || vocabulary::rows(event.noun).iter().any(|(kind, row)| {
            row.verbs.contains(&event.verb)
                && event.source.is_none_or(|source| source == kind.source)
                && tells(kind.source, kind.name, field)
        })
}

/// The parent that a comment must have, if the kind of event does not imply it.
fn comment_place(event: &GuardedEvent) -> Option<Test> {
    if event.noun != Noun::Comment || event.on.is_empty() {
        return None;
    }
    let on = |noun: Noun| event.on.contains(&noun);
    match (on(Noun::PullRequest), on(Noun::Issue)) {
        (true, false) => Some(is(Field::CommentOn, &["pull_request"])),
        (false, true) => Some(is(Field::CommentOn, &["issue"])),
        _ => None,
    }
}
