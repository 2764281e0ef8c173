//! Forms of words: what an infinitive or a singular becomes.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

/// The forms in which a verb appears.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Forms(pub(crate) u8);

impl Forms {
    pub(crate) const BASE: Self = Self(1);
    pub(crate) const THIRD: Self = Self(2);
    pub(crate) const PAST: Self = Self(4);
    pub(crate) const GERUND: Self = Self(8);
    pub(crate) const NOMINAL: Self = Self(16);

    pub(crate) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// Verbs with forms that no rule gives: a verb, its past forms, and nouns made of it that name its event.
const FORMS: &str = include_str!("../../lexicon/forms.tsv");

/// The forms of a verb that no rule gives.
struct Special {
    pasts: Vec<&'static str>,
    nouns: Vec<&'static str>,
}

static SPECIAL: LazyLock<FxHashMap<&'static str, Special>> = LazyLock::new(|| {
    let listed = |cell: &'static str| -> Vec<&'static str> {
        cell.split('|').filter(|form| *form != "-").collect()
    };
    let rows = FORMS.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [verb, pasts, nouns] = cells[..] else {
            panic!("a row has three cells: {line}");
        };
        let (pasts, nouns) = (listed(pasts), listed(nouns));
        (verb, Special { pasts, nouns })
    });
    rows.collect()
});

/// Returns every form of a phrase whose first word is its verb.
pub(crate) fn verb_forms(phrase: &str) -> Vec<(String, Forms)> {
    let (verb, rest) = match phrase.split_once(' ') {
        Some((verb, rest)) => (verb, format!(" {rest}")),
        None => (phrase, String::new()),
    };
    if verb == "force" || verb.ends_with("ly") && !rest.is_empty() {
        // The verb is the second word: `force pushed`, `manually triggered`.
        let forms = verb_forms(rest.trim_start()).into_iter();
        return forms
            .map(|(form, kind)| (format!("{verb} {form}"), kind))
            .collect();
    }
    // Action names of payloads such as `ready_for_review` are not inflected.
    if verb.contains('_') || matches!(verb, "ready" | "auto-merge") {
        return vec![(
            phrase.to_owned(),
            Forms(Forms::BASE.0 | Forms::PAST.0 | Forms::NOMINAL.0),
        )];
    }
    let mut forms = vec![(verb.to_owned(), Forms::BASE), (third(verb), Forms::THIRD)];
    let special = SPECIAL.get(verb);
    let pasts = special.map_or(&[][..], |special| special.pasts.as_slice());
    match pasts {
        [] => forms.push((past(verb), Forms::PAST)),
        pasts => forms.extend(pasts.iter().map(|past| ((*past).to_owned(), Forms::PAST))),
    }
    forms.extend(gerunds(verb, pasts.first().copied()));
    let nouns = special.filter(|_| rest.is_empty());
    let nouns = nouns.map_or(&[][..], |special| special.nouns.as_slice());
    forms.extend(
        nouns
            .iter()
            .map(|noun| ((*noun).to_owned(), Forms::NOMINAL)),
    );
    forms
        .into_iter()
        .map(|(form, kind)| (form + &rest, kind))
        .collect()
}

fn third(verb: &str) -> String {
    let sibilant = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|end| verb.ends_with(end));
    match verb {
        "have" => "has".to_owned(),
        "be" => "is".to_owned(),
        "go" | "undo" | "redo" => format!("{verb}es"),
        _ if sibilant => format!("{verb}es"),
        _ if ends_in_consonant_y(verb) => format!("{}ies", &verb[..verb.len() - 1]),
        _ => format!("{verb}s"),
    }
}

fn past(verb: &str) -> String {
    if verb.ends_with('e') {
        format!("{verb}d")
    } else if ends_in_consonant_y(verb) {
        format!("{}ied", &verb[..verb.len() - 1])
    } else {
        format!("{verb}ed")
    }
}

fn gerunds(verb: &str, past: Option<&str>) -> Vec<(String, Forms)> {
    let stem = match verb.strip_suffix('e') {
        Some(stem) if !verb.ends_with("ee") && verb != "be" => stem,
        Some(_) | None => verb,
    };
    let mut forms = vec![(format!("{stem}ing"), Forms::GERUND)];
    // A doubled consonant of the past is doubled here too: `committed`, `committing`.
    let doubled = past.and_then(|past| past.strip_suffix("ed"));
    if let Some(doubled) = doubled.filter(|doubled| doubled.len() == verb.len() + 1) {
        forms.push((format!("{doubled}ing"), Forms::GERUND));
    }
    if matches!(verb, "begin" | "cut" | "put" | "set" | "get" | "run") {
        forms.push((
            format!("{verb}{}ing", &verb[verb.len() - 1..]),
            Forms::GERUND,
        ));
    }
    forms
}

fn ends_in_consonant_y(word: &str) -> bool {
    let mut last = word.chars().rev();
    last.next() == Some('y') && !matches!(last.next(), Some('a' | 'e' | 'i' | 'o' | 'u') | None)
}

/// Returns the plural of a phrase whose last word is its noun.
pub(crate) fn plural(phrase: &str) -> String {
    let sibilant = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|end| phrase.ends_with(end));
    if sibilant {
        format!("{phrase}es")
    } else if ends_in_consonant_y(phrase) {
        format!("{}ies", &phrase[..phrase.len() - 1])
    } else {
        format!("{phrase}s")
    }
}
