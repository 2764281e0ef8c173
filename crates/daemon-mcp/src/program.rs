//! Servers that are started as children.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use daemon_process::{Launch, ProgramError, resolve_program};

/// Where programs are looked up where nothing else is said.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A server that is a program, and what it is given.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The program: a path, or a name to look up in the `PATH` that it is given.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables beside the usual ones, which may hold secrets.
    pub env: BTreeMap<String, String>,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// Says how to start it: like `base`, but for its program, arguments, variables and `marker`.
    ///
    /// The marker must be one of its own, or its end would end what else the run has started.
    ///
    /// # Errors
    /// There is no such program outside of the directories that none is taken from.
    pub fn launch(
        &self,
        base: &Launch,
        marker: String,
        forbidden: &[&Path],
    ) -> Result<Launch, ProgramError> {
        let mut env = base.env.clone();
        let is_own = |name: &OsString| {
            name.to_str()
                .is_some_and(|name| self.env.contains_key(name))
        };
        env.retain(|(name, _)| !is_own(name));
        env.extend(
            self.env
                .iter()
                .map(|(name, value)| (name.into(), value.into())),
        );
        let search = env.iter().find(|(name, _)| name == "PATH");
        let search = search.map_or(OsStr::new(SEARCH), |(_, path)| path);
        Ok(Launch {
            program: resolve_program(Path::new(&self.command), search, forbidden)?,
            args: self.args.iter().map(OsString::from).collect(),
            env,
            marker,
            ..base.clone()
        })
    }
}
