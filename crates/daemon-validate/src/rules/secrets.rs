//! D700: tokens and private keys.

mod encoded;
mod private_key;

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};
use daemon_spec::{Diagnostic, Span};

use self::encoded::encoded_tokens;
use self::private_key::{KEY_BEGIN, end_of_key};
use crate::Subject;
use crate::prose::leading;
use crate::report::report;

pub use self::encoded::is_base64;
pub use self::private_key::{
    MAX_KEY_BYTES, ends_in_key_beginning, is_open_key_in_base64, open_key,
};

/// The required form of the text after the beginning of a token.
#[derive(Clone, Copy)]
enum TokenShape {
    /// A minimum number of letters, digits or underscores.
    Word(usize),
    /// A minimum number of letters, digits, underscores or hyphens.
    Dashed(usize),
    /// An exact number of capitals or digits.
    Capitals(usize),
    /// Three parts of base64url, separated by points.
    Jwt,
    /// A header that ends in `PRIVATE KEY-----`.
    Pem,
    /// A minimum number of letters, digits, underscores or slashes.
    Path(usize),
}

// Beginning, description, and the form of the rest. The minimum lengths are at most those of tokens in
// use, so that no real token is missed.
const SHAPES: &[(&str, &str, TokenShape)] = &[
    ("ghp_", "a GitHub token", TokenShape::Word(30)),
    ("gho_", "a GitHub token", TokenShape::Word(30)),
    ("ghu_", "a GitHub token", TokenShape::Word(30)),
    ("ghs_", "a GitHub token", TokenShape::Word(30)),
    ("ghr_", "a GitHub token", TokenShape::Word(30)),
    ("github_pat_", "a GitHub token", TokenShape::Word(22)),
    ("glpat-", "a GitLab token", TokenShape::Dashed(20)),
    ("xoxa-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxb-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxc-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxe-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxp-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxr-", "a Slack token", TokenShape::Dashed(10)),
    ("xoxs-", "a Slack token", TokenShape::Dashed(10)),
    ("xapp-", "a Slack token", TokenShape::Dashed(10)),
    (
        "hooks.slack.com/services/",
        "a Slack webhook address",
        TokenShape::Path(20),
    ),
    ("AKIA", "an AWS access key", TokenShape::Capitals(16)),
    ("ASIA", "an AWS access key", TokenShape::Capitals(16)),
    ("lin_api_", "a Linear key", TokenShape::Word(20)),
    ("lin_oauth_", "a Linear token", TokenShape::Word(20)),
    ("lin_wh_", "a Linear webhook secret", TokenShape::Word(20)),
    ("sntrys_", "a Sentry token", TokenShape::Dashed(20)),
    ("sntryu_", "a Sentry token", TokenShape::Dashed(20)),
    ("sk-ant-", "an Anthropic key", TokenShape::Dashed(16)),
    ("sk-proj-", "an OpenAI key", TokenShape::Dashed(16)),
    ("sk-svcacct-", "an OpenAI key", TokenShape::Dashed(16)),
    ("sk-", "an OpenAI key", TokenShape::Word(20)),
    ("sk_live_", "a Stripe key", TokenShape::Word(16)),
    ("rk_live_", "a Stripe key", TokenShape::Word(16)),
    ("whsec_", "a webhook secret", TokenShape::Word(24)),
    ("AIza", "a Google key", TokenShape::Dashed(35)),
    ("npm_", "an npm token", TokenShape::Word(36)),
    ("pypi-", "a PyPI token", TokenShape::Dashed(50)),
    ("hf_", "a Hugging Face token", TokenShape::Word(30)),
    ("dop_v1_", "a DigitalOcean token", TokenShape::Word(60)),
    ("AGE-SECRET-KEY-1", "an age key", TokenShape::Capitals(50)),
    ("eyJ", "a JSON Web Token", TokenShape::Jwt),
    (KEY_BEGIN, "a private key", TokenShape::Pem),
];

static BEGINNINGS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(SHAPES.iter().map(|(beginning, _, _)| beginning))
        .expect("a few dozen short patterns fit every limit of the automaton")
});

