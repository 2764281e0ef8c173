//! Modifiers without a verb: actor, origin, content, target branch.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Atom, Guard, Says, UserRole, Who};
use super::formula::{Formula, is};
use super::line::Line;
use super::people::OTHER_THAN;
use super::predicate::{Behind, LABELLED, TARGETING, TOUCHING, WRITTEN, label_test};
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;

impl Line<'_> {
    /// Modifiers without a verb: `by X`, `into main`, `with the bug label`, `touching docs/`.
    pub(super) fn plain_modifier(&mut self, behind: Behind) -> Option<Guard> {
        let noun = behind.noun();
        self.attempt(|line| line.by_modifier(behind))
            .or_else(|| self.attempt(|line| line.origin_modifier(behind)))
            .or_else(|| self.attempt(|line| line.with_modifier(behind)))
            .or_else(|| {
                self.attempt(|line| {
                    // After a verb, a participle is another verb.
                    let Behind::Noun(_) = behind else { return None };
                    line.label_modifier()
                })
            })
            .or_else(|| self.attempt(|line| line.target_modifier(behind)))
            .or_else(|| self.attempt(Self::file_modifier))
            .or_else(|| self.attempt(|line| line.text_modifier(noun)))
            .or_else(|| self.attempt(|line| line.place_modifier(behind)))
            .or_else(|| self.attempt(|line| line.excluded(behind)))
            .or_else(|| {
                self.attempt(|line| {
                    let begins = matches!(line.word(0), "by" | "with" | "via" | "through");
                    begins.then(|| line.forced(noun))?
                })
            })
            .or_else(|| self.attempt(Self::trailing_only))
    }

    /// `non-draft only`, `drafts excluded`
    pub(super) fn excluded(&mut self, behind: Behind) -> Option<Guard> {
        let forced = self.forced(behind.noun());
        let found = forced
            .or_else(|| self.attempt(Self::adjective))
            .or_else(|| {
                // A thing is no user: the excluded user is the actor, and only verbs have one.
                let Behind::Verb(_) = behind else { return None };
                self.who_joined(behind.role())
                    .filter(|who| !who.is_always())
            })?;
        self.eat_phrase(&[
            "are excluded",
            "excluded",
            "are ignored",
            "ignored",
            "excepted",
            "are not counted",
            "do not count",
            "not included",
            "aside",
        ])
        .then_some(found.not())
    }

    pub(super) fn trailing_only(&mut self) -> Option<Guard> {
        let only = self.eat("only");
        let found = self.adjective()?;
        (only || self.eat("only")).then_some(found)
    }

    pub(super) fn by_modifier(&mut self, behind: Behind) -> Option<Guard> {
        let is_noun = matches!(behind, Behind::Noun(_));
        if self
            .attempt(|line| {
                line.eat_phrase(&["author", "authors"]).then_some(())?;
                line.eat_mark(":");
                Some(())
            })
            .is_some()
        {
            return self.who(UserRole::Author).filter(|who| !who.is_always());
        }
        let written = is_noun && !self.is_headline && self.eat_any(WRITTEN);
        self.eat("only");
        self.eat("by").then_some(())?;
        self.eat("only");
        let role = if written {
            UserRole::Author
        } else {
            behind.role()
        };
        if is_noun && !written && self.is_object {
            return None;
        }
        let who = self.who(role)?;
        let names_author = is_noun
            && !written
            && who.mentions(&|atom| matches!(atom.says, Says::Person(_, Who::TheAuthor)));
        (!names_author).then_some(who)
    }

    /// `from a fork`, `from a bot`, `from branch X`
    pub(super) fn origin_modifier(&mut self, behind: Behind) -> Option<Guard> {
        self.eat_any(&["coming", "originating", "made", "opened", "sent", "raised"]);
        self.eat_phrase(&["out of", "from"]).then_some(())?;
        let start = self.at;
        let fork = self.attempt(|line| {
            line.attempt(|line| {
                line.eat_any(&["someone", "somebody"]).then_some(())?;
                line.eat("'s").then_some(())
            });
            line.skip_any(&["a", "any", "the"]);
            line.eat_phrase(&["forked repository", "forked repo", "forks", "fork"])
                .then_some(())
        });
        if fork.is_some() {
            return Some(self.says(Says::Test(is(Field::Fork, &["true"])), start));
        }
        let head = self.attempt(|line| {
            (behind.noun() == Noun::PullRequest).then_some(())?;
            line.skip_any(&["a", "the", "any"]);
            let is_glob = behind.noun() == Noun::PullRequest
                && (line.kind(0) == Some(TokenKind::Code) && !line.value(0).ends_with("[bot]")
                    || crate::lexicon::KNOWN_BRANCHES.contains(&line.word(0)));
            let named = is_glob
                || line.word(0) == "branch"
                || line.word(0) == "branches"
                || line.word(1) == "branch"
                || line.word(1) == "branches";
            named.then_some(())?;
            let found = line.branches()?;
            line.as_head(found, behind)
        });
        if head.is_some() {
            return head;
        }
        if behind.noun() == Noun::Release {
            return self.branches();
        }
        let acts = behind.noun() == Noun::Commit || matches!(behind, Behind::Verb(_));
        let role = if acts {
            UserRole::Actor
        } else {
            UserRole::Author
        };
        self.who(role)
            .filter(|who| !who.is_always() || self.at > start)
    }

    pub(super) fn with_modifier(&mut self, behind: Behind) -> Option<Guard> {
        let without = self.eat_any(&["without", "lacking", "missing"]);
        if !without {
            self.eat_any(&["with", "carrying", "bearing", "having"])
                .then_some(())?;
        }
        let start = self.at;
        if without && let Some(forced) = self.forced(behind.noun()) {
            return Some(forced.not());
        }
        if without {
            if self.eat_any(TOUCHING) {
                return self.touched(false).map(Formula::not);
            }
            let field = self.attempt(|line| {
                line.skip_any(&["any", "a", "an"]);
                let field = line.field_owned()?;
                (!line.starts_label()).then_some(field)
            });
            if let Some(field) = field {
                return Some(
                    self.says(Says::Test(Test::new(field, Op::Absent, Vec::new())), start),
                );
            }
        }
        let found = self.having(behind)?;
        Some(if without { found.not() } else { found })
    }

    pub(super) fn label_modifier(&mut self) -> Option<Guard> {
        // `bug-labelled`
        let before = self.attempt(|line| {
            let start = line.at;
            let value = line.value(0);
            let is_literal = line.kind(0) == Some(TokenKind::Word)
                && line.word(0) != "not"
                && line.word(0) != "is"
                && !line.sees_be();
            line.at += 1;
            let joined = line.tokens.get(line.at).is_some_and(|next| {
                line.tokens.get(start).is_some_and(|first| {
                    first.span.end + 1 == next.span.start
                        && line.text.get(first.span.end..next.span.start) == Some("-")
                })
            });
            (is_literal && joined && line.eat_any(LABELLED))
                .then(|| line.says(Says::Test(label_test(vec![value])), start))
        });
        if before.is_some() {
            return before;
        }
        let as_state = self.attempt(|line| {
            line.eat_phrase(&["marked as", "flagged as"])
                .then_some(())?;
            line.adjective()
        });
        if as_state.is_some() {
            return as_state;
        }
        (!self.is_headline && self.eat_any(LABELLED)).then_some(())?;
        let others = self.eat_phrase(OTHER_THAN);
        self.skip_any(&["with", "as"]);
        if matches!(self.word(0), "draft" | "ready")
            && self.word_at(self.at.wrapping_sub(1)) == "as"
        {
            return None;
        }
        let found = self.labels(label_test)?;
        Some(if others { found.not() } else { found })
    }

    /// `against main`, `targeting X`, `to main`, `on main`
    pub(super) fn target_modifier(&mut self, behind: Behind) -> Option<Guard> {
        let noun = behind.noun();
        if self.eat_phrase(TARGETING) {
            return self.attempt(Self::that_branch).or_else(|| self.branches());
        }
        let takes_branch = matches!(
            noun,
            Noun::PullRequest | Noun::Commit | Noun::Branch | Noun::File | Noun::Release
        );
        takes_branch.then_some(())?;
        self.eat_any(&["to", "on", "in", "for", "of"])
            .then_some(())?;
        let start = self.at;
        let strict = self.attempt(|line| {
            line.skip_any(&["a", "an", "the", "any"]);
            let word = line.word(0);
            let other = matches!(
                line.word(1),
                "milestone" | "repo" | "repository" | "milestones"
            );
            if other && !matches!(word, "branch" | "default") {
                return None;
            }
            let of_repository = line.is_repository()
                && line
                    .tokens
                    .get(line.at + 1)
                    .is_some_and(|next| next.text == "'s");
            if of_repository {
                return Some(());
            }
            let is_named = crate::lexicon::KNOWN_BRANCHES.contains(&word)
                || matches!(
                    word,
                    "default" | "branch" | "branches" | "repository" | "repo"
                )
                || matches!(line.word(1), "branch" | "branches")
                || matches!(line.kind(0), Some(TokenKind::Code)) && noun != Noun::File
                || matches!(line.kind(0), Some(TokenKind::Quoted))
                    && matches!(behind, Behind::Verb(_))
                    && noun != Noun::File;
            is_named.then_some(())
        });
        strict?;
        self.at = start;
        if self.is_repository() && self.word(1) != "'s" {
            return None;
        }
        self.branches()
    }

    /// Replaces changed files by the file of an inline comment.
    pub(super) fn as_path(&self, files: &Guard, start: usize) -> Option<Guard> {
        files.replace(false, &mut |atom: &Atom, negated| {
            let Says::Files(op, globs) = &atom.says else {
                return None;
            };
            let op = if *op == Op::None {
                Op::MatchesNot
            } else {
                Op::Matches
            };
            let said = self.says(
                Says::Test(Test::new(Field::CommentPath, op, globs.clone())),
                start,
            );
            Some(if negated { said.not() } else { said })
        })
    }

    pub(super) fn file_modifier(&mut self) -> Option<Guard> {
        let only = self.eat_any(&["only", "just"]);
        if self.eat_any(TOUCHING) {
            return self.touched(only);
        }
        None
    }

    pub(super) fn text_modifier(&mut self, noun: Noun) -> Option<Guard> {
        let start = self.at;
        if !matches!(noun, Noun::Branch | Noun::Tag | Noun::File)
            && self.eat_any(&["titled", "entitled", "named", "called"])
        {
            let value = match self.kind(0)? {
                TokenKind::Quoted => self.value(0),
                _ => return None,
            };
            self.at += 1;
            if let Some(begin) = value
                .strip_suffix('*')
                .filter(|begin| !begin.contains(['*', '?']))
            {
                let test = Test::new(Field::Title, Op::Begins, vec![begin.to_owned()]);
                return Some(self.says(Says::Test(test), start));
            }
            if value.contains(['*', '?'])
                || !matches!(
                    noun,
                    Noun::PullRequest | Noun::Issue | Noun::Discussion | Noun::Release
                )
            {
                return None;
            }
            return Some(self.says(
                Says::Test(Test::new(Field::Title, Op::Is, vec![value])),
                start,
            ));
        }
        if super::things::is_comment(noun)
            && let Some(said) = self.attempt(Self::said)
        {
            return Some(said);
        }
        if self.eat_phrase(&["starting with", "beginning with"]) {
            return match noun {
                Noun::Branch => self.prefixes(Field::Branch),
                Noun::Tag => self.prefixes(Field::Tag),
                _ => self.texts(None, Op::Begins),
            };
        }
        if matches!(noun, Noun::Branch | Noun::Tag | Noun::File) {
            self.eat_any(&["matching", "like", "named", "called"])
                .then_some(())?;
            return match noun {
                Noun::Branch => self.branches(),
                Noun::Tag => self.tags(self.at),
                _ => self.touched(false),
            };
        }
        self.eat_any(&[
            "containing",
            "mentioning",
            "including",
            "saying",
            "that",
            "reading",
        ])
        .then_some(())?;
        if self.word_at(self.at - 1) == "that" {
            return None;
        }
        self.texts(None, Op::Contains)
    }

    pub(super) fn names_or_self(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name()?];
        while let Some(name) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat("or").then_some(())?;
            line.name()
        }) {
            names.push(name);
        }
        Some(names)
    }
}
