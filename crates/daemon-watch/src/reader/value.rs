//! What words and phrases mean while a line is parsed.

use std::ops::Range;
use std::sync::LazyLock;

use daemon_event::Source;
use daemon_event::vocabulary::{Noun, Verb};
use rustc_hash::FxHashMap;

use crate::filter::Test;
use crate::meaning::atom::{Atom, Guard, Says, State, TextPlace, Who};
use crate::meaning::event::GuardedEvent;
use crate::meaning::formula::Formula;

/// The meaning of an edge.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Value {
    /// A word that only marks structure; compositions do not receive it.
    #[default]
    Nothing,
    /// Verbs that are joined, each with its senses.
    Verbs(Vec<Senses>),
    /// Alternative things.
    Things(Vec<Thing>),
    /// A condition on a thing, or people as a condition on the actor.
    Guard(Guard),
    /// What happens to a thing that the parse has not reached.
    Deeds(Vec<Deed>),
    /// What happens, to known things.
    /// What happens, and the things that "it" behind it means.
    Events(Vec<GuardedEvent>, Vec<Thing>),
    /// Strings of the line.
    Strings(Vec<String>),
    /// A part of a thing that contains text.
    Places(Vec<TextPlace>),
    /// A source of events.
    Source(Source),
}

/// The senses of one verb, the usual one first: the first that a thing has an event for counts.
pub(super) type Senses = Vec<Verb>;

/// A noun under a guard. Things of one word that begin at the same token are its senses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Thing {
    pub(super) noun: Noun,
    pub(super) guard: Guard,
    /// What the comment or review is on.
    pub(super) on: Vec<Noun>,
    pub(super) source: Option<Source>,
    /// `new`: the thing is created by the event.
    pub(super) is_new: bool,
    /// In the conversation, not on a line of the diff.
    pub(super) is_top: bool,
    pub(super) start: usize,
    /// The event that an adjective says: "a critical alert".
    pub(super) fired_as: Option<Verb>,
}

/// A verb without its thing.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deed {
    pub(super) verbs: Vec<Senses>,
    pub(super) guard: Guard,
    /// What a comment or review is put on.
    pub(super) on: Vec<Thing>,
    /// "opened on GitHub": where it happens.
    pub(super) source: Option<Source>,
    /// The verb has words of its own behind it.
    pub(super) has_own: bool,
}

/// A word's sense in the lexicon, or an argument of a composition in the grammar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sense {
    Nothing,
    Noun(Noun),
    Verb(Verb),
    Source(Source),
    TextPlace(TextPlace),
    /// A string, such as the name of a branch.
    Text(String),
    State(State),
    Test(Test),
    /// `None` is any person or program.
    Who(Option<Who>),
    Not(Box<Self>),
    /// An argument without a prefix.
    Word(String),
    All(Vec<Self>),
}

/// Nouns and verbs by their names in the data.
static NOUNS: LazyLock<FxHashMap<String, Noun>> = LazyLock::new(|| by_name(Noun::ALL));
static VERBS: LazyLock<FxHashMap<String, Verb>> = LazyLock::new(|| by_name(Verb::ALL));

fn by_name<T: Copy + std::fmt::Debug>(all: &[T]) -> FxHashMap<String, T> {
    all.iter().map(|one| (format!("{one:?}"), *one)).collect()
}

