//! What is said in English of the nouns of the vocabulary.

use daemon_event::Source;
use daemon_event::vocabulary::{ActionRow, Noun, Verb};

use crate::reader::{Forms, verb_forms};

/// Says a row in whole conditions, in several ways; the words of a later way are less usual.
pub(super) fn ways(source: Source, row: &ActionRow) -> impl Iterator<Item = Vec<String>> {
    let said: Vec<String> = row
        .verbs
        .iter()
        .flat_map(|verb| said(row.noun, *verb))
        .map(|said| match said.starts_with("on ") {
            true => said,
            false => format!("when {said}"),
        })
        .collect();
    names(source, row.noun).map(move |name| {
        said.iter()
            .map(|said| said.replace("{n}", &name).replace("{s}", service(source)))
            .collect()
    })
}

/// Returns the name of a service.
fn service(source: Source) -> &'static str {
    match source {
        Source::Github => "GitHub",
        Source::Linear => "Linear",
        Source::Slack => "Slack",
        Source::Sentry => "Sentry",
        Source::Git => "git",
        Source::Cloudevents => "CloudEvents",
    }
}

/// Returns the names of a noun, each with its article and with its source where others have the same noun.
fn names(source: Source, noun: Noun) -> impl Iterator<Item = String> {
    let is_of_git = matches!(source, Source::Github | Source::Git);
    let of = match noun {
        Noun::Issue | Noun::Comment if source == Source::Github => "GitHub ".to_owned(),
        _ if is_of_git => String::new(),
        _ => format!("{} ", service(source)),
    };
    let proper = match noun {
        Noun::Ci => Some("CI".to_owned()),
        Noun::Repository => Some("the repository".to_owned()),
        Noun::Wiki => Some("the wiki".to_owned()),
        Noun::Workspace => Some(format!("the {of}workspace")),
        Noun::DependabotAlert => Some("a Dependabot alert".to_owned()),
        Noun::Sla => Some(format!("a {of}SLA")),
        _ => None,
    };
    let names = noun.phrases().iter().map(move |name| {
        let name = name.strip_prefix(&of.to_lowercase()).unwrap_or(name);
        let name = format!("{of}{name}");
        let article = if name.starts_with(['a', 'e', 'i', 'o']) {
            "an"
        } else {
            "a"
        };
        format!("{article} {name}")
    });
    proper.into_iter().chain(names)
}

/// Returns the phrases for a verb of a noun (`{n}`); empty if no author would write one.
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
        &["the app is mentioned in {s}"],
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
    (Verb::Move, &["the state of {n} changes"]),
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
    (Verb::BecomeStable, &["{n} becomes stable"]),
];
