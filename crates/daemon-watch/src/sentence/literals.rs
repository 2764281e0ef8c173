//! Labels, branches, strings and numbers: literals, the words around them, and their connectives.

use daemon_event::Field;

use super::atom::{Guard, Says};
use super::formula::{Formula, is};
use super::line::Line;
use super::people::OTHER_THAN;
use crate::filter::{Op, Test};
use crate::grammar::literals::NOT_A_BRANCH;
use crate::lexicon::{self, Class, KNOWN_BRANCHES};
use crate::normalise::TokenKind;

/// Words without a sense that are never a label or a branch.
const STOPS: &[&str] = &[
    "nor",
    "while",
    "because",
    "so",
    "than",
    "too",
    "during",
    "until",
    "before",
    "after",
    "however",
    "who",
    "whom",
    "what",
    "provided",
    "assuming",
    "long",
    "there",
    "other",
    "same",
    "least",
    "most",
    "more",
    "always",
    "often",
    "rarely",
    "recently",
    "first",
    "last",
    "next",
    "second",
    "third",
    "between",
    "over",
    "per",
    "via",
    "through",
    "since",
    "it",
    "they",
    "nobody",
    "nothing",
    "none",
    "anything",
    "except",
    "wrongly",
    "incorrectly",
    "twice",
    "again",
    "git",
    "one",
    "ones",
    "them",
    "him",
    "her",
    "those",
    "these",
    "this",
];

/// Words with a sense that are labels too.
const LABEL_WORDS: &[&str] = &[
    "bug",
    "release",
    "documentation",
    "ready",
    "review",
    "deploy",
    "security",
    "breaking",
    "change",
    "urgent",
    "stale",
    "build",
    "ci",
    "code",
    "api",
    "major",
    "minor",
    "patch",
    "fix",
    "error",
    "test",
    "critical",
    "high",
    "low",
    "question",
    "blocked",
    "draft",
    "regression",
    "crash",
    "escalation",
    "package",
    "project",
    "link",
    "feature",
    "tracking",
    "automation",
    "workflow",
    "pipeline",
];

/// Words for the beginning of a name.
pub(super) const PREFIXED: &[&str] = &[
    "starting with",
    "starts with",
    "start with",
    "beginning with",
    "begins with",
    "begin with",
    "prefixed with",
    "is prefixed with",
];

