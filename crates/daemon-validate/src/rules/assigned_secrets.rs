//! D701: passwords and keys with a literal value.

use std::ops::Range;

use daemon_spec::{Diagnostic, Span};
use memchr::{memchr2_iter, memmem};

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
    // Signs are rarer than letters, so the search begins at them.
    memchr2_iter(b'=', b':', text.as_bytes()).filter_map(|at| {
        let name = name_before(text.get(..at)?)?;
        let after = text.get(at + 1..)?;
        // A quote, a blank and a backtick can separate sign and value.
        let lead = leading(after, 3, is_gap).len();
        let value = leading(after.get(lead..)?, MAX_VALUE_CHARS, |c| {
            !c.is_whitespace() && !"\"'`,;)".contains(c)
        });
        let end = at + 1 + lead + value.len();
        let sign = *text.as_bytes().get(at)?;
        is_literal(value, sign)
            .then(|| (text.get(name.clone()).unwrap_or_default(), name.start..end))
    })
}

/// Returns the range of the longest name of a secret at the end of `text`. A quote, a blank and a
/// backtick can follow it, as in "`token` = x".
fn name_before(text: &str) -> Option<Range<usize>> {
    let gap = text
        .bytes()
        .rev()
        .take(3)
        .take_while(|b| is_gap(char::from(*b)));
    let end = text.len() - gap.count();
    let ends_with = |name: &&&str| {
        end.checked_sub(name.len())
            .and_then(|start| text.get(start..end))
            .is_some_and(|last| last.eq_ignore_ascii_case(name))
    };
    let longest = NAMES
        .iter()
        .filter(ends_with)
        .max_by_key(|name| name.len())?;
    Some(end - longest.len()..end)
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
