//! One call to a model API: sends a chat, returns a reply.

use std::sync::Arc;

use async_trait::async_trait;
use daemon_provider::tool_loop::{
    Chat, ChatMessage, LoopCall, Model, ModelError, ModelErrorKind, ModelReply, ReplyPart, Stop,
    ToolSpec,
};
use daemon_provider::{MicroUsd, ProviderError, ProviderErrorKind, Usage};
use futures_util::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatOptions, ChatRequest, ChatStreamEvent, ContentPart, MessageContent, StopReason, StreamEnd,
    Tool, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

use crate::config::{ApiProtocol, LlmConfig, Price};
use crate::model_error;

/// The most bytes of a reply; an API could otherwise fill the memory.
const MOST_REPLY: usize = 8 << 20;

/// A client of one model.
#[derive(Debug)]
pub(crate) struct ApiModel {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
    name: String,
    price: Price,
    max_tokens: u32,
}

/// Makes the request of a chat.
fn request(chat: &Chat) -> ChatRequest {
    let mut request = ChatRequest::from_messages(chat.messages().iter().map(message).collect());
    if let Some(system) = chat.system() {
        request = request.with_system(system);
    }
    // Some APIs refuse an empty list of tools.
    if !chat.tools().is_empty() {
        request = request.with_tools(chat.tools().iter().map(tool));
    }
    request
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.clone())
        .with_description(spec.description.clone())
        .with_schema(spec.schema.clone())
}

fn message(message: &ChatMessage) -> genai::chat::ChatMessage {
    use genai::chat::ChatMessage as Native;
    match message {
        ChatMessage::User(text) => Native::user(text),
        ChatMessage::Assistant {
            text,
            calls,
            native,
        } => {
            let native = native.as_ref();
            let kept = native.and_then(|native| native.downcast_ref::<MessageContent>());
            Native::assistant(kept.cloned().unwrap_or_else(|| content(text, calls)))
        }
        ChatMessage::Tool(result) => Native::from(ToolResponse::from_tool_call(
            &native_call(&result.call),
            result.text.clone(),
        )),
    }
}

/// Returns the content of a reply that another process received.
fn content(text: &str, calls: &[LoopCall]) -> MessageContent {
    let text = (!text.is_empty()).then(|| ContentPart::Text(text.to_owned()));
    let calls = calls
        .iter()
        .map(|call| ContentPart::ToolCall(native_call(call)));
    MessageContent::from_parts(text.into_iter().chain(calls).collect::<Vec<_>>())
}

fn native_call(call: &LoopCall) -> genai::chat::ToolCall {
    genai::chat::ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: call.arguments.clone(),
        thought_signatures: None,
    }
}

impl ApiModel {
    /// Makes a client.
    ///
    /// # Errors
    /// Fails if the HTTP client cannot be built.
    pub(crate) fn new(config: &LlmConfig) -> Result<Self, ProviderError> {
        // Installing fails if the process has a default provider already; every crate here installs the same one.
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            // A small compressed reply could grow beyond all limits in memory.
            .no_gzip()
            // A redirect would send the key to another server.
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(config.retry.read_timeout)
            .build()
            .map_err(|error| {
                ProviderError::new(
                    &config.name,
                    ProviderErrorKind::Lost,
                    "no HTTP client could be built",
                )
                .caused_by(error)
            })?;
        let (kind, own_address) = service(config.api.0);
        let endpoint = match config.address() {
            Some(address) => Endpoint::from_owned(address),
            None => Endpoint::from_static(own_address),
        };
        // Without a key the client library would read one from the environment.
        let key = config.key.as_ref().map_or("none", |key| key.expose());
        Ok(Self {
            client: Client::builder()
                .with_reqwest(http)
                .build()
                .map_err(|error| {
                    ProviderError::new(
                        &config.name,
                        ProviderErrorKind::Lost,
                        "no client could be built",
                    )
                    .caused_by(error)
                })?,
            target: ServiceTarget {
                endpoint,
                auth: AuthData::from_single(key),
                model: ModelIden::new(kind, config.model.as_str()),
            },
            options: ChatOptions::default()
                .with_max_tokens(config.max_tokens)
                .with_capture_usage(true)
                .with_capture_content(true)
                .with_capture_tool_calls(true)
                .with_capture_reasoning_content(true)
                .with_stream_header_timeout(config.retry.read_timeout)
                .with_stream_read_timeout(config.retry.read_timeout),
            name: config.model.clone(),
            price: config.price,
            max_tokens: config.max_tokens,
        })
    }
}

