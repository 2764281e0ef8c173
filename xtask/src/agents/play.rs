//! What the model says, by the words of its task.

use daemon_fakes::{Message, Received, Reply};
use serde_json::{Value, json};

/// The word of a task that is never answered.
pub(crate) const HOLD: &str = "HOLD-STILL";
/// The word of a message that is answered without a tool.
pub(crate) const AGAIN: &str = "SAY-IT-AGAIN";
/// The word of a task for the host's own tools.
pub(crate) const KEEP: &str = "KEEP-COUNT";
/// The word of a task for the tool of a server that its caller brings.
pub(crate) const RING: &str = "RING-THE-BELL";
/// The word of a task that leaves its directory.
pub(crate) const REACH: &str = "REACH-OUTSIDE";
/// What the model says when its tools have worked.
pub(crate) const NOTED: &str = "Noted in NOTE.md.";
/// What the model says to a follow-up.
pub(crate) const SAID_AGAIN: &str = "As I said: noted.";
/// What the model proposes as the message of its commit.
pub(crate) const MESSAGE: &str = "count what was seen";

/// Decides what the model answers.
pub(crate) fn reply(received: &Received) -> Reply {
    let tools = received.tools();
    if tools.is_empty() {
        // A title, or another question beside the work.
        return Reply::text("A note");
    }
    let body = received.body.to_string();
    if body.contains(HOLD) {
        return Reply::Silence(Message::text("I think"));
    }
    if body.contains(AGAIN) {
        return Reply::text(SAID_AGAIN);
    }
    let uses = if body.contains(KEEP) {
        let proposal = json!({"v": 1, "verb": "push_branch", "body": MESSAGE});
        vec![
            Use::Of("state_set", json!({"key": "seen", "value": {"n": 1}})),
            Use::Of("state_get", json!({"key": "seen"})),
            Use::Note,
            Use::Of("propose_output", json!({"output": proposal})),
            Use::Of(
                "propose_output",
                json!({"output": {"v": 1, "verb": "merge", "target": "github:o/r#1"}}),
            ),
        ]
    } else if body.contains(RING) {
        vec![Use::Of("ring", json!({})), Use::Shell("env")]
    } else if body.contains(REACH) {
        vec![Use::Shell("echo reached > ../outside")]
    } else {
        vec![Use::Note]
    };
    match uses.get(received.tool_results().len()) {
        Some(wanted) => wanted.with(&tools),
        None => Reply::text(NOTED),
    }
}

/// One use of a tool.
enum Use {
    /// Of a tool that writes a file.
    Note,
    /// Of a tool that runs a command, whether it is offered or not.
    Shell(&'static str),
    /// Of a tool of a server.
    Of(&'static str, Value),
}

impl Use {
    /// Uses the tool by the name that the agent gives it.
    fn with(&self, tools: &[String]) -> Reply {
        let is_offered = |name: &str| tools.iter().any(|tool| tool == name);
        match self {
            Self::Note => {
                let writes = [
                    (
                        "Write",
                        json!({"file_path": "NOTE.md", "content": "note\n"}),
                    ),
                    ("write", json!({"filePath": "NOTE.md", "content": "note\n"})),
                ];
                match writes.into_iter().find(|(name, _)| is_offered(name)) {
                    Some((name, arguments)) => Reply::call(name, arguments),
                    None => Self::Shell("echo note > NOTE.md").with(tools),
                }
            }
            Self::Shell(command) if is_offered("exec_command") => {
                Reply::call("exec_command", json!({"cmd": command}))
            }
            Self::Shell(command) => {
                let name = if is_offered("read") { "bash" } else { "Bash" };
                Reply::call(name, json!({"command": command, "description": "Runs it."}))
            }
            Self::Of(name, arguments) => {
                let is_it = |tool: &&String| {
                    tool.strip_suffix(name)
                        .is_some_and(|rest| rest.ends_with(['_', '.']))
                };
                match tools.iter().find(is_it) {
                    Some(tool) => Reply::call(tool, arguments.clone()),
                    None => Reply::text(format!("no tool `{name}` among {tools:?}")),
                }
            }
        }
    }
}
