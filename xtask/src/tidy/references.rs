//! Paths of our crates that prose and lint configuration name.

use std::collections::{BTreeMap, BTreeSet};

use super::layers::Package;
use super::rust;
use super::survey::RustFiles;
use super::tree::{RepositoryFiles, TidyFinding};

/// Words after which a declaration has its name.
const DECLARES: [&str; 12] = [
    "mod",
    "struct",
    "enum",
    "union",
    "trait",
    "type",
    "fn",
    "const",
    "static",
    "macro_rules!",
    // Re-exports declare their names, too.
    "as",
    "use",
];

/// Checks that each path of our crates in comments, reasons of lints, documents and TOML exists, as far as its first item.
pub(crate) fn check(
    tree: &RepositoryFiles,
    survey: &RustFiles<'_>,
    packages: &[Package],
) -> Vec<TidyFinding> {
    let names = declared_names(survey, packages);
    let mut acc = Vec::new();
    for file in &survey.files {
        for comment in &file.source.comments {
            acc.extend(dangling(&names, file.path, comment.line, &comment.text));
        }
        let reasons = file.source.strings.iter().filter(|literal| {
            let before = file.source.code[..literal.at].trim_end();
            before.ends_with('=') && before.trim_end_matches('=').trim_end().ends_with("reason")
        });
        for literal in reasons {
            acc.extend(dangling(&names, file.path, literal.line, &literal.text));
        }
    }
    for (path, text) in tree.texts().filter(|(path, _)| is_read(path)) {
        for (at, line) in text.lines().enumerate() {
            acc.extend(dangling(&names, path, at + 1, line));
        }
    }
    acc
}

/// The changelog names what was renamed; a fixture belongs to its author.
fn is_read(path: &str) -> bool {
    let is_text = path.ends_with(".md") || path.ends_with(".toml");
    is_text && path != "CHANGELOG.md" && !path.starts_with("fixtures/")
}

/// Returns the names that each crate declares or re-exports, by the crate's name in Rust.
fn declared_names<'a>(
    survey: &'a RustFiles<'_>,
    packages: &'a [Package],
) -> BTreeMap<String, BTreeSet<&'a str>> {
    let rust_name = |package: &str| package.replace('-', "_");
    let mut acc: BTreeMap<String, BTreeSet<&str>> = packages
        .iter()
        .map(|package| (rust_name(&package.name), BTreeSet::new()))
        .collect();
    for file in &survey.files {
        let names = acc.entry(rust_name(file.package)).or_default();
        let mut declares = false;
        for word in file
            .source
            .code
            .split(|c: char| c.is_whitespace() || "();,".contains(c))
        {
            let name_length = word.bytes().take_while(|&byte| rust::is_word(byte)).count();
            if declares && name_length > 0 {
                names.insert(&word[..name_length]);
            }
            declares = DECLARES.contains(&word);
        }
        names.extend(re_exports(&file.source.code));
    }
    acc
}

/// Returns the words of the public imports.
fn re_exports(code: &str) -> impl Iterator<Item = &str> {
    let imports = code.split("pub use ").skip(1);
    let imports = imports.filter_map(|rest| rest.split_once(';').map(|(import, _)| import));
    imports.flat_map(|import| import.split(|c: char| !(c.is_alphanumeric() || c == '_')))
}

fn dangling(
    names: &BTreeMap<String, BTreeSet<&str>>,
    path: &str,
    line: usize,
    text: &str,
) -> Vec<TidyFinding> {
    let mut acc = Vec::new();
    for (at, _) in text.match_indices("daemon_") {
        let starts = at == 0 || !rust::is_word(text.as_bytes()[at - 1]);
        let (package, rest) = leading_word(&text[at..]);
        let Some((item, _)) = rest.strip_prefix("::").map(leading_word).filter(|_| starts) else {
            continue;
        };
        let message = match names.get(package) {
            None => format!("`{package}::{item}`: there is no crate `{package}`"),
            Some(names) if !item.is_empty() && !names.contains(item) => {
                format!("`{package}::{item}`: the crate has no such module or item")
            }
            Some(_) => continue,
        };
        acc.push(TidyFinding::new(path, line, message));
    }
    acc
}

fn leading_word(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(|&byte| rust::is_word(byte)).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "mod clock;\npub use clock::{Clock, Time as Instant};\npub fn now<T>() {}\npub struct Tick(u8);\n";

    fn problems(path: &str, text: &str) -> Vec<String> {
        let tree = RepositoryFiles::from([("crates/daemon-a/src/lib.rs", SOURCE), (path, text)]);
        let packages = [
            Package::named("daemon-a", "crates/daemon-a/Cargo.toml"),
            Package::named("daemon-b", "crates/daemon-b/Cargo.toml"),
        ];
        let survey = RustFiles::read(&tree, &packages);
        check(&tree, &survey, &packages)
            .into_iter()
            .map(|it| it.to_string())
            .collect()
    }

    #[test]
    fn what_exists_may_be_named_everywhere() {
        let text = "`daemon_a::clock` daemon_a::Clock daemon_a::Instant daemon_a::now() daemon_a::Tick::new daemon_a::{Tick} daemon_id";
        assert_eq!(problems("docs/a.md", text), Vec::<String>::new());
        assert_eq!(problems("clippy.toml", text), Vec::<String>::new());
    }

    #[test]
    fn a_crate_or_an_item_that_does_not_exist_fails_at_its_line() {
        let dangling = "use daemon_a::tasks";
        let expected =
            ["clippy.toml:2: error: `daemon_a::tasks`: the crate has no such module or item"];
        assert_eq!(
            problems("clippy.toml", &format!("\n{dangling}\n")),
            expected
        );
        assert_eq!(
            problems("docs/a.md", "see `daemon_c::clock`"),
            ["docs/a.md:1: error: `daemon_c::clock`: there is no crate `daemon_c`"]
        );
    }

    #[test]
    fn in_sources_comments_and_reasons_are_read_and_other_code_is_the_compilers() {
        let text = "/// See `daemon_a::tasks`.\n#[expect(dead_code, reason = \"daemon_a::tasks\")]\nconst A: &str = \"daemon_a::tasks\";\n";
        let found = problems("crates/daemon-b/src/b.rs", text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found[0].starts_with("crates/daemon-b/src/b.rs:1:"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("crates/daemon-b/src/b.rs:2:"),
            "{found:?}"
        );
    }

    #[test]
    fn the_changelog_may_name_what_was_renamed() {
        assert_eq!(
            problems("CHANGELOG.md", "`daemon_a::tasks`"),
            Vec::<String>::new()
        );
    }
}
