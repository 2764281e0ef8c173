//! Places: channels, branches, pull requests, teams, projects, states.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::narrow::flag;
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::{Class, KNOWN_BRANCHES};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;
use crate::sentence::people::OTHER_THAN;

pub(super) const ANY_BUT: &[&str] = &[
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
pub(super) const ELSEWHERE: &[&str] = &[
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
        // `outside of threads started by bots`: no payload contains the author of the thread.
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

/// Assigns a name to the workflow of a job.
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
