//! `emanate`: a batch is validated as a whole, its folders are created, then its runs start.

use std::sync::Arc;

use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_records::random;
use daemon_run_folder::{Folder, GroupId, Handle, PresetRecord, RunStart};
use serde_json::{Map, Value, json};

use super::call::{Caller, Emanate};
use super::fault::{self, CallFault};
use super::isolation;
use super::plan::{self, Plan};
use super::running::{StartedRun, index};
use crate::run_context::RunContext;
use crate::runs::{Record, bound, filled, owner};

/// Dispatches a batch; `faults` are the ones that its validation has found so far.
///
/// # Errors
/// The batch has faults, or a folder could not be created. No run starts and no folder stays then.
pub(super) async fn emanate(
    run_context: &Arc<RunContext>,
    caller: &Caller,
    emanate: Emanate,
    mut faults: Vec<CallFault>,
) -> Result<Map<String, Value>, OpError> {
    let (n_tasks, n_invalid) = (emanate.tasks.len(), faults.len());
    let plans = plans(run_context, caller, emanate, &mut faults);
    let (plans, mut faults) = choose_places(run_context, plans, faults).await?;
    // Held from the count of running runs until the new ones are counted.
    let _turn = run_context.emanations.dispatching.lock().await;
    if let Some(fault) = too_many(run_context, n_tasks) {
        faults.insert(n_invalid, fault);
    }
    fault::refuse(&faults)?;
    let Some(first) = plans.first() else {
        return Err(OpError::invalid("No tasks provided"));
    };
    let now = run_context.now();
    let group = GroupId::new(now, random::three());
    let backend = first.common.backend.clone();
    let limits = first.common.provider.enforced(&first.common.limits);
    let for_folders = Arc::clone(run_context);
    let begun = tokio::task::spawn_blocking(move || begin(&for_folders, group, plans)).await;
    let begun = begun.map_err(panicked)??;
    let run_ids: Vec<String> = begun.iter().map(|one| one.id.to_string()).collect();
    let ids: Vec<String> = begun
        .iter()
        .map(|one| one.id.handle().to_string())
        .collect();
    let has_own = begun.iter().any(|one| one.plan.place.is_some());
    let places = begun.iter().map(|one| {
        let place = one.plan.place.as_ref();
        // Paths of the caller may contain secrets, too.
        let redactor = one.record.redactor();
        json!(place.map(|place| redactor.json(&place.announced(one.id))))
    });
    let places = Some(Value::Array(places.collect())).filter(|_| has_own);
    start(run_context, begun).await;
    let reply = json!({
        "status": "dispatched",
        "count": ids.len(),
        "ids": ids,
        "run_ids": run_ids,
        "group_id": group.to_string(),
        "backend": backend,
        "limits": filled([
            ("max_turns", json!(limits.max_turns)),
            ("timeout", seconds(limits.wall)),
        ]),
    });
    match reply {
        Value::Object(mut reply) => {
            reply.extend(filled([("places", json!(places))]));
            Ok(reply)
        }
        _ => unreachable!("it is written as an object"),
    }
}

/// Chooses the place of each run; adds the faults of those that cannot be made.
async fn choose_places(
    run_context: &RunContext,
    mut plans: Vec<Plan>,
    mut faults: Vec<CallFault>,
) -> Result<(Vec<Plan>, Vec<CallFault>), OpError> {
    let paths = run_context.paths.clone();
    // Git blocks, comparing a large checkout with HEAD takes seconds, and a repository can be made so that git hangs.
    let chosen = tokio::task::spawn_blocking(move || {
        isolation::choose(&paths, &mut plans, &mut faults);
        (plans, faults)
    });
    chosen.await.map_err(panicked)
}

/// Starts a task for each run of a batch.
async fn start(run_context: &Arc<RunContext>, begun: Vec<StartedRun>) {
    for one in begun {
        // Before the task starts, so that its own row cannot be replaced by this older one.
        index(run_context, &one.record).await;
        let (run_context, id) = (Arc::clone(run_context), one.id);
        let tasks = run_context.emanations.tasks.clone();
        tasks.spawn(async move {
            if let Err(defect) =
                crate::defect::guarded(Box::pin(one.run(Arc::clone(&run_context)))).await
            {
                tracing::error!(run = %id, %defect, "a run panicked outside of its provider");
                // Its slot would stay taken. The folder is ended as an orphan by the next start.
                run_context.emanations.forget(id);
            }
        });
    }
}

