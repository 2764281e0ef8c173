//! Work trees from kept trees, as directories of their own and as overlays that the kernel mounts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::time::Duration;

use daemon_process::{ByteCount, ExitStatus, Tool};
use daemon_repo::{FileChange, KeptTree, ObjectId, Repository, TreeStart, TreeTrust, Worktree};

use crate::scratch::{SEARCH, Scratch, checkout};

const IDLE_TRUSTED: fn(&Path) -> TreeStart<'_> = |kept| TreeStart::Idle {
    kept,
    trust: TreeTrust::Index,
};
const IDLE: fn(&Path) -> TreeStart<'_> = |kept| TreeStart::Idle {
    kept,
    trust: TreeTrust::Comparison,
};

/// The index in a kept tree.
const INDEX: &str = "repository/.git/index";

/// What runs do in a work tree, with `git` as the command of the repository inside.
const WORK: &[&str] = &[
    "echo more >> docs/a.md; rm gone; printf '\\0\\1' > new.bin; chmod 755 plain",
    "rm -r docs; mkdir docs; echo x > docs/b.md",
    "rm -r docs; echo 'a file' > docs",
    "rm plain; mkdir -p plain/deep; echo x > plain/deep/y",
    "rm -r deep; mkdir -p deep/one/two; echo 1 > deep/one/two/three",
    "mkdir target other; echo x > target/out; echo y > other/kept; echo z > docs/skip.log",
    "rm .gitignore; mkdir target; echo x > target/out",
    "echo '!*.log' > docs/.gitignore; echo z > docs/skip.log",
    "mv docs moved; ln -s moved/a.md link; ln -sf /etc/passwd plain",
    "touch -d 2001-01-01 plain; chmod 600 docs/a.md",
    "cp plain saved; echo other > plain; cp saved plain; rm saved",
    "git checkout -q -b mine; echo 1 >> plain; git commit -q -a -m first; rm gone; git commit -q -a -m second",
    "rm .git/index; echo 1 >> plain; git reset -q; git commit -q -a -m again; rm .git/index",
    "git rm -q -r --cached docs; git commit -q -m forgotten",
    "echo z > docs/skip.log; git add -f docs/skip.log; git commit -q -m ignored; rm docs/skip.log",
    "rm -r docs; ln -s /etc docs; rm -r deep; ln -s nowhere deep; rm plain; mkfifo plain",
    "echo docs > .gitignore; rm -r docs; ln -s deep docs",
    "echo x > mod/file; mkdir mod/.agents",
    "rmdir mod",
    "rmdir mod; mkdir mod",
    "rmdir mod; echo x > mod",
    "git init -q mod; git -C mod -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
    "mkdir sub; git init -q sub; echo x > sub/file",
    "mkfifo pipe; rm link-in-tree; mkdir link-in-tree; echo x > link-in-tree/file",
    "find . -path ./.git -prune -o -type f -exec rm {} +",
    "rm -rf * .gitignore",
];

fn base(scratch: &Scratch) -> ObjectId {
    symlink("plain", scratch.root().join("link-in-tree")).unwrap();
    fs::create_dir(scratch.root().join("mod")).unwrap();
    let submodule = format!("160000,{},mod", "1".repeat(40));
    scratch.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    scratch
        .write("docs/a.md", "1\n2\n3\n")
        .write("docs/deep/b.md", "b\n")
        .write("deep/one/two/three", "3\n")
        .write("deep/one/four", "4\n")
        .write("gone", "x\n")
        .write("plain", "same\n")
        .write(".gitignore", "target/\n")
        .write("docs/.gitignore", "*.log\n")
        .executable("run.sh", "#!/bin/sh\n")
        .commit("first")
}

/// Returns the commit of a kept tree that is trusted.
fn kept_commit(kept: &Path) -> Option<ObjectId> {
    KeptTree::at(kept).content().map(|content| content.commit)
}

