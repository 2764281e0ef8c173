//! Conversions between columns and the types of the domain.

use std::error::Error;
use std::str::FromStr;

use daemon_event::{DaemonId, DaemonKey, RepoName};
use jiff::Timestamp;
use rusqlite::{Row, RowIndex};

use crate::failure::{TxResult, damaged};

/// Returns the stored form of an instant.
pub(crate) fn micros(at: Timestamp) -> i64 {
    // Integers compare and index as instants do; text would depend on its format.
    at.as_microsecond()
}

/// Returns the stored form of a count.
pub(crate) fn integer(n: u64) -> i64 {
    // SQLite stores signed integers only; no count here comes near the limit.
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Reads columns by name or by place.
pub(crate) trait Columns {
    fn text(&self, column: impl RowIndex) -> TxResult<String>;
    fn word<T>(&self, column: impl RowIndex) -> TxResult<T>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static;
    fn maybe_word<T>(&self, column: impl RowIndex) -> TxResult<Option<T>>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static;
    fn at(&self, column: impl RowIndex) -> TxResult<Timestamp>;
    fn maybe_at(&self, column: impl RowIndex) -> TxResult<Option<Timestamp>>;
    fn count(&self, column: impl RowIndex) -> TxResult<u64>;
    fn maybe_count(&self, column: impl RowIndex) -> TxResult<Option<u64>>;
    fn small(&self, column: impl RowIndex) -> TxResult<u32>;
    fn daemon(&self) -> TxResult<DaemonKey>;
}

impl Columns for Row<'_> {
    fn text(&self, column: impl RowIndex) -> TxResult<String> {
        Ok(self.get(column)?)
    }

    fn word<T>(&self, column: impl RowIndex) -> TxResult<T>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        let place = column.idx(self.as_ref())?;
        let text = self
            .get_ref(place)?
            .as_str()
            .map_err(rusqlite::Error::from)?;
        read(self, place, text.parse())
    }

    fn maybe_word<T>(&self, column: impl RowIndex) -> TxResult<Option<T>>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        let place = column.idx(self.as_ref())?;
        self.get_ref(place)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?
            .map(|text| read(self, place, text.parse()))
            .transpose()
    }

    fn at(&self, column: impl RowIndex) -> TxResult<Timestamp> {
        let place = column.idx(self.as_ref())?;
        read(self, place, Timestamp::from_microsecond(self.get(place)?))
    }

    fn maybe_at(&self, column: impl RowIndex) -> TxResult<Option<Timestamp>> {
        let place = column.idx(self.as_ref())?;
        self.get::<_, Option<i64>>(place)?
            .map(|micros| read(self, place, Timestamp::from_microsecond(micros)))
            .transpose()
    }

    fn count(&self, column: impl RowIndex) -> TxResult<u64> {
        let place = column.idx(self.as_ref())?;
        read(self, place, u64::try_from(self.get::<_, i64>(place)?))
    }

    fn maybe_count(&self, column: impl RowIndex) -> TxResult<Option<u64>> {
        let place = column.idx(self.as_ref())?;
        self.get::<_, Option<i64>>(place)?
            .map(|n| read(self, place, u64::try_from(n)))
            .transpose()
    }

    fn small(&self, column: impl RowIndex) -> TxResult<u32> {
        Ok(self.get(column)?)
    }

    fn daemon(&self) -> TxResult<DaemonKey> {
        Ok(DaemonKey {
            repo: self.word::<RepoName>("repo")?,
            id: self.word::<DaemonId>("daemon")?,
        })
    }
}

/// Returns the value read from a column. Only an error needs its name.
fn read<T, E>(row: &Row<'_>, place: usize, value: Result<T, E>) -> TxResult<T>
where
    E: Error + Send + Sync + 'static,
{
    value.map_err(|error| {
        let name = row.as_ref().column_name(place).unwrap_or("?");
        damaged(format!("column `{name}`"), error).into()
    })
}

pub(crate) fn instant(column: &str, micros: i64) -> TxResult<Timestamp> {
    Ok(Timestamp::from_microsecond(micros)
        .map_err(|error| damaged(format!("column `{column}`"), error))?)
}
