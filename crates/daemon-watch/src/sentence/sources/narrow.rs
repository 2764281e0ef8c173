//! What narrows a noun of the other sources, without a verb of its own.

use daemon_event::vocabulary::Noun;
use daemon_event::{Field, Source};

use super::subject::is_elsewhere;
use super::topic::{Scope, Topic, takes_name, takes_quoted_name};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Role, Says};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;
use crate::sentence::predicate::{LABELLED, WRITTEN, label_test};

/// Words that say where, of the repository that is watched.
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
/// Words that leave open what they speak of.
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
/// Who caused it, behind a participle: `triggered by a bot`.
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
    /// Reads all that narrows a noun or a verb here, joined by commas, `and`, `but` and `or`.
    pub(super) fn narrowings(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Guard {
        let mut found = Formula::Always;
        loop {
            let more = self.attempt(|line| {
                // Behind a verb and its object, what a comma sets apart rules the whole sentence.
                let may_be_apart = !scope.is_verb && !line.is_object;
                if !may_be_apart && line.is_mark(0, ",") {
                    return None;
                }
                line.eat_mark(",");
                let or = !found.is_always() && line.eat("or");
                if !or && !line.eat_phrase(&["but only", "and only", "and"]) && line.eat("but") {
                    // `any emoji but :bug:`: what is left out.
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

    /// `whether completed or canceled`: either way is any way.
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

    /// `whoever assigns it`, `no matter who posted it`: anybody.
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
            // Who a ticket is taken from did not take it.
            (matches!(scope.topic, Topic::Talk | Topic::Remark)
                || scope.topic == Topic::Ticket && !scope.is_verb)
                .then_some(())?;
        }
        self.eat("only");
        let role = if is_written && scope.topic != Topic::Run {
            Role::Author
        } else {
            Role::Actor
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

    pub(super) fn quoted_names(&mut self, is_led: bool) -> Option<Vec<String>> {
        let mut values = vec![self.quoted_name(is_led)?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            (comma || or).then_some(())?;
            line.quoted_name(is_led && or)
        }) {
            values.push(value);
        }
        Some(values)
    }

    fn quoted_name(&mut self, is_led: bool) -> Option<String> {
        if is_led
            && self.kind(0) == Some(TokenKind::Word)
            && self.kind(1) == Some(TokenKind::Mark)
            && self.written(1) == "/"
        {
            // `ci/build`, of two plain words.
            let range = self.at..self.at + 3;
            self.at = range.end;
            return Some(self.span(&range).of(self.text).to_owned());
        }
        let is_name = match self.kind(0)? {
            TokenKind::Quoted => true,
            TokenKind::Code => {
                is_led || self.value(0).contains('/') && !self.value(0).contains('*')
            }
            TokenKind::Word => {
                is_led
                    && (self.word_sense(0).is_none()
                        || self.written(0).starts_with(char::is_uppercase))
            }
            TokenKind::Channel
            | TokenKind::User
            | TokenKind::Reference
            | TokenKind::Number
            | TokenKind::Mark => false,
        };
        is_name.then_some(())?;
        let value = self.value(0);
        self.at += 1;
        Some(value)
    }

    /// `labelled Bug`, `with the Bug label`, `without a label`.
    pub(super) fn labelled(&mut self, scope: Scope) -> Option<Guard> {
        matches!(
            scope.noun,
            Noun::Issue | Noun::PullRequest | Noun::Discussion
        )
        .then_some(())?;
        let start = self.at;
        let is_joined = matches!(self.word_before(), "or" | "and" | "");
        if !(scope.is_verb && is_joined) && self.eat_any(LABELLED) {
            self.skip_any(&["with", "as"]);
            return self.labels(label_test);
        }
        let without = self.eat_any(&["without", "lacking", "missing"]);
        (without || self.eat_any(&["with", "carrying", "bearing", "having"])).then_some(())?;
        let found = self.had(scope, start)?;
        Some(if without { found.not() } else { found })
    }

    /// What a ticket can have: labels, a description, an assignee, a priority, a due date.
    pub(super) fn had(&mut self, scope: Scope, start: usize) -> Option<Guard> {
        let no = self.eat("no");
        let bare = self.attempt(|line| {
            line.skip_any(&["any", "a", "an", "its"]);
            let field = if line.eat_any(&["labels", "label"]) {
                Field::Labels
            } else if line.eat_any(&["assignee", "assignees"]) {
                Field::Assignees
            } else if line.eat_any(&["description", "body"]) {
                Field::Body
            } else if line.eat_phrase(&["due date", "deadline"]) {
                Field::DueDate
            } else if line.eat_any(&["estimate"]) {
                Field::Estimate
            } else if line.eat_any(&["project"]) {
                Field::Project
            } else if line.eat_any(&["cycle"]) {
                Field::Cycle
            } else if line.eat_any(&["milestone"]) {
                Field::Milestone
            } else {
                return None;
            };
            let ends = line.is_done()
                || line.is_mark(0, ",")
                || line.is_mark(0, ")")
                || line.sees_be()
                || matches!(
                    line.word(0),
                    "or" | "and"
                        | "but"
                        | "gets"
                        | "moves"
                        | "enters"
                        | "in"
                        | "by"
                        | "unless"
                        | "if"
                );
            ends.then(|| line.says(Says::Test(Test::new(field, Op::Present, Vec::new())), start))
        });
        let found = bare
            .or_else(|| self.attempt(|line| line.valued_complement(scope, start, "with")))
            .or_else(|| {
                self.attempt(|line| {
                    let before = line.sees_label_word();
                    let found = line.labels(label_test)?;
                    (before || matches!(line.word_before(), "label" | "labels")).then_some(found)
                })
            })
            .or_else(|| {
                self.attempt(|line| {
                    line.having_text(crate::sentence::predicate::Behind::Noun(scope.noun))
                })
            })?;
        Some(if no { found.not() } else { found })
    }

    /// `containing "x"`, `mentioning @mira`, `with the text "x"`, `with :eyes:`.
    pub(super) fn saying(&mut self, scope: Scope) -> Option<Guard> {
        let start = self.at;
        if matches!(scope.noun, Noun::Reaction | Noun::Message | Noun::Emoji) {
            let emoji = self.attempt(|line| {
                line.eat_any(&["with", "using"]);
                line.skip_any(&["a", "an", "the", "either"]);
                let excluded = line.other_than() || line.eat("but");
                Some((line.emojis()?, excluded))
            });
            if let Some((names, true)) = emoji {
                let test = Test::new(Field::Reaction, Op::Is, names);
                return Some(self.says(Says::Test(test), start).not());
            }
            if let Some((names, false)) = emoji {
                return Some(
                    self.says(Says::Test(Test::new(Field::Reaction, Op::Is, names)), start),
                );
            }
        }
        if self.eat_phrase(&[
            "starting with",
            "beginning with",
            "that starts with",
            "that begins with",
        ]) {
            return self.texts(None, Op::Begins);
        }
        self.eat_phrase(&[
            "containing",
            "mentioning",
            "including",
            "saying",
            "reading",
            "with the text",
            "with the words",
            "with the word",
            "with the phrase",
            "with text",
            "about",
        ])
        .then_some(())?;
        if self.word_before() == "about" {
            return None;
        }
        self.texts(None, Op::Contains)
    }

    /// `:eyes:`, `:eyes: or :tada:`.
    pub(super) fn emojis(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.emoji()?];
        while let Some(name) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat("or");
            (comma || or).then_some(())?;
            line.skip_any(&["a", "an", "the", "with"]);
            line.emoji()
        }) {
            names.push(name);
        }
        self.eat_any(&["reaction", "reactions", "emoji", "emojis"]);
        Some(names)
    }

    pub(super) fn emoji(&mut self) -> Option<String> {
        let written = self.written(0);
        let is_emoji =
            self.kind(0) == Some(TokenKind::Code) && written.starts_with(':') && written.len() > 2;
        is_emoji.then_some(())?;
        self.at += 1;
        Some(written.trim_matches(':').to_owned())
    }

    /// Which source a bare issue or comment is of, where the words behind it say so: `an issue is created in Linear`.
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
