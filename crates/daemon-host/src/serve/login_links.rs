//! Links that log a browser in once.

use std::net::SocketAddr;
use std::sync::Weak;

use daemon_api::http::AppState;

/// The app and the address of the HTTP listener.
pub(super) struct LoginLinks {
    /// The app of the HTTP listener. It has the operations of this host, which must not keep each other: the store closes with them.
    pub(super) app: Weak<AppState>,
    /// The address of the listener.
    pub(super) bound: SocketAddr,
}

impl LoginLinks {
    /// Makes a new link; `None` once the listener has ended.
    pub(super) fn link(&self) -> Option<String> {
        let code = self.app.upgrade()?.access.login_code();
        Some(format!("http://{}/login?code={code}", self.bound))
    }
}
