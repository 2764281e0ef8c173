use std::path::Path;

use daemon_store::{Identity, StoreError};
use jiff::Timestamp;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::{TransactionScope, WriterHandle};
use crate::failure::{TxError, TxResult};
use crate::identity;
use crate::open::open;
use crate::recent::WriteTx;

fn started() -> (TempDir, WriterHandle) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let opened = open(&path).unwrap();
    opened
        .conn
        .execute_batch("CREATE TABLE note (n INTEGER PRIMARY KEY, text TEXT)")
        .unwrap();
    let writer = WriterHandle::start(opened).unwrap();
    (folder, writer)
}

fn note(conn: &Connection, n: i64, text: &str) -> TxResult<()> {
    conn.execute("INSERT INTO note VALUES (?1, ?2)", (n, text))?;
    Ok(())
}

fn notes(path: &Path) -> Vec<i64> {
    let conn = Connection::open(path).unwrap();
    let mut find = conn.prepare("SELECT n FROM note ORDER BY n").unwrap();
    let rows = find.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

#[test]
fn a_failing_operation_takes_back_only_itself() {
    let (folder, writer) = started();
    let writer = std::sync::Arc::new(writer);
    block_on(async {
        let mut senders = JoinSet::new();
        for n in 0..40_i64 {
            let writer = std::sync::Arc::clone(&writer);
            senders.spawn(async move {
                let result = writer
                    .run("note", TransactionScope::Shared, move |tx| {
                        note(tx, n, "kept")?;
                        if n % 3 == 0 {
                            return Err(TxError::Store(StoreError::LeaseLost));
                        }
                        Ok(n)
                    })
                    .await;
                match result {
                    Ok(answer) => assert!(n % 3 != 0 && answer == n),
                    Err(error) => {
                        assert!(
                            n % 3 == 0 && matches!(error, StoreError::LeaseLost),
                            "{error:?}"
                        );
                    }
                }
            });
        }
        while let Some(result) = senders.join_next().await {
            result.unwrap();
        }
    });
    let kept: Vec<i64> = (0..40).filter(|n| n % 3 != 0).collect();
    assert_eq!(notes(&folder.path().join("store.db")), kept);
}

#[test]
fn one_that_has_a_transaction_to_itself_takes_back_only_itself_in_the_midst_of_others() {
    let (folder, writer) = started();
    let writer = std::sync::Arc::new(writer);
    block_on(async {
        let mut senders = JoinSet::new();
        for n in 0..60_i64 {
            let writer = std::sync::Arc::clone(&writer);
            senders.spawn(async move {
                let work = move |tx: &WriteTx<'_>| {
                    note(tx, n, "kept")?;
                    if n % 3 == 0 {
                        return Err(TxError::Store(StoreError::LeaseLost));
                    }
                    Ok(n)
                };
                let result = match n % 4 {
                    0 => writer.run("note", TransactionScope::Own, work).await,
                    _ => writer.run("note", TransactionScope::Shared, work).await,
                };
                match result {
                    Ok(answer) => assert!(n % 3 != 0 && answer == n),
                    Err(StoreError::LeaseLost) => assert_eq!(n % 3, 0),
                    Err(error) => panic!("{n}: {error}"),
                }
            });
        }
        while let Some(result) = senders.join_next().await {
            result.unwrap();
        }
    });
    let kept: Vec<i64> = (0..60).filter(|n| n % 3 != 0).collect();
    assert_eq!(notes(&folder.path().join("store.db")), kept);
}

