//! Many rows: what must not look at each of them does not.

use std::path::Path;

use daemon_store_sqlite::SqliteStore;
use rusqlite::Connection;

/// The statements of the hot paths, and a word that their plans must not contain.
const HOT: &[&str] = &[
    "SELECT id, busy FROM lane WHERE ready = 1 AND persons > 0 AND busy < 1 ORDER BY turn",
    "SELECT id, busy FROM lane WHERE ready = 1 AND pending > 0 AND busy < 1 ORDER BY turn",
    "SELECT 1 FROM activation WHERE lane = 1 AND state = 'pending' AND not_before <= 5 LIMIT 1",
    "SELECT a.number FROM activation AS a INDEXED BY activation_queue WHERE a.lane = 1 AND a.state = 'pending' AND a.has_person = 0 \
     AND a.not_before <= 5 AND (1 = 0 OR NOT EXISTS (SELECT 1 FROM activation AS b WHERE b.lane = 1 \
     AND b.subject IS a.subject AND (b.state = 'claimed' OR b.state = 'running' OR b.state = 'delivering'))) ORDER BY a.number LIMIT 1",
    "SELECT min(not_before) FROM activation WHERE state = 'pending' AND not_before > 5",
    "SELECT number, id FROM activation WHERE lane = 1 AND subject IS 'x' AND state = 'pending' ORDER BY number LIMIT 1",
    "SELECT number, id FROM activation WHERE lane = 1 AND subject IS NULL AND state = 'pending' ORDER BY number LIMIT 1",
    "SELECT seq FROM event WHERE due = 1 ORDER BY seq LIMIT 256",
    "SELECT seq, stored_at FROM identity WHERE key = 'x'",
    "SELECT key FROM wake WHERE activation = 1 ORDER BY place",
    "SELECT number FROM wake WHERE key = 'event:x' ORDER BY number",
    "SELECT number FROM output WHERE state IN ('planned', 'ambiguous') AND not_before <= 5",
    "SELECT number FROM output AS o WHERE o.surface = 'git' AND o.remote_id = 'x'",
    "SELECT number FROM activation AS a WHERE (a.state = 'claimed' OR a.state = 'running' OR a.state = 'delivering') \
     AND a.state <> 'delivering' AND a.owner < 2",
    "SELECT number FROM activation AS a WHERE (a.created_at, a.number) < (5, 5) \
     ORDER BY a.created_at DESC, a.number DESC LIMIT 51",
    "SELECT number FROM activation AS a WHERE a.state = 'failed' ORDER BY a.created_at DESC, a.number DESC LIMIT 51",
    "SELECT number FROM tick AS t ORDER BY t.scheduled_at DESC, t.number DESC LIMIT 51",
    "SELECT count(*) FROM activation WHERE lane = 1 AND finished_at > 5",
    "SELECT first, scheduled_at FROM tick WHERE lane = 1 AND scheduled_at >= 5 AND first <= 9 \
     AND outcome <> 'retracted' ORDER BY scheduled_at",
    "SELECT cursor FROM coverage WHERE lane = 1 AND number = 1 AND is_open = 1",
    "SELECT id, state FROM activation WHERE lane = 1 AND has_tick = 1 AND finished_at IS NULL ORDER BY number",
];

fn plan(conn: &Connection, sql: &str) -> Vec<String> {
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let rows = explain.query_map([], |row| row.get("detail")).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn opened(path: &Path) -> Connection {
    drop(SqliteStore::open(path).unwrap());
    Connection::open(path).unwrap()
}

#[test]
fn hot_statements_use_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let conn = opened(&folder.path().join("store.db"));
    for sql in HOT {
        let plan = plan(&conn, sql);
        let is_scan = plan.iter().any(|step| {
            // A scan in the order of an index, with a limit, ends early; one of a table does not.
            step.starts_with("SCAN") && !step.contains("USING")
        });
        assert!(!is_scan, "{sql}: {plan:?}");
    }
}

/// Statements that run for each activation.
const FREQUENT: &[&str] = &[
    "INSERT INTO activation (id, lane, rev, state, attempts, host_crashes, run_lease, not_before, created_at, has_person, \
     has_tick) VALUES ('x', 1, '', 'pending', 0, 0, 0, 0, 0, 0, 0)",
    "UPDATE OR FAIL activation SET state = 'claimed', has_person = 1, finished_at = 1, started_at = 1 WHERE number = 1",
    "UPDATE OR FAIL activation SET state = 'delivering' WHERE number = 1",
    "SELECT 1 FROM activation INDEXED BY activation_suspect WHERE (+state = 'claimed' OR +state = 'running') \
     AND (host_crashes > 0 OR crashes_alone > 0)",
    "SELECT a.number FROM activation AS a INDEXED BY activation_queue WHERE a.lane = 1 AND a.state = 'pending' \
     AND a.has_person = 0 AND a.not_before <= 5 ORDER BY a.number LIMIT 1",
    "UPDATE event SET due = 0 WHERE seq = 1",
];

#[test]
fn frequent_statements_build_no_temporary_table() {
    let folder = tempfile::tempdir().unwrap();
    let conn = opened(&folder.path().join("store.db"));
    for sql in FREQUENT {
        let mut explain = conn.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let rows = explain.query_map([], |row| row.get("opcode")).unwrap();
        let steps: Vec<String> = rows.collect::<Result<_, _>>().unwrap();
        let built: Vec<&String> = steps
            .iter()
            .filter(|step| step.starts_with("OpenEphemeral") || step.starts_with("SorterOpen"))
            .collect();
        assert!(built.is_empty(), "{sql}: {built:?}");
    }
}
