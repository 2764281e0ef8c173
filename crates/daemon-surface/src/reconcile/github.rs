//! GitHub: failed deliveries of webhooks, then refs and pull requests.

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use daemon_engine::proposal::GithubName;
use daemon_engine::{Comparison, FactError, FactErrorKind, ReconcilePlace, Reconciler};
use daemon_event::{RepoName, Source};

use super::deliveries::{self, Hooks};
use super::objects::{self, Tags};
use crate::api::{Credentials, ServiceApi};

/// The name of the place for the deliveries of a GitHub App.
const APP: &str = "github-deliveries/app";
/// The beginning of the places for the deliveries of a repository's webhooks.
const DELIVERIES: &str = "github-deliveries/";
/// The beginning of the places for refs and pull requests.
const OBJECTS: &str = "github-objects/";

/// Who reads the refs of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefReading {
    /// The host fetches them with git, so that they are not compared.
    Git,
    /// They are read from the API.
    Api,
}

/// Compares GitHub with the webhooks that came from it.
#[derive(Debug)]
pub struct GithubReconciler {
    api: ServiceApi,
    repos: Vec<(GithubName, RefReading)>,
    /// What the last comparison of a place saw, for conditional requests.
    tags: Mutex<BTreeMap<String, Tags>>,
    hooks: Mutex<BTreeMap<String, Hooks>>,
}

impl GithubReconciler {
    /// Makes the reconciler of some repositories.
    pub fn new(api: ServiceApi, repos: Vec<(GithubName, RefReading)>) -> Self {
        Self {
            api,
            repos,
            tags: Mutex::default(),
            hooks: Mutex::default(),
        }
    }

    fn repo(&self, name: &str) -> Option<&(GithubName, RefReading)> {
        self.repos.iter().find(|(repo, _)| repo.to_string() == name)
    }

    async fn deliveries(
        &self,
        repo: Option<&GithubName>,
        (place, cursor): (&str, Option<&str>),
    ) -> Result<Comparison, FactError> {
        let known = self.hooks.lock().expect("no holder panics").remove(place);
        let mut hooks = known.unwrap_or_default();
        let compared = deliveries::compare(&self.api, repo, (&mut hooks, cursor)).await;
        let mut known = self.hooks.lock().expect("no holder panics");
        known.insert(place.to_owned(), hooks);
        compared
    }

    async fn objects(
        &self,
        (repo, reading): &(GithubName, RefReading),
        (place, cursor): (&str, Option<&str>),
    ) -> Result<Comparison, FactError> {
        let known = self.tags.lock().expect("no holder panics").remove(place);
        let mut tags = known.filter(|tags| tags.are_of(cursor)).unwrap_or_default();
        let about = (repo, *reading);
        let compared = objects::compare(&self.api, about, (&mut tags, cursor)).await?;
        tags.set_cursor(compared.cursor.as_deref().or(cursor));
        let mut known = self.tags.lock().expect("no holder panics");
        known.insert(place.to_owned(), tags);
        Ok(compared)
    }
}

#[async_trait]
impl Reconciler for GithubReconciler {
    fn source(&self) -> Source {
        Source::Github
    }

    fn places(&self) -> Vec<ReconcilePlace> {
        let place = |prefix: &str, repo: &GithubName| ReconcilePlace {
            name: format!("{prefix}{repo}"),
            repo: repo.to_string().parse::<RepoName>().ok(),
        };
        let repos = || self.repos.iter().map(|(repo, _)| repo);
        // An App has one webhook for all its repositories.
        let mut places: Vec<ReconcilePlace> = match self.api.credentials() {
            Credentials::App(_) => vec![ReconcilePlace {
                name: APP.to_owned(),
                repo: None,
            }],
            Credentials::Token(_) => repos().map(|repo| place(DELIVERIES, repo)).collect(),
        };
        places.extend(repos().map(|repo| place(OBJECTS, repo)));
        places
    }

    async fn compare(
        &self,
        place: &ReconcilePlace,
        cursor: Option<&str>,
    ) -> Result<Comparison, FactError> {
        // What is left belongs to outputs and facts.
        if !self.api.has_spare() {
            let why = "less than a quarter of the requests of its limit is left";
            return Err(FactError::new(FactErrorKind::Retryable, why).of("GitHub"));
        }
        let name = place.name.as_str();
        let compared = if name == APP {
            self.deliveries(None, (name, cursor)).await
        } else if let Some(repo) = name.strip_prefix(OBJECTS).and_then(|name| self.repo(name)) {
            self.objects(repo, (name, cursor)).await
        } else if let Some((repo, _)) = name
            .strip_prefix(DELIVERIES)
            .and_then(|name| self.repo(name))
        {
            self.deliveries(Some(repo), (name, cursor)).await
        } else {
            let why = format!("`{name}` is not compared");
            return Err(FactError::new(FactErrorKind::Final, why));
        };
        compared.map_err(|error| error.of("GitHub"))
    }
}
