//! Configuration of a model: its API, its price and the retry policy.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use daemon_egress::EgressList;
use daemon_process::{ChildLimits, Enclosure};
use daemon_provider::tool_loop::RetryPolicy;
use daemon_provider::{MicroUsd, Usage};

use crate::provider::Bash;

/// Whether this build can call model APIs: whether the feature `client` is on.
pub const HAS_CLIENT: bool = cfg!(feature = "client");

/// The time limit of a command of `bash`, if the configuration does not say.
const BASH_TIME: Duration = Duration::from_secs(30);

/// Configuration of an [`LlmProvider`](crate::LlmProvider).
#[derive(Debug, Clone)]
pub struct LlmConfig {
    /// The name of the provider, as policies and run folders spell it.
    pub name: String,
    /// The protocol of the API.
    pub api: Api,
    /// The address of the API; `None` uses the vendor's address.
    ///
    /// `v1/` is appended to an address without a path, as in the vendors' own addresses.
    pub base_url: Option<String>,
    /// The model, spelled as the API spells it.
    pub model: String,
    /// The key; `None` for an API that requires none.
    pub key: Option<ApiKey>,
    /// The price of tokens, from which costs and reservations are computed.
    pub price: Price,
    /// The most tokens of one reply, sent with each call.
    pub max_tokens: u32,
    /// Timeouts and retries of calls.
    pub retry: RetryPolicy,
    /// Limits of each support script, shell command and MCP server.
    pub limits: ChildLimits,
    /// The sandbox of scripts, `bash` and MCP servers.
    pub enclosure: Enclosure,
    /// Files and directories that they may read in addition to those of the run.
    pub readable: Vec<PathBuf>,
    /// The hosts that they may reach where they have a network of their own; calls of the model are the host's and not limited.
    pub egress: EgressList,
    /// Whether the tool `bash` is offered.
    pub bash: Bash,
    /// The time limit of a command of `bash`.
    pub bash_time: Duration,
}

impl LlmConfig {
    /// Makes the configuration of a model without a key at the vendor's address, with [`Price::ASSUMED`] and defaults.
    pub fn new(name: impl Into<String>, api: Api, model: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api,
            base_url: None,
            model: model.into(),
            key: None,
            price: Price::ASSUMED,
            max_tokens: 8192,
            retry: RetryPolicy::default(),
            limits: ChildLimits::default(),
            enclosure: Enclosure::Contained,
            readable: Vec::new(),
            egress: EgressList::nothing(),
            bash: Bash::Absent,
            bash_time: BASH_TIME,
        }
    }

    /// Returns the address of the API as it is used: with a path, and with a slash at its end.
    #[cfg(feature = "client")]
    pub(crate) fn address(&self) -> Option<String> {
        let given = self.base_url.as_deref()?;
        let given = given.strip_suffix('/').unwrap_or(given);
        let host = given.split_once("://").map_or(given, |(_, rest)| rest);
        // The client library appends the name of a method to the address as text, so that the address has to end in a slash.
        let has_path = host.contains('/');
        Some(if has_path || self.api.0 == ApiProtocol::Ollama {
            format!("{given}/")
        } else {
            format!("{given}/v1/")
        })
    }
}

/// The protocol of a model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api(pub(crate) ApiProtocol);

/// How requests and replies of an API are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApiProtocol {
    Anthropic,
    Cohere,
    DeepSeek,
    Fireworks,
    Gemini,
    Groq,
    Mistral,
    Ollama,
    OpenAi,
    OpenAiResponses,
    OpenRouter,
    Together,
    Xai,
}

/// The protocols by their names in the configuration.
const APIS: [(&str, ApiProtocol); 14] = [
    ("anthropic", ApiProtocol::Anthropic),
    ("openai", ApiProtocol::OpenAi),
    ("openai-compatible", ApiProtocol::OpenAi),
    ("openai-responses", ApiProtocol::OpenAiResponses),
    ("ollama", ApiProtocol::Ollama),
    ("gemini", ApiProtocol::Gemini),
    ("groq", ApiProtocol::Groq),
    ("mistral", ApiProtocol::Mistral),
    ("deepseek", ApiProtocol::DeepSeek),
    ("xai", ApiProtocol::Xai),
    ("openrouter", ApiProtocol::OpenRouter),
    ("together", ApiProtocol::Together),
    ("fireworks", ApiProtocol::Fireworks),
    ("cohere", ApiProtocol::Cohere),
];

