//! The answer to a request of the roster, as the JSON of a column.

use std::error::Error;
use std::str::FromStr;

use daemon_roster::{
    Blocker, CheckedIn, Generation, Incarnation, Liveness, PacketHash, PlanCheck, ResetState,
    RosterAnswer, RowId,
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::error::StoreError;

type ReadResult<T> = Result<T, StoreError>;

/// The column's JSON. A later version may add members and kinds, and changes none.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum AnswerRow {
    Done,
    CheckedIn(CheckedInRow),
    Queued {
        signal: String,
        existing: bool,
    },
    Claimed {
        token: String,
        lease_until: i64,
    },
    Signal {
        signal: String,
    },
    Gate {
        gate: String,
    },
    Generation {
        generation: u64,
    },
    Compaction {
        is_needed: bool,
    },
    Reset {
        reset: String,
        successor: Option<String>,
    },
    WindDown {
        state: String,
    },
    Subordinates {
        blockers: Vec<NotWoundDownRow>,
    },
    Retired {
        row: String,
    },
    Planned(PlannedRow),
    Spawning {
        row: String,
    },
    At {
        at: i64,
    },
}

#[derive(Serialize, Deserialize)]
struct CheckedInRow {
    row: String,
    incarnation: u32,
    gate: String,
    generation: Option<u64>,
    wind_down: String,
    reset: Option<String>,
    needs_compaction: bool,
    pending_signals: usize,
    next_due_at: i64,
}

#[derive(Serialize, Deserialize)]
struct NotWoundDownRow {
    row: String,
    liveness: String,
}

#[derive(Serialize, Deserialize)]
struct PlannedRow {
    plan: String,
    status: String,
    checks: Vec<(String, String)>,
    packet: String,
    hash: [u8; 32],
}

/// Writes the column.
pub fn to_text(answer: &RosterAnswer) -> String {
    serde_json::to_string(&AnswerRow::of(answer)).expect("texts and numbers are JSON")
}

/// Reads the column.
///
/// # Errors
/// `Damaged` for a string that [`to_text`] did not write.
pub fn from_text(text: &str) -> Result<RosterAnswer, StoreError> {
    let row: AnswerRow = serde_json::from_str(text).map_err(unreadable)?;
    row.answer()
}

impl AnswerRow {
    fn of(answer: &RosterAnswer) -> Self {
        use RosterAnswer as A;
        match answer {
            A::CheckedIn(it) => Self::CheckedIn(CheckedInRow::of(it)),
            A::Queued { signal, existing } => Self::Queued {
                signal: signal.to_string(),
                existing: *existing,
            },
            A::Claimed { token, lease_until } => Self::Claimed {
                token: token.to_string(),
                lease_until: micros(*lease_until),
            },
            A::Signal(signal) => Self::Signal {
                signal: signal.to_string(),
            },
            A::Gate(gate) => Self::Gate {
                gate: gate.to_string(),
            },
            A::Generation(generation) => Self::Generation {
                generation: generation.0,
            },
            A::Compaction(is_needed) => Self::Compaction {
                is_needed: *is_needed,
            },
            A::Reset { reset, successor } => Self::Reset {
                reset: reset.to_string(),
                successor: successor.as_ref().map(RowId::to_string),
            },
            A::WindDown(state) => Self::WindDown {
                state: state.to_string(),
            },
            A::Subordinates { blockers } => Self::Subordinates {
                blockers: blockers.iter().filter_map(NotWoundDownRow::of).collect(),
            },
            A::Retired(row) => Self::Retired {
                row: row.to_string(),
            },
            A::Planned { .. } => Self::planned(answer),
            A::Spawning(row) => Self::Spawning {
                row: row.to_string(),
            },
            A::At(at) => Self::At { at: micros(*at) },
            // `Done` answers the host alone, whose requests have no id; so will a kind that is not known here.
            _ => Self::Done,
        }
    }

    fn planned(answer: &RosterAnswer) -> Self {
        let RosterAnswer::Planned {
            plan,
            status,
            checks,
            packet,
            hash,
        } = answer
        else {
            return Self::Done;
        };
        let checks = checks.iter();
        Self::Planned(PlannedRow {
            plan: plan.to_string(),
            status: status.to_string(),
            checks: checks
                .map(|check| (check.name.to_string(), check.outcome.to_string()))
                .collect(),
            packet: packet.clone(),
            hash: hash.0,
        })
    }

