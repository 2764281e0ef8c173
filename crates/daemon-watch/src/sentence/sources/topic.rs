//! What sort of thing a noun of the other sources is: it says which words may narrow it.

use daemon_event::Source;
use daemon_event::vocabulary::Noun;

/// A sort of things that the same words narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sentence) enum Topic {
    /// Checks, workflows, jobs and commit statuses.
    Run,
    Deployment,
    /// Alerts of GitHub's scanners.
    Alert,
    /// Issues of Linear.
    Ticket,
    /// What people write in Slack, and what is put on it.
    Talk,
    /// What Sentry tells.
    Trouble,
    /// Comments on what is not on GitHub.
    Remark,
    /// Everything else that comes, goes and changes.
    Other,
}

/// What modifiers are read for.
#[derive(Clone, Copy, Debug)]
pub(in crate::sentence) struct Scope {
    pub(in crate::sentence) noun: Noun,
    pub(in crate::sentence) topic: Topic,
    /// A verb stands before the words.
    pub(in crate::sentence) is_verb: bool,
}

impl Scope {
    pub(in crate::sentence) fn behind_verb(self) -> Self {
        Self {
            is_verb: true,
            ..self
        }
    }

    pub(in crate::sentence) fn runs(self) -> bool {
        matches!(self.topic, Topic::Run | Topic::Deployment)
    }
}

/// The sort of a noun, where a source is named or the noun is of one source alone; none for what the
/// sentences about pull requests and issues read.
pub(in crate::sentence) fn topic(noun: Noun, source: Option<Source>) -> Option<Topic> {
    let elsewhere = match source {
        Some(Source::Linear) => Some(Topic::Ticket),
        Some(Source::Sentry) => Some(Topic::Trouble),
        Some(Source::Github | Source::Slack | Source::Git) | None => None,
    };
    match noun {
        Noun::Issue => elsewhere,
        Noun::Comment => elsewhere.map(|_| Topic::Remark),
        Noun::Check
        | Noun::CheckRun
        | Noun::CheckSuite
        | Noun::Status
        | Noun::Workflow
        | Noun::Job
        | Noun::Ci => Some(Topic::Run),
        Noun::Deployment | Noun::DeploymentStatus | Noun::DeploymentReview => {
            Some(Topic::Deployment)
        }
        Noun::DependabotAlert
        | Noun::SecretAlert
        | Noun::CodeScanningAlert
        | Noun::SecurityAlert
        | Noun::VulnerabilityAlert => Some(Topic::Alert),
        Noun::Message
        | Noun::Reply
        | Noun::DirectMessage
        | Noun::Mention
        | Noun::Reaction
        | Noun::SharedFile
        | Noun::Pin
        | Noun::Channel
        | Noun::ChannelTopic
        | Noun::ChannelPurpose
        | Noun::Huddle
        | Noun::Canvas => Some(Topic::Talk),
        Noun::ErrorEvent | Noun::MetricAlert | Noun::IssueAlert | Noun::Alert => {
            Some(Topic::Trouble)
        }
        Noun::PullRequest
        | Noun::ReviewComment
        | Noun::CommitComment
        | Noun::DiscussionComment
        | Noun::Review
        | Noun::ReviewThread
        | Noun::Commit
        | Noun::Branch
        | Noun::Tag
        | Noun::Release
        | Noun::File => None,
        _ => Some(Topic::Other),
    }
}

/// Whether a name stands before the noun: `the lint check`, `the Deploy workflow`.
pub(super) fn takes_name(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Check
            | Noun::CheckRun
            | Noun::Status
            | Noun::Workflow
            | Noun::Job
            | Noun::Ci
            | Noun::CheckSuite
    )
}

/// Whether quoted words before the noun are its name: `the "p95 latency" metric alert`.
pub(super) fn takes_quoted_name(noun: Noun) -> bool {
    takes_name(noun)
        || matches!(
            noun,
            Noun::MetricAlert
                | Noun::IssueAlert
                | Noun::Alert
                | Noun::Milestone
                | Noun::Package
                | Noun::Project
                | Noun::Initiative
                | Noun::Document
        )
}
