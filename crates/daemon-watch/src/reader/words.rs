//! The words of a line as edges: phrases of the lexicon, literals, and words that may be values.

mod shape;

use std::ops::Range;

use daemon_event::{Source, vocabulary};

use super::category::Category;
use super::grammar::Grammar;
use super::typo::mend;
use super::value::{Sense, Value};
use crate::meaning::event::GuardedEvent;
use crate::meaning::formula::Formula;
use crate::normalise::{Token, TokenKind};
use shape::{compound, has_inner_capital, is_name_like, is_version};

/// A word or phrase over a span of tokens.
pub(super) struct Word {
    pub(super) category: Category,
    pub(super) range: Range<usize>,
    pub(super) cost: u32,
    said: Said,
    /// The token that was misspelt, and the word that it was read as.
    pub(super) mended: Option<(usize, &'static str)>,
}

/// What a word says. Its value is made when a parse asks for it, since most words of a line are in no parse.
#[derive(Clone)]
enum Said {
    /// A sense of the lexicon.
    Sense(&'static Sense),
    /// The token, as its author writes it.
    Token,
    Value(Box<Value>),
}

/// The categories of words that are known in one place of a line only: elsewhere, "fine" and "support" say what no event holds.
pub(super) const PLACED: &[&str] = &[
    "order",
    "order.n",
    "lead",
    "lead.subject",
    "lead.verb",
    "lead.object",
    "lead.start",
    "linked",
    "excl.ed",
];

impl Word {
    pub(super) fn value(&self, line: &str, tokens: &[Token]) -> Value {
        match &self.said {
            Said::Sense(sense) => sense.value(&self.range),
            Said::Token => strings(written(line, &tokens[self.range.start])),
            Said::Value(value) => (**value).clone(),
        }
    }

    /// Whether the word only marks structure and has no value.
    pub(super) fn is_structure(&self) -> bool {
        matches!(self.said, Said::Sense(Sense::Nothing | Sense::Word(_)))
    }

