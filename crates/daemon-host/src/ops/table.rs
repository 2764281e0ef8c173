//! The one table of operations, which every door projects.

/// What a caller must be allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Look.
    Read,
    /// Start, stop, hold.
    Operate,
    /// Change the host itself.
    Admin,
}

impl Scope {
    /// Returns the word used in the protocol.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The method of the control protocol.
    pub method: &'static str,
    /// The verb of the HTTP route.
    pub verb: Verb,
    /// The HTTP route below `/api/v1/`, where it has one; `{id}` becomes the parameter `id`.
    pub route: Option<&'static str>,
    /// What a caller must be allowed to do.
    pub scope: Scope,
}

/// The verb of an HTTP route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It reads.
    Get,
    /// It changes.
    Post,
}

const fn get(method: &'static str, route: &'static str) -> Operation {
    Operation {
        method,
        verb: Verb::Get,
        route: Some(route),
        scope: Scope::Read,
    }
}

const fn post(method: &'static str, route: &'static str, scope: Scope) -> Operation {
    Operation {
        method,
        verb: Verb::Post,
        route: Some(route),
        scope,
    }
}

/// An operation of the control protocol alone: whoever comes over HTTP names no directory of this machine.
const fn call(method: &'static str) -> Operation {
    Operation {
        method,
        verb: Verb::Post,
        route: None,
        scope: Scope::Operate,
    }
}

/// Every operation.
pub const OPERATIONS: [Operation; 27] = [
    get("daemon/list", "daemons"),
    get("daemon/get", "daemons/{id}"),
    get("daemon/next", "daemons/{id}/next"),
    post("daemon/fire", "daemons/{id}/fire", Scope::Operate),
    post("daemon/hold", "daemons/{id}/hold", Scope::Operate),
    post("daemon/go", "daemons/{id}/go", Scope::Operate),
    post("daemon/explain", "explain", Scope::Read),
    get("activation/list", "activations"),
    get("activation/get", "activations/{id}"),
    post("activation/retry", "activations/{id}/retry", Scope::Operate),
    post(
        "activation/cancel",
        "activations/{id}/cancel",
        Scope::Operate,
    ),
    get("run/list", "runs"),
    get("run/get", "runs/{id}"),
    get("run/log", "runs/{id}/log"),
    post("run/ask", "runs/{id}/ask", Scope::Operate),
    post("run/cancel", "runs/{id}/cancel", Scope::Operate),
    call("run/call"),
    get("event/list", "events"),
    get("event/get", "events/{id}"),
    post("event/replay", "events/{id}/replay", Scope::Operate),
    get("tick/list", "ticks"),
    get("output/list", "outputs"),
    get("host/doctor", "doctor"),
    post("host/hold", "hold", Scope::Operate),
    post("host/go", "go", Scope::Operate),
    post("host/reload", "reload", Scope::Admin),
    get("host/stats", "stats"),
];
