//! D700 and D701: tokens, private keys and literal passwords.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use daemon_spec::{Diagnostic, Span};

use crate::Subject;
use crate::report::report;

/// How the text after a known beginning has to go on to be a token.
#[derive(Clone, Copy)]
enum Shape {
    /// At least so many letters, digits or underscores.
    Word(usize),
    /// At least so many letters, digits, underscores or hyphens.
    Dashed(usize),
    /// Exactly so many capitals or digits.
    Capitals(usize),
    /// Three parts of base64url with points between.
    Jwt,
    /// A header that ends in `PRIVATE KEY-----`.
    Pem,
    /// A path of letters, digits and slashes.
    Path(usize),
}

const SHAPES: &[(&str, &str, Shape)] = &[
    ("ghp_", "a GitHub token", Shape::Word(30)),
    ("gho_", "a GitHub token", Shape::Word(30)),
    ("ghu_", "a GitHub token", Shape::Word(30)),
    ("ghs_", "a GitHub token", Shape::Word(30)),
    ("ghr_", "a GitHub token", Shape::Word(30)),
    ("github_pat_", "a GitHub token", Shape::Word(22)),
    ("glpat-", "a GitLab token", Shape::Dashed(20)),
    ("xoxa-", "a Slack token", Shape::Dashed(10)),
    ("xoxb-", "a Slack token", Shape::Dashed(10)),
    ("xoxc-", "a Slack token", Shape::Dashed(10)),
    ("xoxe-", "a Slack token", Shape::Dashed(10)),
    ("xoxp-", "a Slack token", Shape::Dashed(10)),
    ("xoxr-", "a Slack token", Shape::Dashed(10)),
    ("xoxs-", "a Slack token", Shape::Dashed(10)),
    ("xapp-", "a Slack token", Shape::Dashed(10)),
    (
        "hooks.slack.com/services/",
        "a Slack webhook address",
        Shape::Path(20),
    ),
    ("AKIA", "an AWS access key", Shape::Capitals(16)),
    ("ASIA", "an AWS access key", Shape::Capitals(16)),
    ("lin_api_", "a Linear key", Shape::Word(20)),
    ("lin_oauth_", "a Linear token", Shape::Word(20)),
    ("lin_wh_", "a Linear webhook secret", Shape::Word(20)),
    ("sntrys_", "a Sentry token", Shape::Dashed(20)),
    ("sntryu_", "a Sentry token", Shape::Dashed(20)),
    ("sk-ant-", "an Anthropic key", Shape::Dashed(16)),
    ("sk-proj-", "an OpenAI key", Shape::Dashed(16)),
    ("sk-svcacct-", "an OpenAI key", Shape::Dashed(16)),
    ("sk-", "an OpenAI key", Shape::Word(20)),
    ("sk_live_", "a Stripe key", Shape::Word(16)),
    ("rk_live_", "a Stripe key", Shape::Word(16)),
    ("whsec_", "a webhook secret", Shape::Word(24)),
    ("AIza", "a Google key", Shape::Dashed(35)),
    ("npm_", "an npm token", Shape::Word(36)),
    ("pypi-", "a PyPI token", Shape::Dashed(50)),
    ("hf_", "a Hugging Face token", Shape::Word(30)),
    ("dop_v1_", "a DigitalOcean token", Shape::Word(60)),
    ("AGE-SECRET-KEY-1", "an age key", Shape::Capitals(50)),
    ("eyJ", "a JSON Web Token", Shape::Jwt),
    ("-----BEGIN ", "a private key", Shape::Pem),
];

static BEGINNINGS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(SHAPES.iter().map(|(beginning, _, _)| beginning))
        .expect("a few dozen short patterns fit every limit of the automaton")
});

const ASSIGNED_NAMES: &[&str] = &[
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

static ASSIGNMENTS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(ASSIGNED_NAMES)
        .expect("a few dozen short patterns fit every limit of the automaton")
});

/// What stands where a value would and is none.
const NO_VALUES: &[&str] = &[
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

pub(crate) fn secret(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    for found in tokens(text) {
        let message = format!(
            "`{}…` looks like {}",
            text.get(found.range.start..found.range.start + found.shown)
                .unwrap_or_default(),
            found.what
        );
        acc.push(
            report(700, found.range.into_span(), message)
                .with_help("revoke it, then remove it; the operator hands secrets to the runtime"),
        );
    }
}

pub(crate) fn assignment(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    let known: Vec<Range<usize>> = tokens(text).map(|found| found.range).collect();
    let assigned =
        assignments(text).filter(|(_, range)| !known.iter().any(|other| overlaps(other, range)));
    for (name, range) in assigned {
        acc.push(
            report(
                701,
                range.into_span(),
                format!("`{name} = …` assigns a literal secret"),
            )
            .with_help("name where the secret comes from; the operator hands it to the runtime"),
        );
    }
}

struct Token {
    range: Range<usize>,
    /// How many bytes the message may show.
    shown: usize,
    what: &'static str,
}

fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    BEGINNINGS.find_iter(text).filter_map(|found| {
        let &(beginning, what, shape) = SHAPES.get(found.pattern().as_usize())?;
        let range = found.range();
        // A token is not the tail of a longer word: `risk-assessment…`, `disk-…`.
        if beginning.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .get(..range.start)?
                .ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        {
            return None;
        }
        let length = shape.length(text.get(range.end..)?)?;
        Some(Token {
            range: range.start..range.end + length,
            shown: beginning.trim_end().len(),
            what,
        })
    })
}

