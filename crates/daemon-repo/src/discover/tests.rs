use super::*;
use crate::object::ObjectFormat;
use crate::support::{EntryRefusal, RefusedEntry};

fn file(path: &str, content: &str) -> (RawEntry, Vec<u8>) {
    let entry = RawEntry {
        path: path.into(),
        kind: EntryKind::File,
        size: content.len() as u64,
        object: Some(ObjectFormat::Sha1.blob_id(content.as_bytes())),
    };
    (entry, content.into())
}

fn of_kind(path: &str, kind: EntryKind) -> (RawEntry, Vec<u8>) {
    let (entry, content) = file(path, "x");
    (RawEntry { kind, ..entry }, content)
}

fn discover(tree: &[(RawEntry, Vec<u8>)]) -> Discovery {
    let entries = tree.iter().map(|(entry, _)| entry.clone()).collect();
    DiscoveryPlan::new(entries).finish(|wanted| {
        let (entry, content) = tree
            .iter()
            .find(|(entry, _)| entry.path == wanted.path)
            .unwrap();
        FileRead::Blob(entry.object.clone().unwrap(), content.as_slice().into())
    })
}

#[test]
fn a_daemon_file_has_the_exact_place_and_case() {
    let found = discover(&[
        file(".agents/daemons/a/DAEMON.md", "a"),
        file(".agents/daemons/b/daemon.md", "b"),
        file(".agents/daemons/DAEMON.md", "c"),
        file(".agents/daemons/d/deep/DAEMON.md", "d"),
        file(".agents/daemons/a/references/DAEMON.md", "template"),
        file(".agents/DAEMON.md", "e"),
        file(".agents/daemonsx/f/DAEMON.md", "f"),
        file(".agents/daemons/\n/DAEMON.md", "g"),
        of_kind(".agents/daemons/h/DAEMON.md/x", EntryKind::File),
        of_kind(".agents/daemons/i/DAEMON.md", EntryKind::Symlink),
        file("README.md", "readme"),
    ]);
    let contents: Vec<_> = found
        .daemons
        .iter()
        .map(|d| (d.dir.as_str(), d.content.clone()))
        .collect();
    assert_eq!(
        contents,
        [
            ("a", DaemonContent::Text((*b"a").into())),
            ("h", DaemonContent::NotAFile(EntryKind::Directory)),
            ("i", DaemonContent::NotAFile(EntryKind::Symlink)),
        ]
    );
    assert_eq!(
        found.misplaced,
        [
            ".agents/DAEMON.md",
            ".agents/daemons/\n/DAEMON.md",
            ".agents/daemons/DAEMON.md",
            ".agents/daemons/b/daemon.md",
            ".agents/daemons/d/deep/DAEMON.md",
            ".agents/daemonsx/f/DAEMON.md",
        ]
    );
}

#[test]
fn a_support_tree_has_files_and_rejects_other_entries() {
    let bad_name = RawEntry {
        path: b".agents/daemons/a/scripts/\xff".to_vec(),
        ..file("", "x").0
    };
    let found = discover(&[
        file(".agents/daemons/a/DAEMON.md", "a"),
        file(".agents/daemons/a/notes.txt", "n"),
        of_kind(".agents/daemons/a/references", EntryKind::Symlink),
        of_kind(".agents/daemons/a/scripts/../../../x", EntryKind::File),
        of_kind(".agents/daemons/a/scripts/dev", EntryKind::Special),
        of_kind(".agents/daemons/a/scripts/go", EntryKind::Executable),
        of_kind(".agents/daemons/a/scripts/mod", EntryKind::Submodule),
        file(".agents/daemons/a/scripts/run", "#!/bin/sh"),
        (bad_name, b"x".to_vec()),
    ]);
    let support = &found.daemons[0].support;
    let files: Vec<_> = support
        .files
        .iter()
        .map(|f| (f.path.as_str(), f.executable, f.lacks_mode, f.size))
        .collect();
    assert_eq!(
        files,
        [
            ("scripts/go", true, false, 1),
            ("scripts/run", false, true, 9)
        ]
    );
    let refused = |path: &str, reason| RefusedEntry {
        path: path.into(),
        reason,
    };
    assert_eq!(
        support.refused,
        [
            refused("references", EntryRefusal::Kind(EntryKind::Symlink)),
            refused("scripts/../../../x", EntryRefusal::Name),
            refused("scripts/dev", EntryRefusal::Kind(EntryKind::Special)),
            refused("scripts/mod", EntryRefusal::Kind(EntryKind::Submodule)),
            refused("scripts/\u{fffd}", EntryRefusal::Name),
        ]
    );
    assert_eq!(support.stray, ["notes.txt"]);
}

