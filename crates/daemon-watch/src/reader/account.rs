//! Accounts: what a reading must not have lost.

use std::ops::Range;

use daemon_event::{Field, Source, vocabulary};

use super::grammar::Grammar;
use super::lexicon::Signal;
use crate::meaning::clauses::ClauseSet;
use crate::normalise::{Token, TokenKind};

/// Whether each filter is on a fact that its events can hold: the negation of any other would always be true.
pub(super) fn is_told(found: &ClauseSet) -> bool {
    found.clauses.iter().all(|clause| {
        let events = clause.events.iter();
        // Of other services, only events with the fact are meant, and emission has chosen them.
        let mut events = events.filter(|event| event.source == Source::Github);
        events.all(|event| {
            let kind = vocabulary::kind(event.source, event.kind);
            // Of a dismissed review no event says what its verdict was.
            let is_dismissed = event.action == Some("dismissed");
            let mut fields = clause
                .filters
                .iter()
                .map(|at| found.filters[*at].test.field());
            let can_hold = |field| {
                let is_gone = is_dismissed && field == Field::ReviewState;
                !is_gone && kind.is_some_and(|kind| kind.can_hold(field))
            };
            fields.all(can_hold)
        })
    })
}

/// Whether every literal of the line is in a filter or left over, and no placeholder became a value.
///
/// The name of another service forbids the reading, unless it is in an alternative that is left over: "a pull request is
/// merged in Bitbucket" is no event here, and "a pull request is merged or Bitbucket fails" is one.
pub(super) fn is_complete(
    grammar: &Grammar,
    tokens: &[Token],
    left: &[Range<usize>],
    found: &ClauseSet,
) -> bool {
    let is_left = |at: usize| left.iter().any(|range| range.contains(&at));
    let joins = |at: usize| {
        let token = tokens.get(at).filter(|token| token.kind == TokenKind::Word);
        token.is_some_and(|token| grammar.lexicon.joins(&token.text))
    };
    let is_mark = |at: &usize| tokens[*at].kind == TokenKind::Mark;
    let is_alternative = |range: &Range<usize>| {
        let first = range.clone().find(|at| !is_mark(at));
        first.is_some_and(joins) || joins(range.end)
    };
    let is_place = |range: &&Range<usize>| grammar.is_one(&tokens[range.start], "place");
    let places = left.iter().filter(is_place);
    if has_foreign_login(tokens, found) || names_other_source(tokens, places, found) {
        return false;
    }
    // "An issue in the Sentry project web" is in Sentry: other sources have issues and projects, too.
    if !has_sources(grammar, tokens, is_left, found) {
        return false;
    }
    let mut signals = grammar.lexicon.signals(tokens);
    let is_label = |word: &str| {
        let mut names =
            (found.filters.iter()).filter(|filter| NAMES.contains(&filter.test.field()));
        names.any(|filter| {
            let mut values = filter.test.values().iter();
            values.any(|value| !value.contains(' ') && value.to_lowercase().contains(word))
        })
    };
    let is_foreign = signals.any(|(place, signal)| {
        let around = left.iter().find(|range| range.contains(&place.start));
        signal == Signal::Foreign
            && around.map_or(!is_label(&tokens[place.start].text), |range| {
                !is_alternative(range)
            })
    });
    if is_foreign {
        return false;
    }
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| is_literal(token))
        // A line with a placeholder is not finished, so what is left of it is no condition either.
        .all(|(at, token)| !is_placeholder(&token.text) && (is_left(at) || is_value(token, found)))
}

/// The tokens of a place in which its source is named: "on a GitHub …".
const PLACE_HEAD: usize = 3;

