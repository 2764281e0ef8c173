//! Servers started as child processes.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::Path;

use daemon_process::{Launch, ProgramError, resolve_program};

/// The search path for a program whose environment has no `PATH`.
const SEARCH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A server's program with its arguments and environment.
#[derive(Clone, PartialEq, Eq)]
pub struct Program {
    /// The program: a path, or a name to look up in the `PATH` of its environment.
    pub command: String,
    /// The arguments, without the program's name.
    pub args: Vec<String>,
    /// Variables added to those of the run; their values may be secrets.
    pub env: BTreeMap<String, String>,
}

impl fmt::Debug for Program {
    // Arguments and variables are not printed: both may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("command", &self.command)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// Returns a launch like `base` with this program, its arguments and variables, and `marker`.
    ///
    /// The marker must not be used by another child of the run: when the server is ended, everything with its marker is
    /// ended too.
    ///
    /// # Errors
    /// Returns [`ProgramError`] if no such program exists outside of the `forbidden` directories.
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
