//! Programs that print recorded transcripts.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A program that reads its input to the end, prints recorded lines, and exits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// The bytes of standard output.
    pub lines: String,
    /// The bytes of standard error.
    pub complaints: String,
    /// The exit code.
    pub exit: i32,
    /// A directory to which it writes its input: the files `args` (one per line), `env` and `stdin`.
    pub kept_in: Option<PathBuf>,
}

/// Output of the real programs, recorded with a [`ModelApi`](crate::ModelApi) as their model.
pub mod recorded {
    /// `claude` 2.1.197 reads a file, is denied a tool, and succeeds.
    pub const CLAUDE: &str = include_str!("../recorded/claude.jsonl");
    /// `claude` 2.1.197 gets an error from the API of its model, and exits with 1.
    pub const CLAUDE_REFUSED: &str = include_str!("../recorded/claude-refused.jsonl");
    /// `codex` 0.169.0 runs a command, and succeeds.
    pub const CODEX: &str = include_str!("../recorded/codex.jsonl");
    /// `codex` 0.169.0 gets an error from the API of its model, and exits with 1.
    pub const CODEX_REFUSED: &str = include_str!("../recorded/codex-refused.jsonl");
    /// `opencode` 1.18.33 reads a file, is denied a tool, and succeeds.
    pub const OPENCODE: &str = include_str!("../recorded/opencode.jsonl");
    /// `opencode` 1.18.33 gets an error from the API of its model, and exits with 1.
    pub const OPENCODE_REFUSED: &str = include_str!("../recorded/opencode-refused.jsonl");
}

impl Transcript {
    /// Creates a program that prints these lines and exits with 0.
    pub fn new(lines: impl Into<String>) -> Self {
        Self {
            lines: lines.into(),
            ..Self::default()
        }
    }

    /// Writes the program, and its lines into files next to it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn install(&self, program: &Path) -> io::Result<()> {
        let next_to_it = |suffix: &str| {
            let mut path = program.as_os_str().to_owned();
            path.push(suffix);
            PathBuf::from(path)
        };
        let mut script = "#!/bin/sh\n".to_owned();
        let mut keep = String::from("/dev/null");
        if let Some(kept_in) = &self.kept_in {
            let path = |name: &str| quoted(&kept_in.join(name));
            let (args, env) = (path("args"), path("env"));
            writeln!(script, "printf '%s\\n' \"$@\" > {args}\nenv > {env}").expect(INFALLIBLE);
            keep = path("stdin");
        }
        // Input is read to the end first, as the real programs do, so that the writer never gets a broken pipe.
        writeln!(script, "cat > {keep}").expect(INFALLIBLE);
        for (suffix, text, to) in [
            (".lines", &self.lines, ""),
            (".complaints", &self.complaints, " >&2"),
        ] {
            fs::write(next_to_it(suffix), text)?;
            writeln!(script, "cat {}{to}", quoted(&next_to_it(suffix))).expect(INFALLIBLE);
        }
        writeln!(script, "exit {}", self.exit).expect(INFALLIBLE);
        // Linux refuses to execute a file that is open for writing. A rename replaces
        // the program without opening it.
        let new = next_to_it(".new");
        fs::write(&new, script)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        fs::rename(new, program)
    }
}

const INFALLIBLE: &str = "writing to a string cannot fail";

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
