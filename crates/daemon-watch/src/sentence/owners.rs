//! Ownership by pronouns: `their own`, `someone else's`, `that she did not open`.

use daemon_event::vocabulary::Noun;

use super::atom::{Guard, Says, UserRole, Who};
use super::line::Line;
use super::predicate::{Behind, WRITTEN};

/// `own` before a thing that the actor wrote.
const OWN: &[&str] = &[
    "his or her own",
    "his own",
    "her own",
    "their own",
    "its own",
    "your own",
    "one 's own",
];
/// Any other user, as a possessive.
const OTHERS: &[&str] = &[
    "someone else 's",
    "somebody else 's",
    "anyone else 's",
    "anybody else 's",
    "another person 's",
    "another user 's",
    "another contributor 's",
    "another author 's",
    "another developer 's",
    "other people 's",
    "someone elses",
];
/// Any user except the author.
pub(super) const SOMEONE_ELSE: &[&str] = &[
    "someone else",
    "somebody else",
    "anyone else",
    "anybody else",
    "another person",
    "another user",
    "other people",
];
const PRONOUNS: &[&str] = &["she", "he", "they", "it"];
const WRITE: &[&str] = &[
    "author",
    "write",
    "wrote",
    "open",
    "raise",
    "create",
    "submit",
    "file",
    "make",
    "report",
    "send",
    "contribute",
    "start",
    "propose",
    "post",
];

impl Line<'_> {
    /// `their own`, `one of its own`, `someone else's`: written by the actor, or not.
    pub(super) fn owner_before(&mut self) -> Option<Guard> {
        let start = self.at;
        self.eat_any(&["one", "any"]);
        self.eat("of");
        let own = self.eat_phrase(OWN);
        if !own {
            self.eat_phrase(OTHERS).then_some(())?;
        }
        let said = self.says(Says::Person(UserRole::Actor, Who::TheAuthor), start);
        Some(if own { said } else { said.not() })
    }

    /// `(that) she did not author`, `that dependabot opened`
    pub(super) fn that_somebody_wrote(&mut self, behind: Behind) -> Option<Guard> {
        let start = self.at;
        let that = self.eat_any(&["that", "which", "whom"]);
        let of_work = matches!(behind.noun(), Noun::PullRequest | Noun::Issue);
        let who = if of_work && self.eat_any(PRONOUNS) {
            self.says(Says::Person(UserRole::Actor, Who::TheAuthor), start)
        } else {
            that.then_some(())?;
            self.who(UserRole::Author)?
        };
        let helps = self.eat_any(&["did", "has", "have", "had"]);
        let not = self.eat_any(&["not", "never"]);
        let writes = self.eat_any(WRITTEN) || (helps || !not) && self.eat_any(WRITE);
        writes.then_some(())?;
        self.eat_any(&["themselves", "himself", "herself", "themself"]);
        Some(if not { who.not() } else { who })
    }

    /// `(who) did not write it`, `opened the pull request`
    pub(super) fn who_wrote_it(&mut self, role: UserRole) -> Option<Guard> {
        let start = self.at;
        let helps = self.eat_any(&["did", "has", "have", "had"]);
        let not = helps && self.eat_any(&["not", "never"]);
        (self.eat_any(WRITTEN) || self.eat_any(WRITE)).then_some(())?;
        if !self.eat_any(&["it", "them"]) {
            self.eat_any(&["the", "that"]).then_some(())?;
            self.eat_sense(|sense| {
                sense.nouns.contains(&Noun::PullRequest) || sense.nouns.contains(&Noun::Issue)
            })?;
        }
        let said = self.says(Says::Person(role, Who::TheAuthor), start);
        Some(if not { said.not() } else { said })
    }
}
