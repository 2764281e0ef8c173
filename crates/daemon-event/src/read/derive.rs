//! Facts derived from several paths of a payload, or from fetched facts.

use super::slack::slack;
use super::{Enrichment, PathValues, PullRequestFact};
use crate::event::Source;
use crate::facts::EventFacts;
use crate::field::{Field, FieldValue};
use crate::need::{COMMENT, is_check};
use crate::vocabulary;

/// Adds the facts derived from the payload's values and from the enrichment.
pub(super) fn derive(
    source: Source,
    kind: &str,
    raw: &PathValues<'_, '_>,
    enrichment: &Enrichment,
    facts: &mut EventFacts,
) {
    match source {
        Source::Github => github(kind, raw, facts),
        Source::Git => git(kind, raw, facts),
        Source::Linear => linear(kind, raw, facts),
        Source::Slack => slack(kind, raw, facts),
        Source::Sentry => sentry(kind, raw, facts),
        Source::Cloudevents => {}
    }
    // After the source's own step, which may set names; before `enrich`, whose values replace derived ones.
    name_kind(facts, Field::Author, Field::AuthorKind);
    name_kind(facts, Field::ParentAuthor, Field::ParentAuthorKind);
    name_kind(facts, Field::Actor, Field::ActorKind);
    if source == Source::Github {
        if facts.get(Field::AssigneeKind).is_some() {
            name_kind(facts, Field::Assignee, Field::AssigneeKind);
        }
        // Only GitHub's payloads identify both the actor and the author by login.
        by_author(kind, facts);
    }
    enrich(kind, enrichment, facts);
}

/// Sets a kind field to `human` or `bot` if the name is known, by the service's own type or by the login.
fn name_kind(facts: &mut EventFacts, name: Field, kind: Field) {
    let is_bot = match facts.text(kind) {
        // `organization` and `mannequin` are account types of GitHub; a mannequin represents an imported user.
        Some(word) => !matches!(
            word.to_ascii_lowercase().as_str(),
            "user" | "human" | "organization" | "mannequin"
        ),
        None => match facts.text(name) {
            Some(login) => login.ends_with("[bot]"),
            None => return,
        },
    };
    // Every app's login ends with `[bot]`, which also decides payloads without a type.
    let is_bot = is_bot
        || facts
            .text(name)
            .is_some_and(|login| login.ends_with("[bot]"));
    facts.set_text(kind, if is_bot { "bot" } else { "human" });
}

/// Sets `by_author` and `by_writer` if a payload names the actor and the author.
fn by_author(kind: &str, facts: &mut EventFacts) {
    let is_about_subject = matches!(kind, "pull_request" | "issues" | "discussion");
    let (author, writer) = if is_about_subject {
        (facts.text(Field::Author), None)
    } else {
        (facts.text(Field::ParentAuthor), facts.text(Field::Author))
    };
    let writer = writer.filter(|_| vocabulary::holds_writer(kind));
    let is_actor = |name: &str| {
        let actor = facts.text(Field::Actor)?;
        Some(name.eq_ignore_ascii_case(actor))
    };
    let flags = [
        (Field::ByAuthor, author.and_then(is_actor)),
        (Field::ByWriter, writer.and_then(is_actor)),
    ];
    for (field, flag) in flags {
        if let Some(flag) = flag {
            facts.set(field, FieldValue::Flag(flag));
        }
    }
}

fn enrich(kind: &str, enrichment: &Enrichment, facts: &mut EventFacts) {
    if let Some(files) = &enrichment.changed_files {
        facts.set_texts(Field::ChangedFiles, files.iter().map(String::as_str));
    }
    if let Some(names) = &enrichment.label_names {
        let removed = facts
            .get(Field::LabelRemovedId)
            .into_iter()
            .flat_map(FieldValue::texts);
        // All or nothing: a partial list would make a condition on the missing name decidably false.
        let named: Option<Vec<&str>> = removed
            .map(|id| names.get(id).map(String::as_str))
            .collect();
        if let Some(named) = named.filter(|named| !named.is_empty()) {
            facts.set_texts(Field::LabelRemoved, named);
        }
    }
    if let Some(channel) = &enrichment.channel_name {
        facts.set_text(Field::Channel, channel.trim_start_matches('#'));
    }
    let Some(found) = &enrichment.pull_requests else {
        return;
    };
    if is_check(kind) {
        checked(found, facts);
    } else if kind == COMMENT
        && let Some(on) = found.first()
    {
        branches(on, facts);
        if let Some(commit) = &on.head_commit {
            facts.set_text(Field::After, commit);
        }
        on_default_branch(facts, Field::Base);
    }
}

