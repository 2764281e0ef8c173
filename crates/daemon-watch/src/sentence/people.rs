//! People and programs: kinds, names, and exclusions.

use daemon_event::vocabulary::Noun;

use super::atom::{Atom, Guard, Says, UserRole, Who};
use super::formula::Formula;
use super::line::Line;
use super::owners::SOMEONE_ELSE;
use crate::lexicon::{Class, Forms, Sense};
use crate::normalise::TokenKind;

/// Words before the word for a person.
const ARTICLES: &[&str] = &[
    "a", "an", "the", "any", "some", "another", "its", "their", "own", "our", "each", "every",
    "of", "one",
];

/// Words that exclude users.
pub(super) const OTHER_THAN: &[&str] = &[
    "with the exception of",
    "anything other than",
    "other than by",
    "except for",
    "except by",
    "except from",
    "other than",
    "apart from",
    "aside from",
    "but not by",
    "but not from",
    "but not",
    "but never",
    "not counting",
    "rather than",
    "instead of",
    "save for",
    "except",
    "excluding",
    "besides",
    "ignoring",
    "skipping",
    "ignore",
    "exclude",
    "skip",
    "excepting",
];

/// Phrases for the author of the event's subject.
const THE_AUTHOR: &[&str] = &[
    "author of the pull request",
    "author of the pr",
    "author of the issue",
    "author of a pull request",
    "author of a pr",
    "author of an issue",
    "person who opened the pull request",
    "person who opened the pr",
    "person who opened the issue",
    "person who opened it",
    "one who opened it",
    "pull request 's author",
    "pull request author",
    "pr 's author",
    "pr author",
    "pr owner",
    "issue 's author",
    "issue author",
    "original author",
    "original poster",
    "author",
    "opener",
];

/// Kinds of people and programs.
const KINDS: &[Class] = &[
    Class::Human,
    Class::FirstTimer,
    Class::Outsider,
    Class::Maintainer,
    Class::Bot,
    Class::Anyone,
];

/// Phrases for a first-time contributor.
const FIRST_TIME: &[&str] = &[
    "who has never contributed before",
    "who has not contributed before",
    "who have never contributed before",
    "who has never contributed to the repository before",
    "who has never contributed to the repo before",
    "who has never contributed",
    "contributing for the first time",
    "who contributes for the first time",
    "who is contributing for the first time",
    "making their first contribution",
];

/// Phrases for users without an association with the repository.
const OUTSIDE: &[&str] = &[
    "not on the team",
    "not in the team",
    "not in the organization",
    "not in the organisation",
    "not in the org",
    "not part of the team",
    "not part of the organization",
    "not part of the project",
    "not from the team",
    "not from the organization",
    "outside of the organization",
    "outside of the organisation",
    "outside of the team",
    "outside of the org",
    "outside the organization",
    "outside the organisation",
    "outside the company",
    "outside the project",
    "outside the team",
    "outside the org",
    "outside our organization",
    "outside our team",
    "outside our org",
];

