//! D500 to D504: the support files in the daemon's directory.

use std::collections::BTreeSet;

use daemon_spec::{Diagnostic, Span};
use memchr::memmem;

use crate::prose::leading;
use crate::report::report;
use crate::{Subject, SupportEntry, SupportKind};

/// The maximum number of files of a support tree.
pub const MAX_SUPPORT_FILES: usize = 200;
/// The maximum size of a support file in bytes.
pub const MAX_SUPPORT_FILE_BYTES: u64 = 1024 * 1024;
/// The maximum size of all support files together in bytes.
pub const MAX_SUPPORT_BYTES: u64 = 8 * 1024 * 1024;
/// The maximum number of directories between the daemon's directory and a support file.
pub const MAX_SUPPORT_DEPTH: usize = 8;

// Longer runs of path characters are not paths.
const MAX_PATH_CHARS: usize = 1_024;

/// The directories whose content belongs to the daemon.
const TREES: [&str; 2] = ["scripts", "references"];

pub(crate) fn escape(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for entry in entries(subject) {
        let path = shown(&entry.path);
        let message = match entry.kind {
            SupportKind::Symlink => format!("`{path}` is a symbolic link that is not followed"),
            SupportKind::Submodule => format!("`{path}` is a submodule"),
            SupportKind::Special => format!("`{path}` is not a regular file"),
            SupportKind::File | SupportKind::Directory | SupportKind::Unlisted => {
                match path_fault(&entry.path) {
                    Some(fault) => format!("`{path}` {fault}"),
                    None => continue,
                }
            }
        };
        let help = if entry.kind == SupportKind::Symlink {
            "link by a relative path to another file or directory of the repository, or copy the file in"
        } else {
            "copy what is needed into the daemon's directory as a plain file"
        };
        acc.push(report(500, Span::at(0), message).with_help(help));
    }
}

fn path_fault(path: &[u8]) -> Option<&'static str> {
    let Ok(path) = std::str::from_utf8(path) else {
        return Some("has a name that is not UTF-8");
    };
    if path.starts_with('/') || path.split('/').any(|part| matches!(part, ".." | "." | "")) {
        Some("leads out of the daemon's directory")
    } else if path.chars().any(char::is_control) {
        // The name goes into the context, listings and logs, where a line break would read as
        // something else.
        Some("has a control character in its name")
    } else {
        None
    }
}

pub(crate) fn entry(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let mut foreign = BTreeSet::new();
    for entry in entries(subject) {
        let Ok(path) = std::str::from_utf8(&entry.path) else {
            continue;
        };
        let top = path.split('/').next().unwrap_or_default();
        let is_below = path.len() > top.len();
        let is_tree = TREES.contains(&top) && (is_below || entry.kind != SupportKind::File);
        let is_file = path == "DAEMON.md";
        if !is_tree && !is_file && !matches!(top, "" | "." | "..") {
            foreign.insert(top);
        }
    }
    for name in foreign {
        let message = if TREES.contains(&name) {
            format!("`{name}` is a file, not a directory")
        } else {
            let name = shown(name.as_bytes());
            format!("`{name}` belongs neither to `scripts/` nor to `references/`")
        };
        acc.push(
            report(501, Span::at(0), message)
                .with_help("move it there, or out of the daemon's directory"),
        );
    }
}

pub(crate) fn script_mode(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    for entry in entries(subject).filter(|entry| entry.kind == SupportKind::File) {
        // Without permission bits it is unknown whether a file can be executed.
        let Some(permissions) = entry.permissions else {
            continue;
        };
        let path = shown(&entry.path);
        let is_executable = permissions & 0o111 != 0;
        let has_hashbang = entry.head.starts_with(b"#!");
        let first_line = entry
            .head
            .split(|&byte| byte == b'\n')
            .next()
            .unwrap_or_default();
        // The kernel reads the carriage return as part of the interpreter's name.
        if has_hashbang && first_line.ends_with(b"\r") {
            acc.push(
                report(
                    502,
                    Span::at(0),
                    format!("the `#!` line of `{path}` ends in a carriage return"),
                )
                .with_help("save it with LF line ends, or it cannot start"),
            );
        }
        if has_hashbang && !is_executable {
            acc.push(
                report(
                    502,
                    Span::at(0),
                    format!("`{path}` has a `#!` line but is not executable"),
                )
                .with_help(format!("git update-index --chmod=+x {path}")),
            );
        }
        if is_executable && is_bare_script(entry) {
            acc.push(
                report(
                    502,
                    Span::at(0),
                    format!("`{path}` is executable but has no `#!` line"),
                )
                .with_help("name its interpreter on the first line"),
            );
        }
        if permissions & 0o6000 != 0 {
            acc.push(
                report(
                    502,
                    Span::at(0),
                    format!("`{path}` runs with its owner's rights"),
                )
                .with_help("remove the set-user-id and set-group-id bits"),
            );
        }
    }
}

/// Returns `true` for a file with the name of a script and a first line without `#!`.
fn is_bare_script(entry: &SupportEntry) -> bool {
    const ENDINGS: &[&[u8]] = &[b".sh", b".bash", b".py", b".rb", b".pl", b".js", b".mjs"];
    entry.path.starts_with(b"scripts/")
        && ENDINGS.iter().any(|ending| entry.path.ends_with(ending))
        // An empty head means that the file was not read.
        && !entry.head.is_empty()
        && !entry.head.starts_with(b"#!")
}

