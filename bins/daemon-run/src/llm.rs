//! Model APIs as providers: reads their configuration and presets, and checks them for `doctor`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use daemon_egress::EgressList;
use daemon_host::config::{Config, ProviderConfig, SecretPlaces};
use daemon_host::doctor::Check;
use daemon_host::token;
use daemon_process::{Enclosure, Supervisor};
use daemon_provider::{MicroUsd, Provider, inputs};
use daemon_provider_llm::{Api, ApiKey, Bash, HAS_CLIENT, LlmConfig, LlmProvider, Price};
use daemon_records::error::chain;

/// Returns the model API that a provider uses. `kind` decides; without one, the name of the provider does.
pub(crate) fn api_of(name: &str, provider: &ProviderConfig) -> Option<Api> {
    provider.kind.as_deref().unwrap_or(name).parse().ok()
}

/// Reads the configuration of a model API.
///
/// # Errors
/// Names the key that is wrong.
pub(crate) fn configure(
    home: &Path,
    name: &str,
    api: Api,
    provider: &ProviderConfig,
) -> Result<LlmConfig, String> {
    for (key, is_set) in [
        ("command", provider.command.is_some()),
        ("args", !provider.args.is_empty()),
        ("resume", provider.resume.is_some()),
        ("permissions", provider.permissions.is_some()),
        ("auth", provider.auth.is_some()),
        ("input", provider.input.is_some()),
        ("require_result", provider.require_result),
    ] {
        if is_set {
            return Err(format!("`{key}` is for programs, and this is a model API"));
        }
    }
    let model = provider.model.as_deref().ok_or("`model` is missing")?;
    let mut config = LlmConfig::new(name, api, model);
    config.base_url = checked_url(provider.base_url.as_deref())?;
    config.key = key(home, &format!("provider.{name}.key"), provider.key())?;
    if provider.kind.as_deref().unwrap_or(name) == "ollama" {
        // Ollama runs on a machine of the user.
        config.price = Price::FREE;
    }
    if let Some(price) = &provider.price {
        // Without a price for cached input the higher of the two is assumed: a budget must not be underestimated.
        let cached = price.cached.unwrap_or(price.input.max(price.output));
        config.price = Price {
            input: micros(price.input),
            output: micros(price.output),
            cached: micros(cached),
        };
    }
    if let Some(max_tokens) = provider.max_tokens {
        if max_tokens == 0 {
            return Err("`max_tokens` must be at least 1".to_owned());
        }
        config.max_tokens = max_tokens;
    }
    if provider.bash {
        config.bash = Bash::Confined;
    }
    Ok(config)
}

/// Rejects keys that only model APIs have.
///
/// # Errors
/// Names the first such key.
pub(crate) fn refuse_api_keys(provider: &ProviderConfig) -> Result<(), String> {
    for (key, is_set) in [
        ("base_url", provider.base_url.is_some()),
        ("key_env", provider.key_env.is_some()),
        ("key_file", provider.key_file.is_some()),
        ("price", provider.price.is_some()),
        ("max_tokens", provider.max_tokens.is_some()),
        ("bash", provider.bash),
    ] {
        if is_set {
            return Err(format!("`{key}` is for model APIs"));
        }
    }
    Ok(())
}

fn checked_url(url: Option<&str>) -> Result<Option<String>, String> {
    let Some(url) = url else {
        return Ok(None);
    };
    let host = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_plain = |host: &str| {
        !host.is_empty()
            && !host.starts_with('/')
            && !host.contains(|c: char| c.is_whitespace() || "@?#".contains(c))
    };
    if host.is_some_and(is_plain) {
        return Ok(Some(url.to_owned()));
    }
    Err("`base_url` is not an http or https address without user, query and fragment".to_owned())
}

fn key(home: &Path, key: &str, places: SecretPlaces<'_>) -> Result<Option<ApiKey>, String> {
    let text = token::configured(home, key, places).map_err(|error| chain(&error))?;
    Ok(text.as_deref().and_then(ApiKey::new))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a price is checked to be finite, not negative and small"
)]
fn micros(usd: f64) -> MicroUsd {
    // Rounded up, so that rounding cannot exceed a budget.
    MicroUsd((usd * 1_000_000.0).ceil() as u64)
}

