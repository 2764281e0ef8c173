//! A `git` that hangs in one repository until a test releases it.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::PathBuf;

use rustix::fs::OFlags;

use crate::world::{World, cleared, eventually, executable, git};

/// What a `git` at the gate does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GitEnd {
    Answers,
    Fails,
}

/// A second repository of a world, and a `git` that hangs whenever it reads objects there.
pub(crate) struct SlowGit {
    pub(crate) repo: PathBuf,
    programs: PathBuf,
    gate: PathBuf,
    is_shut: PathBuf,
    asked: PathBuf,
}

impl SlowGit {
    /// Makes the repository with one daemon; its `git` hangs from the start whenever it reads objects there.
    pub(crate) fn new(world: &World, daemon: &str, text: &str) -> Self {
        Self::hanging(world, daemon, text, "\"$GIT_DIR\" = '{git}'")
    }

    /// Makes the same, with a `git` that hangs already when it opens the repository.
    pub(crate) fn unopened(world: &World, daemon: &str, text: &str) -> Self {
        let condition = "\"$GIT_DIR\" = '{git}' ] || [ \"$PWD\" = '{repo}'";
        Self::hanging(world, daemon, text, condition)
    }

    /// Makes the same, with a `git` that hangs only there.
    pub(crate) fn only_unopened(world: &World, daemon: &str, text: &str) -> Self {
        Self::hanging(world, daemon, text, "\"$PWD\" = '{repo}'")
    }

    fn hanging(world: &World, daemon: &str, text: &str, condition: &str) -> Self {
        let slow = Self {
            repo: world.beside("slow"),
            programs: world.beside("programs"),
            gate: world.beside("gate"),
            is_shut: world.beside("is-shut"),
            asked: world.beside("asked"),
        };
        let file = slow
            .repo
            .join(format!(".agents/daemons/{daemon}/DAEMON.md"));
        fs::create_dir_all(file.parent().expect("it has a parent")).expect("a directory");
        fs::write(file, text).expect("a file");
        git(&slow.repo, &["init", "--quiet", "--initial-branch=main"]);
        slow.commit("begin");
        fs::create_dir(&slow.programs).expect("a directory");
        let made = cleared("mkfifo")
            .arg(&slow.gate)
            .status()
            .expect("mkfifo runs");
        assert!(made.success(), "{made}");
        slow.shut();
        let git = slow.repo.join(".git").display().to_string();
        let condition = condition.replace("{git}", &git);
        slow.write_program(&condition.replace("{repo}", &slow.repo.display().to_string()));
        slow
    }

    /// Writes a `git` that waits at the gate where a condition of the shell holds, unless it reads the configuration. It
    /// fails if it reads `fail` there.
    fn write_program(&self, condition: &str) {
        let program = self.programs.join("git");
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' config '*) ;; *)\n  if {{ [ {condition} ]; }} && [ -e '{}' ]; then echo >> '{}'; read -r line < '{}'; if [ \"$line\" = fail ]; then echo 'fatal: refused' >&2; exit 128; fi; fi\nesac\n\
             exec '{}' \"$@\"\n",
            self.is_shut.display(),
            self.asked.display(),
            self.gate.display(),
            real_git().display(),
        );
        executable(&program, &text);
    }

    /// Runs the real git in the repository.
    pub(crate) fn git(&self, args: &[&str]) {
        git(&self.repo, args);
    }

    /// Commits everything in the repository.
    pub(crate) fn commit(&self, message: &str) {
        git(&self.repo, &["add", "--all"]);
        git(
            &self.repo,
            &["commit", "--quiet", "--allow-empty", "--message", message],
        );
    }

    /// Returns the search path under which this `git` is found first.
    pub(crate) fn search_path(&self) -> String {
        let usual = std::env::var("PATH").expect("there is a search path");
        format!("{}:{usual}", self.programs.display())
    }

    /// Lets every `git` hang from here on.
    pub(crate) fn shut(&self) {
        fs::write(&self.is_shut, "").expect("a file");
    }

    /// Releases every `git`, also later ones.
    pub(crate) fn open(&self) {
        fs::remove_file(&self.is_shut).expect("it was shut");
    }

    /// Reports whether a `git` has come to the gate.
    pub(crate) fn is_asked(&self) -> bool {
        self.n_asked() > 0
    }

    /// Counts how often a `git` has come to the gate.
    pub(crate) fn n_asked(&self) -> usize {
        let asked = fs::read_to_string(&self.asked).unwrap_or_default();
        asked.lines().count()
    }

    /// Lets the waiting `git` continue or fail; the next one hangs.
    pub(crate) fn answer(&self, end: GitEnd) {
        let mut gate = eventually("a git waits", || self.open_gate());
        if end == GitEnd::Fails {
            gate.write_all(b"fail\n").expect("a git reads");
        }
    }

    /// Releases every `git`.
    pub(crate) fn release(&self) {
        self.open();
        // Those that wait are let go as the gate is opened and closed; with none waiting, opening fails, which is as good.
        drop(self.open_gate());
    }

    /// Opens the gate for writing, if a `git` waits there.
    fn open_gate(&self) -> Option<File> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK;
        let gate = rustix::fs::open(&self.gate, flags, rustix::fs::Mode::empty());
        gate.ok().map(File::from)
    }
}

fn real_git() -> PathBuf {
    let search = std::env::var_os("PATH").expect("there is a search path");
    std::env::split_paths(&search)
        .map(|directory| directory.join("git"))
        .find(|path| path.is_file())
        .expect("git is installed")
}