// The longest tokens in use, JSON Web Tokens, have a few thousand characters.
const MAX_TOKEN_CHARS: usize = 8_192;

/// Returns a description of the first token or private key in `text`, such as `a GitHub token`.
///
/// Tokens in base64 are found too. Returns `None` if there is no token.
///
/// # Examples
///
/// ```
/// let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
/// assert_eq!(daemon_validate::find_secret(&format!("push with {token}")), Some("a GitHub token"));
/// assert_eq!(daemon_validate::find_secret("push with your own token"), None);
/// ```
pub fn find_secret(text: &str) -> Option<&'static str> {
    let plain = tokens(text).next();
    let found = plain.or_else(|| encoded_tokens(text).into_iter().next());
    found.map(|token| token.what)
}

/// Finds plain and base64-encoded tokens, ordered by position.
fn all_tokens(text: &str) -> Vec<Token> {
    let mut acc: Vec<Token> = tokens(text).collect();
    acc.append(&mut encoded_tokens(text));
    acc.sort_by_key(|token| token.range.start);
    acc
}

/// Returns `text` without tokens and private keys, or `None` if it contains none of them.
///
/// Each one is replaced by its description in brackets. Everything after the first line of a private
/// key is removed. Tokens in base64 are removed too.
///
/// # Examples
///
/// ```
/// let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
/// let text = format!("push with {token} now");
/// assert_eq!(daemon_validate::without_secrets(&text).as_deref(), Some("push with [a GitHub token, removed] now"));
/// assert_eq!(daemon_validate::without_secrets("push with your own"), None);
/// ```
pub fn without_secrets(text: &str) -> Option<String> {
    let mut acc = String::new();
    let mut at = 0;
    for token in all_tokens(text) {
        // A plain token and an encoded one can overlap. Both are removed as one.
        if token.range.start < at {
            at = at.max(token.range.end);
            continue;
        }
        acc.push_str(text.get(at..token.range.start).unwrap_or_default());
        acc.extend(["[", token.what, ", removed]"]);
        at = token.range.end;
        if token.what == "a private key" {
            at = text.len();
            break;
        }
    }
    if at == 0 {
        return None;
    }
    acc.push_str(text.get(at..).unwrap_or_default());
    Some(acc)
}

/// Returns the byte ranges of tokens and private keys in `text`, ordered by position.
///
/// A private key extends to its last line, or over 16 KiB if there is no last line within them. Tokens
/// and keys in base64 are found in both alphabets, at every alignment and across line breaks. Their
/// range includes every character that encodes a part of them.
///
/// # Examples
///
/// ```
/// let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
/// assert_eq!(daemon_validate::secret_ranges(&format!("use {token}!")), [4..48]);
/// ```
pub fn secret_ranges(text: &str) -> Vec<Range<usize>> {
    let plain = tokens(text).map(|token| whole(text, &token));
    let mut acc: Vec<Range<usize>> = plain.collect();
    acc.extend(encoded_tokens(text).into_iter().map(|token| token.range));
    acc.sort_by_key(|range| range.start);
    acc
}

/// Returns the end of the token or private key at the start of `text`, or `None` if `text` begins with
/// something else.
///
/// # Examples
///
/// ```
/// let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
/// assert_eq!(daemon_validate::secret_at_start(&format!("{token}!")), Some(44));
/// assert_eq!(daemon_validate::secret_at_start(&format!("x{token}")), None);
/// ```
pub fn secret_at_start(text: &str) -> Option<usize> {
    let begun = SHAPES
        .iter()
        .find_map(|(beginning, what, shape)| Some((text.strip_prefix(beginning)?, *what, *shape)));
    let (rest, what, shape) = begun?;
    let end = text.len() - rest.len() + shape.length(rest)?;
    let n_shown = 0;
    let range = 0..end;
    Some(
        whole(
            text,
            &Token {
                range,
                n_shown,
                what,
            },
        )
        .end,
    )
}

/// Returns `true` if `text` contains the first characters of a token, such as `ghp_`, plain or in
/// base64.
///
/// A caller that reads text in pieces keeps such a piece, because the rest of the token can be in the
/// next one.
pub fn may_begin_secret(text: &str) -> bool {
    BEGINNINGS.is_match(text) || encoded::may_begin(text)
}

