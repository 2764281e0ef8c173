//! Discovery of files, and diagnostics that need the disk.

use crate::world::{CLEAN, World};

fn named(id: &str) -> String {
    CLEAN.replace("id: tidy", &format!("id: {id}"))
}

#[test]
fn a_path_can_be_a_file_a_repository_or_a_daemon_directory() {
    let world = World::new("");
    world.write("repo/.agents/daemons/a/DAEMON.md", named("a: b").as_bytes());
    world.write("repo/.agents/daemons/b/DAEMON.md", named("c: d").as_bytes());
    let (a, b) = (
        "repo/.agents/daemons/a/DAEMON.md",
        "repo/.agents/daemons/b/DAEMON.md",
    );
    world.write("repo/DAEMON.md", CLEAN.as_bytes());
    world.write("repo/.agents/team/c/DAEMON.md", named("c").as_bytes());
    let (root, misplaced) = ("repo/DAEMON.md", "repo/.agents/team/c/DAEMON.md");
    let rows: [(&[&str], &[&str]); 12] = [
        (&["repo"], &[root, a, b, misplaced]),
        (&["./repo"], &[root, a, b, misplaced]),
        (&["repo/.agents"], &[a, b, misplaced]),
        (&["repo/.agents/"], &[a, b, misplaced]),
        (&["repo/.agents/daemons"], &[a, b]),
        (&["repo/.agents/daemons/b"], &[b]),
        (&[a], &[a]),
        (&[b, "repo", a], &[b, root, a, misplaced]),
        (
            &["-C", "repo/.agents", "."],
            &[
                "daemons/a/DAEMON.md",
                "daemons/b/DAEMON.md",
                "team/c/DAEMON.md",
            ],
        ),
        (
            &["-C", "repo/.agents/daemons/a", ".."],
            &["../a/DAEMON.md", "../b/DAEMON.md"],
        ),
        (&["-C", "repo/.agents/daemons/a", "."], &["DAEMON.md"]),
        (
            &["-C", "repo/.agents/daemons/a"],
            &[
                "../../../DAEMON.md",
                "../../../.agents/daemons/a/DAEMON.md",
                "../../../.agents/daemons/b/DAEMON.md",
                "../../../.agents/team/c/DAEMON.md",
            ],
        ),
    ];
    for (arguments, expected) in rows {
        let ran = world.run(&[&["--json"], arguments].concat());
        let files: Vec<_> = ran.json()["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| file["path"].clone())
            .collect();
        assert_eq!(files, expected, "{arguments:?}");
    }
}

#[test]
fn a_path_with_dots_names_the_place_of_the_file() {
    let world = World::of_daemon(CLEAN);
    let daemon = ".agents/daemons/tidy";
    for path in [
        ".",
        "./DAEMON.md",
        "../tidy",
        "../tidy/./DAEMON.md",
        "../../..",
    ] {
        let ran = world.run(&["-C", daemon, "--json", path]);
        assert_eq!((ran.code, ran.findings()), (0, Vec::new()), "{path}");
        assert_eq!(ran.json()["summary"]["files"], 1, "{path}");
    }
}

#[test]
fn an_absolute_path_is_shown_as_it_was_given() {
    let world = World::of_daemon(CLEAN);
    let root = world.root().to_str().unwrap();
    let ran = world.run(&["--json", root]);
    assert_eq!(
        ran.json()["files"][0]["path"],
        format!("{root}/.agents/daemons/tidy/DAEMON.md")
    );
}

#[test]
fn no_daemon_file_is_a_warning() {
    let world = World::new("//- README.md\nhello\n//- .git/HEAD\nref: refs/heads/main\n");
    let ran = world.run(&["--json"]);
    assert_eq!(
        (ran.code, ran.json()["files"].as_array().map(Vec::len)),
        (0, Some(0))
    );
    assert!(
        ran.notes.starts_with("warning: no daemon file found"),
        "{}",
        ran.notes
    );
}

#[test]
fn two_daemons_with_the_same_id_are_both_reported() {
    let world = World::new("");
    world.write(".agents/daemons/tidy/DAEMON.md", CLEAN.as_bytes());
    world.write(".agents/daemons/twin/DAEMON.md", CLEAN.as_bytes());
    assert_eq!(
        world.run(&["--json"]).findings(),
        [
            ".agents/daemons/tidy/DAEMON.md D114 2:5",
            ".agents/daemons/twin/DAEMON.md D111 2:5",
            ".agents/daemons/twin/DAEMON.md D114 2:5",
        ]
    );
}

#[test]
fn files_at_paths_that_no_runtime_reads_are_misplaced() {
    let world = World::new("");
    world.write(".agents/daemons/a/daemon.md", named("a").as_bytes());
    world.write(".agents/daemons/team/b/DAEMON.md", named("b").as_bytes());
    world.write(".agents/daemons/DAEMON.md", named("daemons").as_bytes());
    world.write(
        ".agents/daemons/c/references/DAEMON.md",
        named("c").as_bytes(),
    );
    world.write(".agents/daemons/c/DAEMON.md", named("c").as_bytes());
    assert_eq!(
        world.run(&["--json"]).findings(),
        [
            ".agents/daemons/DAEMON.md D115 1:1",
            ".agents/daemons/a/daemon.md D115 1:1",
            ".agents/daemons/team/b/DAEMON.md D115 1:1",
        ]
    );
}

#[test]
fn a_bad_file_does_not_hide_the_others() {
    let world = World::new("");
    for n in 0..30 {
        world.write(
            &format!(".agents/daemons/d{n}/DAEMON.md"),
            named(&format!("d{n}")).as_bytes(),
        );
    }
    world.write(".agents/daemons/d7/DAEMON.md", b"---\nid: \xFF\n");
    let ran = world.run(&["--json"]);
    assert_eq!(
        (ran.code, ran.findings()),
        (1, vec![".agents/daemons/d7/DAEMON.md D001 2:5".to_owned()])
    );
    assert_eq!(ran.json()["summary"]["files"], 30);
    assert_eq!(ran.json()["summary"]["daemons"], 29);
}

#[test]
fn a_large_sparse_file_is_rejected_at_once() {
    let world = World::of_daemon(CLEAN);
    let path = world.root().join(".agents/daemons/tidy/DAEMON.md");
    std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|file| file.set_len(1 << 30))
        .unwrap();
    assert_eq!(
        world.run(&["--json"]).findings(),
        [".agents/daemons/tidy/DAEMON.md D002 1:1"]
    );
}

