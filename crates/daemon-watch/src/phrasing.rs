//! The vocabulary as phrases that authors can write, one for each way to name an event.

use daemon_event::vocabulary::{self, Guard, Noun, Portability, Row, Verb};
use daemon_event::{Field, Source};

use crate::filter::{Op, Test};
use crate::interpretation::{EventPattern, Interpretation};
use crate::lexicon::inflect::{Forms, verb_forms};

/// An event of the vocabulary, and phrases that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phrasing {
    /// The source, kind and action.
    pub event: EventPattern,
    /// What else must hold of the event for the phrases to be true.
    pub guards: &'static [Guard],
    /// Whether the phrases say which files have to change.
    pub names_files: bool,
    /// Whole conditions, the usual one first. Each is read as `mapped`, to this event and these guards.
    pub phrases: Vec<String>,
    /// Whether the format itself gives no example of this event.
    pub is_beyond_the_format: bool,
}

/// Returns every event of the vocabulary with its phrases, by source and kind as the vocabulary lists them.
pub fn phrasings() -> Vec<Phrasing> {
    let mut acc: Vec<Phrasing> = Vec::new();
    for kind in vocabulary::kinds() {
        for row in kind.rows {
            let event = EventPattern {
                source: kind.source,
                kind: kind.name,
                action: row.action,
            };
            let names_files = names_files(row);
            let known = acc.iter().position(|known| {
                known.event == event
                    && known.guards == row.guards
                    && known.names_files == names_files
            });
            let at = known.unwrap_or_else(|| {
                acc.push(Phrasing {
                    event,
                    guards: row.guards,
                    names_files,
                    phrases: Vec::new(),
                    is_beyond_the_format: true,
                });
                acc.len() - 1
            });
            let phrasing = &mut acc[at];
            phrasing.is_beyond_the_format &= row.portability != Portability::Common;
            for phrase in phrases(kind.source, row) {
                if !phrasing.phrases.contains(&phrase) {
                    phrasing.phrases.push(phrase);
                }
            }
        }
    }
    acc
}

/// Whether a row speaks of the files that an event changes.
fn names_files(row: &Row) -> bool {
    row.verbs.contains(&Verb::Touch)
}

impl Interpretation {
    /// Returns the events of the clauses that the format itself gives no example of.
    ///
    /// Other runtimes may read the words that name them otherwise, or not at all.
    pub fn beyond_the_format(&self) -> Vec<EventPattern> {
        let mut acc = Vec::new();
        for clause in &self.clauses {
            let tests = clause.filters.iter();
            let tests: Vec<&Test> = tests.map(|index| &self.filters[*index].test).collect();
            for event in &clause.events {
                if !acc.contains(event) && !is_of_the_format(event, &tests) {
                    acc.push(*event);
                }
            }
        }
        acc
    }
}

/// Whether a row of the format is the narrowest that an event's filters hold for.
fn is_of_the_format(event: &EventPattern, tests: &[&Test]) -> bool {
    let speaks_of_files = tests.iter().any(|test| FILES.contains(&test.field()));
    let kind = vocabulary::kind(event.source, event.kind);
    let rows = kind.into_iter().flat_map(|kind| kind.rows);
    let rows = rows.filter(|row| {
        row.action == event.action
            && (speaks_of_files || !names_files(row))
            && row
                .guards
                .iter()
                .all(|guard| tests.iter().any(|test| says(test, guard)))
    });
    let narrowest = rows.map(|row| {
        let is_common = row.portability == Portability::Common;
        (row.guards.len(), is_common)
    });
    narrowest.max().is_some_and(|(_, is_common)| is_common)
}

const FILES: [Field; 3] = [Field::ChangedFiles, Field::AddedFiles, Field::RemovedFiles];

/// Whether a filter says what a guard says.
fn says(test: &Test, guard: &Guard) -> bool {
    let (field, op, values): (_, _, &[&str]) = match guard {
        Guard::Is(field, values) => (field, Op::Is, values),
        Guard::IsNot(field, values) => (field, Op::IsNot, values),
        Guard::Present(field) => (field, Op::Present, &[]),
        Guard::Absent(field) => (field, Op::Absent, &[]),
    };
    test.field() == *field && test.op() == op && test.values() == values
}

/// Says a row in whole conditions.
fn phrases(source: Source, row: &Row) -> Vec<String> {
    let name = name(source, row.noun);
    let said = row.verbs.iter().flat_map(|verb| said(row.noun, *verb));
    said.map(|said| said.replace("{n}", &name))
        .map(|said| match said.starts_with("on ") {
            true => said,
            false => format!("when {said}"),
        })
        .collect()
}

