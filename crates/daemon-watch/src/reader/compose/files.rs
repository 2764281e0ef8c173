//! Changed paths, and repositories.

use daemon_event::Field;

use super::super::value::{Value, says_at};
use super::guards::mapped;
use super::{Call, Row};
use crate::filter::{Op, Test};
use crate::meaning::atom::{Atom, Guard, Says};
use crate::meaning::formula::Formula;

/// The beginning of the full names of branches.
pub(super) const FULL_REF: &str = "refs/heads/";

pub(super) const TABLE: &[Row] = &[
    ("files", files),
    ("bare-folder", bare_folder),
    ("within", within),
    ("only-files", only_files),
    ("except-files", except_files),
    ("outside", outside),
    ("except-of", except_of),
    ("extension", extension),
    ("only-within", only_within),
    ("repository", repository),
    ("outside-path", outside_path),
];

fn files(call: &Call<'_>) -> Option<Value> {
    let paths = call.strings()?;
    // `#general` is a channel, and `refs/heads/main` a branch.
    let is_other = |path: &String| path.starts_with('#') || path.starts_with(FULL_REF);
    if (paths.iter()).any(|path| is_outside(path) || is_other(path)) {
        return None;
    }
    // Events have paths from the root of the repository.
    let paths = paths
        .iter()
        .map(|path| path.trim_start_matches("./").to_owned());
    let says = Says::Files(Op::Any, paths.collect());
    Some(Value::Guard(says_at(says, &call.range)))
}

/// A word as a folder: "in a PR" names none.
fn bare_folder(call: &Call<'_>) -> Option<Value> {
    let is_upper = |name: &String| name.bytes().all(|b| b.is_ascii_uppercase());
    (!call.strings()?.iter().any(is_upper)).then_some(())?;
    files(call)
}

/// A path out of the repository, `../x`, which no file of an event has.
fn outside_path(call: &Call<'_>) -> Option<Value> {
    let paths = call.strings()?;
    paths
        .iter()
        .all(|path| is_outside(path))
        .then_some(Value::Nothing)
}

fn is_outside(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// Files below folders: `docs` is `docs/`.
fn within(call: &Call<'_>) -> Option<Value> {
    let found = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::Files(op, paths) => Some(Says::Files(
            *op,
            paths.iter().map(|path| folder(path)).collect(),
        )),
        _ => None,
    })?;
    Some(Value::Guard(found))
}

/// "any .sql file": an extension before the noun.
fn extension(call: &Call<'_>) -> Option<Value> {
    let found = mapped(call.guard()?, &mut |atom| match &atom.says {
        Says::Files(op, paths) => {
            let globs = paths.iter().map(|path| {
                let is_extension = path.starts_with('.') && !path[1..].contains(['.', '/']);
                format!("{}{path}", if is_extension { "*" } else { "" })
            });
            Some(Says::Files(*op, globs.collect()))
        }
        _ => None,
    })?;
    Some(Value::Guard(found))
}

/// "in acme/pump": an owner and a name, which no path with two parts and an extension is.
fn repository(call: &Call<'_>) -> Option<Value> {
    let names = call.strings()?;
    let is_name = |name: &String| {
        let parts = name.split_once('/');
        parts.is_some_and(|(owner, rest)| {
            !owner.is_empty() && !rest.is_empty() && !rest.contains('/')
        }) && !name.contains(['*', '{', '.'])
    };
    names.iter().all(is_name).then_some(())?;
    let test = Test::new(Field::Repo, Op::Is, names);
    Some(Value::Guard(says_at(Says::Test(test), &call.range)))
}

/// Whether a name is that of a file: `go.mod`, and neither `v1.x` nor `release/1.0`.
pub(super) fn is_file(name: &str) -> bool {
    let ends = name.rsplit_once('.');
    ends.is_some_and(|(before, end)| {
        let is_end = (2..=5).contains(&end.len()) && end.bytes().all(|b| b.is_ascii_lowercase());
        is_end && before.ends_with(|c: char| c.is_ascii_alphabetic())
    })
}

fn folder(path: &str) -> String {
    if path.contains(['*', '.']) || path.ends_with('/') {
        path.to_owned()
    } else {
        format!("{path}/")
    }
}

/// Returns the paths of files that are joined by "or" or "and".
fn paths(guard: &Guard) -> Option<Vec<String>> {
    match guard {
        Formula::Atom(Atom {
            says: Says::Files(Op::Any, paths),
            ..
        }) => Some(paths.clone()),
        Formula::Any(many) | Formula::All(many) => {
            let lists: Option<Vec<Vec<String>>> = many.iter().map(paths).collect();
            lists.map(|lists| lists.concat())
        }
        Formula::Always | Formula::Atom(_) | Formula::Not(_) => None,
    }
}

pub(super) fn only_files(call: &Call<'_>) -> Option<Value> {
    let says = Says::Files(Op::Only, paths(call.guard()?)?);
    Some(Value::Guard(says_at(says, &call.range)))
}

/// "whose changes are all inside docs"
fn only_within(call: &Call<'_>) -> Option<Value> {
    let inside = within(call)?;
    only_files(&Call {
        values: &[&inside],
        arguments: call.arguments,
        range: call.range.clone(),
    })
}

/// Files of the first guard without those of the second.
fn except_files(call: &Call<'_>) -> Option<Value> {
    let [Value::Guard(first), Value::Guard(second)] = call.values else {
        return None;
    };
    Some(without(call, paths(first)?, paths(second)?))
}

/// "src/ changes, except src/a.rs": the files of the events without those.
fn except_of(call: &Call<'_>) -> Option<Value> {
    let out = paths(call.guard()?)?;
    let mut events = call.events()?.to_vec();
    for event in &mut events {
        let mut is_met = false;
        event.guard = event.guard.replace(false, &mut |atom, negated| {
            let mut atom = atom.clone();
            if let (Says::Files(Op::Any, paths), false) = (&mut atom.says, negated) {
                paths.extend(out.iter().map(|path| format!("!{path}")));
                is_met = true;
            }
            let found = Formula::Atom(atom);
            Some(if negated { found.not() } else { found })
        })?;
        is_met.then_some(())?;
    }
    Some(Value::Events(events, call.about().to_vec()))
}

/// Files that are not below the folders.
fn outside(call: &Call<'_>) -> Option<Value> {
    let out = paths(call.guard()?)?
        .iter()
        .map(|path| folder(path))
        .collect();
    Some(without(call, vec!["**".to_owned()], out))
}

fn without(call: &Call<'_>, mut all: Vec<String>, out: Vec<String>) -> Value {
    all.extend(out.into_iter().map(|path| format!("!{path}")));
    Value::Guard(says_at(Says::Files(Op::Any, all), &call.range))
}
