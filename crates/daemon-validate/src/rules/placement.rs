//! D115: the path of a daemon file.

use daemon_spec::{Diagnostic, Span};

use crate::Subject;
use crate::report::report;

pub(crate) fn misplaced(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let Some(path) = subject.path() else { return };
    // A file outside a repository is a draft without a required path.
    if is_daemon_path(path) || path.starts_with('/') {
        return;
    }
    let id = subject
        .file()
        .id()
        .value()
        .map_or("<id>", |id| id.value.trim());
    acc.push(
        report(
            115,
            Span::at(0),
            format!("no runtime looks for a daemon file at `{path}`"),
        )
        .with_help(format!("move it to `.agents/daemons/{id}/DAEMON.md`")),
    );
}

/// Returns `true` if discovery reads a daemon file at `path`, which is relative to the repository's root.
///
/// # Examples
///
/// ```
/// use daemon_validate::is_daemon_path;
///
/// assert!(is_daemon_path(".agents/daemons/pr-helper/DAEMON.md"));
/// assert!(!is_daemon_path(".agents/daemons/pr-helper/daemon.md"));
/// assert!(!is_daemon_path(".agents/daemons/team/pr-helper/DAEMON.md"));
/// ```
#[must_use]
pub fn is_daemon_path(path: &str) -> bool {
    path.strip_prefix(".agents/daemons/")
        .and_then(|rest| rest.strip_suffix("/DAEMON.md"))
        .is_some_and(|name| !name.is_empty() && !name.contains('/') && name != "." && name != "..")
}

/// Returns `true` if a path is `.agents`, `.agents/daemons` or the directory of a daemon.
///
/// If one of these is a symbolic link or a submodule, no daemon in it is read.
///
/// # Examples
///
/// ```
/// use daemon_validate::holds_daemons;
///
/// assert!(holds_daemons(b".agents") && holds_daemons(b".agents/daemons/pr-helper"));
/// assert!(!holds_daemons(b".agents/skills") && !holds_daemons(b".agents/daemons/pr-helper/scripts"));
/// ```
#[must_use]
pub fn holds_daemons(path: &[u8]) -> bool {
    let Some(below) = path.strip_prefix(b".agents") else {
        return false;
    };
    match below.strip_prefix(b"/daemons") {
        Some(b"") => true,
        Some([b'/', name @ ..]) => !name.is_empty() && !name.contains(&b'/'),
        Some(_) => false,
        None => below.is_empty(),
    }
}
