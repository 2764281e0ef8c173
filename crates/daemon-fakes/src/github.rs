//! A GitHub with state: the REST API, webhooks and pages.

mod app;
mod call;
mod checks;
mod comments;
mod diff;
mod graphql;
mod hooks;
mod issues;
mod labels;
mod limits;
mod listing;
mod pages;
mod pulls;
mod refs;
mod repos;
mod reviews;
mod routes;
mod service;
mod state;
mod view;
mod webhooks;
mod workflows;

use std::io;
use std::sync::Arc;

use serde_json::Value;

use crate::clock::FakeClock;
use crate::http::{FakeServer, HttpRequest};
use call::{GithubCall, GithubCaller, GithubError};
use hooks::GithubHook;
use service::GithubService;
use state::{GithubApp, GithubInstallation, GithubRepo, GithubState, GithubToken};

pub use diff::{DiffPlace, GithubFile};
pub use hooks::GithubDelivery;
pub use refs::GithubPush;
pub use state::{
    GithubAccess, GithubAccountKind, GithubCheckRun, GithubComment, GithubIssue, GithubPull,
    GithubReview, GithubReviewComment, GithubWorkflowRun,
};
pub use webhooks::GithubWebhook;

/// GitHub's REST API on a port of loopback.
///
/// Repositories are named `owner/name`. A method that names a repository panics if it was not added.
#[derive(Debug)]
pub struct GithubApi {
    server: FakeServer,
    service: Arc<GithubService>,
}

impl GithubApi {
    /// Starts a GitHub without accounts and repositories, on a free port for port 0.
    ///
    /// # Errors
    /// The port cannot be bound.
    pub fn start(port: u16, clock: FakeClock) -> io::Result<Self> {
        let service = Arc::new(GithubService::new(clock));
        let server = FakeServer::start(port, Arc::clone(&service) as Arc<_>)?;
        service.set_base(server.base_url());
        Ok(Self { server, service })
    }

    /// Returns the HTTP side: address, received requests, faults.
    pub fn server(&self) -> &FakeServer {
        &self.server
    }

    /// Adds an account.
    pub fn add_account(&self, login: &str, kind: GithubAccountKind) {
        self.service.change(|state, _| state.add_user(login, kind));
    }

    /// Adds a token of a person, and the person.
    pub fn add_token(&self, token: &str, login: &str, access: GithubAccess) {
        self.service.change(|state, _| {
            state.add_user(login, GithubAccountKind::User);
            let entry = GithubToken {
                login: login.to_owned(),
                access,
                installation: None,
                expires_at: None,
            };
            state.tokens.insert(token.to_owned(), entry);
        });
    }

    /// Adds an empty repository with the default branch `main`, and its owner as an organization.
    pub fn add_repo(&self, full_name: &str) {
        let (owner, name) = full_name
            .split_once('/')
            .expect("a repository is named `owner/name`");
        self.service.change(|state, now| {
            state.add_user(owner, GithubAccountKind::Organization);
            let repo = GithubRepo::new(state.next_id(), owner, name, now);
            state.repos.push(repo);
        });
    }

    /// Allows an account to be assigned, to review and to edit comments of others.
    pub fn add_collaborator(&self, repo: &str, login: &str) {
        self.change_repo(repo, |repo| {
            repo.collaborators.insert(login.to_owned());
        });
    }

    /// Shows a branch as protected. Only the host decides what that means: this service receives no pushes.
    pub fn protect_branch(&self, repo: &str, branch: &str) {
        self.change_repo(repo, |repo| {
            repo.protected.insert(branch.to_owned());
        });
    }

    /// Sets the commit of a branch, or removes the branch, without an event. It has no effect on branches that are read with
    /// [`read_branches`](Self::read_branches).
    pub fn set_branch(&self, repo: &str, branch: &str, sha: Option<&str>) {
        self.change_repo(repo, |repo| {
            match sha {
                Some(sha) => repo.branches.insert(branch.to_owned(), sha.to_owned()),
                None => repo.branches.remove(branch),
            };
        });
    }

    /// Reads the branches of a repository with this function, such as from a bare repository that receives pushes. The function is
    /// called while a request is carried out and must not call this service.
    pub fn read_branches(
        &self,
        repo: &str,
        read: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) {
        self.change_repo(repo, |repo| repo.read_branch = Some(Arc::new(read)));
    }

    /// Reads the changed files of pull requests with this function of base commit and head commit. Without it a pull request has
    /// no changed files, and no line can be commented on.
    pub fn read_files(
        &self,
        repo: &str,
        read: impl Fn(&str, &str) -> Vec<GithubFile> + Send + Sync + 'static,
    ) {
        self.change_repo(repo, |repo| repo.read_files = Some(Arc::new(read)));
    }

    /// Adds a webhook with this URL and calls `send` with each event of the repository, on the thread of the request that caused
    /// it, before its response. The function returns the status of the receiver, or 0 if there was none.
    pub fn add_hook(
        &self,
        repo: &str,
        url: &str,
        send: impl Fn(&GithubWebhook) -> u16 + Send + Sync + 'static,
    ) {
        let hook = self.hook(url, send);
        self.change_repo(repo, |repo| repo.hooks.push(hook));
    }

    /// Gives the App a webhook, as [`add_hook`](Self::add_hook) does for a repository; it receives the events of all of them.
    pub fn set_app_hook(
        &self,
        url: &str,
        send: impl Fn(&GithubWebhook) -> u16 + Send + Sync + 'static,
    ) {
        let hook = self.hook(url, send);
        self.service.change(|state, _| state.app_hook = Some(hook));
    }

