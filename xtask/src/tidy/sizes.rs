//! Checks of the lengths and names of files.

use super::tree::{RepositoryFiles, TidyFinding};

const MAX_LINES: usize = 500;
const MAIN_FAILS_ABOVE: usize = 60;
const BANNED_NAMES: [&str; 3] = ["utils.rs", "common.rs", "helpers.rs"];

/// Checks the length of every source and of every file of tests.
pub(crate) fn lengths(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    tree.sources()
        .filter_map(|(path, text)| {
            let n_lines = text.lines().count();
            let message = format!("{n_lines} lines, the limit is {MAX_LINES}; split by concept");
            (n_lines > MAX_LINES).then(|| TidyFinding::new(path, MAX_LINES, message))
        })
        .collect()
}

/// Checks that a `main.rs` only calls its library.
pub(crate) fn mains(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    tree.sources()
        .filter(|(path, _)| path.ends_with("src/main.rs"))
        .filter_map(|(path, text)| {
            let n_lines = text.lines().count();
            let message = format!(
                "{n_lines} lines, a main may have {MAIN_FAILS_ABOVE}; move code to the library"
            );
            (n_lines > MAIN_FAILS_ABOVE).then(|| TidyFinding::new(path, MAIN_FAILS_ABOVE, message))
        })
        .collect()
}

/// Checks that no file has a name such as `utils.rs`.
pub(crate) fn names(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    tree.sources()
        .filter(|(path, _)| BANNED_NAMES.contains(&path.rsplit('/').next().unwrap_or(path)))
        .map(|(path, _)| TidyFinding::new(path, 1, "name the file after the concept it holds"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(problems: &[TidyFinding]) -> Vec<&str> {
        problems
            .iter()
            .map(|problem| problem.path.as_str())
            .collect()
    }

    #[test]
    fn a_long_file_fails_also_one_of_tests() {
        let [fits, over] = [500, 501].map(|n_lines| "//\n".repeat(n_lines));
        let tree = RepositoryFiles::from([
            ("a/src/fits.rs", fits.as_str()),
            ("a/src/over.rs", over.as_str()),
            ("a/tests/it/fits.rs", fits.as_str()),
            ("a/tests/it/main.rs", over.as_str()),
        ]);
        assert_eq!(
            paths(&lengths(&tree)),
            ["a/src/over.rs", "a/tests/it/main.rs"]
        );
    }

    #[test]
    fn a_main_with_logic_fails() {
        let tree = RepositoryFiles::from([
            ("bins/a/src/main.rs", "//\n".repeat(61).as_str()),
            ("bins/b/src/main.rs", "//\n".repeat(60).as_str()),
            ("bins/b/tests/it/main.rs", "//\n".repeat(61).as_str()),
        ]);
        assert_eq!(paths(&mains(&tree)), ["bins/a/src/main.rs"]);
    }

    #[test]
    fn a_file_named_utils_or_helpers_fails() {
        let tree = RepositoryFiles::from([
            ("a/src/utils.rs", ""),
            ("a/src/x/helpers.rs", ""),
            ("a/src/uncommon.rs", ""),
        ]);
        assert_eq!(
            paths(&names(&tree)),
            ["a/src/utils.rs", "a/src/x/helpers.rs"]
        );
    }
}
