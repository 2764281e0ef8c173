//! Reads and changes the providers, models and MCP servers of the configuration file of a running host.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use daemon_api::ops::{ProviderSettings, SecretPlace, ServerSettings, SettingsRequest};
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_run_folder::write_atomic;
use serde_json::{Value, json};

use super::seams::HostLive;
use crate::config::Config;
use crate::config::edit::{self, KeyValue};
use crate::token;

impl HostLive {
    /// Carries out a request about settings.
    pub(super) async fn answer_settings(&self, request: SettingsRequest) -> Result<Value, OpError> {
        match request {
            SettingsRequest::Providers => Ok(self.list_providers()),
            SettingsRequest::SetProvider(name, settings) => {
                let values = provider_values(&settings);
                self.edit(|text, _| edit::set_table(text, ("provider", &name), values))
                    .await
            }
            SettingsRequest::DeleteProvider(name) => {
                self.edit(|text, config| {
                    check_unused(config, &name)?;
                    let removed = edit::remove_table(text, ("provider", &name))?;
                    removed.ok_or_else(|| OpError::not_found("provider", &name))
                })
                .await
            }
            SettingsRequest::Models => Ok(self.list_models()),
            SettingsRequest::SetActiveModel(model) => {
                self.edit(|text, config| {
                    if config.provider.of_model(&model).is_none() {
                        return Err(OpError::not_found("model", &model));
                    }
                    edit::set_key(text, "model", "active", &model)
                })
                .await
            }
            SettingsRequest::Servers => Ok(self.list_servers()),
            SettingsRequest::SetServer(name, settings) => {
                let values = server_values(&settings);
                let edited = self.edit(|text, _| edit::set_table(text, ("mcp", &name), values));
                edited.await?;
                self.restart_server(&name)
            }
            SettingsRequest::DeleteServer(name) => {
                let edited = self.edit(|text, _| {
                    let removed = edit::remove_table(text, ("mcp", &name))?;
                    removed.ok_or_else(|| OpError::not_found("server", &name))
                });
                edited.await?;
                Ok(json!({"state": "disconnected"}))
            }
            SettingsRequest::RestartServer(name) => self.restart_server(&name),
        }
    }

    fn list_servers(&self) -> Value {
        let listed = self.host.servers.list().into_iter().map(|status| {
            json!({
                "name": status.name,
                "state": status.state,
                "since": status.since.map(|since| since.to_string()),
                "tools": status.tools,
                "error": status.error,
                "restarts": status.restarts,
            })
        });
        json!({"servers": listed.collect::<Vec<_>>()})
    }

    /// Connects to a server again, and returns its state, which changes when it is connected.
    fn restart_server(&self, name: &str) -> Result<Value, OpError> {
        let status = self.host.servers.restart(name);
        let status = status.ok_or_else(|| OpError::not_found("server", name))?;
        Ok(json!({"state": status.state}))
    }

    fn list_providers(&self) -> Value {
        let config = &self.host.runtime().config;
        let home = self.host.home.root();
        let listed = config.provider.written().into_iter().map(|name| {
            let section = config.provider.named.get(name);
            let key = section.map(|section| {
                token::configured(home, &format!("provider.{name}.key"), section.key())
            });
            let (is_set, problem) = match key {
                None | Some(Ok(None)) => (false, None),
                Some(Ok(Some(_))) => (true, None),
                Some(Err(error)) => (false, Some(chain(&error))),
            };
            let model = section.and_then(|section| section.model.as_deref());
            json!({
                "name": name,
                "kind": config.provider.kind_of(name),
                "models": model.into_iter().collect::<Vec<_>>(),
                "key_set": is_set,
                "ok": problem.is_none(),
                "detail": problem,
            })
        });
        json!({"providers": listed.collect::<Vec<_>>()})
    }

    fn list_models(&self) -> Value {
        let config = &self.host.runtime().config;
        let listed = config.provider.named.iter().filter_map(|(name, section)| {
            let model = section.model.as_deref()?;
            Some(json!({"model": model, "provider": name}))
        });
        json!({"models": listed.collect::<Vec<_>>(), "active": active(config)})
    }

