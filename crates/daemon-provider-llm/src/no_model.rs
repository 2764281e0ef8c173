//! The model of an API in a build without a client: it cannot be made.

use std::convert::Infallible;

use async_trait::async_trait;
use daemon_provider::tool_loop::{Chat, Model, ModelError, ModelReply, ReplyPart};
use daemon_provider::{MicroUsd, ProviderError, ProviderErrorKind, Usage};

use crate::config::LlmConfig;

/// The model of an API, which this build cannot call.
#[derive(Debug)]
pub(crate) struct ApiModel(Infallible);

impl ApiModel {
    /// Refuses every configuration.
    ///
    /// # Errors
    /// Always.
    pub(crate) fn new(config: &LlmConfig) -> Result<Self, ProviderError> {
        Err(ProviderError::new(
            &config.name,
            ProviderErrorKind::Unsupported,
            "this build has no client for model APIs",
        ))
    }
}

#[async_trait]
impl Model for ApiModel {
    fn name(&self) -> &str {
        match self.0 {}
    }

    fn endpoint(&self) -> &str {
        match self.0 {}
    }

    fn most(&self, _chat: &Chat) -> MicroUsd {
        match self.0 {}
    }

    fn cost(&self, _usage: &Usage) -> MicroUsd {
        match self.0 {}
    }

    async fn reply(
        &self,
        _chat: &Chat,
        _heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        match self.0 {}
    }
}