impl Shape {
    /// Returns how many bytes of `rest` belong to the token, or `None` when this is none.
    fn length(self, rest: &str) -> Option<usize> {
        match self {
            Self::Word(least) => random(run(rest, is_word), least),
            Self::Dashed(least) => random(run(rest, |b| is_word(b) || b == b'-'), least),
            Self::Path(least) => random(run(rest, |b| is_word(b) || b == b'/'), least),
            Self::Capitals(count) => {
                let run = run(rest, |b| is_word(b) || b == b'-');
                let fits = run.len() == count
                    && run
                        .bytes()
                        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
                if fits { random(run, count) } else { None }
            }
            Self::Jwt => jwt(rest),
            Self::Pem => {
                let line = rest.lines().next()?;
                let end = line.find("PRIVATE KEY")? + "PRIVATE KEY".len();
                let dashes = run(rest.get(end..)?, |b| {
                    b == b'-' || b.is_ascii_uppercase() || b == b' '
                });
                Some(end + dashes.trim_end().len())
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn run(text: &str, belongs: impl Fn(u8) -> bool) -> &str {
    let length = text
        .bytes()
        .position(|byte| !belongs(byte))
        .unwrap_or(text.len());
    text.get(..length).unwrap_or_default()
}

/// Accepts a run that is long enough and not a row of one character, as in `ghp_xxxx…`.
fn random(run: &str, least: usize) -> Option<usize> {
    let first = run.bytes().next()?;
    (run.len() >= least && run.bytes().any(|byte| byte != first)).then_some(run.len())
}

fn jwt(rest: &str) -> Option<usize> {
    let whole = run(rest, |b| is_word(b) || b == b'-' || b == b'.');
    let mut parts = whole.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    let fits = header.len() >= 10 && claims.starts_with("eyJ") && claims.len() >= 10;
    (fits && signature.len() >= 10).then_some(header.len() + claims.len() + signature.len() + 2)
}

/// Finds `name = value` with a literal value; yields the name and the range of both.
fn assignments(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> + '_ {
    ASSIGNMENTS.find_iter(text).filter_map(|found| {
        let rest = text.get(found.end()..)?;
        let gap = rest.len() - rest.trim_start_matches(['"', '\'', ' ', '\t', '`']).len();
        let sign = *rest.as_bytes().get(gap)?;
        if gap > 3 || !matches!(sign, b'=' | b':') {
            return None;
        }
        let after = rest.get(gap + 1..)?;
        let lead = after.len() - after.trim_start_matches(['"', '\'', ' ', '\t', '`']).len();
        let value = run(after.get(lead..)?, |b| {
            !b.is_ascii_whitespace() && !matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')')
        });
        let is_literal = is_literal(value, sign);
        let start = found.start();
        is_literal.then(|| {
            (
                text.get(found.range()).unwrap_or_default(),
                start..found.end() + gap + 1 + lead + value.len(),
            )
        })
    })
}

/// A literal, as against a word of a sentence, a variable or a placeholder.
fn is_literal(value: &str, sign: u8) -> bool {
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_reference = value.starts_with(['$', '<', '{', '%', '*', '[', '(', '=', '>'])
        || [
            "process.env",
            "os.environ",
            "env.",
            "secrets.",
            "vault",
            "op://",
            "…",
            "...",
            "xxx",
        ]
        .iter()
        .any(|start| {
            value
                .get(..start.len())
                .is_some_and(|begin| begin.eq_ignore_ascii_case(start))
        });
    let is_word = NO_VALUES
        .iter()
        .any(|word| value.trim_end_matches('.').eq_ignore_ascii_case(word));
    // After a colon prose goes on ("token: the operator's"), so only what no word looks like counts.
    let is_dense = if sign == b'=' {
        value.len() >= 6 || (has_digit && value.len() >= 4)
    } else {
        has_digit && has_letter && value.len() >= 6
    };
    is_dense && !is_reference && !is_word
}

fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

trait IntoSpan {
    fn into_span(self) -> Span;
}

impl IntoSpan for Range<usize> {
    fn into_span(self) -> Span {
        Span::new(self.start, self.end)
    }
}
