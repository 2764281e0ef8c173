//! Checks of documents: required files, error pages, the crate table and dependencies.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};

use super::layers::Package;
use super::tree::{RepositoryFiles, TidyFinding};

const REQUIRED: [&str; 10] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "docs/ARCHITECTURE.md",
    "docs/DECISIONS.md",
    "docs/PERFORMANCE.md",
    "docs/README.md",
    "docs/SUMMARY.md",
    "docs/book.toml",
];

/// The table of the diagnostics: one row `201 "field-count" ...` for each code.
const CODE_TABLE: &str = "crates/daemon-validate/src/table.rs";
const ERROR_PAGES: &str = "docs/errors/";

/// Checks that the documents of the repository exist.
pub(crate) fn presence(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    REQUIRED
        .iter()
        .filter(|path| tree.text(path).is_none_or(|text| text.trim().is_empty()))
        .map(|path| TidyFinding::new(path, 1, "missing or empty"))
        .collect()
}

/// Checks that every diagnostic code has a page and every page a code.
pub(crate) fn error_pages(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let lines = tree
        .text(CODE_TABLE)
        .unwrap_or_default()
        .lines()
        .enumerate();
    let codes: Vec<(usize, String)> = lines
        .filter_map(|(at, line)| Some((at + 1, code_of_row(line)?)))
        .collect();
    if codes.is_empty() {
        return vec![TidyFinding::new(
            CODE_TABLE,
            1,
            "contains no row such as `201 \"field-count\"`",
        )];
    }
    let pages: BTreeSet<&str> = tree
        .texts()
        .filter_map(|(path, _)| path.strip_prefix(ERROR_PAGES)?.strip_suffix(".md"))
        .filter(|stem| is_code(stem))
        .collect();
    let mut acc = Vec::new();
    for (line, code) in codes
        .iter()
        .filter(|(_, code)| !pages.contains(code.as_str()))
    {
        acc.push(TidyFinding::new(
            CODE_TABLE,
            *line,
            format!("`{code}` has no page `{ERROR_PAGES}{code}.md`"),
        ));
    }
    for page in pages
        .into_iter()
        .filter(|page| codes.iter().all(|(_, code)| code != page))
    {
        acc.push(TidyFinding::new(
            &format!("{ERROR_PAGES}{page}.md"),
            1,
            "no rule has this code",
        ));
    }
    acc
}

/// Returns `D006` for a row that begins with `6 "`.
fn code_of_row(line: &str) -> Option<String> {
    let (number, _) = line.trim_start().split_once(" \"")?;
    let number: u16 = number.parse().ok()?;
    Some(format!("D{number:03}"))
}

