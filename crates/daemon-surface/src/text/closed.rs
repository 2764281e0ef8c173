//! Closes what a body leaves open, so that the footer below it is shown.

/// The most closing tags that are added.
const MAX_TAGS: usize = 20;

/// Returns a body in which code fences and collapsed sections are closed.
pub(super) fn closed(text: &str) -> String {
    let mut acc = text.trim_end().to_owned();
    if let Some(fence) = open_fence(&acc) {
        acc = format!("{acc}\n{fence}");
    }
    let lower = acc.to_ascii_lowercase();
    let n_open = lower.matches("<details").count();
    let n_open = n_open.saturating_sub(lower.matches("</details").count());
    acc + &"\n</details>".repeat(n_open.min(MAX_TAGS))
}

/// Returns the marks of the code fence that is open at the end.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let Some((marks, rest)) = fence(line) else {
            continue;
        };
        match open {
            None => open = Some(marks),
            Some(known) if marks.starts_with(known) && rest.trim().is_empty() => open = None,
            Some(_) => {}
        }
    }
    open.map(str::to_owned)
}

/// Splits a line that can open or close a fence into its marks and the rest.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(' ');
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let n_marks = line.len() - line.trim_start_matches(mark).len();
    (n_marks >= 3).then(|| line.split_at(n_marks))
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
        ] {
            assert_eq!(closed(text), expected);
        }
    }
}
