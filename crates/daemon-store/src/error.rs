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
    /// The store holds something that it should not.
    #[error("the store is damaged: {context}")]
    Damaged {
        /// What was found, and where.
        context: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
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
}
