//! Prose read as words: what is left of a paragraph without its code.

/// One word of a paragraph.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Word {
    /// In lower case, with an apostrophe but without a possessive `'s`.
    pub(crate) word: String,
    /// The line in the file, from 1.
    pub(crate) line: usize,
    /// Whether only spaces or a line break separate it from the word before.
    pub(crate) follows: bool,
}

/// Returns the paragraphs of a document or of a doc comment, each with its first line; fenced code is left out.
pub(crate) fn paragraphs<'a>(
    first_line: usize,
    lines: impl IntoIterator<Item = &'a str>,
) -> Vec<(usize, String)> {
    let mut acc: Vec<(usize, String)> = Vec::new();
    let mut is_fenced = false;
    let mut is_new = true;
    for (nth, line) in lines.into_iter().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        // An unclosed fence hides the rest, as it does when it is rendered.
        is_fenced ^= is_fence;
        if is_fence || is_fenced || line.trim().is_empty() {
            is_new = true;
            continue;
        }
        match acc.last_mut().filter(|_| !is_new) {
            Some((_, paragraph)) => {
                paragraph.push('\n');
                paragraph.push_str(line);
            }
            None => acc.push((first_line + nth, line.to_owned())),
        }
        is_new = false;
    }
    acc
}

/// Splits a paragraph into words; code between backticks is not read.
pub(crate) fn words(first_line: usize, paragraph: &str) -> Vec<Word> {
    let mut acc = Vec::new();
    let mut line = first_line;
    let mut follows = false;
    let mut rest = paragraph;
    while let Some(c) = rest.chars().next() {
        let n_word = rest.find(|c| !is_in_word(c)).unwrap_or(rest.len());
        let n_bytes = if n_word > 0 {
            let word = word(&rest[..n_word], line, follows);
            follows = word.is_some();
            acc.extend(word);
            n_word
        } else {
            follows &= c.is_whitespace();
            code_span(rest).unwrap_or(c.len_utf8())
        };
        line += rest[..n_bytes].matches('\n').count();
        rest = &rest[n_bytes..];
    }
    acc
}

/// A hyphen joins words, and an underscore makes a name of them.
fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '\'' | '’')
}

fn word(text: &str, line: usize, follows: bool) -> Option<Word> {
    let word = text.to_lowercase().replace('’', "'");
    let word = word.trim_matches(['\'', '-', '_']);
    let word = word.strip_suffix("'s").unwrap_or(word);
    let is_word = word.contains(char::is_alphabetic);
    is_word.then(|| Word {
        word: word.to_owned(),
        line,
        follows,
    })
}

/// Returns the length of the code span that the text begins with; a backtick without a partner is punctuation.
fn code_span(text: &str) -> Option<usize> {
    let n_ticks = text.bytes().take_while(|&byte| byte == b'`').count();
    let ticks = &text[..n_ticks];
    let end = (n_ticks > 0).then(|| text[n_ticks..].find(ticks))??;
    Some(end + 2 * n_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(paragraph: &str) -> String {
        let words = words(1, paragraph).into_iter();
        let words = words.map(|it| {
            format!(
                "{}{}@{}",
                if it.follows { "" } else { "|" },
                it.word,
                it.line
            )
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_are_lower_case_with_their_lines_and_punctuation_separates() {
        assert_eq!(shown("It goes\non. On"), "|it@1 goes@1 on@2 |on@2");
    }

    #[test]
    fn code_in_backticks_is_no_word_also_across_lines() {
        assert_eq!(
            shown("a `b c` d ``e ` f`` g `h\ni` j `k"),
            "|a@1 |d@1 |g@1 |j@2 |k@2"
        );
    }

    #[test]
    fn hyphens_and_underscores_join_and_possessives_are_dropped() {
        assert_eq!(
            shown("stand-in, a_b: nobody's 'x' 12 - y"),
            "|stand-in@1 |a_b@1 |nobody@1 x@1 |y@1"
        );
    }

    #[test]
    fn paragraphs_leave_out_fenced_code() {
        let lines = ["a", "b", "", "```rust", "c", "", "```", "d"];
        assert_eq!(
            paragraphs(5, lines),
            [(5, "a\nb".to_owned()), (12, "d".to_owned())]
        );
    }
}
