//! An MCP server over a set of tools.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomNotification, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetTaskParams, GetTaskResult, Implementation, JsonObject,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ResourcesCapability, ServerCapabilities, ServerConfig, ServerNotification, TASKS_EXTENSION_ID,
    UpdateTaskParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceExt as _};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::lines::MessageLines;
use crate::tasks::Tasks;
use crate::{ToolCall, ToolTable};

/// The parameters of the methods that need some.
const PARAMETERS: [(&str, &str); 6] = [
    (
        "initialize",
        "`protocolVersion`, `capabilities` and `clientInfo`",
    ),
    ("tools/call", "`name`, a string, and `arguments`, an object"),
    ("resources/read", "`uri`, a string"),
    ("tasks/get", "`taskId`, a string"),
    ("tasks/cancel", "`taskId`, a string"),
    (
        "tasks/update",
        "`taskId`, a string, and `inputResponses`, an object",
    ),
];

/// When the first progress of a call is reported; most calls are shorter.
const FIRST_PROGRESS: Duration = Duration::from_secs(1);
/// How often it is reported then.
const PROGRESS: Duration = Duration::from_secs(5);

/// A document that a server offers for reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The URI by which a client reads it.
    pub uri: String,
    /// The name listed to clients.
    pub name: String,
    /// The occasion on which a model should read it.
    pub description: String,
    /// The MIME type, such as `text/markdown`.
    pub mime_type: String,
    /// The content.
    pub text: String,
}

/// A source of notifications that a server sends without a request, all with one method.
#[async_trait]
pub trait Notifications: Send + Sync {
    /// Returns the method of the notifications.
    fn method(&self) -> &str;

    /// Waits for the next notification; returns `None` at the end.
    async fn next(&self) -> Option<Value>;

    /// Whether a notification is for the client of this name; the name is empty if the client sent none.
    fn is_for(&self, client: &str, notice: &Value) -> bool;
}

