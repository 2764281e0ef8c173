//! How long a source may be, and what it may not be called.

use super::tree::{Problem, Tree, code_before_tests, is_test_source};

const MAX_LINES: usize = 500;
const MAIN_FAILS_ABOVE: usize = 60;
const BANNED_NAMES: [&str; 3] = ["utils.rs", "common.rs", "helpers.rs"];

/// Checks the length of every source without its tests, which fails, and of every file of tests, which warns.
pub(crate) fn lengths(tree: &Tree) -> Vec<Problem> {
    tree.sources()
        .filter_map(|(path, text)| length(path, text))
        .collect()
}

fn length(path: &str, text: &str) -> Option<Problem> {
    if is_test_source(path) {
        let n_lines = text.lines().count();
        let message = format!("{n_lines} lines, over {MAX_LINES}; split by what they test");
        return (n_lines > MAX_LINES).then(|| Problem::warning(path, MAX_LINES, message));
    }
    let n_lines = code_before_tests(text).count();
    let message = format!("{n_lines} lines, the limit is {MAX_LINES}; split by concept");
    (n_lines > MAX_LINES).then(|| Problem::error(path, MAX_LINES, message))
}

/// Checks that a `main.rs` only starts its library.
pub(crate) fn mains(tree: &Tree) -> Vec<Problem> {
    tree.sources()
        .filter(|(path, _)| path.ends_with("src/main.rs"))
        .filter_map(|(path, text)| {
            let n_lines = text.lines().count();
            let message = format!(
                "{n_lines} lines, a main may have {MAIN_FAILS_ABOVE}; move code to the library"
            );
            (n_lines > MAIN_FAILS_ABOVE).then(|| Problem::error(path, MAIN_FAILS_ABOVE, message))
        })
        .collect()
}

/// Checks that no file is a dumping ground by name.
pub(crate) fn names(tree: &Tree) -> Vec<Problem> {
    tree.sources()
        .filter(|(path, _)| BANNED_NAMES.contains(&path.rsplit('/').next().unwrap_or(path)))
        .map(|(path, _)| Problem::error(path, 1, "name the file after the concept it holds"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tree::Weight;
    use super::*;

    fn weights(problems: &[Problem]) -> Vec<(&str, Weight)> {
        problems
            .iter()
            .map(|problem| (problem.path.as_str(), problem.weight))
            .collect()
    }

    #[test]
    fn a_long_source_fails_long_tests_warn_and_tests_inside_do_not_count() {
        let tests = format!(
            "fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n",
            "//\n".repeat(900)
        );
        let tree = Tree::from([
            ("a/src/fits.rs", "//\n".repeat(500).as_str()),
            ("a/src/mostly_tests.rs", tests.as_str()),
            ("a/src/over.rs", "//\n".repeat(501).as_str()),
            ("a/tests/it/fits.rs", "//\n".repeat(500).as_str()),
            ("a/tests/it/main.rs", "//\n".repeat(501).as_str()),
        ]);
        assert_eq!(
            weights(&lengths(&tree)),
            [
                ("a/src/over.rs", Weight::Error),
                ("a/tests/it/main.rs", Weight::Warning),
            ]
        );
    }

    #[test]
    fn a_main_with_logic_fails() {
        let tree = Tree::from([
            ("bins/a/src/main.rs", "//\n".repeat(61).as_str()),
            ("bins/b/src/main.rs", "//\n".repeat(60).as_str()),
            ("bins/b/tests/it/main.rs", "//\n".repeat(61).as_str()),
        ]);
        assert_eq!(
            weights(&mains(&tree)),
            [("bins/a/src/main.rs", Weight::Error)]
        );
    }

    #[test]
    fn a_dumping_ground_fails_by_its_name() {
        let tree = Tree::from([
            ("a/src/utils.rs", ""),
            ("a/src/x/helpers.rs", ""),
            ("a/src/uncommon.rs", ""),
        ]);
        assert_eq!(
            weights(&names(&tree)),
            [
                ("a/src/utils.rs", Weight::Error),
                ("a/src/x/helpers.rs", Weight::Error)
            ]
        );
    }
}
