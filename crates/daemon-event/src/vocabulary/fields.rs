//! The facts that events of a kind can have.

use super::EventKind;
use crate::event::Source;
use crate::field::Field as F;
use crate::need::{COMMENT, Need};

impl EventKind {
    /// Whether events of this kind can have a fact: read from the payload, derived from it, or fetched by the host.
    ///
    /// A condition on any other field of this kind never matches.
    pub fn can_hold(&self, field: F) -> bool {
        let reads = |wanted: F| {
            self.reads
                .iter()
                .copied()
                .flatten()
                .any(|read| read.field == Some(wanted))
        };
        if reads(field) {
            return true;
        }
        match field {
            F::AuthorKind => reads(F::Author) || self.can_hold_author(),
            F::ParentAuthorKind => reads(F::ParentAuthor),
            F::ActorKind => reads(F::Actor) || self.can_hold_actor(),
            F::Author => self.can_hold_author(),
            F::Actor => self.can_hold_actor(),
            F::Channel => reads(F::ChannelId),
            _ => match self.source {
                Source::Github => self.github_can_hold(field, reads),
                Source::Git => self.git_can_hold(field),
                Source::Linear => self.linear_can_hold(field),
                Source::Slack => self.slack_can_hold(field),
                Source::Sentry => self.sentry_can_hold(field),
                Source::Cloudevents => false,
            },
        }
    }

    fn can_hold_author(&self) -> bool {
        match self.source {
            Source::Linear => matches!(self.name, "Issue" | "Comment"),
            Source::Slack => matches!(self.name, "message" | "app_mention"),
            Source::Github | Source::Sentry | Source::Git | Source::Cloudevents => false,
        }
    }

    fn can_hold_actor(&self) -> bool {
        matches!(self.source, Source::Linear | Source::Sentry)
            || self.source == Source::Slack && self.name == "message"
    }

    fn github_can_hold(&self, field: F, reads: impl Fn(F) -> bool) -> bool {
        let name = self.name;
        let is_pull_request = name.starts_with("pull_request");
        let moves_refs = matches!(name, "push" | "create" | "delete" | "workflow_dispatch");
        match field {
            F::OnDefaultBranch => {
                moves_refs
                    || name == "merge_group"
                    || reads(F::Base)
                    || reads(F::Branch)
                    || Need::of(field, name).is_some()
            }
            F::ByAuthor => {
                reads(F::ParentAuthor) || matches!(name, "pull_request" | "issues" | "discussion")
            }
            F::ByWriter => reads(F::Author) && holds_writer(name),
            F::Fork if is_pull_request => true,
            F::Base if name == "merge_group" => true,
            F::Branch => moves_refs || name == "code_scanning_alert",
            F::Tag | F::RefType => moves_refs,
            F::ChangedFiles => name == "push" || name == COMMENT || is_pull_request,
            F::LabelAdded | F::LabelRemoved => {
                matches!(name, "pull_request" | "issues" | "discussion")
            }
            F::CommentOn => {
                is_pull_request && name != "pull_request"
                    || matches!(
                        name,
                        "issue_comment" | "commit_comment" | "discussion_comment"
                    )
            }
            F::Reply => is_pull_request && name != "pull_request",
            // The host fetches the pull requests of a check, and the one that a comment is on.
            _ => Need::of(field, name) == Some(Need::PullRequests),
        }
    }

    fn git_can_hold(&self, field: F) -> bool {
        match field {
            F::Branch | F::Tag | F::RefType | F::OnDefaultBranch => true,
            F::ChangedFiles => matches!(self.name, "push" | "merge"),
            F::Base | F::Merged | F::Title => self.name == "merge",
            _ => false,
        }
    }

    fn linear_can_hold(&self, field: F) -> bool {
        matches!(
            (self.name, field),
            (
                "Issue",
                F::Priority
                    | F::Assignee
                    | F::Assignees
                    | F::LabelAdded
                    | F::LabelRemoved
                    | F::LabelRemovedId,
            ) | ("Issue" | "Project", F::Archived)
                | ("Comment", F::CommentOn | F::Reply | F::StateType)
                | ("Cycle", F::StateType)
        )
    }

    fn slack_can_hold(&self, field: F) -> bool {
        matches!(field, F::Reply | F::Subtype | F::Comment | F::MessageKind)
            && matches!(self.name, "message" | "app_mention")
    }

    fn sentry_can_hold(&self, field: F) -> bool {
        matches!(
            (self.name, field),
            ("comment", F::CommentOn) | ("metric_alert", F::Severity)
        )
    }
}

/// Whether the author in events of a kind of GitHub's is that of a comment or a review.
pub(crate) fn holds_writer(kind: &str) -> bool {
    kind.ends_with("_comment") || kind == "pull_request_review"
}
