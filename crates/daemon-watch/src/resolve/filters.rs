//! The comparisons of a modifier, for a noun, a verb and a kind of event.

use daemon_event::vocabulary::{self, Noun, Verb};
use daemon_event::{Field, Source};

use super::subject::Subject;
use crate::filter::{Mark, Op, Test};
use crate::grammar::draft::{Draft, Mod, ModHit, TextPlace, UserRole, Who};
use crate::lexicon::Part;

type Tests = Vec<(Test, Mark)>;

/// Returns the comparisons, or `None` if the event has no field to compare: the words are then left over.
pub(super) fn tests(
    draft: &Draft,
    subject: &Subject,
    source: Source,
    kind: &str,
    hit: &ModHit,
) -> Option<Tests> {
    let is = if hit.negated { Op::IsNot } else { Op::Is };
    let one = |field: Field, op: Op, values: Vec<String>| {
        Some(vec![(Test::new(field, op, values), hit.mark)])
    };
    match &hit.kind {
        Mod::Is(Field::Draft, values)
            if subject.verb == Verb::ReadyForReview || subject.verb == Verb::ConvertToDraft =>
        {
            let _ = values;
            Some(Vec::new())
        }
        Mod::Is(field, values) => {
            // A negated flag becomes the other flag, because an exclusion would pass where the flag is unknown.
            if hit.negated && field.shape() == daemon_event::FieldShape::Flag {
                let turned = values
                    .iter()
                    .map(|value| if value == "true" { "false" } else { "true" }.to_owned());
                return one(*field, Op::Is, turned.collect());
            }
            one(*field, is, values.clone())
        }
        Mod::Test(field, op, values) => one(
            *field,
            if hit.negated { negate(*op)? } else { *op },
            values.clone(),
        ),
        Mod::Branch(values) => branch(draft, subject, kind, hit, values),
        Mod::DefaultBranch if is_of_checked_pull(draft, subject, hit) => None,
        Mod::DefaultBranch => {
            let value = if hit.negated { "false" } else { "true" };
            one(Field::OnDefaultBranch, Op::Is, vec![value.to_owned()])
        }
        Mod::Person(who, role) => person(draft, subject, hit, who, *role),
        Mod::Files(op, values) => {
            let field = match subject.verb {
                Verb::Create | Verb::Add if subject.noun == Noun::File => Field::AddedFiles,
                Verb::Delete | Verb::Remove if subject.noun == Noun::File => Field::RemovedFiles,
                _ => Field::ChangedFiles,
            };
            one(field, *op, values.clone())
        }
        Mod::Text(place, values) => text(subject, hit, *place, values),
        Mod::Name(noun, values) => {
            // `the lint check or the ci/build status`: each name is of its own noun.
            let own = draft.nouns.iter().find(|noun| noun.at == hit.range.end);
            let of_other = own.is_some_and(|own| !own.nouns.contains(&subject.noun));
            if of_other
                && draft.nouns.len() > 1
                && matches!(subject.noun, Noun::Check | Noun::CheckRun | Noun::Status)
            {
                return Some(Vec::new());
            }
            // `the "CI" workflow or the "Docs" workflow`: either name will do.
            let mut named = draft.mods.iter().filter(|other| {
                !other.negated && matches!(&other.kind, Mod::Name(of, _) if of == noun)
            });
            let is_first = named
                .clone()
                .next()
                .is_some_and(|first| first.range == hit.range);
            if hit.negated
                || named.clone().count() < 2
                || subject.noun == Noun::Status
                || subject.noun == Noun::Check
            {
                return name(kind, hit, *noun, values);
            }
            if !is_first {
                return Some(Vec::new());
            }
            let all = named.by_ref().flat_map(|other| match &other.kind {
                Mod::Name(_, values) => values.clone(),
                _ => Vec::new(),
            });
            name(kind, hit, *noun, &all.collect::<Vec<_>>())
        }
        Mod::Conclusion(values) => {
            // The list is more specific than the word before it: `a non-successful result, including failure and error`.
            let is_spelt_out = draft
                .mods
                .iter()
                .any(|hit| !hit.negated && spells_conclusions(hit));
            if is_spelt_out {
                Some(Vec::new())
            } else {
                one(Field::Conclusion, is, values.clone())
            }
        }
        Mod::State(state) => {
            if matches!(subject.verb, Verb::Close | Verb::Merge | Verb::Reopen) {
                return Some(Vec::new());
            }
            one(Field::State, is, vec![state.clone()])
        }
        Mod::Label(values) => one(Field::Labels, is, values.clone()),
        // The place of a comment has chosen its kind already; no other noun has such a place.
        Mod::TopLevel => {
            let is_placed = matches!(subject.noun, Noun::Comment | Noun::Message)
                || matches!(subject.verb, Verb::Lock | Verb::Unlock);
            is_placed.then(Vec::new)
        }
        Mod::Inline => (subject.noun == Noun::ReviewComment).then(Vec::new),
        Mod::Value(part, values) => value(source, kind, hit, *part, values),
        Mod::Target(_) => Some(Vec::new()),
        Mod::Team(values) => {
            let names = values
                .iter()
                .map(|name| name.rsplit('/').next().unwrap_or(name).to_owned());
            one(Field::ReviewerTeam, is, names.collect())
        }
    }
}

