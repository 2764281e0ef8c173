//! What an operator should know of a roster before its rows.

use std::collections::BTreeSet;

use daemon_roster::{Project, Role, Roster, RowKind};

use crate::wire::RosterWarningObject;

/// Returns the warnings of a roster, of one project or of all: `drifted` are those whose permissions differ from the allowlist.
pub(super) fn of(
    roster: &Roster,
    drifted: &BTreeSet<Project>,
    only: Option<&Project>,
) -> Vec<RosterWarningObject> {
    let is_wanted = |project: &&Project| only.is_none_or(|only| only == *project);
    let stale_after = roster.settings().stale_after.map(|limit| {
        let minutes = limit.as_mins();
        let message = format!(
            "`roster.stale_after_minutes` is {minutes}: standing daemons are stale after {minutes} minutes, \
             also dormant ones that check in as they should"
        );
        RosterWarningObject::new("override", None, message)
    });
    let drifts = drifted.iter().filter(is_wanted).map(|project| {
        let message = format!(
            "{project}: the permissions that its settings file gives to agents differ from `roster.allowlist`; \
             no daemon is started there until they are equal"
        );
        RosterWarningObject::new("drift", Some(project), message)
    });
    let without_baton = without_orchestrator(roster);
    let idle = without_baton.into_iter().filter(is_wanted).map(|project| {
        let message = format!(
            "{project}: no daemon holds the baton of the orchestrator, so nothing is dispatched or merged there"
        );
        RosterWarningObject::new("no-baton", Some(project), message)
    });
    stale_after.into_iter().chain(drifts).chain(idle).collect()
}

/// Returns the projects that have standing daemons and no orchestrator with the baton.
fn without_orchestrator(roster: &Roster) -> BTreeSet<&Project> {
    let tables = roster.tables();
    let standing = tables.rows.values();
    let standing = standing.filter(|row| row.kind == RowKind::Standing && !row.is_retired());
    let projects = standing.filter_map(|row| row.project.as_ref());
    let batons = &tables.batons;
    let has_holder = |project: &Project| {
        let baton = batons.get(&(project.clone(), Role::Orchestrator));
        baton.is_some_and(|baton| baton.holder.is_some())
    };
    projects.filter(|project| !has_holder(project)).collect()
}
