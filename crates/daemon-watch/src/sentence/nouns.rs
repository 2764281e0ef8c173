//! The noun of a noun phrase, and the words directly after it.

use super::atom::{Says, State};
use super::formula::{Formula, is};
use super::line::Line;
use super::predicate::Behind;
use super::things::{CONVERSATION_OF, NOUNS, Thing, comment_on, is_comment, is_thing};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;
use daemon_event::Field;
use daemon_event::vocabulary::Noun;

impl Line<'_> {
    pub(super) fn noun(&mut self, thing: &mut Thing) -> Option<()> {
        let start = self.at;
        if self.attempt(|line| line.review_noun(thing)).is_some() {
            return Some(());
        }
        let last = match self.last.as_slice() {
            [last] => Some(*last),
            _ => None,
        };
        if let Some(last) = last
            && self.eat_any(&["one", "ones"])
        {
            thing.noun = last;
            return Some(());
        }
        // `the main branch`, `a release/* branch`
        let branch = self.attempt(|line| {
            let found = line.branches()?;
            let named = matches!(line.word_at(line.at - 1), "branch" | "branches")
                || matches!(line.word_at(start), "branch" | "branches");
            (named && !found.is_always()).then_some(found)
        });
        if let Some(branch) = branch {
            thing.noun = Noun::Branch;
            thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(branch);
            return Some(());
        }
        // `a v* tag`
        let tag = self.attempt(|line| {
            let is_data = matches!(line.kind(0)?, TokenKind::Quoted | TokenKind::Code)
                || line.is_free_word(0) && !line.sees_sense(is_thing);
            let value = line.value(0);
            line.at += 1;
            let plural = line.word(0) == "tags";
            (is_data && line.eat_any(&["tag", "tags"])).then_some((value, plural))
        });
        if let Some((value, plural)) = tag {
            let op = if value.contains(['*', '?', '{']) {
                Op::Matches
            } else {
                Op::Is
            };
            let said = self.says(Says::Test(Test::new(Field::Tag, op, vec![value])), start);
            thing.noun = Noun::Tag;
            thing.is_plural = plural;
            thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(said);
            return Some(());
        }
        // `a prerelease`, without its noun
        let prerelease = self.attempt(|line| {
            let not = line.eat("non");
            line.eat_any(&["prerelease", "pre-release", "prereleases", "pre-releases"])
                .then_some(())?;
            (!line.sees_sense(is_thing)).then_some(not)
        });
        if let Some(not) = prerelease {
            thing.noun = Noun::Release;
            let early = if not { "false" } else { "true" };
            let said = self.says(Says::Test(is(Field::Prerelease, &[early])), start);
            thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(said);
            return Some(());
        }
        let is_inline = self.eat_any(&["inline"]);
        let drafts = self.attempt(|line| {
            line.eat_any(&["drafts", "draft"]).then_some(())?;
            (!line.sees_sense(is_thing) && !line.eat("mode")).then_some(())
        });
        if drafts.is_some() {
            let draft = self.says(Says::State(State::Draft), start);
            thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(draft);
            thing.is_plural = self.word_at(start) == "drafts";
            return Some(());
        }
        // `a conversation on a PR` that is resolved
        let thread = self.attempt(|line| {
            line.eat_any(&["conversation", "conversations", "thread", "threads"])
                .then_some(())
        });
        if thread.is_some() {
            thing.noun = Noun::ReviewThread;
            thing.is_plural = self.word_at(self.at - 1).ends_with('s');
            return Some(());
        }
        let sense = self.eat_sense(is_thing)?;
        thing.is_plural = sense.plural;
        thing.noun = sense
            .nouns
            .iter()
            .copied()
            .find(|noun| NOUNS.contains(noun))?;
        let raw = self.word_at(start);
        if raw == "issue_comment" {
            thing.without = Some("pull_request_review_comment");
        }
        let whole = self.at;
        // `PR comment`, `pull request review`, `issue comment`
        let parent = thing.noun;
        if matches!(
            parent,
            Noun::PullRequest | Noun::Issue | Noun::Commit | Noun::Discussion
        ) {
            let inline = self.eat("inline");
            let top = !inline && self.eat_any(&["conversation", "top-level"]);
            let compound = self.eat_sense(|sense| {
                sense.nouns.iter().any(|noun| is_comment(*noun))
                    && !sense.forms.has(crate::lexicon::Forms::PAST)
            });
            let compound =
                compound.filter(|_| !matches!(self.word_at(self.at - 1), "reviews" if false));
            match compound {
                Some(sense) => {
                    thing.noun = sense.nouns.iter().copied().find(|noun| is_comment(*noun))?;
                    thing.is_plural = sense.plural;
                    if inline && thing.noun == Noun::Comment {
                        thing.noun = Noun::ReviewComment;
                    }
                    if top {
                        thing.without = Some("pull_request_review_comment");
                    }
                    thing.on = vec![parent];
                    thing.noun = comment_on(thing.noun, &thing.on);
                }
                None => self.at = whole,
            }
        }
        if is_inline {
            thing.noun = match thing.noun {
                Noun::Comment | Noun::ReviewComment => Noun::ReviewComment,
                _ => return None,
            };
        }
        if self.sees("'s conversation") {
            self.at += 2;
        }
        // `a PR template`, `the PR author`: the noun describes another thing.
        let names_other = matches!(
            self.word(0),
            "author"
                | "authors"
                | "owner"
                | "template"
                | "count"
                | "size"
                | "alert"
                | "alerts"
                | "status"
                | "statuses"
        );
        let is_counted = self.word(0) == "number" && self.kind(1) != Some(TokenKind::Number);
        (!names_other && !is_counted).then_some(())
    }

    /// Reads the place of a comment, and the words that narrow the noun.
    pub(super) fn behind_noun(&mut self, thing: &mut Thing) {
        loop {
            if thing.on.is_empty()
                && is_comment(thing.noun)
                && let Some(parents) = self.attempt(|line| {
                    line.eat_mark(",");
                    line.eat_any(&["on", "in", "to", "of", "against", "for", "under", "from"])
                        .then_some(())?;
                    line.eat_phrase(&["the diff of", "a line of"]);
                    let top = line.eat_phrase(CONVERSATION_OF);
                    let was = line.is_object;
                    // `by` after the object of a review names its author.
                    line.is_object |= thing.noun == Noun::Review;
                    let found = line.parents();
                    line.is_object = was;
                    Some((found?, top))
                })
            {
                let ((on, guard), top) = parents;
                if top {
                    thing.without = Some("pull_request_review_comment");
                }
                thing.noun = comment_on(thing.noun, &on);
                thing.on = on;
                thing.behind = thing.behind.clone().and(guard.clone());
                thing.guard = thing.guard.clone().and(guard);
                continue;
            }
            let start = self.at;
            let found = self.modifiers(Behind::Noun(thing.noun));
            if self.at == start {
                return;
            }
            thing.behind = thing.behind.clone().and(found.clone());
            thing.guard = thing.guard.clone().and(found);
        }
    }
}
