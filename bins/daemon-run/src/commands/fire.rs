//! `fire`: wakes a daemon from the command line and waits until its activation has finished.

mod dry_run;
mod hosted;
mod interrupts;
mod outcome;
mod progress;

use std::path::Path;
use std::time::Duration;

use daemon_api::control::Client;
use daemon_api::fire::{Fire as Request, FireTrigger, Fired, Moment, submit};
use daemon_api::ops::{NO_MODEL, Operation};
use daemon_engine::ActivationState;
use daemon_event::ActivationId;
use daemon_host::driver::{Execution, run_one};
use daemon_host::serve::Compose as _;
use daemon_records::clock;
use daemon_records::error::OpError;
use daemon_records::random;
use daemon_repo::{DAEMONS_DIR, GitProblem, Repository, TreePath, UncommittedDirectory};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::configured;
use super::listings::has_model;
use super::preview::WakeCause;
use crate::cli::{FireArgs, OccasionArgs};
use crate::compose::{Composer, Overrides};
use crate::failure::{CommandFailure, ExitKind};
use crate::local;
use crate::offline::{OfflineHost, read_repos};
use crate::out::Out;
use crate::place::Place;
use crate::session::{self, CommandSession};
use interrupts::{Interrupts, interrupted};
use outcome::Host;
use progress::Progress;

pub(crate) use outcome::local_branch;

/// Fires, and returns whether the activation succeeded.
pub(crate) async fn run(args: &FireArgs, place: &Place, out: Out) -> Result<bool, CommandFailure> {
    let root = local::root(place, args.repo.as_deref())?;
    let cause = WakeCause::read(&args.occasion, &root, place).await?;
    let answer = match args.dry_run {
        true => dry_run::dry_run(args, &root, &cause, place)?,
        false => Box::pin(wake(args, &root, &cause, place, out)).await?,
    };
    let is_good = args.dry_run && answer["wakes"] == true
        // The event was handled before, so a duplicate is a success even if that activation failed.
        || answer["duplicate"] == true
        || answer["activation"]["state"] == ActivationState::Succeeded.as_str();
    match answer {
        Value::Object(map) if out.is_json() => out.envelope(map)?,
        answer => report(args, answer, place, out).await?,
    }
    Ok(is_good)
}

/// Prints the outcome, where it can be seen, and the command that follows.
async fn report(
    args: &FireArgs,
    answer: Value,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    // A host that cannot be reached does not change what has happened.
    let live = session::live(place).await.unwrap_or_default();
    let host = match live {
        Some(_) => Host::Running,
        None => Host::Absent,
    };
    let page = match (live, answer["activation"]["id"].as_str()) {
        (Some(client), Some(id)) => page(client, id).await,
        _ => None,
    };
    out.text(&outcome::text(args, &answer, page.as_deref()))?;
    if answer["activation"]["reported"] == true && !has_model(place) {
        out.note(NO_MODEL);
    }
    if let Some(next) = outcome::next(args, &answer, host) {
        out.note(&format!("next: {next}"));
    }
    Ok(())
}

/// Returns the address of the page of an activation.
async fn page(mut client: Client, activation: &str) -> Option<String> {
    // The only operation that knows the address of the pages.
    let links = client.call(Operation::HostLogin, Map::new()).await.ok()?;
    let (host, _) = links.get("login_url")?.as_str()?.split_once("/login")?;
    Some(format!("{host}/activations/{activation}"))
}

/// Wakes the daemon, through a host if one is running, and shows what happens until the activation has ended.
async fn wake(
    args: &FireArgs,
    root: &Path,
    cause: &WakeCause,
    place: &Place,
    out: Out,
) -> Result<Value, CommandFailure> {
    let mut interrupts = Interrupts::new()?;
    let mut progress = Progress::on_terminal(&args.id, place, out);
    let live = match args.working_tree {
        // A host reads the default branch only.
        true => None,
        false => interrupts.unless(session::live(place)).await?,
    };
    let Some(client) = live else {
        return Box::pin(alone(args, root, cause, place, (interrupts, progress))).await;
    };
    let waited = (client, None, &mut progress);
    let fired = hosted::through_host(args, root, cause, place, waited);
    let fired = interrupts.unless(fired).await;
    fired.map_err(|failure| match progress.activation() {
        Some(id) if failure.exit == ExitKind::Interrupted => {
            let help = format!("it continues in the host; `daemon-run cancel {id}` ends it");
            interrupted(&format!("; activation {id} is not cancelled")).help(help)
        }
        _ => failure,
    })
}

