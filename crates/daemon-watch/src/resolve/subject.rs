//! The subject of a clause: a noun and a verb, with the filters that other words imply.

use super::notes::{narrow_sources, note_defaults};
use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::Unresolved;
use super::compose::{compose, on_parents};
use super::happening::{Happening, happenings};
use super::nouns::split_nouns;
use super::parts::of_part;
use crate::filter::{Filter, Mark, Op, Test};
use crate::grammar::draft::{Draft, Mod, ModHit, VerbHit};
use crate::grammar::reader::Reader;
use crate::lexicon::Part;
use crate::span::Span;

/// One noun with one verb and their filters.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) noun: Noun,
    pub(super) verb: Verb,
    /// The nouns that contain the noun: the pull request of a comment.
    pub(super) parents: Vec<Noun>,
    pub(super) sources: Vec<Source>,
    pub(super) extra: Vec<Filter>,
    pub(super) notes: Vec<String>,
    pub(super) span: Span,
    pub(super) mark: Mark,
    /// The index of the verb in the draft.
    pub(super) verb_index: Option<usize>,
    /// A kind of event that the words exclude.
    pub(super) without: Option<&'static str>,
}

impl Subject {
    pub(super) fn plain(noun: Noun, verb: Verb, span: Span) -> Self {
        Self {
            noun,
            verb,
            parents: Vec::new(),
            sources: Source::ALL.to_vec(),
            extra: Vec::new(),
            notes: Vec::new(),
            span,
            mark: Mark::Exact,
            verb_index: None,
            without: None,
        }
    }

    /// Whether a modifier follows another verb of the same clause and narrows only that one.
    pub(super) fn is_of_another_verb(&self, draft: &Draft, hit: &ModHit) -> bool {
        let Some(own) = self.verb_index else {
            return false;
        };
        // A modifier after the last verb applies to all verbs before it: `opened, edited or closed by a human`.
        hit.n_verbs > 0 && hit.n_verbs <= own && hit.n_verbs < draft.verbs.len()
    }

    /// Whether a modifier becomes a filter of this subject; targets are values of the verb instead.
    pub(super) fn is_narrowed_by(&self, draft: &Draft, hit: &ModHit) -> bool {
        hit.of.is_none_or(|nouns| nouns.contains(&self.noun))
            && !self.is_of_another_verb(draft, hit)
            && !matches!(hit.kind, Mod::Target(_))
    }

    pub(super) fn require(&mut self, field: Field, op: Op, values: &[String], span: Span) {
        self.extra.push(Filter {
            test: Test::new(field, op, values.to_vec()),
            span,
            mark: Mark::Exact,
        });
    }
}

pub(super) fn subjects(reader: &mut Reader<'_>, draft: &Draft) -> Result<Vec<Subject>, Unresolved> {
    let (primary, parents) = split_nouns(reader, draft);
    let happenings = happenings(reader, draft, &primary);
    if happenings.is_empty() {
        return Err(Unresolved::NoEvent);
    }
    let mut subjects = Vec::new();
    let mut unread = Vec::new();
    for happening in &happenings {
        let before = subjects.len();
        let owners: Vec<Noun> = primary.iter().chain(&parents).copied().collect();
        for part in &draft.parts {
            let of_it = of_part(reader, draft, part, &owners, happening);
            // `is lowered`: no payload contains the direction of a change.
            let goes_one_way = matches!(part.part, Part::Priority | Part::Estimate)
                && happening.index.is_some_and(|index| {
                    let hit = &draft.verbs[index];
                    let text = reader.unit(hit.at).map_or("", |unit| unit.text.as_str());
                    hit.values.is_empty() && part.values.is_empty() && is_one_way(text)
                });
            // A new value, for which the facts of the event have no field.
            let names_another = part.part == Part::Label && !part.values.is_empty();
            let has_unread_value = (names_another
                || matches!(
                    part.part,
                    Part::Cycle
                        | Part::Estimate
                        | Part::DueDate
                        | Part::Team
                        | Part::TargetDate
                        | Part::StartDate
                        | Part::Lead
                        | Part::Parent
                        | Part::Members
                        | Part::Title
                        | Part::Body
                ))
                && happening
                    .index
                    .is_some_and(|index| !draft.verbs[index].values.is_empty());
            if (goes_one_way || has_unread_value) && !of_it.is_empty() {
                unread.extend(
                    happening
                        .index
                        .map(|index| draft.verbs[index].range.clone()),
                );
            }
            subjects.extend(of_it);
        }
        // These parts may only describe the noun, so a clause without a changed part is about the noun.
        let parts_are_asides = draft.parts.iter().all(|part| {
            matches!(
                part.part,
                Part::Team
                    | Part::Reviewer
                    | Part::Category
                    | Part::Environment
                    | Part::Approval
                    | Part::MergeQueue
                    | Part::Conclusion
            )
        });
        if subjects.len() == before && parts_are_asides {
            for noun in &primary {
                subjects.extend(of_noun(reader, draft, *noun, &parents, happening));
            }
            if subjects.len() > before {
                draft
                    .parts
                    .iter()
                    .for_each(|part| reader.release(part.range.clone()));
            }
        }
        if subjects.len() == before
            && let Some(index) = happening.index
        {
            reader.release(draft.verbs[index].range.clone());
            // `is added to x or removed from the merge queue`: an unread verb takes the words up to the next one with it.
            if let Some(next) = draft.verbs.get(index + 1) {
                reader.release(draft.verbs[index].range.end..next.range.start);
            }
        }
    }
    unread.into_iter().for_each(|range| reader.release(range));
    if subjects.is_empty() {
        let verbs_only_change = happenings.iter().all(|happening| {
            happening
                .verbs
                .iter()
                .any(|verb| matches!(verb, Verb::Change | Verb::Update))
        });
        // `the repository changes` names no event: everything in it changes it.
        let is_everything = primary
            .iter()
            .all(|noun| matches!(noun, Noun::Commit | Noun::Repository | Noun::File));
        return Err(if verbs_only_change && is_everything {
            Unresolved::NoEvent
        } else {
            Unresolved::Unknown
        });
    }
    for subject in &mut subjects {
        narrow_sources(reader, draft, subject);
        note_defaults(reader, draft, subject);
    }
    subjects.retain(|subject| !subject.sources.is_empty());
    if subjects.is_empty() {
        Err(Unresolved::Unknown)
    } else {
        Ok(subjects)
    }
}

