//! The provider.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_process::{Enclosure, Supervisor};
use daemon_provider::{
    FollowUps, Limits, McpUse, Provider, ProviderError, ProviderErrorKind, Run, RunRequest,
};

use crate::config::LlmConfig;
use crate::model::Model;
use crate::run::LlmRun;
use crate::toolbox::{ToolSource, Toolbox};
use crate::tools::{
    FileTools, GrantedTools, OutputTools, Programs, ScriptTools, ServerError, ShellTools,
    StateTools, connect,
};
use crate::turns::Turns;

/// Whether a model may use a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bash {
    /// There is none.
    Absent,
    /// There is one, confined to the run's directories.
    Confined,
}

/// A provider that runs a loop of tools over a model API.
#[derive(Debug)]
pub struct LlmProvider {
    supervisor: Supervisor,
    config: LlmConfig,
    model: Arc<Model>,
}

impl LlmProvider {
    /// Makes a provider whose scripts belong to `supervisor`.
    ///
    /// # Errors
    /// No client for the API could be built, or a shell is wanted that would not be confined.
    pub fn new(supervisor: Supervisor, config: LlmConfig) -> Result<Self, ProviderError> {
        if config.bash == Bash::Confined && config.enclosure == Enclosure::Contained {
            let message = "a shell is offered only in a sandbox of level 2";
            return Err(ProviderError::new(
                &config.name,
                ProviderErrorKind::Unsupported,
                message,
            ));
        }
        let model = Arc::new(Model::new(&config)?);
        Ok(Self {
            supervisor,
            config,
            model,
        })
    }

    /// Returns the address of the API.
    pub fn endpoint(&self) -> &str {
        self.model.endpoint()
    }

    /// Gathers the tools that fit a run, and of those the groups that it wants.
    ///
    /// # Errors
    /// A server of tools cannot be used.
    async fn sources(&self, request: &RunRequest) -> Result<Vec<Arc<dyn ToolSource>>, ServerError> {
        let wants = |group: &str| match &request.tools {
            Some(groups) => groups.iter().any(|wanted| wanted == group),
            None => true,
        };
        // Only an activation has a daemon whose state and outputs there could be.
        let is_activation = request.context.is_some();
        let programs = Programs::new(
            self.supervisor.clone(),
            request,
            self.config.limits,
            self.config.enclosure,
        );
        let programs = Arc::new(programs);
        let mut acc: Vec<Arc<dyn ToolSource>> = Vec::new();
        if wants("file") {
            acc.push(Arc::new(FileTools::new(request)));
        }
        if wants("script")
            && let Some(scripts) = ScriptTools::new(Arc::clone(&programs), request)
        {
            acc.push(Arc::new(scripts));
        }
        if wants("state") && is_activation {
            acc.push(Arc::new(StateTools(Arc::clone(&request.grants))));
        }
        if wants("output") && is_activation {
            acc.push(Arc::new(OutputTools(Arc::clone(&request.grants))));
        }
        if wants("bash") && self.config.bash == Bash::Confined {
            acc.push(Arc::new(ShellTools(Arc::clone(&programs))));
        }
        // Whoever gives a run servers wants their tools, whatever groups are named beside them.
        if is_activation {
            acc.push(Arc::new(GrantedTools::of(&request.grants).await));
        }
        for server in connect(&self.supervisor, programs.launch(), request).await? {
            acc.push(Arc::new(server));
        }
        Ok(acc)
    }
}

#[async_trait]
impl Provider for LlmProvider {
    fn name(&self) -> &str {
        &self.config.name
    }

    fn model(&self) -> Option<&str> {
        Some(&self.config.model)
    }

    fn enforced(&self, limits: &Limits) -> Limits {
        *limits
    }

    fn follow_ups(&self) -> FollowUps {
        FollowUps::Joins
    }

    fn mcp(&self) -> McpUse {
        McpUse::ByProvider
    }

    async fn start(&self, request: RunRequest) -> Result<Box<dyn Run>, ProviderError> {
        let config = &self.config;
        let unsupported = |message: &str| {
            ProviderError::new(&config.name, ProviderErrorKind::Unsupported, message)
        };
        if request.resume.is_some() {
            return Err(unsupported(
                "a conversation with a model API ends with its run",
            ));
        }
        let sources = self.sources(&request).await.map_err(|error| {
            let message = "the run's MCP servers cannot be used";
            ProviderError::new(&config.name, ProviderErrorKind::Spawn, message).caused_by(error)
        })?;
        let toolbox = match Toolbox::new(sources.clone()) {
            Ok(toolbox) => toolbox,
            Err(error) => {
                for source in &sources {
                    source.close().await;
                }
                return Err(unsupported("the tools cannot be offered").caused_by(error));
            }
        };
        let task = String::from_utf8(request.prompt).map_err(|error| {
            unsupported("a prompt that is not UTF-8 cannot be sent").caused_by(error)
        })?;
        let (model, model_name) = (Arc::clone(&self.model), config.model.clone());
        let (price, max_tokens, patience) = (config.price, config.max_tokens, config.patience);
        let (limits, grants) = (request.limits, request.grants);
        Ok(Box::new(LlmRun::new(move |wires| {
            Turns {
                model,
                model_name,
                price,
                max_tokens,
                patience,
                limits,
                grants,
                toolbox,
                task,
                wires,
            }
            .play()
        })))
    }
}
