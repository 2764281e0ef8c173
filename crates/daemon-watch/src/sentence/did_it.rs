//! Guards about the actor: `a human did it`, `no bot did it`, `it was mira-holt`.

use super::atom::{Guard, UserRole};
use super::formula::Formula;
use super::line::Line;

const DID: &[&str] = &[
    "does",
    "did",
    "do",
    "made",
    "makes",
    "caused",
    "causes",
    "pushed",
    "pushes",
    "merged",
    "merges",
    "closed",
    "closes",
    "wrote",
    "writes",
    "posted",
    "posts",
    "triggered",
    "triggers",
    "approved",
    "approves",
    "started",
    "starts",
    "initiated",
    "initiates",
];

impl Line<'_> {
    /// `mira-holt does it`, `no bot did it`
    pub(super) fn somebody_did_it(&mut self) -> Option<Guard> {
        let not = self.eat("no");
        let who = self.who(UserRole::Actor)?;
        let helps = self.eat_phrase(&["has done", "have done", "was the one who did"]);
        if !helps {
            self.eat_any(&["has", "have"]);
            self.eat_any(DID).then_some(())?;
        }
        self.eat_any(&["it", "so", "that", "this", "them"])
            .then_some(())?;
        let ends = self.sees_end() || self.is_mark(0, ")") || matches!(self.word(0), "and" | "but");
        (ends && !who.is_always()).then_some(())?;
        Some(if not { who.not() } else { who })
    }

    /// `it was mira-holt`, `it is not by a bot`
    pub(super) fn it_was_somebody(&mut self) -> Option<Guard> {
        self.eat_any(&["it", "that"]).then_some(())?;
        self.eat_any(&["is", "was"]).then_some(())?;
        let not = self.eat("not");
        self.eat_any(&["done", "made"]);
        self.eat("by");
        let who = self.who(UserRole::Actor).filter(|who| !who.is_always())?;
        self.eat_phrase(&["who did it", "who does it"]);
        let ends = self.sees_end() || self.is_mark(0, ")") || matches!(self.word(0), "and" | "but");
        ends.then(|| if not { Formula::not(who) } else { who })
    }
}
