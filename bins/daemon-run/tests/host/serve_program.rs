//! What a confined run may read of the place where its program is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::serve_sandbox::levels;
use crate::world::{World, document, kept};

/// Tries to read the files next to the program, those of the host and those of the machine, and prints what it could read.
const READS: &str = "cat > /dev/null\nfor path in BESIDE/.ssh/id BESIDE/home/token BESIDE/home/hook-secret BESIDE/repo/.git/config \
    /etc/shadow /etc/gshadow; do\n  if cat $path > /dev/null 2>&1; then echo \"read $path\"; fi\ndone\n\
    cat /etc/passwd > /dev/null && ls /etc > /dev/null && echo usual\n";

/// Serves with a provider in the directory of the home, the repository and a user's keys, and returns what its run printed.
fn printed(level: u8) -> String {
    let world = World::pushed();
    fs::create_dir(world.beside(".ssh")).expect("a directory");
    fs::write(world.beside(".ssh/id"), "key").expect("a key");
    let beside = world.beside("").display().to_string();
    world.script(&READS.replace("BESIDE", beside.trim_end_matches('/')));
    world.at_level(level);
    let host = world.serve();
    let (_, fired) = world.json(&["fire", "pusher"]);
    let run = &fired["runs"][0];
    shows!(document(run), {"sandbox.level": level});
    let printed = kept(run, "result.txt");
    host.stop();
    printed.replace(&beside, "")
}

#[test]
fn a_confined_run_reads_its_program_and_no_other_file_of_that_directory() {
    for level in levels() {
        assert_eq!(printed(level).trim(), "usual", "level {level}");
    }
}

/// Configures a provider at the level that confines it, and the file of the webhook secret.
fn configure(world: &World, program: &Path, secret: &Path) {
    world.watch_with(&format!(
        "[provider]\ndefault = \"sh\"\n[provider.sh]\ncommand = {program:?}\n\
         [sources.github]\nsecret_file = {secret:?}\n[policy]\nsandbox_min = 2\n"
    ));
}

#[test]
fn a_package_that_holds_what_no_run_may_read_is_refused_at_the_start() {
    if levels().is_empty() {
        return;
    }
    let world = World::new(&[]);
    let root = world.beside("").canonicalize().expect("it exists");
    let outer = tempfile::tempdir().expect("a directory");
    let outer = outer.path().canonicalize().expect("it exists");
    for directory in ["user", "package/bin", "package/etc"] {
        fs::create_dir_all(outer.join(directory)).expect("a directory");
    }
    let manifest = r#"{"bin": "bin/agent.sh"}"#;
    fs::write(outer.join("package/package.json"), manifest).expect("a manifest");
    let agent = outer.join("package/bin/agent.sh");
    fs::copy(world.beside("agent.sh"), &agent).expect("a program");
    let secret = world.home.join("hook-secret");
    let away = outer.join("package/etc/secret");
    fs::write(&away, "It's a Secret to Everybody").expect("a secret");
    fs::set_permissions(&away, fs::Permissions::from_mode(0o600)).expect("its mode");

    // The home is the first of what the directory holds.
    fs::write(root.join("package.json"), "{}").expect("a manifest");
    for (program, secret, home, expected) in [
        (
            root.join("agent.sh"),
            &secret,
            outer.join("user"),
            (root.clone(), "the host's home", world.home.clone()),
        ),
        (
            agent.clone(),
            &secret,
            outer.join("package/etc"),
            (outer.join("package"), "`$HOME`", outer.join("package/etc")),
        ),
        (
            agent.clone(),
            &away,
            outer.join("user"),
            (
                outer.join("package"),
                "the secret of `sources.github.secret_file`",
                away.clone(),
            ),
        ),
    ] {
        configure(&world, &program, secret);
        let (code, told) = world.refused(&[("HOME", home.to_str().expect("text"))]);
        let (directory, what, path) = expected;
        let message = format!(
            "provider.sh: provider `sh`: cannot run `{}`: `{}`, which its runs may read, holds {what} `{}`",
            program.display(),
            directory.display(),
            path.display()
        );
        assert_eq!(code, Some(78), "{told}");
        assert!(told.contains(&message), "{told}\n{message}");
    }
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "the runner counts what is skipped from this line"
)]
fn a_user_whose_home_among_local_software_is_public_is_refused_at_the_start() {
    let Ok(home) = tempfile::tempdir_in("/opt") else {
        println!("skipped: `/opt` cannot be written to");
        return;
    };
    if levels().is_empty() {
        return;
    }
    let world = World::pushed();
    world.configure("[policy]\nsandbox_min = 2\n");
    let path = home.path().to_str().expect("text");
    let started = |mode| {
        fs::set_permissions(home.path(), fs::Permissions::from_mode(mode)).expect("its mode");
        world.refused(&[("HOME", path)])
    };
    let (code, told) = started(0o755);
    let message = format!(
        "`/opt` contains `$HOME` `{path}`: every user may read it, and so may every run at sandbox level 2 and above"
    );
    assert_eq!(code, Some(78), "{told}");
    assert!(told.contains(&message), "{told}");
    assert_eq!(started(0o700).0, Some(0));
}