/// Whether a verb has a direction: up or down.
fn is_one_way(text: &str) -> bool {
    ["rais", "lower", "bump", "increas", "decreas", "escalat"]
        .iter()
        .any(|stem| text.starts_with(stem))
}

/// Returns the subjects of a noun for a verb.
fn of_noun(
    reader: &Reader<'_>,
    draft: &Draft,
    noun: Noun,
    parents: &[Noun],
    happening: &Happening,
) -> Vec<Subject> {
    let hit = happening.index.map(|index| &draft.verbs[index]);
    let (noun, verbs, parents) = compose(draft, noun, parents, happening);
    let mut verbs = verbs;
    // `moved to Done`: with a value, a verb that also means an edit is a change of state.
    let has_state = hit.is_some_and(|hit| !hit.values.is_empty())
        && matches!(noun, Noun::Issue | Noun::Project);
    if has_state && verbs.contains(&Verb::Move) {
        verbs.retain(|verb| *verb == Verb::Move);
    }
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    // `changes docs/` is about files; without paths the same verb means an edit.
    if has_files
        && verbs.contains(&Verb::Touch)
        && matches!(noun, Noun::PullRequest | Noun::File)
        && !verbs.contains(&Verb::Create)
    {
        verbs.retain(|verb| *verb == Verb::Touch);
    }
    if let Some(subject) = raised(&verbs, noun, happening, hit) {
        return vec![subject];
    }
    // Tickets move between states, so a move without a state is another event.
    let moves_itself = has_row(noun, Verb::Move)
        && !matches!(noun, Noun::Issue | Noun::Project | Noun::Initiative);
    if verbs.contains(&Verb::Move) && !has_state && !moves_itself {
        verbs.retain(|verb| *verb != Verb::Move);
        if verbs.is_empty() {
            verbs = special_move(noun, draft);
        }
    }
    // With a source named, the verb is one for which that source has a row; else any row will do.
    let sources: Vec<Source> = draft.sources.iter().map(|(source, _)| *source).collect();
    let named = verbs.iter().copied().find(|verb| {
        vocabulary::rows(noun)
            .iter()
            .any(|(kind, row)| sources.contains(&kind.source) && row.verbs.contains(verb))
    });
    let verb = named.or_else(|| verbs.iter().copied().find(|verb| has_row(noun, *verb)));
    let Some(verb) = verb else { return Vec::new() };
    let mut subject = Subject {
        verb_index: happening.index,
        mark: happening.mark,
        parents,
        ..Subject::plain(noun, verb, happening.span)
    };
    on_parents(draft, &mut subject);
    let answers = happening.verbs.contains(&Verb::Reply)
        && parents_hold(draft, Noun::Comment)
        && noun == Noun::Comment;
    let in_thread = noun == Noun::Mention && parents_hold(draft, Noun::Reply);
    if answers || in_thread {
        subject.require(Field::Reply, Op::Is, &["true".to_owned()], happening.span);
        subject
            .sources
            .retain(|source| !in_thread || *source == Source::Slack);
    }
    if happening.verbs.contains(&Verb::Move) && verb == Verb::Transfer {
        let to_repository = draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Repository));
        // GitHub transfers issues between repositories, Linear between teams.
        let place = if to_repository {
            Source::Github
        } else {
            Source::Linear
        };
        subject.sources.retain(|source| *source == place);
    }
    verb_extras(reader, draft, &mut subject, hit);
    let enters_triage = verb == Verb::Move
        && hit.is_some_and(|hit| {
            hit.values
                .iter()
                .any(|value| value.eq_ignore_ascii_case("triage"))
        });
    if !enters_triage {
        return vec![subject];
    }
    // Issues are created in triage, so `enters Triage` includes the creation there.
    let mut created = Subject {
        verb: Verb::Create,
        ..subject.clone()
    };
    created.sources.retain(|source| *source == Source::Linear);
    vec![subject, created]
}

