//! D311: conditions that what the daemon does could meet.

use daemon_spec::Diagnostic;

use super::conditions::{shown, verdicts};
use super::routines::texts;
use crate::prose::{stem, verbs, words};
use crate::report::report;
use crate::{Deed, Subject};

/// Verbs that do a deed, and the things they do it to; none means that the verb says it all.
const DEEDS: &[(Deed, &[&str], &[&str])] = &[
    (Deed::Comment, &["comment", "reply", "respond"], &[]),
    (
        Deed::Comment,
        &["post", "leave", "add", "write"],
        &["comment", "reply", "note"],
    ),
    (
        Deed::Push,
        &[
            "push", "commit", "fix", "rebase", "repair", "bump", "upgrade", "revert",
        ],
        &[],
    ),
    (Deed::Push, &["resolve"], &["conflict"]),
    (
        Deed::OpenPullRequest,
        &["open", "create", "raise", "submit"],
        &["pr", "pull", "pull-request"],
    ),
    (
        Deed::OpenIssue,
        &["open", "create", "file", "raise"],
        &["issue", "ticket", "follow-up"],
    ),
    (Deed::Label, &["label", "relabel"], &[]),
    (Deed::Label, &["add", "apply", "remove", "set"], &["label"]),
    (Deed::Review, &["review", "approve"], &[]),
    (Deed::Message, &["post", "send", "announce", "notify"], &[]),
    (Deed::Merge, &["merge"], &[]),
    (Deed::Close, &["close"], &[]),
    (
        Deed::Edit,
        &["edit", "rename", "retitle", "assign", "prioritize"],
        &[],
    ),
    (
        Deed::Edit,
        &["update", "keep", "set", "append", "rewrite"],
        &[
            "title",
            "body",
            "description",
            "priority",
            "status",
            "assignee",
            "estimate",
        ],
    ),
];

pub(crate) fn own_output(subject: &Subject<'_>, acc: &mut Vec<Diagnostic>) {
    let routines: Vec<Vec<Deed>> = texts(subject)
        .map(|routine| deeds(&routine.value))
        .collect();
    for (condition, verdict) in verdicts(subject) {
        let does = |routine: &Vec<Deed>| routine.iter().any(|deed| verdict.deeds.contains(deed));
        let Some(index) = routines.iter().position(does) else {
            continue;
        };
        let message = format!("its own output could match `{}`", shown(&condition.value));
        acc.push(report(311, condition.span, message).with_help(format!(
            "routine {} makes such events; a daemon never wakes on its own marked output here",
            index + 1
        )));
    }
}

fn deeds(routine: &str) -> Vec<Deed> {
    let verbs: Vec<String> = verbs(routine).collect();
    let things: Vec<String> = words(routine).map(stem).collect();
    DEEDS
        .iter()
        .filter(|(_, does, to)| {
            verbs.iter().any(|verb| does.contains(&verb.as_str()))
                && (to.is_empty() || things.iter().any(|thing| to.contains(&thing.as_str())))
        })
        .map(|(deed, _, _)| *deed)
        .collect()
}
