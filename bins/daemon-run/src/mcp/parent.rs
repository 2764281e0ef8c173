//! Who the runs belong to that a client dispatches.

use crate::failure::Failure;

/// The longest part of an address that a client chooses.
const MAX_CLIENT: usize = 64;
/// The shortest token that a client may keep.
const MIN_TOKEN: usize = 16;

/// What tells one client from another of the same name: its connection, or a token that it keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    /// 8 hexadecimal digits.
    connection: String,
}

impl Parent {
    /// Draws one for this connection.
    pub(super) fn drawn() -> Self {
        Self {
            connection: daemon_host::random::hex(4),
        }
    }

    /// Derives the one of a token, which the address does not show.
    ///
    /// # Errors
    /// The token is short enough to be guessed.
    pub(super) fn of_token(token: &str) -> Result<Self, Failure> {
        if token.chars().count() < MIN_TOKEN {
            let message = format!("the token of `--parent` has fewer than {MIN_TOKEN} characters");
            return Err(
                Failure::usage(message).help("draw one, for example by `openssl rand -hex 16`")
            );
        }
        let digest = daemon_run_folder::sha256(token.as_bytes());
        Ok(Self {
            connection: digest.chars().take(8).collect(),
        })
    }

    /// Names the parent after what its client calls itself, in characters that stand in no path or pattern.
    pub(super) fn address(&self, client: &str) -> String {
        let plain = client.trim().chars().take(MAX_CLIENT).map(|c| {
            let is_plain = c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            if is_plain { c } else { '-' }
        });
        let plain: String = plain.collect();
        let client = if plain.is_empty() { "client" } else { &plain };
        format!("mcp:{client}#{}", self.connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_is_named_after_its_client_and_its_token() {
        let parent = Parent::of_token("a token that is kept").unwrap();
        let number = &parent.connection;
        for (client, expected) in [
            ("editor", "mcp:editor"),
            ("Claude Code/2.1", "mcp:Claude-Code-2.1"),
            ("", "mcp:client"),
            ("../é", "mcp:..--"),
        ] {
            assert_eq!(parent.address(client), format!("{expected}#{number}"));
        }
        let longest = parent.address(&"x".repeat(1_000));
        assert_eq!(longest.len(), "mcp:".len() + MAX_CLIENT + "#".len() + 8);
        assert_eq!(Parent::of_token("a token that is kept").unwrap(), parent);
        assert_ne!(Parent::of_token("another that is kept").unwrap(), parent);
        assert_ne!(Parent::drawn(), Parent::drawn());
        assert!(Parent::of_token("too short").is_err());
    }
}
