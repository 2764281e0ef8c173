//! `roster`: who is alive, and what people request of standing daemons.

mod text;

use daemon_api::ops::Operation;
use serde_json::{Map, Value, json};

use crate::cli::{
    PageArgs, RosterActArgs, RosterArgs, RosterAuditArgs, RosterCheckInArgs, RosterConfirmArgs,
    RosterListArgs, RosterPlanArgs, RosterRetireArgs, RosterSignalsArgs, RosterVerb,
};
use crate::commands::act::{self, Prompts, is_confirmed};
use crate::failure::CommandFailure;
use crate::out::{Out, plain};
use crate::place::Place;
use crate::session::{CommandSession, Intent, parameter};
use daemon_view::columns::{Column, table};

/// Runs a subcommand of `roster`, which is `list` by default.
pub(crate) async fn run(
    args: &RosterArgs,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), CommandFailure> {
    use Operation as O;
    let of_daemon = |daemon: &str| parameter("daemon", daemon);
    let Some(verb) = &args.verb else {
        return list(&args.listing, place, out).await;
    };
    let (operation, args) = match verb {
        RosterVerb::List(args) => return list(args, place, out).await,
        RosterVerb::Show { daemon } => return show(daemon, place, out).await,
        RosterVerb::Open => return act::login(place, out).await,
        RosterVerb::Checkin(args) => return check_in(args, place, out).await,
        RosterVerb::Signals(args) => return signals(args, place, out).await,
        RosterVerb::Audit(args) => return audit(args, place, out).await,
        RosterVerb::Poke { daemon, line } => {
            let mut params = of_daemon(daemon);
            params.insert("line".to_owned(), json!(line));
            return change(O::RosterPoke, params, place, out).await;
        }
        RosterVerb::Compact { daemon } => {
            return change(O::RosterCompact, of_daemon(daemon), place, out).await;
        }
        RosterVerb::Interject {
            target,
            line,
            project,
        } => {
            let mut params = parameter("target", target);
            params.insert("line".to_owned(), json!(line));
            let project = project.as_ref().map(|it| super::repo_name(place, it));
            params.extend(given(("project", project)));
            return change(O::RosterInterject, params, place, out).await;
        }
        RosterVerb::Charters => {
            let answer = look(O::RosterCharters, Map::new(), place).await?;
            return listed(answer, ("charters", text::CHARTERS), out);
        }
        RosterVerb::Plan(args) => return plan(args, place, out).await,
        RosterVerb::Confirm(args) => return confirm(args, place, out, prompts).await,
        RosterVerb::Retire(args) => return retire(args, place, out, prompts).await,
        RosterVerb::Go(args) => (O::RosterGo, args),
        RosterVerb::Hold(args) => (O::RosterHold, args),
        RosterVerb::Reset(args) => (O::RosterReset, args),
        RosterVerb::Winddown(args) => (O::RosterWindDown, args),
        RosterVerb::Cancel(args) => (O::RosterCancel, args),
    };
    acted(operation, args, place, out).await
}

async fn plan(args: &RosterPlanArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut params = parameter("role", &args.role);
    let project = super::repo_name(place, &args.project);
    params.insert("project".to_owned(), json!(project));
    params.insert("harness".to_owned(), json!(args.harness));
    params.extend(given(("name", args.name.clone())));
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let answer = session.call(Operation::RosterPlan, params).await?;
    out.either(&answer, &text::plan(&answer, &out.layout()))
}

async fn list(args: &RosterListArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut params = page(&args.page);
    if let Some(project) = &args.project {
        params.insert(
            "project".to_owned(),
            json!(super::repo_name(place, project)),
        );
    }
    let words = [
        ("role", args.role.clone()),
        ("kind", args.kind.clone()),
        ("liveness", args.liveness.clone()),
    ];
    params.extend(words.into_iter().filter_map(given));
    let answer = look(Operation::RosterList, params, place).await?;
    if out.is_json() {
        return out.envelope(answer);
    }
    if answer["rows"].as_array().is_none_or(Vec::is_empty) {
        out.note("no rows");
        return Ok(());
    }
    out.text(&text::rows(&answer, &out.layout()))?;
    more(&answer, out);
    Ok(())
}

