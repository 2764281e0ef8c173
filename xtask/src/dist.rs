//! Builds the archive that is released: both programs, their manual pages and completions, documents and licences.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail};

use crate::shell;

const PROGRAMS: [&str; 2] = ["daemon-run", "daemon-lint"];
const DOCUMENTS: [&str; 5] = [
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
];
/// Shells, each with the folder and the name of a completion file, in which `{}` is the program.
const SHELLS: [(&str, &str); 5] = [
    ("bash", "completions/bash/{}"),
    ("zsh", "completions/zsh/_{}"),
    ("fish", "completions/fish/{}.fish"),
    ("powershell", "completions/powershell/{}.ps1"),
    ("elvish", "completions/elvish/{}.elv"),
];

/// Builds both programs in the profile `release`, writes `target/dist/NAME.tar.gz` and prints its digest.
pub(crate) fn run(root: &Path) -> Result<ExitCode> {
    let target = target_folder(root);
    let mut build = shell::cargo(root, &["build", "--release", "--locked"]);
    for program in PROGRAMS {
        build.args(["--package", program]);
    }
    // Paths of this machine must not be a part of the programs.
    build.env("RUSTFLAGS", remapped(root));
    shell::run(&mut build)?;
    let name = format!(
        "daemon-run-{}-{}",
        env!("CARGO_PKG_VERSION"),
        host_triple(root)?
    );
    let dist = target.join("dist");
    let tree = dist.join(&name);
    if tree.exists() {
        fs::remove_dir_all(&tree)?;
    }
    fill(root, &target.join("release"), &tree)?;
    let archive = pack(root, &dist, &name)?;
    println!("{}", archive.display());
    shell::run(Command::new("sha256sum").arg(&archive))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the folder that cargo builds in.
fn target_folder(root: &Path) -> PathBuf {
    let moved = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root.join(moved.unwrap_or_else(|| "target".into()))
}

/// Returns flags that replace the folders of the repository and of cargo by fixed names.
fn remapped(root: &Path) -> String {
    let home = std::env::var("CARGO_HOME").map(PathBuf::from);
    let user = std::env::var("HOME").map(|user| Path::new(&user).join(".cargo"));
    let of_root = format!("--remap-path-prefix={}=/daemon", root.display());
    match home.or(user) {
        Ok(cargo) => format!("{of_root} --remap-path-prefix={}=/cargo", cargo.display()),
        Err(_not_set) => of_root,
    }
}

/// Returns the target of this compiler, such as `x86_64-unknown-linux-gnu`.
fn host_triple(root: &Path) -> Result<String> {
    let mut rustc = Command::new("rustc");
    let version = shell::capture(rustc.arg("-vV").current_dir(root))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

/// Writes the files of the archive below a folder.
fn fill(root: &Path, built: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(tree.join("bin"))?;
    for program in PROGRAMS {
        fs::copy(built.join(program), tree.join("bin").join(program))?;
    }
    for document in DOCUMENTS {
        fs::copy(root.join(document), tree.join(document))
            .with_context(|| format!("failed to copy `{document}`"))?;
    }
    let daemon_run = built.join("daemon-run");
    let pages = tree.join("share/man/man1");
    fs::create_dir_all(&pages)?;
    shell::run(
        Command::new(&daemon_run)
            .arg("man")
            .arg("--out")
            .arg(&pages),
    )?;
    for (shell_name, path) in SHELLS {
        for program in PROGRAMS {
            let mut print = Command::new(&daemon_run);
            let script = shell::capture(print.args(["completions", shell_name, "--of", program]))?;
            let path = tree.join(path.replace("{}", program));
            fs::create_dir_all(path.parent().context("a completion is in a folder")?)?;
            fs::write(path, script)?;
        }
    }
    Ok(())
}

/// Packs a folder so that equal files give equal bytes: sorted names, one time, one owner, no name in the header of gzip.
fn pack(root: &Path, dist: &Path, name: &str) -> Result<PathBuf> {
    let mut git = Command::new("git");
    let time = shell::capture(git.args(["log", "-1", "--format=%ct"]).current_dir(root))?;
    let archive = dist.join(format!("{name}.tar"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
        .args(["--mode=u+rwX,go+rX,go-w", "--format=ustar"])
        .arg(format!("--mtime=@{}", time.trim()))
        .arg("--file")
        .arg(&archive)
        .args(["--create", "--directory"])
        .arg(dist)
        .arg(name);
    shell::run(&mut tar)?;
    let mut gzip = Command::new("gzip");
    shell::run(gzip.args(["--no-name", "--force", "--best"]).arg(&archive))?;
    let packed = dist.join(format!("{name}.tar.gz"));
    if !packed.exists() {
        bail!("gzip wrote no `{}`", packed.display());
    }
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_are_packed_to_equal_bytes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packed = [1, 2].map(|n| {
            let dist = tempfile::tempdir().unwrap();
            let tree = dist.path().join("name");
            fs::create_dir(&tree).unwrap();
            // The order in which files are created must not matter.
            let files = if n == 1 { ["a", "b"] } else { ["b", "a"] };
            for file in files {
                fs::write(tree.join(file), file).unwrap();
            }
            fs::read(pack(root, dist.path(), "name").unwrap()).unwrap()
        });
        assert!(packed[0] == packed[1]);
    }
}