/// Adds the facts of the pull requests that a check belongs to.
fn checked(found: &[PullRequestFact], facts: &mut EventFacts) {
    for number in found.iter().map(|fact| fact.number.to_string()) {
        if !facts
            .texts(Field::PullRequests)
            .any(|known| known == number)
        {
            facts.push(Field::PullRequests, &number);
        }
    }
    facts.know(Field::PullRequests);
    let Some(first) = found.first() else {
        // A commit without a pull request is on no draft, so that "except on drafts" holds.
        facts.set(Field::Draft, FieldValue::Flag(false));
        return;
    };
    facts.set(Field::Number, FieldValue::Number(first.number));
    // A condition on the pull request has to hold for one of several: an open one is preferred to closed
    // ones, a ready one to drafts.
    if found.iter().all(|fact| fact.draft.is_some()) {
        let all_drafts = found.iter().all(|fact| fact.draft == Some(true));
        facts.set(Field::Draft, FieldValue::Flag(all_drafts));
    }
    if let Some(head) = found
        .iter()
        .filter_map(|fact| fact.is_current_head)
        .reduce(|a, b| a | b)
    {
        facts.set(Field::CurrentHead, FieldValue::Flag(head));
    }
    let is_open = found
        .iter()
        .any(|fact| fact.state.as_deref() == Some("open"));
    if found.iter().any(|fact| fact.state.is_some()) {
        facts.set_text(Field::State, if is_open { "open" } else { "closed" });
    }
    let open = |fact: &&PullRequestFact| fact.state.as_deref() == Some("open");
    branches(found.iter().find(open).unwrap_or(first), facts);
}

/// Adds the base and head of a pull request, and whether it is merged or from a fork.
fn branches(fact: &PullRequestFact, facts: &mut EventFacts) {
    for (field, name) in [(Field::Base, &fact.base), (Field::Head, &fact.head)] {
        if let Some(name) = name {
            facts.set_text(field, name);
        }
    }
    let flags = [(Field::Fork, fact.is_fork), (Field::Merged, fact.is_merged)];
    for (field, flag) in flags {
        if let Some(flag) = flag {
            facts.set(field, FieldValue::Flag(flag));
        }
    }
}

fn github(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    match kind {
        "push" | "create" | "delete" | "workflow_dispatch" => refs(kind, raw, facts),
        "pull_request" => {
            changed_label(raw, facts);
            pull_request(raw, facts);
        }
        "issues" | "discussion" => changed_label(raw, facts),
        "pull_request_review" | "pull_request_review_comment" | "pull_request_review_thread" => {
            facts.set_text(Field::CommentOn, "pull_request");
            pull_request(raw, facts);
            let reply = raw.has("comment.in_reply_to_id");
            facts.set(Field::Reply, FieldValue::Flag(reply));
            lower(facts, Field::ReviewState);
        }
        "issue_comment" => {
            let on = if raw.has("issue.pull_request.url") {
                "pull_request"
            } else {
                "issue"
            };
            facts.set_text(Field::CommentOn, on);
        }
        "commit_comment" => facts.set_text(Field::CommentOn, "commit"),
        "discussion_comment" => facts.set_text(Field::CommentOn, "discussion"),
        "check_run" | "check_suite" | "workflow_run" | "deployment_review" => {
            // An empty list is not evidence: GitHub leaves it empty for pull requests from forks.
            if facts.texts(Field::PullRequests).next().is_none() {
                facts.forget(Field::PullRequests);
            }
            on_default_branch(facts, Field::Branch);
        }
        "status"
        | "workflow_job"
        | "deployment"
        | "deployment_status"
        | "deployment_protection_rule" => {
            on_default_branch(facts, Field::Branch);
        }
        "code_scanning_alert" => {
            let branch = facts
                .text(Field::Ref)
                .and_then(|name| name.strip_prefix("refs/heads/"));
            if let Some(branch) = branch.map(str::to_owned) {
                facts.set_texts(Field::Branch, [branch.as_str()]);
                on_default_branch(facts, Field::Branch);
            }
        }
        "merge_group" => {
            if let Some(base) = raw.text("merge_group.base_ref") {
                facts.set_text(
                    Field::Base,
                    base.strip_prefix("refs/heads/").unwrap_or(base),
                );
                on_default_branch(facts, Field::Base);
            }
        }
        _ => {}
    }
}