/// Runs a daemon of the enclosing repository once, as it is in the working tree.
pub(crate) async fn of_working_tree(
    id: &str,
    place: &Place,
    out: Out,
) -> Result<Value, CommandFailure> {
    let args = FireArgs {
        id: id.to_owned(),
        repo: None,
        occasion: OccasionArgs::default(),
        dry_run: false,
        working_tree: true,
        provider: None,
    };
    let root = local::root(place, None)?;
    let run = (Interrupts::new()?, Progress::on_terminal(id, place, out));
    Box::pin(alone(&args, &root, &WakeCause::Person, place, run)).await
}

/// Fires through a running host, or previews it with `dry_run`. Waits at most `timeout` for the activation to finish, and
/// returns the activation in the state that it has then.
pub(crate) async fn answer(
    args: &FireArgs,
    place: &Place,
    timeout: Duration,
) -> Result<Value, CommandFailure> {
    let root = local::root(place, args.repo.as_deref())?;
    let cause = WakeCause::read(&args.occasion, &root, place).await?;
    if args.dry_run {
        return dry_run::dry_run(args, &root, &cause, place);
    }
    let live = session::live(place).await?;
    let client = live.ok_or_else(session::no_host_runs)?;
    let mut progress = Progress::none(&args.id);
    let waited = (client, Some(timeout), &mut progress);
    hosted::through_host(args, &root, &cause, place, waited).await
}

fn empty(dry_run: bool) -> Value {
    json!({
        "dry_run": dry_run, "wakes": false, "duplicate": false, "activation": null, "runs": [], "outputs": [], "plan": null,
    })
}

fn unknown_provider(name: &str) -> CommandFailure {
    let message = format!("no provider `{name}` is configured");
    CommandFailure::new(ExitKind::Config, "unknown-provider", message)
}

fn who(place: &Place) -> String {
    place
        .environment
        .get("USER")
        .cloned()
        .unwrap_or_else(|| "a person".to_owned())
}

/// Does the work of a host in this process: owns the home, registers, claims, runs and delivers.
async fn alone(
    args: &FireArgs,
    root: &Path,
    cause: &WakeCause,
    place: &Place,
    (mut interrupts, mut progress): (Interrupts, Progress),
) -> Result<Value, CommandFailure> {
    // Report an owner of the home first: problems of the repository could come from that process reading it.
    session::refuse_owned(place.home()?)?;
    let fired = Box::pin(fire_alone(args, root, cause, place));
    let (alone, fired) = interrupts.unless(fired).await?;
    let mut answer = empty(false);
    answer["wakes"] = json!(fired.activation.is_some());
    answer["duplicate"] = json!(fired.is_duplicate);
    if let Some(id) = &fired.activation {
        progress.begin(id.as_str());
        let provider = args.provider.as_deref();
        execute(&alone, id, provider, (interrupts, &mut progress)).await?;
        let (activation, runs, outputs) = alone.operations.activation_whole(id).await?;
        answer["activation"] = activation;
        answer["runs"] = runs;
        answer["outputs"] = outputs;
    }
    Ok(answer)
}

/// Begins the work of a host and stores the activation.
async fn fire_alone(
    args: &FireArgs,
    root: &Path,
    cause: &WakeCause,
    place: &Place,
) -> Result<(OfflineHost, Fired), CommandFailure> {
    let mut overrides = Overrides::default();
    if args.working_tree {
        overrides.uncommitted = Some(uncommitted_directory(args, root, place)?);
    }
    let composer = Composer::new(place, overrides);
    let mut config = composer.load()?;
    watch_only(&mut config, &composer, place, root)?;
    let alone = OfflineHost::begin(place, &composer, config).await?;
    let host = &alone.host;
    let runtime = host.runtime();
    if let Some(name) = &args.provider
        && !runtime.parts.providers.contains_key(name)
    {
        return Err(unknown_provider(name));
    }
    // As at the start of a host: end processes and release leases that a crashed host left behind.
    daemon_host::strays::end().await;
    host.take_back().await.map_err(OpError::from)?;
    host.clear_worktrees().await;
    read_repos(host).await?;
    let request = Request {
        daemon: args.id.clone(),
        repo: runtime.parts.repos.first().map(|repo| repo.name.clone()),
        trigger: trigger(cause),
        by: Some(who(place)),
    };
    let registry = host.registry().get();
    let moment = Moment {
        now: clock::now(),
        pause: host.pause(),
        is_over_budget: host.is_over_budget(),
    };
    let fired = submit(&*alone.store, &registry, &request, moment).await;
    let fired = fired.map_err(|error| uncommitted(error.into(), root, &args.id))?;
    Ok((alone, fired))
}

