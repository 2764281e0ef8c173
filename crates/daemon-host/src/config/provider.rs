//! What the configuration says of providers.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::sources::SecretPlaces;

/// Providers by name.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(default)]
pub struct Providers {
    /// The one that runs unless a policy says otherwise.
    pub default: String,
    /// Each by its name.
    #[serde(flatten)]
    pub named: BTreeMap<String, Provider>,
}

impl Providers {
    /// Returns the kind of a provider: what its section says, else its name.
    pub fn kind_of<'a>(&'a self, name: &'a str) -> &'a str {
        let section = self.named.get(name);
        section
            .and_then(|section| section.kind.as_deref())
            .unwrap_or(name)
    }

    /// Returns the providers that somebody wrote down: those with a section, and the default.
    pub fn written(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.named.keys().map(String::as_str).collect();
        names.extend([self.default.as_str(), "builtin"]);
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl<'de> Deserialize<'de> for Providers {
    // Not derived: a flattened map forgets the places of its values, which errors point at.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sections;

        impl<'de> Visitor<'de> for Sections {
            type Value = Providers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of providers")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Providers, A::Error> {
                let mut providers = Providers::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "default" {
                        providers.default = map.next_value()?;
                    } else {
                        providers.named.insert(name, map.next_value()?);
                    }
                }
                Ok(providers)
            }
        }

        deserializer.deserialize_map(Sections)
    }
}

impl Default for Providers {
    fn default() -> Self {
        Self {
            default: "builtin".to_owned(),
            named: BTreeMap::new(),
        }
    }
}

/// One provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Provider {
    /// `builtin`, `command`, `claude`, `codex`, `opencode`, or a model API such as `anthropic`, `openai` or `ollama`; by default
    /// the provider's name where it is one of them, else `command`.
    pub kind: Option<String>,
    /// The program.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// For commands: its arguments when a session is resumed, in which `{session}` stands for the session; without them it
    /// takes no follow-ups.
    pub resume: Option<Vec<String>>,
    /// For agents and model APIs: the model, as they name it.
    pub model: Option<String>,
    /// For model APIs: where the API is, if not where its maker has it.
    pub base_url: Option<String>,
    /// For model APIs: the variable that holds the key.
    pub key_env: Option<String>,
    /// For model APIs: the file that holds the key.
    pub key_file: Option<PathBuf>,
    /// For model APIs: what a million tokens cost; a price of large models is assumed without it.
    pub price: Option<Price>,
    /// For model APIs: the most tokens of one reply.
    pub max_tokens: Option<u32>,
    /// For model APIs: whether the model may use a shell, which needs a sandbox of level 2.
    pub bash: bool,
    /// For agents: `bypass` switches their own checks off; by default they may do what the run may do.
    pub permissions: Option<String>,
    /// For agents: `login` uses the login of the host's user; by default they have only what `env` names.
    pub auth: Option<String>,
    /// Names of environment variables that it may see.
    pub env: Vec<String>,
    /// `text` (default) or `json`: what it reads from its standard input.
    pub input: Option<String>,
    /// Whether ending without a result is a failure.
    pub require_result: bool,
    /// The most bytes of context that it takes.
    pub context_bytes: Option<u64>,
    /// Whether its programs may use a network, as by default they may; without one they run at sandbox level 3 or not at all.
    pub network: Option<bool>,
    /// For `builtin`: whether it repairs links that have exactly one candidate.
    pub repair: bool,
}

impl Provider {
    /// Reports whether its programs are to have no network; `builtin` has no programs.
    pub fn is_offline(&self, name: &str) -> bool {
        self.network == Some(false) && self.kind.as_deref().unwrap_or(name) != "builtin"
    }

    /// Returns where the key of a model API is.
    pub fn key(&self) -> SecretPlaces<'_> {
        SecretPlaces {
            file: self.key_file.as_deref(),
            env: self.key_env.as_deref(),
        }
    }
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Read.
    pub input: f64,
    /// Written.
    pub output: f64,
    /// Read from a cache, or written to one; as much as the others without it.
    pub cached: Option<f64>,
}

impl Price {
    /// Reports whether every part is an amount of money.
    pub(super) fn is_valid(&self) -> bool {
        let parts = [Some(self.input), Some(self.output), self.cached];
        parts
            .into_iter()
            .flatten()
            .all(|usd| usd.is_finite() && (0.0..=1_000_000.0).contains(&usd))
    }
}