/// The name of a check, a job or a workflow, by the noun before or after it.
fn name(kind: &str, hit: &ModHit, noun: Noun, values: &[String]) -> Option<Tests> {
    let op = if hit.negated { Op::IsNot } else { Op::Is };
    let field = match (kind, noun) {
        ("workflow_run" | "deployment_review", _) | ("workflow_job", Noun::Workflow) => {
            Field::Workflow
        }
        // The payload of a dispatch contains the file of the workflow, not its name.
        ("workflow_dispatch", _) => {
            let is_file = |value: &String| value.ends_with(".yml") || value.ends_with(".yaml");
            if !values.iter().all(is_file) {
                return None;
            }
            let op = if hit.negated {
                Op::MatchesNot
            } else {
                Op::Matches
            };
            let globs = values.iter().map(|value| format!("**/{value}")).collect();
            return Some(vec![(Test::new(Field::Workflow, op, globs), hit.mark)]);
        }
        ("check_suite", _) => Field::Name,
        _ => Field::Check,
    };
    Some(vec![(Test::new(field, op, values.to_vec()), hit.mark)])
}

fn negate(op: Op) -> Option<Op> {
    match op {
        Op::Is => Some(Op::IsNot),
        Op::IsNot => Some(Op::Is),
        Op::Matches => Some(Op::MatchesNot),
        Op::MatchesNot => Some(Op::Matches),
        Op::Contains => Some(Op::Lacks),
        Op::Lacks => Some(Op::Contains),
        Op::Begins => Some(Op::BeginsNot),
        Op::BeginsNot => Some(Op::Begins),
        Op::Any => Some(Op::None),
        Op::None => Some(Op::Any),
        Op::Present => Some(Op::Absent),
        Op::Absent => Some(Op::Present),
        Op::Command => Some(Op::CommandNot),
        Op::CommandNot => Some(Op::Command),
        Op::Only => None,
    }
}

/// Whether words after the pull request of a check are about its target branch.
fn is_of_checked_pull(draft: &Draft, subject: &Subject, hit: &ModHit) -> bool {
    let before = draft
        .nouns
        .iter()
        .rev()
        .find(|noun| noun.at < hit.range.start);
    crate::grammar::verbs::is_run(subject.noun)
        && subject.parents.contains(&Noun::PullRequest)
        && before.is_some_and(|noun| noun.nouns.contains(&Noun::PullRequest))
}

fn branch(
    draft: &Draft,
    subject: &Subject,
    kind: &str,
    hit: &ModHit,
    values: &[String],
) -> Option<Tests> {
    let targets = subject.noun == Noun::PullRequest
        || subject.parents.contains(&Noun::PullRequest)
        || kind.starts_with("pull_request");
    let field = match (subject.noun, kind) {
        _ if is_of_checked_pull(draft, subject, hit) => Field::Base,
        (
            _,
            "check_run" | "check_suite" | "status" | "workflow_run" | "workflow_job" | "deployment"
            | "deployment_status",
        ) => Field::Branch,
        (Noun::Tag, _) => Field::Tag,
        _ if targets => Field::Base,
        _ => Field::Branch,
    };
    let is_glob = values.iter().any(|value| value.contains(['*', '?', '{']));
    let op = match (is_glob, hit.negated) {
        (true, false) => Op::Matches,
        (true, true) => Op::MatchesNot,
        (false, false) => Op::Is,
        (false, true) => Op::IsNot,
    };
    Some(vec![(Test::new(field, op, values.to_vec()), hit.mark)])
}

const INSIDERS: &[&str] = &["OWNER", "MEMBER", "COLLABORATOR"];