    /// Whether the word is one of the lexicon at any place of a line.
    pub(super) fn is_known(&self, grammar: &Grammar) -> bool {
        self.cost == 0 && !grammar.placed.contains(&self.category)
    }
}

/// A bare word that looks like a name, an unknown word, and a word of the lexicon, as values.
const NAME_LIKE: u32 = 10;
const UNKNOWN: u32 = 30;
const KNOWN: u32 = 60;

/// The longest key of a team, such as `OPS`.
const LONGEST_KEY: usize = 5;

/// A misspelt word.
const TYPO: u32 = 60;

/// The base form behind "is", where English has the participle: "is merge into main".
const BASE_FORM: u32 = 30;

/// Adds the words that begin at each token.
pub(super) fn words(
    grammar: &'static Grammar,
    line: &str,
    tokens: &[Token],
    found: &mut Vec<Word>,
) {
    let mended: Vec<Option<&'static str>> = (tokens.iter())
        .map(|token| mended(grammar, line, token))
        .collect();
    let lists = lists(tokens);
    for (at, token) in tokens.iter().enumerate() {
        if let Some(list) = lists.iter().find(|list| list.contains(&at)) {
            found.extend(list_word(grammar, tokens, list).filter(|_| at == list.start));
            continue;
        }
        let before = found.len();
        if matches!(token.kind, TokenKind::Word | TokenKind::Mark) {
            phrases(grammar, tokens, &mended, at, found);
        }
        let is_known = found[before..].iter().any(|word| word.is_known(grammar));
        let Some((name, cost)) = value_of(grammar, line, token, is_known) else {
            continue;
        };
        let text = written(line, token);
        found.extend(full_name(line, tokens, at, is_known, grammar));
        let mut add = |name: &str, cost: u32, said: Said| {
            if let Some(category) = grammar.categories.find(name) {
                found.push(Word {
                    category,
                    range: at..at + 1,
                    cost,
                    said,
                    mended: None,
                });
            }
        };
        if let Some((value, name)) = compound(text) {
            add(name, 0, Said::Value(Box::new(strings(value))));
        }
        if let Some(channel) = channel(token, text) {
            add("lit.channel", 0, Said::Value(Box::new(strings(channel))));
        }
        let is_noun = is_thing(grammar, &token.text);
        for (name, cost) in capitals(token, text, is_known, is_noun, at) {
            add(name, cost, Said::Token);
        }
        let behind = tokens.get(at + 1).map_or("", |token| token.text.as_str());
        if let Some(event) = raw(text, behind, at) {
            let events = Value::Events(vec![event], Vec::new());
            add("raw", 0, Said::Value(Box::new(events)));
        }
        let elsewhere = raw_elsewhere(text, at);
        if !elsewhere.is_empty() {
            let events = Value::Events(elsewhere, Vec::new());
            add("raw.other", 0, Said::Value(Box::new(events)));
        }
        // A misspelt word of the lexicon is a value only if nothing else is meant.
        let typo = if mended[at].is_some() { TYPO } else { 0 };
        if name == "bare" && !is_noun {
            add("bare.branch", cost + typo, Said::Token);
        }
        add(name, cost + typo, Said::Token);
    }
}

/// The least number of literals in a row that are one word: no rule has to join them one by one.
const LONG_LIST: usize = 10;

/// Returns the long lists of code or of quoted words, without connectives.
fn lists(tokens: &[Token]) -> Vec<Range<usize>> {
    let is_comma = |token: &Token| token.kind == TokenKind::Mark && token.text == ",";
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !matches!(token.kind, TokenKind::Code | TokenKind::Quoted) {
            continue;
        }
        match found.last_mut() {
            Some(list)
                if list.end + 1 == at
                    && is_comma(&tokens[list.end])
                    && tokens[list.start].kind == token.kind =>
            {
                list.end = at + 1;
            }
            _ => found.push(at..at + 1),
        }
    }
    found.retain(|list| list.len() >= 2 * LONG_LIST - 1);
    found
}

/// Returns a list of literals as one literal with several values.
fn list_word(grammar: &Grammar, tokens: &[Token], list: &Range<usize>) -> Option<Word> {
    let name = match tokens[list.start].kind {
        TokenKind::Code => "lit.code",
        _ => "lit.quoted",
    };
    let literals = tokens[list.clone()].iter().step_by(2);
    Some(Word {
        category: grammar.categories.find(name)?,
        range: list.clone(),
        cost: 0,
        said: Said::Value(Box::new(Value::Strings(
            literals.map(|token| token.text.clone()).collect(),
        ))),
        mended: None,
    })
}

/// Returns two capitalised words that are not in the lexicon as the name of a person: "Ida Brook".
fn full_name(
    line: &str,
    tokens: &[Token],
    at: usize,
    is_known: bool,
    grammar: &Grammar,
) -> Option<Word> {
    let (first, second) = (&tokens[at], tokens.get(at + 1)?);
    let is_name = |token: &Token| {
        let text = token.span.of(line);
        token.kind == TokenKind::Word
            && text.starts_with(char::is_uppercase)
            && text.chars().skip(1).all(char::is_lowercase)
    };
    let is_unknown = !is_known && !grammar.lexicon.is_word(&second.text);
    (is_unknown && is_name(first) && is_name(second)).then_some(())?;
    let name = format!("{} {}", first.span.of(line), second.span.of(line));
    Some(Word {
        category: grammar.categories.find("bare.full")?,
        range: at..at + 2,
        cost: 2 * NAME_LIKE,
        said: Said::Value(Box::new(strings(&name))),
        mended: None,
    })
}

/// Returns the name of a channel in quotes or backticks.
fn channel<'t>(token: &Token, text: &'t str) -> Option<&'t str> {
    let is_literal = matches!(token.kind, TokenKind::Code | TokenKind::Quoted);
    let name = text.strip_prefix('#').filter(|name| !name.is_empty());
    name.filter(|_| is_literal)
}

/// Returns the categories of a word with capitals, with their prices: what a comment says, the key of a team, and a name.
fn capitals(
    token: &Token,
    text: &str,
    is_known: bool,
    is_thing: bool,
    at: usize,
) -> Vec<(&'static str, u32)> {
    if token.kind != TokenKind::Word {
        return Vec::new();
    }
    // "the Deploy or `nightly` workflow": a capital inside a line makes a name of a noun too.
    let is_proper = is_known && at > 0 && text.starts_with(char::is_uppercase);
    let proper = is_proper.then_some(("bare.proper", 0));
    let is_upper = text.len() > 1 && text.bytes().all(|b| b.is_ascii_uppercase());
    if !is_upper {
        return proper.into_iter().collect();
    }
    let is_key = text.len() <= LONGEST_KEY && !is_known;
    let key = is_key.then_some(("bare.key", NAME_LIKE));
    // A comment "says PR" in no line: the word is a noun there.
    let upper = (!is_thing).then_some(("bare.upper", KNOWN)).into_iter();
    upper.chain(key).chain(proper).collect()
}

