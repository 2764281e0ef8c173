//! Operations on the providers, models and MCP servers of the configuration.

use std::collections::BTreeMap;

use daemon_agent::is_plain_name;
use daemon_records::error::OpError;
use serde_json::{Map, Value};

use super::{Operation, Operations, Params, object};

/// The longest text of a setting, in bytes.
const MAX_TEXT: usize = 4096;
/// The most entries of a list or a table.
const MAX_ENTRIES: usize = 64;
/// The longest name of a file of the home.
const MAX_FILE: usize = 128;

/// A request to read or change settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingsRequest {
    /// Lists the providers.
    Providers,
    /// Sets a provider.
    SetProvider(String, ProviderSettings),
    /// Removes a provider.
    DeleteProvider(String),
    /// Lists the models.
    Models,
    /// Sets the provider, or the model of one, that answers for agents that name none.
    SetActiveModel(String),
    /// Lists the MCP servers.
    Servers,
    /// Sets an MCP server.
    SetServer(String, ServerSettings),
    /// Removes an MCP server.
    DeleteServer(String),
    /// Connects to an MCP server again.
    RestartServer(String),
}

/// The settings of a provider; one that is missing is removed from its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSettings {
    /// The kind.
    pub kind: String,
    /// The program.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The address of the API.
    pub base_url: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Where the key of the API is.
    pub key: Option<SecretPlace>,
}

/// The settings of an MCP server; one that is missing is removed from its section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `stdio` or `http`.
    pub transport: String,
    /// The program.
    pub command: Option<String>,
    /// The arguments of the program.
    pub args: Vec<String>,
    /// The address.
    pub url: Option<String>,
    /// The variables of the program.
    pub env: BTreeMap<String, SecretPlace>,
    /// The headers of each request.
    pub headers: BTreeMap<String, SecretPlace>,
}

/// Where a value is that no request contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretPlace {
    /// In a variable of the host.
    Variable(String),
    /// In a file of the home.
    File(String),
}

impl SettingsRequest {
    /// Reads the parameters of an operation on settings.
    ///
    /// # Errors
    /// Names the first invalid parameter.
    fn parse(operation: Operation, params: &mut Params) -> Result<Self, OpError> {
        Ok(match operation {
            Operation::ProviderSet => Self::SetProvider(name(params)?, provider(params)?),
            Operation::ProviderDelete => Self::DeleteProvider(name(params)?),
            Operation::ModelList => Self::Models,
            Operation::ModelSetActive => {
                let model = params.required("model")?;
                Self::SetActiveModel(checked("model", model)?)
            }
            Operation::McpList => Self::Servers,
            Operation::McpSet => Self::SetServer(name(params)?, server(params)?),
            Operation::McpDelete => Self::DeleteServer(name(params)?),
            Operation::McpRestart => Self::RestartServer(name(params)?),
            _ => Self::Providers,
        })
    }
}

impl Operations {
    /// Reads or changes settings of a running host.
    pub(super) async fn settings(
        &self,
        operation: Operation,
        mut params: Params,
    ) -> Result<Map<String, Value>, OpError> {
        let request = SettingsRequest::parse(operation, &mut params)?;
        params.finish()?;
        object(self.live.settings(request).await?)
    }
}

fn name(params: &mut Params) -> Result<String, OpError> {
    let name = params.required("name")?;
    if is_plain_name(&name) {
        return Ok(name);
    }
    Err(OpError::invalid(
        "`name` must be 1 to 64 small letters, digits and hyphens, and begin with no hyphen",
    ))
}

fn provider(params: &mut Params) -> Result<ProviderSettings, OpError> {
    let kind = params.required("kind")?;
    let mut models = texts(params, "models")?;
    if models.len() > 1 {
        return Err(OpError::invalid(
            "`models` names more than one: a provider has one model; set another provider for each",
        ));
    }
    let key = match (text(params, "key_env")?, text(params, "key_file")?) {
        (Some(_), Some(_)) => {
            return Err(OpError::invalid("`key_env` and `key_file` are both given"));
        }
        (Some(variable), None) => Some(SecretPlace::Variable(variable)),
        (None, Some(file)) => Some(SecretPlace::File(file_name("key_file", file)?)),
        (None, None) => None,
    };
    Ok(ProviderSettings {
        kind: checked("kind", kind)?,
        command: text(params, "command")?,
        args: texts(params, "args")?,
        base_url: text(params, "base_url")?,
        model: models.pop(),
        key,
    })
}

fn server(params: &mut Params) -> Result<ServerSettings, OpError> {
    let transport = params.required("transport")?;
    if !matches!(transport.as_str(), "stdio" | "http") {
        return Err(OpError::invalid("`transport` must be `stdio` or `http`"));
    }
    Ok(ServerSettings {
        transport,
        command: text(params, "command")?,
        args: texts(params, "args")?,
        url: text(params, "url")?,
        env: places(params, "env")?,
        headers: places(params, "headers")?,
    })
}

fn text(params: &mut Params, key: &str) -> Result<Option<String>, OpError> {
    let given = params.text(key)?;
    given.map(|text| checked(key, text)).transpose()
}

/// Refuses what no setting contains: nothing, very long text, and characters that a program or a file cannot have.
fn checked(key: &str, text: String) -> Result<String, OpError> {
    if (1..=MAX_TEXT).contains(&text.len()) && !text.chars().any(char::is_control) {
        return Ok(text);
    }
    Err(OpError::invalid(format!(
        "`{key}` must be 1 to {MAX_TEXT} bytes without control characters"
    )))
}