/// Executes an activation. The first signal cancels it, as a person does with `cancel`; a second one does not wait until its
/// processes have ended.
async fn execute(
    alone: &OfflineHost,
    id: &ActivationId,
    provider: Option<&str>,
    (mut interrupts, progress): (Interrupts, &mut Progress),
) -> Result<(), CommandFailure> {
    let mut session = CommandSession::over(&alone.operations);
    let first = CancellationToken::new();
    let second = async {
        interrupts.next().await;
        first.cancel();
        interrupts.next().await;
    };
    let execution = tokio::select! {
        ended = run_one(&alone.host, id, provider, first.cancelled()) => ended?,
        () = second => Execution::Interrupted,
        never = progress.follow(&mut session) => match never {},
    };
    progress.poll(&mut session).await;
    if execution == Execution::Finished {
        return Ok(());
    }
    let state = alone.operations.activation_state(id).await?;
    Err(interrupted(&format!(
        "; activation {id} is {}",
        state.as_str()
    )))
}

fn trigger(cause: &WakeCause) -> FireTrigger {
    match cause {
        // Random, since each firing by a person is a new trigger.
        WakeCause::Person => FireTrigger::Person(random::hex(8)),
        WakeCause::Tick(at) => FireTrigger::Tick(*at),
        WakeCause::Event(event) => FireTrigger::Event(event.clone()),
    }
}

/// Writes the commit of HEAD with the daemon's directory as it is in the working tree.
fn uncommitted_directory(
    args: &FireArgs,
    root: &Path,
    place: &Place,
) -> Result<UncommittedDirectory, CommandFailure> {
    let daemon = local::daemon(root, &args.id)?;
    let git = Composer::new(place, Overrides::default()).git()?;
    let directory = TreePath::from_bytes(format!("{DAEMONS_DIR}/{}", daemon.source.dir).as_bytes())
        .expect("a directory that was read has a path");
    let scratch = tempfile::tempdir()
        .map_err(|error| CommandFailure::unwritable(&std::env::temp_dir(), &error))?;
    let written = Repository::enclosing(&git, root).and_then(|repository| {
        let scratch = scratch.path().join("git");
        repository.with_directory_of_work_tree(&directory, clock::now(), &scratch)
    });
    written.map_err(|error| {
        let failure = CommandFailure::new(
            ExitKind::NoInput,
            "repository",
            daemon_records::error::chain(&error),
        );
        match error.problem() {
            GitProblem::Unborn => {
                failure.help("make a first commit: a run works at the commit of HEAD")
            }
            _ => failure,
        }
    })
}

/// Adds a help to the failure of an unknown daemon if the working tree has it: only the default branch counts.
fn uncommitted(failure: CommandFailure, root: &Path, id: &str) -> CommandFailure {
    if failure.code != "unknown-daemon" {
        return failure;
    }
    match local::daemon(root, id) {
        Ok(_) => failure.help(
            "it is in the working tree only: commit it to the default branch, or use --working-tree",
        ),
        // The failure of the working tree names its daemons.
        Err(unknown) => CommandFailure {
            help: failure.help.or(unknown.help),
            ..failure
        },
    }
}

/// Restricts a configuration to one repository, the one around `root`.
pub(crate) fn watch_only(
    config: &mut daemon_host::config::Config,
    composer: &Composer,
    place: &Place,
    root: &Path,
) -> Result<(), CommandFailure> {
    let git = composer.git()?;
    let wanted = Repository::enclosing(&git, root).map_err(|error| {
        CommandFailure::new(
            ExitKind::NoInput,
            "repository",
            daemon_records::error::chain(&error),
        )
    })?;
    let known = configured(&git, config, place, &wanted).map(|(repo, _)| repo.clone());
    let repo = known.unwrap_or_else(|| daemon_host::config::Repo {
        path: wanted.work_tree().unwrap_or(wanted.common_dir()).to_owned(),
        name: None,
        branch: None,
        remote: None,
        poll: daemon_host::config::Period::from_secs(30),
        zone: None,
    });
    config.repo = vec![repo];
    Ok(())
}
