//! Programs that play transcripts.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A program that reads its input to the end, prints recorded lines, and exits.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    /// What it prints on standard output, byte for byte.
    pub lines: String,
    /// What it prints on standard error.
    pub complaints: String,
    /// The code it exits with.
    pub exit: i32,
    /// The directory in which it leaves what it was given: `args` (one a line), `env` and `stdin`.
    pub kept_in: Option<PathBuf>,
}

/// What the real programs printed, version for version, while a model on loopback answered them.
pub mod recorded {
    /// `claude` 2.1.197 reads a file, is refused a tool that it may not use, and is done.
    pub const CLAUDE: &str = include_str!("../recorded/claude.jsonl");
    /// `claude` 2.1.197 is refused by its model's API, and exits with 1.
    pub const CLAUDE_REFUSED: &str = include_str!("../recorded/claude-refused.jsonl");
    /// `codex` 0.169.0 runs a command and is done.
    pub const CODEX: &str = include_str!("../recorded/codex.jsonl");
    /// `codex` 0.169.0 is refused by its model's API, and exits with 1.
    pub const CODEX_REFUSED: &str = include_str!("../recorded/codex-refused.jsonl");
    /// `opencode` 1.18.33 reads a file, is refused a tool that it may not use, and is done.
    pub const OPENCODE: &str = include_str!("../recorded/opencode.jsonl");
    /// `opencode` 1.18.33 is refused by its model's API, and exits with 1.
    pub const OPENCODE_REFUSED: &str = include_str!("../recorded/opencode-refused.jsonl");
}

impl Transcript {
    /// Makes a program that prints these lines and exits with 0.
    pub fn new(lines: impl Into<String>) -> Self {
        Self {
            lines: lines.into(),
            ..Self::default()
        }
    }

    /// Writes the program; the lines lie beside it.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn install(&self, program: &Path) -> io::Result<()> {
        let beside = |suffix: &str| {
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
        writeln!(script, "cat > {keep}").expect(INFALLIBLE);
        for (suffix, text, to) in [
            (".lines", &self.lines, ""),
            (".complaints", &self.complaints, " >&2"),
        ] {
            fs::write(beside(suffix), text)?;
            writeln!(script, "cat {}{to}", quoted(&beside(suffix))).expect(INFALLIBLE);
        }
        writeln!(script, "exit {}", self.exit).expect(INFALLIBLE);
        // A file that is being written cannot be run, so that its place is taken at once.
        let new = beside(".new");
        fs::write(&new, script)?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        fs::rename(new, program)
    }
}

const INFALLIBLE: &str = "writing to a string cannot fail";

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}
