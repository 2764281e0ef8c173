//! Failures inside the store, before they become a [`StoreError`].

use daemon_store::StoreError;
use rusqlite::ErrorCode;

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
