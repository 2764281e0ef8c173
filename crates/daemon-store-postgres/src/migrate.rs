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
    let known = i64::try_from(steps.len()).expect("few steps");
    let newest = client
        .query_opt(
            "SELECT version, admits FROM schema_step ORDER BY version DESC LIMIT 1",
            &[],
        )
        .await?;
    let found = match newest {
        None => 0,
        Some(row) => {
            let (found, admits): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            if admits > known {
                return Err(TxError::Store(StoreError::Newer { found, known }));
            }
            found
        }
    };
    for (version, step) in (1i64..).zip(steps).skip_while(|(it, _)| *it <= found) {
        apply(client, version, step).await?;
    }
    Ok(())
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