async fn show(daemon: &str, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let params = parameter("daemon", daemon);
    let answer = look(Operation::RosterGet, params, place).await?;
    out.either(&answer, &text::detail(&answer, &out.layout()))
}

async fn signals(args: &RosterSignalsArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let project = args.project.as_ref();
    let project = project.map(|project| super::repo_name(place, project));
    let words = [("project", project), ("status", args.status.clone())];
    let params = words.into_iter().filter_map(given).collect();
    let answer = look(Operation::RosterSignals, params, place).await?;
    listed(answer, ("signals", text::SIGNALS), out)
}

async fn audit(args: &RosterAuditArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut params = page(&args.page);
    params.extend(given(("daemon", args.daemon.clone())));
    let answer = look(Operation::RosterAudit, params, place).await?;
    listed(answer, ("audit", text::AUDIT), out)
}

/// Prints the rows in a member of an answer.
fn listed(
    answer: Map<String, Value>,
    (member, columns): (&str, &[Column]),
    out: Out,
) -> Result<(), CommandFailure> {
    if out.is_json() {
        return out.envelope(answer);
    }
    match answer[member].as_array() {
        Some(rows) if !rows.is_empty() => out.text(&table(columns, rows, &out.layout()))?,
        _ => out.note("no entries"),
    }
    more(&answer, out);
    Ok(())
}

/// Checks a daemon in, by the reference that its row has.
async fn check_in(args: &RosterCheckInArgs, place: &Place, out: Out) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let shown = session
        .call(Operation::RosterGet, parameter("daemon", &args.daemon))
        .await?;
    let row = &shown["row"];
    let mut params = parameter("wake", &args.wake);
    for name in ["project", "actor_ref"] {
        params.insert(name.to_owned(), row[name].clone());
    }
    params.extend(given(("cadence", args.cadence.clone())));
    let answer = session.call(Operation::RosterCheckIn, params).await?;
    done(answer, out)
}

async fn acted(
    operation: Operation,
    args: &RosterActArgs,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let mut params = parameter("daemon", &args.daemon);
    params.insert("reason".to_owned(), json!(args.reason));
    change(operation, params, place, out).await
}

/// Retires a daemon, after asking for confirmation.
async fn retire(
    args: &RosterRetireArgs,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), CommandFailure> {
    if !args.yes && !is_confirmed(("retire", "retiring"), prompts, out)? {
        out.warn("nothing was retired");
        return Ok(());
    }
    acted(Operation::RosterRetire, &args.act, place, out).await
}

/// Starts a planned daemon, after asking for confirmation.
async fn confirm(
    args: &RosterConfirmArgs,
    place: &Place,
    out: Out,
    prompts: Prompts,
) -> Result<(), CommandFailure> {
    let is_yes = args.yes || is_confirmed(("confirm", "starting"), prompts, out)?;
    let mut params = parameter("plan", &args.plan);
    params.insert("packet_sha256".to_owned(), json!(args.packet));
    params.insert("confirm".to_owned(), json!(is_yes));
    change(Operation::RosterConfirm, params, place, out).await
}

async fn look(
    operation: Operation,
    params: Map<String, Value>,
    place: &Place,
) -> Result<Map<String, Value>, CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Look).await?;
    session.call(operation, params).await
}

async fn change(
    operation: Operation,
    params: Map<String, Value>,
    place: &Place,
    out: Out,
) -> Result<(), CommandFailure> {
    let mut session = CommandSession::open(place, Intent::Change).await?;
    let answer = session.call(operation, params).await?;
    done(answer, out)
}

/// Prints an answer: the object, or a line for each of its members.
fn done(answer: Map<String, Value>, out: Out) -> Result<(), CommandFailure> {
    out.either(&answer, &text::members(&answer))
}

fn page(args: &PageArgs) -> Map<String, Value> {
    let mut params = Map::from_iter([("limit".to_owned(), json!(args.limit))]);
    params.extend(given(("after", args.after.clone())));
    params
}

fn given((name, value): (&str, Option<String>)) -> Option<(String, Value)> {
    value.map(|value| (name.to_owned(), json!(value)))
}

fn more(answer: &Map<String, Value>, out: Out) {
    if let Some(next) = answer.get("next").and_then(Value::as_str) {
        out.note(&plain(&format!("more: --after {next}")));
    }
}
