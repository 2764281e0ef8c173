//! What the fake GitHub stores.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::diff::{DiffPlace, GithubFile};
use super::hooks::GithubHook;
use super::limits::HourlyLimit;
use super::webhooks::{GithubEvent, GithubWebhook};

/// An issue, or a pull request if `pull` is set; both are numbered together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubIssue {
    /// The id, unique among all objects.
    pub id: u64,
    /// The number in its repository.
    pub number: u64,
    /// The title.
    pub title: String,
    /// The body.
    pub body: Option<String>,
    /// The login of its author.
    pub author: String,
    /// Whether it is open.
    pub is_open: bool,
    /// The names of its labels, in the order they were added.
    pub labels: Vec<String>,
    /// The logins of its assignees.
    pub assignees: Vec<String>,
    /// When it was created, since the Unix epoch.
    pub created_at: Duration,
    /// When it or a comment on it changed.
    pub updated_at: Duration,
    /// When it was closed.
    pub closed_at: Option<Duration>,
    /// The login of who closed it last.
    pub closed_by: Option<String>,
    /// What only a pull request has.
    pub pull: Option<GithubPull>,
}

/// What a pull request has in addition to an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubPull {
    /// The branch with the changes.
    pub head: String,
    /// The commit of that branch; of the last moment at which the branch existed and the pull request was open.
    pub head_sha: String,
    /// The branch to merge into.
    pub base: String,
    /// The commit of the base when the pull request was opened.
    pub base_sha: String,
    /// Whether it is a draft.
    pub is_draft: bool,
    /// When it was merged, and the commit of the merge.
    pub merged: Option<(Duration, String)>,
    /// The logins of the requested reviewers.
    pub reviewers: Vec<String>,
}

/// A comment on an issue or a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubComment {
    /// The id.
    pub id: u64,
    /// The number of the issue.
    pub issue: u64,
    /// The login of its author.
    pub author: String,
    /// The body.
    pub body: String,
    /// When it was created.
    pub created_at: Duration,
    /// When it was edited last.
    pub updated_at: Duration,
}

/// A review of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubReview {
    /// The id.
    pub id: u64,
    /// The number of the pull request.
    pub pull: u64,
    /// The login of its author.
    pub author: String,
    /// The body; may be empty.
    pub body: String,
    /// `COMMENTED`, `CHANGES_REQUESTED`, `APPROVED` or `PENDING`.
    pub state: String,
    /// The commit that was reviewed.
    pub commit: String,
    /// When it was submitted.
    pub submitted_at: Duration,
}

/// A comment on lines of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GithubReviewComment {
    /// The id.
    pub id: u64,
    /// The number of the pull request.
    pub pull: u64,
    /// The review it is part of.
    pub review: Option<u64>,
    /// The comment it replies to.
    pub reply_to: Option<u64>,
    /// The login of its author.
    pub author: String,
    /// The body.
    pub body: String,
    /// The commit.
    pub commit: String,
    /// The lines.
    pub place: DiffPlace,
    /// When it was created.
    pub created_at: Duration,
    /// When it was edited last.
    pub updated_at: Duration,
}

/// A check run.
#[derive(Debug, Clone, PartialEq)]
pub struct GithubCheckRun {
    /// The id.
    pub id: u64,
    /// The name.
    pub name: String,
    /// The commit.
    pub head_sha: String,
    /// The slug of the App that created it.
    pub app: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    /// How it ended.
    pub conclusion: Option<String>,
    /// The id that the App gave it.
    pub external_id: Option<String>,
    /// The title of its output.
    pub title: Option<String>,
    /// The summary of its output.
    pub summary: Option<String>,
    /// The annotations, as they were sent.
    pub annotations: Vec<Value>,
    /// When it was created.
    pub started_at: Duration,
    /// When it ended.
    pub completed_at: Option<Duration>,
}

