//! Noun phrases of the other sources: names, values and authors before a noun, and the words after it.

use super::names::ENDED;
use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::topic::{Scope, topic};
use crate::filter::{Op, Test};
use crate::lexicon::{self, Forms, Sense};
use crate::normalise::TokenKind;
use crate::resolve::has_row;
use crate::sentence::atom::{Atom, Guard, Says};
use crate::sentence::deeds::Event;
use crate::sentence::formula::Formula;
use crate::sentence::line::Line;

/// A noun with several possible meanings, and its guard.
#[derive(Clone, Debug)]
pub(super) struct Matter {
    pub(super) nouns: Vec<Noun>,
    pub(super) source: Option<Source>,
    pub(super) guard: Guard,
    /// The part of the guard that follows the noun.
    pub(super) behind: Guard,
    pub(super) on: Vec<Noun>,
    pub(super) is_new: bool,
    pub(super) is_plural: bool,
    /// The conclusion, from an adjective: `a failed check`.
    pub(super) ended: Option<Verb>,
    pub(super) start: usize,
}

impl Matter {
    pub(super) fn scope(&self) -> Option<Scope> {
        let noun = *self.nouns.first()?;
        Some(Scope {
            noun,
            topic: topic(noun, self.source)?,
            is_verb: false,
        })
    }

    pub(super) fn require(&mut self, guard: Guard) {
        self.guard = std::mem::replace(&mut self.guard, Formula::Always).and(guard);
    }

    /// Returns the events of a verb, or `None` if no meaning of the noun has it.
    pub(super) fn events(&self, verbs: &[Verb]) -> Option<Vec<Event>> {
        let of_source = |noun: Noun, verb: Verb| {
            daemon_event::vocabulary::rows(noun)
                .iter()
                .any(|(kind, row)| {
                    row.verbs.contains(&verb)
                        && self.source.is_none_or(|named| named == kind.source)
                })
        };
        let mut events = Vec::new();
        for noun in &self.nouns {
            // Statuses and deployments report each of their states, not only the last one.
            let tells_each = verbs.contains(&Verb::Complete)
                && matches!(
                    noun,
                    Noun::Status | Noun::Deployment | Noun::DeploymentStatus
                );
            let changes = Some(Verb::Change).filter(|verb| tells_each && verbs.contains(verb));
            let verb =
                changes.or_else(|| verbs.iter().copied().find(|verb| of_source(*noun, *verb)));
            let Some(verb) = verb else {
                continue;
            };
            events.push(Event {
                noun: *noun,
                verb,
                on: self.on.clone(),
                guard: self.guard.clone(),
                source: self.source,
                without: None,
                raw: None,
                start: self.start,
            });
        }
        (!events.is_empty()).then_some(events)
    }
}

pub(super) fn is_elsewhere(sense: &Sense) -> bool {
    sense
        .nouns
        .iter()
        .any(|noun| topic(*noun, None).is_some() || matches!(noun, Noun::Issue | Noun::Comment))
}

