//! Diagnostics of the daemon's directory, from constructed entries.

use daemon_validate::{Profile, Subject, SupportEntry, SupportKind, validate};
use expect_test::{Expect, expect};

use super::{CLEAN, codes, read, shown};

fn check(text: &str, entries: &[SupportEntry], expected: Expect) {
    let parse = read(text);
    let subject = Subject::new(&parse)
        .in_directory("pr-helper")
        .with_support(entries);
    expected.assert_eq(&shown(text, &validate(&subject, Profile::Spec)));
}

fn kind(path: &str, kind: SupportKind) -> SupportEntry {
    SupportEntry {
        kind,
        ..SupportEntry::file(path, 0)
    }
}

fn script(path: &str, permissions: u32, head: &str) -> SupportEntry {
    SupportEntry {
        permissions: Some(permissions),
        head: head.as_bytes().to_vec(),
        ..SupportEntry::file(path, 9)
    }
}

#[test]
fn an_ordinary_tree_has_no_diagnostics() {
    check(
        CLEAN,
        &[
            SupportEntry::file("DAEMON.md", 900),
            kind("scripts", SupportKind::Directory),
            script("scripts/run.sh", 0o755, "#!/bin/sh\n"),
            script("scripts/library.py", 0o644, "import os\n"),
            script("scripts/tool", 0o755, "\u{7f}ELF"),
            SupportEntry::file("references/-odd name, but fine.md", 900),
            SupportEntry::file(format!("references/{}", "n".repeat(255)), 900),
        ],
        expect![""],
    );
}

