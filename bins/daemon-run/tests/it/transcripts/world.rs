//! The world of a section: a repository `lamp`, a home `state` and a user's directory, and commands run over them.

use std::cell::RefCell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use super::builtins::{Host, Pipe, Tree, Word};
use super::document::quoted;
use super::json;
use super::masks::Masks;
use crate::waiting::{USUAL, eventually_within};

pub(super) struct World {
    /// Holds `bin`, where the program is found, and `world`, which is all that a transcript sees.
    scratch: TempDir,
    root: PathBuf,
    masks: Masks,
    host: RefCell<Option<Host>>,
    /// The files as `changes` saw them last.
    seen: RefCell<Tree>,
}

impl World {
    /// Makes an empty repository and no home.
    pub(super) fn new() -> Self {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let place = scratch.path().canonicalize().expect("the directory exists");
        let root = place.join("world");
        for directory in ["bin", "world/lamp", "world/user"] {
            fs::create_dir_all(place.join(directory)).expect("a directory");
        }
        let program = env!("CARGO_BIN_EXE_daemon-run");
        std::os::unix::fs::symlink(program, place.join("bin/daemon-run")).expect("a link");
        let identity = "[user]\n\tname = Ada\n\temail = ada@example.invalid\n";
        fs::write(root.join("user/.gitconfig"), identity).expect("a file");
        let world = Self {
            scratch,
            masks: Masks::new(root.display().to_string()),
            root,
            host: RefCell::default(),
            seen: RefCell::default(),
        };
        world.must("git init --quiet --initial-branch=main");
        world
    }

