//! The loops of a host, each begun again when it panics.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::failures::Failures;
use super::host::Host;
use super::{
    conversing, dispatch, facts, reconciling, reminding, repos, rostering, ticking, traces, upkeep,
};
use daemon_records::HeldRoster;
use daemon_roster::Bridge;
use daemon_runner::defect::guarded;
use daemon_runner::emanation;

/// The pause before a loop that panicked is started again, so that one that panics at once does not fill the log.
const AFTER_DEFECT: Duration = Duration::from_secs(1);

/// Starts the loops; they end after the host was stopped and its runs have ended.
///
/// The repositories are read first. Schedules, matching and claims begin once they were read, at `until` at the latest: an event
/// that is matched before would miss the daemons of a repository that is still being read.
pub async fn start(
    host: &Arc<Host>,
    (roster, bridge): (&Arc<HeldRoster>, &Arc<dyn Bridge>),
    until: Instant,
) -> TaskTracker {
    let tasks = TaskTracker::new();
    let begin = CancellationToken::new();
    let supervisor = Supervisor::of(host);
    let dispatcher = {
        let (host, waiting) = (Arc::clone(host), begin.clone());
        supervisor.lasting("claims", move || {
            dispatch::run(Arc::clone(&host), waiting.clone())
        })
    };
    let runs = &host.runs().context;
    let drained = Arc::clone(runs);
    let emanations =
        supervisor.lasting("emanations", move || emanation::drain(Arc::clone(&drained)));
    let conversing = Arc::clone(host);
    let conversations = supervisor.lasting("conversations", move || {
        conversing::drain(Arc::clone(&conversing))
    });
    let finished = supervisor.finished.clone();
    tasks.spawn(async move {
        tokio::join!(dispatcher, emanations, conversations);
        // Only now: the ends of the last runs were still to be announced.
        finished.cancel();
    });
    let watching = (Arc::clone(host), supervisor.clone());
    tasks.spawn(supervisor.lasting("repositories", move || {
        watch_repos(Arc::clone(&watching.0), watching.1.clone())
    }));
    // At the same time, because both wait for git and share one deadline.
    tokio::join!(
        host.registrations.states.first_reading(until),
        upkeep::clear_worktrees(&host.upkeep, until)
    );
    begin.cancel();
    let heeding = Arc::clone(host);
    tasks.spawn(supervisor.lasting("other hosts", move || heed(Arc::clone(&heeding))));
    let finder = host.fact_finder();
    tasks.spawn(supervisor.lasting("facts", move || facts::run(finder.clone())));
    let comparer = host.comparer();
    tasks.spawn(supervisor.lasting("comparisons", move || reconciling::run(comparer.clone())));
    let ticks = host.ticks.clone();
    tasks.spawn(supervisor.lasting("ticks", move || ticking::run(ticks.clone())));
    let rounds = host.roster_rounds(roster, bridge);
    tasks.spawn(supervisor.lasting("roster", move || rostering::run(rounds.clone())));
    let traced = Arc::clone(host);
    tasks.spawn(supervisor.lasting("traces", move || traces::run(Arc::clone(&traced))));
    let reminded = Arc::clone(host);
    tasks.spawn(supervisor.lasting("reminders", move || reminding::run(Arc::clone(&reminded))));
    let published = Arc::clone(runs);
    tasks.spawn(supervisor.lasting("notices", move || {
        emanation::publish(Arc::clone(&published))
    }));
    tasks.close();
    tasks
}

/// Starts loops again that panicked: without one of its loops, a host would look healthy and do nothing.
#[derive(Clone)]
struct Supervisor {
    failures: Arc<Failures>,
    finished: CancellationToken,
}

impl Supervisor {
    fn of(host: &Host) -> Self {
        Self {
            failures: Arc::clone(&host.failures),
            finished: host.finished().clone(),
        }
    }

    /// Runs a loop to its end, and begins it again whenever it panics.
    fn lasting<F: Future<Output = ()>, R: Fn() -> F>(
        &self,
        name: &'static str,
        run: R,
    ) -> impl Future<Output = ()> + use<F, R> {
        let Self { failures, finished } = self.clone();
        async move {
            while let Err(defect) = guarded(run()).await {
                tracing::error!(%defect, "the loop of {name} panicked; it begins again");
                failures.loop_panicked(name);
                tokio::select! {
                    () = finished.cancelled() => return,
                    () = tokio::time::sleep(AFTER_DEFECT) => {}
                }
            }
        }
    }
}

/// Wakes the loops for what other hosts stored, until the host stops.
async fn heed(host: Arc<Host>) {
    loop {
        tokio::select! {
            () = host.stop().cancelled() => return,
            () = host.store.wait_for_work() => {}
        }
        let signals = &host.signals;
        for concern in [
            &signals.matches,
            &signals.claims,
            &signals.outputs,
            &signals.facts,
        ] {
            concern.notify_one();
        }
    }
}

/// Watches the configured repositories, and begins again with those of a reload.
async fn watch_repos(host: Arc<Host>, supervisor: Supervisor) {
    while !host.stop().is_cancelled() {
        let runtime = host.runtime();
        let stop = host.stop().child_token();
        let watchers = TaskTracker::new();
        for repo in &runtime.parts.repos {
            let (reader, repo, stop) = (host.reader.clone(), Arc::clone(repo), stop.clone());
            watchers.spawn(supervisor.lasting("repositories", move || {
                repos::run(reader.clone(), Arc::clone(&repo), stop.clone())
            }));
        }
        watchers.close();
        loop {
            // Awaited from before the generation is compared: a replacement in between would be missed otherwise.
            let replaced = host.signals.repos.notified();
            if host.stop().is_cancelled() || host.runtime().generation != runtime.generation {
                break;
            }
            tokio::select! {
                () = host.stop().cancelled() => {}
                () = replaced => {}
            }
        }
        stop.cancel();
        watchers.wait().await;
    }
}
