//! Splits a line into tokens with their positions.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::span::Span;

/// A word, a literal or a mark of the author's line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// The normalised token: lower case for words, as written for literals.
    pub(crate) text: String,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A word.
    Word,
    /// Quoted or backticked characters: always data.
    Quoted,
    /// A path, a glob, or a word with the punctuation of code.
    Code,
    /// `@name`.
    User,
    /// `#name`.
    Channel,
    /// `#42`.
    Reference,
    /// A number.
    Number,
    /// A comma, a semicolon, a colon, a full stop or a bracket.
    Mark,
}

/// The bytes of most words, with the blank behind them.
const USUAL_BYTES: usize = 5;

/// Splits a line. Contractions come apart: `isn't` is `is` and `not`, `PR's` is `pr` and `'s`.
pub(crate) fn tokens(line: &str) -> Vec<Token> {
    let mut scanner = Scanner {
        line,
        at: 0,
        tokens: Vec::with_capacity(line.len() / USUAL_BYTES + 2),
        unclosed: Vec::new(),
    };
    while scanner.at < line.len() {
        scanner.step();
    }
    scanner.tokens
}

struct Scanner<'l> {
    line: &'l str,
    at: usize,
    tokens: Vec<Token>,
    /// Quotation marks without a closing one, so that a line full of them is searched once.
    unclosed: Vec<char>,
}