/// Makes a later commit that differs in every way in which two trees can.
fn next(scratch: &Scratch) -> ObjectId {
    fs::remove_dir_all(scratch.root().join("deep/one/two")).unwrap();
    fs::remove_dir_all(scratch.root().join("docs/deep")).unwrap();
    scratch
        .write("docs/deep", "now a file\n")
        .write("docs/a.md", "1\n2\n3\n4\n")
        .remove("gone")
        .write("gone/not", "now a directory\n")
        .remove("link-in-tree")
        .write("link-in-tree", "now a file\n")
        .write("fresh/file", "new\n")
        .commit("second")
}

/// Returns every path of a directory but those of its repository, with its kind and content.
pub(crate) fn contents(root: &Path) -> BTreeMap<String, String> {
    let mut acc = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            let value = if name == ".git" {
                continue;
            } else if metadata.is_dir() {
                left.push(path);
                "directory".to_owned()
            } else if metadata.is_symlink() {
                format!("link to {}", fs::read_link(path).unwrap().display())
            } else {
                let executable = metadata.permissions().mode() & 0o100 != 0;
                format!("{executable} {}", fs::read_to_string(path).unwrap())
            };
            acc.insert(name, value);
        }
    }
    acc
}

/// Runs a shell script in a directory.
pub(crate) fn shell(dir: &Path, script: &str) {
    run(dir, "/bin/sh", &["-euc", script]).unwrap();
}

