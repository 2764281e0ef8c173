//! Where something happens: channels, branches, pull requests, teams, projects, states.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::narrow::flag;
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::{Class, KNOWN_BRANCHES, WORKFLOW_STATES};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;
use crate::sentence::people::OTHER_THAN;

const ANY_BUT: &[&str] = &[
    "other than",
    "except for",
    "except",
    "apart from",
    "besides",
    "but",
    "aside from",
    "excluding",
    "that is not",
    "outside",
];
const ELSEWHERE: &[&str] = &[
    "outside of",
    "outside",
    "anywhere but in",
    "anywhere but",
    "anywhere except in",
    "anywhere except",
    "anywhere other than in",
    "anywhere other than",
    "anywhere outside of",
    "anywhere outside",
    "everywhere but in",
    "everywhere except in",
    "elsewhere than in",
    "not in",
];

impl Line<'_> {
    pub(super) fn place(&mut self, scope: Scope) -> Option<Guard> {
        match scope.topic {
            Topic::Talk => self
                .attempt(Self::channel_place)
                .or_else(|| self.attempt(Self::thread_place)),
            Topic::Run | Topic::Deployment => self
                .attempt(|line| line.branch_place(scope))
                .or_else(|| self.attempt(|line| line.of_workflow(scope)))
                .or_else(|| self.attempt(Self::current_head)),
            Topic::Alert => self.attempt(|line| line.branch_place(scope)),
            Topic::Ticket => self
                .attempt(Self::team_place)
                .or_else(|| self.attempt(Self::project_place))
                .or_else(|| self.attempt(Self::assigned_place))
                .or_else(|| self.attempt(Self::state_place))
                .or_else(|| self.attempt(Self::bare_team)),
            Topic::Trouble => self.attempt(Self::project_place),
            Topic::Remark | Topic::Other => self.attempt(Self::project_place),
        }
    }

    /// `in #eng or #ops`, `in any channel but #random`, `outside #random`, `in the #eng channel`.
    pub(super) fn channel_place(&mut self) -> Option<Guard> {
        let start = self.at;
        if self.eat_phrase(&[
            "in that channel",
            "in the same channel",
            "in that same channel",
            "there",
            "in those channels",
            "to that channel",
            "in one of those channels",
            "in either channel",
        ]) {
            return self.last_channel.clone();
        }
        let outside = self.eat_phrase(ELSEWHERE);
        if !outside {
            self.eat_any(&[
                "in", "to", "into", "on", "from", "inside", "within", "of", "at",
            ])
            .then_some(())?;
        }
        let found = self.channels(start)?;
        Some(if outside { found.not() } else { found })
    }

    /// Channels by their names, with the words around them.
    pub(super) fn channels(&mut self, start: usize) -> Option<Guard> {
        self.skip_any(&[
            "the", "our", "either", "slack", "a", "any", "public", "some",
        ]);
        let any = matches!(self.word_before(), "a" | "any" | "some");
        let says_channel = self.eat_any(&["channel", "channels"]);
        let excluded = self.eat_phrase(ANY_BUT);
        if any && !says_channel {
            return None;
        }
        if excluded {
            self.skip_any(&["the", "in"]);
        }
        self.skip_any(&["named", "called"]);
        let mut names = Vec::new();
        let mut ids = Vec::new();
        loop {
            match self.kind(0)? {
                TokenKind::Channel => names.push(self.value(0)),
                TokenKind::Quoted | TokenKind::Word if says_channel && self.is_channel_id() => {
                    ids.push(self.value(0));
                }
                TokenKind::Quoted if says_channel || matches!(self.word(1), "channel") => {
                    names.push(self.value(0).trim_start_matches('#').to_owned());
                }
                _ => return None,
            }
            self.at += 1;
            self.eat_any(&["channel", "channels"]);
            let goes_on = self.attempt(|line| {
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or", "nor", "and"]);
                (comma || or).then_some(())?;
                line.skip_any(&["the", "in", "to"]);
                (line.kind(0) == Some(TokenKind::Channel)).then_some(())
            });
            if goes_on.is_none() {
                break;
            }
        }
        let test = if ids.is_empty() {
            Test::new(Field::Channel, Op::Is, names)
        } else {
            Test::new(Field::ChannelId, Op::Is, ids)
        };
        let found = self.says(Says::Test(test), start);
        self.last_channel = Some(found.clone());
        Some(if excluded { found.not() } else { found })
    }

    fn is_channel_id(&self) -> bool {
        let text = self.value(0);
        text.len() >= 8
            && text.starts_with(['C', 'G', 'D'])
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
    }

    /// `in a thread`, `in threads`, `at the top level`.
    fn thread_place(&mut self) -> Option<Guard> {
        let start = self.at;
        if self.eat_phrase(&[
            "in a thread",
            "in any thread",
            "in threads",
            "in its thread",
            "inside a thread",
            "to a thread",
            "in thread",
        ]) {
            return Some(self.says(flag(Field::Reply), start));
        }
        self.eat_phrase(&[
            "at the top level",
            "at top level",
            "outside of a thread",
            "outside a thread",
            "outside of threads",
            "outside threads",
            "not in a thread",
            "outside any thread",
        ])
        .then_some(())?;
        // `outside of threads started by bots`: whose threads they are, no event tells.
        let is_some = self
            .sees_sense(|sense| sense.is_verb() || sense.is(Class::By) || sense.is(Class::That));
        (!is_some).then(|| self.says(flag(Field::Reply), start).not())
    }

    /// `on main`, `for the release/* branches`, `on any branch other than develop`.
    fn branch_place(&mut self, scope: Scope) -> Option<Guard> {
        if self.eat_phrase(&[
            "there",
            "on that branch",
            "on the same branch",
            "on those branches",
            "on either branch",
        ]) {
            return self.last_branch.clone();
        }
        let outside = self.eat_phrase(ELSEWHERE) || self.eat_phrase(&["off"]);
        if !outside {
            self.eat_any(&["on", "for", "of", "against", "in", "from", "at"])
                .then_some(())?;
        }
        let start = self.at;
        if self.eat_phrase(&[
            "any branch but",
            "every branch but",
            "all branches but",
            "any branch except",
            "every branch except",
            "all branches except",
        ]) {
            let found = self.branches()?.not();
            self.last_branch = Some(found.clone());
            return Some(found);
        }
        self.skip_any(&["a", "an", "the", "any", "our", "either"]);
        let word = self.word(0);
        let says = matches!(word, "branch" | "branches" | "default")
            || (1..=3).any(|ahead| matches!(self.word(ahead), "branch" | "branches"));
        let is_pattern = self.kind(0) == Some(TokenKind::Code)
            && (self.value(0).contains('*')
                || scope.topic == Topic::Run && self.value(0).contains('/'));
        let is_known = KNOWN_BRANCHES.contains(&word) && word != "release" && word != "integration"
            || is_pattern;
        let may_be = says || is_known && (scope.topic == Topic::Run || word != "next");
        may_be.then_some(())?;
        self.at = start;
        let found = self.branches()?;
        let found = if outside { found.not() } else { found };
        self.last_branch = Some(found.clone());
        Some(found)
    }

    /// `of the Deploy workflow`, for a job.
    fn of_workflow(&mut self, scope: Scope) -> Option<Guard> {
        (scope.noun == Noun::Job).then_some(())?;
        self.eat_any(&["of", "in", "from", "within"])
            .then_some(())?;
        let matter = self.matter()?;
        (matter.nouns == [Noun::Workflow]).then_some(())?;
        Some(rename_workflow(&matter.guard))
    }

    fn current_head(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["on", "for", "of"]).then_some(())?;
        self.skip_any(&["the", "its"]);
        self.eat_phrase(&[
            "current head commit",
            "current head",
            "latest commit",
            "head commit",
            "latest head",
            "head",
        ])
        .then_some(())?;
        let found = self.says(flag(Field::CurrentHead), start);
        let mut on = Vec::new();
        match self.attempt(|line| {
            let scope = Scope {
                noun: Noun::Check,
                topic: Topic::Run,
                is_verb: true,
            };
            line.on_pull_request(scope, &mut on)
        }) {
            Some(pull) => Some(found.and(pull)),
            None => Some(found),
        }
    }

    /// `on a pull request against main`, of what runs.
    pub(super) fn on_pull_request(&mut self, scope: Scope, on: &mut Vec<Noun>) -> Option<Guard> {
        (scope.topic == Topic::Run).then_some(())?;
        self.eat_any(&["on", "for", "of", "in", "against", "from"])
            .then_some(())?;
        let start = self.at;
        if self.last == [Noun::PullRequest] && self.eat_any(&["it", "them"]) {
            on.push(Noun::PullRequest);
            let present = Test::new(Field::PullRequests, Op::Present, Vec::new());
            return Some(self.says(Says::Test(present), start));
        }
        let was = std::mem::replace(&mut self.is_object, false);
        let things = self.things();
        self.is_object = was;
        let things = things?;
        let [thing] = things.as_slice() else {
            return None;
        };
        (thing.noun == Noun::PullRequest && !thing.is_new).then_some(())?;
        let present = self.says(
            Says::Test(Test::new(Field::PullRequests, Op::Present, Vec::new())),
            start,
        );
        let of_pull = crate::sentence::things::of_parent(&thing.guard)?;
        on.push(Noun::PullRequest);
        self.last = vec![scope.noun];
        Some(present.and(of_pull))
    }

    /// `in the Ops team`, `in team OPS`, `in any team but Ops`, `outside the Ops team`, `for team "Ops"`.
    fn team_place(&mut self) -> Option<Guard> {
        let start = self.at;
        let outside = self.eat_phrase(ELSEWHERE);
        if !outside {
            self.eat_any(&["in", "for", "on", "of", "from", "to", "by"])
                .then_some(())?;
        }
        let found = self.teams(start)?;
        Some(if outside { found.not() } else { found })
    }

    /// `in Engineering`: a name behind `in` that is no state.
    fn bare_team(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat("in").then_some(())?;
        let is_name = self.kind(0) == Some(TokenKind::Word)
            && self.word_sense(0).is_none()
            && self.written(0).starts_with(char::is_uppercase);
        is_name.then_some(())?;
        let name = self.value(0);
        self.at += 1;
        let is_longer = self.written(0).starts_with(char::is_uppercase)
            || self.sees_sense(|sense| !sense.nouns.is_empty() || sense.part.is_some());
        (!is_longer).then(|| {
            self.says(
                Says::Test(Test::new(Field::Team, Op::Is, vec![name])),
                start,
            )
        })
    }

    pub(super) fn teams(&mut self, start: usize) -> Option<Guard> {
        self.skip_any(&["the", "our", "linear", "any", "a", "every", "either"]);
        let before = self.eat_any(&["team", "teams"]);
        let excluded = before && self.eat_phrase(ANY_BUT);
        self.skip_any(&["the", "named", "called"]);
        let values = self.proper_names(&["team", "teams"], before)?;
        let after = self.eat_any(&["team", "teams"]);
        (before || after).then_some(())?;
        let found = self.says(Says::Test(Test::new(Field::Team, Op::Is, values)), start);
        Some(if excluded { found.not() } else { found })
    }

    /// Names joined by `or`, each of quoted text or words with a capital, up to a word that ends them.
    pub(super) fn proper_names(&mut self, ends: &[&str], is_led: bool) -> Option<Vec<String>> {
        let mut values = Vec::new();
        loop {
            let value = if matches!(self.kind(0)?, TokenKind::Quoted | TokenKind::Code) {
                let value = self.value(0);
                self.at += 1;
                value
            } else {
                let n = (0..4)
                    .take_while(|ahead| {
                        let is_capital = self.written(*ahead).starts_with(char::is_uppercase);
                        let is_plain = self.word_sense(*ahead).is_none() || is_capital;
                        self.kind(*ahead) == Some(TokenKind::Word)
                            && !ends.contains(&self.word(*ahead))
                            && (is_capital
                                || is_plain && ends.contains(&self.word(ahead + 1))
                                || is_plain && is_led && *ahead == 0)
                    })
                    .count();
                (n > 0).then_some(())?;
                let range = self.at..self.at + n;
                let value = self.span(&range).of(self.text).to_owned();
                self.at = range.end;
                value
            };
            values.push(value);
            let goes_on = self.attempt(|line| {
                line.eat_any(ends);
                let comma = line.eat_mark(",");
                let or = line.eat_any(&["or", "nor"]);
                (comma || or).then_some(())?;
                line.skip_any(&["the", "in"]);
                let is_name = matches!(line.kind(0)?, TokenKind::Quoted)
                    || line.written(0).starts_with(char::is_uppercase)
                        && line
                            .word_sense(0)
                            .is_none_or(|sense| sense.source.is_none());
                is_name.then_some(())
            });
            if goes_on.is_none() {
                return Some(values);
            }
        }
    }

    /// `in the checkout project`, `in project "X"`, `in the Q3 milestone`, `in cycle 12`.
    fn project_place(&mut self) -> Option<Guard> {
        let start = self.at;
        let outside = self.eat_phrase(ELSEWHERE);
        if !outside {
            self.eat_any(&["in", "for", "of", "from", "under", "on"])
                .then_some(())?;
        }
        self.skip_any(&["the", "our", "sentry", "linear", "any", "a", "'s"]);
        let field = |word: &str| match word {
            "project" | "projects" => Some(Field::Project),
            "milestone" => Some(Field::Milestone),
            "cycle" => Some(Field::Cycle),
            _ => None,
        };
        let before = field(self.word(0));
        self.at += usize::from(before.is_some());
        let excluded = before.is_some() && self.eat_phrase(ANY_BUT);
        self.skip_any(&["the", "named", "called"]);
        let values = self.project_names(before.is_some())?;
        let after = field(self.word(0));
        self.at += usize::from(after.is_some());
        let field = before.or(after)?;
        let found = self.says(Says::Test(Test::new(field, Op::Is, values)), start);
        Some(if outside || excluded {
            found.not()
        } else {
            found
        })
    }

    fn project_names(&mut self, is_led: bool) -> Option<Vec<String>> {
        const ENDS: &[&str] = &["project", "projects", "milestone", "cycle"];
        let is_plain = matches!(self.kind(0)?, TokenKind::Word)
            && self.word_sense(0).is_none()
            && (is_led || ENDS.contains(&self.word(1)));
        if is_plain && !self.written(0).starts_with(char::is_uppercase) {
            let value = self.value(0);
            self.at += 1;
            return Some(vec![value]);
        }
        self.proper_names(ENDS, is_led)
    }

    fn assigned_place(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_phrase(&["assigned to", "owned by"])
            .then_some(())?;
        self.assignee_names(start)
    }

    pub(super) fn assignee_names(&mut self, start: usize) -> Option<Guard> {
        if self.eat_phrase(&["nobody", "no one", "no-one"]) {
            return Some(self.says(
                Says::Test(Test::new(Field::Assignees, Op::Absent, Vec::new())),
                start,
            ));
        }
        if self.eat_anyone() {
            return Some(self.says(
                Says::Test(Test::new(Field::Assignees, Op::Present, Vec::new())),
                start,
            ));
        }
        let names = self.full_names()?;
        Some(self.says(
            Says::Test(Test::new(Field::Assignees, Op::Is, names)),
            start,
        ))
    }

    /// People by their names, of several words each: `Ines Varga or Lumen`.
    pub(super) fn full_names(&mut self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        loop {
            let start = self.at;
            self.name()?;
            while self.kind(0) == Some(TokenKind::Word)
                && self.word_sense(0).is_none()
                && self.written(0).starts_with(char::is_uppercase)
                && self
                    .tokens
                    .get(start)
                    .is_some_and(|first| first.kind == TokenKind::Word)
            {
                self.at += 1;
            }
            let range = start..self.at;
            let is_one = self.at == start + 1;
            let name = if is_one {
                self.at -= 1;
                let value = self.value(0);
                self.at += 1;
                value
            } else {
                self.span(&range).of(self.text).to_owned()
            };
            names.push(name);
            let goes_on = self.attempt(|line| {
                line.eat_mark(",");
                line.eat_any(&["or", "nor"]).then_some(())?;
                line.eat("to");
                let at = line.at;
                line.name()?;
                line.at = at;
                Some(())
            });
            if goes_on.is_none() {
                return Some(names);
            }
        }
    }

    /// `in Triage`, `in the "In Review" state`: where a ticket is.
    fn state_place(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["in", "into", "with"]).then_some(())?;
        self.skip_any(&["the"]);
        let before = self.eat_any(&["state", "status", "column"]);
        let values = self.states(before)?;
        let after = matches!(self.word_before(), "state" | "status" | "column");
        (before || after || values.iter().all(|value| is_known_state(value))).then_some(())?;
        Some(self.says(Says::Test(Test::new(Field::State, Op::Is, values)), start))
    }

    /// States joined by `or`: quoted, known, or words with a capital.
    pub(super) fn states(&mut self, is_led: bool) -> Option<Vec<String>> {
        if self.eat("there") {
            return self.last_states.clone();
        }
        let mut values = vec![self.state(is_led)?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            (comma || or).then_some(())?;
            line.skip_any(&["the", "to", "into", "in"]);
            line.state(is_led || or)
        }) {
            values.push(value);
        }
        self.eat_any(&["state", "status", "column", "states"]);
        self.last_states = Some(values.clone());
        Some(values)
    }

    fn state(&mut self, is_led: bool) -> Option<String> {
        if self.kind(0)? == TokenKind::Quoted {
            let value = self.value(0);
            self.at += 1;
            return Some(value);
        }
        let n_words = (1..=3).rev().find(|n| {
            let range = self.at..self.at + n;
            range.end <= self.tokens.len() && is_known_state(self.span(&range).of(self.text))
        });
        let n_words = n_words.or_else(|| {
            let is_name = is_led
                && self.kind(0) == Some(TokenKind::Word)
                && self.word_sense(0).is_none()
                && self.written(0).starts_with(char::is_uppercase);
            is_name.then_some(1)
        })?;
        let range = self.at..self.at + n_words;
        let value = self.span(&range).of(self.text).to_owned();
        self.at = range.end;
        Some(value)
    }

    pub(super) fn other_than(&mut self) -> bool {
        self.eat_phrase(&[
            "anything other than",
            "anything but",
            "anything except",
            "any state but",
            "any state other than",
            "any state except",
            "anyone but",
            "anyone other than",
            "anyone except",
            "anybody but",
        ]) || self.eat_phrase(OTHER_THAN)
    }
}

pub(super) fn is_known_state(value: &str) -> bool {
    WORKFLOW_STATES.contains(&value.to_lowercase().as_str())
}

/// Makes a name speak of the workflow that a job belongs to.
fn rename_workflow(guard: &Guard) -> Guard {
    guard
        .replace(false, &mut |atom: &crate::sentence::atom::Atom, negated| {
            let mut atom = atom.clone();
            if let Says::Name(values) = &atom.says {
                atom.says = Says::Test(Test::new(Field::Workflow, Op::Is, values.clone()));
            }
            let found = Formula::Atom(atom);
            Some(if negated { found.not() } else { found })
        })
        .unwrap_or(Formula::Always)
}
