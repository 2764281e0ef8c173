//! The commands that the runner has in addition to the shell's: a host in the background, changes of files, fields of an
//! object, and waiting.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

use crate::waiting::eventually;

/// What a command line is for the runner.
pub(super) enum Word<'a> {
    /// `daemon-run serve … &`: a host that later commands of the section find.
    Serve(&'a str, Pipe<'a>),
    /// `stop`: ends the host.
    Stop,
    /// `changes`: lists the files that were added, changed or removed since the last time.
    Changes,
    /// Any other line is the shell's.
    Shell(&'a str, Pipe<'a>),
}

/// What happens to the output of a command before it is shown.
pub(super) enum Pipe<'a> {
    None,
    /// `| fields PATH…`: only these fields of the object that was printed.
    Fields(&'a str),
    /// `| until WORDS`: the command is repeated until its output contains the words.
    Until(&'a str),
}

impl<'a> Word<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        match line {
            "stop" => return Self::Stop,
            "changes" => return Self::Changes,
            _ => {}
        }
        let (line, is_background) = match line.strip_suffix(" &") {
            Some(line) => (line, true),
            None => (line, false),
        };
        let (line, pipe) = Pipe::split(line);
        if is_background {
            Self::Serve(line, pipe)
        } else {
            Self::Shell(line, pipe)
        }
    }
}

impl<'a> Pipe<'a> {
    fn split(line: &'a str) -> (&'a str, Self) {
        if let Some((line, paths)) = line.rsplit_once(" | fields ") {
            return (line, Self::Fields(paths));
        }
        match line.rsplit_once(" | until ") {
            Some((line, words)) => (line, Self::Until(words)),
            None => (line, Self::None),
        }
    }
}

/// A host in the background, killed at the end of its section.
pub(super) struct Host {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Host {
    /// Starts a host and waits for the line in which it reports that it is ready, or for its end.
    pub(super) fn start(mut command: Command, root: &Path) -> (Self, Output) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(root.join("serve.log"));
        command.stdout(Stdio::piped()).stderr(log.expect("a log"));
        let mut child = command.spawn().expect("the shell starts");
        // For signals: in the output, the process id is a placeholder.
        fs::write(root.join("serve.pid"), child.id().to_string()).expect("a file");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = Vec::new();
        stdout
            .read_until(b'\n', &mut line)
            .expect("a readable pipe");
        let status = match line.is_empty() {
            true => child.wait().expect("a child can be waited for"),
            false => ExitStatus::from_raw(0),
        };
        let output = Output {
            status,
            stdout: line,
            stderr: Vec::new(),
        };
        (Self { child, stdout }, output)
    }

    /// Asks the host to stop, and returns how it ended and the rest of its output.
    pub(super) fn stop(mut self) -> Output {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("the host lives");
        let status = eventually("the host has ended", || {
            self.child.try_wait().expect("a child can be waited for")
        });
        let mut stdout = Vec::new();
        self.stdout
            .read_to_end(&mut stdout)
            .expect("a readable pipe");
        Output {
            status,
            stdout,
            stderr: Vec::new(),
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // A host that was stopped cannot be killed, and need not be.
        self.child.kill().unwrap_or_default();
        self.child.wait().expect("a child can be waited for");
    }
}

/// Every file below a directory with its bytes.
#[derive(Default)]
pub(super) struct Tree(BTreeMap<PathBuf, Vec<u8>>);

impl Tree {
    pub(super) fn of(root: &Path) -> Self {
        let mut tree = Self::default();
        tree.read(root, root);
        tree
    }

    fn read(&mut self, root: &Path, directory: &Path) {
        for entry in fs::read_dir(directory).expect("a readable directory") {
            let entry = entry.expect("a readable entry");
            let path = entry.path();
            let kind = entry.file_type().expect("a kind");
            let name = path.strip_prefix(root).expect("it is below").to_owned();
            if kind.is_dir() {
                self.0.insert(name, Vec::new());
                self.read(root, &path);
            } else if kind.is_file() {
                self.0
                    .insert(name, fs::read(&path).expect("a readable file"));
            } else {
                self.0.insert(name, Vec::new());
            }
        }
    }

    /// Lists what another tree has more (`+`), has otherwise (`~`) and has not (`-`), by path.
    pub(super) fn changes(&self, now: &Self) -> Vec<String> {
        let mut changes: BTreeMap<&Path, &str> = BTreeMap::new();
        for (path, bytes) in &now.0 {
            match self.0.get(path) {
                None => changes.insert(path, "+"),
                Some(before) if before != bytes => changes.insert(path, "~"),
                Some(_) => None,
            };
        }
        for path in self.0.keys().filter(|path| !now.0.contains_key(*path)) {
            changes.insert(path, "-");
        }
        let lines = changes
            .iter()
            .map(|(path, mark)| format!("{mark} {}", path.display()));
        lines.collect()
    }
}
