use std::os::unix::fs::symlink;

use super::*;

const ALL_HIDDEN: Bounds = Bounds {
    most_entries: MOST_ENTRIES,
    is_accessible: |_| true,
};

/// The maximum number of directories watched in a test.
const MOST: usize = 100;

/// Writes files with these modes, in directories that every user can list.
fn tree(files: &[(&str, u32)]) -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    set_mode(&root, 0o755);
    for (name, mode) in files {
        add(&root, name, *mode);
    }
    (scratch, root)
}

fn add(root: &Path, name: &str, mode: u32) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    set_mode(&path, mode);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn scan(bounds: Bounds, root: &Path, at: Instant) -> Scan {
    Scan::within(bounds, root.to_owned(), WatchedChanges::new(MOST), at)
}

/// Returns the readable paths, relative to the root and sorted.
fn names(scan: &Scan) -> (Vec<String>, Vec<String>) {
    let names = |paths: &[PathBuf]| {
        let name = |path: &PathBuf| path.strip_prefix(&scan.root).unwrap().display().to_string();
        let mut names: Vec<_> = paths.iter().map(name).collect();
        names.sort();
        names
    };
    let readable = scan.readable();
    (names(&readable.whole), names(&readable.listed))
}

fn list(whole: &[&str], listed: &[&str]) -> (Vec<String>, Vec<String>) {
    let strings = |names: &[&str]| names.iter().copied().map(str::to_owned).collect();
    (strings(whole), strings(listed))
}

#[test]
fn entries_next_to_a_secret_are_readable() {
    let (_scratch, root) = tree(&[
        ("passwd", 0o644),
        ("shadow", 0o640),
        ("certs/a/one", 0o644),
        ("certs/two", 0o444),
        ("ssh/config", 0o644),
        ("ssh/key", 0o600),
        ("private/key", 0o644),
    ]);
    set_mode(&root.join("private"), 0o710);
    symlink("/root", root.join("link")).unwrap();
    let found = names(&scan(ALL_HIDDEN, &root, now()));
    assert_eq!(
        found,
        list(&["certs", "passwd", "ssh/config"], &["", "ssh"])
    );
}

#[test]
fn entries_that_the_kernel_denies_anyway_need_no_exception() {
    let (_scratch, root) = tree(&[("hosts", 0o644), ("shadow", 0o600), ("own/key", 0o600)]);
    let look = |is_accessible, most_entries| {
        let bounds = Bounds {
            most_entries,
            is_accessible,
        };
        names(&scan(bounds, &root, now()))
    };
    assert_eq!(look(|_| false, MOST_ENTRIES), list(&[""], &[]));
    let without_key = list(&["hosts"], &["", "own"]);
    assert_eq!(
        look(|path| path.ends_with("key"), MOST_ENTRIES),
        without_key
    );
    // An entry that was not scanned is not readable.
    assert_eq!(look(|_| false, 0), list(&[], &[""]));
}

/// A change of a directory, with the paths that are readable as a whole and those that can be listed afterwards.
type Case = (
    &'static str,
    fn(&Path),
    &'static [&'static str],
    &'static [&'static str],
);

fn cases() -> [Case; 8] {
    [
        ("nothing", |_| (), &[""], &[]),
        (
            "a secret",
            |root| add(root, "a/b/key", 0o600),
            &["a/b/one", "c"],
            &["", "a", "a/b"],
        ),
        (
            "secrets in a new directory",
            |root| add(root, "a/new/below/key", 0o600),
            &["a/b", "c"],
            &["", "a", "a/new", "a/new/below"],
        ),
        (
            "a file that is no longer public",
            |root| set_mode(&root.join("a/b/one"), 0o600),
            &["c"],
            &["", "a", "a/b"],
        ),
        (
            "a directory that is no longer public",
            |root| set_mode(&root.join("a"), 0o700),
            &["c"],
            &[""],
        ),
        (
            "a directory in place of another",
            |root| {
                fs::remove_dir_all(root.join("a")).unwrap();
                add(root, "other/key", 0o600);
                fs::rename(root.join("other"), root.join("a")).unwrap();
            },
            &["c"],
            &["", "a"],
        ),
        (
            "a link in place of a directory",
            |root| {
                fs::rename(root.join("a"), root.join("moved")).unwrap();
                symlink(root.join("moved"), root.join("a")).unwrap();
                add(root, "moved/key", 0o600);
            },
            &["c", "moved/b"],
            &["", "moved"],
        ),
        (
            "the directory itself is no longer public",
            |root| set_mode(root, 0o750),
            &[],
            &[],
        ),
    ]
}

#[test]
fn only_changed_directories_are_scanned_again() {
    let at = now();
    for (what, change, whole, listed) in cases() {
        let (_scratch, root) = tree(&[("a/b/one", 0o644), ("c/two", 0o644)]);
        let first = scan(ALL_HIDDEN, &root, at);
        assert_eq!(names(&first), list(&[""], &[]), "before {what}");
        change(&root);
        let expires = first.expires;
        let second = first.refreshed(MOST, at);
        // Everything is scanned again only if the directory itself is no longer public.
        assert_eq!(second.expires != expires, whole.is_empty(), "{what}");
        assert_eq!(names(&second), list(whole, listed), "{what}");
        assert_eq!(second.found(), *second.readable(), "{what}");
    }
}

#[test]
fn a_scan_expires_after_a_minute_even_without_a_known_change() {
    let (_scratch, root) = tree(&[("one", 0o644)]);
    let at = now();
    let mut first = scan(ALL_HIDDEN, &root, at);
    // A network file system does not report changes by other machines.
    first.changes = WatchedChanges::new(1);
    add(&root, "key", 0o600);
    let almost = at + MOST_AGE - Duration::from_secs(1);
    let still = first.refreshed(MOST, almost);
    assert_eq!(names(&still), list(&[""], &[]));
    let late = at + MOST_AGE + Duration::from_secs(30);
    let second = still.refreshed(MOST, late);
    assert_eq!(names(&second), list(&["one"], &[""]));
}

#[test]
fn a_directory_too_large_to_be_watched_is_scanned_again_by_age() {
    let (_scratch, root) = tree(&[("a/one", 0o644), ("b/one", 0o644)]);
    let at = now();
    let first = Scan::within(ALL_HIDDEN, root.clone(), WatchedChanges::new(2), at);
    assert_eq!((first.n_watches(), first.directories.len()), (0, 0));
    assert_eq!(names(&first), list(&[""], &[]));
    add(&root, "a/key", 0o600);
    let expires = first.expires;
    let still = first.refreshed(2, at);
    assert_eq!(names(&still), list(&[""], &[]));
    let second = still.refreshed(2, expires.min(at + MOST_AGE * 2));
    assert_eq!(names(&second), list(&["a/one", "b"], &["", "a"]));
}

#[test]
fn found_paths_are_not_opened_through_links() {
    let (_scratch, root) = tree(&[("real/one", 0o644)]);
    symlink(root.join("real"), root.join("link")).unwrap();
    symlink(root.join("real/one"), root.join("one")).unwrap();
    let opened = |name: &str| open_found(root.join(name), OFlags::PATH).map(drop);
    assert_eq!(opened("real/one"), Ok(()));
    assert_eq!(opened("link/one"), Err(Errno::LOOP));
    assert_eq!(opened("one"), Err(Errno::LOOP));
}
