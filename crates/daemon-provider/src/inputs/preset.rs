//! Presets: named choices of model and provider, which the home keeps.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Fault;

/// The longest name of a preset.
const MAX_NAME: usize = 64;

/// A named choice of model API and model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// The kind of the API.
    pub kind: String,
    /// Where the API is, if not where its kind is.
    pub base_url: Option<String>,
    /// The model.
    pub model: String,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// The file that holds the key.
    pub key_file: Option<PathBuf>,
    /// The groups of tools, if not those of the task.
    pub tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
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
    if !is_name(name) {
        return Ok(None);
    }
    let text = match fs::read_to_string(directory.join(format!("{name}.toml"))) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Fault::new("preset", format!("cannot be read: {error}"))),
    };
    let file: File = toml::from_str(&text)
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

/// Reports whether a text is a name in a home: lower-case letters, digits and hyphens, a hyphen not first.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty()
        && text.len() <= MAX_NAME
        && !text.starts_with('-')
        && text.chars().all(is_plain)
}
