//! `backend_options`: options that a caller adds to the command line of a provider's program.

use daemon_provider::Options;
use serde_json::{Map, Value};

use super::fault::CallFault;

/// Parts of option names that change permissions, sandbox, configuration, session or directory in any of the programs. A name
/// that contains one is refused.
const RESERVED: [&str; 30] = [
    "allow",
    "approv",
    "attach",
    "auto",
    "bypass",
    "config",
    "continue",
    "cwd",
    "danger",
    "dir",
    "disable",
    "enable",
    "ephemeral",
    "fork",
    "format",
    "home",
    "ignore",
    "mcp",
    "output",
    "permission",
    "plugin",
    "profile",
    "resume",
    "sandbox",
    "session",
    "setting",
    "trust",
    "worktree",
    "workspace",
    "yolo",
];

/// Returns the options as arguments; `at` names the task in faults.
pub(super) fn arguments(
    at: &str,
    options: &Map<String, Value>,
    taken: Options,
    faults: &mut Vec<CallFault>,
) -> Vec<String> {
    let mut arguments = Vec::new();
    for (name, value) in options {
        let problem = if !is_name(name) {
            Some("bad name")
        } else if is_reserved(name, taken) {
            Some("reserved")
        } else if !append(&mut arguments, &flag(name), value) {
            Some("unsupported value")
        } else {
            None
        };
        if let Some(problem) = problem {
            let name: String = name.chars().take(80).collect();
            faults.push(CallFault::argument(format!(
                "{at}.backend_options.{name}: {problem}"
            )));
        }
    }
    match taken {
        Options::Taken { .. } => arguments,
        Options::Ignored => Vec::new(),
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphanumeric())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

fn flag(name: &str) -> String {
    format!("--{}", name.replace('_', "-"))
}

/// Returns whether an option is set by the provider itself, or may only be set by the host.
fn is_reserved(name: &str, taken: Options) -> bool {
    let flag = flag(name).to_ascii_lowercase();
    let own = match taken {
        Options::Taken { reserved } => reserved.iter().any(|own| own.eq_ignore_ascii_case(&flag)),
        Options::Ignored => false,
    };
    // Some parsers accept a single letter as a short flag even after two dashes.
    own || name.len() == 1 || RESERVED.iter().any(|part| flag.contains(part))
}

/// Appends an option and returns `true`; returns `false` if its value has no form as an argument.
fn append(arguments: &mut Vec<String>, flag: &str, value: &Value) -> bool {
    let scalar = |value: &Value| match value {
        Value::String(text) => Some(format!("{flag}={text}")),
        Value::Number(number) => Some(format!("{flag}={number}")),
        Value::Bool(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    match value {
        Value::Bool(true) => arguments.push(flag.to_owned()),
        Value::Bool(false) | Value::Null => {}
        Value::Array(values) => {
            let written: Option<Vec<String>> = values.iter().map(scalar).collect();
            match written {
                Some(written) => arguments.extend(written),
                None => return false,
            }
        }
        value => match scalar(value) {
            // `execve` ends an argument at a NUL.
            Some(written) if !written.contains('\0') => arguments.push(written),
            _ => return false,
        },
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(options: &Value, expected: Result<&[&str], &str>) {
        let mut faults = Vec::new();
        let taken = Options::Taken {
            reserved: &["--model"],
        };
        let map = options.as_object().unwrap();
        let written = arguments("tasks[1]", map, taken, &mut faults);
        match expected {
            Ok(expected) => assert_eq!(
                (written, faults),
                (
                    expected.iter().map(ToString::to_string).collect(),
                    Vec::new()
                )
            ),
            Err(problem) => assert_eq!(
                faults,
                [CallFault::argument(format!(
                    "tasks[1].backend_options.{problem}"
                ))]
            ),
        }
    }

    #[test]
    fn options_are_written_as_flags_values_and_repetitions() {
        check(
            &json!({"verbose_log": true, "quiet": false, "none": null, "depth": 3, "effort": "high", "tag": ["a", 2]}),
            Ok(&[
                "--verbose-log",
                "--depth=3",
                "--effort=high",
                "--tag=a",
                "--tag=2",
            ]),
        );
    }

    #[test]
    fn options_that_widen_or_move_a_run_are_refused() {
        for name in [
            "model",
            "dangerously-skip-permissions",
            "permission_mode",
            "add_dir",
            "session-id",
            "mcp_config",
            "sandbox",
            "c",
            "Resume",
            "allowedTools",
        ] {
            let mut options = Map::new();
            options.insert(name.to_owned(), json!("x"));
            check(&Value::Object(options), Err(&format!("{name}: reserved")));
        }
        check(&json!({"-x": true}), Err("-x: bad name"));
        check(&json!({"a b": true}), Err("a b: bad name"));
        check(&json!({"tree": {"a": 1}}), Err("tree: unsupported value"));
        check(&json!({"tree": [[1]]}), Err("tree: unsupported value"));
        check(&json!({"tree": "a\0b"}), Err("tree: unsupported value"));
    }
}