fn changed_label(raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    let label = match raw.text("action") {
        Some("labeled") => Field::LabelAdded,
        Some("unlabeled") => Field::LabelRemoved,
        Some(_) | None => return,
    };
    facts.set_texts(label, raw.text("label.name"));
}

fn lower(facts: &mut EventFacts, field: Field) {
    if let Some(text) = facts.text(field).map(str::to_ascii_lowercase) {
        facts.set_text(field, &text);
    }
}

fn pull_request(raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    let base = raw.text("pull_request.base.repo.full_name");
    let head = raw.text("pull_request.head.repo.full_name");
    // Without a head repository the head was a deleted fork: a branch of the same repository keeps its own.
    if base.is_some() {
        facts.set(Field::Fork, FieldValue::Flag(head != base));
    }
    on_default_branch(facts, Field::Base);
}

fn on_default_branch(facts: &mut EventFacts, branch: Field) {
    // Without the default branch's name the answer stays unknown, so that conditions are left undecided.
    let Some(default) = facts.text(Field::DefaultBranch).map(str::to_owned) else {
        return;
    };
    if facts.get(branch).is_some() {
        let is_default = facts.texts(branch).any(|name| name == default);
        facts.set(Field::OnDefaultBranch, FieldValue::Flag(is_default));
    }
}

/// Splits a ref into its type and short name, and collects the files of a push.
fn refs(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    let name = facts.text(Field::Ref).unwrap_or_default().to_owned();
    let said = facts.text(Field::RefType).map(str::to_owned);
    let (ref_type, short) = if let Some(short) = name.strip_prefix("refs/heads/") {
        ("branch", short)
    } else if let Some(short) = name.strip_prefix("refs/tags/") {
        ("tag", short)
    } else {
        (said.as_deref().unwrap_or("branch"), name.as_str())
    };
    facts.set_text(Field::RefType, ref_type);
    if ref_type == "tag" {
        facts.set_text(Field::Tag, short);
        // A tag is on no branch, even if its commit is also on the default branch.
        facts.set(Field::OnDefaultBranch, FieldValue::Flag(false));
    } else {
        facts.set_texts(Field::Branch, [short]);
        on_default_branch(facts, Field::Branch);
    }
    if kind != "push" && kind != "merge" {
        return;
    }
    // Pushes of watched repositories list all paths; lists per commit are GitHub's.
    let listed: Vec<&str> = raw.texts("changed_files[]").collect();
    if raw.seen("changed_files[]") {
        facts.set_texts(Field::ChangedFiles, listed);
        return;
    }
    let mut files: Vec<&str> = [
        "commits[].added[]",
        "commits[].modified[]",
        "commits[].removed[]",
    ]
    .into_iter()
    .flat_map(|path| raw.texts(path))
    .collect();
    files.sort_unstable();
    files.dedup();
    facts.set_texts(Field::ChangedFiles, files);
}

fn git(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    refs(kind, raw, facts);
    if kind == "merge" {
        let branch = facts.text(Field::Branch).unwrap_or_default().to_owned();
        facts.set_text(Field::Base, &branch);
        facts.set(Field::Merged, FieldValue::Flag(true));
        if let Some(message) = raw.text("head_commit.message") {
            facts.set_text(Field::Title, message.lines().next().unwrap_or_default());
        }
    }
}

/// The attributes in Linear's `updatedFrom`, with the names that conditions use.
const LINEAR_ATTRIBUTES: &[(&str, &str)] = &[
    ("stateId", "state"),
    ("statusId", "state"),
    ("labelIds", "labels"),
    ("assigneeId", "assignee"),
    ("description", "body"),
    ("content", "body"),
    ("projectId", "project"),
    ("cycleId", "cycle"),
    ("dueDate", "due date"),
    ("teamId", "team"),
    ("parentId", "parent"),
    ("archivedAt", "archived"),
    ("completedAt", "completed"),
    ("projectMilestoneId", "milestone"),
    ("canceledAt", "canceled"),
    ("resolvedAt", "resolved"),
    ("snoozedUntilAt", "snoozed"),
    ("snoozedUntil", "snoozed"),
    ("leadId", "lead"),
    ("targetDate", "target date"),
    ("startDate", "start date"),
    ("memberIds", "members"),
    ("subscriberIds", "subscribers"),
    ("status", "state"),
];

