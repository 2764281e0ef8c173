//! `fire`: a person wakes a daemon and waits for the end.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use daemon_engine::ActivationState;
use daemon_event::{Enrichment, PullRequestFact};
use daemon_host::driver::{Inner, Runtime, run_one};
use daemon_host::fire::{Fire as Request, FireTrigger, FiredEvent, submit};
use daemon_host::home::Home;
use daemon_host::ops::{OpError, Operations};
use daemon_host::random;
use daemon_host::serve::Compose as _;
use daemon_host::wire::ActivationObject;
use daemon_repo::Repository;
use serde_json::{Value, json};

use super::imagined::{Candidate, Why};
use crate::cli::Fire;
use crate::compose::{Composer, Overrides, open_store, sandbox};
use crate::failure::{Exit, Failure};
use crate::local;
use crate::out::{Out, put};
use crate::place::Place;
use crate::session;

/// How often a live host is asked whether the activation has ended.
const POLL: Duration = Duration::from_millis(200);

/// Fires, and returns whether the activation succeeded.
pub(crate) async fn run(args: &Fire, place: &Place, out: Out) -> Result<bool, Failure> {
    let root = local::root(place, args.repo.as_deref())?;
    let why = Why::read(&args.event, args.tick.as_deref(), place)?;
    let answer = if args.dry_run {
        dry_run(args, &root, &why, place)?
    } else if let Some(client) = session::live(place).await? {
        through_host(args, &root, &why, place, client).await?
    } else {
        alone(args, &root, &why, place, out).await?
    };
    let is_good = args.dry_run && answer["wakes"] == true
        || answer["duplicate"] == true
        || answer["activation"]["state"] == ActivationState::Succeeded.as_str();
    if out.is_json() {
        let Value::Object(map) = answer else {
            return Err(Failure::bug("an answer is not an object"));
        };
        out.envelope(map)?;
    } else {
        out.text(&text(args, &answer))?;
        if args.dry_run {
            out.note("next: daemon-run serve --repo .");
        }
    }
    Ok(is_good)
}

fn empty(dry_run: bool) -> Value {
    json!({
        "dry_run": dry_run, "wakes": false, "duplicate": false, "activation": null, "runs": [], "outputs": [], "plan": null,
    })
}

/// Parses, matches, builds the context and resolves policy; starts and writes nothing.
fn dry_run(args: &Fire, root: &Path, why: &Why, place: &Place) -> Result<Value, Failure> {
    let config = Composer::new(place, Overrides::default()).load()?;
    let candidate = Candidate::read(root, &args.id, &config, place)?;
    let imagined = candidate.imagine(why, args.provider.as_deref(), random::now())?;
    let policy = &imagined.policy;
    let is_known =
        policy.provider == "builtin" || config.provider.named.contains_key(&policy.provider);
    if !is_known {
        return Err(unknown_provider(&policy.provider));
    }
    let sandbox = sandbox(&config);
    if let Some(reason) = policy.sandbox_refusal(&sandbox) {
        return Err(Failure::new(Exit::Refused, "sandbox", reason));
    }
    let trigger = ActivationObject::new(&imagined.activation, &[]).trigger;
    let mut answer = empty(true);
    answer["wakes"] = json!(imagined.wakes);
    answer["plan"] = json!({
        "daemon_id": args.id,
        "rev": imagined.activation.rev,
        "trigger": trigger,
        "conditions": trigger.conditions,
        "provider": policy.provider,
        "capability": policy.capability.as_str(),
        "sandbox": sandbox.0,
        "budget": {"activation_usd": config.budget.activation_usd},
        "context": super::context::measured(&imagined.built),
    });
    Ok(answer)
}

fn unknown_provider(name: &str) -> Failure {
    let message = format!("no provider `{name}` is configured");
    Failure::new(Exit::Config, "unknown-provider", message)
}

