//! Operations that read runs.

use std::borrow::Cow;
use std::path::PathBuf;

use daemon_records::FOLDER_MISSING;
use daemon_records::error::{OpError, OpErrorKind, chain};
use daemon_run_folder::{LogPlace, OutputLogPlace};
use daemon_store::RunRow;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{Operations, Params, value};
use crate::runs::{TimelineEntry, View};
use crate::wire::{OutputObject, RunObject};

/// The reply to a call of the `daemon` tool.
pub struct RunReply {
    /// The members of the reply at once.
    pub members: Map<String, Value>,
    /// The members at the end of the runs that the call waits for, if it waits. Dropping it ends the waiting, and no run.
    pub later: Option<BoxFuture<'static, Result<Map<String, Value>, OpError>>>,
}

impl RunReply {
    /// Returns the members at the end of what the call waits for.
    pub(super) async fn at_the_end(self) -> Result<Map<String, Value>, OpError> {
        match self.later {
            Some(later) => later.await,
            None => Ok(self.members),
        }
    }
}

/// A run with a part of its log.
#[derive(Clone, Debug)]
pub(crate) struct RunPart {
    /// The run as it was before the lines were read; if it has ended, no later lines exist.
    pub(crate) run: RunObject,
    /// The lines after the requested place.
    pub(crate) lines: Vec<TimelineEntry>,
    /// The place after these lines.
    pub(crate) next: LogPlace,
}

/// Everything about one run.
#[derive(Clone, Debug)]
pub(crate) struct RunView {
    /// The run.
    pub(crate) run: RunObject,
    /// The contents of its folder, shortened for a page.
    pub(crate) view: View,
    /// The outputs of its activation.
    pub(crate) outputs: Vec<OutputObject>,
}

impl Operations {
    /// Calls the `daemon` tool, and returns the reply at once and the one that it waits for.
    pub(crate) async fn run_call(&self, call: Map<String, Value>) -> Result<RunReply, OpError> {
        let id = call.get("id").and_then(Value::as_str).map(str::to_owned);
        let error = match self.live.run_call(call).await {
            Err(error) if error.kind == OpErrorKind::NotFound => error,
            reply => return reply,
        };
        // Only after a look into the run folders of this host, which has most of what is asked for.
        if let Some(id) = id {
            self.refuse_elsewhere(&id).await?;
        }
        Err(error)
    }

    /// Refuses a request that only another host can answer.
    ///
    /// # Errors
    /// Another host has the run, or the store cannot be read.
    async fn refuse_elsewhere(&self, run: &str) -> Result<(), OpError> {
        match self.store.run_elsewhere(run).await? {
            Some(host) => Err(OpError::elsewhere(run, &host)),
            None => Ok(()),
        }
    }

