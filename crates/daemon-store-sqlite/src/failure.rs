//! Failures inside the store, before they become a [`StoreError`].

use daemon_store::StoreError;
use rusqlite::{ErrorCode, ffi};

/// The error of an operation inside its transaction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TxError {
    /// An error of the contract, or stored content that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of SQLite.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

/// The result of an operation inside its transaction.
pub(crate) type TxResult<T> = Result<T, TxError>;

impl TxError {
    /// Turns the failure into what callers see.
    pub(crate) fn into_error(self, context: &str) -> StoreError {
        match self {
            Self::Store(error) => error,
            Self::Sql(error) => sql_error(context, error),
        }
    }

    /// Reports whether the disk, and not the operation, is at fault, so that the whole transaction is.
    pub(crate) fn is_of_the_disk(&self) -> bool {
        match self {
            Self::Store(_) => false,
            Self::Sql(error) => !matches!(
                error.sqlite_error_code(),
                None | Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig)
            ),
        }
    }
}

/// Reports whether a write or a copy failed because there was no room, or no directory for it.
///
/// A failed read or sync is not among them: after a failed sync the kernel may have dropped the pages.
pub(crate) fn is_for_want_of_room(error: &rusqlite::Error) -> bool {
    let Some(error) = error.sqlite_error() else {
        return false;
    };
    matches!(error.code, ErrorCode::DiskFull | ErrorCode::CannotOpen)
        // SQLite reports every failed write but ENOSPC as this, a quota among them.
        || matches!(
            error.extended_code,
            ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_GETTEMPPATH
        )
}

/// Converts an error of SQLite: damage of the file, or a failure that may pass.
pub(crate) fn sql_error(context: &str, error: rusqlite::Error) -> StoreError {
    let is_damage = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    ) || error.sqlite_error_code().is_none();
    let context = context.to_owned();
    if is_damage {
        StoreError::Damaged {
            context,
            source: Some(Box::new(error)),
        }
    } else {
        StoreError::Unavailable {
            context,
            source: Some(Box::new(error)),
        }
    }
}

/// Makes the error for a stored value that cannot be read.
pub(crate) fn damaged(
    context: impl Into<String>,
    source: impl std::error::Error + Send + Sync + 'static,
) -> StoreError {
    StoreError::Damaged {
        context: context.into(),
        source: Some(Box::new(source)),
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Error, ffi};

    use super::is_for_want_of_room;

    #[test]
    fn a_failed_write_may_be_for_want_of_room_and_a_failed_read_or_sync_is_not() {
        let is_it = |code| is_for_want_of_room(&Error::SqliteFailure(ffi::Error::new(code), None));
        let want_of_room = [
            ffi::SQLITE_FULL,
            ffi::SQLITE_CANTOPEN,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_GETTEMPPATH,
        ];
        assert_eq!(want_of_room.map(is_it), [true; 4]);
        let others = [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_DIR_FSYNC,
            ffi::SQLITE_CORRUPT,
            ffi::SQLITE_BUSY,
        ];
        assert_eq!(others.map(is_it), [false; 6]);
        assert!(!is_for_want_of_room(&Error::QueryReturnedNoRows));
    }
}
