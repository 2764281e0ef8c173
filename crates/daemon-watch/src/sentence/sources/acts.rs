//! Clauses about the other sources: a thing and what happens to it, somebody and what they do, happenings
//! named by nouns.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::happens::{Happening, attribute_name, done_to};
use super::narrow::flag;
use super::subject::Matter;
use super::topic::{Scope, Topic, topic};
use crate::filter::{Op, Test};
use crate::lexicon::{Class, Forms, Part};
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Role, Says};
use crate::sentence::deeds::{Event, added, removed};
use crate::sentence::formula::{Formula, is};
use crate::sentence::line::Line;

pub(super) const DOES: Forms = Forms(Forms::THIRD.0 | Forms::BASE.0 | Forms::PAST.0);

/// A part of a ticket, and what a payload calls its change.
type Attribute = (Option<Part>, &'static str);

impl Line<'_> {
    /// A clause in any of its forms.
    pub(in crate::sentence) fn clause_elsewhere(&mut self, on: bool) -> Option<Vec<Event>> {
        self.attempt(|line| line.fronted_place(on))
            .or_else(|| self.attempt(|line| line.plain_clause(on)))
    }

    /// `in #eng, …`, `on main, …`: a place before the clause.
    fn fronted_place(&mut self, on: bool) -> Option<Vec<Event>> {
        let start = self.at;
        if !on {
            matches!(self.word(0), "in" | "on" | "for" | "outside" | "within").then_some(())?;
        } else {
            self.at -= 1;
        }
        let place = self.attempt(Self::channel_place).or_else(|| {
            self.attempt(|line| {
                let scope = Scope {
                    noun: Noun::Check,
                    topic: Topic::Run,
                    is_verb: true,
                };
                line.place(scope)
            })
        })?;
        self.eat_mark(",").then_some(())?;
        let mut events = self.plain_clause(false)?;
        let is_channel = place.mentions(
            &|atom| matches!(&atom.says, Says::Test(test) if test.field() == Field::Channel),
        );
        for event in &mut events {
            let fits = match topic(event.noun, event.source)? {
                Topic::Talk => is_channel,
                Topic::Run | Topic::Deployment => !is_channel,
                _ => false,
            };
            fits.then_some(())?;
            event.require(place.clone());
            event.start = event.start.min(start);
        }
        Some(events)
    }

    fn plain_clause(&mut self, on: bool) -> Option<Vec<Event>> {
        type Form<'l> = fn(&mut Line<'l>, bool) -> Option<Vec<Event>>;
        let forms: [Form<'_>; 11] = [
            |line, _| line.part_of_matter(),
            |line, _| line.matter_clause(),
            |line, _| line.someone_acts(),
            |line, _| line.source_acts(),
            |line, _| line.app_is_told(),
            |line, _| line.place_gains(),
            |line, _| line.place_happens(),
            |line, _| line.headline_elsewhere(),
            Self::told_by_noun,
            |line, _| line.label_on_ticket(),
            |line, _| line.doing_elsewhere(),
        ];
        let start = self.at;
        let mut best: Option<(usize, Vec<Event>)> = None;
        for (n, form) in forms.into_iter().enumerate() {
            self.at = start;
            // The first two begin with a thing, the others with somebody who does something to it.
            let was = std::mem::replace(&mut self.is_object, n > 1);
            let found = self.attempt(|line| form(line, on));
            self.is_object = was;
            let Some(events) = found else {
                continue;
            };
            if best.as_ref().is_none_or(|(at, _)| self.at > *at) {
                best = Some((self.at, events));
            }
            if self.is_done() {
                break;
            }
        }
        let (at, events) = best?;
        self.at = at;
        let last = events.last()?;
        self.last = vec![last.noun];
        self.last_source = last.source;
        Some(events)
    }

    /// A thing and what happens to it.
    fn matter_clause(&mut self) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        // `a failed check`: how it ended is the event, unless another follows.
        self.eat_mark(",");
        let is_ticket = |matter: &Matter| matter.nouns == [Noun::Issue];
        if matters.iter().all(is_ticket) && matters.iter().any(|matter| matter.ended.is_some()) {
            // `a completed issue is reopened`: how it was, where the event undoes it.
            let events = self.happenings(&matters)?;
            let is_undone = |event: &Event| {
                matches!(
                    event.verb,
                    Verb::Reopen
                        | Verb::Unresolve
                        | Verb::Regress
                        | Verb::Unarchive
                        | Verb::Escalate
                )
            };
            return events.iter().all(is_undone).then_some(events);
        }
        if matters.iter().any(|matter| matter.ended.is_some()) {
            self.eat_phrase(&[
                "appears",
                "shows up",
                "comes in",
                "is reported",
                "turns up",
                "pops up",
                "occurs",
                "happens",
                "arrives",
            ])
            .then_some(())?;
            let mut events = Vec::new();
            for matter in &matters {
                events.extend(matter.events(&[matter.ended?])?);
            }
            let scope = matters.first()?.scope()?.behind_verb();
            self.told_behind(scope, &mut events);
            return Some(events);
        }
        let mut events = self.happenings(&matters)?;
        // `a reaction is left on an issue on GitHub`: of those no event tells.
        let is_reaction = matches!(matters.first()?.scope()?.noun, Noun::Reaction | Noun::Emoji);
        if is_reaction && matches!(self.word(0), "on" | "to") {
            return None;
        }
        // An emoji that is put on a message is a reaction.
        let names_message = (0..self.tokens.len())
            .any(|at| matches!(self.word_at(at), "message" | "messages" | "post"));
        let on_message = |event: &Event| event.noun == Noun::Emoji && names_message;
        for event in events.iter_mut().filter(|event| on_message(event)) {
            event.noun = Noun::Reaction;
            event.source = Some(Source::Slack);
        }
        Some(events)
    }

    /// `check failed on main`, `Linear issue moved to Done`: without an auxiliary.
    fn headline_elsewhere(&mut self) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        let happening = self
            .attempt(|line| line.by_topic_passive(scope))
            .or_else(|| self.attempt(|line| line.verb_of(scope, Forms::PAST)))?;
        self.all_done_to(&matters, &happening)
    }

    /// `a failed deployment to production`, `a new message in #eng`, `failure of the CI workflow on main`.
    fn told_by_noun(&mut self, on: bool) -> Option<Vec<Event>> {
        self.attempt(Self::happening_of).or_else(|| {
            let matters = self.matters()?;
            let mut events = Vec::new();
            // `deployment failure`, `workflow failures on main`
            let nominal = self.attempt(|line| line.eat_verb(Forms::NOMINAL));
            for matter in &matters {
                match nominal {
                    Some(verbs) => {
                        matter.behind.is_always().then_some(())?;
                        events.extend(matter.events(verbs)?);
                    }
                    None => events.extend(matter.events(&told_verbs(matter, on)?)?),
                }
            }
            let scope = matters.first()?.scope()?.behind_verb();
            self.told_behind(scope, &mut events);
            Some(events)
        })
    }

    pub(super) fn told_behind(&mut self, scope: Scope, events: &mut [Event]) {
        let mut on = Vec::new();
        let behind = self.behind_happening(scope, &mut on);
        for event in events {
            event.require(behind.clone());
            event.on.extend(on.iter().copied());
        }
    }

    /// `failure of the CI workflow`, `completion of a deployment`, `creation of a Linear issue`.
    fn happening_of(&mut self) -> Option<Vec<Event>> {
        self.skip_any(&["a", "an", "the", "any", "every", "each"]);
        let verbs = if self.eat("reassignment") {
            &[Verb::Reassign]
        } else {
            self.eat_verb(Forms::NOMINAL)?
        };
        self.eat_any(&["of", "in"]).then_some(())?;
        let matters = self.matters()?;
        let mut events = Vec::new();
        for matter in &matters {
            events.extend(matter.events(verbs)?);
        }
        let scope = matters.first()?.scope()?.behind_verb();
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `the priority of a Linear issue changes to urgent`, `a Linear issue's due date is changed`.
    fn part_of_matter(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let of_part = self.attempt(|line| {
            line.skip_any(&["the", "a"]);
            let parts = line.attributes()?;
            line.eat_any(&["of", "on"]).then_some(())?;
            Some((parts, line.matters()?))
        });
        let (parts, matters) = of_part.or_else(|| {
            self.attempt(|line| {
                let matters = line.matters()?;
                line.eat("'s").then_some(())?;
                Some((line.attributes()?, matters))
            })
        })?;
        let part = parts.first()?.0;
        let scope = matters.first()?.scope()?.behind_verb();
        (scope.topic == Topic::Ticket || scope.noun == Noun::Project).then_some(())?;
        let changes = self.eat_phrase(&[
            "is changed",
            "gets changed",
            "has been changed",
            "is updated",
            "gets updated",
            "is edited",
            "gets edited",
            "is modified",
            "changes",
            "is set",
            "gets set",
            "is raised",
            "is lowered",
            "is bumped",
            "moves",
            "is moved",
            "gets raised",
            "goes up",
            "becomes",
            "goes",
            "is adjusted",
            "is different now",
            "is different",
            "is now different",
            "is altered",
            "is rewritten",
            "is reworded",
            "gets bumped",
        ]);
        changes.then_some(())?;
        let verb = self.word_before().to_owned();
        let happening = if let Some(part) = part.filter(|_| parts.len() == 1) {
            self.part_becomes(scope, part, &verb, start)?
        } else {
            self.attributes_changed(&parts, start)
        };
        let mut events = done_to(&matters, &happening)?;
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `changes to urgent`, `becomes Done`, `is raised to high`, behind a part.
    fn part_becomes(
        &mut self,
        scope: Scope,
        part: Part,
        verb: &str,
        start: usize,
    ) -> Option<Happening> {
        if matches!(verb, "becomes" | "goes") {
            matches!(part, Part::Priority | Part::Status).then_some(())?;
            self.eat("to");
            return self.moved_to(scope);
        }
        let found = self.part_changed(scope, part, start)?;
        // Which way a value went, no payload says.
        let is_one_way = matches!(verb, "raised" | "lowered" | "bumped" | "up");
        let has_value = found
            .guard
            .mentions(&|atom| matches!(atom.says, Says::Value(..)));
        (!is_one_way || has_value).then_some(found)
    }

    fn attributes_changed(&self, attributes: &[Attribute], start: usize) -> Happening {
        let names: Vec<&str> = attributes.iter().map(|(_, name)| *name).collect();
        let changed = self.says(Says::Test(is(Field::Changed, &names)), start);
        Happening::with(&[Verb::Update], changed)
    }

    /// `title or description`: attributes of a ticket, by what a payload calls their change.
    fn attributes(&mut self) -> Option<Vec<Attribute>> {
        let mut found = vec![self.attribute_of_ticket()?];
        while let Some(attribute) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "and"]);
            (comma || or).then_some(())?;
            line.skip_any(&["the", "its"]);
            line.attribute_of_ticket()
        }) {
            found.push(attribute);
        }
        Some(found)
    }

    fn attribute_of_ticket(&mut self) -> Option<Attribute> {
        if self.eat("project") {
            return Some((None, "project"));
        }
        if self.eat("milestone") {
            return Some((None, "milestone"));
        }
        let part = self.eat_sense(|sense| sense.part.is_some())?.part?;
        Some((Some(part), attribute_name(part)?))
    }

    /// `the Bug label is added to a Linear issue`.
    fn label_on_ticket(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let gained = self.labels(added)?;
        let says = matches!(self.word_before(), "label" | "labels");
        says.then_some(())?;
        self.eat_any(&["is", "gets", "are"]).then_some(())?;
        let verb =
            if self.eat_phrase(&["added to", "put on", "applied to", "attached to", "set on"]) {
                Verb::Label
            } else {
                self.eat_phrase(&["removed from", "taken off", "dropped from", "stripped from"])
                    .then_some(())?;
                Verb::Unlabel
            };
        let end = self.at;
        let guard = if verb == Verb::Label {
            gained
        } else {
            self.at = start;
            let lost = self.labels(removed)?;
            self.at = end;
            lost
        };
        self.on_tickets(&Happening::with(&[verb], guard))
    }

    fn on_tickets(&mut self, happening: &Happening) -> Option<Vec<Event>> {
        let matters = self.matters()?;
        let mut events = done_to(&matters, happening)?;
        let scope = matters.first()?.scope()?.behind_verb();
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// Who does something: `a human posts in #eng`, `somebody moves a Linear issue to Done`.
    fn someone_acts(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let newcomer = self.attempt(|line| {
            (line.eat_anyone() && line.eat("new")).then_some(())?;
            line.goes_to_channel()
        });
        if newcomer.is_some() {
            return newcomer;
        }
        let who = self.who(Role::Actor)?;
        let source = self.attempt(|line| {
            line.eat_any(&["in", "on"]).then_some(())?;
            line.eat_sense(|sense| sense.source.is_some())?.source
        });
        self.eat_mark(",");
        self.eat_any(&["has", "have"]);
        let mut events = self.deed_elsewhere(DOES, source)?;
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.deed_elsewhere(DOES, source)
        }) {
            events.extend(more);
        }
        // `Dependabot opens an alert`: who finds it says which alert it is.
        if self.word_at(start) == "dependabot"
            && events.iter().any(|event| event.noun == Noun::Alert)
        {
            return None;
        }
        for event in &mut events {
            event.require(who.clone());
            event.start = event.start.min(start);
        }
        Some(events)
    }

    /// `posting in #eng`, `cancelling a workflow run`.
    fn doing_elsewhere(&mut self) -> Option<Vec<Event>> {
        self.deed_elsewhere(Forms::GERUND, None)
    }

    fn deed_elsewhere(&mut self, forms: Forms, source: Option<Source>) -> Option<Vec<Event>> {
        self.attempt(Self::talks)
            .or_else(|| self.attempt(Self::reacts))
            .or_else(|| self.attempt(Self::mentions_app))
            .or_else(|| self.attempt(Self::goes_to_channel))
            .or_else(|| self.attempt(Self::handles_ticket))
            .or_else(|| self.attempt(Self::remarks))
            .or_else(|| self.attempt(|line| line.does_to_matter(forms, source)))
    }

    fn talk(&self, noun: Noun, start: usize, guard: Guard) -> Matter {
        self.matter_of(noun, Source::Slack, start, guard)
    }

    fn finished(&mut self, matter: &Matter, verbs: &[Verb]) -> Option<Vec<Event>> {
        let scope = matter.scope()?.behind_verb();
        let mut events = matter.events(verbs)?;
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `posts in #eng`, `writes "x" in #eng`, `replies in a thread in #eng`.
    fn talks(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let replies = self.eat_any(&[
            "replies", "reply", "responds", "answers", "replying", "replied",
        ]);
        if !replies {
            self.eat_any(&[
                "posts", "writes", "says", "speaks", "posting", "writing", "post", "write",
                "posted", "wrote", "talks", "chats", "types",
            ])
            .then_some(())?;
        }
        let mut guard = Formula::Always;
        if replies {
            self.attempt(|line| {
                line.eat_any(&["to", "in", "inside", "within", "under"])
                    .then_some(())?;
                line.skip_any(&["a", "an", "any", "the", "some"]);
                line.eat_any(&[
                    "thread",
                    "threads",
                    "message",
                    "messages",
                    "post",
                    "conversation",
                ])
                .then_some(())
            });
        } else {
            self.eat_any(&["something", "anything"]);
            let text = self.attempt(|line| {
                let led = line.eat_any(&["with", "containing", "saying", "including", "like"]);
                if led {
                    return line.texts(None, Op::Contains);
                }
                (line.kind(0) == Some(TokenKind::Quoted)).then_some(())?;
                line.texts(None, Op::Contains)
            });
            guard = guard.and(text.unwrap_or(Formula::Always));
            // `posts a message`: read with its object.
            if self.sees_sense(|sense| sense.is(Class::Article)) {
                return None;
            }
        }
        let in_thread = self.attempt(|line| {
            line.eat_phrase(&["in a thread", "in threads", "in any thread"])
                .then_some(())
        });
        let noun = if replies || in_thread.is_some() {
            Noun::Reply
        } else {
            Noun::Message
        };
        let scope = Scope {
            noun,
            topic: Topic::Talk,
            is_verb: true,
        };
        let place = self.attempt(|line| line.plainly(scope))?;
        let says_slack = |atom: &crate::sentence::atom::Atom| match &atom.says {
            Says::Test(test) => matches!(test.field(), Field::Channel | Field::ChannelId),
            Says::Source(source) => *source == Source::Slack,
            _ => false,
        };
        place.mentions(&says_slack).then_some(())?;
        let mut matter = self.talk(noun, start, guard.and(place));
        let both = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_phrase(&[
                "whether as a new message or as a thread reply",
                "whether as a new message or as a reply",
                "whether as a message or as a reply",
                "whether at the top level or in a thread",
                "whether in a thread or not",
                "in a thread or not",
                "top-level or in a thread",
            ])
            .then_some(())
        });
        if both.is_some() {
            matter.nouns = vec![Noun::Message, Noun::Reply];
        }
        self.finished(&matter, &[Verb::Post])
    }

    /// `reacts with :eyes: to a message in #eng`, `adds a :eyes: reaction in #eng`.
    fn reacts(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&["reacts", "react", "reacting", "reacted"])
            .then_some(())?;
        let mut guard = Formula::Always;
        let mut says_slack = false;
        for _ in 0..3 {
            let names = self.attempt(|line| {
                line.eat_any(&["with", "using"]).then_some(())?;
                line.skip_any(&["a", "an", "the", "either"]);
                let excluded = line.other_than();
                let from = line.at;
                let names = line.emojis()?;
                let found = line.says(Says::Test(Test::new(Field::Reaction, Op::Is, names)), from);
                Some(if excluded { found.not() } else { found })
            });
            if let Some(names) = names {
                guard = guard.and(names);
                continue;
            }
            let object = self.attempt(|line| {
                line.eat_any(&["to"]).then_some(())?;
                line.skip_any(&["a", "an", "any", "the", "slack"]);
                line.eat_any(&["message", "messages", "post", "something", "anything"])
                    .then_some(())
            });
            let place = self.attempt(Self::channel_place);
            says_slack |= object.is_some() || place.is_some();
            if let Some(place) = place {
                guard = guard.and(place);
            }
        }
        let in_slack = self.attempt(|line| {
            line.eat_any(&["in", "on"]).then_some(())?;
            (line.eat_sense(|sense| sense.source == Some(Source::Slack))).map(|_| ())
        });
        // An emoji between colons is Slack's.
        let names_emoji = guard.mentions(
            &|atom| matches!(&atom.says, Says::Test(test) if test.field() == Field::Reaction),
        );
        (says_slack || names_emoji || in_slack.is_some()).then_some(())?;
        let matter = self.talk(Noun::Reaction, start, guard);
        self.finished(&matter, &[Verb::Add])
    }

    /// `mentions the bot in #eng`, `pings the app`, `messages the bot directly`.
    fn mentions_app(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let directly = self.eat_any(&["dms", "dm"])
            || self
                .attempt(|line| {
                    line.eat_any(&["messages", "message", "messaged"])
                        .then_some(())
                })
                .is_some();
        if !directly {
            let sends = self.attempt(|line| {
                line.eat_any(&["sends", "writes", "send"]).then_some(())?;
                const LETTER: &[&str] = &["a direct message", "a dm", "a private message"];
                if line.eat_phrase(LETTER) {
                    line.eat("to").then_some(())?;
                    return line.app();
                }
                line.app()?;
                line.eat_phrase(LETTER).then_some(())
            });
            if sends.is_some() {
                let matter = self.talk(Noun::DirectMessage, start, Formula::Always);
                return self.finished(&matter, &[Verb::Post]);
            }
            self.eat_any(&[
                "mentions",
                "pings",
                "mention",
                "mentioning",
                "mentioned",
                "tags",
            ])
            .then_some(())?;
        }
        self.app()?;
        if directly {
            let says_so = self.eat_any(&["privately"]) || self.word_at(start).starts_with("dm");
            says_so.then_some(())?;
            let matter = self.talk(Noun::DirectMessage, start, Formula::Always);
            return self.finished(&matter, &[Verb::Post]);
        }
        let matter = self.talk(Noun::Mention, start, Formula::Always);
        self.finished(&matter, &[Verb::Create])
    }

    /// `the bot`, `the daemon`, `our app`: the program itself.
    pub(super) fn app(&mut self) -> Option<()> {
        self.eat_any(&["the", "our", "this"]).then_some(())?;
        self.eat_any(&["slack"]);
        let daemon = self.eat("daemon");
        if daemon && !self.eat("'s") {
            return Some(());
        }
        let bot = self.eat_any(&["bot", "app"]);
        self.eat_any(&["user"]);
        (bot || daemon).then_some(())
    }

    /// `joins #eng`, `enters the #eng channel`, `leaves #eng`.
    pub(super) fn goes_to_channel(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let verb = if self.eat_any(&["joins", "enters", "join", "joined", "joining", "entered"]) {
            Verb::Join
        } else {
            self.eat_any(&["leaves", "left", "leave", "quits", "leaving"])
                .then_some(())?;
            Verb::Leave
        };
        let workspace = self.eat_phrase(&[
            "the slack team",
            "the slack workspace",
            "our slack",
            "our slack workspace",
            "the slack",
            "our slack team",
        ]);
        if workspace && verb == Verb::Join {
            let matter = self.talk(Noun::Workspace, start, Formula::Always);
            return self.finished(&matter, &[verb]);
        }
        let place = self.channels(start)?;
        let matter = self.talk(Noun::Channel, start, place);
        self.finished(&matter, &[verb])
    }

    /// `moves a Linear issue to Done`, `assigns a Linear issue to X`, `adds the Bug label to a Linear issue`,
    /// `changes the priority of a Linear issue`.
    fn handles_ticket(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        let label = self.attempt(|line| {
            let verb = if line.eat_any(&["adds", "puts", "applies", "add", "attaches", "adding"]) {
                Verb::Label
            } else {
                line.eat_any(&["removes", "drops", "strips", "takes", "removing"])
                    .then_some(())?;
                Verb::Unlabel
            };
            let guard = line.labels(if verb == Verb::Label { added } else { removed })?;
            let says = matches!(line.word_before(), "label" | "labels");
            says.then_some(())?;
            line.eat_any(&["to", "on", "from", "off"]).then_some(())?;
            line.on_tickets(&Happening::with(&[verb], guard))
        });
        if label.is_some() {
            return label;
        }
        let part = self.attempt(|line| {
            line.eat_any(&[
                "changes", "sets", "edits", "updates", "adjusts", "modifies", "changing",
                "rewrites",
            ])
            .then_some(())?;
            line.skip_any(&["the", "a"]);
            let parts = line.attributes()?;
            line.eat_any(&["of", "on"]).then_some(())?;
            let matters = line.matters()?;
            let scope = matters.first()?.scope()?.behind_verb();
            (scope.topic == Topic::Ticket).then_some(())?;
            let happening = match parts.as_slice() {
                [(Some(part), _)] => line.part_changed(scope, *part, start)?,
                parts => line.attributes_changed(parts, start),
            };
            line.all_done_to(&matters, &happening)
        });
        if part.is_some() {
            return part;
        }
        let assigned = self.attempt(|line| {
            let person = line.attempt(|line| {
                line.eat_any(&["assigns", "adds"]).then_some(())?;
                let from = line.at;
                let names = line.full_names()?;
                line.eat("to").then_some(())?;
                let guard = line.says(Says::Test(Test::new(Field::Assignee, Op::Is, names)), from);
                line.on_tickets(&Happening::with(&[Verb::Assign], guard))
            });
            if person.is_some() {
                return person;
            }
            let verb = if line.eat_any(&["assigns", "gives", "hands", "assigning"]) {
                Verb::Assign
            } else {
                line.eat_any(&["reassigns"]).then_some(())?;
                Verb::Reassign
            };
            let matters = line.matters()?;
            (matters.first()?.scope()?.topic == Topic::Ticket).then_some(())?;
            let from = line.at;
            let guard = line.attempt(|line| {
                line.eat("to").then_some(())?;
                if line.eat_anyone() {
                    return Some(Formula::Always);
                }
                let names = line.full_names()?;
                Some(line.says(Says::Test(Test::new(Field::Assignee, Op::Is, names)), from))
            });
            let happening = Happening::with(&[verb], guard.unwrap_or(Formula::Always));
            line.all_done_to(&matters, &happening)
        });
        if assigned.is_some() {
            return assigned;
        }
        self.eat_any(&[
            "moves",
            "sets",
            "puts",
            "drags",
            "marks",
            "sends",
            "raises",
            "bumps",
            "lowers",
            "transitions",
            "switches",
            "moving",
            "pushes",
            "drops",
            "changes",
            "escalates",
        ])
        .then_some(())?;
        let matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        (scope.topic == Topic::Ticket).then_some(())?;
        self.eat_any(&["back"]);
        self.eat_any(&["to", "into", "in", "as"]).then_some(())?;
        let happening = self.moved_to(scope)?;
        self.all_done_to(&matters, &happening)
    }

    /// `comments on a Linear issue`.
    fn remarks(&mut self) -> Option<Vec<Event>> {
        let start = self.at;
        self.eat_any(&["comments", "remarks", "comment", "commenting"])
            .then_some(())?;
        let mut guard = Formula::Always;
        if let Some(said) = self.attempt(Self::said) {
            guard = said;
        }
        self.eat_any(&["on", "in", "under"]).then_some(())?;
        let matters = self.matters()?;
        let [matter] = matters.as_slice() else {
            return None;
        };
        (matter.nouns == [Noun::Issue] && matter.guard.is_always()).then_some(())?;
        let mut remark = matter.clone();
        remark.nouns = vec![Noun::Comment];
        remark.start = start;
        remark.guard = guard;
        self.finished(&remark, &[Verb::Create])
    }

    /// Any verb of the vocabulary with its object: `posts a message in #eng`, `cancels a workflow run`.
    fn does_to_matter(&mut self, forms: Forms, source: Option<Source>) -> Option<Vec<Event>> {
        let makes = self.attempt(|line| {
            line.eat_any(&["makes", "made", "making"]).then_some(())?;
            line.sees_sense(|sense| sense.is(Class::Article))
                .then_some(&[Verb::Create][..])
        });
        let first = match makes {
            Some(makes) => makes,
            None => self.eat_verb(forms)?,
        };
        let mut verbs = vec![first];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.eat_verb(forms)
        }) {
            verbs.push(more);
        }
        let mut matters = self.matters()?;
        let scope = matters.first()?.scope()?.behind_verb();
        if source.is_some() {
            for matter in &mut matters {
                matter.source = matter.source.or(source);
            }
        }
        let mut events = Vec::new();
        for verbs in verbs {
            for matter in &matters {
                let takes_value = scope.topic == Topic::Ticket
                    && verbs
                        .iter()
                        .any(|verb| matches!(verb, Verb::Move | Verb::Label | Verb::Unlabel));
                (!takes_value && matter.ended.is_none()).then_some(())?;
                // Nobody makes a run fail.
                let acts: Vec<Verb> = verbs
                    .iter()
                    .copied()
                    .filter(|verb| !matches!(verb, Verb::Fail | Verb::Succeed | Verb::Complete))
                    .collect();
                let in_thread = matter.nouns == [Noun::Message] && says_reply(&matter.guard);
                let mut matter = matter.clone();
                let begins = matter.is_new
                    && matches!(matter.nouns.as_slice(), [Noun::Project | Noun::Initiative]);
                if begins && acts.contains(&Verb::Start) {
                    events.extend(matter.events(&[Verb::Create])?);
                    continue;
                }
                if in_thread {
                    matter.nouns = vec![Noun::Reply];
                }
                events.extend(matter.events(&acts)?);
            }
        }
        self.told_behind(scope, &mut events);
        Some(events)
    }
}

