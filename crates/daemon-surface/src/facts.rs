//! Facts that payloads lack, as the services tell them.

use async_trait::async_trait;
use daemon_engine::{Fact, FactError, FactErrorKind, Facts};
use daemon_event::{Event, Need, Source};

/// The services that may be asked.
#[derive(Debug, Default)]
pub struct ServiceFacts {}

#[async_trait]
impl Facts for ServiceFacts {
    async fn fetch(&self, need: &Need, event: &Event) -> Result<Fact, FactError> {
        match (event.source, need) {
            (Source::Github, Need::ChangedFiles | Need::PullRequests) => {
                Err(unset("GitHub", "sources.github.token_file"))
            }
            (Source::Slack, Need::ChannelName) => Err(unset("Slack", "sources.slack.token_file")),
            _ => Err(no_such_fact(*need, event)),
        }
    }
}

/// A token may be configured within the day, and local git may have the commits then.
fn unset(service: &str, key: &str) -> FactError {
    let message = format!("{service}'s API is not asked: {key} is not set");
    FactError::new(FactErrorKind::Retryable, message)
}

fn no_such_fact(need: Need, event: &Event) -> FactError {
    let message = format!(
        "the API of {} is not asked for the {need} of a `{}`",
        event.source, event.kind
    );
    FactError::new(FactErrorKind::Final, message)
}