fn is_code(word: &str) -> bool {
    let number = word.strip_prefix('D');
    number.is_some_and(|number| number.len() == 3 && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Checks that `docs/ARCHITECTURE.md` names every crate.
pub(crate) fn architecture(tree: &RepositoryFiles, packages: &[Package]) -> Vec<TidyFinding> {
    let path = "docs/ARCHITECTURE.md";
    let text = tree.text(path).unwrap_or_default();
    packages
        .iter()
        .filter(|package| !text.contains(&format!("`{}`", package.name)))
        .map(|package| {
            TidyFinding::new(
                path,
                1,
                format!("does not name the crate `{}`", package.name),
            )
        })
        .collect()
}

/// Checks that every dependency has a reason in `docs/DECISIONS.md` and every reason a dependency, and that each dependency of
/// the workspace is used.
///
/// # Errors
/// The root manifest is not TOML.
pub(crate) fn dependencies(
    tree: &RepositoryFiles,
    packages: &[Package],
) -> Result<Vec<TidyFinding>> {
    let path = "docs/DECISIONS.md";
    let manifest: toml::Table = tree
        .text("Cargo.toml")
        .unwrap_or_default()
        .parse()
        .context("failed to read `Cargo.toml`")?;
    let shared = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"));
    let shared: BTreeSet<&str> = shared
        .and_then(toml::Value::as_table)
        .into_iter()
        .flatten()
        // Crates of the workspace need no reason.
        .filter(|(_, source)| source.get("path").is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let ours: BTreeSet<&str> = packages
        .iter()
        .map(|package| package.name.as_str())
        .collect();
    let used: BTreeSet<&str> = packages
        .iter()
        .flat_map(|package| package.links.iter().chain(&package.tests_with))
        .map(String::as_str)
        .filter(|name| !ours.contains(name))
        .collect();

    let reasons = reasons(tree.text(path).unwrap_or_default());
    let explained: BTreeSet<&str> = reasons.iter().map(|(_, name)| *name).collect();
    let mut acc: Vec<TidyFinding> = used
        .difference(&explained)
        .map(|name| {
            TidyFinding::new(
                path,
                1,
                format!("give `{name}` its line under \"## Dependencies\""),
            )
        })
        .collect();
    let gone = reasons.iter().filter(|(_, name)| !used.contains(name));
    acc.extend(gone.map(|(line, name)| {
        TidyFinding::new(path, *line, format!("`{name}` is not a dependency"))
    }));
    let idle = shared.difference(&used);
    acc.extend(
        idle.map(|name| TidyFinding::new("Cargo.toml", 1, format!("no crate uses `{name}`"))),
    );
    Ok(acc)
}

/// Returns the names that open the list items under "## Dependencies", with their lines.
fn reasons(text: &str) -> Vec<(usize, &str)> {
    let mut is_inside = false;
    let mut acc = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.starts_with("## ") {
            is_inside = line.trim_end() == "## Dependencies";
        }
        let Some(item) = line.strip_prefix("- ").filter(|_| is_inside) else {
            continue;
        };
        acc.extend(leading_names(item).map(|name| (at + 1, name)));
    }
    acc
}

/// Returns the names in backticks at the start: `a` and `b` of "`a`, `b`: why, unlike `c`".
fn leading_names(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (name, after) = rest.strip_prefix('`')?.split_once('`')?;
        rest = after.strip_prefix(", ").unwrap_or_default();
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(problems: Vec<TidyFinding>) -> Vec<String> {
        problems
            .into_iter()
            .map(|problem| problem.to_string())
            .collect()
    }

    fn package(name: &str, links: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            manifest: String::new(),
            layer: Some(0),
            links: links.iter().map(|&link| link.to_owned()).collect(),
            tests_with: BTreeSet::new(),
        }
    }

    #[test]
    fn a_missing_or_empty_document_fails() {
        let mut files = REQUIRED.map(|path| (path, "text"));
        assert_eq!(presence(&RepositoryFiles::from(files)), []);
        files[0].1 = "\n";
        assert_eq!(
            shown(presence(&RepositoryFiles::from(files))),
            ["CHANGELOG.md:1: error: missing or empty"]
        );
        assert_eq!(presence(&RepositoryFiles::default()).len(), REQUIRED.len());
    }

    #[test]
    fn codes_and_pages_match_both_ways() {
        let table = "//! Rules.\ntable! {\n    6 \"mark\" Advice\n    201 \"field-count\" Error\n        => \"not 2 \";\n    202 \"macro\" Error\n}\n";
        let tree = RepositoryFiles::from([
            (CODE_TABLE, table),
            ("docs/errors/D006.md", ""),
            ("docs/errors/D201.md", ""),
            ("docs/errors/D203.md", ""),
            ("docs/errors/README.md", ""),
        ]);
        assert_eq!(
            shown(error_pages(&tree)),
            [
                "crates/daemon-validate/src/table.rs:6: error: `D202` has no page `docs/errors/D202.md`",
                "docs/errors/D203.md:1: error: no rule has this code",
            ]
        );
        assert_eq!(error_pages(&RepositoryFiles::default()).len(), 1);
    }

    #[test]
    fn the_architecture_names_every_crate() {
        let tree =
            RepositoryFiles::from([("docs/ARCHITECTURE.md", "`daemon-spec` and daemon-cron")]);
        assert_eq!(
            shown(architecture(
                &tree,
                &[package("daemon-spec", &[]), package("daemon-cron", &[])]
            )),
            ["docs/ARCHITECTURE.md:1: error: does not name the crate `daemon-cron`"]
        );
    }

    #[test]
    fn dependencies_and_reasons_match_both_ways() {
        let manifest = "[workspace.dependencies]\na = \"1\"\nb = { version = \"1\" }\nours = { path = \"x\" }\n";
        let decisions = "## Design\n- `c`: no.\n## Dependencies\n- `a`, `d` with `x`: not `y`, `z`.\n- `gone`: why.\n";
        let tree =
            RepositoryFiles::from([("Cargo.toml", manifest), ("docs/DECISIONS.md", decisions)]);
        let packages = [
            package("ours", &["a", "d", "e"]),
            package("other", &["ours"]),
        ];
        assert_eq!(
            shown(dependencies(&tree, &packages).unwrap()),
            [
                "docs/DECISIONS.md:1: error: give `e` its line under \"## Dependencies\"",
                "docs/DECISIONS.md:5: error: `gone` is not a dependency",
                "Cargo.toml:1: error: no crate uses `b`",
            ]
        );
    }
}