/// Whether a message is said to answer another.
fn says_reply(guard: &Guard) -> bool {
    match guard {
        Formula::Atom(atom) => atom.says == flag(Field::Reply),
        Formula::All(all) => all.iter().any(says_reply),
        Formula::Always | Formula::Not(_) | Formula::Any(_) => false,
    }
}

/// What a noun alone says: how it ended, or that it is new.
fn told_verbs(matter: &Matter, on: bool) -> Option<Vec<Verb>> {
    if let Some(ended) = matter.ended {
        return Some(vec![ended]);
    }
    let scope = matter.scope()?;
    let is_said = matches!(
        scope.noun,
        Noun::Message
            | Noun::Reply
            | Noun::Mention
            | Noun::DirectMessage
            | Noun::Reaction
            | Noun::Comment
    );
    let told = matter.is_new
        || matter.is_plural && scope.topic == Topic::Alert && !matter.guard.is_always()
        || on && (is_said || matches!(scope.topic, Topic::Alert | Topic::Trouble))
        || is_said && matter.is_plural;
    let tells_each = matches!(scope.noun, Noun::DeploymentStatus | Noun::Status);
    if tells_each && on {
        return Some(vec![Verb::Change]);
    }
    told.then(|| {
        vec![
            Verb::Create,
            Verb::Post,
            Verb::Add,
            Verb::Fire,
            Verb::Publish,
        ]
    })
}
