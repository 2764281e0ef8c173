//! The base URL of an API, below which all requests stay.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use reqwest::Url;

/// The base URL of an API: `https://api.github.com`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiBase(Url);

/// The error for a string that is not a valid [`ApiBase`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a base of an API: {why}")]
pub struct InvalidBase {
    text: String,
    why: &'static str,
}

impl FromStr for ApiBase {
    type Err = InvalidBase;

    fn from_str(text: &str) -> Result<Self, InvalidBase> {
        let refused = |why| InvalidBase {
            // A password has no place in a message.
            text: match text.contains('@') {
                true => "…".to_owned(),
                false => text.chars().take(200).collect(),
            },
            why,
        };
        let Ok(url) = Url::parse(text) else {
            return Err(refused("it is not a URL"));
        };
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_loopback = host == "localhost" || address.is_ok_and(|ip| ip.is_loopback());
        match url.scheme() {
            "https" => {}
            // A token is never sent where others can read it.
            "http" if is_loopback => {}
            _ => return Err(refused("it is neither https nor on this machine")),
        }
        let has_more = url.query().is_some() || url.fragment().is_some();
        if has_more || !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it has more than a host and a path"));
        }
        Ok(Self(url))
    }
}

impl fmt::Display for ApiBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl ApiBase {
    /// Returns the URL of a resource; each piece is escaped.
    pub(super) fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.0.clone();
        url.path_segments_mut()
            .expect("a URL with a host has a path")
            .pop_if_empty()
            .extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Reports whether a URL is below the base.
    pub(super) fn holds(&self, url: &Url) -> bool {
        let own = self.0.path().trim_end_matches('/');
        let rest = url.path().strip_prefix(own);
        self.0.origin() == url.origin()
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Reports whether requests are sent without TLS, which only loopback is.
    pub(super) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }
}
