//! Checks of the links between documents: their files, their anchors, and what pages of the book may link to.

use std::collections::{BTreeMap, BTreeSet};

use super::book;
use super::tree::{RepositoryFiles, TidyFinding};

/// A link of a document.
struct Link<'a> {
    /// The document, from the root.
    from: &'a str,
    line: usize,
    /// What the document says, such as `../serving.md#pages`.
    target: &'a str,
}

impl<'a> Link<'a> {
    /// Returns the file or folder from the root, or nothing if the path leaves the repository.
    fn path(&self) -> Option<String> {
        let (file, _) = self.parts();
        if file.is_empty() {
            return Some(self.from.to_owned());
        }
        let mut parts: Vec<&str> = self.from.split('/').collect();
        parts.pop();
        for part in file.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop()?;
                }
                name => parts.push(name),
            }
        }
        Some(parts.join("/"))
    }

    fn parts(&self) -> (&'a str, Option<&'a str>) {
        match self.target.split_once('#') {
            Some((file, anchor)) => (file, Some(anchor)),
            None => (self.target, None),
        }
    }

    fn finding(&self, problem: &str) -> TidyFinding {
        TidyFinding::new(self.from, self.line, format!("`{}` {problem}", self.target))
    }
}

/// Checks that the files and anchors exist to which documents link.
pub(crate) fn targets(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut anchors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut acc = Vec::new();
    for link in links(tree) {
        let Some(path) = link.path().filter(|path| tree.holds(path)) else {
            acc.push(link.finding("does not exist"));
            continue;
        };
        let (Some(anchor), Some(text)) = (link.parts().1, tree.text(&path)) else {
            continue;
        };
        // The anchors of other files, such as lines of a source, are made by who shows them.
        let is_known = !path.ends_with(".md")
            || anchors
                .entry(path)
                .or_insert_with(|| headings(text))
                .contains(anchor);
        if !is_known {
            acc.push(link.finding("names no heading"));
        }
    }
    acc
}

/// Checks that pages of the book link to files of the book: a built book contains nothing else.
pub(crate) fn inside_the_book(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    links(tree)
        .filter(|link| link.from.starts_with(book::ROOT))
        .filter_map(|link| {
            let path = link.path()?;
            if !path.starts_with(book::ROOT) {
                return Some(link.finding("is not in the book: name the file without a link"));
            }
            let is_folder = tree.holds(&format!("{path}/README.md"));
            is_folder.then(|| link.finding("is a folder: link to its README.md"))
        })
        .collect()
}

fn links(tree: &RepositoryFiles) -> impl Iterator<Item = Link<'_>> {
    let is_document = |path: &str| path.ends_with(".md") && !path.starts_with("fixtures/");
    let documents = tree.texts().filter(move |(path, _)| is_document(path));
    documents.flat_map(|(from, text)| {
        prose(text).flat_map(move |(line, text)| {
            link_targets(text).map(move |target| Link { from, line, target })
        })
    })
}

/// Iterates over the lines outside of fenced blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    let lines = text.lines().enumerate();
    lines.filter_map(move |(at, line)| {
        let start = line.trim_start();
        let ticks = &start[..start.len() - start.trim_start_matches('`').len()];
        match fence {
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => return Some((at + 1, line)),
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
        }
        None
    })
}

fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    let after = line.split("](").skip(1);
    let targets = after.filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    targets.filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
}

/// Returns the anchors of the headings, as GitHub and mdBook make them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut acc = BTreeSet::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        let Some(heading) = heading.strip_prefix(' ').filter(|_| line.starts_with('#')) else {
            continue;
        };
        let slug = slug(heading.trim());
        let count = counts.entry(slug.clone()).or_default();
        acc.insert(match *count {
            0 => slug,
            n => format!("{slug}-{n}"),
        });
        *count += 1;
    }
    acc
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        c => c.is_alphanumeric().then_some(c),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(check: fn(&RepositoryFiles) -> Vec<TidyFinding>, tree: &RepositoryFiles) -> String {
        let found = check(tree);
        let lines = found.iter().map(|finding| format!("{finding}\n"));
        lines.collect()
    }

    #[test]
    fn the_target_of_a_link_must_be_a_file_or_a_folder() {
        let tree = RepositoryFiles::from([
            (
                "README.md",
                "[a](docs/A.md) [b](https://example.com/x) [d](docs) [e](docs/B.md)",
            ),
            ("docs/A.md", "[up](../README.md) [out](../../README.md)"),
        ]);
        assert_eq!(
            shown(targets, &tree),
            "README.md:1: error: `docs/B.md` does not exist\ndocs/A.md:1: error: `../../README.md` does not exist\n"
        );
    }

    #[test]
    fn the_anchor_of_a_link_must_be_a_heading() {
        let page = "# The `id`, and more\n\n## Steps\n\n```sh\n## not a heading\n```\n\n## Steps\n#no-heading\n\
                    [a](#the-id-and-more) [b](#steps) [c](#steps-1)\n[d](#steps-2) [e](#not-a-heading) [f](#no-heading)\n";
        let tree = RepositoryFiles::from([
            (
                "README.md",
                "[a](docs/a.md#steps) [b](docs/a.md#step) [c](a.rs#L1)",
            ),
            ("a.rs", ""),
            ("docs/a.md", page),
        ]);
        let expected = [
            "README.md:1: error: `docs/a.md#step`",
            "docs/a.md:12: error: `#steps-2`",
            "docs/a.md:12: error: `#not-a-heading`",
            "docs/a.md:12: error: `#no-heading`",
        ];
        let expected = expected.map(|place| format!("{place} names no heading\n"));
        assert_eq!(shown(targets, &tree), expected.concat());
    }

    #[test]
    fn what_a_fenced_block_shows_is_no_link() {
        let text = "````markdown\n```sh\n[a](gone.md)\n```\n[b](gone.md)\n````\n[c](gone.md)\n";
        assert_eq!(
            shown(targets, &RepositoryFiles::from([("README.md", text)])),
            "README.md:7: error: `gone.md` does not exist\n"
        );
    }

    #[test]
    fn a_page_of_the_book_links_to_files_of_the_book() {
        let links =
            "[a](b.md) [b](b.md#b) [c](errors/README.md) [d](../README.md) [e](errors) [f](#b)";
        let tree = RepositoryFiles::from([
            ("README.md", "[a](docs/errors)"),
            ("docs/a.md", links),
            ("docs/b.md", ""),
            ("docs/errors/README.md", ""),
        ]);
        assert_eq!(
            shown(inside_the_book, &tree),
            "docs/a.md:1: error: `../README.md` is not in the book: name the file without a link\n\
             docs/a.md:1: error: `errors` is a folder: link to its README.md\n"
        );
    }
}
