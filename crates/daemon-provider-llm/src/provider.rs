//! The provider: checks a request, gathers its tools and starts the loop.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_egress::NetworkUse;
use daemon_process::{Enclosure, Supervisor};
use daemon_provider::tool_loop::{Model as _, ToolLoop, ToolSet, ToolSource};
use daemon_provider::{
    FollowUps, Limits, McpUse, OpenedLoop, Pricing, Provider, ProviderError, ProviderErrorKind,
    Run, RunRequest,
};

use tokio::sync::mpsc;

use crate::config::LlmConfig;
use crate::model::ApiModel;
use crate::record::Recorded;
use crate::run::LlmRun;
use crate::tools::{
    EmailTools, FileTools, GrantedTools, OutputTools, Programs, ScriptTools, ServerError,
    ShellTools, StateTools, connect,
};

/// Whether the tool `bash` is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bash {
    /// The tool is not offered.
    Absent,
    /// The tool is offered; commands are confined to the run's directories.
    Confined,
}

/// A provider that runs a tool loop over a model API.
#[derive(Debug)]
pub struct LlmProvider {
    supervisor: Supervisor,
    config: LlmConfig,
    model: Arc<ApiModel>,
}

impl LlmProvider {
    /// Makes a provider whose child processes belong to `supervisor`.
    ///
    /// # Errors
    /// Fails if the HTTP client cannot be built, or if [`Bash::Confined`] is set without a sandbox.
    pub fn new(supervisor: Supervisor, config: LlmConfig) -> Result<Self, ProviderError> {
        // Checked here and not at the first call: an operator who offers a shell must learn at the start that it is refused.
        if config.bash == Bash::Confined && config.enclosure == Enclosure::Contained {
            let message = "a shell is offered only in a sandbox of level 2";
            return Err(ProviderError::new(
                &config.name,
                ProviderErrorKind::Unsupported,
                message,
            ));
        }
        let model = Arc::new(ApiModel::new(&config)?);
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

    /// Opens the model and the tools.
    async fn open(&self, request: &RunRequest) -> Result<OpenedLoop, ProviderError> {
        let (sources, network) = self.sources(request).await.map_err(|error| {
            let message = "the run's MCP servers cannot be used";
            ProviderError::new(&self.config.name, ProviderErrorKind::Spawn, message)
                .caused_by(error)
        })?;
        Ok(OpenedLoop {
            model: Arc::clone(&self.model) as _,
            sources,
            retry: self.config.retry,
            network,
            calls: None,
        })
    }

    /// Gathers the tool groups that the request names and the run may use, and what their programs use of the network.
    ///
    /// # Errors
    /// Fails if an MCP server cannot be used.
    async fn sources(
        &self,
        request: &RunRequest,
    ) -> Result<(Vec<Arc<dyn ToolSource>>, Option<mpsc::Receiver<NetworkUse>>), ServerError> {
        let wants = |group: &str| match &request.tools {
            Some(groups) => groups.iter().any(|wanted| wanted == group),
            None => true,
        };
        // State and outputs belong to a daemon, which only an activation has.
        let is_activation = request.context.is_some();
        let (programs, uses) = Programs::new(self.supervisor.clone(), request, &self.config);
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
            acc.push(Arc::new(ShellTools {
                programs: Arc::clone(&programs),
                time: self.config.bash_time,
            }));
        }
        if wants("email") && request.grants.has_email() {
            acc.push(Arc::new(EmailTools(Arc::clone(&request.grants))));
        }
        #[cfg(feature = "client")]
        if wants("web") && !self.config.egress.is_empty() {
            acc.push(Arc::new(crate::tools::WebTools(self.config.egress.clone())));
        }
        // Servers are registered for one run, so their tools are offered with any list of groups.
        if is_activation {
            acc.push(Arc::new(GrantedTools::of(&request.grants).await));
        }
        for server in connect(&self.supervisor, programs.launch(), request).await? {
            acc.push(Arc::new(server));
        }
        Ok((acc, uses))
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

    fn pricing(&self) -> Pricing {
        Pricing::ByCall
    }

    fn follow_ups(&self) -> FollowUps {
        FollowUps::Joins
    }

    fn mcp(&self) -> McpUse {
        McpUse::ByProvider
    }

    async fn open_loop(&self, request: &RunRequest) -> Result<Option<OpenedLoop>, ProviderError> {
        self.open(request).await.map(Some)
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
        let opened = self.open(&request).await?;
        let tool_set = match ToolSet::new(opened.sources.clone()) {
            Ok(tool_set) => tool_set,
            // The servers have started already; dropping them here would leave their processes to the supervisor.
            Err(error) => {
                for source in &opened.sources {
                    source.close().await;
                }
                return Err(unsupported("the tools cannot be offered").caused_by(error));
            }
        };
        let task = String::from_utf8(request.prompt).map_err(|error| {
            unsupported("a prompt that is not UTF-8 cannot be sent").caused_by(error)
        })?;
        let (limits, grants) = (request.limits, request.grants);
        Ok(Box::new(LlmRun::new(move |channels| {
            let tools = ToolLoop {
                model: opened.model,
                tool_set: Arc::new(tool_set),
                retry: opened.retry,
                limits,
                grants,
                stopped: channels.stopped.clone(),
            };
            Recorded::new(channels, &tools).play(tools, task, opened.network)
        })))
    }
}
