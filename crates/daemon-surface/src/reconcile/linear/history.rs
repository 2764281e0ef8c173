//! The history of an issue.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Connection, connection, time};
use crate::api::{ApiError, ServiceApi};
use crate::linear::graphql;

const LIST: &str = "query($id: String!, $after: String) { issue(id: $id) { history(first: 50, after: $after) { nodes { id createdAt updatedAt actor { id name app } botActor { id name type } updatedDescription fromTitle toTitle fromPriority toPriority fromEstimate toEstimate fromDueDate toDueDate fromState { id name type } toState { id name type } fromAssignee { id name } toAssignee { id name } fromTeam { id key name } toTeam { id key name } fromProject { id name } toProject { id name } fromCycle { id name number } toCycle { id name number } addedLabels { id name } removedLabels { id name } } pageInfo { hasNextPage endCursor } } } }";
/// How many pages of one history are read: 1,000 entries.
const MAX_PAGES: usize = 20;

#[derive(Deserialize)]
struct Data {
    issue: IssueRow,
}

#[derive(Deserialize)]
struct IssueRow {
    history: Value,
}

/// One update of an issue.
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) at: Timestamp,
    pub(super) row: Value,
}

impl Entry {
    fn read(row: Value) -> Option<Self> {
        Some(Self {
            id: row["id"].as_str()?.to_owned(),
            // Linear adds later changes of the same person to an entry.
            at: time(&row["updatedAt"]).or_else(|| time(&row["createdAt"]))?,
            row,
        })
    }
}

/// Returns the updates of an issue after a time, the newest first.
pub(super) async fn since(
    api: &ServiceApi,
    issue: &str,
    lower: Timestamp,
) -> Result<Vec<Entry>, ApiError> {
    let (mut entries, mut after) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let variables = json!({"id": issue, "after": after});
        let data: Data = graphql::read(api, LIST, variables).await?;
        let Connection { nodes, page_info } = connection(Some(data.issue.history))?;
        let read: Vec<Entry> = nodes.into_iter().filter_map(Entry::read).collect();
        let is_behind = read.last().is_some_and(|last| last.at <= lower)
            && read.first().map(|one| one.at) > read.last().map(|one| one.at);
        entries.extend(read.into_iter().filter(|entry| entry.at > lower));
        after = page_info.next().filter(|_| !is_behind);
        if after.is_none() {
            break;
        }
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.at));
    Ok(entries)
}
