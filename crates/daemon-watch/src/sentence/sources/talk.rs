//! Actions in Slack: posts, replies, reactions, mentions of the app, joining and leaving.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::subject::Matter;
use super::topic::{Scope, Topic};
use crate::filter::{Op, Test};
use crate::lexicon::Class;
use crate::normalise::TokenKind;
use crate::sentence::atom::{Guard, Says};
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;

impl Line<'_> {
    pub(super) fn talk(&self, noun: Noun, start: usize, guard: Guard) -> Matter {
        self.matter_of(noun, Source::Slack, start, guard)
    }

    pub(super) fn finished(&mut self, matter: &Matter, verbs: &[Verb]) -> Option<Vec<Event>> {
        let scope = matter.scope()?.behind_verb();
        let mut events = matter.events(verbs)?;
        self.told_behind(scope, &mut events);
        Some(events)
    }

    /// `posts in #eng`, `writes "x" in #eng`, `replies in a thread in #eng`.
    pub(super) fn talks(&mut self) -> Option<Vec<Event>> {
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
    pub(super) fn reacts(&mut self) -> Option<Vec<Event>> {
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
        // Only Slack spells an emoji between colons.
        let names_emoji = guard.mentions(
            &|atom| matches!(&atom.says, Says::Test(test) if test.field() == Field::Reaction),
        );
        (says_slack || names_emoji || in_slack.is_some()).then_some(())?;
        let matter = self.talk(Noun::Reaction, start, guard);
        self.finished(&matter, &[Verb::Add])
    }

    /// `mentions the bot in #eng`, `pings the app`, `messages the bot directly`.
    pub(super) fn mentions_app(&mut self) -> Option<Vec<Event>> {
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
}
