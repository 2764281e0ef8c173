//! Versions of the schema: forward only, each step in one transaction.

use daemon_store::StoreError;
use rusqlite::Connection;

use crate::failure::{TxError, TxResult};

/// A kind of file that this crate writes.
#[derive(Debug)]
pub(crate) struct FileFormat {
    /// Distinguishes our files from those of other programs and from each other.
    application_id: i64,
    /// The steps, in order. A released step is never edited, because it does not run again on files that have it.
    steps: &'static [&'static str],
    /// What may be done about a file of another kind.
    remedy: &'static str,
}

/// The store of a host; its id is `DMNS`.
pub(crate) const STORE: FileFormat = FileFormat {
    application_id: 0x444D_4E53,
    steps: STEPS,
    remedy: "name another file as the store",
};

/// The memory of an agent; its id is `DMNM`.
pub(crate) const MEMORY: FileFormat = FileFormat {
    application_id: 0x444D_4E4D,
    steps: &[include_str!("schema/memory-0001.sql")],
    remedy: "move it away",
};

const STEPS: &[&str] = &[
    include_str!("schema/0001.sql"),
    include_str!("schema/0002.sql"),
    include_str!("schema/0003.sql"),
    include_str!("schema/0004.sql"),
    include_str!("schema/0005.sql"),
    include_str!("schema/0006.sql"),
    include_str!("schema/0007.sql"),
    include_str!("schema/0008.sql"),
    include_str!("schema/0009.sql"),
    include_str!("schema/0010.sql"),
    include_str!("schema/0011.sql"),
    include_str!("schema/0012.sql"),
    include_str!("schema/0013.sql"),
    include_str!("schema/0014.sql"),
    include_str!("schema/0015.sql"),
    include_str!("schema/0016.sql"),
    include_str!("schema/0017.sql"),
    include_str!("schema/0018.sql"),
    include_str!("schema/0019.sql"),
];

impl FileFormat {
    /// Returns the newest version known.
    pub(crate) fn newest(&self) -> i64 {
        i64::try_from(self.steps.len()).expect("few steps")
    }

    /// Brings the schema up to date.
    pub(crate) fn migrate(&self, conn: &mut Connection) -> TxResult<()> {
        let found = self.check_owner(conn)?;
        for step in found..self.steps.len() {
            self.apply(conn, step)?;
        }
        Ok(())
    }

    fn apply(&self, conn: &mut Connection, step: usize) -> TxResult<()> {
        let tx = conn.transaction()?;
        tx.execute_batch(self.steps[step])?;
        // In the same transaction as the tables, so that a kill leaves the old version or the new one.
        tx.pragma_update(None, "application_id", self.application_id)?;
        let version = i64::try_from(step + 1).expect("few steps");
        tx.pragma_update(None, "user_version", version)?;
        tx.commit()?;
        Ok(())
    }

    /// Refuses files of other programs and of newer versions; returns how many steps were applied.
    pub(crate) fn check_owner(&self, conn: &Connection) -> TxResult<usize> {
        let version: i64 = conn.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let owner: i64 = conn.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let n_tables: i64 =
            conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        // Another program's file can have tables and no `application_id`, so that all three have to be empty.
        let is_blank = n_tables == 0 && owner == 0 && version == 0;
        if owner != self.application_id && !is_blank {
            let remedy = self.remedy;
            return Err(refused(&format!("it belongs to another program; {remedy}")));
        }
        if version > self.newest() {
            return Err(TxError::Store(StoreError::Newer {
                found: version,
                known: self.newest(),
            }));
        }
        match usize::try_from(version) {
            Ok(version) if version > 0 || is_blank => Ok(version),
            Ok(_) | Err(_) => Err(refused(
                "its version makes no sense; restore it from a backup",
            )),
        }
    }
}

fn refused(context: &str) -> TxError {
    TxError::Store(StoreError::Damaged {
        context: context.to_owned(),
        source: None,
    })
}

#[cfg(test)]
mod tests {
    use super::{MEMORY, STORE};
    use rusqlite::Connection;

