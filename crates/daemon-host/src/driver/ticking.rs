//! The tick loop: due ticks are recorded, with the activations they make, in one transaction.

use std::sync::Arc;
use std::time::Duration;

use daemon_agent::cron_id;
use daemon_event::DaemonKey;
use daemon_provider::StopReason;
use daemon_records::clock::Clock;
use daemon_records::random;
use daemon_schedule::{Cancels, TickOutcome, TickPolicy};
use daemon_store::{
    Cursors, Overdue, Round, Store, StoreError, TickActivations, TickCommit, TickResult, Ticker,
    TickerState, Waking,
};
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::active_runs::ActiveRuns;
use super::crons::CronTicks;
use super::failures::Failures;
use super::registrations::Registrations;
use super::signals::Signals;
use crate::config::{self, Config};

/// How many due daemons one transaction records.
const BATCH: usize = 500;
/// The interval at which the clock is read to notice a step.
const GLANCE: Duration = Duration::from_secs(1);
/// Why no schedule is evaluated by a clock before the build date.
const CLOCK_IS_WRONG: &str =
    "schedules are not evaluated: the clock is before the date on which this program was built";
/// How long the loop waits after the store failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// A tick recorded later than this after its instant was late.
// The time within which 10,000 ticks of one minute have to be recorded.
const PUNCTUAL: jiff::SignedDuration = jiff::SignedDuration::from_secs(2);

/// Records ticks; clones share the state.
#[derive(Clone)]
pub(crate) struct TickRecorder {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    registrations: Registrations,
    runs: ActiveRuns,
    signals: Arc<Signals>,
    failures: Arc<Failures>,
    crons: CronTicks,
    /// Held while the ticks of a round are recorded: claims wait, because what they start would take the processor from
    /// the ticks that are still due.
    pub(super) recording: Arc<tokio::sync::Mutex<()>>,
    stop: CancellationToken,
}

impl TickRecorder {
    pub(super) fn new(
        registrations: &Registrations,
        runs: &ActiveRuns,
        signals: &Arc<Signals>,
        crons: CronTicks,
    ) -> Self {
        Self {
            store: Arc::clone(&registrations.store),
            clock: Arc::clone(&registrations.clock),
            registrations: registrations.clone(),
            runs: runs.clone(),
            signals: Arc::clone(signals),
            failures: Arc::clone(&registrations.failures),
            crons,
            recording: Arc::default(),
            stop: runs.context.lifetime.stop.clone(),
        }
    }
}

