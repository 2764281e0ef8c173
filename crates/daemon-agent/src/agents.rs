//! The directory of agents.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use daemon_run_folder::write_atomic;
use serde_json::{Map, Value};

use crate::definition::{self, AgentDefinition, MAX_BYTES};
use crate::error::AgentError;
use crate::log::LogError;
use crate::name::AgentName;

/// The agents of a home: one file each, read whenever one is asked for, so that an edit counts at the next turn.
#[derive(Debug)]
pub struct Agents {
    directory: PathBuf,
    /// Held from the comparison of a revision until the file is replaced.
    writing: Mutex<()>,
}

/// What a listing says about an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedAgent {
    /// The name.
    pub name: AgentName,
    /// The agent, or what is wrong with its file.
    pub agent: Result<AgentDefinition, String>,
}

impl Agents {
    /// Uses a directory, which may not exist yet.
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            writing: Mutex::new(()),
        }
    }

    fn path(&self, name: &AgentName) -> PathBuf {
        self.directory.join(format!("{name}.md"))
    }

    /// Reads an agent.
    ///
    /// # Errors
    /// If no agent has this name, or its file cannot be read or is invalid.
    pub fn get(&self, name: &AgentName) -> Result<AgentDefinition, AgentError> {
        let path = self.path(name);
        let is_small =
            |length: u64| usize::try_from(length).is_ok_and(|length| length <= MAX_BYTES);
        let text = match fs::metadata(&path) {
            // A file that is too large is not read: the error is the same.
            Ok(metadata) if !is_small(metadata.len()) => {
                return Err(invalid(name, definition::DefinitionError::Size));
            }
            Ok(_) => fs::read_to_string(&path),
            Err(error) => Err(error),
        };
        match text {
            Ok(text) => AgentDefinition::parse(name.clone(), &text)
                .map_err(|problem| invalid(name, problem)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(unknown(name)),
            Err(error) => Err(storage(&path, error)),
        }
    }

    /// Lists the agents by name.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self) -> Result<Vec<ListedAgent>, AgentError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(storage(&self.directory, error)),
        };
        let names = entries.filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.strip_suffix(".md")?.parse().ok()
        });
        let mut names: Vec<AgentName> = names.collect();
        names.sort();
        Ok(names
            .into_iter()
            .map(|name| ListedAgent {
                agent: self.get(&name).map_err(|error| error.to_string()),
                name,
            })
            .collect())
    }

    /// Creates an agent, and returns its revision.
    ///
    /// # Errors
    /// If it exists, the definition is invalid, or the file cannot be written.
    pub fn create(
        &self,
        name: &AgentName,
        definition: &Map<String, Value>,
        prompt: &str,
    ) -> Result<String, AgentError> {
        let _turn = self.writing.lock().expect("no holder panics");
        if self.path(name).exists() {
            return Err(AgentError::Conflict(format!("agent `{name}` exists")));
        }
        self.put(name, definition, prompt)
    }

    /// Replaces the definition, the prompt or both of a revision, and returns the new one.
    ///
    /// # Errors
    /// If it does not exist or has another revision, the definition is invalid, or the file cannot be written.
    pub fn update(
        &self,
        name: &AgentName,
        (definition, prompt): (Option<Map<String, Value>>, Option<String>),
        rev: &str,
    ) -> Result<String, AgentError> {
        let _turn = self.writing.lock().expect("no holder panics");
        self.expect(name, rev)?;
        let path = self.path(name);
        let text = fs::read_to_string(&path).map_err(|error| storage(&path, error))?;
        let (matter, old) = daemon_provider::inputs::front_matter(&text).unwrap_or_default();
        let prompt = prompt.unwrap_or_else(|| old.to_owned());
        match definition {
            Some(definition) => self.put(name, &definition, &prompt),
            // The front matter stays byte for byte, with its comments.
            None => self.replace(name, &format!("---\n{matter}---\n{prompt}")),
        }
    }

    /// Deletes a revision of an agent. Its conversations stay.
    ///
    /// # Errors
    /// If it does not exist or has another revision, or the file cannot be removed.
    pub fn delete(&self, name: &AgentName, rev: &str) -> Result<(), AgentError> {
        let _turn = self.writing.lock().expect("no holder panics");
        self.expect(name, rev)?;
        let path = self.path(name);
        let removed =
            fs::remove_file(&path).and_then(|()| fs::File::open(&self.directory)?.sync_all());
        removed.map_err(|error| storage(&path, error))
    }

    fn expect(&self, name: &AgentName, rev: &str) -> Result<(), AgentError> {
        let found = self.get(name)?.rev;
        if found == rev {
            return Ok(());
        }
        let message = format!("agent `{name}` has the revision {found}");
        Err(AgentError::Conflict(message))
    }

    fn put(
        &self,
        name: &AgentName,
        definition: &Map<String, Value>,
        prompt: &str,
    ) -> Result<String, AgentError> {
        let text = definition::write(name.clone(), definition, prompt);
        self.replace(name, &text.map_err(|problem| invalid(name, problem))?)
    }

    fn replace(&self, name: &AgentName, text: &str) -> Result<String, AgentError> {
        let agent =
            AgentDefinition::parse(name.clone(), text).map_err(|problem| invalid(name, problem))?;
        let path = self.path(name);
        write_atomic(&path, text.as_bytes()).map_err(|error| storage(&path, error))?;
        Ok(agent.rev)
    }
}

fn unknown(name: &AgentName) -> AgentError {
    AgentError::NotFound {
        what: "agent",
        id: name.to_string(),
    }
}

fn invalid(name: &AgentName, problem: definition::DefinitionError) -> AgentError {
    AgentError::Definition {
        agent: name.to_string(),
        problem,
    }
}

fn storage(path: &Path, source: io::Error) -> AgentError {
    LogError::Io {
        path: path.to_owned(),
        source,
    }
    .into()
}

#[cfg(test)]
mod tests;
