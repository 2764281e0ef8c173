//! The wire object of a run, which operations return and pages show.

use std::path::Path;

use daemon_lifecycle::state_word;
use daemon_run_folder::{DocumentReading, FailureKind};
use daemon_store::RunRow;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RecordedRun, folder_of};

/// Tokens of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TokensObject {
    /// Read.
    pub input: u64,
    /// Written.
    pub output: u64,
}

/// Why a run did not end well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunErrorObject {
    /// The kind of error.
    #[serde(rename = "type")]
    pub kind: String,
    /// What happened.
    pub message: String,
}

/// One execution by one provider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunObject {
    /// Its id, the name of its folder.
    pub id: String,
    /// The activation.
    pub activation_id: Option<String>,
    /// The daemon.
    pub daemon_id: Option<String>,
    /// Which attempt.
    pub attempt: u32,
    /// The provider.
    pub provider: String,
    /// `running`, `done`, `failed`, `cancelled`, `timeout` or `unknown`.
    pub state: String,
    /// Whether it only reported, since no model ran.
    #[serde(default)]
    pub reported: bool,
    /// When it started.
    pub started_at: String,
    /// When it ended.
    pub finished_at: Option<String>,
    /// How long it took, or has taken.
    pub elapsed_s: f64,
    /// The turn of a tool loop.
    pub turn: u64,
    /// How many tools it called.
    pub tool_call_count: u64,
    /// The tool it is calling.
    pub current_tool: Option<String>,
    /// Tokens it used.
    pub tokens: TokensObject,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// What was reserved for it, in US dollars. It counts in the budget of the day in place of a cost that is unknown.
    #[serde(default)]
    pub reserved_usd: Option<f64>,
    /// When it last printed something.
    pub last_output_at: Option<String>,
    /// The head of its result.
    pub result_preview: Option<String>,
    /// The file of its result.
    pub result_path: Option<String>,
    /// Why it did not end well.
    pub error: Option<RunErrorObject>,
    /// Its folder.
    pub folder: String,
}

impl RunObject {
    /// Returns the word that people read for its state.
    pub fn word(&self) -> &str {
        state_word(&self.state, self.reported)
    }

    /// Returns what it counts in the budget of the day, in US dollars.
    pub fn counted_usd(&self) -> f64 {
        let is_unstarted = self
            .error
            .as_ref()
            .is_some_and(|error| error.kind == FailureKind::Spawn.as_str());
        counted_usd(self.cost_usd, self.reserved_usd, is_unstarted)
    }

    /// Reads the object from its row. If its JSON is unreadable, the columns of the row give the object.
    pub fn from_row(row: &RunRow) -> Self {
        let object: Self = serde_json::from_str(&row.object).unwrap_or_else(|_| Self {
            id: row.id.clone(),
            activation_id: row.activation.as_ref().map(ToString::to_string),
            daemon_id: row.daemon.as_ref().map(|key| key.id.to_string()),
            attempt: row.attempt,
            provider: row.provider.clone(),
            state: row.state.clone(),
            reported: false,
            started_at: instant(row.started_at),
            finished_at: row.finished_at.map(instant),
            elapsed_s: 0.0,
            turn: 0,
            tool_call_count: 0,
            current_tool: None,
            tokens: TokensObject::default(),
            cost_usd: None,
            reserved_usd: None,
            last_output_at: None,
            result_preview: None,
            result_path: None,
            error: None,
            folder: String::new(),
        });
        Self {
            // The end of a run whose folder was deleted is recorded only in the columns.
            state: row.state.clone(),
            finished_at: object.finished_at.or(row.finished_at.map(instant)),
            ..object
        }
    }

    /// Takes the end of a run from a rebuilt document, which contains little else.
    fn ended_as(self, rebuilt: Self) -> Self {
        Self {
            state: rebuilt.state,
            finished_at: rebuilt.finished_at,
            elapsed_s: rebuilt.elapsed_s,
            result_preview: rebuilt.result_preview.or(self.result_preview),
            result_path: rebuilt.result_path.or(self.result_path),
            error: rebuilt.error.or(self.error),
            ..self
        }
    }

    /// Brings the duration of a run that has not ended up to date, without its folder.
    fn aged(self, now: Timestamp) -> Self {
        match self.started_at.parse::<Timestamp>() {
            Ok(started) if self.state == "running" => Self {
                elapsed_s: seconds_between(started, now),
                ..self
            },
            _ => self,
        }
    }

