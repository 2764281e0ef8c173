//! The environment of the host.

use std::ffi::OsString;

/// Returns a variable of the environment, such as one that the configuration names for a secret.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}
