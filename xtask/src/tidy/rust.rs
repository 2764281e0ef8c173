//! Splits a Rust source into code, comments and string literals.

/// A Rust source whose comments and literals are taken apart from its code.
#[derive(Debug, Default)]
pub(crate) struct RustSource {
    /// The code, as long as the text: comments are spaces, the contents of literals are underscores.
    pub(crate) code: String,
    /// Every line of every comment.
    pub(crate) comments: Vec<Comment>,
    /// Every string literal.
    pub(crate) strings: Vec<Literal>,
}

/// One line of a comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comment {
    /// The line in the file, from 1.
    pub(crate) line: usize,
    pub(crate) kind: CommentKind,
    /// The text without the marker and one space after it.
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommentKind {
    /// `///` and `//!`.
    Doc,
    /// `//` on lines of its own.
    Plain,
    /// `//` after code.
    Trailing,
}

/// One string literal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    /// The line on which it opens, from 1.
    pub(crate) line: usize,
    /// The offset of the opening quote, which is the same in the text and in the code.
    pub(crate) at: usize,
    /// The text between the quotes, with its escapes.
    pub(crate) text: String,
}

impl RustSource {
    /// Splits a source that the compiler accepts.
    pub(crate) fn read(text: &str) -> Self {
        let mut lexer = Lexer {
            text,
            at: 0,
            line: 1,
            code: Vec::with_capacity(text.len()),
            source: Self::default(),
        };
        while lexer.at < text.len() {
            lexer.step();
        }
        let Lexer {
            code, mut source, ..
        } = lexer;
        source.code =
            String::from_utf8(code).expect("characters are copied whole or replaced by ASCII");
        source
    }

    /// Returns the number of lines that hold more than comments.
    pub(crate) fn code_lines(&self) -> usize {
        self.code
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count()
    }

    /// Returns the line of an offset, from 1.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        1 + self.code.as_bytes()[..at]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count()
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    code: Vec<u8>,
    source: RustSource,
}

impl Lexer<'_> {
    fn step(&mut self) {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        if rest.starts_with("//") {
            let end = rest.find('\n').unwrap_or(rest.len());
            self.comment(end);
        } else if rest.starts_with("/*") {
            self.comment(block_end(rest));
        } else if bytes[0] == b'"' {
            self.string();
        } else if bytes[0] == b'\'' {
            let n_code = char_literal(rest);
            self.copy_literal(n_code);
        } else if is_word(bytes[0]) {
            let end = bytes.iter().position(|&byte| !is_word(byte));
            let end = end.unwrap_or(bytes.len());
            let n_hashes = bytes[end..]
                .iter()
                .take_while(|&&byte| byte == b'#')
                .count();
            // `r#name` is a raw identifier; a raw string has a quote after the hashes.
            let is_quote = bytes.get(end + n_hashes) == Some(&b'"');
            let is_raw = matches!(&rest[..end], "r" | "br" | "cr");
            self.copy(end);
            if is_quote && is_raw {
                self.copy(n_hashes);
                self.raw_string(n_hashes);
            }
        } else {
            let n_bytes = rest.chars().next().map_or(1, char::len_utf8);
            self.copy(n_bytes);
        }
    }

    fn copy(&mut self, n_bytes: usize) {
        for &byte in &self.text.as_bytes()[self.at..self.at + n_bytes] {
            self.line += usize::from(byte == b'\n');
            self.code.push(byte);
        }
        self.at += n_bytes;
    }

    fn replace(&mut self, n_bytes: usize, by: u8) {
        for &byte in &self.text.as_bytes()[self.at..self.at + n_bytes] {
            self.line += usize::from(byte == b'\n');
            self.code
                .push(if byte.is_ascii_whitespace() { byte } else { by });
        }
        self.at += n_bytes;
    }

    fn copy_literal(&mut self, n_bytes: usize) {
        // A lone quote is the start of a lifetime.
        if n_bytes < 3 {
            return self.copy(n_bytes);
        }
        self.copy(1);
        self.replace(n_bytes - 2, b'_');
        self.copy(1);
    }

    fn string(&mut self) {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let mut n_bytes = 0;
        while let Some(&byte) = rest.get(n_bytes) {
            match byte {
                b'"' => break,
                // The escaped character may be a quote.
                b'\\' => n_bytes += 2,
                _ => n_bytes += 1,
            }
        }
        let n_bytes = n_bytes.min(rest.len());
        self.literal(n_bytes, 0);
    }

    fn raw_string(&mut self, n_hashes: usize) {
        let end = format!("\"{}", "#".repeat(n_hashes));
        let rest = &self.text[self.at + 1..];
        let n_bytes = rest.find(&end).unwrap_or(rest.len());
        self.literal(n_bytes, n_hashes);
    }

    fn literal(&mut self, n_bytes: usize, n_hashes: usize) {
        let start = self.at + 1;
        self.source.strings.push(Literal {
            line: self.line,
            at: self.at,
            text: self.text[start..start + n_bytes].to_owned(),
        });
        self.copy(1);
        self.replace(n_bytes, b'_');
        let n_close = (1 + n_hashes).min(self.text.len() - self.at);
        self.copy(n_close);
    }

    fn comment(&mut self, n_bytes: usize) {
        let text = &self.text[self.at..self.at + n_bytes];
        let is_doc =
            |long: &str| text.starts_with(long) && text.as_bytes().get(3) != long.as_bytes().last();
        let line_start = self.text[..self.at].rfind('\n').map_or(0, |at| at + 1);
        let kind =
            if is_doc("///") || text.starts_with("//!") || is_doc("/**") || text.starts_with("/*!")
            {
                CommentKind::Doc
            } else if self.text[line_start..self.at].trim().is_empty() {
                CommentKind::Plain
            } else {
                CommentKind::Trailing
            };
        for (nth, line) in text.trim_end_matches("*/").lines().enumerate() {
            let line = line.trim_start();
            let marker = if nth == 0 {
                ["///", "//!", "/**", "/*!", "//", "/*"].as_slice()
            } else {
                &["*"]
            };
            let line = marker
                .iter()
                .find_map(|marker| line.strip_prefix(marker))
                .unwrap_or(line);
            self.source.comments.push(Comment {
                line: self.line + nth,
                kind,
                text: line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned(),
            });
        }
        self.replace(n_bytes, b' ');
    }
}