/// Returns a noun with its article, and with its source where others have the same noun.
fn name(source: Source, noun: Noun) -> String {
    let name = match noun {
        Noun::Ci => return "CI".to_owned(),
        Noun::Repository => return "the repository".to_owned(),
        Noun::Wiki => return "the wiki".to_owned(),
        Noun::Workspace => return "the Slack workspace".to_owned(),
        Noun::DependabotAlert => "Dependabot alert",
        Noun::Sla => "SLA",
        _ => noun.phrases().first().copied().unwrap_or_default(),
    };
    let of = match (source, noun) {
        (Source::Linear, _) => "Linear ",
        (Source::Slack, _) => "Slack ",
        (Source::Sentry, _) => "Sentry ",
        (Source::Github, Noun::Issue | Noun::Comment) => "GitHub ",
        (Source::Github | Source::Git, _) => "",
    };
    let begins_with_vowel = |text: &str| text.starts_with(['a', 'e', 'i', 'o']);
    let article = if begins_with_vowel(&format!("{of}{name}")) {
        "an"
    } else {
        "a"
    };
    format!("{article} {of}{name}")
}

/// Returns what can be said of a noun (`{n}`) to which a verb happens; nothing where nobody would say it.
fn said(noun: Noun, verb: Verb) -> Vec<String> {
    let owned = |said: &[&str]| said.iter().map(|said| (*said).to_owned()).collect();
    let special = SPECIAL
        .iter()
        .find(|(nouns, of, _)| nouns.contains(&noun) && of.contains(&verb));
    if let Some((_, _, said)) = special {
        return owned(said);
    }
    if let Some((_, said)) = GENERAL.iter().find(|(of, _)| *of == verb) {
        return owned(said);
    }
    let infinitive = verb.phrases().first().copied().unwrap_or_default();
    let forms = verb_forms(infinitive);
    let participle = forms.iter().rfind(|(_, forms)| forms.has(Forms::PAST));
    let participle = participle.map_or(infinitive, |(form, _)| form.as_str());
    vec![format!("{{n}} is {participle}")]
}

/// What is said of some nouns only.
const SPECIAL: &[(&[Noun], &[Verb], &[&str])] = &[
    (
        &[Noun::PullRequest, Noun::Issue, Noun::Discussion],
        &[Verb::Create],
        &["{n} is opened", "{n} is created"],
    ),
    (&[Noun::Issue], &[Verb::Add, Verb::Succeed], &[]),
    (
        &[Noun::Issue, Noun::Project, Noun::Cycle, Noun::Milestone],
        &[Verb::Complete],
        &["{n} is completed"],
    ),
    (
        &[Noun::Issue, Noun::Project, Noun::Discussion],
        &[Verb::Start],
        &["{n} is started"],
    ),
    (
        &[Noun::Issue],
        &[Verb::Move],
        &["the state of {n} changes", "{n} is moved to Done"],
    ),
    (
        &[Noun::Project],
        &[Verb::Move],
        &["the state of {n} changes"],
    ),
    (&[Noun::Issue], &[Verb::Breach], &["{n} breaches its SLA"]),
    (&[Noun::Sla], &[Verb::GoWarning], &["{n} reaches warning"]),
    (&[Noun::Fork], &[Verb::Create, Verb::Add], &[]),
    (&[Noun::ProjectItem], &[Verb::Move], &[]),
    (&[Noun::Wiki], &[Verb::Create, Verb::Publish], &[]),
    (&[Noun::Release], &[Verb::Push, Verb::Release], &[]),
    (
        &[Noun::Deployment, Noun::MergeGroup],
        &[Verb::Request, Verb::Publish],
        &[],
    ),
    (&[Noun::MergeGroup], &[Verb::Start], &[]),
    (&[Noun::Discussion, Noun::Reaction], &[Verb::Post], &[]),
    (
        &[
            Noun::CodeScanningAlert,
            Noun::DependabotAlert,
            Noun::SecretAlert,
            Noun::SecurityAlert,
            Noun::Status,
            Noun::DeploymentStatus,
            Noun::Tag,
        ],
        &[Verb::Post, Verb::Add, Verb::Publish],
        &[],
    ),
    (
        &[Noun::Package],
        &[Verb::Push, Verb::Release, Verb::Create],
        &[],
    ),
    (
        &[Noun::Channel],
        &[Verb::Add, Verb::Close, Verb::Reopen],
        &[],
    ),
    (
        &[
            Noun::Check,
            Noun::CheckRun,
            Noun::CheckSuite,
            Noun::Ci,
            Noun::Job,
            Noun::Workflow,
        ],
        &[Verb::Create, Verb::Request, Verb::Update],
        &[],
    ),
    (
        &[
            Noun::Check,
            Noun::CheckRun,
            Noun::CheckSuite,
            Noun::Ci,
            Noun::Status,
        ],
        &[Verb::Succeed],
        &["{n} passes", "{n} succeeds"],
    ),
    (&[Noun::Job], &[Verb::Enqueue], &["{n} is queued"]),
    (
        &[Noun::PullRequest],
        &[Verb::Touch],
        &["a pull request changes files matching docs/**"],
    ),
    (
        &[Noun::File],
        &[Verb::Touch],
        &["files matching docs/**/*.md are changed"],
    ),
    (
        &[Noun::File],
        &[Verb::Create],
        &["files matching docs/** are created"],
    ),
    (
        &[Noun::File],
        &[Verb::Add],
        &["files matching docs/** are added"],
    ),
    (
        &[Noun::File],
        &[Verb::Delete],
        &["files matching docs/** are deleted"],
    ),
    (
        &[Noun::File],
        &[Verb::Remove],
        &["files matching docs/** are removed"],
    ),
    (
        &[Noun::File],
        &[Verb::Push],
        &["files matching docs/** are pushed"],
    ),
    (
        &[Noun::Commit],
        &[Verb::Push],
        &["a commit is pushed", "a commit is pushed to main"],
    ),
    (&[Noun::Commit], &[Verb::Create, Verb::Add], &[]),
    (
        &[Noun::Message],
        &[Verb::Reply],
        &["someone replies to {n}"],
    ),
    (&[Noun::Message], &[Verb::React], &["someone reacts to {n}"]),
    (
        &[Noun::Message],
        &[Verb::Unreact],
        &["a reaction is removed from {n}"],
    ),
    (
        &[Noun::Message],
        &[Verb::Post],
        &["{n} is posted", "{n} is posted in #general"],
    ),
    (
        &[
            Noun::Message,
            Noun::Reply,
            Noun::DirectMessage,
            Noun::Mention,
            Noun::Reaction,
            Noun::Pin,
            Noun::Emoji,
        ],
        &[Verb::Create],
        &[],
    ),
    (
        &[Noun::Message, Noun::DirectMessage, Noun::Mention],
        &[Verb::Add],
        &[],
    ),
    (
        &[Noun::Mention],
        &[Verb::Post],
        &["the app is mentioned in Slack"],
    ),
    (
        &[Noun::Collaborator],
        &[Verb::Join],
        &["someone joins as {n}"],
    ),
    (&[Noun::Collaborator], &[Verb::Leave], &[]),
    (
        &[
            Noun::Alert,
            Noun::IssueAlert,
            Noun::MetricAlert,
            Noun::ErrorEvent,
        ],
        &[Verb::Create, Verb::Add],
        &["{n} is raised"],
    ),
];

