//! The loop over the messages of an editor.

use std::collections::HashMap;
use std::path::Path;

use daemon_cron::Zone;
use jiff::Timestamp;
use lsp_server::{Connection, ErrorCode, Message, Notification, ProtocolError, Request, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, DidSaveTextDocument,
    Notification as _, PublishDiagnostics,
};
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentSymbolRequest, GotoDefinition, HoverRequest,
    Request as _,
};
use lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CompletionOptions,
    HoverProviderCapability, InitializeParams, InitializeResult, OneOf, Position,
    PublishDiagnosticsParams, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentPositionParams, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, Uri,
};
use serde_json::Value;

use crate::document::{FileCheck, OpenDocument};
use crate::position::Encoding;
use crate::transport::EditorStreams;
use crate::{completion, fixes, hover, structure};

/// What the server learns from the program that runs it.
#[derive(Clone, Copy)]
pub struct Workspace<'w> {
    /// The clock.
    pub now: &'w dyn Fn() -> Timestamp,
    /// The zone of a daemon's schedule, from the root of its repository and its id.
    pub zone: &'w dyn Fn(&Path, &str) -> Zone,
}

impl std::fmt::Debug for Workspace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workspace").finish_non_exhaustive()
    }
}

/// The connection to the editor failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LspError {
    /// A message broke the protocol.
    #[error("the editor broke the protocol: {0}")]
    Protocol(#[source] ProtocolError),
    /// A message is too long, or not one of the protocol.
    #[error("a message of the editor cannot be read: {0}")]
    Message(String),
    /// The first message has parameters that cannot be read.
    #[error("the parameters of `initialize` cannot be read: {0}")]
    Initialize(#[from] serde_json::Error),
    /// The editor closed the connection without a shutdown.
    #[error("the editor has closed the connection")]
    Closed,
    /// A standard stream failed.
    #[error("a standard stream failed: {0}")]
    Stream(#[from] std::io::Error),
}

impl From<ProtocolError> for LspError {
    fn from(error: ProtocolError) -> Self {
        match error.channel_is_disconnected() {
            true => Self::Closed,
            false => Self::Protocol(error),
        }
    }
}

/// Answers an editor over standard input and output until it ends the session.
///
/// # Errors
/// The connection fails, or the editor ends it without a shutdown.
pub fn serve_stdio(workspace: &Workspace<'_>) -> Result<(), LspError> {
    let (connection, streams) = EditorStreams::stdio()?;
    let served = serve(&connection, workspace);
    drop(connection);
    streams.join(served)
}

/// Answers an editor until it ends the session.
///
/// # Errors
/// The connection fails, or the editor ends it without a shutdown.
pub fn serve(connection: &Connection, workspace: &Workspace<'_>) -> Result<(), LspError> {
    let (id, params) = connection.initialize_start()?;
    let params: InitializeParams = serde_json::from_value(params)?;
    let general = params.capabilities.general.unwrap_or_default();
    let encoding = Encoding::of(general.position_encodings.as_deref());
    let result = InitializeResult {
        capabilities: capabilities(encoding),
        server_info: Some(ServerInfo {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        }),
    };
    connection.initialize_finish(id, serde_json::to_value(result)?)?;
    // The first completion of a condition would wait for it.
    std::thread::spawn(daemon_watch::phrasings);
    let server = Server {
        connection,
        workspace,
        encoding,
        documents: HashMap::new(),
    };
    server.run()
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    let sync = TextDocumentSyncOptions {
        open_close: Some(true),
        change: Some(TextDocumentSyncKind::FULL),
        save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions {
            include_text: Some(false),
        })),
        ..TextDocumentSyncOptions::default()
    };
    let actions = CodeActionOptions {
        code_action_kinds: Some(vec![
            CodeActionKind::QUICKFIX,
            CodeActionKind::SOURCE_FIX_ALL,
        ]),
        ..CodeActionOptions::default()
    };
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
        code_action_provider: Some(CodeActionProviderCapability::Options(actions)),
        completion_provider: Some(CompletionOptions {
            trigger_characters: Some([" ", "-", "\""].map(str::to_owned).into()),
            ..CompletionOptions::default()
        }),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        definition_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

/// An open document, and whether its text was checked since it changed.
struct TrackedDocument {
    document: OpenDocument,
    is_checked: bool,
}

struct Server<'s> {
    connection: &'s Connection,
    workspace: &'s Workspace<'s>,
    encoding: Encoding,
    documents: HashMap<Uri, TrackedDocument>,
}