impl Line<'_> {
    /// Reads users, with exclusions.
    pub(super) fn who(&mut self, role: UserRole) -> Option<Guard> {
        self.attempt(|line| {
            let mut found = line.who_joined(role)?;
            while let Some(more) = line.qualifier(role, found.is_always()) {
                found = found.and(more);
            }
            Some(found)
        })
    }

    /// `a bot or a first-timer`, `neither X nor Y`, `not a bot`.
    pub(super) fn who_joined(&mut self, role: UserRole) -> Option<Guard> {
        self.attempt(|line| {
            let is_neither = line.eat("neither");
            let mut found = line.one_person(role)?;
            while let Some(more) = line.attempt(|line| line.another_person(role)) {
                found = found.or(more);
            }
            Some(if is_neither { found.not() } else { found })
        })
    }

    fn another_person(&mut self, role: UserRole) -> Option<Guard> {
        let comma = self.eat_mark(",");
        let is_nor = self.word(0) == "nor";
        let joint = self.eat_any(&["or", "nor", "and"]);
        // `, and not a bot,` excludes.
        if matches!(self.word(0), "not" | "no") {
            return None;
        }
        if joint {
            self.skip_any(&["by", "from"]);
        }
        let found = self.one_person(role)?;
        let goes_on = self.is_mark(0, ",") || matches!(self.word(0), "or" | "and" | "nor");
        let is_subject = self.sees_sense(|sense| {
            sense.is_verb() && sense.forms.has(Forms(Forms::THIRD.0 | Forms::BASE.0))
        });
        let is_item = joint || comma && goes_on;
        // Before the first verb, another person after a person is a second subject of the same verb.
        let is_other = is_subject && !is_nor && !self.is_agent || self.sees_be();
        (is_item && !found.is_always() && !is_other).then_some(found)
    }

    pub(super) fn sees_be(&self) -> bool {
        matches!(
            self.word(0),
            "is" | "are" | "was" | "were" | "has" | "have" | "does" | "do" | "gets" | "get"
        )
    }

    fn one_person(&mut self, role: UserRole) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            line.skip_any(ARTICLES);
            let negated = line.eat_any(&["not", "non"]);
            line.skip_any(ARTICLES);
            let found = line.person(role, start)?;
            Some(if negated { found.not() } else { found })
        })
    }

    pub(super) fn says(&self, says: Says, start: usize) -> Guard {
        Formula::Atom(Atom {
            says,
            of_parent: false,
            range: start..self.at,
        })
    }

    /// Reads a person: a formula that is always true means any user.
    fn person(&mut self, role: UserRole, start: usize) -> Option<Guard> {
        let is = |class: Class| move |sense: &Sense| sense.is(class);
        if self.eat_phrase(THE_AUTHOR) {
            let words = |word: &str| (start..self.at).any(|at| self.word_at(at) == word);
            if words("issue") {
                self.last = vec![Noun::Issue];
            } else if words("pr") || words("pull") {
                self.last = vec![Noun::PullRequest];
            }
            return Some(self.says(Says::Person(role, Who::TheAuthor), start));
        }
        if self.eat_phrase(SOMEONE_ELSE) {
            return Some(self.says(Says::Person(role, Who::TheAuthor), start).not());
        }
        let is_class = self.kind(0) == Some(TokenKind::Word)
            && self.sees_sense(|sense| KINDS.iter().any(|class| sense.is(*class)));
        if !is_class && let Some(names) = self.names() {
            return Some(self.says(Says::Person(role, Who::Named(names)), start));
        }
        if self.eat_sense(is(Class::Outsider)).is_some() {
            return Some(self.says(Says::Person(role, Who::Maintainer), start).not());
        }
        let who = if self.eat_sense(is(Class::Human)).is_some() {
            Who::Human
        } else if self.eat_sense(is(Class::FirstTimer)).is_some() {
            Who::FirstTimer
        } else if self.eat("members") || self.eat_sense(is(Class::Maintainer)).is_some() {
            self.of_the_repository()?;
            Who::Maintainer
        } else if self.eat_sense(is(Class::Bot)).is_some() {
            Who::Bot
        } else {
            self.eat_sense(is(Class::Anyone))?;
            return Some(Formula::Always);
        };
        // `a human reviewer`
        self.eat_any(&[
            "reviewer",
            "reviewers",
            "commenter",
            "commenters",
            "account",
            "accounts",
        ]);
        Some(self.says(Says::Person(role, who), start))
    }

    /// `of the organization` belongs to a member; `of the payments team` does not, because no payload contains teams.
    fn of_the_repository(&mut self) -> Option<()> {
        if self.word(0) != "of" {
            return Some(());
        }
        self.at += 1;
        self.skip_any(ARTICLES);
        self.skip_any(&["this", "github"]);
        let own = [
            "repository",
            "repo",
            "organization",
            "organisation",
            "org",
            "project",
            "team",
        ];
        self.eat_any(&own).then_some(())
    }

    /// Names, joined by `or`.
    fn names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name()?];
        while let Some(name) = self.attempt(|line| {
            line.eat_mark(",");
            let joined = line.eat_any(&["or", "nor", "and"]);
            let name = line.name()?;
            let goes_on = line.is_mark(0, ",") || matches!(line.word(0), "or" | "and" | "nor");
            (joined || goes_on).then_some(name)
        }) {
            names.push(name);
        }
        Some(names)
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let is_name = match self.kind(0)? {
            TokenKind::User => true,
            TokenKind::Quoted => !self.value(0).contains([' ', '/', '*']),
            TokenKind::Code => self.value(0).ends_with("[bot]"),
            TokenKind::Word => self.is_name_word(),
            TokenKind::Channel | TokenKind::Reference | TokenKind::Number | TokenKind::Mark => {
                false
            }
        };
        if !is_name {
            return None;
        }
        let name = self.value(0);
        self.at += 1;
        Some(name)
    }

    fn is_name_word(&self) -> bool {
        let word = self.word(0);
        match crate::lexicon::exact(word) {
            Some(sense) => sense.is_bot,
            None => {
                let is_capital = self.written(0).starts_with(char::is_uppercase);
                let has_form = word.contains(['-', '_', '['])
                    || word.bytes().any(|b| b.is_ascii_digit())
                    || is_capital;
                has_form && !word.contains(['/', '*'])
            }
        }
    }

    /// `who is not a bot`, `except bots`, `(not a bot)`, `other than @mira`, `outside the team`.
    fn qualifier(&mut self, role: UserRole, is_anyone: bool) -> Option<Guard> {
        self.attempt(|line| {
            let bracket = line.eat_mark("(");
            let comma = !bracket && line.eat_mark(",");
            // `, and not a bot,`
            if matches!(line.word(0), "and" | "but") && matches!(line.word(1), "not" | "no" | "who")
            {
                line.at += 1;
            }
            let start = line.at;
            let found = if line.eat_phrase(FIRST_TIME) {
                line.says(Says::Person(role, Who::FirstTimer), start)
            } else if !comma
                && (line.eat_phrase(OUTSIDE)
                    || line
                        .attempt(|line| {
                            line.eat("from").then_some(())?;
                            line.eat_phrase(OUTSIDE).then_some(())
                        })
                        .is_some())
            {
                line.says(Says::Person(role, Who::Maintainer), start).not()
            } else if line.eat_phrase(OTHER_THAN)
                || line.eat("but not")
                || is_anyone && line.eat("but")
                || (bracket || comma || line.word_at(start.wrapping_sub(1)) == "and")
                    && line.eat_any(&["not", "no"])
            {
                line.who_joined(role)?.not()
            } else if line.eat_any(&["who", "that", "which"]) {
                line.relative_person(role)?
            } else {
                return None;
            };
            if bracket && !line.eat_mark(")") {
                return None;
            }
            Some(found)
        })
    }

    /// `(who) is not a bot`, `is a bot or a first-timer`, `are neither X nor Y`.
    fn relative_person(&mut self, role: UserRole) -> Option<Guard> {
        if let Some(found) = self.attempt(|line| line.who_wrote_it(role)) {
            return Some(found);
        }
        let negated = self.eat_any(&["is", "are", "was"]) && self.eat("not");
        if !negated && !matches!(self.word_at(self.at.wrapping_sub(1)), "is" | "are" | "was") {
            return None;
        }
        let start = self.at;
        let found = if self.eat_phrase(&[
            "on the team",
            "part of the team",
            "in the organization",
            "part of the organization",
            "in the org",
            "part of the project",
        ]) {
            self.says(Says::Person(role, Who::Maintainer), start)
        } else {
            self.who_joined(role)?
        };
        let found = if negated { found.not() } else { found };
        // `and is not a bot`
        let more = self.attempt(|line| {
            line.eat_any(&["and", "but"]).then_some(())?;
            line.eat("who");
            let also = matches!(line.word(0), "is" | "are" | "was");
            also.then(|| line.relative_person(role))?
        });
        Some(match more {
            Some(more) => found.and(more),
            None => found,
        })
    }

    pub(super) fn eat_anyone(&mut self) -> bool {
        self.eat_class(Class::Anyone)
    }
}
