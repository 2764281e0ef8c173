//! What is seen from the letters of a word: names, versions and compounds.

/// The ends of compounds whose first part is a value: "bug-labelled issues", "docs-only pushes".
const COMPOUNDS: &[(&str, &str)] = &[
    ("-labelled", "bare.labelled"),
    ("-labeled", "bare.labelled"),
    ("-only", "bare.only"),
    ("-bound", "bare.targeting"),
    ("-targeted", "bare.targeting"),
    ("-targeting", "bare.targeting"),
];

/// The beginning of compounds that exclude a name: "non-kilnbot".
const NOT_NAMED: &str = "non-";

/// Returns the part of a compound that is a value, and the category of compounds with such an end or beginning.
pub(super) fn compound(text: &str) -> Option<(&str, &'static str)> {
    if let Some(name) = text.strip_prefix(NOT_NAMED).filter(|name| !name.is_empty()) {
        return Some((name, "bare.non"));
    }
    COMPOUNDS.iter().find_map(|(end, name)| {
        let value = text.strip_suffix(end)?;
        (!value.is_empty()).then_some((value, *name))
    })
}

/// `2.4.0`
pub(super) fn is_version(word: &str) -> bool {
    word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.')
}

/// `KilnBot`, and neither `CI` nor `Deploy`.
pub(super) fn has_inner_capital(word: &str) -> bool {
    let mut letters = word.chars();
    let first = letters.next().is_some_and(char::is_uppercase);
    first && word.chars().any(char::is_lowercase) && letters.any(char::is_uppercase)
}

/// Whether a word looks like a name: `mira-holt`, `v2`, `needs_review`, and not `customer-reported`.
pub(super) fn is_name_like(word: &str) -> bool {
    let is_participle = word.contains('-') && word.ends_with("ed");
    !is_participle && (word.contains(['-', '_']) || word.bytes().any(|b| b.is_ascii_digit()))
}