impl Scanner<'_> {
    fn step(&mut self) {
        let rest = &self.line[self.at..];
        let Some(first) = rest.chars().next() else {
            return;
        };
        if first.is_whitespace() {
            self.at += first.len_utf8();
        } else if let Some(end) = self.quoted(first) {
            let inner = Span::new(self.at + first.len_utf8(), end);
            let close = self.line[end..].chars().next().map_or(0, char::len_utf8);
            let text = inner.of(self.line).to_owned();
            self.push(TokenKind::Quoted, Span::new(self.at, end + close), text);
        } else if let Some(name) = emoji(rest) {
            let span = Span::new(self.at, self.at + name.len() + 2);
            let text = name.to_owned();
            self.push(TokenKind::Code, span, text);
        } else if is_mark(first) && !is_extension(rest) && !is_relative(rest) && !is_banged(rest) {
            self.push(
                TokenKind::Mark,
                Span::new(self.at, self.at + first.len_utf8()),
                plain(first),
            );
        } else {
            self.word();
        }
    }

    fn push(&mut self, kind: TokenKind, span: Span, text: String) {
        self.at = span.end;
        self.tokens.push(Token { kind, span, text });
    }

    /// Returns where the quoted text ends, if a quotation begins here.
    fn quoted(&mut self, open: char) -> Option<usize> {
        // Searched again at each mark, a line full of unclosed quotes would take quadratic time.
        if self.unclosed.contains(&open) {
            return None;
        }
        let closers: &[char] = match open {
            // `„…“` and `”…”` are closed by a mark that opens other quotations, so each of a family closes all.
            '"' | '“' | '”' | '„' => &['"', '”', '“'],
            '`' => &['`'],
            '\'' | '‘' | '’' | '‚' => &['\'', '’', '‘'],
            '«' => &['»'],
            _ => return None,
        };
        let from = self.at + open.len_utf8();
        let rest = &self.line[from..];
        let is_single = closers.contains(&'\'');
        let found = rest.char_indices().find(|(at, c)| {
            let next = rest[at + c.len_utf8()..].chars().next();
            // An apostrophe inside a word does not close a quotation.
            closers.contains(c) && (!is_single || !next.is_some_and(char::is_alphanumeric))
        });
        if found.is_none() {
            self.unclosed.push(open);
        }
        found.map(|(at, _)| from + at).filter(|end| *end > from)
    }

    fn word(&mut self) {
        let start = self.at;
        let rest = &self.line[start..];
        let mut depth = 0_usize;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            match c {
                // `{ts,tsx}` is one glob: a comma inside braces does not end it.
                '{' | '[' => depth += 1,
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
            let ends = c.is_whitespace()
                || matches!(c, '"' | '“' | '”' | '`' | '«' | '»' | ';' | '(' | ')' | '…')
                || (c == ',' && depth == 0)
                || matches!(c, '—' | '–');
            if ends && at > 0 {
                end = at;
                break;
            }
        }
        let mut word = &rest[..end];
        // Punctuation at the end belongs to the sentence.
        let trimmed = word.trim_end_matches(['.', ':', '!', '?', '\'', '’']);
        if !trimmed.is_empty() {
            word = trimmed;
        }
        self.classify(start, word);
        self.at = start + word.len();
    }

    fn classify(&mut self, start: usize, word: &str) {
        let span = Span::new(start, start + word.len());
        let owned = |kind| Token {
            kind,
            span,
            text: word.to_owned(),
        };
        if let Some(name) = word.strip_prefix('#').filter(|name| !name.is_empty()) {
            let is_number = name.bytes().all(|b| b.is_ascii_digit());
            // `#41` is an issue or a pull request, `#incidents` a channel.
            let kind = if is_number {
                TokenKind::Reference
            } else {
                TokenKind::Channel
            };
            self.tokens.push(Token {
                kind,
                span,
                text: name.to_owned(),
            });
        } else if let Some((name, suffix)) = possessive(word) {
            let at = Span::new(start + word.len() - suffix, span.end);
            self.classify(start, name);
            self.tokens.push(Token {
                kind: TokenKind::Word,
                span: at,
                // `it's` is `it is`; after other words `'s` is a possessive: `the PR's author`.
                text: if is_pronoun(name) { "is" } else { "'s" }.to_owned(),
            });
        } else if word.starts_with('@')
            && word.len() > 1
            && !word.starts_with("@-")
            // `an @mention of the bot` is a word for an event and names no user.
            && !word.eq_ignore_ascii_case("@mention")
            && !word.eq_ignore_ascii_case("@mentions")
        {
            self.tokens.push(Token {
                kind: TokenKind::User,
                span,
                text: word[1..].to_owned(),
            });
        } else if matches!(word, "/" | "|" | "//" | "||") {
            // `opened / closed` are alternatives.
            self.tokens.push(Token {
                kind: TokenKind::Word,
                span,
                text: "or".to_owned(),
            });
        } else if matches!(word, "=" | "==") {
            // `merged = true` says what `merged is true` does.
            self.tokens.push(Token {
                kind: TokenKind::Word,
                span,
                text: "is".to_owned(),
            });
        } else if matches!(word, "->" | "=>" | "+") {
            // Arrows are colons, and `issue + label added` is a list.
            let text = if word == "+" { "," } else { ":" };
            self.tokens.push(Token {
                kind: TokenKind::Mark,
                span,
                text: text.to_owned(),
            });
        } else if word.bytes().all(|b| b.is_ascii_digit()) {
            self.tokens.push(owned(TokenKind::Number));
        } else {
            let folded = fold(word);
            // `isn't` becomes `is` and `not`, so that negation has one spelling for all rules.
            if let Some(words) = apart(&folded) {
                let words = words.split(' ').map(|word| Token {
                    kind: TokenKind::Word,
                    span,
                    text: word.to_owned(),
                });
                self.tokens.extend(words);
            } else if !self.alternatives(start, word) {
                let (kind, text) = if is_code(word, &folded) {
                    (TokenKind::Code, word.to_owned())
                } else {
                    (TokenKind::Word, folded)
                };
                self.tokens.push(Token { kind, span, text });
            }
        }
    }

    /// Splits `opened/closed` at its slashes; a path keeps them.
    fn alternatives(&mut self, start: usize, word: &str) -> bool {
        if !word.contains('/') {
            return false;
        }
        let parts: Vec<&str> = word.split('/').collect();
        // After `named` a slash is part of a name, even between two words of events.
        let names_something = self.tokens.last().is_some_and(|token| {
            matches!(
                token.text.as_str(),
                "named" | "called" | "matching" | "like" | "to" | "into"
            )
        });
        let is_words = !names_something
            && parts
                .iter()
                .all(|part| crate::reader::is_event_word(&fold(part)));
        if !is_words {
            return false;
        }
        let mut at = start;
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                let text = "or".to_owned();
                self.tokens.push(Token {
                    kind: TokenKind::Word,
                    span: Span::new(at, at + 1),
                    text,
                });
                at += 1;
            }
            let span = Span::new(at, at + part.len());
            self.tokens.push(Token {
                kind: TokenKind::Word,
                span,
                text: fold(part),
            });
            at += part.len();
        }
        true
    }
}

