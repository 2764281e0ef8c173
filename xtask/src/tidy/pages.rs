//! Checks of crate pages, and of the items in `lib.rs` and `mod.rs`.

use super::tree::{RepositoryFiles, TidyFinding};

const HEADINGS: [&str; 2] = ["# What this crate does not do", "# Guarantees"];

/// Checks that every library starts with a page that has an asserting example and the required headings.
pub(crate) fn crate_pages(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    tree.sources()
        .filter(|(path, _)| path.ends_with("src/lib.rs"))
        .flat_map(|(path, text)| crate_page(path, text))
        .collect()
}

fn crate_page(path: &str, text: &str) -> Vec<TidyFinding> {
    let page: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    if page.is_empty() {
        return vec![TidyFinding::new(
            path,
            1,
            "a library starts with its page (`//!`)",
        )];
    }
    let mut acc = Vec::new();
    if !has_asserting_example(&page) {
        acc.push(TidyFinding::new(
            path,
            1,
            "the crate page needs a checked example that asserts something",
        ));
    }
    for heading in HEADINGS {
        if !page.contains(&heading) {
            acc.push(TidyFinding::new(
                path,
                1,
                format!("the crate page needs the part `{heading}`"),
            ));
        }
    }
    acc
}

fn has_asserting_example(page: &[&str]) -> bool {
    let mut is_checked = false;
    let mut is_inside = false;
    for line in page {
        if let Some(info) = line.strip_prefix("```") {
            is_checked = !is_inside && matches!(info.trim(), "" | "rust");
            is_inside = !is_inside;
        } else if is_inside && is_checked && line.contains("assert") {
            return true;
        }
    }
    false
}

/// Checks that `lib.rs` and `mod.rs` contain only documentation, modules and re-exports.
pub(crate) fn roots(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    tree.sources()
        .filter(|(path, _)| path.ends_with("/lib.rs") || path.ends_with("/mod.rs"))
        .filter_map(|(path, text)| {
            let line = first_other_item(text)?;
            Some(TidyFinding::new(
                path,
                line,
                "contains more than documentation, `mod` and `use`; move it to a module",
            ))
        })
        .collect()
}

/// Returns the line of the first item that is neither a module declaration nor an import.
fn first_other_item(text: &str) -> Option<usize> {
    let code = blank_comments(text);
    let mut rest = code.as_str();
    loop {
        rest = rest.trim_start();
        let line = code
            .len()
            .checked_sub(rest.len())
            .map(|at| code[..at].matches('\n').count() + 1)?;
        if rest.is_empty() {
            return None;
        }
        if rest.starts_with('#') {
            rest = after_brackets(rest);
            continue;
        }
        let item = without_visibility(rest);
        let is_import = item.starts_with("use ") || item.starts_with("extern crate ");
        match item.split_once(';') {
            Some((head, tail)) if is_import || item.starts_with("mod ") && !head.contains('{') => {
                rest = tail;
            }
            _ => return Some(line),
        }
    }
}

fn blank_comments(text: &str) -> String {
    let lines = text.lines().map(|line| {
        if line.trim_start().starts_with("//") {
            ""
        } else {
            line
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn after_brackets(text: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return &text[at + 1..],
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    ""
}

fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else {
        return item;
    };
    let rest = match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    };
    rest.trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "//! Words.\n//!\n//! ```\n//! assert_eq!(1, 1);\n//! ```\n//!\n\
                        //! # What this crate does not do\n//! Much.\n//!\n//! # Guarantees\n//! Some.\n";

    fn messages(page: &str) -> Vec<String> {
        let tree = RepositoryFiles::from([("crates/a/src/lib.rs", page)]);
        crate_pages(&tree)
            .into_iter()
            .map(|problem| problem.message)
            .collect()
    }

    #[test]
    fn a_full_page_passes() {
        assert_eq!(messages(GOOD), Vec::<String>::new());
    }

    #[test]
    fn a_page_without_a_checked_assertion_fails() {
        let message = ["the crate page needs a checked example that asserts something"];
        assert_eq!(
            messages(&GOOD.replace("assert_eq!(1, 1);", "let _x = 1;")),
            message
        );
        assert_eq!(messages(&GOOD.replacen("```", "```text", 1)), message);
        assert_eq!(messages(&GOOD.replacen("```", "```no_run", 1)), message);
    }

    #[test]
    fn a_page_without_its_parts_or_no_page_fails() {
        assert_eq!(
            messages(&GOOD.replace("# Guarantees", "# More")),
            ["the crate page needs the part `# Guarantees`"]
        );
        assert_eq!(
            messages("pub fn a() {}\n"),
            ["a library starts with its page (`//!`)"]
        );
    }

    #[test]
    fn a_root_with_code_fails_at_its_line() {
        let root = "//! Page.\n#![deny(\n    missing_docs,\n)]\n\n/// A part.\npub mod a;\npub(crate) use a::{\n    B,\n    C,\n};\n\
                    #[cfg(test)]\nmod tests;\n";
        assert_eq!(first_other_item(root), None);
        assert_eq!(
            first_other_item(&format!("{root}\npub fn a() {{\n    b();\n}}\n")),
            Some(15)
        );
        assert_eq!(first_other_item("mod a {\n    use b;\n}\n"), Some(1));
        assert_eq!(first_other_item("//! Page.\nconst A: u8 = 1;\n"), Some(2));
    }

    #[test]
    fn only_lib_rs_and_mod_rs_are_checked() {
        let tree = RepositoryFiles::from([
            ("a/src/lib.rs", "fn a() {}\n"),
            ("a/src/b/mod.rs", "struct B;"),
            ("a/src/c.rs", "struct C;"),
        ]);
        let paths: Vec<String> = roots(&tree)
            .into_iter()
            .map(|problem| problem.path)
            .collect();
        assert_eq!(paths, ["a/src/b/mod.rs", "a/src/lib.rs"]);
    }
}
