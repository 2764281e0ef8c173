//! How long rows and files are kept.

use daemon_api::{InvalidPeriod, Period};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How long rows or files are kept: a period, or `forever`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Retention {
    /// Records are removed this long after their end.
    For(Period),
    /// Records are never removed.
    Forever,
}

impl TryFrom<String> for Retention {
    type Error = InvalidPeriod;

    fn try_from(text: String) -> Result<Self, InvalidPeriod> {
        if text == "forever" {
            Ok(Self::Forever)
        } else {
            text.parse().map(Self::For)
        }
    }
}

impl From<Retention> for String {
    fn from(retention: Retention) -> Self {
        match retention {
            Retention::For(period) => period.to_string(),
            Retention::Forever => "forever".to_owned(),
        }
    }
}