pub(crate) fn missing(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(support) = subject.support() else {
        return;
    };
    // The file can be among the entries that were not listed.
    if entries(subject).any(|entry| entry.kind == SupportKind::Unlisted) {
        return;
    }
    let text = subject.text();
    let mentions = mentions(text, subject.directory());
    let mut paths: Vec<&[u8]> = support.iter().map(|entry| entry.path.as_slice()).collect();
    if !mentions.is_empty() {
        paths.sort_unstable();
    }
    let mut reported = BTreeSet::new();
    for span in mentions {
        let path = text.get(span.range()).unwrap_or_default();
        if !has_entry(&paths, path) && reported.insert(path) {
            acc.push(
                report(
                    503,
                    span,
                    format!("`{path}` is not in the daemon's directory"),
                )
                .with_help("add it, or correct the path"),
            );
        }
    }
}

/// Returns `true` if the sorted paths contain `path` or an entry below it.
fn has_entry(paths: &[&[u8]], path: &str) -> bool {
    let below = format!("{path}/");
    let next = paths.partition_point(|other| *other < below.as_bytes());
    paths.binary_search(&path.as_bytes()).is_ok()
        || paths
            .get(next)
            .is_some_and(|other| other.starts_with(below.as_bytes()))
}

/// Finds the paths of support files in a file, relative to the daemon's directory.
fn mentions<'a>(text: &'a str, directory: Option<&'a str>) -> Vec<Span> {
    let mut acc = Vec::new();
    for tree in TREES {
        for at in memmem::find_iter(text.as_bytes(), tree) {
            let rest = text.get(at + tree.len()..).unwrap_or_default();
            let before = text.get(..at).unwrap_or_default();
            if !rest.starts_with('/') || !begins_a_path(before, directory) {
                continue;
            }
            let path = leading(rest, MAX_PATH_CHARS, |c| {
                c.is_alphanumeric() || "/._-".contains(c)
            });
            // A pattern such as `scripts/*.sh` names no single file.
            let tail = path.trim_end_matches(['.', '-', '/']);
            let is_pattern = rest
                .get(path.len()..)
                .is_some_and(|next| next.starts_with(['*', '<', '{', '$', '[']));
            if !is_pattern && tail.len() > 1 {
                acc.push(Span::new(at, at + tree.len() + tail.len()));
            }
        }
    }
    acc.sort_unstable();
    acc
}

/// Returns `true` if a path begins after `before`. In `tools/scripts/x` it does not begin at `scripts`.
fn begins_a_path(before: &str, directory: Option<&str>) -> bool {
    let bare = before.strip_suffix("./").unwrap_or(before);
    let own = directory.is_some_and(|name| {
        bare.strip_suffix('/')
            .and_then(|head| head.strip_suffix(name))
            .is_some_and(|head| head.ends_with(".agents/daemons/"))
    });
    own || !bare.ends_with(|c: char| c.is_alphanumeric() || "/._-$}~@".contains(c))
}

pub(crate) fn size(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let mut n_files = 0;
    let mut n_bytes = 0_u64;
    let mut push = |message: String| {
        acc.push(
            report(504, Span::at(0), message)
                .with_help("trim it; a run gets no files above the limit"),
        );
    };
    let mut too_deep = None;
    for entry in entries(subject).filter(|entry| entry.kind == SupportKind::File && in_tree(entry))
    {
        n_files += 1;
        n_bytes = n_bytes.saturating_add(entry.size);
        let n_above = entry.path.iter().filter(|&&byte| byte == b'/').count();
        // One example suffices: files that are too deep usually share a directory.
        if n_above > MAX_SUPPORT_DEPTH {
            too_deep.get_or_insert(entry);
        }
        if entry.size > MAX_SUPPORT_FILE_BYTES {
            push(format!(
                "`{}` has {} bytes, more than 1 MiB",
                shown(&entry.path),
                entry.size
            ));
        }
    }
    if n_files > MAX_SUPPORT_FILES {
        push(format!(
            "the support tree has {n_files} files, more than {MAX_SUPPORT_FILES}"
        ));
    }
    if n_bytes > MAX_SUPPORT_BYTES {
        push(format!(
            "the support tree has {n_bytes} bytes, more than 8 MiB"
        ));
    }
    if let Some(entry) = too_deep {
        push(format!(
            "`{}` is more than {MAX_SUPPORT_DEPTH} directories deep",
            shown(&entry.path)
        ));
    }
    // The numbers above are then those of a part of the tree.
    for entry in entries(subject).filter(|entry| entry.kind == SupportKind::Unlisted) {
        push(format!(
            "`{}` has entries that were not listed",
            shown(&entry.path)
        ));
    }
}

fn in_tree(entry: &SupportEntry) -> bool {
    TREES.iter().any(|tree| {
        entry
            .path
            .strip_prefix(tree.as_bytes())
            .is_some_and(|rest| rest.starts_with(b"/"))
    })
}

fn entries<'a>(subject: &Subject<'a>) -> impl Iterator<Item = &'a SupportEntry> {
    subject.support().unwrap_or_default().iter()
}

/// Returns any path as one line of text.
fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).escape_debug().to_string()
}
