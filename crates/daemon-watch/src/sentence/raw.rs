//! Events by their raw names: `pull_request.opened`, `issue_comment` created, `pull_request: opened, edited`.

use daemon_event::Source;
use daemon_event::vocabulary::{self, EventKind, Noun, Verb};

use super::deeds::Event;
use super::formula::Formula;
use super::line::Line;
use crate::normalise::TokenKind;

impl Line<'_> {
    pub(super) fn raw_clause(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["the", "a", "an", "any"]);
        self.attempt(|line| {
            line.eat_phrase(&["github 's", "github event", "github webhook", "github"])
                .then_some(())
        });
        let mut events = match self.attempt(Self::any_event) {
            Some(events) => events,
            None => self.raw_event()?,
        };
        while let Some(more) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let joined = line.eat_any(&["or", "and"]);
            (comma || joined).then_some(())?;
            line.raw_event()
        }) {
            events.extend(more);
        }
        self.eat_any(&["event", "events"]);
        self.eat_any(&[
            "fires", "fire", "arrives", "arrive", "occurs", "occur", "happens", "happen",
        ]);
        self.attempt(|line| {
            line.eat_phrase(&[
                "comes in",
                "come in",
                "is received",
                "are received",
                "is fired",
            ])
            .then_some(())
        });
        let of_things = self.attempt(|line| {
            line.eat_any(&["for", "on", "of", "about"]).then_some(())?;
            let [thing] = <[_; 1]>::try_from(line.things()?).ok()?;
            Some(thing.guard)
        });
        if let Some(guard) = of_things {
            events
                .iter_mut()
                .for_each(|event| event.require(guard.clone()));
        }
        let behind = self.behind_verb(events.first()?.noun);
        events
            .iter_mut()
            .for_each(|event| event.require(behind.clone()));
        Some(events)
    }

    /// `any pull request event`, `every pull_request_review event`: all actions of a kind.
    fn any_event(&mut self) -> Option<Vec<Event>> {
        const KINDS: &[(&str, &str)] = &[
            ("pull request review comment", "pull_request_review_comment"),
            ("pull request review", "pull_request_review"),
            ("review comment", "pull_request_review_comment"),
            ("issue comment", "issue_comment"),
            ("pull request", "pull_request"),
            ("pull_request", "pull_request"),
            ("review", "pull_request_review"),
            ("issue", "issues"),
            ("issues", "issues"),
            ("release", "release"),
            ("discussion", "discussion"),
            ("milestone", "milestone"),
            ("mr", "pull_request"),
            ("pr", "pull_request"),
        ];
        let start = self.at;
        let name = match KINDS.iter().find(|(said, _)| self.eat(said)) {
            Some((_, name)) => *name,
            None => {
                let word = self.word(0);
                let kind = github_kind(word).filter(|kind| kind.name.contains('_'))?;
                self.at += 1;
                kind.name
            }
        };
        self.eat_any(&["webhook"]);
        self.eat_any(&["event", "events"]).then_some(())?;
        let ends = self.is_done()
            || self.is_mark(0, ",")
            || matches!(
                self.word(0),
                "fires"
                    | "fire"
                    | "arrives"
                    | "arrive"
                    | "occurs"
                    | "occur"
                    | "happens"
                    | "for"
                    | "on"
                    | "by"
                    | "comes"
            );
        ends.then_some(())?;
        let kind = github_kind(name)?;
        let mut actions: Vec<&'static str> = Vec::new();
        for action in kind.rows.iter().filter_map(|row| row.action) {
            if !actions.contains(&action) {
                actions.push(action);
            }
        }
        Some(
            actions
                .into_iter()
                .map(|action| self.raw(kind, action, start))
                .collect(),
        )
    }

    fn raw_event(&mut self) -> Option<Vec<Event>> {
        let text = match self.kind(0)? {
            TokenKind::Word => self.word(0).to_owned(),
            TokenKind::Quoted | TokenKind::Code => self.value(0).to_lowercase(),
            _ => return None,
        };
        let start = self.at;
        if let Some((kind, action)) = text.split_once(['.', ':']) {
            let kind = github_kind(kind)?;
            let action = known_action(kind, action)?;
            self.at += 1;
            return Some(vec![self.raw(kind, action, start)]);
        }
        let kind = github_kind(&text)
            .filter(|kind| kind.name.contains('_') || matches!(kind.name, "issues"))?;
        self.at += 1;
        let bracket = self.eat_mark("(");
        let colon = !bracket && self.eat_mark(":");
        self.eat_any(&["event", "events", "webhook"]);
        self.eat_phrase(&["from github"]);
        self.eat_any(&["arrives", "fires", "comes"]);
        if !bracket && !colon {
            self.eat_mark(",");
        }
        self.eat_phrase(&["with the", "with"]);
        let action_word = self.eat_any(&["action", "actions", "type", "types"]);
        self.eat_mark(":");
        let spelled = self.kind(0) == Some(TokenKind::Quoted)
            || text.contains('_') && known_action(kind, self.word(0)).is_some();
        (bracket || colon || action_word || spelled).then_some(())?;
        let mut events = Vec::new();
        while let Some(action) = self.attempt(|line| {
            if line.at > start + 1 {
                line.eat_mark(",");
                line.eat_any(&["or", "and"]);
            }
            let action = known_action(kind, &line.value(0).to_lowercase())?;
            line.at += 1;
            Some(action)
        }) {
            events.push(self.raw(kind, action, start));
        }
        if bracket {
            self.eat_mark(")").then_some(())?;
        }
        (!events.is_empty()).then_some(events)
    }

    fn raw(&self, kind: &'static EventKind, action: &'static str, start: usize) -> Event {
        let row = kind.rows.iter().find(|row| row.action == Some(action));
        let noun = row.map_or(Noun::PullRequest, |row| row.noun);
        let verb = row
            .and_then(|row| row.verbs.first().copied())
            .unwrap_or(Verb::Change);
        Event {
            noun,
            verb,
            on: Vec::new(),
            guard: Formula::Always,
            source: None,
            without: None,
            raw: Some((kind.name, Some(action))),
            start,
        }
    }
}

fn github_kind(name: &str) -> Option<&'static EventKind> {
    vocabulary::kinds()
        .iter()
        .copied()
        .find(|kind| kind.source == Source::Github && kind.name == name)
}

fn known_action(kind: &EventKind, action: &str) -> Option<&'static str> {
    kind.rows
        .iter()
        .filter_map(|row| row.action)
        .find(|known| *known == action)
}
