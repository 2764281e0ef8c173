//! Versions of the schema: forward only, each step in one transaction.

use daemon_store::StoreError;
use tokio_postgres::Client;

use crate::failure::{TxError, TxResult};

/// A step of the schema.
#[derive(Debug)]
pub(crate) struct SchemaStep {
    /// A released step is never edited, because it does not run again on databases that have it.
    sql: &'static str,
    /// The oldest version of the schema whose programs work with the tables after this step. Programs of that version may run next to
    /// newer ones while hosts are upgraded one by one.
    admits: i64,
}

/// The steps, in order.
pub(crate) const STEPS: &[SchemaStep] = &[
    SchemaStep {
        sql: include_str!("schema/0001.sql"),
        admits: 1,
    },
    SchemaStep {
        sql: include_str!("schema/0002.sql"),
        admits: 1,
    },
    SchemaStep {
        sql: include_str!("schema/0003.sql"),
        admits: 1,
    },
    SchemaStep {
        sql: include_str!("schema/0004.sql"),
        admits: 1,
    },
    SchemaStep {
        sql: include_str!("schema/0005.sql"),
        admits: 1,
    },
    SchemaStep {
        sql: include_str!("schema/0006.sql"),
        admits: 1,
    },
];

/// Brings the schema up to date.
///
/// # Errors
/// `Newer` for a schema that does not admit a program with these steps.
pub(crate) async fn migrate(client: &Client, steps: &[SchemaStep]) -> TxResult<()> {
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS schema_step (version BIGINT PRIMARY KEY, admits BIGINT NOT NULL, \
             applied_at TIMESTAMP WITH TIME ZONE NOT NULL DEFAULT now())",
        )
        .await?;
    let found = admitted(client, steps).await?;
    for (version, step) in (1i64..).zip(steps).skip_while(|(it, _)| *it <= found) {
        apply(client, version, step).await?;
    }
    Ok(())
}

/// Returns the version of the schema, 0 for an empty one.
///
/// # Errors
/// `Newer` for a schema that does not admit a program with these steps.
async fn admitted(client: &Client, steps: &[SchemaStep]) -> TxResult<i64> {
    let known = i64::try_from(steps.len()).expect("few steps");
    let newest = client
        .query_opt(
            "SELECT version, admits FROM schema_step ORDER BY version DESC LIMIT 1",
            &[],
        )
        .await?;
    let Some(row) = newest else {
        return Ok(0);
    };
    let (found, admits): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    if admits > known {
        return Err(TxError::Store(StoreError::Newer { found, known }));
    }
    Ok(found)
}

/// Checks that the schema is one that a program with these steps can read, and changes nothing.
///
/// # Errors
/// As [`migrate`]; `Unavailable` for an older schema.
pub(crate) async fn check_to_read(client: &Client, steps: &[SchemaStep]) -> TxResult<()> {
    let is_empty = client
        .query_one("SELECT to_regclass('schema_step') IS NULL", &[])
        .await?
        .try_get(0)?;
    let found = match is_empty {
        true => 0,
        false => admitted(client, steps).await?,
    };
    let known = i64::try_from(steps.len()).expect("few steps");
    if found >= known {
        return Ok(());
    }
    let context = match found {
        0 => "the database has no tables of a store: the first host that serves makes them"
            .to_owned(),
        _ => format!(
            "the tables have version {found}, and this program reads {known}: a host of this release brings them up to date"
        ),
    };
    Err(TxError::Store(StoreError::Unavailable {
        context,
        source: None,
    }))
}

async fn apply(client: &Client, version: i64, step: &SchemaStep) -> TxResult<()> {
    client.batch_execute("BEGIN").await?;
    // Its row first: of two hosts that start at once, one waits here for the other, and then starts over.
    let done = async {
        client
            .execute(
                "INSERT INTO schema_step (version, admits) VALUES ($1, $2)",
                &[&version, &step.admits],
            )
            .await?;
        client.batch_execute(step.sql).await?;
        client.batch_execute("COMMIT").await
    };
    if let Err(error) = done.await {
        client.batch_execute("ROLLBACK").await?;
        return Err(error.into());
    }
    Ok(())
}
