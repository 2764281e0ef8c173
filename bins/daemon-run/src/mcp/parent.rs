//! The address of a client as the parent of the runs that it dispatches.

use crate::failure::CommandFailure;

/// The most characters of a client's name in its address.
const MAX_CLIENT: usize = 64;
/// The fewest characters of a token: short ones can be guessed.
const MIN_TOKEN: usize = 16;

/// Distinguishes clients of the same name: by their connection, or by a token that a client keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parent {
    /// 8 hexadecimal digits.
    connection: String,
}

impl Parent {
    /// Creates a random parent for this connection.
    pub(super) fn drawn() -> Self {
        Self {
            connection: daemon_records::random::hex(4),
        }
    }

    /// Derives the parent from a token by a hash, since the address appears in listings.
    ///
    /// # Errors
    /// The token is too short.
    pub(super) fn of_token(token: &str) -> Result<Self, CommandFailure> {
        if token.chars().count() < MIN_TOKEN {
            let message = format!("the token of `--parent` has fewer than {MIN_TOKEN} characters");
            return Err(CommandFailure::usage(message)
                .help("create one, for example with `openssl rand -hex 16`"));
        }
        let digest = daemon_run_folder::sha256(token.as_bytes());
        Ok(Self {
            connection: digest.chars().take(8).collect(),
        })
    }

    /// Returns the address. Characters of the client's name that have a meaning in paths or patterns become `-`.
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
