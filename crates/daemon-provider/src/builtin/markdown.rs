//! Links and headings in Markdown, with their positions.

use std::ops::Range;

/// The links and headings of a Markdown file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline {
    pub(crate) links: Vec<LinkDestination>,
    pub(crate) headings: Vec<Heading>,
}

/// The destination of one link, image or reference definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LinkDestination {
    pub(crate) line: usize,
    /// The byte range of the destination, without angle brackets.
    pub(crate) span: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) line: usize,
    pub(crate) level: usize,
}

/// Parses Markdown line by line. Links and headings in code, comments and front matter are skipped.
pub(crate) fn outline(text: &str) -> Outline {
    let mut reader = Reader {
        state: State::Text,
        previous: "",
        acc: Outline::default(),
    };
    let mut start = 0;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let content = line.trim_end_matches(['\n', '\r']);
        // Only the first line can open front matter; later, `---` is a rule or underlines a heading.
        if index == 0 && content == "---" {
            reader.state = State::FrontMatter;
        } else {
            reader.read(content, index + 1, start);
        }
        start += line.len();
    }
    reader.acc
}

struct Reader<'t> {
    state: State,
    /// The line before, if a row of dashes or equals signs below would make it a heading.
    previous: &'t str,
    acc: Outline,
}

enum State {
    Text,
    FrontMatter,
    /// Inside a fence that this many of this character close.
    Fence(char, usize),
    Comment,
}

impl<'t> Reader<'t> {
    fn read(&mut self, line: &'t str, number: usize, start: usize) {
        match self.state {
            State::FrontMatter => {
                if matches!(line.trim_end(), "---" | "...") {
                    self.state = State::Text;
                }
            }
            State::Fence(mark, length) => {
                if fence(line).is_some_and(|(other, n, rest)| {
                    other == mark && n >= length && rest.trim().is_empty()
                }) {
                    self.state = State::Text;
                }
            }
            State::Comment => {
                if let Some(end) = line.find("-->") {
                    self.state = State::Text;
                    self.inline(line, end + 3, number, start);
                }
            }
            State::Text => self.read_text(line, number, start),
        }
    }

    fn read_text(&mut self, line: &'t str, number: usize, start: usize) {
        let previous = std::mem::take(&mut self.previous);
        if let Some((mark, length, rest)) = fence(line) {
            // A backtick after the marks makes it a code span instead.
            if mark == '~' || !rest.contains('`') {
                self.state = State::Fence(mark, length);
                return;
            }
        }
        if let Some(level) = heading_level(line) {
            self.acc.headings.push(Heading {
                line: number,
                level,
            });
        } else if let Some(level) = underline_level(line).filter(|_| !previous.is_empty()) {
            self.acc.headings.push(Heading {
                line: number - 1,
                level,
            });
            return;
        } else if is_paragraph(line) {
            self.previous = line;
        }
        if let Some(offset) = definition(line) {
            self.destination(line, offset, number, start);
        } else {
            self.inline(line, 0, number, start);
        }
    }

    /// Finds the links of a line from this offset on.
    fn inline(&mut self, line: &str, from: usize, number: usize, start: usize) {
        let mut offset = from;
        while let Some(rest) = line.get(offset..).filter(|rest| !rest.is_empty()) {
            // An escaped character opens nothing, so the character after the backslash is skipped too.
            if let Some(escaped) = rest.strip_prefix('\\') {
                offset += 1 + escaped.chars().next().map_or(0, char::len_utf8);
            } else if rest.starts_with("<!--") {
                let Some(end) = rest.find("-->") else {
                    self.state = State::Comment;
                    return;
                };
                offset += end + 3;
            } else if rest.starts_with('`') {
                offset += code_span(rest);
            } else if rest.starts_with("](") {
                offset = self.destination(line, offset + 2, number, start);
            } else {
                offset += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
    }

    /// Records the destination that begins at this offset; returns where it ends.
    fn destination(&mut self, line: &str, offset: usize, number: usize, start: usize) -> usize {
        let rest = &line[offset..];
        let blank = rest.len() - rest.trim_start().len();
        let begin = offset + blank;
        let rest = &line[begin..];
        let span = match rest.strip_prefix('<') {
            Some(rest) => begin + 1..begin + 1 + rest.find('>').unwrap_or(0),
            None => begin..begin + bare_length(rest),
        };
        let end = span.end;
        if !span.is_empty() {
            let span = start + span.start..start + span.end;
            self.acc.links.push(LinkDestination { line: number, span });
        }
        end
    }
}

/// Reads three or more backticks or tildes: the mark, how many, and what follows them.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let line = line.trim_start_matches([' ', '>']);
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3).then_some((mark, length, rest))
}

