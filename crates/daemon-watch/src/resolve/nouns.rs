//! The noun that a clause is about, and the nouns that name its place.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use crate::grammar::draft::{Draft, Mod, NounHit};
use crate::grammar::reader::Reader;

use super::implied::implied_nouns;

/// Separates the subject nouns from the nouns of places; releases nouns that are neither.
pub(super) fn split_nouns(reader: &mut Reader<'_>, draft: &Draft) -> (Vec<Noun>, Vec<Noun>) {
    let has_files = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Files(..)));
    let names_channel = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)));
    let of_channels = draft.verbs.iter().any(|hit| {
        hit.verbs.iter().any(|verb| {
            matches!(
                verb,
                Verb::Join
                    | Verb::Leave
                    | Verb::Archive
                    | Verb::Unarchive
                    | Verb::Rename
                    | Verb::Delete
                    | Verb::Add
            )
        })
    });
    let only_channel = draft
        .nouns
        .iter()
        .all(|hit| hit.nouns.contains(&Noun::Channel));
    if draft.nouns.is_empty() || names_channel && only_channel && !of_channels {
        return (implied_nouns(draft, has_files), Vec::new());
    }
    // `checks are requested for a merge group` is an event of the merge group.
    if draft
        .nouns
        .iter()
        .any(|hit| hit.nouns.contains(&Noun::MergeGroup))
        && draft
            .nouns
            .iter()
            .any(|hit| hit.nouns.contains(&Noun::Check))
    {
        return (vec![Noun::MergeGroup], vec![Noun::Check]);
    }
    let in_slack = draft
        .sources
        .iter()
        .any(|(source, _)| *source == Source::Slack)
        || names_channel;
    let only_files = draft.nouns.iter().all(|hit| {
        hit.nouns
            .iter()
            .any(|noun| matches!(noun, Noun::File | Noun::Channel))
    });
    let shares = draft.verbs.iter().any(|hit| {
        hit.verbs
            .iter()
            .any(|verb| matches!(verb, Verb::Post | Verb::Add | Verb::Create | Verb::Upload))
    });
    let has_file = draft
        .nouns
        .iter()
        .any(|hit| hit.nouns.contains(&Noun::File));
    // A file in Slack is shared; elsewhere it is a file of the repository.
    if in_slack && has_file && only_files && shares && !has_files {
        return (vec![Noun::SharedFile], vec![Noun::Channel]);
    }
    let is_plain_alert = |hit: &&NounHit| hit.nouns == [Noun::Alert];
    let found_by_tool = draft.nouns.iter().any(|hit| {
        hit.nouns.iter().any(|noun| {
            matches!(
                noun,
                Noun::DependabotAlert | Noun::SecretAlert | Noun::CodeScanningAlert
            )
        })
    });
    // `Dependabot opens an alert`: the tool decides the kind, so the plain noun adds nothing.
    if found_by_tool && draft.nouns.iter().any(|hit| is_plain_alert(&hit)) {
        let mut alerts: Vec<Noun> = draft
            .nouns
            .iter()
            .filter(|hit| !is_plain_alert(hit))
            .flat_map(|hit| hit.nouns.to_vec())
            .collect();
        alerts.dedup();
        return (alerts, Vec::new());
    }
    let first_of = |hit: &NounHit| hit.nouns.to_vec();
    let first_group = draft.nouns[0].group;
    let dependents: Vec<&NounHit> = draft
        .nouns
        .iter()
        .filter(|hit| hit.nouns.iter().any(|noun| is_dependent(*noun)) && is_stronger(draft, hit))
        .collect();
    let has_containers = draft
        .nouns
        .iter()
        .any(|hit| !hit.nouns.iter().any(|noun| is_dependent(*noun)));
    let mut primary: Vec<Noun> = Vec::new();
    let mut parents: Vec<Noun> = Vec::new();
    // `a PR or a comment` in one group are alternatives; otherwise the PR would become the parent of the comment.
    let mixes = draft
        .nouns
        .iter()
        .filter(|hit| hit.group == first_group)
        .any(|hit| !dependents.iter().any(|other| other.at == hit.at))
        && dependents.iter().any(|hit| hit.group == first_group);
    if !dependents.is_empty() && has_containers && !mixes {
        let group = strongest(&dependents).group;
        for hit in &draft.nouns {
            let is_primary =
                hit.group == group && dependents.iter().any(|other| other.at == hit.at);
            if is_primary {
                primary.extend(first_of(hit));
            } else {
                parents.extend(first_of(hit));
            }
        }
    } else if dependents.len() == draft.nouns.len() {
        let group = strongest(&dependents).group;
        for hit in &draft.nouns {
            if hit.group == group {
                primary.extend(first_of(hit));
            } else {
                parents.extend(first_of(hit));
            }
        }
    } else {
        for hit in &draft.nouns {
            if hit.group == first_group {
                primary.extend(first_of(hit));
            } else {
                parents.extend(first_of(hit));
            }
        }
    }
    primary.dedup();
    for hit in &draft.nouns {
        let is_parent = hit.nouns.iter().any(|noun| parents.contains(noun))
            && !hit.nouns.iter().any(|noun| primary.contains(noun));
        // `a comment on a release`: no comment has a release as parent, so the noun has to be confirmed.
        if is_parent && !is_read_as_parent(draft, hit, &primary) {
            reader.release(hit.at..hit.at + 1);
        }
    }
    (primary, parents)
}

