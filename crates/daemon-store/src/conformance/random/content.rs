//! What can be read from a store, as text to compare.

use daemon_engine::Activation;
use jiff::Timestamp;

use super::super::scene::{activation_id, at, daemon, first, repo};
use super::DAEMONS;
use crate::rows::Query;
use crate::traits::Store;

pub(super) async fn recent(store: &dyn Store) -> Vec<Activation> {
    store.activations(&first(30)).await.expect("lists").rows
}

/// Everything that can be read from a store.
pub(super) async fn whole(store: &dyn Store, now: Timestamp) -> String {
    let mut lines = vec![
        show(&store.counts().await),
        show(&store.daemons().await),
        show(&store.coverages().await),
        show(&store.host_gate().await),
        show(&store.epoch().await),
        show(&store.ref_cursors(&repo()).await),
        show(&store.next_claim_at(now).await),
        show(&store.next_output_at(now).await),
        show(&store.next_fact_at().await),
        show(&store.activation(&activation_id(1)).await),
    ];
    for id in DAEMONS {
        lines.push(show(&store.state(&daemon(id), now).await));
    }
    for query in queries() {
        lines.push(show(&store.events(&query).await));
        lines.push(show(&store.ticks(&query).await));
        lines.push(show(&store.activations(&query).await));
        lines.push(show(&store.runs(&query).await));
        lines.push(show(&store.outputs(&query).await));
    }
    lines.join("\n")
}

fn queries() -> Vec<Query> {
    let of_a = Query {
        daemon: Some("a".to_owned()),
        since: Some(at(500)),
        ..first(40)
    };
    let failed = Query {
        state: Some("failed".to_owned()),
        ..first(10)
    };
    let here = Query {
        repo: Some(repo()),
        until: Some(at(50_000)),
        ..first(500)
    };
    vec![first(500), first(7), of_a, failed, here]
}

pub(super) fn show<T: std::fmt::Debug>(value: &T) -> String {
    format!("{value:?}")
}
