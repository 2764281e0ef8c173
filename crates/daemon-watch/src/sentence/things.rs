//! Nouns with the words before and after them, and their connectives.

use daemon_event::vocabulary::Noun;
use daemon_event::{Field, Source};

use super::atom::{Atom, Guard, Says, UserRole};
use super::formula::{Formula, is};
use super::line::Line;
use crate::filter::{Op, Test};
use crate::lexicon::{Class, Sense};
pub(super) use crate::meaning::event::of_parent;
use crate::normalise::TokenKind;

/// A noun and its guard.
#[derive(Clone, Debug)]
pub(super) struct Thing {
    pub(super) noun: Noun,
    pub(super) guard: Guard,
    /// The part of the guard that follows the noun.
    pub(super) behind: Guard,
    /// The parent of a comment or review.
    pub(super) on: Vec<Noun>,
    pub(super) source: Option<Source>,
    pub(super) is_new: bool,
    pub(super) is_plural: bool,
    /// A kind of event that the words exclude.
    pub(super) without: Option<&'static str>,
    pub(super) start: usize,
}

/// The nouns that this grammar reads.
pub(super) const NOUNS: &[Noun] = &[
    Noun::PullRequest,
    Noun::Issue,
    Noun::Comment,
    Noun::ReviewComment,
    Noun::CommitComment,
    Noun::DiscussionComment,
    Noun::Review,
    Noun::ReviewThread,
    Noun::Commit,
    Noun::Branch,
    Noun::Tag,
    Noun::Release,
    Noun::Discussion,
    Noun::Milestone,
    Noun::Repository,
    Noun::Star,
    Noun::Fork,
    Noun::Wiki,
];

/// Phrases for the conversation of a pull request, without the diff.
pub(super) const CONVERSATION_OF: &[&str] = &[
    "the main conversation of",
    "the conversation tab of",
    "the conversation of",
    "the conversation on",
    "the conversation tab on",
];

pub(super) fn is_thing(sense: &Sense) -> bool {
    sense.nouns.iter().any(|noun| NOUNS.contains(noun))
}

