use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::sync::Arc;

use daemon_repo::{
    DaemonContent, DaemonSource, EntryKind, EntryRefusal, ObjectFormat, discover_working_tree,
};

use crate::scratch::Scratch;

fn text(content: &str) -> DaemonContent {
    DaemonContent::Text(Arc::from(content.as_bytes()))
}

fn scratch_with_support() -> Scratch {
    let scratch = Scratch::new();
    scratch
        .write(
            ".agents/daemons/a/DAEMON.md",
            "\u{feff}---\r\nid: a\r\n---\r\n",
        )
        .executable(".agents/daemons/a/scripts/run.sh", "#!/bin/sh\n")
        .write(".agents/daemons/a/scripts/forgot.sh", "#!/bin/sh\n")
        .write(".agents/daemons/a/references/deep/er.md", "deep")
        .write(".agents/daemons/b/daemon.md", "misplaced")
        .write(".agents/daemons/c/DAEMON.md", "")
        .write("README.md", "readme");
    scratch
}

#[test]
fn objects_and_files_give_equal_discoveries() {
    for init in [
        ["init", "-q", "-b", "main", "."],
        ["init", "-q", "--object-format=sha256", "-b", "main"],
    ] {
        let scratch = Scratch::with(&init);
        let like = scratch_with_support();
        fs::rename(like.root().join(".agents"), scratch.root().join(".agents")).unwrap();
        let commit = scratch.commit("first");
        let repository = scratch.open();
        let from_objects = repository.discover(&commit).unwrap();
        let from_files = discover_working_tree(scratch.root(), repository.format()).unwrap();
        assert_eq!(from_objects, from_files);
        let found: Vec<_> = from_objects
            .daemons
            .iter()
            .map(
                |DaemonSource {
                     dir,
                     content,
                     support,
                     ..
                 }| (dir.as_str(), content.clone(), support.files.len()),
            )
            .collect();
        let first = text("\u{feff}---\r\nid: a\r\n---\r\n");
        assert_eq!(found, [("a", first, 3), ("c", text(""), 0)]);
        assert_eq!(from_objects.misplaced, [".agents/daemons/b/daemon.md"]);
        let scripts: Vec<_> = from_objects.daemons[0]
            .support
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.executable, file.lacks_mode))
            .collect();
        assert_eq!(
            scripts,
            [
                ("references/deep/er.md", false, false),
                ("scripts/forgot.sh", false, true),
                ("scripts/run.sh", true, false),
            ]
        );
    }
}

#[test]
fn discovery_reads_the_commit_and_not_the_work_tree() {
    let scratch = Scratch::new();
    let first = scratch
        .write(".agents/daemons/a/DAEMON.md", "one")
        .commit("first");
    scratch.write(".agents/daemons/a/DAEMON.md", "two");
    let found = scratch.open().discover(&first).unwrap();
    assert_eq!(found.daemons[0].content, text("one"));
    assert_eq!(
        scratch
            .open()
            .discover(
                &scratch
                    .write("x", "x")
                    .remove(".agents/daemons/a/DAEMON.md")
                    .commit("none")
            )
            .unwrap()
            .daemons,
        []
    );
}

#[test]
fn links_submodules_and_dot_dot_are_not_files() {
    let scratch = Scratch::new();
    let blob = scratch.git_with(&["hash-object", "-w", "--stdin"], "x");
    let commit = scratch.commit("first");
    let tree = |entries: String| scratch.git_with(&["mktree", "--missing"], entries);
    // Git refuses to write a tree with `..` through an index; an attacker writes the object.
    let raw = [b"100644 ..\0".to_vec(), hex_bytes(&blob)].concat();
    let evil = scratch.git_with(
        &["hash-object", "-t", "tree", "-w", "--stdin", "--literally"],
        raw,
    );
    let scripts = tree(format!(
        "120000 blob {blob}\tlink\n160000 commit {commit}\tmodule\n040000 tree {evil}\tup\n100644 blob {blob}\tfine\n"
    ));
    let daemon = tree(format!(
        "120000 blob {blob}\tDAEMON.md\n040000 tree {scripts}\tscripts\n"
    ));
    let daemons = tree(format!("040000 tree {daemon}\ta\n"));
    let agents = tree(format!("040000 tree {daemons}\tdaemons\n"));
    let root = tree(format!("040000 tree {agents}\t.agents\n"));
    let commit = scratch
        .git(&["commit-tree", "-m", "evil", &root])
        .parse()
        .unwrap();

    let found = scratch.open().discover(&commit).unwrap().daemons.remove(0);
    assert_eq!(found.content, DaemonContent::NotAFile(EntryKind::Symlink));
    assert_eq!(
        found
            .support
            .files
            .iter()
            .map(|file| file.path.as_str())
            .collect::<Vec<_>>(),
        ["scripts/fine"]
    );
    let refused: Vec<_> = found
        .support
        .refused
        .iter()
        .map(|entry| (entry.path.as_str(), entry.reason.clone()))
        .collect();
    assert_eq!(
        refused,
        [
            ("scripts/link", EntryRefusal::Kind(EntryKind::Symlink)),
            ("scripts/module", EntryRefusal::Kind(EntryKind::Submodule)),
            ("scripts/up/..", EntryRefusal::Name),
        ]
    );
}

