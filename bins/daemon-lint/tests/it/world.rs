//! A repository on disk, and running the linter in it.

use std::fs;
use std::path::Path;

use daemon_lint::{AutoColour, StandardStreams, Surroundings, run};
use serde_json::Value;
use tempfile::TempDir;

/// A daemon file without diagnostics in a directory with the name of its `id`.
pub(crate) const CLEAN: &str = "---\nid: tidy\npurpose: Keeps the docs in order.\nwatch:\n  - when a pull request is opened\n\
routines:\n  - list broken links in one comment\ndeny:\n  - merge pull requests\n---\n## Output format\nOne comment.\n\n## Limits\n- One comment.\n";

pub(crate) struct World {
    directory: TempDir,
}

/// The output and the exit code of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: u8,
    pub(crate) output: String,
    pub(crate) notes: String,
}

impl Ran {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.output).expect("one JSON object on standard output")
    }

    /// Returns `path code line:column` for each diagnostic.
    pub(crate) fn findings(&self) -> Vec<String> {
        let report = self.json();
        let files = report["files"].as_array().expect("a list of files");
        files
            .iter()
            .flat_map(|file| {
                let found = file["diagnostics"].as_array().expect("a list of findings");
                found.iter().map(|found| {
                    let text = |value: &Value| value.as_str().expect("a string").to_owned();
                    let start = &found["start"];
                    format!(
                        "{} {} {}:{}",
                        text(&file["path"]),
                        text(&found["code"]),
                        start["line"],
                        start["column"]
                    )
                })
            })
            .collect()
    }
}

impl World {
    /// Creates files from `//- path` lines, each followed by the content.
    pub(crate) fn new(files: &str) -> Self {
        let world = Self {
            directory: tempfile::tempdir().expect("a temporary directory"),
        };
        for file in files.split("//- ").skip(1) {
            let (path, text) = file.split_once('\n').expect("a path and its text");
            world.write(path, text.as_bytes());
        }
        world
    }

    /// Creates a repository with a daemon named `tidy`.
    pub(crate) fn of_daemon(text: &str) -> Self {
        let world = Self::new("");
        world.write(".agents/daemons/tidy/DAEMON.md", text.as_bytes());
        world
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a directory"))
            .expect("room for a directory");
        fs::write(path, bytes).expect("room for a file");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).expect("the file is text")
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with_input(arguments, b"")
    }

    pub(crate) fn run_with_input(&self, arguments: &[&str], mut input: &[u8]) -> Ran {
        let surroundings = Surroundings {
            directory: self.root().to_owned(),
            now: "2026-11-20T09:00:00Z".parse().expect("an instant"),
            auto_colour: AutoColour::Plain,
        };
        let (mut output, mut notes) = (Vec::new(), Vec::new());
        let mut streams = StandardStreams {
            input: &mut input,
            output: &mut output,
            notes: &mut notes,
        };
        let arguments = ["daemon-lint"].iter().chain(arguments).map(Into::into);
        let code = run(arguments, &surroundings, &mut streams);
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        Ran {
            code,
            output: text(output),
            notes: text(notes),
        }
    }
}
