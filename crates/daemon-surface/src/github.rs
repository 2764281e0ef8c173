//! The surface `github`: comments, reviews, pull requests, issues, labels, assignees and checks.

mod checks;
mod comments;
mod examine;
mod issues;
mod people;
mod pulls;
mod reviews;
mod rows;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_engine::proposal::{Act, GithubName, OutputTarget, OutputVerb};
use daemon_engine::{
    Found, Output, PlaceReport, RemoteId, Surface, SurfaceError, SurfaceErrorKind,
};
use serde_json::json;

use crate::act::{ActContent, own_output};
use crate::api::{ApiError, Credentials, RequestEffect, ServiceApi};
use crate::look_up::looked_up;
use crate::text::{MAX_TEXT, OutputMark};

/// The name of this surface in outputs.
pub const GITHUB: &str = "github";

/// Delivers outputs to GitHub.
#[derive(Debug)]
pub struct GithubSurface {
    api: ServiceApi,
    repos: Vec<GithubName>,
    /// The login as which outputs are written, once it is known.
    actor: Mutex<Option<Arc<str>>>,
}

impl GithubSurface {
    /// Makes the surface; `repos` are examined for `doctor`.
    pub fn new(api: ServiceApi, repos: Vec<GithubName>) -> Self {
        Self {
            api,
            repos,
            actor: Mutex::new(None),
        }
    }

    /// Reports whether the pull request that an output opened is open; `None` if it opened none.
    ///
    /// # Errors
    /// The service cannot be asked.
    pub async fn is_open(&self, opened: &Output) -> Result<Option<bool>, SurfaceError> {
        let own = own_output(opened).and_then(|own| own.made);
        let Some(OutputTarget::GithubNumber(repo, number)) = own else {
            return Ok(None);
        };
        let is_open = pulls::is_open(&self.api, &repo, &number.to_string()).await;
        is_open
            .map(Some)
            .map_err(|error| SurfaceError::from(error).of("GitHub"))
    }

    /// Returns the login as which outputs are written.
    async fn actor(&self) -> Result<Arc<str>, ApiError> {
        if let Some(known) = self.actor.lock().expect("no holder panics").clone() {
            return Ok(known);
        }
        let login: Arc<str> = match self.api.credentials() {
            Credentials::Token(_) => self.login().await?.into(),
            Credentials::App(_) => {
                let row: rows::AppRow = self.api.get(&["app"], &[]).await?.json()?;
                format!("{}[bot]", row.slug).into()
            }
        };
        *self.actor.lock().expect("no holder panics") = Some(Arc::clone(&login));
        Ok(login)
    }

    /// Returns the login of the token.
    async fn login(&self) -> Result<String, ApiError> {
        match self.api.get(&["user"], &[]).await {
            // The token of an installation, as workflows of GitHub Actions have it, may not read `/user`.
            Err(error) if error.is_forbidden() => {
                let query = json!({"query": "query { viewer { login } }"});
                let answer = self.api.query(&["graphql"], &query).await?;
                let row: rows::ViewerAnswer = answer.json()?;
                // Without a viewer the response has only errors; the refusal says which permission is missing.
                Ok(row.data.ok_or(error)?.viewer.login)
            }
            answer => Ok(answer?.json::<rows::UserRow>()?.login),
        }
    }
}

#[async_trait]
impl Surface for GithubSurface {
    fn name(&self) -> &str {
        GITHUB
    }

    async fn find(&self, output: &Output) -> Result<Found, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        looked_up(job.find().await, output, &self.api).map_err(|error| error.of("GitHub"))
    }

    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        job.deliver()
            .await
            .map_err(|error| SurfaceError::from(error).of("GitHub"))
    }

    async fn account(&self) -> Result<Option<String>, SurfaceError> {
        let known = self.actor().await.map(|login| Some(login.to_string()));
        known.map_err(|error| SurfaceError::from(error).of("GitHub"))
    }

    async fn examine(&self) -> Vec<PlaceReport> {
        examine::examine(self).await
    }
}

