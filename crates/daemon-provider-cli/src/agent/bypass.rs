//! Arguments of an operator that would change an agent's permissions.
//!
//! One key of the configuration switches an agent's checks off, and `doctor`, `check` and the roster show it. A switch among
//! the arguments would have the same effect without being shown.

use super::Agent;

/// Flags that replace the permissions of the run, directly or through a settings file.
const CLAUDE: &[&str] = &[
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--permission-mode",
    "--permission-prompt-tool",
    "--settings",
    "--setting-sources",
    "--bare",
];
const CODEX: &[&str] = &[
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--approve-for-me",
    "--full-auto",
    "--yolo",
    "--sandbox",
    "-s",
    "--ask-for-approval",
    "-a",
    "--profile",
    "-p",
];
const OPENCODE: &[&str] = &["--auto", "--dangerously-skip-permissions", "--yolo"];
/// Flags of `codex` that set a configuration key, and the prefixes of keys that change permissions.
const CONFIGURE: [&str; 2] = ["--config", "-c"];
const KEYS: [&str; 8] = [
    "approval",
    "default_permissions",
    "hooks",
    "permissions",
    "profile",
    "projects",
    "sandbox",
    "trust",
];

/// Returns the first argument that would change the permissions of an agent's runs.
pub(super) fn find(agent: Agent, args: &[String]) -> Option<&str> {
    let flags = match agent {
        Agent::Claude => CLAUDE,
        Agent::Codex => CODEX,
        Agent::Opencode => OPENCODE,
    };
    let mut before = "";
    args.iter().map(String::as_str).find(|arg| {
        let is_value = CONFIGURE.contains(&std::mem::replace(&mut before, arg));
        let is_key = agent == Agent::Codex && (is_value && is_key(arg) || sets_key(arg));
        is_key || flags.iter().any(|flag| is_flag(flag, arg))
    })
}

/// Reports whether an argument is this flag, with or without a value attached.
fn is_flag(flag: &str, arg: &str) -> bool {
    match arg.strip_prefix(flag) {
        None => false,
        // A short flag takes its value without a separator (`-sdanger-full-access`); a long one only behind `=`.
        Some(rest) => rest.is_empty() || rest.starts_with('=') || !flag.starts_with("--"),
    }
}

fn sets_key(arg: &str) -> bool {
    let mut values = CONFIGURE.iter().filter_map(|flag| arg.strip_prefix(flag));
    values.any(|value| is_key(value.trim_start_matches('=')))
}

fn is_key(assignment: &str) -> bool {
    let assignment = assignment.trim_start();
    KEYS.iter().any(|key| assignment.starts_with(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_widen_permissions_are_found_however_they_are_written() {
        let table: [(Agent, &str, Option<&str>); 14] = [
            (
                Agent::Claude,
                "--dangerously-skip-permissions",
                Some("--dangerously-skip-permissions"),
            ),
            (
                Agent::Claude,
                "--x --permission-mode=bypassPermissions",
                Some("--permission-mode=bypassPermissions"),
            ),
            (Agent::Claude, "--settings {}", Some("--settings")),
            (
                Agent::Claude,
                "--append-system-prompt Be-brief --effort high",
                None,
            ),
            (Agent::Codex, "--yolo", Some("--yolo")),
            (
                Agent::Codex,
                "-sdanger-full-access",
                Some("-sdanger-full-access"),
            ),
            (
                Agent::Codex,
                "-c sandbox_mode=\"danger-full-access\"",
                Some("sandbox_mode=\"danger-full-access\""),
            ),
            (
                Agent::Codex,
                "-capproval_policy=never",
                Some("-capproval_policy=never"),
            ),
            (
                Agent::Codex,
                "--config=projects.x.trust_level=1",
                Some("--config=projects.x.trust_level=1"),
            ),
            (Agent::Codex, "-c model_reasoning_effort=high", None),
            (Agent::Opencode, "--auto", Some("--auto")),
            (Agent::Opencode, "--auto=true", Some("--auto=true")),
            (Agent::Opencode, "--automatic --variant high", None),
            (Agent::Opencode, "", None),
        ];
        for (agent, args, expected) in table {
            let args: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            assert_eq!(find(agent, &args), expected, "{agent:?} {args:?}");
        }
    }
}