impl Sense {
    /// Reads a sense: `noun:Issue`, `verb:Create`, `test:fork is true`, `who:Human`, several joined by `+`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some((first, rest)) = text.split_once(" + ") {
            let mut all = vec![Self::parse(first)?];
            match Self::parse(rest)? {
                Self::All(more) => all.extend(more),
                one => all.push(one),
            }
            return Some(Self::All(all));
        }
        let Some((sort, name)) = text.split_once(':') else {
            return Some(if text == "-" {
                Self::Nothing
            } else {
                Self::Word(text.to_owned())
            });
        };
        let is_named = |one: &dyn std::fmt::Debug| format!("{one:?}") == name;
        Some(match sort {
            "noun" => Self::Noun(*NOUNS.get(name)?),
            "verb" => Self::Verb(*VERBS.get(name)?),
            "source" => Self::Source(
                Source::ALL
                    .iter()
                    .copied()
                    .find(|one| one.as_str() == name)?,
            ),
            "place" => Self::TextPlace(
                [
                    TextPlace::Title,
                    TextPlace::Body,
                    TextPlace::Own,
                    TextPlace::Message,
                ]
                .into_iter()
                .find(|place| is_named(place))?,
            ),
            "state" => Self::State(
                [State::Draft, State::Open, State::Closed, State::Merged]
                    .into_iter()
                    .find(|state| is_named(state))?,
            ),
            "text" => Self::Text(name.to_owned()),
            "test" => Self::Test(parsed(name)?),
            "who" => Self::Who(who(name)?),
            "not" => Self::Not(Box::new(Self::parse(name)?)),
            _ => return None,
        })
    }

    /// Adds a sense behind the others.
    pub(super) fn also(&mut self, other: &Self) {
        match self {
            Self::All(all) if all.contains(other) => {}
            Self::All(all) => all.push(other.clone()),
            one if one == other => {}
            one => *one = Self::All(vec![one.clone(), other.clone()]),
        }
    }

    /// Returns the value of a word with this sense.
    pub(super) fn value(&self, range: &Range<usize>) -> Value {
        match self {
            Self::Nothing | Self::Word(_) => Value::Nothing,
            Self::Noun(noun) => Value::Things(vec![Thing::of(*noun, range.start)]),
            Self::Verb(verb) => Value::Verbs(vec![vec![*verb]]),
            Self::Source(source) => Value::Source(*source),
            Self::TextPlace(place) => Value::Places(vec![*place]),
            Self::Text(text) => Value::Strings(vec![text.clone()]),
            Self::All(all) => all
                .iter()
                .map(|one| one.value(range))
                .reduce(Value::with)
                .unwrap_or(Value::Nothing),
            Self::State(_) | Self::Test(_) | Self::Who(_) | Self::Not(_) => {
                Value::Guard(self.guard(range).unwrap_or(Formula::Always))
            }
        }
    }

    /// Returns the guard that the sense says.
    pub(super) fn guard(&self, range: &Range<usize>) -> Option<Guard> {
        let says = match self {
            Self::State(state) => Says::State(*state),
            Self::Test(test) => Says::Test(test.clone()),
            Self::Who(None) => return Some(Formula::Always),
            Self::Who(Some(who)) => {
                Says::Person(crate::meaning::atom::UserRole::Actor, who.clone())
            }
            Self::Not(inner) => return Some(inner.guard(range)?.not()),
            _ => return None,
        };
        Some(says_at(says, range))
    }
}

impl Value {
    /// Joins two senses of one word.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Verbs(verbs), Self::Verbs(more)) => {
                Self::Verbs(vec![verbs.into_iter().chain(more).flatten().collect()])
            }
            (Self::Things(mut things), Self::Things(more)) => {
                things.extend(more);
                Self::Things(things)
            }
            (Self::Things(mut things), Self::Source(source)) => {
                things
                    .iter_mut()
                    .for_each(|thing| thing.source = Some(source));
                Self::Things(things)
            }
            (Self::Places(mut places), Self::Places(more)) => {
                places.extend(more);
                Self::Places(places)
            }
            (Self::Strings(mut strings), Self::Strings(more)) => {
                strings.extend(more);
                Self::Strings(strings)
            }
            (Self::Guard(one), Self::Guard(other)) => Self::Guard(one.and(other)),
            (one, _) => one,
        }
    }
}

impl Thing {
    pub(super) fn of(noun: Noun, start: usize) -> Self {
        Self {
            noun,
            guard: Formula::Always,
            on: Vec::new(),
            source: None,
            is_new: false,
            is_top: false,
            start,
            fired_as: None,
        }
    }
}

/// Makes a statement of the tokens of a range.
pub(super) fn says_at(says: Says, range: &Range<usize>) -> Guard {
    Formula::Atom(Atom {
        says,
        of_parent: false,
        range: range.clone(),
    })
}

fn parsed(text: &str) -> Option<Test> {
    // The caller names the malformed row, which holds more than the error does.
    text.parse().ok()
}

fn who(name: &str) -> Option<Option<Who>> {
    Some(match name {
        "Anyone" => None,
        "Human" => Some(Who::Human),
        "Bot" => Some(Who::Bot),
        "Maintainer" => Some(Who::Maintainer),
        "FirstTimer" => Some(Who::FirstTimer),
        "Member" => Some(Who::Member),
        "Owner" => Some(Who::Owner),
        "TheAuthor" => Some(Who::TheAuthor),
        "TheWriter" => Some(Who::TheWriter),
        named => Some(Who::Named(vec![named.to_owned()])),
    })
}
