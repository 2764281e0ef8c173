//! Checks of the book that mdBook makes of `docs/`.

use std::collections::BTreeMap;

use super::tree::{RepositoryFiles, TidyFinding};

/// The folder of the book.
pub(crate) const ROOT: &str = "docs/";

/// The table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Checks that the table of contents lists every page once, and nothing that does not exist.
///
/// mdBook leaves out a page that is not listed, and writes an empty one for a path that does not exist.
pub(crate) fn summary(tree: &RepositoryFiles) -> Vec<TidyFinding> {
    let mut listed: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let text = tree.text(SUMMARY).unwrap_or_default();
    for (at, line) in text.lines().enumerate() {
        if let Some(page) = entry(line) {
            listed.entry(page).or_default().push(at + 1);
        }
    }
    let mut acc = Vec::new();
    for (page, lines) in &listed {
        if tree.text(&format!("{ROOT}{page}")).is_none() {
            let message = format!("`{page}` does not exist");
            acc.push(TidyFinding::new(SUMMARY, lines[0], message));
        }
        for line in &lines[1..] {
            let message = format!("`{page}` is listed before");
            acc.push(TidyFinding::new(SUMMARY, *line, message));
        }
    }
    let pages = tree.texts().filter_map(|(path, _)| {
        let page = path.strip_prefix(ROOT)?;
        (path != SUMMARY && path.ends_with(".md")).then_some((path, page))
    });
    for (path, _) in pages.filter(|(_, page)| !listed.contains_key(page)) {
        let message = format!("is not listed in `{SUMMARY}`");
        acc.push(TidyFinding::new(path, 1, message));
    }
    acc
}

/// Returns the page of a line such as `- [Title](page.md)`.
fn entry(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = item.strip_prefix("- ").unwrap_or(item);
    let (_, target) = item.strip_prefix('[')?.split_once("](")?;
    target.trim_end().strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(summary_text: &str, pages: [&str; 3]) -> Vec<String> {
        let [a, b, c] = pages.map(|page| (page, "# Page\n"));
        let tree = RepositoryFiles::from([(SUMMARY, summary_text), a, b, c]);
        let found = summary(&tree);
        found.iter().map(ToString::to_string).collect()
    }

    const PAGES: [&str; 3] = ["docs/README.md", "docs/a.md", "docs/errors/D000.md"];

    #[test]
    fn a_summary_that_lists_every_page_once_passes() {
        let text = "# Summary\n\n[Front](README.md)\n\n# Part\n\n- [A](a.md)\n  - [D000](errors/D000.md)\n";
        assert_eq!(shown(text, PAGES), Vec::<String>::new());
    }

    #[test]
    fn a_page_that_is_not_listed_fails() {
        assert_eq!(
            shown("[Front](README.md)\n- [A](a.md)\n", PAGES),
            ["docs/errors/D000.md:1: error: is not listed in `docs/SUMMARY.md`"]
        );
    }

    #[test]
    fn a_page_that_is_listed_twice_or_does_not_exist_fails() {
        let text = "[Front](README.md)\n- [A](a.md)\n- [D](errors/D000.md)\n- [B](a.md)\n- [C](c.md)\n- [E](b.md#e)\n";
        assert_eq!(
            shown(text, PAGES),
            [
                "docs/SUMMARY.md:4: error: `a.md` is listed before",
                "docs/SUMMARY.md:6: error: `b.md#e` does not exist",
                "docs/SUMMARY.md:5: error: `c.md` does not exist",
            ]
        );
    }

    #[test]
    fn documents_outside_of_the_book_are_not_listed() {
        let text = "[Front](README.md)\n- [A](a.md)\n";
        assert_eq!(
            shown(text, ["docs/README.md", "docs/a.md", "CHANGELOG.md"]),
            Vec::<String>::new()
        );
    }
}
