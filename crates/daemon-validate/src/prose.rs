//! Simple analysis of English sentences, for rules that give advice.

use std::borrow::Cow;
use std::ops::Range;

/// Folds case and whitespace, so that two spellings of a sentence compare equal.
pub(crate) fn folded(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !acc.is_empty() {
            acc.push(' ');
        }
        acc.push_str(&lower(word));
    }
    acc
}

/// Returns a word in lower case. Most words are, and are not copied.
fn lower(word: &str) -> Cow<'_, str> {
    if word
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
    {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(word.to_lowercase())
    }
}

/// Returns `true` if a sorted table has a word.
pub(crate) fn is_among(sorted: &[&str], word: &str) -> bool {
    debug_assert!(sorted.is_sorted(), "the table is sorted");
    sorted.binary_search(&word).is_ok()
}

/// Returns the longest prefix whose characters satisfy `belongs`, at most `most` characters.
///
/// The bound keeps the time linear for hostile text in which a prefix begins every few bytes.
pub(crate) fn leading(text: &str, most: usize, belongs: impl Fn(char) -> bool) -> &str {
    let end = text
        .char_indices()
        .enumerate()
        .find(|(n, (_, c))| *n == most || !belongs(*c))
        .map_or(text.len(), |(_, (at, _))| at);
    text.get(..end).unwrap_or_default()
}

/// Counts sentences. A sentence ends at `.`, `!` or `?` before whitespace and a capital.
pub(crate) fn sentences(text: &str) -> usize {
    const ABBREVIATIONS: &[&str] = &[
        "e.g", "i.e", "etc", "vs", "cf", "approx", "incl", "no", "Dr", "Mr", "Mrs", "Ms", "St",
    ];
    let text = text.trim();
    if text.is_empty() {
        return 0;
    }
    let mut n_sentences = 1;
    for (at, mark) in text
        .char_indices()
        .filter(|(_, c)| matches!(c, '.' | '!' | '?'))
    {
        let rest = text.get(at + mark.len_utf8()..).unwrap_or_default();
        let next = rest.trim_start();
        // A capital must follow, so that `v1.2 of`, `e.g. x` and `Node.js` end no sentence.
        let is_end = rest.starts_with(char::is_whitespace)
            && next
                .starts_with(|c: char| c.is_uppercase() || c.is_numeric() || "\"'`“(".contains(c));
        let before = text.get(..at).unwrap_or_default();
        let word = before
            .rsplit(|c: char| c.is_whitespace() || c == '(')
            .next()
            .unwrap_or_default();
        if is_end && !(mark == '.' && ABBREVIATIONS.contains(&word)) {
            n_sentences += 1;
        }
    }
    n_sentences
}

/// Returns the words of `text`: letters, digits, apostrophes and inner hyphens.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '\'' || c == '-' || c == '’'))
        .map(|word| word.trim_matches(['-', '\'']))
        .filter(|word| !word.is_empty())
}

/// Returns the words in the position of an imperative: at the beginning, after a comma, and after a
/// word such as `and`. Adverbs before them are skipped.
pub(crate) fn verbs(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split([',', ';', ':', '(', '.']).flat_map(|clause| {
        let mut is_due = true;
        words(clause).filter_map(move |word| {
            let word = lower(word);
            match &*word {
                "and" | "or" | "then" => is_due = true,
                "please" | "always" | "also" | "first" | "only" | "not" | "never" | "do"
                | "don't" | "to" => {}
                // `reply` and `apply` end like adverbs, but are verbs that routines often use.
                adverb
                    if is_due
                        && adverb.len() > 4
                        && adverb.ends_with("ly")
                        && adverb != "reply"
                        && adverb != "apply" => {}
                _ => return std::mem::take(&mut is_due).then_some(word),
            }
            None
        })
    })
}

/// Returns the common form of the singular and the plural of a word.
pub(crate) fn stem(word: &str) -> Cow<'_, str> {
    stem_of(lower(word))
}

/// The same for a word in lower case.
pub(crate) fn stem_of(word: Cow<'_, str>) -> Cow<'_, str> {
    // The minimum lengths keep short words such as `dies`, `is` and `its` unchanged.
    if let Some(head) = word.strip_suffix("ies").filter(|head| head.len() > 2) {
        return Cow::Owned(format!("{head}y"));
    }
    let is_sibilant = ["ches", "shes", "sses", "xes"]
        .iter()
        .any(|ending| word.ends_with(ending));
    let length = if is_sibilant {
        word.trim_end_matches("es").len()
    } else {
        word.strip_suffix('s')
            .filter(|head| head.len() > 2 && !head.ends_with('s'))
            .map_or(word.len(), str::len)
    };
    match word {
        Cow::Borrowed(word) => Cow::Borrowed(&word[..length]),
        Cow::Owned(mut word) => {
            word.truncate(length);
            Cow::Owned(word)
        }
    }
}

/// The kind of a part of Markdown text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// Running text.
    Prose,
    /// Text between backticks.
    CodeSpan,
    /// A line of a fenced block.
    CodeBlock,
}

/// Divides Markdown text into running text and code.
pub(crate) fn settings(text: &str) -> Vec<(Setting, Range<usize>)> {
    let mut acc = Vec::new();
    let mut fence: Option<&str> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        // A block that opens with ``` can contain ~~~ and the reverse, so the marks must be equal.
        match (fence, mark) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, Some(mark)) => fence = Some(mark),
            (Some(_), _) => acc.push((Setting::CodeBlock, start..at)),
            (None, None) => acc.extend(spans(line, start)),
        }
    }
    acc
}

fn spans(line: &str, start: usize) -> impl Iterator<Item = (Setting, Range<usize>)> + '_ {
    let mut at = start;
    line.split('`')
        .enumerate()
        .filter_map(move |(index, part)| {
            let range = at..at + part.len();
            at = range.end + 1;
            let setting = if index % 2 == 0 {
                Setting::Prose
            } else {
                Setting::CodeSpan
            };
            (!part.is_empty()).then_some((setting, range))
        })
}
