//! Modifiers of a noun of the other sources, without a verb of their own.

use daemon_event::vocabulary::Noun;
use daemon_event::{Field, Source};

use super::subject::is_elsewhere;
use super::topic::{Scope, Topic, takes_name, takes_quoted_name};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says, UserRole};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;
use crate::sentence::predicate::WRITTEN;

/// Phrases for the watched repository itself.
const HERE: &[&str] = &[
    "in the repository",
    "in the repo",
    "in this repository",
    "in this repo",
    "in our repository",
    "in our repo",
    "on the repository",
    "on the repo",
    "of the repository",
    "of the repo",
    "to the repository",
    "to the repo",
    "for the repository",
    "for the repo",
    "of this repository",
    "for this repository",
    "for this repo",
    "on this repository",
    "from the repository",
    "from the repo",
    "in github actions",
    "on github actions",
    "from github actions",
];
/// Words that exclude nothing.
const WHATEVER: &[&str] = &[
    "whatever the branch",
    "whichever the branch",
    "whatever branch it is on",
    "no matter the branch",
    "no matter which branch",
    "regardless of the branch",
    "regardless of branch",
    "on any branch",
    "on whatever branch",
    "whatever the outcome",
    "whatever the result",
    "whatever its conclusion",
    "whatever the conclusion",
    "whatever its outcome",
    "whatever its result",
    "regardless of the outcome",
    "regardless of the result",
    "regardless of outcome",
    "regardless of result",
    "no matter how it ends",
    "however it ends",
    "no matter the outcome",
    "no matter the result",
    "whether it succeeds or fails",
    "whether it passes or fails",
    "successfully or not",
    "in any channel",
    "in whatever channel",
    "in any environment",
    "to any environment",
    "whatever the environment",
    "regardless of the environment",
    "no matter the environment",
    "regardless of environment",
    "in any team",
    "whatever the team",
    "regardless of the team",
    "of any severity",
    "whatever the severity",
    "regardless of severity",
    "whatever its severity",
    "regardless of the severity",
    "at any level",
    "whatever the level",
    "regardless of level",
    "in any project",
    "whatever the project",
    "regardless of the project",
    "of any kind",
    "at all",
    "regardless of the channel",
    "whatever the channel",
    "no matter the channel",
    "no matter which channel",
    "of any priority",
    "whatever the priority",
    "regardless of priority",
];
/// Words before the actor after a participle: `triggered by a bot`.
const CAUSED: &[&str] = &[
    "triggered",
    "caused",
    "initiated",
    "requested",
    "kicked off",
    "launched",
    "done",
    "run",
    "received",
    "coming",
    "shared",
    "uploaded",
    "pushed",
    "dispatched",
    "performed",
];

