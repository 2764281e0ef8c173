//! Lists in pages, as GitHub sends them.

use serde::de::DeserializeOwned;

use super::client::ServiceApi;
use super::failure::ApiError;

/// How many rows are requested per page; GitHub's maximum.
pub(crate) const PAGE: usize = 100;

/// Whether a reader of a list needs further rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The next row is read.
    More,
    /// The reading ends.
    Enough,
}

/// How a list was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// To its end, or until the reader had enough.
    Whole,
    /// The list has more than `max_pages`.
    Cut,
}

impl ServiceApi {
    /// Gets the pages of a list until `take` returns `Enough` or no page is left.
    pub(crate) async fn pages<T: DeserializeOwned>(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        max_pages: usize,
        mut take: impl FnMut(T) -> Taken,
    ) -> Result<Listed, ApiError> {
        for page in 1..=max_pages {
            let (page, size) = (page.to_string(), PAGE.to_string());
            let own = [("per_page", size.as_str()), ("page", page.as_str())];
            let answer = self.get(path, &[query, &own].concat()).await?;
            let rows: Vec<T> = answer.json()?;
            let has_next = answer.has_next.unwrap_or(rows.len() >= PAGE);
            for row in rows {
                if take(row) == Taken::Enough {
                    return Ok(Listed::Whole);
                }
            }
            if !has_next {
                return Ok(Listed::Whole);
            }
        }
        Ok(Listed::Cut)
    }
}