fn run(dir: &Path, program: &str, args: &[&str]) -> Result<(), String> {
    let output = Tool::new(program)
        .envs([
            ("PATH", SEARCH),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
        ])
        .cwd(dir)
        .args(args)
        .run(Duration::from_secs(60), ByteCount(1 << 20))
        .unwrap();
    match output.status {
        ExitStatus::Code(0) => Ok(()),
        status => Err(format!(
            "{status}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Runs a shell script in the overlay of a work tree, as a run does; an error if this machine mounts none.
pub(crate) fn shell_above(worktree: &Worktree, script: &str) -> Result<(), String> {
    let layers = worktree.layers().unwrap();
    let lower = layers.lower.iter();
    let lower: Vec<_> = lower.map(|dir| dir.display().to_string()).collect();
    let mount = format!(
        "mount -t overlay -o userxattr,lowerdir={},upperdir={},workdir={} overlay {}",
        lower.join(":"),
        layers.upper.display(),
        layers.work.display(),
        worktree.dir().display()
    );
    let script = format!("{mount}\ncd {}\n{script}", worktree.dir().display());
    let args = ["--user", "--map-root-user", "--mount", "/bin/sh", "-euc"];
    run(Path::new("/"), "unshare", &[&args[..], &[&script]].concat())
}

/// Returns whether overlays can be mounted here, and reports if not.
pub(crate) fn has_overlays(worktree: &Worktree) -> bool {
    let mounted = shell_above(worktree, ":");
    if let Err(error) = &mounted {
        println!("skipped: no overlay can be mounted here: {error}");
    }
    mounted.is_ok()
}

fn above(
    repository: &Repository,
    scratch: &Scratch,
    (commit, start): (&ObjectId, TreeStart<'_>),
    name: &str,
) -> Worktree {
    let dir = scratch.next_to(name);
    repository
        .create_worktree_from(&checkout(commit), start, &dir)
        .unwrap()
}

/// Returns what the changes of a work tree are to an observer.
fn seen(worktree: &Worktree) -> (Vec<FileChange>, Vec<String>, Vec<String>) {
    let changes = worktree.changes().unwrap();
    let commits = changes.commits.iter();
    let messages = commits.map(|commit| commit.message.clone()).collect();
    (changes.files, changes.unusable, messages)
}

#[test]
fn changes_above_a_kept_tree_equal_those_in_a_directory_of_its_own() {
    let scratch = Scratch::new();
    let commit = base(&scratch);
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let first = above(&repository, &scratch, (&commit, IDLE(&kept)), "probe");
    if !has_overlays(&first) {
        return;
    }
    let pristine = contents(&kept.join("files"));
    for (n, work) in WORK.iter().enumerate() {
        let plain = repository
            .create_worktree(&checkout(&commit), &scratch.next_to(&format!("plain-{n}")))
            .unwrap();
        shell(plain.dir(), work);
        let layered = above(
            &repository,
            &scratch,
            (&commit, TreeStart::Shared(&kept)),
            &format!("layered-{n}"),
        );
        shell_above(&layered, work).unwrap();
        assert_eq!(seen(&layered), seen(&plain), "{work}");
        layered.remove().unwrap();
        plain.remove().unwrap();
    }
    assert_eq!(contents(&kept.join("files")), pristine);
    first.remove().unwrap();
    let mut left = fs::read_dir(scratch.root().parent().unwrap()).unwrap();
    assert!(left.all(|entry| {
        let name = entry.unwrap().file_name();
        name == "widgets" || name == "kept"
    }));
}

#[test]
fn git_inside_an_overlay_sees_an_unchanged_work_tree_without_reading_it() {
    let scratch = Scratch::new();
    let first = base(&scratch);
    let second = next(&scratch);
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let idle = above(&repository, &scratch, (&first, IDLE(&kept)), "one");
    if !has_overlays(&idle) {
        return;
    }
    let shared = TreeStart::Shared(&kept);
    for (commit, name) in [(&first, "two"), (&second, "three")] {
        let worktree = above(&repository, &scratch, (commit, shared), name);
        // Reading a file would not fail; the option reports what differs by size and time alone.
        shell_above(
            &worktree,
            "test -z \"$(git status --porcelain)\"; test -z \"$(git diff-files)\"; git log -1 > /dev/null",
        )
        .unwrap();
    }
}

#[test]
fn runs_that_write_the_index_in_place_change_neither_that_of_the_tree_nor_what_is_read() {
    let scratch = Scratch::new();
    let (first, second) = (base(&scratch), next(&scratch));
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let idle = above(&repository, &scratch, (&first, IDLE(&kept)), "one");
    if !has_overlays(&idle) {
        return;
    }
    let index = || fs::read(kept.join(INDEX)).unwrap();
    let before = index();
    let writing = "echo 1 >> plain; for at in 0 40 200; do \
         printf 0000 | dd of=.git/index bs=1 seek=$at conv=notrunc status=none; done; \
         chmod 777 .git/index; touch -d 2001-01-01 .git/index";
    let shared = TreeStart::Shared(&kept);
    for (commit, name) in [(&first, "two"), (&second, "three")] {
        let worktree = above(&repository, &scratch, (commit, shared), name);
        // No copy of the index is made before the run writes it.
        let written = worktree.layers().unwrap().upper.join(".git/index");
        assert!(!written.exists());
        shell_above(&worktree, writing).unwrap();
        assert!(written.exists());
        let (files, _, _) = seen(&worktree);
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["plain"]);
        assert_eq!(index(), before);
        let next = above(&repository, &scratch, (commit, shared), "next");
        shell_above(&next, "test -z \"$(git status --porcelain)\"").unwrap();
        next.remove().unwrap();
    }
}

#[test]
fn a_run_above_a_shared_tree_sees_exactly_its_commit() {
    let scratch = Scratch::new();
    let commits = [base(&scratch), next(&scratch)];
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    for (n, (from, to)) in [(0, 1), (1, 0)].into_iter().enumerate() {
        let start = (&commits[from], IDLE(&kept));
        let below = above(&repository, &scratch, start, &format!("below-{n}"));
        if !has_overlays(&below) {
            return;
        }
        let start = (&commits[to], TreeStart::Shared(&kept));
        let layered = above(&repository, &scratch, start, &format!("above-{n}"));
        assert!(layered.changes().unwrap().is_empty());
        let plain = scratch.next_to(&format!("plain-{n}"));
        let plain = repository
            .create_worktree(&checkout(&commits[to]), &plain)
            .unwrap();
        let copy = scratch.next_to(&format!("copy-{n}"));
        shell_above(&layered, &format!("cp -a . {}", copy.display())).unwrap();
        assert_eq!(contents(&copy), contents(plain.dir()));
        assert_eq!(kept_commit(&kept).as_ref(), Some(&commits[from]));
    }
}

#[test]
fn an_idle_tree_is_moved_to_the_commit_and_only_what_differs_is_written() {
    let scratch = Scratch::new();
    let (first, second) = (base(&scratch), next(&scratch));
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let files = kept.join("files");
    let inode = || fs::metadata(files.join("plain")).unwrap().ino();
    let one = above(&repository, &scratch, (&first, IDLE_TRUSTED(&kept)), "one");
    let written = inode();
    let plain = |commit: &ObjectId, name| {
        let dir = scratch.next_to(name);
        let plain = repository.create_worktree(&checkout(commit), &dir).unwrap();
        contents(plain.dir())
    };
    assert_eq!(contents(&files), plain(&first, "plain-1"));
    one.remove().unwrap();
    let two = above(&repository, &scratch, (&second, IDLE_TRUSTED(&kept)), "two");
    assert_eq!(contents(&files), plain(&second, "plain-2"));
    assert_eq!(inode(), written);
    assert_eq!(kept_commit(&kept), Some(second.clone()));
    two.remove().unwrap();

    // Without trust in the index, a changed file is replaced, though its times were set back.
    let before = fs::metadata(files.join("plain")).unwrap();
    fs::write(files.join("plain"), "evil\n").unwrap();
    let times = fs::FileTimes::new().set_modified(before.modified().unwrap());
    let changed = fs::File::options().write(true).open(files.join("plain"));
    changed.unwrap().set_times(times).unwrap();
    fs::write(files.join("docs/extra"), "evil\n").unwrap();
    let three = above(&repository, &scratch, (&second, IDLE(&kept)), "three");
    assert_eq!(contents(&files), plain(&second, "plain-3"));
    three.remove().unwrap();
}

#[test]
fn a_tree_that_a_run_changed_is_clean_for_the_next_run() {
    let scratch = Scratch::new();
    let (first, second) = (base(&scratch), next(&scratch));
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let outside = scratch.next_to("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a.md"), "outside\n").unwrap();
    for (n, work) in WORK.iter().enumerate() {
        let commit = [&first, &second][n % 2];
        let name = format!("taken-{n}");
        let taken = above(
            &repository,
            &scratch,
            (commit, TreeStart::Taken(&kept)),
            &name,
        );
        let plain = scratch.next_to(&format!("plain-{n}"));
        let plain = repository.create_worktree(&checkout(commit), &plain);
        let plain = plain.unwrap();
        assert_eq!(contents(taken.dir()), contents(plain.dir()), "{n}");
        assert_eq!(taken.changes().unwrap().files, [], "{n}");
        plain.remove().unwrap();
        if commit == &first {
            shell(taken.dir(), work);
        }
        let evil = format!(
            "mkdir -p fresh/.git; echo x > fresh/.git/HEAD; rm -rf docs; ln -s {0} docs; \
             ln run.sh other; chmod 4777 run.sh; mkdir -m 0 closed; chmod 500 fresh || :",
            outside.display()
        );
        if n % 3 == 0 {
            shell(
                taken.dir(),
                &format!("rm -rf fresh other closed run.sh; echo x > run.sh; {evil}"),
            );
        }
        taken.keep(&kept).unwrap();
    }
    assert_eq!(
        fs::read_to_string(outside.join("a.md")).unwrap(),
        "outside\n"
    );
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_tree_whose_last_change_was_not_completed_is_made_again() {
    let scratch = Scratch::new();
    let (first, second) = (base(&scratch), next(&scratch));
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let mark = kept.join("commit");
    above(&repository, &scratch, (&first, IDLE(&kept)), "one");
    let marked = fs::read_to_string(&mark).unwrap();
    let marks = [
        None,
        Some(String::new()),
        Some(format!("another-boot {first}\n")),
        Some(marked.trim_end().split(' ').next().unwrap().to_owned()),
    ];
    for (n, text) in marks.into_iter().enumerate() {
        match text {
            None => fs::remove_file(&mark).unwrap(),
            Some(text) => fs::write(&mark, text).unwrap(),
        }
        assert_eq!(kept_commit(&kept), None);
        fs::write(kept.join("files/plain"), "half").unwrap();
        fs::write(kept.join(INDEX), "half").unwrap();
        let start = if n % 2 == 0 {
            IDLE_TRUSTED(&kept)
        } else {
            TreeStart::Taken(&kept)
        };
        let worktree = above(
            &repository,
            &scratch,
            (&second, start),
            &format!("next-{n}"),
        );
        let files = if n % 2 == 0 {
            kept.join("files")
        } else {
            worktree.dir().to_owned()
        };
        assert_eq!(fs::read_to_string(files.join("plain")).unwrap(), "same\n");
        if n % 2 == 1 {
            worktree.keep(&kept).unwrap();
        }
        assert_eq!(kept_commit(&kept), Some(second.clone()));
    }
}

#[test]
fn no_filter_that_the_watched_repository_names_runs_for_a_work_tree() {
    let scratch = Scratch::new();
    let commit = base(&scratch);
    let (program, proof) = (scratch.next_to("filter"), scratch.next_to("proof"));
    let text = format!("#!/bin/sh\ntouch {}\ncat\n", proof.display());
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    for key in ["filter.evil.clean", "filter.evil.smudge"] {
        scratch.git(&["config", key, program.to_str().unwrap()]);
    }
    let info = scratch.root().join(".git/info");
    fs::create_dir_all(&info).unwrap();
    fs::write(info.join("attributes"), "* filter=evil text=auto\n").unwrap();
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let starts = [TreeStart::Empty, IDLE(&kept), TreeStart::Shared(&kept)];
    for (n, start) in starts.into_iter().enumerate() {
        let name = format!("work-{n}");
        let worktree = above(&repository, &scratch, (&commit, start), &name);
        let written = match worktree.layers() {
            Some(layers) => layers.upper.clone(),
            None => worktree.dir().to_owned(),
        };
        fs::write(written.join("plain"), "with\r\nends\r\n").unwrap();
        fs::write(written.join("new"), "new\r\n").unwrap();
        let changes = worktree.changes().unwrap();
        assert_eq!(changes.files.len(), 2);
        let added = worktree.added_lines(&changes).unwrap();
        assert!(
            added.contains("with\r\nends\r\n"),
            "byte for byte: {added:?}"
        );
        worktree.remove().unwrap();
    }
    assert!(!proof.exists());
}

#[test]
fn a_tree_of_which_a_part_was_removed_is_made_again() {
    let scratch = Scratch::new();
    let commit = base(&scratch);
    let repository = scratch.open();
    let kept = scratch.next_to("kept");
    let first = above(&repository, &scratch, (&commit, IDLE(&kept)), "first");
    let whole = contents(&kept.join("files"));
    first.remove().unwrap();
    for (n, part) in ["files", INDEX, "commit"].into_iter().enumerate() {
        daemon_repo::remove_tree(&kept.join(part)).unwrap();
        let name = format!("next-{n}");
        let next = above(&repository, &scratch, (&commit, IDLE_TRUSTED(&kept)), &name);
        assert_eq!(contents(&kept.join("files")), whole, "{part}");
        next.remove().unwrap();
    }
}
