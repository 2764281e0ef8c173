//! The configuration of providers.

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
    /// The provider of every daemon whose policy names no other.
    pub default: String,
    /// The sections of providers, by name.
    #[serde(flatten)]
    pub named: BTreeMap<String, ProviderConfig>,
}

impl Providers {
    /// Returns the kind of a provider: the `kind` of its section, else its name.
    pub fn kind_of<'a>(&'a self, name: &'a str) -> &'a str {
        let section = self.named.get(name);
        section
            .and_then(|section| section.kind.as_deref())
            .unwrap_or(name)
    }

    /// Returns the provider that a model names: the one with this name, or the first with this model.
    pub fn of_model<'a>(&'a self, model: &'a str) -> Option<&'a str> {
        if self.written().contains(&model) {
            return Some(model);
        }
        let mut named = self.named.iter();
        let found = named.find(|(_, section)| section.model.as_deref() == Some(model));
        found.map(|(name, _)| name.as_str())
    }

    /// Returns the providers that the configuration names: those with a section, the default, and `builtin`.
    pub fn written(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.named.keys().map(String::as_str).collect();
        names.extend([self.default.as_str(), "builtin"]);
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl<'de> Deserialize<'de> for Providers {
    // Not derived: with a flattened map serde loses the spans of the values, which error messages need.
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
#[schemars(rename = "Provider")]
pub struct ProviderConfig {
    /// `builtin`, `command`, `claude`, `codex`, `opencode`, or a model API such as `anthropic`, `openai` or `ollama`; by default
    /// the name of the section if it is one of these, else `command`.
    pub kind: Option<String>,
    /// The program to run; for an agent by default its own name.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// For commands: the arguments with which a session is resumed, in which `{session}` is replaced by its id; without them the
    /// command accepts no follow-ups.
    pub resume: Option<Vec<String>>,
    /// For agents and model APIs: their name of the model.
    pub model: Option<String>,
    /// For model APIs: the URL of the API; by default that of the vendor.
    pub base_url: Option<String>,
    /// For model APIs: the variable that contains the key.
    pub key_env: Option<String>,
    /// For model APIs: the file that contains the key, relative to the home.
    pub key_file: Option<PathBuf>,
    /// For model APIs: the price of a million tokens; by default that of large models.
    pub price: Option<PriceConfig>,
    /// For model APIs: the maximum number of tokens of a reply.
    pub max_tokens: Option<u32>,
    /// For model APIs: whether the model may use a shell, which requires sandbox level 2.
    pub bash: bool,
    /// For agents: `bypass` disables their own checks; by default they have the permissions of the run.
    pub permissions: Option<String>,
    /// For agents: `login` uses the login of the host's user; by default they get only the variables in `env`.
    pub auth: Option<String>,
    /// The names of environment variables that the program gets.
    pub env: Vec<String>,
    /// The form of the program's standard input: `text` (default) or `json`.
    pub input: Option<String>,
    /// Whether a run that ends without a result has failed.
    pub require_result: bool,
    /// The maximum size of the context, in bytes.
    pub context_bytes: Option<u64>,
    /// Files and directories that its programs may read at sandbox levels 2 and 3, in addition to their installation: absolute
    /// paths, or `~/` and a path in the home of the host's user.
    pub readable: Vec<PathBuf>,
    /// The hosts that its programs may reach, such as `api.example.com:443`, `*.example.com:443` or `10.0.0.0/8:5432`; `*` permits
    /// all. Agents have the hosts of their model by default, other providers none.
    pub egress: Option<Vec<String>>,
    /// `false` permits no host, and refuses runs below sandbox level 3, where no host can be kept from them; `true` permits all.
    pub network: Option<bool>,
    /// The highest sandbox level of its programs, 1 to 3; by default the highest that this machine supports. Below
    /// `policy.sandbox_min` its runs are refused.
    pub sandbox_max: Option<u8>,
    /// For `builtin`: whether it repairs links that have exactly one candidate.
    pub repair: bool,
}

impl ProviderConfig {
    /// Reports whether it starts programs, which `builtin` does not.
    pub fn starts_programs(&self, name: &str) -> bool {
        self.kind.as_deref().unwrap_or(name) != "builtin"
    }

    /// Reports whether its programs must have no network.
    pub fn is_offline(&self, name: &str) -> bool {
        self.network == Some(false) && self.starts_programs(name)
    }

    /// Returns the file and the variable of a model API's key.
    pub fn key(&self) -> SecretPlaces<'_> {
        SecretPlaces {
            file: self.key_file.as_deref(),
            env: self.key_env.as_deref(),
        }
    }
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Price")]
pub struct PriceConfig {
    /// The price of input tokens.
    pub input: f64,
    /// The price of output tokens.
    pub output: f64,
    /// The price of tokens that are read from a cache or written to one; by default that of other tokens.
    pub cached: Option<f64>,
}

impl PriceConfig {
    /// Reports whether every price is a finite amount from 0 to a million.
    pub(super) fn is_valid(&self) -> bool {
        let parts = [Some(self.input), Some(self.output), self.cached];
        parts
            .into_iter()
            .flatten()
            .all(|usd| usd.is_finite() && (0.0..=1_000_000.0).contains(&usd))
    }
}
