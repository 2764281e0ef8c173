//! What no branch and no text of an output may contain.

use super::{KEY, TOKEN};
use crate::leaks::Search;

/// Reports whether a path is one that decides what runs, also on a file system that ignores case, hidden characters, or dots and
/// blanks at the end.
pub(super) fn is_guarded(path: &str) -> bool {
    let folded = path.to_uppercase().to_lowercase();
    let seen = folded.replace(
        |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}'),
        "",
    );
    let mut parts = seen
        .split('/')
        .map(|part| part.trim_end_matches(['.', ' ']));
    let is_git = |part: &str| matches!(part, ".git" | "git~1");
    let first = parts.clone().next().unwrap_or_default();
    matches!(first, ".agents" | ".github" | "github~1") || parts.any(is_git)
}

/// Returns what no text of an output may contain, and what it hides from its readers.
pub(super) fn of_body(text: &str) -> Vec<String> {
    let mut acc = of_text(text);
    let steers = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    let body = text.rfind("<!--").map_or("", |at| &text[..at]);
    // The footer is not shown as text behind what is open here.
    let is_open = |from: &str, to: &str| body.rfind(from) > body.rfind(to);
    let hides = body.contains("<!--") || is_open("<?", "?>") || is_open("<![CDATA[", "]]>");
    if text.contains(steers) || hides || body.contains("\n    ```\n```\n") {
        acc.push(format!("hidden: {text:?}"));
    }
    acc
}

/// Returns what no output may contain.
pub(super) fn of_text(text: &str) -> Vec<String> {
    let never = [
        "pwned",
        TOKEN,
        "ghp_abcdefghijklmnopqrstuvwxyz",
        "@victim",
        "@org/team",
        "&#64;victim",
        "&#x40;victim",
        "&commat;victim",
        "<!-- daemon:other",
        "evil.example/51",
        "[skip ci]",
    ];
    let lower = text.to_lowercase();
    let found = never.into_iter();
    let found = found.filter(|never| lower.contains(&never.to_lowercase()));
    let mut acc: Vec<String> = found.map(|never| format!("`{never}` in {text}")).collect();
    // Base64 that is broken into lines, also into those of a patch.
    let joined = text.replace("\n+", "").replace('\n', "");
    let leaks = Search::of(&[KEY]).leaks(&joined);
    acc.extend(leaks.iter().map(|leak| format!("`{leak}` in {text}")));
    acc
}