/// Whether a string begins with a path that is relative to the directory, `./x`, or to the one above, `../x`.
fn is_relative(text: &str) -> bool {
    text.starts_with("./") || text.starts_with("../")
}

/// Whether a string begins with a word behind an exclamation mark, as some labels and commands are: `!triage`.
fn is_banged(text: &str) -> bool {
    let word = text
        .strip_prefix('!')
        .and_then(|rest| rest.split([' ', ',', '.']).next());
    word.is_some_and(|word| {
        word.len() > 1
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    })
}

fn is_mark(c: char) -> bool {
    matches!(
        c,
        ',' | ';'
            | ':'
            | '.'
            | '('
            | ')'
            | '!'
            | '?'
            | '—'
            | '–'
            | '…'
            | '"'
            | '\''
            | '’'
            | '`'
            | '“'
            | '”'
            | '‘'
            | '«'
            | '»'
            | '„'
            | '‚'
            | '→'
    )
}

/// An emoji's name between colons: `:eyes:`.
fn emoji(rest: &str) -> Option<&str> {
    let (name, _) = rest.strip_prefix(':')?.split_once(':')?;
    let is_name = !name.is_empty()
        && name.len() <= 64
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b));
    is_name.then_some(name)
}

/// Whether a full stop begins a name: `.sql`, `.github/workflows`.
fn is_extension(rest: &str) -> bool {
    let mut chars = rest.chars();
    chars.next() == Some('.')
        && chars
            .next()
            .is_some_and(|c| c.is_alphanumeric() || c == '/')
}

/// The mark under its plain name.
fn plain(c: char) -> String {
    match c {
        '—' | '–' | '…' | ';' => ",".to_owned(),
        // `PR opened → main` says behind the arrow what counts, as behind a colon.
        '→' => ":".to_owned(),
        other => other.to_string(),
    }
}

fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let lower = word.to_lowercase();
    // Hyphens and apostrophes as editors and keyboards spell them.
    let plain = lower.chars().map(|c| match c {
        '’' | '´' => '\'',
        '\u{2010}' | '\u{2011}' => '-',
        other => other,
    });
    plain.collect()
}

fn possessive(word: &str) -> Option<(&str, usize)> {
    for suffix in ["'s", "’s", "'S", "’S"] {
        if let Some(name) = word.strip_suffix(suffix).filter(|name| !name.is_empty()) {
            return Some((name, suffix.len()));
        }
    }
    None
}

/// Whether `'s` behind a word can only be `is`.
fn is_pronoun(word: &str) -> bool {
    matches!(
        fold(word).as_str(),
        "it" | "that" | "who" | "which" | "this" | "he" | "she"
    )
}

/// Words that are several, or that are misspelt so often that no other word is meant.
const CONTRACTIONS: &str = include_str!("../lexicon/contractions.tsv");

static APART: LazyLock<FxHashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let rows = CONTRACTIONS.lines().skip(1);
    rows.filter_map(|row| row.split_once('\t')).collect()
});

/// Returns the words of a contraction: "isn't" is "is not".
fn apart(word: &str) -> Option<String> {
    if let Some(words) = APART.get(word) {
        return Some((*words).to_owned());
    }
    let stem = word.strip_suffix("n't")?;
    Some(format!("{stem} not"))
}

/// Whether a word is code: a path, a glob, an extension, or punctuation that prose does not use.
fn is_code(word: &str, folded: &str) -> bool {
    let looks_like_code = is_banged(word)
        || word.contains(['/', '*', '{', '[', '<', '\\', '=', '$'])
        || (word.contains('.') && !word.ends_with('.') && word.len() > 1);
    // `(i.e. not a draft)` would be read as a changed file.
    let is_abbreviation = matches!(folded, "i.e" | "e.g");
    looks_like_code && !is_abbreviation && !crate::reader::is_known(folded)
}
