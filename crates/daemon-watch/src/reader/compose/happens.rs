//! The events of verbs and things.

use daemon_event::vocabulary::{Noun, Verb};
use daemon_event::{Field, Source};

use super::super::value::{Deed, Sense, Thing};
use super::tails::has_facts;
use super::things::{RUNS, placed};
use crate::meaning::atom::{Atom, Guard, Says};
use crate::meaning::event::{GuardedEvent, of_parent};
use crate::meaning::facts::has_row;
use crate::meaning::formula::Formula;

/// Returns the events of each deed for each thing. Of the senses of a noun, those count that have the event.
pub(super) fn all_done(things: &[Thing], deeds: &[Deed]) -> Option<Vec<GuardedEvent>> {
    let mut events = Vec::new();
    for senses in things.chunk_by(|one, next| one.start == next.start) {
        for deed in deeds {
            let done = senses.iter().filter_map(|thing| done_to(thing, deed));
            let found: Vec<GuardedEvent> = done.flatten().collect();
            (!found.is_empty()).then_some(())?;
            events.extend(found);
        }
    }
    Some(events)
}

/// Returns the events of a verb for a thing, or `None` if no source has them.
fn done_to(thing: &Thing, deed: &Deed) -> Option<Vec<GuardedEvent>> {
    // Who acted on the pull request of a check is not in its payload: the actor of a check is the one who pushed.
    let is_person = |says: &Says| matches!(says, Says::Person(..));
    if RUNS.contains(&thing.noun)
        && !deed.on.is_empty()
        && deed.guard.mentions(&|atom| is_person(&atom.says))
    {
        return None;
    }
    let things = if deed.on.is_empty() {
        vec![thing.clone()]
    } else {
        placed(thing, &deed.on)?
    };
    let mut events = Vec::new();
    for thing in &things {
        let source = deed.source.or(thing.source);
        if thing.source.is_some() && source != thing.source {
            return None;
        }
        let thing = &Thing {
            source,
            ..thing.clone()
        };
        // Only GitHub has comments on the lines of a diff, which "top-level" excludes; elsewhere it excludes replies.
        let is_elsewhere = thing.source.is_some_and(|source| source != Source::Github);
        let thing = &if thing.is_top && is_elsewhere {
            no_reply(thing)?
        } else {
            thing.clone()
        };
        for senses in &deed.verbs {
            let found = senses.iter().find_map(|verb| {
                // "a critical alert fires": the adjective says which of the events.
                let verb = match thing.fired_as {
                    Some(fired) if matches!(verb, Verb::Fire | Verb::Create) => fired,
                    Some(_) => return None,
                    None => *verb,
                };
                // What is added is put somewhere, and pull requests are put into queues and milestones.
                let is_put = senses.contains(&Verb::Add) && thing.noun == Noun::PullRequest;
                if is_put && verb == Verb::Create {
                    return None;
                }
                happens(thing, verb, deed)
            })?;
            events.extend(found.into_iter().map(|event| with(event, &deed.guard)));
        }
    }
    let is_sayable = |event: &GuardedEvent| has_facts(event, &event.guard);
    events.iter().all(is_sayable).then_some(events)
}

/// Returns the events of one sense of a verb for a thing.
fn happens(thing: &Thing, verb: Verb, deed: &Deed) -> Option<Vec<GuardedEvent>> {
    Some(match (thing.noun, verb) {
        (Noun::Commit, verb) if !thing.on.is_empty() => {
            brings_commits(verb).then_some(())?;
            vec![synchronized(thing)]
        }
        (Noun::File, _) => of_files(thing, verb, &deed.guard)?,
        // Merged pull requests with files are merges, and no push into an open one.
        (Noun::PullRequest, Verb::Touch) if super::events::is_merged(&thing.guard) => {
            vec![event(thing, Verb::Merge)]
        }
        // A new pull request that touches files is opened, and no other event of it counts.
        (_, Verb::Touch) if thing.is_new => return None,
        // The push of a new branch creates it, and the creation is an event of its own.
        (Noun::Branch, Verb::Push) if thing.is_new => vec![event(thing, Verb::Create)],
        (noun, Verb::Comment) if noun != Noun::Notification => vec![commented(thing, noun)?],
        (noun, Verb::Complete) if deed.guard.mentions(&|atom| names_outcome(&atom.says, &[])) => {
            // These have no end of their own: a conclusion is one of their reports.
            let reports = matches!(
                noun,
                Noun::Status | Noun::Deployment | Noun::DeploymentStatus
            );
            let is_open = deed.guard.mentions(&|atom| names_outcome(&atom.says, OPEN));
            (reports || !is_open && has_row(noun, verb)).then_some(())?;
            let verb = match reports {
                // What "does not succeed" has ended: pending is no failure.
                true if excludes_outcome(&deed.guard) => Verb::Fail,
                true => Verb::Change,
                false => verb,
            };
            vec![event(thing, verb)]
        }
        (noun, verb) if has_row(noun, verb) => vec![event(thing, verb)],
        _ => return None,
    })
}