impl Server<'_> {
    fn run(mut self) -> Result<(), LspError> {
        loop {
            // Checked only when no message waits, so that fast typing does not queue checks.
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => message,
                Err(_) => {
                    self.check()?;
                    let received = self.connection.receiver.recv();
                    received.map_err(|_closed| LspError::Closed)?
                }
            };
            match message {
                Message::Request(request) => {
                    // The answer is about the newest text.
                    self.check()?;
                    if self.connection.handle_shutdown(&request)? {
                        return Ok(());
                    }
                    let response = self.answer(request);
                    self.send(response.into())?;
                }
                Message::Notification(notification) => self.note(notification)?,
                // The server sends no requests.
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) -> Result<(), LspError> {
        let sent = self.connection.sender.send(message);
        sent.map_err(|_closed| LspError::Closed)
    }

    /// Checks the documents that changed, and sends what was found.
    fn check(&mut self) -> Result<(), LspError> {
        let check = FileCheck {
            now: (self.workspace.now)(),
            zone: self.workspace.zone,
        };
        let mut found = Vec::new();
        for open in self.documents.values_mut().filter(|open| !open.is_checked) {
            open.document.check(self.encoding, &check);
            open.is_checked = true;
            found.push(PublishDiagnosticsParams {
                uri: open.document.uri.clone(),
                diagnostics: fixes::diagnostics(&open.document),
                version: Some(open.document.version),
            });
        }
        for params in found {
            self.publish(params)?;
        }
        Ok(())
    }

    fn publish(&self, params: PublishDiagnosticsParams) -> Result<(), LspError> {
        let method = PublishDiagnostics::METHOD.to_owned();
        self.send(Notification::new(method, params).into())
    }

    fn note(&mut self, notification: Notification) -> Result<(), LspError> {
        let Notification { method, params } = notification;
        match method.as_str() {
            DidOpenTextDocument::METHOD => {
                if let Some(params) = read::<DidOpenTextDocument>(params) {
                    let item = params.text_document;
                    self.open(item.uri, item.version, item.text);
                }
            }
            DidChangeTextDocument::METHOD => {
                if let Some(params) = read::<DidChangeTextDocument>(params)
                    && let Some(open) = self.documents.get_mut(&params.text_document.uri)
                    && let Some(change) = params.content_changes.into_iter().next_back()
                {
                    let version = params.text_document.version;
                    open.document.change(version, change.text);
                    open.is_checked = false;
                }
            }
            DidSaveTextDocument::METHOD => {
                if let Some(params) = read::<DidSaveTextDocument>(params)
                    && let Some(open) = self.documents.get_mut(&params.text_document.uri)
                {
                    open.document.saved();
                    open.is_checked = false;
                }
            }
            DidCloseTextDocument::METHOD => {
                if let Some(params) = read::<DidCloseTextDocument>(params) {
                    let uri = params.text_document.uri;
                    self.documents.remove(&uri);
                    // The editor keeps what was found until it gets an empty list.
                    self.publish(PublishDiagnosticsParams {
                        uri,
                        diagnostics: Vec::new(),
                        version: None,
                    })?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn open(&mut self, uri: Uri, version: i32, text: String) {
        let check = FileCheck {
            now: (self.workspace.now)(),
            zone: self.workspace.zone,
        };
        if let Some(document) =
            OpenDocument::open((uri.clone(), version), text, self.encoding, &check)
        {
            let is_checked = false;
            let open = TrackedDocument {
                document,
                is_checked,
            };
            self.documents.insert(uri, open);
        }
    }

    fn answer(&self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let result = match method.as_str() {
            CodeActionRequest::METHOD => wanted::<CodeActionRequest, _>(params, |params| {
                let document = self.document(&params.text_document.uri)?;
                Some(fixes::actions(document, params.range))
            }),
            Completion::METHOD => wanted::<Completion, _>(params, |params| {
                let (document, byte) = self.place(&params.text_document_position)?;
                let now = (self.workspace.now)();
                Some(completion::at(document, byte, now))
            }),
            HoverRequest::METHOD => wanted::<HoverRequest, _>(params, |params| {
                let (document, byte) = self.place(&params.text_document_position_params)?;
                hover::at(document, byte, self.workspace)
            }),
            DocumentSymbolRequest::METHOD => wanted::<DocumentSymbolRequest, _>(params, |params| {
                let document = self.document(&params.text_document.uri)?;
                Some(structure::symbols(document))
            }),
            GotoDefinition::METHOD => wanted::<GotoDefinition, _>(params, |params| {
                let (document, byte) = self.place(&params.text_document_position_params)?;
                structure::definition(document, byte)
            }),
            _ => {
                let message = format!("`{method}` is not supported");
                return Response::new_err(id, ErrorCode::MethodNotFound as i32, message);
            }
        };
        match result {
            Ok(result) => Response::new_ok(id, result),
            Err(error) => {
                let message = format!("the parameters of `{method}` cannot be read: {error}");
                Response::new_err(id, ErrorCode::InvalidParams as i32, message)
            }
        }
    }

    fn document(&self, uri: &Uri) -> Option<&OpenDocument> {
        self.documents.get(uri).map(|open| &open.document)
    }

    fn place(&self, at: &TextDocumentPositionParams) -> Option<(&OpenDocument, usize)> {
        let document = self.document(&at.text_document.uri)?;
        let Position { line, character } = at.position;
        let byte = document.byte(Position::new(line, character))?;
        Some((document, byte))
    }
}

/// Reads the parameters of a notification. One that cannot be read is logged: it has no answer.
fn read<N: lsp_types::notification::Notification>(params: Value) -> Option<N::Params> {
    serde_json::from_value(params)
        .inspect_err(
            |error| tracing::warn!(method = N::METHOD, %error, "a notification was not read"),
        )
        .ok()
}

/// Reads the parameters of a request and returns its result, `null` for none.
fn wanted<R, T>(
    params: Value,
    answer: impl FnOnce(R::Params) -> Option<T>,
) -> Result<Value, serde_json::Error>
where
    R: lsp_types::request::Request,
    T: serde::Serialize,
{
    serde_json::to_value(answer(serde_json::from_value(params)?))
}
