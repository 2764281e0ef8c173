//! Inputs shared by the rows.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};

/// Returns the folder `fixtures` of the repository.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Reads the typical daemon files.
pub(crate) fn daemon_files() -> Result<Vec<Vec<u8>>> {
    let folder = folder().join("daemons/.agents/daemons");
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("failed to list `{}`", folder.display()))?;
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in entries {
        paths.push(entry?.path().join("DAEMON.md"));
    }
    paths.sort();
    ensure!(
        paths.len() >= 18,
        "the corpus has shrunk to {} files",
        paths.len()
    );
    let read = |path: &PathBuf| {
        std::fs::read(path).with_context(|| format!("failed to read `{}`", path.display()))
    };
    paths.iter().map(read).collect()
}

/// Gives a daemon file another id.
pub(crate) fn with_id(text: &str, id: &str) -> Result<String> {
    let line = field(text, "id").context("a typical file has an id")?;
    Ok(text.replacen(line, &format!("id: {id}"), 1))
}

/// Gives a daemon file another schedule, or one if it had none.
pub(crate) fn with_schedule(text: &str, expression: &str) -> Result<String> {
    let schedule = format!("schedule: \"{expression}\"");
    if let Some(line) = field(text, "schedule") {
        return Ok(text.replacen(line, &schedule, 1));
    }
    let id = field(text, "id").context("a typical file has an id")?;
    Ok(text.replacen(id, &format!("{id}\n{schedule}"), 1))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines();
    lines.find(|line| {
        let rest = line.strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_its_own_id_and_is_otherwise_the_same() {
        let text = "---\r\nid: \"a\" # first\r\npurpose: a\r\n";
        assert_eq!(
            with_id(text, "b").unwrap(),
            "---\r\nid: b\r\npurpose: a\r\n"
        );
    }

    #[test]
    fn a_copy_has_the_schedule_it_is_given() {
        for text in [
            "---\nid: a\nschedule: '5 4 * * *' # early\n---\n",
            "---\nid: a\n---\n",
        ] {
            assert_eq!(
                with_schedule(text, "* * * * *").unwrap(),
                "---\nid: a\nschedule: \"* * * * *\"\n---\n"
            );
        }
    }
}
