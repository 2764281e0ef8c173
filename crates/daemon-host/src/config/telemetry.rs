//! The configuration of what the host reports to collectors.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fault::ConfigFault;

/// Where the host sends traces.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// The address of a collector that takes OTLP over HTTP, such as `http://127.0.0.1:4318`; by default no traces are sent.
    pub traces: Option<String>,
    /// Headers of each request, such as `authorization`, each with the file that contains its value, relative to the home.
    pub headers_file: BTreeMap<String, PathBuf>,
}

/// Finds an invalid address.
pub(super) fn faults(telemetry: &Telemetry) -> Option<ConfigFault> {
    let address = telemetry.traces.as_deref()?;
    let error = daemon_telemetry::check_address(address).err()?;
    let message = format!("`telemetry.traces`: {error}");
    Some(ConfigFault::of_value(&["telemetry", "traces"], message))
}
