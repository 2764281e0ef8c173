//! The configuration of tokens with less access than that of the owner.

use std::collections::BTreeSet;
use std::path::PathBuf;

use daemon_api::ops::Scope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// A further token of the HTTP routes, of `/mcp` and of the control protocol.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenConfig {
    /// Who has it: lower-case letters, digits and `-`.
    pub name: String,
    /// What it may do.
    pub scope: TokenScope,
    /// The file with the token, of at least 32 bytes, relative to the home.
    pub file: PathBuf,
}

/// What a token may do; each includes the ones before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenScope {
    /// Read.
    Read,
    /// Also start, stop and hold daemons and runs.
    Operate,
    /// Also change the host itself.
    Admin,
}

impl From<TokenScope> for Scope {
    fn from(scope: TokenScope) -> Self {
        match scope {
            TokenScope::Read => Self::Read,
            TokenScope::Operate => Self::Operate,
            TokenScope::Admin => Self::Admin,
        }
    }
}

/// Finds names that are invalid or repeated.
pub(super) fn faults(tokens: &[TokenConfig]) -> Vec<ConfigFault> {
    let mut names = BTreeSet::new();
    let mut faults = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = &token.name;
        let why = match daemon_agent::is_plain_name(name) {
            false => "is not 1 to 64 lower-case letters, digits and `-`",
            true if name == "owner" => "is the name of the token that the host creates",
            true if !names.insert(name) => "is the name of two tokens",
            true => continue,
        };
        let message = format!("`token.{at}.name`: `{name}` {why}");
        let path = ["token", &at.to_string(), "name"];
        faults.push(ConfigFault::of_value(&path, message));
    }
    faults
}

#[cfg(test)]
mod tests {
    use crate::config::parse;

    #[test]
    fn names_of_tokens_are_plain_and_differ() {
        let row =
            |name: &str| format!("[[token]]\nname = {name:?}\nscope = \"read\"\nfile = \"t\"\n");
        parse(&row("a")).unwrap();
        for (text, message) in [
            (
                row("A b"),
                "`A b` is not 1 to 64 lower-case letters, digits and `-`",
            ),
            (
                row("owner"),
                "`owner` is the name of the token that the host creates",
            ),
            (row("a").repeat(2), "`a` is the name of two tokens"),
        ] {
            let error = parse(&text).unwrap_err();
            let shown = format!("{error:?}");
            assert!(shown.contains(message), "{shown}");
        }
    }
}