    /// Edits the configuration file and puts the result in force. If that fails, the file is as it was before.
    async fn edit(
        &self,
        change: impl FnOnce(&str, &Config) -> Result<String, OpError>,
    ) -> Result<Value, OpError> {
        // One edit after another: each writes what it read.
        let turn = self.editing.lock().await;
        let path = self.host.home.config();
        let old = match fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&path, &error)),
        };
        let new = change(
            old.as_deref().unwrap_or_default(),
            &self.host.runtime().config,
        )?;
        // Before the file is written, so that a crash between two writes leaves no configuration that no host starts with.
        self.compose.check(&new)?;
        write_atomic(&path, new.as_bytes()).map_err(|error| failed(&path, &error))?;
        let reloaded = self.load_again().await;
        super::report(&reloaded);
        if reloaded.is_err() {
            let restored = match &old {
                Some(old) => write_atomic(&path, old.as_bytes()),
                None => fs::remove_file(&path),
            };
            restored.map_err(|error| failed(&path, &error))?;
        }
        drop(turn);
        Ok(json!({"generation": reloaded?["generation"]}))
    }
}

fn failed(path: &Path, error: &io::Error) -> OpError {
    let message = format!("`{}`: {error}", path.display());
    OpError::new(OpErrorKind::Unavailable, "storage-failed", message)
}

/// Returns the model that answers for agents that name none, or the name of a provider without one.
fn active(config: &Config) -> &str {
    let configured = config.model.active.as_deref();
    let named = configured.unwrap_or(&config.provider.default);
    let section = config.provider.named.get(named);
    section
        .and_then(|section| section.model.as_deref())
        .unwrap_or(named)
}

/// Refuses to remove a provider that the configuration names.
fn check_unused(config: &Config, name: &str) -> Result<(), OpError> {
    let policies = config.policy.daemon.iter();
    let mut users = policies.filter(|(_, policy)| policy.provider.as_deref() == Some(name));
    let user = if config.provider.default == name {
        Some("provider.default".to_owned())
    } else if config
        .model
        .active
        .as_deref()
        .and_then(|model| config.provider.of_model(model))
        == Some(name)
    {
        Some("model.active".to_owned())
    } else {
        users.next().map(|(id, _)| format!("policy.daemon.{id}"))
    };
    match user {
        None => Ok(()),
        Some(user) => Err(OpError::new(
            OpErrorKind::Conflict,
            "in-use",
            format!("`{user}` names the provider `{name}`"),
        )),
    }
}

fn provider_values(settings: &ProviderSettings) -> Vec<KeyValue<'static>> {
    let (env, file) = match &settings.key {
        None => (None, None),
        Some(SecretPlace::Variable(name)) => (Some(name), None),
        Some(SecretPlace::File(name)) => (None, Some(name)),
    };
    vec![
        ("kind", Some(settings.kind.as_str().into())),
        ("command", settings.command.as_deref().map(Into::into)),
        ("args", edit::list(&settings.args)),
        ("base_url", settings.base_url.as_deref().map(Into::into)),
        ("model", settings.model.as_deref().map(Into::into)),
        ("key_env", env.map(|name| name.as_str().into())),
        ("key_file", file.map(|name| name.as_str().into())),
    ]
}

fn server_values(settings: &ServerSettings) -> Vec<KeyValue<'static>> {
    let variables = |places: &BTreeMap<String, SecretPlace>| {
        edit::pairs(places.iter().filter_map(|(name, place)| match place {
            SecretPlace::Variable(variable) => Some((name, variable)),
            SecretPlace::File(_) => None,
        }))
    };
    let files = |places: &BTreeMap<String, SecretPlace>| {
        edit::pairs(places.iter().filter_map(|(name, place)| match place {
            SecretPlace::File(file) => Some((name, file)),
            SecretPlace::Variable(_) => None,
        }))
    };
    vec![
        ("transport", Some(settings.transport.as_str().into())),
        ("command", settings.command.as_deref().map(Into::into)),
        ("args", edit::list(&settings.args)),
        ("url", settings.url.as_deref().map(Into::into)),
        ("env", None),
        ("env_env", variables(&settings.env)),
        ("env_file", files(&settings.env)),
        ("headers", None),
        ("headers_env", variables(&settings.headers)),
        ("headers_file", files(&settings.headers)),
    ]
}
