//! The loops of a host, each begun again when it panics.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{Inner, dispatch, facts, repos, ticking, upkeep};
use daemon_runner::defect::guarded;
use daemon_runner::emanation;

/// How long a loop rests after it panicked.
const AFTER_DEFECT: Duration = Duration::from_secs(1);
/// Starts the loops; they end after [`Inner::stop`] and the drain of runs.
///
/// The repositories are read first. What wakes daemons, and claims, begins when they were read, at `until` at the latest.
pub async fn start(inner: &Arc<Inner>, until: Instant) -> TaskTracker {
    let tasks = TaskTracker::new();
    let shared = || Arc::clone(inner);
    let begin = CancellationToken::new();
    let waiting = begin.clone();
    let dispatcher = move |inner| dispatch::run(inner, waiting.clone());
    let dispatcher = lasting(shared(), "claims", dispatcher);
    let emanations = lasting(shared(), "emanations", drain);
    let finished = inner.finished.clone();
    tasks.spawn(async move {
        tokio::join!(dispatcher, emanations);
        finished.cancel();
    });
    tasks.spawn(lasting(shared(), "repositories", watch_repos));
    tokio::join!(
        inner.first_reading(until),
        upkeep::clear_worktrees(inner, until)
    );
    begin.cancel();
    tasks.spawn(lasting(shared(), "facts", facts::run));
    tasks.spawn(lasting(shared(), "ticks", ticking::run));
    tasks.spawn(lasting(shared(), "notices", publish));
    tasks.close();
    tasks
}

/// Runs a loop to its end, and begins it again whenever it panics: a loop that is gone would leave a host that looks well.
async fn lasting<F: Future<Output = ()>>(
    inner: Arc<Inner>,
    name: &'static str,
    run: impl Fn(Arc<Inner>) -> F,
) {
    while let Err(defect) = guarded(run(Arc::clone(&inner))).await {
        tracing::error!(%defect, "the loop of {name} panicked; it begins again");
        inner.note_defect(name);
        tokio::select! {
            () = inner.finished.cancelled() => return,
            () = tokio::time::sleep(AFTER_DEFECT) => {}
        }
    }
}

/// Looks after the configured repositories; a reload that changes them begins anew.
async fn watch_repos(inner: Arc<Inner>) {
    while !inner.stop.is_cancelled() {
        let runtime = inner.runtime();
        let stop = inner.stop.child_token();
        let watchers = TaskTracker::new();
        for repo in &runtime.parts.repos {
            let (repo, stop) = (Arc::clone(repo), stop.clone());
            let look_after = move |inner| repos::run(inner, Arc::clone(&repo), stop.clone());
            watchers.spawn(lasting(Arc::clone(&inner), "repositories", look_after));
        }
        watchers.close();
        loop {
            // A replacement after the look at the generation is noticed too.
            let replaced = inner.signals.repos.notified();
            if inner.stop.is_cancelled() || inner.runtime().generation != runtime.generation {
                break;
            }
            tokio::select! {
                () = inner.stop.cancelled() => {}
                () = replaced => {}
            }
        }
        stop.cancel();
        watchers.wait().await;
    }
}

async fn publish(inner: Arc<Inner>) {
    emanation::publish(Arc::clone(&inner.runs)).await;
}

async fn drain(inner: Arc<Inner>) {
    emanation::drain(Arc::clone(&inner.runs)).await;
}
