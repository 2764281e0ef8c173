//! From drafts to events and filters, by the vocabulary.

mod account;
mod compose;
mod filters;
mod happening;
mod implied;
mod notes;
mod nouns;
mod parts;
mod subject;

use daemon_event::vocabulary::{self, ActionRow, Noun, RowGuard, Verb};
use daemon_event::{Field, Source};

use crate::filter::{Filter, Mark, Op, Test};
use crate::grammar::draft::{Draft, Mod};
use crate::grammar::reader::Reader;
use crate::interpretation::{Clause, EventPattern};
use crate::span::Span;
pub(crate) use filters::value_field;
pub(crate) use notes::default_note;
use subject::Subject;
pub(crate) use subject::{LABEL_BY_ID, has_row};

/// The clauses of an interpretation while they are collected.
#[derive(Debug, Default)]
pub(crate) struct ClauseSet {
    pub(crate) clauses: Vec<Clause>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) notes: Vec<String>,
}

impl ClauseSet {
    pub(crate) fn filter(&mut self, filter: Filter) -> usize {
        match self.filters.iter().position(|known| *known == filter) {
            Some(index) => index,
            None => {
                self.filters.push(filter);
                self.filters.len() - 1
            }
        }
    }

    pub(crate) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_owned());
        }
    }
}

/// Why a clause gives no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unresolved {
    /// It names an event that no source emits.
    Unknown,
    /// It names no event.
    NoEvent,
}

/// One event with the guards that its verb implies.
struct Meaning {
    pattern: EventPattern,
    guards: Vec<Filter>,
}

/// Resolves one draft; words without a meaning become free in the reader.
pub(crate) fn resolve(
    reader: &mut Reader<'_>,
    draft: &Draft,
    found: &mut ClauseSet,
) -> Result<(), Unresolved> {
    if draft.foreign.is_some() {
        return Err(Unresolved::Unknown);
    }
    let span = reader.span(&draft.range);
    if !draft.raw.is_empty() {
        resolve_raw(reader, draft, found, span);
        return Ok(());
    }
    let subjects = subject::subjects(reader, draft)?;
    let mut resolved = Vec::new();
    for subject in &subjects {
        let meanings = meanings(draft, subject);
        if meanings.is_empty() {
            continue;
        }
        add_clauses(reader, draft, subject, meanings, found, span);
        resolved.push(subject);
    }
    if resolved.is_empty() {
        return Err(Unresolved::Unknown);
    }
    account::release_unused(reader, draft, &resolved, found);
    Ok(())
}

fn resolve_raw(reader: &mut Reader<'_>, draft: &Draft, found: &mut ClauseSet, span: Span) {
    for (kind, action, range) in &draft.raw {
        let events: Vec<EventPattern> = vocabulary::kinds()
            .iter()
            .filter(|known| known.name == *kind)
            .filter(|known| {
                draft.sources.is_empty()
                    || draft
                        .sources
                        .iter()
                        .any(|(named, _)| *named == known.source)
            })
            .map(|known| EventPattern {
                source: known.source,
                kind: known.name,
                action: *action,
            })
            .collect();
        let subject = Subject::plain(Noun::PullRequest, Verb::Change, reader.span(range));
        let source = events
            .first()
            .map_or(Source::Github, |event: &EventPattern| event.source);
        let told = |field: Field| tells(&events, field);
        let filters = modifiers(reader, draft, &subject, (source, kind), &told, found);
        found.clauses.push(Clause {
            events,
            filters,
            span,
            mark: Mark::Exact,
        });
        account::release_unused(reader, draft, &[&subject], found);
    }
}

/// The rows of the vocabulary for a noun and a verb, of the sources in question.
fn meanings(draft: &Draft, subject: &Subject) -> Vec<Meaning> {
    let mut meanings = Vec::new();
    let ends_otherwise = draft.mods.iter().any(|hit| {
        !hit.negated && (matches!(hit.kind, Mod::Conclusion(_)) || filters::spells_conclusions(hit))
    }) && matches!(subject.verb, Verb::Fail | Verb::Succeed | Verb::Complete);
    let verb = if ends_otherwise {
        Verb::Complete
    } else {
        subject.verb
    };
    for (kind, row) in vocabulary::rows(subject.noun) {
        let is_meant = row.verbs.contains(&verb)
            && subject.sources.contains(&kind.source)
            && subject.without != Some(kind.name);
        if !is_meant {
            continue;
        }
        let mut guards = guards(row, subject, ends_otherwise);
        guards.extend(implied_guards(draft, subject, kind.name));
        let pattern = EventPattern {
            source: kind.source,
            kind: kind.name,
            action: row.action,
        };
        meanings.push(Meaning { pattern, guards });
    }
    meanings
}

