//! Waiting for other processes: the host, the programs it starts, and git.

use std::thread;
use std::time::{Duration, Instant};

/// The usual limit of a wait; far more than anything takes on a busy machine.
pub(crate) const USUAL: Duration = Duration::from_secs(60);
/// The shortest and the longest pause between two questions.
const PAUSES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(200)];

/// Repeats a question until it has an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    eventually_within(USUAL, what, || ask().ok_or("it is not so yet"))
}

/// Repeats a question until it has an answer, and fails after a limit with the last error.
///
/// This is the only place that sleeps: the awaited change happens in another process, and no file or pipe reports it that a test
/// could block on with a limit.
#[track_caller]
pub(crate) fn eventually_within<T, E: std::fmt::Display>(
    limit: Duration,
    what: &str,
    mut ask: impl FnMut() -> Result<T, E>,
) -> T {
    let begun = Instant::now();
    loop {
        let found = match ask() {
            Ok(answer) => return answer,
            Err(found) => found,
        };
        let waited = begun.elapsed();
        assert!(waited < limit, "waited {waited:?} until {what}: {found}");
        // A long wait is not made longer by more than a tenth.
        let [shortest, longest] = PAUSES;
        thread::sleep((waited / 10).clamp(shortest, longest));
    }
}
