//! Objects of GitHub's API, as far as they are read here.

use daemon_engine::{Found, RemoteId};
use serde::Deserialize;

use super::Job;
use crate::api::{ApiError, Listed, Taken};

/// How many pages of a list a look-up reads.
const MAX_PAGES: usize = 30;

#[derive(Debug, Deserialize)]
pub(super) struct UserRow {
    pub(super) login: String,
}

/// The answer of GraphQL to a query for the account.
#[derive(Debug, Deserialize)]
pub(super) struct ViewerAnswer {
    pub(super) data: Option<ViewerRow>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ViewerRow {
    pub(super) viewer: UserRow,
}

#[derive(Debug, Deserialize)]
pub(super) struct AppRow {
    pub(super) slug: String,
}

/// A comment, a review or a comment of one.
#[derive(Debug, Deserialize)]
pub(super) struct TextRow {
    pub(super) id: u64,
    user: Option<UserRow>,
    body: Option<String>,
    html_url: Option<String>,
    /// The review that a comment on lines is part of; GitHub makes one for a single comment, too.
    pull_request_review_id: Option<u64>,
}

impl TextRow {
    pub(super) fn remote(self, kind: &str) -> RemoteId {
        RemoteId {
            id: format!("{kind}:{}", self.id),
            url: self.html_url,
            revision: self.pull_request_review_id.map(|id| format!("review:{id}")),
        }
    }

    /// Reports whether it carries this output's marker and was written by us.
    pub(super) fn is_ours(&self, marker: &str, actor: &str) -> bool {
        is_ours(self.body.as_deref(), self.user.as_ref(), marker, actor)
    }
}

/// Reports whether a body carries a marker and was written by us. The marker alone is no proof: everyone can copy it.
pub(super) fn is_ours(
    body: Option<&str>,
    author: Option<&UserRow>,
    marker: &str,
    actor: &str,
) -> bool {
    let is_author = author.is_some_and(|user| user.login.eq_ignore_ascii_case(actor));
    is_author && body.is_some_and(|body| body.contains(marker))
}

impl Job<'_> {
    /// Searches a list for this output, by marker and author.
    pub(super) async fn find_marked(
        &self,
        below: &[&str],
        query: &[(&str, &str)],
        kind: &str,
    ) -> Result<Found, ApiError> {
        let (actor, marker) = (self.surface.actor().await?, self.mark.marker());
        let mut found = None;
        let take = |row: TextRow| match row.is_ours(&marker, &actor) {
            true => {
                found = Some(row.remote(kind));
                Taken::Enough
            }
            false => Taken::More,
        };
        let listed = self
            .api
            .pages(&self.path(below), query, MAX_PAGES, take)
            .await?;
        Ok(match (found, listed) {
            (Some(remote), _) => Found::At(remote),
            (None, Listed::Whole) => Found::Absent,
            // It may be on a page that was not read.
            (None, Listed::Cut) => Found::Unreadable,
        })
    }
}
