//! Places where a test makes the process die.

/// Ends the process by SIGKILL if the environment asks for it at this place: `DAEMON_FAILPOINT=O2`.
///
/// Without the feature `internal-testing` it does nothing.
#[cfg(feature = "internal-testing")]
pub(crate) fn hit(name: &str) {
    use std::sync::OnceLock;
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| std::env::var("DAEMON_FAILPOINT").ok());
    if wanted.as_deref() == Some(name) {
        let own = rustix::process::getpid();
        if rustix::process::kill_process(own, rustix::process::Signal::KILL).is_ok() {
            std::thread::park();
        }
    }
}

/// Does nothing.
#[cfg(not(feature = "internal-testing"))]
pub(crate) fn hit(_: &str) {}
