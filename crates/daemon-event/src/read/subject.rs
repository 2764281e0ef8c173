//! What events are about.

use super::Raw;
use crate::event::Source;
use crate::facts::Facts;
use crate::field::Field;
use crate::ids::Subject;

/// Names what an event is about, so that its later events can join it.
pub(super) fn subject(
    source: Source,
    kind: &str,
    raw: &Raw<'_, '_>,
    facts: &Facts,
) -> Option<Subject> {
    let repo = facts.text(Field::Repo);
    let name = match source {
        Source::Git => format!("git:{}:{}", repo?, full_ref(facts)?),
        Source::Github if matches!(kind, "push" | "create" | "delete") => {
            format!("git:{}:{}", repo?, full_ref(facts)?)
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
    };
    name.parse().ok()
}

/// Returns the full name of the ref that an event is about; GitHub names new and deleted ones without their folder.
fn full_ref(facts: &Facts) -> Option<String> {
    let name = facts.text(Field::Ref)?;
    if name.starts_with("refs/heads/") || name.starts_with("refs/tags/") {
        return Some(name.to_owned());
    }
    let folder = match facts.text(Field::RefType) {
        Some("tag") => "tags",
        Some(_) | None => "heads",
    };
    Some(format!("refs/{folder}/{name}"))
}

/// Whether things of a kind are counted apart from issues, pull requests and discussions.
fn has_own_numbers(kind: &str) -> bool {
    kind.contains("alert") || matches!(kind, "milestone" | "project" | "projects_v2")
}
