//! Lists: sorting, pages and the `Link` header.

use std::fmt::Write as _;

use serde_json::Value;

use super::call::{GithubCall, GithubError};
use crate::clock;
use crate::http::{HttpResponse, encode};

impl GithubCall<'_> {
    /// Returns one page of a list, with links to the others.
    pub(crate) fn page(&self, items: &[Value]) -> HttpResponse {
        self.page_in(items, |page| Value::Array(page.to_vec()))
    }

    /// Returns one page of a list that is a field of an object.
    pub(crate) fn page_in(
        &self,
        items: &[Value],
        wrap: impl FnOnce(&[Value]) -> Value,
    ) -> HttpResponse {
        let number = |name: &str, default: usize| {
            let given = self.request.parameter(name);
            given.and_then(|it| it.parse().ok()).unwrap_or(default)
        };
        let per_page = number("per_page", 30).clamp(1, 100);
        let page = number("page", 1).max(1);
        let n_pages = items.len().div_ceil(per_page).max(1);
        let begin = page
            .saturating_sub(1)
            .saturating_mul(per_page)
            .min(items.len());
        let end = begin.saturating_add(per_page).min(items.len());
        let response = HttpResponse::json(200, &wrap(&items[begin..end]));
        let mut links = Vec::new();
        if page > 1 {
            links.push(self.link("prev", &[("page", (page - 1).min(n_pages).to_string())]));
        }
        if page < n_pages {
            links.push(self.link("next", &[("page", (page + 1).to_string())]));
            links.push(self.link("last", &[("page", n_pages.to_string())]));
        }
        if page > 1 {
            links.push(self.link("first", &[("page", "1".to_owned())]));
        }
        if links.is_empty() {
            return response;
        }
        response.with_header("Link", links.join(", "))
    }

    /// Returns a link to this list with other parameters.
    pub(crate) fn link(&self, relation: &str, changes: &[(&str, String)]) -> String {
        let mut url = format!("{}{}?", self.base, self.request.path);
        let kept = self.request.query.iter();
        let kept = kept.filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
        let kept = kept.map(|(name, value)| (name.as_str(), value));
        let all = kept.chain(changes.iter().map(|(name, value)| (*name, value)));
        for (at, (name, value)) in all.enumerate() {
            let separator = if at == 0 { "" } else { "&" };
            write!(url, "{separator}{}={}", encode(name), encode(value))
                .expect("writing to a string cannot fail");
        }
        format!("<{url}>; rel=\"{relation}\"")
    }

    /// Returns the time in the parameter `since`.
    pub(crate) fn since(&self) -> Result<Option<std::time::Duration>, GithubError> {
        let Some(text) = self.request.parameter("since") else {
            return Ok(None);
        };
        let time = clock::parse(text);
        let invalid = || GithubError::new(422, format!("Invalid since parameter: {text}"));
        time.map(Some).ok_or_else(invalid)
    }

    /// Returns whether the newest comes first. GitHub sorts by creation, newest first, unless another order is asked for.
    pub(crate) fn is_descending(&self) -> bool {
        match self.request.parameter("direction") {
            Some(direction) => direction != "asc",
            None => matches!(self.request.parameter("sort"), None | Some("created")),
        }
    }
}
