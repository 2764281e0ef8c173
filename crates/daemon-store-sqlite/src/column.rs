//! Conversions between columns and the types of the domain.

use std::error::Error;
use std::str::FromStr;

use daemon_event::{DaemonId, DaemonKey, RepoName};
use jiff::Timestamp;
use rusqlite::Row;

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

/// Reads columns by name.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> TxResult<String>;
    fn word<T>(&self, column: &str) -> TxResult<T>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static;
    fn maybe_word<T>(&self, column: &str) -> TxResult<Option<T>>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static;
    fn at(&self, column: &str) -> TxResult<Timestamp>;
    fn maybe_at(&self, column: &str) -> TxResult<Option<Timestamp>>;
    fn count(&self, column: &str) -> TxResult<u64>;
    fn small(&self, column: &str) -> TxResult<u32>;
    fn daemon(&self) -> TxResult<DaemonKey>;
}

impl Columns for Row<'_> {
    fn text(&self, column: &str) -> TxResult<String> {
        Ok(self.get(column)?)
    }

    fn word<T>(&self, column: &str) -> TxResult<T>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        parse(
            column,
            self.get_ref(column)?
                .as_str()
                .map_err(rusqlite::Error::from)?,
        )
    }

    fn maybe_word<T>(&self, column: &str) -> TxResult<Option<T>>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        self.get_ref(column)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?
            .map(|text| parse(column, text))
            .transpose()
    }

    fn at(&self, column: &str) -> TxResult<Timestamp> {
        instant(column, self.get(column)?)
    }

    fn maybe_at(&self, column: &str) -> TxResult<Option<Timestamp>> {
        self.get::<_, Option<i64>>(column)?
            .map(|micros| instant(column, micros))
            .transpose()
    }

    fn count(&self, column: &str) -> TxResult<u64> {
        let stored: i64 = self.get(column)?;
        Ok(u64::try_from(stored)
            .map_err(|error| damaged(format!("column `{column}` holds {stored}"), error))?)
    }

    fn small(&self, column: &str) -> TxResult<u32> {
        Ok(self.get(column)?)
    }

    fn daemon(&self) -> TxResult<DaemonKey> {
        Ok(DaemonKey {
            repo: self.word::<RepoName>("repo")?,
            id: self.word::<DaemonId>("daemon")?,
        })
    }
}

fn parse<T>(column: &str, text: &str) -> TxResult<T>
where
    T: FromStr,
    T::Err: Error + Send + Sync + 'static,
{
    Ok(text
        .parse()
        .map_err(|error| damaged(format!("column `{column}`"), error))?)
}

pub(crate) fn instant(column: &str, micros: i64) -> TxResult<Timestamp> {
    Ok(Timestamp::from_microsecond(micros)
        .map_err(|error| damaged(format!("column `{column}`"), error))?)
}
