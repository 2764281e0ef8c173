//! Failures inside the store, before they become a [`StoreError`].

use daemon_store::StoreError;
use rusqlite::{ErrorCode, ffi};

/// What may fail inside an operation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The contract says no, or what is stored makes no sense.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// SQLite says no.
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
}

pub(crate) type Outcome<T> = Result<T, Failure>;

impl Failure {
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

/// Tells damage from trouble that may pass.
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

/// Says that a stored value makes no sense.
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