fn heading_level(line: &str) -> Option<usize> {
    let (indent, line) = (line.len() - line.trim_start().len(), line.trim_start());
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    // Four blanks of indentation make a code block.
    let is_heading = indent < 4
        && (1..=6).contains(&level)
        && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then_some(level)
}

fn underline_level(line: &str) -> Option<usize> {
    let line = line.trim();
    let is_all = |mark| !line.is_empty() && line.chars().all(|char| char == mark);
    if is_all('=') {
        Some(1)
    } else if is_all('-') {
        Some(2)
    } else {
        None
    }
}

/// Whether a line can be the text of an underlined heading: not blank, a list item, a quotation or a table row.
fn is_paragraph(line: &str) -> bool {
    let begins_block = line
        .trim_start()
        .starts_with(['-', '*', '+', '>', '|', '#', '<']);
    !line.trim().is_empty() && !begins_block && !line.starts_with("    ") && !line.starts_with('\t')
}

/// Returns the offset of the destination of a reference definition. Footnotes are not reference definitions.
fn definition(line: &str) -> Option<usize> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if indent > 3 || !trimmed.starts_with('[') || trimmed.starts_with("[^") {
        return None;
    }
    let end = trimmed.find("]:")?;
    (!trimmed[1..end].contains(['[', ']'])).then_some(indent + end + 2)
}

/// Returns the length of the code span that begins here, or of its backticks if nothing closes it on this line.
fn code_span(rest: &str) -> usize {
    let ticks = rest.len() - rest.trim_start_matches('`').len();
    let mut offset = ticks;
    while let Some(next) = rest[offset..].find('`') {
        let begin = offset + next;
        let length = rest[begin..].len() - rest[begin..].trim_start_matches('`').len();
        offset = begin + length;
        if length == ticks {
            return offset;
        }
    }
    ticks
}

/// Returns the length of a destination without brackets: up to a blank or the closing parenthesis.
fn bare_length(rest: &str) -> usize {
    let mut depth = 0_usize;
    for (index, char) in rest.char_indices() {
        match char {
            '(' => depth += 1,
            ')' if depth == 0 => return index,
            ')' => depth -= 1,
            char if char.is_whitespace() || char.is_control() => return index,
            _ => {}
        }
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, links: &[(usize, &str)], headings: &[(usize, usize)]) {
        let found = outline(text);
        let found_links: Vec<(usize, &str)> = found
            .links
            .iter()
            .map(|link| (link.line, &text[link.span.clone()]))
            .collect();
        let found_headings: Vec<(usize, usize)> = found
            .headings
            .iter()
            .map(|heading| (heading.line, heading.level))
            .collect();
        assert_eq!(
            (&*found_links, &*found_headings),
            (links, headings),
            "{text}"
        );
    }

    #[test]
    fn links_are_found_with_their_places() {
        check(
            "a [b](c.md) and ![d](<e f.png> \"t\")\n",
            &[(1, "c.md"), (1, "e f.png")],
            &[],
        );
        check("[b](c(1).md 'title')", &[(1, "c(1).md")], &[]);
        check("[![i](x.png)](y.md)", &[(1, "x.png"), (1, "y.md")], &[]);
        check(
            "\r\n[ref]: ../a.md 'T'\r\n[^1]: not.md\n",
            &[(2, "../a.md")],
            &[],
        );
        check("[é](ü.md)[a]( b.md )", &[(1, "ü.md"), (1, "b.md")], &[]);
        check("[empty]()[](<>)[open](", &[], &[]);
    }

    #[test]
    fn code_comments_and_front_matter_hold_no_links() {
        check("---\na: [b](c.md)\n---\n[d](e.md)\n", &[(4, "e.md")], &[]);
        check(
            "```md\n[b](c.md)\n~~~\n```\n[d](e.md)\n",
            &[(5, "e.md")],
            &[],
        );
        check(
            "`[b](c.md)` ``x`[b](c.md)`` [d](e.md) `open [f](g.md)",
            &[(1, "e.md"), (1, "g.md")],
            &[],
        );
        check(
            "<!-- [b](c.md)\n[b](c.md) --> [d](e.md)\n",
            &[(2, "e.md")],
            &[],
        );
        check("\\[b\\](c.md) [b\\](c.md)", &[], &[]);
    }

    #[test]
    fn headings_are_found_in_both_forms() {
        check(
            "# A\n### B #\nC\n===\nD\n---\n",
            &[],
            &[(1, 1), (2, 3), (3, 1), (5, 2)],
        );
        check(
            "#no\n####### seven\n- item\n---\n\n---\n| a |\n---\n    # code\n",
            &[],
            &[],
        );
        check("```\n# A\n```\n##\n", &[], &[(4, 2)]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_every_span_is_a_slice(text in "[-\\[\\](<>`~#!a\u{e9} \\\\\n:=.]{0,60}") {
            for link in outline(&text).links {
                prop_assert!(!text[link.span].is_empty());
            }
        }
    }
}