fn panicked(error: tokio::task::JoinError) -> OpError {
    OpError::new(OpErrorKind::Internal, "internal", error.to_string())
}

/// Returns a fault if a number of tasks exceeds the limit on running runs.
fn too_many(run_context: &RunContext, asked: usize) -> Option<CallFault> {
    let running = run_context.emanations.running();
    let most = run_context.host.settings().bounds.emanations;
    (running + asked > usize::try_from(most).unwrap_or(usize::MAX)).then(|| {
        CallFault::full(format!(
            "max_emanations reached: {running} running, {asked} requested of {most}"
        ))
    })
}

/// Validates the tasks of a batch.
fn plans(
    run_context: &RunContext,
    caller: &Caller,
    mut emanate: Emanate,
    faults: &mut Vec<CallFault>,
) -> Vec<Plan> {
    let tasks = std::mem::take(&mut emanate.tasks);
    if let Some(why) = run_context.host.pause() {
        faults.push(CallFault::full(format!("no run starts: {why}")));
    }
    let common = plan::common(run_context, caller, &emanate, faults);
    let tasks = tasks.into_iter().enumerate();
    let Some(common) = common else {
        // Faults that do not depend on the provider are reported together with its absence.
        for (index, task) in tasks {
            plan::check_task(index, &task, faults);
        }
        return Vec::new();
    };
    tasks
        .map(|(index, task)| plan::plan(&common, index, task, faults))
        .collect()
}

/// Creates all folders of a batch, or none.
fn begin(
    run_context: &Arc<RunContext>,
    group: GroupId,
    plans: Vec<Plan>,
) -> Result<Vec<StartedRun>, OpError> {
    let mut begun: Vec<StartedRun> = Vec::with_capacity(plans.len());
    for plan in plans {
        match begin_one(run_context, group, plan) {
            Ok(one) => begun.push(one),
            Err(reason) => {
                // The reply names a whole batch, so that no part of one may start.
                for one in begun {
                    run_context.emanations.forget(one.id);
                    one.record.discard();
                }
                let message = format!("Failed to create daemon folder: {reason}");
                return Err(OpError::new(OpErrorKind::Broken, "folder", message));
            }
        }
    }
    Ok(begun)
}

fn begin_one(
    run_context: &Arc<RunContext>,
    group: GroupId,
    plan: Plan,
) -> Result<StartedRun, String> {
    let now = run_context.now();
    let common = &plan.common;
    let handle = Handle(run_context.handles.next(&common.parent));
    let reserved = Folder::reserve(&run_context.paths.runs.clone(), handle, now)
        .map_err(|error| chain(&error))?;
    let id = reserved.folder().id();
    let me = owner().map_err(|error| chain(&error))?;
    let place = plan.place.as_ref();
    let own = place.map(|place| place.directory(&run_context.paths.own_worktree(id)));
    let prompt = plan.prompt(own.as_deref().or(plan.task.cwd.as_deref()));
    let mut start = RunStart::new(&common.parent, me, &common.backend, &plan.task.task, prompt);
    start.group_id = Some(group);
    start.tools.clone_from(&plan.tools.asked);
    start.call_parameters = plan.call_parameters();
    start.preset = plan.task.preset.as_ref().map(|name| PresetRecord {
        name: name.clone(),
        provider: common.preset_api.clone().unwrap_or_default(),
        model: common.provider.model().unwrap_or_default().to_owned(),
    });
    start.backend_options = plan.backend_options();
    bound(
        &mut start,
        &*common.provider,
        common.permissions,
        &common.limits,
        &common.sandbox,
    );
    let clock = Arc::clone(&run_context.clock);
    let mut record =
        Record::open(reserved, start, plan.redactor([]), clock).map_err(|error| chain(&error))?;
    if let Some(place) = &plan.place {
        // A run whose changes did not come back is not done.
        record.defer_terminal();
        if let Err(error) = place.write(record.folder(), record.redactor()) {
            record.discard();
            return Err(error.to_string());
        }
    }
    let channels = run_context
        .emanations
        .begin(id, &common.parent, &group.to_string());
    Ok(StartedRun {
        id,
        plan,
        record,
        channels,
    })
}

/// Returns seconds as JSON: an integer if they have no fraction.
pub(super) fn seconds(time: std::time::Duration) -> Value {
    if time.subsec_nanos() == 0 {
        json!(time.as_secs())
    } else {
        json!(time.as_secs_f64())
    }
}
