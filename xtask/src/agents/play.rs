//! The script of the model: its replies, selected by key words in the task.

use std::path::Path;

use daemon_fakes::{Message, Received, Reply};
use serde_json::{Value, json};

/// In a task to which the model never replies.
pub(crate) const HOLD: &str = "HOLD-STILL";
/// In a message to which the model replies without a tool.
pub(crate) const AGAIN: &str = "SAY-IT-AGAIN";
/// In a task that uses the host's own tools.
pub(crate) const KEEP: &str = "KEEP-COUNT";
/// In a task that uses the tool of an MCP server given with the task.
pub(crate) const RING: &str = "RING-THE-BELL";
/// In a task that works as a developer does, and tries what the sandbox forbids.
pub(crate) const WORK: &str = "WORK-IN-PLACE";
/// In a task that writes outside of its directory.
pub(crate) const REACH: &str = "REACH-OUTSIDE";
/// The final text after the tools succeeded.
pub(crate) const NOTED: &str = "Noted in NOTE.md.";
/// The reply to a follow-up.
pub(crate) const SAID_AGAIN: &str = "As I said: noted.";
/// The commit message that the model proposes.
pub(crate) const MESSAGE: &str = "count what was seen";

/// The subject of the commit that the model makes.
pub(crate) const COMMIT: &str = "note by the run";

/// Returns a command that tries to read the secrets of the host, to change the watched repository and to reach other machines. It
/// prints a line for each success, and a last line.
pub(crate) fn probes(home: &Path, repo: &Path) -> String {
    let (home, repo) = (home.display(), repo.display());
    format!(
        "for f in {home}/token {home}/state.db {home}/config.toml {repo}/.git/config /etc/shadow; do cat $f > /dev/null 2>&1 && echo open $f; done; \
         for f in {repo}/.git/HEAD {repo}/.git/hooks/probe {repo}/.git/index.lock {home}/probe; do echo x 2> /dev/null >> $f && echo wrote $f; done; \
         for h in 169.254.169.254:80 10.0.0.1:80 example.com:80; do curl --silent --max-time 5 --fail $h > /dev/null 2>&1 && echo reached $h; done; \
         echo probed"
    )
}

/// Returns the reply of the model to one request.
pub(crate) fn reply(received: &Received, probes: &str) -> Reply {
    let tools = received.tools();
    if tools.is_empty() {
        // Agents request titles and summaries without tools, in addition to the work.
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
                json!({"output": {"v": 1, "verb": "comment", "target": "github:o/r#1", "body": "Done."}}),
            ),
        ]
    } else if body.contains(RING) {
        vec![Use::Of("ring", json!({})), Use::shell("env")]
    } else if body.contains(WORK) {
        let commit =
            format!("git add --all && git commit --quiet --message '{COMMIT}' && echo committed");
        vec![
            Use::shell("git log -1 --format=%s && sh ./check.sh"),
            Use::Note,
            Use::Shell(commit),
            Use::shell(probes),
        ]
    } else if body.contains(REACH) {
        vec![Use::shell("echo reached > ../outside")]
    } else {
        vec![Use::Note]
    };
    match uses.get(received.tool_results().len()) {
        Some(wanted) => wanted.with(&tools),
        None => Reply::text(NOTED),
    }
}

/// One tool call.
enum Use {
    /// Writes a file, with a tool for files or else with a command.
    Note,
    /// Runs a command, also if the agent does not offer such a tool: it must refuse the call then.
    Shell(String),
    /// Calls a tool of an MCP server.
    Of(&'static str, Value),
}

impl Use {
    fn shell(command: &str) -> Self {
        Self::Shell(command.to_owned())
    }

    /// Returns the call, by the name under which the agent offers the tool.
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
                    None => Self::shell("echo note > NOTE.md").with(tools),
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
