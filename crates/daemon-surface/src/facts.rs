//! Facts that are missing in payloads, fetched from the APIs of services.

mod github;
mod slack;

use async_trait::async_trait;
use daemon_engine::{Fact, FactError, FactErrorKind, Facts};
use daemon_event::{Event, Need, Source};

use crate::api::ServiceApi;

/// The APIs that facts are fetched from; a service that is `None` gets no request.
#[derive(Clone, Debug, Default)]
pub struct ServiceFacts {
    /// The REST API of GitHub, or of a GitHub Enterprise server.
    pub github: Option<ServiceApi>,
    /// The Web API of Slack.
    pub slack: Option<ServiceApi>,
}

#[async_trait]
impl Facts for ServiceFacts {
    async fn fetch(&self, need: &Need, event: &Event) -> Result<Fact, FactError> {
        let (service, fetched) = match (event.source, need) {
            (Source::Github, Need::ChangedFiles | Need::PullRequests) => match &self.github {
                Some(api) => ("GitHub", github::fetch(api, *need, event).await),
                None => return Err(unset("GitHub", "github")),
            },
            (Source::Slack, Need::ChannelName) => match &self.slack {
                Some(api) => ("Slack", slack::fetch(api, *need, event).await),
                None => return Err(unset("Slack", "slack")),
            },
            _ => return Err(no_such_fact(*need, event)),
        };
        fetched.map_err(|error| error.of(service))
    }
}

fn unset(service: &str, name: &str) -> FactError {
    let message = format!("{service}'s API is not asked: sources.{name}.token_file is not set");
    // Not final: within the day that a fact is tried, a token may be configured, or local git may get the commits.
    FactError::new(FactErrorKind::Retryable, message)
}

fn no_such_fact(need: Need, event: &Event) -> FactError {
    let message = format!(
        "nobody tells the {need} of `{}` events of {}",
        event.kind, event.source
    );
    FactError::new(FactErrorKind::Final, message)
}
