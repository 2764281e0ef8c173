//! Origins: whether an event is a daemon's output, or a consequence of one.
//!
//! The outbox has every object that an activation of this host wrote to a service, every commit that it delivered, and its branch. An event at that commit and branch is
//! the output itself; an event that a bot causes at either of them continues the chain; everything else begins a new one.
//! Markers in messages, and branch names that look like a daemon's, prove nothing by themselves. Together with the host's own account they
//! lead to the outputs of another host that uses it, too.

mod account;
mod authored;
mod checks;
mod elsewhere;
mod proposed;

use daemon_engine::{Link, Output};
use daemon_event::{ActorKind, DaemonKey, Event, Field, RepoName, Source, branch_ref};
use daemon_store::{OutputPlace, Store, StoreError};

pub(super) use account::note as note_account;
use elsewhere::Elsewhere;

/// The surface whose outputs are commits.
const GIT: &str = "git";

/// The relation of an event to an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tie {
    /// The event is the output itself, as its service reports it.
    Output,
    /// The event is a consequence of the output.
    Consequence,
}

/// The output that caused an event, and the chain that the activations of the event continue.
#[derive(Debug)]
pub(super) struct Origin {
    author: Author,
    pub(super) link: Link,
}

/// The daemon that caused an event.
#[derive(Debug)]
enum Author {
    /// The event is an output of this daemon.
    Here(DaemonKey),
    /// The event is an output that another host wrote for a daemon.
    Elsewhere(Elsewhere),
    /// The event is only a consequence of outputs.
    None,
}

impl Origin {
    /// Reports whether the event is an output of the daemon itself, on this host or on another one.
    pub(super) fn is_own(&self, daemon: &DaemonKey) -> bool {
        match &self.author {
            Author::Here(author) => author == daemon,
            Author::Elsewhere(author) => author.is(daemon),
            Author::None => false,
        }
    }
}

/// A place where the output that caused an event may be, with the relation of the event to that output.
#[derive(Debug)]
struct Place {
    at: OutputPlace,
    /// The ref of the output; `None` for any.
    target: Option<String>,
    tie: Tie,
}

impl Place {
    /// The output itself: a commit where the host put it. The same commit on another ref is not the host's.
    fn delivered(target: String, commit: &str) -> Self {
        Self {
            at: OutputPlace::Revision(commit.to_owned()),
            target: Some(target),
            tie: Tie::Output,
        }
    }

    /// A consequence of an output with that commit.
    fn follows_from(commit: &str) -> Self {
        Self {
            at: OutputPlace::Revision(commit.to_owned()),
            target: None,
            tie: Tie::Consequence,
        }
    }

    /// The action of a program on the branch of an output, at any commit.
    fn follows_from_branch(target: String) -> Self {
        Self {
            at: OutputPlace::Target(target),
            target: None,
            tie: Tie::Consequence,
        }
    }

    fn holds(&self, output: &Output) -> bool {
        let target = self.target.as_ref();
        target.is_none_or(|target| output.target == *target)
    }
}

/// Finds the output that caused an event, in any of its reports; a chain may be `max_depth` deep.
///
/// # Errors
/// If the store fails.
pub(super) async fn of(
    store: &dyn Store,
    reports: &[Event],
    max_depth: u32,
) -> Result<Option<Origin>, StoreError> {
    let (output, tie) = match tied_output(store, reports).await? {
        Some(found) => found,
        None => {
            let elsewhere = of_another_host(store, reports, max_depth).await?;
            let followed = match elsewhere {
                Some(_) => None,
                None => followed_output(store, reports).await?,
            };
            let Some(output) = followed else {
                return Ok(elsewhere);
            };
            (output, Tie::Consequence)
        }
    };
    let activation = store.activation(&output.activation).await?;
    Ok(activation.map(|activation| Origin {
        author: match tie {
            Tie::Output => Author::Here(output.daemon),
            Tie::Consequence => Author::None,
        },
        link: activation.chain.link(max_depth),
    }))
}

/// Returns the newest output before an event that names none, if the host's own App caused it: no person acts as an App. The account of
/// a token may be a person's, so that only the checks that began soon after an output follow from it.
async fn followed_output(
    store: &dyn Store,
    reports: &[Event],
) -> Result<Option<Output>, StoreError> {
    for event in reports.iter().filter(|event| is_by_program(event)) {
        if account::caused(store, event).await? == Some(true) {
            return Ok(account::newest(store, event).await?.into_iter().next());
        }
    }
    for event in reports {
        let followed = checks::followed(store, event).await?;
        if followed.is_some() {
            return Ok(followed);
        }
    }
    Ok(None)
}

/// Finds the output of another host that caused an event.
async fn of_another_host(
    store: &dyn Store,
    reports: &[Event],
    max_depth: u32,
) -> Result<Option<Origin>, StoreError> {
    for event in reports {
        if let Some(elsewhere) = elsewhere::find(store, event).await? {
            return Ok(Some(Origin {
                link: elsewhere.link(event, max_depth),
                author: Author::Elsewhere(elsewhere),
            }));
        }
    }
    Ok(None)
}