impl Line<'_> {
    /// Whether a word has no other function.
    pub(super) fn is_free_word(&self, ahead: usize) -> bool {
        let word = self.word(ahead);
        let is_plain = !word.is_empty() && !STOPS.contains(&word);
        is_plain
            && lexicon::exact(word).is_none_or(|sense| {
                sense.is_value && !sense.is_verb() || sense.is(Class::NotPlanned)
            })
    }

    pub(super) fn is_label_word(&self, ahead: usize) -> bool {
        self.is_free_word(ahead) || LABEL_WORDS.contains(&self.word(ahead))
    }

    pub(super) fn eats_label_noun(&mut self) -> bool {
        self.eat_any(&["label", "labels"])
    }

    /// Reads labels and how they are joined: `bug or wip`, `both the A and the B label`, `neither A nor B`.
    pub(super) fn labels(&mut self, make: impl Fn(Vec<String>) -> Test) -> Option<Guard> {
        self.attempt(|line| {
            if line.eat_phrase(&["anything other than", "anything but", "anything except"]) {
                return line.label_list(&make, false).map(Formula::not);
            }
            let neither = line.eat("neither");
            let both = !neither && line.eat("both");
            line.skip_any(&["the", "a", "an", "any", "of"]);
            let found = if line.eats_label_noun() {
                let others = line.eat_phrase(OTHER_THAN)
                    || line.eat_phrase(&["that is not", "which is not", "that are not", "but"]);
                line.eat_phrase(&["that is", "which is"]);
                line.skip_any(&["named", "called", "matching", "of", "is", "either"]);
                let found = line.label_list(&make, both)?;
                if others { found.not() } else { found }
            } else {
                line.label_list(&make, both)?
            };
            let found = if neither { found.not() } else { found };
            // `bug, but not wontfix`
            let but_not = line.attempt(|line| {
                line.eat_mark(",");
                line.eat_phrase(&["but not", "and not", "not"])
                    .then_some(())?;
                line.eat_any(&["the", "a"]);
                line.label_list(&make, false)
            });
            Some(match but_not {
                Some(other) => found.and(other.not()),
                None => found,
            })
        })
    }

    /// Reads labels joined by commas, `or`, `and`; `and` requires all of them.
    pub(super) fn label_list(
        &mut self,
        make: &impl Fn(Vec<String>) -> Test,
        both: bool,
    ) -> Option<Guard> {
        let start = self.at;
        let mut values = vec![self.label()?];
        let mut is_all = both;
        while let Some((value, all)) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let or = line.eat_any(&["or", "nor"]);
            let and = !or && line.eat("and");
            line.skip_any(&["the", "a", "an", "either"]);
            // `nor authored by a bot`
            if matches!(line.word(1), "by" | "from") || line.sees_be() {
                return None;
            }
            if (or || and) && line.eats_label_noun() {
                line.skip_any(&["named", "called"]);
            }
            let value = line.label()?;
            let goes_on = line.is_mark(0, ",") || matches!(line.word(0), "or" | "and" | "nor");
            (or || and || comma && goes_on).then_some((value, and))
        }) {
            values.push(value);
            is_all |= all;
        }
        self.eats_label_noun();
        let one = |values: Vec<String>| self.says(Says::Test(make(values)), start);
        if is_all {
            let each = values.into_iter().map(|value| one(vec![value]));
            Some(each.fold(Formula::Always, Formula::and))
        } else {
            Some(one(values))
        }
    }

    /// One label: data, a word, or words up to `label`.
    pub(super) fn label(&mut self) -> Option<String> {
        match self.kind(0)? {
            TokenKind::Quoted | TokenKind::Code | TokenKind::User => {
                let value = self.value(0);
                self.at += 1;
                self.attempt(|line| {
                    let ends = line.eats_label_noun();
                    // `the X label or the Y label`
                    (ends && matches!(line.word(0), "or" | "and" | "nor")).then_some(())
                });
                return Some(value);
            }
            TokenKind::Word => {}
            TokenKind::Channel | TokenKind::Reference | TokenKind::Number | TokenKind::Mark => {
                return None;
            }
        }
        let n_words = (1..=4).find(|n| matches!(self.word(*n), "label" | "labels"));
        let is_name = |n: usize| {
            (0..n).all(|ahead| {
                let word = self.word(ahead);
                self.is_label_word(ahead)
                    || ahead > 0
                        && matches!(word, "to" | "for" | "in" | "first" | "issue" | "merge")
                    || n > 1
                        && matches!(
                            word,
                            "ready" | "good" | "needs" | "help" | "in" | "do" | "not"
                        )
            })
        };
        let n_words = match n_words.filter(|n| is_name(*n)) {
            Some(n_words) => n_words,
            None if self.is_label_word(0) && !self.is_part(0) => 1,
            None => return None,
        };
        let range = self.at..self.at + n_words;
        let value = self.span(&range).of(self.text).to_owned();
        self.at = range.end;
        if matches!(self.word(1), "or" | "and" | "nor") {
            self.eats_label_noun();
        }
        Some(value)
    }

    pub(super) fn is_part(&self, ahead: usize) -> bool {
        lexicon::exact(self.word(ahead)).is_some_and(|sense| sense.part.is_some())
    }

    /// Reads branches: `main or develop`, `the default branch`, `any branch other than X`, `branches like G`.
    pub(super) fn branches(&mut self) -> Option<Guard> {
        self.attempt(|line| {
            let start = line.at;
            let negated = line.eat_any(&["not", "neither"])
                || line.eat_phrase(&["anything other than", "anything but"]);
            let repo = line.attempt(|line| {
                let is_repo = line.is_repository();
                let value = line.value(0);
                line.at += 1;
                (is_repo && line.eat("'s")).then(|| {
                    let test = Test::new(Field::Repo, Op::Is, vec![value]);
                    line.says(Says::Test(test), start)
                })
            });
            if let Some(repo) = repo {
                return line.branches().map(|found| repo.and(found));
            }
            line.skip_any(&[
                "a", "an", "the", "any", "its", "some", "one", "of", "our", "either",
            ]);
            // `release branches matching release/*`: the pattern says which.
            let is_named_by_pattern = matches!(line.word(1), "branch" | "branches")
                && matches!(line.word(2), "matching" | "like" | "named");
            let is_of_pattern = !line.word(0).is_empty() && line.value(3).contains(line.word(0));
            line.at += usize::from(is_named_by_pattern && is_of_pattern);
            let found = if line.default_branch() {
                line.says(Says::Test(is(Field::OnDefaultBranch, &["true"])), start)
            } else if line.eat_any(&["branch", "branches", "something"]) {
                line.branch_described(start)?
            } else {
                line.branch_list(start)?
            };
            let found = if negated { found.not() } else { found };
            if !found.is_always() {
                line.last_branch = Some(found.clone());
            }
            Some(found)
        })
    }

    /// `one`, `either of them`: a branch named before.
    pub(super) fn that_branch(&mut self) -> Option<Guard> {
        let found = self.last_branch.clone()?;
        self.eat_phrase(&[
            "of them",
            "either one of them",
            "either of them",
            "any one of them",
            "any of them",
            "one of them",
            "such a branch",
            "that branch",
            "those branches",
            "the same branch",
            "either one",
            "either",
            "them",
            "one",
        ])
        .then_some(found)
    }

    /// Reads the words after `branch`: `other than X`, `that does not start with Y`, `under Z`.
    pub(super) fn branch_described(&mut self, start: usize) -> Option<Guard> {
        let is_any = self.word_at(self.at.wrapping_sub(2)) == "any";
        if self.eat_phrase(OTHER_THAN)
            || self.eat_phrase(&["that is not", "that are not", "which is not"])
            || is_any && self.eat("but")
        {
            return self.branches().map(Formula::not);
        }
        let said = self.attempt(|line| {
            let is_relative = line.eat_any(&["that", "which"])
                || line.eat_phrase(&["whose name", "whose names", "with a name"]);
            if !is_relative && line.sees_be() {
                return None;
            }
            let not = line.eat_phrase(&["does not", "do not", "not"]);
            let begins = line.eat_phrase(PREFIXED) || line.eat_any(&["under", "below", "beneath"]);
            let found = if begins {
                line.prefixes(Field::Branch)?
            } else {
                line.eat_phrase(&[
                    "is named",
                    "is called",
                    "matches",
                    "match",
                    "matching",
                    "named",
                    "called",
                    "like",
                    "of the form",
                    "is",
                ])
                .then_some(())?;
                let neither = line.eat("neither");
                let not = !neither && line.eat("not");
                let found = line.branch_list(start)?;
                if neither || not { found.not() } else { found }
            };
            Some(if not { found.not() } else { found })
        });
        if said.is_some() {
            return said;
        }
        Some(
            self.attempt(|line| line.branch_list(start))
                .unwrap_or(Formula::Always),
        )
    }

    pub(super) fn default_branch(&mut self) -> bool {
        self.attempt(|line| {
            line.skip_any(&["repository", "repo", "project", "'s"]);
            line.eat("default branch").then_some(())
        })
        .is_some()
    }

    /// `starting with hotfix/ or fix/`
    pub(super) fn prefixes(&mut self, field: Field) -> Option<Guard> {
        let start = self.at;
        let mut values = vec![self.prefix()?];
        while let Some(value) = self.attempt(|line| {
            line.eat_any(&["or"]).then_some(())?;
            line.prefix()
        }) {
            values.push(value);
        }
        let says = if field == Field::Branch {
            Says::Branch(Op::Begins, values)
        } else {
            Says::Test(Test::new(field, Op::Begins, values))
        };
        Some(self.says(says, start))
    }

    pub(super) fn prefix(&mut self) -> Option<String> {
        let is_data = matches!(self.kind(0)?, TokenKind::Quoted | TokenKind::Code);
        let is_word = self.kind(0) == Some(TokenKind::Word) && self.is_free_word(0);
        if !is_data && !is_word {
            return None;
        }
        let value = self.value(0);
        self.at += 1;
        Some(value.trim_end_matches('*').to_owned())
    }

    pub(super) fn branch_list(&mut self, start: usize) -> Option<Guard> {
        let mut values = vec![self.branch()?];
        while let Some(value) = self.attempt(|line| {
            let comma = line.eat_mark(",");
            let joined = line.eat_any(&["or", "and", "nor"]);
            line.skip_any(&["to", "into", "against", "the", "a", "an", "on", "any"]);
            // After a connective a plain word is another verb, unless it is a well-known branch.
            let word = line.word(0);
            let is_known = word.is_empty()
                || KNOWN_BRANCHES.contains(&word)
                || word.contains(['-', '_', '/'])
                || line.word(1) == "branch";
            is_known.then_some(())?;
            let is_word = line.kind(0) == Some(TokenKind::Word);
            let value = line.branch()?;
            let goes_on = line.is_mark(0, ",") || matches!(line.word(0), "or" | "and");
            let is_verb = is_word && line.sees_be();
            ((joined || comma && goes_on) && !is_verb).then_some(value)
        }) {
            values.push(value);
        }
        self.eat_any(&["branch", "branches"]);
        let is_glob = |value: &String| value.contains(['*', '?', '{']);
        // A name in a list with patterns is compared as a pattern, so that the list is one comparison.
        let op = if values.iter().any(is_glob) {
            Op::Matches
        } else {
            Op::Is
        };
        Some(self.says(Says::Branch(op, values), start))
    }

    /// Reads one branch: a literal, a well-known name, or a word without another function.
    pub(super) fn branch(&mut self) -> Option<String> {
        let is_branch = match self.kind(0)? {
            TokenKind::Quoted => !self.value(0).contains(' '),
            TokenKind::Code => {
                !self.value(0).contains('.')
                    || self.value(0).contains(['/', '*'])
                    || self.value(0).starts_with('v')
                    || self.value(0).bytes().any(|b| b.is_ascii_digit())
            }
            TokenKind::Number => matches!(self.word(1), "branch"),
            TokenKind::Word => {
                let word = self.word(0);
                let next_is_branch = matches!(self.word(1), "branch" | "branches");
                let is_known = KNOWN_BRANCHES.contains(&word)
                    && (word != "release" && word != "integration" || next_is_branch);
                !NOT_A_BRANCH.contains(&word)
                    && word != "release"
                    && (is_known || self.is_free_word(0))
                    && !(next_is_branch && word.ends_with("ed"))
            }
            TokenKind::User | TokenKind::Channel | TokenKind::Reference | TokenKind::Mark => false,
        };
        if !is_branch {
            return None;
        }
        let value = self.value(0);
        self.at += 1;
        if matches!(self.word(0), "branch") {
            self.at += 1;
        }
        Some(value)
    }
}