/// Whether places that are left over name a source without an event: Slack has no "reaction on a GitHub comment".
fn names_other_source<'r>(
    tokens: &[Token],
    mut places: impl Iterator<Item = &'r Range<usize>>,
    found: &ClauseSet,
) -> bool {
    let is_other = |(at, token): (usize, &Token)| {
        let mut sources = Source::ALL.iter();
        let named = sources.find(|source| source.as_str() == token.text);
        let mut events = found.clauses.iter().flat_map(|clause| &clause.events);
        token.kind == TokenKind::Word
            && named.is_some_and(|source| {
                // What happens "in Linear's inbox" is an event of Linear only.
                if at == 1 {
                    events.any(|event| event.source != *source)
                } else {
                    !events.any(|event| event.source == *source)
                }
            })
    };
    places.any(|range| {
        let head = tokens[range.clone()].iter().take(PLACE_HEAD);
        head.enumerate().any(is_other)
    })
}

/// Returns the runs of which all have to succeed: no event says that "every check has passed", and each alone wakes.
pub(super) fn counted(grammar: &Grammar, tokens: &[Token], found: &ClauseSet) -> Vec<Range<usize>> {
    let succeeds = found.filters.iter().any(|filter| {
        let test = &filter.test;
        test.field() == Field::Conclusion && test.values().iter().any(|value| value == "success")
    });
    let is_run = |at: usize| {
        let token = tokens.get(at);
        token.is_some_and(|token| grammar.is_one(token, "n.run"))
    };
    let of_all = |at: &usize| {
        let token = &tokens[*at];
        let is_quality = grammar.lexicon.is_quality(&token.text);
        // "every check that passes" is each of them.
        let mut behind = tokens[*at..].iter().map(|token| token.text.as_str());
        let is_each = behind.any(|word| matches!(word, "that" | "which"));
        is_quality && !is_each && grammar.is_one(token, "det") && is_run(*at + 1)
    };
    let places = (0..tokens.len()).filter(of_all);
    let end = |at: usize| (at + 1..tokens.len()).find(|at| !is_run(*at));
    let counted = places.map(|at| at..end(at).unwrap_or(tokens.len()));
    if succeeds {
        counted.collect()
    } else {
        Vec::new()
    }
}

/// Whether each source that is named has an event. Git is named for what GitHub reports as well.
fn has_sources(
    grammar: &Grammar,
    tokens: &[Token],
    is_left: impl Fn(usize) -> bool,
    found: &ClauseSet,
) -> bool {
    let has = |source: Source| {
        let mut events = found.clauses.iter().flat_map(|clause| &clause.events);
        events.any(|event| {
            event.source == source || (source, event.source) == (Source::Github, Source::Git)
        })
    };
    tokens.iter().enumerate().all(|(at, token)| {
        let mut sources = Source::ALL.iter().filter(|source| **source != Source::Git);
        // "The GitHub integration" acts, and can act elsewhere.
        let acts = |next: &Token| grammar.is_one(next, "p.noun") || grammar.is_one(next, "acts");
        let is_name =
            token.kind == TokenKind::Word && !is_left(at) && !tokens.get(at + 1).is_some_and(acts);
        let named = sources.find(|source| is_name && source.as_str() == token.text);
        named.is_none_or(|source| has(*source))
    })
}

/// Whether GitHub is to have a user whose name is no login: a bare word with a capital, or several words.
fn has_foreign_login(tokens: &[Token], found: &ClauseSet) -> bool {
    let is_quoted = |name: &str| {
        tokens
            .iter()
            .any(|token| is_literal(token) && token.text == name)
    };
    // `KilnBot` is a login, and "Kiln" is a name.
    let is_camel = |name: &str| name.chars().skip(1).any(char::is_uppercase);
    let is_login = |name: &String| {
        let is_name = name.starts_with(char::is_uppercase) && !is_camel(name);
        is_quoted(name) || !name.contains(' ') && !is_name
    };
    let of_github = (found.clauses.iter()).filter(|clause| {
        let mut sources = clause.events.iter().map(|event| event.source);
        sources.any(|source| matches!(source, Source::Github | Source::Git))
    });
    of_github.flat_map(|clause| &clause.filters).any(|at| {
        let test = &found.filters[*at].test;
        // A name that is no login excludes no user.
        let is_excluded = test.op().is_negated();
        PEOPLE.contains(&test.field()) && !is_excluded && !test.values().iter().all(is_login)
    })
}

