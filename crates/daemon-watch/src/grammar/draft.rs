//! The content of one clause, before it is resolved to events.

use std::ops::Range;

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use crate::filter::{Mark, Op};
use crate::lexicon::{Forms, Part};

/// The words of one clause by their function.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) nouns: Vec<NounHit>,
    pub(crate) parts: Vec<PartHit>,
    pub(crate) verbs: Vec<VerbHit>,
    pub(crate) mods: Vec<ModHit>,
    pub(crate) sources: Vec<(Source, usize)>,
    /// The position of a service that is no source here.
    pub(crate) foreign: Option<usize>,
    /// The subject of an active verb.
    pub(crate) agent: Option<(Who, Range<usize>)>,
    /// Events by their raw names: kind and action.
    pub(crate) raw: Vec<(&'static str, Option<&'static str>, Range<usize>)>,
    pub(crate) is_new: Option<usize>,
    pub(crate) gains: Option<usize>,
    pub(crate) loses: Option<usize>,
    pub(crate) last_connector: Option<(Joint, usize)>,
    pub(crate) has_be: bool,
    /// The clause is joined by `and`: a sequence, not an alternative.
    pub(crate) is_sequel: bool,
    /// A verb says that files are touched.
    pub(crate) touches: bool,
    /// Modifiers joined to the previous one by `or`: each makes an alternative.
    pub(crate) either: Vec<usize>,
    /// The next clause has the same subject.
    pub(crate) continues: bool,
    pub(crate) range: Range<usize>,
}

/// How two clauses or words are joined.
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
    /// Nouns joined by `or` have the same group.
    pub(crate) group: usize,
    pub(crate) plural: bool,
    /// The number of verbs before it.
    pub(crate) n_verbs: usize,
}

/// A part of an issue or pull request, with the values next to it.
#[derive(Clone, Debug)]
pub(crate) struct PartHit {
    pub(crate) part: Part,
    pub(crate) values: Vec<String>,
    pub(crate) negated: bool,
    pub(crate) range: Range<usize>,
}

/// A verb with all its meanings.
#[derive(Clone, Debug)]
pub(crate) struct VerbHit {
    pub(crate) verbs: Vec<Verb>,
    pub(crate) forms: Forms,
    pub(crate) at: usize,
    /// Values after it: labels, states.
    pub(crate) values: Vec<String>,
    pub(crate) negated_values: bool,
    pub(crate) range: Range<usize>,
    /// It is joined to the verb before it by `and`.
    pub(crate) is_sequel: bool,
}

/// A modifier: words that narrow the event.
#[derive(Clone, Debug)]
pub(crate) struct ModHit {
    pub(crate) kind: Mod,
    pub(crate) negated: bool,
    pub(crate) range: Range<usize>,
    pub(crate) mark: Mark,
    /// The number of verbs before it.
    pub(crate) n_verbs: usize,
    /// The nouns it precedes; nouns joined to them are not narrowed by it.
    pub(crate) of: Option<&'static [Noun]>,
    /// A comma separates it, so it applies to the clauses before its own as well.
    pub(crate) is_shared: bool,
}

/// The meaning of a modifier.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mod {
    /// A field with the same meaning for every event.
    Is(Field, Vec<String>),
    /// A comparison other than `is`.
    Test(Field, Op, Vec<String>),
    /// A branch: the base of a pull request, the branch of everything else.
    Branch(Vec<String>),
    /// The default branch.
    DefaultBranch,
    /// The user who acted, or who wrote the thing.
    Person(Who, UserRole),
    /// Changed paths.
    Files(Op, Vec<String>),
    /// A string somewhere in the thing; the place if one is named.
    Text(Option<TextPlace>, Vec<String>),
    /// A name next to its noun: `the "Nightly" workflow`.
    Name(Noun, Vec<String>),
    /// Conclusions of checks.
    Conclusion(Vec<String>),
    /// The state of the pull request or issue.
    State(String),
    /// Labels that are present.
    Label(Vec<String>),
    /// A comment in the conversation, or on the diff.
    TopLevel,
    Inline,
    /// Words such as `urgent`: a priority, a level or a severity, depending on the event.
    Value(Option<Part>, Vec<String>),
    /// The requested reviewer, or the assignee.
    Target(Vec<String>),
    Team(Vec<String>),
}

/// The part of a thing that has to contain a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPlace {
    Title,
    Body,
    TitleOrBody,
    Comment,
    Message,
}

/// The users that a phrase means.
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
    /// All of these apply.
    AllOf(Vec<Self>),
}

/// The role of a user in the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserRole {
    /// The user who acted.
    Actor,
    /// The author of the noun next to the words.
    Author,
}

impl Draft {
    /// Returns a draft for another clause with the same subject: the words before the verb.
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

    /// Whether at most a source was named yet.
    pub(crate) fn is_blank(&self) -> bool {
        self.nouns.is_empty()
            && self.verbs.is_empty()
            && self.mods.is_empty()
            && self.parts.is_empty()
    }

    /// Whether it names an event by itself.
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