/// Returns the range of a token. That of a private key extends to its last line.
fn whole(text: &str, token: &Token) -> Range<usize> {
    match token.what {
        "a private key" => token.range.start..end_of_key(text, token.range.end),
        _ => token.range.clone(),
    }
}

pub(crate) fn secret(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let text = subject.text();
    for found in tokens(text) {
        let start = found.range.start;
        let shown = text.get(start..start + found.n_shown).unwrap_or_default();
        let span = Span::new(start, found.range.end);
        acc.push(
            report(700, span, format!("`{shown}…` looks like {}", found.what))
                .with_help("revoke it, then remove it; the operator passes secrets to the runtime"),
        );
    }
}

/// A probable token.
pub(super) struct Token {
    pub(super) range: Range<usize>,
    /// The number of bytes at its start that a message may contain.
    n_shown: usize,
    what: &'static str,
}

/// Finds plain tokens, ordered by position.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    BEGINNINGS.find_iter(text).filter_map(|found| {
        let &(beginning, what, shape) = SHAPES.get(found.pattern().as_usize())?;
        let range = found.range();
        let before = text.get(..range.start)?.chars().next_back();
        // `risk-assessment` contains `sk-`, but no token begins in the middle of a word.
        if beginning.starts_with(char::is_alphanumeric) && before.is_some_and(|c| shape.joins(c)) {
            return None;
        }
        let length = shape.length(text.get(range.end..)?)?;
        let range = range.start..range.end + length;
        Some(Token {
            range,
            n_shown: beginning.trim_end().len(),
            what,
        })
    })
}

impl TokenShape {
    /// Returns `true` if a token directly after `before` is part of a longer word.
    fn joins(self, before: char) -> bool {
        let joins = match self {
            Self::Word(_) | Self::Path(_) | Self::Pem => "_",
            Self::Dashed(_) | Self::Capitals(_) | Self::Jwt => "_-.",
        };
        before.is_alphanumeric() || joins.contains(before)
    }

    /// Returns the number of bytes of `rest` that belong to the token, or `None` if it is not a token.
    fn length(self, rest: &str) -> Option<usize> {
        match self {
            Self::Word(least) => random(run(rest, "_"), least),
            Self::Dashed(least) => random(run(rest, "_-"), least),
            Self::Path(least) => random(run(rest, "_/"), least),
            Self::Capitals(count) => {
                let run = run(rest, "_-");
                let is_capital = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit();
                let fits = run.len() == count && run.bytes().all(is_capital);
                fits.then(|| random(run, count)).flatten()
            }
            Self::Jwt => jwt(rest),
            Self::Pem => {
                let header = leading(rest, 64, |c| c == '-' || c == ' ' || c.is_ascii_uppercase());
                let end = header.find("PRIVATE KEY-----")? + "PRIVATE KEY-----".len();
                Some(end)
            }
        }
    }
}

fn run<'a>(text: &'a str, joins: &str) -> &'a str {
    leading(text, MAX_TOKEN_CHARS, |c| {
        c.is_ascii_alphanumeric() || joins.contains(c)
    })
}

/// Returns the length of a run if it is long enough and has different characters.
///
/// `ghp_xxxx…` is an example in a document, not a token.
fn random(run: &str, least: usize) -> Option<usize> {
    let first = run.bytes().next()?;
    (run.len() >= least && run.bytes().any(|byte| byte != first)).then_some(run.len())
}

fn jwt(rest: &str) -> Option<usize> {
    let header = run(rest, "_-");
    let claims = run(rest.get(header.len()..)?.strip_prefix('.')?, "_-");
    let signature = run(
        rest.get(header.len() + 1 + claims.len()..)?
            .strip_prefix('.')?,
        "_-",
    );
    let fits = header.len() >= 10 && claims.starts_with("eyJ") && claims.len() >= 10;
    (fits && signature.len() >= 10).then_some(header.len() + claims.len() + signature.len() + 2)
}