fn hex_bytes(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

#[test]
fn only_regular_files_are_opened() {
    let dir = tempfile::tempdir().unwrap();
    let scripts = dir.path().join(".agents/daemons/a/scripts");
    fs::create_dir_all(&scripts).unwrap();
    fs::write(dir.path().join("secret"), "secret").unwrap();
    symlink(
        dir.path().join("secret"),
        dir.path().join(".agents/daemons/a/DAEMON.md"),
    )
    .unwrap();
    symlink("..", scripts.join("loop")).unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        scripts.join("pipe"),
        rustix::fs::Mode::RWXU,
    )
    .unwrap();
    std::os::unix::net::UnixListener::bind(scripts.join("socket")).unwrap();
    symlink("a", dir.path().join(".agents/daemons/linked")).unwrap();

    let found = discover_working_tree(dir.path(), ObjectFormat::Sha1).unwrap();
    // A link in place of a directory cannot be read either.
    let linked = &found.daemons[1];
    assert_eq!(
        (found.daemons.len(), linked.dir.as_str(), &linked.content),
        (2, "linked", &DaemonContent::NotAFile(EntryKind::Symlink))
    );
    let daemon = &found.daemons[0];
    assert_eq!(daemon.content, DaemonContent::NotAFile(EntryKind::Symlink));
    let refused: Vec<_> = daemon
        .support
        .refused
        .iter()
        .map(|entry| (entry.path.as_str(), entry.reason.clone()))
        .collect();
    assert_eq!(
        refused,
        [
            ("scripts/loop", EntryRefusal::Kind(EntryKind::Symlink)),
            ("scripts/pipe", EntryRefusal::Kind(EntryKind::Special)),
            ("scripts/socket", EntryRefusal::Kind(EntryKind::Special)),
        ]
    );
}

/// A repository in whose support trees links lead to files and directories (`a`), and to nothing usable (`c`).
fn scratch_with_links() -> Scratch {
    let scratch = scratch_with_support();
    scratch
        .write("docs/style.md", "house style")
        .executable("tools/check.sh", "#!/bin/sh\n")
        .write("docs/deep/er.md", "deeper")
        .write(".agents/daemons/c/DAEMON.md", "c");
    let up = "../../../..";
    let link = |target: &str, name: &str| {
        let place = scratch.root().join(name);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(target, place).unwrap();
    };
    link("deep/er.md", ".agents/daemons/a/references/alias.md");
    link(
        &format!("{up}/docs/style.md"),
        ".agents/daemons/a/references/style.md",
    );
    link(&format!("{up}/docs"), ".agents/daemons/a/references/all");
    link(
        &format!("{up}/tools/check.sh"),
        ".agents/daemons/a/scripts/check.sh",
    );
    // Through links in other directories of the repository.
    link("docs", "handbook");
    link("style.md", "docs/link.md");
    link("deep", "docs/down");
    link(
        &format!("{up}/handbook/link.md"),
        ".agents/daemons/a/references/through.md",
    );
    for (target, name) in [
        ("/etc/passwd", "absolute"),
        (&*format!("{up}/../../../../../../../../etc/passwd"), "out"),
        (&*format!("{up}/.git/config"), "git"),
        ("..", "loop"),
        ("self", "self"),
        ("nothing", "nothing"),
        (&*format!("{up}/docs/style.md/x"), "under-a-file"),
    ] {
        link(target, &format!(".agents/daemons/c/references/{name}"));
    }
    scratch
}

fn rejected(support: &daemon_repo::SupportTree) -> Vec<(String, EntryRefusal)> {
    let all = support.refused.iter();
    all.map(|entry| (entry.path.clone(), entry.reason.clone()))
        .collect()
}

fn rejected_link(name: &str) -> (String, EntryRefusal) {
    (
        format!("references/{name}"),
        EntryRefusal::Kind(EntryKind::Symlink),
    )
}

#[test]
fn links_within_the_repository_are_followed_and_others_rejected() {
    let scratch = scratch_with_links();
    let commit = scratch.commit("link");
    let repository = scratch.open();
    let from_objects = repository.discover(&commit).unwrap();
    let from_files = discover_working_tree(scratch.root(), repository.format()).unwrap();
    assert_eq!(from_objects, from_files);
    let [a, c] = from_objects.daemons.as_slice() else {
        panic!("two daemons: {from_objects:?}");
    };
    let files: Vec<_> = a
        .support
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.executable, file.size))
        .collect();
    assert_eq!(
        files,
        [
            ("references/alias.md", false, 4),
            ("references/all/deep/er.md", false, 6),
            ("references/all/link.md", false, 11),
            ("references/all/style.md", false, 11),
            ("references/deep/er.md", false, 4),
            ("references/style.md", false, 11),
            ("references/through.md", false, 11),
            ("scripts/check.sh", true, 10),
            ("scripts/forgot.sh", false, 10),
            ("scripts/run.sh", true, 10),
        ]
    );
    assert_eq!(rejected(&a.support), [rejected_link("all/down")]);
    let names = [
        "absolute",
        "git",
        "loop",
        "nothing",
        "out",
        "self",
        "under-a-file",
    ];
    assert_eq!(rejected(&c.support), names.map(rejected_link));
}

