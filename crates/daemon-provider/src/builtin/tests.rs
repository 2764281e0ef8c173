use std::collections::BTreeMap;
use std::path::Path;

use expect_test::{Expect, expect};

use super::*;
use crate::RunId;

/// Writes a tree from text: `//- path` lines, each followed by the content of that file.
fn plant(root: &Path, tree: &str) {
    for file in tree.split("//- ").skip(1) {
        let (path, content) = file.split_once('\n').unwrap();
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    }
}

fn harvest(root: &Path) -> BTreeMap<String, String> {
    let survey = WorktreeSurvey::take(root, &[], &[]).unwrap();
    let text = |file: String| (file.clone(), fs::read_to_string(root.join(&file)).unwrap());
    survey.markdown().into_iter().map(text).collect()
}

fn run(provider: Builtin, request: RunRequest) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = provider.start(request).await.unwrap();
        let mut printed = Vec::new();
        loop {
            match run.next().await.unwrap().unwrap() {
                RunEvent::Output { text, .. } => printed.push(text),
                RunEvent::Terminal {
                    outcome: Outcome::Done,
                    text,
                } => {
                    let lines: Vec<&str> = text.lines().skip(2).collect();
                    assert_eq!(printed, lines, "the result repeats the printed lines");
                    return text + "\n";
                }
                event => panic!("unexpected {event:?}"),
            }
        }
    })
}

fn request(root: &Path) -> RunRequest {
    RunRequest::new(
        "em-1-20260102-030405-0a1b2c".parse::<RunId>().unwrap(),
        root.to_owned(),
    )
}

