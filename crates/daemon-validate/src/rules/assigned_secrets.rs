//! D701: passwords and keys with a literal value.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use daemon_spec::{Diagnostic, Span};
use memchr::memmem;

use super::secrets::tokens;
use crate::Subject;
use crate::prose::leading;
use crate::report::report;

const NAMES: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "access_token",
    "auth_token",
    "private_key",
    "token",
];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(NAMES)
        .expect("a dozen short patterns fit every limit of the automaton")
});

/// Words in the position of a value that are not a secret.
const NO_VALUES: [&str; 18] = [
    "true",
    "false",
    "null",
    "none",
    "required",
    "optional",
    "redacted",
    "string",
    "undefined",
    "hidden",
    "omitted",
    "missing",
    "unset",
    "empty",
    "secret",
    "secrets",
    "env",
    "environment",
];

/// The beginnings of references to a value that is stored elsewhere.
const REFERENCES: [&str; 9] = [
    "process.env",
    "os.environ",
    "env.",
    "secrets.",
    "vault",
    "op://",
    "…",
    "...",
    "xxx",
];

/// The maximum number of characters of a value or an address.
const MAX_VALUE_CHARS: usize = 256;

pub(crate) fn assignment(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    let mut found: Vec<(Range<usize>, String)> = assignments(text)
        .map(|(name, range)| (range, format!("`{name} = …` assigns a literal secret")))
        .chain(addresses(text).map(|range| (range, "an address contains a password".to_owned())))
        .collect();
    if found.is_empty() {
        return;
    }
    // A value with the form of a token has the code D700.
    let known: Vec<Range<usize>> = tokens(text).map(|token| token.range).collect();
    found.retain(|(range, _)| {
        let next = known.partition_point(|token| token.end <= range.start);
        known.get(next).is_none_or(|token| token.start >= range.end)
    });
    found.sort_by_key(|(range, _)| range.start);
    acc.extend(found.into_iter().map(|(range, message)| {
        report(701, Span::new(range.start, range.end), message)
            .with_help("name where the secret comes from; the operator passes it to the runtime")
    }));
}

/// Finds `name = value` with a literal value. Returns the name and the range of both.
fn assignments(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> + '_ {
    FINDER.find_iter(text).filter_map(|found| {
        let rest = text.get(found.end()..)?;
        // A quote, a blank and a backtick can separate name and sign, as in "`token` = x".
        let gap = leading(rest, 3, is_gap).len();
        let sign = *rest.as_bytes().get(gap)?;
        let after = rest
            .get(gap + 1..)
            .filter(|_| matches!(sign, b'=' | b':'))?;
        let lead = leading(after, 3, is_gap).len();
        let value = leading(after.get(lead..)?, MAX_VALUE_CHARS, |c| {
            !c.is_whitespace() && !"\"'`,;)".contains(c)
        });
        let end = found.end() + gap + 1 + lead + value.len();
        is_literal(value, sign).then(|| {
            (
                text.get(found.range()).unwrap_or_default(),
                found.start()..end,
            )
        })
    })
}

fn is_gap(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | ' ' | '\t')
}

/// Returns `true` for a literal, and `false` for a word of a sentence, a variable or a placeholder.
fn is_literal(value: &str, sign: u8) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let bare = value.trim_end_matches('.');
    let is_word = NO_VALUES.iter().any(|word| bare.eq_ignore_ascii_case(word));
    // After a colon a sentence can continue ("token: the operator's"), so a value needs a letter and a
    // digit there.
    let is_dense = if sign == b'=' {
        value.len() >= 6 || (has_digit && value.len() >= 4)
    } else {
        has_digit && has_letter && value.len() >= 6
    };
    is_dense && !is_reference(value) && !is_word
}

fn is_reference(value: &str) -> bool {
    let begins = |start: &&str| {
        value
            .get(..start.len())
            .is_some_and(|begin| begin.eq_ignore_ascii_case(start))
    };
    value.starts_with(['$', '<', '{', '%', '*', '[', '(', '=', '>'])
        || REFERENCES.iter().any(begins)
}

/// Finds `scheme://user:password@host` with a literal password.
fn addresses(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    memmem::find_iter(text.as_bytes(), "://").filter_map(|at| {
        let start = at + "://".len();
        let authority = leading(text.get(start..)?, MAX_VALUE_CHARS, |c| {
            !c.is_whitespace() && !"/\"'`<>)".contains(c)
        });
        // The last `@` separates the host: a password can contain one.
        let (login, _) = authority.rsplit_once('@')?;
        let (_, password) = login.split_once(':')?;
        (!password.is_empty() && !is_reference(password)).then(|| start..start + login.len())
    })
}
