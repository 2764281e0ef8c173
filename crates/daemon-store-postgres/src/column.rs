//! Conversions between columns and the types of the domain.

use std::borrow::Cow;
use std::error::Error;
use std::str::FromStr;

use daemon_event::{DaemonId, DaemonKey, RepoName};
use jiff::Timestamp;
use tokio_postgres::Row;

use crate::failure::{TxResult, damaged};

/// Returns the stored form of an instant: microseconds since 1970.
pub(crate) fn micros(at: Timestamp) -> i64 {
    at.as_microsecond()
}

/// Returns the stored form of a count.
pub(crate) fn integer<N: TryInto<i64>>(n: N) -> i64 {
    // `BIGINT` is signed; no count here comes near the limit.
    n.try_into().unwrap_or(i64::MAX)
}

/// Returns the stored form of a string from outside: a `TEXT` of PostgreSQL has no NUL.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => text.replace('\0', "\u{FFFD}").into(),
        false => text.into(),
    }
}

/// Returns the stored form of an optional string, as [`text`] does.
pub(crate) fn maybe_text(written: Option<&str>) -> Option<Cow<'_, str>> {
    written.map(text)
}

/// Returns the instant of stored microseconds.
pub(crate) fn instant(column: &str, micros: i64) -> TxResult<Timestamp> {
    Ok(Timestamp::from_microsecond(micros)
        .map_err(|error| damaged(format!("column `{column}`"), error))?)
}

/// Reads columns by name.
pub(crate) trait Columns {
    fn text(&self, column: &str) -> TxResult<String>;
    fn maybe_text(&self, column: &str) -> TxResult<Option<String>>;
    fn flag(&self, column: &str) -> TxResult<bool>;
    fn number(&self, column: &str) -> TxResult<i64>;
    fn bytes(&self, column: &str) -> TxResult<Vec<u8>>;
    fn hash<const N: usize>(&self, column: &str) -> TxResult<[u8; N]>;
    fn narrow<T>(&self, column: &str) -> TxResult<T>
    where
        T: TryFrom<i64>,
        T::Error: Error + Send + Sync + 'static;
    fn maybe_amount(&self, column: &str) -> TxResult<Option<f64>>;
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
    fn maybe_count(&self, column: &str) -> TxResult<Option<u64>>;
    fn small(&self, column: &str) -> TxResult<u32>;
    fn daemon(&self) -> TxResult<DaemonKey>;
}

impl Columns for Row {
    fn text(&self, column: &str) -> TxResult<String> {
        Ok(self.try_get(column)?)
    }

    fn maybe_text(&self, column: &str) -> TxResult<Option<String>> {
        Ok(self.try_get(column)?)
    }

    fn flag(&self, column: &str) -> TxResult<bool> {
        Ok(self.try_get(column)?)
    }

    fn number(&self, column: &str) -> TxResult<i64> {
        Ok(self.try_get(column)?)
    }

    fn bytes(&self, column: &str) -> TxResult<Vec<u8>> {
        Ok(self.try_get(column)?)
    }

    fn hash<const N: usize>(&self, column: &str) -> TxResult<[u8; N]> {
        read(column, self.try_get::<_, &[u8]>(column)?.try_into())
    }

    fn narrow<T>(&self, column: &str) -> TxResult<T>
    where
        T: TryFrom<i64>,
        T::Error: Error + Send + Sync + 'static,
    {
        read(column, T::try_from(self.number(column)?))
    }

    fn maybe_amount(&self, column: &str) -> TxResult<Option<f64>> {
        Ok(self.try_get(column)?)
    }

    fn word<T>(&self, column: &str) -> TxResult<T>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        read(column, self.try_get::<_, &str>(column)?.parse())
    }

    /// Reads `None` from NULL and from the empty string, which replaces it in keys.
    fn maybe_word<T>(&self, column: &str) -> TxResult<Option<T>>
    where
        T: FromStr,
        T::Err: Error + Send + Sync + 'static,
    {
        self.try_get::<_, Option<&str>>(column)?
            .filter(|text| !text.is_empty())
            .map(|text| read(column, text.parse()))
            .transpose()
    }

    fn at(&self, column: &str) -> TxResult<Timestamp> {
        instant(column, self.try_get(column)?)
    }

    fn maybe_at(&self, column: &str) -> TxResult<Option<Timestamp>> {
        self.try_get::<_, Option<i64>>(column)?
            .map(|micros| instant(column, micros))
            .transpose()
    }

    fn count(&self, column: &str) -> TxResult<u64> {
        self.narrow(column)
    }

    fn maybe_count(&self, column: &str) -> TxResult<Option<u64>> {
        self.try_get::<_, Option<i64>>(column)?
            .map(|n| read(column, u64::try_from(n)))
            .transpose()
    }

    fn small(&self, column: &str) -> TxResult<u32> {
        self.narrow(column)
    }

    fn daemon(&self) -> TxResult<DaemonKey> {
        Ok(DaemonKey {
            repo: self.word::<RepoName>("repo")?,
            id: self.word::<DaemonId>("daemon")?,
        })
    }
}

fn read<T, E>(column: &str, value: Result<T, E>) -> TxResult<T>
where
    E: Error + Send + Sync + 'static,
{
    value.map_err(|error| damaged(format!("column `{column}`"), error).into())
}