/// What statuses and deployments report before they end.
const OPEN: &[&str] = &["pending", "in_progress", "queued", "inactive"];

/// Whether a statement compares the conclusion, with one of some values if there are any.
fn names_outcome(says: &Says, values: &[&str]) -> bool {
    matches!(says, Says::Test(test) if test.field() == Field::Conclusion
        && (values.is_empty() || test.values().iter().any(|value| values.contains(&value.as_str()))))
}

/// Whether a guard excludes success.
fn excludes_outcome(guard: &Guard) -> bool {
    let mut excludes = false;
    guard.replace(false, &mut |atom, negated| {
        excludes |= negated && names_outcome(&atom.says, &["success"]);
        Some(Formula::<Atom>::Always)
    });
    excludes
}

/// The same comment, which is no reply.
fn no_reply(thing: &Thing) -> Option<Thing> {
    let mut thing = thing.clone();
    thing.is_top = false;
    let test = Sense::parse("test:reply is false")?;
    let no_reply = test.guard(&(thing.start..thing.start + 1))?;
    thing.guard = std::mem::replace(&mut thing.guard, Formula::Always).and(no_reply);
    Some(thing)
}

/// Commits that arrive on a pull request.
fn synchronized(thing: &Thing) -> GuardedEvent {
    let mut event = event(thing, Verb::Synchronize);
    event.noun = Noun::PullRequest;
    event.on = Vec::new();
    event
}

fn brings_commits(verb: Verb) -> bool {
    matches!(verb, Verb::Push | Verb::Add | Verb::Create)
}

pub(super) fn with(mut event: GuardedEvent, guard: &Guard) -> GuardedEvent {
    event.require(guard.clone());
    event
}

fn event(thing: &Thing, verb: Verb) -> GuardedEvent {
    // Guards of a pull request apply to the parent of the review, which is the event.
    let reviews = matches!(verb, Verb::Review | Verb::Approve | Verb::RequestChanges)
        && thing.noun == Noun::PullRequest;
    let of_review = if reviews {
        of_parent(&thing.guard)
    } else {
        None
    };
    GuardedEvent {
        noun: thing.noun,
        verb,
        on: thing.on.clone(),
        guard: of_review.unwrap_or_else(|| thing.guard.clone()),
        source: thing.source,
        without: thing.is_top.then_some("pull_request_review_comment"),
        raw: None,
        start: thing.start,
    }
}

/// A comment on a thing.
fn commented(thing: &Thing, noun: Noun) -> Option<GuardedEvent> {
    let mut event = event(thing, Verb::Create);
    event.noun = match noun {
        Noun::Discussion => Noun::DiscussionComment,
        Noun::Commit => Noun::CommitComment,
        Noun::PullRequest | Noun::Issue => Noun::Comment,
        _ => return None,
    };
    event.on = vec![noun];
    event.guard = of_parent(&thing.guard)?;
    Some(event)
}

/// Changed files without a branch are those of pull requests and of pushes to the default branch.
fn of_files(thing: &Thing, verb: Verb, guard: &Guard) -> Option<Vec<GuardedEvent>> {
    let verb = match verb {
        Verb::Touch | Verb::Change | Verb::Update | Verb::Edit => Verb::Touch,
        Verb::Create | Verb::Add | Verb::Delete | Verb::Remove => verb,
        _ => return None,
    };
    let is_branch = |says: &Says| match says {
        Says::Branch(..) => true,
        Says::Test(test) => test.field() == Field::OnDefaultBranch,
        _ => false,
    };
    let names_branch = |guard: &Guard| guard.mentions(&|atom| is_branch(&atom.says));
    // The rows of pull requests have no other verb for files, those of pushes have.
    let pushed = if verb == Verb::Touch {
        Verb::Push
    } else {
        verb
    };
    let pushed = event(thing, pushed);
    if names_branch(&thing.guard) || names_branch(guard) {
        return Some(vec![pushed]);
    }
    let default = Sense::parse("test:on_default_branch is true")?;
    let pushed = with(pushed, &default.guard(&(thing.start..thing.start + 1))?);
    if verb != Verb::Touch {
        return Some(vec![pushed]);
    }
    let mut pulled = event(thing, verb);
    pulled.without = Some("push");
    Some(vec![pulled, pushed])
}

/// Whether an event is that of a check on a pull request, whose payload has no author of it.
pub(super) fn is_run_of_pull(event: &GuardedEvent) -> bool {
    let names_pull =
        |says: &Says| matches!(says, Says::Test(test) if test.field() == Field::PullRequests);
    RUNS.contains(&event.noun) && event.guard.mentions(&|atom| names_pull(&atom.says))
}
