//! Sets the build time of the host: a clock that shows an earlier instant is wrong.

use std::time::{SystemTime, UNIX_EPOCH};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SOURCE_DATE_EPOCH");
    let fixed = std::env::var_os("SOURCE_DATE_EPOCH").and_then(|text| text.into_string().ok());
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = fixed
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| since_1970.map_or(0, |since| since.as_secs()));
    println!("cargo::rustc-env=DAEMON_BUILT_AT={seconds}");
}
