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
}

impl SlowGit {
    /// Makes the repository with one daemon; its `git` hangs from the start.
    pub(crate) fn new(world: &World, daemon: &str, text: &str) -> Self {
        let slow = Self {
            repo: world.beside("slow"),
            programs: world.beside("programs"),
            gate: world.beside("gate"),
            is_shut: world.beside("is-shut"),
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
        fs::write(&slow.is_shut, "").expect("a file");
        slow.write_program();
        slow
    }

    /// Writes a `git` that waits at the gate unless it only locates the repository or reads its configuration.
    fn write_program(&self) {
        let program = self.programs.join("git");
        let text = format!(
            "#!/bin/sh\ncase \" $* \" in *' config '*) ;; *)\n  if [ \"$GIT_DIR\" = '{}' ] && [ -e '{}' ]; then read -r line < '{}'; fi\nesac\n\
             exec '{}' \"$@\"\n",
            self.repo.join(".git").display(),
            self.is_shut.display(),
            self.gate.display(),
            real_git().display(),
        );
        fs::write(&program, text).expect("a program");
        fs::set_permissions(program, Permissions::from_mode(0o755)).expect("its mode");
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

    /// Lets every `git` go on.
    pub(crate) fn release(&self) {
        fs::remove_file(&self.is_shut).expect("it was shut");
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
