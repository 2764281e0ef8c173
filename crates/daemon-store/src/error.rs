//! What goes wrong in a store.

/// A failed store operation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The store cannot be written or read at the moment; nothing of the operation happened.
    #[error("failed to reach the store: {context}")]
    Unavailable {
        /// What was tried.
        context: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The disk failed while something was made durable. Whether it is there shows after a restart; this store takes no
    /// more writes, since nothing that it would say of them could be trusted.
    #[error("the store failed to make `{context}` durable and takes no more writes")]
    Broken {
        /// What was tried when it failed.
        context: String,
    },
    /// The store holds something that it should not.
    #[error("the store is damaged: {context}")]
    Damaged {
        /// What was found, and where.
        context: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
    /// The log of the store is missing, or has lost writes that were acknowledged. Nothing was changed.
    #[error("the store is damaged: {context}")]
    LogDamaged {
        /// What is lost, and where.
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
    /// A write under a lease that another attempt, or nobody, holds; nothing was written.
    #[error("the lease is no longer held")]
    LeaseLost,
    /// No row of that id.
    #[error("no such {what}: `{id}`")]
    NotFound {
        /// What was looked for.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The operation does not fit the state of the row; nothing was written.
    #[error("{what} `{id}` is {state}")]
    Conflict {
        /// What it is.
        what: &'static str,
        /// Its id.
        id: String,
        /// The state it is in.
        state: String,
    },
    /// A listing was asked for something that cannot be.
    #[error("`{value}` is not {expected}")]
    Query {
        /// What was given.
        value: String,
        /// What may be given.
        expected: &'static str,
    },
    /// The state changes of an attempt do not fit; nothing of the attempt was written, and its lease is still held.
    #[error("the state changes do not fit")]
    State(#[from] daemon_engine::StateError),
}

impl StoreError {
    /// Says that a row is not there.
    pub fn not_found(what: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound {
            what,
            id: id.to_string(),
        }
    }

    /// Says that a row is in a state that the operation does not fit.
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
