//! The state of a review: approved, changes requested, commented.

use daemon_event::Field;
use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says};
use super::formula::is;
use super::line::Line;
use super::people::OTHER_THAN;
use super::things::Thing;
use crate::normalise::TokenKind;

/// The states of a review and the phrases for them; longer phrases first.
const STATES: &[(&str, &[&str])] = &[
    (
        "changes_requested",
        &[
            "is a request for changes",
            "are requests for changes",
            "a request for changes",
            "requests for changes",
            "with state changes_requested",
            "with changes requested",
            "with requested changes",
            "requests changes",
            "requesting changes",
            "asks for changes",
            "asking for changes",
            "demands changes",
            "calls for changes",
            "wants changes",
            "requested changes",
            "request changes",
            "ask for changes",
            "rejects",
        ],
    ),
    (
        "commented",
        &[
            "comments without approving or requesting changes",
            "comments without approving",
            "with state commented",
            "with comments only",
            "only leaves comments",
            "only leaves a comment",
            "only has comments",
            "is only a comment",
            "is just a comment",
            "is merely a comment",
            "is comment-only",
            "consists only of comments",
            "consists of comments only",
            "merely comments",
            "merely comment",
            "simply comments",
            "only comments",
            "only comment",
            "just comments",
            "comments only",
            "is a comment",
        ],
    ),
    (
        "approved",
        &[
            "gives approval",
            "with state approved",
            "with approval",
            "with an approval",
            "is an approval",
            "are approvals",
            "an approval",
            "approvals",
            "approves",
            "approved",
            "approving",
            "approve",
        ],
    ),
];

/// Words before `review` for its state.
const BEFORE: &[(&str, &str)] = &[
    ("approving", "approved"),
    ("positive", "approved"),
    ("favourable", "approved"),
    ("favorable", "approved"),
    ("negative", "changes_requested"),
    ("rejecting", "changes_requested"),
    ("blocking", "changes_requested"),
    ("unfavourable", "changes_requested"),
    ("unfavorable", "changes_requested"),
    ("commenting", "commented"),
    ("comment-only", "commented"),
    ("comments-only", "commented"),
];

impl Line<'_> {
    /// `that requests changes`, `with state approved`, `that is neither an approval nor a request for changes`
    pub(super) fn review_says(&mut self) -> Option<Guard> {
        if let Some(found) = self.attempt(Self::with_state) {
            return Some(found);
        }
        let start = self.at;
        self.eat_any(&["that", "which", "either"]);
        let not = self.eat_phrase(&[
            "does not", "do not", "did not", "is not", "are not", "was not",
        ]);
        let neither = !not && self.eat_phrase(&["is neither", "are neither", "neither"]);
        self.eat("either");
        let is_led = self.at > start;
        let mut states = vec![self.review_state_said(is_led)?];
        while let Some(next) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor"]).then_some(())?;
            line.review_state_said(true)
        }) {
            states.push(next);
        }
        let guard = self.says(Says::Test(is(Field::ReviewState, &states)), start);
        Some(if not || neither { guard.not() } else { guard })
    }

    /// Reads one state; a single word is a state only after a word such as `state`:
    /// `with any state other than approved`, `whose state is commented`
    fn with_state(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_phrase(&[
            "with any state",
            "with a state",
            "with the state",
            "with state",
            "in any state",
            "in state",
            "whose state is",
            "whose state",
        ])
        .then_some(())?;
        let not = self.eat_phrase(OTHER_THAN) || self.eat_phrase(&["is not", "not", "but"]);
        let mut states = vec![self.state_name()?];
        while let Some(more) = self.attempt(|line| {
            line.eat_mark(",");
            line.eat_any(&["or", "nor"]).then_some(())?;
            line.state_name()
        }) {
            states.push(more);
        }
        let said = self.says(Says::Test(is(Field::ReviewState, &states)), start);
        Some(if not { said.not() } else { said })
    }

    fn state_name(&mut self) -> Option<&'static str> {
        let quoted =
            (self.kind(0) == Some(TokenKind::Quoted)).then(|| self.value(0).to_lowercase());
        let found = match quoted.as_deref().unwrap_or(self.word(0)) {
            "approved" => "approved",
            "changes_requested" => "changes_requested",
            "commented" => "commented",
            "dismissed" => "dismissed",
            "changes" if self.word(1) == "requested" => {
                self.at += 1;
                "changes_requested"
            }
            _ => return None,
        };
        self.at += 1;
        Some(found)
    }

    fn review_state_said(&mut self, is_led: bool) -> Option<&'static str> {
        // `not one that merely comments`
        let is_led =
            self.eat_phrase(&["one that", "those that", "ones that", "one which"]) || is_led;
        if is_led && self.eat_phrase(&["a comment", "comments", "comment"]) {
            return Some("commented");
        }
        let (state, _) = STATES
            .iter()
            .find(|(_, phrases)| self.eat_phrase(phrases))?;
        self.attempt(|line| match *state {
            "approved" => {
                line.eat_any(&["it", "the"]).then_some(())?;
                line.eat_any(&["pr", "changes"]);
                line.eat("pull request");
                Some(())
            }
            "changes_requested" => {
                line.eat("on").then_some(())?;
                line.eat_any(&["it", "them"]).then_some(())
            }
            _ => None,
        });
        Some(state)
    }

    /// `an approval`, `a comment-only review`, `a non-approving review`
    pub(super) fn review_noun(&mut self, thing: &mut Thing) -> Option<()> {
        let start = self.at;
        let not = self.eat("non");
        let state = if !not && self.eat_any(&["approvals", "approval"]) {
            thing.is_plural = self.word_at(start) == "approvals";
            "approved"
        } else if !not
            && self.eat_phrase(&[
                "change requests",
                "change request",
                "requests for changes",
                "request for changes",
            ])
        {
            // On its own, `a change request` may mean a pull request.
            matches!(self.word(0), "on" | "to" | "against" | "in").then_some(())?;
            thing.is_plural =
                self.word_at(start + 1) == "requests" || self.word_at(start) == "requests";
            "changes_requested"
        } else {
            let (_, state) = BEFORE.iter().find(|(word, _)| self.sees(word))?;
            self.at += 1;
            self.eat_any(&["review", "reviews"]).then_some(())?;
            thing.is_plural = self.word_at(self.at - 1) == "reviews";
            state
        };
        thing.noun = Noun::Review;
        let said = self.says(Says::Test(is(Field::ReviewState, &[state])), start);
        let said = if not { said.not() } else { said };
        thing.guard = thing.guard.clone().and(said);
        Some(())
    }
}