#[test]
fn the_keys_of_an_operation_that_is_taken_back_name_nothing() {
    let (_folder, writer) = started();
    let writer = std::sync::Arc::new(writer);
    let key = |n: i64| Identity {
        key: format!("id:github:{n}"),
        within: None,
    };
    let put = move |n: i64| {
        move |tx: &WriteTx<'_>| {
            identity::put(tx, std::iter::once(&key(n)), (n, Timestamp::UNIX_EPOCH))?;
            match n % 3 {
                0 => Err(TxError::Store(StoreError::LeaseLost)),
                _ => Ok(()),
            }
        }
    };
    block_on(async {
        let mut senders = JoinSet::new();
        for n in 0..40_i64 {
            let writer = std::sync::Arc::clone(&writer);
            senders.spawn(async move {
                let result = writer.run("put", TransactionScope::Shared, put(n)).await;
                assert_eq!(result.is_ok(), n % 3 != 0);
            });
        }
        while let Some(result) = senders.join_next().await {
            result.unwrap();
        }
        let find = move |tx: &WriteTx<'_>| {
            (0..40)
                .map(|n| identity::named(tx, (&[key(n)], Timestamp::MAX), |_| Ok(true)))
                .collect::<TxResult<Vec<_>>>()
        };
        let found = writer.run("find", TransactionScope::Shared, find).await;
        let kept: Vec<_> = (0..40).map(|n| (n % 3 != 0).then_some(n)).collect();
        assert_eq!(found.unwrap(), kept);
    });
}

#[test]
fn a_broken_rule_of_a_table_is_the_operations_own() {
    let (folder, writer) = started();
    block_on(async {
        writer
            .run("note", TransactionScope::Shared, |tx| note(tx, 1, "first"))
            .await
            .unwrap();
        let twice = writer
            .run("note", TransactionScope::Shared, |tx| note(tx, 1, "second"))
            .await;
        assert!(
            matches!(twice, Err(StoreError::Unavailable { .. })),
            "{twice:?}"
        );
        writer
            .run("note", TransactionScope::Shared, |tx| note(tx, 2, "third"))
            .await
            .unwrap();
    });
    assert_eq!(notes(&folder.path().join("store.db")), [1, 2]);
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let (folder, writer) = started();
    let limit = |pages: &'static str| {
        writer.run("limit", TransactionScope::Shared, move |tx| {
            let sql = format!("PRAGMA max_page_count = {pages}");
            Ok(tx.query_row(&sql, [], |row| row.get::<_, i64>(0))?)
        })
    };
    block_on(async {
        writer
            .run("note", TransactionScope::Shared, |tx| note(tx, 1, "before"))
            .await
            .unwrap();
        // SQLite sets the limit no lower than the pages there are.
        limit("1").await.unwrap();
        let large = "x".repeat(100_000);
        let text = large.clone();
        let full = writer
            .run("note", TransactionScope::Shared, move |tx| {
                note(tx, 2, &text)
            })
            .await;
        assert!(
            matches!(&full, Err(StoreError::Unavailable { context, .. }) if context.contains("no room is left on the disk")),
            "{full:?}"
        );
        limit("100000").await.unwrap();
        writer
            .run("note", TransactionScope::Shared, move |tx| {
                note(tx, 3, &large)
            })
            .await
            .unwrap();
    });
    assert_eq!(notes(&folder.path().join("store.db")), [1, 3]);
}

#[test]
fn another_process_that_writes_is_waited_for() {
    let (folder, writer) = started();
    let path = folder.path().join("store.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    block_on(async {
        let writing = writer.run("note", TransactionScope::Shared, |tx| note(tx, 1, "after"));
        let releasing = async {
            other
                .execute_batch("INSERT INTO note VALUES (7, 'other'); COMMIT")
                .unwrap();
        };
        let (written, ()) = tokio::join!(writing, releasing);
        written.unwrap();
    });
    assert_eq!(notes(&path), [1, 7]);
}

#[test]
fn what_is_queued_is_done_before_the_writer_ends() {
    let (folder, writer) = started();
    block_on(async {
        // Polled once and then no longer awaited: the operation is in the queue all the same.
        let mut sending =
            Box::pin(writer.run("note", TransactionScope::Shared, |tx| note(tx, 5, "left")));
        let polled = std::future::poll_fn(|context| {
            std::task::Poll::Ready(sending.as_mut().poll(context).is_pending())
        });
        polled.await;
    });
    drop(writer);
    assert_eq!(notes(&folder.path().join("store.db")), [5]);
}