/// Records ticks until the host stops.
pub(super) async fn run(recorder: TickRecorder) {
    let mut ticker = Ticker::new(crate::built_at());
    let mut standing = TickerState::Stale;
    while !recorder.stop.is_cancelled() {
        let pause = match round(&recorder, &mut ticker, standing).await {
            Ok(next) => {
                standing = next;
                until_deadline(&recorder, &ticker)
            }
            Err(error) => {
                recorder
                    .failures
                    .store_failed("ticks cannot be recorded; they will be", &error);
                // A commit that failed may have been stored, so the cursors are loaded again.
                standing = TickerState::Stale;
                AFTER_FAILURE
            }
        };
        tokio::select! {
            () = recorder.stop.cancelled() => {}
            () = recorder.signals.ticks.notified() => standing = TickerState::Stale,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn until_deadline(recorder: &TickRecorder, ticker: &Ticker) -> Duration {
    match ticker.deadline() {
        Some(deadline) => deadline
            .duration_since(recorder.clock.now())
            .try_into()
            .unwrap_or(Duration::ZERO)
            .min(GLANCE),
        None => GLANCE,
    }
}

async fn round(
    recorder: &TickRecorder,
    ticker: &mut Ticker,
    standing: TickerState,
) -> Result<TickerState, StoreError> {
    let now = recorder.clock.now();
    if standing == TickerState::Stale {
        recorder.crons.sync(now).await?;
        load(recorder, ticker, now).await?;
    }
    recorder.crons.release(now).await?;
    match ticker.round(now, recorder.clock.since_boot()) {
        Round::Wait => {
            tracing::debug!(%now, "the clock is wrong; schedules wait");
            recorder.registrations.schedules.note(Some(CLOCK_IS_WRONG));
            Ok(TickerState::Current)
        }
        Round::SteppedBack => {
            metrics::counter!("daemon_clock_steps_total", "direction" => "back").increment(1);
            let retracted = recorder.store.retract(now).await?;
            tracing::warn!(retracted, %now, "the clock stepped back");
            Ok(TickerState::Stale)
        }
        Round::Due { overdue, skipped } => {
            if let Some(by) = skipped {
                metrics::counter!("daemon_clock_steps_total", "direction" => "forward")
                    .increment(1);
                tracing::warn!(by = %format_args!("{by:#}"), %now, "the clock stepped forward");
            }
            let standing = record_all(recorder, ticker, &overdue, now).await?;
            recorder.registrations.schedules.note(None);
            Ok(standing)
        }
    }
}

/// Records what is due in batches; nothing is claimed until the last one is recorded.
async fn record_all(
    recorder: &TickRecorder,
    ticker: &mut Ticker,
    overdue: &[Overdue],
    now: Timestamp,
) -> Result<TickerState, StoreError> {
    let recording = recorder.recording.lock().await;
    let is_cron = |due: &&Overdue| cron_id(&due.daemon).is_some();
    let crons = overdue.iter().filter(is_cron);
    let mut standing = TickerState::Current;
    for (due, result) in recorder.crons.record(crons, now).await? {
        if ticker.recorded(&due.daemon, due.coverage, &result) == TickerState::Stale {
            standing = TickerState::Stale;
        }
    }
    let daemons: Vec<&Overdue> = overdue.iter().filter(|due| !is_cron(due)).collect();
    for batch in daemons.chunks(BATCH) {
        if record(recorder, ticker, batch, now).await? == TickerState::Stale {
            standing = TickerState::Stale;
        }
    }
    drop(recording);
    Ok(standing)
}

/// Loads the stored coverages into the ticker. If the clock was set back, later ticks are retracted first.
async fn load(
    recorder: &TickRecorder,
    ticker: &mut Ticker,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut loaded = ticker.load(recorder.store.coverages().await?, now);
    // A clock before the build is wrong itself: ticks that were recorded by a right one must not be retracted by it.
    if loaded.cursors == Cursors::Ahead && now >= crate::built_at() {
        let retracted = recorder.store.retract(now).await?;
        tracing::warn!(retracted, %now, "the clock stepped back while no host ran");
        loaded = ticker.load(recorder.store.coverages().await?, now);
    }
    for coverage in loaded.unreadable {
        let text = &coverage.schedule;
        tracing::error!(
            daemon = %coverage.daemon, expression = text.expression, zone = text.zone,
            "a stored schedule cannot be read"
        );
    }
    Ok(())
}

async fn record(
    recorder: &TickRecorder,
    ticker: &mut Ticker,
    batch: &[&Overdue],
    now: Timestamp,
) -> Result<TickerState, StoreError> {
    let config = recorder.registrations.runtime.config();
    let keys: Vec<DaemonKey> = batch.iter().map(|due| due.daemon.clone()).collect();
    let known = recorder.store.tick_activations(&keys).await?;
    let mut commits = Vec::new();
    for (due, known) in batch.iter().zip(&known) {
        let policy = policy(&config, &due.daemon);
        let waking = || waking(recorder, &config, &due.daemon, now);
        commits.extend(due.commits(&policy, known.unfinished(), now, waking));
    }
    daemon_records::failpoint::hit("T1");
    // The time that a batch waited for earlier ones is part of its lateness.
    let recorded_at = recorder.clock.now().max(now);
    for commit in &mut commits {
        commit.now = recorded_at;
    }
    let results = recorder.store.commit_ticks(commits.clone()).await?;
    daemon_records::failpoint::hit("T4");
    let mut standing = TickerState::Current;
    let mut is_claimable = false;
    for (commit, result) in commits.iter().zip(&results) {
        if ticker.recorded(&commit.daemon, commit.coverage, result) == TickerState::Stale {
            standing = TickerState::Stale;
        }
        // Otherwise nothing was written: another host has recorded the tick, or its coverage has ended.
        if let TickResult::Recorded(activation) = result {
            is_claimable |= activation.is_some();
            note(commit);
            if commit.cancels == Cancels::Running {
                let place = keys.iter().position(|key| *key == commit.daemon);
                stop_supplanted(recorder, place.map(|place| &known[place]));
            }
        }
    }
    daemon_records::failpoint::hit("T5");
    if is_claimable {
        recorder.signals.claims.notify_one();
    }
    Ok(standing)
}

/// Ends the processes of runs whose leases the store ended in favour of a later tick.
fn stop_supplanted(recorder: &TickRecorder, known: Option<&TickActivations>) {
    for id in known.into_iter().flat_map(|known| &known.running) {
        recorder.runs.stop(id, StopReason::Reclaim);
    }
}

fn waking(
    recorder: &TickRecorder,
    config: &Config,
    key: &DaemonKey,
    now: Timestamp,
) -> Option<Waking> {
    let registry = recorder.registrations.registry.get();
    let row = &registry.find_key(key)?.row;
    let spread = config
        .own(key, |policy| policy.jitter)
        .unwrap_or(config.schedule.jitter);
    let expression = row.schedule.as_ref().map(|text| text.expression.clone());
    Some(Waking {
        rev: row.rev.clone(),
        expression: expression.unwrap_or_default(),
        jitter: daemon_schedule::jitter(key.to_string().as_bytes(), spread.unsigned()),
        activation_id: random::activation_id(now),
    })
}

fn policy(config: &Config, key: &DaemonKey) -> TickPolicy {
    let general = &config.schedule;
    TickPolicy {
        misfire: match config
            .own(key, |own| own.misfire)
            .unwrap_or(general.misfire)
        {
            config::Misfire::Coalesce => daemon_schedule::Misfire::Coalesce,
            config::Misfire::Skip => daemon_schedule::Misfire::Skip,
            config::Misfire::CatchUp => daemon_schedule::Misfire::CatchUp,
        },
        window: config
            .own(key, |own| own.window)
            .unwrap_or(general.window)
            .unsigned(),
        overlap: match config
            .own(key, |own| own.overlap)
            .unwrap_or(general.overlap)
        {
            config::Overlap::BufferOne => daemon_schedule::Overlap::BufferOne,
            config::Overlap::Skip => daemon_schedule::Overlap::Skip,
            config::Overlap::BufferAll => daemon_schedule::Overlap::BufferAll,
            config::Overlap::CancelOther => daemon_schedule::Overlap::CancelOther,
        },
    }
}

/// Counts what was recorded, and warns of what was missed.
fn note(commit: &TickCommit) {
    for row in &commit.rows {
        metrics::counter!("daemon_ticks_total", "outcome" => row.outcome.as_str())
            .increment(row.count);
        let lateness = commit.now.duration_since(row.scheduled_at);
        metrics::histogram!("daemon_tick_lateness_seconds").record(lateness.as_secs_f64());
        if lateness > PUNCTUAL {
            metrics::counter!("daemon_ticks_late_total").increment(row.count);
        }
        if matches!(
            row.outcome,
            TickOutcome::MissedWindow | TickOutcome::Refused
        ) {
            tracing::warn!(
                daemon = %commit.daemon, first = %row.first, last = %row.scheduled_at, count = row.count,
                outcome = row.outcome.as_str(), "ticks did not run"
            );
        }
    }
}
