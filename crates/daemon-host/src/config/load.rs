//! Reading configuration text, with a place for everything that is wrong.

use jiff::tz::TimeZone;

use super::duration::Period;
use super::model::Config;

/// How late a delivery may come: as long as the ids of deliveries are kept.
const LONGEST_LATE: Period = Period::from_secs(30 * 86_400);

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (line {line}, column {column})")]
pub struct ConfigError {
    /// What is wrong, naming the key.
    pub message: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
}

/// Reads a configuration.
///
/// # Errors
/// Names the first thing that is wrong and where it stands: syntax, a key that is not served, a value of the wrong type,
/// an unknown zone, a value out of range.
pub fn parse(text: &str) -> Result<Config, ConfigError> {
    let config: Config = toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        at(text, start, error.message().to_owned())
    })?;
    check(&config)
        .map_err(|(needle, message)| at(text, text.find(&needle).unwrap_or(0), message))?;
    Ok(config)
}

/// Returns the JSON Schema of the configuration, draft 2020-12.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}

fn at(text: &str, byte: usize, message: String) -> ConfigError {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ConfigError {
        message,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Checks what types cannot say; an error carries the text to point at.
fn check(config: &Config) -> Result<(), (String, String)> {
    let zones = std::iter::once(&config.schedule.zone)
        .chain(config.repo.iter().filter_map(|repo| repo.zone.as_ref()))
        .chain(
            config
                .policy
                .daemon
                .values()
                .filter_map(|policy| policy.zone.as_ref()),
        );
    for zone in zones {
        if TimeZone::get(zone).is_err() {
            return Err((zone.clone(), format!("`{zone}` is not a time zone")));
        }
    }
    let settle = config
        .policy
        .daemon
        .values()
        .filter_map(|policy| policy.settle);
    for period in settle {
        if period > Period::from_secs(300) {
            return Err((
                "settle".to_owned(),
                format!("`settle` is {period}, at most 5m is served"),
            ));
        }
    }
    let late = config.sources.linear.as_ref();
    if let Some(late) = late.and_then(|linear| linear.accept_late)
        && late > LONGEST_LATE
    {
        return Err((
            "accept_late".to_owned(),
            format!("`sources.linear.accept_late` is {late}, at most {LONGEST_LATE} is served"),
        ));
    }
    for (name, count) in [
        ("host", config.limits.host),
        ("daemon", config.limits.daemon),
        ("rate_subject", config.limits.rate_subject),
        ("rate_daemon", config.limits.rate_daemon),
        ("rate_host", config.limits.rate_host),
    ] {
        if count == 0 {
            return Err((
                name.to_owned(),
                format!("`limits.{name}` must be at least 1"),
            ));
        }
    }
    if !config.budget.activation_usd.is_finite() || config.budget.activation_usd < 0.0 {
        return Err((
            "activation_usd".to_owned(),
            "`budget.activation_usd` must not be negative".to_owned(),
        ));
    }
    if config
        .budget
        .day_usd
        .is_some_and(|usd| !usd.is_finite() || usd < 0.0)
    {
        return Err((
            "day_usd".to_owned(),
            "`budget.day_usd` must not be negative".to_owned(),
        ));
    }
    check_providers(config)?;
    super::mcp::check(config)
}

fn check_providers(config: &Config) -> Result<(), (String, String)> {
    for (name, provider) in &config.provider.named {
        if provider.price.is_some_and(|price| !price.is_valid()) {
            let message = format!("`provider.{name}.price` must not be negative");
            return Err(("price".to_owned(), message));
        }
        let shaped = !name.is_empty()
            && name.len() <= 64
            && name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !shaped {
            return Err((
                name.clone(),
                format!("`{name}` is not a provider's name (a-z, 0-9, `-`)"),
            ));
        }
    }
    Ok(())
}
