//! The diagnostics of parsing. Each has a function here, so that its wording is in one place.

use crate::limits::{
    MAX_DEPTH, MAX_FILE_BYTES, MAX_FRONT_MATTER_BYTES, MAX_LIST_ENTRIES, MAX_NODES,
    MAX_STRING_BYTES,
};
use crate::yaml::{SyntaxError, YamlNote, YamlNoteKind};
use crate::{Code, Diagnostic, Fix, Severity, Span, quoted};

const SKELETON: &str = "begin the file with a block such as:\n---\nid: my-daemon\npurpose: One sentence of intent.\n\
     watch:\n  - when a pull request is opened\nroutines:\n  - one concrete operation\n---";

fn error(code: u16, span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::new(code), Severity::Error, span, message)
}

pub(crate) fn not_utf8(at: usize) -> Diagnostic {
    error(1, Span::new(at, at + 1), "the file is not UTF-8").with_help("save the file as UTF-8")
}

pub(crate) fn holds_nul(at: usize) -> Diagnostic {
    error(1, Span::new(at, at + 1), "the file contains a NUL byte")
        .with_help("save the file as UTF-8")
}

pub(crate) fn file_too_large() -> Diagnostic {
    too_large(
        Span::at(0),
        format!("the file has more than {MAX_FILE_BYTES} bytes"),
    )
}

pub(crate) fn front_matter_too_large(open: Span) -> Diagnostic {
    too_large(
        open,
        format!("the front matter has more than {MAX_FRONT_MATTER_BYTES} bytes"),
    )
}

fn too_large(span: Span, message: String) -> Diagnostic {
    error(2, span, message).with_help("move detail to files below `references/`")
}

pub(crate) fn no_front_matter() -> Diagnostic {
    error(3, Span::at(0), "no `---` block at the top of the file").with_help(SKELETON)
}

/// Reports text or blank lines in `before`. Blank lines can be deleted without loss.
pub(crate) fn fence_position(before: Span, is_blank: bool) -> Diagnostic {
    let what = if is_blank {
        "blank lines precede"
    } else {
        "text precedes"
    };
    let found =
        error(4, before, format!("{what} the opening `---`")).with_help("put `---` on line 1");
    if is_blank {
        found.with_fix(Fix::replace("delete the blank lines", before, ""))
    } else {
        found
    }
}

pub(crate) fn unclosed(open: Span) -> Diagnostic {
    error(5, open, "the front matter is never closed")
        .with_help("add a line of `---` after the last field; `...` does not close")
}

pub(crate) fn byte_order_mark() -> Diagnostic {
    let span = Span::new(0, 3);
    Diagnostic::new(
        Code::new(6),
        Severity::Advice,
        span,
        "the file begins with a byte order mark",
    )
    .with_help("remove it")
    .with_fix(Fix::replace("remove the byte order mark", span, ""))
}

pub(crate) fn syntax(found: &SyntaxError) -> Diagnostic {
    error(10, found.span, format!("not YAML: {}", found.reason)).with_help(found.hint)
}

pub(crate) fn unquoted_colon(value: Span, raw: &str) -> Diagnostic {
    error(11, value, "`: ` splits this text")
        .with_help("quote the value")
        .with_fix(quote_fix(value, raw))
}

pub(crate) fn unquoted_indicator(value: Span, raw: &str) -> Diagnostic {
    let first = raw.chars().next().unwrap_or('*');
    let shown = if first == '`' {
        "`` ` ``".to_owned()
    } else {
        format!("`{first}`")
    };
    error(
        12,
        value,
        format!("the value begins with {shown}, which has a special meaning in YAML"),
    )
    .with_help("quote the value")
    .with_fix(quote_fix(value, raw))
}

/// Reports that YAML reads `lost` as a comment, although `whole` is meant as one string.
pub(crate) fn lost_to_comment(whole: Span, raw: &str, lost: Span, word: &str) -> Diagnostic {
    Diagnostic::new(
        Code::new(13),
        Severity::Warning,
        lost,
        format!("` #` cuts `{word}` off as a comment"),
    )
    .with_help("quote the value")
    .with_fix(quote_fix(whole, raw))
}

fn quote_fix(value: Span, raw: &str) -> Fix {
    // A single-quoted string folds its lines like an unquoted one, so the value stays the same.
    let text = if raw.contains(['\n', '\r']) {
        format!("'{}'", raw.replace('\'', "''"))
    } else {
        quoted(raw)
    };
    Fix::replace("quote the value", value, text)
}

pub(crate) fn duplicate_key(key: Span, name: &str) -> Diagnostic {
    error(14, key, format!("`{name}` occurs twice")).with_help("merge the two into one")
}

pub(crate) fn not_a_mapping(span: Span) -> Diagnostic {
    error(
        15,
        span,
        "the front matter is not made of `key: value` lines",
    )
    .with_help(SKELETON)
}

pub(crate) fn key_is_no_word(span: Span) -> Diagnostic {
    error(15, span, "this key is not a word").with_help(SKELETON)
}

pub(crate) fn merge_of_no_mapping(span: Span) -> Diagnostic {
    error(
        10,
        span,
        "not YAML: `<<` takes a mapping or a list of mappings",
    )
    .with_help("write the values out")
}

pub(crate) fn merge_key(span: Span) -> Diagnostic {
    alias_or_tag(span, "a merge key")
}

fn alias_or_tag(span: Span, what: &str) -> Diagnostic {
    Diagnostic::new(
        Code::new(16),
        Severity::Warning,
        span,
        format!("YAML parsers differ in how they read {what}"),
    )
    .with_help("write the value out")
}

/// Returns the diagnostic of a note on the tree.
pub(crate) fn note(note: YamlNote, text: &str) -> Diagnostic {
    let YamlNote { span, kind } = note;
    let over = |what: String| too_large(span, what);
    match kind {
        YamlNoteKind::Anchor => alias_or_tag(span, "an anchor"),
        YamlNoteKind::Alias => alias_or_tag(span, "an alias"),
        YamlNoteKind::Tag => alias_or_tag(span, "a tag"),
        // An alias without an anchor is almost always a value such as `*.md` that needs quotes.
        YamlNoteKind::UnknownAlias => unquoted_indicator(span, text),
        YamlNoteKind::TooManyNodes => over(format!("the YAML has more than {MAX_NODES} nodes")),
        YamlNoteKind::TooDeep => over(format!("the YAML nests deeper than {MAX_DEPTH}")),
        YamlNoteKind::LongString => {
            over(format!("the text has more than {MAX_STRING_BYTES} bytes"))
        }
        YamlNoteKind::LongList => {
            over(format!("the list has more than {MAX_LIST_ENTRIES} entries"))
        }
    }
}