/// Returns the output that caused an event, and the relation of the event to it.
async fn tied_output(
    store: &dyn Store,
    reports: &[Event],
) -> Result<Option<(Output, Tie)>, StoreError> {
    for event in reports {
        if let Some(output) = authored::find(store, event).await? {
            return Ok(Some((output, Tie::Output)));
        }
        if let Some(output) = account::find(store, event).await? {
            return Ok(Some((output, Tie::Output)));
        }
        if let Some(found) = checks::find(store, event).await? {
            return Ok(Some(found));
        }
        for place in places(event) {
            if let Some(found) = find(store, event, place).await? {
                return Ok(Some(found));
            }
        }
    }
    // After the places of all reports, because it costs another query of the store.
    for event in reports.iter().filter(|event| is_by_program(event)) {
        if let Some(place) = head(store, event).await?
            && let Some(found) = find(store, event, place).await?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Returns the branch of the pull request of an event, if an earlier event named it: a comment, and a check of the commit
/// that a merge would make, name the pull request by its number alone.
async fn head(store: &dyn Store, event: &Event) -> Result<Option<Place>, StoreError> {
    let Some(subject) = event
        .subject
        .as_ref()
        .filter(|_| event.source == Source::Github)
    else {
        return Ok(None);
    };
    let head = store.head_of(subject).await?;
    Ok(head.map(|head| Place::follows_from_branch(branch_ref(&head))))
}

/// Returns the output of the event's repository at a place.
async fn find(
    store: &dyn Store,
    event: &Event,
    place: Place,
) -> Result<Option<(Output, Tie)>, StoreError> {
    let Some(repo) = event.repo.as_ref().map(RepoName::folded) else {
        return Ok(None);
    };
    let found = store.outputs_at(GIT, &place.at).await?;
    let is_it = |output: &Output| output.daemon.repo.folded() == repo && place.holds(output);
    let found = found.into_iter().find(is_it);
    Ok(found.map(|output| (output, place.tie)))
}

/// Returns the places where the output that caused an event may be: that of the output itself, then those of outputs of
/// which the event may be a consequence.
fn places(event: &Event) -> Vec<Place> {
    let facts = &event.facts;
    let commit = facts.text(Field::After);
    match (event.source, event.kind.as_str()) {
        (Source::Git | Source::Github, "push" | "merge") | (Source::Git, "create") => {
            let target = facts.text(Field::Ref).map(str::to_owned);
            let delivered = target.clone().zip(commit);
            let delivered = delivered.map(|(target, commit)| Place::delivered(target, commit));
            let mut places: Vec<Place> = delivered.into_iter().collect();
            if is_by_program(event) {
                places.extend(commit.map(Place::follows_from));
                places.extend(target.map(Place::follows_from_branch));
            }
            places
        }
        // The service names the branch and no commit.
        (Source::Github, "create") => {
            let target = facts.text(Field::Branch).map(branch_ref);
            let created = target.map(|target| Place {
                at: OutputPlace::Target(target),
                target: None,
                tie: Tie::Output,
            });
            created.into_iter().collect()
        }
        (Source::Github, kind) if is_about_pull_request(kind) => pull_request(event, commit),
        (Source::Github, "commit_comment") if is_by_program(event) => {
            commit.map(Place::follows_from).into_iter().collect()
        }
        (Source::Github, kind) if is_about_commit(kind) => {
            let mut places: Vec<Place> = commit.map(Place::follows_from).into_iter().collect();
            if is_by_program(event) {
                let branches = facts.texts(Field::Branch).map(branch_ref);
                places.extend(branches.map(Place::follows_from_branch));
            }
            places
        }
        (
            Source::Github
            | Source::Git
            | Source::Linear
            | Source::Slack
            | Source::Sentry
            | Source::Cloudevents,
            _,
        ) => Vec::new(),
    }
}

/// Reports whether the service names a program as the actor. Git names the committer and not the user who moved a ref, so a
/// move in a local repository counts as a person's unless the host made it.
fn is_by_program(event: &Event) -> bool {
    let actor = event.actor.as_ref();
    event.source != Source::Git && actor.is_some_and(|actor| actor.kind == ActorKind::Bot)
}

/// Returns the places of an event of a pull request: opening it at an output, and moving its head to one, is the daemon's own
/// act; any other action belongs to its actor.
fn pull_request(event: &Event, commit: Option<&str>) -> Vec<Place> {
    let facts = &event.facts;
    // The head of a fork never belongs to a daemon, with any name and commit.
    if facts.flag(Field::Fork) == Some(true) {
        return Vec::new();
    }
    let head = facts.text(Field::Head).map(branch_ref);
    let is_request = event.kind == "pull_request"
        && matches!(event.action.as_deref(), Some("opened" | "synchronize"));
    let mut places = Vec::new();
    if is_request && let Some((head, commit)) = head.clone().zip(commit) {
        places.push(Place::delivered(head, commit));
    }
    if is_by_program(event) {
        places.extend(commit.map(Place::follows_from));
        places.extend(head.map(Place::follows_from_branch));
    }
    places
}

fn is_about_pull_request(kind: &str) -> bool {
    kind.starts_with("pull_request") || kind == "issue_comment"
}

/// Reports whether events of a kind are consequences of a commit.
fn is_about_commit(kind: &str) -> bool {
    matches!(
        kind,
        "check_run"
            | "check_suite"
            | "deployment"
            | "deployment_protection_rule"
            | "deployment_review"
            | "deployment_status"
            | "merge_group"
            | "page_build"
            | "status"
            | "workflow_job"
            | "workflow_run"
    )
}