fn person(
    draft: &Draft,
    subject: &Subject,
    hit: &ModHit,
    who: &Who,
    role: UserRole,
) -> Option<Tests> {
    let (name, kind, association) = person_fields(draft, subject, hit, role);
    let owned = |values: &[&str]| -> Vec<String> {
        values.iter().map(|value| (*value).to_owned()).collect()
    };
    let (field, mut op, values) = match who {
        Who::Anyone => return Some(Vec::new()),
        Who::AllOf(all) => {
            let each = all.iter().map(|who| person(draft, subject, hit, who, role));
            let tests: Option<Vec<Tests>> = each.collect();
            return Some(tests?.concat());
        }
        Who::Not(inner) => {
            let turned = person(draft, subject, hit, inner, role)?;
            let negated = turned.into_iter().map(|(test, mark)| {
                let op = negate(test.op())?;
                Some((Test::new(test.field(), op, test.values().to_vec()), mark))
            });
            return negated.collect();
        }
        Who::Human => (kind, Op::Is, owned(&["human"])),
        Who::Bot => (kind, Op::Is, owned(&["bot"])),
        Who::Maintainer | Who::Outsider | Who::FirstTimer
            if matches!(subject.noun, Noun::Channel | Noun::Workspace) =>
        {
            // `a member joins`: of the channel. Slack reports no association with a repository.
            let is_member =
                *who == Who::Maintainer && matches!(subject.verb, Verb::Join | Verb::Leave);
            return is_member.then(Vec::new);
        }
        Who::Maintainer => (association?, Op::Is, owned(INSIDERS)),
        Who::Outsider => (association?, Op::IsNot, owned(INSIDERS)),
        Who::FirstTimer => (
            association?,
            Op::Is,
            owned(&["FIRST_TIME_CONTRIBUTOR", "FIRST_TIMER"]),
        ),
        Who::Named(names) => (name, Op::Is, names.clone()),
    };
    if hit.negated {
        op = negate(op)?;
    }
    Some(vec![(Test::new(field, op, values), hit.mark)])
}

/// The fields of the person that the words mean: name, kind, and association where the payload has one.
fn person_fields(
    draft: &Draft,
    subject: &Subject,
    hit: &ModHit,
    role: UserRole,
) -> (Field, Field, Option<Field>) {
    let of_parent = role == UserRole::Author && !subject.parents.is_empty() && {
        let behind = draft.nouns.iter().find(|noun| noun.at == hit.range.end);
        let before = draft
            .nouns
            .iter()
            .rev()
            .find(|noun| noun.at < hit.range.start);
        behind
            .or(before)
            .is_some_and(|noun| noun.nouns.iter().any(|noun| subject.parents.contains(noun)))
    };
    if of_parent {
        return (
            Field::ParentAuthor,
            Field::ParentAuthorKind,
            Some(Field::ParentAuthorAssociation),
        );
    }
    let writes = matches!(
        subject.verb,
        Verb::Create
            | Verb::Add
            | Verb::Post
            | Verb::Review
            | Verb::Approve
            | Verb::RequestChanges
            | Verb::Reply
    ) && matches!(
        subject.noun,
        Noun::PullRequest
            | Noun::Issue
            | Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Discussion
            | Noun::Review
            | Noun::Message
            | Noun::Reply
            | Noun::DirectMessage
            | Noun::Mention
    );
    let has_author = !matches!(
        subject.noun,
        Noun::Commit | Noun::Branch | Noun::File | Noun::Tag
    );
    if writes || (role == UserRole::Author && has_author) {
        return (
            Field::Author,
            Field::AuthorKind,
            Some(Field::AuthorAssociation),
        );
    }
    if subject.noun == Noun::CodeScanningAlert && subject.verb == Verb::Create {
        // The tool that scanned raises the alert, so `by CodeQL` is a name and not an actor.
        return (Field::Name, Field::ActorKind, None);
    }
    (Field::Actor, Field::ActorKind, None)
}

fn text(
    subject: &Subject,
    hit: &ModHit,
    place: Option<TextPlace>,
    values: &[String],
) -> Option<Tests> {
    let op = if hit.negated { Op::Lacks } else { Op::Contains };
    let one = |field: Field, mark: Mark| Some(vec![(Test::new(field, op, values.to_vec()), mark)]);
    let speaks = matches!(
        subject.noun,
        Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Message
            | Noun::Reply
            | Noun::DirectMessage
            | Noun::Mention
            | Noun::Review
    );
    match place {
        Some(TextPlace::Title) => one(Field::Title, hit.mark),
        Some(TextPlace::Body) if speaks => one(Field::Comment, hit.mark),
        Some(TextPlace::Body) => one(Field::Body, hit.mark),
        Some(TextPlace::Message)
            if subject.noun == Noun::Commit || subject.noun == Noun::Branch =>
        {
            one(Field::Message, hit.mark)
        }
        Some(TextPlace::Message | TextPlace::Comment) if speaks => one(Field::Comment, hit.mark),
        Some(TextPlace::Message) => one(Field::Message, hit.mark),
        Some(TextPlace::Comment) => one(Field::Body, hit.mark),
        None if speaks => one(Field::Comment, hit.mark),
        None if subject.noun == Noun::Commit => one(Field::Message, hit.mark),
        Some(TextPlace::TitleOrBody) | None => {
            if op == Op::Lacks {
                let tests = [Field::Title, Field::Body];
                return Some(
                    tests
                        .into_iter()
                        .map(|field| (Test::new(field, op, values.to_vec()), hit.mark))
                        .collect(),
                );
            }
            one(Field::Title, Mark::Inferred)
        }
    }
}

