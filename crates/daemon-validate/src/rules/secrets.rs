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
    (KEY_BEGIN, "a private key", Shape::Pem),
];

static BEGINNINGS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(SHAPES.iter().map(|(beginning, _, _)| beginning))
        .expect("a few dozen short patterns fit every limit of the automaton")
});

/// Most characters of a token; the longest in use have a few thousand.
const MAX_TOKEN_CHARS: usize = 8_192;

/// Names a thing in a text that looks like a token or a private key, as it is or in base64: `a GitHub token`.
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

/// Finds tokens as they are and in base64, in the order of their places.
fn all_tokens(text: &str) -> Vec<Token> {
    let mut acc: Vec<Token> = tokens(text).collect();
    acc.append(&mut encoded_tokens(text));
    acc.sort_by_key(|token| token.range.start);
    acc
}

/// Writes a text without what looks like a token or a private key, as it is or in base64; `None` where nothing does.
///
/// Of a private key only the first line is known, so that everything after it goes too.
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

/// Returns where in a text something looks like a token or a private key, in the order of the places.
///
/// A private key reaches to the line that ends it, or over the 16 KiB in which that line was not found. What looks like one
/// after decoding it from base64 is found too: in either alphabet, at every alignment, across line breaks; its range includes
/// every character that encodes a part of it.
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

/// Returns the end of the token or private key that a text begins with.
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

/// Reports whether a text contains the first characters of a token, such as `ghp_`, unencoded or in base64.
///
/// A caller that reads a text in pieces keeps such a piece: the rest of the token can be in the next one.
pub fn may_begin_secret(text: &str) -> bool {
    BEGINNINGS.is_match(text) || encoded::may_begin(text)
}

/// Returns the range of a token; a private key reaches to the line that ends it.
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
                .with_help("revoke it, then remove it; the operator hands secrets to the runtime"),
        );
    }
}

/// Something that looks like a token.
pub(super) struct Token {
    pub(super) range: Range<usize>,
    /// How many of its first bytes a message may show.
    n_shown: usize,
    what: &'static str,
}

/// Finds unencoded tokens, in the order of their places.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token> + '_ {
    BEGINNINGS.find_iter(text).filter_map(|found| {
        let &(beginning, what, shape) = SHAPES.get(found.pattern().as_usize())?;
        let range = found.range();
        let before = text.get(..range.start)?.chars().next_back();
        if beginning.starts_with(char::is_alphanumeric) && before.is_some_and(|c| shape.goes_on(c))
        {
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

impl Shape {
    /// Reports whether a token after `before` would be the tail of something longer, as in
    /// `risk-assessment`.
    fn goes_on(self, before: char) -> bool {
        let joins = match self {
            Self::Word(_) | Self::Path(_) | Self::Pem => "_",
            Self::Dashed(_) | Self::Capitals(_) | Self::Jwt => "_-.",
        };
        before.is_alphanumeric() || joins.contains(before)
    }

    /// Returns how many bytes of `rest` belong to the token, or `None` when this is none.
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

/// Accepts a run that is long enough and not a row of one character, as in `ghp_xxxx…`.
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
