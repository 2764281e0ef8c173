//! The memories of agents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use daemon_store::agent_memory::AgentMemory;

use crate::name::AgentName;

/// Makes the memory of a file, without opening it.
pub type MemoryOfFile = fn(PathBuf) -> Arc<dyn AgentMemory>;

/// The memories of a home, one file for each agent.
///
/// A host keeps one value of this type across reloads, so that each file has one owner.
#[derive(Debug)]
pub struct Memories {
    directory: PathBuf,
    of_file: MemoryOfFile,
    known: Mutex<BTreeMap<AgentName, Arc<dyn AgentMemory>>>,
}

impl Memories {
    /// Uses a directory, in which the first entry of an agent makes its file.
    pub fn new(directory: PathBuf, of_file: MemoryOfFile) -> Self {
        Self {
            directory,
            of_file,
            known: Mutex::default(),
        }
    }

    /// Returns the memory of an agent.
    pub fn of(&self, agent: &AgentName) -> Arc<dyn AgentMemory> {
        let mut known = self.known.lock().expect("no holder panics");
        let memory = known.entry(agent.clone()).or_insert_with(|| {
            let path = self.directory.join(format!("{agent}.db"));
            (self.of_file)(path)
        });
        Arc::clone(memory)
    }
}
