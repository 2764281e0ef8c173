//! Places: branch, repository, folder.

use super::atom::{Guard, Says, State};
use super::formula::Formula;
use super::line::Line;
use super::predicate::Behind;
use crate::filter::{Op, Test};
use crate::normalise::TokenKind;
use daemon_event::Field;
use daemon_event::vocabulary::Noun;

impl Line<'_> {
    pub(super) fn is_repository(&self) -> bool {
        let value = self.value(0);
        self.kind(0) == Some(TokenKind::Code)
            && value.matches('/').count() == 1
            && !value.contains(['*', '{'])
            && ![
                "release/",
                "feature/",
                "hotfix/",
                "fix/",
                "renovate/",
                "dependabot/",
            ]
            .iter()
            .any(|root| value.starts_with(root))
            && !matches!(self.word(1), "branch" | "branches")
    }

    /// `in fernworks/kettle`, `in the v2 milestone`, `on GitHub`, `assigned to X`, `as a draft`
    pub(super) fn place_modifier(&mut self, behind: Behind) -> Option<Guard> {
        let start = self.at;
        if let Behind::Verb(noun) = behind {
            let says_how = noun == Noun::Commit
                && self.eat_phrase(&["via a push", "via push", "through a push", "by a push"])
                || noun == Noun::PullRequest
                    && self.eat_phrase(&[
                        "for merging",
                        "via a review request",
                        "through a review request",
                    ]);
            if says_how {
                return Some(Formula::Always);
            }
            if noun == Noun::PullRequest
                && self.eat_phrase(&[
                    "without being merged",
                    "without merging it",
                    "without merging",
                    "without a merge",
                ])
            {
                return Some(self.says(Says::State(State::Merged), start).not());
            }
            if noun == Noun::PullRequest
                && self.eat_phrase(&["as ready for review", "ready for review"])
            {
                return Some(self.says(Says::State(State::Draft), start).not());
            }
        }
        // `in a non-draft state`
        let state = self.attempt(|line| {
            (line.word(0) == "in").then_some(())?;
            let found = line.adjective()?;
            (matches!(line.word_at(line.at - 1), "state" | "mode")
                || line.eat_any(&["state", "mode"]))
            .then_some(found)
        });
        if state.is_some() {
            return state;
        }
        if behind.noun() == Noun::Discussion
            && let Some(found) = self.attempt(Self::category)
        {
            return Some(found);
        }
        if self.eat_phrase(&["on github", "in github"]) {
            return Some(self.says(Says::Source(daemon_event::Source::Github), start));
        }
        if behind.noun() == Noun::ReviewComment
            && let Some(files) = self.attempt(|line| {
                line.eat_any(&["on", "in", "under"]).then_some(())?;
                let files = line.touched(false)?;
                line.as_path(&files, start)
            })
        {
            return Some(files);
        }
        let repository = self.attempt(|line| {
            line.eat_any(&["in", "on", "of"]).then_some(())?;
            line.skip_any(&["the", "repo", "repository"]);
            (line.kind(0) == Some(TokenKind::Code) && line.is_repository()).then_some(())?;
            let value = line.value(0);
            line.at += 1;
            line.eat_any(&["repository", "repo"]);
            Some(line.says(
                Says::Test(Test::new(Field::Repo, Op::Is, vec![value])),
                start,
            ))
        });
        if repository.is_some() {
            return repository;
        }
        if self.eat_phrase(&[
            "of the repository",
            "of the repo",
            "of our repository",
            "of our repo",
            "of this repository",
            "of this repo",
            "in our repository",
            "in our repo",
            "in the repository",
            "in the repo",
            "in this repository",
            "in this repo",
            "to the repository",
            "to this repository",
            "to the repo",
            "on the repository",
            "on the repo",
        ]) {
            return Some(Formula::Always).filter(|_| self.at > start);
        }
        if !self.is_marking
            && self.eat_phrase(&[
                "as a draft",
                "as drafts",
                "as draft",
                "in the draft state",
                "in draft state",
                "in draft mode",
                "in draft form",
                "in draft",
            ])
        {
            return Some(self.says(Says::State(State::Draft), start));
        }
        if behind == Behind::Verb(Noun::Issue)
            && let Some(found) =
                (self.attempt(Self::state_reason)).or_else(|| self.attempt(Self::other_reason))
        {
            return Some(found);
        }
        if self.eat("assigned to") {
            if self.eat_phrase(&["nobody", "no one", "no-one"]) {
                let nobody = Test::new(Field::Assignees, Op::Absent, Vec::new());
                return Some(self.says(Says::Test(nobody), start));
            }
            let names = self.names_or_self()?;
            return Some(self.says(
                Says::Test(Test::new(Field::Assignees, Op::Is, names)),
                start,
            ));
        }
        if self.eat_phrase(&["belonging to", "that belongs to", "which belongs to"]) {
            return self.milestone(start);
        }
        if self.eat_phrase(&["in", "on", "of", "from", "under"]) {
            let others = self.eat_phrase(&[
                "any repository other than",
                "any repo other than",
                "repositories other than",
                "a repository other than",
                "any repository except",
                "any repository but",
            ]);
            self.skip_any(&["the"]);
            if self.kind(0) == Some(TokenKind::Code) && self.is_repository() {
                let value = self.value(0);
                self.at += 1;
                self.eat_any(&["repository", "repo"]);
                let found = self.says(
                    Says::Test(Test::new(Field::Repo, Op::Is, vec![value])),
                    start,
                );
                return Some(if others { found.not() } else { found });
            }
            return self.milestone(start);
        }
        None
    }
}
