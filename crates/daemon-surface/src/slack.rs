//! The surface `slack`: messages to channels and replies in threads.

mod call;
mod messages;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use daemon_engine::proposal::{Act, OutputTarget};
use daemon_engine::{
    Found, Output, PlaceCondition, PlaceReport, RemoteId, Surface, SurfaceError, SurfaceErrorKind,
};
use serde::Deserialize;

use crate::act::ActContent;
use crate::api::{ApiError, ServiceApi};
use crate::look_up::looked_up;
use crate::text::OutputMark;

pub(crate) use call::failed;

/// The name of this surface in outputs.
pub const SLACK: &str = "slack";

/// The scopes of a token without which an output cannot be read back.
const HISTORY: &str = "channels:history";

/// Delivers outputs to Slack.
#[derive(Debug)]
pub struct SlackSurface {
    api: ServiceApi,
    /// The account, once it is known.
    account: Mutex<Option<Arc<Account>>>,
}

/// The account of a token.
#[derive(Debug, Deserialize)]
struct Account {
    user: Option<String>,
    user_id: String,
    bot_id: Option<String>,
    /// The address of the workspace, with a slash at the end.
    url: Option<String>,
    #[serde(skip)]
    scopes: Option<String>,
}

impl SlackSurface {
    /// Makes the surface.
    pub fn new(api: ServiceApi) -> Self {
        Self {
            api,
            account: Mutex::new(None),
        }
    }

    async fn account(&self) -> Result<Arc<Account>, ApiError> {
        if let Some(known) = self.account.lock().expect("no holder panics").clone() {
            return Ok(known);
        }
        let answer = self.api.get(&["auth.test"], &[]).await?;
        let mut account: Account = call::read(&self.api, &answer)?;
        account.scopes = answer.header("x-oauth-scopes").map(str::to_owned);
        let account = Arc::new(account);
        *self.account.lock().expect("no holder panics") = Some(Arc::clone(&account));
        Ok(account)
    }
}

#[async_trait]
impl Surface for SlackSurface {
    fn name(&self) -> &str {
        SLACK
    }

    async fn find(&self, output: &Output) -> Result<Found, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        looked_up(messages::find(&job).await, output, &self.api).map_err(|error| error.of("Slack"))
    }

    async fn deliver(&self, output: &Output) -> Result<RemoteId, SurfaceError> {
        let (content, act) = ActContent::read(output)?;
        let job = Job::new(self, output, &content, &act)?;
        let delivered = messages::deliver(&job).await;
        delivered.map_err(|error| SurfaceError::from(error).of("Slack"))
    }

    async fn account(&self) -> Result<Option<String>, SurfaceError> {
        let known = Self::account(self)
            .await
            .map(|account| Some(account.user_id.clone()));
        known.map_err(|error| SurfaceError::from(error).of("Slack"))
    }

    async fn examine(&self) -> Vec<PlaceReport> {
        let condition = match self.account().await {
            Ok(account) => account.condition(),
            Err(error) => PlaceCondition::Refuses {
                detail: SurfaceError::from(error).message,
                remedy: "see surfaces.slack.token_file".to_owned(),
            },
        };
        vec![PlaceReport {
            place: "account".to_owned(),
            condition,
        }]
    }
}

impl Account {
    fn condition(&self) -> PlaceCondition {
        let name = self.user.as_deref().unwrap_or(&self.user_id);
        // A response without the header does not say what the token may do.
        let has = |scope: &str| {
            let scopes = self.scopes.as_deref();
            scopes.is_none_or(|scopes| scopes.split(',').any(|known| known.trim() == scope))
        };
        if !has("chat:write") {
            return PlaceCondition::Refuses {
                detail: format!("`{name}` may not write: the scope `chat:write` is missing"),
                remedy: "add the scope to the app and install it again".to_owned(),
            };
        }
        if !has(HISTORY) {
            return PlaceCondition::Doubtful {
                detail: format!(
                    "`{name}` may not read channels: a message whose response was lost is not sent again"
                ),
                remedy: format!("add the scope `{HISTORY}` to the app and install it again"),
            };
        }
        PlaceCondition::Takes {
            detail: format!("messages are written as `{name}`"),
        }
    }
}

/// One output on its way to Slack.
struct Job<'a> {
    surface: &'a SlackSurface,
    api: &'a ServiceApi,
    output: &'a Output,
    content: &'a ActContent,
    act: &'a Act,
    channel: &'a str,
    thread: Option<&'a str>,
    mark: OutputMark,
}

impl<'a> Job<'a> {
    fn new(
        surface: &'a SlackSurface,
        output: &'a Output,
        content: &'a ActContent,
        act: &'a Act,
    ) -> Result<Self, SurfaceError> {
        let (channel, thread) = match &act.target {
            Some(OutputTarget::SlackChannel(channel)) => (channel, None),
            Some(OutputTarget::SlackThread { channel, thread }) => (channel, Some(&**thread)),
            _ => {
                let why = format!("`{}` is not on Slack", output.target);
                return Err(SurfaceError::new(SurfaceErrorKind::Refused, why));
            }
        };
        Ok(Self {
            surface,
            api: &surface.api,
            output,
            content,
            act,
            channel,
            thread,
            mark: OutputMark::of(output),
        })
    }
}