    fn check(prepare: &str, expected: &str) {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(prepare).unwrap();
        let answer = match STORE.migrate(&mut conn) {
            Ok(()) => "migrated".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(answer, expected, "{prepare}");
    }

    #[test]
    fn files_of_others_and_of_later_versions_are_refused() {
        check("", "migrated");
        let ours = format!("PRAGMA application_id = {};", STORE.application_id);
        check(
            &format!("{ours} PRAGMA user_version = 99;"),
            &format!(
                "the store has version 99, this program knows up to {}",
                STORE.newest()
            ),
        );
        let senseless =
            "the store is damaged: its version makes no sense; restore it from a backup";
        check(&format!("{ours} PRAGMA user_version = -1;"), senseless);
        check(&format!("{ours} CREATE TABLE t (a);"), senseless);
        let foreign =
            "the store is damaged: it belongs to another program; name another file as the store";
        check("CREATE TABLE t (a);", foreign);
        check("PRAGMA application_id = 7;", foreign);
        check("PRAGMA user_version = 1;", foreign);
        check(
            &format!("PRAGMA application_id = {};", MEMORY.application_id),
            foreign,
        );
    }

    #[test]
    fn migrating_twice_changes_nothing() {
        let mut conn = Connection::open_in_memory().unwrap();
        STORE.migrate(&mut conn).unwrap();
        conn.execute("UPDATE host SET epoch = 7", []).unwrap();
        STORE.migrate(&mut conn).unwrap();
        let (epoch, version): (i64, i64) = conn
            .query_row(
                "SELECT epoch, user_version FROM host, pragma_user_version",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .unwrap();
        assert_eq!((epoch, version), (7, STORE.newest()));
    }

    /// Stores an event as version 8 did.
    fn insert_event(conn: &Connection, seq: i64, what: (&str, &str, &str), facts: &str) {
        let (source, kind, subject) = what;
        conn.execute(
            "INSERT INTO event (seq, id, source, kind, subject, happened_at, received_at, delivery, due) \
             VALUES (?1, ?1, ?2, ?3, ?4, 0, 0, '', 0)",
            (seq, source, kind, subject),
        )
        .unwrap();
        conn.execute("INSERT INTO payload VALUES (?1, ?2, x'')", (seq, facts))
            .unwrap();
    }

    #[test]
    fn the_branches_of_pull_requests_are_read_from_stored_facts() {
        let mut conn = Connection::open_in_memory().unwrap();
        for step in 0..8 {
            STORE.apply(&mut conn, step).unwrap();
        }
        let facts = |head: &str, fork: bool| {
            format!(r#"{{"v":1,"facts":[["number",7],["head","{head}"],["fork",{fork}]]}}"#)
        };
        let request = |subject| ("github", "pull_request", subject);
        let review = ("github", "pull_request_review", "github:o/r#7");
        let comment = ("github", "issue_comment", "github:o/r#7");
        let merge = ("git", "merge", "git:o/r:refs/heads/main");
        insert_event(&conn, 1, request("github:o/r#7"), &facts("old", false));
        insert_event(&conn, 2, review, &facts("new", false));
        insert_event(&conn, 3, comment, &facts("none", false));
        insert_event(&conn, 4, request("github:o/r#8"), &facts("theirs", true));
        insert_event(&conn, 5, request("github:o/r#9"), "damaged");
        insert_event(&conn, 6, merge, &facts("main", false));
        conn.execute(
            "INSERT INTO report (seq, source, kind, subject, happened_at, received_at, delivery, facts, body) \
             VALUES (6, 'github', 'pull_request', 'github:o/r#10', 0, 0, '', ?1, x'')",
            [facts("topic", false)],
        )
        .unwrap();
        STORE.migrate(&mut conn).unwrap();
        let mut find = conn
            .prepare("SELECT subject || ' ' || ifnull(head, '-') FROM pull_request")
            .unwrap();
        let rows = find.query_map([], |row| row.get(0)).unwrap();
        let found: Vec<String> = rows.map(Result::unwrap).collect();
        assert_eq!(
            found,
            ["github:o/r#10 topic", "github:o/r#7 new", "github:o/r#8 -"]
        );
    }

    #[test]
    fn activations_of_an_earlier_version_are_counted_on() {
        let mut conn = Connection::open_in_memory().unwrap();
        for step in 0..12 {
            STORE.apply(&mut conn, step).unwrap();
        }
        conn.execute_batch(
            "INSERT INTO lane (id, repo, daemon) VALUES (1, 'o/r', 'd'); \
             INSERT INTO activation (id, lane, rev, state, attempts, host_crashes, run_lease, not_before, created_at, \
             has_person, has_tick) \
             SELECT value, 1, '', value, 0, 0, 0, 0, 0, 0, 0 FROM json_each('[\"pending\", \"running\", \"delivering\"]')",
        )
        .unwrap();
        STORE.migrate(&mut conn).unwrap();
        conn.execute_batch(
            "UPDATE activation SET state = 'claimed', has_person = 1 WHERE id = 'pending'; \
             UPDATE activation SET state = 'delivering' WHERE id = 'running'; \
             UPDATE activation SET state = 'succeeded' WHERE id = 'delivering'",
        )
        .unwrap();
        let lane: [i64; 4] = conn
            .query_row(
                "SELECT pending, persons, busy, leased FROM lane",
                [],
                |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]),
            )
            .unwrap();
        let states: String = conn
            .query_row(
                "SELECT group_concat(state || ' ' || n, ', ') FROM tally WHERE kind = 'activation' AND n <> 0",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(lane, [0, 0, 2, 1]);
        assert_eq!(states, "claimed 1, delivering 1, succeeded 1");
    }
}