#[test]
fn entries_that_lead_outside_or_are_not_files_are_errors() {
    check(
        CLEAN,
        &[
            kind("references/out.md", SupportKind::Symlink),
            kind("references/other", SupportKind::Submodule),
            kind("scripts/pipe", SupportKind::Special),
            kind("scripts", SupportKind::Symlink),
            SupportEntry::file("references/../../x", 1),
            SupportEntry::file("references/a\nb", 1),
            SupportEntry::file(b"references/\xff".to_vec(), 1),
        ],
        expect![[r#"
            error D500 1:1 [] `references/out.md` is a symbolic link that is not followed | link by a relative path to another file or directory of the repository, or copy the file in
            error D500 1:1 [] `references/other` is a submodule | copy what is needed into the daemon's directory as a plain file
            error D500 1:1 [] `scripts/pipe` is not a regular file | copy what is needed into the daemon's directory as a plain file
            error D500 1:1 [] `scripts` is a symbolic link that is not followed | link by a relative path to another file or directory of the repository, or copy the file in
            error D500 1:1 [] `references/../../x` leads out of the daemon's directory | copy what is needed into the daemon's directory as a plain file
            error D500 1:1 [] `references/a\nb` has a control character in its name | copy what is needed into the daemon's directory as a plain file
            error D500 1:1 [] `references/�` has a name that is not UTF-8 | copy what is needed into the daemon's directory as a plain file
        "#]],
    );
}

#[test]
fn entries_outside_the_two_directories_are_reported_once() {
    check(
        CLEAN,
        &[
            SupportEntry::file("notes.md", 1),
            SupportEntry::file("assets/a.png", 1),
            SupportEntry::file("assets/b.png", 1),
            SupportEntry::file("scripts", 1),
        ],
        expect![[r#"
            advice D501 1:1 [] `assets` belongs neither to `scripts/` nor to `references/` | move it there, or out of the daemon's directory
            advice D501 1:1 [] `notes.md` belongs neither to `scripts/` nor to `references/` | move it there, or out of the daemon's directory
            advice D501 1:1 [] `scripts` is a file, not a directory | move it there, or out of the daemon's directory
        "#]],
    );
}

#[test]
fn a_script_that_cannot_start_is_reported() {
    check(
        CLEAN,
        &[
            script("scripts/a.sh", 0o644, "#!/bin/sh\n"),
            script("scripts/b.sh", 0o755, "#!/bin/sh\r\n"),
            script("scripts/c.sh", 0o755, "echo\n"),
            script("scripts/d.sh", 0o4755, "#!/bin/sh\n"),
            SupportEntry {
                permissions: None,
                ..script("scripts/e.sh", 0, "#!/bin/sh\n")
            },
        ],
        expect![[r#"
            warning D502 1:1 [] `scripts/a.sh` has a `#!` line but is not executable | git update-index --chmod=+x scripts/a.sh
            warning D502 1:1 [] the `#!` line of `scripts/b.sh` ends in a carriage return | save it with LF line ends, or it cannot start
            warning D502 1:1 [] `scripts/c.sh` is executable but has no `#!` line | name its interpreter on the first line
            warning D502 1:1 [] `scripts/d.sh` runs with its owner's rights | remove the set-user-id and set-group-id bits
        "#]],
    );
}

#[test]
fn a_missing_file_that_the_text_names_is_reported() {
    let text = format!(
        "{CLEAN}Run `scripts/run.sh`, ./scripts/gone.sh and scripts/gone.sh.\n\
         Read references/guides/ and references/none/.\n\
         Not ours: tools/scripts/x.sh, scripts/*.sh, manuscripts/y, scripts/.\n\
         Ours: .agents/daemons/pr-helper/references/lost.md\n"
    );
    check(
        &text,
        &[
            script("scripts/run.sh", 0o755, "#!/bin/sh\n"),
            SupportEntry::file("references/guides/style.md", 1),
        ],
        expect![[r#"
            warning D503 14:25 [scripts/gone.sh] `scripts/gone.sh` is not in the daemon's directory | add it, or correct the path
            warning D503 15:29 [references/none] `references/none` is not in the daemon's directory | add it, or correct the path
            warning D503 17:33 [references/lost.md] `references/lost.md` is not in the daemon's directory | add it, or correct the path
        "#]],
    );
}

#[test]
fn a_tree_above_its_limits_is_reported_without_reading_it() {
    let mut entries: Vec<SupportEntry> = (0..100_000)
        .map(|n| SupportEntry::file(format!("references/{n}.md"), 100))
        .collect();
    entries.push(SupportEntry::file("references/dump.csv", 10_000_000_000));
    entries.push(SupportEntry::file("references/a/b/c/d/e/f/g/h/i.md", 1));
    check(
        CLEAN,
        &entries,
        expect![[r#"
        warning D504 1:1 [] `references/dump.csv` has 10000000000 bytes, more than 1 MiB | trim it; a run gets no files above the limit
        warning D504 1:1 [] the support tree has 100002 files, more than 200 | trim it; a run gets no files above the limit
        warning D504 1:1 [] the support tree has 10010000001 bytes, more than 8 MiB | trim it; a run gets no files above the limit
        warning D504 1:1 [] `references/a/b/c/d/e/f/g/h/i.md` is more than 8 directories deep | trim it; a run gets no files above the limit
    "#]],
    );

    let edge: Vec<SupportEntry> = (0..199)
        .map(|n| SupportEntry::file(format!("references/{n}.md"), 1))
        .chain([SupportEntry::file(
            "references/a/b/c/d/e/f/g/edge.md",
            1024 * 1024,
        )])
        .collect();
    check(CLEAN, &edge, expect![""]);
}

#[test]
fn a_tree_that_was_not_listed_completely_is_reported_and_no_file_of_it_is_missing() {
    check(
        &format!("{CLEAN}Run `scripts/run.sh`.\n"),
        &[
            SupportEntry::file("references/a.md", 1),
            kind("references/huge", SupportKind::Directory),
            kind("references/huge", SupportKind::Unlisted),
        ],
        expect![[r#"
            warning D504 1:1 [] `references/huge` has entries that were not listed | trim it; a run gets no files above the limit
        "#]],
    );
}

#[test]
fn without_entries_nothing_is_reported_about_the_tree() {
    let text = format!("{CLEAN}Run `scripts/run.sh`.\n");
    let parse = read(&text);
    assert_eq!(
        codes(&validate(&Subject::new(&parse), Profile::Strict)),
        [""; 0]
    );
}