    /// Writes the files of a block: `//- PATH` begins a file, `//- PATH < NAME` copies a shared one.
    pub(super) fn write_files(&self, lines: &[&str]) -> Result<(), String> {
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        for line in lines {
            if let Some(name) = line.strip_prefix("//- ") {
                let (path, text) = match name.split_once(" < ") {
                    Some((path, shared)) => (path, read_shared(shared)?),
                    None => (name, String::new()),
                };
                files.push((self.path(path)?, text));
            } else {
                let (_, text) = files.last_mut().ok_or("text before the first `//- PATH`")?;
                text.push_str(line);
                text.push('\n');
            }
        }
        for (path, text) in files {
            let text = self.masks.filled_in(&text)?;
            fs::create_dir_all(path.parent().expect("a file has a directory"))
                .expect("a directory");
            fs::write(&path, &text).expect("a file");
            let mode = if text.starts_with("#!") { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
        }
        let home = self.root.join("state");
        if home.exists() {
            // The program refuses a home that others may read.
            fs::set_permissions(home, fs::Permissions::from_mode(0o700)).expect("a mode");
        }
        self.seen.replace(Tree::of(&self.root));
        Ok(())
    }

    /// Resolves a path from the repository; it must stay in the world.
    fn path(&self, path: &str) -> Result<PathBuf, String> {
        let mut found = self.root.join("lamp");
        for part in Path::new(path).components() {
            match part {
                Component::Normal(name) => found.push(name),
                Component::ParentDir if found != self.root => {
                    found.pop();
                }
                _ => return Err(format!("`{path}` leaves the world")),
            }
        }
        Ok(found)
    }

    /// Commits everything in the repository.
    pub(super) fn commit(&self) {
        self.must("git add --all && git commit --quiet --message 'Set up'");
    }

    fn must(&self, line: &str) {
        let output = self.shell(line);
        assert!(output.status.success(), "{line}: {output:?}");
        self.seen.replace(Tree::of(&self.root));
    }

    /// Prepares a program in the repository, with nothing of the environment but the search path.
    fn prepared(&self, program: &str, arguments: &[&str]) -> Command {
        let mut paths = vec![self.scratch.path().join("bin")];
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        paths.extend(std::env::split_paths(&inherited));
        let paths: OsString =
            std::env::join_paths(paths).expect("the parts came from a search path");
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", paths)
            .env("TZ", "UTC")
            .env("HOME", self.root.join("user"))
            .env("DAEMON_HOME", self.root.join("state"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .current_dir(self.root.join("lamp"))
            .stdin(Stdio::null());
        command
    }

    fn shell(&self, line: &str) -> Output {
        // A command that hangs would otherwise hold the whole test run.
        let limited = ["--kill-after=1", "120", "sh", "-c", line];
        let mut command = self.prepared("timeout", &limited);
        command.output().expect("the shell starts")
    }

    /// Runs a command and returns the lines that a transcript shows of it.
    pub(super) fn output_of(&self, command: &str) -> Result<Vec<String>, String> {
        let filled_in = self.masks.filled_in(command)?;
        match Word::of(&filled_in) {
            Word::Changes => {
                let now = Tree::of(&self.root);
                let lines = self.seen.borrow().changes(&now);
                self.seen.replace(now);
                Ok(lines.iter().map(|line| self.masks.masked(line)).collect())
            }
            Word::Serve(line, pipe) => {
                let serving = self.prepared("sh", &["-c", &format!("exec {line}")]);
                let (host, output) = Host::start(serving, &self.root);
                self.host.replace(Some(host));
                self.shown(&output, &pipe, true)
            }
            Word::Stop => {
                let host = self.host.take().ok_or("no host is running")?;
                self.shown(&host.stop(), &Pipe::None, true)
            }
            Word::Shell(line, pipe) => {
                // Where the shell does more than run the program, the output may be that of another program.
                let is_json = line.contains("--json") && !line.contains(['|', ';', '&', '>']);
                let shown = || self.shown(&self.shell(line), &pipe, is_json);
                match pipe {
                    Pipe::Until(words) => {
                        eventually_within(USUAL, &format!("`{line}` prints `{words}`"), || {
                            let lines = shown();
                            let text = lines.as_ref().map(|lines| lines.join("\n"));
                            match text {
                                Ok(text) if !text.contains(words) => Err(text),
                                _ => Ok(lines),
                            }
                        })
                    }
                    Pipe::None | Pipe::Fields(_) => shown(),
                }
            }
        }
    }

    /// Shows an output: standard output, standard error behind `! `, and the exit code behind `? ` unless it is zero.
    fn shown(
        &self,
        output: &Output,
        pipe: &Pipe<'_>,
        is_json: bool,
    ) -> Result<Vec<String>, String> {
        let text = |bytes: &[u8]| self.masks.masked(&String::from_utf8_lossy(bytes));
        let stdout = text(&output.stdout);
        let mut lines = Vec::new();
        if let Pipe::Fields(paths) = pipe {
            let is_whole = !is_json || stdout.lines().count() == 1;
            let object = is_whole.then(|| json::object(&stdout)).flatten();
            let object = object
                .ok_or_else(|| format!("no JSON object: {stdout}{}", text(&output.stderr)))?;
            lines.extend(json::fields(&object, paths));
        } else {
            for line in stdout.lines() {
                match json::object(line) {
                    Some(object) => lines.extend(json::pretty(&object)),
                    None if is_json => {
                        return Err(format!("`--json` printed a line that is no object: {line}"));
                    }
                    None => lines.push(quoted(line)),
                }
            }
            if !stdout.is_empty() && !stdout.ends_with('\n') {
                lines.push("| (no newline at the end)".to_owned());
            }
        }
        lines.extend(
            text(&output.stderr)
                .lines()
                .map(|line| format!("! {line}").trim_end().to_owned()),
        );
        match output.status.code() {
            Some(0) => {}
            // The shell's own: a command that cannot be run is a mistake of the transcript.
            Some(code @ (126 | 127)) => return Err(format!("{code}: {}", text(&output.stderr))),
            Some(code) => lines.push(format!("? {code}")),
            None => lines.push(format!("? {}", output.status)),
        }
        Ok(lines)
    }
}

/// Reads a file that several transcripts use.
fn read_shared(name: &str) -> Result<String, String> {
    let path = super::directory().join("shared").join(name);
    fs::read_to_string(path).map_err(|error| format!("`{name}`: {error}"))
}
