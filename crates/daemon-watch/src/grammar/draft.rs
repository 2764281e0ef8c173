//! What one clause of a line holds, before it is resolved to events.

use std::ops::Range;

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use crate::filter::{Mark, Op};
use crate::lexicon::{Forms, Part};

/// Everything that one clause mentions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) nouns: Vec<NounHit>,
    pub(crate) parts: Vec<PartHit>,
    pub(crate) verbs: Vec<VerbHit>,
    pub(crate) mods: Vec<ModHit>,
    pub(crate) sources: Vec<(Source, usize)>,
    /// A service that is no source here.
    pub(crate) foreign: Option<usize>,
    /// Who acts, named as the subject.
    pub(crate) agent: Option<(Who, Range<usize>)>,
    /// An event named by its raw name: kind and action.
    pub(crate) raw: Vec<(&'static str, Option<&'static str>, Range<usize>)>,
    pub(crate) is_new: Option<usize>,
    pub(crate) gains: Option<usize>,
    pub(crate) loses: Option<usize>,
    pub(crate) last_connector: Option<(Joint, usize)>,
    pub(crate) has_be: bool,
    /// The clause follows its predecessor by `and`: a sequence, not an alternative.
    pub(crate) is_sequel: bool,
    /// Files are said to be touched, by a verb.
    pub(crate) touches: bool,
    /// Modifiers joined to the one before by `or`: each makes an alternative.
    pub(crate) either: Vec<usize>,
    /// The next clause has the same subject.
    pub(crate) continues: bool,
    pub(crate) range: Range<usize>,
}

/// How two things are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    Or,
    And,
    Comma,
}

/// A noun of the vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct NounHit {
    pub(crate) nouns: &'static [Noun],
    pub(crate) at: usize,
    /// Nouns joined by `or` share a group.
    pub(crate) group: usize,
    pub(crate) plural: bool,
    /// How many verbs stood before it.
    pub(crate) n_verbs: usize,
}

/// A part of an issue or pull request, with the values written beside it.
#[derive(Clone, Debug)]
pub(crate) struct PartHit {
    pub(crate) part: Part,
    pub(crate) values: Vec<String>,
    pub(crate) negated: bool,
    pub(crate) range: Range<usize>,
}

/// A verb, with every meaning that it can have.
#[derive(Clone, Debug)]
pub(crate) struct VerbHit {
    pub(crate) verbs: Vec<Verb>,
    pub(crate) forms: Forms,
    pub(crate) at: usize,
    /// Values written behind it: labels, states.
    pub(crate) values: Vec<String>,
    pub(crate) negated_values: bool,
    pub(crate) range: Range<usize>,
    /// It is joined to the verb before it by `and`.
    pub(crate) is_sequel: bool,
}

/// Something that narrows the event.
#[derive(Clone, Debug)]
pub(crate) struct ModHit {
    pub(crate) kind: Mod,
    pub(crate) negated: bool,
    pub(crate) range: Range<usize>,
    pub(crate) mark: Mark,
    /// How many verbs stood before it.
    pub(crate) n_verbs: usize,
    /// The nouns that it stands before, where others joined to them are without it.
    pub(crate) of: Option<&'static [Noun]>,
    /// It stands apart and speaks of the clauses before its own as well.
    pub(crate) is_shared: bool,
}

/// What a modifier says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mod {
    /// A field that means the same for every event.
    Is(Field, Vec<String>),
    /// A comparison other than `is`.
    Test(Field, Op, Vec<String>),
    /// A branch: the base of a pull request, the branch of everything else.
    Branch(Vec<String>),
    /// The default branch.
    DefaultBranch,
    /// Who did it, or who wrote the thing.
    Person(Who, Role),
    /// Changed paths.
    Files(Op, Vec<String>),
    /// Text somewhere in the thing; the field if one is named.
    Text(Option<TextPlace>, Vec<String>),
    /// A name written beside its noun: `the "Nightly" workflow`.
    Name(Noun, Vec<String>),
    /// How checks end.
    Conclusion(Vec<String>),
    /// The state of the pull request or issue.
    State(String),
    /// Labels that are present.
    Label(Vec<String>),
    /// A comment in the conversation, or on the diff.
    TopLevel,
    Inline,
    /// Words such as `urgent` that say a priority, a level, a severity, as the event has them.
    Value(Option<Part>, Vec<String>),
    /// Whose review is asked for, who is assigned.
    Target(Vec<String>),
    Team(Vec<String>),
}

/// Where a text is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPlace {
    Title,
    Body,
    TitleOrBody,
    Comment,
    Message,
}

/// Who.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Who {
    Anyone,
    Human,
    Bot,
    Maintainer,
    Outsider,
    FirstTimer,
    Named(Vec<String>),
    Not(Box<Self>),
    /// All of these hold.
    AllOf(Vec<Self>),
}

/// What a person has to do with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Who acted.
    Actor,
    /// Who wrote the noun that the words stand beside.
    Author,
}

impl Draft {
    /// A clause about the same subject: what was said before its verb.
    pub(crate) fn of_same_subject(&self) -> Self {
        Self {
            nouns: self
                .nouns
                .iter()
                .filter(|hit| hit.n_verbs == 0)
                .cloned()
                .collect(),
            mods: self
                .mods
                .iter()
                .filter(|hit| hit.n_verbs == 0)
                .cloned()
                .collect(),
            sources: self.sources.clone(),
            agent: self.agent.clone(),
            ..Self::default()
        }
    }

    /// Whether nothing but a source was named yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.nouns.is_empty()
            && self.verbs.is_empty()
            && self.mods.is_empty()
            && self.parts.is_empty()
    }

    /// Whether it can stand alone as an event.
    pub(crate) fn is_complete(&self) -> bool {
        !self.verbs.is_empty()
            || !self.raw.is_empty()
            || self.gains.is_some()
            || self.loses.is_some()
            || (self.is_new.is_some() && !self.nouns.is_empty())
            || (self.has_be && !self.nouns.is_empty())
            || self.foreign.is_some()
            || self
                .mods
                .iter()
                .any(|hit| matches!(hit.kind, Mod::Files(..)) && !self.nouns.is_empty())
    }
}
