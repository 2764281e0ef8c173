//! Mentions and links in what a run writes to services.

use std::ops::Range;

/// Returns the places of mentions, each from its `@` or `<` to its end.
///
/// Found are `@name` and `@org/team` as GitHub and Linear read them, and `<@U024BE7LH>` and `<!channel>` as Slack reads them.
/// What is certainly code in Markdown is skipped; in doubt, a name in code counts as a mention.
pub fn mentions(text: &str) -> Vec<Range<usize>> {
    let code = code(text);
    let bytes = text.as_bytes();
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'/');
    let mut acc = Vec::new();
    let mut end = 0;
    for (at, _) in text.char_indices() {
        if at < end || code.iter().any(|range| range.contains(&at)) {
            continue;
        }
        let rest = &bytes[at..];
        let is_in_word = at > 0 && bytes[at - 1].is_ascii_alphanumeric();
        let length = match rest {
            [b'<', b'@' | b'!', ..] => rest.iter().position(|b| *b == b'>').map(|at| at + 1),
            [b'@', first, ..] if first.is_ascii_alphanumeric() && !is_in_word => {
                Some(1 + rest[1..].iter().take_while(|b| is_word(b)).count())
            }
            _ => None,
        };
        if let Some(length) = length {
            end = at + length;
            acc.push(at..end);
        }
    }
    acc
}

/// Returns the number of links.
pub(super) fn n_links(text: &str) -> usize {
    let text = text.to_ascii_lowercase();
    text.matches("http://").count() + text.matches("https://").count()
}

/// Returns the places that every reader of Markdown takes for code.
// A person must not be notified because two readers disagree: HTML, escapes and unclosed fences end the search.
fn code(text: &str) -> Vec<Range<usize>> {
    let has_html =
        text.contains("<!") || text.lines().any(|line| line.trim_start().starts_with('<'));
    if has_html {
        return Vec::new();
    }
    let mut acc = Vec::new();
    let mut fence: Option<(usize, &str)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let marks = fence_of(line);
        match (fence, marks) {
            (None, Some(marks)) => fence = Some((start, marks)),
            (Some((from, open)), Some(marks)) if closes(line, marks, open) => {
                acc.push(from..start + line.len());
                fence = None;
            }
            (None, None) => {
                acc.extend(spans(line).map(|span| start + span.start..start + span.end));
            }
            (Some(_), _) => {}
        }
        start += line.len();
    }
    acc
}

/// Returns the marks of a line that opens or closes a fence.
fn fence_of(line: &str) -> Option<&str> {
    let marked = line.trim_start_matches(' ');
    let mark = marked
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let length = marked.len() - marked.trim_start_matches(mark).len();
    let is_indented = line.len() - marked.len() > 3;
    // A backtick after the marks makes the line a code span.
    let is_span = mark == '`' && marked[length..].contains('`');
    (length >= 3 && !is_indented && !is_span).then(|| &marked[..length])
}

fn closes(line: &str, marks: &str, open: &str) -> bool {
    marks.len() >= open.len() && marks.starts_with(&open[..1]) && line.trim().len() == marks.len()
}

/// Returns the code spans of a line with single backticks.
fn spans(line: &str) -> impl Iterator<Item = Range<usize>> {
    let is_doubtful = line.contains("``") || line.contains('\\');
    let marks: Vec<usize> = line.match_indices('`').map(|(at, _)| at).collect();
    let marks = if is_doubtful || marks.len() % 2 == 1 {
        Vec::new()
    } else {
        marks
    };
    let pairs: Vec<Range<usize>> = marks
        .chunks_exact(2)
        .map(|pair| pair[0]..pair[1] + 1)
        .collect();
    pairs.into_iter()
}

#[cfg(test)]
mod tests {
    use super::{mentions, n_links};

    fn found(text: &str) -> Vec<&str> {
        mentions(text)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn mentions_of_every_service_are_found() {
        for (text, expected) in [
            (
                "@octocat and @my-org/team.",
                vec!["@octocat", "@my-org/team"],
            ),
            ("cc @a, (@b) é@c", vec!["@a", "@b", "@c"]),
            ("a@example.com, @ nobody, @", vec![]),
            (
                "<@U024BE7LH> <!channel> <!subteam^S1|x>",
                vec!["<@U024BE7LH>", "<!channel>", "<!subteam^S1|x>"],
            ),
            ("<@U024", vec!["@U024"]),
        ] {
            assert_eq!(found(text), expected, "{text}");
        }
    }

    #[test]
    fn code_mentions_nobody_unless_in_doubt() {
        for (text, expected) in [
            ("`@Override` is missing", vec![]),
            ("```java\n@Override\n```\n@a", vec!["@a"]),
            ("~~~\n@b\n~~~~\n", vec![]),
            ("```\n@unclosed", vec!["@unclosed"]),
            ("```\n@short\n``\n", vec!["@short"]),
            ("\\`@escaped\\`", vec!["@escaped"]),
            ("``@double``", vec!["@double"]),
            ("`@odd` `", vec!["@odd"]),
            ("<!--\n```\n-->\n@hidden\n```", vec!["@hidden"]),
            ("    ```\n@indented\n    ```", vec!["@indented"]),
            ("```a`b\n@span\n```", vec!["@span"]),
        ] {
            let people = found(text).into_iter().filter(|name| name.starts_with('@'));
            assert_eq!(people.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn links_are_counted_in_any_case() {
        assert_eq!(n_links("http://a HTTPS://b [c](https://d) ftp://e"), 3);
    }
}
