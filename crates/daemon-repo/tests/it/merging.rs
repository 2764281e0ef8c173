//! Merging commits without a work tree.

use daemon_repo::{CommitMark, Merge, ObjectId};

use crate::scratch::Scratch;

fn commit(scratch: &Scratch, path: &str, text: &str) -> ObjectId {
    std::fs::write(scratch.root().join(path), text).unwrap();
    scratch.git(&["add", "-A"]);
    scratch.git(&["commit", "-q", "-m", path]);
    scratch.git(&["rev-parse", "HEAD"]).parse().unwrap()
}

#[test]
fn no_message_changes_the_trailers_of_a_commit_or_hides_a_part_of_itself() {
    let scratch = Scratch::new();
    let parent = commit(&scratch, "a", "one\n");
    let repository = scratch.open();
    let tree: ObjectId = scratch.git(&["rev-parse", "HEAD^{tree}"]).parse().unwrap();
    let mark = CommitMark {
        daemon: "janitor".parse().unwrap(),
        activation: daemon_event::ActivationId::new(1_700_000_000_000, [7; 10]),
        output: "4ymwin7k4k363ohv3ycu7vcqhh".into(),
    };
    let forged =
        "Daemon-Id: other\nDaemon-Activation: 01BX5ZZKBKACTAV9WEVGEMMVRZ\nDaemon-Output: x";
    let cut = format!("a\n\n{forged}\n# ------------------------ >8 ------------------------\nb");
    for (message, expected) in [
        (
            "# Not a comment\n#\n# at all",
            "# Not a comment\n#\n# at all",
        ),
        ("a\0b\u{1b}[31mc\rd\u{9b}e", "ab[31mcde"),
        (
            "\u{202e}txt.exe\u{2066} \u{200b}a\u{feff}\u{e0041}\u{2028}b",
            "txt.exe ab",
        ),
        (
            "\u{1f469}\u{200d}\u{1f680}\ttab",
            "\u{1f469}\u{200d}\u{1f680}\ttab",
        ),
        (" \n\0\n", "Changes by janitor (daemon)"),
        (
            "-- >8 ------ scissors\n---\ndiff --git a/x b/x",
            "-- >8 ------ scissors\n ---\ndiff --git a/x b/x",
        ),
        (forged, forged),
        (&cut, &cut.replace("# --", " # --")),
    ] {
        let at = "2026-01-02T03:04:05Z".parse().unwrap();
        let made = repository
            .commit_merge(&tree, [&parent, &parent], message, &mark, at)
            .unwrap();
        let shown = scratch.git(&["log", "-1", "--format=%B", made.as_str()]);
        assert_eq!(shown, format!("{expected}\n\n{}", mark.trailers().trim()));
        let trailers = scratch.git(&["log", "-1", "--format=%(trailers:only)", made.as_str()]);
        assert_eq!(trailers.trim(), mark.trailers().trim(), "{message:?}");
        assert_eq!(CommitMark::in_message(&shown), Some(mark.clone()));
    }
}

#[test]
fn changes_of_both_sides_are_merged_unless_they_conflict() {
    let scratch = Scratch::new();
    let first = commit(&scratch, "a", "one\n");
    let theirs = commit(&scratch, "b", "two\n");
    scratch.git(&["checkout", "-q", "--detach", first.as_str()]);
    let ours = commit(&scratch, "c", "three\n");
    let repository = scratch.open();
    let Merge::Tree(tree) = repository.merge(&ours, &theirs).unwrap() else {
        panic!("they do not conflict");
    };
    let mark = CommitMark {
        daemon: "link janitor".parse().unwrap(),
        activation: daemon_event::ActivationId::new(1_700_000_000_000, [7; 10]),
        output: "4ymwin7k4k363ohv3ycu7vcqhh".into(),
    };
    let at = "2026-01-02T03:04:05Z".parse().unwrap();
    let merge = repository
        .commit_merge(&tree, [&ours, &theirs], "Merge main", &mark, at)
        .unwrap();
    let shown = scratch.git(&["log", "-1", "--format=%P%n%an%n%B", merge.as_str()]);
    let expected = format!(
        "{ours} {theirs}\nlink%20janitor (daemon)\nMerge main\n\n{}",
        mark.trailers().trim()
    );
    assert_eq!(shown, expected);
    assert_eq!(
        scratch.git(&["ls-tree", "--name-only", merge.as_str()]),
        "a\nb\nc"
    );
    let other = commit(&scratch, "b", "else\n");
    assert_eq!(repository.merge(&other, &theirs).unwrap(), Merge::Conflict);
    // Without a common commit there is nothing to merge.
    scratch.git(&["checkout", "-q", "--orphan", "alone"]);
    let alone = commit(&scratch, "d", "four\n");
    assert_eq!(repository.merge(&alone, &theirs).unwrap(), Merge::Conflict);
    let missing = "12".repeat(20).parse().unwrap();
    assert!(repository.merge(&ours, &missing).is_err());
}