/// Whether a noun is the subject rather than a commit or a file that is only the place.
pub(super) fn is_stronger(draft: &Draft, hit: &NounHit) -> bool {
    let is_weak = hit
        .nouns
        .iter()
        .any(|noun| matches!(noun, Noun::Commit | Noun::File | Noun::Tag | Noun::Fork));
    if !is_weak {
        return true;
    }
    // `a pull request with a commit` is about the pull request.
    let container_first = draft.nouns.first().is_some_and(|first| {
        first.at < hit.at && !first.nouns.iter().any(|noun| is_dependent(*noun))
    });
    let gains = draft.gains.is_some();
    !container_first
        || gains && hit.nouns.contains(&Noun::Commit)
        || draft.agent.is_some()
        || draft
            .nouns
            .first()
            .is_some_and(|first| first.nouns.contains(&Noun::Branch))
}

pub(super) fn strongest<'d>(dependents: &[&'d NounHit]) -> &'d NounHit {
    let rank = |hit: &NounHit| {
        hit.nouns
            .iter()
            .map(|noun| match noun {
                Noun::Comment
                | Noun::ReviewComment
                | Noun::CommitComment
                | Noun::DiscussionComment
                | Noun::DirectMessage
                | Noun::Reply
                | Noun::Mention
                | Noun::Sla => 0,
                // A reaction to a comment is a reaction.
                Noun::Reaction if dependents.iter().all(|other| other.at >= hit.at) => 0,
                Noun::Review
                | Noun::ReviewThread
                // A comment or mention is the event, and the things it is on are its place.
                | Noun::Reaction
                | Noun::Attachment
                | Noun::ProjectUpdate
                | Noun::DeploymentStatus
                | Noun::Pin => 1,
                // Commits, files and tags mostly name a place: `a check on a commit`.
                Noun::Commit | Noun::File | Noun::Tag => 3,
                _ => 2,
            })
            .min()
            .unwrap_or(9)
    };
    dependents
        .iter()
        .copied()
        .min_by_key(|hit| (rank(hit), hit.at))
        .expect("the caller checked that there is one")
}

