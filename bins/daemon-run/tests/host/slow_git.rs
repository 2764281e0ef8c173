//! A `git` that hangs in one repository until a test lets it go on.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::world::{World, cleared};

/// A repository beside that of a world, and a `git` that hangs whenever it reads objects there.
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

    /// Makes the same; its `git` hangs already where it is asked what lies there.
    pub(crate) fn unopened(world: &World, daemon: &str, text: &str) -> Self {
        let condition = "\"$GIT_DIR\" = '{git}' ] || [ \"$PWD\" = '{repo}'";
        Self::hanging(world, daemon, text, condition)
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

    /// Writes a `git` that waits at the gate where a condition of the shell holds, unless it reads the configuration.
    fn write_program(&self, condition: &str) {
        let program = self.programs.join("git");
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' config '*) ;; *)\n  if {{ [ {condition} ]; }} && [ -e '{}' ]; then : > '{}'; read -r line < '{}'; fi\nesac\n\
             exec '{}' \"$@\"\n",
            self.is_shut.display(),
            self.asked.display(),
            self.gate.display(),
            real_git().display(),
        );
        fs::write(&program, text).expect("a program");
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("its mode");
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

    /// Lets every `git` go on from here on.
    pub(crate) fn open(&self) {
        fs::remove_file(&self.is_shut).expect("it was shut");
    }

    /// Reports whether a `git` has come to the gate.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.exists()
    }

    /// Lets every `git` go on.
    pub(crate) fn release(&self) {
        self.open();
        // Those that wait are let go as the gate is opened and closed; with none waiting, opening fails, which is as good.
        drop(
            rustix::fs::open(
                &self.gate,
                rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK,
                rustix::fs::Mode::empty(),
            )
            .ok(),
        );
    }
}

fn real_git() -> PathBuf {
    let search = std::env::var_os("PATH").expect("there is a search path");
    std::env::split_paths(&search)
        .map(|directory| directory.join("git"))
        .find(|path| path.is_file())
        .expect("git is installed")
}

fn git(repo: &Path, args: &[&str]) {
    let mut command = cleared("git");
    command
        .current_dir(repo)
        .args(args)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", repo);
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Ann")
            .env(format!("GIT_{role}_EMAIL"), "ann@example.com");
    }
    let output = command.output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {output:?}");
}
