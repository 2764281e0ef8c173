//! Runs every test of the workspace and counts the results.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::cli::Tier;
use crate::tally::{self, Skip, TestCounts};
use crate::{examples, kills, shell, simulate};

/// Crates whose tests create real repositories.
const NEED_GIT: [&str; 4] = ["daemon-repo", "daemon-surface", "daemon-host", "daemon-run"];

/// Runs the tests, the documentation examples and the example programs, and prints the counts last.
pub(crate) fn run(root: &Path, tier: Tier) -> Result<ExitCode> {
    require_compiler()?;
    let mut tally = TestCounts::default();
    // Tests of other crates must run also where git cannot be installed.
    let excluded = if obtain("git", "--version", &["git"]) {
        &[][..]
    } else {
        &NEED_GIT[..]
    };
    for package in excluded {
        let n_tests = count_tests(&root.join("crates").join(package))?
            + count_tests(&root.join("bins").join(package))?;
        println!("skipped: {n_tests} tests of {package}: no `git`");
        tally.skipped += n_tests;
    }
    // Without a browser, the tests of pages print that they were skipped.
    for program in ["chromium", "chromedriver"] {
        obtain(program, "--version", &["chromium", "chromium-driver"]);
    }
    // Without a server, the tests of the PostgreSQL store print that they were skipped.
    obtain(&postgres(), "--version", &["postgresql"]);
    let mut is_green = true;
    is_green &= unit(root, tier, excluded, &mut tally)?;
    is_green &= documentation(root, excluded, &mut tally)?;
    tally += examples::run(root)?;
    if tier == Tier::Night {
        is_green &= simulate::night(root)?;
    }
    is_green &= tally.failed == 0;
    println!("{}", tally.line());
    Ok(if is_green {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn require_compiler() -> Result<()> {
    if obtain("cc", "--version", &["gcc", "libc6-dev"]) {
        return Ok(());
    }
    bail!("no C compiler `cc`: it compiles SQLite and links every program")
}

/// Returns the PostgreSQL server, which Debian puts where no `PATH` leads; its bare name where it is not installed there.
fn postgres() -> String {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    versions
        .filter_map(|version| Some(version.ok()?.path().join("bin/postgres")))
        .find(|program| program.exists())
        .map_or_else(
            || "postgres".to_owned(),
            |program| program.display().to_string(),
        )
}

/// Reports whether a program is installed; installs it first if `apt-get` exists.
fn obtain(program: &str, argument: &str, packages: &[&str]) -> bool {
    if shell::is_present(program, argument) {
        return true;
    }
    if !shell::is_present("apt-get", "--version") {
        println!("missing: `{program}`");
        return false;
    }
    println!("missing: `{program}`; installing {}", packages.join(" "));
    let apt = |args: &[&str]| {
        let mut command = std::process::Command::new("apt-get");
        command
            .env("DEBIAN_FRONTEND", "noninteractive")
            .args(args)
            .stdin(std::process::Stdio::null());
        shell::run(&mut command)
    };
    let install: Vec<&str> = ["install", "-y", "--no-install-recommends"]
        .iter()
        .chain(packages)
        .copied()
        .collect();
    match apt(&["update"]).and_then(|()| apt(&install)) {
        Ok(()) => shell::is_present(program, argument),
        Err(error) => {
            println!("missing: `{program}`: {error:#}");
            false
        }
    }
}

fn unit(root: &Path, tier: Tier, excluded: &[&str], tally: &mut TestCounts) -> Result<bool> {
    let has_nextest = shell::is_present("cargo-nextest", "--version");
    let mut args: Vec<&str> = if has_nextest {
        vec!["nextest", "run"]
    } else {
        vec!["test"]
    };
    args.extend([
        "--workspace",
        "--locked",
        "--lib",
        "--bins",
        "--tests",
        "--no-fail-fast",
    ]);
    args.extend(excluded.iter().flat_map(|package| ["--exclude", package]));
    let profile = tier.nextest_profile();
    if has_nextest {
        args.extend(["--profile", profile]);
    }
    if tier != Tier::Change {
        // Crash points are compiled in for the later tiers only.
        args.extend(["--features", "daemon-run/internal-testing"]);
    }
    if !has_nextest {
        // Without nextest, the output of passed tests is the only place where skipped ones are named.
        args.extend(["--", "--show-output"]);
    }
    let mut command = shell::cargo(root, &args);
    if tier != Tier::Change {
        command.envs([("DAEMON_TEST_KILLS", "20"), ("DAEMON_TEST_HOOKS", "200")]);
    }
    if tier == Tier::Night {
        command.envs(kills::FULL);
    }
    if let Some(n_cases) = tier.property_cases() {
        command.env("PROPTEST_CASES", n_cases.to_string());
    }
    let (status, printed) = shell::tee(&mut command)?;
    let mut counts = TestCounts::read(&printed);
    let skips = if has_nextest {
        report(root, profile)?
    } else {
        tally::skips_of_output(&printed)
    };
    announce(&skips);
    counts.set_aside(skips.len().try_into()?);
    // A build that fails prints no summary; it must not read as "nothing failed".
    if !status.success() && counts.failed == 0 {
        counts.failed = 1;
    }
    *tally += counts;
    Ok(status.success())
}

fn documentation(root: &Path, excluded: &[&str], tally: &mut TestCounts) -> Result<bool> {
    let mut args = vec!["test", "--doc", "--workspace", "--locked", "--no-fail-fast"];
    args.extend(excluded.iter().flat_map(|package| ["--exclude", package]));
    let (status, printed) = shell::tee(&mut shell::cargo(root, &args))?;
    let mut counts = TestCounts::read(&printed);
    if !status.success() && counts.failed == 0 {
        counts.failed = 1;
    }
    *tally += counts;
    Ok(status.success())
}

fn report(root: &Path, profile: &str) -> Result<Vec<Skip>> {
    // nextest writes its report into the target folder, which a machine may have moved.
    let folder = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let path = root.join(folder).join("nextest").join(profile);
    let path = path.join("junit.xml");
    // Nextest writes no report when the build failed or no test was chosen.
    if !path.exists() {
        return Ok(Vec::new());
    }
    Ok(tally::skips_of_report(&std::fs::read_to_string(path)?))
}

fn announce(skips: &[Skip]) {
    for skip in skips {
        println!("skipped: {}: {}", skip.test, skip.reason);
    }
}

/// CountedPlaces the test functions below a folder by their attributes.
fn count_tests(folder: &Path) -> Result<u64> {
    let mut acc = 0;
    if !folder.is_dir() {
        return Ok(acc);
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            acc += count_tests(&path)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path)?;
            let is_test = |line: &&str| matches!(line.trim(), "#[test]" | "#[tokio::test]");
            acc += u64::try_from(text.lines().filter(is_test).count())?;
        }
    }
    Ok(acc)
}