impl Api {
    /// Returns the names that [`Api`] parses.
    pub fn names() -> impl Iterator<Item = &'static str> {
        APIS.iter().map(|(name, _)| *name)
    }
}

/// The name of an API that is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not a supported model API")]
pub struct UnknownApi {
    name: String,
}

impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(name: &str) -> Result<Self, UnknownApi> {
        let found = APIS.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, dialect)| Self(*dialect))
            .ok_or_else(|| UnknownApi {
                name: name.to_owned(),
            })
    }
}

/// A key of a model API. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Makes a key, without surrounding white space; `None` if nothing remains.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Returns the key itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// Prices in millionths of a US dollar for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Price of input tokens that no cache holds.
    pub input: MicroUsd,
    /// Price of output tokens, including those of thinking.
    pub output: MicroUsd,
    /// Price of input tokens that are read from or written to a cache.
    pub cached: MicroUsd,
}

impl Price {
    /// The price assumed for a model without a configured one: 5 USD for a million input tokens, 25 USD for a million output
    /// tokens, which is the price of large models. Without a price, a budget would limit nothing.
    pub const ASSUMED: Self = Self {
        input: MicroUsd(5_000_000),
        output: MicroUsd(25_000_000),
        cached: MicroUsd(5_000_000),
    };
    /// The price of a model that costs nothing, such as a local one.
    pub const FREE: Self = Self {
        input: MicroUsd(0),
        output: MicroUsd(0),
        cached: MicroUsd(0),
    };

    /// Returns the cost of this usage, rounded up.
    pub fn of(&self, usage: &Usage) -> MicroUsd {
        // In 128 bits: a count that an API made up must not overflow into a low price.
        let part = |tokens: u64, price: MicroUsd| u128::from(tokens) * u128::from(price.0);
        let written = usage.output.saturating_add(usage.thinking);
        let all = part(usage.input, self.input)
            + part(written, self.output)
            + part(usage.cached, self.cached);
        MicroUsd(u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Returns an upper bound for the cost of a request of `bytes` with a reply of `max_tokens`.
    #[cfg(feature = "client")]
    pub(crate) fn most(&self, bytes: usize, max_tokens: u32) -> MicroUsd {
        self.of(&Usage {
            // No tokenizer makes more than one token of two bytes of ordinary text or code.
            input: (bytes as u64).div_ceil(2),
            output: u64::from(max_tokens),
            ..Usage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_gets_the_version() {
        let address = |api: &str, url: &str| {
            let mut config = LlmConfig::new("llm", api.parse().unwrap(), "m");
            config.base_url = Some(url.to_owned());
            config.address().unwrap()
        };
        for (api, url, used) in [
            ("anthropic", "http://localhost:1", "http://localhost:1/v1/"),
            ("anthropic", "http://localhost:1/", "http://localhost:1/v1/"),
            (
                "openai",
                "https://x.example/api/v2",
                "https://x.example/api/v2/",
            ),
            ("openai", "https://x.example/v1/", "https://x.example/v1/"),
            (
                "ollama",
                "http://localhost:11434",
                "http://localhost:11434/",
            ),
        ] {
            assert_eq!(address(api, url), used);
        }
    }

    #[test]
    fn a_price_is_counted_up_to_the_last_token() {
        let usage = Usage {
            input: 1_000_000,
            output: 1,
            thinking: 1,
            cached: 2,
            cost: None,
        };
        let price = Price {
            input: MicroUsd(3_000_000),
            output: MicroUsd(15_000_000),
            cached: MicroUsd(300_000),
        };
        // 3 USD, two tokens at 15 and two at 0.3 millionths.
        assert_eq!(price.of(&usage), MicroUsd(3_000_031));
        assert_eq!(Price::FREE.of(&usage), MicroUsd(0));
        let boundless = Usage {
            input: u64::MAX,
            ..usage
        };
        assert_eq!(price.of(&boundless), MicroUsd(u64::MAX));
    }

    #[test]
    fn a_key_is_not_shown() {
        let key = ApiKey::new(" sk-secret\n").unwrap();
        assert_eq!(format!("{key:?} {}", key.expose()), "ApiKey(…) sk-secret");
        assert_eq!(ApiKey::new(" \n"), None);
    }

    #[test]
    fn every_api_is_known_by_its_name() {
        for name in Api::names() {
            assert_eq!(name.parse::<Api>().map(drop), Ok(()), "{name}");
        }
        let error = "gpt".parse::<Api>().unwrap_err();
        assert_eq!(error.to_string(), "`gpt` is not a supported model API");
    }
}
