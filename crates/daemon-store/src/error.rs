//! Errors of store operations.

/// A failed store operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be read or written at the moment; nothing was written.
    #[error("failed to reach the store: {context}")]
    Unavailable {
        /// The operation that failed.
        context: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The disk failed during a commit. A restart shows whether the commit is durable; this store accepts no
    /// more writes, because it could not report their durability reliably.
    #[error("the store failed to make `{context}` durable and takes no more writes")]
    Broken {
        /// The operation during which it failed.
        context: String,
    },
    /// The stored content is damaged.
    #[error("the store is damaged: {context}")]
    Damaged {
        /// The damage and its place.
        context: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The log of the store is missing, or has lost writes that were acknowledged. Nothing was changed.
    #[error("the store is damaged: {context}")]
    LogDamaged {
        /// The loss and its place.
        context: String,
    },
    /// The store was written by a newer version.
    #[error("the store has version {found}, this program knows up to {known}")]
    Newer {
        /// The version found.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The store was imported into another, or its import has begun. Nothing was written.
    #[error("the store was moved to `{to}`")]
    Moved {
        /// The address of the other store.
        to: String,
        /// Whether all of it is there.
        is_finished: bool,
    },
    /// The lease of a write is no longer held: it expired, or another attempt has a newer one. Nothing was written.
    #[error("the lease is no longer held")]
    LeaseLost,
    /// No row has that id.
    #[error("no such {what}: `{id}`")]
    NotFound {
        /// The kind of row.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The operation does not fit the state of the row; nothing was written.
    #[error("{what} `{id}` is {state}")]
    Conflict {
        /// The kind of row.
        what: &'static str,
        /// Its id.
        id: String,
        /// The state it is in.
        state: String,
    },
    /// A query with a value that the listing does not accept.
    #[error("`{value}` is not {expected}")]
    Query {
        /// The value.
        value: String,
        /// The accepted values.
        expected: &'static str,
    },
    /// The state changes of an attempt do not fit; nothing of the attempt was written, and its lease is still held.
    #[error("the state changes do not fit")]
    State(#[from] daemon_engine::StateError),
}

impl StoreError {
    /// Makes the error for a row that does not exist.
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// Makes the error for a row in a state that the operation does not allow.
    pub fn conflict(
        what: &'static str,
        id: impl std::fmt::Display,
        state: impl std::fmt::Display,
    ) -> Self {
        Self::Conflict {
            what,
            id: id.to_string(),
            state: state.to_string(),
        }
    }
}
