//! The columns of the roster's tables, and the statement that stores a row of one.

/// The columns of a row, the key first.
pub const ROW_COLUMNS: [&str; 33] = [
    "id",
    "kind",
    "project",
    "role",
    "name",
    "actor_ref",
    "harness",
    "incarnation",
    "process",
    "session",
    "expected_at",
    "first_checkin_at",
    "last_checkin_at",
    "activity_at",
    "activity_incarnation",
    "gate",
    "cadence",
    "context_tokens",
    "context_limit",
    "needs_compaction",
    "winddown",
    "handoff_ref",
    "predecessor",
    "successor",
    "generation",
    "trouble",
    "nonce",
    "handle",
    "process_state",
    "due_at",
    "notified",
    "retired_at",
    "charter",
];

/// The columns of a signal, the key first.
pub const SIGNAL_COLUMNS: [&str; 17] = [
    "id",
    "kind",
    "project",
    "target",
    "dedupe_key",
    "priority",
    "payload",
    "reference",
    "status",
    "requested_by",
    "claimed_by",
    "token",
    "lease_until",
    "attempts",
    "result",
    "error",
    "ended_at",
];

/// The columns of a reset, the key first.
pub const RESET_COLUMNS: [&str; 12] = [
    "id",
    "project",
    "role",
    "predecessor",
    "successor",
    "state",
    "requested_by",
    "reason",
    "requested_at",
    "spawned_at",
    "ready_at",
    "ended_at",
];

/// Returns the statement that stores a row in place of the one with its key, which is the first column or columns.
/// `mark` begins the place of a value, such as `?` in `?1`.
///
/// It is no `INSERT OR REPLACE`, which would also remove the rows with which another unique index conflicts.
pub fn upsert(mark: char, table: &str, n_keys: usize, columns: &[&str]) -> String {
    let places: Vec<_> = (1..=columns.len()).map(|n| format!("{mark}{n}")).collect();
    let (keys, others) = columns.split_at(n_keys);
    let set: Vec<_> = others
        .iter()
        .map(|it| format!("{it} = excluded.{it}"))
        .collect();
    format!(
        "INSERT INTO {table} ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}",
        columns.join(", "),
        places.join(", "),
        keys.join(", "),
        set.join(", ")
    )
}
