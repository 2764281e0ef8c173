//! Accounts: what a reading must not have lost.

use std::ops::Range;

use crate::normalise::{Token, TokenKind};
use crate::resolve::ClauseSet;

/// Whether every literal of the line is in a filter or left over, and no placeholder became a value.
pub(super) fn is_complete(tokens: &[Token], left: &[Range<usize>], found: &ClauseSet) -> bool {
    let is_left = |at: usize| left.iter().any(|range| range.contains(&at));
    tokens
        .iter()
        .enumerate()
        .filter(|(at, token)| is_literal(token) && !is_left(*at))
        .all(|(_, token)| !is_placeholder(&token.text) && is_value(token, found))
}

fn is_literal(token: &Token) -> bool {
    match token.kind {
        TokenKind::Quoted
        | TokenKind::Code
        | TokenKind::User
        | TokenKind::Channel
        | TokenKind::Reference
        | TokenKind::Number => true,
        TokenKind::Word | TokenKind::Mark => false,
    }
}

/// Whether the author of the line is to replace the literal: `<branch>`, `{{name}}`.
fn is_placeholder(text: &str) -> bool {
    text.starts_with('<') && text.ends_with('>') || text.contains("{{")
}

fn is_value(token: &Token, found: &ClauseSet) -> bool {
    let names = |kind: &str| {
        let rest = token.text.strip_prefix(kind);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    // The raw name of an event is the event itself.
    let mut events = found.clauses.iter().flat_map(|clause| &clause.events);
    if events.any(|event| names(event.kind)) {
        return true;
    }
    let wanted = token.text.to_lowercase();
    let bare = wanted.trim_start_matches("./").trim_end_matches('/');
    let mut values = found.filters.iter().flat_map(|filter| filter.test.values());
    values.any(|value| {
        let value = value.to_lowercase();
        value.trim_start_matches('!').trim_end_matches('/') == bare || value.contains(&wanted)
            // Of `@owner/team`, payloads have the team only.
            || wanted.ends_with(&format!("/{value}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalise::tokens;

    #[test]
    fn a_literal_without_a_filter_is_left_over_or_the_parse_is_refused() {
        let found = ClauseSet::default();
        for (line, left, expected) in [
            ("when a thing is opened", &[][..], true),
            ("when \"a\" is opened", &[], false),
            ("when \"a\" is opened", &[1], true),
            ("when @kit opens docs/", &[1], false),
            ("when @kit opens docs/", &[1, 3], true),
        ] {
            let left: Vec<Range<usize>> = left.iter().map(|at| *at..at + 1).collect();
            assert_eq!(
                is_complete(&tokens(line), &left, &found),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_placeholder_is_never_a_value() {
        let meaning = crate::reader::interpret("when a commit is pushed to <branch>");
        let filters = meaning.map(|meaning| meaning.filters.len());
        assert_eq!(filters, None);
        assert!(is_placeholder("{{branch}}") && !is_placeholder("release/{a,b}"));
    }
}
