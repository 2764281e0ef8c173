//! One call to a model: sends a conversation, returns a reply.

use std::time::Duration;

use daemon_provider::{ProviderError, ProviderErrorKind, Usage};
use futures_util::StreamExt as _;
use genai::adapter::AdapterKind;
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ChatStreamEvent, MessageContent, StopReason, StreamEnd,
    Tool, ToolCall, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};

use crate::config::LlmConfig;
use crate::model_error::{ModelError, ModelErrorKind};
use crate::tool_set::ToolSpec;

/// The most bytes of a reply; an API could otherwise fill the memory.
const MOST_REPLY: usize = 8 << 20;

/// A client of one model.
#[derive(Debug)]
pub(crate) struct Model {
    client: Client,
    target: ServiceTarget,
    options: ChatOptions,
}

/// A complete reply of a model.
#[derive(Debug)]
pub(crate) struct ModelReply {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Usage,
    pub(crate) stop: Stop,
    content: MessageContent,
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The reply is complete, or calls tools.
    Itself,
    /// The reply reached [`LlmConfig::max_tokens`].
    TooLong,
    /// A content filter stopped it.
    Filtered,
}

/// The messages so far, as the client library represents them.
#[derive(Debug)]
pub(crate) struct Conversation {
    request: ChatRequest,
    bytes: usize,
}

impl Conversation {
    /// Makes a conversation with a task as its first message, and tools.
    pub(crate) fn new(task: &str, tools: &[ToolSpec]) -> Self {
        let described = tools.iter().map(|tool| {
            Tool::new(tool.name.clone())
                .with_description(tool.description.clone())
                .with_schema(tool.schema.clone())
        });
        let offered: Vec<Tool> = described.collect();
        let bytes = task.len() + offered.iter().map(Tool::size).sum::<usize>();
        let mut request = ChatRequest::from_user(task);
        // Some APIs refuse an empty list of tools.
        if !offered.is_empty() {
            request = request.with_tools(offered);
        }
        Self { request, bytes }
    }

    /// Returns the approximate size of a request.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, message: ChatMessage) {
        self.bytes += message.size();
        self.request.messages.push(message);
    }

    /// Adds a reply of the model.
    pub(crate) fn push_reply(&mut self, step: &ModelReply) {
        self.push(ChatMessage::assistant(step.content.clone()));
    }

    /// Adds a message of the user.
    pub(crate) fn push_user(&mut self, text: &str) {
        self.push(ChatMessage::user(text));
    }

    /// Adds the results of tools, in the order in which they were called.
    pub(crate) fn push_tool_results(&mut self, results: Vec<(ToolCall, String)>) {
        for (call, text) in results {
            let response = ToolResponse::from_tool_call(&call, text);
            self.push(ChatMessage::from(response));
        }
    }
}

impl Model {
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
        let kind = config.api.0;
        let endpoint = match config.address() {
            Some(address) => Endpoint::from_owned(address),
            None => own_address(kind),
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
        })
    }

    /// Returns the address of the API.
    pub(crate) fn endpoint(&self) -> &str {
        self.target.endpoint.base_url()
    }

    /// Sends a conversation and returns the complete reply.
    ///
    /// # Errors
    /// Fails if the call fails or the reply is incomplete.
    pub(crate) async fn call(&self, conversation: &Conversation) -> Result<ModelReply, ModelError> {
        let sent = self
            .client
            .exec_chat_stream(
                self.target.clone(),
                conversation.request.clone(),
                Some(&self.options),
            )
            .await;
        let mut stream = sent.map_err(|error| ModelError::of(&error))?.stream;
        let mut length = 0;
        let mut has_begun = false;
        while let Some(event) = stream.next().await {
            let event = event.map_err(|error| ModelError {
                has_begun,
                ..ModelError::of(&error)
            })?;
            match event {
                // For some APIs the library treats a closed connection as the end of the reply. All supported APIs send a stop
                // reason, so that a reply without one was cut off.
                ChatStreamEvent::End(end) if end.captured_stop_reason.is_none() => break,
                ChatStreamEvent::End(end) => return Ok(ModelReply::of(end)),
                ChatStreamEvent::Chunk(chunk)
                | ChatStreamEvent::ReasoningChunk(chunk)
                | ChatStreamEvent::ThoughtSignatureChunk(chunk) => length += chunk.content.len(),
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

/// Returns the vendor's address of an API.
fn own_address(kind: AdapterKind) -> Endpoint {
    Endpoint::from_static(match kind {
        AdapterKind::Anthropic => "https://api.anthropic.com/v1/",
        AdapterKind::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        AdapterKind::Groq => "https://api.groq.com/openai/v1/",
        AdapterKind::Mistral => "https://api.mistral.ai/v1/",
        AdapterKind::DeepSeek => "https://api.deepseek.com/v1/",
        AdapterKind::Xai => "https://api.x.ai/v1/",
        AdapterKind::OpenRouter => "https://openrouter.ai/api/v1/",
        AdapterKind::Together => "https://api.together.xyz/v1/",
        AdapterKind::Fireworks => "https://api.fireworks.ai/inference/v1/",
        AdapterKind::Cohere => "https://api.cohere.com/v1/",
        AdapterKind::Ollama => "http://localhost:11434/",
        _ => "https://api.openai.com/v1/",
    })
}

impl ModelReply {
    fn of(end: StreamEnd) -> Self {
        let usage = end.captured_usage.as_ref().map(usage).unwrap_or_default();
        let stop = match end.captured_stop_reason {
            Some(StopReason::MaxTokens(_)) => Stop::TooLong,
            Some(StopReason::ContentFilter(_)) => Stop::Filtered,
            _ => Stop::Itself,
        };
        let content = end.captured_content.unwrap_or_default();
        Self {
            text: content.texts().join("\n"),
            calls: content.tool_calls().into_iter().cloned().collect(),
            usage,
            stop,
            content,
        }
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

/// Returns the delay before the next try, after `n_tries` tries: exponential, with jitter between half and the whole.
pub(crate) fn backoff(first: Duration, n_tries: u32) -> Duration {
    let longest = first.saturating_mul(1 << n_tries.min(6));
    let mut byte = [0_u8; 1];
    // Jitter is only useful, not required: without random bytes the full delay is used.
    let spread = getrandom::fill(&mut byte).map_or(255, |()| u32::from(byte[0]));
    longest / 2 + longest / 2 * spread / 255
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_and_are_spread() {
        let first = Duration::from_secs(1);
        for (n_tries, longest) in [(0, 1), (1, 2), (2, 4), (40, 64)] {
            let wait = backoff(first, n_tries);
            let longest = Duration::from_secs(longest);
            assert!(
                wait >= longest / 2 && wait <= longest,
                "{n_tries}: {wait:?}"
            );
        }
    }
}