fn names_team(draft: &Draft) -> bool {
    draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Is(Field::Team, _)) && hit.n_verbs > 0)
}

fn parents_hold(draft: &Draft, noun: Noun) -> bool {
    draft.nouns.iter().any(|hit| hit.nouns.contains(&noun))
}

/// `raised to urgent`: an issue that moves to a priority, where others move to a state.
fn raised(
    verbs: &[Verb],
    noun: Noun,
    happening: &Happening,
    hit: Option<&VerbHit>,
) -> Option<Subject> {
    let is_priority = |value: &String| {
        matches!(
            value.to_lowercase().as_str(),
            "urgent" | "high" | "medium" | "low" | "no priority"
        )
    };
    let hit = hit.filter(|hit| !hit.values.is_empty() && hit.values.iter().all(is_priority))?;
    if noun != Noun::Issue || !verbs.contains(&Verb::Move) {
        return None;
    }
    let mut subject = Subject {
        verb_index: happening.index,
        mark: happening.mark,
        ..Subject::plain(noun, Verb::Update, happening.span)
    };
    let op = if hit.negated_values {
        Op::IsNot
    } else {
        Op::Is
    };
    subject.sources.retain(|source| *source == Source::Linear);
    let span = subject.span;
    subject.require(Field::Changed, Op::Is, &["priority".to_owned()], span);
    subject.require(Field::Priority, op, &hit.values, span);
    Some(subject)
}

fn special_move(noun: Noun, draft: &Draft) -> Vec<Verb> {
    let to = |wanted: Noun| draft.nouns.iter().any(|hit| hit.nouns.contains(&wanted));
    let is_check = matches!(
        noun,
        Noun::Check
            | Noun::CheckRun
            | Noun::CheckSuite
            | Noun::Status
            | Noun::Workflow
            | Noun::Job
            | Noun::Ci
            | Noun::DeploymentStatus
    );
    if noun == Noun::Issue && (to(Noun::Cycle) || to(Noun::Project)) {
        vec![Verb::Update]
    } else if is_check
        && draft
            .mods
            .iter()
            .any(|hit| !hit.negated && matches!(hit.kind, Mod::Value(..) | Mod::Conclusion(_)))
    {
        // `turns to failure`
        vec![Verb::Complete]
    } else if noun == Noun::Issue
        && draft
            .sources
            .iter()
            .any(|(source, _)| *source == Source::Linear)
        && !to(Noun::Repository)
        && !names_team(draft)
    {
        // `out of Todo`, or to an unknown state: the move itself is the event.
        vec![Verb::Move]
    } else if noun == Noun::Issue && (to(Noun::Repository) || names_team(draft)) {
        vec![Verb::Transfer]
    } else {
        Vec::new()
    }
}

pub(crate) fn has_row(noun: Noun, verb: Verb) -> bool {
    vocabulary::rows(noun)
        .iter()
        .any(|(_, row)| row.verbs.contains(&verb))
}

/// Adds the filters for the values of a verb: the label, the state, the user.
pub(super) fn verb_extras(
    reader: &Reader<'_>,
    draft: &Draft,
    subject: &mut Subject,
    hit: Option<&VerbHit>,
) {
    let span = hit.map_or(subject.span, |hit| reader.span(&hit.range));
    let targets: Vec<String> = draft
        .mods
        .iter()
        .filter_map(|hit| match &hit.kind {
            Mod::Target(names) => Some(names.clone()),
            _ => None,
        })
        .flatten()
        .collect();
    let values = hit.map(|hit| hit.values.clone()).unwrap_or_default();
    let op = if hit.is_some_and(|hit| hit.negated_values) {
        Op::IsNot
    } else {
        Op::Is
    };
    match subject.verb {
        Verb::Label if !values.is_empty() => subject.require(Field::LabelAdded, op, &values, span),
        Verb::Unlabel if !values.is_empty() => {
            subject.require(Field::LabelRemoved, op, &values, span);
        }
        Verb::Move if !values.is_empty() => {
            subject.require(Field::State, op, &values, span);
        }
        Verb::Assign | Verb::Unassign | Verb::Reassign => {
            // `assigned to kit` has the name after the verb, `kit is assigned` before it.
            let names = if values.is_empty() { targets } else { values };
            if !names.is_empty() {
                subject.require(Field::Assignee, op, &names, span);
            }
        }
        Verb::RequestReview => {
            let names = if values.is_empty() { targets } else { values };
            // A name with a slash is a team of an organization; payloads contain the name of the team alone.
            if names.iter().any(|name| name.contains('/')) {
                let teams: Vec<String> = names
                    .iter()
                    .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned())
                    .collect();
                subject.require(Field::ReviewerTeam, Op::Is, &teams, span);
            } else if !names.is_empty() {
                subject.require(Field::Reviewer, Op::Is, &names, span);
            }
        }
        _ => {}
    }
}

/// The note about removed labels of Linear, whose payload has an id and no name.
pub(crate) const LABEL_BY_ID: &str =
    "Linear reports a removed label by its id: without its name the condition does not wake";
