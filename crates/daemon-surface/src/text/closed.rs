//! Closes what a body leaves open, so that the footer below it is shown.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// The most closing tags of one kind that are added.
const MAX_TAGS: usize = 20;
/// Tags within which nothing, or nothing as it is, would be shown.
const HIDING: [&str; 8] = [
    "details", "pre", "script", "style", "textarea", "table", "template", "title",
];

/// Returns a body in which code fences and tags that hide what follows are closed.
pub(super) fn closed(text: &str) -> String {
    let mut acc = text.trim_end().to_owned();
    if let Some(fence) = open_fence(&acc) {
        acc = format!("{acc}\n{fence}");
    }
    let lower = acc.to_ascii_lowercase();
    for tag in HIDING {
        let n_open = lower.matches(&format!("<{tag}")).count();
        let n_open = n_open.saturating_sub(lower.matches(&format!("</{tag}")).count());
        acc += &format!("\n</{tag}>").repeat(n_open.min(MAX_TAGS));
    }
    acc
}

/// Returns the line that closes the code fence that is open at the end. One within a list or a quotation ends with that.
fn open_fence(text: &str) -> Option<String> {
    let (mut depth, mut last) = (0_usize, None);
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let is_fence = matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                if depth == 0 {
                    last = is_fence.then_some(range.start);
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let block = text[last?..].trim_start();
    let mark = block.chars().next()?;
    let marks = &block[..block.len() - block.trim_start_matches(mark).len()];
    let is_closed = block.lines().skip(1).any(|line| {
        let end = line.trim_start_matches(' ');
        line.len() - end.len() <= 3
            && end.starts_with(marks)
            && end.trim_end().trim_start_matches(mark).is_empty()
    });
    (!is_closed).then(|| marks.to_owned())
}

#[cfg(test)]
mod tests {
    use super::closed;

    #[test]
    fn what_is_open_is_closed() {
        for (text, expected) in [
            ("a\n```\nb\n```\n", "a\n```\nb\n```"),
            ("a\n```rust\nb", "a\n```rust\nb\n```"),
            ("~~~~\nb\n~~~", "~~~~\nb\n~~~\n~~~~"),
            ("```\n~~~\n````", "```\n~~~\n````"),
            ("`a`", "`a`"),
            (
                "<Details><summary>x</summary>",
                "<Details><summary>x</summary>\n</details>",
            ),
            ("<details></details>", "<details></details>"),
            ("<pre>a", "<pre>a\n</pre>"),
            // Indented code is no fence, and a fence in a list ends with it.
            ("fine\n\n    ```", "fine\n\n    ```"),
            ("a\n\n```\n    ```\n", "a\n\n```\n    ```\n```"),
        ] {
            assert_eq!(closed(text), expected);
        }
    }
}