fn guards(row: &ActionRow, subject: &Subject, ends_otherwise: bool) -> Vec<Filter> {
    row.guards
        .iter()
        .filter(|guard| !(ends_otherwise && matches!(guard, RowGuard::Is(Field::Conclusion, _))))
        .map(|guard| Filter {
            test: Test::from(guard),
            span: subject.span,
            mark: Mark::Exact,
        })
        .collect()
}

/// Guards that the words imply.
fn implied_guards(draft: &Draft, subject: &Subject, kind: &str) -> Vec<Filter> {
    let names_branch = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
    let mut guards = Vec::new();
    if subject.noun == Noun::File && kind == "push" && !names_branch {
        // `when docs/ changes` means the default branch: commits elsewhere arrive by a pull request.
        let test = Test::new(Field::OnDefaultBranch, Op::Is, vec!["true".to_owned()]);
        guards.push(Filter {
            test,
            span: subject.span,
            mark: Mark::Inferred,
        });
    }
    guards
}

fn add_clauses(
    reader: &mut Reader<'_>,
    draft: &Draft,
    subject: &Subject,
    meanings: Vec<Meaning>,
    found: &mut ClauseSet,
    span: Span,
) {
    let patterns: Vec<EventPattern> = meanings.iter().map(|meaning| meaning.pattern).collect();
    let told = |field: Field| tells(&patterns, field);
    // Events with the same guards and filters are one alternative, so that explanations list them once.
    let mut groups: Vec<(Vec<EventPattern>, Vec<usize>)> = Vec::new();
    for meaning in meanings {
        let names_branch = draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
        if subject.noun == Noun::File && meaning.pattern.kind == "pull_request" && names_branch {
            continue;
        }
        let kind = meaning.pattern.kind;
        let mut filters: Vec<usize> = meaning
            .guards
            .into_iter()
            .map(|guard| found.filter(guard))
            .collect();
        for extra in &subject.extra {
            filters.push(found.filter(extra.clone()));
        }
        let event = (meaning.pattern.source, kind);
        filters.extend(modifiers(reader, draft, subject, event, &told, found));
        filters.dedup();
        match groups.iter_mut().find(|(_, known)| *known == filters) {
            Some((events, _)) => {
                if !events.contains(&meaning.pattern) {
                    events.push(meaning.pattern);
                }
            }
            None => groups.push((vec![meaning.pattern], filters)),
        }
    }
    for note in &subject.notes {
        found.note(note);
    }
    for (events, filters) in groups {
        let marks = filters.iter().map(|index| found.filters[*index].mark);
        let mark = marks.fold(subject.mark, Mark::weaker);
        for filters in either_text(found, &filters) {
            found.clauses.push(Clause {
                events: events.clone(),
                filters,
                span,
                mark,
            });
        }
    }
}

/// Whether one of the events can hold a fact.
fn tells(events: &[EventPattern], field: Field) -> bool {
    events.iter().any(|event| {
        vocabulary::kind(event.source, event.kind).is_some_and(|kind| kind.can_hold(field))
    })
}

/// Text in the title or the body makes two alternatives, one for each field.
fn either_text(found: &mut ClauseSet, filters: &[usize]) -> Vec<Vec<usize>> {
    let both = |filter: &Filter| {
        filter.test.field() == Field::Title
            && filter.test.op() == Op::Contains
            && filter.mark == Mark::Inferred
    };
    let Some(at) = filters
        .iter()
        .position(|index| both(&found.filters[*index]))
    else {
        return vec![filters.to_vec()];
    };
    let title = found.filters[filters[at]].clone();
    let body = Filter {
        test: Test::new(Field::Body, Op::Contains, title.test.values().to_vec()),
        ..title
    };
    let body = found.filter(body);
    let mut other = filters.to_vec();
    other[at] = body;
    vec![filters.to_vec(), other]
}

/// The filters of a clause's modifiers for one kind of event.
fn modifiers(
    reader: &mut Reader<'_>,
    draft: &Draft,
    subject: &Subject,
    (source, kind): (Source, &str),
    told: &dyn Fn(Field) -> bool,
    found: &mut ClauseSet,
) -> Vec<usize> {
    let mut filters = Vec::new();
    for hit in &draft.mods {
        if hit.n_verbs > 0 && happening::is_left_over(draft, hit.n_verbs - 1) {
            reader.release(hit.range.clone());
            continue;
        }
        if !subject.is_narrowed_by(draft, hit) {
            continue;
        }
        let tests = filters::tests(draft, subject, source, kind, hit);
        // A filter on a field that none of the events can hold would never pass: a maintainer who dismisses an
        // alert, the labels of a checked pull request. The words have to be confirmed instead.
        match tests.filter(|tests| tests.iter().all(|(test, _)| told(test.field()))) {
            Some(tests) => {
                let span = reader.span(&hit.range);
                for (test, mark) in tests {
                    filters.push(found.filter(Filter { test, span, mark }));
                }
            }
            None => reader.release(hit.range.clone()),
        }
    }
    filters
}