/// A run of a workflow, which can be started again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GithubWorkflowRun {
    /// The id.
    pub id: u64,
    /// The name of the workflow.
    pub name: String,
    /// The branch.
    pub head_branch: String,
    /// The commit.
    pub head_sha: String,
    /// How it ended; `None` while it runs.
    pub conclusion: Option<String>,
    /// The number of the attempt.
    pub attempt: u32,
    /// The ids of its jobs.
    pub jobs: Vec<u64>,
    /// When its newest attempt began, since the epoch; `None` if payloads do not say it.
    pub begun_at: Option<Duration>,
}

/// Whether an account is a person or an App.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GithubAccountKind {
    /// A person.
    User,
    /// The account of an App, `slug[bot]`.
    Bot,
    /// An owner of repositories that is not a person.
    Organization,
}

#[derive(Debug, Clone)]
pub(crate) struct GithubUser {
    pub(crate) id: u64,
    pub(crate) login: String,
    pub(crate) kind: GithubAccountKind,
}

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GithubAccess {
    /// Reading only; writes get 403.
    Read,
    /// Reading and writing.
    Write,
}

#[derive(Debug, Clone)]
pub(crate) struct GithubToken {
    pub(crate) login: String,
    pub(crate) access: GithubAccess,
    /// The installation of an App that it was made for, and the repositories it may reach.
    pub(crate) installation: Option<GithubInstallation>,
    pub(crate) expires_at: Option<Duration>,
}

#[derive(Debug, Clone)]
pub(crate) struct GithubInstallation {
    pub(crate) id: u64,
    pub(crate) repos: Vec<String>,
}

/// Checks a signature: what was signed, and the signature.
pub(crate) type VerifySignature = Arc<dyn Fn(&[u8], &[u8]) -> bool + Send + Sync>;

/// A GitHub App.
#[derive(Clone)]
pub(crate) struct GithubApp {
    pub(crate) id: u64,
    pub(crate) slug: String,
    pub(crate) verify: VerifySignature,
}

impl fmt::Debug for GithubApp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubApp")
            .field("id", &self.id)
            .field("slug", &self.slug)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct GithubLabel {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) color: String,
}

/// Returns the commit of a branch.
pub(crate) type ReadBranch = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Returns the changed files between two commits.
pub(crate) type ReadFiles = Arc<dyn Fn(&str, &str) -> Vec<GithubFile> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct GithubRepo {
    pub(crate) id: u64,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) default_branch: String,
    pub(crate) branches: BTreeMap<String, String>,
    pub(crate) protected: BTreeSet<String>,
    pub(crate) read_branch: Option<ReadBranch>,
    pub(crate) read_files: Option<ReadFiles>,
    pub(crate) collaborators: BTreeSet<String>,
    pub(crate) labels: Vec<GithubLabel>,
    pub(crate) issues: Vec<GithubIssue>,
    pub(crate) comments: Vec<GithubComment>,
    pub(crate) reviews: Vec<GithubReview>,
    pub(crate) review_comments: Vec<GithubReviewComment>,
    pub(crate) check_runs: Vec<GithubCheckRun>,
    pub(crate) workflow_runs: Vec<GithubWorkflowRun>,
    pub(crate) hooks: Vec<GithubHook>,
    pub(crate) created_at: Duration,
    /// When a branch moved last.
    pub(crate) pushed_at: Duration,
}

impl fmt::Debug for GithubRepo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GithubRepo")
            .field("full_name", &self.full_name())
            .finish_non_exhaustive()
    }
}

impl GithubState {
    /// Returns every webhook, that of the App last.
    pub(crate) fn hooks(&self) -> impl Iterator<Item = &GithubHook> {
        let of_repos = self.repos.iter().flat_map(|repo| &repo.hooks);
        of_repos.chain(&self.app_hook)
    }

