//! The status of a line that names no event known here.

use crate::grammar::reader::Reader;
use crate::interpretation::Status;
use crate::lexicon::Class;
use crate::normalise::TokenKind;
use crate::resolve::Unresolved;

/// Returns the status of a line without an event.
pub(crate) fn classify(reader: &Reader<'_>, reason: Unresolved) -> Status {
    let foreign = reader
        .units
        .iter()
        .any(|unit| unit.sense.is_some_and(|sense| sense.is_foreign));
    // Another service decides the status alone: the line is unmapped even if it describes a state.
    if foreign {
        return Status::Unmapped;
    }
    let has_word = |word: &str| reader.units.iter().any(|unit| unit.text == word);
    let unsupported = UNSUPPORTED.iter().any(|word| has_word(word));
    if unsupported {
        return Status::Unmapped;
    }
    let is_state = STATE_WORDS.iter().any(|word| has_word(word));
    // `the docs look outdated after a release` names an event, but it asks for a judgement about a state.
    if reason == Unresolved::Unknown && !is_state {
        return Status::Unmapped;
    }
    if is_state || !happens_somehow(reader) {
        Status::Vague
    } else {
        Status::Unmapped
    }
}

/// Whether an unknown participle or verb reports that something happens: `is yodeled`, `signs up`.
fn happens_somehow(reader: &Reader<'_>) -> bool {
    let n_units = reader.units.len();
    (1..n_units).any(|at| {
        let unit = &reader.units[at];
        let unknown = unit.kind == TokenKind::Word && unit.sense.is_none();
        let after_be = reader.is(at - 1, Class::Be) || reader.is(at - 1, Class::Get);
        unknown && after_be && unit.text.ends_with("ed") && unit.text.len() > 4
    })
}

/// Changes that no webhook reports.
const UNSUPPORTED: &[&str] = &[
    "conflict",
    "conflicts",
    "conflicted",
    "conflicting",
    "coverage",
    "yanked",
    "disk",
    "cpu",
    "memory",
    "signs",
    "signup",
    "payment",
    "invoice",
    "email",
    "pod",
    "page",
    "pages",
    "dependency",
    "dependencies",
    "customer",
    "subscription",
];

/// Words of states and qualities.
const STATE_WORDS: &[&str] = &[
    "low",
    "high",
    "ready",
    "risky",
    "flaky",
    "slow",
    "stuck",
    "stale",
    "needs",
    "need",
    "looks",
    "look",
    "seems",
    "seem",
    "too",
    "bad",
    "good",
    "better",
    "worse",
    "poor",
    "clean",
    "dirty",
    "messy",
    "insecure",
    "secure",
    "unreliable",
    "reliable",
    "unstable",
    "healthy",
    "unhealthy",
    "outdated",
    "concerns",
    "concern",
    "due",
    "date",
    "drifts",
    "drift",
    "grows",
    "grow",
    "large",
    "attention",
    "love",
    "help",
    "quality",
    "necessary",
    "needed",
    "appropriate",
    "important",
    "something",
    "anything",
    "activity",
    "whenever",
    "tired",
    "wrong",
    "off",
    "broken",
    "incomplete",
    "complex",
    "many",
    "much",
    "enough",
    "long",
    "there",
    "feels",
    "feel",
    "could",
    "should",
    "might",
    "happen",
    "happens",
    "cluttered",
    "overdue",
    "unclear",
    "confusing",
    "behind",
    "lags",
    "lagging",
    "rots",
    "rot",
    "debt",
    "inconsistent",
    "degraded",
    "degrades",
    "suffers",
    "improves",
    "improve",
    "struggling",
    "overwhelmed",
    "blocked",
    "unhappy",
    "busy",
    "neglected",
    "abandoned",
];