    fn hook(
        &self,
        url: &str,
        send: impl Fn(&GithubWebhook) -> u16 + Send + Sync + 'static,
    ) -> GithubHook {
        GithubHook {
            id: self.service.change(|state, _| state.next_id()),
            url: url.to_owned(),
            send: Arc::new(send),
            deliveries: Vec::new(),
        }
    }

    /// Makes the App known whose JSON web tokens are accepted. `verify` checks a signature from what was signed and the signature.
    pub fn set_app(
        &self,
        id: u64,
        slug: &str,
        verify: impl Fn(&[u8], &[u8]) -> bool + Send + Sync + 'static,
    ) {
        let app = GithubApp {
            id,
            slug: slug.to_owned(),
            verify: Arc::new(verify),
        };
        self.service.change(|state, _| {
            state.add_user(&app.login(), GithubAccountKind::Bot);
            state.app = Some(app);
        });
    }

    /// Adds an installation of the App for these repositories and returns its id.
    pub fn add_installation(&self, repos: &[&str]) -> u64 {
        self.service.change(|state, _| {
            let id = state.next_id();
            let repos = repos.iter().map(|&repo| repo.to_owned()).collect();
            state.installations.push(GithubInstallation { id, repos });
            id
        })
    }

    /// Sets how many requests an hour are served; further ones get 403 with the time at which the hour ends.
    pub fn set_hourly_limit(&self, limit: u64) {
        self.service.change(|state, _| state.limit.limit = limit);
    }

    /// Adds a run of a workflow.
    pub fn add_workflow_run(&self, repo: &str, run: GithubWorkflowRun) {
        self.change_repo(repo, |repo| repo.workflow_runs.push(run));
    }

    /// Ends a run of a workflow that this account started, with all of its jobs, and sends the events of it.
    pub fn end_workflow_run(&self, repo: &str, login: &str, id: u64, conclusion: &str) {
        self.outside(repo, login, |call| workflows::end(call, id, conclusion));
    }

    /// Sends the events of a push that happened outside, such as to a bare repository.
    pub fn pushed(&self, repo: &str, login: &str, push: GithubPush) {
        self.outside(repo, login, |call| refs::announce(call, push));
    }

    /// Changes a repository without a request, as an account, and sends the events of it.
    fn outside(
        &self,
        repo: &str,
        login: &str,
        change: impl FnOnce(&mut GithubCall<'_>) -> Result<(), GithubError>,
    ) {
        let (owner, name) = repo.split_once('/').unwrap_or_default();
        let params = vec![("o", owner.to_owned()), ("r", name.to_owned())];
        let caller = GithubCaller {
            login: login.to_owned(),
            installation: None,
        };
        let request = HttpRequest::default();
        let changed = self.service.call(&request, caller, params, change);
        changed.expect("what it names was added before");
    }

    /// Carries out a request as this account without HTTP, as a person does in the browser. Returns status and body.
    pub fn act(&self, login: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = HttpRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            body: body.to_string().into_bytes(),
            ..HttpRequest::default()
        };
        let caller = GithubCaller {
            login: login.to_owned(),
            installation: None,
        };
        let response = self.service.carry_out(&request, caller);
        let body = serde_json::from_slice(&response.body).unwrap_or_default();
        (response.status, body)
    }

    /// Returns the issues and pull requests of a repository, by number.
    pub fn issues(&self, repo: &str) -> Vec<GithubIssue> {
        self.change_repo(repo, |repo| {
            repo.refresh_heads();
            repo.issues.clone()
        })
    }

    /// Returns the comments of a repository, the oldest first.
    pub fn comments(&self, repo: &str) -> Vec<GithubComment> {
        self.change_repo(repo, |repo| repo.comments.clone())
    }

    /// Returns the reviews of a repository, the oldest first.
    pub fn reviews(&self, repo: &str) -> Vec<GithubReview> {
        self.change_repo(repo, |repo| repo.reviews.clone())
    }

    /// Returns the review comments of a repository, the oldest first.
    pub fn review_comments(&self, repo: &str) -> Vec<GithubReviewComment> {
        self.change_repo(repo, |repo| repo.review_comments.clone())
    }

    /// Returns the check runs of a repository, the oldest first.
    pub fn check_runs(&self, repo: &str) -> Vec<GithubCheckRun> {
        self.change_repo(repo, |repo| repo.check_runs.clone())
    }

    /// Returns the runs of workflows of a repository.
    pub fn workflow_runs(&self, repo: &str) -> Vec<GithubWorkflowRun> {
        self.change_repo(repo, |repo| repo.workflow_runs.clone())
    }

    /// Returns what was delivered to the webhooks of a repository.
    pub fn deliveries(&self, repo: &str) -> Vec<GithubDelivery> {
        self.change_repo(repo, |repo| {
            let hooks = repo.hooks.iter();
            hooks.flat_map(|hook| hook.deliveries.clone()).collect()
        })
    }

    fn change_repo<T>(&self, full_name: &str, change: impl FnOnce(&mut GithubRepo) -> T) -> T {
        self.service
            .change(|state, _| change(repo_mut(state, full_name)))
    }
}

fn repo_mut<'s>(state: &'s mut GithubState, full_name: &str) -> &'s mut GithubRepo {
    let (owner, name) = full_name.split_once('/').unwrap_or_default();
    let at = state.repo_at(owner, name);
    let repo = at.and_then(|at| state.repos.get_mut(at));
    repo.expect("the repository was added before")
}