/// The fields whose values may be the name of another service.
const NAMES: &[Field] = &[
    Field::Labels,
    Field::LabelAdded,
    Field::LabelRemoved,
    Field::Actor,
    Field::Author,
    Field::ParentAuthor,
];

/// The fields whose values are logins.
const PEOPLE: &[Field] = &[
    Field::Actor,
    Field::Author,
    Field::ParentAuthor,
    Field::Assignee,
    Field::Assignees,
    Field::Reviewer,
];

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
    // The raw name of an event is the event itself, and so is that of its action.
    let mut events = found.clauses.iter().flat_map(|clause| &clause.events);
    if events.any(|event| names(event.kind) || event.action == Some(token.text.as_str())) {
        return true;
    }
    // The name of a channel or an emoji may be in backticks, with its marks.
    let name = token.text.trim_start_matches('#').trim_matches(':');
    let wanted = name.to_lowercase();
    let wanted = wanted
        .strip_prefix("refs/heads/")
        .unwrap_or(&wanted)
        .to_owned();
    let bare = wanted.trim_start_matches("./").trim_end_matches('/');
    let mut values = found.filters.iter().flat_map(|filter| filter.test.values());
    values.any(|value| {
        let value = value.to_lowercase();
        value.trim_start_matches('!').trim_end_matches('/') == bare || value.contains(&wanted)
            // A pattern with a star at its end is a beginning.
            || wanted.strip_suffix('*') == Some(value.as_str())
            // Payloads spell some values of several words as one.
            || value.contains('_') && value == wanted.replace([' ', '-'], "_")
            // `docs/-only` is a folder and a word.
            || is_folder_of(value.trim_start_matches('!'), &wanted)
            // Of `@owner/team`, payloads have the team only.
            || wanted.ends_with(&format!("/{value}"))
    })
}

/// Whether a literal is a folder with a word behind it: `docs/-only`.
fn is_folder_of(folder: &str, literal: &str) -> bool {
    let behind = literal.strip_prefix(folder);
    folder.ends_with('/') && behind.is_some_and(|behind| behind.starts_with('-'))
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
                is_complete(&crate::reader::GRAMMAR, &tokens(line), &left, &found),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_placeholder_is_never_a_value() {
        let meaning = crate::reader::interpret("when a commit is pushed to <branch>");
        assert!(!meaning.status.can_wake());
        assert!(is_placeholder("{{branch}}") && !is_placeholder("release/{a,b}"));
    }

    #[test]
    fn a_source_that_is_named_has_an_event_unless_it_names_who_acts() {
        for (line, expected) in [
            (
                "when a Sentry issue is created in the project web",
                &[Source::Sentry][..],
            ),
            (
                "when an issue is created in Sentry kiln-web project",
                &[Source::Sentry],
            ),
            ("when a cycle is completed in Sentry", &[]),
            (
                "when a Linear issue is moved to Done, not by the GitHub integration",
                &[Source::Linear],
            ),
        ] {
            let meaning = crate::reader::interpret(line);
            let events = meaning.clauses.iter().flat_map(|clause| &clause.events);
            let mut sources: Vec<Source> = events.map(|event| event.source).collect();
            sources.dedup();
            assert_eq!(sources, expected, "{line}");
        }
    }

    #[test]
    fn a_place_that_is_left_over_is_of_the_source_of_an_event() {
        for (line, can_wake) in [
            ("thumbs-up reaction on a GitHub comment", false),
            ("when a PR is opened that relates to a Linear issue", true),
        ] {
            let meaning = crate::reader::interpret(line);
            assert_eq!(meaning.status.can_wake(), can_wake, "{line}");
        }
    }
}
