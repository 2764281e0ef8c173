//! Places where a test makes the process die.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Ends the process by SIGKILL if the environment asks for it at this place: `DAEMON_FAILPOINT=O2`. `O2#7` ends it when the place
/// is reached for the seventh time; `panic:O2` panics there, once.
///
/// # Panics
/// If it is asked to.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reaches into a process that it started by nothing but its environment"
)]
pub fn hit(name: &str) {
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    static HAS_PANICKED: AtomicBool = AtomicBool::new(false);
    let wanted = WANTED.get_or_init(|| std::env::var("DAEMON_FAILPOINT").ok());
    let wanted = wanted.as_deref().unwrap_or_default();
    let to_panic = wanted.strip_prefix("panic:");
    assert!(
        to_panic != Some(name) || HAS_PANICKED.swap(true, Ordering::Relaxed),
        "asked for at {name}"
    );
    static REACHED: AtomicU32 = AtomicU32::new(0);
    static FATAL: OnceLock<(&str, u32)> = OnceLock::new();
    let (place, nth) = *FATAL.get_or_init(|| match wanted.split_once('#') {
        Some((place, nth)) => (place, nth.parse().expect("a test writes a number")),
        None => (wanted, 1),
    });
    if place == name && REACHED.fetch_add(1, Ordering::Relaxed) + 1 == nth {
        let own = rustix::process::getpid();
        if rustix::process::kill_process(own, rustix::process::Signal::KILL).is_ok() {
            std::thread::park();
        }
    }
}

/// Reports whether the environment asks for a fault in the code itself: `DAEMON_CANARY=redactor-forgets-edges`.
#[expect(
    clippy::disallowed_methods,
    reason = "a test reaches into a process that it started by nothing but its environment"
)]
pub fn is_planted(name: &str) -> bool {
    static PLANTED: OnceLock<Option<String>> = OnceLock::new();
    let planted = PLANTED.get_or_init(|| std::env::var("DAEMON_CANARY").ok());
    planted.as_deref() == Some(name)
}
