//! Reads the secrets that a configuration names, for redaction.

use std::fs;
use std::path::{Path, PathBuf};

use daemon_provider::redact::{is_secret_name, secrets_of_arguments};
use daemon_records::environment;
use serde_json::Value;

use crate::config::Config;

/// Returns the secret files that a configuration and the presets of a home name, each with its key.
pub fn secret_files(home: &Path, config: &Config) -> Vec<(String, PathBuf)> {
    let tokens = config.token.iter();
    let tokens = tokens.map(|token| (format!("token.{}.file", token.name), home.join(&token.file)));
    let mut acc: Vec<_> = tokens.collect();
    let config = serde_json::to_value(config).expect("a configuration is representable");
    collect_files(home, "", &config, &mut acc);
    for (name, preset) in presets(home) {
        collect_files(home, &format!("presets/{name}"), &preset, &mut acc);
    }
    acc
}

/// Reads the presets of a home with their names. Presets that cannot be parsed are left out here, and named in the log.
fn presets(home: &Path) -> impl Iterator<Item = (String, Value)> {
    let files = fs::read_dir(home.join("presets")).into_iter().flatten();
    files.flatten().filter_map(|file| {
        let text = fs::read_to_string(file.path()).ok()?;
        let name = file.file_name().to_string_lossy().into_owned();
        Some((name, toml::from_str(&text).ok()?))
    })
}

fn collect_files(home: &Path, key: &str, value: &Value, acc: &mut Vec<(String, PathBuf)>) {
    let Value::Object(members) = value else {
        return;
    };
    for (member, value) in members {
        let below = if key.is_empty() {
            member.clone()
        } else {
            format!("{key}.{member}")
        };
        // The keys of tables such as `env_file` are names of variables, and their values are files.
        let is_file = member.ends_with("_file") || key.ends_with("_file");
        match value {
            Value::String(path) if is_file => acc.push((below, home.join(path))),
            value => collect_files(home, &below, value, acc),
        }
    }
}

/// Reads the secrets that a configuration and the presets of a home name.
pub fn read(home: &Path, config: &Config) -> Vec<String> {
    let tokens = config.token.iter();
    let mut acc: Vec<_> = tokens
        .flat_map(|token| lines(&home.join(&token.file)))
        .collect();
    let config = serde_json::to_value(config).expect("a configuration is representable");
    collect(home, "", &config, &mut acc);
    // The default token file is not part of the configuration.
    if config["host"]["token_file"].is_null() {
        acc.extend(lines(&home.join("token")));
    }
    if let Some(file) = config["sources"]["cloudevents"]["token_file"].as_str() {
        let senders = lines(&home.join(file));
        let tokens = senders.iter().filter_map(|line| line.split_once(':'));
        acc.extend(tokens.map(|(_, token)| token.to_owned()));
    }
    for (_, preset) in presets(home) {
        collect(home, "", &preset, &mut acc);
    }
    acc
}

fn collect(home: &Path, name: &str, value: &Value, acc: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                // The keys of tables such as `env_file` are names of variables; the table decides the kind of the values.
                let is_of_places = name.ends_with("_file") || name.ends_with("_env");
                let name = if is_of_places { name } else { member };
                collect(home, name, value, acc);
            }
        }
        Value::Array(values) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            // `env` of a provider lists names of variables, not all of which are secret.
            if name == "env" {
                let secret = texts.into_iter().filter(|name| is_secret_name(name));
                acc.extend(secret.filter_map(variable));
            } else {
                acc.extend(secrets_of_arguments(&texts));
                values
                    .iter()
                    .filter(|value| !value.is_string())
                    .for_each(|value| collect(home, name, value, acc));
            }
        }
        Value::String(text) => {
            let named = match name.rsplit_once('_') {
                Some((_, "file")) => lines(&home.join(text)),
                Some((_, "env")) => variable(text).into_iter().collect(),
                _ => return acc.extend(secrets_of_arguments(&[text])),
            };
            let parts = named.iter().map(String::as_str).collect::<Vec<_>>();
            acc.extend(secrets_of_arguments(&parts));
            acc.extend(named);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the lines of a file; an unreadable file has none, because the code that needs the secret reports the error.
fn lines(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let lines = text.lines().map(str::trim);
    lines
        // The lines around a PEM key are no secret, and other files have the same ones.
        .filter(|line| !line.is_empty() && !line.starts_with("-----"))
        .map(str::to_owned)
        .collect()
}

fn variable(name: &str) -> Option<String> {
    environment::variable(name)?.into_string().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_that_a_configuration_names_is_known() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("token"), "bearer-0123456789\n").unwrap();
        fs::write(
            home.path().join("hooks"),
            "hook-secret-1\n\nhook-secret-2\n",
        )
        .unwrap();
        fs::write(home.path().join("senders"), "ci:ci-token\n").unwrap();
        fs::write(home.path().join("pages"), "pages-token\n").unwrap();
        fs::write(home.path().join("far"), "https://h/?k=far-key\n").unwrap();
        fs::write(home.path().join("key"), "key-of-model\n").unwrap();
        let pem =
            "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIB\nAAKCAQEA\n-----END RSA PRIVATE KEY-----\n";
        fs::write(home.path().join("app.pem"), pem).unwrap();
        fs::write(home.path().join("small"), "key-of-preset\n").unwrap();
        fs::create_dir(home.path().join("presets")).unwrap();
        let preset = "kind = 'openai'\nmodel = 'm'\nkey_file = 'small'\n";
        fs::write(home.path().join("presets/p.toml"), preset).unwrap();
        let text = "[sources.github]\nsecret_file = 'hooks'\n[sources.cloudevents]\ntoken_file = 'senders'\n[provider.llm]\nkind = 'openai'\nmodel = 'm'\nkey_file = 'key'\n\
                    [mcp.pages]\ncommand = 'x'\nenv_file = {TOKEN = 'pages'}\n[mcp.far]\nurl_file = 'far'\n\
                    [surfaces.github]\napp_id = 7\nkey_file = 'app.pem'\n\
                    [provider.sh]\ncommand = 'x'\nargs = ['--token', 'tok-1', '--url=http://u:pass-1@h/', '--port=8']\n";
        let mut known = read(home.path(), &crate::config::parse(text).unwrap());
        known.sort();
        known.dedup();
        let expected = [
            "AAKCAQEA",
            "MIIEowIB",
            "bearer-0123456789",
            "ci-token",
            "ci:ci-token",
            "far-key",
            "hook-secret-1",
            "hook-secret-2",
            "https://h/?k=far-key",
            "key-of-model",
            "key-of-preset",
            "pages-token",
            "pass-1",
            "tok-1",
            "u",
            "u:pass-1",
        ];
        assert_eq!(known, expected);
        let files = secret_files(home.path(), &crate::config::parse(text).unwrap());
        let of_preset = (
            "presets/p.toml.key_file".to_owned(),
            home.path().join("small"),
        );
        assert!(files.contains(&of_preset), "{files:?}");
    }
}
