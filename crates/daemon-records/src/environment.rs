//! The environment of the host.

use std::ffi::OsString;

/// Returns a variable of the environment, such as one that the configuration names for a secret.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns all variables of the environment, for the planted fault of handing them to runs.
pub fn all() -> impl Iterator<Item = (OsString, OsString)> {
    std::env::vars_os()
}