    /// Returns why parts of a run are unknown; where its folder is missing, the host that has it.
    async fn problem(
        &self,
        run: &str,
        found: Option<Cow<'static, str>>,
    ) -> Result<Option<Cow<'static, str>>, OpError> {
        if found.as_deref() != Some(FOLDER_MISSING) {
            return Ok(found);
        }
        let elsewhere = self.store.run_elsewhere(run).await?;
        let named = elsewhere.map(|host| match host.is_present {
            true => format!("the run's folder is on the host `{}`", host.name),
            false => format!(
                "the run's folder is on the host `{}`, which is gone",
                host.name
            ),
        });
        Ok(named.map_or(found, |named| Some(named.into())))
    }

    pub(super) async fn run_get(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        params.finish()?;
        let row = self.find_run(&id).await?;
        let shown = self
            .folders(move |runs| Ok(crate::runs::read(&runs, &id)))
            .await?;
        let problem = self.problem(&row.id, shown.problem.map(Into::into)).await?;
        let run = without_lost_files(self.run_object(&row), problem.as_deref());
        let mut map = Map::new();
        map.insert("run".to_owned(), value(&run)?);
        map.insert("problem".to_owned(), json!(problem));
        map.insert("timeline".to_owned(), value(&shown.timeline)?);
        map.insert("files".to_owned(), value(&shown.files)?);
        Ok(map)
    }

    pub(super) async fn run_log(&self, mut params: Params) -> Result<Map<String, Value>, OpError> {
        let id = params.required("id")?;
        let place = log_place(&mut params)?;
        params.finish()?;
        let part = self.run_part(&id, place).await?;
        let mut map = Map::new();
        map.insert("id".to_owned(), json!(part.run.id));
        map.insert("state".to_owned(), json!(part.run.state));
        map.insert("lines".to_owned(), value(&part.lines)?);
        map.insert("next".to_owned(), json!(part.next.events));
        let output = part.next.output.map(|place| place.to_string());
        map.insert("next_output".to_owned(), json!(output));
        Ok(map)
    }

    /// Reads the state of a run, and then its log after a place.
    ///
    /// # Errors
    /// If the run does not exist, its log cannot be read, or another host has it.
    pub(crate) async fn run_part(&self, id: &str, place: LogPlace) -> Result<RunPart, OpError> {
        // The state first: lines that the run writes just before its end are then part of this or of a later read.
        let run = self.run_object(&self.find_run(id).await?);
        self.refuse_elsewhere(id).await?;
        let id = id.to_owned();
        let (lines, next) = self
            .folders(move |runs| {
                crate::runs::read_after(&runs, &id, place)
                    .map_err(|error| OpError::new(OpErrorKind::Broken, "folder", chain(&error)))
            })
            .await?;
        Ok(RunPart { run, lines, next })
    }

    /// Reads everything about a run; long files are shortened.
    ///
    /// # Errors
    /// If the run does not exist, or the store cannot be read.
    pub(crate) async fn run_view(&self, id: &str) -> Result<RunView, OpError> {
        let row = self.find_run(id).await?;
        let (id, now) = (id.to_owned(), self.live.now());
        let mut view = self
            .folders(move |runs| Ok(View::read(&runs, &id, now)))
            .await?;
        view.problem = self.problem(&row.id, view.problem).await?;
        let outputs = match &row.activation {
            Some(activation) => self.store.outputs_of(activation).await?,
            None => Vec::new(),
        };
        Ok(RunView {
            run: without_lost_files(self.run_object(&row), view.problem.as_deref()),
            view,
            outputs: outputs.iter().map(OutputObject::new).collect(),
        })
    }

    pub(super) async fn find_run(&self, id: &str) -> Result<RunRow, OpError> {
        let row = self.store.run(id).await?;
        row.ok_or_else(|| OpError::not_found("run", id))
    }

    /// Builds the object of a run.
    pub(super) fn run_object(&self, row: &RunRow) -> RunObject {
        let object = RunObject::from_row(row);
        // The folder of a run that is active, or is being ended from outside, is newer than its row.
        if !matches!(row.state.as_str(), "running" | "cancelled" | "unknown") {
            return object;
        }
        daemon_records::refresh(&self.live.runs(), object, self.live.now())
    }

    /// Reads run folders on a thread for blocking calls.
    pub(super) async fn folders<T: Send + 'static>(
        &self,
        read: impl FnOnce(PathBuf) -> Result<T, OpError> + Send + 'static,
    ) -> Result<T, OpError> {
        let runs = self.live.runs();
        tokio::task::spawn_blocking(move || read(runs))
            .await
            .map_err(|error| OpError::new(OpErrorKind::Internal, "internal", error.to_string()))?
    }
}

/// Leaves out the path of a result that was in a folder which no longer exists. The object always has a `folder`.
fn without_lost_files(run: RunObject, problem: Option<&str>) -> RunObject {
    let result_path = run.result_path.filter(|_| problem != Some(FOLDER_MISSING));
    RunObject { result_path, ..run }
}

/// Removes and returns the place after which a log is read; by default its beginning.
///
/// # Errors
/// If a parameter is not a place of a log.
pub(crate) fn log_place(params: &mut Params) -> Result<LogPlace, OpError> {
    let events = params.number("after")?.unwrap_or(0);
    let output = match params.text("output_after")? {
        None => None,
        Some(text) => Some(
            text.parse::<OutputLogPlace>()
                .map_err(|error| OpError::invalid(format!("`output_after`: {error}")))?,
        ),
    };
    Ok(LogPlace { events, output })
}