/// Adds the participles of the verbs that are found in their base form; a word that is an adjective too is meant as one.
fn participles(grammar: &Grammar, before: usize, found: &mut Vec<Word>) {
    let name = |word: &Word| grammar.categories.name(word.category);
    let is_adjective = found[before..]
        .iter()
        .any(|word| name(word).starts_with("adj"));
    let behind = if is_adjective { found.len() } else { before };
    let participle = |word: &Word| {
        let verb = name(word).strip_suffix(".b")?;
        let category = grammar.categories.find(&format!("{verb}.ed"))?;
        verb.starts_with("v.").then(|| Word {
            category,
            range: word.range.clone(),
            cost: word.cost + BASE_FORM,
            said: word.said.clone(),
            mended: word.mended,
        })
    };
    let more: Vec<Word> = found[behind..].iter().filter_map(participle).collect();
    found.extend(more);
}

/// Returns the text of a value. Names keep the author's spelling, since branches and paths are compared byte for byte.
fn written<'t>(line: &'t str, token: &'t Token) -> &'t str {
    match token.kind {
        TokenKind::Word => token.span.of(line),
        _ => &token.text,
    }
}

fn strings(text: &str) -> Value {
    Value::Strings(vec![text.to_owned()])
}

/// Returns the category of a token as a value, with its price.
fn value_of(
    grammar: &Grammar,
    line: &str,
    token: &Token,
    is_known: bool,
) -> Option<(&'static str, u32)> {
    let written = token.span.of(line);
    let is_capital = written.starts_with(char::is_uppercase);
    Some(match token.kind {
        TokenKind::Mark => return None,
        TokenKind::Quoted => ("lit.quoted", 0),
        TokenKind::Code if written.starts_with(':') => ("lit.emoji", 0),
        TokenKind::Code => ("lit.code", 0),
        TokenKind::User => ("lit.user", 0),
        TokenKind::Channel => ("lit.channel", 0),
        TokenKind::Reference => ("lit.reference", 0),
        TokenKind::Number => ("lit.number", 0),
        // "Big kiln" is a name, and "a big change" has a quality.
        TokenKind::Word
            if grammar.lexicon.is_quality(&token.text) && is_capital && token.span.start > 0 =>
        {
            ("bare.capital", UNKNOWN)
        }
        TokenKind::Word if grammar.lexicon.is_closed(&token.text) => return None,
        // A number of a version is no name of a project, and no source but GitHub has versions.
        TokenKind::Word if is_version(&token.text) => ("bare.version", NAME_LIKE),
        TokenKind::Word if is_name_like(&token.text) && !is_kind(grammar, &token.text) => {
            ("bare.name", NAME_LIKE)
        }
        // `KilnBot` is a login or a name.
        TokenKind::Word
            if !is_known
                && has_inner_capital(written)
                && !grammar.lexicon.is_signal(&token.text) =>
        {
            ("bare.name", NAME_LIKE)
        }
        // A capital inside a line makes a name of a known word too.
        TokenKind::Word if is_known && is_capital && token.span.start > 0 => ("bare", UNKNOWN),
        TokenKind::Word if is_known => ("bare", KNOWN),
        // The name of another service must not become a branch.
        TokenKind::Word if is_capital => ("bare.capital", UNKNOWN),
        TokenKind::Word => ("bare", UNKNOWN),
    })
}

/// Returns the event that a payload's own name names: `issues.labeled`, `pull_request`.
fn raw(text: &str, behind: &str, start: usize) -> Option<GuardedEvent> {
    let (name, action) = match text.split_once('.') {
        Some((name, action)) => (name, Some(action)),
        None => (text, None),
    };
    // Names without an underscore or an action are ordinary words, unless they name an event.
    let is_named = action.is_some() || name.contains('_') || matches!(behind, "event" | "events");
    is_named.then_some(())?;
    let kind = vocabulary::kind(Source::Github, name)?;
    // "push events" are pushes of branches, as in any other sentence.
    let is_plain = action.is_none() && !name.contains('_');
    let is_guarded = kind.rows.first().is_some_and(|row| !row.guards.is_empty());
    (!is_plain || !is_guarded).then_some(())?;
    let row = match action {
        Some(action) => kind.rows.iter().find(|row| row.action == Some(action))?,
        None => kind.rows.first()?,
    };
    Some(GuardedEvent {
        noun: row.noun,
        verb: *row.verbs.first()?,
        on: Vec::new(),
        guard: Formula::Always,
        source: None,
        without: None,
        raw: Some((kind.name, action.and(row.action))),
        start,
    })
}