    fn answer(self) -> ReadResult<RosterAnswer> {
        use RosterAnswer as A;
        Ok(match self {
            Self::Done => A::Done,
            Self::CheckedIn(row) => A::CheckedIn(Box::new(row.checked_in()?)),
            Self::Queued { signal, existing } => A::Queued {
                signal: word(&signal)?,
                existing,
            },
            Self::Claimed { token, lease_until } => A::Claimed {
                token: word(&token)?,
                lease_until: instant(lease_until)?,
            },
            Self::Signal { signal } => A::Signal(word(&signal)?),
            Self::Gate { gate } => A::Gate(word(&gate)?),
            Self::Generation { generation } => A::Generation(Generation(generation)),
            Self::Compaction { is_needed } => A::Compaction(is_needed),
            Self::Reset { reset, successor } => A::Reset {
                reset: word(&reset)?,
                successor: maybe_word(successor.as_deref())?,
            },
            Self::WindDown { state } => A::WindDown(word(&state)?),
            Self::Subordinates { blockers } => A::Subordinates {
                blockers: blockers
                    .iter()
                    .map(NotWoundDownRow::blocker)
                    .collect::<ReadResult<_>>()?,
            },
            Self::Retired { row } => A::Retired(word(&row)?),
            Self::Planned(row) => row.planned()?,
            Self::Spawning { row } => A::Spawning(word(&row)?),
            Self::At { at } => A::At(instant(at)?),
        })
    }
}

impl CheckedInRow {
    fn of(it: &CheckedIn) -> Self {
        Self {
            row: it.row.to_string(),
            incarnation: it.incarnation.0,
            gate: it.gate.to_string(),
            generation: it.generation.map(|generation| generation.0),
            wind_down: it.wind_down.to_string(),
            reset: it.reset.map(|state| state.to_string()),
            needs_compaction: it.needs_compaction,
            pending_signals: it.pending_signals,
            next_due_at: micros(it.next_due_at),
        }
    }

    fn checked_in(self) -> ReadResult<CheckedIn> {
        Ok(CheckedIn {
            row: word(&self.row)?,
            incarnation: Incarnation(self.incarnation),
            gate: word(&self.gate)?,
            generation: self.generation.map(Generation),
            wind_down: word(&self.wind_down)?,
            reset: maybe_word::<ResetState>(self.reset.as_deref())?,
            needs_compaction: self.needs_compaction,
            pending_signals: self.pending_signals,
            next_due_at: instant(self.next_due_at)?,
        })
    }
}

impl NotWoundDownRow {
    /// Returns the row of the one kind of blocker that this answer has.
    fn of(blocker: &Blocker) -> Option<Self> {
        match blocker {
            Blocker::NotWoundDown { row, liveness } => Some(Self {
                row: row.to_string(),
                liveness: liveness.to_string(),
            }),
            _ => None,
        }
    }

    fn blocker(&self) -> ReadResult<Blocker> {
        Ok(Blocker::NotWoundDown {
            row: word(&self.row)?,
            liveness: word::<Liveness>(&self.liveness)?,
        })
    }
}

impl PlannedRow {
    fn planned(self) -> ReadResult<RosterAnswer> {
        let checks = self.checks.iter().map(|(name, outcome)| {
            Ok(PlanCheck {
                name: word(name)?,
                outcome: word(outcome)?,
            })
        });
        Ok(RosterAnswer::Planned {
            plan: word(&self.plan)?,
            status: word(&self.status)?,
            checks: checks.collect::<ReadResult<_>>()?,
            packet: self.packet,
            hash: PacketHash(self.hash),
        })
    }
}

fn word<T>(text: &str) -> ReadResult<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    text.parse().map_err(unreadable)
}

fn maybe_word<T>(text: Option<&str>) -> ReadResult<Option<T>>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    text.map(word).transpose()
}

fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

fn instant(micros: i64) -> ReadResult<Timestamp> {
    Timestamp::from_microsecond(micros).map_err(unreadable)
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> StoreError {
    damaged("column `answer`", error)
}
