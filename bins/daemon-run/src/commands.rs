//! The commands: one module for each, or for a family of them.

pub(crate) mod act;
pub(crate) mod agent;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod corpus;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod emanate;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod fire;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod lint;
pub(crate) mod listings;
pub(crate) mod lsp;
pub(crate) mod new;
pub(crate) mod next;
pub(crate) mod preview;
pub(crate) mod prune;
pub(crate) mod reading;
pub(crate) mod roster;
pub(crate) mod rule;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod suggest;
pub(crate) mod test;
pub(crate) mod which;

use daemon_api::StoredEvent;
use daemon_api::ops::Operation;
use daemon_host::config::{Config, Repo};
use daemon_host::serve::Compose as _;
use daemon_repo::{Git, Repository};

use crate::cli::EventArgs;
use crate::compose::{Composer, Overrides};
use crate::failure::CommandFailure;
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};

/// Fetches the stored event that `--event` names, from the host, or from the store if no host is running; `None` if it names
/// none.
pub(crate) async fn stored_event(
    args: &EventArgs,
    place: &Place,
) -> Result<Option<StoredEvent>, CommandFailure> {
    let Some(given) = which::named_event(args, place) else {
        return Ok(None);
    };
    let opened = CommandSession::open(place, Intent::Look).await;
    let mut session = opened.map_err(|failure| which::no_store(given, failure))?;
    let id = which::event_or_file(given, &mut session).await?;
    let operation = Operation::EventGet;
    let object = session.call(operation, parameter("id", &id)).await?;
    let stored = StoredEvent::read(&object, daemon_records::clock::now())?;
    Ok(Some(stored))
}

/// Returns the name of a repository given by name or by directory. A live host knows repositories by name only, and the
/// configuration may choose the name.
pub(crate) fn repo_name(place: &Place, given: &str) -> String {
    let path = place.directory.join(given);
    let git = Git::find(&place.path).ok().filter(|_| path.is_dir());
    let Some((git, wanted)) = git.and_then(|git| {
        let wanted = Repository::enclosing(&git, &path).ok()?;
        Some((git, wanted))
    }) else {
        return given.to_owned();
    };
    // An invalid configuration gives no name. The host may still run with an older, valid one; the repository's own name is
    // the most likely there.
    let config = Composer::new(place, Overrides::default()).load().ok();
    let known = config
        .as_ref()
        .and_then(|config| configured(&git, config, place, &wanted));
    match known {
        Some((repo, opened)) => match &repo.name {
            Some(name) => name.clone(),
            None => opened.name().to_string(),
        },
        None => wanted.name().to_string(),
    }
}

/// Returns the configuration of a repository. The configured path may be any of its work trees, so the shared git directory
/// is compared.
pub(crate) fn configured<'c>(
    git: &Git,
    config: &'c Config,
    place: &Place,
    wanted: &Repository,
) -> Option<(&'c Repo, Repository)> {
    config.repo.iter().find_map(|repo| {
        let opened = Repository::open(git, &place.directory.join(&repo.path)).ok()?;
        (opened.common_dir() == wanted.common_dir()).then_some((repo, opened))
    })
}
