//! Presets: named choices of an API and a model, stored in the home.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Fault;

/// The longest name of a preset, in bytes.
const MAX_NAME: usize = 64;

/// A named choice of an API and a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// The name, which is also the stem of its file.
    pub name: String,
    /// The kind of the API; it determines the protocol and the default address.
    pub kind: String,
    /// The base URL of the API; `None` is the default of its kind.
    pub base_url: Option<String>,
    /// The model, as the API names it.
    pub model: String,
    /// The environment variable that contains the API key.
    pub key_env: Option<String>,
    /// The file that contains the API key.
    pub key_file: Option<PathBuf>,
    /// The tool groups; `None` is those of the task.
    pub tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
// A misspelt key would otherwise be ignored, and the default used instead.
#[serde(deny_unknown_fields)]
struct PresetFile {
    kind: String,
    base_url: Option<String>,
    model: String,
    key_env: Option<String>,
    key_file: Option<PathBuf>,
    tools: Option<Vec<String>>,
}

/// Reads the preset of this name from a directory; none if there is no such preset.
///
/// # Errors
/// If its file cannot be read or is no preset.
pub fn preset(directory: &Path, name: &str) -> Result<Option<Preset>, Fault> {
    // The name comes from a caller and becomes a part of a path.
    if !is_name(name) {
        return Ok(None);
    }
    let text = match fs::read_to_string(directory.join(format!("{name}.toml"))) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::new("preset", format!("cannot be read: {error}"))),
    };
    let file: PresetFile = toml::from_str(&text)
        .map_err(|error| Fault::new("preset", format!("invalid: {}", error.message())))?;
    Ok(Some(Preset {
        name: name.to_owned(),
        kind: file.kind,
        base_url: file.base_url,
        model: file.model,
        key_env: file.key_env,
        key_file: file.key_file,
        tools: file.tools,
    }))
}

/// Returns whether a string is a valid name: lower-case letters, digits and hyphens, not starting with a hyphen.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= MAX_NAME
        && !text.starts_with('-')
        && text.chars().all(is_plain)
}