/// The error of serving a client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The client's first message was not an initialize request.
    #[error("the client's handshake does not follow the protocol")]
    Handshake(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The serving task panicked.
    #[error("the serving task was interrupted")]
    Interrupted(#[source] tokio::task::JoinError),
}

/// An MCP server that offers a set of tools and text resources.
#[derive(Clone)]
pub struct ToolServer {
    name: String,
    version: String,
    instructions: Option<String>,
    toolbox: Arc<dyn ToolTable>,
    resources: Arc<[Resource]>,
    notices: Option<Arc<dyn Notifications>>,
    has_tasks: bool,
}

impl ToolServer {
    /// Creates a server with the name and version that it reports to clients.
    pub fn new(name: &str, version: &str, toolbox: Arc<dyn ToolTable>) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            instructions: None,
            toolbox,
            resources: Arc::from([]),
            notices: None,
            has_tasks: false,
        }
    }

    /// Lets clients that know tasks follow the calls that [may take long](ToolTable::may_take_long) as tasks.
    #[must_use]
    pub fn with_tasks(self) -> Self {
        Self {
            has_tasks: true,
            ..self
        }
    }

    pub(crate) fn has_tasks(&self) -> bool {
        self.has_tasks
    }

    /// Returns the tools, for callers in the same process.
    pub fn tools(&self) -> Arc<dyn ToolTable> {
        Arc::clone(&self.toolbox)
    }

    /// Adds a source of notifications.
    #[must_use]
    pub fn with_notifications(self, notices: Arc<dyn Notifications>) -> Self {
        Self {
            notices: Some(notices),
            ..self
        }
    }

    /// Adds text resources.
    #[must_use]
    pub fn with_resources(self, resources: impl Into<Arc<[Resource]>>) -> Self {
        Self {
            resources: resources.into(),
            ..self
        }
    }

    /// Adds instructions, which a client shows to its model before any tool is used.
    #[must_use]
    pub fn with_instructions(self, text: &str) -> Self {
        Self {
            instructions: Some(text.to_owned()),
            ..self
        }
    }

    /// Serves one client until its input ends.
    ///
    /// # Errors
    /// Returns [`ServeError`] if the client does not follow the protocol. A client that disconnects before its first
    /// message is not an error.
    pub async fn serve(
        self,
        reading: impl AsyncRead + Send + Unpin + 'static,
        writing: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServeError> {
        use rmcp::service::ServerInitializeError;
        let notices = self.notices.clone();
        let served = Served::of(self);
        let client = Arc::clone(&served.client);
        let serving = match Box::pin(served.serve(MessageLines::new(reading, writing))).await {
            Ok(serving) => serving,
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(ServeError::Handshake(Box::new(error))),
            // The name may come with the handshake or with a request, depending on the client; the latest one counts.
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

/// Reports the seconds that a call has taken, if the client has asked for its progress. Never returns.
///
/// Clients give up on a call that is silent for about a minute, and a call may wait for an hour.
pub(crate) async fn report_progress(context: &RequestContext<RoleServer>) {
    if let Some(token) = context.meta.get_progress_token() {
        let begun = tokio::time::Instant::now();
        let mut delay = FIRST_PROGRESS;
        loop {
            tokio::time::sleep(delay).await;
            delay = PROGRESS;
            let elapsed = begun.elapsed().as_secs_f64().round();
            let progress = ProgressNotificationParam::new(token.clone(), elapsed);
            if context.peer.notify_progress(progress).await.is_err() {
                // The client has disconnected, which the serving task notices by itself.
                break;
            }
        }
    }
    std::future::pending::<()>().await;
}

/// The name that a client sent, in the handshake or with a request.
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

/// Sends a client its notifications. Never returns, so that serving ends only when the client disconnects.
async fn tell(notices: Option<Arc<dyn Notifications>>, peer: &Peer<RoleServer>, client: &Named) {
    if let Some(notices) = notices {
        while let Some(notice) = notices.next().await {
            if !notices.is_for(&client.get(), &notice) {
                continue;
            }
            let told = CustomNotification::new(notices.method(), Some(notice));
            let told = ServerNotification::CustomNotification(told);
            if peer.send_notification(told).await.is_err() {
                // The client has disconnected, which the serving task notices by itself.
                break;
            }
        }
    }
    std::future::pending::<()>().await;
}

/// A server as one client uses it.
#[derive(Clone)]
pub(crate) struct Served {
    server: ToolServer,
    client: Arc<Named>,
    tasks: Arc<Tasks>,
}

impl Served {
    /// Makes the server of a client whose name is not known yet.
    pub(crate) fn of(server: ToolServer) -> Self {
        Self {
            server,
            client: Arc::default(),
            tasks: Arc::default(),
        }
    }

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
        if self.server.has_tasks {
            let declared = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
            capabilities.extensions = Some([declared].into());
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
        let tools = tools.iter().map(crate::ToolDescription::to_wire).collect();
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
        let call = ToolCall {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            client: client.unwrap_or_default(),
        };
        if self.tasks.take(&self.server, &call, &context) {
            return Ok(self.tasks.start(&self.server, call, context));
        }
        let progress = report_progress(&context);
        tokio::select! {
            result = self.server.toolbox.call(call) => Ok(result.into_wire().into()),
            () = progress => unreachable!("it only ends with the call"),
            // A table may hold what other calls need. The client ignores this response.
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.tasks.manager().get_task(&request.task_id)?;
        Ok(GetTaskResult::new(task))
    }

    // No task asks its client for anything.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let manager = self.tasks.manager();
        manager.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tasks.manager().cancel_task(&request.task_id)
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

    // A request that does not have the parameters of its method also counts as custom.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = shown(&request.method);
        let mut rows = PARAMETERS.iter();
        Err(match rows.find(|(known, _)| *known == request.method) {
            Some((_, needs)) => {
                let message = format!("the parameters of `{method}` are {needs}");
                ErrorData::invalid_params(message, None)
            }
            None => {
                let message = format!("no method `{method}`");
                ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
            }
        })
    }
}

/// Returns the start of a string from a client, to be quoted in an error.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}
