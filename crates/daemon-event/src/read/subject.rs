//! The subject of an event.

use super::PathValues;
use crate::event::Source;
use crate::facts::EventFacts;
use crate::field::Field;
use crate::ids::Subject;

/// Names the subject of an event, so that later events with the same subject can be coalesced with it.
pub(super) fn subject(
    source: Source,
    kind: &str,
    raw: &PathValues<'_, '_>,
    facts: &EventFacts,
) -> Option<Subject> {
    let repo = facts.text(Field::Repo);
    let name = match source {
        Source::Git => format!("git:{}:{}", repo?, moved_ref(facts)?),
        Source::Github if matches!(kind, "push" | "create" | "delete") => {
            format!("git:{}:{}", repo?, moved_ref(facts)?)
        }
        Source::Github => {
            let repo = repo?;
            let checked = facts.texts(Field::PullRequests).next();
            if let Some(number) = facts.number(Field::Number) {
                if has_own_numbers(kind) {
                    format!("github:{repo}:{kind}/{number}")
                } else {
                    format!("github:{repo}#{number}")
                }
            } else if let Some(number) = checked {
                format!("github:{repo}#{number}")
            } else if let Some(revision) = facts.text(Field::After) {
                format!("github:{repo}@{revision}")
            } else if let Some(tag) = facts.text(Field::Tag).or_else(|| facts.text(Field::Ref)) {
                format!("github:{repo}:{tag}")
            } else {
                format!("github:{repo}")
            }
        }
        Source::Linear => {
            let places = [
                "data.identifier",
                "data.issue.identifier",
                "issueData.identifier",
                "notification.issue.identifier",
                "agentSession.issue.identifier",
            ];
            match places.iter().find_map(|place| raw.text(place)) {
                Some(issue) => format!("linear:{issue}"),
                None => format!("linear:{kind}/{}", facts.text(Field::Key)?),
            }
        }
        Source::Slack => {
            let channel = facts.text(Field::ChannelId)?;
            match facts.text(Field::Thread).or_else(|| facts.text(Field::Key)) {
                Some(thread) => format!("slack:{channel}/{thread}"),
                None => format!("slack:{channel}"),
            }
        }
        Source::Sentry => format!("sentry:{}", facts.text(Field::Key)?),
        Source::Cloudevents => match (raw.text("source")?, raw.text("subject")) {
            (source, Some(subject)) => format!("cloudevents:{source}#{subject}"),
            (source, None) => format!("cloudevents:{source}"),
        },
    };
    name.parse().ok()
}

/// Returns the full name of the ref that the event moved, created or deleted.
fn moved_ref(facts: &EventFacts) -> Option<String> {
    let name = facts.text(Field::Ref)?;
    Some(full_ref(name, facts.text(Field::RefType)))
}

/// Returns the full name of a ref; GitHub sends the short name when a ref is created or deleted.
///
/// ```
/// use daemon_event::full_ref;
///
/// assert_eq!(full_ref("refs/heads/main", None), "refs/heads/main");
/// assert_eq!(full_ref("v1", Some("tag")), "refs/tags/v1");
/// assert_eq!(full_ref("main", Some("branch")), "refs/heads/main");
/// ```
pub fn full_ref(name: &str, ref_type: Option<&str>) -> String {
    if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
        return name.to_owned();
    }
    match ref_type {
        Some("tag") => format!("refs/tags/{name}"),
        Some(_) | None => branch_ref(name),
    }
}

/// Returns the full name of a branch: `refs/heads/` and the short name.
pub fn branch_ref(name: &str) -> String {
    format!("refs/heads/{name}")
}

/// Reports whether a commit id is all zeros, as git and GitHub write the missing side of a created or deleted ref.
pub fn is_zeros(commit: &str) -> bool {
    matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte == b'0')
}

/// Whether objects of this kind are numbered apart from issues, pull requests and discussions.
fn has_own_numbers(kind: &str) -> bool {
    kind.contains("alert") || matches!(kind, "milestone" | "project" | "projects_v2")
}
