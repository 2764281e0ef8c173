//! Moves of refs as events.

use std::fmt::Write as _;

use daemon_event::{DeliveryId, Enrichment, Event, EventId, MalformedPayload, Source};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::error::{GitError, Problem};
use crate::history::{ChangedFiles, Commit, MergeDiff};
use crate::mark::Mark;
use crate::object::{ObjectFormat, ObjectId, RefName};
use crate::refs::{RefMove, Step};
use crate::repository::Repository;

/// The most bytes of one commit message in a payload.
const MAX_MESSAGE: usize = 16 << 10;
/// The most bytes of a repository's name in a delivery id, which holds 512 in all.
const MAX_REPO: usize = 160;
/// The most bytes of a ref in a delivery id.
const MAX_REF: usize = 240;

/// One event of a repository, before it has an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitEvent {
    /// `push`, `create`, `delete` or `merge`.
    pub kind: &'static str,
    /// `git:<repo>:<ref>:<n>`, with `:<commit>` for a merge and `:push` for the push that creates a ref.
    pub delivery: DeliveryId,
    /// The daemon whose commit the ref names afterwards, if its committer is that daemon.
    pub origin: Option<Mark>,
    /// The payload: the fields of GitHub's webhook of that kind, and `changed_files`.
    pub body: Vec<u8>,
}

impl GitEvent {
    /// Types the payload as an event.
    ///
    /// # Errors
    /// [`MalformedPayload`] when the vocabulary expects another shape of the payload.
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
    /// Returns the events of one move of a ref: a push or deletion and one for each merge it brought, or a creation and its
    /// push. `default_branch` is the default branch and the commit it is at.
    ///
    /// The push of a created ref has the commits that the default branch lacks, so that conditions on pushes meet it as they
    /// meet the webhook's. The answer depends on the move, the default branch and the objects only, so that the same move
    /// read again after a crash gives the same events under the same delivery ids. Objects that are gone leave fields out;
    /// they lose no event.
    ///
    /// # Errors
    /// [`GitError`] when git does not run.
    pub fn events_of(
        &self,
        ref_move: &RefMove,
        default_branch: (&RefName, &ObjectId),
    ) -> Result<Vec<GitEvent>, GitError> {
        let telling = Telling {
            repository: self,
            ref_move,
            default_branch: default_branch.0,
            default_tip: default_branch.1,
        };
        match &ref_move.step {
            Step::Created { after } => telling.created(after),
            Step::Deleted { .. } => Ok(vec![telling.event("delete", Map::new(), None)]),
            Step::Moved { before, after } => telling.moved(before, after),
        }
    }
}

struct Telling<'a> {
    repository: &'a Repository,
    ref_move: &'a RefMove,
    default_branch: &'a RefName,
    default_tip: &'a ObjectId,
}

impl Telling<'_> {
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
        push.delivery = self.delivery(":push");
        Ok(vec![create, push])
    }

    /// Adds the commits that `after` has and `before` has not, oldest first.
    fn add_commits(
        &self,
        fields: &mut Map<String, Value>,
        before: &ObjectId,
        after: &ObjectId,
    ) -> Result<(), GitError> {
        let commits = self.repository.commits_between(before, after)?;
        let changes = self.repository.changes_of(&commits, MergeDiff::Nothing)?;
        let told = commits
            .iter()
            .rev()
            .map(|commit| commit_json(commit, changes.get(&commit.id)));
        fields.insert("commits".into(), told.collect());
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

    fn merge(&self, commit: &Commit, files: Option<&ChangedFiles>) -> GitEvent {
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
        event.delivery = self.delivery(&format!(":{}", commit.id));
        event
    }

    /// Fills in what every payload has; `fields` win.
    fn event(
        &self,
        kind: &'static str,
        fields: Map<String, Value>,
        tip: Option<&Commit>,
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
        if let Some(Mark {
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

    /// Turns "not there" into `None`: objects of a moved ref can be gone before it is told.
    fn present(&self, found: Result<ObjectId, GitError>) -> Result<Option<ObjectId>, GitError> {
        match found {
            Ok(id) => Ok(Some(id)),
            Err(error) if matches!(error.problem(), Problem::MissingRef { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The text as it stands, but for what a delivery id cannot hold, which is percent-encoded; a very long text becomes its hash.
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

/// The daemon that made the commit, if it also committed it.
fn origin_of(commit: &Commit) -> Option<Mark> {
    Mark::in_message(&commit.message).filter(|mark| mark.is_committed_by(&commit.committer.email))
}

fn commit_json(commit: &Commit, files: Option<&ChangedFiles>) -> Value {
    let Commit {
        author,
        committer,
        message,
        ..
    } = commit;
    let mut told = json!({
        "id": commit.id.as_str(),
        "message": beginning(message).trim_end(),
        "author": {"name": author.name, "email": author.email},
        "committer": {"name": committer.name, "email": committer.email},
        "parents": commit.parents.iter().map(ObjectId::as_str).collect::<Value>(),
    });
    let object = told.as_object_mut().expect("an object was just written");
    if let Some(at) = commit.committed_at {
        object.insert("timestamp".into(), at.to_string().into());
    }
    if let Some(files) = files {
        object.insert("added".into(), json!(files.added));
        object.insert("modified".into(), json!(files.modified));
        object.insert("removed".into(), json!(files.removed));
    }
    told
}

/// The first 16 KiB of a message, cut between characters.
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