impl Line<'_> {
    /// Reads noun phrases joined by `or` and commas; words after the last one apply to all.
    pub(super) fn matters(&mut self) -> Option<Vec<Matter>> {
        let mut found = vec![self.attempt(Self::matter)?];
        while let Some(next) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let joined = line.eat_any(&["or", "and"]);
            let was_and = joined && line.word_before() == "and";
            let next = line.matter()?;
            if was_and && !next.is_plural {
                return None;
            }
            let goes_on = line.is_mark(0, ",") || matches!(line.word(0), "or" | "and");
            (joined || comma && goes_on).then_some(next)
        }) {
            found.push(next);
        }
        let last = found.last().cloned()?;
        let first_source = found.first().and_then(|first| first.source);
        let n = found.len();
        for matter in &mut found[..n - 1] {
            let is_like =
                matter.scope().map(|scope| scope.topic) == last.scope().map(|scope| scope.topic);
            if matter.behind.is_always() && is_like {
                matter.behind = last.behind.clone();
                matter.require(last.behind.clone());
            }
        }
        if let Some(last) = found.last_mut().filter(|_| n > 1) {
            let bare_issue = matches!(last.nouns.as_slice(), [Noun::Issue | Noun::Comment]);
            last.source = last.source.or(first_source.filter(|_| bare_issue));
        }
        found
            .iter()
            .all(|matter| matter.scope().is_some())
            .then_some(found)
    }

    /// Reads one noun phrase.
    pub(super) fn matter(&mut self) -> Option<Matter> {
        let mut matter = Matter {
            nouns: Vec::new(),
            source: None,
            guard: Formula::Always,
            behind: Formula::Always,
            on: Vec::new(),
            is_new: false,
            is_plural: false,
            ended: None,
            start: self.at,
        };
        if let Some(last) = self.it_again(&matter) {
            return Some(last);
        }
        while self.before_matter(&mut matter) {}
        self.matter_noun(&mut matter)?;
        let names_emoji = matter.guard.mentions(
            &|atom| matches!(&atom.says, Says::Test(test) if test.field() == Field::Reaction),
        );
        if matter.nouns == [Noun::Reaction] && names_emoji {
            // Only Slack spells an emoji between colons.
            matter.source = matter.source.or(Some(Source::Slack));
        }
        if matter.nouns == [Noun::Ci] {
            self.name_with_noun(&mut matter.guard);
        }
        let scope = matter.scope()?;
        let start = self.at;
        let found = self.narrowings(scope, &mut matter.on);
        if self.at > start {
            matter.behind = found.clone();
            matter.require(found);
        }
        Some(matter)
    }

    /// `the Nightly build`: its name may be `Nightly`, or both words.
    fn name_with_noun(&self, guard: &mut Guard) {
        let noun = self
            .tokens
            .get(self.at.wrapping_sub(1))
            .map_or("", |token| token.span.of(self.text));
        let named = guard.replace(false, &mut |atom: &Atom, negated| {
            let mut atom = atom.clone();
            if let Says::Name(names) = &mut atom.says {
                let both: Vec<String> = names.iter().map(|name| format!("{name} {noun}")).collect();
                names.extend(both);
            }
            let found = Formula::Atom(atom);
            Some(if negated { found.not() } else { found })
        });
        if let Some(named) = named {
            *guard = named;
        }
    }

    /// `it`: the subject of the previous clause.
    fn it_again(&mut self, matter: &Matter) -> Option<Matter> {
        let [noun] = self.last.as_slice() else {
            return None;
        };
        let mut again = matter.clone();
        again.nouns = vec![*noun];
        again.source = self.last_source;
        again.scope()?;
        self.eat_any(&["it", "them"]).then_some(again)
    }

    /// One word or phrase before the noun.
    fn before_matter(&mut self, matter: &mut Matter) -> bool {
        let start = self.at;
        if self.eat_any(&[
            "a", "an", "the", "any", "some", "each", "another", "our", "its", "these",
        ]) || self.eat_phrase(&["one of the", "one of"])
        {
            matter.is_new |= self.word_at(start) == "another";
            return true;
        }
        if self.eat_any(&["new", "brand-new", "fresh", "incoming", "newly"]) {
            matter.is_new = true;
            return true;
        }
        if self.word(0) == "github" && self.sees_sense(is_elsewhere) {
            return false;
        }
        if let Some(source) = self
            .eat_sense(|sense| sense.source.is_some())
            .and_then(|sense| sense.source)
        {
            matter.source = Some(source);
            return true;
        }
        if matter.ended.is_none()
            && let Some((_, verb)) = ENDED.iter().find(|(word, _)| *word == self.word(0))
            && (1..=6).any(|ahead| self.word_sense(ahead).is_some_and(is_elsewhere))
        {
            matter.ended = Some(*verb);
            self.at += 1;
            return true;
        }
        let run_of = self.attempt(|line| {
            line.eat_any(&["run", "runs", "execution", "executions"])
                .then_some(())?;
            line.eat("of").then_some(())
        });
        if run_of.is_some() {
            return true;
        }
        if let Some(found) = self.attempt(Self::of_pull_request) {
            matter.on = vec![Noun::PullRequest];
            matter.require(found);
            return true;
        }
        if let Some(found) = self.attempt(Self::quality) {
            matter.require(found);
            return true;
        }
        let named = self.attempt(|line| line.named(matter));
        if let Some(found) = named {
            matter.require(found);
            return true;
        }
        false
    }

    /// `PR`, before `check`.
    fn of_pull_request(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_sense(|sense| sense.nouns.contains(&Noun::PullRequest))?;
        self.eat("'s");
        self.sees_run_noun().then_some(())?;
        let test = Test::new(Field::PullRequests, Op::Present, Vec::new());
        Some(self.says(Says::Test(test), start))
    }

    pub(super) fn word_sense(&self, ahead: usize) -> Option<&'static Sense> {
        lexicon::exact(self.word(ahead))
    }

    /// `on a Linear issue`, `to a Sentry issue`: what a comment is on.
    fn on_issue_elsewhere(&mut self) -> Option<Source> {
        self.eat_any(&["on", "to", "in", "under", "of"])
            .then_some(())?;
        let issue = self.matter()?;
        let is_narrowed = issue
            .guard
            .mentions(&|atom| !matches!(atom.says, Says::Source(_)));
        (issue.nouns == [Noun::Issue] && !is_narrowed).then_some(())?;
        issue.source
    }

    fn matter_noun(&mut self, matter: &mut Matter) -> Option<()> {
        let start = self.at;
        let speaks_of_channel = |line: &Self| {
            (line.at..line.tokens.len()).any(|at| line.tokens[at].kind == TokenKind::Channel)
        };
        if matches!(self.word(0), "something" | "anything") && speaks_of_channel(self) {
            self.at += 1;
            matter.nouns = vec![Noun::Message];
            matter.source = Some(Source::Slack);
            return Some(());
        }
        if let ([last], Some(source)) = (self.last.as_slice(), self.last_source) {
            let last = *last;
            if self.eat_any(&["one", "ones"]) {
                matter.nouns = vec![last];
                matter.source = matter.source.or(Some(source));
                return Some(());
            }
        }
        let in_linear =
            matter.source == Some(Source::Linear) || self.source_ahead() == Some(Source::Linear);
        if in_linear && self.eat_any(&["bug", "task", "story", "card", "bugs", "tasks"]) {
            matter.nouns = vec![Noun::Issue];
            matter.source = Some(Source::Linear);
            return Some(());
        }
        let is_status = matches!(self.word(0), "status" | "statuses")
            && (matches!(self.word(1), "named" | "called" | "with" | "whose")
                || matter
                    .guard
                    .mentions(&|atom| matches!(atom.says, Says::Name(_))));
        if is_status {
            matter.is_plural = self.word(0) == "statuses";
            matter.nouns = vec![Noun::Status];
            self.at += 1;
            return Some(());
        }
        let sense = self.eat_sense(is_elsewhere)?;
        matter.is_plural = sense.plural;
        matter.nouns = sense.nouns.clone();
        if matter.source.is_none() && matches!(matter.nouns.as_slice(), [Noun::Issue]) {
            matter.source = self.source_ahead().or(self.acting_source);
        }
        if matter.nouns == [Noun::Comment]
            && let Some(source) = self.attempt(Self::on_issue_elsewhere)
        {
            matter.source = Some(source);
        }
        matter
            .nouns
            .retain(|noun| topic(*noun, matter.source).is_some());
        if matter.nouns.is_empty() {
            return None;
        }
        if let Some(source) = matter.source {
            let of_source = |noun: &Noun| {
                daemon_event::vocabulary::rows(*noun)
                    .iter()
                    .any(|(kind, _)| kind.source == source)
            };
            matter.nouns.retain(of_source);
            (!matter.nouns.is_empty()).then_some(())?;
        }
        let is_verb_alone = sense.is_verb()
            && !matter
                .nouns
                .iter()
                .any(|noun| has_row(*noun, Verb::Create) || has_row(*noun, Verb::Add))
            && sense.forms.has(Forms::PAST);
        if is_verb_alone {
            return None;
        }
        let says_group =
            self.word_at(start) == "thread" && matches!(self.word(0), "reply" | "replies");
        if says_group {
            return None;
        }
        let names_other = matches!(
            self.word(0),
            "author" | "authors" | "owner" | "count" | "number" | "template"
        );
        (!names_other).then_some(())
    }
}