/// What is said of any noun.
const GENERAL: &[(Verb, &[&str])] = &[
    (Verb::Create, &["{n} is created"]),
    (Verb::Change, &["{n} changes"]),
    (Verb::Label, &["{n} is labeled", "a label is added to {n}"]),
    (
        Verb::Unlabel,
        &["{n} is unlabeled", "a label is removed from {n}"],
    ),
    (Verb::Relabel, &["the labels of {n} change"]),
    (Verb::Reassign, &["the assignee of {n} changes"]),
    (
        Verb::ReadyForReview,
        &["{n} is marked ready for review", "{n} is ready for review"],
    ),
    (
        Verb::RequestReview,
        &[
            "a review is requested on {n}",
            "a review of {n} is requested",
        ],
    ),
    (
        Verb::UnrequestReview,
        &["on pull_request.review_request_removed"],
    ),
    (
        Verb::Milestone,
        &["{n} is milestoned", "{n} is added to a milestone"],
    ),
    (
        Verb::Demilestone,
        &["{n} is demilestoned", "{n} is removed from a milestone"],
    ),
    (Verb::Enqueue, &["{n} is added to the merge queue"]),
    (Verb::Dequeue, &["{n} is removed from the merge queue"]),
    (Verb::EnableAutoMerge, &["auto-merge is enabled on {n}"]),
    (Verb::DisableAutoMerge, &["auto-merge is disabled on {n}"]),
    (Verb::RequestChanges, &["changes are requested on {n}"]),
    (Verb::Fail, &["{n} fails"]),
    (Verb::Succeed, &["{n} succeeds"]),
    (Verb::Complete, &["{n} completes", "{n} finishes"]),
    (Verb::Start, &["{n} starts"]),
    (Verb::Rerequest, &["{n} is rerequested", "{n} is rerun"]),
    (Verb::Fire, &["{n} fires"]),
    (Verb::GoCritical, &["{n} becomes critical"]),
    (Verb::GoWarning, &["{n} becomes a warning"]),
    (Verb::Regress, &["{n} regresses"]),
    (Verb::Escalate, &["{n} escalates"]),
    (Verb::Prioritize, &["the priority of {n} changes"]),
    (Verb::Estimate, &["the estimate of {n} changes"]),
    (Verb::Join, &["someone joins {n}"]),
    (Verb::Leave, &["someone leaves {n}"]),
    (Verb::Release, &["{n} is released"]),
    (Verb::Answer, &["{n} is answered"]),
];
