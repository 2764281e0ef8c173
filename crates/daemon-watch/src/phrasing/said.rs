//! What is said in English of the nouns of the vocabulary.

use std::sync::LazyLock;

use daemon_event::Source;
use daemon_event::vocabulary::{ActionRow, Noun, Verb};
use rustc_hash::FxHashMap;

use crate::reader::{Forms, verb_forms};

/// The conditions for a verb of a noun; `*` is any other noun or verb.
static SAID: LazyLock<FxHashMap<(&'static str, &'static str), Vec<&'static str>>> =
    LazyLock::new(|| {
        let rows = rows(include_str!("../../lexicon/said.tsv"));
        let said = rows.filter_map(|(noun, rest)| {
            let (verb, phrases) = rest.split_once('\t')?;
            let phrases = phrases.split('|').filter(|phrase| *phrase != NOTHING);
            Some(((noun, verb), phrases.collect()))
        });
        said.collect()
    });

/// The names of nouns that are not their phrases with an article.
static NAMED: LazyLock<FxHashMap<&'static str, &'static str>> =
    LazyLock::new(|| rows(include_str!("../../lexicon/named.tsv")).collect());

/// A row without conditions.
const NOTHING: &str = "-";
/// Any other noun or verb.
const ANY: &str = "*";

/// Returns the first cell of each row, and the others.
fn rows(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.lines().skip(1).filter_map(|row| row.split_once('\t'))
}

/// Says a row in whole conditions, in several ways; the words of a later way are less usual.
pub(super) fn ways(source: Source, row: &ActionRow) -> impl Iterator<Item = Vec<String>> {
    let said: Vec<String> = row
        .verbs
        .iter()
        .flat_map(|verb| said(row.noun, *verb))
        .collect();
    names(source, row.noun).map(move |name| {
        said.iter()
            .map(|said| said.replace("{n}", &name).replace("{s}", service(source)))
            .collect()
    })
}

/// Returns the name of a service.
fn service(source: Source) -> &'static str {
    match source {
        Source::Github => "GitHub",
        Source::Linear => "Linear",
        Source::Slack => "Slack",
        Source::Sentry => "Sentry",
        Source::Git => "git",
        Source::Cloudevents => "CloudEvents",
    }
}

/// Returns the names of a noun, each with its article and with its source where others have the same noun.
fn names(source: Source, noun: Noun) -> impl Iterator<Item = String> {
    let is_of_git = matches!(source, Source::Github | Source::Git);
    let of = match noun {
        Noun::Issue | Noun::Comment if source == Source::Github => "GitHub ".to_owned(),
        _ if is_of_git => String::new(),
        _ => format!("{} ", service(source)),
    };
    let proper = NAMED.get(format!("{noun:?}").as_str());
    let proper = proper.map(|name| name.replace("{s} ", &of));
    let names = noun.phrases().iter().map(move |name| {
        let name = name.strip_prefix(&of.to_lowercase()).unwrap_or(name);
        let name = format!("{of}{name}");
        let article = if name.starts_with(['a', 'e', 'i', 'o']) {
            "an"
        } else {
            "a"
        };
        format!("{article} {name}")
    });
    proper.into_iter().chain(names)
}

/// Returns the conditions for a verb of a noun (`{n}`); empty if no author would write one.
fn said(noun: Noun, verb: Verb) -> Vec<String> {
    let (noun, name) = (format!("{noun:?}"), format!("{verb:?}"));
    let rows: &FxHashMap<(&str, &str), Vec<&str>> = &SAID;
    let row = rows.get(&(noun.as_str(), name.as_str()));
    let row = row.or_else(|| rows.get(&(ANY, name.as_str())));
    let infinitive = verb.phrases().first().copied().unwrap_or_default();
    let forms = verb_forms(infinitive);
    let participle = forms.iter().rfind(|(_, forms)| forms.has(Forms::PAST));
    let participle = participle.map_or(infinitive, |(form, _)| form.as_str());
    let said = row.or_else(|| rows.get(&(ANY, ANY))).into_iter().flatten();
    said.map(|said| said.replace("{v}", participle)).collect()
}
