//! What a program finds in its environment.

use std::collections::BTreeMap;
use std::ffi::OsString;

use daemon_provider::RunRequest;

/// Returns the whole environment of a run's program, without the marker that its supervisor adds.
///
/// What the contract names cannot be replaced by what configuration adds.
pub(crate) fn environment(request: &RunRequest) -> Vec<(OsString, OsString)> {
    let mut variables: BTreeMap<OsString, OsString> = request.environment.clone();
    let mut set = |name: &str, value: &std::path::Path| {
        variables.insert(name.into(), value.as_os_str().to_owned());
    };
    set("PWD", &request.worktree);
    set("HOME", &request.home);
    set("DAEMON_WORKTREE", &request.worktree);
    if let Some(context) = &request.context {
        set("DAEMON_CONTEXT", context);
    }
    if let Some(outputs) = &request.outputs {
        set("DAEMON_OUTPUTS", outputs);
    }
    variables.into_iter().collect()
}
