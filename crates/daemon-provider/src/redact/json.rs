//! Secrets in structured values, recognised by their position: the name of their member or option.

use serde_json::{Map, Value};

use super::{REDACTED, Redactor, is_secret_name};
use crate::inputs::url;

pub(super) fn redacted(redactor: &Redactor, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(redactor.text(text).into_owned()),
        Value::Array(values) => values
            .iter()
            .map(|value| redacted(redactor, value))
            .collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, value)| {
                let value = member(redactor, name, value);
                (redactor.text(name).into_owned(), value)
            });
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn member(redactor: &Redactor, name: &str, value: &Value) -> Value {
    match (name, value) {
        ("env" | "environment" | "headers", Value::Object(members)) => {
            let members = members.iter().map(|(name, value)| {
                let value = if value.is_null() {
                    Value::Null
                } else {
                    REDACTED.into()
                };
                (name.clone(), value)
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        ("url", Value::String(text)) => redactor.text(&url::redacted(text)).into(),
        ("args", Value::Array(values)) => {
            let texts = values.iter().map(|value| value.as_str());
            match texts.collect::<Option<Vec<_>>>() {
                Some(texts) => arguments(&texts)
                    .iter()
                    .map(|text| redactor.text(text).into_owned())
                    .collect(),
                None => redacted(redactor, value),
            }
        }
        (name, value) if is_secret_name(name) && !value.is_null() => REDACTED.into(),
        (_, value) => redacted(redactor, value),
    }
}

/// Where an argument contains a secret.
enum Argument<'a> {
    /// The argument contains none.
    Plain,
    /// The argument is `--name=value` with a secret value.
    Assigned { name: &'a str, value: &'a str },
    /// The whole argument is the value of the secret-named option before it.
    Value,
}

/// Returns for each argument where it contains a secret.
fn classified<'a>(texts: &[&'a str]) -> Vec<Argument<'a>> {
    let mut is_value = false;
    let classify = |text: &&'a str| {
        // After `--token`, an argument that begins with a dash is the next option: the value is missing.
        if std::mem::take(&mut is_value) && !text.starts_with('-') {
            return Argument::Value;
        }
        match text.split_once('=') {
            Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
                Argument::Assigned { name, value }
            }
            Some(_) => Argument::Plain,
            None => {
                is_value = text.starts_with('-') && is_secret_name(text);
                Argument::Plain
            }
        }
    };
    texts.iter().map(classify).collect()
}

/// Returns arguments without the values of secret-named options and without the secrets of URLs.
pub(crate) fn arguments(texts: &[&str]) -> Vec<String> {
    let shown = classified(texts).into_iter().zip(texts);
    let shown = shown.map(|(classified, text)| match classified {
        Argument::Plain => url::redacted(text),
        Argument::Assigned { name, .. } => format!("{name}={REDACTED}"),
        Argument::Value => REDACTED.to_owned(),
    });
    shown.collect()
}

/// Returns the secrets in arguments, each with the index of its argument.
pub(crate) fn secret_arguments(texts: &[&str]) -> Vec<(usize, String)> {
    let all = classified(texts).into_iter().zip(texts).enumerate();
    all.flat_map(|(index, (classified, text))| {
        let found = match classified {
            Argument::Plain => url::secrets(text),
            Argument::Assigned { value, .. } => vec![value.to_owned()],
            Argument::Value => vec![(*text).to_owned()],
        };
        found.into_iter().map(move |secret| (index, secret))
    })
    .collect()
}

/// Returns the secrets in arguments: the values of secret-named options, and the secrets of URLs.
///
/// ```
/// use daemon_provider::redact::secrets_of_arguments;
///
/// assert_eq!(secrets_of_arguments(&["--token", "t-1", "--port=80", "https://h/?key=k-1"]), ["t-1", "k-1"]);
/// ```
pub fn secrets_of_arguments(arguments: &[&str]) -> Vec<String> {
    let found = secret_arguments(arguments).into_iter();
    found.map(|(_, secret)| secret).collect()
}
