//! What requests authenticate with: a token, or a GitHub App.

use std::fmt;
use std::str::FromStr;

use reqwest::header::HeaderValue;

use super::app::AppCredentials;

/// The prefix of the personal keys of Linear's API, which are sent without a scheme.
const LINEAR_KEY: &str = "lin_api_";

/// What requests authenticate with.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A token that is sent as it is.
    Token(ApiToken),
    /// A GitHub App, which exchanges its key for short-lived tokens.
    App(AppCredentials),
}

/// A token of an API. Its `Debug` output does not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiToken(HeaderValue);

/// The error for a string that cannot be an [`ApiToken`]; it does not contain the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is one line of visible ASCII characters")]
pub struct InvalidToken;

impl FromStr for ApiToken {
    type Err = InvalidToken;

    fn from_str(text: &str) -> Result<Self, InvalidToken> {
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(InvalidToken);
        }
        let value = match token.starts_with(LINEAR_KEY) {
            true => HeaderValue::from_str(token),
            false => HeaderValue::from_str(&format!("Bearer {token}")),
        };
        let mut value = value.expect("visible ASCII is a header's value");
        value.set_sensitive(true);
        Ok(Self(value))
    }
}

impl ApiToken {
    /// Returns the value of the header `Authorization`.
    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiToken(…)")
    }
}
