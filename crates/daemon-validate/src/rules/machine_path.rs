//! D600: paths that exist on one machine only.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use daemon_spec::{Diagnostic, Span};

use crate::Subject;
use crate::prose::leading;
use crate::report::report;

// Directories below which every user has a directory: a path in one belongs to a person's machine.
// Backslashes can be doubled in a quoted YAML string.
const ROOTS: &[&str] = &[
    "/home/",
    "/Users/",
    "/mnt/c/Users/",
    ":\\Users\\",
    ":/Users/",
    ":\\\\Users\\\\",
];

/// The maximum number of characters of a path after its root.
const MAX_PATH_CHARS: usize = 128;

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(aho_corasick::MatchKind::LeftmostLongest)
        .build(ROOTS)
        .expect("six short patterns fit every limit of the automaton")
});

pub(crate) fn machine_path(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    for span in paths(text) {
        let path = text.get(span.range()).unwrap_or_default();
        acc.push(
            report(600, span, format!("`{path}` is a path of one machine"))
                .with_help("write the path relative to the repository's root"),
        );
    }
}

fn paths(text: &str) -> impl Iterator<Item = Span> + '_ {
    FINDER.find_iter(text).filter_map(|found| {
        let before = text.get(..found.start())?;
        let has_drive = text.as_bytes().get(found.start()) == Some(&b':');
        let start = if has_drive {
            let drive = before
                .chars()
                .next_back()
                .filter(char::is_ascii_alphabetic)?;
            found.start() - drive.len_utf8()
        } else {
            found.start()
        };
        // In `src/home/page.tsx` and `https://host/home/x` the root is inside another path.
        let follows = text.get(..start)?.chars().next_back();
        if follows.is_some_and(|c| c.is_alphanumeric() || "_-./~\\%}$".contains(c)) {
            return None;
        }
        let rest = text.get(found.end()..)?;
        let path = leading(rest, MAX_PATH_CHARS, |c| {
            !c.is_whitespace() && !"\"'`,;:)(<>|*?[]{}".contains(c)
        })
        .trim_end_matches(['.', '!']);
        path.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
            .then(|| Span::new(start, found.end() + path.len()))
    })
}