fn texts(params: &mut Params, key: &str) -> Result<Vec<String>, OpError> {
    let wrong = || {
        OpError::invalid(format!(
            "`{key}` must be a list of at most {MAX_ENTRIES} texts"
        ))
    };
    match params.value(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(entries)) if entries.len() <= MAX_ENTRIES => {
            let entries = entries.into_iter().map(|entry| match entry {
                Value::String(text) => checked(key, text),
                _ => Err(wrong()),
            });
            entries.collect()
        }
        Some(_) => Err(wrong()),
    }
}

/// Reads a table whose values are `{"env": VARIABLE}` or `{"file": NAME}`.
fn places(params: &mut Params, key: &str) -> Result<BTreeMap<String, SecretPlace>, OpError> {
    let wrong = || {
        OpError::invalid(format!(
            "`{key}` must be an object of at most {MAX_ENTRIES} values such as {{\"env\": \"VARIABLE\"}} or {{\"file\": \"NAME\"}}"
        ))
    };
    let entries = match params.value(key) {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(entries)) if entries.len() <= MAX_ENTRIES => entries,
        Some(_) => return Err(wrong()),
    };
    let read = entries.into_iter().map(|(name, place)| {
        let place = place.as_object().filter(|place| place.len() == 1);
        let (kind, given) = place
            .and_then(|place| place.iter().next())
            .ok_or_else(wrong)?;
        let given = checked(key, given.as_str().ok_or_else(wrong)?.to_owned())?;
        let place = match kind.as_str() {
            "env" => SecretPlace::Variable(given),
            "file" => SecretPlace::File(file_name(key, given)?),
            _ => return Err(wrong()),
        };
        Ok((checked(key, name)?, place))
    });
    read.collect()
}

/// Checks the name of a file that is directly in the home. No value of a request is a path.
fn file_name(key: &str, name: String) -> Result<String, OpError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if name.len() <= MAX_FILE && !name.starts_with('.') && name.bytes().all(is_plain) {
        return Ok(name);
    }
    Err(OpError::invalid(format!(
        "`{key}` must name a file of the home: at most {MAX_FILE} letters, digits, `.`, `_` and `-`"
    )))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(operation: Operation, params: Value) -> Result<SettingsRequest, String> {
        let Value::Object(params) = params else {
            panic!("an object");
        };
        let mut params = Params::new(params);
        let read = SettingsRequest::parse(operation, &mut params);
        let done = read.and_then(|request| params.finish().map(|()| request));
        done.map_err(|error| error.message)
    }

    #[test]
    fn a_request_names_where_secrets_are_and_never_contains_one() {
        let given = json!({"name": "pages", "transport": "http", "url": "https://pages.example/mcp",
            "headers": {"Authorization": {"env": "PAGES"}, "X-Key": {"file": "pages-key"}}});
        let expected = ServerSettings {
            transport: "http".to_owned(),
            command: None,
            args: Vec::new(),
            url: Some("https://pages.example/mcp".to_owned()),
            env: BTreeMap::new(),
            headers: BTreeMap::from([
                (
                    "Authorization".to_owned(),
                    SecretPlace::Variable("PAGES".to_owned()),
                ),
                (
                    "X-Key".to_owned(),
                    SecretPlace::File("pages-key".to_owned()),
                ),
            ]),
        };
        assert_eq!(
            parse(Operation::McpSet, given),
            Ok(SettingsRequest::SetServer("pages".to_owned(), expected))
        );
        for headers in [
            json!({"Authorization": "Bearer x"}),
            json!({"Authorization": {"env": "A", "file": "b"}}),
            json!({"Authorization": {"value": "x"}}),
            json!(["Authorization"]),
        ] {
            let given = json!({"name": "pages", "transport": "http", "headers": headers});
            let refused = parse(Operation::McpSet, given).unwrap_err();
            assert!(
                refused.starts_with("`headers` must be an object of"),
                "{refused}"
            );
        }
    }

    #[test]
    fn no_value_is_a_path() {
        for file in [
            "../token",
            "/etc/passwd",
            "a/b",
            ".hidden",
            "",
            "a\0b",
            &"x".repeat(200),
        ] {
            let given = json!({"name": "small", "kind": "openai", "key_file": file});
            let refused = parse(Operation::ProviderSet, given).unwrap_err();
            assert!(refused.starts_with("`key_file` must "), "{refused}");
        }
    }

    #[test]
    fn a_provider_has_one_model_and_one_key() {
        let set = |more: Value| {
            let mut given = json!({"name": "small", "kind": "openai"});
            let members = given.as_object_mut().unwrap();
            members.extend(more.as_object().unwrap().clone());
            parse(Operation::ProviderSet, given)
        };
        let Ok(SettingsRequest::SetProvider(_, small)) = set(json!({"models": ["m"]})) else {
            panic!("it is set");
        };
        assert_eq!(small.model.as_deref(), Some("m"));
        assert_eq!(
            set(json!({"models": ["m", "n"]})).unwrap_err(),
            "`models` names more than one: a provider has one model; set another provider for each"
        );
        assert_eq!(
            set(json!({"key_env": "K", "key_file": "k"})).unwrap_err(),
            "`key_env` and `key_file` are both given"
        );
        assert_eq!(
            set(json!({"models": "m"})).unwrap_err(),
            "`models` must be a list of at most 64 texts"
        );
        assert!(set(json!({"price": 1})).is_err());
    }
}
