//! A server over a table of tools.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomNotification, ErrorData, Implementation,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ResourcesCapability,
    ServerCapabilities, ServerConfig, ServerNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceExt as _};
use serde_json::{Map, Value};
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

/// Something that is told to clients unasked, as notifications of one method.
#[async_trait]
pub trait Notices: Send + Sync {
    /// Returns the method.
    fn method(&self) -> &str;

    /// Waits for the next thing to tell; `None` when there will be none.
    async fn next(&self) -> Option<Value>;

    /// Reports whether it is for the client that gave itself this name; an empty one gave none.
    fn is_for(&self, client: &str, notice: &Value) -> bool;
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
    notices: Option<Arc<dyn Notices>>,
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
            notices: None,
        }
    }

    /// Adds what clients are told unasked.
    #[must_use]
    pub fn with_notices(self, notices: Arc<dyn Notices>) -> Self {
        Self {
            notices: Some(notices),
            ..self
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
        let notices = self.notices.clone();
        let served = Served {
            server: self,
            client: Arc::default(),
        };
        let client = Arc::clone(&served.client);
        let serving = match Box::pin(served.serve((reading, writing))).await {
            Ok(serving) => serving,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Handshake(Box::new(error))),
        };
        let peer = serving.peer().clone();
        if let Some(known) = peer.peer_info() {
            client.note(&known.client_info.name);
        }
        tokio::select! {
            ended = serving.waiting() => ended.map(drop).map_err(ServeError::Interrupted),
            () = tell(notices, &peer, &client) => Ok(()),
        }
    }
}

/// The name that a client gave itself, in its first words or with a request.
#[derive(Debug, Default)]
struct Named(Mutex<String>);

impl Named {
    fn note(&self, name: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != name {
            name.clone_into(&mut known);
        }
    }

    fn get(&self) -> String {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }
}

/// Tells a client what is for it; never ends, so that serving ends with the client.
async fn tell(notices: Option<Arc<dyn Notices>>, peer: &Peer<RoleServer>, client: &Named) {
    if let Some(notices) = notices {
        while let Some(notice) = notices.next().await {
            if !notices.is_for(&client.get(), &notice) {
                continue;
            }
            let told = CustomNotification::new(notices.method(), Some(notice));
            let told = ServerNotification::CustomNotification(told);
            if peer.send_notification(told).await.is_err() {
                // The client is leaving, which serving itself notices.
                break;
            }
        }
    }
    std::future::pending::<()>().await;
}

#[derive(Clone)]
struct Served {
    server: Server,
    client: Arc<Named>,
}

impl Served {
    async fn has(&self, name: &str) -> bool {
        let tools = self.server.toolbox.tools().await;
        tools.iter().any(|tool| tool.name == name)
    }
}

impl ServerHandler for Served {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder().enable_tools().build();
        if !self.server.resources.is_empty() {
            capabilities.resources = Some(ResourcesCapability::default());
        }
        if let Some(notices) = &self.server.notices {
            let told = (notices.method().to_owned(), Map::new());
            capabilities.experimental = Some([told].into());
        }
        let implementation =
            Implementation::new(self.server.name.clone(), self.server.version.clone());
        let config = ServerConfig::new(capabilities).with_server_info(implementation);
        match &self.server.instructions {
            Some(text) => config.with_instructions(text.clone()),
            None => config,
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.server.toolbox.tools().await;
        let tools = tools.iter().map(crate::ToolSpec::to_wire).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.has(&request.name).await {
            let message = format!("no tool `{}`", shown(&request.name));
            return Err(ErrorData::invalid_params(message, None));
        }
        let client = context.client_info().map(|client| client.name);
        if let Some(client) = &client {
            self.client.note(client);
        }
        let call = Call {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            client: client.unwrap_or_default(),
        };
        Ok(self.server.toolbox.call(call).await.into_wire().into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.server.resources.iter().map(|resource| {
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
        let mut resources = self.server.resources.iter();
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
