//! Failures inside the store, before they become a [`StoreError`].

use daemon_store::StoreError;
use tokio_postgres::error::SqlState;

/// The error of an operation inside its transaction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TxError {
    /// An error of the contract, or stored content that cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An error of PostgreSQL or of the connection.
    #[error(transparent)]
    Sql(#[from] tokio_postgres::Error),
    /// Another transaction was faster; the whole operation is to be done again.
    #[error("another transaction changed the same rows")]
    Overtaken,
}

/// The result of an operation inside its transaction.
pub(crate) type TxResult<T> = Result<T, TxError>;

/// What can be done about a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Another transaction won: the same operation may succeed at once.
    Again,
    /// The server is away: the operation may succeed on another connection.
    Reconnect,
    /// The operation would fail again.
    Nothing,
}

impl TxError {
    /// Turns the failure into what callers see.
    pub(crate) fn into_error(self, context: &str) -> StoreError {
        let context = context.to_owned();
        match self {
            Self::Store(error) => error,
            Self::Overtaken => StoreError::Unavailable {
                context,
                source: None,
            },
            // A value of another type than its column has is content that this version cannot read.
            Self::Sql(error) if error.as_db_error().is_none() && is_of_a_value(&error) => {
                StoreError::Damaged {
                    context,
                    source: Some(Box::new(error)),
                }
            }
            Self::Sql(error) => StoreError::Unavailable {
                context,
                source: Some(Box::new(error)),
            },
        }
    }

    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Self::Store(_) => Remedy::Nothing,
            Self::Overtaken => Remedy::Again,
            Self::Sql(error) => remedy(error),
        }
    }
}

fn is_of_a_value(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    !error.is_closed()
        && error
            .source()
            .is_some_and(<dyn std::error::Error>::is::<tokio_postgres::types::WrongType>)
}

/// Reports whether TLS refuses the server, which it would do again.
fn is_of_tls(error: &tokio_postgres::Error) -> bool {
    use std::error::Error as _;
    error
        .source()
        .and_then(|source| source.downcast_ref::<std::io::Error>())
        .and_then(std::io::Error::get_ref)
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<rustls::Error>)
}

fn remedy(error: &tokio_postgres::Error) -> Remedy {
    let Some(code) = error.code() else {
        // Without an answer of the server, the connection failed, or a value could not be read from an answer.
        return match is_of_a_value(error) || is_of_tls(error) {
            true => Remedy::Nothing,
            false => Remedy::Reconnect,
        };
    };
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        // Two transactions stored the same key: the next try finds it.
        SqlState::UNIQUE_VIOLATION,
        // Two hosts made the schema at once.
        SqlState::DUPLICATE_OBJECT,
        SqlState::DUPLICATE_TABLE,
        // A partition was removed between the plan of a statement and its execution.
        SqlState::UNDEFINED_TABLE,
        // Of statements that are sent together, another failed, and this one was prepared after it: the next try has both prepared.
        SqlState::IN_FAILED_SQL_TRANSACTION,
        // The mark of the connection was removed after a day without a commit; see `Tx::commit`.
        SqlState::DIVISION_BY_ZERO,
    ];
    let absences = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    if conflicts.contains(code) {
        Remedy::Again
    } else if absences.contains(code) || code.code().starts_with("08") {
        Remedy::Reconnect
    } else {
        Remedy::Nothing
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
