//! Converts moves of refs into events.

use std::fmt::Write as _;

use daemon_event::{DeliveryId, Enrichment, Event, EventId, MalformedPayload, Source};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::error::{GitError, GitProblem};
use crate::history::{ChangedFiles, GitCommit, MergeDiff};
use crate::mark::CommitMark;
use crate::object::{ObjectFormat, ObjectId, RefName};
use crate::refs::{RefChange, RefMove};
use crate::repository::Repository;

/// The maximum size of a commit message in a payload, in bytes.
const MAX_MESSAGE: usize = 16 << 10;
/// The maximum size of the repository's name in a delivery id, in bytes; the whole id has at most 512.
const MAX_REPO: usize = 160;
/// The maximum size of the ref in a delivery id, in bytes.
const MAX_REF: usize = 240;

/// An event of a repository that has no id yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEvent {
    /// `push`, `create`, `delete` or `merge`.
    pub kind: &'static str,
    /// The delivery id: `git:<repo>:<ref>:<n>`, with `:<commit>` for a merge and `:push` for the push of a created ref.
    pub delivery: DeliveryId,
    /// The mark of the daemon that made the commit at the tip, if the tip was committed by that daemon.
    pub origin: Option<CommitMark>,
    /// The payload: the fields of GitHub's webhook of that kind, and `changed_files` with the paths of the whole move.
    pub body: Vec<u8>,
}

impl GitEvent {
    /// Reads the payload into an event.
    ///
    /// # Errors
    /// Returns [`MalformedPayload`] if the payload does not have the shape of its kind.
    pub fn into_event(
        self,
        id: EventId,
        received_at: Timestamp,
    ) -> Result<Event, MalformedPayload> {
        let reading =
            daemon_event::read(Source::Git, self.kind, &self.body, &Enrichment::default())?;
        Ok(Event {
            id,
            source: Source::Git,
            kind: self.kind.to_owned(),
            action: reading.action,
            subject: reading.subject,
            actor: reading.actor,
            repo: reading.repo,
            time: reading.time.unwrap_or(received_at),
            received_at,
            delivery: self.delivery,
            facts: reading.facts,
            payload: self.body.into(),
        })
    }
}

impl Repository {
    /// Returns the events of one move of a ref: a push or deletion and one event for each merge, or a creation and its push.
    /// `default_branch` is the default branch with its commit.
    ///
    /// The push of a created ref lists the commits that are not on the default branch, so that conditions on pushes match it as
    /// they match a webhook's. The result depends only on the move, the default branch and the objects: after a crash the same
    /// move gives the same events with the same delivery ids. If objects are missing, fields are omitted but no event is.
    ///
    /// # Errors
    /// Returns [`GitError`] if git cannot be run.
    pub fn events_of(
        &self,
        ref_move: &RefMove,
        default_branch: (&RefName, &ObjectId),
    ) -> Result<Vec<GitEvent>, GitError> {
        let builder = EventBuilder {
            repository: self,
            ref_move,
            default_branch: default_branch.0,
            default_tip: default_branch.1,
        };
        match &ref_move.step {
            RefChange::Created { after } => builder.created(after),
            RefChange::Deleted { .. } => Ok(vec![builder.event("delete", Map::new(), None)]),
            RefChange::Moved { before, after } => builder.moved(before, after),
        }
    }
}

struct EventBuilder<'a> {
    repository: &'a Repository,
    ref_move: &'a RefMove,
    default_branch: &'a RefName,
    default_tip: &'a ObjectId,
}