/// One output on its way to GitHub.
struct Job<'a> {
    surface: &'a GithubSurface,
    api: &'a ServiceApi,
    output: &'a Output,
    content: &'a ActContent,
    act: &'a Act,
    repo: &'a GithubName,
    /// The number of the issue or pull request in the target, else the commit, else empty.
    object: String,
    mark: OutputMark,
}

impl<'a> Job<'a> {
    fn new(
        surface: &'a GithubSurface,
        output: &'a Output,
        content: &'a ActContent,
        act: &'a Act,
    ) -> Result<Self, SurfaceError> {
        let (repo, object) = match &act.target {
            Some(OutputTarget::GithubRepo(repo)) => (repo, String::new()),
            Some(OutputTarget::GithubNumber(repo, number)) => (repo, number.to_string()),
            Some(OutputTarget::GithubCommit(repo, commit)) => (repo, commit.to_string()),
            _ => {
                let why = format!("`{}` is not on GitHub", output.target);
                return Err(SurfaceError::new(SurfaceErrorKind::Refused, why));
            }
        };
        Ok(Self {
            surface,
            api: &surface.api,
            output,
            content,
            act,
            repo,
            object,
            mark: OutputMark::of(output),
        })
    }

    async fn find(&self) -> Result<Found, ApiError> {
        match self.act.verb {
            OutputVerb::Comment | OutputVerb::EditComment => comments::find(self).await,
            OutputVerb::Review => reviews::find(self).await,
            OutputVerb::ReviewComment => reviews::find_comment(self).await,
            OutputVerb::OpenPullRequest => pulls::find(self).await,
            OutputVerb::EditPullRequest => pulls::find_edit(self).await,
            OutputVerb::OpenIssue => issues::find(self).await,
            OutputVerb::Label => issues::find_labels(self).await,
            OutputVerb::Assign => people::find(self).await,
            OutputVerb::CheckRun => checks::find(self).await,
            OutputVerb::RetryCheck => checks::find_retry(self).await,
            _ => Err(self.unserved()),
        }
    }

    async fn deliver(&self) -> Result<RemoteId, ApiError> {
        match self.act.verb {
            OutputVerb::Comment => comments::deliver(self).await,
            OutputVerb::EditComment => comments::edit(self).await,
            OutputVerb::Review => reviews::deliver(self).await,
            OutputVerb::ReviewComment => reviews::deliver_comment(self).await,
            OutputVerb::OpenPullRequest => pulls::deliver(self).await,
            OutputVerb::EditPullRequest => pulls::edit(self).await,
            OutputVerb::OpenIssue => issues::deliver(self).await,
            OutputVerb::Label => issues::label(self).await,
            OutputVerb::Assign => people::deliver(self).await,
            OutputVerb::CheckRun => checks::deliver(self).await,
            OutputVerb::RetryCheck => checks::retry(self).await,
            _ => Err(self.unserved()),
        }
    }

    fn unserved(&self) -> ApiError {
        refused(format!("`{}` is not served here", self.act.verb))
    }

    /// Returns the path of something in the repository.
    fn path<'p>(&'p self, below: &[&'p str]) -> Vec<&'p str> {
        [&["repos", self.repo.owner(), self.repo.name()], below].concat()
    }

    /// Returns a field of text; empty if it is absent.
    fn text(&self, name: &str) -> &str {
        self.act.fields.text(name).unwrap_or_default()
    }

    /// Returns the text of a field with marker and footer.
    fn body(&self, name: &str) -> String {
        self.mark.around(self.text(name), MAX_TEXT)
    }

    /// Returns the number in a remote id of a kind: 991 of `comment:991`.
    fn edited(&self, kind: &str) -> Option<&str> {
        let id = self
            .content
            .edits
            .as_deref()?
            .strip_prefix(kind)?
            .strip_prefix(':')?;
        let is_number = !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        is_number.then_some(id)
    }
}

/// The error for an output that GitHub would not accept, without a request.
fn refused(why: impl Into<String>) -> ApiError {
    ApiError::refused(RequestEffect::None, why)
}