#[cfg(unix)]
mod on_unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::os::unix::net::UnixListener;

    use super::{CLEAN, World, named};

    const PATH: &str = ".agents/daemons/tidy/DAEMON.md";

    #[test]
    fn a_file_that_is_not_regular_is_rejected_without_blocking() {
        let world = World::new("");
        let directory = world.root().join(".agents/daemons");
        let fill = |id: &str| {
            let directory = directory.join(id);
            std::fs::create_dir_all(&directory).unwrap();
            directory.join("DAEMON.md")
        };
        std::fs::create_dir(fill("directory")).unwrap();
        symlink("/dev/zero", fill("link")).unwrap();
        let _listener = UnixListener::bind(fill("socket")).unwrap();
        let pipe = std::ffi::CString::new(fill("pipe").to_str().unwrap()).unwrap();
        assert_eq!(make_pipe(&pipe), 0);
        world.write(".agents/daemons/good/DAEMON.md", named("good").as_bytes());
        symlink(directory.join("good"), directory.join("way")).unwrap();

        let ran = world.run(&["--json"]);
        let helps: Vec<_> = ran.json()["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| (file["path"].clone(), file["diagnostics"][0]["help"].clone()))
            .filter(|(_, help)| !help.is_null())
            .map(|(path, help)| format!("{}: {}", path.as_str().unwrap(), help.as_str().unwrap()))
            .collect();
        assert_eq!(
            (ran.code, helps),
            (
                66,
                vec![
                    ".agents/daemons/directory/DAEMON.md: it is a directory".to_owned(),
                    ".agents/daemons/link/DAEMON.md: it is a symbolic link, which is not followed"
                        .to_owned(),
                    ".agents/daemons/pipe/DAEMON.md: it is not a regular file".to_owned(),
                    ".agents/daemons/socket/DAEMON.md: it is not a regular file".to_owned(),
                    ".agents/daemons/way: it is a symbolic link, which is not followed".to_owned(),
                ]
            )
        );
        assert_eq!(ran.json()["summary"]["files"], 6);
    }

    #[expect(
        unsafe_code,
        reason = "the standard library makes no pipes in the file system"
    )]
    fn make_pipe(path: &std::ffi::CStr) -> i32 {
        // SAFETY: `path` is a NUL-terminated string that is valid during the call.
        unsafe { libc::mkfifo(path.as_ptr(), 0o600) }
    }

    #[test]
    fn the_support_tree_on_disk_is_checked() {
        let world = World::of_daemon(&CLEAN.replace(
            "One comment.\n\n",
            "One comment, from `scripts/gone.sh`.\n\n",
        ));
        world.write(".agents/daemons/tidy/scripts/run.sh", b"#!/bin/sh\n");
        world.write(".agents/daemons/tidy/scripts/ok.sh", b"#!/bin/sh\n");
        world.write(".agents/daemons/tidy/notes/x.md", b"x");
        let set_mode = |path: &str, mode| {
            let path = world.root().join(".agents/daemons/tidy").join(path);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set_mode("scripts/run.sh", 0o644);
        set_mode("scripts/ok.sh", 0o755);
        symlink(
            "/etc/passwd",
            world.root().join(".agents/daemons/tidy/scripts/leak"),
        )
        .unwrap();
        let codes: Vec<_> = world.run(&["--json"]).json()["files"][0]["diagnostics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| {
                format!(
                    "{} {}",
                    found["code"].as_str().unwrap(),
                    found["message"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(
            codes,
            [
                "D500 `scripts/leak` is a symbolic link that is not followed",
                "D501 `notes` belongs neither to `scripts/` nor to `references/`",
                "D502 `scripts/run.sh` has a `#!` line but is not executable",
                "D503 `scripts/gone.sh` is not in the daemon's directory",
            ]
        );
        assert_eq!(
            world.read(PATH).len(),
            CLEAN.len() + ", from `scripts/gone.sh`".len()
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_or_submodule_in_place_of_a_directory_is_reported() {
    use std::os::unix::fs::symlink;
    const LINK: &str = "it is a symbolic link, which is not followed";
    const OTHER: &str = "it is another repository (a submodule), which is not read";
    let cases = [
        (".agents", "elsewhere", Some(LINK)),
        (".agents/daemons", "../elsewhere/daemons", Some(LINK)),
        (".agents/daemons/tidy", "", Some(OTHER)),
        (
            ".agents/daemons/tidy",
            "../../elsewhere/daemons/tidy",
            Some(LINK),
        ),
        ("unrelated", "elsewhere", None),
    ];
    for (path, target, why) in cases {
        let world = World::new("");
        world.write(".git/HEAD", b"ref: refs/heads/main\n");
        world.write("elsewhere/daemons/tidy/DAEMON.md", CLEAN.as_bytes());
        let place = world.root().join(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        match target {
            "" => {
                world.write(&format!("{path}/DAEMON.md"), CLEAN.as_bytes());
                world.write(&format!("{path}/.git"), b"gitdir: ../x\n");
            }
            target => symlink(target, place).unwrap(),
        }
        let ran = world.run(&["--json"]);
        let file = &ran.json()["files"][0];
        let named = (
            file["path"].as_str(),
            file["diagnostics"][0]["help"].as_str(),
        );
        assert_eq!(
            (ran.code, named),
            match why {
                Some(why) => (66, (Some(path), Some(why))),
                None => (0, (None, None)),
            }
        );
    }
}