fn linear(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    let actor = raw.text("actor.name").or_else(|| raw.text("actor.service"));
    if let Some(actor) = actor.or_else(|| raw.text("actor.id")) {
        facts.set_text(Field::Actor, actor);
    }
    let changed: Vec<String> = facts
        .texts(Field::Changed)
        // Every update changes `updatedAt`, so it says nothing about what was edited.
        .filter(|name| *name != "updatedAt")
        .map(|name| {
            let known = LINEAR_ATTRIBUTES.iter().find(|(raw, _)| *raw == name);
            known.map_or(name, |(_, word)| word).to_owned()
        })
        .collect();
    facts.set_texts(Field::Changed, changed.iter().map(String::as_str));
    match kind {
        "Issue" => linear_issue(raw, facts),
        "Comment" => {
            facts.set_text(Field::CommentOn, "issue");
            let resolved = if raw.has("data.resolvedAt") {
                "resolved"
            } else {
                "unresolved"
            };
            facts.set_text(Field::StateType, resolved);
            facts.set(Field::Reply, FieldValue::Flag(raw.has("data.parentId")));
            if facts.text(Field::Author).is_none()
                && let Some(actor) = facts.text(Field::Actor).map(str::to_owned)
            {
                facts.set_text(Field::Author, &actor);
            }
            copy_kind(facts);
        }
        "Project" => archived(raw, facts),
        "Cycle" if raw.has("data.completedAt") => facts.set_text(Field::StateType, "completed"),
        _ => {}
    }
}

/// Sets `archived` if the update archived or restored the object: it is the opposite of the former state.
fn archived(raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    if raw.seen("updatedFrom.archivedAt") {
        let is_archived = !raw.has("updatedFrom.archivedAt");
        facts.set(Field::Archived, FieldValue::Flag(is_archived));
    }
}

/// Sets the author's kind to the actor's, where the actor is the author.
pub(super) fn copy_kind(facts: &mut EventFacts) {
    if let Some(kind) = facts.text(Field::ActorKind).map(str::to_owned) {
        facts.set_text(Field::AuthorKind, &kind);
    }
}

fn linear_issue(raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    archived(raw, facts);
    // Linear counts priorities from 1, the most urgent; 0 is no priority.
    let priority = match raw.number("data.priority") {
        Some(0) => "none",
        Some(1) => "urgent",
        Some(2) => "high",
        Some(3) => "medium",
        Some(4) => "low",
        Some(_) | None => "",
    };
    if !priority.is_empty() {
        facts.set_text(Field::Priority, priority);
    }
    let assignee: Vec<&str> = raw.text("data.assignee.name").into_iter().collect();
    if !assignee.is_empty() || raw.seen("data.assigneeId") {
        facts.set_texts(Field::Assignee, assignee.iter().copied());
        facts.set_texts(Field::Assignees, assignee);
    }
    if raw.text("action") == Some("create") {
        if let Some(actor) = facts.text(Field::Actor).map(str::to_owned) {
            facts.set_text(Field::Author, &actor);
        }
        copy_kind(facts);
    }
    if !raw.seen("updatedFrom.labelIds[]") {
        return;
    }
    let ids: Vec<&str> = raw.texts("data.labels[].id").collect();
    let names: Vec<&str> = raw.texts("data.labels[].name").collect();
    let before: Vec<&str> = raw.texts("updatedFrom.labelIds[]").collect();
    let added = ids
        .iter()
        .zip(&names)
        .filter(|(id, _)| !before.contains(id));
    facts.set_texts(Field::LabelAdded, added.map(|(_, name)| *name));
    // The payload contains only the id of a removed label; its name has to be fetched.
    let removed: Vec<&str> = before
        .iter()
        .filter(|id| !ids.contains(id))
        .copied()
        .collect();
    facts.set_texts(Field::LabelRemovedId, removed.iter().copied());
    if removed.is_empty() {
        facts.set_texts(Field::LabelRemoved, []);
    }
}

fn sentry(kind: &str, raw: &PathValues<'_, '_>, facts: &mut EventFacts) {
    if let Some(actor) = raw.text("actor.name") {
        facts.set_text(Field::Actor, actor);
    }
    if kind == "comment" {
        facts.set_text(Field::CommentOn, "issue");
    }
    if kind == "metric_alert"
        && let Some(level @ ("critical" | "warning")) = raw.text("action")
    {
        facts.set_text(Field::Severity, level);
    }
}
