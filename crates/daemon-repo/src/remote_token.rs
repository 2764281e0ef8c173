//! The token with which git authenticates at a server.

use std::fmt;
use std::sync::Arc;

use crate::git::GitCommand;
use crate::repository::Repository;

/// The variable with which git receives a token. The environment of a process is readable only for its user.
const TOKEN: &str = "DAEMON_GIT_TOKEN";
/// A credential helper that prints the token.
const HELPER: &str = "!f() { test \"$1\" = get && printf 'username=x-access-token\\npassword=%s\\n' \"$DAEMON_GIT_TOKEN\"; }; f";

/// A token for a repository on one server. Its `Debug` output does not contain it.
#[derive(Clone)]
pub struct RemoteToken {
    base: String,
    read: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl RemoteToken {
    /// Makes a token that is used for URLs with the scheme and the host of `base`, if the server asks for credentials and
    /// the configuration of the repository has none. `read` is called for each command that may reach a server; `None` means that there
    /// is no token at the moment.
    pub fn new(base: &str, read: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        Self {
            base: base.to_owned(),
            read: Arc::new(read),
        }
    }

    /// Has git use the token. It is in no argument and no file.
    pub(crate) fn add_to(&self, call: GitCommand) -> GitCommand {
        match (self.read)() {
            None => call,
            Some(token) => call
                .setting(format!("credential.{}.helper", self.base), HELPER)
                .env(TOKEN, token.trim()),
        }
    }
}

impl fmt::Debug for RemoteToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RemoteToken({}, …)", self.base)
    }
}

impl Repository {
    /// Sets the token for fetches and pushes.
    #[must_use]
    pub fn with_token(mut self, token: Option<RemoteToken>) -> Self {
        self.token = token;
        self
    }
}
