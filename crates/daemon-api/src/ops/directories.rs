//! The directories that clients with a token may name.

use std::path::{Path, PathBuf};

use daemon_records::error::{OpError, OpErrorKind};
use serde_json::{Map, Value};

use super::{Operation, Operations};

impl Operations {
    /// Checks that a request names only directories beneath those for clients with a token. The owner on the socket of the home
    /// may name any.
    ///
    /// # Errors
    /// If it names another one, or one that does not exist.
    pub(crate) fn check_directories(
        &self,
        operation: Operation,
        params: &Map<String, Value>,
    ) -> Result<(), OpError> {
        self.check_beneath(operation, params, self.live.directories())
            .map_err(|path| {
                let message = format!("a client with a token may not name `{path}`");
                let error = OpError::new(OpErrorKind::Forbidden, "forbidden", message);
                error.with_help("add its directory to `tools.roots` in the configuration")
            })
    }

    /// Checks that a call of an agent names only directories beneath that of its conversation, and those for clients with a token.
    ///
    /// # Errors
    /// If it names another one, or one that does not exist.
    pub fn check_directories_of(
        &self,
        directory: &Path,
        call: &Map<String, Value>,
    ) -> Result<(), OpError> {
        let allowed = [vec![directory.to_owned()], self.live.directories()].concat();
        self.check_beneath(Operation::RunCall, call, allowed)
            .map_err(|path| {
                let message = format!("an agent may not name `{path}`");
                let error = OpError::new(OpErrorKind::Forbidden, "forbidden", message);
                error.with_help("name a directory of the conversation, or beneath `tools.roots`")
            })
    }

    /// Checks that a request names only directories beneath some; fails with the first other one.
    fn check_beneath(
        &self,
        operation: Operation,
        params: &Map<String, Value>,
        allowed: Vec<PathBuf>,
    ) -> Result<(), String> {
        let named = named(operation, params);
        if named.is_empty() {
            return Ok(());
        }
        // With links followed, on both sides.
        let allowed: Vec<PathBuf> = allowed
            .iter()
            .filter_map(|directory| directory.canonicalize().ok())
            .collect();
        let is_allowed = |path: &PathBuf| {
            let resolved = path.canonicalize();
            resolved.is_ok_and(|path| allowed.iter().any(|directory| path.starts_with(directory)))
        };
        match named.iter().find(|path| !is_allowed(path)) {
            None => Ok(()),
            Some(path) => Err(path.to_string_lossy().chars().take(200).collect()),
        }
    }
}

/// Returns the directories and skills that a request names.
fn named(operation: Operation, params: &Map<String, Value>) -> Vec<PathBuf> {
    let directory = |map: &Map<String, Value>| {
        let text = map.get("cwd").and_then(Value::as_str);
        text.map(PathBuf::from)
    };
    let of_caller = directory(params);
    let mut named = Vec::new();
    if operation == Operation::RunCall {
        let tasks = params.get("tasks").and_then(Value::as_array);
        for task in tasks.into_iter().flatten().filter_map(Value::as_object) {
            let cwd = directory(task);
            let base = cwd.as_deref().or(of_caller.as_deref());
            let skills = task.get("skills").and_then(Value::as_array);
            let skills = skills.into_iter().flatten().filter_map(Value::as_str);
            named.extend(skills.map(|skill| base.unwrap_or(Path::new("/")).join(skill)));
            named.extend(cwd);
        }
    }
    named.extend(of_caller);
    named
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_paths_of_a_request_are_found() {
        let call = json!({"cwd": "/a", "tasks": [
            {"task": "t", "skills": ["s", "/x/s"]}, {"task": "t", "cwd": "/b", "skills": ["../s"]}]});
        let found = |operation| named(operation, call.as_object().unwrap());
        let paths = |texts: &[&str]| texts.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            found(Operation::RunCall),
            paths(&["/a/s", "/x/s", "/b/../s", "/b", "/a"])
        );
        assert_eq!(found(Operation::ConversationSend), paths(&["/a"]));
    }
}