impl EventBuilder<'_> {
    fn created(&self, after: &ObjectId) -> Result<Vec<GitEvent>, GitError> {
        let base = self.present(self.repository.commit_of(self.default_tip))?;
        let tip = self.present(self.repository.commit_of(after))?;
        let tip = tip.map(|id| self.repository.commit(&id)).transpose()?;
        let mut fields = Map::new();
        if let (Some(base), Some(tip)) = (base, &tip) {
            self.add_commits(&mut fields, &base, &tip.id)?;
            fields.insert("forced".into(), false.into());
            if let Some(files) = self.repository.pull_request_files(&base, &tip.id)? {
                add_files(&mut fields, &files);
            }
        }
        let create = self.event("create", Map::new(), tip.as_ref());
        let mut push = self.event("push", fields, tip.as_ref());
        // Both events belong to the same move; the suffix gives the push a delivery id of its own.
        push.delivery = self.delivery(":push");
        Ok(vec![create, push])
    }

    /// Adds the commits reachable from `after` but not from `before`, oldest first.
    fn add_commits(
        &self,
        fields: &mut Map<String, Value>,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<(), GitError> {
        let commits = self.repository.commits_between(before, after)?;
        let changes = self.repository.changes_of(&commits, MergeDiff::Nothing)?;
        let listed = commits
            .iter()
            .rev()
            .map(|commit| commit_json(commit, changes.get(&commit.id)));
        fields.insert("commits".into(), listed.collect());
        Ok(())
    }

    fn moved(&self, before: &ObjectId, after: &ObjectId) -> Result<Vec<GitEvent>, GitError> {
        let before = self.present(self.repository.commit_of(before))?;
        let after = self.present(self.repository.commit_of(after))?;
        let tip = after.map(|id| self.repository.commit(&id)).transpose()?;
        let mut fields = Map::new();
        let mut merges = Vec::new();
        if let (Some(before), Some(tip)) = (before, &tip) {
            self.add_commits(&mut fields, &before, &tip.id)?;
            fields.insert(
                "forced".into(),
                (!self.repository.is_ancestor(&before, &tip.id)?).into(),
            );
            add_files(
                &mut fields,
                &self.repository.changed_files(&before, &tip.id)?,
            );
            // A pull request counts as merged when it reaches the default branch; a merge into another is only a push.
            if self.ref_move.name == *self.default_branch {
                merges = self.repository.merges_between(&before, &tip.id)?;
            }
        }
        let changes = self
            .repository
            .changes_of(&merges, MergeDiff::FirstParent)?;
        let push = self.event("push", fields, tip.as_ref());
        let merges = merges
            .iter()
            .rev()
            .map(|merge| self.merge(merge, changes.get(&merge.id)));
        Ok(std::iter::once(push).chain(merges).collect())
    }

    fn merge(&self, commit: &GitCommit, files: Option<&ChangedFiles>) -> GitEvent {
        let mut fields = Map::new();
        if let Some(files) = files {
            add_files(&mut fields, files);
        }
        fields.insert("forced".into(), false.into());
        fields.insert("commits".into(), json!([commit_json(commit, files)]));
        fields.insert(
            "before".into(),
            commit.parents.first().map(ObjectId::as_str).into(),
        );
        fields.insert("after".into(), commit.id.as_str().into());
        let mut event = self.event("merge", fields, Some(commit));
        // One move can bring several merges; the commit distinguishes their delivery ids.
        event.delivery = self.delivery(&format!(":{}", commit.id));
        event
    }

    /// Adds the fields of every payload; `fields` take precedence.
    fn event(
        &self,
        kind: &'static str,
        fields: Map<String, Value>,
        tip: Option<&GitCommit>,
    ) -> GitEvent {
        let RefMove { name, step, .. } = self.ref_move;
        let zero = self.repository.format().zero();
        let before = step.before().map_or(zero, ObjectId::as_str);
        let after = step.after().map_or(zero, ObjectId::as_str);
        let origin = tip.and_then(origin_of);
        let mut payload = json!({
            "ref": name.as_str(),
            "ref_type": name.kind().as_str(),
            "before": before,
            "after": after,
            "created": step.before().is_none(),
            "deleted": step.after().is_none(),
            "repository": {
                "full_name": self.repository.name().as_str(),
                "default_branch": self.default_branch.short(),
            },
        });
        let object = payload.as_object_mut().expect("an object was just written");
        if let Some(tip) = tip {
            let kind = if origin.is_some() { "Bot" } else { "User" };
            object.insert("head_commit".into(), commit_json(tip, None));
            object.insert(
                "pusher".into(),
                json!({"name": tip.committer.name, "email": tip.committer.email}),
            );
            object.insert(
                "sender".into(),
                json!({"login": tip.committer.name, "type": kind}),
            );
        }
        if let Some(CommitMark {
            daemon,
            activation,
            output,
        }) = &origin
        {
            let mark =
                json!({"id": daemon.as_str(), "activation": activation.as_str(), "output": output});
            object.insert("daemon".into(), mark);
        }
        object.extend(fields);
        GitEvent {
            kind,
            delivery: self.delivery(""),
            origin,
            body: payload.to_string().into_bytes(),
        }
    }

    fn delivery(&self, suffix: &str) -> DeliveryId {
        let RefMove { name, n, .. } = self.ref_move;
        let repo = in_delivery(self.repository.name().as_str(), MAX_REPO);
        format!(
            "git:{repo}:{}:{n}{suffix}",
            in_delivery(name.as_str(), MAX_REF)
        )
        .parse()
        .expect("its parts are bounded and hold no control characters")
    }

    /// Converts a missing object into `None`: objects may be removed between the move and its report.
    fn present(&self, found: Result<ObjectId, GitError>) -> Result<Option<ObjectId>, GitError> {
        match found {
            Ok(id) => Ok(Some(id)),
            Err(error) if matches!(error.problem(), GitProblem::MissingRef { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Percent-encodes the characters that a delivery id cannot contain, and replaces a very long string by its hash.
fn in_delivery(text: &str, max: usize) -> String {
    let mut acc = String::new();
    for c in text.chars() {
        if c.is_control() || c == '%' {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                write!(acc, "%{byte:02X}").expect("writing to a string cannot fail");
            }
        } else {
            acc.push(c);
        }
    }
    if acc.len() <= max {
        acc
    } else {
        ObjectFormat::Sha256.blob_id(acc.as_bytes()).to_string()
    }
}

/// Returns the mark of a commit, if the daemon it names is also the committer.
fn origin_of(commit: &GitCommit) -> Option<CommitMark> {
    CommitMark::in_message(&commit.message)
        .filter(|mark| mark.is_committed_by(&commit.committer.email))
}

fn commit_json(commit: &GitCommit, files: Option<&ChangedFiles>) -> Value {
    let GitCommit {
        author,
        committer,
        message,
        ..
    } = commit;
    let mut object_json = json!({
        "id": commit.id.as_str(),
        "message": beginning(message).trim_end(),
        "author": {"name": author.name, "email": author.email},
        "committer": {"name": committer.name, "email": committer.email},
        "parents": commit.parents.iter().map(ObjectId::as_str).collect::<Value>(),
    });
    let object = object_json
        .as_object_mut()
        .expect("an object was just written");
    if let Some(at) = commit.committed_at {
        object.insert("timestamp".into(), at.to_string().into());
    }
    if let Some(files) = files {
        object.insert("added".into(), json!(files.added));
        object.insert("modified".into(), json!(files.modified));
        object.insert("removed".into(), json!(files.removed));
    }
    object_json
}

/// Returns the first 16 KiB of a message, cut between characters.
fn beginning(message: &str) -> &str {
    let mut end = message.len().min(MAX_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

fn add_files(fields: &mut Map<String, Value>, files: &ChangedFiles) {
    fields.insert("changed_files".into(), json!(files.paths()));
    if files.is_cut {
        fields.insert("changed_files_cut".into(), true.into());
    }
}
