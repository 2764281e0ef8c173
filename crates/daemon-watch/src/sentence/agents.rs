//! Clauses with a person or program as subject.

use daemon_event::vocabulary::{Noun, Verb};

use super::atom::{Guard, Says, UserRole, Who};
use super::deeds::Event;
use super::formula::Formula;
use super::line::Line;
use super::people::OTHER_THAN;
use crate::lexicon::{Forms, Sense};

impl Line<'_> {
    /// Who does something: `someone opens a PR`, `a maintainer who is not the author approves it`.
    pub(super) fn agent_clause(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let was = std::mem::replace(&mut self.is_agent, true);
        let who = self.agent();
        self.is_agent = was;
        let who = who?;
        self.eat_mark(",");
        let has = self.eat_any(&["has", "have", "had"]) && {
            self.eat("been");
            true
        };
        let forms = if has {
            Forms::PAST
        } else {
            Forms(Forms::THIRD.0 | Forms::BASE.0 | Forms::PAST.0)
        };
        let mut events = self.actives(&who, forms)?;
        let is_author = who.mentions(&|atom| matches!(atom.says, Says::Person(_, Who::TheAuthor)));
        for event in &mut events {
            event.start = start.min(event.start);
            // The author of a pull request pushes to it, unless a branch is named.
            let names_branch = event
                .guard
                .mentions(&|atom| matches!(atom.says, Says::Branch(..)));
            if is_author && event.noun == Noun::Commit && event.verb == Verb::Push && !names_branch
            {
                event.noun = Noun::PullRequest;
                event.verb = Verb::Synchronize;
            }
        }
        Some(events)
    }

    pub(super) fn agent(&mut self) -> Option<Guard> {
        let reviewer = self.attempt(|line| {
            line.skip_any(&["a", "the", "any", "another", "some"]);
            line.eat_any(&["reviewer", "reviewers"]).then_some(())?;
            if line.eat_phrase(OTHER_THAN) {
                return line.who_joined(UserRole::Actor).map(Formula::not);
            }
            line.sees_sense(Sense::is_verb).then_some(Formula::Always)
        });
        reviewer.or_else(|| self.who(UserRole::Actor))
    }

    /// `opens a PR`, `opens or reopens a PR`, `opens a PR or pushes to it`
    pub(super) fn actives(&mut self, who: &Guard, forms: Forms) -> Option<Vec<Event>> {
        let mut events = self.active(forms)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.active(forms)
        }) {
            events.extend(more);
        }
        self.by_agent(who, &mut events);
        Some(events)
    }

    /// Actions without a subject: `opening a pull request`, `pushing to main`.
    pub(super) fn gerund_clause(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["the"]);
        self.actives(&Formula::Always, Forms::GERUND)
    }
}