/// Returns the length of a block comment, which may contain others.
fn block_end(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// Returns the length of a character literal, or 1 for the quote of a lifetime.
fn char_literal(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        // The character after the backslash may itself be a quote.
        Some((_, '\\')) => chars
            .skip(1)
            .find(|&(_, c)| c == '\'')
            .map_or(1, |(at, _)| at + 1),
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comments(text: &str) -> Vec<(usize, CommentKind, String)> {
        let comments = RustSource::read(text).comments.into_iter();
        comments.map(|it| (it.line, it.kind, it.text)).collect()
    }

    #[test]
    fn comments_have_their_kind_and_line() {
        let text = "//! Page.\n\n/// Doc.\nfn a() {\n    // Why.\n    b(); // After.\n}\n//// Rule.\n/* One\n * two */\n";
        let expected = [
            (1, CommentKind::Doc, "Page."),
            (3, CommentKind::Doc, "Doc."),
            (5, CommentKind::Plain, "Why."),
            (6, CommentKind::Trailing, "After."),
            (8, CommentKind::Plain, "/ Rule."),
            (9, CommentKind::Plain, "One"),
            (10, CommentKind::Plain, "two"),
        ];
        assert_eq!(
            comments(text),
            expected.map(|(line, kind, text)| (line, kind, text.to_owned()))
        );
    }

    #[test]
    fn strings_and_characters_hide_what_looks_like_code() {
        let text = "let a = \"// {\\\" }\"; let b = r#\"fn \"x\" {\"#; let c = '{'; let d = '\\''; let e: &'a str = b\"}\"; // {\nlet f = '\\u{7b}';";
        let source = RustSource::read(text);
        assert_eq!(
            source.code,
            "let a = \"__ ___ _\"; let b = r#\"__ ___ _\"#; let c = '_'; let d = '__'; let e: &'a str = b\"_\";     \nlet f = '______';"
        );
        let strings: Vec<&str> = source.strings.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(strings, ["// {\\\" }", "fn \"x\" {", "}"]);
        assert_eq!(source.comments.len(), 1);
    }

    #[test]
    fn nested_comments_end_where_the_outer_one_does() {
        let source = RustSource::read("/* a /* b */ c */ fn d() {}");
        assert_eq!(source.code.trim(), "fn d() {}");
    }

    #[test]
    fn lines_of_code_leave_out_comments_and_blank_lines() {
        let source = RustSource::read("// a\n\nfn b() { // c\n    \"x\n\n  y\"\n}\n");
        assert_eq!(source.code_lines(), 4);
        assert_eq!(source.line_of(source.code.find('}').unwrap()), 7);
    }
}