/// Asks the live host, and waits for the end.
async fn through_host(
    args: &Fire,
    root: &Path,
    why: &Why,
    place: &Place,
    mut client: daemon_host::control::Client,
) -> Result<Value, Failure> {
    if args.provider.is_some() {
        let failure =
            Failure::usage("a live host runs this home: its configuration names the provider");
        return Err(failure.help("set policy.daemon.<id>.provider"));
    }
    let mut params = session::parameter("id", &args.id);
    if args.repo.is_some() {
        params.insert(
            "repo".to_owned(),
            json!(super::repo_name(place, &root.display().to_string())),
        );
    }
    match why {
        Why::Person => {}
        Why::Tick(at) => drop(params.insert("tick".to_owned(), json!(at.to_string()))),
        Why::Event(event) => drop(params.insert("event".to_owned(), event_params(event))),
    }
    params.insert("by".to_owned(), json!(who(place)));
    let fired = client
        .call("daemon/fire", params)
        .await
        .map_err(session::call_failure)?;
    let mut answer = Value::Object(fired);
    let Some(id) = answer["activation"]["id"].as_str().map(str::to_owned) else {
        return Ok(answer);
    };
    loop {
        let asked = client
            .call("activation/get", session::parameter("id", &id))
            .await;
        let activation = asked.map_err(session::call_failure)?;
        let state: Option<ActivationState> = activation["state"]
            .as_str()
            .and_then(|state| state.parse().ok());
        if state.is_none_or(ActivationState::is_final) {
            break;
        }
        tokio::time::sleep(POLL).await;
    }
    let activation = client
        .call("activation/get", session::parameter("id", &id))
        .await
        .map_err(session::call_failure)?;
    answer["activation"] = Value::Object(activation);
    for (method, plural) in [("run/list", "runs"), ("output/list", "outputs")] {
        let mut params = session::parameter("daemon", &args.id);
        params.insert("limit".to_owned(), json!(500));
        let listed = client
            .call(method, params)
            .await
            .map_err(session::call_failure)?;
        let rows = listed
            .get(plural)
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        let own: Vec<Value> = rows
            .filter(|row| row["activation_id"] == id.as_str())
            .cloned()
            .collect();
        answer[plural] = Value::Array(own);
    }
    Ok(answer)
}

fn event_params(event: &FiredEvent) -> Value {
    json!({
        "source": event.source.as_str(),
        "kind": event.kind,
        "payload": String::from_utf8_lossy(&event.body),
        "delivery_id": event.delivery,
        "enrichment": enrichment(&event.enrichment),
    })
}

fn enrichment(known: &Enrichment) -> Value {
    let pull_request = |fact: &PullRequestFact| {
        json!({
            "number": fact.number,
            "draft": fact.draft,
            "state": fact.state,
            "is_current_head": fact.is_current_head,
        })
    };
    let pull_requests = known.pull_requests.as_ref();
    json!({
        "changed_files": known.changed_files,
        "pull_requests": pull_requests.map(|all| all.iter().map(pull_request).collect::<Vec<_>>()),
        "channel_name": known.channel_name,
    })
}

fn who(place: &Place) -> String {
    place
        .environment
        .get("USER")
        .cloned()
        .unwrap_or_else(|| "a person".to_owned())
}

/// Takes the path of the host without one: owns the home, registers, claims, runs, delivers.
async fn alone(
    args: &Fire,
    root: &Path,
    why: &Why,
    place: &Place,
    out: Out,
) -> Result<Value, Failure> {
    let home = Home::open(place.home()?).map_err(session::home_failure)?;
    let owner = session::own(&home)?;
    let composer = Composer::new(place, Overrides::default());
    let mut config = composer.load()?;
    watch_only(&mut config, &composer, root)?;
    let parts = composer.parts(&config)?;
    let repo = parts.repos.first().map(|repo| repo.name.clone());
    if let Some(name) = &args.provider
        && !parts.providers.contains_key(name)
    {
        return Err(unknown_provider(name));
    }
    let store = open_store(&home, &config.host.store)?;
    let epoch = store
        .begin_epoch(random::now())
        .await
        .map_err(OpError::from)?;
    let runtime = Runtime {
        config: Arc::new(config),
        parts,
        generation: 1,
    };
    let live = Arc::new(session::Offline::new(home.clone()));
    let inner = Inner::new(home, Arc::clone(&store), epoch, runtime);
    inner.take_back().await.map_err(OpError::from)?;
    inner.read_repos().await.map_err(OpError::from)?;
    for state in inner.repo_states().into_values() {
        if let Some(problem) = state.problem {
            return Err(Failure::new(Exit::NoInput, "repository", problem));
        }
    }
    let trigger = match why {
        Why::Person => FireTrigger::Person(random::hex(8)),
        Why::Tick(at) => FireTrigger::Tick(*at),
        Why::Event(event) => FireTrigger::Event(event.clone()),
    };
    let request = Request {
        daemon: args.id.clone(),
        repo,
        trigger,
        by: Some(who(place)),
    };
    let fired = submit(&*store, &inner.registry().get(), &request, random::now()).await;
    let fired = fired.map_err(|error| uncommitted(error.into(), root, &args.id))?;
    let mut answer = empty(false);
    answer["wakes"] = json!(fired.activation.is_some());
    answer["duplicate"] = json!(fired.is_duplicate);
    if let Some(id) = &fired.activation {
        out.note(&format!("activation {id} of {}", args.id));
        run_one(&inner, id, args.provider.as_deref()).await?;
        let operations = Operations::new(Arc::clone(&store), inner.registry().clone(), live);
        let (activation, runs, outputs) = operations.activation_whole(id).await?;
        answer["activation"] = activation;
        answer["runs"] = runs;
        answer["outputs"] = outputs;
    }
    drop(owner);
    Ok(answer)
}

