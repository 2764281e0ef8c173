//! A server over a table of tools.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::{Call, Toolbox};

/// A text that a server offers for reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// When to read it.
    pub description: String,
    /// What kind of text it is, such as `text/markdown`.
    pub mime_type: String,
    /// The text.
    pub text: String,
}

/// Serving ended otherwise than by its client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client said something else than a client says first.
    #[error("a client did not begin as the protocol asks")]
    Handshake(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The code that serves panicked.
    #[error("serving was interrupted")]
    Interrupted(#[source] tokio::task::JoinError),
}

/// A server that shows a table of tools, and texts.
#[derive(Clone)]
pub struct Server {
    name: String,
    version: String,
    instructions: Option<String>,
    toolbox: Arc<dyn Toolbox>,
    resources: Arc<[Resource]>,
}

impl Server {
    /// Makes a server of this name and version.
    pub fn new(name: &str, version: &str, toolbox: Arc<dyn Toolbox>) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            instructions: None,
            toolbox,
            resources: Arc::from([]),
        }
    }

    /// Adds texts.
    #[must_use]
    pub fn with_resources(self, resources: impl Into<Arc<[Resource]>>) -> Self {
        Self {
            resources: resources.into(),
            ..self
        }
    }

    /// Adds what a model is told of the server before it uses it.
    #[must_use]
    pub fn with_instructions(self, text: &str) -> Self {
        Self {
            instructions: Some(text.to_owned()),
            ..self
        }
    }

    /// Serves one client until it leaves: until what it writes ends.
    ///
    /// # Errors
    /// If the client does not speak the protocol. One that leaves before it said anything is none.
    pub async fn serve(
        self,
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServeError> {
        use rmcp::service::ServerInitializeError;
        let serving = match Box::pin(Served(self).serve((reading, writing))).await {
            Ok(serving) => serving,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Handshake(Box::new(error))),
        };
        serving.waiting().await.map_err(ServeError::Interrupted)?;
        Ok(())
    }
}

struct Served(Server);

impl Served {
    fn tool(&self, name: &str) -> Option<Tool> {
        let tools = self.0.toolbox.tools();
        let found = tools.iter().find(|tool| tool.name == name);
        found.map(crate::ToolSpec::to_wire)
    }
}

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let all = ServerCapabilities::builder().enable_tools();
        let capabilities = if self.0.resources.is_empty() {
            all.build()
        } else {
            all.enable_resources().build()
        };
        let implementation = Implementation::new(self.0.name.clone(), self.0.version.clone());
        let config = ServerConfig::new(capabilities).with_server_info(implementation);
        match &self.0.instructions {
            Some(text) => config.with_instructions(text.clone()),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.0.toolbox.tools();
        let tools = tools.iter().map(crate::ToolSpec::to_wire).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tool(name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.tool(&request.name).is_none() {
            let message = format!("no tool `{}`", shown(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        }
        let client = context.client_info().map(|client| client.name);
        let call = Call {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            client: client.unwrap_or_default(),
        };
        Ok(self.0.toolbox.call(call).await.into_wire().into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.0.resources.iter().map(|resource| {
            rmcp::model::Resource::new(resource.uri.clone(), resource.name.clone())
                .with_description(resource.description.clone())
                .with_mime_type(resource.mime_type.clone())
                .with_size(u64::try_from(resource.text.len()).unwrap_or(u64::MAX))
        });
        Ok(ListResourcesResult::with_all_items(resources.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let mut resources = self.0.resources.iter();
        let Some(found) = resources.find(|resource| resource.uri == request.uri) else {
            let message = format!("no resource `{}`", shown(&request.uri));
            return Err(ErrorData::resource_not_found(message, None));
        };
        let contents = ResourceContents::text(found.text.clone(), found.uri.clone())
            .with_mime_type(found.mime_type.clone());
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
