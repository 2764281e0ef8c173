//! The details of a tick, as the JSON of a column.

use daemon_engine::Occasion;
use daemon_schedule::MissedTicks;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::damaged;
use crate::error::StoreError;

/// The column's JSON; instants are seconds since 1970.
#[derive(Serialize, Deserialize)]
struct OccasionRow {
    v: u32,
    expression: String,
    zone: String,
    local: String,
    missed: Option<MissedRow>,
}

#[derive(Serialize, Deserialize)]
struct MissedRow {
    count: u64,
    first: i64,
    last: i64,
    list: Vec<i64>,
}

/// Writes the column.
pub fn to_text(occasion: &Occasion) -> String {
    let row = OccasionRow {
        v: 1,
        expression: occasion.expression.clone(),
        zone: occasion.zone.clone(),
        local: occasion.local.clone(),
        missed: occasion.missed.as_ref().map(|missed| MissedRow {
            count: missed.count,
            first: missed.first.as_second(),
            last: missed.last.as_second(),
            list: missed.list.iter().map(|at| at.as_second()).collect(),
        }),
    };
    serde_json::to_string(&row).expect("texts and numbers are JSON")
}

/// Reads the column.
///
/// # Errors
/// `Damaged` for a string that [`to_text`] did not write.
pub fn from_text(text: &str) -> Result<Occasion, StoreError> {
    let row: OccasionRow =
        serde_json::from_str(text).map_err(|error| damaged("column `occasion`", error))?;
    let missed = row.missed.map(|missed| -> Result<MissedTicks, StoreError> {
        Ok(MissedTicks {
            count: missed.count,
            first: at(missed.first)?,
            last: at(missed.last)?,
            list: missed
                .list
                .into_iter()
                .map(at)
                .collect::<Result<_, StoreError>>()?,
        })
    });
    Ok(Occasion {
        expression: row.expression,
        zone: row.zone,
        local: row.local,
        missed: missed.transpose()?,
    })
}

fn at(second: i64) -> Result<Timestamp, StoreError> {
    Timestamp::from_second(second).map_err(|error| damaged("column `occasion`", error))
}