#[test]
fn files_beyond_the_limits_are_left_out_in_path_order() {
    let mut tree = vec![file(".agents/daemons/a/DAEMON.md", "a")];
    tree.extend((0..250).map(|n| file(&format!(".agents/daemons/a/references/{n:03}"), "x")));
    let support = discover(&tree).daemons.remove(0).support;
    assert_eq!((support.files.len(), support.n_left_out), (200, 50));
    assert_eq!(support.left_out[0].path.as_str(), "references/200");

    let mut big = file(".agents/daemons/a/references/a-big", "x");
    big.0.size = (1 << 20) + 1;
    let edge = file(".agents/daemons/a/references/2/3/4/5/6/7/8/edge", "x");
    let deep = file(".agents/daemons/a/references/2/3/4/5/6/7/8/9/deep", "x");
    let found = discover(&[
        tree[0].clone(),
        big,
        edge,
        deep,
        file(".agents/daemons/a/references/b", "x"),
    ]);
    let support = &found.daemons[0].support;
    assert_eq!(
        support
            .files
            .iter()
            .map(|f| f.path.as_str())
            .collect::<Vec<_>>(),
        ["references/2/3/4/5/6/7/8/edge", "references/b"]
    );
    let left_out: Vec<_> = support
        .left_out
        .iter()
        .map(|file| (file.path.as_str(), file.size))
        .collect();
    assert_eq!(
        left_out,
        [
            ("references/2/3/4/5/6/7/8/9/deep", 1),
            ("references/a-big", (1 << 20) + 1)
        ]
    );
}

#[test]
fn the_total_size_of_a_support_tree_is_limited() {
    let mut tree = vec![file(".agents/daemons/a/DAEMON.md", "a")];
    for n in 0..10 {
        let mut entry = file(&format!(".agents/daemons/a/references/{n}"), "x");
        entry.0.size = if n == 9 { 1 } else { 1 << 20 };
        tree.push(entry);
    }
    let support = discover(&tree).daemons.remove(0).support;
    assert_eq!((support.files.len(), support.n_left_out), (8, 2));
}

#[test]
fn a_daemon_file_over_the_cap_is_not_read() {
    let mut large = file(".agents/daemons/a/DAEMON.md", "a");
    large.0.size = MAX_DAEMON_FILE + 1;
    assert_eq!(
        discover(&[large]).daemons[0].content,
        DaemonContent::TooLarge {
            size: MAX_DAEMON_FILE + 1
        }
    );
}

#[test]
fn directories_beyond_the_first_thousand_are_listed() {
    let tree: Vec<_> = (0..1_003)
        .map(|n| file(&format!(".agents/daemons/{n:04}/DAEMON.md"), "x"))
        .collect();
    let found = discover(&tree);
    assert_eq!(found.daemons.len(), MAX_DAEMONS);
    assert_eq!(
        found
            .beyond_limit
            .iter()
            .map(TreePath::as_str)
            .collect::<Vec<_>>(),
        ["1000", "1001", "1002"]
    );
}

#[test]
fn a_revision_depends_on_every_byte_and_nothing_else() {
    let base = [
        file(".agents/daemons/a/DAEMON.md", "a"),
        file(".agents/daemons/a/scripts/x", "1"),
    ];
    let rev = |tree: &[(RawEntry, Vec<u8>)]| discover(tree).daemons[0].rev.clone();
    let same_elsewhere = [
        file(".agents/daemons/b/scripts/x", "1"),
        file(".agents/daemons/b/DAEMON.md", "a"),
        file("README", "r"),
    ];
    assert_eq!(rev(&base), rev(&same_elsewhere));
    let with = |entry: (RawEntry, Vec<u8>)| [base[0].clone(), base[1].clone(), entry];
    let others = [
        rev(&base),
        rev(&base[..1]),
        rev(&[file(".agents/daemons/a/DAEMON.md", "b"), base[1].clone()]),
        rev(&[base[0].clone(), file(".agents/daemons/a/scripts/x", "2")]),
        rev(&[base[0].clone(), file(".agents/daemons/a/scripts/y", "1")]),
        rev(&[
            base[0].clone(),
            (
                RawEntry {
                    kind: EntryKind::Executable,
                    ..base[1].0.clone()
                },
                b"1".to_vec(),
            ),
        ]),
        rev(&with(file(".agents/daemons/a/references/x", "1"))),
        rev(&with(of_kind(
            ".agents/daemons/a/references",
            EntryKind::Symlink,
        ))),
    ];
    let distinct: std::collections::BTreeSet<_> = others.iter().collect();
    assert_eq!(distinct.len(), others.len());
    assert_eq!(others[0].to_string().parse(), Ok(others[0].clone()));
}

#[test]
fn a_link_or_submodule_in_place_of_a_directory_is_reported() {
    for kind in [EntryKind::Symlink, EntryKind::Submodule] {
        for path in [".agents", ".agents/daemons"] {
            let found = discover(&[of_kind(path, kind)]);
            assert_eq!(found.barred, Some((path, kind)));
        }
        let found = discover(&[of_kind(".agents/daemons/x", kind)]);
        let read: Vec<_> = found
            .daemons
            .iter()
            .map(|d| (d.dir.as_str(), d.content.clone()))
            .collect();
        assert_eq!(read, [("x", DaemonContent::NotAFile(kind))]);
    }
}
