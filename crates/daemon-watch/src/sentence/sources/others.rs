//! Clauses with a place, a source or a person as subject, and things that belong to a repository.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::happens::{Happening, done_to};
use super::subject::Matter;
use super::topic::Topic;
use crate::filter::{Op, Test};
use crate::sentence::atom::{Guard, Says};
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;

const BEGINS: &[Verb] = &[Verb::Create, Verb::Post, Verb::Add, Verb::Fire];
const THE_REPOSITORY: &[&str] = &[
    "the repository",
    "the repo",
    "this repository",
    "this repo",
    "our repository",
    "our repo",
    "the project",
    "our project",
    "the github repository",
    "the github repo",
];

impl Line<'_> {
    pub(super) fn matter_of(
        &self,
        noun: Noun,
        source: Source,
        start: usize,
        guard: Guard,
    ) -> Matter {
        Matter {
            nouns: vec![noun],
            source: Some(source),
            guard,
            behind: Formula::Always,
            on: Vec::new(),
            is_new: false,
            is_plural: false,
            ended: None,
            start,
        }
    }

    /// `Sentry captures an error`, `Slack receives a message in #eng`, `Dependabot finds a vulnerability`.
    pub(super) fn source_acts(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_phrase(&["there is", "there are"]);
        if self.at > start {
            return self.regression(start, None);
        }
        if self.eat("dependabot") {
            self.eat_any(&[
                "finds",
                "detects",
                "reports",
                "discovers",
                "flags",
                "raises",
                "opens",
                "creates",
            ])
            .then_some(())?;
            self.skip_any(&["a", "an", "any", "new"]);
            let found = self.attempt(Self::valued_before);
            self.skip_any(&["new"]);
            self.eat_any(&[
                "vulnerability",
                "vulnerabilities",
                "alert",
                "alerts",
                "vulnerable",
            ])
            .then_some(())?;
            self.eat_any(&["dependency"]);
            let alert = self.matter_of(
                Noun::DependabotAlert,
                Source::Github,
                start,
                found.unwrap_or(Formula::Always),
            );
            return self.all_done_to(&[alert], &Happening::plain(&[Verb::Create]));
        }
        let source = self.eat_sense(|sense| sense.source.is_some())?.source?;
        let verbs = if self.eat_any(&[
            "gets", "receives", "catches", "sends", "notices", "emits", "sees", "spots",
        ]) {
            BEGINS
        } else {
            self.eat_verb(super::acts::DOES)?
        };
        if verbs.contains(&Verb::Create)
            && let Some(events) = self.attempt(|line| line.regression(start, Some(source)))
        {
            return Some(events);
        }
        let was = self.acting_source.replace(source);
        let matters = self.matters();
        self.acting_source = was;
        let mut matters = matters?;
        for matter in &mut matters {
            matter.source = matter.source.or(Some(source));
            matter.start = start;
            (matter.source == Some(source)).then_some(())?;
        }
        self.all_done_to(&matters, &Happening::plain(verbs))
    }

    /// `a regression (in Sentry)`.
    fn regression(&mut self, start: usize, source: Option<Source>) -> Option<Vec<Event>> {
        self.skip_any(&["a", "an", "any", "new"]);
        self.eat("regression").then_some(())?;
        if source.is_none() {
            self.eat_phrase(&["in sentry", "on sentry"]).then_some(())?;
        }
        source
            .is_none_or(|source| source == Source::Sentry)
            .then_some(())?;
        let issue = self.matter_of(Noun::Issue, Source::Sentry, start, Formula::Always);
        self.all_done_to(&[issue], &Happening::plain(&[Verb::Regress]))
    }

    /// `the Operations team gets a new Linear issue`, `#eng receives a message`, `we get a star`, `a message gets
    /// an :eyes: reaction`.
    pub(super) fn place_gains(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let place = self
            .attempt(|line| line.channels(start))
            .or_else(|| self.attempt(|line| line.teams(start)));
        let ours = place.is_none() && (self.eat("we") || self.eat_phrase(THE_REPOSITORY));
        let message = !ours && place.is_none() && self.a_message();
        (place.is_some() || ours || message).then_some(())?;
        self.eat_any(&["gets", "receives", "sees", "gains", "get", "receive"])
            .then_some(())?;
        let mut matters = self.matters()?;
        for matter in &mut matters {
            let scope = matter.scope()?;
            if let Some(place) = &place {
                matches!(scope.topic, Topic::Talk | Topic::Ticket).then_some(())?;
                matter.require(place.clone());
            } else if message {
                matches!(scope.noun, Noun::Reaction | Noun::Emoji | Noun::Reply).then_some(())?;
                matter.source = Some(Source::Slack);
                if scope.noun == Noun::Emoji {
                    matter.nouns = vec![Noun::Reaction];
                }
            }
        }
        self.all_done_to(&matters, &Happening::plain(BEGINS))
    }

    /// `the bot is mentioned in #eng`, `the bot gets a direct message`, or both.
    pub(super) fn app_is_told(&mut self) -> Option<Vec<Event>> {
        self.app()?;
        let mut events = self.app_told()?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.app_told()
        }) {
            events.extend(more);
        }
        Some(events)
    }

    fn app_told(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let letter = self.attempt(|line| {
            line.eat_any(&["gets", "receives"]).then_some(())?;
            line.skip_any(&["a", "any", "new"]);
            line.eat_phrase(&["direct message", "dm", "private message", "direct messages"])
                .then_some(())
        });
        let letter = letter.is_some()
            || self.eat_phrase(&["is messaged directly", "is messaged privately", "is dmed"]);
        if letter {
            let matter = self.matter_of(Noun::DirectMessage, Source::Slack, start, Formula::Always);
            return self.all_done_to(&[matter], &Happening::plain(&[Verb::Post]));
        }
        let mentioned = self.eat_phrase(&[
            "is mentioned",
            "gets mentioned",
            "is pinged",
            "gets pinged",
            "gets a mention",
            "is @mentioned",
            "is tagged",
        ]);
        mentioned.then_some(())?;
        self.attempt(|line| {
            line.eat_phrase(&[
                "in a slack channel",
                "in any slack channel",
                "in a channel",
                "in any channel",
            ])
            .then_some(())
        });
        let matter = self.matter_of(Noun::Mention, Source::Slack, start, Formula::Always);
        self.all_done_to(&[matter], &Happening::plain(&[Verb::Create]))
    }

    fn a_message(&mut self) -> bool {
        self.attempt(|line| {
            line.skip_any(&["a", "an", "any", "the", "some", "slack"]);
            line.eat_any(&["message", "messages", "post"]).then_some(())
        })
        .is_some()
    }

    /// `the project is starred`, `production gets deployed`, `a user is added to #eng`, `a collaborator joins
    /// the repository`.
    pub(super) fn place_happens(&mut self) -> Option<Vec<Event>> {
        self.attempt(Self::repository_happens)
            .or_else(|| self.attempt(Self::environment_happens))
            .or_else(|| self.attempt(Self::person_to_channel))
            .or_else(|| self.attempt(Self::collaborator))
            .or_else(|| self.attempt(Self::member_of_organization))
            .or_else(|| self.attempt(Self::board_item))
    }

    /// `a member is added to the organization`, `somebody leaves the organization`.
    fn member_of_organization(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["a", "an", "any", "new"]);
        (self.eat_any(&["member", "user", "person"]) || self.eat_anyone()).then_some(())?;
        let joins = self.eat_phrase(&[
            "is added to",
            "gets added to",
            "joins",
            "becomes a member of",
        ]);
        let leaves = !joins && self.eat_phrase(&["is removed from", "gets removed from", "leaves"]);
        (joins || leaves).then_some(())?;
        self.skip_any(&["the", "our", "github"]);
        self.eat_any(&["organization", "organisation", "org"])
            .then_some(())?;
        let verb = if joins { Verb::Add } else { Verb::Remove };
        let member = self.matter_of(
            Noun::OrganizationMember,
            Source::Github,
            start,
            Formula::Always,
        );
        self.all_done_to(&[member], &Happening::plain(&[verb]))
    }

    /// `an item is added to the project board`.
    fn board_item(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["a", "an", "any", "new"]);
        self.eat_any(&["item", "items", "card"]).then_some(())?;
        let verb = if self.eat_phrase(&["is added to", "gets added to", "is put on", "lands on"]) {
            Verb::Create
        } else if self.eat_phrase(&["is removed from", "is deleted from", "gets removed from"]) {
            Verb::Delete
        } else {
            self.eat_phrase(&["is moved on", "moves on", "is edited on", "changes on"])
                .then_some(Verb::Edit)?
        };
        self.skip_any(&["a", "the", "our", "github"]);
        self.eat_any(&["project"]).then_some(())?;
        self.eat_any(&["board"]);
        let item = self.matter_of(Noun::ProjectItem, Source::Github, start, Formula::Always);
        self.all_done_to(&[item], &Happening::plain(&[verb]))
    }

    fn repository_happens(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_phrase(THE_REPOSITORY).then_some(())?;
        self.eat_any(&["is", "gets", "has"]).then_some(())?;
        self.eat_any(&["been"]);
        let verbs: &[Verb] = if self.eat("starred") {
            &[Verb::StarIt]
        } else {
            self.eat("forked").then_some(&[Verb::ForkIt])?
        };
        let repository = self.matter_of(Noun::Repository, Source::Github, start, Formula::Always);
        self.all_done_to(&[repository], &Happening::plain(verbs))
    }

    fn environment_happens(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["the"]);
        let values = self.values()?;
        let known = ["production", "prod", "staging", "preview"];
        values
            .iter()
            .all(|value| known.contains(&value.as_str()))
            .then_some(())?;
        let said = self.says(
            Says::Value(Some(crate::lexicon::Part::Environment), values),
            start,
        );
        self.eat_any(&["environment"]);
        self.eat_any(&["is", "gets", "has"]).then_some(())?;
        self.eat_any(&["been"]);
        self.eat("deployed").then_some(())?;
        self.eat("to");
        let deployment = self.matter_of(Noun::Deployment, Source::Github, start, said);
        self.all_done_to(&[deployment], &Happening::plain(&[Verb::Succeed]))
    }

    /// `a user is added to #eng`, `somebody is invited to the #eng channel`, `a new member arrives in #eng`.
    fn person_to_channel(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["a", "an", "any", "new", "some"]);
        let is_person = self
            .eat_any(&["user", "member", "person", "human", "teammate", "newcomer"])
            || self.eat_anyone();
        is_person.then_some(())?;
        self.eat("new");
        if let Some(events) = self.attempt(|line| {
            line.sees_any_team().then_some(())?;
            line.goes_to_channel()
        }) {
            return Some(events);
        }
        let verb = if self.eat_phrase(&[
            "is added to",
            "gets added to",
            "is invited to",
            "gets invited to",
            "is brought into",
            "comes into",
            "comes to",
            "joins",
            "enters",
            "arrives in",
            "becomes a member of",
            "is new in",
            "is new to",
        ]) {
            Verb::Join
        } else {
            self.eat_phrase(&[
                "is removed from",
                "gets removed from",
                "is kicked from",
                "is kicked out of",
                "leaves",
                "quits",
                "drops out of",
                "is taken out of",
                "parts from",
            ])
            .then_some(Verb::Leave)?
        };
        let place = self.channels(start)?;
        let channel = self.matter_of(Noun::Channel, Source::Slack, start, place);
        self.all_done_to(&[channel], &Happening::plain(&[verb]))
    }

    fn sees_any_team(&self) -> bool {
        (1..5).any(|ahead| matches!(self.word(ahead), "team" | "workspace" | "slack"))
    }

    /// `a new collaborator joins the repository`, `new collaborator on the repo`.
    fn collaborator(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.skip_any(&["a", "an", "any"]);
        let new = self.eat("new");
        self.eat_any(&["repository", "repo"]);
        self.eat_any(&["collaborator", "collaborators"])
            .then_some(())?;
        let joins = self.eat_phrase(&[
            "joins",
            "is added to",
            "gets added to",
            "is added",
            "gets added",
            "comes aboard",
            "is invited to",
            "is invited",
            "arrives",
        ]);
        let leaves = !joins
            && self.eat_phrase(&[
                "leaves",
                "is removed from",
                "gets removed from",
                "is removed",
                "gets removed",
            ]);
        if !joins && !leaves {
            new.then_some(())?;
            self.eat_any(&["on", "in", "for", "of"]);
        }
        self.eat_any(&["to", "from"]);
        let here = self.eat_phrase(THE_REPOSITORY);
        (here || self.is_done() || self.is_mark(0, ",") || self.sees("or")).then_some(())?;
        let verb = if leaves { Verb::Remove } else { Verb::Add };
        let collaborator =
            self.matter_of(Noun::Collaborator, Source::Github, start, Formula::Always);
        self.all_done_to(&[collaborator], &Happening::plain(&[verb]))
    }

    /// `a new label is added to the repository`, `somebody defines a label named "x" in the repo`: a label that
    /// is created, renamed or deleted, whether or not an issue has it.
    pub(in crate::sentence) fn label_of_repository(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let made = |line: &mut Self| {
            if line.eat_any(&[
                "adds",
                "creates",
                "defines",
                "makes",
                "introduces",
                "added",
                "created",
                "defined",
                "introduced",
            ]) {
                Some(Verb::Create)
            } else if line.eat_any(&[
                "removes", "deletes", "removed", "deleted", "drops", "dropped",
            ]) {
                Some(Verb::Delete)
            } else {
                line.eat_any(&["renames", "renamed", "edits", "edited"])
                    .then_some(Verb::Rename)
            }
        };
        let who = self.attempt(|line| {
            let who = line.who(crate::sentence::atom::UserRole::Actor)?;
            Some((who, made(line)?))
        });
        self.skip_any(&["a", "an", "the", "any", "new", "some"]);
        let before = self.attempt(|line| {
            matches!(line.kind(0)?, crate::normalise::TokenKind::Quoted).then_some(())?;
            let value = line.value(0);
            line.at += 1;
            Some(value)
        });
        self.eat_any(&["label", "labels"]).then_some(())?;
        let named = self.attempt(|line| {
            line.eat_any(&["named", "called"]).then_some(())?;
            line.quoted_names(true)
        });
        let (who, verb) = match who {
            Some(found) => found,
            None => {
                self.eat_any(&["is", "gets", "was"]).then_some(())?;
                (Formula::Always, made(self)?)
            }
        };
        self.eat_any(&["to", "in", "from", "for", "on", "of"])
            .then_some(())?;
        self.eat_phrase(THE_REPOSITORY).then_some(())?;
        let names = named.or_else(|| before.map(|name| vec![name]));
        let mut label = self.matter_of(Noun::RepositoryLabel, Source::Github, start, who);
        if let Some(names) = names {
            let test = Test::new(Field::Name, Op::Is, names);
            label.require(self.says(Says::Test(test), start));
        }
        self.all_done_to(&[label], &Happening::plain(&[verb]))
    }

    /// Returns the events of things with their modifiers.
    pub(super) fn all_done_to(
        &mut self,
        matters: &[Matter],
        happening: &Happening,
    ) -> Option<Vec<Event>> {
        let mut events = done_to(matters, happening)?;
        let scope = matters.first()?.scope()?.behind_verb();
        self.told_behind(scope, &mut events);
        Some(events)
    }
}
