//! Phrases that exclude nothing: `whatever the branch`, `regardless of who opened it`, `draft or not`.

use daemon_event::vocabulary::Noun;

use super::line::Line;
use super::predicate::Behind;

const LEADS: &[&str] = &[
    "regardless of",
    "irrespective of",
    "independent of",
    "independently of",
    "without regard to",
    "without regard for",
    "no matter",
    "whatever",
    "whichever",
    "whoever",
    "be it",
];
/// Attributes that a phrase may leave open, and words about them.
const OPEN: &[&str] = &[
    "the",
    "a",
    "its",
    "their",
    "author",
    "authors",
    "authorship",
    "branch",
    "branches",
    "base",
    "target",
    "head",
    "source",
    "label",
    "labels",
    "title",
    "size",
    "state",
    "status",
    "who",
    "whom",
    "which",
    "what",
    "by",
    "from",
    "opens",
    "opened",
    "open",
    "does",
    "did",
    "made",
    "makes",
    "wrote",
    "writes",
    "pushes",
    "pushed",
    "merges",
    "merged",
    "closes",
    "closed",
    "posts",
    "posted",
    "sends",
    "sent",
    "submits",
    "submitted",
    "approves",
    "approved",
    "it",
    "is",
    "are",
    "was",
    "were",
    "be",
    "them",
    "that",
    "on",
    "against",
    "into",
    "to",
    "for",
    "name",
    "kind",
    "type",
    "of",
    "user",
    "person",
    "repository",
    "repo",
    "reviewer",
    "approver",
    "actor",
    "assignee",
    "milestone",
    "has",
    "have",
    "had",
    "carries",
    "comes",
    "came",
    "acts",
    "acted",
    "comments",
    "commented",
    "where",
    "goes",
    "targets",
    "outcome",
    "result",
    "conclusion",
    "added",
    "adds",
    "removed",
    "removes",
    "files",
    "file",
    "changes",
    "changed",
    "touches",
    "touched",
    "in",
    "creates",
    "created",
    "draft",
];
/// The most words of such a phrase.
const MOST_WORDS: usize = 9;

impl Line<'_> {
    /// Reads a phrase that excludes nothing.
    pub(super) fn left_open(&mut self, behind: Behind) -> Option<()> {
        let is_comment = matches!(behind.noun(), Noun::Comment);
        let places = is_comment
            && self
                .attempt(|line| {
                    line.eat_mark(",");
                    line.both_places()
                })
                .is_some();
        if places {
            return Some(());
        }
        let ahead = usize::from(self.is_mark(0, ","));
        if !self.may_leave_open(ahead) {
            return None;
        }
        self.attempt(|line| {
            line.eat_mark(",");
            line.eat("and");
            line.either_way(behind).or_else(|| line.whatever(behind))
        })
    }

    fn may_leave_open(&self, ahead: usize) -> bool {
        let leads = |ahead: usize| {
            matches!(
                self.word(ahead),
                "regardless"
                    | "irrespective"
                    | "independent"
                    | "independently"
                    | "without"
                    | "no"
                    | "whatever"
                    | "whichever"
                    | "whoever"
                    | "be"
                    | "whether"
            )
        };
        leads(ahead)
            || leads(ahead + 1)
            || self.word(ahead + 1) == "or" && self.word(ahead + 2) == "not"
    }

    fn whatever(&mut self, behind: Behind) -> Option<()> {
        self.attempt(|line| {
            line.eat_any(&["on", "against", "by", "for", "into", "to"]);
            line.eat_phrase(LEADS).then_some(())?;
            if line.eat_any(&["whether", "if"]) {
                line.eat("or not");
                return line.one_or_the_other(behind);
            }
            let from = line.at;
            while line.at - from < MOST_WORDS && line.eat_any(OPEN) {}
            let ends = line.is_done() || line.is_mark(0, ",") || line.is_mark(0, ")");
            (line.at > from && (ends || line.sees_end())).then_some(())
        })
    }

    /// `whether it is a draft or not`, `draft or not`
    fn either_way(&mut self, behind: Behind) -> Option<()> {
        self.attempt(|line| {
            if line.eat("whether") {
                line.eat("or not");
                return line.one_or_the_other(behind);
            }
            line.adjective()?;
            line.eat("or not").then_some(())
        })
    }

    /// `either in the conversation or on the diff`, `top-level or inline`: all comments on a pull request.
    fn both_places(&mut self) -> Option<()> {
        self.attempt(|line| {
            line.eat_mark("(");
            line.eat_phrase(&["no matter whether", "regardless of whether"]);
            line.eat_any(&["either", "whether", "be"]);
            let first = line.comment_place()?;
            line.eat("or").then_some(())?;
            let second = line.comment_place()?;
            line.eat_mark(")");
            (first != second).then_some(())
        })
    }

    fn comment_place(&mut self) -> Option<&'static str> {
        self.eat_any(&["in", "on", "as", "to"]);
        self.skip_any(&["the", "a", "an"]);
        if self.eat_phrase(&[
            "conversation tab",
            "conversation",
            "top-level",
            "top level",
            "main thread",
            "discussion",
        ]) {
            self.eat_any(&["comment", "one"]);
            return Some("conversation");
        }
        self.eat_phrase(&[
            "line of the diff",
            "line in the diff",
            "line of code",
            "lines of the diff",
            "diff",
            "inline",
            "review thread",
            "code",
            "files",
            "line",
        ])
        .then(|| {
            self.eat_any(&["comment", "one"]);
            "diff"
        })
    }

    fn one_or_the_other(&mut self, behind: Behind) -> Option<()> {
        self.condition(Behind::Noun(behind.noun()))?;
        self.eat("or not");
        Some(())
    }
}