#[test]
fn the_target_of_a_link_is_written_out_and_part_of_the_revision() {
    let scratch = scratch_with_links();
    let repository = scratch.open();
    let before = repository.discover(&scratch.commit("link")).unwrap();
    let a = &before.daemons[0];
    let into = scratch.next_to("support");
    repository.materialise(&a.support, &into).unwrap();
    assert_eq!(
        fs::read_to_string(into.join("references/through.md")).unwrap(),
        "house style"
    );
    let next = scratch
        .write("docs/style.md", "other style")
        .commit("change");
    let changed = repository.discover(&next).unwrap();
    assert_ne!(changed.daemons[0].rev, a.rev);
}

#[test]
fn daemons_of_a_nested_repository_are_not_read() {
    let daemons = |found: &daemon_repo::Discovery| -> Vec<(String, DaemonContent)> {
        let daemons = found.daemons.iter();
        let daemons =
            daemons.map(|daemon| (daemon.dir.as_str().to_owned(), daemon.content.clone()));
        daemons.collect()
    };
    let other = DaemonContent::NotAFile(EntryKind::Submodule);
    let own = ("b".to_owned(), text("b"));
    for (root, found, barred) in [
        (
            ".agents/daemons/a",
            vec![("a".to_owned(), other), own],
            None,
        ),
        (
            ".agents/daemons",
            vec![],
            Some((".agents/daemons", EntryKind::Submodule)),
        ),
        (".agents", vec![], Some((".agents", EntryKind::Submodule))),
    ] {
        let scratch = Scratch::new();
        scratch
            .write(".agents/daemons/a/DAEMON.md", "a")
            .write(".agents/daemons/b/DAEMON.md", "b")
            .write(&format!("{root}/.git"), "gitdir: elsewhere");
        let read = discover_working_tree(scratch.root(), ObjectFormat::Sha1).unwrap();
        assert_eq!((daemons(&read), read.barred), (found, barred), "{root}");
    }
}

#[test]
fn a_huge_sparse_file_is_rejected_by_its_size() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = dir.path().join(".agents/daemons/a");
    fs::create_dir_all(&daemon).unwrap();
    fs::File::create(daemon.join("DAEMON.md"))
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let found = discover_working_tree(dir.path(), ObjectFormat::Sha1).unwrap();
    assert_eq!(
        found.daemons[0].content,
        DaemonContent::TooLarge { size: 1 << 30 }
    );
}

#[test]
fn a_directory_without_daemons_is_empty_and_an_absent_one_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(
        discover_working_tree(dir.path(), ObjectFormat::Sha1)
            .unwrap()
            .daemons,
        []
    );
    let error = discover_working_tree(&dir.path().join("absent"), ObjectFormat::Sha1).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot read directory"),
        "{error}"
    );
}

#[test]
fn a_support_tree_is_written_without_write_permission() {
    let scratch = scratch_with_support();
    let commit = scratch.commit("first");
    let repository = scratch.open();
    let daemon = repository.discover(&commit).unwrap().daemons.remove(0);
    let into = scratch.next_to("support");
    repository.materialise(&daemon.support, &into).unwrap();
    let written: Vec<_> = [
        "references/deep/er.md",
        "scripts/forgot.sh",
        "scripts/run.sh",
    ]
    .into_iter()
    .map(|path| {
        let mode = fs::metadata(into.join(path)).unwrap().permissions().mode() & 0o7777;
        (fs::read_to_string(into.join(path)).unwrap(), mode)
    })
    .collect();
    let script = "#!/bin/sh\n".to_owned();
    assert_eq!(
        written,
        [
            ("deep".to_owned(), 0o444),
            (script.clone(), 0o444),
            (script, 0o555)
        ]
    );
    repository.materialise(&daemon.support, &into).unwrap_err();
}

#[test]
fn the_fingerprint_changes_with_every_move_of_a_ref() {
    let scratch = Scratch::new();
    let repository = scratch.open();
    let mut seen = vec![repository.refs_fingerprint().unwrap()];
    let mut step = |action: &dyn Fn()| {
        action();
        let now = repository.refs_fingerprint().unwrap();
        assert_eq!(now, repository.refs_fingerprint().unwrap());
        let is_new = !seen.contains(&now);
        seen.push(now);
        is_new
    };
    assert!(step(&|| drop(scratch.commit("first"))));
    assert!(step(&|| drop(scratch.commit("second"))));
    assert!(step(&|| drop(scratch.git(&["branch", "deep/er/branch"]))));
    assert!(step(&|| drop(scratch.git(&["pack-refs", "--all"]))));
    assert!(step(&|| drop(scratch.git(&[
        "branch",
        "-D",
        "deep/er/branch"
    ]))));
    assert!(step(&|| drop(scratch.git(&["tag", "v1"]))));
    assert!(!step(&|| _ = scratch.write("x", "x")));
}
