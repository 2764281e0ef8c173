//! The SQLite store: one writer, group commit, migrations.