fn value(
    source: Source,
    kind: &str,
    hit: &ModHit,
    part: Option<Part>,
    values: &[String],
) -> Option<Tests> {
    let op = if hit.negated { Op::IsNot } else { Op::Is };
    let names_failure = hit.negated && part.is_none();
    let part = part
        .or(names_failure.then_some(Part::Conclusion))
        .filter(|_| !names_failure || values.iter().all(|value| normal(value) == "failure"));
    let (field, folded) = value_field(source, kind, part, values)?;
    Some(vec![(Test::new(field, op, folded), hit.mark)])
}

/// Returns the field for values in events of a kind, and the values in the spelling of the service.
pub(crate) fn value_field(
    source: Source,
    kind: &str,
    part: Option<Part>,
    values: &[String],
) -> Option<(Field, Vec<String>)> {
    let mut folded: Vec<String> = values.iter().map(|value| normal(value)).collect();
    let told =
        |field: &&Field| vocabulary::kind(source, kind).is_some_and(|kind| kind.can_hold(**field));
    let fields = value_fields(part, &folded);
    // If another event of the clause has the field, this one fails: the guard applies to all events.
    let field = *fields.iter().find(told).or(fields.first())?;
    if field == Field::Conclusion && part.is_none() && folded == ["failure"] {
        let other = match kind {
            "status" | "deployment_status" => "error",
            _ => "timed_out",
        };
        folded.push(other.to_owned());
    }
    Some((field, folded))
}

/// The fields that can hold a value, the most likely first.
fn value_fields(part: Option<Part>, values: &[String]) -> &'static [Field] {
    let all = |names: &[&str]| values.iter().all(|value| names.contains(&value.as_str()));
    match part {
        Some(Part::Priority) => &[Field::Priority, Field::Severity],
        Some(Part::Severity) => &[Field::Severity, Field::Level, Field::Priority],
        Some(Part::Level) => &[Field::Level, Field::Severity, Field::Priority],
        Some(Part::Environment) => &[Field::Environment],
        Some(Part::Health) => &[Field::Health],
        Some(Part::Category) => &[Field::Category],
        Some(Part::Conclusion) => &[Field::Conclusion],
        Some(Part::Status) if all(&["production", "staging", "preview"]) => &[Field::Environment],
        Some(Part::Status) => &[Field::Conclusion, Field::State, Field::Health],
        _ if all(&["production", "staging", "preview"]) => &[Field::Environment],
        _ if all(&["high", "medium", "low", "urgent", "none"]) => &[
            Field::Severity,
            Field::Priority,
            Field::Level,
            Field::Conclusion,
            Field::Health,
        ],
        _ => &[
            Field::Severity,
            Field::Level,
            Field::Conclusion,
            Field::Health,
            Field::Priority,
        ],
    }
}

/// The conclusions of checks, in GitHub's spelling.
const CONCLUSIONS: &[&str] = &[
    "success",
    "failure",
    "error",
    "timed_out",
    "cancelled",
    "action_required",
    "neutral",
    "skipped",
    "stale",
    "startup_failure",
    "pending",
    "queued",
    "inactive",
];

/// Whether a modifier lists conclusions by name.
pub(super) fn spells_conclusions(hit: &ModHit) -> bool {
    let is_one = |value: &String| CONCLUSIONS.contains(&normal(value).as_str());
    matches!(&hit.kind, Mod::Value(None, values) if values.iter().all(is_one))
}

/// The services' spelling of a value.
fn normal(value: &str) -> String {
    let folded = value.to_lowercase();
    match folded.as_str() {
        "prod" => "production".to_owned(),
        "no priority" => "none".to_owned(),
        "timed out" | "time-out" | "timeout" => "timed_out".to_owned(),
        "action required" => "action_required".to_owned(),
        "canceled" | "cancellation" => "cancelled".to_owned(),
        "errored" => "error".to_owned(),
        "moderate" => "medium".to_owned(),
        "warnings" => "warning".to_owned(),
        _ => value.to_owned(),
    }
}