/// Says of a daemon that the default branch lacks whether the working tree has it.
fn uncommitted(failure: Failure, root: &Path, id: &str) -> Failure {
    if failure.code == "unknown-daemon" && local::daemon(root, id).is_ok() {
        return failure.help(
            "it is in the working tree only: commit it to the default branch, or use --dry-run",
        );
    }
    failure
}

/// Restricts a configuration to the repository that is fired in.
fn watch_only(
    config: &mut daemon_host::config::Config,
    composer: &Composer,
    root: &Path,
) -> Result<(), Failure> {
    let git = composer.git()?;
    let wanted = Repository::enclosing(&git, root).map_err(|error| {
        Failure::new(Exit::NoInput, "repository", daemon_host::ops::chain(&error))
    })?;
    let is_wanted = |repo: &daemon_host::config::Repo| {
        Repository::open(&git, &repo.path)
            .is_ok_and(|opened| opened.common_dir() == wanted.common_dir())
    };
    let known = config.repo.iter().find(|repo| is_wanted(repo)).cloned();
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

fn text(args: &Fire, answer: &Value) -> String {
    let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if answer["dry_run"] == true {
        let plan = &answer["plan"];
        let verb = if answer["wakes"] == true {
            "would wake"
        } else {
            "would not wake: the event meets no condition"
        };
        return format!(
            "{} {verb}\n  provider    {}\n  capability  {}\n  sandbox     level {}\n  context     {} bytes, sha256 {}\n",
            args.id,
            string(&plan["provider"]),
            string(&plan["capability"]),
            plan["sandbox"],
            plan["context"]["bytes"],
            string(&plan["context"]["sha256"]),
        );
    }
    if answer["activation"].is_null() {
        return format!("{} does not wake: the event meets no condition\n", args.id);
    }
    let activation = &answer["activation"];
    let again = if answer["duplicate"] == true {
        "  (the same as before)"
    } else {
        ""
    };
    let mut text = format!(
        "activation  {}  {}{again}\n",
        string(&activation["id"]),
        string(&activation["state"])
    );
    if let Some(reason) = activation["reason"].as_str() {
        put!(text, "reason      {reason}\n");
    }
    for run in answer["runs"].as_array().into_iter().flatten() {
        put!(
            text,
            "run         {}  {}  {} s  {}\n",
            string(&run["id"]),
            string(&run["state"]),
            run["elapsed_s"],
            string(&run["folder"])
        );
        if let Some(preview) = run["result_preview"].as_str() {
            put!(
                text,
                "result      {}\n",
                preview.lines().next().unwrap_or_default()
            );
        }
    }
    for output in answer["outputs"].as_array().into_iter().flatten() {
        let trouble = output["error"]
            .as_str()
            .map(|error| format!("  {error}"))
            .unwrap_or_default();
        put!(
            text,
            "output      {}  {}{trouble}\n",
            string(&output["target"]),
            string(&output["state"])
        );
    }
    text
}