impl Line<'_> {
    /// Reads things joined by `or`, `and` and commas; words after the last one apply to all.
    pub(super) fn things(&mut self) -> Option<Vec<Thing>> {
        let mut found = vec![self.attempt(Self::thing)?];
        let is_plural = found.iter().all(|thing| thing.is_plural);
        while let Some(next) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let joined = line.eat_any(&["or", "and"]);
            let is_and = joined && line.word_at(line.at - 1) == "and";
            // `opens a PR or comments on it`: a verb.
            if matches!(
                line.word(0),
                "comments" | "reviews" | "pushes" | "forks" | "commits" | "stars"
            ) && !is_plural
            {
                return None;
            }
            let next = line.thing()?;
            // `…, and the PR is not a draft` is a guard.
            if comma && is_and && line.sees_be() {
                return None;
            }
            let goes_on = line.is_mark(0, ",") || matches!(line.word(0), "or" | "and");
            (joined || comma && goes_on).then_some(next)
        }) {
            found.push(next);
        }
        self.share(&mut found);
        Some(found)
    }

    fn share(&self, things: &mut [Thing]) {
        let Some((last, before)) = things.split_last_mut() else {
            return;
        };
        let is_subject = |noun: Noun| !matches!(noun, Noun::Branch | Noun::Tag | Noun::Repository);
        for thing in before.iter_mut().rev() {
            if thing.behind.is_always() && is_subject(thing.noun) && is_subject(last.noun) {
                thing.behind = last.behind.clone();
                thing.guard = thing.guard.clone().and(last.behind.clone());
            }
            if thing.on.is_empty() && is_comment(thing.noun) && is_comment(last.noun) {
                thing.on.clone_from(&last.on);
            }
            thing.source = thing.source.or(last.source);
        }
        if let Some(first) = before.first() {
            let is_new = first.is_new;
            let source = first.source;
            last.is_new |= is_new;
            last.source = last.source.or(source);
        }
    }

    fn thing(&mut self) -> Option<Thing> {
        let start = self.at;
        let mut thing = Thing {
            noun: Noun::PullRequest,
            guard: Formula::Always,
            behind: Formula::Always,
            on: Vec::new(),
            source: None,
            is_new: false,
            is_plural: false,
            without: None,
            start,
        };
        let owner = self.attempt(Self::owner_before);
        self.before_noun(&mut thing);
        self.noun(&mut thing)?;
        if let Some(owner) = owner {
            // No payload relates the author of a comment to the actor, so `their own` needs a pull request or issue.
            matches!(thing.noun, Noun::PullRequest | Noun::Issue).then_some(())?;
            thing.guard = thing.guard.and(owner);
        }
        if let Some(numbers) = self.numbers() {
            thing.guard = thing.guard.and(numbers);
        }
        self.behind_noun(&mut thing);
        Some(thing)
    }

    /// Reads articles, adjectives and the author before a noun.
    fn before_noun(&mut self, thing: &mut Thing) {
        loop {
            let start = self.at;
            if self.eat_any(&["new", "fresh", "brand-new", "additional", "further", "more"]) {
                thing.is_new = true;
            } else if self.eat_phrase(&[
                "one of", "a", "an", "the", "any", "some", "each", "every", "all", "another",
                "our", "its", "these", "their", "no",
            ]) {
                if self.word_at(start) == "no" {
                    self.at = start;
                    return;
                }
            } else if self.eat_any(&["github", "gh"]) {
                thing.source = Some(Source::Github);
                let said = self.says(Says::Source(Source::Github), start);
                thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(said);
            } else if self
                .attempt(|line| {
                    line.eat_any(&["someone", "somebody", "anyone"])
                        .then_some(())?;
                    line.eat("'s").then_some(())
                })
                .is_some()
            {
            } else if matches!(self.word(0), "existing" | "submitted" | "posted") && {
                self.at += 1;
                self.ends_before_noun() || {
                    self.at = start;
                    false
                }
            } {
                // `an existing PR is closed`: a thing with an event exists.
            } else if self.eat_any(&["top-level", "general"])
                || self.word(0) == "conversation"
                    && matches!(self.word(1), "comment" | "comments")
                    && self.eat("conversation")
            {
                thing.without = Some("pull_request_review_comment");
            } else if self.eat_phrase(&["forks 's", "fork 's"]) {
                let said = self.says(Says::Test(is(Field::Fork, &["true"])), start);
                thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(said);
            } else if let Some(found) = self.attempt(Self::adjective_before) {
                thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(found);
            } else {
                return;
            }
        }
    }

    /// An adjective, a label, or a person before a noun.
    fn adjective_before(&mut self) -> Option<Guard> {
        let start = self.at;
        let state = self.attempt(|line| {
            let found = line.adjective()?;
            line.eat_mark(",");
            let ok = line.ends_before_noun() || matches!(line.word(0), "but" | "or" | "and");
            ok.then_some(found)
        });
        if let Some(found) = state {
            // `open, non-draft`, `closed or merged`
            let second = self.attempt(|line| {
                line.eat_any(&["and", "but", "or"]).then_some(())?;
                let or = line.word_at(line.at - 1) == "or";
                let second = line.adjective()?;
                line.ends_before_noun().then_some((second, or))
            });
            return match second {
                Some((second, true)) => Some(found.or(second)),
                Some((second, false)) => Some(found.and(second)),
                None => self.ends_before_noun().then_some(found),
            };
        }
        let label = self.attempt(|line| {
            let value = line.value(0);
            let is_literal = matches!(
                line.kind(0),
                Some(TokenKind::Word | TokenKind::Quoted | TokenKind::Code)
            );
            let first = line.tokens.get(line.at)?.span.end;
            line.at += 1;
            let next = line.tokens.get(line.at)?.span.start;
            let joined = line.text.get(first..next) == Some("-");
            (is_literal && joined && line.eat_any(&["labelled", "labeled", "tagged"])).then(|| {
                line.says(
                    Says::Test(Test::new(Field::Labels, Op::Is, vec![value])),
                    start,
                )
            })
        });
        let category = self.attempt(|line| {
            let value = line.value(0);
            let is_word = line.kind(0) == Some(TokenKind::Quoted)
                || line.kind(0) == Some(TokenKind::Word)
                    && crate::lexicon::exact(line.word(0)).is_none();
            line.at += 1;
            (is_word && matches!(line.word(0), "discussion" | "discussions")).then(|| {
                line.says(
                    Says::Test(Test::new(Field::Category, Op::Is, vec![value])),
                    start,
                )
            })
        });
        let published = self.attempt(|line| {
            line.eat("published").then_some(())?;
            (line.sees("release") || line.sees("releases"))
                .then(|| line.says(Says::Test(is(Field::Draft, &["false"])), start))
        });
        label
            .or(category)
            .or(published)
            .or_else(|| self.attempt(Self::person_before))
    }

    /// `dependabot PR`, `mira-holt's issue`, `bot-authored`, `external contributor's`
    fn person_before(&mut self) -> Option<Guard> {
        let not = self.eat("non");
        let is_person = self.kind(0) == Some(TokenKind::User)
            || self.sees_sense(|sense| {
                sense.is_bot
                    || [
                        Class::Human,
                        Class::Bot,
                        Class::Maintainer,
                        Class::Outsider,
                        Class::FirstTimer,
                    ]
                    .iter()
                    .any(|class| sense.is(*class))
            });
        let who = self
            .who_joined(UserRole::Author)
            .filter(|who| !who.is_always())?;
        let owns = self.eat("'s");
        let wrote = self.eat_any(&["authored", "opened", "created", "raised", "submitted"]);
        // `dependabot PR` names an author; an unknown word before a noun may be an adjective.
        let is_certain = is_person && self.ends_before_noun();
        (owns || wrote || is_certain).then_some(())?;
        Some(if not { who.not() } else { who })
    }

    fn ends_before_noun(&mut self) -> bool {
        let at = self.at;
        self.skip_any(&[
            "new", "github", "open", "closed", "draft", "unmerged", "merged", "non", "inline",
        ]);
        let ends = matches!(self.word(0), "one" | "ones") || self.sees_sense(is_thing);
        self.at = at;
        ends
    }

    /// Reads the parents of a comment: kinds of things, and their guards.
    pub(super) fn parents(&mut self) -> Option<(Vec<Noun>, Guard)> {
        if self.eat_any(&["it", "them"]) || self.word(1) != "of" && self.eat("one") {
            if self.last.iter().all(|noun| is_comment(*noun)) && !self.last_on.is_empty() {
                return Some((self.last_on.clone(), Formula::Always));
            }
            return Some((self.last.clone(), Formula::Always))
                .filter(|(nouns, _)| !nouns.is_empty());
        }
        let mut things = self.things()?;
        // `on a pull request or on a GitHub issue`
        while let Some(more) = self.attempt(|line| {
            line.eat("or").then_some(())?;
            line.eat_any(&["on", "to", "in", "under"]).then_some(())?;
            line.things()
        }) {
            things.extend(more);
        }
        if let [thing] = things.as_slice()
            && is_comment(thing.noun)
            && !thing.on.is_empty()
        {
            return Some((thing.on.clone(), thing.guard.clone()));
        }
        let mut on = Vec::new();
        let mut guard = Formula::Always;
        for (at, thing) in things.iter().enumerate() {
            let is_parent = matches!(
                thing.noun,
                Noun::PullRequest | Noun::Issue | Noun::Discussion | Noun::Commit
            );
            if !is_parent || thing.is_new {
                return None;
            }
            on.push(thing.noun);
            // `on a GitHub issue or pull request`: a source named for one applies to both.
            if at == 0 || unsourced(&guard) == unsourced(&thing.guard) {
                if at == 0 || guard.is_always() {
                    guard = thing.guard.clone();
                }
            } else {
                return None;
            }
        }
        // A comment on a discussion or a commit has a noun of its own.
        let is_other = |noun: &Noun| matches!(noun, Noun::Discussion | Noun::Commit);
        if on.len() > 1 && on.iter().any(is_other) {
            return None;
        }
        Some((on, of_parent(&guard)?))
    }
}

/// Returns the guard without the source.
fn unsourced(guard: &Guard) -> Option<Guard> {
    let bare = guard.replace(false, &mut |atom: &Atom, negated| {
        let found = match atom.says {
            Says::Source(_) => return Some(Formula::Always),
            _ => {
                let mut atom = atom.clone();
                atom.range = 0..0;
                Formula::Atom(atom)
            }
        };
        Some(if negated { found.not() } else { found })
    })?;
    Some(bare)
}

/// Returns the noun of a comment with a parent.
pub(super) fn comment_on(noun: Noun, on: &[Noun]) -> Noun {
    match (noun, on) {
        (Noun::Comment, [Noun::Commit]) => Noun::CommitComment,
        (Noun::Comment, [Noun::Discussion]) => Noun::DiscussionComment,
        _ => noun,
    }
}

pub(super) fn is_comment(noun: Noun) -> bool {
    matches!(
        noun,
        Noun::Comment
            | Noun::ReviewComment
            | Noun::CommitComment
            | Noun::DiscussionComment
            | Noun::Review
            | Noun::ReviewThread
    )
}
