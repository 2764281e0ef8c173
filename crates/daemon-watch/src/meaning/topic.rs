//! The topics of nouns: a topic decides in which fields an event holds what is said about its thing.

use daemon_event::Source;
use daemon_event::vocabulary::Noun;

/// Things that are narrowed by the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Checks, workflows, jobs and commit statuses.
    Run,
    Deployment,
    /// Alerts of GitHub's scanners.
    Alert,
    /// Issues of Linear.
    Ticket,
    /// Messages in Slack, and reactions to them.
    Talk,
    /// Issues and alerts of Sentry.
    Trouble,
    /// Comments outside GitHub.
    Remark,
    /// Every other thing that is created, deleted or changed.
    Other,
}

/// Returns the topic of a noun if a source is named or only one source has the noun; `None` for those
/// of pull requests, issues and commits, whose fields are the same in all events.
pub(crate) fn topic(noun: Noun, source: Option<Source>) -> Option<Topic> {
    let elsewhere = match source {
        Some(Source::Linear) => Some(Topic::Ticket),
        Some(Source::Sentry) => Some(Topic::Trouble),
        Some(Source::Github | Source::Slack | Source::Git | Source::Cloudevents) | None => None,
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

/// Whether a noun can have a name before it: `the lint check`, `the Deploy workflow`.
pub(crate) fn takes_name(noun: Noun) -> bool {
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