impl Line<'_> {
    /// Reads all modifiers of a noun or a verb at this position, joined by commas, `and`, `but` and `or`.
    pub(super) fn narrowings(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Guard {
        let mut found = Formula::Always;
        loop {
            let more = self.attempt(|line| {
                // After a verb and its object, a modifier after a comma applies to the whole sentence.
                let may_be_apart = !scope.is_verb && !line.is_object;
                if !may_be_apart && line.is_mark(0, ",") {
                    return None;
                }
                line.eat_mark(",");
                let or = !found.is_always() && line.eat("or");
                if !or && !line.eat_phrase(&["but only", "and only", "and"]) && line.eat("but") {
                    // `any emoji but :bug:`: an exclusion.
                    (line.kind(0) == Some(TokenKind::Word)).then_some(())?;
                }
                let start = line.at;
                let more = line.narrowing(scope, on)?;
                (line.at > start && (!or || !more.is_always())).then_some((more, or))
            });
            let Some((more, or)) = more else { return found };
            found = if or { found.or(more) } else { found.and(more) };
        }
    }

    fn narrowing(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Option<Guard> {
        self.attempt(|line| line.in_brackets(scope, on))
            .or_else(|| self.attempt(|line| line.excepting(scope)))
            .or_else(|| self.attempt(|line| line.relative_elsewhere(scope)))
            .or_else(|| self.attempt(|line| line.on_pull_request(scope, on)))
            .or_else(|| self.attempt(|line| line.plainly(scope)))
    }

    fn in_brackets(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Option<Guard> {
        self.eat_mark("(").then_some(())?;
        let found = match self.attempt(|line| line.narrowing(scope, on)) {
            Some(first) => first.and(self.narrowings(scope, on)),
            None => self.complements(scope)?,
        };
        self.eat_mark(")").then_some(found)
    }

    /// One modifier without a verb.
    pub(super) fn plainly(&mut self, scope: Scope) -> Option<Guard> {
        let here = self.attempt(|line| {
            (line.eat_phrase(HERE) || line.eat_phrase(WHATEVER)).then_some(())?;
            let goes_on = matches!(
                line.word(0),
                "but" | "except" | "other" | "apart" | "besides" | "excluding" | "named"
            );
            (!goes_on).then_some(Formula::Always)
        });
        if here.is_some() {
            return here;
        }
        self.attempt(|line| line.by_whom(scope))
            .or_else(|| self.attempt(|line| line.in_source(scope)))
            .or_else(|| self.attempt(|line| line.place(scope)))
            .or_else(|| self.attempt(|line| line.named_behind(scope)))
            .or_else(|| self.attempt(|line| line.labelled(scope)))
            .or_else(|| self.attempt(|line| line.valued(scope)))
            .or_else(|| self.attempt(|line| scope.runs().then(|| line.ended_how()).flatten()))
            .or_else(|| self.attempt(|line| line.saying(scope)))
            .or_else(|| self.attempt(Self::numbers))
            .or_else(|| self.attempt(|line| line.whichever(scope)))
            .or_else(|| self.attempt(Self::whoever))
            .or_else(|| self.attempt(|line| line.on_message(scope)))
    }

    /// `whether completed or canceled`: both outcomes together exclude nothing.
    fn whichever(&mut self, scope: Scope) -> Option<Guard> {
        self.eat("whether").then_some(())?;
        (scope.topic != Topic::Talk).then_some(())?;
        self.eat_any(&["it"]);
        self.eat_any(&["is", "was", "has", "ends", "ended"]);
        self.skip_any(&["been", "in"]);
        let way = |line: &mut Self| {
            line.eat_any(&["as", "by", "in", "with"]);
            line.skip_any(&["a", "an"]);
            line.eat("not")
                || line
                    .eat_sense(|sense| sense.is_value || sense.is_verb())
                    .is_some()
                || line.eat_class(crate::lexicon::Class::Human)
                || line.eat_class(crate::lexicon::Class::Bot)
        };
        way(self).then_some(())?;
        self.eat("or").then_some(())?;
        way(self).then_some(Formula::Always)
    }

    /// `whoever assigns it`, `no matter who posted it`: any user.
    fn whoever(&mut self) -> Option<Guard> {
        self.eat_phrase(&["whoever", "no matter who", "regardless of who"])
            .then_some(())?;
        self.eat_any(&["is", "was", "did", "does", "has"]);
        let does = self.eat_sense(crate::lexicon::Sense::is_verb).is_some();
        let object = self.eat_any(&["it", "them", "so"]);
        (does || object || self.is_done()).then_some(Formula::Always)
    }

    /// `to a Slack message`, of a reaction.
    fn on_message(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        matches!(scope.noun, Noun::Reaction | Noun::Emoji).then_some(())?;
        self.eat_any(&["to", "on"]).then_some(())?;
        self.skip_any(&["a", "an", "any", "the", "some", "slack"]);
        self.eat_any(&["message", "messages", "post"])
            .then_some(())?;
        Some(self.says(Says::Source(Source::Slack), start))
    }

    fn by_whom(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        let is_written = self.eat_any(WRITTEN);
        let is_caused = !is_written && self.eat_phrase(CAUSED);
        let is_joined = matches!(self.word_at(start.wrapping_sub(1)), "or" | "and" | "");
        if (is_written || is_caused && is_joined) && scope.is_verb {
            return None;
        }
        self.eat("only");
        if !self.eat("by") {
            self.eat("from").then_some(())?;
            // `taken from X`: the user after a verb of a ticket is not the actor.
            (matches!(scope.topic, Topic::Talk | Topic::Remark)
                || scope.topic == Topic::Ticket && !scope.is_verb)
                .then_some(())?;
        }
        self.eat("only");
        let role = if is_written && scope.topic != Topic::Run {
            UserRole::Author
        } else {
            UserRole::Actor
        };
        let who = self.who(role)?;
        (self.at > start).then_some(who)
    }

    /// `in Linear`, `on Sentry`: the source that the noun already has.
    fn in_source(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        if matches!(scope.topic, Topic::Trouble | Topic::Remark) && self.eat("there") {
            let source = self.last_source?;
            return Some(self.says(Says::Source(source), start));
        }
        self.eat_any(&["in", "on", "from", "inside", "within", "via", "to"])
            .then_some(())?;
        self.skip_any(&["our", "the"]);
        let source = self.eat_sense(|sense| sense.source.is_some())?.source?;
        self.eat_any(&["workspace"]);
        (!self.sees_sense(is_elsewhere) && self.word(0) != "'s").then_some(())?;
        Some(self.says(Says::Source(source), start))
    }

    /// `named "Nightly build"`, `"CI"` directly behind its noun, `whose name is X`.
    fn named_behind(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        let takes = takes_name(scope.noun);
        let says = self.eat_phrase(&[
            "with the name",
            "with name",
            "with context",
            "with the context",
            "named",
            "called",
            "by the name of",
            "titled",
        ]);
        self.skip_any(&["either"]);
        let is_quoted = self.kind(0) == Some(TokenKind::Quoted);
        let is_bare = !says
            && (takes || is_quoted && takes_quoted_name(scope.noun))
            && self.word_at(start.wrapping_sub(1)) != "on";
        (says || is_bare).then_some(())?;
        let values = self.quoted_names(says)?;
        if takes {
            return Some(self.says(Says::Name(values), start));
        }
        let field = match scope.noun {
            Noun::Channel => Field::Channel,
            Noun::Milestone => Field::Milestone,
            Noun::Issue => Field::Title,
            _ if self.word_at(start) == "titled" => Field::Title,
            _ => Field::Name,
        };
        Some(self.says(Says::Test(Test::new(field, Op::Is, values)), start))
    }

    /// Returns the source of an issue or comment by the words after it: `an issue is created in Linear`.
    pub(super) fn source_ahead(&self) -> Option<Source> {
        for at in self.at..self.tokens.len() {
            let word = self.word_at(at);
            let Some(sense) = crate::lexicon::exact(word) else {
                continue;
            };
            if let Some(source @ (Source::Linear | Source::Sentry)) = sense.source {
                let led = matches!(
                    self.word_at(at.wrapping_sub(1)),
                    "in" | "on" | "from" | "our"
                );
                return led.then_some(source);
            }
            let is_other = sense.source.is_some()
                || sense.nouns.iter().any(|noun| {
                    matches!(
                        noun,
                        Noun::Issue | Noun::PullRequest | Noun::Message | Noun::Comment
                    )
                });
            if is_other {
                return None;
            }
        }
        None
    }
}

pub(super) fn flag(field: Field) -> Says {
    Says::Test(is(field, &["true"]))
}