/// Whether the events of the primary noun have a field for the place.
pub(super) fn is_read_as_parent(draft: &Draft, hit: &NounHit, primary: &[Noun]) -> bool {
    let has = |noun: Noun| hit.nouns.contains(&noun);
    let about = |nouns: &[Noun]| primary.iter().any(|noun| nouns.contains(noun));
    let on_branch = draft
        .mods
        .iter()
        .any(|hit| matches!(hit.kind, Mod::Branch(_) | Mod::DefaultBranch));
    let verbs = |wanted: &[Verb]| {
        draft
            .verbs
            .iter()
            .any(|hit| wanted.iter().any(|verb| hit.verbs.contains(verb)))
    };
    if has(Noun::PullRequest) || has(Noun::Issue) || has(Noun::Discussion) {
        return about(&[
            Noun::Comment,
            Noun::ReviewComment,
            Noun::Review,
            Noun::ReviewThread,
            Noun::Check,
            Noun::CheckRun,
            Noun::CheckSuite,
            Noun::Status,
            Noun::Workflow,
            Noun::Ci,
            Noun::Commit,
            Noun::Reaction,
            Noun::Attachment,
            Noun::Sla,
            Noun::DiscussionComment,
            Noun::Job,
            Noun::File,
            Noun::SubIssue,
            Noun::ParentIssue,
            Noun::BlockedBy,
            Noun::Blocking,
            Noun::IssueDependency,
            Noun::CustomerNeed,
        ]) || has(Noun::Discussion) && about(&[Noun::Reply, Noun::Answer])
            || !draft.parts.is_empty();
    }
    // A branch is the place of commits. For a pull request it needs a name, or a verb for pushes or targets.
    if has(Noun::Branch) {
        return on_branch
            || about(&[Noun::PullRequest, Noun::Commit])
                && verbs(&[Verb::Push, Verb::Synchronize, Verb::Retarget])
            || about(&[Noun::Commit]);
    }
    // Every event has a repository or a workspace, so the noun adds nothing.
    if has(Noun::Repository) || has(Noun::Workspace) {
        return true;
    }
    if has(Noun::Organization) || has(Noun::Installation) {
        return about(&[
            Noun::OrganizationMember,
            Noun::Team,
            Noun::TeamMember,
            Noun::Repository,
            Noun::InstallationRepository,
        ]);
    }
    if has(Noun::GithubProject) {
        return about(&[
            Noun::ProjectItem,
            Noun::ProjectStatusUpdate,
            Noun::ProjectCard,
        ]);
    }
    if has(Noun::Channel)
        && about(&[
            Noun::ChannelTopic,
            Noun::ChannelPurpose,
            Noun::Huddle,
            Noun::Canvas,
        ])
    {
        return true;
    }
    if has(Noun::Channel) {
        return draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Is(Field::Channel, _)))
            || about(&[
                Noun::Message,
                Noun::Reply,
                Noun::Reaction,
                Noun::Mention,
                Noun::SharedFile,
                Noun::Pin,
            ]);
    }
    if has(Noun::Message) {
        return about(&[
            Noun::Reaction,
            Noun::Reply,
            Noun::Pin,
            Noun::Mention,
            Noun::DirectMessage,
            Noun::Commit,
        ]);
    }
    if has(Noun::Commit) {
        return about(&[
            Noun::Comment,
            Noun::Check,
            Noun::CheckRun,
            Noun::Status,
            Noun::CommitComment,
            Noun::PullRequest,
            Noun::Branch,
        ]);
    }
    if has(Noun::Project) {
        return about(&[Noun::ProjectUpdate]) || verbs(&[Verb::Add, Verb::Move]);
    }
    if has(Noun::Check) {
        return about(&[Noun::MergeGroup]);
    }
    if has(Noun::Review) {
        return about(&[Noun::PullRequest, Noun::Comment, Noun::ReviewComment]);
    }
    if has(Noun::File) {
        return draft
            .mods
            .iter()
            .any(|hit| matches!(hit.kind, Mod::Files(..)))
            || about(&[Noun::PullRequest, Noun::Commit]);
    }
    if has(Noun::Deployment) || has(Noun::Reply) || has(Noun::ReviewThread) || has(Noun::MergeGroup)
    {
        return about(&[
            Noun::DeploymentStatus,
            Noun::Message,
            Noun::Comment,
            Noun::Check,
            Noun::Reaction,
        ]);
    }
    if has(Noun::Cycle) || has(Noun::Milestone) {
        return about(&[Noun::Issue, Noun::PullRequest])
            && verbs(&[Verb::Add, Verb::Move, Verb::Remove]);
    }
    if has(Noun::Alert)
        || has(Noun::SecurityAlert)
        || has(Noun::SecretAlert)
        || has(Noun::CodeScanningAlert)
    {
        return about(&[
            Noun::SecretAlert,
            Noun::CodeScanningAlert,
            Noun::MetricAlert,
        ]);
    }
    has(Noun::Workflow) && about(&[Noun::Job])
}

/// Nouns that are on something, or happen to something.
pub(super) fn is_dependent(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Review
            | Noun::ReviewThread
            | Noun::Check
            | Noun::CheckRun
            | Noun::CheckSuite
            | Noun::Status
            | Noun::Workflow
            | Noun::Job
            | Noun::Ci
            | Noun::Commit
            | Noun::Reaction
            | Noun::Attachment
            | Noun::Sla
            | Noun::Reply
            | Noun::Mention
            | Noun::DirectMessage
            | Noun::Pin
            | Noun::ProjectUpdate
            | Noun::DeploymentStatus
            | Noun::Star
            | Noun::Fork
            | Noun::File
            | Noun::Collaborator
            | Noun::ChannelTopic
            | Noun::Answer
            | Noun::ChannelPurpose
            | Noun::SubIssue
            | Noun::Tag
    )
}