#[async_trait]
impl Model for ApiModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> &str {
        self.target.endpoint.base_url()
    }

    fn most(&self, chat: &Chat) -> MicroUsd {
        self.price.most(chat.bytes(), self.max_tokens)
    }

    fn cost(&self, usage: &Usage) -> MicroUsd {
        self.price.of(usage)
    }

    async fn reply(
        &self,
        chat: &Chat,
        heard: &mut (dyn for<'p> FnMut(ReplyPart<'p>) + Send),
    ) -> Result<ModelReply, ModelError> {
        let sent = self
            .client
            .exec_chat_stream(self.target.clone(), request(chat), Some(&self.options))
            .await;
        let mut stream = sent.map_err(|error| model_error::of(&error))?.stream;
        let mut length = 0;
        let mut has_begun = false;
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| ModelError {
                has_begun,
                ..model_error::of(&error)
            })?;
            match event {
                // For some APIs the library treats a closed connection as the end of the reply. All supported APIs send a stop
                // reason, so that a reply without one was cut off.
                ChatStreamEvent::End(end) if end.captured_stop_reason.is_none() => break,
                ChatStreamEvent::End(end) => return Ok(reply_of(end)),
                ChatStreamEvent::Chunk(chunk) => {
                    length += chunk.content.len();
                    heard(ReplyPart::Text(&chunk.content));
                }
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    length += chunk.content.len();
                    heard(ReplyPart::Thinking(&chunk.content));
                }
                ChatStreamEvent::ThoughtSignatureChunk(chunk) => length += chunk.content.len(),
                // Each chunk contains all arguments so far, not only the new ones.
                ChatStreamEvent::ToolCallChunk(chunk) => {
                    length = length.max(chunk.tool_call.size());
                }
                ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => continue,
            }
            has_begun = true;
            if length > MOST_REPLY {
                let message = format!("the reply is longer than {MOST_REPLY} bytes");
                return Err(ModelError {
                    has_begun,
                    ..ModelError::new(ModelErrorKind::Final, message)
                });
            }
        }
        let message = if has_begun {
            "the reply was cut off before its end"
        } else {
            "the answer is no reply of this API"
        };
        Err(ModelError {
            has_begun,
            ..ModelError::new(ModelErrorKind::Transient, message)
        })
    }
}

/// Returns the library's name of an API, and the address of its vendor.
fn service(dialect: ApiProtocol) -> (AdapterKind, &'static str) {
    match dialect {
        ApiProtocol::Anthropic => (AdapterKind::Anthropic, "https://api.anthropic.com/v1/"),
        ApiProtocol::Cohere => (AdapterKind::Cohere, "https://api.cohere.com/v1/"),
        ApiProtocol::DeepSeek => (AdapterKind::DeepSeek, "https://api.deepseek.com/v1/"),
        ApiProtocol::Fireworks => (
            AdapterKind::Fireworks,
            "https://api.fireworks.ai/inference/v1/",
        ),
        ApiProtocol::Gemini => (
            AdapterKind::Gemini,
            "https://generativelanguage.googleapis.com/v1beta/",
        ),
        ApiProtocol::Groq => (AdapterKind::Groq, "https://api.groq.com/openai/v1/"),
        ApiProtocol::Mistral => (AdapterKind::Mistral, "https://api.mistral.ai/v1/"),
        ApiProtocol::Ollama => (AdapterKind::Ollama, "http://localhost:11434/"),
        ApiProtocol::OpenAi => (AdapterKind::OpenAI, "https://api.openai.com/v1/"),
        ApiProtocol::OpenAiResponses => (AdapterKind::OpenAIResp, "https://api.openai.com/v1/"),
        ApiProtocol::OpenRouter => (AdapterKind::OpenRouter, "https://openrouter.ai/api/v1/"),
        ApiProtocol::Together => (AdapterKind::Together, "https://api.together.xyz/v1/"),
        ApiProtocol::Xai => (AdapterKind::Xai, "https://api.x.ai/v1/"),
    }
}

fn reply_of(end: StreamEnd) -> ModelReply {
    let usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
    let stop = match end.captured_stop_reason {
        Some(StopReason::MaxTokens(_)) => Stop::TooLong,
        Some(StopReason::ContentFilter(_)) => Stop::Filtered,
        _ => Stop::Itself,
    };
    let content = end.captured_content.unwrap_or_default();
    let calls = content.tool_calls().into_iter().map(|call| LoopCall {
        id: call.call_id.clone(),
        name: call.fn_name.clone(),
        arguments: call.fn_arguments.clone(),
    });
    ModelReply {
        text: content.texts().join("\n"),
        calls: calls.collect(),
        usage,
        stop,
        native: Some(Arc::new(content)),
        session: None,
    }
}

/// Converts token counts: the library includes cached tokens in the input and thinking in the output.
fn usage(usage: &genai::chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| {
        tokens
            .and_then(|tokens| u64::try_from(tokens).ok())
            .unwrap_or(0)
    };
    let cached = usage.prompt_tokens_details.as_ref().map_or(0, |details| {
        count(details.cached_tokens) + count(details.cache_creation_tokens)
    });
    let thinking = usage
        .completion_tokens_details
        .as_ref()
        .map_or(0, |details| count(details.reasoning_tokens));
    Usage {
        input: count(usage.prompt_tokens).saturating_sub(cached),
        output: count(usage.completion_tokens).saturating_sub(thinking),
        thinking,
        cached,
        cost: None,
    }
}
