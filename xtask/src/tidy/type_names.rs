//! One type name means one thing in the whole workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::survey::{File, RustFiles};
use super::tree::{RepositoryFiles, TidyFinding};

pub(crate) const FILE: &str = "xtask/tidy/type-names.toml";

/// The names that several crates may declare.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    by_name: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    crates: BTreeSet<String>,
    why: String,
}

/// Where each crate declares a name.
type Declarations<'a> = BTreeMap<String, BTreeMap<&'a str, (&'a str, usize)>>;

impl Allowed {
    /// Reads the names of the repository.
    ///
    /// # Errors
    /// When the file is missing or does not name crates and a reason for each name.
    pub(crate) fn read(tree: &RepositoryFiles) -> Result<Self> {
        let text = tree
            .text(FILE)
            .with_context(|| format!("`{FILE}` is missing"))?;
        let by_name = toml::from_str(text).with_context(|| format!("failed to read `{FILE}`"))?;
        Ok(Self { by_name })
    }

    /// Fails for a name that several crates declare, and for an entry that is not used.
    pub(crate) fn check(&self, survey: &RustFiles<'_>) -> Vec<TidyFinding> {
        let declarations = shared(survey);
        let mut acc = Vec::new();
        for (name, places) in &declarations {
            let crates = self.by_name.get(name).map(|entry| &entry.crates);
            let others = |package: &str| {
                let others = places.keys().filter(|other| **other != package);
                others
                    .map(|other| format!("`{other}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            for (package, (path, line)) in places {
                if crates.is_some_and(|crates| crates.contains(*package)) {
                    continue;
                }
                let message = format!(
                    "`{name}` is also declared in {}: rename one, so that a name means one thing, or give the reason in `{FILE}`",
                    others(package)
                );
                acc.push(TidyFinding::new(path, *line, message));
            }
        }
        for (name, entry) in &self.by_name {
            let places = declarations.get(name);
            let unused = entry
                .crates
                .iter()
                .filter(|it| places.is_none_or(|places| !places.contains_key(it.as_str())));
            let unused: Vec<String> = unused.map(|it| format!("`{it}`")).collect();
            if !unused.is_empty() {
                let message = format!(
                    "`{name}` is not shared with {} any more: remove that from the entry (the entry when fewer than two are left), \
                     or run `cargo xtask tidy --lower`",
                    unused.join(", ")
                );
                acc.push(TidyFinding::new(FILE, 1, message));
            }
        }
        acc
    }

    /// Returns the entries that are used.
    pub(crate) fn lowered(&self, survey: &RustFiles<'_>) -> Self {
        let declarations = shared(survey);
        let mut by_name = self.by_name.clone();
        for (name, entry) in &mut by_name {
            let places = declarations.get(name);
            entry
                .crates
                .retain(|it| places.is_some_and(|places| places.contains_key(it.as_str())));
        }
        by_name.retain(|_, entry| entry.crates.len() > 1);
        Self { by_name }
    }

    /// Prints the file.
    pub(crate) fn to_toml(&self) -> String {
        let mut acc = String::from("# Type names that several crates may declare, and why.\n");
        for (name, Entry { crates, why }) in &self.by_name {
            let crates: Vec<String> = crates.iter().map(|it| format!("{it:?}")).collect();
            write!(
                acc,
                "\n[{name}]\ncrates = [{}]\nwhy = {why:?}\n",
                crates.join(", ")
            )
            .expect("writing to a string cannot fail");
        }
        acc
    }
}

/// Returns the names that more than one crate declares.
fn shared<'a>(survey: &RustFiles<'a>) -> Declarations<'a> {
    let mut acc = Declarations::new();
    // Names in tests are not seen by other crates.
    for file in survey.files.iter().filter(|file| !file.is_test()) {
        for (name, line) in declared(file) {
            acc.entry(name)
                .or_default()
                .entry(file.package)
                .or_insert((file.path, line));
        }
    }
    acc.retain(|_, places| places.len() > 1);
    acc
}

/// Returns the public and crate-wide types of a file; in formatted code what is not indented is at the level of the module.
fn declared(file: &File<'_>) -> Vec<(String, usize)> {
    let lines = file.source.code.lines().enumerate();
    lines
        .filter_map(|(at, line)| Some((type_name(line)?, at + 1)))
        .collect()
}

fn type_name(line: &str) -> Option<String> {
    let item = line
        .strip_prefix("pub ")
        .or_else(|| line.strip_prefix("pub(crate) "))?;
    let item = item.strip_prefix("unsafe ").unwrap_or(item);
    let (keyword, rest) = item.split_once(' ')?;
    let is_type = matches!(keyword, "struct" | "enum" | "union" | "trait" | "type");
    let name: String = rest
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (is_type && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::layers::Package;
    use super::*;

    fn problems(allowed: &str, files: [(&str, &str); 3]) -> Vec<String> {
        let (problems, _) = read(allowed, files);
        problems
    }

    fn read(allowed: &str, files: [(&str, &str); 3]) -> (Vec<String>, String) {
        let tree = RepositoryFiles::from(files);
        let packages =
            ["a", "b", "c"].map(|name| Package::named(name, &format!("crates/{name}/Cargo.toml")));
        let survey = RustFiles::read(&tree, &packages);
        let allowed = Allowed::read(&RepositoryFiles::from([(FILE, allowed)])).unwrap();
        let problems = allowed.check(&survey).into_iter().map(|it| it.to_string());
        (problems.collect(), allowed.lowered(&survey).to_toml())
    }

    #[test]
    fn a_name_in_two_crates_fails_in_both() {
        let found = problems(
            "",
            [
                ("crates/a/src/a.rs", "/// A.\npub struct Step;\n"),
                ("crates/b/src/b.rs", "pub(crate) enum Step {}\n"),
                (
                    "crates/c/src/c.rs",
                    "pub struct Steps;\nstruct Step;\nmod d {\n    pub struct Step;\n}\n",
                ),
            ],
        );
        assert_eq!(
            found,
            [
                "crates/a/src/a.rs:2: error: `Step` is also declared in `b`: rename one, so that a name means one thing, or give the \
                 reason in `xtask/tidy/type-names.toml`",
                "crates/b/src/b.rs:1: error: `Step` is also declared in `a`: rename one, so that a name means one thing, or give the \
                 reason in `xtask/tidy/type-names.toml`",
            ]
        );
    }

    #[test]
    fn traits_and_aliases_are_types_and_tests_are_not_read() {
        let found = problems(
            "",
            [
                ("crates/a/src/a.rs", "pub type One = u8;\npub struct Two;\n"),
                ("crates/b/src/b.rs", "pub unsafe trait One {}\n"),
                ("crates/c/src/c/tests.rs", "pub struct Two;\n"),
            ],
        );
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn an_allowed_name_passes_in_the_crates_of_its_entry_only() {
        let allowed = "[Error]\ncrates = [\"a\", \"b\"]\nwhy = \"each has one\"\n";
        let files = |third| {
            [
                ("crates/a/src/a.rs", "pub struct Error;\n"),
                ("crates/b/src/b.rs", "pub struct Error;\n"),
                ("crates/c/src/c.rs", third),
            ]
        };
        assert_eq!(problems(allowed, files("")), Vec::<String>::new());
        let found = problems(allowed, files("pub struct Error;\n"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("crates/c/src/c.rs:1: error: `Error` is also declared in `a`, `b`"),
            "{found:?}"
        );
    }

    #[test]
    fn an_unused_entry_fails_and_is_lowered_away() {
        let allowed = "[Error]\ncrates = [\"a\", \"b\", \"c\"]\nwhy = \"each \\\"has\\\" one\"\n\n[Gone]\ncrates = [\"a\", \"b\"]\nwhy = \"x\"\n";
        let (found, lowered) = read(
            allowed,
            [
                ("crates/a/src/a.rs", "pub struct Error;\n"),
                ("crates/b/src/b.rs", "pub struct Error;\n"),
                ("crates/c/src/c.rs", ""),
            ],
        );
        assert!(
            found[0].contains("`Error` is not shared with `c` any more"),
            "{found:?}"
        );
        assert!(
            found[1].contains("`Gone` is not shared with `a`, `b` any more"),
            "{found:?}"
        );
        assert_eq!(found.len(), 2);
        assert!(
            lowered.ends_with(
                ".\n\n[Error]\ncrates = [\"a\", \"b\"]\nwhy = \"each \\\"has\\\" one\"\n"
            ),
            "{lowered}"
        );
    }
}
