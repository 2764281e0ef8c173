//! How a model is reached, what it costs and how long it is waited for.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use daemon_process::{ChildLimits, Enclosure};
use daemon_provider::{MicroUsd, Usage};
use genai::adapter::AdapterKind;

use crate::provider::Bash;

/// How a model is reached and what it may do.
#[derive(Debug, Clone)]
pub struct LlmConfig {
    /// The provider's name.
    pub name: String,
    /// The language of the API.
    pub api: Api,
    /// The address of the API; its maker's own without one.
    ///
    /// One without a path gets `v1/`, which the makers' own addresses have.
    pub base_url: Option<String>,
    /// The model, as the API names it.
    pub model: String,
    /// The key; none for an API that asks for none.
    pub key: Option<ApiKey>,
    /// What its tokens cost.
    pub price: Price,
    /// The most tokens of one reply.
    pub max_tokens: u32,
    /// How faults of the API are waited out.
    pub patience: Patience,
    /// How much a script may take.
    pub limits: ChildLimits,
    /// How scripts, `bash` and servers of tools are kept apart from the rest of the machine.
    pub enclosure: Enclosure,
    /// Whether the model may use a shell.
    pub bash: Bash,
}

impl LlmConfig {
    /// Reaches a model without a key at its maker's own address, at the assumed price, with default patience and limits.
    pub fn new(name: impl Into<String>, api: Api, model: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            api,
            base_url: None,
            model: model.into(),
            key: None,
            price: Price::ASSUMED,
            max_tokens: 8192,
            patience: Patience::default(),
            limits: ChildLimits::default(),
            enclosure: Enclosure::Contained,
            bash: Bash::Absent,
        }
    }

    /// Returns the address of the API as it is used: with a path, and with a slash at its end.
    pub(crate) fn address(&self) -> Option<String> {
        let given = self.base_url.as_deref()?;
        let given = given.strip_suffix('/').unwrap_or(given);
        let host = given.split_once("://").map_or(given, |(_, rest)| rest);
        let has_path = host.contains('/');
        Some(if has_path || self.api.0 == AdapterKind::Ollama {
            format!("{given}/")
        } else {
            format!("{given}/v1/")
        })
    }
}

/// The language of a model API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Api(pub(crate) AdapterKind);

/// The languages by the words of the configuration.
const APIS: [(&str, AdapterKind); 14] = [
    ("anthropic", AdapterKind::Anthropic),
    ("openai", AdapterKind::OpenAI),
    ("openai-compatible", AdapterKind::OpenAI),
    ("openai-responses", AdapterKind::OpenAIResp),
    ("ollama", AdapterKind::Ollama),
    ("gemini", AdapterKind::Gemini),
    ("groq", AdapterKind::Groq),
    ("mistral", AdapterKind::Mistral),
    ("deepseek", AdapterKind::DeepSeek),
    ("xai", AdapterKind::Xai),
    ("openrouter", AdapterKind::OpenRouter),
    ("together", AdapterKind::Together),
    ("fireworks", AdapterKind::Fireworks),
    ("cohere", AdapterKind::Cohere),
];

impl Api {
    /// Returns the words by which APIs are named.
    pub fn names() -> impl Iterator<Item = &'static str> {
        APIS.iter().map(|(name, _)| *name)
    }
}

/// The text names no API that is served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is no model API that is served")]
pub struct UnknownApi {
    name: String,
}

impl FromStr for Api {
    type Err = UnknownApi;

    fn from_str(name: &str) -> Result<Self, UnknownApi> {
        let found = APIS.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, kind)| Self(*kind))
            .ok_or_else(|| UnknownApi {
                name: name.to_owned(),
            })
    }
}

/// A key of a model API, which no `Debug` shows.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key without the white space around it; `None` for a blank one.
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

/// What tokens cost, each in millionths of a dollar per million tokens, which is dollars per million times a million.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens read.
    pub input: MicroUsd,
    /// Tokens written, those of thinking too.
    pub output: MicroUsd,
    /// Tokens read from a cache or written to one.
    pub cached: MicroUsd,
}

impl Price {
    /// What is assumed of a model whose price nobody has told: 5 USD for a million read, 25 for a million written.
    pub const ASSUMED: Self = Self {
        input: MicroUsd(5_000_000),
        output: MicroUsd(25_000_000),
        cached: MicroUsd(5_000_000),
    };
    /// A model that costs nothing, such as one's own.
    pub const FREE: Self = Self {
        input: MicroUsd(0),
        output: MicroUsd(0),
        cached: MicroUsd(0),
    };

    /// Returns what this use costs, rounded up.
    pub fn of(&self, usage: &Usage) -> MicroUsd {
        let part = |tokens: u64, price: MicroUsd| u128::from(tokens) * u128::from(price.0);
        let written = usage.output.saturating_add(usage.thinking);
        let all = part(usage.input, self.input)
            + part(written, self.output)
            + part(usage.cached, self.cached);
        MicroUsd(u64::try_from(all.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }

    /// Returns the most that a request of so many bytes can cost, with a reply of so many tokens.
    pub(crate) fn most(&self, bytes: usize, max_tokens: u32) -> MicroUsd {
        self.of(&Usage {
            // No tokenizer makes more than one token of two bytes of what people and programs write.
            input: (bytes as u64).div_ceil(2),
            output: u64::from(max_tokens),
            ..Usage::default()
        })
    }
}

/// How faults of an API are waited out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How long a stream may be silent.
    pub silence: Duration,
    /// The first wait before a call is tried again; the next are longer, and all are spread by chance.
    pub first_wait: Duration,
    /// How often a broken call is tried again.
    pub retries: u32,
    /// How long a run may wait in all because it asked too often.
    pub rate_limited: Duration,
}

impl Default for Patience {
    /// 60 seconds of silence, a first wait of a second, 3 retries, 10 minutes in all of waiting when asked to.
    fn default() -> Self {
        Self {
            silence: Duration::from_secs(60),
            first_wait: Duration::from_secs(1),
            retries: 3,
            rate_limited: Duration::from_secs(600),
        }
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
        assert_eq!(error.to_string(), "`gpt` is no model API that is served");
    }
}
