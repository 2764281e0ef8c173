//! Mentions and links in what a run writes to services.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};

/// The longest reference to a character, such as `&commat;`, in bytes.
const LONGEST_REFERENCE: usize = 16;

/// A mention: its place from its `@`, `<` or `&` to its end, and where the sign before the name ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// The whole mention.
    pub range: Range<usize>,
    /// The end of the sign, at which the mention can be broken.
    pub sign_end: usize,
}

/// Returns the mentions in prose.
///
/// Found are `@name` and `@org/team` as GitHub and Linear read them, with the sign as a reference to the character (`&#64;`), too, and
/// `<@U024BE7LH>` and `<!channel>` as Slack reads them. What is certainly code in Markdown is skipped; in doubt, a name in code counts as
/// a mention.
pub fn mentions(text: &str) -> Vec<Mention> {
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
        let (length, sign) = match rest {
            [b'<', b'@' | b'!', ..] => match rest.iter().position(|b| *b == b'>') {
                Some(close) => (close + 1, 2),
                None => continue,
            },
            _ => match sign(&text[at..]) {
                Some(sign)
                    if !is_in_word && rest.get(sign).is_some_and(u8::is_ascii_alphanumeric) =>
                {
                    let name = rest[sign..].iter().take_while(|b| is_word(b)).count();
                    (sign + name, sign)
                }
                _ => continue,
            },
        };
        end = at + length;
        acc.push(Mention {
            range: at..end,
            sign_end: at + sign,
        });
    }
    acc
}

/// Returns the length of the sign of a mention at the beginning of a string.
fn sign(text: &str) -> Option<usize> {
    match text.as_bytes().first()? {
        b'@' => Some(1),
        b'&' => reference(text)
            .filter(|(char, _)| *char == '@')
            .map(|(_, length)| length),
        _ => None,
    }
}

/// Reads a reference to a character at the beginning of a string: a number, or one of the names that matter in addresses and mentions.
/// Returns the character and the length of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    let length = text
        .bytes()
        .take(LONGEST_REFERENCE)
        .position(|byte| byte == b';')?;
    let name = text.get(1..length)?;
    let char = match name.strip_prefix('#') {
        Some(number) => {
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
        None => match name {
            "commat" => '@',
            "colon" => ':',
            "sol" => '/',
            "period" => '.',
            _ => return None,
        },
    };
    Some((char, length + 1))
}

/// Returns the number of links: addresses with `//` and any scheme, and names that begin with `www.`.
pub(super) fn n_links(text: &str) -> usize {
    let text = plain(text);
    let is_before = |at: usize, before: &[u8]| {
        let byte = at.checked_sub(1).map(|at| text.as_bytes()[at]);
        byte.is_none_or(|byte| before.contains(&byte))
    };
    let has_name = |end: usize| text[end..].starts_with(|c: char| c.is_alphanumeric() || c == '[');
    let addresses = text
        .match_indices("//")
        .filter(|(at, _)| is_before(*at, b":(<\"'= [") && has_name(at + 2));
    let names = text
        .match_indices("www.")
        .filter(|(at, _)| is_before(*at, b" \n\t(<*_~[]\"'") && has_name(at + 4));
    addresses.count() + names.count()
}

/// Returns a string in lower case, without backslashes, and with the characters that are referred to.
fn plain(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let found = if char == '&' { reference(rest) } else { None };
        let (shown, length) = found.unwrap_or((char, char.len_utf8()));
        if char != '\\' {
            acc.push(shown.to_ascii_lowercase());
        }
        rest = &rest[length..];
    }
    acc
}

/// Returns the places that every reader of Markdown takes for code: two readers, of which one is that of CommonMark with tables.
fn code(text: &str) -> Vec<Range<usize>> {
    let doubtless = doubtless_code(text);
    if doubtless.is_empty() {
        return doubtless;
    }
    let events = Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter();
    let is_code =
        |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_)));
    let read: Vec<Range<usize>> = events
        .filter(|(event, _)| is_code(event))
        .map(|(_, range)| range)
        .collect();
    let both = doubtless.iter().flat_map(|one| {
        read.iter()
            .map(|other| one.start.max(other.start)..one.end.min(other.end))
    });
    both.filter(|range| !range.is_empty()).collect()
}

/// Returns the places of code that a simple reader finds.
// A person must not be notified because two readers disagree: HTML, escapes and unclosed fences end the search.
fn doubtless_code(text: &str) -> Vec<Range<usize>> {
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
            .map(|mention| &text[mention.range])
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
            (
                "&#64;a &#x40;b &#X0040;c &commat;d/e &amp;f &#64; x&#64;g",
                vec!["&#64;a", "&#x40;b", "&#X0040;c", "&commat;d/e"],
            ),
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
            ("`a\nb` @between `c\nd`", vec!["@between"]),
            ("- a\n\n  ```\n  x\n\n@item\n\n```\ny\n```\n", vec!["@item"]),
            (
                "see <a title=\"`\">@attribute <b title=\"`\">",
                vec!["@attribute"],
            ),
            ("|a|b|\n|-|-|\n| ` @cell | ` |", vec!["@cell"]),
            (
                "see <http://x.example/`> @address <http://x.example/`>",
                vec!["@address"],
            ),
        ] {
            let people = found(text).into_iter().filter(|name| name.starts_with('@'));
            assert_eq!(people.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn links_are_counted_in_any_form() {
        for (text, expected) in [
            ("http://a HTTPS://b [c](https://d) ftp://e", 4),
            ("www.a.example and (WWW.b.example), not awww.c or www. d", 2),
            ("[1](//a.example) <a href=//b> <a href=\"//c\">", 3),
            (
                "[1](https&#58;//a) [2](https:&sol;&#x2f;b) [3](https:\\/\\/c)",
                3,
            ),
            ("[1]: //a.example", 1),
            ("a comment // of code, `//x`, and a/b//c", 0),
            ("http://[::1]/", 1),
        ] {
            assert_eq!(n_links(text), expected, "{text}");
        }
    }
}
