//! Instructions for agents at the root of a commit.

use std::os::unix::fs::symlink;

use daemon_repo::{
    EntryKind, InstructionFile, Instructions, MAX_INSTRUCTION_FILE, UnusedInstructions, WhyUnused,
};

use crate::scratch::Scratch;

fn file(name: &'static str, text: &str) -> Option<InstructionFile> {
    let text = text.to_owned();
    Some(InstructionFile { name, text })
}

fn read(scratch: &Scratch) -> Instructions {
    let commit = scratch.commit("a state");
    scratch
        .open()
        .instructions(&commit)
        .expect("git reads the commit")
}

#[test]
fn the_first_file_at_the_root_of_the_commit_is_read() {
    let scratch = Scratch::new();
    scratch.write("docs/AGENTS.md", "elsewhere");
    scratch.write("agents.md", "another name");
    assert_eq!(read(&scratch), Instructions::default());
    scratch.write("CLAUDE.md", "second\r\n");
    let second = scratch.commit("second");
    scratch.executable("AGENTS.md", "first \u{e9}\n");
    let expected = |file| Instructions {
        file,
        left_out: Vec::new(),
    };
    assert_eq!(
        read(&scratch),
        expected(file("AGENTS.md", "first \u{e9}\n"))
    );
    let repository = scratch.open();
    assert_eq!(
        repository.instructions(&second).unwrap(),
        expected(file("CLAUDE.md", "second\r\n")),
        "the work tree does not count"
    );
    let absent = "1".repeat(40).parse().unwrap();
    repository.instructions(&absent).unwrap_err();
}

/// Checks that what `make` puts at `AGENTS.md` is left out for a reason, and that `CLAUDE.md` replaces it.
#[track_caller]
fn check_unused(why: WhyUnused, shown: &str, make: impl FnOnce(&Scratch)) {
    let scratch = Scratch::new();
    scratch.write("docs/a.md", "a");
    make(&scratch);
    let name = "AGENTS.md";
    assert_eq!(why.to_string(), shown);
    let alone = Instructions {
        file: None,
        left_out: vec![UnusedInstructions { name, why }],
    };
    assert_eq!(read(&scratch), alone, "{shown}");
    scratch.write("CLAUDE.md", "second");
    let replaced = Instructions {
        file: file("CLAUDE.md", "second"),
        ..alone
    };
    assert_eq!(read(&scratch), replaced, "{shown}");
}

#[test]
fn what_is_no_file_is_left_out_with_the_reason() {
    let link = WhyUnused::NotAFile(EntryKind::Symlink);
    check_unused(link, "a symbolic link, which is not followed", |scratch| {
        symlink("docs/a.md", scratch.root().join("AGENTS.md")).unwrap();
    });
    let directory = WhyUnused::NotAFile(EntryKind::Directory);
    check_unused(directory, "a directory", |scratch| {
        scratch.write("AGENTS.md/a", "a");
    });
    let submodule = WhyUnused::NotAFile(EntryKind::Submodule);
    let shown = "another repository (a submodule), which is not read";
    check_unused(submodule, shown, |scratch| {
        let commit = scratch.commit("another repository's");
        let entry = format!("160000,{commit},AGENTS.md");
        scratch.git(&["update-index", "--add", "--cacheinfo", &entry]);
        std::fs::create_dir(scratch.root().join("AGENTS.md")).unwrap();
    });
}

#[test]
fn what_is_no_text_is_left_out_with_the_reason() {
    for bytes in [&b"caf\xe9"[..], b"a\0b"] {
        check_unused(WhyUnused::NotText, "not UTF-8 text", |scratch| {
            std::fs::write(scratch.root().join("AGENTS.md"), bytes).unwrap();
        });
    }
    let size = MAX_INSTRUCTION_FILE + 1;
    let shown = "1048577 bytes long, at most 1048576 are read";
    check_unused(WhyUnused::TooLarge { size }, shown, |scratch| {
        let long = "x".repeat(usize::try_from(size).unwrap());
        scratch.write("AGENTS.md", &long);
    });
}
