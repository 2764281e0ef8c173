//! Diagnostics that need all daemon files of a repository.

use std::collections::HashMap;

use daemon_spec::{DaemonFile, Diagnostic};

use crate::report::report;

/// Compares the daemon files of a repository. Returns diagnostics with the index of their file.
///
/// Each file comes with its path for messages. Ids that differ only in case count as equal, because
/// some file systems cannot store both directories.
///
/// # Examples
///
/// ```
/// use daemon_validate::validate_repository;
///
/// let file = daemon_spec::parse(b"---\nid: a\n---\n".to_vec()).file;
/// let found = validate_repository(&[("x/DAEMON.md", &file), ("y/DAEMON.md", &file)]);
/// assert_eq!(found.len(), 2);
/// assert_eq!(found[0].1.message, "`a` is also the id of `y/DAEMON.md`");
/// ```
#[must_use]
pub fn validate_repository(files: &[(&str, &DaemonFile)]) -> Vec<(usize, Diagnostic)> {
    let ids: Vec<Option<String>> = files
        .iter()
        .map(|(_, file)| file.id().value().map(|id| id.value.trim().to_lowercase()))
        .collect();
    let mut by_id: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, id) in ids.iter().enumerate() {
        if let Some(id) = id.as_deref().filter(|id| !id.is_empty()) {
            by_id.entry(id).or_default().push(index);
        }
    }
    let mut acc: Vec<(usize, Diagnostic)> = by_id
        .values()
        .filter(|twins| twins.len() > 1)
        .flat_map(|twins| {
            twins
                .iter()
                .map(|&index| (index, duplicate(files, twins, index)))
        })
        .collect();
    // The map has no fixed order, but reports must be the same on every run.
    acc.sort_by_key(|(index, _)| *index);
    acc
}

fn duplicate(files: &[(&str, &DaemonFile)], twins: &[usize], index: usize) -> Diagnostic {
    let (_, file) = files[index];
    let id = file
        .id()
        .value()
        .expect("only files with an id are compared");
    let others: Vec<String> = twins
        .iter()
        .filter(|&&other| other != index)
        .map(|&other| format!("`{}`", files[other].0))
        .collect();
    report(
        114,
        id.span,
        format!(
            "`{}` is also the id of {}",
            id.value.trim(),
            others.join(", ")
        ),
    )
    .with_help("rename one of them")
}