/// Composes the presets of a home. A preset that cannot be used is skipped with a warning in the log: it must not keep the
/// host from starting.
pub(crate) fn presets(
    home: &Path,
    (enclosure, egress): (Enclosure, &EgressList),
    supervisor: &Supervisor,
) -> BTreeMap<String, Arc<dyn Provider>> {
    let directory = home.join("presets");
    // A home without presets has no such directory.
    let Ok(entries) = std::fs::read_dir(&directory) else {
        return BTreeMap::new();
    };
    let names = entries.filter_map(Result::ok).filter_map(|entry| {
        let name = entry.file_name();
        name.to_str()?.strip_suffix(".toml").map(str::to_owned)
    });
    let mut acc: BTreeMap<String, Arc<dyn Provider>> = BTreeMap::new();
    for name in names {
        match preset(home, &directory, &name, (enclosure, egress), supervisor) {
            Ok(Some(provider)) => {
                acc.insert(name, provider);
            }
            Ok(None) => {}
            Err(problem) => tracing::warn!(preset = name, problem, "a preset cannot be used"),
        }
    }
    acc
}

fn preset(
    home: &Path,
    directory: &Path,
    name: &str,
    (enclosure, egress): (Enclosure, &EgressList),
    supervisor: &Supervisor,
) -> Result<Option<Arc<dyn Provider>>, String> {
    let read = inputs::preset(directory, name).map_err(|fault| fault.to_string())?;
    let Some(preset) = read else {
        return Ok(None);
    };
    let api: Api = preset.kind.parse().map_err(|error| chain(&error))?;
    let provider = ProviderConfig {
        kind: Some(preset.kind),
        model: Some(preset.model),
        base_url: preset.base_url,
        key_env: preset.key_env,
        key_file: preset.key_file,
        ..ProviderConfig::default()
    };
    // A preset changes the model of the provider `llm`, so runs and limits carry that name.
    let mut config = configure(home, "llm", api, &provider)?;
    config.enclosure = enclosure;
    config.egress = egress.clone();
    let provider = LlmProvider::new(supervisor.clone(), config).map_err(|error| chain(&error))?;
    Ok(Some(Arc::new(provider)))
}

/// Checks that each configured model API is complete and that its key exists. Calls no API.
pub(crate) fn examine(config: &Config, home: &Path) -> Vec<Check> {
    let named = config.provider.named.iter();
    let apis = named.filter_map(|(name, provider)| Some((name, provider, api_of(name, provider)?)));
    apis.map(|(name, provider, api)| {
        let check = format!("provider {name}");
        match configure(home, name, api, provider) {
            Ok(_) if !HAS_CLIENT => Check::fail(
                check,
                "this build has no client for model APIs",
                "install `daemon-run` with its feature `llm`",
            ),
            Ok(config) => {
                let kind = provider.kind.as_deref().unwrap_or(name);
                let place = config.base_url.as_deref().unwrap_or("its default address");
                let key = if config.key.is_some() {
                    "a key"
                } else {
                    "no key"
                };
                Check::ok(
                    check,
                    format!("{kind}, {}, at {place}, with {key}", config.model),
                )
            }
            Err(problem) => Check::fail(check, problem, "see config.toml"),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, text: &str) -> Result<LlmConfig, String> {
        let config = daemon_host::config::parse(text).unwrap();
        let provider = &config.provider.named[name];
        let api = api_of(name, provider).expect("it is a model API");
        configure(Path::new("/nonexistent"), name, api, provider)
    }

    #[test]
    fn the_kind_selects_the_api_and_without_one_the_name_does() {
        let config = read(
            "llm",
            "[provider.llm]\nkind = 'anthropic'\nmodel = 'm'\nprice = {input = 3, output = 15}\n",
        )
        .unwrap();
        assert_eq!(config.model, "m");
        assert_eq!(config.price.output, MicroUsd(15_000_000));
        assert_eq!(config.price.cached, MicroUsd(15_000_000));
        let config = read("ollama", "[provider.ollama]\nmodel = 'm'\n").unwrap();
        assert_eq!(config.price, Price::FREE);
    }

    #[test]
    fn a_wrong_key_is_named() {
        for (line, problem) in [
            ("", "`model` is missing"),
            ("model = 'm'\ncommand = 'x'", "`command` is for programs"),
            ("model = 'm'\nbase_url = 'ftp://x'", "`base_url` is not"),
            (
                "model = 'm'\nbase_url = 'https://user@host/'",
                "`base_url` is not",
            ),
            ("model = 'm'\nmax_tokens = 0", "`max_tokens` must"),
            (
                "model = 'm'\nkey_file = 'absent'",
                "provider.openai.key_file: cannot read",
            ),
            (
                "model = 'm'\nkey_env = 'NO_SUCH_VARIABLE_HERE'",
                "provider.openai.key_env: `NO_SUCH_VARIABLE_HERE` is not set",
            ),
        ] {
            let error = read("openai", &format!("[provider.openai]\n{line}\n")).unwrap_err();
            assert!(error.starts_with(problem), "{line}: {error}");
        }
    }
}