    /// Returns a webhook.
    pub(crate) fn hook_mut(&mut self, id: u64) -> Option<&mut GithubHook> {
        let of_repos = self.repos.iter_mut().flat_map(|repo| &mut repo.hooks);
        of_repos
            .chain(&mut self.app_hook)
            .find(|hook| hook.id == id)
    }
}

impl GithubRepo {
    pub(crate) fn new(id: u64, owner: &str, name: &str, now: Duration) -> Self {
        Self {
            id,
            owner: owner.to_owned(),
            name: name.to_owned(),
            default_branch: "main".to_owned(),
            branches: BTreeMap::new(),
            protected: BTreeSet::new(),
            read_branch: None,
            read_files: None,
            collaborators: BTreeSet::new(),
            labels: Vec::new(),
            issues: Vec::new(),
            comments: Vec::new(),
            reviews: Vec::new(),
            review_comments: Vec::new(),
            check_runs: Vec::new(),
            workflow_runs: Vec::new(),
            hooks: Vec::new(),
            created_at: now,
            pushed_at: now,
        }
    }

    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }

    /// Returns the commit of a branch: what the repository on disk has, if there is one, else what the test set.
    pub(crate) fn branch(&self, name: &str) -> Option<String> {
        match &self.read_branch {
            Some(read) => read(name),
            None => self.branches.get(name).cloned(),
        }
    }

    pub(crate) fn issue(&self, number: u64) -> Option<&GithubIssue> {
        self.issues.iter().find(|issue| issue.number == number)
    }

    pub(crate) fn is_collaborator(&self, login: &str) -> bool {
        self.owner.eq_ignore_ascii_case(login)
            || self
                .collaborators
                .iter()
                .any(|it| it.eq_ignore_ascii_case(login))
    }

    /// Reads the branches of open pull requests again, so that a push is visible.
    pub(crate) fn refresh_heads(&mut self) {
        for at in 0..self.issues.len() {
            let issue = &self.issues[at];
            let Some(pull) = issue.pull.as_ref().filter(|_| issue.is_open) else {
                continue;
            };
            let sha = self.branch(&pull.head);
            if let (Some(sha), Some(pull)) = (sha, self.issues[at].pull.as_mut()) {
                pull.head_sha = sha;
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct GithubState {
    pub(crate) users: BTreeMap<String, GithubUser>,
    pub(crate) tokens: BTreeMap<String, GithubToken>,
    pub(crate) repos: Vec<GithubRepo>,
    pub(crate) app: Option<GithubApp>,
    /// The webhook of the App, for the events of every repository.
    pub(crate) app_hook: Option<GithubHook>,
    pub(crate) installations: Vec<GithubInstallation>,
    pub(crate) events: Vec<GithubEvent>,
    /// Deliveries that are to be sent again: the hook and what it gets.
    pub(crate) redeliveries: Vec<(u64, GithubWebhook)>,
    pub(crate) last_id: u64,
    pub(crate) limit: HourlyLimit,
}

impl GithubState {
    pub(crate) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        // Ids of the real service do not fit into 32 bits; a client that cuts them must fail here.
        self.last_id + 5_000_000_000
    }

    /// Returns the index of a repository; names are compared without case.
    pub(crate) fn repo_at(&self, owner: &str, name: &str) -> Option<usize> {
        self.repos.iter().position(|repo| {
            repo.owner.eq_ignore_ascii_case(owner) && repo.name.eq_ignore_ascii_case(name)
        })
    }

    /// Returns the account with this login, in the case in which it was added.
    pub(crate) fn user(&self, login: &str) -> Option<&GithubUser> {
        self.users.get(&login.to_ascii_lowercase())
    }

    pub(crate) fn add_user(&mut self, login: &str, kind: GithubAccountKind) {
        if self.user(login).is_none() {
            let user = GithubUser {
                id: self.next_id(),
                login: login.to_owned(),
                kind,
            };
            self.users.insert(login.to_ascii_lowercase(), user);
        }
    }
}
