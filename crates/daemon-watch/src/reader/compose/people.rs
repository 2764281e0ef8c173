//! People: users by their names, and the author of what an event is about.

use super::super::value::{Thing, Value, says_at};
use super::guards::mapped;
use super::{Call, Row};
use crate::meaning::atom::{Guard, Says, UserRole, Who};

pub(super) const TABLE: &[Row] = &[
    ("named-code", named_code),
    ("named", named),
    ("not-named", not_named),
    ("author", author),
    ("author-not", author_not),
    ("of-it", of_it),
    ("same-author", same_author),
    ("same-writer", same_writer),
];

/// A login in backticks: `sol-finch`, `renovate[bot]`. A slash, a dot or a star would make it a path or a branch.
fn named_code(call: &Call<'_>) -> Option<Value> {
    let is_login = |name: &String| {
        let login = name.strip_suffix("[bot]").unwrap_or(name);
        login.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    call.strings()?.iter().all(is_login).then_some(())?;
    named(call)
}

fn named(call: &Call<'_>) -> Option<Value> {
    // `@acme/glaziers` is a team, and no event says who is in it.
    let names = call.strings()?;
    (!names.iter().any(|name| name.contains('/'))).then_some(())?;
    let who = Who::Named(names);
    let says = Says::Person(UserRole::Actor, who);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// "non-kilnbot authors"
fn not_named(call: &Call<'_>) -> Option<Value> {
    let Value::Guard(guard) = named(call)? else {
        return None;
    };
    Some(Value::Guard(guard.not()))
}

/// People as the author of the thing next to the words.
fn author(call: &Call<'_>) -> Option<Value> {
    let guard = author_of(call.guard()?)?;
    (!guard.is_always()).then_some(Value::Guard(guard))
}

/// Returns people as the author instead of the actor.
pub(super) fn author_of(people: &Guard) -> Option<Guard> {
    mapped(people, &mut |atom| match &atom.says {
        Says::Person(UserRole::Actor, who) => Some(Says::Person(UserRole::Author, who.clone())),
        _ => None,
    })
}

fn author_not(call: &Call<'_>) -> Option<Value> {
    let Value::Guard(guard) = author(call)? else {
        return None;
    };
    Some(Value::Guard(guard.not()))
}

/// What is said about "it": its author is the author of what the event is about.
fn of_it(call: &Call<'_>) -> Option<Value> {
    let found = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::Person(UserRole::Author, who) => {
            Some(Says::Person(UserRole::AuthorOfIt, who.clone()))
        }
        says => Some(says.clone()),
    })?;
    Some(Value::Guard(found))
}

/// The author of the pull request or issue acts.
fn same_author(call: &Call<'_>) -> Option<Value> {
    // "the comment's author" wrote the comment.
    let is_comment = |thing: &Thing| thing.noun.phrases()[0].ends_with("comment");
    if call
        .things()
        .is_some_and(|things| things.iter().all(is_comment))
    {
        return same_writer(call);
    }
    let says = Says::Person(UserRole::Actor, Who::TheAuthor);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// The author of what the event is about acts.
#[expect(
    clippy::unnecessary_wraps,
    reason = "the table of compositions has one type"
)]
fn same_writer(call: &Call<'_>) -> Option<Value> {
    let says = Says::Person(UserRole::Actor, Who::TheWriter);
    Some(Value::Guard(says_at(says, &call.range)))
}