    /// Makes the object of a run. A run that has not ended has taken the time until `now`.
    pub fn of(run: &RecordedRun, now: Timestamp) -> Self {
        let document = run.document();
        let elapsed_s = match document.finished_at {
            Some(_) => milliseconds(document.elapsed_s),
            None => seconds_between(document.started_at, now),
        };
        let link = document.activation.as_ref();
        // A run has one or the other: model calls by the provider, or the usage that its program reports.
        let total = |ours: u64, theirs: u64| if ours > 0 { ours } else { theirs };
        Self {
            id: document.run_id.clone(),
            activation_id: link.map(|link| link.activation_id.clone()),
            daemon_id: link.map(|link| link.daemon.clone()),
            attempt: link.map_or(1, |link| link.attempt),
            provider: document.backend.clone(),
            state: document.state.as_str().to_owned(),
            reported: document.reported,
            started_at: instant(document.started_at),
            finished_at: document.finished_at.map(instant),
            elapsed_s,
            turn: u64::from(document.turn),
            tool_call_count: document.tool_call_count,
            current_tool: document.current_tool.clone(),
            tokens: TokensObject {
                input: total(document.tokens.input, document.cli_tokens.tokens.input),
                output: total(document.tokens.output, document.cli_tokens.tokens.output),
            },
            cost_usd: document.cli_tokens.cost_usd,
            reserved_usd: document.budget.reserved_usd,
            last_output_at: document.last_output_at.map(instant),
            result_preview: document.result_preview.clone(),
            result_path: document.result_path.clone(),
            error: document.error.as_ref().map(|error| RunErrorObject {
                kind: error.kind.clone(),
                message: error.message.clone(),
            }),
            folder: run.folder().path().display().to_string(),
        }
    }
}

/// Returns what a run counts in the budget of the day: its cost, or what was reserved for it if the cost is unknown. A program
/// that did not start cost nothing.
pub fn counted_usd(cost: Option<f64>, reserved: Option<f64>, is_unstarted: bool) -> f64 {
    let assumed = reserved.filter(|_| !is_unstarted);
    cost.or(assumed).unwrap_or(0.0).max(0.0)
}

/// Brings the live fields of a run's object up to date from its folder. What the folder does not contain is kept.
pub fn refresh(runs: &Path, object: RunObject, now: Timestamp) -> RunObject {
    let Some(folder) = folder_of(runs, &object.id) else {
        return object;
    };
    match folder.read() {
        Ok(DocumentReading::Known(document)) => {
            let run = RecordedRun::new(&folder, *document);
            let fresh = RunObject::of(&run, now);
            if run.is_rebuilt() {
                return object.ended_as(fresh);
            }
            RunObject {
                // Folders do not say what the calls of a model cost.
                cost_usd: fresh.cost_usd.or(object.cost_usd),
                // Folders of earlier releases do not say whether a model ran.
                reported: fresh.reported || object.reported,
                ..fresh
            }
        }
        Ok(DocumentReading::Newer(_) | DocumentReading::Broken(_)) | Err(_) => object.aged(now),
    }
}

fn seconds_between(start: Timestamp, end: Timestamp) -> f64 {
    milliseconds(end.duration_since(start).as_secs_f64().max(0.0))
}

fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

/// Writes an instant as JSON has it: RFC 3339, UTC.
pub fn instant(at: Timestamp) -> String {
    at.to_string()
}

/// Formats an instant to the second, as run folders contain it.
pub fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use daemon_store::RunRow;

    use super::{RunObject, refresh};

    #[test]
    fn the_duration_of_a_running_run_without_a_folder_continues_to_grow() {
        let row = |state: &str| RunRow {
            id: "em-1-20260102-030405-0a1b2c".to_owned(),
            activation: None,
            daemon: None,
            attempt: 1,
            provider: "command".to_owned(),
            state: state.to_owned(),
            started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
            finished_at: None,
            object: "damaged".to_owned(),
        };
        let now = "2026-01-02T03:05:10.5Z".parse().unwrap();
        let refreshed = |state| {
            let object = RunObject::from_row(&row(state));
            refresh(Path::new("/nowhere"), object, now)
        };
        let running = RunObject::from_row(&row("running"));
        let expected = RunObject {
            elapsed_s: 65.5,
            ..running
        };
        assert_eq!(refreshed("running"), expected);
        assert_eq!(refreshed("unknown"), RunObject::from_row(&row("unknown")));
    }
}