/// Returns the events that the names of other sources' payloads name: `issue.created`, `app_mention`.
fn raw_elsewhere(text: &str, start: usize) -> Vec<GuardedEvent> {
    let (name, action) = match text.split_once('.') {
        Some((name, action)) => (name, Some(action)),
        None => (text, None),
    };
    if action.is_none() && !name.contains('_') {
        return Vec::new();
    }
    let elsewhere = Source::ALL
        .iter()
        .filter(|source| **source != Source::Github);
    let event = |source: &Source| {
        let kind = vocabulary::kind(*source, name)?;
        let mut rows = kind.rows.iter();
        let row = rows.find(|row| action.is_none() || row.action == action)?;
        Some(GuardedEvent {
            noun: row.noun,
            verb: *row.verbs.first()?,
            on: Vec::new(),
            guard: Formula::Always,
            source: Some(*source),
            without: None,
            raw: action.map(|_| (kind.name, row.action)),
            start,
        })
    };
    elsewhere.filter_map(event).collect()
}

/// Returns the correct spelling of a misspelt word.
fn mended(grammar: &Grammar, line: &str, token: &Token) -> Option<&'static str> {
    // A word with a capital inside is a name, and names are not corrected.
    let is_lower = (token.span.of(line).chars().skip(1)).all(char::is_lowercase);
    let is_unknown = token.kind == TokenKind::Word && is_lower;
    (is_unknown && !grammar.lexicon.is_word(&token.text))
        .then(|| mend(&token.text))
        .flatten()
}

fn phrases(
    grammar: &'static Grammar,
    tokens: &[Token],
    mended: &[Option<&'static str>],
    at: usize,
    found: &mut Vec<Word>,
) {
    let spellings = [Some(tokens[at].text.as_str()), mended[at]];
    let before = found.len();
    let next = tokens.get(at + 1).map(|next| next.text.as_str());
    let seconds = [next, mended.get(at + 1).copied().flatten()];
    for first in spellings.into_iter().flatten() {
        let longer = (seconds.into_iter().flatten())
            .flat_map(|second| grammar.lexicon.beginning_with(first, second));
        for phrase in grammar.lexicon.alone(first).iter().chain(longer) {
            let end = at + 1 + phrase.rest.len();
            let Some(behind) = tokens.get(at + 1..end) else {
                continue;
            };
            let corrected = mended.get(at + 1..end).unwrap_or_default();
            let mut typo = mended[at]
                .filter(|mended| *mended == first)
                .map(|mended| (at, mended));
            let is_said = behind
                .iter()
                .zip(corrected)
                .zip(&phrase.rest)
                .enumerate()
                .all(|(index, ((token, mended), word))| {
                    let is_plain = matches!(token.kind, TokenKind::Word | TokenKind::Mark);
                    let is_mended = *mended == Some(word.as_str());
                    if let Some(mended) = mended.filter(|_| is_mended) {
                        typo = typo.or(Some((at + 1 + index, mended)));
                    }
                    is_plain && (token.text == *word || is_mended)
                });
            if is_said {
                found.push(Word {
                    category: phrase.category,
                    range: at..end,
                    cost: if typo.is_some() { TYPO } else { 0 },
                    said: Said::Sense(&phrase.sense),
                    mended: typo,
                });
            }
        }
    }
    if at > 0 && grammar.is_one(&tokens[at - 1], "be.f") {
        participles(grammar, before, found);
    }
}

/// Whether a word names things or people, which no branch is called.
fn is_thing(grammar: &Grammar, word: &str) -> bool {
    const THINGS: &[&str] = &["n.thing", "n.run", "self", "p.any", "p.noun", "pron"];
    let mut phrases = grammar.lexicon.alone(word).iter();
    phrases.any(|phrase| THINGS.contains(&grammar.categories.name(phrase.category)))
}

/// Whether a compound names things and is no name: "sub-issues".
fn is_kind(grammar: &Grammar, word: &str) -> bool {
    let last = word.rsplit_once('-').map(|(_, last)| last);
    last.is_some_and(|last| last.ends_with('s') && grammar.lexicon.is_word(last))
}