const TREE: &str = "//- README.md
# Top
See [setup](docs/setup.md#install), [faq](docs/faq.md), [gone](gone.md), [web](https://x.y/setup.md).
#### Deep
//- docs/index.md
[setup](setup.md) and [twin](old/twin.md)
//- docs/guide/setup.md
# Setup
//- docs/faq.md
//- a/twin.md
//- b/twin.md
//- .agents/daemons/x/DAEMON.md
[setup](../../../setup.md)
";

fn check(
    provider: Builtin,
    adjust: impl FnOnce(&mut RunRequest),
    expected: Expect,
) -> BTreeMap<String, String> {
    let home = tempfile::tempdir().unwrap();
    plant(home.path(), TREE);
    let mut request = request(home.path());
    adjust(&mut request);
    expected.assert_eq(&run(provider, request));
    harvest(home.path())
}

fn untouched() -> BTreeMap<String, String> {
    let home = tempfile::tempdir().unwrap();
    plant(home.path(), TREE);
    harvest(home.path())
}

#[test]
fn links_with_one_candidate_are_repaired_and_the_rest_is_left() {
    let after = check(
        Builtin::repairing(),
        |_| {},
        expect![[r#"
            builtin: no model ran; routines were not interpreted
            2 links repaired, 3 links left for a human, 1 heading skips a level
            .agents/daemons/x/DAEMON.md:1: `../../../setup.md`: can only mean docs/guide/setup.md, but this file may not be changed
            README.md:2: `docs/setup.md#install`: `docs/guide/setup.md#install`: repaired
            README.md:2: `gone.md`: no file has that name
            README.md:3: heading of level 4 after one of level 1
            docs/index.md:1: `setup.md`: `guide/setup.md`: repaired
            docs/index.md:1: `old/twin.md`: can mean a/twin.md, b/twin.md
        "#]],
    );
    let mut expected = untouched();
    for (file, from, to) in [
        ("README.md", "docs/setup.md#", "docs/guide/setup.md#"),
        ("docs/index.md", "(setup.md", "(guide/setup.md"),
    ] {
        expected.insert(file.to_owned(), expected[file].replace(from, to));
    }
    assert_eq!(after, expected);
}

#[test]
fn nothing_is_changed_without_repair_mode_and_permission() {
    let report = || {
        expect![[r#"
            builtin: no model ran; routines were not interpreted
            0 links repaired, 5 links left for a human, 1 heading skips a level
            .agents/daemons/x/DAEMON.md:1: `../../../setup.md`: can only mean docs/guide/setup.md, but this file may not be changed
            README.md:2: `docs/setup.md#install`: `docs/guide/setup.md#install`: not repaired
            README.md:2: `gone.md`: no file has that name
            README.md:3: heading of level 4 after one of level 1
            docs/index.md:1: `setup.md`: `guide/setup.md`: not repaired
            docs/index.md:1: `old/twin.md`: can mean a/twin.md, b/twin.md
        "#]]
    };
    assert_eq!(check(Builtin::reporting(), |_| {}, report()), untouched());
    let read_only = |request: &mut RunRequest| request.permissions = Permissions::Read;
    assert_eq!(
        check(Builtin::repairing(), read_only, report()),
        untouched()
    );
}

#[test]
fn a_trigger_that_names_files_is_about_them_and_the_links_to_them() {
    let adjust = |request: &mut RunRequest| {
        request.files = vec!["docs/setup.md".into(), "docs/guide/setup.md".into()];
    };
    check(
        Builtin::repairing(),
        adjust,
        expect![[r#"
            builtin: no model ran; routines were not interpreted
            2 links repaired, 0 links left for a human, 0 headings skip a level
            README.md:2: `docs/setup.md#install`: `docs/guide/setup.md#install`: repaired
            docs/index.md:1: `setup.md`: `guide/setup.md`: repaired
        "#]],
    );
}

#[test]
fn what_version_control_saw_move_settles_what_a_name_does_not() {
    let adjust = |request: &mut RunRequest| {
        request.files = vec!["docs/index.md".into()];
        request.renames = vec![("docs/old/twin.md".into(), "b/twin.md".into())];
    };
    check(
        Builtin::repairing(),
        adjust,
        expect![[r#"
            builtin: no model ran; routines were not interpreted
            2 links repaired, 0 links left for a human, 0 headings skip a level
            docs/index.md:1: `setup.md`: `guide/setup.md`: repaired
            docs/index.md:1: `old/twin.md`: `../b/twin.md`: repaired
        "#]],
    );
}

#[test]
fn links_of_a_moved_file_are_read_from_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    plant(
        home.path(),
        "//- docs/guide/setup.md\n[a](twin.md)\n//- docs/twin.md\n//- b/twin.md\n",
    );
    let mut request = request(home.path());
    request.renames = vec![("docs/setup.md".into(), "docs/guide/setup.md".into())];
    run(Builtin::repairing(), request);
    assert_eq!(
        harvest(home.path())["docs/guide/setup.md"],
        "[a](../twin.md)\n"
    );
}

#[test]
fn a_second_run_finds_nothing_to_repair() {
    let home = tempfile::tempdir().unwrap();
    plant(home.path(), TREE);
    run(Builtin::repairing(), request(home.path()));
    let text = run(Builtin::repairing(), request(home.path()));
    let counts = "0 links repaired, 3 links left for a human, 1 heading skips a level";
    assert_eq!(text.lines().nth(1), Some(counts));
}

#[test]
fn binary_files_and_symbolic_links_are_left_alone() {
    let home = tempfile::tempdir().unwrap();
    plant(home.path(), "//- docs/setup.md\n");
    fs::write(home.path().join("bad.md"), b"[a](setup.md)\xff").unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.md"), "[a](setup.md)").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x.md"), home.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink(outside.path(), home.path().join("directory")).unwrap();
    let text = run(Builtin::repairing(), request(home.path()));
    assert!(text.contains("\n0 links repaired, 0 links left"), "{text}");
    assert_eq!(
        fs::read_to_string(outside.path().join("x.md")).unwrap(),
        "[a](setup.md)"
    );
}

struct Worktrees(tempfile::TempDir);

#[async_trait]
impl crate::conformance::Fixture for Worktrees {
    async fn prepare(
        &self,
        behaviour: crate::conformance::Behaviour,
    ) -> Option<(Box<dyn Provider>, RunRequest)> {
        use crate::conformance::Behaviour;
        let root = match behaviour {
            Behaviour::Done => self.0.path().to_owned(),
            Behaviour::Hangs => self.0.path().join("many"),
            // Only file errors make it fail, and a script cannot cause one.
            _ => return None,
        };
        Some((Box::new(Builtin::reporting()), request(&root)))
    }
}

#[test]
fn it_passes_the_conformance_suite() {
    let home = tempfile::tempdir().unwrap();
    plant(
        home.path(),
        "//- a.md\n[a](fixed.md)\n//- many/a.md\n[b](b.md)\n[c](c.md)\n",
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(crate::conformance::check(&Worktrees(home)));
}
